//! Builds the register of persons from the configuration, and reloads it when its file changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;

use super::build_error::BuildError;
use crate::config::LoadedConfig;
use crate::config::model::RegisterConfig;
use crate::env::{Env, Timestamp};
use crate::identity::Identity;
use crate::ids::SupportId;
use crate::register::file::{FileRegister, FileRegisterError};
use crate::register::http::HttpRegister;
use crate::register::{Register, RegisterAnswer, RegisterError};
use crate::telemetry::Metrics;

/// A register as loaded at the start.
pub(super) enum LoadedRegister {
    None,
    File(RegisterFileWatcher),
    Http(Box<HttpRegister>),
}

/// Loads the configured register.
///
/// # Errors
/// Returns an error if the file is invalid or the `http` register is misconfigured.
pub(super) fn load_register(
    loaded: &LoadedConfig,
    metrics: &Arc<Metrics>,
    now: Timestamp,
) -> Result<LoadedRegister, BuildError> {
    let home_country = &loaded.settings.home_country;
    match &loaded.settings.register {
        None => Ok(LoadedRegister::None),
        Some(RegisterConfig::File(file)) => {
            // Read before the file, so that a change in between is detected.
            let stamp = FileStamp::read(&file.path);
            let register = FileRegister::load(&file.path, home_country)
                .map_err(|fault| BuildError::Register(fault.to_string()))?;
            let current = Arc::new(ArcSwap::from_pointee(register));
            let (path, home_country, trouble) =
                (file.path.clone(), home_country.clone(), Arc::default());
            Ok(LoadedRegister::File(RegisterFileWatcher {
                current,
                last_error: trouble,
                path,
                stamp,
                home_country,
            }))
        }
        Some(RegisterConfig::Http(configured)) => {
            let register = HttpRegister::new(
                configured,
                &loaded.register,
                home_country,
                Arc::clone(metrics),
                now,
            );
            register
                .map(|register| LoadedRegister::Http(Box::new(register)))
                .map_err(|fault| BuildError::Register(fault.to_string()))
        }
    }
}

/// Returns the register for logins; a file is checked for changes at each interval. Must be called
/// inside an actix system.
pub(super) fn start_register(
    register: LoadedRegister,
    interval: Duration,
) -> Option<Arc<dyn Register>> {
    match register {
        LoadedRegister::None => None,
        LoadedRegister::Http(register) => Some(Arc::from(register as Box<dyn Register>)),
        LoadedRegister::File(watcher) => {
            let shared = CurrentRegister {
                file: Arc::clone(&watcher.current),
                last_error: Arc::clone(&watcher.last_error),
            };
            actix::spawn(watcher.watch(interval));
            Some(Arc::new(shared))
        }
    }
}

/// Queries the configured register about one person (`passerelle register lookup`).
///
/// # Errors
/// Returns an error if the register can't be built. The inner result is that of the query.
pub async fn query_register(
    loaded: &LoadedConfig,
    env: &Env,
    pivot: &Identity,
) -> Result<Result<RegisterAnswer, RegisterError>, BuildError> {
    let metrics = Arc::new(Metrics::new()?);
    let none = || {
        BuildError::Register(
            "none is configured: add [register.file] or [register.http]".to_owned(),
        )
    };
    let id = SupportId::generate(env.entropy());
    match load_register(loaded, &metrics, env.now())? {
        LoadedRegister::None => Err(none()),
        LoadedRegister::File(watcher) => Ok(watcher.current.load().identify(pivot, &id).await),
        LoadedRegister::Http(register) => Ok(register.identify(pivot, &id).await),
    }
}

/// Watcher of a register file that may be replaced while the hub runs.
pub(super) struct RegisterFileWatcher {
    current: Arc<ArcSwap<FileRegister>>,
    last_error: Arc<ArcSwapOption<String>>,
    path: PathBuf,
    stamp: Option<FileStamp>,
    home_country: String,
}

impl RegisterFileWatcher {
    /// Reloads a changed file within an interval; an invalid file leaves the last good register in
    /// use.
    async fn watch(mut self, interval: Duration) {
        let mut interval = tokio::time::interval(interval);
        interval.tick().await;
        loop {
            interval.tick().await;
            self.reload_if_changed(FileRegister::load).await;
        }
    }

    /// Reads the file again if it has changed.
    async fn reload_if_changed<L>(&mut self, load: L)
    where
        L: FnOnce(&Path, &str) -> Result<FileRegister, FileRegisterError> + Send + 'static,
    {
        let stamp = FileStamp::read(&self.path);
        if stamp == self.stamp {
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
            Ok((Err(fault), _)) => {
                tracing::error!(%fault, "the register file is invalid; the last good one stays in use");
                let finding = format!(
                    "the register file is invalid, and the last good one stays in use; fix: {fault}"
                );
                self.last_error.store(Some(Arc::new(finding)));
            }
            Err(fault) => {
                tracing::error!(%fault, "reading the register file failed; the last good one stays in use")
            }
        }
        // Also after an error, so that it is logged once.
        self.stamp = stamp;
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

/// The file register that is in use.
struct CurrentRegister {
    file: Arc<ArcSwap<FileRegister>>,
    /// Why the newest file is not in use.
    last_error: Arc<ArcSwapOption<String>>,
}

#[async_trait]
impl Register for CurrentRegister {
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<RegisterAnswer, RegisterError> {
        let register = self.file.load_full();
        register.identify(pivot, support_id).await
    }

    fn warning(&self) -> Option<String> {
        self.last_error.load_full().map(|why| String::clone(&why))
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

    fn watcher(path: &Path) -> RegisterFileWatcher {
        let register = FileRegister::load(path, "99100").unwrap();
        RegisterFileWatcher {
            current: Arc::new(ArcSwap::from_pointee(register)),
            last_error: Arc::default(),
            path: path.to_owned(),
            stamp: FileStamp::read(path),
            home_country: "99100".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_read_once_and_a_bad_one_leaves_the_last_good_register() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let mut watcher = watcher(&path);
        watcher.reload_if_changed(|_, _| panic!("it has not changed")).await;
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        watcher.reload_if_changed(FileRegister::load).await;
        assert_eq!(watcher.current.load().len(), 2);
        for bad in ["a,b\n", ""] {
            fs::write(&path, bad).unwrap();
            watcher.reload_if_changed(FileRegister::load).await;
            watcher.reload_if_changed(|_, _| panic!("read again without a change")).await;
        }
        fs::remove_file(&path).unwrap();
        watcher.reload_if_changed(FileRegister::load).await;
        assert_eq!(watcher.current.load().len(), 2);
    }

    /// A file that is being copied in place is incomplete for a while.
    #[tokio::test]
    async fn a_register_file_that_is_still_being_written_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        let mut watcher = watcher(&path);
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let half = |path: &Path, home_country: &str| {
            let register = FileRegister::load(path, home_country);
            fs::write(path, format!("{HEADER}{ADA}{EVE}{EVE}")).unwrap();
            register
        };
        watcher.reload_if_changed(half).await;
        assert_eq!(watcher.current.load().len(), 2, "an incomplete file must not be used");
        watcher.reload_if_changed(FileRegister::load).await;
        assert_eq!(watcher.current.load().len(), 3);
    }
}
