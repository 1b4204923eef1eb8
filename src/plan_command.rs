//! `passerelle plan`: shows what a reload would change.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use passerelle_protocol::env::Env;

use super::output::out;
use super::{CommandResult, block_on, environment, load_config_with, print_json};

/// Exit code of `plan` if a reload would change something.
const EXIT_CHANGES: u8 = 2;

#[derive(Args)]
pub(crate) struct PlanCommand {
    /// Folder of passerelle.toml.
    #[arg(long, default_value = "config")]
    config: PathBuf,
    /// Compare with the files of this folder instead of the configuration of the running hub.
    #[arg(long)]
    against: Option<PathBuf>,
    /// Read no secret: for a machine where they are not present.
    #[arg(long)]
    without_secrets: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl PlanCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the files are invalid, or there is nothing to compare with.
    pub(crate) fn run(self) -> CommandResult {
        let (environment, env) = (environment(self.without_secrets), Env::system());
        let next = load_config_with(&self.config, &environment)?;
        let problems =
            passerelle_server::unbuildable_connectors::find_unbuildable_connectors(&next, &env);
        if !problems.is_empty() {
            let problems: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
            return Err(format!("a reload would reject these files{problems}").into());
        }
        let before = match self.against {
            Some(other) => load_config_with(&other, &environment)?.files.digest(),
            None => block_on(passerelle_server::plan::fetch_active_digest(
                next.settings.private.listen,
            ))?,
        };
        let changes = before.changes_to(&next.files.digest());
        if self.json {
            print_json(&changes)?;
        } else {
            out!("{}", changes.report());
        }
        Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_CHANGES) })
    }
}
