//! Writes the audit log to a rotated file or to standard output.
//!
//! Responsible for file names, rotation, and the lock that allows one writer. The hub writes `audit.jsonl`; a full file becomes
//! `audit-20261121T101500.123Z.jsonl` beside it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::NaiveDateTime;

use super::AuditError;
use super::chain::to_rfc3339;
use super::log_end::find_log_end;
use super::sink::{LogEnd, Sink};
use passerelle_protocol::atomic_file::{create_private_folder, parent_folder, sync_folder};
use passerelle_protocol::env::Timestamp;

/// Interval between attempts to start a new file.
const ROTATION_RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Time between removals of old files. The clock must not have jumped in it, so that a clock that is
/// wrong for a while after a start removes nothing.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(3600);
/// Change of the clock between two calls that counts as a jump.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(600);

/// Limits of log files.
#[derive(Clone, Debug)]
pub struct FileRotation {
    /// Maximum size of a file in bytes; 0 means no limit.
    pub max_bytes: u64,
    /// Starts a new file each day, in UTC.
    pub daily: bool,
    /// Number of full files that are kept; `None` keeps all.
    pub keep_files: Option<usize>,
    /// Age at which a full file is removed; `None` keeps all. A file is as old as its last line.
    pub max_age: Option<Duration>,
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
    /// Time of the last call of [`Sink::maintain`].
    maintained_at: Timestamp,
    removal_due_at: Timestamp,
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
        let lock = open_for_append(&path.with_extension("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(AuditError::Locked { path: path.display().to_string() });
            }
            Err(TryLockError::Error(cause)) => return Err(unwritable(cause)),
        }
        let (found, first_day) = find_log_end(path)?;
        let file = open_for_append(path).map_err(unwritable)?;
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
            maintained_at: now,
            removal_due_at: now + REMOVAL_INTERVAL,
        };
        sink.remove_surplus_files();
        Ok((sink, found))
    }

    fn start_new_file(&mut self, now: Timestamp) -> io::Result<()> {
        let old = new_rotated_name(&self.path, now)?;
        fs::rename(&self.path, &old)?;
        match open_for_append(&self.path) {
            Ok(file) => self.file = file,
            Err(error) => {
                // Lines still go to the old file by its handle, so it gets its name back.
                fs::rename(&old, &self.path)?;
                return Err(error);
            }
        }
        (self.size, self.day) = (0, utc_day(now));
        // Without the sync, a power failure could give the old name back.
        if let Err(error) = sync_folder(parent_folder(&self.path)) {
            tracing::warn!(%error, "the new name of the full audit file may not be on the disk yet");
        }
        Ok(())
    }

    /// Removes the oldest full files beyond the number to keep.
    fn remove_surplus_files(&self) {
        let Some(keep) = self.rotation.keep_files else { return };
        remove_files(rotated_files(&self.path).map(|mut files| {
            files.truncate(files.len().saturating_sub(keep));
            files
        }));
    }

    /// Removes the full files that are too old.
    fn remove_expired_files(&self, now: Timestamp) {
        let Some(max_age) = self.rotation.max_age else { return };
        let (stem, _) = stem_and_extension(&self.path);
        let is_expired =
            |file: &PathBuf| rotation_time(file, &stem).is_some_and(|ended| now >= ended + max_age);
        remove_files(rotated_files(&self.path).map(|mut files| {
            files.retain(is_expired);
            files
        }));
    }
}

/// Removes files. Continues after a file that can't be removed.
fn remove_files(files: io::Result<Vec<PathBuf>>) {
    match files {
        Ok(files) => {
            for file in files {
                if let Err(error) = fs::remove_file(&file) {
                    tracing::warn!(%error, file = %file.display(), "can't remove an old audit file");
                }
            }
        }
        Err(error) => tracing::warn!(%error, "can't list the old audit files"),
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

    fn needs_rotation(&self, now: Timestamp) -> bool {
        let is_time =
            self.rotation_failed_at.is_none_or(|at| now.since(at) >= ROTATION_RETRY_INTERVAL);
        let is_big = self.rotation.max_bytes > 0 && self.size >= self.rotation.max_bytes;
        self.size > 0 && is_time && (is_big || (self.rotation.daily && utc_day(now) != self.day))
    }

    fn rotate(&mut self, now: Timestamp) -> io::Result<()> {
        let begun = self.start_new_file(now);
        self.rotation_failed_at = begun.is_err().then_some(now);
        begun?;
        self.remove_surplus_files();
        Ok(())
    }

    fn maintain(&mut self, now: Timestamp) {
        let has_jumped = now < self.maintained_at || now.since(self.maintained_at) > MAX_CLOCK_STEP;
        self.maintained_at = now;
        if has_jumped {
            self.removal_due_at = now + REMOVAL_INTERVAL;
        } else if now >= self.removal_due_at {
            self.removal_due_at = now + REMOVAL_INTERVAL;
            self.remove_expired_files(now);
        }
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

    fn needs_rotation(&self, _: Timestamp) -> bool {
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

/// Returns the full files beside `path`, oldest first.
///
/// # Errors
/// Returns an error if the folder can't be read.
pub fn rotated_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (stem, extension) = stem_and_extension(path);
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

fn stem_and_extension(path: &Path) -> (String, String) {
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
    let (stem, extension) = stem_and_extension(path);
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

fn open_for_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn utc_day(at: Timestamp) -> String {
    to_rfc3339(at).chars().take(10).collect()
}
