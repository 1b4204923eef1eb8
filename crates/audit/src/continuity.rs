//! Verifies that the end of a log descends from the line of its last checkpoint.
//!
//! It is not enough that the line is somewhere in the files: an attacker could copy it beside a
//! rewritten log.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::chain::{ChainPosition, line_hash};
use super::file::rotated_files;
use super::last_checkpoint::LastCheckpoint;
use super::lines::MAX_LINE_BYTES;
use super::verify::LineHeader;

/// Returns whether the chain leads, line by line, from the checkpoint to `end`, through the full
/// files and the one at `path`.
///
/// # Errors
/// Returns an error if a file can't be read.
pub fn leads_to_end(
    path: &Path,
    checkpoint: &LastCheckpoint,
    end: &ChainPosition,
) -> io::Result<bool> {
    let mut newest_first = rotated_files(path)?;
    newest_first.push(path.to_owned());
    newest_first.reverse();
    let mut files = Vec::new();
    for file in newest_first {
        let first = first_seq(&file)?;
        files.push(file);
        if first.is_some_and(|first| first <= checkpoint.seq) {
            break;
        }
    }
    files.reverse();
    Ok(follow_chain(&files, checkpoint)?.as_ref() == Some(end))
}

/// Returns the position after the last line, or `None` if the chain does not begin at the
/// checkpoint or has a gap.
fn follow_chain(
    files: &[PathBuf],
    checkpoint: &LastCheckpoint,
) -> io::Result<Option<ChainPosition>> {
    let mut chain: Option<ChainPosition> = None;
    for file in files {
        let mut lines = Lines::open(file)?;
        while let Some(line) = lines.next_line()? {
            let header = LineHeader::parse(&line);
            let next = match (&chain, header) {
                (None, Some(header)) if header.seq == checkpoint.seq => {
                    let hash = line_hash(&line);
                    if hash != checkpoint.hash {
                        return Ok(None);
                    }
                    ChainPosition { seq: header.seq, hash }
                }
                (None, _) => continue,
                (Some(before), Some(header))
                    if header.seq == before.seq + 1 && header.prev == before.hash =>
                {
                    ChainPosition { seq: header.seq, hash: line_hash(&line) }
                }
                (Some(_), Some(_)) => return Ok(None),
                // A partial line of a killed process. The next line has the number after the
                // previous one.
                (Some(before), None) => ChainPosition { seq: before.seq, hash: line_hash(&line) },
            };
            chain = Some(next);
        }
    }
    Ok(chain)
}

/// Returns the number of the file's first line. A crash may have left a partial line before it.
fn first_seq(file: &Path) -> io::Result<Option<u64>> {
    let mut lines = Lines::open(file)?;
    for _ in 0..2 {
        let Some(line) = lines.next_line()? else { return Ok(None) };
        if let Some(header) = LineHeader::parse(&line) {
            return Ok(Some(header.seq));
        }
    }
    Ok(None)
}

/// Lines of a file with their ends. A last line without an end gets one, as the next start adds it.
struct Lines(BufReader<File>);

impl Lines {
    fn open(file: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::new(File::open(file)?)))
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if (&mut self.0).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        Ok(Some(line))
    }
}
