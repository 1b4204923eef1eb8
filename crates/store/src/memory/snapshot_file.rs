//! Saves the in-memory store to a file at shutdown, and restores it at the next start.
//!
//! Responsible for atomic writes, and for loading each snapshot at most once.
//!
//! Loading first renames the snapshot and syncs the folder. Only then does the hub read it and
//! serve requests. A second load would bring back redeemed codes and ended sessions. If the rename
//! fails, the hub must not start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::encryption::StoreEncryptionKeys;
use passerelle_protocol::atomic_file::{create_private_folder, parent_folder, sync_folder};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;

use super::snapshot::{self, SnapshotEntry, SnapshotProtection, SnapshotReadError, SnapshotStats};
use super::{MemoryStore, RestoreStats};

/// Maximum size of a snapshot in bytes.
const MAX_SNAPSHOT_BYTES: u64 = 4 << 30;

/// Snapshot file of one hub, encrypted with its keys.
pub struct SnapshotFile {
    path: PathBuf,
    keys: StoreEncryptionKeys,
    /// Issuer of the hub. Snapshots of other hubs are rejected.
    issuer: String,
    pub(super) max_bytes: u64,
}

/// Error that keeps the hub from starting.
#[derive(thiserror::Error, Debug)]
pub enum SnapshotError {
    #[error(
        "{}: the snapshot of the store can't be written there: {cause}; fix: let this user write to \
         the folder (the setting `store.memory.snapshot`)", .path.display()
        )]
    /// The snapshot can't be written.
    Unwritable { path: PathBuf, cause: io::Error },
    #[error(
        "{}: the snapshot of the store can't be renamed, so a later start would restore ended sessions: \
         {cause}; fix: let this user write to the folder, or remove the file", .path.display()
        )]
    /// The snapshot can't be renamed before it is loaded.
    NotRemovable { path: PathBuf, cause: io::Error },
}

/// Outcome of [`SnapshotFile::load`].
#[derive(Debug)]
pub enum SnapshotLoad {
    /// The first start, or one after a crash.
    Nothing,
    Restored {
        restored: RestoreStats,
        age: Duration,
    },
    /// The snapshot is unusable. It was renamed to `moved_to`, and the store is empty.
    SetAside {
        reason: SnapshotReadError,
        moved_to: PathBuf,
    },
}

/// Size of a saved snapshot.
#[derive(Debug)]
pub struct SavedSnapshot {
    pub stats: SnapshotStats,
    pub bytes: u64,
}

impl SnapshotFile {
    /// Returns the snapshot file at `path`, without reading it.
    pub fn new(path: &Path, encryption_keys: &[Secret<String>], issuer: &str) -> Self {
        Self {
            path: path.to_owned(),
            keys: StoreEncryptionKeys::new(encryption_keys),
            issuer: issuer.to_owned(),
            max_bytes: MAX_SNAPSHOT_BYTES,
        }
    }

    /// Checks whether a snapshot can be written at `path`, without creating anything.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn check_writable(path: &Path) -> Result<(), SnapshotError> {
        // Missing folders are created, so the nearest existing one must be writable.
        let parent = parent_folder(path)
            .ancestors()
            .find(|folder| folder.exists())
            .unwrap_or(Path::new("."));
        let tried = if path.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else {
            tempfile::tempfile_in(parent)
        };
        tried.map(drop).map_err(|cause| SnapshotError::Unwritable { path: path.to_owned(), cause })
    }

    /// Loads the snapshot into a new store that is not in use yet.
    ///
    /// # Errors
    /// `NotRemovable`.
    pub fn load(&self, store: &MemoryStore, now: Timestamp) -> Result<SnapshotLoad, SnapshotError> {
        let taken = self.sibling_path("loading");
        match fs::rename(&self.path, &taken).and_then(|()| sync_folder(parent_folder(&self.path))) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(SnapshotLoad::Nothing);
            }
            Err(cause) => {
                return Err(SnapshotError::NotRemovable { path: self.path.clone(), cause });
            }
        }
        match self.read_snapshot(&taken) {
            Ok((entries, created_at)) => {
                let restored = store.restore(entries, now);
                // A leftover under this name is never loaded. It is encrypted, and overwritten
                // later.
                let _stays = fs::remove_file(&taken);
                Ok(SnapshotLoad::Restored { restored, age: now.since(created_at) })
            }
            Err(reason) => {
                let aside = self.sibling_path("unreadable");
                let moved_to = if fs::rename(&taken, &aside).is_ok() { aside } else { taken };
                Ok(SnapshotLoad::SetAside { reason, moved_to })
            }
        }
    }

    fn protection(&self) -> SnapshotProtection<'_> {
        SnapshotProtection { keys: &self.keys, issuer: &self.issuer }
    }

    fn read_snapshot(
        &self,
        path: &Path,
    ) -> Result<(Vec<SnapshotEntry>, Timestamp), SnapshotReadError> {
        // Opening a pipe would block forever.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(SnapshotReadError::NotASnapshot);
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        if length > self.max_bytes {
            return Err(SnapshotReadError::TooLarge(self.max_bytes));
        }
        snapshot::read(BufReader::new(file), length, self.protection())
    }

    /// Closes the store and writes its records. Blocks until they are on the disk.
    ///
    /// # Errors
    /// Returns an error if the snapshot can't be written. No snapshot exists then.
    pub fn save(&self, store: &MemoryStore, env: &Env) -> io::Result<SavedSnapshot> {
        store.close();
        let unfinished = self.sibling_path("writing");
        let saved = self.write_snapshot(&unfinished, store, env);
        if saved.is_err() {
            let _nothing_there = fs::remove_file(&unfinished);
        }
        saved
    }

    fn write_snapshot(
        &self,
        unfinished: &Path,
        store: &MemoryStore,
        env: &Env,
    ) -> io::Result<SavedSnapshot> {
        create_private_folder(parent_folder(&self.path))?;
        // Left behind by a process that was killed while writing.
        match fs::remove_file(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished)?;
        let mut buffered = BufWriter::new(file);
        let now = env.now();
        let written = snapshot::write(
            &mut buffered,
            store.snapshot_entries(now),
            self.protection(),
            now,
            env.entropy(),
        )?;
        buffered.flush()?;
        let file = buffered.get_ref();
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        if bytes > self.max_bytes {
            return Err(io::Error::other(format!(
                "it has {bytes} bytes, more than the limit of {}",
                self.max_bytes
            )));
        }
        fs::rename(unfinished, &self.path)?;
        sync_folder(parent_folder(&self.path))?;
        Ok(SavedSnapshot { stats: written, bytes })
    }

    /// Returns the path with `.suffix` appended.
    fn sibling_path(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }
}
