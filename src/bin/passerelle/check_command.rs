//! `passerelle check`: the whole configuration, or one connector's file.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle::app;
use passerelle::app::check::connector;
use passerelle::config::check_context::CheckContext;
use passerelle::config::{self, Diagnostic, Environment};
use passerelle::connector::diagnostic::DiagnosticStatus;
use passerelle::env::Env;

use super::output::{out, outln};
use super::{CommandResult, block_on};

/// Larger than any response of an identity provider may be.
const MAX_SAMPLE_BYTES: u64 = 1 << 20;

#[derive(Subcommand)]
pub enum CheckCommand {
    /// Check one connector's file: its form, a sample of claims, its identity provider. Exit code
    /// 0: no findings; 1: an error; 2: warnings only.
    Connector(ConnectorArguments),
}

#[derive(Args)]
pub struct ConnectorArguments {
    /// The connector's file.
    file: PathBuf,
    /// Folder of passerelle.toml. Default: the settings of a standard platform.
    #[arg(long)]
    config: Option<PathBuf>,
    /// JSON object of claims as the identity provider sends them; - for standard input.
    #[arg(long)]
    sample: Option<PathBuf>,
    /// Call the identity provider.
    #[arg(long)]
    online: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Checks the whole configuration, and with `online` everything that it names.
///
/// # Errors
/// Returns an error if a check can't be run.
pub fn check_config(folder: &Path, online: bool) -> CommandResult {
    let loaded = app::load_config(folder, &Environment::from_process());
    let report = config::report(&loaded, Env::system().now());
    let Ok(loaded) = loaded else {
        out!("{report}");
        return Ok(ExitCode::FAILURE);
    };
    let faults = app::find_startup_errors(&loaded, &Env::system());
    if !faults.is_empty() {
        outln!("The files are well formed, but the hub would not start:");
        for fault in faults {
            outln!("  {fault}");
        }
        return Ok(ExitCode::FAILURE);
    }
    out!("{report}");
    let is_valid = loaded.check_failures().next().is_none();
    if !online {
        return Ok(exit_code(is_valid));
    }
    let mut all_ok = is_valid;
    let mut print = |subject: &str, outcome: Result<String, String>| {
        all_ok &= outcome.is_ok();
        let (Ok(text) | Err(text)) = outcome;
        outln!("{subject}: {text}");
    };
    let env = Env::system();
    let (store, providers, client_keys) = block_on(async {
        CommandResult::Ok((
            app::probe_store(&loaded, &env).await?,
            app::probe_providers(&loaded, &env).await?,
            app::probe_client_keys(&loaded).await?,
        ))
    })?;
    if let Some(outcome) = store {
        print("store", outcome.map_err(|fault| fault.clone()));
    }
    for (provider, outcome) in providers {
        print(&provider, outcome.map(|()| "ok".to_owned()));
    }
    for (client_id, outcome) in client_keys {
        print(
            &format!("service provider {client_id}"),
            outcome
                .map(|()| "the keys at its jwks_uri are valid".to_owned())
                .map_err(|fault| format!("its jwks_uri: {fault}")),
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
    pub fn run(self) -> CommandResult {
        match self {
            Self::Connector(arguments) => arguments.run(),
        }
    }
}

impl ConnectorArguments {
    fn run(self) -> CommandResult {
        let environment = Environment::from_process();
        let context = match &self.config {
            Some(folder) => CheckContext::from_folder(folder, &environment, app::KINDS)
                .map_err(|problems| describe_problems(&problems))?,
            None => {
                CheckContext::without_hub(self.file.parent().unwrap_or(Path::new(".")), app::KINDS)
            }
        };
        let sample = self.sample.as_deref().map(read_sample).transpose()?;
        let file = self.file;
        let (sample, env) = (sample.as_deref(), Env::system());
        let online = self.online.then_some(&env);
        let checking = connector::check_connector(&file, &context, &environment, sample, online);
        let report = block_on(checking);
        if self.json {
            outln!("{}", report.to_json()?);
        } else {
            out!("{report}");
        }
        Ok(match report.status {
            DiagnosticStatus::Ok => ExitCode::SUCCESS,
            DiagnosticStatus::Error => ExitCode::FAILURE,
            DiagnosticStatus::Warning => ExitCode::from(2),
        })
    }
}

fn describe_problems(problems: &[Diagnostic]) -> String {
    let lines = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    format!("the configuration is invalid\n{lines}")
}

fn read_sample(path: &Path) -> Result<Vec<u8>, String> {
    let fault =
        |error: std::io::Error| format!("the sample {} can not be read: {error}", path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_SAMPLE_BYTES + 1).read_to_end(&mut bytes).map_err(fault)?;
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_SAMPLE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(fault)?;
    }
    if bytes.len() as u64 > MAX_SAMPLE_BYTES {
        Err("the sample is larger than 1 MiB".into())
    } else {
        Ok(bytes)
    }
}
