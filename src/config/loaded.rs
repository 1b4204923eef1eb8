//! Loads and checks the configuration folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use url::Url;

use super::federation::Federation;
use super::kinds::{ConfiguredTable, KindTables, Kinds};
use super::loading::schema::settings_schema;
use super::loading::settings_overlay::apply_environment;
use super::loading::{
    Diagnostic, Environment, SecretContext, SecretOwner, SecretRules, SourceFile, file_diagnostic,
    secret_rules,
};
use super::model::{DataProviderFile, RegisterConfig, ServiceProviderFile, Settings, StoreConfig};
use super::validation::configured_connector::{ConfiguredConnector, SandboxMode};
use super::validation::connector_rules::ConnectorOrder;
use super::validation::consistency::{self, ClientDeclaration};
use super::validation::data_providers::{self, RegisteredDataProvider};
use super::validation::service_providers::{self, RegisteredClient};
use super::validation::subject_keys::SubjectKeysByVersion;
use super::validation::theme::{self, Theme};
use super::validation::traces::TraceHeaders;
use super::validation::{connector_diagnostics, connectors, notices, scopes, settings};
use super::watching::reloadable_files::{self, ReloadableFiles};
use crate::ids::{ClientId, ConnectorId, Secret};
use crate::protocol::acr::Platform;

/// A complete, checked configuration with its secrets resolved.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The settings with absolute paths; `base_url` has no trailing slash.
    pub settings: Settings,
    pub base_url: Url,
    /// The hub's issuer: `{base_url}/api/v2`.
    pub issuer: String,
    /// The subject keys by version: at least one, each of at least 32 bytes.
    pub subject_keys: SubjectKeysByVersion,
    /// Bearer token for the administration of a running hub; without one there is no
    /// administration.
    pub admin_token: Option<Secret<String>>,
    /// Headers of each request to the trace collector.
    pub trace_headers: TraceHeaders,
    /// The `[register]` table of the chosen kind, with its secrets.
    pub register: Option<ConfiguredTable>,
    /// The `[store]` table of the chosen kind, with its secrets.
    pub store: Option<ConfiguredTable>,
    pub service_providers: BTreeMap<ClientId, RegisteredClient>,
    pub data_providers: BTreeMap<ClientId, RegisteredDataProvider>,
    pub connectors: BTreeMap<ConnectorId, ConfiguredConnector>,
    pub scopes: scopes::ScopeTables,
    pub theme: Theme,
    /// The files that a running hub reloads.
    pub files: ReloadableFiles,
    /// Secret files that every local user can read. `check` rejects them; a start warns about them.
    pub exposed_secrets: Vec<Diagnostic>,
    /// Valid but questionable settings, logged at every start.
    pub warnings: Vec<Diagnostic>,
    /// Connectors without verified identities. `check` rejects them; a start logs them, and
    /// `/readyz` reports them.
    pub unverified_connectors: Vec<Diagnostic>,
}

/// Reads and checks the configuration in `folder`, whose tables may be of these kinds.
///
/// # Errors
/// Returns every problem found, sorted by file and line. None of them contains a value.
pub fn load_config(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let loaded = load_all_files(folder, environment, kinds, &mut problems);
    problems.sort();
    problems.dedup();
    match loaded {
        Some(loaded) if problems.is_empty() => Ok(loaded),
        _ => Err(problems),
    }
}

fn load_all_files(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
    problems: &mut Vec<Diagnostic>,
) -> Option<LoadedConfig> {
    let scopes = scopes::load_scopes(&folder.join("scopes.toml"), problems);
    let notices = notices::load_notices(&folder.join("notices.toml"), problems);
    let drafts = service_providers::read_drafts(&folder.join(service_providers::FOLDER), problems);
    let data_drafts = data_providers::read_drafts(&folder.join(data_providers::FOLDER), problems);
    let main = SourceFile::read(&folder.join("passerelle.toml"))
        .map_err(|problem| problems.push(problem))
        .ok();
    let schema = settings_schema(kinds);
    let main = main.map(|source| apply_environment(source, environment, &schema, problems));
    let settings: Option<Settings> =
        main.as_ref().and_then(|source| source.deserialize_at(&[], || schema.clone(), problems));
    let rules = main
        .as_ref()
        .map(|source| SecretRules::new(source, settings.as_ref(), folder))
        .unwrap_or_default();
    let context =
        SecretContext { folder, environment, secrets: &rules, owner: SecretOwner::Settings };

    let sandbox = settings.as_ref().map(|settings| SandboxMode::from_flag(settings.sandbox));
    let (platform, connectors_path) =
        settings.as_ref().map(|settings| (settings.platform, settings.connectors.clone())).unzip();
    let before = problems.len();
    let tables = main
        .as_ref()
        .map(|source| KindTables::load(source, kinds, &schema, &context, problems))
        .unwrap_or_default();
    let checked = match (&main, settings) {
        (Some(source), Some(settings)) => {
            settings::check_settings(source, settings, kinds, &context, problems)
        }
        _ => None,
    };
    let theme = match checked.as_ref().and_then(|checked| checked.settings.theme.as_deref()) {
        Some(file) => theme::load_theme(file, problems),
        None => theme::built_in_theme(problems),
    };
    // Checking a connector requires the sandbox setting.
    let connectors = match (sandbox, connectors_path) {
        (Some(sandbox), Some(path)) => {
            load_connectors(&folder.join(path), sandbox, &context, problems)
        }
        _ => None,
    };
    let mut warnings = Vec::new();
    if let (Some(connectors), Some(platform)) = (&connectors, platform) {
        problems.extend(unreachable_service_providers(&drafts, connectors, platform));
        let is_known =
            |id: &ConnectorId| connectors.iter().any(|(_, connector)| connector.id == *id);
        warnings.extend(service_providers::unknown_connectors(&drafts, is_known));
        let warnings_for = |(source, connector): &(SourceFile, ConfiguredConnector)| {
            connector_diagnostics::connector_warnings(source.path(), &connector.file, platform)
        };
        warnings.extend(connectors.iter().flat_map(warnings_for));
        let known = drafts.iter().map(|(_, file)| &file.client_id).collect();
        let folder =
            checked.as_ref().map_or(folder, |checked| checked.settings.connectors.as_path());
        warnings.extend(connector_diagnostics::unknown_service_provider_warnings(
            folder,
            connectors.iter().map(|(_, connector)| connector),
            &known,
        ));
    }
    let scopes_or_built_in = scopes.as_ref().map(|(_, tables)| tables.clone()).unwrap_or_default();
    warnings.extend(drafts.iter().filter_map(insecure_http_warning));
    let declarations: Vec<_> = drafts
        .iter()
        .map(|(source, file)| ClientDeclaration::from_service_provider(source, file))
        .chain(
            data_drafts
                .iter()
                .map(|(source, file)| ClientDeclaration::from_data_provider(source, file)),
        )
        .collect();
    let conflicts = match &checked {
        Some(checked) => consistency::find_conflicts(&declarations, &checked.subject_keys),
        None => consistency::duplicate_ids(&declarations)
            .into_iter()
            .chain(consistency::sector_conflicts(&declarations))
            .collect(),
    };
    problems.extend(conflicts.into_iter().map(|conflict| conflict.problem));
    let newest = checked
        .as_ref()
        .and_then(|checked| checked.subject_keys.keys().next_back().copied())
        .unwrap_or(1);
    let service = |(source, file): (SourceFile, ServiceProviderFile)| {
        service_providers::check_scopes(&source, &file, &scopes_or_built_in, problems);
        let client =
            service_providers::check_file(&source, file, newest, platform, &context, problems);
        (source, client)
    };
    let services: Vec<(SourceFile, RegisteredClient)> = drafts.into_iter().map(service).collect();
    let provider = |(source, file): (SourceFile, DataProviderFile)| {
        data_providers::check_scopes(&source, &file, &scopes_or_built_in.scopes, problems);
        let registered = data_providers::check_file(&source, file, newest, &context, problems);
        (source, registered)
    };
    let data_providers: Vec<(SourceFile, RegisteredDataProvider)> =
        data_drafts.into_iter().map(provider).collect();
    let clients = services
        .iter()
        .map(|(source, _)| source)
        .chain(data_providers.iter().map(|(source, _)| source));
    let all: Vec<&SourceFile> =
        clients.chain(connectors.iter().flatten().map(|(source, _)| source)).collect();
    problems.extend(
        consistency::shared_secret_conflicts(all.iter().copied(), folder)
            .into_iter()
            .map(|conflict| conflict.problem),
    );
    if problems.len() > before {
        return None;
    }
    let exposed_secrets = main
        .iter()
        .chain(all)
        .flat_map(|source| secret_rules::exposed_secrets(source, folder))
        .collect();
    let (source, mut checked) = (main?, checked?);
    let KindTables { store, register } = tables;
    checked.settings.store = store.as_ref().map(|store| StoreConfig(store.to_table()));
    checked.settings.register =
        register.as_ref().map(|register| RegisterConfig(register.to_table()));
    let checked_files = reloadable_files::CheckedFiles {
        services,
        data_providers,
        connectors: connectors?,
        scopes: scopes?,
        notices: notices?,
    };
    let loaded = assemble(&context, (&source, checked), checked_files, theme?, warnings)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    Some(LoadedConfig { exposed_secrets, store, register, ..loaded })
}

/// Builds the configuration from files that passed every check.
fn assemble(
    context: &SecretContext<'_>,
    (source, checked): (&SourceFile, settings::CheckedSettings),
    checked_files: reloadable_files::CheckedFiles,
    theme: Theme,
    mut warnings: Vec<Diagnostic>,
) -> Result<LoadedConfig, Diagnostic> {
    let by_id = |(_, client): &(SourceFile, RegisteredClient)| {
        (client.file.client_id.clone(), client.clone())
    };
    let service_providers: BTreeMap<_, _> = checked_files.services.iter().map(by_id).collect();
    let by_id = |(_, provider): &(SourceFile, RegisteredDataProvider)| {
        (provider.file.client_id.clone(), provider.clone())
    };
    let data_providers = checked_files.data_providers.iter().map(by_id).collect();
    let by_id = |(_, connector): &(SourceFile, ConfiguredConnector)| {
        (connector.id.clone(), connector.clone())
    };
    let connectors = checked_files.connectors.iter().map(by_id).collect();
    let scopes = checked_files.scopes.1.clone();
    let settings::CheckedSettings { settings, base_url, subject_keys, admin_token, trace_headers } =
        checked;
    warnings.extend(settings::settings_warnings(source, &settings, &subject_keys));
    warnings.extend(connector_diagnostics::unknown_category_warnings(&connectors, &settings));
    warnings.extend(missing_entry_warnings(source, &settings, &connectors, &service_providers));
    let load_context = reloadable_files::LoadContext {
        folder: context.folder.to_owned(),
        connectors: settings.connectors.clone(),
        environment: context.environment.clone(),
        secrets: context.secrets.clone(),
        sandbox: SandboxMode::from_flag(settings.sandbox),
        platform: settings.platform,
        subject_keys: subject_keys.clone(),
        subject: settings.subject,
        order: Arc::new(ConnectorOrder::new(&settings.choice.order, &[])),
        choice: settings.choice.clone(),
    };
    let files = ReloadableFiles::new(load_context, checked_files)?;
    let unverified_connectors = files.unverified_connectors();
    let issuer = format!("{}/api/v2", settings.base_url);
    Ok(LoadedConfig {
        settings,
        base_url,
        issuer,
        subject_keys,
        admin_token,
        trace_headers,
        register: None,
        store: None,
        service_providers,
        data_providers,
        connectors,
        scopes,
        theme,
        files,
        exposed_secrets: Vec::new(),
        warnings,
        unverified_connectors,
    })
}

/// Loads every connector. Returns `None` if a file is invalid, since reachability is then unknown.
fn load_connectors(
    folder: &Path,
    sandbox: SandboxMode,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Vec<(SourceFile, ConfiguredConnector)>> {
    let paths = connectors::list_files(folder).map_err(|problem| problems.push(problem)).ok()?;
    let (mut good, before) = (Vec::new(), problems.len());
    for path in paths {
        let source = SourceFile::read_in(folder, &path).map_err(|problem| vec![problem]);
        match source
            .and_then(|source| Ok((connectors::check_source(&source, sandbox, context)?, source)))
        {
            Ok((connector, source)) => good.push((source, connector)),
            Err(found) => problems.extend(found),
        }
    }
    (problems.len() == before).then_some(good)
}

fn unreachable_service_providers(
    drafts: &[(SourceFile, ServiceProviderFile)],
    connectors: &[(SourceFile, ConfiguredConnector)],
    platform: Platform,
) -> Vec<Diagnostic> {
    let level_and_path = |(source, connector): &'_ (SourceFile, ConfiguredConnector)| {
        (connector.file.levels.highest, source.path().to_owned())
    };
    let described: Vec<_> = connectors.iter().map(level_and_path).collect();
    let ids = connectors.iter().map(|(_, connector)| &connector.id);
    let connectors =
        ids.zip(described.iter().map(|(highest, path)| (*highest, path.as_path()))).collect();
    let existing_connectors = service_providers::ExistingConnectors { connectors };
    let files = drafts.iter().map(|(source, file)| (source, file));
    service_providers::unreachable_conflicts(files, &existing_connectors, platform)
        .into_iter()
        .map(|conflict| conflict.problem)
        .collect()
}

fn insecure_http_warning((source, file): &(SourceFile, ServiceProviderFile)) -> Option<Diagnostic> {
    let message = "allows authorization codes to be sent without TLS";
    file.insecure_http
        .then(|| source.diagnostic("insecure_http", message, "never use it in production"))
}

/// Warns about missing connectors and service providers. The hub starts without them, since files
/// can be added later.
fn missing_entry_warnings(
    source: &SourceFile,
    settings: &Settings,
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    service_providers: &BTreeMap<ClientId, RegisteredClient>,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if connectors.is_empty() {
        let fix = "add a connector file there; no restart is needed";
        warnings.push(file_diagnostic(
            &settings.connectors,
            "the folder contains no connector, so no user can log in",
            fix,
        ));
    }
    if service_providers.is_empty() {
        warnings.push(source.diagnostic(
            "",
            "there is no service provider",
            "add a file to service-providers/; no restart is needed",
        ));
    }
    for (index, id) in
        settings.choice.order.iter().enumerate().filter(|(_, id)| !connectors.contains_key(*id))
    {
        let message = format!("names {id}, but there is no such connector");
        warnings.push(source.diagnostic(
            &format!("choice.order[{index}]"),
            message,
            "remove it, or add the connector's file",
        ));
    }
    warnings
}

impl Federation {
    /// Returns the federation of a checked configuration.
    #[must_use]
    pub fn from_loaded(loaded: &LoadedConfig) -> Self {
        loaded.files.build_federation()
    }
}
