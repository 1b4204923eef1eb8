//! Reads the lines of an audit log.

use std::io::{self, BufRead, Read as _};

/// Maximum length of a line; real ones are far shorter.
pub(super) const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Calls `handle` with each line of a log, with its line end. Longer lines than any of the hub's come
/// in pieces.
///
/// # Errors
/// Returns an error if the log can't be read.
pub(super) fn for_each_line(
    log: &mut impl BufRead,
    mut handle: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut line = Vec::new();
    while log.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
        handle(&line);
        line.clear();
    }
    Ok(())
}

/// Reads the next line with its end; a last line without an end gets one, as the next start adds it.
/// Returns the line's length in the log: 0 at its end.
///
/// # Errors
/// Returns an error if the log can't be read.
pub(super) fn read_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let length = log.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', line)?;
    if length > 0 && !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    Ok(length)
}
