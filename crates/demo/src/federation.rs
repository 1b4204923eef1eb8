//! Writes the configuration files of the demo, as an operator would write them.

use std::net::SocketAddr;
use std::sync::Arc;

use super::DemoStartError;
use super::connectors::{
    self, IDENTITY_PROVIDERS, IdentityProvider, NamedFile, RESPONSE_ENCRYPTION, SCOPES,
    UNREACHABLE, encryption_lines, quoted,
};
use super::data_provider::{DataProviderRegistration, RECORD_PATH};
use super::files::DemoFiles;
use super::localized_names;
use super::service_provider::{ConsoleAccess, HubRegistration, ServiceProviderSettings};
use passerelle_jose::RelyingPartyKeys;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_server::generate_secret;
use passerelle_server::init::ApplicationRegistration;
use passerelle_settings::Environment;

/// Scopes of the demo's data provider.
const DATA_SCOPES: &str = "openid given_name family_name birthdate";

/// Register with the sandbox's persons, and a few that make a login fail.
const REGISTER_CSV: &str = include_str!("register.csv");

/// Names of the places and countries of these persons' births.
const PLACES_CSV: &str = include_str!("places.csv");

/// Lines of the standard hub: its register, and how the register verified its identities.
const STANDARD_REGISTER: &str = r#"register.file.path = "register.csv"
place_name_files = ["places.csv"]
verified_claims = { trust_framework = "demo", assurance_level = "low" }"#;

/// First lines of the file of the developer's application, at the standard hub.
const APPLICATION_HEAD: &str = "\
# The application of the developer who tries the demo: docs/integrate/, examples/. Its secret is public:
# not-a-secret-for-the-demo-on-loopback
";
/// Its secret, as a TOML table.
const APPLICATION_SECRET: &str =
    r#"{ sha256 = "1fc8184e9b00798c2e4ae1fb2994353ced1374d23f471ed9efa337033491a33b" }"#;

/// `client_id` of the service provider that asks for consent.
const CONSENT_CLIENT: &str = "demo-consent";

/// Registration of the developer's single-page application.
const SINGLE_PAGE_APPLICATION: &str = include_str!("single_page_application.toml");

/// Origins of one platform.
pub(crate) struct PlatformOrigins {
    pub hub: String,
    /// Private listener of the hub.
    pub private: String,
    /// In the order of [`IDENTITY_PROVIDERS`].
    pub identity_providers: Vec<String>,
    pub data_provider: String,
}

/// Origins and secrets of one platform: a hub, its data provider, and its identity providers.
pub(crate) struct DemoPlatform {
    pub platform: Platform,
    pub origins: PlatformOrigins,
    /// Further files of the hub: those of the demo's wallet and SAML identity provider.
    pub more_hub_files: Vec<NamedFile>,
    secrets: Secrets,
}

/// Secrets, generated for each run and platform: registrations of one platform are unknown to the
/// other (R011).
struct Secrets {
    service_provider: Secret<String>,
    consent_service_provider: Secret<String>,
    data_provider: Secret<String>,
    hub: Secret<String>,
    subjects: Secret<String>,
    admin: Secret<String>,
}

impl Secrets {
    fn environment(&self) -> Environment {
        let hub_secrets = IDENTITY_PROVIDERS
            .iter()
            .chain([&UNREACHABLE])
            .map(|provider| (provider.secret_variable(), &self.hub));
        [
            ("SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET", &self.service_provider),
            ("SERVICE_PROVIDER_DEMO_CONSENT__CLIENT_SECRET", &self.consent_service_provider),
            ("DATA_PROVIDER_DEMO_DATA__CLIENT_SECRET", &self.data_provider),
            ("SERVICE_PROVIDER_DEMO_HUB__CLIENT_SECRET", &self.hub),
            ("DEMO_SUBJECT_KEY", &self.subjects),
        ]
        .map(|(name, secret)| (name.to_owned(), secret))
        .into_iter()
        .chain(hub_secrets)
        .map(|(name, secret)| (name, secret.reveal().clone()))
        .collect()
    }
}

/// File of the administration token, in the hub's folder.
pub(crate) const ADMIN_TOKEN: &str = "admin.token";

impl DemoPlatform {
    /// Creates a platform with new secrets.
    pub(crate) fn new(platform: Platform, origins: PlatformOrigins, env: &Env) -> Self {
        let fresh = || generate_secret(env);
        let secrets = Secrets {
            service_provider: fresh(),
            consent_service_provider: fresh(),
            data_provider: fresh(),
            hub: fresh(),
            subjects: fresh(),
            admin: fresh(),
        };
        Self { platform, origins, more_hub_files: Vec::new(), secrets }
    }

    /// Returns the configured name of the platform, and a suffix for names that must be unique on
    /// the host.
    fn platform_names(&self) -> (&'static str, &'static str) {
        match self.platform {
            Platform::Standard => ("standard", ""),
            Platform::High => ("high", "-high"),
        }
    }

    /// Writes the hub's files: two identity providers, one service provider, one data provider. On
    /// the standard platform also identities from the register, a service provider that asks for
    /// consent, one blocked and one unreachable identity provider, and the developer's
    /// applications.
    ///
    /// # Errors
    /// Returns an error if a file can't be written.
    pub(crate) fn hub_files(
        &self,
        private: SocketAddr,
        service_provider: &str,
        keys: &RelyingPartyKeys,
        env: &Env,
    ) -> Result<DemoFiles, DemoStartError> {
        let (_, suffix) = self.platform_names();
        let data_provider = format!(
            r#"
client_id = "demo-data{suffix}"
name = {name}
scopes = [{scopes}]
secrets = [{{ env = "DATA_PROVIDER_DEMO_DATA__CLIENT_SECRET" }}]
"#,
            name = localized_names::DATA.to_toml(),
            scopes = quoted(DATA_SCOPES)
        );
        let mut files = vec![
            ("passerelle.toml".to_owned(), self.hub_settings(private)),
            (ADMIN_TOKEN.to_owned(), self.secrets.admin.reveal().clone()),
            (
                "service-providers/demo-service.toml".to_owned(),
                self.service_provider_file(service_provider),
            ),
            ("data-providers/demo-data.toml".to_owned(), data_provider),
        ];
        match self.platform {
            Platform::Standard => {
                let consent = consent_service_provider_file(service_provider);
                let standard = [
                    ("register.csv", REGISTER_CSV.to_owned()),
                    ("places.csv", PLACES_CSV.to_owned()),
                    ("service-providers/demo-consent.toml", consent),
                    ("service-providers/example.toml", application_file()),
                    ("service-providers/example-spa.toml", single_page_application_file()),
                ];
                files.extend(standard.map(|(name, text)| (name.to_owned(), text)));
                files.extend(connectors::example_connector_files());
            }
            Platform::High => {
                let keys = String::from_utf8_lossy(&keys.jwks(env.now())).into_owned();
                files.push(("demo-service.jwks.json".to_owned(), keys));
            }
        }
        for (provider, origin) in IDENTITY_PROVIDERS.iter().zip(&self.origins.identity_providers) {
            files.extend(provider.connector_files(self.platform, origin));
        }
        files.extend(self.more_hub_files.iter().cloned());
        DemoFiles::write(files, self.secrets.environment())
    }

    fn hub_settings(&self, private: SocketAddr) -> String {
        let ((platform, suffix), address) = (self.platform_names(), &self.origins.hub);
        let register = match self.platform {
            Platform::Standard => STANDARD_REGISTER,
            Platform::High => "",
        };
        let public_pages =
            if cfg!(feature = "public-pages") { "[public_pages]\nstatus = true" } else { "" };
        format!(
            r#"
platform = "{platform}"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "{private}", admin_token = {{ file = "{ADMIN_TOKEN}" }} }}
audit = {{ sink = "file" }}
sandbox = true
cookie_prefix = "demo-hub{suffix}"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY", derivation = 2 }}
{register}
{public_pages}
"#
        )
    }

    fn service_provider_file(&self, address: &str) -> String {
        let (_, suffix) = self.platform_names();
        let encryption = match self.platform {
            Platform::Standard => String::new(),
            Platform::High => {
                "jwks = { file = \"demo-service.jwks.json\" }\n".to_owned() + &encryption_lines()
            }
        };
        format!(
            r#"
client_id = "demo-service{suffix}"
name = {name}
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET" }}]
{addresses}{encryption}
"#,
            name = localized_names::SERVICE.to_toml(),
            addresses = service_provider_lines(address)
        )
    }

    /// Writes the files of a sandbox identity provider. Its home page is the service provider,
    /// because a hub has no start page.
    ///
    /// # Errors
    /// Returns an error if a file can't be written.
    pub(crate) fn identity_provider_files(
        &self,
        provider: &IdentityProvider,
        address: &str,
        service_provider: &str,
    ) -> Result<DemoFiles, DemoStartError> {
        let (id, name) = (provider.id, provider.name_line());
        let ((platform, suffix), hub) = (self.platform_names(), &self.origins.hub);
        // On the high platform it returns the level that the user picks; too low a one shows the
        // rejection.
        let (levels, encryption) = match self.platform {
            Platform::Standard => (connectors::levels(&["eidas1"]), String::new()),
            Platform::High => {
                let keys = format!(
                    "jwks_uri = \"{hub}/api/v2/client/jwks\"\ninternal_hosts = [\"localhost\"]\n"
                );
                (connectors::levels(&["eidas1", "eidas2", "eidas3"]), keys + &encryption_lines())
            }
        };
        let settings = format!(
            r#"
platform = "{platform}"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "127.0.0.1:0" }}
cookie_prefix = "demo-{id}{suffix}"
theme = "{theme}"
amr_marker = "sandbox"
sandbox = true
identity_source = "provider"
subject = "provider"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY", derivation = 2 }}
limits = {{ workers = 1 }}
"#,
            theme = connectors::THEME
        );
        let client = format!(
            r#"
client_id = "demo-hub"
name = {name}
home_page = "{service_provider}/"
redirect_uris = ["{hub}/api/v2/callback/{id}"]
post_logout_redirect_uris = ["{hub}/api/v2/session/end/{id}"]
scopes = [{scopes}]
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_HUB__CLIENT_SECRET" }}]
# The hub shows the information page to the user.
consent = "none"
insecure_http = true
{encryption}
"#,
            name = localized_names::HUB.to_toml(),
            scopes = quoted(SCOPES)
        );
        let persona = format!("{name}{levels}\n[kind.persona]\n");
        let files = [
            ("passerelle.toml", settings),
            ("service-providers/demo-hub.toml", client),
            ("connectors/persona.toml", persona),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text)).into_iter();
        DemoFiles::write(files.chain(provider.theme_files()), self.secrets.environment())
    }

    /// Returns the registration of the data provider at this hub.
    pub(crate) fn data_registration(&self) -> DataProviderRegistration {
        DataProviderRegistration {
            issuer: format!("{}/api/v2", self.origins.hub),
            client_id: format!("demo-data{}", self.platform_names().1),
            client_secret: self.secrets.data_provider.clone(),
        }
    }

    /// Returns the admin console of this hub.
    fn console(&self) -> ConsoleAccess {
        ConsoleAccess { origin: self.origins.private.clone(), token: self.secrets.admin.clone() }
    }

    /// Returns the registration of the service provider that asks for consent.
    fn consent_registration(&self) -> HubRegistration {
        HubRegistration {
            client_id: CONSENT_CLIENT.into(),
            client_secret: self.secrets.consent_service_provider.clone(),
            ..self.registration()
        }
    }

    /// Returns the registration of the service provider at this hub.
    fn registration(&self) -> HubRegistration {
        HubRegistration {
            issuer: format!("{}/api/v2", self.origins.hub),
            client_id: format!("demo-service{}", self.platform_names().1),
            client_secret: self.secrets.service_provider.clone(),
            scopes: SCOPES.into(),
            alg: SigningAlg::ES256,
            encryption: match self.platform {
                Platform::Standard => None,
                Platform::High => Some(RESPONSE_ENCRYPTION),
            },
            data_provider: Some(format!("{}{RECORD_PATH}", self.origins.data_provider)),
        }
    }
}

/// Returns the settings of the service provider.
pub(crate) fn service_provider_settings(
    address: &str,
    keys: Arc<RelyingPartyKeys>,
    standard: &DemoPlatform,
    high: &DemoPlatform,
) -> ServiceProviderSettings {
    ServiceProviderSettings {
        redirect_uri: format!("{address}/callback"),
        post_logout_redirect_uri: format!("{address}/signed-out"),
        cookie_prefix: "demo-service".into(),
        keys,
        standard: standard.registration(),
        consent: standard.consent_registration(),
        high: high.registration(),
        standard_console: standard.console(),
        high_console: high.console(),
    }
}

fn single_page_application_file() -> String {
    SINGLE_PAGE_APPLICATION.replace("{name}", &localized_names::SINGLE_PAGE_APPLICATION.to_toml())
}

fn application_file() -> String {
    APPLICATION_HEAD.to_owned()
        + &ApplicationRegistration::example()
            .to_toml(&localized_names::APPLICATION.to_toml(), APPLICATION_SECRET)
}

/// Returns the file of the second registration of the service provider, at the standard hub.
fn consent_service_provider_file(address: &str) -> String {
    format!(
        r#"
client_id = "{CONSENT_CLIENT}"
name = {name}
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_CONSENT__CLIENT_SECRET" }}]
consent = "required"
{addresses}
"#,
        name = localized_names::CONSENT_SERVICE.to_toml(),
        addresses = service_provider_lines(address)
    )
}

/// Returns the lines that the registrations of the service provider share.
fn service_provider_lines(address: &str) -> String {
    format!(
        r#"home_page = "{address}/"
redirect_uris = ["{address}/callback"]
post_logout_redirect_uris = ["{address}/signed-out"]
scopes = [{scopes}]
require_pkce = true
"#,
        scopes = quoted(SCOPES)
    )
}
