//! What the demo service provider remembers, in memory and bounded: sign-ins under way and finished ones.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::env::Timestamp;

/// Entries that expire; when full, the one that would expire first makes room: this is a demo, and nobody may fill it.
pub struct Memory<V> {
    capacity: usize,
    entries: Mutex<HashMap<String, (Timestamp, V)>>,
}

impl<V: Clone> Memory<V> {
    pub fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default() }
    }

    pub fn insert(&self, key: String, value: V, expires_at: Timestamp, now: Timestamp) {
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

    pub fn load(&self, key: &str, now: Timestamp) -> Option<V> {
        self.lock()
            .get(key)
            .filter(|(expires_at, _)| *expires_at > now)
            .map(|(_, value)| value.clone())
    }

    /// Removes the entry if it is live and `fits` says so; exactly one caller gets it.
    pub fn take(&self, key: &str, now: Timestamp, fits: impl FnOnce(&V) -> bool) -> Option<V> {
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
    fn memory_is_bounded_and_forgets() {
        let memory = Memory::new(2);
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
