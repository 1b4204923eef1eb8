//! Limits failed client authentications and introspections of inactive tokens (RFC 6585 §4).
//!
//! Only failures are counted, and only failures are rejected. Otherwise anyone who knows a client's
//! id could lock it out by failing in its name, and invalid tokens sent to a data provider could
//! stop its introspections. Secrets and tokens are too long to guess at any rate; the limit slows
//! down broken clients.
//!
//! An unknown id is counted like a known one, so that the sequence of 401 and 429 does not reveal
//! which ids exist (R206). The number of tracked ids is bounded
//! ([`passerelle_quota::KeyedRateLimiter`]).

use std::num::NonZeroU32;
use std::sync::Arc;

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_quota::{KeyedRateLimiter, LimitKey, RateLimitError};
use passerelle_telemetry::Metrics;

/// Upper bound of tracked client ids; more than any federation has clients.
const MAX_TRACKED_CLIENTS: usize = 16_384;
const WINDOW_SECONDS: u32 = 60;

/// Failures allowed per client and minute.
#[derive(Clone, Copy, Debug)]
pub struct FailureLimits {
    pub failed_authentications: NonZeroU32,
    pub inactive_introspections: NonZeroU32,
}

/// Counts failures per client.
pub struct AuthFailureLimiter {
    allowed: FailureLimits,
    authentications: Arc<KeyedRateLimiter>,
    inactive: Arc<KeyedRateLimiter>,
}

impl AuthFailureLimiter {
    /// Creates a limiter without metrics.
    pub fn new(allowed: FailureLimits, env: &Env) -> Self {
        Self::build(allowed, |name| KeyedRateLimiter::new(name, MAX_TRACKED_CLIENTS, env))
    }

    /// Creates a limiter that counts rejected requests in the metrics.
    pub fn with_metrics(allowed: FailureLimits, env: &Env, metrics: &Arc<Metrics>) -> Self {
        Self::build(allowed, |name| {
            KeyedRateLimiter::new(name, MAX_TRACKED_CLIENTS, env).with_metrics(metrics)
        })
    }

    fn build(allowed: FailureLimits, limit: impl Fn(&'static str) -> KeyedRateLimiter) -> Self {
        Self {
            allowed,
            authentications: Arc::new(limit("authentication_by_client")),
            inactive: Arc::new(limit("introspection")),
        }
    }

    /// Returns both limiters, for exchanging counts with other hubs.
    pub fn limits(&self) -> [Arc<KeyedRateLimiter>; 2] {
        [Arc::clone(&self.authentications), Arc::clone(&self.inactive)]
    }

    /// Counts a failed authentication of the client that `claimed` names. Returns `code`, or
    /// `TooManyFailures` and the exceeded limit.
    pub fn count_failed_authentication(
        &self,
        claimed: Option<&ClientId>,
        code: ErrorCode,
    ) -> (ErrorCode, Option<RateLimitError>) {
        // A failure of the hub itself is not the client's.
        if code.entry().status != 401 {
            return (code, None);
        }
        let claimed = LimitKey::from_id(claimed.map_or("", ClientId::as_str));
        match self.authentications.take(claimed, self.allowed.failed_authentications) {
            Ok(()) => (code, None),
            Err(over) => (ErrorCode::TooManyFailures, Some(over)),
        }
    }

    /// Counts an introspection of an inactive token.
    ///
    /// # Errors
    /// The exceeded limit.
    pub fn count_inactive(&self, data_provider: &ClientId) -> Result<(), RateLimitError> {
        self.inactive
            .take(LimitKey::from_id(data_provider.as_str()), self.allowed.inactive_introspections)
    }

    /// Returns the seconds after which one more failure is allowed when no other hub counts: a
    /// lower bound for `Retry-After`.
    pub fn retry_after(&self) -> u32 {
        let lower_limit =
            self.allowed.failed_authentications.min(self.allowed.inactive_introspections);
        WINDOW_SECONDS.div_ceil(lower_limit.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::env::Timestamp;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use passerelle_quota::counter_sync::CounterSync;
    use passerelle_store::counters::Counters;
    use passerelle_store::testing::memory_counters::MemoryCounters;
    use std::time::Duration;

    fn limiter_after_failures(
        failed: u32,
        inactive: u32,
    ) -> (AuthFailureLimiter, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let count = |count| NonZeroU32::new(count).unwrap();
        (
            AuthFailureLimiter::new(
                FailureLimits {
                    failed_authentications: count(failed),
                    inactive_introspections: count(inactive),
                },
                &env,
            ),
            clock,
        )
    }

    #[test]
    fn failures_up_to_the_limit_and_then_one_for_each_wait() {
        let (limiter, clock) = limiter_after_failures(3, 600);
        let failed = |id: &str| {
            limiter.count_failed_authentication(Some(&id.into()), ErrorCode::ClientAuthentication).0
        };
        for round in 0..3 {
            assert_eq!(failed("sp"), ErrorCode::ClientAuthentication, "{round}");
        }
        assert_eq!(failed("sp"), ErrorCode::TooManyFailures);
        assert_eq!(
            failed("other"),
            ErrorCode::ClientAuthentication,
            "clients are counted separately"
        );
        assert_eq!(limiter.retry_after(), 20);
        for _ in 0..2 {
            clock.advance(Duration::from_secs(20) - Duration::from_millis(1));
            assert_eq!(failed("sp"), ErrorCode::TooManyFailures);
            clock.advance(Duration::from_millis(1));
            assert_eq!(
                failed("sp"),
                ErrorCode::ClientAuthentication,
                "rejected requests are not counted"
            );
        }
        clock.advance(Duration::from_secs(3600));
        assert_eq!((0..5).filter(|_| failed("sp") == ErrorCode::ClientAuthentication).count(), 3);
    }

    #[test]
    fn errors_of_the_hub_are_no_authentication_failures() {
        let (limiter, _) = limiter_after_failures(1, 1);
        for _ in 0..5 {
            let code = limiter.count_failed_authentication(None, ErrorCode::ClientKeysUnavailable);
            assert_eq!(code, (ErrorCode::ClientKeysUnavailable, None));
        }
        assert_eq!(
            limiter.count_failed_authentication(None, ErrorCode::ClientUnknown),
            (ErrorCode::ClientUnknown, None)
        );
        let (code, over) = limiter.count_failed_authentication(None, ErrorCode::ClientUnknown);
        assert_eq!(
            (code, over.map(RateLimitError::retry_after_seconds)),
            (ErrorCode::TooManyFailures, Some(60))
        );
        assert_eq!(limiter.count_inactive(&"".into()), Ok(()), "counted separately");
        assert_eq!(
            limiter.count_inactive(&"".into()).map_err(RateLimitError::retry_after_seconds),
            Err(60)
        );
    }

    /// A client that retries after one second would be rejected again and again.
    #[tokio::test]
    async fn counts_of_other_hubs_last_until_the_end_of_the_minute() {
        let counters: Arc<dyn Counters> = Arc::new(MemoryCounters::default());
        let hub = |seed| {
            let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_015)));
            let env = Env::new(clock as _, Arc::new(SeededEntropy::new(seed)));
            let count = |count| NonZeroU32::new(count).unwrap();
            let limiter = AuthFailureLimiter::new(
                FailureLimits {
                    failed_authentications: count(60),
                    inactive_introspections: count(600),
                },
                &env,
            );
            let sync = CounterSync::new(limiter.limits().to_vec(), Arc::clone(&counters), &env);
            (limiter, sync)
        };
        let ((one, reporting), (other, receiving)) = (hub(1), hub(2));
        let fails = |hub: &AuthFailureLimiter| {
            hub.count_failed_authentication(Some(&"sp".into()), ErrorCode::ClientUnknown).1
        };
        assert!((0..60).all(|_| fails(&one).is_none()) && fails(&other).is_none());
        reporting.sync_once().await;
        receiving.sync_once().await;
        assert_eq!(fails(&other).map(RateLimitError::retry_after_seconds), Some(45));
    }
}
