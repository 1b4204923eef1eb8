//! Bounded in-memory map with expiry, for logins and sessions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use passerelle_protocol::env::Timestamp;

/// Map of entries with expiry. When it is full, the entry that expires first is removed.
pub(crate) struct SessionMap<V> {
    capacity: usize,
    entries: Mutex<HashMap<String, (Timestamp, V)>>,
}

impl<V: Clone> SessionMap<V> {
    /// Creates a map of at most `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default() }
    }

    /// Inserts an entry.
    pub(crate) fn insert(&self, key: String, value: V, expires_at: Timestamp, now: Timestamp) {
        let mut entries = self.lock();
        if entries.len() >= self.capacity {
            entries.retain(|_, (expires_at, _)| *expires_at > now);
        }
        if entries.len() >= self.capacity {
            let first = entries
                .iter()
                .min_by_key(|(_, (expires_at, _))| *expires_at)
                .map(|(key, _)| key.clone());
            first.map(|key| entries.remove(&key));
        }
        entries.insert(key, (expires_at, value));
    }

    /// Returns the entry, if it has not expired.
    pub(crate) fn load(&self, key: &str, now: Timestamp) -> Option<V> {
        self.lock()
            .get(key)
            .filter(|(expires_at, _)| *expires_at > now)
            .map(|(_, value)| value.clone())
    }

    /// Removes and returns the entry if it has not expired and `fits` accepts it. Only one caller
    /// gets it.
    pub(crate) fn take(
        &self,
        key: &str,
        now: Timestamp,
        fits: impl FnOnce(&V) -> bool,
    ) -> Option<V> {
        let mut entries = self.lock();
        entries.get(key).filter(|(expires_at, value)| *expires_at > now && fits(value))?;
        entries.remove(key).map(|(_, value)| value)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Timestamp, V)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_bounded_and_entries_expire() {
        let memory = SessionMap::new(2);
        let at = Timestamp::from_seconds;
        for (key, expires_at) in [("a", 10), ("b", 20), ("c", 30)] {
            memory.insert(key.into(), key, at(expires_at), at(0));
        }
        assert_eq!(
            (memory.load("a", at(1)), memory.load("b", at(1)), memory.load("b", at(20))),
            (None, Some("b"), None)
        );
        assert_eq!(memory.take("c", at(1), |_| false), None);
        assert_eq!(
            (memory.take("c", at(1), |_| true), memory.take("c", at(1), |_| true)),
            (Some("c"), None)
        );
    }
}
