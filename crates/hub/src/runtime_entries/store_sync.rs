//! Shares the entries of a kind between hubs through one record in the store, which each hub reads
//! every second.
//!
//! Responsible for storing a change before it is confirmed, and for its distribution to all hubs.
//! Each change increases the record's revision. A store that returns an older revision, or none,
//! has lost confirmed changes (a failover): a hub with a newer one writes it again. Without an
//! answer the last known entries stay in force, also after a restart, because the file has a copy.
//! Independent of the store's kind.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::{
    EntryKind, EntrySet, EntryUpdateError, Persistence, RuntimeEntries, RuntimeEntry, stored_form,
};
use passerelle_protocol::env::Timestamp;
use passerelle_store::{
    MAX_UPDATE_ATTEMPTS, RecordKey, RecordKind, RecordVersion, Store, StoreError,
};
use passerelle_telemetry::CheckFinding;

/// Interval between two reads of the record.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Lifetime of the record; it is written again after half of it.
const RECORD_LIFETIME: Duration = Duration::from_secs(366 * 24 * 3600);

/// State of the reads of the record.
#[derive(Default)]
pub(super) struct SharedReadStatus {
    /// Whether this process has read the record or found it absent.
    has_read: bool,
    last_error: Option<String>,
}

/// The record as stored.
struct StoredRecord<K> {
    version: RecordVersion,
    expires_at: Timestamp,
    set: EntrySet<K>,
}

impl<K: EntryKind> RuntimeEntries<K> {
    /// Shares the entries with every hub that uses this store. Call [`Self::refresh`] before
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
                let name = K::NAME;
                tracing::error!(
                    why,
                    "reading the {name} failed; the last known ones stay in force"
                );
            }
            (None, Some(_)) => tracing::info!("reading the {} works again", K::NAME),
            _ => {}
        }
        status.has_read |= error.is_none();
        status.last_error = error;
    }

    /// Returns why this hub is not ready: it has never read the entries.
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
            format!("the {} can't be read, and the last known ones stay in force: {why}", K::NAME),
            "check the store (docs/redis.md)",
        ))
    }

    async fn synchronize(&self, store: &dyn Store) -> Result<(), EntryUpdateError> {
        let now = self.now();
        let found = self.load_shared(store, now).await?;
        let current = self.0.current.load_full();
        let at = found.as_ref().map(|found| found.version);
        match found {
            Some(found) if found.set.revision >= current.revision => {
                if found.expires_at.since(now) < RECORD_LIFETIME / 2 {
                    self.write(store, at, &found.set, now).await?;
                }
                if self.adopt(found.set) {
                    self.write_local_copy().await;
                }
            }
            None if current.revision == 0 && current.entries.is_empty() => {}
            Some(_) | None => {
                let restored = EntrySet {
                    revision: current.revision.max(1),
                    entries: Arc::clone(&current.entries),
                };
                if self.write(store, at, &restored, now).await? {
                    self.adopt(restored);
                    tracing::warn!(
                        "the store had lost {} that this hub knows; they are written again",
                        K::NAME
                    );
                } else if at.is_none() && self.load_shared(store, now).await?.is_none() {
                    // No other hub was faster: a record that fails authentication counts as absent,
                    // and is in the way.
                    return Err(EntryUpdateError::StoreUnavailable(
                        "their record exists and can't be decrypted".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Changes the shared entries, at this hub once the store has confirmed the change.
    ///
    /// # Errors
    /// [`EntryUpdateError`]. After `StoreUnavailable` the store may have the change, which each hub
    /// then reads.
    pub(super) async fn update_shared<T>(
        &self,
        store: &dyn Store,
        change: impl Fn(&mut Vec<RuntimeEntry<K>>) -> Option<T>,
    ) -> Result<Option<(T, Persistence)>, EntryUpdateError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let now = self.now();
            let found = self.load_shared(store, now).await?;
            let current = self.0.current.load_full();
            let at = found.as_ref().map(|found| found.version);
            let base = found
                .as_ref()
                .map(|found| &found.set)
                .filter(|found| found.revision >= current.revision);
            let base = base.unwrap_or(&current);
            let mut entries = Vec::clone(&base.entries);
            entries.retain(|one| !one.value.has_ended(now));
            let Some(made) = change(&mut entries) else { return Ok(None) };
            let next =
                EntrySet { revision: base.revision.saturating_add(1), entries: Arc::new(entries) };
            if self.write(store, at, &next, now).await? {
                self.adopt(next);
                self.write_local_copy().await;
                return Ok(Some((made, Persistence::Persisted)));
            }
        }
        Err(EntryUpdateError::StoreUnavailable(format!(
            "other hubs changed the {} concurrently at each attempt",
            K::NAME
        )))
    }

    async fn load_shared(
        &self,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<StoredRecord<K>>, EntryUpdateError> {
        let Some(record) = store.load(&record_key::<K>(), now).await.map_err(store_error)? else {
            return Ok(None);
        };
        let set = EntrySet::from_record(&record.value).map_err(|what| {
            EntryUpdateError::StoreUnavailable(format!(
                "this release can't parse the {} in the store: {what}",
                K::NAME
            ))
        })?;
        Ok(Some(StoredRecord { version: record.version, expires_at: record.expires_at, set }))
    }

    /// Writes the record. Returns false if another hub was faster.
    async fn write(
        &self,
        store: &dyn Store,
        at: Option<RecordVersion>,
        set: &EntrySet<K>,
        now: Timestamp,
    ) -> Result<bool, EntryUpdateError> {
        let value = set
            .to_record()
            .map_err(|error| EntryUpdateError::StoreUnavailable(error.to_string()))?;
        store
            .compare_and_set(&record_key::<K>(), at, value, now + RECORD_LIFETIME, now)
            .await
            .map_err(store_error)
    }

    /// Takes over the entries, unless newer ones are known. Returns whether they differ.
    fn adopt(&self, next: EntrySet<K>) -> bool {
        let _alone = self.0.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.0.current.load();
        if next.revision < current.revision {
            return false;
        }
        let is_changed = *current.entries != *next.entries;
        self.0.current.store(Arc::new(next));
        is_changed
    }

    /// Writes the copy for a start without the store.
    async fn write_local_copy(&self) {
        let entries = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            let inner = &entries.0;
            // Writes the current entries: of two concurrent copies the older must not come last.
            let _alone = inner.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
            stored_form::write_file(&inner.path, &inner.current.load().entries)
        });
        if let Ok(Err(error)) = written.await {
            let name = K::NAME;
            tracing::warn!(%error, "writing the local copy of the {name} failed; the store has them");
        }
    }
}

fn record_key<K: EntryKind>() -> RecordKey {
    RecordKey { kind: RecordKind::BLOCKS, name: K::RECORD_NAME.into() }
}

fn store_error(error: StoreError) -> EntryUpdateError {
    EntryUpdateError::StoreUnavailable(error.to_string())
}
