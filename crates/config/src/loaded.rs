//! Loads and checks the configuration folder.

mod parsed_files;
mod startup;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use self::parsed_files::{ClientChecks, ParsedFiles};
pub use self::startup::load_usable_config;
use self::startup::settings_file;
use super::kinds::{KindTables, Kinds};
use super::model::{RegisterConfig, ServiceProviderFile, Settings};
use super::reload::reloadable_files::{self, ReloadableFiles};
use super::schema::settings_schema;
use super::validation::certificate_expiry::{CertificateExpiry, certificate_expiries};
use super::validation::data_providers::CheckedDataProvider;
use super::validation::declarations::Declarations;
use super::validation::private_key_access::PrivateKeyAccess;
use super::validation::service_providers::{self, CheckedServiceProvider, HubSettings};
use super::validation::subject_keys::SubjectKeysByVersion;
use super::validation::traces::TraceHeaders;
use super::validation::{
    connector_diagnostics, connectors, consistency, ignored_files, insecure_settings, scopes,
    settings,
};
use passerelle_admin::operator_accounts::PrivateListenerAccess;
use passerelle_connector::kind_settings::{SupportedKinds, connector_schema};
use passerelle_connector::{ConfiguredConnector, SandboxMode};
use passerelle_extension::Extension;
use passerelle_federation::Federation;
use passerelle_federation::connector_rules::ConnectorOrder;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_settings::settings_overlay::apply_environment;
use passerelle_settings::{
    ConfiguredTable, Diagnostic, Environment, FileCheck, SecretContext, SecretLocations,
    SecretOwner, SecretRules, SourceFile, file_diagnostic, secret_rules,
};
use passerelle_web::theme::{self, FooterLink, Theme};

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
    /// Operators with their tokens, and the other hubs.
    pub private_access: PrivateListenerAccess,
    /// Headers of each request to the trace collector.
    pub trace_headers: TraceHeaders,
    pub private_keys: PrivateKeyAccess,
    /// The `[register]` table of the chosen kind, with its secrets.
    pub register: Option<ConfiguredTable>,
    /// The `[store]` table of the chosen kind, with its secrets.
    pub store: Option<ConfiguredTable>,
    pub service_providers: BTreeMap<ClientId, CheckedServiceProvider>,
    pub data_providers: BTreeMap<ClientId, CheckedDataProvider>,
    pub connectors: BTreeMap<ConnectorId, ConfiguredConnector>,
    pub scopes: scopes::ScopeTables,
    pub theme: Theme,
    /// The files that a running hub reloads.
    pub files: ReloadableFiles,
    /// Secret files with a mode wider than 0600. `check` rejects them; a start warns about them.
    pub exposed_secrets: Vec<Diagnostic>,
    pub certificates: Vec<CertificateExpiry>,
    /// Valid but questionable settings, logged at every start.
    pub warnings: Vec<Diagnostic>,
    /// Connectors without verified identities. `check` rejects them; a start logs them, and
    /// `/readyz` reports them.
    pub unverified_connectors: Vec<Diagnostic>,
    /// Problems of files that this start does without and that only a restart reads again.
    pub startup_diagnostics: Vec<Diagnostic>,
    /// The optional crates of the program.
    pub extensions: &'static [Extension],
    /// Their tables, by name, with their secrets.
    pub extension_tables: BTreeMap<&'static str, ConfiguredTable>,
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

fn read_secret_rules(
    main: Option<&SourceFile>,
    settings: Option<&Settings>,
    folder: &Path,
) -> SecretRules {
    match (main, settings) {
        (Some(source), Some(settings)) => settings.secret_rules(source, folder),
        (Some(source), None) => SecretRules::new(source, SecretLocations::default(), &[], folder),
        (None, _) => SecretRules::default(),
    }
}

#[expect(clippy::too_many_lines, reason = "the steps of a load, each with what the earlier found")]
fn load_all_files(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
    problems: &mut Vec<Diagnostic>,
) -> Option<LoadedConfig> {
    kinds.install_extensions();
    let schema = Arc::new(settings_schema(kinds));
    let main = SourceFile::read(&folder.join("passerelle.toml"))
        .map_err(|problem| problems.push(problem))
        .ok()
        .map(|source| apply_environment(source, environment, Arc::clone(&schema), problems));
    let settings = main
        .as_ref()
        .and_then(|main| kinds.read_settings(main, || Value::clone(&schema), problems));
    let declarations = settings.as_ref().map(Declarations::from_settings);
    let parsed = ParsedFiles::read(folder, declarations.as_ref(), problems);
    let named = main.as_ref().zip(settings.as_ref());
    let references = named.map(|(source, settings)| parsed.check_references(source, settings));
    problems.extend(references.into_iter().flatten());
    let rules = read_secret_rules(main.as_ref(), settings.as_ref(), folder);
    let context =
        SecretContext { folder, environment, secrets: &rules, owner: SecretOwner::Settings };
    // Checking a connector requires the settings.
    let platform = settings.as_ref().map(|settings| settings.platform);
    let connectors = settings.as_ref().and_then(|settings| {
        let sandbox = SandboxMode::from_flag(settings.sandbox);
        let kinds = SupportedKinds { formats: kinds.connectors, sandbox };
        let folder = folder.join(&settings.connectors);
        let connectors =
            load_connectors(&folder, declarations.as_ref()?, kinds, &context, problems)?;
        problems.extend(unreachable_service_providers(&parsed.services, &connectors, platform?));
        Some(connectors)
    });
    let tables = main
        .as_ref()
        .map(|source| {
            KindTables::load(&mut FileCheck::new(source, problems), kinds, &schema, &context)
        })
        .unwrap_or_default();
    if let Some((source, settings)) = named {
        let scopes = parsed.scopes.as_ref().map(|(_, tables)| tables);
        let mut check = FileCheck::new(source, problems);
        tables.check_extensions(&mut check, kinds, settings, scopes);
    }
    let checked = main.as_ref().zip(settings).and_then(|(source, settings)| {
        settings::check_settings(&mut FileCheck::new(source, problems), settings, kinds, &context)
    });
    let theme_file = checked.as_ref().and_then(|checked| checked.settings.theme.as_deref());
    let theme = theme::load_theme(theme_file, problems);
    problems.extend(parsed.conflicts(checked.as_ref()));
    let warnings = file_warnings(&parsed.services, connectors.as_deref(), checked.as_ref());
    let order = checked.as_ref().map(|checked| checked.settings.choice.order.as_slice());
    let order = Arc::new(ConnectorOrder::new(order.unwrap_or_default(), &[]));
    let newest = checked.as_ref().and_then(|checked| checked.subject_keys.keys().next_back());
    let sandbox = checked.as_ref().is_none_or(|checked| checked.settings.sandbox);
    let settings = HubSettings {
        newest_subject_key: newest.copied().unwrap_or(1),
        platform,
        declarations: declarations.as_ref(),
        sandbox: SandboxMode::from_flag(sandbox),
        order: &order,
    };
    let clients = ClientChecks { context, settings }.check(parsed, problems);
    let all: Vec<&SourceFile> =
        clients.sources().chain(connectors.iter().flatten().map(|(source, _)| source)).collect();
    let shared = consistency::shared_secret_conflicts(all.iter().copied(), folder);
    problems.extend(shared.into_iter().map(|conflict| conflict.problem));
    if !problems.is_empty() {
        return None;
    }
    let read: Vec<&SourceFile> = main.iter().chain(all).collect();
    let exposed_secrets =
        read.iter().flat_map(|source| secret_rules::exposed_secrets(source, folder)).collect();
    let certificates = certificate_expiries(&read, folder, environment);
    let ignored = checked.as_ref().map(|checked| {
        ignored_files::ignored_file_warnings(folder, &checked.settings.connectors, &read)
    });
    let files = clients.with_connectors(connectors?)?;
    let mut checked = checked?;
    tables.copy_into(&mut checked.settings);
    let KindTables { store, register, extensions: extension_tables } = tables;
    let load_context = load_context(&context, kinds, &checked);
    let warnings = warnings.into_iter().chain(ignored.into_iter().flatten()).collect();
    let loaded = assemble(load_context, checked, files, theme?, warnings)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    let extensions = kinds.extensions;
    let mut loaded = LoadedConfig {
        register,
        store,
        exposed_secrets,
        certificates,
        extensions,
        extension_tables,
        ..loaded
    };
    let links = extensions
        .iter()
        .filter_map(|extension| Some((extension.footer_links)(loaded.extension_table(extension)?)));
    let links: Vec<FooterLink> = links.flatten().collect();
    loaded.theme.footer.extend(links);
    Some(loaded)
}

/// Returns the warnings about the files of service providers and of connectors.
fn file_warnings(
    services: &[(SourceFile, ServiceProviderFile)],
    connectors: Option<&[(SourceFile, ConfiguredConnector)]>,
    checked: Option<&settings::CheckedSettings>,
) -> Vec<Diagnostic> {
    let of_services = services.iter().filter_map(insecure_settings::service_provider_warning);
    let of_connectors = connectors
        .zip(checked)
        .map(|(connectors, checked)| connector_warnings(services, connectors, &checked.settings));
    of_services.chain(of_connectors.into_iter().flatten()).collect()
}

/// Returns the warnings about connectors, and about references to missing ones.
fn connector_warnings(
    services: &[(SourceFile, ServiceProviderFile)],
    connectors: &[(SourceFile, ConfiguredConnector)],
    settings: &Settings,
) -> Vec<Diagnostic> {
    let is_known = |id: &ConnectorId| connectors.iter().any(|(_, connector)| connector.id == *id);
    let mut warnings = service_providers::unknown_connectors(services, is_known);
    for (source, connector) in connectors {
        let platform = settings.platform;
        warnings.extend(connector_diagnostics::connector_warnings(
            source.path(),
            connector,
            platform,
        ));
    }
    let known = services.iter().map(|(_, file)| &file.client_id).collect();
    warnings.extend(connector_diagnostics::unknown_service_provider_warnings(
        &settings.connectors,
        connectors.iter().map(|(_, connector)| connector),
        &known,
    ));
    warnings
}

/// Returns what the files are checked against while the hub runs.
fn load_context(
    context: &SecretContext<'_>,
    kinds: Kinds,
    checked: &settings::CheckedSettings,
) -> reloadable_files::LoadContext {
    let settings::CheckedSettings { settings, subject_keys, .. } = checked;
    let sandbox = SandboxMode::from_flag(settings.sandbox);
    reloadable_files::LoadContext {
        settings_file: settings_file(context.folder, context.environment, kinds),
        folder: context.folder.to_owned(),
        connectors: settings.connectors.clone(),
        environment: context.environment.clone(),
        secrets: context.secrets.clone(),
        kinds: SupportedKinds { formats: kinds.connectors, sandbox },
        platform: settings.platform,
        subject_keys: subject_keys.clone(),
        subject: settings.subject,
        declarations: Arc::new(Declarations::from_settings(settings)),
        order: Arc::new(ConnectorOrder::new(&settings.choice.order, &[])),
        choice: settings.choice.clone(),
        places: settings.place_name_files.clone(),
        default_language: settings.default_language.clone(),
    }
}

/// Builds the configuration from files that passed every check.
fn assemble(
    load_context: reloadable_files::LoadContext,
    checked: settings::CheckedSettings,
    checked_files: reloadable_files::CheckedFiles,
    theme: Theme,
    mut warnings: Vec<Diagnostic>,
) -> Result<LoadedConfig, Diagnostic> {
    let by_id = |(_, client): &(SourceFile, CheckedServiceProvider)| {
        (client.file.client_id.clone(), client.clone())
    };
    let service_providers: BTreeMap<_, _> = checked_files.services.iter().map(by_id).collect();
    let by_id = |(_, provider): &(SourceFile, CheckedDataProvider)| {
        (provider.file.client_id.clone(), provider.clone())
    };
    let data_providers = checked_files.data_providers.iter().map(by_id).collect();
    let by_id = |(_, connector): &(SourceFile, ConfiguredConnector)| {
        (connector.id.clone(), connector.clone())
    };
    let connectors = checked_files.connectors.iter().map(by_id).collect();
    let scopes = checked_files.scopes.1.clone();
    let settings::CheckedSettings {
        source,
        settings,
        base_url,
        subject_keys,
        admin_token,
        private_access,
        trace_headers,
        private_keys,
    } = checked;
    let providers = checked_files.data_providers.iter();
    warnings.extend(providers.filter_map(insecure_settings::data_provider_warning));
    warnings.extend(settings::settings_warnings(&source, &settings));
    warnings.extend(insecure_settings_warnings(&source, &settings));
    warnings.extend(connector_diagnostics::settings_warnings(&source, &connectors, &settings));
    warnings.extend(missing_entry_warnings(&source, &settings, &connectors, &service_providers));
    let files = ReloadableFiles::new(load_context, checked_files)?;
    warnings.extend(files.table_diagnostics().cloned());
    warnings.extend(files.domain_conflicts());
    let unverified_connectors = files.unverified_connectors();
    let issuer = format!("{}{}", settings.base_url, path::ISSUER);
    Ok(LoadedConfig {
        extensions: &[],
        extension_tables: BTreeMap::new(),
        settings,
        base_url,
        issuer,
        subject_keys,
        admin_token,
        private_access,
        trace_headers,
        private_keys,
        register: None,
        store: None,
        service_providers,
        data_providers,
        connectors,
        scopes,
        theme,
        files,
        exposed_secrets: Vec::new(),
        certificates: Vec::new(),
        warnings,
        unverified_connectors,
        startup_diagnostics: Vec::new(),
    })
}

fn insecure_settings_warnings(source: &SourceFile, settings: &Settings) -> Vec<Diagnostic> {
    let register = settings.register.as_ref().map(|RegisterConfig(table)| table.clone());
    insecure_settings::settings_warnings(source, settings, &register.unwrap_or_default())
}

/// Loads every connector. Returns `None` if a file is invalid, since reachability is then unknown.
fn load_connectors(
    folder: &Path,
    declarations: &Declarations,
    kinds: SupportedKinds,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Vec<(SourceFile, ConfiguredConnector)>> {
    let paths = connectors::list_files(folder).map_err(|problem| problems.push(problem)).ok()?;
    let (mut good, before) = (Vec::new(), problems.len());
    let schema = Arc::new(connector_schema(kinds.formats));
    for path in paths {
        let source = SourceFile::read_in(folder, &path).map_err(|problem| vec![problem]);
        let check = |source: SourceFile| {
            let source = source.with_schema(Arc::clone(&schema));
            Ok((connectors::check_source(&source, kinds, declarations, context)?, source))
        };
        match source.and_then(check) {
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

/// Warns about missing connectors and service providers. The hub starts without them, since files
/// can be added later.
fn missing_entry_warnings(
    source: &SourceFile,
    settings: &Settings,
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    service_providers: &BTreeMap<ClientId, CheckedServiceProvider>,
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
    if settings.choice.ask_email
        && settings.choice.email_domain_file.is_none()
        && connectors.values().all(|connector| connector.file.email_domains.is_empty())
    {
        let message = "asks users for an e-mail address, but no connector lists email_domains";
        let fix =
            "add email_domains to the connectors' files or an email_domain_file, or remove it";
        warnings.push(source.diagnostic("choice.ask_email", message, fix));
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

impl LoadedConfig {
    /// Returns the table of an optional crate.
    pub fn extension_table(&self, extension: &Extension) -> Option<&ConfiguredTable> {
        self.extension_tables.get(extension.table?.kind.name)
    }

    /// Returns the federation of this configuration.
    pub fn build_federation(&self) -> Federation {
        self.files.build_federation()
    }
}
