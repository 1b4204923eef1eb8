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
