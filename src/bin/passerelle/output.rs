//! Writes to standard output and standard error.
//!
//! Unlike `print!`, a closed pipe does not panic: the command continues without output and ends
//! with its own exit code. Any other write error is reported once at the end.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Exit code of a command whose output could not be written (`EX_IOERR` of sysexits.h).
pub const EXIT_IO_ERROR: u8 = 74;

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
pub fn write(text: fmt::Arguments<'_>) {
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

/// Returns true after a write error, so that endless output can stop.
pub fn has_failed() -> bool {
    WRITE_ERROR.get().is_some()
}

/// Returns the text without control characters, except line ends: a value from a file that was
/// received from others must not control the terminal.
pub fn printable(text: impl fmt::Display) -> String {
    let replace =
        |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.to_string().chars().map(replace).collect()
}

/// Writes a line to standard error.
pub fn print_error(message: impl fmt::Display) {
    let _unread = writeln!(io::stderr(), "passerelle: {}", printable(message));
}

/// Returns the exit code of a command, or that of a write error.
pub fn finish(code: ExitCode) -> ExitCode {
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
