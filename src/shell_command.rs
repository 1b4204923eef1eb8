//! `passerelle completions` and `passerelle man`: files that a package installs beside the program.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use passerelle_server::KINDS;

use super::CommandResult;
use super::extension_command::command_line;
use super::output::out;

#[derive(Args)]
pub(crate) struct CompletionsCommand {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Args)]
pub(crate) struct ManCommand {
    /// Write the page of each command into this folder, instead of printing that of the program.
    #[arg(long)]
    write: Option<PathBuf>,
}

impl CompletionsCommand {
    /// Runs the command.
    pub(crate) fn run(&self) {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut command_line(KINDS.extensions),
            "passerelle",
            &mut script,
        );
        out!("{}", String::from_utf8_lossy(&script));
    }
}

impl ManCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if a page can't be written.
    pub(crate) fn run(self) -> CommandResult<()> {
        let Some(folder) = self.write else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command_line(KINDS.extensions)).render(&mut page)?;
            out!("{}", String::from_utf8_lossy(&page));
            return Ok(());
        };
        std::fs::create_dir_all(&folder)
            .and_then(|()| clap_mangen::generate_to(command_line(KINDS.extensions), &folder))
            .map_err(|error| format!("{} can not be written: {error}", folder.display()).into())
    }
}
