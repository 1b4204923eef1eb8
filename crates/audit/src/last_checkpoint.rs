//! Saves the last checkpoint of a log outside of it, and compares the log with it at a start.
//!
//! A log that was rewritten or truncated while the hub was down no longer contains that checkpoint.
//! Responsible for the comparison and for the copy in the state folder. A shared store has a copy
//! through [`CheckpointStore`].

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chain::ChainPosition;
pub use super::report::CheckpointCheck;
use passerelle_protocol::atomic_file;

/// Name of the file in the state folder.
const FILE_NAME: &str = "audit-last-checkpoint.json";

/// Last checkpoint of a log that reached the disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastCheckpoint {
    /// Path of the log.
    pub log: String,
    /// Number of the checkpoint's line.
    pub seq: u64,
    /// Hash of the checkpoint's line.
    pub hash: String,
    /// The checkpoint itself, as `passerelle audit verify --checkpoints` reads it.
    pub jws: String,
}

/// Place outside of the log that saves its last checkpoint. Its calls may block.
pub trait CheckpointStore: Send {
    /// Returns the checkpoint that was saved last.
    ///
    /// # Errors
    /// Returns an error if it can't be read or is malformed.
    fn load(&mut self) -> io::Result<Option<LastCheckpoint>>;

    /// Replaces the saved checkpoint.
    ///
    /// # Errors
    /// Returns an error if it can't be written.
    fn save(&mut self, checkpoint: &LastCheckpoint) -> io::Result<()>;
}

/// Returns the newest checkpoint of `log` in any of the stores. Logs and skips a store that can't
/// be read if another one has a checkpoint.
///
/// # Errors
/// Returns an error if a store can't be read and no other has a checkpoint.
pub fn load_newest(
    stores: &mut [Box<dyn CheckpointStore>],
    log: &str,
) -> io::Result<Option<LastCheckpoint>> {
    let (mut newest, mut failure) = (None::<LastCheckpoint>, None);
    for store in stores {
        match store.load() {
            Ok(found) => {
                newest = newest
                    .into_iter()
                    .chain(found.filter(|checkpoint| checkpoint.log == log))
                    .max_by_key(|checkpoint| checkpoint.seq);
            }
            Err(error) => {
                tracing::error!(%error, "a saved checkpoint of the audit log can't be read");
                failure = Some(error);
            }
        }
    }
    match (newest, failure) {
        (None, Some(error)) => Err(error),
        (newest, _) => Ok(newest),
    }
}

/// Checks the end of a log against its last checkpoint. `leads_to_end` reads the log: whether the
/// chain leads from the checkpoint to `end`.
pub fn check_log_end(
    known: &io::Result<Option<LastCheckpoint>>,
    end: &ChainPosition,
    leads_to_end: impl FnOnce(&LastCheckpoint) -> io::Result<bool>,
) -> CheckpointCheck {
    let known = match known {
        Ok(Some(known)) => known,
        Ok(None) => return CheckpointCheck::Unknown,
        Err(_) => return CheckpointCheck::Unreadable,
    };
    let is_matched = match known.seq.cmp(&end.seq) {
        Ordering::Greater => return CheckpointCheck::Missing,
        Ordering::Equal => Ok(known.hash == end.hash),
        // The process was killed: lines without a checkpoint follow.
        Ordering::Less => leads_to_end(known),
    };
    match is_matched {
        Ok(true) => CheckpointCheck::Matched,
        Ok(false) => CheckpointCheck::Changed,
        Err(error) => {
            tracing::error!(%error, "the audit log can't be compared with its last checkpoint");
            CheckpointCheck::Unreadable
        }
    }
}

/// Copy of the last checkpoint in a file: `audit-last-checkpoint.json` of the state folder, or a
/// configured one.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
}

impl CheckpointFile {
    /// Returns the file in the state folder.
    pub fn in_folder(state: &Path) -> Self {
        Self::at(&state.join(FILE_NAME))
    }

    /// Returns the file at a path.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }
}

impl CheckpointStore for CheckpointFile {
    fn load(&mut self) -> io::Result<Option<LastCheckpoint>> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        };
        match fs::read(&self.path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|error| named(error.into()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(named(error)),
        }
    }

    fn save(&mut self, checkpoint: &LastCheckpoint) -> io::Result<()> {
        atomic_file::replace_file(&self.path, &serde_json::to_vec_pretty(checkpoint)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(seq: u64, hash: &str) -> LastCheckpoint {
        LastCheckpoint { log: "audit.jsonl".into(), seq, hash: hash.into(), jws: "a.b.c".into() }
    }

    #[test]
    fn an_end_is_compared_with_the_last_checkpoint() {
        let end = ChainPosition { seq: 9, hash: "nine".into() };
        let lines = |checkpoint: &LastCheckpoint| {
            Ok((checkpoint.seq, checkpoint.hash.as_str()) == (7, "seven"))
        };
        for (known, found) in [
            (None, CheckpointCheck::Unknown),
            (Some(checkpoint(9, "nine")), CheckpointCheck::Matched),
            (Some(checkpoint(9, "other")), CheckpointCheck::Changed),
            (Some(checkpoint(7, "seven")), CheckpointCheck::Matched),
            (Some(checkpoint(7, "other")), CheckpointCheck::Changed),
            (Some(checkpoint(5, "five")), CheckpointCheck::Changed),
            (Some(checkpoint(10, "ten")), CheckpointCheck::Missing),
        ] {
            let known = Ok(known);
            assert_eq!(check_log_end(&known, &end, lines), found, "{known:?}");
        }
        let unreadable = || io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(check_log_end(&Err(unreadable()), &end, lines), CheckpointCheck::Unreadable);
        assert_eq!(
            check_log_end(&Ok(Some(checkpoint(7, "seven"))), &end, |_| Err(unreadable())),
            CheckpointCheck::Unreadable
        );
    }

    #[test]
    fn the_newest_checkpoint_of_this_log_counts_and_an_unreadable_store_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| CheckpointFile::in_folder(&folder.path().join(name));
        let stores = || -> Vec<Box<dyn CheckpointStore>> {
            ["a", "b", "c"].map(|name| Box::new(file(name)) as Box<_>).into()
        };
        assert_eq!(load_newest(&mut stores(), "audit.jsonl").unwrap(), None);
        file("a").save(&checkpoint(7, "seven")).unwrap();
        file("b").save(&checkpoint(9, "nine")).unwrap();
        file("b").save(&checkpoint(11, "eleven")).unwrap();
        assert_eq!(
            load_newest(&mut stores(), "audit.jsonl").unwrap(),
            Some(checkpoint(11, "eleven"))
        );
        assert_eq!(
            load_newest(&mut stores(), "other.jsonl").unwrap(),
            None,
            "a log at another path has its own"
        );
        fs::write(folder.path().join("b").join(FILE_NAME), "{}").unwrap();
        assert_eq!(
            load_newest(&mut stores(), "audit.jsonl").unwrap(),
            Some(checkpoint(7, "seven"))
        );
        fs::remove_file(folder.path().join("a").join(FILE_NAME)).unwrap();
        assert!(
            load_newest(&mut stores(), "audit.jsonl").is_err(),
            "the others answer that they have none, this one does not"
        );
    }
}
