//! `passerelle completions` and `passerelle man`: files that a package installs beside the program.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::output::out;
use super::{Arguments, CommandResult};

#[derive(Args)]
pub struct CompletionsCommand {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Args)]
pub struct ManCommand {
    /// Write the page of each command into this folder, instead of printing that of the program.
    #[arg(long)]
    write: Option<PathBuf>,
}

impl CompletionsCommand {
    /// Runs the command.
    pub fn run(&self) {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "passerelle", &mut script);
        out!("{}", String::from_utf8_lossy(&script));
    }
}

impl ManCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if a page can't be written.
    pub fn run(self) -> CommandResult<()> {
        let Some(folder) = self.write else {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
            out!("{}", String::from_utf8_lossy(&page));
            return Ok(());
        };
        std::fs::create_dir_all(&folder)
            .and_then(|()| clap_mangen::generate_to(Arguments::command(), &folder))
            .map_err(|error| format!("{} can not be written: {error}", folder.display()).into())
    }
}
