//! `passerelle check`: the whole configuration, or one connector's file.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle::app::check::connector;
use passerelle::config::check_context::CheckContext;
use passerelle::config::{Diagnostic, Environment};
use passerelle::connector::KINDS;
use passerelle::connector::diagnostic::DiagnosticStatus;
use passerelle::env::Env;

use super::block_on;
use super::output::{out, outln};

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

impl CheckCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub fn run(self) -> Result<ExitCode, String> {
        match self {
            Self::Connector(arguments) => arguments.run(),
        }
    }
}

impl ConnectorArguments {
    fn run(self) -> Result<ExitCode, String> {
        let environment = Environment::from_process();
        let context = match &self.config {
            Some(folder) => CheckContext::from_folder(folder, &environment, KINDS)
                .map_err(|problems| describe_problems(&problems))?,
            None => CheckContext::without_hub(self.file.parent().unwrap_or(Path::new(".")), KINDS),
        };
        let sample = self.sample.as_deref().map(read_sample).transpose()?;
        let file = self.file;
        let report = block_on(async move {
            let (sample, env) = (sample.as_deref(), Env::system());
            let online = self.online.then_some(&env);
            Ok(connector::check_connector(&file, &context, &environment, sample, online).await)
        })?;
        if self.json {
            outln!("{}", report.to_json().map_err(|error| error.to_string())?);
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
