//! Commands of the optional crates.

use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _};
use passerelle_extension::{Extension, ExtensionCommand};

use super::hub_options::HubOptions;
use super::output::{out, printable};
use super::{Arguments, CommandResult};

/// Returns the command line of the program, with the commands of these extensions.
pub(crate) fn command_line(extensions: &[Extension]) -> clap::Command {
    let commands = extensions.iter().filter_map(|extension| extension.command);
    commands.fold(Arguments::command(), |line, command| {
        let own = with_hub_options((command.arguments)());
        let name = own.get_name().to_owned();
        if line.find_subcommand(&name).is_none() {
            return line.subcommand(own);
        }
        // Subcommands of a command of the hub.
        let added: Vec<_> = own.get_subcommands().cloned().collect();
        line.mut_subcommand(name, |command| command.subcommands(added))
    })
}

/// Returns the command of an extension with its arguments; `None` for every other command.
pub(crate) fn find_command<'m>(
    extensions: &[Extension],
    matches: &'m ArgMatches,
) -> Option<(ExtensionCommand, &'m ArgMatches)> {
    let (name, arguments) = matches.subcommand()?;
    let mut commands = extensions.iter().filter_map(|extension| extension.command);
    let command = commands.find(|command| {
        let own = (command.arguments)();
        let is_same_group = own.get_name() == name;
        is_same_group
            && arguments.subcommand_name().is_none_or(|name| own.find_subcommand(name).is_some())
    })?;
    Some((command, arguments))
}

/// Sends the request of the command and prints the response.
///
/// # Errors
/// Returns the error message.
pub(crate) async fn run(command: ExtensionCommand, arguments: &ArgMatches) -> CommandResult<()> {
    let own = arguments.subcommand().map_or(arguments, |(_, own)| own);
    let request = (command.request)(arguments)?;
    let response = HubOptions::from_arg_matches(own)?.connect()?.call(&request).await?;
    out!("{}", printable((command.describe)(arguments, response)?));
    Ok(())
}

/// Adds the options to the command, or to each of its subcommands.
fn with_hub_options(command: clap::Command) -> clap::Command {
    if command.has_subcommands() {
        command.mut_subcommands(HubOptions::augment_args)
    } else {
        HubOptions::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_testkit::visitors_book::VISITORS_BOOK;

    #[test]
    fn the_command_of_an_extension_is_in_the_command_line_and_takes_the_options_of_the_hub() {
        let with_book = command_line(&[VISITORS_BOOK]);
        let line = ["passerelle", "visits", "--close", "--private", "http://127.0.0.1:9"];
        let matches = with_book.clone().try_get_matches_from(line).unwrap();
        let (command, arguments) = find_command(&[VISITORS_BOOK], &matches).unwrap();
        assert_eq!((command.request)(arguments).unwrap().method, "DELETE");
        assert!(find_command(&[], &matches).is_none());
        assert!(command_line(&[]).try_get_matches_from(line).is_err());
        let mut script = Vec::new();
        let shell = clap_complete::Shell::Bash;
        clap_complete::generate(shell, &mut with_book.clone(), "passerelle", &mut script);
        assert!(String::from_utf8(script).unwrap().contains("passerelle,visits)"));
        with_book.debug_assert();
        command_line(passerelle_server::KINDS.extensions).debug_assert();
    }
}
