//! Signing keys of a running hub: read at the start, and again whenever the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::BuildFault;
use crate::env::{Env, Timestamp};
use crate::token::verify::VerificationKeys;
use crate::token::{Keyring, keyfiles};

/// How often the key folder is read again: a rotation needs no restart.
const ROUND: Duration = Duration::from_secs(30);

/// Where signing keys come from.
pub enum Keys {
    /// The folder of the settings, read again every half minute.
    Folder,
    /// These, for the demo and for tests.
    Ring(Keyring),
}

/// The ring that signs, and its public half for tokens of ours that come back.
pub(super) struct Read {
    ring: Keyring,
    own: VerificationKeys,
    watch: Watch,
}

/// Whether the folder may change under the running hub.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Yes,
    No,
}

pub(super) type SharedKeys = (Arc<ArcSwap<Keyring>>, Arc<ArcSwap<VerificationKeys>>);

/// # Errors
/// The folder can't be read, or lacks a usable key.
pub(super) fn read(folder: &Path, now: Timestamp, keys: Keys) -> Result<Read, BuildFault> {
    let (ring, watch) = match keys {
        Keys::Folder => (keyfiles::load(folder, now)?, Watch::Yes),
        Keys::Ring(ring) => (ring, Watch::No),
    };
    let own = VerificationKeys::from_jwks(&ring.verification_jwks(now))?;
    Ok(Read { ring, own, watch })
}

/// Shares the keys with everyone who signs and verifies, and follows their folder from now on.
pub(super) fn share(Read { ring, own, watch }: Read, folder: &Path, env: &Env) -> SharedKeys {
    let shared: SharedKeys = (Arc::new(ArcSwap::from_pointee(ring)), Arc::new(ArcSwap::from_pointee(own)));
    if watch == Watch::Yes {
        actix::spawn(follow(folder.to_owned(), env.clone(), shared.clone()));
    }
    shared
}

/// A rotation reaches the running hub; a folder that can't be read leaves the last good ring in place.
async fn follow(folder: PathBuf, env: Env, (keyring, own): SharedKeys) {
    let mut round = tokio::time::interval(ROUND);
    round.tick().await;
    loop {
        round.tick().await;
        let (folder, now) = (folder.clone(), env.now());
        let read = tokio::task::spawn_blocking(move || {
            let ring = keyfiles::load(&folder, now).map_err(|fault| fault.to_string())?;
            let own = VerificationKeys::from_jwks(&ring.verification_jwks(now)).map_err(|fault| fault.to_string())?;
            Ok::<_, String>((ring, own))
        });
        match read.await {
            Ok(Ok((ring, verification))) => {
                keyring.store(Arc::new(ring));
                own.store(Arc::new(verification));
            }
            Ok(Err(fault)) => tracing::error!(fault, "the key folder can't be read; the last good keys stay in use"),
            Err(fault) => tracing::error!(%fault, "reading the key folder failed; the last good keys stay in use"),
        }
    }
}
