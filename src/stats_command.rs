//! `passerelle stats export`: monthly figures from the audit log, without personal data.

use std::path::PathBuf;

use clap::Subcommand;
use passerelle_audit::statistics::{LoginStatistics, Month};

use super::audit_command::read_error;
use super::output::{out, print_error};
use super::progress::FileProgress;
use super::{CommandResult, print_json};

#[derive(Subcommand)]
pub(crate) enum StatsCommand {
    /// Export the successful logins of a month by service provider, identity provider and level.
    /// Counts lines and verifies nothing: run `passerelle audit verify` before.
    Export {
        /// Month in UTC, for example 2026-11.
        #[arg(long)]
        month: Month,
        /// Files of the audit log, of one hub or of several.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print JSON instead of CSV.
        #[arg(long)]
        json: bool,
    },
}

impl StatsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if a file can't be read.
    pub(crate) fn run(self) -> CommandResult<()> {
        let Self::Export { month, files, json } = self;
        let mut statistics = LoginStatistics::new(month);
        let progress = FileProgress::new("Counting", &files);
        for path in &files {
            let read = progress.open(path).and_then(|mut file| statistics.read_file(&mut file));
            read.map_err(|error| read_error(path, error))?;
        }
        drop(progress);
        if statistics.malformed() > 0 {
            print_error(format_args!(
                "{} lines are not lines of an audit log and were not counted",
                statistics.malformed()
            ));
        }
        let counts = statistics.counts();
        if json {
            return print_json(&counts);
        }
        // The header stands also above no rows.
        let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        csv.write_record(["month", "service_provider", "identity_provider", "level", "logins"])?;
        counts.iter().try_for_each(|row| csv.serialize(row))?;
        let bytes = csv.into_inner().map_err(|error| error.to_string())?;
        out!("{}", String::from_utf8_lossy(&bytes));
        Ok(())
    }
}
