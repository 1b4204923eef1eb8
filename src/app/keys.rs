//! Keys of a running hub: read at the start, and again whenever the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};

use super::BuildFault;
use super::audit::{self, Turns};
use crate::audit::Audit;
use crate::env::{Env, Timestamp};
use crate::token::keyring::KeyState;
use crate::token::verify::VerificationKeys;
use crate::token::{Keyring, UpstreamKeys, keyfiles};

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
}

impl SharedKeys {
    /// What an operator should mend.
    pub fn complaint(&self) -> Option<String> {
        self.trouble.load_full().map(|why| String::clone(&why))
    }

    fn turns(&self, now: Timestamp) -> Turns {
        let rows = keyfiles::rows(&self.ring.load(), &self.upstream.load(), now);
        rows.into_iter().map(|row| ((row.purpose, row.kid), row.state == KeyState::Current)).collect()
    }
}

/// Keys that are read, and not followed yet.
pub(super) struct Read {
    pub shared: SharedKeys,
    watch: Watch,
}

/// Whether the folder may change under the running hub.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Yes,
    No,
}

/// # Errors
/// The folder can't be read, or lacks a usable key.
pub(super) fn read(folder: &Path, now: Timestamp, keys: Keys) -> Result<Read, BuildFault> {
    let (Sets { ring, own, upstream }, watch) = match keys {
        Keys::Folder => (Sets::load(folder, now)?, Watch::Yes),
        Keys::Given { ring, upstream } => (Sets::of(ring, upstream, now)?, Watch::No),
    };
    let shared = SharedKeys {
        ring: Arc::new(ArcSwap::from_pointee(ring)),
        own: Arc::new(ArcSwap::from_pointee(own)),
        upstream: Arc::new(ArcSwap::from_pointee(upstream)),
        trouble: Arc::default(),
    };
    Ok(Read { shared, watch })
}

/// Follows the folder from now on, and hands the keys to everyone who signs, verifies and opens.
pub(super) fn share(Read { shared, watch }: Read, folder: &Path, env: &Env, audit: &Audit) -> SharedKeys {
    if watch == Watch::Yes {
        actix::spawn(follow(folder.to_owned(), env.clone(), shared.clone(), audit.clone()));
    }
    shared
}

/// A rotation reaches the running hub; a folder that can't be read leaves the last good keys in place.
async fn follow(folder: PathBuf, env: Env, shared: SharedKeys, audit: Audit) {
    let mut turns = shared.turns(env.now());
    let mut round = tokio::time::interval(ROUND);
    round.tick().await;
    loop {
        round.tick().await;
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
                let why = format!("the key folder can't be read, and the last good keys stay in use; mend: {fault}");
                shared.trouble.store(Some(Arc::new(why)));
            }
            Err(fault) => tracing::error!(%fault, "reading the key folder failed; the last good keys stay in use"),
        }
    }
}
