//! How one identity provider is doing: what its calls came to in the last minute, and whether it may be called at all.
//!
//! Owns: the window, the circuit, and what they make of an outcome. Must not know: what is called, or who asks. Pure but
//! for its lock; the time is passed in. One value belongs to one file of a connector and outlives its actor.
//!
//! ```text
//! admit ─▶ Pass ─▶ settle(outcome) ─▶ blame: the identity provider's, or somebody's else? ─▶ window, breaker ─▶ Turn
//! ```

mod blame;
mod breaker;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::blame::{Verdict, verdict};
use self::breaker::{Breaker, Leave};
pub use self::breaker::{Call, Condition, PROBE_LIMIT, Standing};
use self::window::Window;
pub use self::window::{Quantiles, Tally};
use crate::env::Timestamp;
use crate::protocol::catalogue::ErrorCode;

/// The most oddities of one identity provider that are told; what is beyond is only counted.
const ODDITIES: usize = 32;

/// Cheap to read: a lock that is never held over anything.
#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
    /// What was told of once already.
    odd: Mutex<BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    window: Window,
    breaker: Breaker,
}

/// What an operator may want to see of it.
#[derive(Clone, Debug)]
pub struct View {
    pub condition: Condition,
    pub tally: Tally,
    /// `None` where nothing was called in the last minute.
    pub latency: Option<Quantiles>,
    /// Why calls failed, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
}

/// A change of the circuit, with what led to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    pub to: Condition,
    pub tally: Tally,
    /// How often each failure happened, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
    /// Until the next try, where the circuit has opened.
    pub pause: Option<Duration>,
}

impl Health {
    /// Leave to make a call; `None` while the circuit is open, or its trials are out.
    pub fn admit(self: &Arc<Self>, call: Call, now: Timestamp) -> Option<Pass> {
        let leave = self.state().breaker.admit(call, now)?;
        Some(Pass { health: Arc::clone(self), call, leave, settled: false })
    }

    /// Whether [`Self::admit`] would refuse; takes nothing.
    #[must_use]
    pub fn refuses(&self, call: Call, now: Timestamp) -> bool {
        let mut breaker = self.state().breaker;
        breaker.admit(call, now).is_none()
    }

    /// What the choice page says of it.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Standing {
        self.state().breaker.standing(now)
    }

    /// How long until it should be asked whether it is back; `None` unless the circuit is open.
    #[must_use]
    pub fn probe_in(&self, now: Timestamp) -> Option<Duration> {
        self.state().breaker.probe_in(now)
    }

    #[must_use]
    pub fn view(&self, now: Timestamp) -> View {
        let state = self.state();
        let (tally, latency) = (state.window.tally(now), state.window.latency(now));
        View { condition: state.breaker.condition(now), tally, latency, reasons: state.window.reasons(now) }
    }

    /// True the first time that `what` is told; never for more than a few things, for a stranger chooses them.
    pub fn is_news(&self, what: &str) -> bool {
        let mut odd = self.odd.lock().unwrap_or_else(PoisonError::into_inner);
        odd.len() < ODDITIES && odd.insert(what.to_owned())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call that is out. Dropped without a word (it was given up), it counts for nothing and makes room for the next.
pub struct Pass {
    health: Arc<Health>,
    call: Call,
    leave: Leave,
    settled: bool,
}

impl Pass {
    /// What the call came to, how long it took, and when that was. A change of the circuit is for the caller to tell.
    pub fn settle(mut self, outcome: Result<(), ErrorCode>, took: Duration, now: Timestamp) -> Option<Turn> {
        self.settled = true;
        let mut state = self.health.state();
        let before = state.breaker.condition(now);
        let verdict = verdict(self.call, outcome);
        match verdict {
            Verdict::Well => state.window.record(now, self.call, Ok(()), took),
            Verdict::Ill(code) => state.window.record(now, self.call, Err(code), took),
            Verdict::Neither => {}
        }
        let tally = state.window.tally(now);
        // Counted before a closing circuit makes the window forget.
        let reasons = state.window.reasons(now);
        match verdict {
            Verdict::Well => state.breaker.succeeded(self.leave, self.call, now),
            Verdict::Ill(_) => state.breaker.failed(self.leave, self.call, tally, now),
            Verdict::Neither => state.breaker.returned(self.leave),
        }
        let to = state.breaker.condition(now);
        if to == Condition::Closed && before != to {
            state.window.forgive();
        }
        (before != to).then(|| Turn { to, tally, reasons, pause: state.breaker.pause() })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.settled {
            self.health.state().breaker.returned(self.leave);
        }
    }
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Health")
    }
}
