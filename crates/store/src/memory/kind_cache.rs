//! Caches the records of each kind in moka and counts their capacity.
//!
//! Responsible for capacity accounting and for when memory is freed. Does not know revocations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::ops::compute::Op;
use moka::sync::Cache;

use crate::by_kind::ByKind;
use crate::compact_name::CompactName;
use crate::compression;
use crate::revocations::Membership;
use crate::{
    CLOCK_SKEW_GRACE, Capacities, Record, RecordKind, RecordRetention, RecordVersion, StoreError,
    Usage,
};
use passerelle_protocol::env::Timestamp;

/// Maximum time to live given to moka's timers.
const MAX_SECONDS_TO_LIVE: u32 = 10 * 365 * 24 * 3600;

/// State of a cached record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordState {
    Live,
    Tombstone,
}

/// Cached record or tombstone. Small, because there can be a million waiting logins.
#[derive(Clone)]
pub(crate) struct CachedRecord {
    pub version: RecordVersion,
    /// As [`KindCache::pack`] returns it.
    pub value: Arc<[u8]>,
    pub expires_at: Timestamp,
    /// Earlier expiry until the record is loaded and extended, or replaced; then `expires_at`.
    pub unread_expiry: Timestamp,
    pub seconds_to_live: u32,
    pub membership: Membership,
    pub state: RecordState,
}

impl CachedRecord {
    /// Returns whether the record was neither loaded and extended, nor replaced.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread_expiry < self.expires_at
    }
}

/// Returns how long moka keeps a record, with the grace, which unread records don't
/// get.
pub(crate) fn seconds_to_live(expires_at: Timestamp, now: Timestamp) -> u32 {
    seconds_until(expires_at + CLOCK_SKEW_GRACE, now)
}

/// Returns the time from `now` to `end` in seconds, rounded up, at most the longest time to live.
pub(crate) fn seconds_until(end: Timestamp, now: Timestamp) -> u32 {
    let seconds = end.since(now).as_millis().div_ceil(1000);
    u32::try_from(seconds).map_or(MAX_SECONDS_TO_LIVE, |seconds| seconds.min(MAX_SECONDS_TO_LIVE))
}

/// Gives each record its own time to live, restarted on replacement.
struct RecordExpiry;

impl Expiry<CompactName, CachedRecord> for RecordExpiry {
    fn expire_after_create(
        &self,
        _: &CompactName,
        slot: &CachedRecord,
        _: Instant,
    ) -> Option<Duration> {
        Some(Duration::from_secs(slot.seconds_to_live.into()))
    }

    fn expire_after_update(
        &self,
        _: &CompactName,
        slot: &CachedRecord,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(Duration::from_secs(slot.seconds_to_live.into()))
    }
}

/// Capacity shared by one or more kinds, and its use.
pub(crate) struct CapacityPool {
    capacity: Usage,
    used: AtomicUsize,
    /// Total bytes of the values.
    used_bytes: AtomicUsize,
    /// When a sweep last found fewer dead records than it may free.
    pub last_full_sweep: Mutex<Timestamp>,
}

impl CapacityPool {
    fn new(capacity: Usage) -> Arc<Self> {
        let (used, used_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { capacity, used, used_bytes, last_full_sweep: Mutex::default() })
    }

    /// Returns whether another record fits.
    pub(crate) fn has_room(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.capacity.records
            && self.used_bytes() < self.capacity.bytes
    }

    /// Returns the total bytes of the values.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }
}

/// Cache of the records of one kind.
///
/// moka's own capacity is unused, because it silently drops new entries. Instead each inserted
/// value takes room in the pool, and the eviction listener gives room back for each value that
/// leaves, whatever the cause. moka reports `Replaced` even if the old value had already expired.
pub(crate) struct KindCache {
    pub kind: &'static RecordKind,
    pub records: Cache<CompactName, CachedRecord>,
    pub pool: Arc<CapacityPool>,
    used: Arc<AtomicUsize>,
}

impl KindCache {
    /// Creates an empty cache that uses `pool`.
    pub(crate) fn new(kind: &'static RecordKind, pool: &Arc<CapacityPool>) -> Self {
        let used = Arc::new(AtomicUsize::new(0));
        let (evicted_pool, evicted_count) = (Arc::clone(pool), Arc::clone(&used));
        let records = Cache::builder()
            .expire_after(RecordExpiry)
            .eviction_listener(move |_, slot: CachedRecord, _| {
                evicted_pool.used.fetch_sub(1, Ordering::Relaxed);
                evicted_pool.used_bytes.fetch_sub(slot.value.len(), Ordering::Relaxed);
                evicted_count.fetch_sub(1, Ordering::Relaxed);
            })
            .build();
        Self { kind, records, pool: Arc::clone(pool), used }
    }

    /// Returns a value as this cache keeps it: compressed if its records live long.
    pub(crate) fn pack(&self, value: impl AsRef<[u8]> + Into<Arc<[u8]>>) -> Arc<[u8]> {
        if self.kind.retention == RecordRetention::Long {
            compression::compress(value.as_ref()).into()
        } else {
            value.into()
        }
    }

    /// Returns a value as callers see it.
    ///
    /// # Errors
    /// `Unavailable` if [`Self::pack`] did not make it.
    pub(crate) fn unpack(&self, packed: Arc<[u8]>) -> Result<Arc<[u8]>, StoreError> {
        if self.kind.retention != RecordRetention::Long {
            return Ok(packed);
        }
        let value = compression::decompress(&packed);
        value.map(Arc::from).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// Returns a cached record as callers see it.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub(crate) fn unpack_record(&self, cached: CachedRecord) -> Result<Record, StoreError> {
        let CachedRecord { version, value, expires_at, .. } = cached;
        Ok(Record { version, value: self.unpack(value)?, expires_at, has_outdated_key: false })
    }

    /// Runs `decide` on the entry `name`, atomically with respect to other computations on it.
    pub(crate) fn compute(
        &self,
        name: &CompactName,
        decide: impl FnOnce(Option<CachedRecord>) -> Op<CachedRecord>,
    ) {
        self.records
            .entry_by_ref(name)
            .and_compute_with(|entry| decide(entry.map(moka::Entry::into_value)));
    }

    /// Returns the number of cached values.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Reserves room for a new value of so many bytes. Returns whether there was room.
    pub(crate) fn try_reserve(&self, bytes: usize) -> bool {
        let (pool, relaxed) = (&self.pool, Ordering::Relaxed);
        let one_more = |used| (used < pool.capacity.records).then_some(used + 1);
        let more_bytes =
            |used: usize| used.checked_add(bytes).filter(|used| *used <= pool.capacity.bytes);
        if pool.used.fetch_update(relaxed, relaxed, one_more).is_err() {
            return false;
        }
        if pool.used_bytes.fetch_update(relaxed, relaxed, more_bytes).is_err() {
            pool.used.fetch_sub(1, relaxed);
            return false;
        }
        self.used.fetch_add(1, relaxed);
        true
    }

    /// Reserves room for a value that replaces another; the eviction listener frees the old
    /// value's.
    pub(crate) fn reserve_for_update(&self, bytes: usize) {
        self.pool.used.fetch_add(1, Ordering::Relaxed);
        self.pool.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(1, Ordering::Relaxed);
    }
}

/// Creates an empty cache for each kind, with these capacities.
pub(crate) fn kind_caches(capacities: &Capacities) -> ByKind<KindCache> {
    let pools = ByKind::for_pools(capacities, CapacityPool::new);
    ByKind::new(capacities, |kind| KindCache::new(kind, pools.get(kind)))
}
