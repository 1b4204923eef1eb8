//! `passerelle node`: reloads, drains and resumes the running hub.

use clap::Subcommand;

use super::hub_options::HubOptions;
use super::output::outln;
use super::{CommandResult, print_json};

#[derive(Subcommand)]
pub(crate) enum NodeCommand {
    /// Make the hub read its files and keys at once, and print the problems of the files.
    Reload {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Make the hub not ready, so that the load balancer sends requests elsewhere. It still serves
    /// what reaches it. A restart ends this.
    Drain {
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Make a drained hub ready again.
    Resume {
        #[command(flatten)]
        hub: HubOptions,
    },
}

impl NodeCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message; also if a file has a problem after a reload.
    pub(crate) async fn run(self) -> CommandResult<()> {
        match self {
            Self::Reload { json, hub } => {
                let outcome = hub.connect()?.reload().await?;
                if json {
                    print_json(&outcome)?;
                }
                let problems: Vec<String> =
                    outcome.findings.iter().map(|finding| format!("\n  {finding}")).collect();
                if !problems.is_empty() {
                    let text = problems.concat();
                    return Err(format!(
                        "the files and the keys were read, and have problems:{text}"
                    )
                    .into());
                }
                if !json {
                    outln!(
                        "the files, the register and the keys were read; all of them are in use"
                    );
                    outln!("passerelle.toml and the theme are read at the next restart");
                }
            }
            Self::Drain { hub } => {
                hub.connect()?.drain().await?;
                outln!("drained: /readyz answers 503 until `passerelle node resume` or a restart");
            }
            Self::Resume { hub } => {
                hub.connect()?.resume().await?;
                outln!("resumed: the drain has ended");
            }
        }
        Ok(())
    }
}
