//! L2 · How many records this hub has admitted, of those that may still live.
//!
//! Owns: capacities. Must not know: records. Counted here and not on the server, so that admission costs no round trip
//! and no key that every login of a nation would have to pass: a capacity is each hub's own, and the sum of all hubs'
//! must fit into the server's memory, whose own limit stands behind it (docs/redis.md). A place that another hub frees
//! comes back when the record would have ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::env::Timestamp;
use crate::store::{Capacities, Kind};

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
    capacity: usize,
    used: usize,
    /// By the second in which they end; tokens apart from codes, with which they share their capacity.
    ends: BTreeMap<(u64, bool), usize>,
}

impl Places {
    pub fn new(capacities: Capacities) -> Self {
        let pool = |capacity| Mutex::new(Pool { capacity, used: 0, ends: BTreeMap::new() });
        Self {
            logins: pool(capacities.logins),
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

    /// Takes a place until then, if there is one.
    pub fn admit(&self, kind: Kind, until: Timestamp, now: Timestamp) -> bool {
        self.with(kind, |pool, slot| {
            pool.free_what_ended(now);
            let has_room = pool.used < pool.capacity;
            if has_room {
                pool.add((end(until), slot));
            }
            has_room
        })
    }

    /// A record lives longer, or less long.
    pub fn moved(&self, kind: Kind, from: Timestamp, to: Timestamp) {
        self.with(kind, |pool, slot| {
            if pool.subtract((end(from), slot)) {
                pool.add((end(to), slot));
            }
        });
    }

    pub fn free(&self, kind: Kind, until: Timestamp) {
        self.with(kind, |pool, slot| {
            pool.subtract((end(until), slot));
        });
    }

    pub fn used(&self, kind: Kind) -> usize {
        self.with(kind, |pool, slot| pool.ends.iter().filter(|((_, of), _)| *of == slot).map(|(_, count)| count).sum())
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
            self.used = self.used.saturating_sub(first.remove());
        }
    }

    fn add(&mut self, at: (u64, bool)) {
        *self.ends.entry(at).or_default() += 1;
        self.used += 1;
    }

    fn subtract(&mut self, at: (u64, bool)) -> bool {
        let Some(count) = self.ends.get_mut(&at) else { return false };
        *count -= 1;
        if *count == 0 {
            self.ends.remove(&at);
        }
        self.used = self.used.saturating_sub(1);
        true
    }
}
