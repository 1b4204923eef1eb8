//! Tracks the health of one identity provider: the outcomes of its calls and of the hub's probes,
//! and whether it may be called.
//!
//! Responsible for the call window, the evidence and the circuit. Does not depend on what is
//! called, or how other identity providers are doing: the prober compares them before it opens a
//! circuit. Pure except for its locks; the time is a parameter. One value belongs to one connector
//! file and outlives its actor. docs/identity-provider-health.md explains the rules.

mod attribution;
mod call_permit;
mod call_window;
mod circuit;
mod login_failures;
mod probe_record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::attribution::{Attribution, attribute_outcome, pause_after_failed_probe};
pub use self::call_permit::CallPermit;
use self::call_window::CallWindow;
pub use self::call_window::{Quantiles, Tally};
pub use self::circuit::{CallKind, OpenCause};
use self::circuit::{Circuit, is_within};
use self::login_failures::{FAILURE_QUORUM, HALF_OPEN_FAILURE_QUORUM, LoginFailures};
use self::probe_record::ProbeRecord;
pub use self::probe_record::{ProbeFailures, ProbeOutcome};
use passerelle_connector::dropped_claims::DroppedClaims;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// Maximum number of anomalies of one identity provider that are logged; more are only counted.
const MAX_LOGGED_ANOMALIES: usize = 32;

/// How long a connector counts as in use after a login used it.
pub const IN_USE_PERIOD: Duration = Duration::from_secs(300);
/// How long a connector that was in use when it failed stays in use.
const IN_USE_PERIOD_WHILE_FAILING: Duration = Duration::from_secs(3600);
/// Health of one identity provider. Its lock is never held across an await.
#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
    /// When a login last used it, in milliseconds.
    used_at: AtomicU64,
    /// Whether a login's call failed for lack of documents, so that they are probed at once.
    documents_suspected: AtomicBool,
    /// Whether an operator asks for a probe at once.
    probe_requested: AtomicBool,
    /// Anomalies that have been logged.
    logged_anomalies: Mutex<BTreeSet<String>>,
    dropped_claims: DroppedClaims,
}

#[derive(Default)]
struct State {
    window: CallWindow,
    login_failures: LoginFailures,
    documents: ProbeRecord,
    circuit: Circuit,
}

/// Health as an operator sees it.
#[derive(Clone, Debug)]
pub struct HealthView {
    pub circuit: CircuitState,
    pub tally: Tally,
    /// `None` without calls in the last minute.
    pub latency: Option<Quantiles>,
    /// Why calls failed, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
    /// Probes of the documents that have failed since the last one that succeeded.
    pub documents_failing: Option<ProbeFailures>,
}

/// A change of the circuit, with its cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CircuitTransition {
    pub to: CircuitState,
    /// What opened the circuit; `None` if it was not opened.
    pub cause: Option<OpenCause>,
    pub tally: Tally,
    /// How often each failure happened, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
}

/// Evidence about an identity provider, before it is compared with that of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HealthEvidence {
    /// Since when its documents can't be fetched.
    pub failing_since: Option<Timestamp>,
    /// When it last worked.
    pub alive_at: Option<Timestamp>,
    /// When its documents were last fetched.
    pub documents_at: Option<Timestamp>,
    /// Why its circuit should be open, and since when.
    pub open_cause: Option<(OpenCause, Timestamp)>,
    pub is_open: bool,
}

impl Health {
    /// Permits a call; `None` while the circuit is open.
    pub fn admit(self: &Arc<Self>, call: CallKind, now: Timestamp) -> Option<CallPermit> {
        let state = self.state();
        let is_open = state.circuit.state(now) == CircuitState::Open;
        (!is_open || call == CallKind::Preload).then(|| CallPermit {
            health: Arc::clone(self),
            call,
            epoch: state.circuit.epoch(),
        })
    }

    /// Returns whether [`Self::admit`] would refuse the call.
    #[must_use]
    pub fn would_refuse(&self, call: CallKind, now: Timestamp) -> bool {
        call != CallKind::Preload && self.circuit_state(now) == CircuitState::Open
    }

    /// Returns the state of the circuit.
    #[must_use]
    pub fn circuit_state(&self, now: Timestamp) -> CircuitState {
        self.state().circuit.state(now)
    }

    /// Returns the health for an operator.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> HealthView {
        let state = self.state();
        let (tally, latency) = (state.window.tally(now), state.window.latency(now));
        HealthView {
            circuit: state.circuit.state(now),
            tally,
            latency,
            reasons: state.window.reasons(now),
            documents_failing: state.documents.failing,
        }
    }

    /// Returns whether `what` was not reported before. The set is bounded, because users of the
    /// identity provider can choose the values.
    pub fn is_new_anomaly(&self, what: &str) -> bool {
        let mut reported = self.logged_anomalies.lock().unwrap_or_else(PoisonError::into_inner);
        reported.len() < MAX_LOGGED_ANOMALIES && reported.insert(what.to_owned())
    }

    /// Returns the malformed claims that logins left out.
    #[must_use]
    pub const fn dropped_claims(&self) -> &DroppedClaims {
        &self.dropped_claims
    }

    /// Records that a login uses, or wants to use, the connector.
    pub fn mark_used(&self, now: Timestamp) {
        self.used_at.fetch_max(now.millis(), Ordering::Relaxed);
    }

    /// Returns when a login last used the connector; `None` if that is too long ago to count.
    #[must_use]
    pub fn last_used_at(&self, now: Timestamp) -> Option<Timestamp> {
        let used_at = self.used_at.load(Ordering::Relaxed);
        let failing_since = self.state().documents.failing.map(|failing| failing.since);
        let reference = failing_since
            .filter(|since| is_within(*since, IN_USE_PERIOD_WHILE_FAILING, now))
            .unwrap_or(now);
        let used_at = Timestamp::from_millis(used_at);
        (used_at > Timestamp::default() && reference.since(used_at) < IN_USE_PERIOD)
            .then_some(used_at)
    }

    /// Asks for a probe at once, if the last one failed.
    pub fn request_probe_if_failing(&self) {
        if self.state().documents.failing.is_some() {
            self.probe_requested.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a probe was requested since the last call of this function.
    pub fn take_probe_request(&self) -> bool {
        self.probe_requested.swap(false, Ordering::Relaxed)
    }

    /// Returns whether a login's call lacked documents since the last call of this function.
    pub fn take_documents_suspicion(&self) -> bool {
        self.documents_suspected.swap(false, Ordering::Relaxed)
    }

    /// Returns the evidence for the prober.
    #[must_use]
    pub fn evidence(&self, now: Timestamp) -> HealthEvidence {
        let state = self.state();
        let State { documents, .. } = *state;
        let documents_fail = documents.failing.filter(ProbeFailures::reaches_threshold);
        let quorum = match state.circuit.state(now) {
            CircuitState::HalfOpen => HALF_OPEN_FAILURE_QUORUM,
            CircuitState::Closed | CircuitState::Open => FAILURE_QUORUM,
        };
        let successes = state.window.tally(now).login_successes;
        HealthEvidence {
            failing_since: documents.failing.map(|failing| failing.since),
            alive_at: documents.succeeded_at.max(state.login_failures.succeeded_at()),
            documents_at: documents.succeeded_at,
            open_cause: documents_fail
                .map(|failing| (OpenCause::Documents, failing.since))
                .or_else(|| {
                    state
                        .login_failures
                        .quorum_since(quorum, successes, now)
                        .map(|since| (OpenCause::Logins, since))
                }),
            is_open: state.circuit.state(now) == CircuitState::Open,
        }
    }

    /// Opens the circuit and forgets the failures.
    pub fn open_circuit(&self, cause: OpenCause, now: Timestamp) -> Option<CircuitTransition> {
        self.update(now, |state| {
            state.circuit.open(cause, now);
            state.login_failures.clear();
        })
    }

    /// Half-opens the circuit if failed logins opened it, its minimum time is over and no probe of
    /// the documents fails.
    pub fn half_open_if_due(&self, now: Timestamp) -> Option<CircuitTransition> {
        self.update(now, |state| {
            if state.documents.failing.is_none() {
                state.circuit.half_open_after_minimum_time(now);
            }
        })
    }

    /// Closes the circuit and keeps the evidence: the fault may be the hub's own network.
    pub fn close_circuit_keeping_evidence(&self, now: Timestamp) -> Option<CircuitTransition> {
        self.update(now, |state| state.circuit.close())
    }

    /// Forgets every failure: the fault was the hub's own network.
    pub fn forget_failures(&self) {
        let mut state = self.state();
        state.documents.failing = None;
        state.login_failures.clear();
    }

    /// Records a probe of the documents. `declared`: the identity provider itself says that it is
    /// unavailable.
    pub fn record_document_probe(
        &self,
        outcome: ProbeOutcome,
        declared: bool,
        took: Duration,
        now: Timestamp,
    ) -> Option<CircuitTransition> {
        self.update(now, |state| {
            state.documents.record(outcome, declared, now);
            match outcome {
                ProbeOutcome::Succeeded => {
                    state.window.record(now, CallKind::Probe, Ok(()), took);
                    state.close_circuit_opened_by(OpenCause::Documents);
                }
                ProbeOutcome::Failed(code) => {
                    state.window.record(now, CallKind::Probe, Err(code), took);
                }
                ProbeOutcome::Inconclusive => {}
            }
        })
    }

    /// Returns the failed probes of the documents, for hubs that share a prober.
    #[must_use]
    pub fn documents_failing(&self) -> Option<ProbeFailures> {
        self.state().documents.failing
    }

    /// Takes over the findings of another hub's prober.
    pub fn adopt_document_probes(
        &self,
        failing: Option<ProbeFailures>,
        alive_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<CircuitTransition> {
        self.update(now, |state| {
            state.documents.failing = failing;
            if failing.is_none() {
                state.documents.succeeded_at = state.documents.succeeded_at.max(alive_at);
                state.close_circuit_opened_by(OpenCause::Documents);
            }
        })
    }

    fn update(&self, now: Timestamp, act: impl FnOnce(&mut State)) -> Option<CircuitTransition> {
        let mut state = self.state();
        let before = state.circuit.state(now);
        act(&mut state);
        let to = state.circuit.state(now);
        if before == to {
            return None;
        }
        let transition = CircuitTransition {
            to,
            cause: state.circuit.cause(),
            tally: state.window.tally(now),
            reasons: state.window.reasons(now),
        };
        if to == CircuitState::Closed {
            state.window.forget_outcomes();
        }
        Some(transition)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close_circuit_opened_by(&mut self, cause: OpenCause) {
        if self.circuit.cause() == Some(cause) {
            self.circuit.close();
            self.login_failures.clear();
        }
    }

    fn login_succeeded(&mut self, now: Timestamp) {
        self.login_failures.record_success(now);
        // Its keys have just worked, which outweighs any probe.
        self.documents.failing = None;
        if self.circuit.state(now) == CircuitState::HalfOpen {
            self.circuit.close();
            self.login_failures.clear();
        }
    }
}
