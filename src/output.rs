//! Writes to standard output and standard error.
//!
//! Unlike `print!`, a closed pipe does not panic: the command continues without output and ends
//! with its own exit code. Any other write error is reported once at the end.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::builder::styling::{AnsiColor, Style};

/// Exit code of a command whose output could not be written (`EX_IOERR` of sysexits.h).
pub(crate) const EXIT_IO_ERROR: u8 = 74;

/// The first write error; nothing is written after it.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output, as `print!` does.
macro_rules! out {
    ($($argument:tt)*) => { $crate::output::write(::std::format_args!($($argument)*)) };
}

/// Writes a line to standard output, as `println!` does.
macro_rules! outln {
    ($($argument:tt)*) => { $crate::output::write(::std::format_args!("{}\n", ::std::format_args!($($argument)*))) };
}

pub(crate) use {out, outln};

/// Writes to standard output, unless an earlier write has failed.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    if WRITE_ERROR.get().is_none()
        && let Err(error) = write_to(&mut io::stdout().lock(), text)
    {
        // Only one thread writes.
        let _first = WRITE_ERROR.set(error);
    }
}

fn write_to(output: &mut impl Write, text: fmt::Arguments<'_>) -> io::Result<()> {
    output.write_fmt(text)?;
    output.flush()
}

/// Returns the text without control characters, except line ends: a value from a file that was
/// received from others must not control the terminal.
pub(crate) fn printable(text: impl fmt::Display) -> String {
    let replace =
        |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.to_string().chars().map(replace).collect()
}

/// Writes a line to standard error.
pub(crate) fn print_error(message: impl fmt::Display) {
    let name = paint_if("passerelle:", TextColour::Red, has_colour(&io::stderr()));
    let _unread = writeln!(io::stderr(), "{name} {}", printable(message));
}

/// Colour of a text on a terminal: green is good, yellow uncertain, red bad.
#[derive(Clone, Copy)]
pub(crate) enum TextColour {
    Green,
    Yellow,
    Red,
}

/// Returns whether a stream shows colours: it is a terminal, and `NO_COLOR` (no-color.org) is unset
/// or empty.
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Returns a text for standard output, in colour if that is a terminal.
pub(crate) fn paint(text: &str, colour: TextColour) -> String {
    paint_if(text, colour, has_colour(&io::stdout()))
}

fn paint_if(text: &str, colour: TextColour, has_colour: bool) -> String {
    let colour = match colour {
        TextColour::Green => AnsiColor::Green,
        TextColour::Yellow => AnsiColor::Yellow,
        TextColour::Red => AnsiColor::Red,
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    if has_colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Writes the report of a check, with its headings in colour.
pub(crate) fn print_report(report: impl fmt::Display) {
    for line in printable(report).split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        let colour = match (text, first) {
            ("The configuration is valid.", _) => Some(TextColour::Green),
            (_, "ok") if text.starts_with("  ") => Some(TextColour::Green),
            (_, "error") if text.starts_with("  ") => Some(TextColour::Red),
            (_, "warning") if text.starts_with("  ") => Some(TextColour::Yellow),
            _ if text.ends_with(" problem:") || text.ends_with(" problems:") => {
                Some(TextColour::Red)
            }
            _ if text.ends_with(" warning:") || text.ends_with(" warnings:") => {
                Some(TextColour::Yellow)
            }
            _ => None,
        };
        match colour {
            Some(colour) if text.starts_with("  ") => {
                out!("{}", line.replacen(first, &paint(first, colour), 1));
            }
            Some(colour) => outln!("{}", paint(text, colour)),
            None => out!("{line}"),
        }
    }
}

/// Returns the exit code of a command, or that of a write error.
pub(crate) fn finish(code: ExitCode) -> ExitCode {
    match WRITE_ERROR.get() {
        None => code,
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Some(error) => {
            print_error(format_args!(
                "standard output can't be written: {error}; free some space, or write elsewhere"
            ));
            ExitCode::from(EXIT_IO_ERROR)
        }
    }
}
