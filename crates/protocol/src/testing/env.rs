//! A clock that a test moves, and repeatable randomness.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::digest;
use crate::env::{Clock, Entropy, Timestamp};

/// A clock that only moves when a test moves it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Creates a clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.millis()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Moves the clock back, as when a machine's clock is corrected.
    pub fn set_back(&self, by: Duration) {
        self.0.fetch_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A repeatable pseudorandom sequence, for tests.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<[u8; 32]>);

impl SeededEntropy {
    /// Creates a sequence from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(digest::sha256(&seed.to_be_bytes())))
    }
}

impl Entropy for SeededEntropy {
    fn bits256(&self) -> [u8; 32] {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = digest::sha256(state.as_slice());
        digest::sha256(state.as_slice())
    }
}
