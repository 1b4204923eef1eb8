//! Limits wrong passwords: a burst, then one per interval (NIST SP 800-63B §5.2.2).
//!
//! An attempt is counted before the password is verified, so that concurrent attempts can't bypass
//! the limit, and refunded if it is known not to be wrong. Counters are a fixed number of buckets
//! chosen by a keyed hash: memory is bounded, no name is stored, and an attacker can't find two
//! names that share one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};

/// Limiter of wrong passwords, by the generic cell rate algorithm.
pub(crate) struct PasswordAttempts {
    key: [u8; 32],
    burst: u32,
    interval: Duration,
    /// Theoretical arrival time of each bucket.
    arrival_times: Mutex<HashMap<u16, Timestamp>>,
}

impl PasswordAttempts {
    /// Allows `burst` wrong passwords at once, then one per `interval`.
    pub(crate) fn new(burst: u32, interval: Duration, env: &Env) -> Self {
        Self { key: env.entropy().bits256(), burst, interval, arrival_times: Mutex::default() }
    }

    /// Counts an attempt under `key`.
    ///
    /// # Errors
    /// Returns the time to wait if there were too many. The attempt is then not counted.
    pub(crate) fn count(&self, key: &str, now: Timestamp) -> Result<(), Duration> {
        let mut arrival_times = self.lock();
        let entry = arrival_times.entry(self.bucket(key)).or_default();
        let next = (*entry).max(now) + self.interval;
        let wait = next.since(now).saturating_sub(self.interval * self.burst);
        if wait.is_zero() {
            *entry = next;
            Ok(())
        } else {
            Err(wait)
        }
    }

    /// Returns how many more attempts are allowed at once.
    pub(crate) fn attempts_left(&self, key: &str, now: Timestamp) -> usize {
        let next = self.lock().get(&self.bucket(key)).copied().unwrap_or_default();
        let room = (self.interval * self.burst).saturating_sub(next.since(now));
        usize::try_from(room.as_millis() / self.interval.as_millis().max(1)).unwrap_or(usize::MAX)
    }

    /// Refunds a counted attempt.
    pub(crate) fn refund(&self, key: &str) {
        if let Some(entry) = self.lock().get_mut(&self.bucket(key)) {
            *entry = *entry - self.interval;
        }
    }

    fn bucket(&self, key: &str) -> u16 {
        let [high, low, ..] = digest::hmac(&self.key, key.as_bytes());
        // 65,536 buckets: with few, a flood of invented names would soon lock out everyone.
        u16::from_be_bytes([high, low])
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u16, Timestamp>> {
        self.arrival_times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use std::sync::Arc;

    const MINUTE: Duration = Duration::from_secs(60);

    fn attempts() -> PasswordAttempts {
        PasswordAttempts::new(
            3,
            MINUTE,
            &Env::new(Arc::new(ManualClock::default()), Arc::new(SeededEntropy::new(1))),
        )
    }

    #[test]
    fn a_burst_is_allowed_and_then_one_per_interval() {
        let (attempts, mut now) = (attempts(), Timestamp::from_seconds(1_000_000));
        for round in 0..3 {
            assert_eq!(attempts.attempts_left("ada", now), 3 - round);
            assert_eq!(attempts.count("ada", now), Ok(()), "{round}");
        }
        assert_eq!(attempts.attempts_left("ada", now), 0);
        for _ in 0..2 {
            assert_eq!(
                attempts.count("ada", now),
                Err(MINUTE),
                "a rejected attempt is not counted"
            );
        }
        assert_eq!(attempts.count("bob", now), Ok(()), "keys are independent");
        now = now + MINUTE / 2;
        assert_eq!(attempts.count("ada", now), Err(MINUTE / 2));
        now = now + MINUTE / 2;
        assert_eq!((attempts.count("ada", now), attempts.count("ada", now)), (Ok(()), Err(MINUTE)));
        now = now + MINUTE * 100;
        assert_eq!(
            (0..5).filter(|_| attempts.count("ada", now).is_ok()).count(),
            3,
            "waiting longer does not allow a larger burst"
        );
    }

    #[test]
    fn a_refunded_attempt_does_not_count() {
        let (attempts, now) = (attempts(), Timestamp::from_seconds(1_000_000));
        for _ in 0..100 {
            assert_eq!(attempts.count("ada", now), Ok(()));
            attempts.refund("ada");
        }
        assert_eq!((0..5).filter(|_| attempts.count("ada", now).is_ok()).count(), 3);
    }

    #[test]
    fn a_flood_of_invented_names_locks_out_almost_no_one() {
        let (attempts, now) = (attempts(), Timestamp::from_seconds(1_000_000));
        for name in 0..20_000 {
            let _counted = attempts.count(&format!("invented {name}"), now);
        }
        let locked =
            (0..1000).filter(|name| attempts.count(&format!("real {name}"), now).is_err()).count();
        assert!(locked < 20, "{locked} of 1000");
    }

    #[test]
    fn a_flood_of_names_uses_bounded_memory() {
        let (attempts, now) = (attempts(), Timestamp::from_seconds(1_000_000));
        for name in 0..2 * u32::from(u16::MAX) {
            let _counted = attempts.count(&name.to_string(), now);
        }
        assert!(attempts.lock().len() <= usize::from(u16::MAX) + 1);
    }
}
