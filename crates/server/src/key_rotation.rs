//! Rotates the hub's keys by schedule, on one of the hubs that share a store (docs/secrets.md).
//!
//! A hub whose keys are due claims the rotation by a record in the store, and writes the claim's
//! marker into its key folder. A hub that sees the claim and not the marker has another folder: it
//! objects, because service providers would get tokens with keys that its key set lacks. Without an
//! objection the claiming hub rotates. A claim expires, so that another hub continues after a crash.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;

use super::keys::SharedKeys;
use passerelle_jose::keyfiles::{self, KeyFileError, KeyRotation};
use passerelle_protocol::atomic_file::replace_file;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_store::{
    NewRecord, Record, RecordKey, RecordKind, ReplaceOutcome, Store, StoreError,
};
use passerelle_telemetry::CheckFinding;

/// Interval of the steps.
const STEP_INTERVAL: Duration = Duration::from_secs(30);
/// Steps from a claim to the rotation, in which other hubs object: five minutes. Counted, because a
/// clock that is set forward would end a time early.
const OBJECTION_STEPS: u32 = 10;
/// Steps in which the marker of a claim must appear: two minutes. Network file systems cache folders
/// for a minute.
const MARKER_STEPS: u32 = 4;
/// Lifetime of a claim. Longer than a rotation whose calls of a device all time out.
const CLAIM_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Time until a hub tries again. Each try may leave keys in a device that fails in the middle.
const RETRY_INTERVAL: Duration = Duration::from_secs(6 * 3600);
/// File of the marker in the key folder. Hidden files are no keys.
const MARKER_FILE: &str = ".rotation";

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RotationStep {
    /// The keys are not due, or this hub waits until it tries again.
    Idle,
    /// This hub has the claim, and other hubs can object.
    Claimed,
    /// Another hub has the claim.
    ClaimedElsewhere,
    Rotated,
    Failed,
}

/// The record in the store.
#[derive(Clone, Serialize, Deserialize)]
struct RotationClaim {
    /// Random id of the claiming process.
    hub: String,
    marker: String,
    /// Name of a hub that has another key folder.
    objector: Option<String>,
}

/// Why a step failed.
#[derive(thiserror::Error, Debug)]
enum RotationError {
    #[error("the store can't be used to agree with other hubs: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Keys(#[from] KeyFileError),
    #[error("{path}: can't be written ({cause})")]
    Marker { path: PathBuf, cause: io::Error },
    #[error("the hub {0} has another key folder; all hubs with this store must share one")]
    OtherFolder(String),
    #[error("this hub's clock is wrong")]
    WrongClock,
    #[error("{0}")]
    Reload(String),
    #[error("the rotation ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// What a rotation needs.
pub(super) struct KeyRotationSettings {
    pub key_folder: PathBuf,
    /// Age at which keys are rotated.
    pub period: Duration,
    /// Time from a signing key's publication to its first use.
    pub signing_key_lead: Duration,
    /// Name of this hub, for operators.
    pub node: String,
}

/// The schedule of one hub.
pub(super) struct KeyRotationSchedule {
    settings: KeyRotationSettings,
    keys: SharedKeys,
    store: Arc<dyn Store>,
    env: Env,
    /// Whether this hub's clock is known to be wrong: its keys would be due early.
    is_clock_wrong: Box<dyn Fn() -> bool>,
    hub: String,
    steps_since_claim: u32,
    retry_at: Timestamp,
    /// When the key folder is checked while the keys are not due.
    check_at: Timestamp,
    /// Marker of another hub's claim, and the steps since it was first seen.
    seen: Option<(String, u32)>,
}

impl KeyRotationSchedule {
    pub(crate) fn new(
        settings: KeyRotationSettings,
        keys: SharedKeys,
        store: &Arc<dyn Store>,
        env: &Env,
        is_clock_wrong: impl Fn() -> bool + 'static,
    ) -> Self {
        Self {
            settings,
            keys,
            store: Arc::clone(store),
            env: env.clone(),
            is_clock_wrong: Box::new(is_clock_wrong),
            hub: env.entropy().token(),
            steps_since_claim: 0,
            retry_at: Timestamp::default(),
            check_at: Timestamp::default(),
            seen: None,
        }
    }

    /// Makes a step at intervals. Never returns.
    pub(crate) async fn run(mut self) {
        let mut ticks = tokio::time::interval(STEP_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.step().await;
        }
    }

    /// Makes one step. A failure is reported until the keys are no longer due; and before they are,
    /// that the hub can't write new ones.
    pub(crate) async fn step(&mut self) -> RotationStep {
        let now = self.env.now();
        let is_due = self.is_due(now);
        if !is_due {
            self.retry_at = now;
            if self.check_at <= now {
                self.check_at = now + RETRY_INTERVAL;
                match self.check_folder().await {
                    Ok(()) => self.keys.rotation_error.store(None),
                    Err(error) => self.report(&error),
                }
            }
        }
        match self.try_step(is_due, now).await {
            Ok(step) => step,
            // The error of the last attempt says more.
            Err(RotationError::Store(_)) if !is_due || self.retry_at > now => RotationStep::Idle,
            Err(error) => {
                self.report(&error);
                self.check_at = Timestamp::default();
                if !matches!(error, RotationError::Store(_)) {
                    self.retry_at = now + RETRY_INTERVAL;
                }
                RotationStep::Failed
            }
        }
    }

    async fn try_step(
        &mut self,
        is_due: bool,
        now: Timestamp,
    ) -> Result<RotationStep, RotationError> {
        let Some(record) = self.store.load(&claim_key(), now).await? else {
            self.seen = None;
            let begins = is_due && self.retry_at <= now;
            return if begins { self.claim(now).await } else { Ok(RotationStep::Idle) };
        };
        // A record of another release may be unreadable. It expires.
        let Ok(claim) = serde_json::from_slice::<RotationClaim>(&record.value) else {
            return Ok(RotationStep::ClaimedElsewhere);
        };
        if claim.hub != self.hub {
            self.object_without_marker(claim, &record, now).await?;
            return Ok(RotationStep::ClaimedElsewhere);
        }
        self.steps_since_claim += 1;
        let (outcome, version) = match claim.objector {
            Some(objector) => (Err(RotationError::OtherFolder(objector)), record.version),
            None if self.steps_since_claim < OBJECTION_STEPS => return Ok(RotationStep::Claimed),
            None => {
                let until = now + CLAIM_LIFETIME;
                let value = record.value.to_vec();
                let renewed =
                    self.store.replace(&claim_key(), record.version, value, until, now).await?;
                // The next step sees an objection, or that the claim has ended.
                let ReplaceOutcome::Replaced(version) = renewed else {
                    return Ok(RotationStep::Claimed);
                };
                (self.rotate().await, version)
            }
        };
        let marker = self.shared_folder_marker_path();
        let _absent = run_blocking(move || fs::remove_file(marker)).await;
        // The claim may have expired meanwhile, and another hub may have claimed the rotation.
        let ended = self.store.remove_version(&claim_key(), version, now).await;
        let step = outcome?;
        ended?;
        Ok(step)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        keyfiles::is_rotation_due(&self.keys.rows(now), self.settings.period, now)
    }

    async fn claim(&mut self, now: Timestamp) -> Result<RotationStep, RotationError> {
        // A hub that can't write leaves the rotation to one that can.
        self.check_folder().await?;
        let marker = self.env.entropy().token();
        let claim = RotationClaim { hub: self.hub.clone(), marker: marker.clone(), objector: None };
        let draft = NewRecord::new(encode(&claim), now + CLAIM_LIFETIME);
        let version = match self.store.insert(claim_key(), draft, now).await {
            Ok(version) => version,
            Err(StoreError::Exists) => return Ok(RotationStep::ClaimedElsewhere),
            Err(error) => return Err(error.into()),
        };
        self.steps_since_claim = 0;
        let path = self.shared_folder_marker_path();
        let written = run_blocking(move || replace_file(&path, marker.as_bytes())).await?;
        if let Err(cause) = written {
            self.store.remove_version(&claim_key(), version, now).await?;
            return Err(RotationError::Marker { path: self.shared_folder_marker_path(), cause });
        }
        Ok(RotationStep::Claimed)
    }

    async fn check_folder(&self) -> Result<(), RotationError> {
        let (devices, folder) = (self.keys.devices.clone(), self.settings.key_folder.clone());
        run_blocking(move || keyfiles::check_rotation(&devices.key_folder(&folder))).await??;
        Ok(())
    }

    /// Objects to another hub's claim if its marker does not appear in this hub's key folder.
    async fn object_without_marker(
        &mut self,
        claim: RotationClaim,
        record: &Record,
        now: Timestamp,
    ) -> Result<(), RotationError> {
        let steps = match &self.seen {
            Some((marker, steps)) if *marker == claim.marker => steps + 1,
            _ => 0,
        };
        self.seen = Some((claim.marker.clone(), steps));
        let path = self.shared_folder_marker_path();
        let found = run_blocking(move || fs::read(path)).await?;
        let has_marker = found.is_ok_and(|marker| marker == claim.marker.as_bytes());
        if has_marker {
            self.seen = None;
        }
        if has_marker || claim.objector.is_some() || steps < MARKER_STEPS {
            return Ok(());
        }
        let objection = RotationClaim { objector: Some(self.settings.node.clone()), ..claim };
        // If the other hub has renewed its claim meanwhile, it rotates: operators learn it all the same.
        let (value, until) = (encode(&objection), record.expires_at);
        self.store.replace(&claim_key(), record.version, value, until, now).await?;
        Err(RotationError::OtherFolder("that has claimed the rotation".to_owned()))
    }

    async fn rotate(&self) -> Result<RotationStep, RotationError> {
        if (self.is_clock_wrong)() {
            return Err(RotationError::WrongClock);
        }
        let (devices, env) = (self.keys.devices.clone(), self.env.clone());
        let KeyRotationSettings { key_folder, period, signing_key_lead, .. } = &self.settings;
        let (folder, period, lead) = (key_folder.clone(), *period, *signing_key_lead);
        let rotation = run_blocking(move || {
            keyfiles::rotate_due_keys(devices.key_folder(&folder), &env, lead, period)
        })
        .await??;
        if let Some(rotation) = &rotation {
            log_rotation(rotation);
        }
        self.keys.reload().await.map_err(RotationError::Reload)?;
        Ok(if rotation.is_some() { RotationStep::Rotated } else { RotationStep::Idle })
    }

    fn report(&self, error: &RotationError) {
        let message = format!("the rotation of keys by schedule fails: {error}");
        let fix = "see docs/runbooks.md, PasserelleKeyRotationOverdue; the keys in use stay valid";
        let finding = CheckFinding::new(message, fix);
        let before = self.keys.rotation_error.swap(Some(Arc::new(finding.clone())));
        if before.as_deref() != Some(&finding) {
            tracing::error!(%error, "the keys can't be rotated by schedule; those in use stay");
        }
    }

    fn shared_folder_marker_path(&self) -> PathBuf {
        self.settings.key_folder.join(MARKER_FILE)
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RotationError> {
    Ok(tokio::task::spawn_blocking(work).await?)
}

fn log_rotation(rotation: &KeyRotation) {
    tracing::info!(
        added = rotation.added.len(),
        removed = rotation.removed.len(),
        "the keys were rotated by schedule"
    );
    for uri in rotation.removed.iter().filter_map(|key| key.uri.as_ref()) {
        tracing::warn!(uri, "a retired key can be removed from its device");
    }
    for (path, cause) in &rotation.not_removed {
        tracing::warn!(path = %path.display(), %cause, "a retired key can't be removed");
    }
}

/// Encodes a claim. Strings always serialize to JSON.
fn encode(claim: &RotationClaim) -> Vec<u8> {
    serde_json::to_vec(claim).unwrap_or_default()
}

fn claim_key() -> RecordKey {
    RecordKey { kind: RecordKind::PROBES, name: Arc::from("key-rotation") }
}

#[cfg(test)]
mod tests;
