//! How many mistakes a client may make in a while (issue 4; RFC 6585, 4): failed authentications, and introspections that
//! find nothing.
//!
//! Owns: counting, and when a refusal becomes 429. Must not know: what a mistake is answered with otherwise.
//!
//! Only what fails is counted, and only what fails is turned away: whoever knows a client's id could otherwise lock it out
//! by failing in its name, and whoever sends rubbish to a data provider could blind it. Nothing is lost by that, for
//! secrets and tokens can't be guessed at any speed; what is won is that a broken client is told to slow down.
//!
//! An id that nobody has is counted as one that exists, so that no row of 401 and 429 tells the two apart (R206). Counters
//! are a fixed number of buckets, chosen by a keyed hash of the id: memory has a bound, and two ids that share one
//! share their mistakes' limit and nothing else.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::digest;
use crate::env::Env;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;

/// More than any federation has clients.
const BUCKETS: u16 = 4096;
const MINUTE: u32 = 60;

/// How many in a minute.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    pub failed_authentications: NonZeroU32,
    pub inactive_answers: NonZeroU32,
}

/// One for the program.
pub struct Mistakes {
    /// Nobody can find two ids that share a bucket.
    key: [u8; 32],
    allowed: Allowed,
    authentications: Limiter,
    inactive: Limiter,
}

type Limiter = RateLimiter<u16, HashMapStateStore<u16>, EnvClock, NoOpMiddleware<Duration>>;

impl Mistakes {
    #[must_use]
    pub fn new(allowed: Allowed, env: &Env) -> Self {
        let limiter = |count| RateLimiter::hashmap_with_clock(Quota::per_minute(count), EnvClock(env.clone()));
        Self {
            key: env.entropy().bits256(),
            authentications: limiter(allowed.failed_authentications),
            inactive: limiter(allowed.inactive_answers),
            allowed,
        }
    }

    /// Counts a failed authentication of whoever says to be `claimed`; `code` as long as there are not too many.
    #[must_use]
    pub fn authentication_failed(&self, claimed: Option<&ClientId>, code: ErrorCode) -> ErrorCode {
        // What the hub can't judge now is nobody's mistake.
        if code.entry().status != 401 {
            return code;
        }
        let claimed = claimed.map_or("", ClientId::as_str);
        if self.authentications.check_key(&self.bucket(claimed)).is_ok() { code } else { ErrorCode::TooManyMistakes }
    }

    /// Counts an introspection that found nothing.
    ///
    /// # Errors
    /// `TooManyMistakes`.
    pub fn found_nothing(&self, data_provider: &ClientId) -> Result<(), ErrorCode> {
        self.inactive.check_key(&self.bucket(data_provider.as_str())).map_err(|_| ErrorCode::TooManyMistakes)
    }

    /// Seconds after which one more mistake is counted with mercy: for `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> u32 {
        let fewest = self.allowed.failed_authentications.min(self.allowed.inactive_answers);
        MINUTE.div_ceil(fewest.get())
    }

    fn bucket(&self, id: &str) -> u16 {
        let [high, low, ..] = digest::hmac(&self.key, id.as_bytes()).unwrap_or_default();
        u16::from_be_bytes([high, low]) % BUCKETS
    }
}

impl std::fmt::Debug for Mistakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mistakes").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// The program's clock, as the limiter reads it: time since the epoch.
struct EnvClock(Env);

impl Clock for EnvClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now().millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy, Timestamp};
    use std::sync::Arc;

    fn mistakes(failed: u32, inactive: u32) -> (Mistakes, Arc<HandClock>) {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let count = |count| NonZeroU32::new(count).unwrap();
        (Mistakes::new(Allowed { failed_authentications: count(failed), inactive_answers: count(inactive) }, &env), clock)
    }

    #[test]
    fn as_many_as_allowed_and_then_one_for_each_wait() {
        let (mistakes, clock) = mistakes(3, 600);
        let failed = |id: &str| mistakes.authentication_failed(Some(&id.into()), ErrorCode::ClientAuthentication);
        for round in 0..3 {
            assert_eq!(failed("sp"), ErrorCode::ClientAuthentication, "{round}");
        }
        assert_eq!(failed("sp"), ErrorCode::TooManyMistakes);
        assert_eq!(failed("other"), ErrorCode::ClientAuthentication, "each for itself");
        assert_eq!(mistakes.retry_after(), 20);
        for _ in 0..2 {
            clock.advance(Duration::from_secs(20) - Duration::from_millis(1));
            assert_eq!(failed("sp"), ErrorCode::TooManyMistakes);
            clock.advance(Duration::from_millis(1));
            assert_eq!(failed("sp"), ErrorCode::ClientAuthentication, "what was turned away was not counted");
        }
        clock.advance(Duration::from_secs(3600));
        assert_eq!((0..5).filter(|_| failed("sp") == ErrorCode::ClientAuthentication).count(), 3);
    }

    #[test]
    fn what_the_hub_can_not_judge_is_no_mistake() {
        let (mistakes, _) = mistakes(1, 1);
        for _ in 0..5 {
            let code = mistakes.authentication_failed(None, ErrorCode::ClientKeysUnavailable);
            assert_eq!(code, ErrorCode::ClientKeysUnavailable);
        }
        assert_eq!(mistakes.authentication_failed(None, ErrorCode::ClientUnknown), ErrorCode::ClientUnknown);
        assert_eq!(mistakes.authentication_failed(None, ErrorCode::ClientUnknown), ErrorCode::TooManyMistakes);
        assert_eq!(mistakes.found_nothing(&"".into()), Ok(()), "counted apart");
        assert_eq!(mistakes.found_nothing(&"".into()), Err(ErrorCode::TooManyMistakes));
    }

    #[test]
    fn a_flood_of_ids_takes_no_memory_without_end() {
        let (mistakes, _) = mistakes(1, 1);
        for id in 0..3 * u32::from(BUCKETS) {
            let _counted = mistakes.authentication_failed(Some(&id.to_string().as_str().into()), ErrorCode::ClientUnknown);
        }
        assert!(mistakes.authentications.len() <= usize::from(BUCKETS));
        assert!(mistakes.authentications.len() > usize::from(BUCKETS) / 2, "and they are spread");
    }
}
