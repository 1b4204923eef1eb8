//! The demo's configuration, as an operator would write it in files, embedded here with the ports of the day.

use std::fs;

use tempfile::TempDir;

use crate::app::fresh_secret;
use crate::config::{self, Environment, Loaded};
use crate::demo::DemoFault;
use crate::demo::service_provider::Settings;
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::protocol::alg::SigningAlg;

/// A sandbox identity provider: the connector's id, its names, and its accent colours.
pub struct IdentityProvider {
    id: &'static str,
    french: &'static str,
    english: &'static str,
}

pub const IDENTITY_PROVIDERS: [IdentityProvider; 2] = [
    IdentityProvider { id: "amandier", french: "Compte Amandier", english: "Amandier account" },
    IdentityProvider { id: "belvedere", french: "Identité Belvédère", english: "Belvedere identity" },
];

/// Scopes of the demo's service provider and of the hub at its identity providers.
const SCOPES: &str = "openid given_name family_name birthdate gender birthplace birthcountry email preferred_username";

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
            fs::write(path, text)?;
        }
        Ok(Self { folder, environment })
    }

    /// Read as any operator's files are.
    pub fn load(&self) -> Result<Loaded, DemoFault> {
        config::load(self.folder.path(), &self.environment).map_err(DemoFault::Configuration)
    }
}

/// Made anew for each run.
pub struct Secrets {
    service_provider: Secret<String>,
    hub: Secret<String>,
    subjects: Secret<String>,
}

impl Secrets {
    pub fn fresh(env: &Env) -> Self {
        Self { service_provider: fresh_secret(env), hub: fresh_secret(env), subjects: fresh_secret(env) }
    }

    fn environment(&self) -> Environment {
        [("DEMO_SP_SECRET", &self.service_provider), ("DEMO_HUB_SECRET", &self.hub), ("DEMO_SUBJECT_KEY", &self.subjects)]
            .map(|(name, secret)| (name.to_owned(), secret.reveal().clone()))
            .into_iter()
            .collect()
    }
}

/// The hub: identities from the register, two identity providers, one service provider.
pub fn hub(address: &str, identity_providers: &[String], service_provider: &str, secrets: &Secrets) -> Result<Files, DemoFault> {
    let settings = format!(
        r#"
platform = "standard"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "127.0.0.1:0" }}
cookie_prefix = "demo-hub"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY" }}
register.file.path = "register.csv"
"#
    );
    let client = format!(
        r#"
client_id = "demo-service"
name = {{ fr = "Le service de démonstration", en = "The demo service" }}
home_page = "{service_provider}/"
redirect_uris = ["{service_provider}/callback"]
scopes = [{scopes}]
secrets = [{{ env = "DEMO_SP_SECRET" }}]
require_pkce = true
"#,
        scopes = quoted(SCOPES)
    );
    let connectors: Vec<_> = IDENTITY_PROVIDERS
        .iter()
        .zip(identity_providers)
        .map(|(provider, issuer)| {
            let IdentityProvider { id, french, english } = provider;
            let file = format!(
                r#"
name = {{ fr = "{french}", en = "{english}" }}
levels = {{ lowest = "eidas1", highest = "eidas1" }}
acr = {{ eidas1 = ["eidas1"] }}
[kind.oidc]
issuer = "{issuer}/api/v2"
client_id = "demo-hub"
client_secret = {{ env = "DEMO_HUB_SECRET" }}
scopes = [{scopes}]
userinfo_signed_response_alg = "ES256"
request_amr = true
authorize_params = {{ idp_hint = "persona" }}
insecure_http = true
internal_hosts = ["localhost"]
"#,
                scopes = quoted(SCOPES)
            );
            (format!("connectors/{id}.toml"), file)
        })
        .collect();
    let mut files = vec![
        ("passerelle.toml".to_owned(), settings),
        ("service-providers/demo-service.toml".to_owned(), client),
        ("register.csv".to_owned(), REGISTER.to_owned()),
    ];
    files.extend(connectors);
    Files::write(&files, secrets.environment())
}

/// A sandbox identity provider: this same program, whose persons are whoever one picks.
pub fn identity_provider(provider: &IdentityProvider, address: &str, hub: &str, secrets: &Secrets) -> Result<Files, DemoFault> {
    let IdentityProvider { id, french, english } = provider;
    let settings = format!(
        r#"
platform = "standard"
base_url = "{address}"
public = {{ listen = "127.0.0.1:0" }}
private = {{ listen = "127.0.0.1:0" }}
cookie_prefix = "demo-{id}"
amr_marker = "sandbox"
sandbox = true
identity_source = "provider"
subject = "provider"
connectors = "connectors"
subject_key = {{ env = "DEMO_SUBJECT_KEY" }}
limits = {{ workers = 1 }}
"#
    );
    let client = format!(
        r#"
client_id = "demo-hub"
name = {{ fr = "Le concentrateur de démonstration", en = "The demo hub" }}
home_page = "{hub}/"
redirect_uris = ["{hub}/api/v2/callback/{id}"]
scopes = [{scopes}]
secrets = [{{ env = "DEMO_HUB_SECRET" }}]
insecure_http = true
"#,
        scopes = quoted(SCOPES)
    );
    let persona = format!(
        r#"
name = {{ fr = "{french}", en = "{english}" }}
levels = {{ lowest = "eidas1", highest = "eidas1" }}
acr = {{ eidas1 = ["eidas1"] }}
[kind.persona]
"#
    );
    let files =
        [("passerelle.toml", settings), ("service-providers/demo-hub.toml", client), ("connectors/persona.toml", persona)];
    Files::write(&files.map(|(path, text)| (path.to_owned(), text)), secrets.environment())
}

/// What the demo's service provider was registered with.
pub fn service_provider(hub: &str, address: &str, secrets: &Secrets) -> Settings {
    Settings {
        issuer: format!("{hub}/api/v2"),
        client_id: "demo-service".into(),
        client_secret: secrets.service_provider.clone(),
        redirect_uri: format!("{address}/callback"),
        scopes: SCOPES.into(),
        acr: Level::Eidas1,
        alg: SigningAlg::ES256,
        cookie_prefix: "demo-service".into(),
    }
}

fn quoted(scopes: &str) -> String {
    scopes.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ")
}
