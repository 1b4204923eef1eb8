//! Writes the configuration files of the demo, as an operator would write them.

use std::net::SocketAddr;
use std::sync::Arc;

use super::DemoStartError;
use super::data_provider::{DataProviderRegistration, RECORD_PATH};
use super::files::DemoFiles;
use super::service_provider::{HubRegistration, ServiceProviderSettings};
use crate::app::generate_secret;
use crate::app::init::ApplicationRegistration;
use crate::config::Environment;
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::acr::Platform;
use crate::protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use crate::token::UpstreamKeys;
use crate::token::decrypt::JweAlgorithms;

/// Sandbox identity provider: connector id and names.
pub struct IdentityProvider {
    id: &'static str,
    french: &'static str,
    english: &'static str,
}

/// Identity providers of each platform.
pub const IDENTITY_PROVIDERS: [IdentityProvider; 2] = [
    IdentityProvider { id: "amandier", french: "Compte Amandier", english: "Amandier account" },
    IdentityProvider {
        id: "belvedere",
        french: "Identité Belvédère",
        english: "Belvedere identity",
    },
];

/// Scopes of the demo's service provider and of the hub at its identity providers.
const SCOPES: &str = "openid given_name family_name birthdate gender birthplace birthcountry email preferred_username";

/// Scopes of the demo's data provider.
const DATA_SCOPES: &str = "openid given_name family_name birthdate";

/// Register with the sandbox's persons, and a few that make a login fail.
const REGISTER_CSV: &str = include_str!("register.csv");

/// First lines of the file of the developer's application, at the standard hub.
const APPLICATION_HEAD: &str = "\
# The application of the developer who tries the demo: docs/integrate/, examples/. Its secret is public:
# not-a-secret-for-the-demo-on-loopback
";
/// Its secret, as a TOML table.
const APPLICATION_SECRET: &str =
    r#"{ sha256 = "1fc8184e9b00798c2e4ae1fb2994353ced1374d23f471ed9efa337033491a33b" }"#;

/// Registration of the developer's single-page application.
const SINGLE_PAGE_APPLICATION: &str = include_str!("single_page_application.toml");

/// Addresses and secrets of one platform: a hub, its data provider, and its identity providers in
/// the order of [`IDENTITY_PROVIDERS`].
pub struct DemoPlatform {
    pub platform: Platform,
    pub hub: String,
    pub identity_providers: Vec<String>,
    pub data_provider: String,
    secrets: Secrets,
}

/// Secrets, generated for each run and platform: registrations of one platform are unknown to the
/// other (R011).
struct Secrets {
    service_provider: Secret<String>,
    data_provider: Secret<String>,
    hub: Secret<String>,
    subjects: Secret<String>,
}

impl Secrets {
    fn environment(&self) -> Environment {
        let hub_secrets =
            IDENTITY_PROVIDERS.map(|provider| (connector_variable(provider.id), &self.hub));
        [
            ("SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET", &self.service_provider),
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

/// Returns the environment variable with the client secret of a connector.
fn connector_variable(id: &str) -> String {
    format!("CONNECTOR_{}__CLIENT_SECRET", id.to_ascii_uppercase())
}

/// File of the administration token, in the hub's folder.
pub const ADMIN_TOKEN: &str = "admin.token";

/// Encryption of tokens on the high platform.
const RESPONSE_ENCRYPTION: JweAlgorithms =
    JweAlgorithms { alg: EncryptionAlg::EcdhEs, enc: ContentEncryption::A256GCM };

impl DemoPlatform {
    /// Creates a platform with new secrets.
    pub fn new(
        platform: Platform,
        hub: String,
        identity_providers: Vec<String>,
        data_provider: String,
        env: &Env,
    ) -> Self {
        let fresh = || generate_secret(env);
        let secrets = Secrets {
            service_provider: fresh(),
            data_provider: fresh(),
            hub: fresh(),
            subjects: fresh(),
        };
        Self { platform, hub, identity_providers, data_provider, secrets }
    }

    /// Returns the configured name of the platform, and a suffix for names that must be unique on
    /// the host.
    fn platform_names(&self) -> (&'static str, &'static str) {
        match self.platform {
            Platform::Standard => ("standard", ""),
            Platform::High => ("high", "-high"),
        }
    }

    /// Writes the hub's files: two identity providers, one service provider, one data provider; on
    /// the standard platform, identities from the register, and the developer's applications.
    ///
    /// # Errors
    /// Returns an error if a file can't be written.
    pub fn hub_files(
        &self,
        private: SocketAddr,
        service_provider: &str,
        keys: &UpstreamKeys,
        env: &Env,
    ) -> Result<DemoFiles, DemoStartError> {
        let (_, suffix) = self.platform_names();
        let data_provider = format!(
            r#"
client_id = "demo-data{suffix}"
name = {{ fr = "Les données de démonstration", en = "The demo data" }}
scopes = [{scopes}]
secrets = [{{ env = "DATA_PROVIDER_DEMO_DATA__CLIENT_SECRET" }}]
"#,
            scopes = quoted(DATA_SCOPES)
        );
        let mut files = vec![
            ("passerelle.toml".to_owned(), self.hub_settings(private)),
            (ADMIN_TOKEN.to_owned(), generate_secret(env).into_inner()),
            (
                "service-providers/demo-service.toml".to_owned(),
                self.service_provider_file(service_provider),
            ),
            ("data-providers/demo-data.toml".to_owned(), data_provider),
        ];
        match self.platform {
            Platform::Standard => files.extend(
                [
                    ("register.csv", REGISTER_CSV.to_owned()),
                    ("service-providers/example.toml", application_file()),
                    ("service-providers/example-spa.toml", SINGLE_PAGE_APPLICATION.to_owned()),
                ]
                .map(|(name, text)| (name.to_owned(), text)),
            ),
            Platform::High => {
                let keys = String::from_utf8_lossy(&keys.jwks(env.now())).into_owned();
                files.push(("demo-service.jwks.json".to_owned(), keys));
            }
        }
        let connectors = IDENTITY_PROVIDERS.iter().zip(&self.identity_providers);
        files.extend(connectors.map(|(provider, at)| self.connector_file(provider, at)));
        DemoFiles::write(files, self.secrets.environment())
    }

    fn hub_settings(&self, private: SocketAddr) -> String {
        let ((platform, suffix), address) = (self.platform_names(), &self.hub);
        let register = match self.platform {
            Platform::Standard => "register.file.path = \"register.csv\"",
            Platform::High => "",
        };
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
name = {{ fr = "Le service de démonstration", en = "The demo service" }}
home_page = "{address}/"
redirect_uris = ["{address}/callback"]
post_logout_redirect_uris = ["{address}/signed-out"]
scopes = [{scopes}]
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET" }}]
require_pkce = true
{encryption}
"#,
            scopes = quoted(SCOPES)
        )
    }

    fn connector_file(&self, provider: &IdentityProvider, address: &str) -> (String, String) {
        let IdentityProvider { id, french, english } = provider;
        let (levels, encryption) = match self.platform {
            Platform::Standard => (levels_by_name(&["eidas1"]), String::new()),
            Platform::High => (levels_by_name(&["eidas2", "eidas3"]), encryption_lines()),
        };
        let file = format!(
            r#"
name = {{ fr = "{french}", en = "{english}" }}
identity = "verified"
{levels}
[kind.oidc]
issuer = "{address}/api/v2"
client_id = "demo-hub"
client_secret = {{ env = "{secret}" }}
scopes = [{scopes}]
userinfo_signed_response_alg = "ES256"
request_amr = true
authorize_params = {{ idp_hint = "persona" }}
insecure_http = true
internal_hosts = ["localhost"]
{encryption}
"#,
            secret = connector_variable(id),
            scopes = quoted(SCOPES)
        );
        (format!("connectors/{id}.toml"), file)
    }

    /// Writes the files of a sandbox identity provider. Its home page is the service provider,
    /// because a hub has no start page.
    ///
    /// # Errors
    /// Returns an error if a file can't be written.
    pub fn identity_provider_files(
        &self,
        provider: &IdentityProvider,
        address: &str,
        service_provider: &str,
    ) -> Result<DemoFiles, DemoStartError> {
        let IdentityProvider { id, french, english } = provider;
        let ((platform, suffix), hub) = (self.platform_names(), &self.hub);
        // On the high platform it returns the level that the user picks; too low a one shows the
        // rejection.
        let (levels, encryption) = match self.platform {
            Platform::Standard => (levels(&["eidas1"]), String::new()),
            Platform::High => {
                let keys = format!(
                    "jwks_uri = \"{hub}/api/v2/client/jwks\"\ninternal_hosts = [\"localhost\"]\n"
                );
                (levels(&["eidas1", "eidas2", "eidas3"]), keys + &encryption_lines())
            }
        };
        let settings = format!(
            r#"
platform = "{platform}"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "127.0.0.1:0" }}
cookie_prefix = "demo-{id}{suffix}"
amr_marker = "sandbox"
sandbox = true
identity_source = "provider"
subject = "provider"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY", derivation = 2 }}
limits = {{ workers = 1 }}
"#
        );
        let client = format!(
            r#"
client_id = "demo-hub"
name = {{ fr = "Le concentrateur de démonstration", en = "The demo hub" }}
home_page = "{service_provider}/"
redirect_uris = ["{hub}/api/v2/callback/{id}"]
post_logout_redirect_uris = ["{hub}/api/v2/session/end/{id}"]
scopes = [{scopes}]
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_HUB__CLIENT_SECRET" }}]
insecure_http = true
{encryption}
"#,
            scopes = quoted(SCOPES)
        );
        let persona = format!(
            r#"
name = {{ fr = "{french}", en = "{english}" }}
{levels}
[kind.persona]
"#
        );
        let files = [
            ("passerelle.toml", settings),
            ("service-providers/demo-hub.toml", client),
            ("connectors/persona.toml", persona),
        ];
        DemoFiles::write(files, self.secrets.environment())
    }

    /// Returns the registration of the data provider at this hub.
    pub fn data_registration(&self) -> DataProviderRegistration {
        DataProviderRegistration {
            issuer: format!("{}/api/v2", self.hub),
            client_id: format!("demo-data{}", self.platform_names().1),
            client_secret: self.secrets.data_provider.clone(),
        }
    }

    /// Returns the registration of the service provider at this hub.
    fn registration(&self) -> HubRegistration {
        HubRegistration {
            issuer: format!("{}/api/v2", self.hub),
            client_id: format!("demo-service{}", self.platform_names().1),
            client_secret: self.secrets.service_provider.clone(),
            scopes: SCOPES.into(),
            alg: SigningAlg::ES256,
            encryption: match self.platform {
                Platform::Standard => None,
                Platform::High => Some(RESPONSE_ENCRYPTION),
            },
            data_provider: Some(format!("{}{RECORD_PATH}", self.data_provider)),
        }
    }
}

/// Returns the settings of the service provider.
pub fn service_provider_settings(
    address: &str,
    keys: Arc<UpstreamKeys>,
    standard: &DemoPlatform,
    high: &DemoPlatform,
) -> ServiceProviderSettings {
    ServiceProviderSettings {
        redirect_uri: format!("{address}/callback"),
        post_logout_redirect_uri: format!("{address}/signed-out"),
        cookie_prefix: "demo-service".into(),
        keys,
        standard: standard.registration(),
        high: high.registration(),
    }
}

fn application_file() -> String {
    APPLICATION_HEAD.to_owned() + &ApplicationRegistration::example().to_toml(APPLICATION_SECRET)
}

/// Returns the `levels` line of a connector, for levels in ascending order.
fn levels(names: &[&str]) -> String {
    let (lowest, highest) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
    format!("levels = {{ lowest = \"{lowest}\", highest = \"{highest}\" }}")
}

/// Returns the lines of a connector whose identity provider uses the same level names.
fn levels_by_name(names: &[&str]) -> String {
    let table: Vec<_> = names.iter().map(|name| format!("{name} = [\"{name}\"]")).collect();
    format!("{}\nacr = {{ {} }}", levels(names), table.join(", "))
}

/// Returns the lines that register [`RESPONSE_ENCRYPTION`].
fn encryption_lines() -> String {
    let JweAlgorithms { alg, enc } = RESPONSE_ENCRYPTION;
    let line = |token, what, value| format!("{token}_encrypted_response_{what} = \"{value}\"\n");
    ["id_token", "userinfo"]
        .map(|token| line(token, "alg", alg.as_str()) + &line(token, "enc", enc.as_str()))
        .concat()
}

fn quoted(scopes: &str) -> String {
    scopes.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ")
}
