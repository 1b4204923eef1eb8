//! Finds the end of the log when its file is opened: the position of the chain, and the lines that
//! no checkpoint covers, also after a crash.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::AuditError;
use super::chain::{ChainPosition, line_hash};
use super::file::rotated_files;
use super::lines::{MAX_LINE_BYTES, read_line};
use super::merkle::MerkleTree;
use super::sink::LogEnd;
use super::verify::LineHeader;

/// Member that every checkpoint has, and no other line.
const CHECKPOINT_MEMBER: &str = r#""event":"checkpoint""#;

/// Returns the end of the log, and the day of the file's first line.
///
/// # Errors
/// `Unwritable` (also if it can't be read), or `NotAnAuditLog`.
pub(super) fn find_log_end(path: &Path) -> Result<(LogEnd, Option<String>), AuditError> {
    let unwritable = |cause| AuditError::Unwritable { path: path.display().to_string(), cause };
    let foreign = || AuditError::NotAnAuditLog { path: path.display().to_string() };
    let mut end = FileEnd::read(path).map_err(unwritable)?;
    let (mut tree, mut begins_with_checkpoint) =
        tree_since_checkpoint(path, MerkleTree::default()).map_err(unwritable)?;
    if end.last_line.is_none() {
        // A crash between two files, or in a file's first line: the chain ends in the previous
        // file.
        let before = rotated_files(path).map_err(unwritable)?.pop();
        if let Some(before) = before {
            end.last_line = FileEnd::read(&before).map_err(unwritable)?.last_line;
            let (earlier, has_checkpoint) =
                tree_since_checkpoint(&before, MerkleTree::default()).map_err(unwritable)?;
            (tree, _) = tree_since_checkpoint(path, earlier).map_err(unwritable)?;
            begins_with_checkpoint = has_checkpoint;
        }
    }
    let chain = match (&end.last_line, end.is_empty) {
        (Some(line), _) => LineHeader::parse(line)
            .map(|header| ChainPosition { seq: header.seq, hash: line_hash(line) })
            .ok_or_else(foreign)?,
        (None, true) => ChainPosition::default(),
        // A partial line, and nothing before it.
        (None, false) if end.partial_line.is_some() => ChainPosition::default(),
        (None, false) => return Err(foreign()),
    };
    let unsigned_lines = tree.size() - u64::from(begins_with_checkpoint).min(tree.size());
    let found = match &end.partial_line {
        None => LogEnd { chain, tree, unfinished: false, unsigned_lines },
        Some(half) => {
            let closed = [half.as_slice(), b"\n"].concat();
            // It may be whole but for its line end.
            let seq = LineHeader::parse(&closed).map_or(chain.seq, |header| header.seq);
            let chain = ChainPosition { seq, hash: line_hash(&closed) };
            LogEnd { chain, tree, unfinished: true, unsigned_lines }
        }
    };
    Ok((found, end.first_day))
}

/// Continues `tree` with the lines of a file from its last checkpoint, or from its beginning. Returns
/// whether the file has a checkpoint, too.
fn tree_since_checkpoint(path: &Path, tree: MerkleTree) -> io::Result<(MerkleTree, bool)> {
    let mut file = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((tree, false)),
        Err(error) => return Err(error),
    };
    let size = file.get_ref().metadata()?.len();
    let next_line = |file: &mut BufReader<File>, line: &mut Vec<u8>| match read_line(file, line)? {
        0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        length => Ok(length as u64),
    };
    let (mut offset, mut checkpoint_at) = (0, None);
    let (mut line, finder) = (Vec::new(), memchr::memmem::Finder::new(CHECKPOINT_MEMBER));
    while offset < size {
        let length = next_line(&mut file, &mut line)?;
        if finder.find(&line).is_some() && LineHeader::parse(&line).is_some() {
            checkpoint_at = Some(offset);
        }
        offset += length;
    }
    let mut tree = if checkpoint_at.is_some() { MerkleTree::default() } else { tree };
    offset = file.seek(SeekFrom::Start(checkpoint_at.unwrap_or(0)))?;
    while offset < size {
        offset += next_line(&mut file, &mut line)?;
        if LineHeader::parse(&line).is_some() {
            tree.push(&line);
        }
    }
    Ok((tree, checkpoint_at.is_some()))
}

/// First day and last lines of a file.
#[derive(Default)]
struct FileEnd {
    is_empty: bool,
    /// Last complete line.
    last_line: Option<Vec<u8>>,
    /// Partial line after it.
    partial_line: Option<Vec<u8>>,
    first_day: Option<String>,
}

impl FileEnd {
    /// Reads the end of a file. A missing file is empty.
    fn read(path: &Path) -> io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { is_empty: true, ..Self::default() });
            }
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        let mut first = Vec::new();
        (&mut file).take(MAX_LINE_BYTES).read_to_end(&mut first)?;
        let first_line = first.split_inclusive(|byte| *byte == b'\n').next();
        let first_day = first_line
            .and_then(LineHeader::parse)
            .map(|header| header.time.chars().take(10).collect());
        file.seek(SeekFrom::Start(size.saturating_sub(MAX_LINE_BYTES)))?;
        let mut tail = Vec::new();
        file.take(MAX_LINE_BYTES).read_to_end(&mut tail)?;
        let mut lines: Vec<&[u8]> = tail.split_inclusive(|byte| *byte == b'\n').collect();
        let half = lines.pop_if(|last| !last.ends_with(b"\n")).map(<[u8]>::to_vec);
        // The first line of the tail may be cut; if it is the only one, it fails to parse.
        Ok(Self {
            is_empty: size == 0,
            last_line: lines.pop().map(<[u8]>::to_vec),
            partial_line: half,
            first_day,
        })
    }
}
