//! L2 · The file by which a planned restart loses nothing: written once by who goes down, taken up once by who comes next.
//!
//! Owns: that a snapshot is whole or not there, and that none is ever taken up twice. Must not know: what is in it.
//!
//! **Once.** Whoever loads a snapshot first takes it away from its name and brings that to the disk; only then is it read,
//! and only then is anybody served. A second load would bring back codes that were redeemed, and sessions that were ended,
//! since the first. Where it can't be taken away the hub must not start.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::env::{Env, Timestamp};
use crate::ids::Secret;
use crate::store::seal::Ring;

use super::snapshot::{self, Entry, Refused, Written};
use super::{MemoryStore, Restored};

/// No hub has as much in its memory.
const LARGEST: u64 = 4 << 30;

/// Where snapshots lie, and who can open them.
pub struct Snapshots {
    path: PathBuf,
    ring: Ring,
    /// The hub that they are of: none is taken up for another.
    owner: String,
    pub(super) largest: u64,
}

/// What a hub can't start with.
#[derive(thiserror::Error, Debug)]
pub enum SnapshotFault {
    #[error(
        "{}: the snapshot of the store can't be kept there: {cause}; mend: let this user write to the folder (the setting \
         `store.memory.snapshot`)", .path.display()
    )]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error(
        "{}: the snapshot of the store can't be taken away from there, so that a later start would bring back what was ended \
         meanwhile: {cause}; mend: let this user write to the folder, or remove the file", .path.display()
    )]
    Stuck { path: PathBuf, cause: io::Error },
}

/// What became of the snapshot that was there.
#[derive(Debug)]
pub enum Found {
    /// The first start, or one after a crash.
    Nothing,
    Taken {
        restored: Restored,
        age: Duration,
    },
    /// It lies where it says, and never counts again; the store is empty.
    SetAside {
        why: Refused,
        lies: PathBuf,
    },
}

/// A snapshot that was written.
#[derive(Debug)]
pub struct Saved {
    pub written: Written,
    pub bytes: u64,
}

impl Snapshots {
    #[must_use]
    pub fn new(path: &Path, seal_keys: &[Secret<String>], owner: &str) -> Self {
        Self {
            path: path.to_owned(),
            ring: Ring::new(seal_keys),
            owner: owner.to_owned(),
            largest: LARGEST,
        }
    }

    /// Whether a snapshot can be written, without leaving a trace.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn examine(path: &Path) -> Result<(), SnapshotFault> {
        // What is missing is made: its mother has to let us.
        let mother =
            folder(path).ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
        let tried = if path.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else {
            tempfile::tempfile_in(mother)
        };
        tried.map(drop).map_err(|cause| SnapshotFault::Unwritable { path: path.to_owned(), cause })
    }

    /// Takes up what is there, into a store that nobody uses yet.
    ///
    /// # Errors
    /// `Stuck`.
    pub fn load(&self, store: &MemoryStore, now: Timestamp) -> Result<Found, SnapshotFault> {
        let taken = self.beside("loading");
        match fs::rename(&self.path, &taken).and_then(|()| sync(folder(&self.path))) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(cause) => return Err(SnapshotFault::Stuck { path: self.path.clone(), cause }),
        }
        match self.read(&taken) {
            Ok((entries, created_at)) => {
                let restored = store.restore(entries, now);
                // Nobody looks under this name; a file that stays is overwritten one day, and is sealed.
                let _stays = fs::remove_file(&taken);
                Ok(Found::Taken { restored, age: now.since(created_at) })
            }
            Err(why) => {
                let aside = self.beside("unreadable");
                let lies = if fs::rename(&taken, &aside).is_ok() { aside } else { taken };
                Ok(Found::SetAside { why, lies })
            }
        }
    }

    fn read(&self, path: &Path) -> Result<(Vec<Entry>, Timestamp), Refused> {
        // A pipe would have us wait for ever.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(Refused::Foreign);
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        if length > self.largest {
            return Err(Refused::TooLarge(self.largest));
        }
        snapshot::read(BufReader::new(file), length, (&self.ring, &self.owner))
    }

    /// Writes what the store holds, after which it takes nothing any more: what is written stays true. It waits for the disk.
    ///
    /// # Errors
    /// There is none then, neither old nor new.
    pub fn save(&self, store: &MemoryStore, env: &Env) -> io::Result<Saved> {
        store.close();
        let unfinished = self.beside("writing");
        let saved = self.write(&unfinished, store, env);
        if saved.is_err() {
            let _nothing_there = fs::remove_file(&unfinished);
        }
        saved
    }

    fn write(&self, unfinished: &Path, store: &MemoryStore, env: &Env) -> io::Result<Saved> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder(&self.path))?;
        // What a process left that was killed while it wrote.
        match fs::remove_file(unfinished) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            Ok(()) | Err(_) => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished)?;
        let mut buffered = BufWriter::new(file);
        let now = env.now();
        let written = snapshot::write(
            &mut buffered,
            store.entries(now),
            (&self.ring, &self.owner),
            (now, env.entropy()),
        )?;
        buffered.flush()?;
        let file = buffered.get_ref();
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        if bytes > self.largest {
            return Err(io::Error::other(format!(
                "it has {bytes} bytes, and none of more than {} is taken up",
                self.largest
            )));
        }
        fs::rename(unfinished, &self.path)?;
        sync(folder(&self.path))?;
        Ok(Saved { written, bytes })
    }

    /// `store.snapshot.word`
    fn beside(&self, word: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(word);
        name.into()
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names in a folder are on the disk only once the folder is.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
