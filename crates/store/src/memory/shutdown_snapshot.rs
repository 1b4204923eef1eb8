//! Restores the embedded store from the snapshot of the previous process, and saves it at shutdown
//! (docs/deploying.md).

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::MemoryStore;
use super::snapshot_file::{SnapshotFile, SnapshotLoad};
use crate::kind::{OpenStoreError, StoreOrigin, StoreSnapshot};
use passerelle_protocol::env::Env;

/// Snapshot of the embedded store, handed from process to process.
pub(super) struct ShutdownSnapshot {
    snapshots: Arc<SnapshotFile>,
    store: Arc<MemoryStore>,
    env: Env,
}

impl ShutdownSnapshot {
    /// Creates the snapshot of a store in this file.
    pub(super) fn new(file: SnapshotFile, store: &Arc<MemoryStore>, env: &Env) -> Self {
        Self { snapshots: Arc::new(file), store: Arc::clone(store), env: env.clone() }
    }
}

#[async_trait]
impl StoreSnapshot for ShutdownSnapshot {
    fn restore(&self) -> Result<StoreOrigin, OpenStoreError> {
        let begun = Instant::now();
        let found = self.snapshots.load(&self.store, self.env.now())?;
        let origin = if matches!(found, SnapshotLoad::Restored { .. }) {
            StoreOrigin::Restored
        } else {
            StoreOrigin::Empty
        };
        match found {
            SnapshotLoad::Nothing => {
                tracing::info!("no snapshot of the store found; the store is empty");
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
            SnapshotLoad::SetAside { reason, moved_to } => tracing::error!(
                why = %reason, set_aside = %moved_to.display(),
                "the snapshot of the store can't be used: earlier logins and sessions are lost, and the store is empty"
            ),
        }
        Ok(origin)
    }

    async fn save(self: Box<Self>) {
        let Self { snapshots, store, env } = *self;
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
