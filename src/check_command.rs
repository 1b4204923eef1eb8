//! `passerelle check`: the whole configuration, or one file of a connector or a service provider.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle_config::LoadedConfig;
use passerelle_config::check_context::CheckContext;
use passerelle_connector::diagnostic::DiagnosticStatus;
use passerelle_federation::client_keys::KeySource;
use passerelle_protocol::env::Env;
use passerelle_server::check::{CheckInputs, connector, service_provider};
use passerelle_settings::{Diagnostic, Environment};

use super::hub_options::HubOptions;
use super::output::{TextColour, outln, paint, print_report, printable};
use super::progress::count_items;
use super::{CommandResult, block_on, environment, print_json};

/// Larger than any response of an identity provider may be.
const MAX_SAMPLE_BYTES: u64 = 1 << 20;

#[derive(Subcommand)]
pub(crate) enum CheckCommand {
    /// Check one connector's file: its form, a sample of claims, its identity provider. Exit code
    /// 0: no findings; 1: an error; 2: warnings only.
    Connector(ConnectorArguments),
    /// Check one service provider's file: its form, its addresses, an authorization request. Exit
    /// code 0: no findings; 1: an error; 2: warnings only.
    ServiceProvider(ServiceProviderArguments),
}

#[derive(Args)]
pub(crate) struct ServiceProviderArguments {
    /// The service provider's file.
    file: PathBuf,
    /// Folder of passerelle.toml. Default: the one in which the file is, or the settings of a
    /// standard platform.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address of an authorization request, explained parameter by parameter; - for standard input.
    #[arg(long, value_name = "URL")]
    request: Option<String>,
    /// Fetch jwks_uri, and try the servers of the redirect URIs.
    #[arg(long)]
    online: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ConnectorArguments {
    /// The connector's file.
    file: PathBuf,
    /// Folder of passerelle.toml. Default: the one in which the file is, or the settings of a
    /// standard platform.
    #[arg(long)]
    config: Option<PathBuf>,
    /// JSON object of claims as the identity provider sends them, or the presentation of a wallet;
    /// - for standard input.
    #[arg(long)]
    sample: Option<PathBuf>,
    /// Call the identity provider. With --config, also ask the running hub which claims of its
    /// users it left out.
    #[arg(long)]
    online: bool,
    /// File of your token (private.operators) for the running hub, instead of private.admin_token.
    #[arg(long, value_name = "FILE", requires = "config")]
    token_file: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Options of a check of the whole configuration.
#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Also fetch the metadata and keys of every identity provider, and send the test mail of the table `mail`.
    #[arg(long)]
    online: bool,
    /// Read no secret and no key: for a machine where they are not present, such as one that tests
    /// changes. The rest is checked.
    #[arg(long, conflicts_with = "online")]
    without_secrets: bool,
    /// Print one JSON object.
    #[arg(long, conflicts_with = "online")]
    json: bool,
}

/// Checks the whole configuration, and with `online` everything that it names.
///
/// # Errors
/// Returns an error if a check can't be run.
pub(crate) fn check_config(folder: &Path, options: CheckOptions) -> CommandResult {
    let CheckOptions { online, without_secrets, json } = options;
    let env = Env::system();
    let mut loaded = passerelle_server::load_config(folder, &environment(without_secrets));
    if let Ok(loaded) = &mut loaded {
        loaded.warnings.extend(passerelle_server::check::page_link_warnings(loaded));
        if !without_secrets {
            loaded.warnings.extend(passerelle_server::check::plaintext_keys_warning(loaded));
            loaded.warnings.extend(passerelle_server::check::key_rotation_warning(loaded));
        }
    }
    let start_errors: Vec<String> = match &loaded {
        Ok(loaded) if !without_secrets => {
            to_texts(&passerelle_server::find_startup_errors(loaded, &env))
        }
        Ok(_) | Err(_) => Vec::new(),
    };
    let loaded = loaded.and_then(|loaded| reject_unbuildable_connectors(loaded, &env));
    if json {
        let report = passerelle_config::ConfigReport::new(&loaded, env.now());
        let is_valid = report.valid && start_errors.is_empty();
        let mut value = serde_json::to_value(&report)?;
        if let serde_json::Value::Object(members) = &mut value {
            members.insert("valid".to_owned(), is_valid.into());
            members.insert("start_errors".to_owned(), start_errors.into());
        }
        print_json(&value)?;
        return Ok(exit_code(is_valid));
    }
    let report = passerelle_config::render_check_output(&loaded, env.now());
    if !start_errors.is_empty() {
        let title = match &loaded {
            Ok(_) => "The files are well formed, but the hub would not start:",
            Err(_) => "The hub would not start:",
        };
        outln!("{}", paint(title, TextColour::Red));
        for error in &start_errors {
            outln!("  {}", printable(error));
        }
    }
    let Ok(loaded) = loaded else {
        print_report(&report);
        return Ok(ExitCode::FAILURE);
    };
    if !start_errors.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    print_report(&report);
    if without_secrets {
        outln!("\nNo secret and no key was read (--without-secrets): they are not checked.");
    }
    let is_valid = loaded.check_failures().next().is_none();
    if !online {
        return Ok(exit_code(is_valid));
    }
    probe_config(&loaded, &env, is_valid)
}

/// Rejects a configuration with a connector that can't be built, as a reload rejects its file.
fn reject_unbuildable_connectors(
    loaded: LoadedConfig,
    env: &Env,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    let mut problems =
        passerelle_server::unbuildable_connectors::find_unbuildable_connectors(&loaded, env);
    if problems.is_empty() {
        return Ok(loaded);
    }
    problems.extend(loaded.check_failures().cloned());
    Err(problems)
}

fn to_texts(errors: &[impl std::fmt::Display]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Calls everything that the configuration names.
fn probe_config(loaded: &LoadedConfig, env: &Env, is_valid: bool) -> CommandResult {
    let mut all_ok = is_valid;
    let mut print = |subject: &str, outcome: Result<String, String>| {
        all_ok &= outcome.is_ok();
        let (Ok(text) | Err(text)) = outcome;
        outln!("{subject}: {text}");
    };
    let progress = {
        let federation = loaded.build_federation();
        let publishes = federation.key_owners().filter(|o| matches!(o.keys, KeySource::Uri(_)));
        count_items("Calling", loaded.files.connectors().len() + publishes.count())
    };
    let (store, extensions, providers, client_keys) = block_on(async {
        let called = || progress.inc(1);
        CommandResult::Ok((
            passerelle_server::probe_store(loaded, env).await?,
            passerelle_server::check::probe_extensions(loaded, env).await,
            passerelle_server::probe_providers(loaded, env, &called).await?,
            passerelle_server::probe_client_keys(loaded, &called).await?,
        ))
    })?;
    drop(progress);
    if let Some(outcome) = store {
        print("store", outcome.map_err(|error| error.clone()));
    }
    for (extension, outcome) in extensions {
        print(extension, outcome);
    }
    for (provider, outcome) in providers {
        print(&provider, outcome.map(|()| "ok".to_owned()));
    }
    for (client_id, outcome) in client_keys {
        print(
            &format!("service provider {client_id}"),
            outcome
                .map(|()| "the keys at its jwks_uri are valid".to_owned())
                .map_err(|error| format!("its jwks_uri: {error}")),
        );
    }
    Ok(exit_code(all_ok))
}

const fn exit_code(all_ok: bool) -> ExitCode {
    if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl CheckCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) fn run(self) -> CommandResult {
        match self {
            Self::Connector(arguments) => arguments.run(),
            Self::ServiceProvider(arguments) => arguments.run(),
        }
    }
}

impl ConnectorArguments {
    fn run(self) -> CommandResult {
        let environment = Environment::from_process();
        let context = check_context(self.config.as_deref(), &self.file, &environment)?;
        let sample = self.sample.as_deref().map(read_sample).transpose()?;
        let env = Env::system();
        let check = CheckInputs {
            context: &context,
            environment: &environment,
            env: &env,
            is_online: self.online,
        };
        let checking = connector::check_connector(&self.file, check, sample.as_deref());
        let mut report = block_on(checking);
        if let (true, Some(folder)) = (self.online, self.config) {
            let hub = HubOptions::for_folder(folder, self.token_file);
            let received = match hub.connect() {
                Ok(hub) => {
                    block_on(async { hub.connectors().await.map_err(|error| error.to_string()) })
                }
                Err(error) => Err(error.to_string()),
            };
            report.add_running_hub(received.as_ref().map(|list| list.connectors.as_slice()));
        }
        if self.json {
            outln!("{}", report.to_json()?);
        } else {
            print_report(&report);
        }
        Ok(status_code(report.status))
    }
}

impl ServiceProviderArguments {
    fn run(self) -> CommandResult {
        let environment = Environment::from_process();
        let context = check_context(self.config.as_deref(), &self.file, &environment)?;
        let request = self.request.map(read_request).transpose()?;
        let env = Env::system();
        let check = CheckInputs {
            context: &context,
            environment: &environment,
            env: &env,
            is_online: self.online,
        };
        let checking =
            service_provider::check_service_provider(&self.file, check, request.as_deref());
        let report = block_on(checking);
        if self.json {
            outln!("{}", report.to_json()?);
        } else {
            print_report(&report);
        }
        Ok(status_code(report.status))
    }
}

/// Returns the settings that `file` is checked against.
fn check_context(
    config: Option<&Path>,
    file: &Path,
    environment: &Environment,
) -> Result<CheckContext, String> {
    let found = find_config_folder(file);
    match config.or(found.as_deref()) {
        Some(folder) => CheckContext::from_folder(folder, environment, passerelle_server::KINDS)
            .map_err(|problems| describe_problems(&problems)),
        None => Ok(CheckContext::without_hub(
            file.parent().unwrap_or(Path::new(".")),
            passerelle_server::KINDS,
        )),
    }
}

/// Returns the configuration folder in which a file is: itself or in a folder like `connectors/`.
fn find_config_folder(file: &Path) -> Option<PathBuf> {
    let file = std::fs::canonicalize(file).ok()?;
    let folder =
        file.ancestors().skip(1).take(2).find(|one| one.join("passerelle.toml").is_file())?;
    let shorter = std::env::current_dir().ok().and_then(|here| {
        let inner = folder.strip_prefix(here).ok()?;
        Some(if inner.as_os_str().is_empty() { PathBuf::from(".") } else { inner.to_owned() })
    });
    Some(shorter.unwrap_or_else(|| folder.to_owned()))
}

fn status_code(status: DiagnosticStatus) -> ExitCode {
    match status {
        DiagnosticStatus::Ok => ExitCode::SUCCESS,
        DiagnosticStatus::Error => ExitCode::FAILURE,
        DiagnosticStatus::Warning => ExitCode::from(2),
    }
}

/// Returns the request, from standard input for `-`. A longer one is reported as too long.
fn read_request(argument: String) -> Result<String, String> {
    if argument != "-" {
        return Ok(argument);
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_SAMPLE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the request can not be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "the request is not UTF-8 text".into())
}

fn describe_problems(problems: &[Diagnostic]) -> String {
    let lines = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    format!("the configuration is invalid\n{lines}")
}

fn read_sample(path: &Path) -> Result<Vec<u8>, String> {
    let read_error =
        |error: std::io::Error| format!("the sample {} can not be read: {error}", path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_SAMPLE_BYTES + 1).read_to_end(&mut bytes).map_err(read_error)?;
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_SAMPLE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(read_error)?;
    }
    if bytes.len() as u64 > MAX_SAMPLE_BYTES {
        Err("the sample is larger than 1 MiB".into())
    } else {
        Ok(bytes)
    }
}
