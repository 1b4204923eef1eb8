//! Circuit breaker for the register, the Redis store and key devices: after several consecutive
//! failures, calls fail at once for a while. Identity providers have breakers of their own.
//!
//! Does no I/O and reads no clock: the time is passed in.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Consecutive failures that open the circuit.
pub const FAILURES_TO_OPEN: u32 = 5;
/// How long the circuit stays open before one trial call is allowed.
pub const DEFAULT_OPEN_TIME: Duration = Duration::from_secs(10);

/// State of a circuit, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    Closed,
    /// Trial calls decide whether it closes.
    HalfOpen,
    Open,
}

impl CircuitState {
    /// Labels of all states.
    pub const LABELS: [&str; 3] =
        [Self::Closed.label(), Self::Open.label(), Self::HalfOpen.label()];

    /// Returns the label of the state, for metrics and logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// Called at each state change, in order, with the old and the new state.
pub type StateChangeListener = Box<dyn Fn(CircuitState, CircuitState) + Send + Sync>;

/// Circuit breaker of one remote server.
pub struct CircuitBreaker {
    state: Mutex<State>,
    open_time: Duration,
    on_change: StateChangeListener,
}

#[derive(Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { since: Instant },
}

impl State {
    const fn circuit_state(self) -> CircuitState {
        match self {
            Self::Closed { .. } => CircuitState::Closed,
            Self::Open { .. } => CircuitState::Open,
            Self::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }
}

impl CircuitBreaker {
    /// Returns a closed breaker that stays open for [`DEFAULT_OPEN_TIME`].
    pub fn new(on_change: StateChangeListener) -> Self {
        Self::with_open_time(DEFAULT_OPEN_TIME, on_change)
    }

    /// Returns a closed breaker that stays open for `open_time`.
    pub fn with_open_time(open_time: Duration, on_change: StateChangeListener) -> Self {
        Self { state: Mutex::new(State::Closed { failures: 0 }), open_time, on_change }
    }

    /// Returns the current state.
    pub fn state(&self) -> CircuitState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).circuit_state()
    }

    /// Returns a permit for one call, or `None` while the circuit is open.
    pub fn try_acquire(&self, now: Instant) -> Option<BreakerPermit<'_>> {
        self.transition(|state| match state {
            State::Closed { .. } => (state, Some(PermitKind::Regular)),
            State::Open { until } if now >= until => {
                (State::HalfOpen { since: now }, Some(PermitKind::Trial))
            }
            State::Open { .. } | State::HalfOpen { .. } => (state, None),
        })
        .map(|kind| BreakerPermit { breaker: self, kind, is_recorded: false })
    }

    fn transition<T>(&self, step: impl FnOnce(State) -> (State, T)) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.circuit_state();
        let (after, outcome) = step(*state);
        *state = after;
        if before != after.circuit_state() {
            // Under the lock, so that the listener sees changes in order.
            (self.on_change)(before, after.circuit_state());
        }
        outcome
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PermitKind {
    Regular,
    Trial,
}

/// Permit for one call. If it is dropped without an outcome (the login was abandoned), nothing is
/// counted, and another trial call is allowed.
pub struct BreakerPermit<'b> {
    breaker: &'b CircuitBreaker,
    kind: PermitKind,
    is_recorded: bool,
}

impl BreakerPermit<'_> {
    /// Records a successful call.
    pub fn record_success(mut self) {
        self.is_recorded = true;
        let kind = self.kind;
        self.breaker.transition(|state| match (state, kind) {
            (State::Closed { .. }, _) | (State::HalfOpen { .. }, PermitKind::Trial) => {
                (State::Closed { failures: 0 }, ())
            }
            // A call started before the circuit opened does not prove that the server works now.
            (State::Open { .. } | State::HalfOpen { .. }, _) => (state, ()),
        });
    }

    /// Records a failed call.
    pub fn record_failure(mut self, now: Instant) {
        self.is_recorded = true;
        let (kind, until) = (self.kind, now + self.breaker.open_time);
        self.breaker.transition(|state| match (state, kind) {
            (State::Closed { failures }, _) if failures + 1 < FAILURES_TO_OPEN => {
                (State::Closed { failures: failures + 1 }, ())
            }
            (State::Closed { .. }, _) | (State::HalfOpen { .. }, PermitKind::Trial) => {
                (State::Open { until }, ())
            }
            (State::Open { .. } | State::HalfOpen { .. }, _) => (state, ()),
        });
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if self.is_recorded || self.kind == PermitKind::Regular {
            return;
        }
        self.breaker.transition(|state| match state {
            State::HalfOpen { since } => (State::Open { until: since }, ()),
            State::Closed { .. } | State::Open { .. } => (state, ()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Fixture {
        breaker: CircuitBreaker,
        changes: Arc<Mutex<Vec<(CircuitState, CircuitState)>>>,
        now: Instant,
    }

    impl Fixture {
        fn new() -> Self {
            let changes = Arc::new(Mutex::new(Vec::new()));
            let listener = Arc::clone(&changes);
            let breaker = CircuitBreaker::new(Box::new(move |from, to| {
                listener.lock().unwrap().push((from, to))
            }));
            Self { breaker, changes, now: Instant::now() }
        }

        fn fail(&self, times: u32) {
            for _ in 0..times {
                self.breaker.try_acquire(self.now).unwrap().record_failure(self.now);
            }
        }

        fn changes(&self) -> Vec<CircuitState> {
            self.changes.lock().unwrap().iter().map(|(_, to)| *to).collect()
        }
    }

    #[tokio::test]
    async fn consecutive_failures_open_it_and_a_success_between_them_resets_the_count() {
        let fixture = Fixture::new();
        fixture.fail(FAILURES_TO_OPEN - 1);
        fixture.breaker.try_acquire(fixture.now).unwrap().record_success();
        fixture.fail(FAILURES_TO_OPEN - 1);
        assert!(fixture.breaker.try_acquire(fixture.now).is_some() && fixture.changes().is_empty());
        fixture.fail(1);
        assert!(fixture.breaker.try_acquire(fixture.now).is_none());
        assert!(
            fixture
                .breaker
                .try_acquire(fixture.now + DEFAULT_OPEN_TIME - Duration::from_millis(1))
                .is_none()
        );
        assert_eq!(fixture.changes(), [CircuitState::Open], "reported once");
    }

    #[tokio::test]
    async fn after_the_open_time_one_trial_call_is_allowed_and_its_outcome_counts() {
        let mut fixture = Fixture::new();
        fixture.fail(FAILURES_TO_OPEN);
        fixture.now += DEFAULT_OPEN_TIME;
        let probe = fixture.breaker.try_acquire(fixture.now).unwrap();
        assert!(fixture.breaker.try_acquire(fixture.now).is_none(), "one trial call at a time");
        probe.record_failure(fixture.now);
        assert!(fixture.breaker.try_acquire(fixture.now).is_none());
        fixture.now += DEFAULT_OPEN_TIME;
        fixture.breaker.try_acquire(fixture.now).unwrap().record_success();
        fixture.fail(FAILURES_TO_OPEN - 1);
        assert!(fixture.breaker.try_acquire(fixture.now).is_some());
        use CircuitState::{Closed, HalfOpen, Open};
        assert_eq!(fixture.changes(), [Open, HalfOpen, Open, HalfOpen, Closed]);
    }

    #[tokio::test]
    async fn a_dropped_trial_permit_allows_another_trial_call() {
        let mut fixture = Fixture::new();
        fixture.fail(FAILURES_TO_OPEN);
        fixture.now += DEFAULT_OPEN_TIME;
        drop(fixture.breaker.try_acquire(fixture.now).unwrap());
        assert!(fixture.breaker.try_acquire(fixture.now).is_some());
    }

    #[tokio::test]
    async fn the_outcome_of_a_call_started_before_it_opened_is_ignored() {
        let mut fixture = Fixture::new();
        let (early_good, early_bad) = (
            fixture.breaker.try_acquire(fixture.now).unwrap(),
            fixture.breaker.try_acquire(fixture.now).unwrap(),
        );
        fixture.fail(FAILURES_TO_OPEN);
        early_good.record_success();
        assert!(fixture.breaker.try_acquire(fixture.now).is_none());
        fixture.now += DEFAULT_OPEN_TIME;
        let probe = fixture.breaker.try_acquire(fixture.now).unwrap();
        early_bad.record_failure(fixture.now);
        probe.record_success();
        assert!(fixture.breaker.try_acquire(fixture.now).is_some());
    }
}
