//! L2 · Where the memory store keeps its records, and who has a place there.
//!
//! Owns: moka, the counting of places, when memory is freed. Must not know: the verbs, or who is revoked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::ops::compute::Op;
use moka::sync::Cache;

use crate::env::Timestamp;
use crate::store::revocations::Born;
use crate::store::{Capacities, Family, Kind, Record, Version};

/// Memory outlives a record by this much, so that clocks which differ a little never free a live one. A record that was never
/// read gets none.
const GRACE: Duration = Duration::from_secs(60);
/// moka's timers are not asked to count further than this.
const LONGEST_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Live,
    Tombstone,
}

/// What moka holds for one record. Small: a hundred thousand waiting logins are that many of these.
#[derive(Clone)]
pub struct Slot {
    pub version: Version,
    pub value: Arc<[u8]>,
    pub expires_at: Timestamp,
    /// An earlier end, until the record is loaded to be kept, or replaced.
    pub unread_until: Option<Timestamp>,
    pub kept_for: Duration,
    pub families: Arc<[Family]>,
    pub born: Born,
    pub state: State,
}

impl Slot {
    pub fn into_record(self) -> Record {
        Record { version: self.version, value: self.value, expires_at: self.expires_at }
    }
}

pub fn kept_for(expires_at: Timestamp, now: Timestamp) -> Duration {
    expires_at.since(now).saturating_add(GRACE).min(LONGEST_LIFE)
}

/// Each record is kept for a time of its own, counted anew when it is replaced.
struct KeptFor;

impl Expiry<Arc<str>, Slot> for KeptFor {
    fn expire_after_create(&self, _: &Arc<str>, slot: &Slot, _: Instant) -> Option<Duration> {
        Some(slot.kept_for)
    }

    fn expire_after_update(
        &self,
        _: &Arc<str>,
        slot: &Slot,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(slot.kept_for)
    }
}

/// A capacity, and what of it is used; one or more kinds share it.
pub struct Pool {
    capacity: usize,
    used: AtomicUsize,
    capacity_bytes: usize,
    /// Of values.
    used_bytes: AtomicUsize,
    /// When a sweep last went through everything.
    pub last_exhausted: Mutex<Timestamp>,
}

impl Pool {
    fn new(capacity: usize, capacity_bytes: usize) -> Arc<Self> {
        let (used, used_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self {
            capacity,
            used,
            capacity_bytes,
            used_bytes,
            last_exhausted: Mutex::default(),
        })
    }

    pub fn has_room(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.capacity && self.used_bytes() < self.capacity_bytes
    }

    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }
}

/// The records of one kind. moka's own capacity is not used: it drops newcomers without a word. Instead each value
/// that enters takes a place in the pool, and the eviction listener gives one back for each that leaves, whatever
/// the cause: also for a value that is replaced, for moka calls it so even when the old one had expired unnoticed.
pub struct Shelf {
    pub kind: Kind,
    pub records: Cache<Arc<str>, Slot>,
    pub pool: Arc<Pool>,
    used: Arc<AtomicUsize>,
}

impl Shelf {
    pub fn new(kind: Kind, pool: &Arc<Pool>) -> Self {
        let used = Arc::new(AtomicUsize::new(0));
        let (left_pool, left_shelf) = (Arc::clone(pool), Arc::clone(&used));
        let records = Cache::builder()
            .expire_after(KeptFor)
            .eviction_listener(move |_, slot: Slot, _| {
                left_pool.used.fetch_sub(1, Ordering::Relaxed);
                left_pool.used_bytes.fetch_sub(slot.value.len(), Ordering::Relaxed);
                left_shelf.fetch_sub(1, Ordering::Relaxed);
            })
            .build();
        Self { kind, records, pool: Arc::clone(pool), used }
    }

    /// Runs `decide` on what lies under `name`, alone against every other computation on that name.
    pub fn compute(&self, name: &Arc<str>, decide: impl FnOnce(Option<Slot>) -> Op<Slot>) {
        self.records
            .entry_by_ref(name)
            .and_compute_with(|entry| decide(entry.map(moka::Entry::into_value)));
    }

    /// Values that take a place.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// A place for a newcomer of so many bytes, if there is one.
    pub fn admit(&self, bytes: usize) -> bool {
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

    /// A place for a value that comes in the stead of another, whose place is given back a moment later.
    pub fn occupy(&self, bytes: usize) {
        self.pool.used.fetch_add(1, Ordering::Relaxed);
        self.pool.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(1, Ordering::Relaxed);
    }
}

pub struct Shelves {
    logins: Shelf,
    sessions: Shelf,
    codes: Shelf,
    tokens: Shelf,
    logouts: Shelf,
    parked: Shelf,
    assertions: Shelf,
    own_codes: Shelf,
    blocks: Shelf,
    probes: Shelf,
}

impl Shelves {
    pub fn new(capacities: Capacities) -> Self {
        let shelf = |kind, capacity| Shelf::new(kind, &Pool::new(capacity, usize::MAX));
        let grants = Pool::new(capacities.grants, usize::MAX);
        Self {
            logins: Shelf::new(Kind::Login, &Pool::new(capacities.logins, capacities.login_bytes)),
            sessions: shelf(Kind::Session, capacities.sessions),
            codes: Shelf::new(Kind::Code, &grants),
            tokens: Shelf::new(Kind::Token, &grants),
            logouts: shelf(Kind::Logout, capacities.logouts),
            parked: shelf(Kind::Parked, capacities.parked),
            assertions: shelf(Kind::Assertion, capacities.assertions),
            own_codes: shelf(Kind::OwnCode, capacities.own_codes),
            blocks: shelf(Kind::Blocks, capacities.blocks),
            probes: shelf(Kind::Probes, capacities.probes),
        }
    }

    pub fn of(&self, kind: Kind) -> &Shelf {
        match kind {
            Kind::Login => &self.logins,
            Kind::Session => &self.sessions,
            Kind::Code => &self.codes,
            Kind::Token => &self.tokens,
            Kind::Logout => &self.logouts,
            Kind::Parked => &self.parked,
            Kind::Assertion => &self.assertions,
            Kind::OwnCode => &self.own_codes,
            Kind::Blocks => &self.blocks,
            Kind::Probes => &self.probes,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Shelf> {
        let Self {
            logins,
            sessions,
            codes,
            tokens,
            logouts,
            parked,
            assertions,
            own_codes,
            blocks,
            probes,
        } = self;
        [logins, sessions, codes, tokens, logouts, parked, assertions, own_codes, blocks, probes]
            .into_iter()
    }
}
