//! Verifies that the end of a log descends from the line of its last checkpoint.
//!
//! It is not enough that the line is somewhere in the files: an attacker could copy it beside a
//! rewritten log.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::chain::{ChainPosition, line_hash};
use super::file::rotated_files;
use super::last_checkpoint::LastCheckpoint;
use super::lines::read_line;
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
        let (mut log, mut line) = (BufReader::new(File::open(file)?), Vec::new());
        while read_line(&mut log, &mut line)? > 0 {
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
///
/// # Errors
/// Returns an error if the file can't be read.
pub fn first_seq(file: &Path) -> io::Result<Option<u64>> {
    let (mut log, mut line) = (BufReader::new(File::open(file)?), Vec::new());
    for _ in 0..2 {
        read_line(&mut log, &mut line)?;
        if let Some(header) = LineHeader::parse(&line) {
            return Ok(Some(header.seq));
        }
    }
    Ok(None)
}
