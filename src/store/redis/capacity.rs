//! L2 · How many records this hub has admitted, of those that may still live.
//!
//! Owns: capacities. Must not know: records. Counted here and not on the server, so that admission costs no round trip
//! and no key that every login of a nation would have to pass: a capacity is each hub's own, and the sum of all hubs'
//! must fit into the server's memory, whose own limit stands behind it (docs/redis.md). A place that another hub frees
//! comes back when the record would have ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::env::Timestamp;
use crate::store::{Capacities, Kind, Usage};

pub struct Places {
    logins: Mutex<Pool>,
    sessions: Mutex<Pool>,
    grants: Mutex<Pool>,
    logouts: Mutex<Pool>,
    parked: Mutex<Pool>,
    assertions: Mutex<Pool>,
    own_codes: Mutex<Pool>,
    blocks: Mutex<Pool>,
    probes: Mutex<Pool>,
}

struct Pool {
    capacity: Usage,
    used: Usage,
    /// By the second in which they end; tokens apart from codes, with which they share their capacity.
    ends: BTreeMap<(u64, bool), Usage>,
}

impl Places {
    pub fn new(capacities: Capacities) -> Self {
        let of_bytes = |records, bytes| {
            let capacity = Usage { records, bytes };
            Mutex::new(Pool { capacity, used: Usage::default(), ends: BTreeMap::new() })
        };
        let pool = |records| of_bytes(records, usize::MAX);
        Self {
            logins: of_bytes(capacities.logins, capacities.login_bytes),
            sessions: pool(capacities.sessions),
            grants: pool(capacities.grants),
            logouts: pool(capacities.logouts),
            parked: pool(capacities.parked),
            assertions: pool(capacities.assertions),
            own_codes: pool(capacities.own_codes),
            blocks: pool(capacities.blocks),
            probes: pool(capacities.probes),
        }
    }

    /// Takes a place for so many bytes until then, if there is one.
    pub fn admit(&self, kind: Kind, bytes: usize, until: Timestamp, now: Timestamp) -> bool {
        self.with(kind, |pool, slot| {
            pool.free_what_ended(now);
            let (used, capacity) = (pool.used, pool.capacity);
            let has_room = used.records < capacity.records
                && used.bytes.saturating_add(bytes) <= capacity.bytes;
            if has_room {
                pool.add((end(until), slot), bytes);
            }
            has_room
        })
    }

    /// A record lives longer, or less long, or has so many bytes from now on.
    pub fn moved(&self, kind: Kind, from: Timestamp, to: Timestamp, bytes: Option<usize>) {
        self.with(kind, |pool, slot| {
            if let Some(before) = pool.subtract((end(from), slot)) {
                pool.add((end(to), slot), bytes.unwrap_or(before));
            }
        });
    }

    /// A record whose end was known to a second only lives longer.
    pub fn kept(&self, kind: Kind, about: Timestamp, to: Timestamp) {
        self.with(kind, |pool, slot| {
            if let Some(bytes) = pool.subtract_about(about, slot) {
                pool.add((end(to), slot), bytes);
            }
        });
    }

    /// A record is no more whose end was known to a second only.
    pub fn free_about(&self, kind: Kind, about: Timestamp) {
        self.with(kind, |pool, slot| {
            pool.subtract_about(about, slot);
        });
    }

    pub fn free(&self, kind: Kind, until: Timestamp) {
        self.with(kind, |pool, slot| {
            pool.subtract((end(until), slot));
        });
    }

    /// Of the whole pool.
    pub fn usage(&self, kind: Kind) -> Usage {
        self.with(kind, |pool, _| pool.used)
    }

    pub fn used(&self, kind: Kind) -> usize {
        self.with(kind, |pool, slot| {
            pool.ends
                .iter()
                .filter(|((_, of), _)| *of == slot)
                .map(|(_, usage)| usage.records)
                .sum()
        })
    }

    fn with<T>(&self, kind: Kind, act: impl FnOnce(&mut Pool, bool) -> T) -> T {
        let (pool, slot) = match kind {
            Kind::Login => (&self.logins, false),
            Kind::Session => (&self.sessions, false),
            Kind::Code => (&self.grants, false),
            Kind::Token => (&self.grants, true),
            Kind::Logout => (&self.logouts, false),
            Kind::Parked => (&self.parked, false),
            Kind::Assertion => (&self.assertions, false),
            Kind::OwnCode => (&self.own_codes, false),
            Kind::Blocks => (&self.blocks, false),
            Kind::Probes => (&self.probes, false),
        };
        act(&mut pool.lock().unwrap_or_else(PoisonError::into_inner), slot)
    }
}

/// The first whole second in which it is gone.
const fn end(until: Timestamp) -> u64 {
    until.millis().div_ceil(1000)
}

impl Pool {
    fn free_what_ended(&mut self, now: Timestamp) {
        while let Some(first) = self.ends.first_entry()
            && first.key().0 <= now.seconds()
        {
            let ended = first.remove();
            self.free(ended);
        }
    }

    fn add(&mut self, at: (u64, bool), bytes: usize) {
        for usage in [self.ends.entry(at).or_default(), &mut self.used] {
            usage.records += 1;
            usage.bytes += bytes;
        }
    }

    /// Returns the bytes of one record that ends then: their average, for sizes are known of all together only.
    fn subtract(&mut self, at: (u64, bool)) -> Option<usize> {
        let usage = self.ends.get_mut(&at)?;
        let bytes = usage.bytes / usage.records.max(1);
        usage.records = usage.records.saturating_sub(1);
        usage.bytes -= bytes;
        if usage.records == 0 {
            self.ends.remove(&at);
        }
        self.free(Usage { records: 1, bytes });
        Some(bytes)
    }

    fn subtract_about(&mut self, about: Timestamp, slot: bool) -> Option<usize> {
        let about = end(about);
        [about, about.saturating_sub(1), about + 1]
            .into_iter()
            .find_map(|at| self.subtract((at, slot)))
    }

    fn free(&mut self, usage: Usage) {
        self.used.records = self.used.records.saturating_sub(usage.records);
        self.used.bytes = self.used.bytes.saturating_sub(usage.bytes);
    }
}
