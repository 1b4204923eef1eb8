//! Reading a file that anyone may have put anything in place of: nothing but a regular file is ever opened, for opening a
//! pipe or a device may wait for ever, and no more is read than a file of the configuration can need.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The largest file that is read.
pub const LARGEST: u64 = 1024 * 1024;

/// What is wrong with a file as such, and how to mend it.
pub type Fault = (&'static str, &'static str);

/// What changes when a file is replaced or written to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Stamp {
    /// Of the last change by the file system's clock, which no program can set back: seconds, nanoseconds.
    changed: (i64, i64),
    bytes: u64,
    inode: u64,
}

impl Stamp {
    /// Of what a path leads to now; the default where it leads nowhere.
    pub fn of(path: &Path) -> Self {
        std::fs::metadata(path).map_or_else(|_| Self::default(), |found| Self::from(&found))
    }
}

impl From<&Metadata> for Stamp {
    fn from(found: &Metadata) -> Self {
        Self {
            changed: (found.ctime(), found.ctime_nsec()),
            bytes: found.len(),
            inode: found.ino(),
        }
    }
}

/// The bytes of a regular file, links followed.
///
/// # Errors
/// It is missing, no regular file, too large, or not this user's to read.
pub fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    read_open(open(path)?)
}

/// Opens a regular file, links followed.
///
/// # Errors
/// It is missing, no regular file, or not this user's to read.
pub fn open(path: &Path) -> Result<File, Fault> {
    let found = std::fs::metadata(path).map_err(unreadable)?;
    if found.is_dir() {
        return Err((
            "is a folder, and a file is needed",
            "rename the folder, or put a file in its place",
        ));
    }
    if !found.is_file() {
        return Err((
            "is a pipe, a socket or a device, which is never opened",
            "put a regular file in its place",
        ));
    }
    File::open(path).map_err(unreadable)
}

/// The bytes of an open file.
///
/// # Errors
/// It is too large, or can't be read.
pub fn read_open(file: File) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(("is larger than 1 MiB", "split it, or take out what doesn't belong in it"));
    }
    Ok(bytes)
}

fn unreadable(error: std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::NotFound => ("the file is missing", "create it, or point to the right folder"),
        _ => ("the file can't be read", "make it a file that this user may read"),
    }
}

/// A link in a folder of the configuration may lead to another place in the same folder, as Kubernetes does it
/// (`x.toml` → `..data/x.toml`), and nowhere else: what may be put into the folder must not decide what is read outside.
///
/// # Errors
/// It leads out of the folder.
pub fn stays_inside(path: &Path, folder: &Path) -> Result<(), Fault> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if !is_link {
        return Ok(());
    }
    let nowhere = ("is a link that leads nowhere", "mend the link, or remove it");
    let (target, folder) = (std::fs::canonicalize(path), std::fs::canonicalize(folder));
    match (target, folder) {
        (Ok(target), Ok(folder)) if target.starts_with(&folder) => Ok(()),
        (Ok(_), Ok(_)) => Err((
            "is a link out of its folder",
            "put the file itself there, or link to a file in the same folder",
        )),
        _ => Err(nowhere),
    }
}
