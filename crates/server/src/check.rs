//! Checks, without starting a hub, whether it would start and whether its peers answer (`passerelle
//! check`).

pub mod connector;
mod sample;
pub mod service_provider;

use std::sync::Arc;

use super::build_error::BuildError;
use super::from_settings::identity_source;
use super::keys::HubKeys;
use super::prepare::{connector_context, connector_spec, prepare_hub};
use super::unbuildable_connectors::deactivate_unbuildable;
use super::{register, store};
use passerelle_audit::file;
use passerelle_audit::settings::AuditSink;
use passerelle_config::LoadedConfig;
use passerelle_config::check_context::CheckContext;
use passerelle_extension::ProbeContext;
use passerelle_federation::identity::IdentitySource;
use passerelle_grants::client_keys::{KeyDirectory, KeyFetchError};
use passerelle_jose::keyfiles::{self, KeyFolder};
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_settings::{Diagnostic, Environment, address};
use passerelle_store::kind::StoreSettings;
use passerelle_telemetry::Metrics;
use passerelle_web::theme::{FooterLink, LinkPurpose};

/// What a check of one file uses beside the file.
#[derive(Clone, Copy)]
pub struct CheckInputs<'a> {
    pub context: &'a CheckContext,
    pub environment: &'a Environment,
    pub env: &'a Env,
    /// Whether the addresses in the file are called.
    pub is_online: bool,
}

/// Returns every error that would keep `serve` from starting, each with its fix.
pub fn find_startup_errors(loaded: &LoadedConfig, env: &Env) -> Vec<BuildError> {
    let mut startable = loaded.clone();
    deactivate_unbuildable(&mut startable, env);
    let mut faults = match prepare_hub(&startable, env, HubKeys::FromFolder) {
        Ok(prepared) => {
            let (keys, now) = (&prepared.keys.shared, env.now());
            let found = keys.devices.check_keys(&keys.ring.load(), &keys.upstream.load(), now);
            keys.devices.close();
            found
        }
        Err(faults) => faults,
    };
    let audit = &loaded.settings.audit;
    if audit.sink == AuditSink::File {
        faults.extend(file::check_writable(&audit.path).err().map(BuildError::from));
    }
    let store = store::store_settings(loaded).and_then(StoreSettings::check);
    faults.extend(store.err().map(BuildError::from));
    faults
}

/// Returns a warning if a hub in production has private keys in files that are not encrypted.
pub fn plaintext_keys_warning(loaded: &LoadedConfig) -> Option<Diagnostic> {
    let is_production = !loaded.settings.sandbox && !address::is_loopback(&loaded.base_url);
    let keys = &loaded.settings.keys;
    let plaintext = if is_production { keyfiles::count_plaintext_keys(keys) } else { 0 };
    let fix = if loaded.private_keys.passphrase.is_some() {
        "run `passerelle keys encrypt`, then set plain_key_files = \"refused\" (docs/secrets.md)"
    } else {
        "set key_passphrase, and run `passerelle keys encrypt` (docs/secrets.md); or keep the keys in a device (docs/keys-in-hardware.md)"
    };
    (plaintext > 0).then(|| Diagnostic {
        file: keys.display().to_string(),
        line: None,
        key: String::new(),
        message: format!("holds {plaintext} private keys in files that are not encrypted"),
        fix: fix.to_owned(),
    })
}

/// Returns a warning if a hub in production does not rotate its keys by schedule although it can
/// write them, or if it is to rotate them and can't.
pub fn key_rotation_warning(loaded: &LoadedConfig) -> Option<Diagnostic> {
    let is_production = !loaded.settings.sandbox && !address::is_loopback(&loaded.base_url);
    let is_scheduled = loaded.settings.rotate_keys_every_days.is_some();
    let writable = keyfiles::check_rotation(&KeyFolder::from(&loaded.settings.keys));
    let (message, fix) = match writable {
        Ok(()) if is_production && !is_scheduled => (
            "is not set: keys change only when an operator runs `passerelle keys rotate`"
                .to_owned(),
            "write rotate_keys_every_days = 90; hubs that share a store must share the key folder (docs/secrets.md)",
        ),
        Err(error) if is_scheduled => (
            format!("is set, and this user can't write new keys: {error}"),
            "run this command as the hub's user; if the folder is a read-only mount, remove the key (docs/secrets.md)",
        ),
        Ok(()) | Err(_) => return None,
    };
    let fix = fix.to_owned();
    let (file, key) = ("passerelle.toml".to_owned(), "rotate_keys_every_days".to_owned());
    Some(Diagnostic { file, line: None, key, message, fix })
}

/// Returns a warning for each way to help that the pages of a public hub lack. A person who can't
/// sign in knows no other one, and the law of most countries demands a privacy notice and an
/// accessibility statement.
pub fn page_link_warnings(loaded: &LoadedConfig) -> Vec<Diagnostic> {
    if address::is_loopback(&loaded.base_url) {
        return Vec::new();
    }
    let theme = &loaded.theme;
    let has_link =
        |purpose| theme.footer.iter().any(|link: &FooterLink| link.purpose == Some(purpose));
    let support = match &theme.support {
        None => Some((
            "is missing: an error page leads to no contact",
            "write support_url = \"mailto:help@example.org\", or an https address with {code} and {support_id} in its query",
        )),
        Some(support) if !support.has_support_id() => Some((
            "lacks {support_id}: the support does not learn which login failed",
            "add it to the query, for example ?code={code}&number={support_id}",
        )),
        Some(_) => None,
    };
    let privacy = (!has_link(LinkPurpose::Privacy)).then_some((
        "has no link to a privacy notice",
        "write [public_pages.privacy] in passerelle.toml (docs/public-pages.md), or add a [[footer]] link with purpose = \"privacy\"",
    ));
    let accessibility = (!has_link(LinkPurpose::Accessibility)).then_some((
        "has no link to an accessibility statement",
        "write [public_pages.accessibility] in passerelle.toml (docs/public-pages.md), or add a [[footer]] link with purpose = \"accessibility\"",
    ));
    let file = loaded.settings.theme.as_ref().map(|file| file.display().to_string());
    let found = [("support_url", support), ("footer", privacy), ("footer", accessibility)];
    let warning = |(key, finding): (&str, Option<(&str, &str)>)| {
        let (message, fix) = finding?;
        Some(Diagnostic {
            file: file.clone().unwrap_or_else(|| "(built-in theme)".to_owned()),
            line: None,
            key: key.to_owned(),
            message: message.to_owned(),
            fix: match file {
                Some(_) => format!("{fix} (docs/theme.md)"),
                None => format!(
                    "name a theme file by `theme` in passerelle.toml; {fix} (docs/theme.md)"
                ),
            },
        })
    };
    found.into_iter().filter_map(warning).collect()
}

/// Results of `check --online`: by connector id, or `register` for a remote register.
pub type ProbeResults = Vec<(String, Result<(), String>)>;

/// Fetches the metadata and keys of every identity provider, and calls the health check of the
/// register. Calls `probed` after each identity provider.
///
/// # Errors
/// Returns an error if a connector or the register can't be built.
pub async fn probe_providers(
    loaded: &LoadedConfig,
    env: &Env,
    probed: &dyn Fn(),
) -> Result<ProbeResults, BuildError> {
    // Metadata and keys are public, so the hub's own keys are not needed.
    let context = connector_context(loaded, env, None, None);
    let mut findings = Vec::new();
    for (configured, fields) in loaded.files.connectors().values() {
        let plan = connector_spec(configured, fields, &context)?;
        findings.push((
            plan.id.to_string(),
            plan.connector.preload().await.map_err(|error| error.to_string()),
        ));
        probed();
    }
    // R009: the high platform never queries the register, so its health is irrelevant.
    let asked = identity_source(loaded) == IdentitySource::Register;
    if asked
        && register::register_settings(loaded)?
            .is_some_and(passerelle_register::kind::RegisterSettings::is_remote)
    {
        let metrics = Arc::new(Metrics::new()?);
        if let Some(register) = register::open_register(loaded, &metrics, env.now())? {
            let found = register.probe().await.map_err(|error| error.to_string());
            findings.push(("register".to_owned(), found));
        }
    }
    Ok(findings)
}

/// Calls the servers that the tables of optional crates name. Returns the outcomes by the name of
/// the table.
pub async fn probe_extensions(
    loaded: &LoadedConfig,
    env: &Env,
) -> Vec<(&'static str, Result<String, String>)> {
    let languages = loaded.build_federation().languages;
    let context = ProbeContext { env, theme: &loaded.theme, languages: &languages };
    let mut outcomes = Vec::new();
    for extension in loaded.extensions {
        let table = loaded.extension_table(extension);
        if let (Some(probe), Some(table)) = (extension.probe, table) {
            outcomes.push((extension.name, probe(table, context).await));
        }
    }
    outcomes
}

/// Fetches the keys of every service provider with a `jwks_uri`. Calls `fetched` after each one.
///
/// # Errors
/// Returns an error if an address is forbidden or the metrics can't be registered.
pub async fn probe_client_keys(
    loaded: &LoadedConfig,
    fetched: &dyn Fn(),
) -> Result<Vec<(ClientId, Result<(), KeyFetchError>)>, BuildError> {
    let federation = loaded.build_federation();
    let metrics = Arc::new(Metrics::new()?);
    Ok(KeyDirectory::new(&federation, &metrics)?.check_published_keys(&federation, fetched).await)
}
