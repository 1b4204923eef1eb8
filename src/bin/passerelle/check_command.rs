//! `passerelle check`: the whole configuration, or one connector's file.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle::app::check::connector::{self, Asked};
use passerelle::config::surroundings::Surroundings;
use passerelle::config::{Environment, Problem};
use passerelle::connector::finding::Verdict;
use passerelle::env::Env;

use super::in_system;
use super::output::{out, outln};

/// More than any identity provider's answer may be.
const LONGEST_SAMPLE: u64 = 1 << 20;

#[derive(Subcommand)]
pub enum CheckCommand {
    /// Check one connector's file: its form, what becomes of a sample of claims, what its identity provider says. Exit
    /// code 0: all is well; 1: a fault; 2: warnings alone.
    Connector(ConnectorArguments),
}

#[derive(Args)]
pub struct ConnectorArguments {
    /// The connector's file.
    file: PathBuf,
    /// Folder of passerelle.toml; the defaults of the standard platform when absent.
    #[arg(long)]
    config: Option<PathBuf>,
    /// JSON object of claims as the identity provider gives them, to be mapped and judged; - for standard input.
    #[arg(long)]
    sample: Option<PathBuf>,
    /// Ask the identity provider.
    #[arg(long)]
    online: bool,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

impl CheckCommand {
    pub fn run(self) -> Result<ExitCode, String> {
        match self {
            Self::Connector(arguments) => arguments.run(),
        }
    }
}

impl ConnectorArguments {
    fn run(self) -> Result<ExitCode, String> {
        let environment = Environment::of_process();
        let around = match &self.config {
            Some(folder) => {
                Surroundings::of_folder(folder, &environment).map_err(|problems| told(&problems))?
            }
            None => Surroundings::alone(self.file.parent().unwrap_or(Path::new("."))),
        };
        let sample = self.sample.as_deref().map(read).transpose()?;
        let asked = if self.online { Asked::Yes } else { Asked::No };
        let file = self.file;
        let report = in_system(async move {
            Ok(connector::connector(
                &file,
                &around,
                &environment,
                sample.as_deref(),
                asked,
                &Env::system(),
            )
            .await)
        })?;
        if self.json {
            outln!("{}", report.json().map_err(|error| error.to_string())?);
        } else {
            out!("{report}");
        }
        Ok(match report.verdict {
            Verdict::Ok => ExitCode::SUCCESS,
            Verdict::Fault => ExitCode::FAILURE,
            Verdict::Warning => ExitCode::from(2),
        })
    }
}

fn told(problems: &[Problem]) -> String {
    let lines = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    format!("the configuration is not usable\n{lines}")
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let fault =
        |error: std::io::Error| format!("the sample {} can not be read: {error}", path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(LONGEST_SAMPLE + 1).read_to_end(&mut bytes).map_err(fault)?;
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(LONGEST_SAMPLE + 1).read_to_end(&mut bytes))
            .map_err(fault)?;
    }
    if bytes.len() as u64 > LONGEST_SAMPLE {
        Err("the sample is larger than 1 MiB".into())
    } else {
        Ok(bytes)
    }
}
