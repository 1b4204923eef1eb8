//! Tracks how many live records this hub has inserted, and limits them to the capacities.
//!
//! Counted here and not on the server, so that admission needs no round trip and no key that every
//! login would have to pass. Each hub has its own capacities. Together they must fit into the
//! server's memory, whose limit still applies (docs/redis.md). When another hub removes a record of
//! this one, its capacity is released when the record would have expired.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::by_kind::ByKind;
use crate::{Capacities, RecordKind, Usage};
use passerelle_protocol::env::Timestamp;

/// Used capacity of the records that this hub has inserted.
pub(super) struct CapacityTracker(ByKind<Arc<Mutex<Pool>>>);

struct Pool {
    capacity: Usage,
    used: Usage,
    /// Usage by the second of expiry and the letter of the kind: kinds that share the capacity are
    /// counted apart.
    by_expiry: BTreeMap<(u64, u8), Usage>,
}

impl CapacityTracker {
    /// Creates a tracker without records.
    pub(super) fn new(capacities: &Capacities) -> Self {
        Self(ByKind::for_pools(capacities, |capacity| {
            let (used, by_expiry) = (Usage::default(), BTreeMap::new());
            Arc::new(Mutex::new(Pool { capacity, used, by_expiry }))
        }))
    }

    /// Returns the kind that has this letter.
    pub(super) fn kind_of_letter(&self, letter: u8) -> Option<&'static RecordKind> {
        self.0.kind_of_letter(letter)
    }

    /// Reserves capacity for a record until its expiry. Returns whether there was room.
    pub(super) fn try_reserve(
        &self,
        kind: &RecordKind,
        bytes: usize,
        until: Timestamp,
        now: Timestamp,
    ) -> bool {
        self.with(kind, |pool, letter| {
            pool.release_expired(now);
            let (used, capacity) = (pool.used, pool.capacity);
            let has_room = used.records < capacity.records
                && used.bytes.saturating_add(bytes) <= capacity.bytes;
            if has_room {
                pool.add((expiry_second(until), letter), bytes);
            }
            has_room
        })
    }

    /// Changes the expiry and the size of a record.
    pub(super) fn update(&self, kind: &RecordKind, from: Timestamp, to: Timestamp, bytes: usize) {
        self.with(kind, |pool, letter| {
            if pool.subtract((expiry_second(from), letter)).is_some() {
                pool.add((expiry_second(to), letter), bytes);
            }
        });
    }

    /// Changes the expiry of a record whose old expiry is known to a second only.
    pub(super) fn extend_near(&self, kind: &RecordKind, about: Timestamp, to: Timestamp) {
        self.with(kind, |pool, letter| {
            if let Some(bytes) = pool.subtract_near(about, letter) {
                pool.add((expiry_second(to), letter), bytes);
            }
        });
    }

    /// Releases a record whose expiry is known to a second only.
    pub(super) fn release_near(&self, kind: &RecordKind, about: Timestamp) {
        self.with(kind, |pool, letter| {
            pool.subtract_near(about, letter);
        });
    }

    /// Releases a record.
    pub(super) fn release(&self, kind: &RecordKind, until: Timestamp) {
        self.with(kind, |pool, letter| {
            pool.subtract((expiry_second(until), letter));
        });
    }

    /// Returns the usage of the pool that the kind belongs to.
    pub(super) fn usage(&self, kind: &RecordKind) -> Usage {
        self.with(kind, |pool, _| pool.used)
    }

    /// Returns the number of records of the kind.
    pub(super) fn count(&self, kind: &RecordKind) -> usize {
        self.with(kind, |pool, letter| {
            pool.by_expiry
                .iter()
                .filter(|((_, counted), _)| *counted == letter)
                .map(|(_, usage)| usage.records)
                .sum()
        })
    }

    fn with<T>(&self, kind: &RecordKind, act: impl FnOnce(&mut Pool, u8) -> T) -> T {
        let mut pool = self.0.get(kind).lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut pool, kind.letter)
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

    fn add(&mut self, at: (u64, u8), bytes: usize) {
        for usage in [self.by_expiry.entry(at).or_default(), &mut self.used] {
            usage.records += 1;
            usage.bytes += bytes;
        }
    }

    /// Removes one record that expires then, and returns its size: the average, because only the
    /// total of a second is known.
    fn subtract(&mut self, at: (u64, u8)) -> Option<usize> {
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

    fn subtract_near(&mut self, about: Timestamp, letter: u8) -> Option<usize> {
        let about = expiry_second(about);
        [about, about.saturating_sub(1), about + 1]
            .into_iter()
            .find_map(|at| self.subtract((at, letter)))
    }

    fn subtract_usage(&mut self, usage: Usage) {
        self.used.records = self.used.records.saturating_sub(usage.records);
        self.used.bytes = self.used.bytes.saturating_sub(usage.bytes);
    }
}
