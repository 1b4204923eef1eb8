//! Reads files that anyone may have replaced: opens only regular files, since opening a pipe or a
//! device may block forever, and limits the size.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::diagnostic::{CREATE_FILE, ValueError};

/// Size limit for every file.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Metadata that changes when a file is replaced or written to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FileStamp {
    /// `ctime` in seconds and nanoseconds. No program can set it back.
    changed: (i64, i64),
    bytes: u64,
    inode: u64,
}

impl FileStamp {
    /// Returns the stamp of the file at `path`, links followed; the default if it is missing.
    pub fn from_path(path: &Path) -> Self {
        std::fs::metadata(path).map_or_else(|_| Self::default(), |found| Self::from(&found))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(found: &Metadata) -> Self {
        Self {
            changed: (found.ctime(), found.ctime_nsec()),
            bytes: found.len(),
            inode: found.ino(),
        }
    }
}

/// Reads a regular file, links followed.
///
/// # Errors
/// Fails if the file is missing, not a regular file, larger than [`MAX_FILE_BYTES`], or not
/// readable.
pub fn read_regular_file(path: &Path) -> Result<Vec<u8>, ValueError> {
    read_open_file(open_regular_file(path)?)
}

/// Opens a regular file, links followed.
///
/// # Errors
/// Fails if the file is missing, not a regular file, or not readable.
pub fn open_regular_file(path: &Path) -> Result<File, ValueError> {
    let found = std::fs::metadata(path).map_err(unreadable)?;
    if found.is_dir() {
        return Err(ValueError::new(
            "is a folder, not a file",
            "rename the folder, or put a file in its place",
        ));
    }
    if !found.is_file() {
        return Err(ValueError::new(
            "is a pipe, a socket or a device, not a regular file",
            "put a regular file in its place",
        ));
    }
    File::open(path).map_err(unreadable)
}

/// Checks that a key names a regular file that this user may read.
///
/// # Errors
/// Returns what is wrong with the file, as a predicate of the key.
pub fn check_named_file(path: &Path) -> Result<(), ValueError> {
    let found = std::fs::metadata(path);
    if found.as_ref().is_ok_and(|found| !found.is_file()) {
        return Err(ValueError::new("names a folder or a device, not a file", "name a file"));
    }
    match found.and_then(|_| File::open(path)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(ValueError::new("names a file that is missing", CREATE_FILE))
        }
        Err(_) => Err(ValueError::new(
            "names a file that can't be read",
            "let the user that runs the hub read the file, and enter its folder",
        )),
    }
}

/// Reads an open file.
///
/// # Errors
/// Fails if the file is larger than [`MAX_FILE_BYTES`], or can't be read.
pub fn read_open_file(file: File) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ValueError::new(
            "is larger than 1 MiB",
            "split it, or remove what doesn't belong in it",
        ));
    }
    Ok(bytes)
}

fn unreadable(error: std::io::Error) -> ValueError {
    let (message, fix) = match error.kind() {
        ErrorKind::NotFound => ("the file is missing", "create it, or name its folder by --config"),
        ErrorKind::NotADirectory => {
            ("the path leads through a file", "write the folder without the file: --config FOLDER")
        }
        _ => ("the file can't be read", "allow this user to read it"),
    };
    ValueError::new(message, fix)
}

/// Checks that a link stays inside its folder, as Kubernetes links do (`x.toml` → `..data/x.toml`).
/// Write access to the folder must not allow reading files elsewhere.
///
/// # Errors
/// Fails if the link leads out of the folder, or nowhere.
pub fn check_link_stays_inside(path: &Path, folder: &Path) -> Result<(), ValueError> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(());
    }
    let (target, folder) = (std::fs::canonicalize(path), std::fs::canonicalize(folder));
    match (target, folder) {
        (Ok(target), Ok(folder)) if target.starts_with(&folder) => Ok(()),
        (Ok(_), Ok(_)) => Err(ValueError::new(
            "is a link out of its folder",
            "put the file itself there, or link to a file in the same folder",
        )),
        _ => Err(ValueError::new("is a dangling link", "correct the link, or remove it")),
    }
}
