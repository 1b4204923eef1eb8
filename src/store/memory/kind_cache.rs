//! Caches the records of each kind in moka and counts their capacity.
//!
//! Responsible for capacity accounting and for when memory is freed. Does not know revocations.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::ops::compute::Op;
use moka::sync::Cache;

use crate::env::Timestamp;
use crate::store::revocations::AdmissionSeq;
use crate::store::{Capacities, Family, Record, RecordKind, RecordVersion};

/// Time that memory outlives its record, because the clocks of callers differ. Unread records get
/// none.
const CLOCK_SKEW_GRACE: Duration = Duration::from_secs(60);
/// Maximum time to live given to moka's timers.
const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// State of a cached record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordState {
    Live,
    Tombstone,
}

/// Cached record or tombstone. Small, because there can be a hundred thousand waiting logins.
#[derive(Clone)]
pub struct CachedRecord {
    pub version: RecordVersion,
    pub value: Arc<[u8]>,
    pub expires_at: Timestamp,
    /// Earlier expiry until the record is loaded and extended, or replaced.
    pub expires_unread_at: Option<Timestamp>,
    pub time_to_live: Duration,
    pub families: Arc<[Family]>,
    pub admission_seq: AdmissionSeq,
    pub state: RecordState,
}

impl CachedRecord {
    /// Converts the cache entry to the record that callers see.
    pub fn into_record(self) -> Record {
        Record { version: self.version, value: self.value, expires_at: self.expires_at }
    }
}

/// Returns how long moka keeps a record, grace included.
pub fn time_to_live(expires_at: Timestamp, now: Timestamp) -> Duration {
    expires_at.since(now).saturating_add(CLOCK_SKEW_GRACE).min(MAX_TIME_TO_LIVE)
}

/// Gives each record its own time to live, restarted on replacement.
struct RecordExpiry;

impl Expiry<Arc<str>, CachedRecord> for RecordExpiry {
    fn expire_after_create(
        &self,
        _: &Arc<str>,
        slot: &CachedRecord,
        _: Instant,
    ) -> Option<Duration> {
        Some(slot.time_to_live)
    }

    fn expire_after_update(
        &self,
        _: &Arc<str>,
        slot: &CachedRecord,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(slot.time_to_live)
    }
}

/// Capacity shared by one or more kinds, and its use.
pub struct CapacityPool {
    capacity: usize,
    used: AtomicUsize,
    capacity_bytes: usize,
    /// Total bytes of the values.
    used_bytes: AtomicUsize,
    /// When a sweep last found fewer dead records than it may free.
    pub last_full_sweep: Mutex<Timestamp>,
}

impl CapacityPool {
    fn new(capacity: usize, capacity_bytes: usize) -> Arc<Self> {
        let (used, used_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self {
            capacity,
            used,
            capacity_bytes,
            used_bytes,
            last_full_sweep: Mutex::default(),
        })
    }

    /// Returns whether another record fits.
    pub fn has_room(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.capacity && self.used_bytes() < self.capacity_bytes
    }

    /// Returns the total bytes of the values.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }
}

/// Cache of the records of one kind.
///
/// moka's own capacity is unused, because it silently drops new entries. Instead each inserted
/// value takes room in the pool, and the eviction listener gives room back for each value that
/// leaves, whatever the cause. moka reports `Replaced` even if the old value had already expired.
pub struct KindCache {
    pub kind: RecordKind,
    pub records: Cache<Arc<str>, CachedRecord>,
    pub pool: Arc<CapacityPool>,
    used: Arc<AtomicUsize>,
}

impl KindCache {
    /// Creates an empty cache that uses `pool`.
    pub fn new(kind: RecordKind, pool: &Arc<CapacityPool>) -> Self {
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

    /// Runs `decide` on the entry `name`, atomically with respect to other computations on it.
    pub fn compute(
        &self,
        name: &Arc<str>,
        decide: impl FnOnce(Option<CachedRecord>) -> Op<CachedRecord>,
    ) {
        self.records
            .entry_by_ref(name)
            .and_compute_with(|entry| decide(entry.map(moka::Entry::into_value)));
    }

    /// Returns the number of cached values.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Reserves room for a new value of so many bytes. Returns whether there was room.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let (pool, relaxed) = (&self.pool, Ordering::Relaxed);
        let one_more = |used| (used < pool.capacity).then_some(used + 1);
        let more_bytes =
            |used: usize| used.checked_add(bytes).filter(|used| *used <= pool.capacity_bytes);
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
    pub fn reserve_for_update(&self, bytes: usize) {
        self.pool.used.fetch_add(1, Ordering::Relaxed);
        self.pool.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(1, Ordering::Relaxed);
    }
}

/// Caches of all kinds.
pub struct KindCaches {
    logins: KindCache,
    sessions: KindCache,
    codes: KindCache,
    tokens: KindCache,
    logout_redirects: KindCache,
    pending_logouts: KindCache,
    assertions: KindCache,
    login_page_codes: KindCache,
    blocks: KindCache,
    probes: KindCache,
}

impl KindCaches {
    /// Creates empty caches with these capacities.
    pub fn new(capacities: Capacities) -> Self {
        let cache = |kind, capacity| KindCache::new(kind, &CapacityPool::new(capacity, usize::MAX));
        let grants = CapacityPool::new(capacities.grants, usize::MAX);
        Self {
            logins: KindCache::new(
                RecordKind::Login,
                &CapacityPool::new(capacities.logins, capacities.login_bytes),
            ),
            sessions: cache(RecordKind::Session, capacities.sessions),
            codes: KindCache::new(RecordKind::Code, &grants),
            tokens: KindCache::new(RecordKind::Token, &grants),
            logout_redirects: cache(RecordKind::LogoutRedirect, capacities.logout_redirects),
            pending_logouts: cache(RecordKind::PendingLogout, capacities.pending_logouts),
            assertions: cache(RecordKind::Assertion, capacities.assertions),
            login_page_codes: cache(RecordKind::LoginPageCode, capacities.login_page_codes),
            blocks: cache(RecordKind::Blocks, capacities.blocks),
            probes: cache(RecordKind::Probes, capacities.probes),
        }
    }

    /// Returns the cache of a kind.
    pub fn cache_for(&self, kind: RecordKind) -> &KindCache {
        match kind {
            RecordKind::Login => &self.logins,
            RecordKind::Session => &self.sessions,
            RecordKind::Code => &self.codes,
            RecordKind::Token => &self.tokens,
            RecordKind::LogoutRedirect => &self.logout_redirects,
            RecordKind::PendingLogout => &self.pending_logouts,
            RecordKind::Assertion => &self.assertions,
            RecordKind::LoginPageCode => &self.login_page_codes,
            RecordKind::Blocks => &self.blocks,
            RecordKind::Probes => &self.probes,
        }
    }

    /// Iterates over the caches of all kinds.
    pub fn iter(&self) -> impl Iterator<Item = &KindCache> {
        let Self {
            logins,
            sessions,
            codes,
            tokens,
            logout_redirects: logouts,
            pending_logouts: parked,
            assertions,
            login_page_codes: own_codes,
            blocks,
            probes,
        } = self;
        [logins, sessions, codes, tokens, logouts, parked, assertions, own_codes, blocks, probes]
            .into_iter()
    }
}
