//! Standard output and standard error of every command.
//!
//! `print!` panics where the reader has gone. Here a closed pipe ends the output and nothing else: the command goes on to its
//! own exit code. Any other failure is kept, and reported once at the end.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// What a command ends with whose output could not be written (EX_IOERR of sysexits.h).
pub const OUTPUT_LOST: u8 = 74;

/// The first failure; nothing is written after it.
static FAILED: OnceLock<io::Error> = OnceLock::new();

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
    if FAILED.get().is_none()
        && let Err(error) = write_to(&mut io::stdout().lock(), text)
    {
        // Only one thread writes; a second error would say the same.
        let _first = FAILED.set(error);
    }
}

fn write_to(output: &mut impl Write, text: fmt::Arguments<'_>) -> io::Result<()> {
    output.write_fmt(text)?;
    output.flush()
}

/// Whether nothing can be written any more, which ends what would otherwise run on.
pub fn has_failed() -> bool {
    FAILED.get().is_some()
}

/// Writes a line about this command to standard error. Where that is closed too, nobody is left to read it.
pub fn complain(message: impl fmt::Display) {
    let _unread = writeln!(io::stderr(), "passerelle: {message}");
}

/// The exit code of a command that has written all it has to say.
pub fn end(code: ExitCode) -> ExitCode {
    match FAILED.get() {
        None => code,
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Some(error) => {
            complain(format_args!(
                "standard output can't be written: {error}; free space there, or write elsewhere"
            ));
            ExitCode::from(OUTPUT_LOST)
        }
    }
}
