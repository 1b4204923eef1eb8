//! Restores the embedded store from the snapshot of the previous process, and saves it at shutdown
//! (docs/deploying.md).

use std::sync::Arc;

use tokio::time::Instant;

use super::build_error::BuildError;
use crate::config::LoadedConfig;
use crate::config::model::MemoryConfig;
use crate::env::Env;
use crate::grant::Grants;
use crate::store::StoreScope;
use crate::store::memory::MemoryStore;
use crate::store::memory::snapshot_file::{SnapshotFile, SnapshotLoad};

/// Content of the store at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StoreOrigin {
    /// The records of the previous process.
    Restored,
    /// No records.
    Empty,
}

/// Snapshot of the embedded store, handed from process to process.
pub(super) struct ShutdownSnapshot {
    snapshots: Arc<SnapshotFile>,
    store: Arc<MemoryStore>,
    env: Env,
}

/// Restores the snapshot, if there is one. A store that begins empty knows no used client
/// assertion, so assertions issued before now are refused.
///
/// # Errors
/// Returns an error if the snapshot might be restored again by a later start.
pub(super) fn restore_snapshot(
    snapshot: Option<&ShutdownSnapshot>,
    grants: &Grants,
) -> Result<(), BuildError> {
    let origin = snapshot.map_or(Ok(StoreOrigin::Empty), ShutdownSnapshot::restore)?;
    if grants.store.scope() == StoreScope::Process && origin == StoreOrigin::Empty {
        grants.assertion_quota.set_known_since(grants.core.env.now());
    }
    Ok(())
}

impl ShutdownSnapshot {
    /// Prepares the snapshot file.
    ///
    /// # Errors
    /// Returns an error if a snapshot can't be written at the configured path.
    pub fn new(
        config: &MemoryConfig,
        loaded: &LoadedConfig,
        store: &Arc<MemoryStore>,
        env: &Env,
    ) -> Result<Self, BuildError> {
        SnapshotFile::check_writable(&config.snapshot)?;
        let snapshots =
            SnapshotFile::new(&config.snapshot, &loaded.store.encryption_keys, &loaded.issuer);
        Ok(Self { snapshots: Arc::new(snapshots), store: Arc::clone(store), env: env.clone() })
    }

    /// Restores the snapshot. Call it once nothing else can keep the hub from starting, and before
    /// requests are served. Blocks on the disk.
    ///
    /// # Errors
    /// Returns an error if the snapshot can't be removed, because a later start would restore it
    /// again. A snapshot that can't be read is not an error: the hub starts without its sessions.
    fn restore(&self) -> Result<StoreOrigin, BuildError> {
        let begun = Instant::now();
        let found = self.snapshots.load(&self.store, self.env.now())?;
        let origin = if matches!(found, SnapshotLoad::Restored { .. }) {
            StoreOrigin::Restored
        } else {
            StoreOrigin::Empty
        };
        match found {
            SnapshotLoad::Nothing => {
                tracing::info!("no snapshot of the store found; the store is empty")
            }
            SnapshotLoad::Restored { restored, age } => {
                let (records, expired, left_out) =
                    (restored.records, restored.expired, restored.over_capacity);
                let (milliseconds, age_seconds) = (begun.elapsed().as_millis(), age.as_secs());
                tracing::info!(
                    records,
                    expired,
                    left_out,
                    age_seconds,
                    milliseconds,
                    "store restored from its snapshot"
                );
                if left_out > 0 {
                    tracing::warn!(
                        left_out,
                        "the snapshot held more records than [limits] allows; the rest are lost"
                    );
                }
            }
            SnapshotLoad::SetAside { reason: why, moved_to: lies } => tracing::error!(
                %why, set_aside = %lies.display(),
                "the snapshot of the store can't be used: earlier logins and sessions are lost, and the store is empty"
            ),
        }
        Ok(origin)
    }

    /// Saves the store; nothing may be stored afterwards. A failure is logged and does not stop the
    /// shutdown.
    pub async fn save(self) {
        let Self { snapshots, store, env } = self;
        let begun = Instant::now();
        let saving = tokio::task::spawn_blocking(move || snapshots.save(&store, &env));
        match saving.await.map_err(std::io::Error::from).and_then(|saved| saved) {
            Ok(saved) => {
                let (records, milliseconds) = (saved.stats.records, begun.elapsed().as_millis());
                tracing::info!(
                    records,
                    bytes = saved.bytes,
                    milliseconds,
                    "store saved for the next start"
                );
                if saved.stats.too_large > 0 {
                    tracing::error!(
                        left_out = saved.stats.too_large,
                        "records were too large for the snapshot and are lost"
                    );
                }
            }
            Err(error) => {
                tracing::error!(%error, "the snapshot of the store can't be written: its logins and sessions are lost");
            }
        }
    }
}
