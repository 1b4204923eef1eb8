//! Whether the end of a log in files descends from a line of it, as a start asks of the last seal's line.
//!
//! A line that only stands somewhere beside the log proves nothing: the attacker copies it there, and rewrites the log.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::chain::{Chain, hash};
use super::file::{TAIL, old_files};
use super::last_seal::LastSeal;
use super::verify::Head;

/// Verifies that the chain leads, link by link, from the sealed line to `end`, through the full files and the one at `path`.
///
/// # Errors
/// A file can't be read.
pub fn leads_to_end(path: &Path, seal: &LastSeal, end: &Chain) -> io::Result<bool> {
    let mut newest_first = old_files(path)?;
    newest_first.push(path.to_owned());
    newest_first.reverse();
    let mut files = Vec::new();
    for file in newest_first {
        let first = first_seq(&file)?;
        files.push(file);
        if first.is_some_and(|first| first <= seal.seq) {
            break;
        }
    }
    files.reverse();
    Ok(walk(&files, seal)?.as_ref() == Some(end))
}

/// Returns where the chain stands after the last line, or `None` where it does not begin at the seal's line or has a gap.
fn walk(files: &[PathBuf], seal: &LastSeal) -> io::Result<Option<Chain>> {
    let mut chain: Option<Chain> = None;
    for file in files {
        let mut lines = Lines::open(file)?;
        while let Some(line) = lines.next_line()? {
            let head = Head::read(&line);
            let next = match (&chain, head) {
                (None, Some(head)) if head.seq == seal.seq => {
                    let hash = hash(&line);
                    if hash != seal.hash {
                        return Ok(None);
                    }
                    Chain { seq: head.seq, hash }
                }
                (None, _) => continue,
                (Some(before), Some(head))
                    if head.seq == before.seq + 1 && head.prev == before.hash =>
                {
                    Chain { seq: head.seq, hash: hash(&line) }
                }
                (Some(_), Some(_)) => return Ok(None),
                // Half a line, as a killed process leaves it: the next line has the number after the one before it.
                (Some(before), None) => Chain { seq: before.seq, hash: hash(&line) },
            };
            chain = Some(next);
        }
    }
    Ok(chain)
}

/// The number of the file's first line. A crash may have left half a line before it.
fn first_seq(file: &Path) -> io::Result<Option<u64>> {
    let mut lines = Lines::open(file)?;
    for _ in 0..2 {
        let Some(line) = lines.next_line()? else { return Ok(None) };
        if let Some(head) = Head::read(&line) {
            return Ok(Some(head.seq));
        }
    }
    Ok(None)
}

/// The lines of a file, each with its end. The last one is given an end where it has none, as the next start gives it.
struct Lines(BufReader<File>);

impl Lines {
    fn open(file: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::new(File::open(file)?)))
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if (&mut self.0).take(TAIL).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        Ok(Some(line))
    }
}
