//! The last seal of a log, kept outside of it: a log that was rewritten or cut while the hub was down no longer holds it.
//!
//! Responsible for the comparison at a start, and for the copy in the state folder. A copy in a shared store comes through
//! [`SealStore`], since stores are not known here.

use std::cmp::Ordering;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::Chain;

/// The file in the state folder.
const NAME: &str = "audit-seal.json";

/// Where a log stood when its last checkpoint reached the disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastSeal {
    /// Path of the log that it is of.
    pub log: String,
    /// Number of the checkpoint's line.
    pub seq: u64,
    /// Hash of the checkpoint's line.
    pub hash: String,
    /// The checkpoint itself, as `passerelle audit verify --checkpoints` reads it.
    pub jws: String,
}

/// A place outside of the log that keeps its last seal. Its calls may block.
pub trait SealStore: Send {
    /// Returns what was saved last.
    ///
    /// # Errors
    /// The place can't be read, or holds something else.
    fn load(&mut self) -> io::Result<Option<LastSeal>>;

    /// Replaces what was saved before.
    ///
    /// # Errors
    /// The place can't be written.
    fn save(&mut self, seal: &LastSeal) -> io::Result<()>;
}

/// What a start has found of the last seal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SealCheck {
    /// The log holds the checkpoint that was kept.
    Matched,
    /// No checkpoint of this log was kept: its first start, or the copies are gone.
    Unknown,
    /// The log ends before the checkpoint that was kept.
    Missing,
    /// Another line stands where the checkpoint stood, or the chain does not lead from it to the end.
    Changed,
    /// The copies of the checkpoint, or a file of the log, can't be read: nothing was compared.
    Unreadable,
}

/// Returns the newest seal of `log` that any of the places keeps. A place that can't be read is logged, and passed over where
/// another one has a seal.
///
/// # Errors
/// A place can't be read, and none has a seal: it is not known whether one was kept.
pub fn load_newest(places: &mut [Box<dyn SealStore>], log: &str) -> io::Result<Option<LastSeal>> {
    let (mut newest, mut failure) = (None::<LastSeal>, None);
    for place in places {
        match place.load() {
            Ok(found) => {
                newest = newest
                    .into_iter()
                    .chain(found.filter(|seal| seal.log == log))
                    .max_by_key(|seal| seal.seq)
            }
            Err(error) => {
                tracing::error!(%error, "a kept seal of the audit log can't be read");
                failure = Some(error);
            }
        }
    }
    match (newest, failure) {
        (None, Some(error)) => Err(error),
        (newest, _) => Ok(newest),
    }
}

/// Compares the end of a log with its last seal. `leads_to_end` reads the log: whether the chain leads from the seal to `end`.
pub fn compare(
    known: &io::Result<Option<LastSeal>>,
    end: &Chain,
    leads_to_end: impl FnOnce(&LastSeal) -> io::Result<bool>,
) -> SealCheck {
    let known = match known {
        Ok(Some(known)) => known,
        Ok(None) => return SealCheck::Unknown,
        Err(_) => return SealCheck::Unreadable,
    };
    let is_matched = match known.seq.cmp(&end.seq) {
        Ordering::Greater => return SealCheck::Missing,
        Ordering::Equal => Ok(known.hash == end.hash),
        // The process was cut off: lines follow that no checkpoint covers.
        Ordering::Less => leads_to_end(known),
    };
    match is_matched {
        Ok(true) => SealCheck::Matched,
        Ok(false) => SealCheck::Changed,
        Err(error) => {
            tracing::error!(%error, "the audit log can't be compared with its last seal");
            SealCheck::Unreadable
        }
    }
}

/// The copy in the state folder: `audit-seal.json`.
#[derive(Debug)]
pub struct SealFile {
    path: PathBuf,
}

impl SealFile {
    #[must_use]
    pub fn in_folder(state: &Path) -> Self {
        Self { path: state.join(NAME) }
    }
}

impl SealStore for SealFile {
    fn load(&mut self) -> io::Result<Option<LastSeal>> {
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

    /// A reader finds a whole version, old or new: the file is made beside its name, brought to the disk and renamed.
    fn save(&mut self, seal: &LastSeal) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::Builder::new().prefix(".audit-seal-").tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec_pretty(seal)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|fault| fault.error)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(seq: u64, hash: &str) -> LastSeal {
        LastSeal { log: "audit.jsonl".into(), seq, hash: hash.into(), jws: "a.b.c".into() }
    }

    #[test]
    fn an_end_is_compared_with_the_last_seal() {
        let end = Chain { seq: 9, hash: "nine".into() };
        let lines = |seal: &LastSeal| Ok((seal.seq, seal.hash.as_str()) == (7, "seven"));
        for (known, found) in [
            (None, SealCheck::Unknown),
            (Some(seal(9, "nine")), SealCheck::Matched),
            (Some(seal(9, "other")), SealCheck::Changed),
            (Some(seal(7, "seven")), SealCheck::Matched),
            (Some(seal(7, "other")), SealCheck::Changed),
            (Some(seal(5, "five")), SealCheck::Changed),
            (Some(seal(10, "ten")), SealCheck::Missing),
        ] {
            let known = Ok(known);
            assert_eq!(compare(&known, &end, lines), found, "{known:?}");
        }
        let unreadable = || io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(compare(&Err(unreadable()), &end, lines), SealCheck::Unreadable);
        assert_eq!(
            compare(&Ok(Some(seal(7, "seven"))), &end, |_| Err(unreadable())),
            SealCheck::Unreadable
        );
    }

    #[test]
    fn the_newest_seal_of_this_log_counts_and_an_unreadable_place_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| SealFile::in_folder(&folder.path().join(name));
        let places = || -> Vec<Box<dyn SealStore>> {
            ["a", "b", "c"].map(|name| Box::new(file(name)) as Box<_>).into()
        };
        assert_eq!(load_newest(&mut places(), "audit.jsonl").unwrap(), None);
        file("a").save(&seal(7, "seven")).unwrap();
        file("b").save(&seal(9, "nine")).unwrap();
        file("b").save(&seal(11, "eleven")).unwrap();
        assert_eq!(load_newest(&mut places(), "audit.jsonl").unwrap(), Some(seal(11, "eleven")));
        assert_eq!(
            load_newest(&mut places(), "other.jsonl").unwrap(),
            None,
            "a log at another path has its own"
        );
        fs::write(folder.path().join("b").join(NAME), "{}").unwrap();
        assert_eq!(load_newest(&mut places(), "audit.jsonl").unwrap(), Some(seal(7, "seven")));
        fs::remove_file(folder.path().join("a").join(NAME)).unwrap();
        assert!(
            load_newest(&mut places(), "audit.jsonl").is_err(),
            "the others answer that they have none, this one does not"
        );
    }
}
