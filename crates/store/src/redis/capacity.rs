//! Tracks how many live records this hub has inserted, and limits them to the capacities.
//!
//! Counted here and not on the server, so that admission needs no round trip and no key that every
//! login would have to pass. Each hub has its own capacities. Together they must fit into the
//! server's memory, whose limit still applies (docs/redis.md). When another hub removes a record of
//! this one, its capacity is released when the record would have expired.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::by_kind::ByKind;
use crate::{Capacities, RecordKind, Usage};
use passerelle_protocol::env::Timestamp;

/// Used capacity of the records that this hub has inserted.
/// Tokens belong to the pool of codes.
pub struct CapacityTracker(ByKind<Mutex<Pool>>);

struct Pool {
    capacity: Usage,
    used: Usage,
    /// Usage by the second of expiry. Tokens are counted apart from codes, with which they share
    /// the capacity.
    by_expiry: BTreeMap<(u64, bool), Usage>,
}

impl CapacityTracker {
    /// Creates a tracker without records.
    pub fn new(capacities: Capacities) -> Self {
        Self(ByKind::new(|kind| {
            let capacity = capacities.for_kind(kind);
            Mutex::new(Pool { capacity, used: Usage::default(), by_expiry: BTreeMap::new() })
        }))
    }

    /// Reserves capacity for a record until its expiry. Returns whether there was room.
    pub fn try_reserve(
        &self,
        kind: RecordKind,
        bytes: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> bool {
        self.with(kind, |pool, is_token| {
            pool.release_expired(now);
            let (used, capacity) = (pool.used, pool.capacity);
            let has_room = used.records < capacity.records
                && used.bytes.saturating_add(bytes) <= capacity.bytes;
            if has_room {
                pool.add((expiry_second(until), is_token), bytes);
            }
            has_room
        })
    }

    /// Changes the expiry and the size of a record.
    pub fn update(&self, kind: RecordKind, from: Timestamp, to: Timestamp, bytes: usize) {
        self.with(kind, |pool, is_token| {
            if pool.subtract((expiry_second(from), is_token)).is_some() {
                pool.add((expiry_second(to), is_token), bytes);
            }
        });
    }

    /// Changes the expiry of a record whose old expiry is known to a second only.
    pub fn extend_near(&self, kind: RecordKind, about: Timestamp, to: Timestamp) {
        self.with(kind, |pool, is_token| {
            if let Some(bytes) = pool.subtract_near(about, is_token) {
                pool.add((expiry_second(to), is_token), bytes);
            }
        });
    }

    /// Releases a record whose expiry is known to a second only.
    pub fn release_near(&self, kind: RecordKind, about: Timestamp) {
        self.with(kind, |pool, is_token| {
            pool.subtract_near(about, is_token);
        });
    }

    /// Releases a record.
    pub fn release(&self, kind: RecordKind, until: Timestamp) {
        self.with(kind, |pool, is_token| {
            pool.subtract((expiry_second(until), is_token));
        });
    }

    /// Returns the usage of the pool that the kind belongs to.
    pub fn usage(&self, kind: RecordKind) -> Usage {
        self.with(kind, |pool, _| pool.used)
    }

    /// Returns the number of records of the kind.
    pub fn count(&self, kind: RecordKind) -> usize {
        self.with(kind, |pool, is_token| {
            pool.by_expiry
                .iter()
                .filter(|((_, holds_tokens), _)| *holds_tokens == is_token)
                .map(|(_, usage)| usage.records)
                .sum()
        })
    }

    fn with<T>(&self, kind: RecordKind, act: impl FnOnce(&mut Pool, bool) -> T) -> T {
        let is_token = kind == RecordKind::Token;
        let pool = self.0.get(if is_token { RecordKind::Code } else { kind });
        act(&mut pool.lock().unwrap_or_else(PoisonError::into_inner), is_token)
    }
}

/// Returns the first whole second in which the record is expired.
const fn expiry_second(until: Timestamp) -> u64 {
    until.millis().div_ceil(1000)
}

impl Pool {
    fn release_expired(&mut self, now: Timestamp) {
        while let Some(first) = self.by_expiry.first_entry()
            && first.key().0 <= now.seconds()
        {
            let ended = first.remove();
            self.subtract_usage(ended);
        }
    }

    fn add(&mut self, at: (u64, bool), bytes: usize) {
        for usage in [self.by_expiry.entry(at).or_default(), &mut self.used] {
            usage.records += 1;
            usage.bytes += bytes;
        }
    }

    /// Removes one record that expires then, and returns its size: the average, because only the
    /// total of a second is known.
    fn subtract(&mut self, at: (u64, bool)) -> Option<usize> {
        let usage = self.by_expiry.get_mut(&at)?;
        let bytes = usage.bytes / usage.records.max(1);
        usage.records = usage.records.saturating_sub(1);
        usage.bytes -= bytes;
        if usage.records == 0 {
            self.by_expiry.remove(&at);
        }
        self.subtract_usage(Usage { records: 1, bytes });
        Some(bytes)
    }

    fn subtract_near(&mut self, about: Timestamp, is_token: bool) -> Option<usize> {
        let about = expiry_second(about);
        [about, about.saturating_sub(1), about + 1]
            .into_iter()
            .find_map(|at| self.subtract((at, is_token)))
    }

    fn subtract_usage(&mut self, usage: Usage) {
        self.used.records = self.used.records.saturating_sub(usage.records);
        self.used.bytes = self.used.bytes.saturating_sub(usage.bytes);
    }
}
