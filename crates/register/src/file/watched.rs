//! Keeps a register file in use that may be replaced while the hub runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use tokio::sync::Mutex;

use super::{FileRegister, FileRegisterError};
use crate::{Register, RegisterAnswer, RegisterError};
use passerelle_federation::identity::Identity;
use passerelle_protocol::ids::SupportId;
use passerelle_telemetry::CheckFinding;

/// The last good content of a register file.
pub(super) struct WatchedRegister {
    current: ArcSwap<FileRegister>,
    /// Why the newest file is not in use.
    last_error: ArcSwapOption<CheckFinding>,
    path: PathBuf,
    /// Metadata of the last file that was read.
    stamp: Mutex<Option<FileStamp>>,
    home_country: String,
}

impl WatchedRegister {
    /// Reads the file.
    ///
    /// # Errors
    /// Returns the first error in the file.
    pub(super) fn load(path: &Path, home_country: String) -> Result<Self, FileRegisterError> {
        // Read before the file, so that a change in between is detected.
        let stamp = FileStamp::read(path);
        Ok(Self {
            current: ArcSwap::from_pointee(FileRegister::load(path, &home_country)?),
            last_error: ArcSwapOption::empty(),
            path: path.to_owned(),
            stamp: Mutex::new(stamp),
            home_country,
        })
    }

    /// Reads the file again if it has changed. An invalid file leaves the last good register in
    /// use.
    async fn reload_if_changed<L>(&self, load: L)
    where
        L: FnOnce(&Path, &str) -> Result<FileRegister, FileRegisterError> + Send + 'static,
    {
        let mut read_stamp = self.stamp.lock().await;
        let stamp = FileStamp::read(&self.path);
        if stamp == *read_stamp {
            return;
        }
        let (path, home_country) = (self.path.clone(), self.home_country.clone());
        // A million rows take seconds, so they are read on a blocking thread.
        let read = tokio::task::spawn_blocking(move || {
            let register = load(&path, &home_country);
            (register, FileStamp::read(&path))
        });
        match read.await {
            // A file that is still being written may look complete: its missing persons would be
            // unknown.
            Ok((_, after)) if after != stamp => {
                tracing::info!(
                    "the register file is being written; the last good one stays in use"
                );
                return;
            }
            Ok((Ok(register), _)) => {
                tracing::info!(persons = register.len(), "register file reloaded");
                self.current.store(Arc::new(register));
                self.last_error.store(None);
            }
            Ok((Err(error), _)) => {
                tracing::error!(%error, "the register file is invalid; the last good one stays in use");
                let finding = CheckFinding::new(
                    "the register file is invalid, and the last good one stays in use",
                    error.to_string(),
                );
                self.last_error.store(Some(Arc::new(finding)));
            }
            Err(error) => {
                tracing::error!(%error, "reading the register file failed; the last good one stays in use");
            }
        }
        // Also after an error, so that it is logged once.
        *read_stamp = stamp;
    }
}

#[async_trait]
impl Register for WatchedRegister {
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<RegisterAnswer, RegisterError> {
        let register = self.current.load_full();
        register.identify(pivot, support_id).await
    }

    fn warning(&self) -> Option<CheckFinding> {
        self.last_error.load_full().map(|finding| CheckFinding::clone(&finding))
    }

    async fn refresh(&self) {
        self.reload_if_changed(FileRegister::load).await;
    }
}

/// Metadata that changes when a file is replaced or written; the contents are too large to compare.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl FileStamp {
    /// Reads the metadata, following links: a Kubernetes volume swaps the target of a link.
    fn read(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(path).ok()?;
        Some(Self { modified: found.modified().ok(), bytes: found.len(), inode: found.ino() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEADER: &str =
        "given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n";
    const ADA: &str = "Ada,ONE,1990-01-01,female,,99134,\n";
    const EVE: &str = "Eve,TWO,1990-01-01,female,,99134,\n";

    fn watched(path: &Path) -> WatchedRegister {
        WatchedRegister::load(path, "99100".to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_changed_file_is_read_once_and_a_bad_one_leaves_the_last_good_register() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let register = watched(&path);
        register.reload_if_changed(|_, _| panic!("it has not changed")).await;
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        register.refresh().await;
        assert_eq!(register.current.load().len(), 2);
        for bad in ["a,b\n", ""] {
            fs::write(&path, bad).unwrap();
            register.refresh().await;
            register.reload_if_changed(|_, _| panic!("read again without a change")).await;
        }
        fs::remove_file(&path).unwrap();
        register.refresh().await;
        assert_eq!(register.current.load().len(), 2);
    }

    /// A file that is being copied in place is incomplete for a while.
    #[tokio::test]
    async fn a_register_file_that_is_still_being_written_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        let register = watched(&path);
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let half = |path: &Path, home_country: &str| {
            let register = FileRegister::load(path, home_country);
            fs::write(path, format!("{HEADER}{ADA}{EVE}{EVE}")).unwrap();
            register
        };
        register.reload_if_changed(half).await;
        assert_eq!(register.current.load().len(), 2, "an incomplete file must not be used");
        register.refresh().await;
        assert_eq!(register.current.load().len(), 3);
    }
}
