//! Loads the keys of the hub at the start, and reloads them when the folder may have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{mpsc, oneshot};

use super::audit_log::{self, KeyStates};
use super::build_error::BuildError;
use super::key_device::HubKeyDevices;
use passerelle_audit::Audit;
use passerelle_jose::keyfiles::{self, KeyRow};
use passerelle_jose::keyring::KeyState;
use passerelle_jose::verify::VerificationKeys;
use passerelle_jose::{Keyring, RelyingPartyKeys};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::CheckFinding;

/// How often the key folder is read, so that a rotation needs no restart.
const RELOAD_INTERVAL: Duration = Duration::from_secs(30);

/// Source of the hub's keys.
pub enum HubKeys {
    /// The configured folder, read every 30 seconds.
    FromFolder,
    /// Fixed keys, for the demo and for tests.
    Given { ring: Keyring, upstream: RelyingPartyKeys },
}

/// All keys from one reading.
struct KeySets {
    /// Signs tokens.
    ring: Keyring,
    /// Public half of `ring`, for verifying the hub's own tokens.
    own: VerificationKeys,
    /// Keys for identity providers: client assertions and decryption.
    upstream: RelyingPartyKeys,
}

impl KeySets {
    fn new(ring: Keyring, upstream: RelyingPartyKeys, now: Timestamp) -> Result<Self, BuildError> {
        Ok(Self { own: VerificationKeys::from_jwks(&ring.verification_jwks(now))?, ring, upstream })
    }

    fn load(folder: &Path, devices: &HubKeyDevices, now: Timestamp) -> Result<Self, BuildError> {
        let folder = devices.key_folder(folder);
        Self::new(
            keyfiles::load_keyring(folder.clone(), now)?,
            keyfiles::load_upstream_keys(folder, now)?,
            now,
        )
    }
}

/// Keys shared by all components, swapped when the folder changes.
#[derive(Clone)]
pub(super) struct SharedKeys {
    pub ring: Arc<ArcSwap<Keyring>>,
    pub own: Arc<ArcSwap<VerificationKeys>>,
    pub upstream: Arc<ArcSwap<RelyingPartyKeys>>,
    /// Why the last reading of the folder failed.
    last_error: Arc<ArcSwapOption<CheckFinding>>,
    /// Why keys that are due were not rotated by schedule.
    pub rotation_error: Arc<ArcSwapOption<CheckFinding>>,
    /// Requests an immediate reload; `None` for fixed keys.
    reload_sender: Option<mpsc::Sender<oneshot::Sender<()>>>,
    /// Hold the private keys that are not in the folder.
    pub devices: HubKeyDevices,
    env: Env,
}

impl SharedKeys {
    /// Returns what the operator has to fix, if anything.
    pub(crate) fn finding(&self) -> Option<CheckFinding> {
        self.last_error.load_full().map(|finding| CheckFinding::clone(&finding))
    }

    pub(crate) fn rows(&self, now: Timestamp) -> Vec<KeyRow> {
        keyfiles::key_rows(&self.ring.load(), &self.upstream.load(), now)
    }

    fn key_states(&self, now: Timestamp) -> KeyStates {
        self.rows(now)
            .into_iter()
            .map(|row| ((row.purpose, row.kid), row.state == KeyState::Current))
            .collect()
    }

    /// Reads the key folder at once, and returns the ids of the keys in use.
    ///
    /// # Errors
    /// The reason why the folder can't be read; the former keys stay in use.
    pub(crate) async fn reload(&self) -> Result<Vec<String>, String> {
        if let Some(reload_sender) = &self.reload_sender {
            let (done, is_done) = oneshot::channel();
            if reload_sender.send(done).await.is_ok() {
                // An error means that the reload task has ended: the hub shuts down.
                let _gone = is_done.await;
            }
        }
        match self.finding() {
            None => Ok(self.rows(self.env.now()).into_iter().map(|row| row.kid).collect()),
            Some(finding) => Err(finding.to_string()),
        }
    }
}

/// Keys that are loaded, and not reloaded yet.
pub(super) struct LoadedKeys {
    pub shared: SharedKeys,
    /// Requests for an immediate reload; `None` for fixed keys.
    reload_requests: Option<mpsc::Receiver<oneshot::Sender<()>>>,
}

/// Loads the keys.
///
/// # Errors
/// Returns an error if the folder can't be read or lacks a usable key.
pub(super) fn load_keys(
    folder: &Path,
    env: &Env,
    keys: HubKeys,
    devices: HubKeyDevices,
) -> Result<LoadedKeys, BuildError> {
    let now = env.now();
    let (KeySets { ring, own, upstream }, channel) = match keys {
        HubKeys::FromFolder => (KeySets::load(folder, &devices, now)?, Some(mpsc::channel(1))),
        HubKeys::Given { ring, upstream } => (KeySets::new(ring, upstream, now)?, None),
    };
    let (reload_sender, reload_requests) = channel.unzip();
    let shared = SharedKeys {
        ring: Arc::new(ArcSwap::from_pointee(ring)),
        own: Arc::new(ArcSwap::from_pointee(own)),
        upstream: Arc::new(ArcSwap::from_pointee(upstream)),
        last_error: Arc::default(),
        rotation_error: Arc::default(),
        reload_sender,
        devices,
        env: env.clone(),
    };
    Ok(LoadedKeys { shared, reload_requests })
}

/// Starts reloading the folder, and returns the shared keys.
pub(super) fn start_key_reload(
    LoadedKeys { shared, reload_requests }: LoadedKeys,
    folder: &Path,
    audit: &Audit,
) -> SharedKeys {
    let env = shared.env.clone();
    shared.devices.start_watch(&shared.ring, &shared.upstream, move || env.now());
    if let Some(reload_requests) = reload_requests {
        actix::spawn(reload_loop(
            folder.to_owned(),
            shared.clone(),
            reload_requests,
            audit.clone(),
        ));
    }
    shared
}

/// Reloads the keys at intervals and on request. If the folder can't be read, the last good keys
/// stay.
async fn reload_loop(
    folder: PathBuf,
    shared: SharedKeys,
    mut reload_requests: mpsc::Receiver<oneshot::Sender<()>>,
    audit: Audit,
) {
    let env = shared.env.clone();
    let mut known_states = shared.key_states(env.now());
    let mut round = tokio::time::interval(RELOAD_INTERVAL);
    round.tick().await;
    loop {
        // This task holds a sender, so that the channel never closes.
        let done = tokio::select! {
            _ = round.tick() => None,
            done = reload_requests.recv() => done,
        };
        let (folder, devices, now) = (folder.clone(), shared.devices.clone(), env.now());
        match tokio::task::spawn_blocking(move || KeySets::load(&folder, &devices, now)).await {
            Ok(Ok(KeySets { ring, own, upstream })) => {
                shared.ring.store(Arc::new(ring));
                shared.own.store(Arc::new(own));
                shared.upstream.store(Arc::new(upstream));
                if shared.last_error.swap(None).is_some() {
                    tracing::info!("the key folder can be read again; its keys are in use");
                }
                let before = std::mem::replace(&mut known_states, shared.key_states(env.now()));
                audit_log::record_key_changes(&audit, &before, &known_states);
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the key folder can't be read; the last good keys stay in use");
                let finding = CheckFinding::new(
                    "the key folder can't be read, and the last good keys stay in use",
                    error.to_string(),
                );
                shared.last_error.store(Some(Arc::new(finding)));
            }
            Err(error) => {
                tracing::error!(%error, "reading the key folder failed; the last good keys stay in use");
                let finding = CheckFinding::new(
                    "reading the key folder failed, and the last good keys stay in use",
                    "run `passerelle keys list`, correct what it reports, and reload",
                );
                shared.last_error.store(Some(Arc::new(finding)));
            }
        }
        if let Some(done) = done {
            // The requester may be gone.
            let _sent = done.send(());
        }
    }
}
