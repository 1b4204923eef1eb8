//! Checks one file of a connector or a service provider against the hub's settings and scopes. A
//! file can thus be checked while other files are invalid, or without a hub.

mod service_provider_draft;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command_settings::KeySettings;
use super::connectors::{self, ConnectorDraft};
use super::declarations::Declarations;
use super::scopes::{self, ScopeTables};
use super::service_providers::CheckedServiceProvider;
use super::{connector_diagnostics, consistency, data_providers, service_providers};
use crate::kinds::Kinds;
use crate::model::{self, DataProviderFile, ServiceProviderFile, Settings};
use crate::schema::settings_schema;
use passerelle_connector::kind_settings::{SupportedKinds, connector_schema};
use passerelle_connector::{ConfiguredConnector, SandboxMode};
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::identity::scopes::{ScopeTable, ScopeTableError};
use passerelle_federation::{Federation, ServiceProvider, UnavailableDisplay};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Secret;
use passerelle_settings::schema_node::shared_schema_for;
use passerelle_settings::settings_overlay::apply_environment;
use passerelle_settings::{
    Diagnostic, Environment, SecretContext, SecretOwner, SecretRules, SourceFile, secret_rules,
};
use std::sync::Arc;

pub use service_provider_draft::ServiceProviderDraft;

/// The settings that a file is checked against.
#[derive(Clone, Debug)]
pub struct CheckContext {
    /// The platform.
    pub platform: Platform,
    /// The hub's base URL without a trailing slash; `None` without a hub.
    pub base_url: Option<String>,
    /// Attributes that `sub` is derived from.
    pub subject: SubjectSource,
    /// Code of the country whose births need a `birthplace`.
    pub home_country: String,
    /// Folder of the hub's keys; `None` without a hub.
    pub keys: Option<PathBuf>,
    /// The scope tables.
    pub scopes: ScopeTables,
    /// Decrypts the private keys of `keys`.
    pub key_passphrase: Option<Secret<String>>,
    /// The claims and level names beyond the specification's.
    pub declarations: Declarations,
    /// The kinds of connectors.
    pub kinds: SupportedKinds,
    /// Ids of the categories of the choice page; `None` without a hub.
    pub categories: Option<Vec<String>>,
    /// Versions of the subject keys; `None` without a hub.
    subject_key_versions: Option<BTreeSet<u32>>,
    /// Folder of the connectors; `None` without a hub.
    connectors: Option<PathBuf>,
    folder: PathBuf,
    secrets: SecretRules,
}

impl CheckContext {
    /// Returns the federation of one checked file, with the connectors and scopes that it was
    /// checked against.
    ///
    /// # Errors
    /// Fails if a scope table is unusable.
    pub fn federation(
        &self,
        client: &CheckedServiceProvider,
        connectors: &[ConfiguredConnector],
    ) -> Result<Federation, ScopeTableError> {
        let table = |scopes| ScopeTable::from_names(scopes, &self.declarations.claims);
        let service = ServiceProvider::clone(&client.service_provider);
        let metadata = connectors
            .iter()
            .map(|configured| (configured.id.clone(), Arc::new(configured.metadata())));
        let openid_scopes = table(&self.scopes.openid)?;
        let scopes = table(&self.scopes.scopes)?;
        let mut federation = Federation::new([service], scopes, UnavailableDisplay::Disabled);
        federation.openid_scopes = openid_scopes;
        Ok(federation.with_connectors(metadata))
    }

    /// Reads `passerelle.toml` and `scopes.toml` of a configuration folder.
    ///
    /// # Errors
    /// Returns the problems of these two files.
    pub fn from_folder(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let settings = load_settings(folder, environment, kinds, &mut problems);
        let declarations =
            settings.as_ref().map(|(settings, _)| Declarations::from_settings(settings));
        let claims = declarations.as_ref().map(|declarations| &*declarations.claims);
        let scopes = scopes::load_scopes(&folder.join("scopes.toml"), claims, &mut problems);
        let read_passphrase = |_| KeySettings::read_passphrase(folder, environment, kinds);
        let key_passphrase = settings.as_ref().map_or(Ok(None), read_passphrase);
        let key_passphrase = key_passphrase.unwrap_or_else(|faults| {
            problems.extend(faults);
            None
        });
        match (scopes, settings) {
            (Some(scopes), Some((settings, secrets))) if problems.is_empty() => Ok(Self {
                platform: settings.platform,
                subject_key_versions: Some(subject_key_versions(&settings)),
                connectors: Some(folder.join(&settings.connectors)),
                base_url: Some(settings.base_url.trim_end_matches('/').to_owned()),
                subject: settings.subject,
                home_country: settings.home_country,
                keys: Some(folder.join(settings.keys)),
                key_passphrase,
                scopes: scopes.1,
                declarations: declarations.unwrap_or_default(),
                kinds: SupportedKinds {
                    formats: kinds.connectors,
                    sandbox: SandboxMode::from_flag(settings.sandbox),
                },
                categories: Some(
                    settings.choice.categories.into_iter().map(|category| category.id).collect(),
                ),
                folder: folder.to_owned(),
                secrets,
            }),
            _ => Err(problems),
        }
    }

    /// Returns the defaults of a hub on the standard platform. Paths are relative to `folder`.
    pub fn without_hub(folder: &Path, kinds: Kinds) -> Self {
        Self {
            platform: Platform::Standard,
            base_url: None,
            subject: SubjectSource::default(),
            home_country: model::defaults::home_country(),
            keys: None,
            key_passphrase: None,
            scopes: ScopeTables::default(),
            declarations: Declarations::default(),
            kinds: SupportedKinds { formats: kinds.connectors, sandbox: SandboxMode::On },
            categories: None,
            subject_key_versions: None,
            connectors: None,
            folder: folder.to_owned(),
            secrets: SecretRules::default(),
        }
    }

    /// Reads and checks one connector file. A missing secret is reported and does not prevent the
    /// other checks.
    pub fn check_connector(&self, file: &Path, environment: &Environment) -> ConnectorDraft {
        let Self { folder, secrets, kinds, declarations, .. } = self;
        let context = SecretContext { folder, environment, secrets, owner: SecretOwner::Settings };
        let mut draft = connectors::read_draft(file, *kinds, declarations, self.subject, &context);
        let schema = Arc::new(connector_schema(kinds.formats));
        draft.problems.extend(self.find_shared_secret(file, Arc::clone(&schema)));
        // Of a file that this one may not reference, nothing is reported.
        if draft.problems.is_empty()
            && let Ok(source) = SourceFile::read(file)
        {
            let source = source.with_schema(schema);
            draft.problems.extend(secret_rules::exposed_secrets(&source, folder));
        }
        ConnectorDraft { problems: self.explain_relative_paths(draft.problems), ..draft }
    }

    /// Returns problems whose fixes name the folder that paths are relative to.
    fn explain_relative_paths(&self, problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_hub_known = self.base_url.is_some();
        let describe = |problem: Diagnostic| {
            if is_hub_known { problem } else { problem.without_config_folder() }
        };
        problems.into_iter().map(describe).collect()
    }

    /// Returns the warnings about a valid file, as a check of the whole folder does.
    pub fn warnings(&self, path: &Path, connector: &ConfiguredConnector) -> Vec<Diagnostic> {
        let unknown = |category: &String| {
            self.categories.as_ref().is_some_and(|known| !known.contains(category))
        };
        let category = connector.file.category.as_ref().filter(|category| unknown(category));
        let mut warnings =
            connector_diagnostics::connector_warnings(path, connector, self.platform);
        warnings.extend(category.map(|_| connector_diagnostics::unknown_category_warning(path)));
        warnings
    }

    /// Reports a secret that the connector shares with a service provider or data provider of the
    /// same name.
    fn find_shared_secret(&self, file: &Path, schema: Arc<Value>) -> Option<Diagnostic> {
        let read = |file: &Path, schema| Some(SourceFile::read(file).ok()?.with_schema(schema));
        let namesake = |(kind, schema): (&str, _)| {
            read(&self.folder.join(kind).join(file.file_name()?), schema)
        };
        let others = [
            (service_providers::FOLDER, shared_schema_for::<ServiceProviderFile>()),
            (data_providers::FOLDER, shared_schema_for::<DataProviderFile>()),
        ];
        let all: Vec<SourceFile> =
            others.into_iter().filter_map(namesake).chain(read(file, schema)).collect();
        let conflict = consistency::shared_secret_conflicts(&all, &self.folder).pop()?;
        (conflict.problem.file == file.display().to_string()).then_some(conflict.problem)
    }
}

/// Returns the versions of the subject keys that the settings name, without reading the keys.
fn subject_key_versions(settings: &Settings) -> BTreeSet<u32> {
    let listed = settings.subject_keys.iter().map(|key| key.version);
    settings.subject_key.iter().map(|_| 1).chain(listed).collect()
}

fn load_settings(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
    problems: &mut Vec<Diagnostic>,
) -> Option<(Settings, SecretRules)> {
    let main = SourceFile::read(&folder.join("passerelle.toml"))
        .map_err(|problem| problems.push(problem))
        .ok()?;
    let schema = Arc::new(settings_schema(kinds));
    let main = apply_environment(main, environment, Arc::clone(&schema), problems);
    let settings = kinds.read_settings(&main, || Value::clone(&schema), problems)?;
    let secrets = settings.secret_rules(&main, folder);
    Some((settings, secrets))
}
