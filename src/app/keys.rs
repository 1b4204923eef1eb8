//! Keys of a running hub: read at the start, and again whenever the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use super::BuildFault;
use super::audit::{self, Turns};
use crate::audit::Audit;
use crate::env::{Env, Timestamp};
use crate::token::keyfiles::{self, KeyRow};
use crate::token::keyring::KeyState;
use crate::token::verify::VerificationKeys;
use crate::token::{Keyring, UpstreamKeys};
use crate::web::admin::KeyReload;

/// How often the key folder is read again: a rotation needs no restart.
const ROUND: Duration = Duration::from_secs(30);

/// Where keys come from.
pub enum Keys {
    /// The folder of the settings, read again every half minute.
    Folder,
    /// These, for the demo and for tests.
    Given { ring: Keyring, upstream: UpstreamKeys },
}

/// All keys of one moment.
struct Sets {
    /// It signs.
    ring: Keyring,
    /// Its public half, for tokens of ours that come back.
    own: VerificationKeys,
    /// Towards identity providers.
    upstream: UpstreamKeys,
}

impl Sets {
    fn of(ring: Keyring, upstream: UpstreamKeys, now: Timestamp) -> Result<Self, BuildFault> {
        Ok(Self { own: VerificationKeys::from_jwks(&ring.verification_jwks(now))?, ring, upstream })
    }

    fn load(folder: &Path, now: Timestamp) -> Result<Self, BuildFault> {
        Self::of(keyfiles::load(folder, now)?, keyfiles::load_upstream(folder, now)?, now)
    }
}

/// The keys that everyone shares, each swapped when the folder changes.
#[derive(Clone)]
pub(super) struct SharedKeys {
    pub ring: Arc<ArcSwap<Keyring>>,
    pub own: Arc<ArcSwap<VerificationKeys>>,
    pub upstream: Arc<ArcSwap<UpstreamKeys>>,
    /// Why the folder could not be read the last time.
    trouble: Arc<ArcSwapOption<String>>,
    /// Has the folder read at once; `None` where nothing is read.
    now: Option<mpsc::Sender<oneshot::Sender<()>>>,
    env: Env,
}

impl SharedKeys {
    /// What an operator should mend.
    pub fn complaint(&self) -> Option<String> {
        self.trouble.load_full().map(|why| String::clone(&why))
    }

    fn rows(&self, now: Timestamp) -> Vec<KeyRow> {
        keyfiles::rows(&self.ring.load(), &self.upstream.load(), now)
    }

    fn turns(&self, now: Timestamp) -> Turns {
        self.rows(now)
            .into_iter()
            .map(|row| ((row.purpose, row.kid), row.state == KeyState::Current))
            .collect()
    }
}

#[async_trait]
impl KeyReload for SharedKeys {
    async fn reload(&self) -> Result<Vec<String>, String> {
        if let Some(now) = &self.now {
            let (done, is_done) = oneshot::channel();
            if now.send(done).await.is_ok() {
                // An error means that nobody reads keys any more: the hub goes down.
                let _gone = is_done.await;
            }
        }
        match self.complaint() {
            None => Ok(self.rows(self.env.now()).into_iter().map(|row| row.kid).collect()),
            Some(why) => Err(why),
        }
    }
}

/// Keys that are read, and not followed yet.
pub(super) struct Read {
    pub shared: SharedKeys,
    /// Requests to read the folder at once; `None` where it is not followed.
    requested: Option<mpsc::Receiver<oneshot::Sender<()>>>,
}

/// # Errors
/// The folder can't be read, or lacks a usable key.
pub(super) fn read(folder: &Path, env: &Env, keys: Keys) -> Result<Read, BuildFault> {
    let now = env.now();
    let (Sets { ring, own, upstream }, channel) = match keys {
        Keys::Folder => (Sets::load(folder, now)?, Some(mpsc::channel(1))),
        Keys::Given { ring, upstream } => (Sets::of(ring, upstream, now)?, None),
    };
    let (now, requested) = channel.unzip();
    let shared = SharedKeys {
        ring: Arc::new(ArcSwap::from_pointee(ring)),
        own: Arc::new(ArcSwap::from_pointee(own)),
        upstream: Arc::new(ArcSwap::from_pointee(upstream)),
        trouble: Arc::default(),
        now,
        env: env.clone(),
    };
    Ok(Read { shared, requested })
}

/// Follows the folder from now on, and hands the keys to everyone who signs, verifies and opens.
pub(super) fn share(Read { shared, requested }: Read, folder: &Path, audit: &Audit) -> SharedKeys {
    if let Some(requested) = requested {
        actix::spawn(follow(folder.to_owned(), shared.clone(), requested, audit.clone()));
    }
    shared
}

/// A rotation reaches the running hub; a folder that can't be read leaves the last good keys in place.
async fn follow(
    folder: PathBuf,
    shared: SharedKeys,
    mut requested: mpsc::Receiver<oneshot::Sender<()>>,
    audit: Audit,
) {
    let env = shared.env.clone();
    let mut turns = shared.turns(env.now());
    let mut round = tokio::time::interval(ROUND);
    round.tick().await;
    loop {
        // This task holds a sender of its own, so that there is always one.
        let done = tokio::select! {
            _ = round.tick() => None,
            done = requested.recv() => done,
        };
        let (folder, now) = (folder.clone(), env.now());
        match tokio::task::spawn_blocking(move || Sets::load(&folder, now)).await {
            Ok(Ok(Sets { ring, own, upstream })) => {
                shared.ring.store(Arc::new(ring));
                shared.own.store(Arc::new(own));
                shared.upstream.store(Arc::new(upstream));
                shared.trouble.store(None);
                let before = std::mem::replace(&mut turns, shared.turns(env.now()));
                audit::keys(&audit, &before, &turns);
            }
            Ok(Err(fault)) => {
                tracing::error!(%fault, "the key folder can't be read; the last good keys stay in use");
                let why = format!(
                    "the key folder can't be read, and the last good keys stay in use; mend: {fault}"
                );
                shared.trouble.store(Some(Arc::new(why)));
            }
            Err(fault) => {
                tracing::error!(%fault, "reading the key folder failed; the last good keys stay in use")
            }
        }
        if let Some(done) = done {
            // Whoever asked may have gone.
            let _sent = done.send(());
        }
    }
}
