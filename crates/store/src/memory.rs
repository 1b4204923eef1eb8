//! Stores records in the memory of one process, over moka.
//!
//! Responsible for atomic operations, admission, freeing memory and the contents of snapshots. A
//! record expires by its own `expires_at` and the `now` of the call; moka's clock decides nothing.
//! moka's time to live only frees memory: a minute later, or at the earlier expiry of an unread
//! record.

mod janitor;
pub(crate) mod kind_cache;
mod restore;
mod settings;
mod shutdown_snapshot;
pub mod snapshot;
pub mod snapshot_file;
#[cfg(test)]
mod tests;

use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use async_trait::async_trait;
use moka::ops::compute::Op;

use crate::by_kind::ByKind;
use crate::compact_name::CompactName;
use crate::revocations::{Membership, Revocations};
use crate::{
    Capacities, Family, LoadedRecord, NewRecord, Record, RecordKey, RecordKind, RecordVersion,
    ReplaceOutcome, Store, StoreError, StoreScope, TakeOutcome, Usage,
};
use passerelle_protocol::env::Timestamp;

use janitor::start_janitor;
use kind_cache::{
    CachedRecord, CapacityPool, KindCache, RecordState, kind_caches, seconds_to_live, seconds_until,
};
pub use restore::RestoreStats;
pub use settings::{KIND, MemorySettings, VolatileMemory};

/// Minimum time between sweeps of a full store that has too few dead records. Keeps rejections
/// cheap in a flood.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of records that one sweep frees, because a request waits for it.
const MAX_RECORDS_PER_SWEEP: usize = 256;

/// Store in the memory of this process. A restart keeps its records only through a snapshot.
pub struct MemoryStore {
    /// Held for reading by every operation that changes something.
    write_state: RwLock<WriteState>,
    caches: Arc<ByKind<KindCache>>,
    revocations: Revocations,
    /// Ends the thread that frees memory when the store is dropped.
    _janitor: Sender<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteState {
    Accepting,
    Closed,
}

impl MemoryStore {
    /// Creates an empty store, and the thread that frees its memory until the store is dropped.
    pub fn new(capacities: Capacities) -> Self {
        let caches = Arc::new(kind_caches(&capacities));
        let janitor = start_janitor(Arc::clone(&caches));
        Self {
            write_state: RwLock::new(WriteState::Accepting),
            caches,
            revocations: Revocations::default(),
            _janitor: janitor,
        }
    }

    /// Rejects all further changes as `Unavailable`. Returns when running changes have finished.
    pub fn close(&self) {
        *self.write_state.write().unwrap_or_else(PoisonError::into_inner) = WriteState::Closed;
    }

    fn begin_write(&self) -> Result<RwLockReadGuard<'_, WriteState>, StoreError> {
        let state = self.write_state.read().unwrap_or_else(PoisonError::into_inner);
        match *state {
            WriteState::Accepting => Ok(state),
            WriteState::Closed => {
                Err(StoreError::Unavailable("the hub is shutting down".to_owned()))
            }
        }
    }

    /// Frees some records of a full pool that are dead at `now`. Returns whether there may be room.
    fn sweep(&self, pool: &CapacityPool, now: Timestamp) -> bool {
        // Concurrent callers are rejected: waiting would block an arbiter.
        let Ok(mut last_exhausted) = pool.last_full_sweep.try_lock() else { return false };
        if now.since(*last_exhausted) < MIN_SWEEP_INTERVAL {
            return false;
        }
        let mut freed = 0;
        for cache in self.caches.iter().filter(|cache| std::ptr::eq(&raw const *cache.pool, pool)) {
            let dead = cache.records.iter().filter(|(_, slot)| self.is_dead(slot, now));
            for (name, _) in dead.take(MAX_RECORDS_PER_SWEEP - freed) {
                cache.compute(&name, |found| match found {
                    Some(slot) if self.is_dead(&slot, now) => Op::Remove,
                    _ => Op::Nop,
                });
                freed += 1;
            }
        }
        if freed < MAX_RECORDS_PER_SWEEP {
            *last_exhausted = now;
        }
        pool.has_room()
    }

    fn is_dead(&self, slot: &CachedRecord, now: Timestamp) -> bool {
        slot.unread_expiry <= now || (slot.state == RecordState::Live && self.is_revoked(slot))
    }

    fn is_revoked(&self, slot: &CachedRecord) -> bool {
        self.revocations.is_revoked(&slot.membership)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        let _guard = self.begin_write()?;
        let (cache, name) = (self.caches.get(key.kind), CompactName::from(&key));
        let membership = self
            .revocations
            .admit(&draft.families, draft.expires_at, now)
            .ok_or(StoreError::Revoked)?;
        let unread_expiry = draft.earliest_expiry();
        let seconds_to_live = if unread_expiry < draft.expires_at {
            // No grace: memory counts against the login capacity, and a flood's logins end this
            // way.
            seconds_until(unread_expiry, now)
        } else {
            seconds_to_live(draft.expires_at, now)
        };
        let slot = CachedRecord {
            version: RecordVersion(1),
            state: RecordState::Live,
            value: cache.pack(draft.value),
            expires_at: draft.expires_at,
            unread_expiry,
            seconds_to_live,
            membership,
        };
        let attempt = || {
            let mut answer = Ok(RecordVersion(1));
            cache.compute(&name, |found| {
                match found {
                    Some(existing) if !self.is_dead(&existing, now) => {
                        answer = Err(StoreError::Exists);
                    }
                    Some(_) => cache.reserve_for_update(slot.value.len()),
                    None if cache.try_reserve(slot.value.len()) => {}
                    None => answer = Err(StoreError::Full),
                }
                if answer.is_ok() { Op::Put(slot.clone()) } else { Op::Nop }
            });
            answer
        };
        match attempt() {
            Err(StoreError::Full) if self.sweep(&cache.pool, now) => attempt(),
            answer => answer,
        }
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError> {
        let cache = self.caches.get(key.kind);
        let slot = cache.records.get(&CompactName::from(key));
        let live = slot.filter(|slot| slot.state == RecordState::Live && !self.is_dead(slot, now));
        live.map(|slot| cache.unpack_record(slot)).transpose()
    }

    async fn load_and_extend(
        &self,
        key: &RecordKey,
        now: Timestamp,
    ) -> Result<Option<LoadedRecord>, StoreError> {
        let (cache, name) = (self.caches.get(key.kind), CompactName::from(key));
        let slot = cache.records.get(&name);
        let Some(slot) =
            slot.filter(|slot| slot.state == RecordState::Live && !self.is_dead(slot, now))
        else {
            return Ok(None);
        };
        if !slot.is_unread() {
            let record = cache.unpack_record(slot)?;
            return Ok(Some(LoadedRecord { record, was_unread: false }));
        }
        let _guard = self.begin_write()?;
        let mut extended = None;
        cache.compute(&name, |found| match found {
            Some(old) if old.state == RecordState::Live && !self.is_dead(&old, now) => {
                let was_unread = old.is_unread();
                extended = Some((old.clone(), was_unread));
                if !was_unread {
                    return Op::Nop;
                }
                cache.reserve_for_update(old.value.len());
                Op::Put(CachedRecord {
                    unread_expiry: old.expires_at,
                    seconds_to_live: seconds_to_live(old.expires_at, now),
                    ..old
                })
            }
            _ => Op::Nop,
        });
        extended
            .map(|(slot, was_unread)| {
                Ok(LoadedRecord { record: cache.unpack_record(slot)?, was_unread })
            })
            .transpose()
    }

    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError> {
        let _guard = self.begin_write()?;
        let cache = self.caches.get(key.kind);
        let value = cache.pack(value);
        let mut answer = ReplaceOutcome::Gone;
        cache.compute(&key.into(), |found| match found {
            Some(old) if old.state == RecordState::Live => {
                // First: a revocation that comes meanwhile must be kept for the new lifetime.
                self.revocations.extend_latest_expiry(&old.membership, expires_at);
                if self.is_dead(&old, now) {
                    return Op::Nop;
                }
                if old.version != expected {
                    answer = ReplaceOutcome::Stale;
                    return Op::Nop;
                }
                let version = RecordVersion(old.version.0.saturating_add(1));
                answer = ReplaceOutcome::Replaced(version);
                cache.reserve_for_update(value.len());
                Op::Put(CachedRecord {
                    version,
                    value,
                    expires_at,
                    unread_expiry: expires_at,
                    seconds_to_live: seconds_to_live(expires_at, now),
                    ..old
                })
            }
            _ => Op::Nop,
        });
        Ok(answer)
    }

    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError> {
        let _guard = self.begin_write()?;
        let cache = self.caches.get(key.kind);
        let mut present = None;
        // One computation, not a load and a removal: a code must be redeemed at most once
        // (RFC 6749 §4.1.2). Not moka's `remove`, which also returns expired values.
        cache.compute(&key.into(), |found| {
            let Some(old) = found.filter(|slot| !self.is_dead(slot, now)) else { return Op::Nop };
            present = Some(old.clone());
            if old.state == RecordState::Tombstone {
                return Op::Nop;
            }
            let value = cache.pack(tombstone);
            cache.reserve_for_update(value.len());
            Op::Put(CachedRecord {
                state: RecordState::Tombstone,
                value,
                expires_at: tombstone_until,
                unread_expiry: tombstone_until,
                seconds_to_live: seconds_to_live(tombstone_until, now),
                // No revocation applies to a tombstone.
                membership: Membership::default(),
                ..old
            })
        });
        Ok(match present {
            None => TakeOutcome::Gone,
            Some(slot) if slot.state == RecordState::Tombstone => {
                TakeOutcome::AlreadyTaken(cache.unpack(slot.value)?)
            }
            Some(slot) => TakeOutcome::Taken(cache.unpack_record(slot)?),
        })
    }

    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError> {
        let _guard = self.begin_write()?;
        self.caches.get(key.kind).compute(&key.into(), |_| Op::Remove);
        Ok(())
    }

    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let _guard = self.begin_write()?;
        let mut is_removed = false;
        self.caches.get(key.kind).compute(&key.into(), |found| match found {
            Some(slot) if slot.state == RecordState::Live && slot.version == version => {
                is_removed = !self.is_dead(&slot, now);
                Op::Remove
            }
            _ => Op::Nop,
        });
        Ok(is_removed)
    }

    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let _guard = self.begin_write()?;
        self.revocations.revoke(family.into(), until, now);
        Ok(())
    }

    fn scope(&self) -> StoreScope {
        StoreScope::Process
    }

    fn count(&self, kind: &RecordKind) -> usize {
        self.caches.get(kind).used()
    }

    fn usage(&self, kind: &RecordKind) -> Usage {
        let cache = self.caches.get(kind);
        Usage { records: cache.used(), bytes: cache.pool.used_bytes() }
    }
}
