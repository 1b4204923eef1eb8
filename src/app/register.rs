//! The register of a running hub: built from the configuration, and followed where it is a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;

use super::BuildFault;
use crate::config::Loaded;
use crate::config::model::RegisterConfig;
use crate::env::{Env, Timestamp};
use crate::identity::Identity;
use crate::ids::SupportId;
use crate::register::file::{FileRegister, FileRegisterFault};
use crate::register::http::HttpRegister;
use crate::register::{Answer, Register, RegisterFault};
use crate::telemetry::Metrics;

/// A register as it was found at the start.
pub(super) enum Read {
    None,
    File(Followed),
    Http(Box<HttpRegister>),
}

/// # Errors
/// The file is unusable, or the `http` register can't be called as configured.
pub(super) fn read(
    loaded: &Loaded,
    metrics: &Arc<Metrics>,
    now: Timestamp,
) -> Result<Read, BuildFault> {
    let home_country = &loaded.settings.home_country;
    match &loaded.settings.register {
        None => Ok(Read::None),
        Some(RegisterConfig::File(file)) => {
            // Before the file, so that a change between the two is seen as one.
            let stamp = Stamp::of(&file.path);
            let register = FileRegister::load(&file.path, home_country)
                .map_err(|fault| BuildFault::Register(fault.to_string()))?;
            let current = Arc::new(ArcSwap::from_pointee(register));
            let (path, home_country, trouble) =
                (file.path.clone(), home_country.clone(), Arc::default());
            Ok(Read::File(Followed { current, trouble, path, stamp, home_country }))
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
                .map(|register| Read::Http(Box::new(register)))
                .map_err(|fault| BuildFault::Register(fault.to_string()))
        }
    }
}

/// The register for the logins; a file is looked at again each `round`. Must be called inside an actix system.
pub(super) fn share(register: Read, round: Duration) -> Option<Arc<dyn Register>> {
    match register {
        Read::None => None,
        Read::Http(register) => Some(Arc::from(register as Box<dyn Register>)),
        Read::File(followed) => {
            let shared = Current {
                file: Arc::clone(&followed.current),
                trouble: Arc::clone(&followed.trouble),
            };
            actix::spawn(followed.follow(round));
            Some(Arc::new(shared))
        }
    }
}

/// Asks the configured register about one person: `passerelle register lookup`.
///
/// # Errors
/// The register can't be built; its own fault comes with the answer.
pub async fn ask_register(
    loaded: &Loaded,
    env: &Env,
    pivot: &Identity,
) -> Result<Result<Answer, RegisterFault>, BuildFault> {
    let metrics = Arc::new(Metrics::new(env.now())?);
    let none = || {
        BuildFault::Register(
            "none is configured: add [register.file] or [register.http]".to_owned(),
        )
    };
    let id = SupportId::fresh(env.entropy());
    match read(loaded, &metrics, env.now())? {
        Read::None => Err(none()),
        Read::File(followed) => Ok(followed.current.load().identify(pivot, &id).await),
        Read::Http(register) => Ok(register.identify(pivot, &id).await),
    }
}

/// A register file that may be replaced under the running hub.
pub(super) struct Followed {
    current: Arc<ArcSwap<FileRegister>>,
    trouble: Arc<ArcSwapOption<String>>,
    path: PathBuf,
    stamp: Option<Stamp>,
    home_country: String,
}

impl Followed {
    /// A new file is in use a round later; a bad one leaves the last good register in place.
    async fn follow(mut self, round: Duration) {
        let mut round = tokio::time::interval(round);
        round.tick().await;
        loop {
            round.tick().await;
            self.look(FileRegister::load).await;
        }
    }

    /// Reads the file again if it has changed.
    async fn look<L>(&mut self, load: L)
    where
        L: FnOnce(&Path, &str) -> Result<FileRegister, FileRegisterFault> + Send + 'static,
    {
        let stamp = Stamp::of(&self.path);
        if stamp == self.stamp {
            return;
        }
        let (path, home_country) = (self.path.clone(), self.home_country.clone());
        // A million rows take seconds: on a thread where nobody waits.
        let read = tokio::task::spawn_blocking(move || {
            let register = load(&path, &home_country);
            (register, Stamp::of(&path))
        });
        match read.await {
            // Half of a file that is written in place may look whole; whom the other half names would be nobody.
            Ok((_, after)) if after != stamp => {
                tracing::info!(
                    "the register file is being written; the last good one stays until it is done"
                );
                return;
            }
            Ok((Ok(register), _)) => {
                tracing::info!(
                    persons = register.len(),
                    "the register file has changed and is in use"
                );
                self.current.store(Arc::new(register));
                self.trouble.store(None);
            }
            Ok((Err(fault), _)) => {
                tracing::error!(%fault, "the register file is bad; the last good one stays");
                let why = format!(
                    "the register file is bad, and the last good one stays in use; mend: {fault}"
                );
                self.trouble.store(Some(Arc::new(why)));
            }
            Err(fault) => {
                tracing::error!(%fault, "reading the register file failed; the last good one stays")
            }
        }
        // Also when it can't be read: told about once, not each round.
        self.stamp = stamp;
    }
}

/// What changes when a file is replaced or written to; its contents are too many to compare.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Stamp {
    /// Through links: a Kubernetes volume swaps what a link leads to.
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(path).ok()?;
        Some(Self { modified: found.modified().ok(), bytes: found.len(), inode: found.ino() })
    }
}

/// Whatever file register is in use.
struct Current {
    file: Arc<ArcSwap<FileRegister>>,
    /// Why the newest file is not in use.
    trouble: Arc<ArcSwapOption<String>>,
}

#[async_trait]
impl Register for Current {
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<Answer, RegisterFault> {
        let register = self.file.load_full();
        register.identify(pivot, support_id).await
    }

    fn complaint(&self) -> Option<String> {
        self.trouble.load_full().map(|why| String::clone(&why))
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

    fn followed(path: &Path) -> Followed {
        let register = FileRegister::load(path, "99100").unwrap();
        Followed {
            current: Arc::new(ArcSwap::from_pointee(register)),
            trouble: Arc::default(),
            path: path.to_owned(),
            stamp: Stamp::of(path),
            home_country: "99100".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_read_once_and_a_bad_one_leaves_the_last_good_register() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let mut followed = followed(&path);
        followed.look(|_, _| panic!("it has not changed")).await;
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        followed.look(FileRegister::load).await;
        assert_eq!(followed.current.load().len(), 2);
        for bad in ["a,b\n", ""] {
            fs::write(&path, bad).unwrap();
            followed.look(FileRegister::load).await;
            followed.look(|_, _| panic!("told once")).await;
        }
        fs::remove_file(&path).unwrap();
        followed.look(FileRegister::load).await;
        assert_eq!(followed.current.load().len(), 2);
    }

    /// Copied over in place, the file is a while only as long as what has been copied.
    #[tokio::test]
    async fn half_of_a_file_that_is_being_written_shuts_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("register.csv");
        fs::write(&path, format!("{HEADER}{ADA}{EVE}")).unwrap();
        let mut followed = followed(&path);
        fs::write(&path, format!("{HEADER}{ADA}")).unwrap();
        let half = |path: &Path, home_country: &str| {
            let register = FileRegister::load(path, home_country);
            fs::write(path, format!("{HEADER}{ADA}{EVE}{EVE}")).unwrap();
            register
        };
        followed.look(half).await;
        assert_eq!(followed.current.load().len(), 2, "half a file is not used");
        followed.look(FileRegister::load).await;
        assert_eq!(followed.current.load().len(), 3);
    }
}
