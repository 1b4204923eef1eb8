//! The circuit breaker: a server that has failed several times in a row is left alone for a while, so that logins
//! end at once instead of waiting for nothing, and it can get up again. The register's and the store's; an identity
//! provider has one of its own, which judges people's logins too.
//!
//! Owns: when a question may go out. Must not know: what is asked. Pure but for its lock; the time is passed in.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open the circuit.
pub const FAILURES: u32 = 5;
/// How long it stays open where nothing else is said; then one question tries.
pub const PAUSE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Closed,
    Open,
    /// One question is out; all others are spared.
    HalfOpen,
}

impl Condition {
    pub const LABELS: [&str; 3] =
        [Self::Closed.label(), Self::Open.label(), Self::HalfOpen.label()];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// Told of each change, from and to, in order.
pub type Listener = Box<dyn Fn(Condition, Condition) + Send + Sync>;

pub struct Breaker {
    state: Mutex<State>,
    pause: Duration,
    told: Listener,
}

#[derive(Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { since: Instant },
}

impl State {
    const fn condition(self) -> Condition {
        match self {
            Self::Closed { .. } => Condition::Closed,
            Self::Open { .. } => Condition::Open,
            Self::HalfOpen { .. } => Condition::HalfOpen,
        }
    }
}

impl Breaker {
    pub fn new(told: Listener) -> Self {
        Self::pausing(PAUSE, told)
    }

    /// One whose pause is not [`PAUSE`].
    pub fn pausing(pause: Duration, told: Listener) -> Self {
        Self { state: Mutex::new(State::Closed { failures: 0 }), pause, told }
    }

    pub fn condition(&self) -> Condition {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).condition()
    }

    /// Leave to ask, or `None` while the circuit is open.
    pub fn enter(&self, now: Instant) -> Option<Pass<'_>> {
        self.change(|state| match state {
            State::Closed { .. } => (state, Some(Errand::Ordinary)),
            State::Open { until } if now >= until => {
                (State::HalfOpen { since: now }, Some(Errand::Probe))
            }
            State::Open { .. } | State::HalfOpen { .. } => (state, None),
        })
        .map(|errand| Pass { breaker: self, errand, settled: false })
    }

    fn change<T>(&self, step: impl FnOnce(State) -> (State, T)) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.condition();
        let (after, outcome) = step(*state);
        *state = after;
        if before != after.condition() {
            // Under the lock, so that changes are told in the order in which they happened.
            (self.told)(before, after.condition());
        }
        outcome
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Errand {
    Ordinary,
    Probe,
}

/// One question that is out. Dropped without a word (its login was given up), it counts for nothing, and a probe
/// makes room for the next.
pub struct Pass<'b> {
    breaker: &'b Breaker,
    errand: Errand,
    settled: bool,
}

impl Pass<'_> {
    pub fn succeeded(mut self) {
        self.settled = true;
        let errand = self.errand;
        self.breaker.change(|state| match (state, errand) {
            (State::Closed { .. }, _) | (State::HalfOpen { .. }, Errand::Probe) => {
                (State::Closed { failures: 0 }, ())
            }
            // Asked before the circuit opened: late good news is no proof that the server is well now.
            (State::Open { .. } | State::HalfOpen { .. }, _) => (state, ()),
        });
    }

    pub fn failed(mut self, now: Instant) {
        self.settled = true;
        let (errand, until) = (self.errand, now + self.breaker.pause);
        self.breaker.change(|state| match (state, errand) {
            (State::Closed { failures }, _) if failures + 1 < FAILURES => {
                (State::Closed { failures: failures + 1 }, ())
            }
            (State::Closed { .. }, _) | (State::HalfOpen { .. }, Errand::Probe) => {
                (State::Open { until }, ())
            }
            (State::Open { .. } | State::HalfOpen { .. }, _) => (state, ()),
        });
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.settled || self.errand == Errand::Ordinary {
            return;
        }
        self.breaker.change(|state| match state {
            State::HalfOpen { since } => (State::Open { until: since }, ()),
            State::Closed { .. } | State::Open { .. } => (state, ()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Stage {
        breaker: Breaker,
        told: Arc<Mutex<Vec<(Condition, Condition)>>>,
        now: Instant,
    }

    impl Stage {
        fn new() -> Self {
            let told = Arc::new(Mutex::new(Vec::new()));
            let listener = Arc::clone(&told);
            let breaker =
                Breaker::new(Box::new(move |from, to| listener.lock().unwrap().push((from, to))));
            Self { breaker, told, now: Instant::now() }
        }

        fn fail(&self, times: u32) {
            for _ in 0..times {
                self.breaker.enter(self.now).unwrap().failed(self.now);
            }
        }

        fn told(&self) -> Vec<Condition> {
            self.told.lock().unwrap().iter().map(|(_, to)| *to).collect()
        }
    }

    #[tokio::test]
    async fn failures_in_a_row_open_it_and_one_success_between_them_does_not() {
        let stage = Stage::new();
        stage.fail(FAILURES - 1);
        stage.breaker.enter(stage.now).unwrap().succeeded();
        stage.fail(FAILURES - 1);
        assert!(stage.breaker.enter(stage.now).is_some() && stage.told().is_empty());
        stage.fail(1);
        assert!(stage.breaker.enter(stage.now).is_none());
        assert!(stage.breaker.enter(stage.now + PAUSE - Duration::from_millis(1)).is_none());
        assert_eq!(stage.told(), [Condition::Open], "told once");
    }

    #[tokio::test]
    async fn after_the_pause_one_question_tries_and_its_outcome_counts() {
        let mut stage = Stage::new();
        stage.fail(FAILURES);
        stage.now += PAUSE;
        let probe = stage.breaker.enter(stage.now).unwrap();
        assert!(stage.breaker.enter(stage.now).is_none(), "one at a time");
        probe.failed(stage.now);
        assert!(stage.breaker.enter(stage.now).is_none());
        stage.now += PAUSE;
        stage.breaker.enter(stage.now).unwrap().succeeded();
        stage.fail(FAILURES - 1);
        assert!(stage.breaker.enter(stage.now).is_some());
        use Condition::{Closed, HalfOpen, Open};
        assert_eq!(stage.told(), [Open, HalfOpen, Open, HalfOpen, Closed]);
    }

    #[tokio::test]
    async fn a_probe_whose_login_was_given_up_does_not_close_the_way_for_ever() {
        let mut stage = Stage::new();
        stage.fail(FAILURES);
        stage.now += PAUSE;
        drop(stage.breaker.enter(stage.now).unwrap());
        assert!(stage.breaker.enter(stage.now).is_some());
    }

    #[tokio::test]
    async fn what_was_asked_before_it_opened_changes_nothing_any_more() {
        let mut stage = Stage::new();
        let (early_good, early_bad) =
            (stage.breaker.enter(stage.now).unwrap(), stage.breaker.enter(stage.now).unwrap());
        stage.fail(FAILURES);
        early_good.succeeded();
        assert!(stage.breaker.enter(stage.now).is_none());
        stage.now += PAUSE;
        let probe = stage.breaker.enter(stage.now).unwrap();
        early_bad.failed(stage.now);
        probe.succeeded();
        assert!(stage.breaker.enter(stage.now).is_some());
    }
}
