//! Writes the audit log to a rotated file or to standard output.
//!
//! Responsible for file names, rotation, the lock that allows one writer, and finding the end of
//! the chain after a crash. The hub writes `audit.jsonl`; a full file becomes
//! `audit-20261121T101500.123Z.jsonl` beside it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::NaiveDateTime;

use super::AuditError;
use super::chain::{ChainPosition, line_hash, to_rfc3339};
use super::sink::{LogEnd, Sink};
use super::verify::LineHeader;
use crate::atomic_file::{create_private_folder, parent_folder, sync_folder};
use crate::env::Timestamp;

/// Maximum length of a line; real ones are far shorter.
pub(super) const MAX_LINE_BYTES: u64 = 64 * 1024;
/// Interval between attempts to start a new file.
const ROTATION_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Limits of log files.
#[derive(Clone, Debug)]
pub struct FileRotation {
    /// Maximum size of a file in bytes; 0 means no limit.
    pub max_bytes: u64,
    /// Starts a new file each day, in UTC.
    pub daily: bool,
    /// Number of full files that are kept; `None` keeps all.
    pub keep: Option<usize>,
}

/// Sink that writes to a rotated file.
pub struct FileSink {
    path: PathBuf,
    rotation: FileRotation,
    file: File,
    /// Holds the lock while the sink lives, whichever file is written.
    _lock: File,
    size: u64,
    /// Day of the file's first line, such as `2026-11-21`.
    day: String,
    rotation_failed_at: Option<Timestamp>,
}

impl FileSink {
    /// Opens the file and finds the end of its chain. Creates the file with mode 0600, and its
    /// folder with 0700.
    ///
    /// # Errors
    /// `Unwritable`, `Locked`, or `NotAnAuditLog`.
    pub fn open(
        path: &Path,
        rotation: FileRotation,
        now: Timestamp,
    ) -> Result<(Self, LogEnd), AuditError> {
        let unwritable = |cause| AuditError::Unwritable { path: path.display().to_string(), cause };
        let folder = parent_folder(path);
        if !folder.is_dir() {
            create_private_folder(folder).map_err(unwritable)?;
        }
        let lock = new_file(&path.with_extension("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(AuditError::Locked { path: path.display().to_string() });
            }
            Err(TryLockError::Error(cause)) => return Err(unwritable(cause)),
        }
        let (found, first_day) = find_log_end(path)?;
        let file = new_file(path).map_err(unwritable)?;
        let size = file.metadata().map_err(unwritable)?.len();
        let day = first_day.unwrap_or_else(|| utc_day(now));
        let sink = Self {
            path: path.to_owned(),
            rotation,
            file,
            _lock: lock,
            size,
            day,
            rotation_failed_at: None,
        };
        Ok((sink, found))
    }

    fn start_new_file(&mut self, now: Timestamp) -> io::Result<()> {
        let old = new_rotated_name(&self.path, now)?;
        fs::rename(&self.path, &old)?;
        match new_file(&self.path) {
            Ok(file) => self.file = file,
            Err(error) => {
                // Lines still go to the old file by its handle, so it gets its name back.
                fs::rename(&old, &self.path)?;
                return Err(error);
            }
        }
        (self.size, self.day) = (0, utc_day(now));
        // Syncs the rename.
        sync_folder(parent_folder(&self.path))
    }

    fn remove_surplus_files(&self) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        let old = rotated_files(&self.path)?;
        let surplus = old.len().saturating_sub(keep);
        old.iter().take(surplus).try_for_each(fs::remove_file)
    }
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.size += u64::try_from(count).unwrap_or(u64::MAX);
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.file.sync_data() {
            // A pipe or a device has nothing to sync.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    fn is_full(&self, now: Timestamp) -> bool {
        let is_time =
            self.rotation_failed_at.is_none_or(|at| now.since(at) >= ROTATION_RETRY_INTERVAL);
        let is_big = self.rotation.max_bytes > 0 && self.size >= self.rotation.max_bytes;
        self.size > 0 && is_time && (is_big || (self.rotation.daily && utc_day(now) != self.day))
    }

    fn rotate(&mut self, now: Timestamp) -> io::Result<()> {
        let begun = self.start_new_file(now);
        self.rotation_failed_at = begun.is_err().then_some(now);
        begun?;
        if let Err(error) = self.remove_surplus_files() {
            tracing::warn!(%error, "can't remove old audit files");
        }
        Ok(())
    }
}

/// Sink that writes to standard output and is never rotated.
#[derive(Debug)]
pub struct StdoutSink;

impl Sink for StdoutSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        let count = out.write(bytes)?;
        out.flush()?;
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_full(&self, _: Timestamp) -> bool {
        false
    }

    fn rotate(&mut self, _: Timestamp) -> io::Result<()> {
        Ok(())
    }
}

/// Checks whether a hub could continue the log, without creating anything.
///
/// # Errors
/// `Unwritable`, or `NotAnAuditLog`.
pub fn check_writable(path: &Path) -> Result<(), AuditError> {
    let unwritable = |cause| AuditError::Unwritable { path: path.display().to_string(), cause };
    let is_there = path.try_exists().map_err(unwritable)?;
    if is_there {
        OpenOptions::new().append(true).open(path).map_err(unwritable)?;
    }
    // Missing folders are created, so the nearest existing one must be writable.
    let parent =
        parent_folder(path).ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let about = fs::metadata(parent).map_err(unwritable)?;
    if !about.is_dir() {
        return Err(unwritable(io::ErrorKind::NotADirectory.into()));
    }
    if about.permissions().readonly() {
        return Err(unwritable(io::ErrorKind::PermissionDenied.into()));
    }
    if is_there { find_log_end(path).map(drop) } else { Ok(()) }
}

/// Returns the end of the log, and the day of the file's first line.
///
/// # Errors
/// `Unwritable` (also if it can't be read), or `NotAnAuditLog`.
fn find_log_end(path: &Path) -> Result<(LogEnd, Option<String>), AuditError> {
    let unwritable = |cause| AuditError::Unwritable { path: path.display().to_string(), cause };
    let foreign = || AuditError::NotAnAuditLog { path: path.display().to_string() };
    let mut end = FileEnd::read(path).map_err(unwritable)?;
    if end.last_line.is_none() {
        // A crash between two files, or in a file's first line: the chain ends in the previous
        // file.
        let before = rotated_files(path).map_err(unwritable)?.pop();
        end.last_line = match before {
            Some(before) => FileEnd::read(&before).map_err(unwritable)?.last_line,
            None => None,
        };
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
    let found = match &end.partial_line {
        None => LogEnd { chain, unfinished: false },
        Some(half) => {
            let closed = [half.as_slice(), b"\n"].concat();
            // It may be whole but for its line end.
            let seq = LineHeader::parse(&closed).map_or(chain.seq, |header| header.seq);
            LogEnd { chain: ChainPosition { seq, hash: line_hash(&closed) }, unfinished: true }
        }
    };
    Ok((found, end.first_day))
}

/// Returns the full files beside `path`, oldest first.
///
/// # Errors
/// Returns an error if the folder can't be read.
pub fn rotated_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (stem, extension) = parts(path);
    let (before, after) = (format!("{stem}-"), format!(".{extension}"));
    let is_old = |name: &str| {
        name.strip_prefix(&before)
            .and_then(|rest| rest.strip_suffix(&after))
            .is_some_and(is_rotation_time)
    };
    let mut old = Vec::new();
    for entry in fs::read_dir(parent_folder(path))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_old) {
            old.push(entry.path());
        }
    }
    old.sort();
    Ok(old)
}

fn parts(path: &Path) -> (String, String) {
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    (text(path.file_stem()), text(path.extension()))
}

/// Matches times such as `20261121T101500.123Z`. No other file is ever removed.
fn is_rotation_time(name: &str) -> bool {
    name.len() == 20
        && name.bytes().enumerate().all(|(at, c)| match at {
            8 => c == b'T',
            15 => c == b'.',
            19 => c == b'Z',
            _ => c.is_ascii_digit(),
        })
}

/// Returns a name that sorts after the existing ones, even if the clock was set back.
fn new_rotated_name(path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let (stem, extension) = parts(path);
    let newest = rotated_files(path)?.pop().and_then(|newest| rotation_time(&newest, &stem));
    let at = newest.map_or(now, |newest| now.max(newest + Duration::from_millis(1)));
    let time: String = to_rfc3339(at).chars().filter(|c| *c != '-' && *c != ':').collect();
    Ok(path.with_file_name(format!("{stem}-{time}.{extension}")))
}

fn rotation_time(old: &Path, stem: &str) -> Option<Timestamp> {
    let name = old.file_stem()?.to_str()?.strip_prefix(stem)?.strip_prefix('-')?;
    let at = NaiveDateTime::parse_from_str(name, "%Y%m%dT%H%M%S%.3fZ").ok()?;
    u64::try_from(at.and_utc().timestamp_millis()).ok().map(Timestamp::from_millis)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn utc_day(at: Timestamp) -> String {
    to_rfc3339(at).chars().take(10).collect()
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
