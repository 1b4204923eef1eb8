//! The demo's configuration, as an operator would write it in files, embedded here with the ports of the day.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::app::fresh_secret;
use crate::config::{self, Environment, Loaded};
use crate::demo::DemoFault;
use crate::demo::data_provider::{self, PATH};
use crate::demo::service_provider::{Registration, Settings};
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::acr::Platform;
use crate::protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use crate::token::UpstreamKeys;
use crate::token::open::Sealing;

/// A sandbox identity provider: the connector's id, and its names.
pub struct IdentityProvider {
    id: &'static str,
    french: &'static str,
    english: &'static str,
}

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

/// What the demo's data provider may learn of.
const DATA_SCOPES: &str = "openid given_name family_name birthdate";

/// The register that knows the sandbox's persons, and a few who make trouble.
const REGISTER: &str = include_str!("register.csv");

/// A configuration folder that goes away with this value. Its secrets are not in it.
pub struct Files {
    folder: TempDir,
    environment: Environment,
}

impl Files {
    fn write(files: &[(String, String)], environment: Environment) -> Result<Self, DemoFault> {
        let folder = TempDir::with_prefix("passerelle-demo-")?;
        for (path, text) in files {
            let path = folder.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text.as_bytes())?;
        }
        Ok(Self { folder, environment })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Read as any operator's files are.
    pub fn load(&self) -> Result<Loaded, DemoFault> {
        config::load(self.folder.path(), &self.environment).map_err(DemoFault::Configuration)
    }
}

/// Everything on one platform, and where it listens: a hub, and its identity providers in the order of
/// [`IDENTITY_PROVIDERS`].
pub struct Side {
    pub platform: Platform,
    pub hub: String,
    pub identity_providers: Vec<String>,
    pub data_provider: String,
    secrets: Secrets,
}

/// Made anew for each run, and for each platform: what is registered on one counts nothing on the other (R011).
struct Secrets {
    service_provider: Secret<String>,
    data_provider: Secret<String>,
    hub: Secret<String>,
    subjects: Secret<String>,
}

impl Secrets {
    fn environment(&self) -> Environment {
        let of_connectors =
            IDENTITY_PROVIDERS.map(|provider| (connector_variable(provider.id), &self.hub));
        let secrets = [
            ("SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET", &self.service_provider),
            ("DATA_PROVIDER_DEMO_DATA__CLIENT_SECRET", &self.data_provider),
            ("SERVICE_PROVIDER_DEMO_HUB__CLIENT_SECRET", &self.hub),
            ("DEMO_SUBJECT_KEY", &self.subjects),
        ];
        let all = secrets
            .map(|(name, secret)| (name.to_owned(), secret))
            .into_iter()
            .chain(of_connectors);
        all.map(|(name, secret)| (name, secret.reveal().clone())).collect()
    }
}

/// Where a hub's connector reads the secret from that its identity provider knows.
fn connector_variable(id: &str) -> String {
    format!("CONNECTOR_{}__CLIENT_SECRET", id.to_ascii_uppercase())
}

/// What opens a hub's administration, in its folder.
pub const ADMIN_TOKEN: &str = "admin.token";

/// How tokens are sealed on the high platform: from the identity providers to the hub, and from the hub to the service.
const SEALING: Sealing = Sealing { alg: EncryptionAlg::EcdhEs, enc: ContentEncryption::A256GCM };

impl Side {
    pub fn new(
        platform: Platform,
        hub: String,
        identity_providers: Vec<String>,
        data_provider: String,
        env: &Env,
    ) -> Self {
        let fresh = || fresh_secret(env);
        let secrets = Secrets {
            service_provider: fresh(),
            data_provider: fresh(),
            hub: fresh(),
            subjects: fresh(),
        };
        Self { platform, hub, identity_providers, data_provider, secrets }
    }

    /// The platform as the configuration names it, and what ends the names that must differ, for all runs on one host.
    fn names(&self) -> (&'static str, &'static str) {
        match self.platform {
            Platform::Standard => ("standard", ""),
            Platform::High => ("high", "-high"),
        }
    }

    /// The hub: two identity providers, one service provider, one data provider; on standard, identities from the register.
    pub fn hub_files(
        &self,
        private: SocketAddr,
        service_provider: &str,
        keys: &UpstreamKeys,
        env: &Env,
    ) -> Result<Files, DemoFault> {
        let ((platform, suffix), address) = (self.names(), &self.hub);
        let (register, sealed) = match self.platform {
            Platform::Standard => ("register.file.path = \"register.csv\"", String::new()),
            Platform::High => {
                ("", "jwks = { file = \"demo-service.jwks.json\" }\n".to_owned() + &sealing())
            }
        };
        let settings = format!(
            r#"
platform = "{platform}"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "{private}", admin_token = {{ file = "{ADMIN_TOKEN}" }} }}
audit = {{ sink = "file" }}
cookie_prefix = "demo-hub{suffix}"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY", derivation = 2 }}
{register}
"#
        );
        let client = format!(
            r#"
client_id = "demo-service{suffix}"
name = {{ fr = "Le service de démonstration", en = "The demo service" }}
home_page = "{service_provider}/"
redirect_uris = ["{service_provider}/callback"]
post_logout_redirect_uris = ["{service_provider}/signed-out"]
scopes = [{scopes}]
secrets = [{{ env = "SERVICE_PROVIDER_DEMO_SERVICE__CLIENT_SECRET" }}]
require_pkce = true
{sealed}
"#,
            scopes = quoted(SCOPES)
        );
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
            ("passerelle.toml".to_owned(), settings),
            (ADMIN_TOKEN.to_owned(), fresh_secret(env).into_inner()),
            ("service-providers/demo-service.toml".to_owned(), client),
            ("data-providers/demo-data.toml".to_owned(), data_provider),
        ];
        match self.platform {
            Platform::Standard => files.push(("register.csv".to_owned(), REGISTER.to_owned())),
            Platform::High => {
                let keys = String::from_utf8_lossy(&keys.jwks(env.now())).into_owned();
                files.push(("demo-service.jwks.json".to_owned(), keys));
            }
        }
        files.extend(
            IDENTITY_PROVIDERS
                .iter()
                .zip(&self.identity_providers)
                .map(|(provider, at)| self.connector(provider, at)),
        );
        Files::write(&files, self.secrets.environment())
    }

    fn connector(&self, provider: &IdentityProvider, address: &str) -> (String, String) {
        let IdentityProvider { id, french, english } = provider;
        let (levels, sealed) = match self.platform {
            Platform::Standard => (levels_by_name(&["eidas1"]), String::new()),
            Platform::High => (levels_by_name(&["eidas2", "eidas3"]), sealing()),
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
{sealed}
"#,
            secret = connector_variable(id),
            scopes = quoted(SCOPES)
        );
        (format!("connectors/{id}.toml"), file)
    }

    /// A sandbox identity provider: this same program, whose persons are whoever one picks, on the hub's platform. Who is
    /// lost there begins again at the service provider: the hub has no page to begin at.
    pub fn identity_provider_files(
        &self,
        provider: &IdentityProvider,
        address: &str,
        service_provider: &str,
    ) -> Result<Files, DemoFault> {
        let IdentityProvider { id, french, english } = provider;
        let ((platform, suffix), hub) = (self.names(), &self.hub);
        // On high it proves any level that the person picks; picking too low a one shows what becomes of it.
        let (levels, sealed) = match self.platform {
            Platform::Standard => (levels(&["eidas1"]), String::new()),
            Platform::High => {
                let keys = format!(
                    "jwks_uri = \"{hub}/api/v2/client/jwks\"\ninternal_hosts = [\"localhost\"]\n"
                );
                (levels(&["eidas1", "eidas2", "eidas3"]), keys + &sealing())
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
{sealed}
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
        Files::write(&files.map(|(path, text)| (path.to_owned(), text)), self.secrets.environment())
    }

    /// What the demo's data provider was registered with at this hub.
    pub fn data_registration(&self) -> data_provider::Registration {
        data_provider::Registration {
            issuer: format!("{}/api/v2", self.hub),
            client_id: format!("demo-data{}", self.names().1),
            client_secret: self.secrets.data_provider.clone(),
        }
    }

    /// What the demo's service provider was registered with at this hub.
    fn registration(&self) -> Registration {
        Registration {
            issuer: format!("{}/api/v2", self.hub),
            client_id: format!("demo-service{}", self.names().1),
            client_secret: self.secrets.service_provider.clone(),
            scopes: SCOPES.into(),
            alg: SigningAlg::ES256,
            sealing: match self.platform {
                Platform::Standard => None,
                Platform::High => Some(SEALING),
            },
            data_provider: Some(format!("{}{PATH}", self.data_provider)),
        }
    }
}

/// What the demo's service provider knows of itself.
pub fn service_provider(
    address: &str,
    keys: Arc<UpstreamKeys>,
    standard: &Side,
    high: &Side,
) -> Settings {
    Settings {
        redirect_uri: format!("{address}/callback"),
        post_logout_redirect_uri: format!("{address}/signed-out"),
        cookie_prefix: "demo-service".into(),
        keys,
        standard: standard.registration(),
        high: high.registration(),
    }
}

/// The line of a connector that proves these levels, lowest first.
fn levels(names: &[&str]) -> String {
    let (lowest, highest) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
    format!("levels = {{ lowest = \"{lowest}\", highest = \"{highest}\" }}")
}

/// The lines of a connector whose identity provider calls these levels as this hub does.
fn levels_by_name(names: &[&str]) -> String {
    let table: Vec<_> = names.iter().map(|name| format!("{name} = [\"{name}\"]")).collect();
    format!("{}\nacr = {{ {} }}", levels(names), table.join(", "))
}

/// The lines that register [`SEALING`].
fn sealing() -> String {
    let Sealing { alg, enc } = SEALING;
    let line = |token, what, value| format!("{token}_encrypted_response_{what} = \"{value}\"\n");
    ["id_token", "userinfo"]
        .map(|token| line(token, "alg", alg.as_str()) + &line(token, "enc", enc.as_str()))
        .concat()
}

fn quoted(scopes: &str) -> String {
    scopes.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ")
}
