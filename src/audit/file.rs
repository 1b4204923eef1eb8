//! The sinks of a running hub: a file that is rotated by size and by day, and standard output.
//!
//! Owns: names of files, which of them are kept, one writer at a time, and finding again where the chain stands, whatever
//! a crash left behind. `audit.jsonl` is written; a full one becomes `audit-20261121T101500.123Z.jsonl` beside it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::NaiveDateTime;

use super::AuditFault;
use super::chain::{Chain, hash, in_rfc3339};
use super::verify::Head;
use super::writer::{Found, Sink};
use crate::env::Timestamp;

/// No line is longer by far.
pub(super) const TAIL: u64 = 64 * 1024;
/// Between two tries to begin a new file.
const AGAIN: Duration = Duration::from_secs(60);

/// When a file is full, and what becomes of it.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// Bytes; 0: of any size.
    pub size: u64,
    /// A new file for each day, in UTC.
    pub daily: bool,
    /// How many full files stay; `None`: all.
    pub keep: Option<usize>,
}

pub struct FileSink {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    /// Holds the lock for as long as the sink lives, whatever file is written.
    _lock: File,
    size: u64,
    /// `2026-11-21`, of the file's first line.
    day: String,
    refused_at: Option<Timestamp>,
}

impl FileSink {
    /// Opens the file, made with mode 0600 in a folder that is made with 0700, and finds where its chain stands.
    ///
    /// # Errors
    /// `Unwritable`, `Taken`, or `Foreign` if its end is no audit log.
    pub fn open(
        path: &Path,
        rotation: Rotation,
        now: Timestamp,
    ) -> Result<(Self, Found), AuditFault> {
        let unwritable = |cause| AuditFault::Unwritable { path: path.display().to_string(), cause };
        let folder = folder(path);
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable)?;
        }
        let lock = new_file(&path.with_extension("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(AuditFault::Taken { path: path.display().to_string() });
            }
            Err(TryLockError::Error(cause)) => return Err(unwritable(cause)),
        }
        let (found, first_day) = standing(path)?;
        let file = new_file(path).map_err(unwritable)?;
        let size = file.metadata().map_err(unwritable)?.len();
        let day = first_day.unwrap_or_else(|| day(now));
        let sink = Self {
            path: path.to_owned(),
            rotation,
            file,
            _lock: lock,
            size,
            day,
            refused_at: None,
        };
        Ok((sink, found))
    }

    fn begin_anew(&mut self, now: Timestamp) -> io::Result<()> {
        let old = old_name(&self.path, now)?;
        fs::rename(&self.path, &old)?;
        match new_file(&self.path) {
            Ok(file) => self.file = file,
            Err(fault) => {
                // What is written goes to the old file by its handle; its name should say so.
                fs::rename(&old, &self.path)?;
                return Err(fault);
            }
        }
        (self.size, self.day) = (0, day(now));
        // The new name, too, is on the disk.
        File::open(folder(&self.path))?.sync_all()
    }

    fn remove_surplus(&self) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        let old = old_files(&self.path)?;
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
            // A pipe or a device, which has nothing to bring to a disk.
            Err(fault) if fault.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    fn is_full(&self, now: Timestamp) -> bool {
        let is_time = self.refused_at.is_none_or(|at| now.since(at) >= AGAIN);
        let is_big = self.rotation.size > 0 && self.size >= self.rotation.size;
        self.size > 0 && is_time && (is_big || (self.rotation.daily && day(now) != self.day))
    }

    fn rotate(&mut self, now: Timestamp) -> io::Result<()> {
        let begun = self.begin_anew(now);
        self.refused_at = begun.is_err().then_some(now);
        begun?;
        if let Err(fault) = self.remove_surplus() {
            tracing::warn!(%fault, "old audit files could not be removed");
        }
        Ok(())
    }
}

/// What the container's machinery collects. It is never rotated here.
#[derive(Debug)]
pub struct Stdout;

impl Sink for Stdout {
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

/// Whether a hub could go on with the log there, as far as that can be told without making anything.
///
/// # Errors
/// `Unwritable`, or `Foreign` if its end is no audit log.
pub fn examine(path: &Path) -> Result<(), AuditFault> {
    let unwritable = |cause| AuditFault::Unwritable { path: path.display().to_string(), cause };
    let is_there = path.try_exists().map_err(unwritable)?;
    if is_there {
        OpenOptions::new().append(true).open(path).map_err(unwritable)?;
    }
    // What is missing is made: its mother has to let us.
    let mother = folder(path).ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let about = fs::metadata(mother).map_err(unwritable)?;
    if !about.is_dir() {
        return Err(unwritable(io::ErrorKind::NotADirectory.into()));
    }
    if about.permissions().readonly() {
        return Err(unwritable(io::ErrorKind::PermissionDenied.into()));
    }
    if is_there { standing(path).map(drop) } else { Ok(()) }
}

/// Where the chain stands, and the day of the file's first line.
///
/// # Errors
/// `Unwritable` (nor readable), or `Foreign`.
fn standing(path: &Path) -> Result<(Found, Option<String>), AuditFault> {
    let unwritable = |cause| AuditFault::Unwritable { path: path.display().to_string(), cause };
    let foreign = || AuditFault::Foreign { path: path.display().to_string() };
    let mut end = End::of(path).map_err(unwritable)?;
    if end.whole.is_none() {
        // A crash between two files, or in the first line of one: the chain stands in the one before.
        let before = old_files(path).map_err(unwritable)?.pop();
        end.whole = match before {
            Some(before) => End::of(&before).map_err(unwritable)?.whole,
            None => None,
        };
    }
    let chain = match (&end.whole, end.is_empty) {
        (Some(line), _) => Head::read(line)
            .map(|head| Chain { seq: head.seq, hash: hash(line) })
            .ok_or_else(foreign)?,
        (None, true) => Chain::default(),
        // Half a line, and nothing before it.
        (None, false) if end.half.is_some() => Chain::default(),
        (None, false) => return Err(foreign()),
    };
    let found = match &end.half {
        None => Found { chain, unfinished: false },
        Some(half) => {
            let closed = [half.as_slice(), b"\n"].concat();
            // It may lack nothing but its end.
            let seq = Head::read(&closed).map_or(chain.seq, |head| head.seq);
            Found { chain: Chain { seq, hash: hash(&closed) }, unfinished: true }
        }
    };
    Ok((found, end.first_day))
}

/// The full files beside `path`, the oldest first.
///
/// # Errors
/// The folder can't be read.
pub fn old_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (stem, extension) = parts(path);
    let (before, after) = (format!("{stem}-"), format!(".{extension}"));
    let is_old = |name: &str| {
        name.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after)).is_some_and(is_time)
    };
    let mut old = Vec::new();
    for entry in fs::read_dir(folder(path))? {
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

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `20261121T101500.123Z`: nothing else is ever removed.
fn is_time(name: &str) -> bool {
    name.len() == 20
        && name.bytes().enumerate().all(|(at, c)| match at {
            8 => c == b'T',
            15 => c == b'.',
            19 => c == b'Z',
            _ => c.is_ascii_digit(),
        })
}

/// A name behind those that there are, even if the clock was set back: files sort as the chain goes.
fn old_name(path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let (stem, extension) = parts(path);
    let newest = old_files(path)?.pop().and_then(|newest| time_of(&newest, &stem));
    let at = newest.map_or(now, |newest| now.max(newest + Duration::from_millis(1)));
    let time: String = in_rfc3339(at).chars().filter(|c| *c != '-' && *c != ':').collect();
    Ok(path.with_file_name(format!("{stem}-{time}.{extension}")))
}

fn time_of(old: &Path, stem: &str) -> Option<Timestamp> {
    let name = old.file_stem()?.to_str()?.strip_prefix(stem)?.strip_prefix('-')?;
    let at = NaiveDateTime::parse_from_str(name, "%Y%m%dT%H%M%S%.3fZ").ok()?;
    u64::try_from(at.and_utc().timestamp_millis()).ok().map(Timestamp::from_millis)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn day(at: Timestamp) -> String {
    in_rfc3339(at).chars().take(10).collect()
}

/// The end of a file.
#[derive(Default)]
struct End {
    is_empty: bool,
    /// The last line that has its end.
    whole: Option<Vec<u8>>,
    /// What stands after it.
    half: Option<Vec<u8>>,
    first_day: Option<String>,
}

impl End {
    /// A file that is not there is empty.
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { is_empty: true, ..Self::default() });
            }
            Err(fault) => return Err(fault),
        };
        let size = file.metadata()?.len();
        let mut first = Vec::new();
        (&mut file).take(TAIL).read_to_end(&mut first)?;
        let first_line = first.split_inclusive(|byte| *byte == b'\n').next();
        let first_day =
            first_line.and_then(Head::read).map(|head| head.time.chars().take(10).collect());
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        let mut lines: Vec<&[u8]> = tail.split_inclusive(|byte| *byte == b'\n').collect();
        let half = lines.pop_if(|last| !last.ends_with(b"\n")).map(<[u8]>::to_vec);
        // Of the tail's first line the beginning may be missing: then it reads as none, which is told.
        Ok(Self { is_empty: size == 0, whole: lines.pop().map(<[u8]>::to_vec), half, first_day })
    }
}
