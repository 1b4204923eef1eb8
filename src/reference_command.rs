//! `passerelle errors` and `passerelle metrics`: the lists of the documentation, as text, Markdown
//! or JSON.

use std::process::ExitCode;

use clap::Args;
use passerelle_protocol::catalogue;

use super::output::{out, outln};
use super::{CommandResult, print_json};

#[derive(Args)]
pub(crate) struct ErrorsCommand {
    /// Explain this code, for example Y020020, instead of listing all.
    #[arg(conflicts_with = "markdown")]
    code: Option<String>,
    /// Print the Markdown page of the documentation.
    #[arg(long)]
    markdown: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
}

#[derive(Args)]
pub(crate) struct MetricsCommand {
    /// Print the Markdown page of the documentation.
    #[arg(long)]
    markdown: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
}

impl ErrorsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the code is not in the catalogue.
    pub(crate) fn run(self) -> CommandResult {
        let unknown = |code: &str| {
            format!("{code} is not an error code of this version: `passerelle errors` lists all")
        };
        match (self.code, self.json) {
            (Some(code), true) => {
                let rows = catalogue::catalogue_rows();
                let row = rows.iter().find(|row| row.code.eq_ignore_ascii_case(&code));
                print_json(row.ok_or_else(|| unknown(&code))?)?;
            }
            (Some(code), false) => {
                out!("{}", catalogue::explain_code(&code).ok_or_else(|| unknown(&code))?);
            }
            (None, true) => print_json(&catalogue::catalogue_rows())?,
            (None, false) if self.markdown => out!("{}", catalogue::render_markdown()),
            (None, false) => out!("{}", catalogue::render_table()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl MetricsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the metrics can't be declared.
    pub(crate) fn run(self) -> CommandResult {
        let metrics = passerelle_server::declare_metrics(passerelle_server::KINDS.extensions)?;
        if self.json {
            print_json(&metrics.declared())?;
        } else if self.markdown {
            out!("{}", passerelle_telemetry::markdown_page(metrics.declared()));
        } else {
            for metric in metrics.declared() {
                outln!("{}", metric.name);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
