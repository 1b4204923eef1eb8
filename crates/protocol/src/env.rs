//! Clock and randomness, injected so that a run is repeatable.
//!
//! clippy bans the usual ways to read either; this file is the only exception.

use std::cell::RefCell;
use std::io::Write as _;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest;

/// A point in time: milliseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a point in time from Unix milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Creates a point in time from Unix seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns Unix milliseconds.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns whole Unix seconds, rounded down, as in a JWT.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Source of randomness.
pub trait Entropy: Send + Sync {
    /// Returns 256 unpredictable bits.
    fn bits256(&self) -> [u8; 32];

    /// Returns 256 unpredictable bits as 43 base64url characters: for states, nonces, verifiers,
    /// codes, tokens, cookies.
    fn token(&self) -> String {
        digest::base64url(&self.bits256())
    }
}

/// A clock and a source of randomness, cheap to clone.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Env {
    /// Creates an environment.
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { clock, entropy }
    }

    /// Creates an environment with the machine's clock and OpenSSL's generator.
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(OpensslEntropy))
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the source of randomness.
    pub fn entropy(&self) -> &dyn Entropy {
        self.entropy.as_ref()
    }
}

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

struct OpensslEntropy;

/// Values that one call of OpenSSL provides: a login needs about ten, and a call costs as much as
/// several of them.
const VALUES_PER_DRAW: usize = 16;

/// Values that OpenSSL has provided and that are not used yet.
struct UnusedValues {
    values: [[u8; 32]; VALUES_PER_DRAW],
    /// Number of values that are left, at the beginning of `values`.
    left: usize,
}

thread_local! {
    static UNUSED_VALUES: RefCell<UnusedValues> =
        const { RefCell::new(UnusedValues { values: [[0; 32]; VALUES_PER_DRAW], left: 0 }) };
}

impl UnusedValues {
    /// Returns a value, and erases it here, so that it is neither returned twice nor found later.
    fn take(&mut self) -> [u8; 32] {
        loop {
            if let Some(last) = self.left.checked_sub(1)
                && let Some(value) = self.values.get_mut(last)
            {
                self.left = last;
                return std::mem::take(value);
            }
            Self::fill_random(self.values.as_flattened_mut());
            self.left = VALUES_PER_DRAW;
        }
    }

    fn fill_random(bytes: &mut [u8]) {
        // OpenSSL fails only when the operating system provides no randomness. Continuing with
        // predictable values is worse than stopping, so the process aborts.
        if openssl::rand::rand_bytes(bytes).is_err() {
            // `eprintln!` would panic where standard error is closed, and a panic can be caught.
            let _unread = writeln!(
                std::io::stderr(),
                "passerelle: the operating system provides no randomness; aborting"
            );
            std::process::abort();
        }
    }
}

impl Entropy for OpensslEntropy {
    fn bits256(&self) -> [u8; 32] {
        UNUSED_VALUES.with_borrow_mut(UnusedValues::take)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_value_is_returned_twice_or_stays_where_it_was_drawn() {
        let draw_many = || (0..1000).map(|_| OpensslEntropy.bits256()).collect::<Vec<_>>();
        let other_thread = std::thread::spawn(draw_many);
        let mut seen: HashSet<[u8; 32]> = HashSet::from([[0; 32]]);
        for value in draw_many().into_iter().chain(other_thread.join().unwrap()) {
            assert!(seen.insert(value), "repeated, or never drawn");
        }
        UNUSED_VALUES.with_borrow(|unused| {
            assert!(unused.values[unused.left..].iter().all(|value| *value == [0; 32]));
            assert!(unused.values[..unused.left].iter().all(|value| !seen.contains(value)));
        });
    }
}
