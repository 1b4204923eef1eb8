//! L1 · Typed configuration: parsed once, unknown keys refused, every error with file, key and mend (architecture 9).
//!
//! Owns: the shape and the validity of every configuration file. Must not know: what runs on it.
//!
//! [`load`] reads a folder: `passerelle.toml` (with `PASSERELLE_…` variables over it), `service-providers/*.toml`,
//! `data-providers/*.toml`, `scopes.toml`, `notices.toml`, the theme, and the connectors' folder. It gives either a whole, checked [`Loaded`] or every
//! [`Problem`] that was found; never a part. A running hub reads all but `passerelle.toml` and the theme again, by
//! [`Files::read`].

pub mod access;
pub mod acr_table;
mod address;
pub mod audit;
pub mod blocks;
pub mod changes;
pub mod client_assertions;
mod client_auth;
pub mod client_keys;
mod connector_findings;
pub mod connector_rules;
pub mod connectors;
mod current;
pub mod data_providers;
mod environment;
mod facts;
pub mod federation;
pub mod files;
pub mod ldap;
pub mod logo;
pub mod mapping;
pub mod metrics;
pub mod model;
pub mod notices;
pub mod oauth2;
mod oidc;
pub mod outline;
mod problem;
pub mod proxies;
pub mod quotas;
mod reference;
mod register;
mod regular;
mod release;
mod schema;
pub mod scopes;
pub mod secret_rules;
mod secrets;
pub mod service_providers;
mod settings;
pub mod shown;
mod source;
pub mod store;
pub mod surroundings;
mod text;
pub mod theme;
mod together;
pub mod traces;
mod validity;

#[cfg(test)]
mod committed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use url::Url;

pub use blocks::Block;
pub use client_keys::{AnswerEncryption, JwksUri, KeySource};
pub use connectors::{ConfiguredConnector, Sandbox};
pub use current::Current;
pub use data_providers::RegisteredDataProvider;
pub use environment::Environment;
pub use facts::ConnectorFacts;
pub use federation::{DataProvider, Federation, Service, Unavailable};
pub use files::Files;
pub use model::{ConnectorFile, ServiceProvider, Settings};
pub use problem::{Problem, report};
pub use reference::reference_markdown;
pub use register::RegisterCredentials;
pub use schema::{schemas, write_schemas};
pub use secrets::DatedSecret;
pub use service_providers::RegisteredClient;
pub use settings::SubjectKeys;
pub use store::StoreCredentials;
pub use text::in_language;
pub use theme::Theme;
pub use traces::TraceHeaders;
pub use validity::{Flaw, Standing, Validity, in_rfc3339};

#[cfg(test)]
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, Secret};
use crate::protocol::acr::Platform;
use connector_rules::Order;
use secret_rules::{Context, Owner, SecretRules};
use source::{Source, problem_of_file};

/// A whole configuration: every file read, every rule kept, every secret at hand.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Paths are joined to the configuration folder; `base_url` has no trailing slash.
    pub settings: Settings,
    pub base_url: Url,
    /// `{base_url}/api/v2` (decisions 2).
    pub issuer: String,
    /// By version: at least one, each of at least 32 bytes.
    pub subject_keys: SubjectKeys,
    /// What whoever administers the running hub proves itself with; nobody does without.
    pub admin_token: Option<Secret<String>>,
    /// Headers of each call to the trace collector.
    pub trace_headers: TraceHeaders,
    /// What the `http` register is called with; empty for another.
    pub register: RegisterCredentials,
    /// What the store is called with, and what seals its records; empty for memory that nothing outlives.
    pub store: StoreCredentials,
    pub service_providers: BTreeMap<ClientId, RegisteredClient>,
    pub data_providers: BTreeMap<ClientId, RegisteredDataProvider>,
    pub connectors: BTreeMap<ConnectorId, ConfiguredConnector>,
    pub scopes: scopes::Tables,
    pub theme: Theme,
    /// The files that are read again while the hub runs.
    pub files: Files,
    /// Files of secrets that anybody on this machine may read: `check` refuses them, a start warns of them.
    pub exposed: Vec<Problem>,
    /// What is allowed but deserves a line in the log at every start.
    pub warnings: Vec<Problem>,
    /// What `check` refuses, and a hub that serves reports at its start, in its log and at `/readyz`.
    pub refused: Vec<Problem>,
}

/// Reads and checks the configuration in `folder`.
///
/// # Errors
/// Every problem found, in order of file and line; none of them holds a value.
pub fn load(folder: &Path, environment: &Environment) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Vec::new();
    let loaded = read_all(folder, environment, &mut problems);
    problems.sort();
    problems.dedup();
    match loaded {
        Some(loaded) if problems.is_empty() => Ok(loaded),
        _ => Err(problems),
    }
}

fn read_all(
    folder: &Path,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Option<Loaded> {
    let scopes = scopes::load(&folder.join("scopes.toml"), problems);
    let notices = notices::load(&folder.join("notices.toml"), problems);
    let drafts = service_providers::read(&folder.join(service_providers::FOLDER), problems);
    let data_drafts = data_providers::read(&folder.join(data_providers::FOLDER), problems);
    let main = Source::read(&folder.join("passerelle.toml"))
        .map_err(|problem| problems.push(problem))
        .ok();
    let main = main.map(|source| overlaid(source, environment, problems));
    let settings: Option<Settings> = main.as_ref().and_then(|source| source.shape(problems));
    let rules = main
        .as_ref()
        .map(|source| SecretRules::new(source, settings.as_ref(), folder))
        .unwrap_or_default();
    let context = Context { folder, environment, secrets: &rules, owner: Owner::Settings };

    let sandbox = settings.as_ref().map(|settings| Sandbox::of(settings.sandbox));
    let (platform, connectors_path) =
        settings.as_ref().map(|settings| (settings.platform, settings.connectors.clone())).unzip();
    let before = problems.len();
    let checked = match (&main, settings) {
        (Some(source), Some(settings)) => settings::check(source, settings, &context, problems),
        _ => None,
    };
    let theme = match checked.as_ref().and_then(|checked| checked.settings.theme.as_deref()) {
        Some(file) => theme::load(file, problems),
        None => theme::built_in(problems),
    };
    // A connector is judged only once it is known whether this is a sandbox.
    let connectors = match (sandbox, connectors_path) {
        (Some(sandbox), Some(path)) => {
            all_connectors(&folder.join(path), sandbox, &context, problems)
        }
        _ => None,
    };
    let mut warnings = Vec::new();
    if let (Some(connectors), Some(platform)) = (&connectors, platform) {
        problems.extend(unreachable(&drafts, connectors, platform));
        let is_known =
            |id: &ConnectorId| connectors.iter().any(|(_, connector)| connector.id == *id);
        warnings.extend(service_providers::unknown_connectors(&drafts, is_known));
        let of = |(source, connector): &(Source, ConfiguredConnector)| {
            connector_findings::warnings(source.path(), &connector.file, platform)
        };
        warnings.extend(connectors.iter().flat_map(of));
        let known = drafts.iter().map(|draft| &draft.file.client_id).collect();
        let folder =
            checked.as_ref().map_or(folder, |checked| checked.settings.connectors.as_path());
        warnings.extend(blocks::warnings(
            folder,
            connectors.iter().map(|(_, connector)| connector),
            &known,
        ));
    }
    let scopes_or_built_in = scopes.as_ref().map(|(_, tables)| tables.clone()).unwrap_or_default();
    warnings.extend(drafts.iter().filter_map(warning_of_service_provider));
    let parties: Vec<_> = drafts
        .iter()
        .map(service_providers::Draft::party)
        .chain(data_drafts.iter().map(data_providers::Draft::party))
        .collect();
    let conflicts = match &checked {
        Some(checked) => together::conflicts(&parties, &checked.subject_keys),
        None => {
            together::duplicates(&parties).into_iter().chain(together::sectors(&parties)).collect()
        }
    };
    problems.extend(conflicts.into_iter().map(|conflict| conflict.problem));
    let newest = checked
        .as_ref()
        .and_then(|checked| checked.subject_keys.keys().next_back().copied())
        .unwrap_or(1);
    let service = |service_providers::Draft { source, file }| {
        service_providers::against_scopes(&source, &file, &scopes_or_built_in, problems);
        let client = service_providers::check(&source, file, newest, platform, &context, problems);
        (source, client)
    };
    let services: Vec<(Source, RegisteredClient)> = drafts.into_iter().map(service).collect();
    let provider = |data_providers::Draft { source, file }| {
        data_providers::against_scopes(&source, &file, &scopes_or_built_in.scopes, problems);
        let registered = data_providers::check(&source, file, newest, &context, problems);
        (source, registered)
    };
    let data_providers: Vec<(Source, RegisteredDataProvider)> =
        data_drafts.into_iter().map(provider).collect();
    let clients = services
        .iter()
        .map(|(source, _)| source)
        .chain(data_providers.iter().map(|(source, _)| source));
    let all: Vec<&Source> =
        clients.chain(connectors.iter().flatten().map(|(source, _)| source)).collect();
    problems.extend(
        together::shared_secrets(all.iter().copied(), folder)
            .into_iter()
            .map(|conflict| conflict.problem),
    );
    if problems.len() > before {
        return None;
    }
    let exposed =
        main.iter().chain(all).flat_map(|source| secret_rules::exposed(source, folder)).collect();
    let (source, checked) = (main?, checked?);
    let judged = files::Judged {
        services,
        data_providers,
        connectors: connectors?,
        scopes: scopes?,
        notices: notices?,
    };
    let loaded = whole(&context, (&source, checked), judged, theme?, warnings)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    Some(Loaded { exposed, ..loaded })
}

/// Everything is there and holds.
fn whole(
    context: &Context<'_>,
    (source, checked): (&Source, settings::Checked),
    judged: files::Judged,
    theme: Theme,
    mut warnings: Vec<Problem>,
) -> Result<Loaded, Problem> {
    let by_id =
        |(_, client): &(Source, RegisteredClient)| (client.file.client_id.clone(), client.clone());
    let service_providers: BTreeMap<_, _> = judged.services.iter().map(by_id).collect();
    let by_id = |(_, provider): &(Source, RegisteredDataProvider)| {
        (provider.file.client_id.clone(), provider.clone())
    };
    let data_providers = judged.data_providers.iter().map(by_id).collect();
    let by_id =
        |(_, connector): &(Source, ConfiguredConnector)| (connector.id.clone(), connector.clone());
    let connectors = judged.connectors.iter().map(by_id).collect();
    let scopes = judged.scopes.1.clone();
    let settings::Checked {
        settings,
        base_url,
        subject_keys,
        admin_token,
        trace_headers,
        register,
        store,
    } = checked;
    warnings.extend(settings::warnings(source, &settings, &subject_keys));
    warnings.extend(connector_findings::without_category(&connectors, &settings));
    warnings.extend(emptiness(source, &settings, &connectors, &service_providers));
    let ground = files::Ground {
        folder: context.folder.to_owned(),
        connectors: settings.connectors.clone(),
        environment: context.environment.clone(),
        secrets: context.secrets.clone(),
        sandbox: Sandbox::of(settings.sandbox),
        platform: settings.platform,
        subject_keys: subject_keys.clone(),
        subject: settings.subject,
        order: Arc::new(Order::of(&settings.choice.order, &[])),
        choice: settings.choice.clone(),
    };
    let files = Files::of(ground, judged)?;
    let refused = files.refused();
    let issuer = format!("{}/api/v2", settings.base_url);
    Ok(Loaded {
        settings,
        base_url,
        issuer,
        subject_keys,
        admin_token,
        trace_headers,
        register,
        store,
        service_providers,
        data_providers,
        connectors,
        scopes,
        theme,
        files,
        exposed: Vec::new(),
        warnings,
        refused,
    })
}

/// The settings with their variables over them; one that this file refers to is a secret, and sets no key.
fn overlaid(source: Source, environment: &Environment, problems: &mut Vec<Problem>) -> Source {
    let mut reserved: BTreeSet<String> = source.variables_referred_to().into_iter().collect();
    // `PASSERELLE_SUBJECT_KEY__ENV=NAME` refers to NAME as a file would.
    let through = ["PASSERELLE_SUBJECT_KEY__ENV", "PASSERELLE_PRIVATE__ADMIN_TOKEN__ENV"];
    reserved.extend(
        through.into_iter().filter_map(|name| environment.var(name)).map(ToOwned::to_owned),
    );
    let schema = schema::of::<Settings>();
    let overlay =
        environment::overlay(environment, &schema::Node::root(&schema), &reserved, problems);
    source.under(overlay)
}

/// `None` when a file is bad: then nothing can be said about what service providers can reach.
fn all_connectors(
    folder: &Path,
    sandbox: Sandbox,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<(Source, ConfiguredConnector)>> {
    let paths = connectors::files(folder).map_err(|problem| problems.push(problem)).ok()?;
    let (mut good, before) = (Vec::new(), problems.len());
    for path in paths {
        let source = Source::read_in(folder, &path).map_err(|problem| vec![problem]);
        match source
            .and_then(|source| Ok((connectors::configured(&source, sandbox, context)?, source)))
        {
            Ok((connector, source)) => good.push((source, connector)),
            Err(found) => problems.extend(found),
        }
    }
    (problems.len() == before).then_some(good)
}

fn unreachable(
    drafts: &[service_providers::Draft],
    connectors: &[(Source, ConfiguredConnector)],
    platform: Platform,
) -> Vec<Problem> {
    let of = |(source, connector): &'_ (Source, ConfiguredConnector)| {
        (connector.file.levels.highest, source.path().to_owned())
    };
    let described: Vec<_> = connectors.iter().map(of).collect();
    let ids = connectors.iter().map(|(_, connector)| &connector.id);
    let connectors =
        ids.zip(described.iter().map(|(highest, path)| (*highest, path.as_path()))).collect();
    let reach = service_providers::Reach { connectors };
    let files = drafts.iter().map(|draft| (&draft.source, &draft.file));
    service_providers::reachable(files, &reach, platform)
        .into_iter()
        .map(|conflict| conflict.problem)
        .collect()
}

fn warning_of_service_provider(draft: &service_providers::Draft) -> Option<Problem> {
    let what = "lets codes travel without TLS";
    draft
        .file
        .insecure_http
        .then(|| draft.source.problem("insecure_http", what, "never use it in production"))
}

/// A hub with nobody to serve starts all the same: connectors can be dropped in later.
fn emptiness(
    source: &Source,
    settings: &Settings,
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    service_providers: &BTreeMap<ClientId, RegisteredClient>,
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    if connectors.is_empty() {
        let mend = "put a connector's file there; it is picked up without a restart";
        warnings.push(problem_of_file(
            &settings.connectors,
            "the folder holds no connector: nobody can log in yet",
            mend,
        ));
    }
    if service_providers.is_empty() {
        warnings.push(source.problem(
            "",
            "there is no service provider yet",
            "add a file to service-providers/; it is picked up without a restart",
        ));
    }
    for (index, id) in
        settings.choice.order.iter().enumerate().filter(|(_, id)| !connectors.contains_key(*id))
    {
        let what = format!("names {id}, for which there is no connector");
        warnings.push(source.problem(
            &format!("choice.order[{index}]"),
            what,
            "remove it, or add the connector's file",
        ));
    }
    warnings
}

/// Every file of a folder that can be read and has the shape; what is wrong with the others is told.
fn shapes<T: DeserializeOwned + JsonSchema>(
    folder: &Path,
    mend: &str,
    problems: &mut Vec<Problem>,
) -> Vec<(Source, T)> {
    let files =
        toml_files(folder, mend).map_err(|problem| problems.push(problem)).unwrap_or_default();
    let read = |path: PathBuf| {
        let source =
            Source::read_in(folder, &path).map_err(|problem| problems.push(problem)).ok()?;
        let file = source.shape(problems)?;
        Some((source, file))
    };
    files.into_iter().filter_map(read).collect()
}

/// What has the name of a `*.toml` file in a folder, in order; hidden ones are left out (editors and Kubernetes keep their own
/// there). Whether each is a file is seen when it is read.
fn toml_files(folder: &Path, mend: &str) -> Result<Vec<PathBuf>, Problem> {
    let entries = std::fs::read_dir(folder)
        .map_err(|_| problem_of_file(folder, "the folder is missing or can't be read", mend))?;
    let is_ours = |path: &PathBuf| {
        let hidden = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_none_or(|name| name.starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "toml")
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect();
    files.sort();
    Ok(files)
}
