//! How often a password may be guessed: some wrong ones at once, then one for each wait (NIST SP 800-63B, 5.2.2).
//!
//! Owns: counting. Must not know: who is counted.
//!
//! A try is counted before it is judged, so that many at once are no way around the count, and given back when it was no
//! mistake. Counters are a fixed number of buckets, chosen by a keyed hash: memory has a bound, no name is kept, and
//! nobody can find two names that share one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::digest;
use crate::env::{Env, Timestamp};

pub struct Tries {
    key: [u8; 32],
    at_once: u32,
    wait: Duration,
    /// When each bucket will be as if nothing had happened (the generic cell rate algorithm's arrival time).
    clear_at: Mutex<HashMap<u16, Timestamp>>,
}

impl Tries {
    pub fn new(at_once: u32, wait: Duration, env: &Env) -> Self {
        Self { key: env.entropy().bits256(), at_once, wait, clear_at: Mutex::default() }
    }

    /// Counts a try of `who`.
    ///
    /// # Errors
    /// There were too many: how long to wait. That try is not counted.
    pub fn count(&self, who: &str, now: Timestamp) -> Result<(), Duration> {
        let mut clear_at = self.clear_at();
        let entry = clear_at.entry(self.bucket(who)).or_default();
        let then = (*entry).max(now) + self.wait;
        let ahead = then.since(now).saturating_sub(self.wait * self.at_once);
        if ahead.is_zero() {
            *entry = then;
            Ok(())
        } else {
            Err(ahead)
        }
    }

    /// Gives a counted try back.
    pub fn forgive(&self, who: &str) {
        if let Some(entry) = self.clear_at().get_mut(&self.bucket(who)) {
            *entry = *entry - self.wait;
        }
    }

    fn bucket(&self, who: &str) -> u16 {
        let [high, low, ..] = digest::hmac(&self.key, who.as_bytes());
        // As many as two bytes tell apart: with few, a flood of made-up names would soon lock out everybody.
        u16::from_be_bytes([high, low])
    }

    fn clear_at(&self) -> MutexGuard<'_, HashMap<u16, Timestamp>> {
        self.clear_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};
    use std::sync::Arc;

    const MINUTE: Duration = Duration::from_secs(60);

    fn tries() -> Tries {
        Tries::new(
            3,
            MINUTE,
            &Env::new(Arc::new(HandClock::default()), Arc::new(SeededEntropy::new(1))),
        )
    }

    #[test]
    fn as_many_as_allowed_and_then_one_for_each_wait() {
        let (tries, mut now) = (tries(), Timestamp::from_seconds(1_000_000));
        for round in 0..3 {
            assert_eq!(tries.count("ada", now), Ok(()), "{round}");
        }
        for _ in 0..2 {
            assert_eq!(
                tries.count("ada", now),
                Err(MINUTE),
                "and what was turned away was not counted"
            );
        }
        assert_eq!(tries.count("bob", now), Ok(()), "each for itself");
        now = now + MINUTE / 2;
        assert_eq!(tries.count("ada", now), Err(MINUTE / 2));
        now = now + MINUTE / 2;
        assert_eq!((tries.count("ada", now), tries.count("ada", now)), (Ok(()), Err(MINUTE)));
        now = now + MINUTE * 100;
        assert_eq!(
            (0..5).filter(|_| tries.count("ada", now).is_ok()).count(),
            3,
            "patience earns no more than the start"
        );
    }

    #[test]
    fn a_try_that_was_no_mistake_is_given_back() {
        let (tries, now) = (tries(), Timestamp::from_seconds(1_000_000));
        for _ in 0..100 {
            assert_eq!(tries.count("ada", now), Ok(()));
            tries.forgive("ada");
        }
        assert_eq!((0..5).filter(|_| tries.count("ada", now).is_ok()).count(), 3);
    }

    #[test]
    fn a_flood_of_made_up_names_locks_hardly_anybody_out() {
        let (tries, now) = (tries(), Timestamp::from_seconds(1_000_000));
        for name in 0..20_000 {
            let _counted = tries.count(&format!("made up {name}"), now);
        }
        let locked =
            (0..1000).filter(|name| tries.count(&format!("real {name}"), now).is_err()).count();
        assert!(locked < 20, "{locked} of 1000");
    }

    #[test]
    fn a_flood_of_names_takes_no_memory_without_end() {
        let (tries, now) = (tries(), Timestamp::from_seconds(1_000_000));
        for name in 0..2 * u32::from(u16::MAX) {
            let _counted = tries.count(&name.to_string(), now);
        }
        assert!(tries.clear_at().len() <= usize::from(u16::MAX) + 1);
    }
}
