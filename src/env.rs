//! Clock and randomness, injected so that a run is repeatable.
//!
//! clippy bans the usual ways to read either; this file is the only exception.

use std::fmt;
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
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Creates a point in time from Unix seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns Unix milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns whole Unix seconds, rounded down, as in a JWT.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
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
    /// 256 unpredictable bits.
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
    #[must_use]
    pub fn system() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(OpensslEntropy))
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the source of randomness.
    #[must_use]
    pub fn entropy(&self) -> &dyn Entropy {
        self.entropy.as_ref()
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
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

impl Entropy for OpensslEntropy {
    fn bits256(&self) -> [u8; 32] {
        let mut bits = [0; 32];
        // OpenSSL fails only when the operating system provides no randomness. Continuing with
        // predictable values is worse than stopping, so the process aborts.
        if openssl::rand::rand_bytes(&mut bits).is_err() {
            // `eprintln!` would panic where standard error is closed, and a panic can be caught.
            let _unread = writeln!(
                std::io::stderr(),
                "passerelle: the operating system provides no randomness; aborting"
            );
            std::process::abort();
        }
        bits
    }
}
