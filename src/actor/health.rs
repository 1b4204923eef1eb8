//! How one identity provider is doing: what its calls and the hub's own probes came to, and whether it may be called.
//!
//! Owns: the window, the evidence, the circuit. Must not know: what is called, who asks, or how the others are doing: the
//! prober weighs that before it opens a circuit. Pure but for its locks; the time is passed in. One value belongs to one
//! file of a connector and outlives its actor. docs/identity-provider-health.md explains the rules.

mod blame;
mod circuit;
mod login_failures;
mod probe_record;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::blame::{Verdict, verdict};
pub use self::circuit::{Call, Cause, Condition, Standing};
use self::circuit::{Circuit, is_within};
use self::login_failures::{HALF_OPEN_QUORUM, LoginFailures, QUORUM};
use self::probe_record::ProbeRecord;
pub use self::probe_record::{Failing, ProbeOutcome};
use self::window::Window;
pub use self::window::{Quantiles, Tally};
use crate::client_network::ClientNetwork;
use crate::env::Timestamp;
use crate::protocol::catalogue::ErrorCode;

/// The most oddities of one identity provider that are told; what is beyond is only counted.
const ODDITIES: usize = 32;

/// A connector counts as in use for this long after a login used it.
pub const IN_USE: Duration = Duration::from_secs(300);
/// A connector that was in use when it failed stays in use for this long.
const IN_USE_WHILE_FAILING: Duration = Duration::from_secs(3600);
/// Between two probes of a token endpoint: after a failed one, of an open circuit, and on a new suspicion.
const CONFIRM_LOGIN_PROBE: Duration = Duration::from_secs(1);
const RECOVERY_LOGIN_PROBE: Duration = Duration::from_secs(10);
const SUSPICION_LOGIN_PROBE: Duration = Duration::from_secs(20);
/// How often the hub tries to learn what a working token endpoint answers to a made-up code.
const BASELINE_LOGIN_PROBE: Duration = Duration::from_secs(24 * 3600);

/// Cheap to read: a lock that is never held over anything.
#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
    /// Milliseconds: when a login last used it.
    used_at: AtomicU64,
    /// A call of a browser's failed for want of documents: they are probed at once.
    documents_suspected: AtomicBool,
    /// What was told of once already.
    odd: Mutex<BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    window: Window,
    login_failures: LoginFailures,
    documents: ProbeRecord,
    login_probe: ProbeRecord,
    /// The token endpoint has answered a made-up code as RFC 6749 §5.2 says, so that another answer means something.
    answers_made_up_codes: bool,
    /// Logins have failed since the last login probe.
    logins_suspected: bool,
    circuit: Circuit,
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
    /// What opened the circuit; `None` where it has not opened.
    pub cause: Option<Cause>,
    pub tally: Tally,
    /// How often each failure happened, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
}

/// What the evidence says of an identity provider, before that of others is weighed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// Since when its documents can't be had.
    pub failing_since: Option<Timestamp>,
    /// When it was last seen to work.
    pub alive_at: Option<Timestamp>,
    /// When its documents were last had.
    pub documents_at: Option<Timestamp>,
    /// Why its circuit should be open, and since when.
    pub condemned: Option<(Cause, Timestamp)>,
    pub is_open: bool,
}

impl Health {
    /// Leave to make a call; `None` while the circuit is open.
    pub fn admit(self: &Arc<Self>, call: Call, now: Timestamp) -> Option<Pass> {
        let state = self.state();
        let is_open = state.circuit.condition(now) == Condition::Open;
        (!is_open || call == Call::Warm).then(|| Pass {
            health: Arc::clone(self),
            call,
            epoch: state.circuit.epoch(),
        })
    }

    /// Whether [`Self::admit`] would refuse; takes nothing.
    #[must_use]
    pub fn refuses(&self, call: Call, now: Timestamp) -> bool {
        call != Call::Warm && self.state().circuit.condition(now) == Condition::Open
    }

    /// What the choice page says of it.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Standing {
        match self.state().circuit.condition(now) {
            Condition::Closed => Standing::Well,
            Condition::HalfOpen => Standing::OnTrial,
            Condition::Open => Standing::Failing,
        }
    }

    #[must_use]
    pub fn view(&self, now: Timestamp) -> View {
        let state = self.state();
        let (tally, latency) = (state.window.tally(now), state.window.latency(now));
        View {
            condition: state.circuit.condition(now),
            tally,
            latency,
            reasons: state.window.reasons(now),
        }
    }

    /// True the first time that `what` is told; never for more than a few things, for a stranger chooses them.
    pub fn is_news(&self, what: &str) -> bool {
        let mut odd = self.odd.lock().unwrap_or_else(PoisonError::into_inner);
        odd.len() < ODDITIES && odd.insert(what.to_owned())
    }

    /// Notes that a login uses, or wants to use, the connector.
    pub fn mark_used(&self, now: Timestamp) {
        self.used_at.fetch_max(now.millis(), Ordering::Relaxed);
    }

    /// When a login last used the connector; `None` if that is too long ago to count.
    #[must_use]
    pub fn in_use_since(&self, now: Timestamp) -> Option<Timestamp> {
        let used_at = self.used_at.load(Ordering::Relaxed);
        let failing_since = self.state().documents.failing.map(|failing| failing.since);
        let reference = failing_since
            .filter(|since| is_within(*since, IN_USE_WHILE_FAILING, now))
            .unwrap_or(now);
        let used_at = Timestamp::from_millis(used_at);
        (used_at > Timestamp::default() && reference.since(used_at) < IN_USE).then_some(used_at)
    }

    /// Whether a browser's call has failed for want of documents since this was last asked.
    pub fn take_documents_suspicion(&self) -> bool {
        self.documents_suspected.swap(false, Ordering::Relaxed)
    }

    /// Whether the token endpoint should be probed now: after failed logins, to see it recover, and once while it works.
    #[must_use]
    pub fn wants_login_probe(&self, now: Timestamp) -> bool {
        let state = self.state();
        let is_recent = |long| state.login_probe.is_recent(long, now);
        match state.circuit.cause() {
            Some(Cause::LoginProbe | Cause::Logins) => !is_recent(RECOVERY_LOGIN_PROBE),
            Some(Cause::Documents) => false,
            None if state.login_probe.failing.is_some() => !is_recent(CONFIRM_LOGIN_PROBE),
            None if state.logins_suspected => !is_recent(SUSPICION_LOGIN_PROBE),
            None => {
                !state.answers_made_up_codes
                    && state.login_failures.has_succeeded()
                    && !is_recent(BASELINE_LOGIN_PROBE)
            }
        }
    }

    #[must_use]
    pub fn evidence(&self, now: Timestamp) -> Evidence {
        let state = self.state();
        let State { documents, login_probe, .. } = *state;
        let condemning = |record: ProbeRecord, cause| {
            record.failing.filter(Failing::is_condemning).map(|failing| (cause, failing.since))
        };
        let quorum = match state.circuit.condition(now) {
            Condition::HalfOpen => HALF_OPEN_QUORUM,
            Condition::Closed | Condition::Open => QUORUM,
        };
        let successes = state.window.tally(now).login_successes;
        Evidence {
            failing_since: documents.failing.map(|failing| failing.since),
            alive_at: documents.succeeded_at.max(state.login_failures.succeeded_at()),
            documents_at: documents.succeeded_at,
            condemned: condemning(documents, Cause::Documents)
                .or_else(|| condemning(login_probe, Cause::LoginProbe))
                .or_else(|| {
                    state
                        .login_failures
                        .quorum(quorum, successes, now)
                        .map(|since| (Cause::Logins, since))
                }),
            is_open: state.circuit.condition(now) == Condition::Open,
        }
    }

    /// Opens the circuit.
    pub fn open(&self, cause: Cause, now: Timestamp) -> Option<Turn> {
        self.change(now, |state| {
            state.circuit.open(cause, now);
            state.login_failures.clear();
        })
    }

    /// Closes the circuit and keeps the evidence: what fails may be the hub's own way out.
    pub fn withhold(&self, now: Timestamp) -> Option<Turn> {
        self.change(now, |state| state.circuit.close())
    }

    /// Forgets every failure: they were the hub's own.
    pub fn forgive(&self) {
        let mut state = self.state();
        (state.documents.failing, state.login_probe.failing) = (None, None);
        state.login_failures.clear();
    }

    /// Records what a probe of the documents came to. `declared`: it says itself that it is unavailable.
    pub fn record_documents(
        &self,
        outcome: ProbeOutcome,
        declared: bool,
        took: Duration,
        now: Timestamp,
    ) -> Option<Turn> {
        self.change(now, |state| {
            state.documents.record(outcome, declared, now);
            match outcome {
                ProbeOutcome::Succeeded => {
                    state.window.record(now, Call::Probe, Ok(()), took);
                    state.close_if(Cause::Documents);
                }
                ProbeOutcome::Failed(code) => {
                    state.window.record(now, Call::Probe, Err(code), took)
                }
                ProbeOutcome::Inconclusive => {}
            }
        })
    }

    /// Records what a made-up code came to. A wrong answer counts only where a right one was seen before; where none was, it
    /// ends a run of probes without an answer.
    pub fn record_login_probe(
        &self,
        outcome: ProbeOutcome,
        took: Duration,
        now: Timestamp,
    ) -> Option<Turn> {
        self.change(now, |state| {
            state.logins_suspected = false;
            let outcome = match outcome {
                ProbeOutcome::Failed(code)
                    if !state.answers_made_up_codes && !is_no_answer(code) =>
                {
                    ProbeOutcome::Inconclusive
                }
                other => other,
            };
            state.login_probe.record(outcome, false, now);
            match outcome {
                ProbeOutcome::Succeeded => {
                    state.answers_made_up_codes = true;
                    state.close_if(Cause::LoginProbe);
                    state.circuit.half_open_after_login_probe(now);
                }
                ProbeOutcome::Inconclusive => {
                    // The endpoint answers again. Whether its answer is the right one only a login can show.
                    state.login_probe.failing = None;
                    state.circuit.half_open_after_login_probe(now);
                }
                ProbeOutcome::Failed(code) => {
                    state.window.record(now, Call::LoginProbe, Err(code), took)
                }
            }
        })
    }

    /// What the probes of the documents have found, for hubs that share a prober.
    #[must_use]
    pub fn documents_failing(&self) -> Option<Failing> {
        self.state().documents.failing
    }

    /// Takes over what another hub's prober has found.
    pub fn adopt_documents(
        &self,
        failing: Option<Failing>,
        alive_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Turn> {
        self.change(now, |state| {
            state.documents.failing = failing;
            if failing.is_none() {
                state.documents.succeeded_at = state.documents.succeeded_at.max(alive_at);
                state.close_if(Cause::Documents);
            }
        })
    }

    fn change(&self, now: Timestamp, act: impl FnOnce(&mut State)) -> Option<Turn> {
        let mut state = self.state();
        let before = state.circuit.condition(now);
        act(&mut state);
        let to = state.circuit.condition(now);
        if before == to {
            return None;
        }
        let turn = Turn {
            to,
            cause: state.circuit.cause(),
            tally: state.window.tally(now),
            reasons: state.window.reasons(now),
        };
        if to == Condition::Closed {
            state.window.forgive();
        }
        Some(turn)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close_if(&mut self, cause: Cause) {
        if self.circuit.cause() == Some(cause) {
            self.circuit.close();
            self.login_failures.clear();
            self.logins_suspected = false;
        }
    }

    fn login_succeeded(&mut self, now: Timestamp) {
        self.login_failures.record_success(now);
        // Its keys and its token endpoint have just served: no probe knows better.
        self.documents.failing = None;
        self.login_probe.failing = None;
        self.logins_suspected = false;
        if self.circuit.condition(now) == Condition::HalfOpen {
            self.circuit.close();
            self.login_failures.clear();
        }
    }
}

/// True where the connection or its answer failed to come at all, whatever was asked.
const fn is_no_answer(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::IdpUnreachable | ErrorCode::IdpTimeout)
}

/// One call that is out. Dropped, it counts for nothing.
pub struct Pass {
    health: Arc<Health>,
    call: Call,
    epoch: u64,
}

impl Pass {
    /// What the call came to, from which network it was caused, how long it took, and when that was. Returns the change of
    /// the circuit, for the caller to log.
    pub fn settle(
        self,
        outcome: Result<(), ErrorCode>,
        network: Option<ClientNetwork>,
        took: Duration,
        now: Timestamp,
    ) -> Option<Turn> {
        let (call, health, epoch) = (self.call, &self.health, self.epoch);
        match verdict(call, outcome) {
            Verdict::Well => health.change(now, |state| {
                state.window.record(now, call, Ok(()), took);
                // Asked before the last change: late good news is no proof that it works now.
                if call.is_a_login() && epoch == state.circuit.epoch() {
                    state.login_succeeded(now);
                }
            }),
            Verdict::Ill(code) if call.is_a_login() => health.change(now, |state| {
                let is_current = epoch == state.circuit.epoch();
                let is_new = network.is_none_or(|network| {
                    is_current && state.login_failures.record_failure(network, now)
                });
                state.logins_suspected |= is_current;
                if is_new {
                    state.window.record(now, call, Err(code), took);
                }
            }),
            Verdict::Ill(code) => {
                // Documents could not be had: that is for the hub's own probe to find.
                health.documents_suspected.store(true, Ordering::Relaxed);
                health.change(now, |state| {
                    if call == Call::Warm {
                        state.documents.record(ProbeOutcome::Failed(code), false, now);
                    }
                    state.window.record(now, call, Err(code), took);
                })
            }
            Verdict::Neither => None,
        }
    }
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Health")
    }
}
