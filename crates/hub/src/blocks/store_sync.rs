//! Shares the blocks between hubs through one record in the store, which each hub reads every
//! second.
//!
//! Responsible for storing a change before it is confirmed, and for its distribution to all hubs.
//! Each change increases the record's revision. A store that returns an older revision, or none,
//! has lost confirmed changes (a failover): a hub with a newer one writes it again. Without an
//! answer the last known blocks stay in force, also after a restart, because the file has a copy.
//! Independent of the store's kind.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;

use super::file::BlockRecord;
use super::{BlockSet, BlockUpdateError, Blocks, OperatorBlock, Persistence};
use passerelle_protocol::env::Timestamp;
use passerelle_store::{
    MAX_UPDATE_ATTEMPTS, RecordKey, RecordKind, RecordVersion, Store, StoreError,
};
use passerelle_telemetry::CheckFinding;

/// Interval between two reads of the record.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Lifetime of the record; it is written again after half of it.
const RECORD_LIFETIME: Duration = Duration::from_secs(366 * 24 * 3600);

/// Version of the record's format. Unknown members are rejected: they might limit a block.
const RECORD_FORMAT_VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedBlocksRecord {
    version: u64,
    revision: u64,
    blocks: Vec<BlockRecord>,
}

/// State of the reads of the record.
#[derive(Default)]
pub(super) struct SharedReadStatus {
    /// Whether this process has read the record or found it absent.
    has_read: bool,
    last_error: Option<String>,
}

/// The record as stored.
struct StoredBlocks {
    version: RecordVersion,
    expires_at: Timestamp,
    blocks: BlockSet,
}

impl Blocks {
    /// Shares the blocks with every hub that uses this store. Call [`Self::refresh`] before
    /// serving.
    pub fn share_through(&self, store: Arc<dyn Store>) {
        let _already_set = self.0.store.set(store);
    }

    /// Reads the changes of other hubs at intervals. Never returns.
    pub async fn run_refresh(self) {
        let mut round = tokio::time::interval(REFRESH_INTERVAL);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            round.tick().await;
            self.refresh().await;
        }
    }

    /// Reads the record once. Does nothing without a shared store.
    pub async fn refresh(&self) {
        let Some(store) = self.0.store.get() else { return };
        let outcome = self.synchronize(store.as_ref()).await;
        let error = outcome.err().map(|error| error.to_string());
        let mut status = self.0.read_status.lock().unwrap_or_else(PoisonError::into_inner);
        match (&error, &status.last_error) {
            (Some(why), None) => {
                tracing::error!(
                    why,
                    "reading the blocks failed; the last known ones stay in force"
                );
            }
            (None, Some(_)) => tracing::info!("reading the blocks works again"),
            _ => {}
        }
        status.has_read |= error.is_none();
        status.last_error = error;
    }

    /// Returns why this hub is not ready: it has never read the blocks.
    pub fn not_ready_reason(&self) -> Option<CheckFinding> {
        let warning = self.warning()?;
        let status = self.0.read_status.lock().unwrap_or_else(PoisonError::into_inner);
        (!status.has_read).then_some(warning)
    }

    /// Returns why changes made at other hubs may be missing here.
    pub fn warning(&self) -> Option<CheckFinding> {
        let status = self.0.read_status.lock().unwrap_or_else(PoisonError::into_inner);
        let why = status.last_error.as_ref()?;
        Some(CheckFinding::new(
            format!("the blocks can't be read, and the last known ones stay in force: {why}"),
            "check the store (docs/redis.md)",
        ))
    }

    async fn synchronize(&self, store: &dyn Store) -> Result<(), BlockUpdateError> {
        let now = self.now();
        let found = self.load_shared(store, now).await?;
        let current = self.0.current.load_full();
        let at = found.as_ref().map(|found| found.version);
        match found {
            Some(found) if found.blocks.revision >= current.revision => {
                if found.expires_at.since(now) < RECORD_LIFETIME / 2 {
                    self.write(store, at, &found.blocks, now).await?;
                }
                if self.adopt(found.blocks) {
                    self.write_local_copy().await;
                }
            }
            None if current.revision == 0 && current.blocks.is_empty() => {}
            Some(_) | None => {
                let restored = BlockSet {
                    revision: current.revision.max(1),
                    blocks: Arc::clone(&current.blocks),
                };
                if self.write(store, at, &restored, now).await? {
                    self.adopt(restored);
                    tracing::warn!(
                        "the store had lost blocks that this hub knows; they are written again"
                    );
                } else if at.is_none() && self.load_shared(store, now).await?.is_none() {
                    // No other hub was faster: a record that fails authentication counts as absent,
                    // and is in the way.
                    return Err(BlockUpdateError::StoreUnavailable(
                        "their record exists and can't be decrypted".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Changes the shared blocks. Nothing changes unless the store has it.
    ///
    /// # Errors
    /// [`BlockUpdateError`]; nothing has changed.
    pub(super) async fn update_shared<T>(
        &self,
        store: &dyn Store,
        change: impl Fn(&mut Vec<OperatorBlock>) -> Option<T>,
    ) -> Result<Option<(T, Persistence)>, BlockUpdateError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let now = self.now();
            let found = self.load_shared(store, now).await?;
            let current = self.0.current.load_full();
            let at = found.as_ref().map(|found| found.version);
            let base = found
                .as_ref()
                .map(|found| &found.blocks)
                .filter(|found| found.revision >= current.revision);
            let base = base.unwrap_or(&current);
            let mut blocks = Vec::clone(&base.blocks);
            blocks.retain(|one| !one.block.has_ended(now));
            let Some(made) = change(&mut blocks) else { return Ok(None) };
            let next =
                BlockSet { revision: base.revision.saturating_add(1), blocks: Arc::new(blocks) };
            if self.write(store, at, &next, now).await? {
                self.adopt(next);
                self.write_local_copy().await;
                return Ok(Some((made, Persistence::Persisted)));
            }
        }
        Err(BlockUpdateError::StoreUnavailable(
            "other hubs changed the blocks concurrently at each attempt".to_owned(),
        ))
    }

    async fn load_shared(
        &self,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<StoredBlocks>, BlockUpdateError> {
        let Some(record) = store.load(&blocks_key(), now).await.map_err(store_error)? else {
            return Ok(None);
        };
        let invalid = |what: String| {
            BlockUpdateError::StoreUnavailable(format!(
                "this release can't parse the blocks in the store: {what}"
            ))
        };
        let shared: SharedBlocksRecord =
            serde_json::from_slice(&record.value).map_err(|error| invalid(error.to_string()))?;
        if shared.version != RECORD_FORMAT_VERSION {
            return Err(invalid(format!("their format is not {RECORD_FORMAT_VERSION}")));
        }
        let blocks = shared
            .blocks
            .into_iter()
            .map(BlockRecord::into_block)
            .collect::<Result<_, _>>()
            .map_err(invalid)?;
        let blocks = BlockSet { revision: shared.revision, blocks: Arc::new(blocks) };
        Ok(Some(StoredBlocks { version: record.version, expires_at: record.expires_at, blocks }))
    }

    /// Writes the record. Returns false if another hub was faster.
    async fn write(
        &self,
        store: &dyn Store,
        at: Option<RecordVersion>,
        set: &BlockSet,
        now: Timestamp,
    ) -> Result<bool, BlockUpdateError> {
        let blocks = set.blocks.iter().map(BlockRecord::from_block).collect();
        let record =
            SharedBlocksRecord { version: RECORD_FORMAT_VERSION, revision: set.revision, blocks };
        let value = serde_json::to_vec(&record)
            .map_err(|error| BlockUpdateError::StoreUnavailable(error.to_string()))?;
        store
            .compare_and_set(&blocks_key(), at, value, now + RECORD_LIFETIME, now)
            .await
            .map_err(store_error)
    }

    /// Takes over the blocks, unless newer ones are known. Returns whether they differ.
    fn adopt(&self, next: BlockSet) -> bool {
        let _alone = self.0.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.0.current.load();
        if next.revision < current.revision {
            return false;
        }
        let is_changed = *current.blocks != *next.blocks;
        self.0.current.store(Arc::new(next));
        is_changed
    }

    /// Writes the copy for a start without the store.
    async fn write_local_copy(&self) {
        let blocks = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            // Writes the current blocks: of two concurrent copies the older must not come last.
            let _alone = blocks.0.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
            super::file::write(&blocks.0.path, &blocks.0.current.load().blocks)
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "writing the local copy of the blocks failed; the store has them");
        }
    }
}

fn blocks_key() -> RecordKey {
    RecordKey { kind: RecordKind::BLOCKS, name: "all".into() }
}

fn store_error(error: StoreError) -> BlockUpdateError {
    BlockUpdateError::StoreUnavailable(error.to_string())
}
