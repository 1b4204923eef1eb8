//! How many mistakes a client may make in a while (issue 4; RFC 6585, 4): failed authentications, and introspections that
//! find nothing.
//!
//! Owns: counting, and when a refusal becomes 429. Must not know: what a mistake is answered with otherwise.
//!
//! Only what fails is counted, and only what fails is turned away: whoever knows a client's id could otherwise lock it out
//! by failing in its name, and whoever sends rubbish to a data provider could blind it. Nothing is lost by that, for
//! secrets and tokens can't be guessed at any speed; what is won is that a broken client is told to slow down.
//!
//! An id that nobody has is counted as one that exists, so that no row of 401 and 429 tells the two apart (R206). So many ids
//! are known at once and no more ([`crate::quota::Limit`]): memory has a bound, and a flood of ids makes nobody forgotten
//! who has made too many mistakes.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::env::Env;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::quota::{Limit, Over, Subject};
use crate::telemetry::Metrics;

/// More than any federation has clients.
const CLIENTS: usize = 16_384;
const MINUTE: u32 = 60;

/// How many in a minute.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    pub failed_authentications: NonZeroU32,
    pub inactive_answers: NonZeroU32,
}

/// One for the program.
#[derive(Debug)]
pub struct Mistakes {
    allowed: Allowed,
    authentications: Arc<Limit>,
    inactive: Arc<Limit>,
}

impl Mistakes {
    #[must_use]
    pub fn new(allowed: Allowed, env: &Env) -> Self {
        Self::of(allowed, |name| Limit::new(name, CLIENTS, env))
    }

    /// With what is turned away counted.
    #[must_use]
    pub fn counted(allowed: Allowed, env: &Env, metrics: &Arc<Metrics>) -> Self {
        Self::of(allowed, |name| Limit::new(name, CLIENTS, env).counted(metrics))
    }

    fn of(allowed: Allowed, limit: impl Fn(&'static str) -> Limit) -> Self {
        Self {
            allowed,
            authentications: Arc::new(limit("authentication_by_client")),
            inactive: Arc::new(limit("introspection")),
        }
    }

    /// Both limits, for what hubs tell each other.
    #[must_use]
    pub fn limits(&self) -> [Arc<Limit>; 2] {
        [Arc::clone(&self.authentications), Arc::clone(&self.inactive)]
    }

    /// Counts a failed authentication of whoever says to be `claimed`; `code` as long as there are not too many, and until when
    /// there are.
    #[must_use]
    pub fn authentication_failed(
        &self,
        claimed: Option<&ClientId>,
        code: ErrorCode,
    ) -> (ErrorCode, Option<Over>) {
        // What the hub can't judge now is nobody's mistake.
        if code.entry().status != 401 {
            return (code, None);
        }
        let claimed = Subject::named(claimed.map_or("", ClientId::as_str));
        match self.authentications.take(claimed, self.allowed.failed_authentications) {
            Ok(()) => (code, None),
            Err(over) => (ErrorCode::TooManyMistakes, Some(over)),
        }
    }

    /// Counts an introspection that found nothing.
    ///
    /// # Errors
    /// Too many.
    pub fn found_nothing(&self, data_provider: &ClientId) -> Result<(), Over> {
        self.inactive.take(Subject::named(data_provider.as_str()), self.allowed.inactive_answers)
    }

    /// Seconds after which one more mistake is counted with mercy, where no other hub counts: for `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> u32 {
        let fewest = self.allowed.failed_authentications.min(self.allowed.inactive_answers);
        MINUTE.div_ceil(fewest.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy, Timestamp};
    use crate::quota::exchange::Exchange;
    use crate::store::counters::{Counters, MemoryCounters};
    use std::time::Duration;

    fn mistakes(failed: u32, inactive: u32) -> (Mistakes, Arc<HandClock>) {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let count = |count| NonZeroU32::new(count).unwrap();
        (
            Mistakes::new(
                Allowed {
                    failed_authentications: count(failed),
                    inactive_answers: count(inactive),
                },
                &env,
            ),
            clock,
        )
    }

    #[test]
    fn as_many_as_allowed_and_then_one_for_each_wait() {
        let (mistakes, clock) = mistakes(3, 600);
        let failed = |id: &str| {
            mistakes.authentication_failed(Some(&id.into()), ErrorCode::ClientAuthentication).0
        };
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
            assert_eq!(
                failed("sp"),
                ErrorCode::ClientAuthentication,
                "what was turned away was not counted"
            );
        }
        clock.advance(Duration::from_secs(3600));
        assert_eq!((0..5).filter(|_| failed("sp") == ErrorCode::ClientAuthentication).count(), 3);
    }

    #[test]
    fn what_the_hub_can_not_judge_is_no_mistake() {
        let (mistakes, _) = mistakes(1, 1);
        for _ in 0..5 {
            let code = mistakes.authentication_failed(None, ErrorCode::ClientKeysUnavailable);
            assert_eq!(code, (ErrorCode::ClientKeysUnavailable, None));
        }
        assert_eq!(
            mistakes.authentication_failed(None, ErrorCode::ClientUnknown),
            (ErrorCode::ClientUnknown, None)
        );
        let (code, over) = mistakes.authentication_failed(None, ErrorCode::ClientUnknown);
        assert_eq!((code, over.map(Over::retry_after)), (ErrorCode::TooManyMistakes, Some(60)));
        assert_eq!(mistakes.found_nothing(&"".into()), Ok(()), "counted apart");
        assert_eq!(mistakes.found_nothing(&"".into()).map_err(Over::retry_after), Err(60));
    }

    /// Whoever came back after a second, as told, would be turned away again, and again.
    #[tokio::test]
    async fn what_other_hubs_have_counted_is_waited_for_to_the_minutes_end() {
        let counters: Arc<dyn Counters> = Arc::new(MemoryCounters::default());
        let hub = |seed| {
            let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_800_000_015)));
            let env = Env::new(clock as _, Arc::new(SeededEntropy::new(seed)));
            let count = |count| NonZeroU32::new(count).unwrap();
            let mistakes = Mistakes::new(
                Allowed { failed_authentications: count(60), inactive_answers: count(600) },
                &env,
            );
            let exchange = Exchange::new(mistakes.limits().to_vec(), Arc::clone(&counters), &env);
            (mistakes, exchange)
        };
        let ((one, tells), (other, hears)) = (hub(1), hub(2));
        let fails = |hub: &Mistakes| {
            hub.authentication_failed(Some(&"sp".into()), ErrorCode::ClientUnknown).1
        };
        assert!((0..60).all(|_| fails(&one).is_none()) && fails(&other).is_none());
        tells.now().await;
        hears.now().await;
        assert_eq!(fails(&other).map(Over::retry_after), Some(45));
    }
}
