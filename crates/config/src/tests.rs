//! Tests whole configuration folders: valid ones, invalid files, environment variables.

mod backchannel_logout;
mod blocks;
mod common_mistakes;
mod connectors;
mod email_domains;
mod generated_files;
mod http_register;
mod insecure_settings;
pub(crate) mod kinds;
mod mapping;
mod memory_store;
mod operators;
mod pkcs11;
mod public_clients;
#[cfg(feature = "redis")]
mod redis_store;
mod registration;
mod secret_rules;
mod secrets;
mod service_providers;
mod settings;
mod stores;
mod subject_keys;
mod traces;
mod vault_transit;
mod whole_folders;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::kinds::Kinds;
use passerelle_federation::localized_text::text_in_language;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::{Diagnostic, Environment};

/// The kinds of a program with all features of the tests.
pub(crate) const KINDS: Kinds = Kinds {
    stores: passerelle_store::KINDS,
    registers: passerelle_register::KINDS,
    connectors: &[
        passerelle_connector::oidc::KIND,
        passerelle_connector::oauth2::KIND,
        passerelle_ldap::KIND,
        passerelle_openid4vp::KIND,
        passerelle_saml::KIND,
        passerelle_connector::persona::KIND,
    ],
    extensions: &[
        passerelle_client_registration::EXTENSION,
        passerelle_mail::EXTENSION,
        passerelle_openid4vp::EXTENSION,
        passerelle_public_pages::EXTENSION,
        passerelle_saml::EXTENSION,
    ],
};

pub(crate) const SUBJECT_KEY: &str = "0123456789abcdef0123456789abcdef";
pub(crate) const CLIENT_SECRET: &str = "a-client-secret-of-thirty-two-characters";

const SETTINGS: &str = r#"
platform = "standard"
base_url = "https://login.example.org"
subject_key = { env = "SUBJECT_KEY" }
connectors = "connectors"
public.listen = "127.0.0.1:8080"
private.listen = "127.0.0.1:9090"
identity_source = "provider"
"#;

const SERVICE: &str = r#"
client_id = "sp"
name = { fr = "Service", en = "Service" }
home_page = "https://sp.example.org/"
redirect_uris = ["https://sp.example.org/callback"]
scopes = ["openid", "email"]
secrets = [{ env = "SERVICE_PROVIDER_SP__SECRET" }]
"#;

const CONNECTOR: &str = r#"
name = { en = "Provider" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas2" }
[acr]
eidas1 = ["low"]
eidas2 = ["substantial"]
[kind.oidc]
issuer = "https://idp.example.org"
client_id = "hub"
client_secret = { env = "CONNECTOR_IDP__SECRET" }
"#;

/// The file of the service provider with these lines in place of its secret.
pub(crate) fn service_with(more: &str) -> String {
    SERVICE.replace("secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]", more)
}

/// A valid configuration folder that tests modify.
pub(crate) struct Folder {
    root: TempDir,
    environment: Vec<(String, String)>,
}

impl Folder {
    pub(crate) fn good() -> Self {
        let variables =
            [("SUBJECT_KEY", SUBJECT_KEY), ("SECOND_KEY", CLIENT_SECRET), ("SHORT", "short")];
        let own = [("SECRET", CLIENT_SECRET), ("SHORT", "idp-secret")];
        let services = ["SP", "OTHER", "ZZ", "MORE", "PICKY", "AA", "ASIDE"]
            .map(|id| format!("SERVICE_PROVIDER_{id}__"));
        let connectors =
            ["IDP", "KIND", "LOW", "ZZ", "OTHER", "SECOND", "LATE", "NEW", "NEVER", "ASIDE"]
                .map(|id| (format!("CONNECTOR_{id}__SECRET"), "idp-secret"));
        let service_variables = services
            .iter()
            .flat_map(|prefix| own.map(|(name, value)| (format!("{prefix}{name}"), value)));
        let own = service_variables
            .chain(connectors)
            .chain([("DATA_PROVIDER_ARCHIVE__SECRET".to_owned(), CLIENT_SECRET)]);
        let all = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(own);
        let environment = all.map(|(name, value)| (name, value.to_owned())).collect();
        let folder = Self { root: tempfile::tempdir().unwrap(), environment };
        folder
            .with("passerelle.toml", SETTINGS)
            .with("service-providers/sp.toml", SERVICE)
            .with("connectors/idp.toml", CONNECTOR)
    }

    pub(crate) fn with(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, with_own_variables(file, content.as_ref())).unwrap();
        self
    }

    pub(crate) fn edit(self, file: &str, from: &str, to: &str) -> Self {
        let text = fs::read_to_string(self.root.path().join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        self.with(file, text.replacen(from, to, 1))
    }

    pub(crate) fn without(self, file: &str) -> Self {
        fs::remove_file(self.root.path().join(file)).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn environment(&self) -> Environment {
        self.environment.iter().cloned().collect()
    }

    pub(crate) fn load(&self) -> Result<LoadedConfig, Vec<Diagnostic>> {
        load_config(self.root.path(), &self.environment(), KINDS)
    }

    /// Returns the problem with this key: file, key, and message with fix.
    #[track_caller]
    pub(crate) fn problem_at(&self, key: &str) -> (String, String, String) {
        let problems = self.load().map(|_| ()).expect_err("the folder must be rejected");
        let problem = problems.iter().find(|problem| problem.key == key);
        let Diagnostic { file, key, message, fix, .. } =
            problem.cloned().unwrap_or_else(|| panic!("no {key} in {problems:#?}"));
        let file = file.replace(&format!("{}/", self.root.path().display()), "");
        (file, key, format!("{message}. {fix}"))
    }

    #[track_caller]
    pub(crate) fn loaded(&self) -> LoadedConfig {
        let loaded = self.load();
        if loaded.is_err() {
            panic!(
                "{}",
                render_check_output(&loaded, passerelle_protocol::env::Timestamp::default())
            );
        }
        loaded.unwrap()
    }

    /// Returns the only problem: file (relative to the folder), key, and message with fix.
    #[track_caller]
    pub(crate) fn problem(&self) -> (String, String, String) {
        let problems = self.load().map(|_| ()).expect_err("the folder must be rejected");
        let [problem] = problems.as_slice() else { panic!("one problem expected: {problems:#?}") };
        let file = Path::new(&problem.file)
            .strip_prefix(self.root.path())
            .map_or(problem.file.clone(), |p| p.display().to_string());
        (file, problem.key.clone(), format!("{}. {}", problem.message, problem.fix))
    }
}

/// Adapts the variable names in a copied file to its new id.
pub(crate) fn with_own_variables(file: &str, content: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else { return content.to_owned() };
    let id = Path::new(file).file_stem().unwrap().to_str().unwrap().to_ascii_uppercase();
    let text = match file.split_once('/') {
        Some(("service-providers", _)) => {
            text.replace("SERVICE_PROVIDER_SP__", &format!("SERVICE_PROVIDER_{id}__"))
        }
        Some(("connectors", _)) => text.replace("CONNECTOR_IDP__", &format!("CONNECTOR_{id}__")),
        _ => text.to_owned(),
    };
    text.into_bytes()
}

#[test]
fn a_good_folder_loads_whole() {
    let loaded = Folder::good().edit("passerelle.toml", "example.org\"", "example.org/\"").loaded();
    assert_eq!(loaded.issuer, "https://login.example.org/api/v2");
    assert_eq!(loaded.settings.base_url, "https://login.example.org");
    assert_eq!(loaded.subject_keys.get(&1).unwrap().reveal(), SUBJECT_KEY.as_bytes());
    let service = loaded.service_providers.get("sp").unwrap();
    assert_eq!(
        service.service_provider.authentication.secrets()[0].sha256,
        passerelle_protocol::digest::sha256(CLIENT_SECRET.as_bytes())
    );
    assert_eq!(service.service_provider.sector, "sp");
    let connector = loaded.connectors.get("idp").unwrap();
    assert_eq!(connector.client_secret.as_ref().unwrap().reveal(), "idp-secret");
    assert!(loaded.scopes.scopes.contains_key("identite_pivot"));
    assert_eq!(text_in_language(&loaded.theme.name, "de"), "Passerelle");
    assert_eq!(loaded.settings.lifetimes.session(loaded.settings.platform).as_secs(), 28_800);
    assert!(loaded.warnings.iter().any(|warning| warning.key == "identity_source"));
}

/// File to modify · text to replace · replacement · expected key · expected words in the message or
/// fix.
pub(crate) type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[track_caller]
pub(crate) fn check_rows(rows: &[Row]) {
    check_rows_of(Folder::good, rows.iter().copied());
}

/// Checks that each edit of the folder is reported at its key.
#[track_caller]
pub(crate) fn check_rows_of(folder: impl Fn() -> Folder, rows: impl Iterator<Item = Row>) {
    for (file, from, to, key, words) in rows {
        let (found_file, found_key, text) = folder().edit(file, from, to).problem();
        assert_eq!(found_key, key, "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
        assert!(found_file == file || found_file.ends_with("none.toml"), "{to}: {found_file}");
    }
}
