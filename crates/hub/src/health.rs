//! Tracks the health of one identity provider: the outcomes of its calls and of the hub's probes,
//! and whether it may be called.
//!
//! Responsible for the call window, the evidence and the circuit. Does not depend on what is
//! called, or how other identity providers are doing: the prober compares them before it opens a
//! circuit. The actor of the connector owns the health, and publishes what others read; the time is
//! a parameter. docs/identity-provider-health.md explains the rules.

mod attribution;
mod call_window;
mod circuit;
mod ended_call;
mod login_failures;
mod probe_record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;

pub(crate) use self::attribution::{Attribution, attribute_outcome, pause_after_failed_probe};
pub(crate) use self::call_window::MIN_FAILURES_TO_DEGRADE;
use self::call_window::{CallWindow, Tally};
pub(crate) use self::circuit::{CallKind, OpenCause};
use self::circuit::{Circuit, is_within};
pub(crate) use self::ended_call::EndedCall;
use self::login_failures::{FAILURE_QUORUM, HALF_OPEN_FAILURE_QUORUM, LoginFailures};
use self::probe_record::ProbeRecord;
pub(crate) use self::probe_record::{ProbeFailures, ProbeOutcome};
use passerelle_connector::dropped_claims::DroppedClaims;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// Maximum number of anomalies of one identity provider that are logged; more are only counted.
const MAX_LOGGED_ANOMALIES: usize = 32;

/// How long a connector counts as in use after a login used it.
pub(crate) const IN_USE_PERIOD: Duration = Duration::from_secs(300);
/// How long a connector that was in use when it failed stays in use.
const IN_USE_PERIOD_WHILE_FAILING: Duration = Duration::from_secs(3600);

/// Health of one identity provider. Only the actor of its connector changes it.
#[derive(Default)]
pub(crate) struct Health {
    pub snapshot: HealthSnapshot,
    pub login_failures: LoginFailures,
}

/// The part of the health that the actor publishes.
#[derive(Clone, Default)]
pub(crate) struct HealthSnapshot {
    pub window: CallWindow,
    pub documents: ProbeRecord,
    circuit: Circuit,
    login_succeeded_at: Option<Timestamp>,
    /// When a login last used it.
    used_at: Timestamp,
    /// Whether a login's call failed for lack of documents, so that they are probed at once.
    pub documents_suspected: bool,
    /// Whether a probe is to be made at once: an operator has corrected something, or the identity
    /// provider works at another hub.
    pub probe_requested: bool,
}

/// What is known of one identity provider, for all threads. Belongs to one connector file and
/// outlives its actor.
#[derive(Default)]
pub(crate) struct PublishedHealth {
    /// The health that the actor published last.
    pub snapshot: ArcSwap<HealthSnapshot>,
    /// Anomalies that have been logged.
    logged_anomalies: Mutex<BTreeSet<String>>,
    /// The malformed claims that logins left out.
    pub dropped_claims: DroppedClaims,
}

/// The requests for probes ahead of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProbeRequests {
    pub documents_suspected: bool,
    pub probe_requested: bool,
}

/// A change of the circuit, with its cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CircuitTransition {
    pub to: CircuitState,
    /// What opened the circuit; `None` if it was not opened.
    pub cause: Option<OpenCause>,
    pub tally: Tally,
    /// How often each failure happened, the most frequent first.
    pub reasons: Vec<(ErrorCode, u32)>,
}

/// Evidence about an identity provider, before it is compared with that of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HealthEvidence {
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

impl PublishedHealth {
    /// Returns whether `what` was not reported before. The set is bounded, because users of the
    /// identity provider can choose the values.
    pub(crate) fn is_new_anomaly(&self, what: &str) -> bool {
        let mut reported = self.logged_anomalies.lock().unwrap_or_else(PoisonError::into_inner);
        reported.len() < MAX_LOGGED_ANOMALIES && reported.insert(what.to_owned())
    }
}

impl HealthSnapshot {
    /// Returns the epoch of the circuit for a call that starts now; `None` while the circuit is
    /// open.
    pub(crate) fn admit(&self, call: CallKind, now: Timestamp) -> Option<u64> {
        let is_open = self.circuit_state(now) == CircuitState::Open;
        (!is_open || call == CallKind::Preload).then(|| self.circuit.epoch())
    }

    /// Returns the state of the circuit.
    pub(crate) fn circuit_state(&self, now: Timestamp) -> CircuitState {
        self.circuit.state(now)
    }

    /// Returns when a login last used the connector; `None` if that is too long ago to count.
    pub(crate) fn last_used_at(&self, now: Timestamp) -> Option<Timestamp> {
        let failing_since = self.documents.failing.map(|failing| failing.since);
        let reference = failing_since
            .filter(|since| is_within(*since, IN_USE_PERIOD_WHILE_FAILING, now))
            .unwrap_or(now);
        (self.used_at > Timestamp::default() && reference.since(self.used_at) < IN_USE_PERIOD)
            .then_some(self.used_at)
    }

    /// Returns when the identity provider last worked.
    pub(crate) fn alive_at(&self) -> Option<Timestamp> {
        self.documents.succeeded_at.max(self.login_succeeded_at)
    }

    /// Returns the evidence without that of failed logins, which only the actor counts.
    pub(crate) fn evidence(&self, now: Timestamp) -> HealthEvidence {
        let failing = self.documents.failing;
        let documents_fail = failing.filter(ProbeFailures::reaches_threshold);
        HealthEvidence {
            failing_since: failing.map(|failing| failing.since),
            alive_at: self.alive_at(),
            documents_at: self.documents.succeeded_at,
            open_cause: documents_fail.map(|failing| (OpenCause::Documents, failing.since)),
            is_open: self.circuit_state(now) == CircuitState::Open,
        }
    }
}

impl Health {
    /// Makes a change. Returns its result, and the change of the circuit if there is one.
    pub(crate) fn update<T>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&mut Self) -> T,
    ) -> (T, Option<CircuitTransition>) {
        let before = self.snapshot.circuit.state(now);
        let result = change(self);
        let to = self.snapshot.circuit.state(now);
        let HealthSnapshot { circuit, window, .. } = &mut self.snapshot;
        let transition = (before != to).then(|| CircuitTransition {
            to,
            cause: circuit.cause(),
            tally: window.tally(now),
            reasons: window.reasons(now),
        });
        if transition.is_some() && to == CircuitState::Closed {
            window.forget_outcomes();
        }
        (result, transition)
    }

    /// Records that a login uses, or wants to use, the connector.
    pub(crate) fn mark_used(&mut self, now: Timestamp) {
        self.snapshot.used_at = self.snapshot.used_at.max(now);
    }

    /// Ends the pause of the probes, and asks for one at once: the identity provider works at
    /// another hub.
    pub(crate) const fn request_probe(&mut self) {
        self.snapshot.documents.not_before = None;
        self.snapshot.probe_requested = true;
    }

    /// Ends the pause of the probes, and asks for one at once if this hub probes, if the last one
    /// failed: an operator has corrected something.
    pub(crate) const fn retry_if_failing(&mut self, is_prober: bool) {
        if self.snapshot.documents.failing.is_some() {
            self.snapshot.documents.not_before = None;
            self.snapshot.probe_requested |= is_prober;
        }
    }

    /// Takes the requests for probes, which the caller schedules.
    pub(crate) const fn take_probe_requests(&mut self) -> ProbeRequests {
        let HealthSnapshot { documents_suspected, probe_requested, .. } = &mut self.snapshot;
        ProbeRequests {
            documents_suspected: std::mem::replace(documents_suspected, false),
            probe_requested: std::mem::replace(probe_requested, false),
        }
    }

    /// Returns the evidence for the prober.
    pub(crate) fn evidence(&self, now: Timestamp) -> HealthEvidence {
        let quorum = match self.snapshot.circuit.state(now) {
            CircuitState::HalfOpen => HALF_OPEN_FAILURE_QUORUM,
            CircuitState::Closed | CircuitState::Open => FAILURE_QUORUM,
        };
        let successes = self.snapshot.window.tally(now).login_successes;
        let succeeded_at = self.snapshot.login_succeeded_at;
        let logins_fail_since =
            self.login_failures.quorum_since(quorum, successes, succeeded_at, now);
        let published = self.snapshot.evidence(now);
        let open_cause =
            published.open_cause.or(logins_fail_since.map(|since| (OpenCause::Logins, since)));
        HealthEvidence { open_cause, ..published }
    }

    /// Opens the circuit and forgets the failures.
    pub(crate) fn open_circuit(&mut self, cause: OpenCause, now: Timestamp) {
        self.snapshot.circuit.open(cause, now);
        self.login_failures.clear();
    }

    /// Opens the circuit unless it is open, or what was evidence for this cause no longer is: the
    /// identity provider may have worked since.
    pub(crate) fn open_circuit_if_failing(&mut self, cause: OpenCause, now: Timestamp) {
        let evidence = self.evidence(now);
        let still_fails = evidence.open_cause.is_some_and(|(current, _)| current == cause);
        if still_fails && !evidence.is_open {
            self.open_circuit(cause, now);
        }
    }

    /// Half-opens the circuit if failed logins opened it, its minimum time is over and no probe of
    /// the documents fails.
    pub(crate) fn half_open_if_due(&mut self, now: Timestamp) {
        if self.snapshot.documents.failing.is_none() {
            self.snapshot.circuit.half_open_after_minimum_time(now);
        }
    }

    /// Closes the circuit and keeps the evidence: the fault may be the hub's own network.
    pub(crate) fn close_circuit_keeping_evidence(&mut self) {
        self.snapshot.circuit.close();
    }

    /// Forgets every failure, unless the circuit is open: the fault was the hub's own network. One
    /// whose circuit is open had failed before, for its own reason.
    pub(crate) fn forget_failures_unless_open(&mut self, now: Timestamp) {
        if self.snapshot.circuit_state(now) != CircuitState::Open {
            self.snapshot.documents.failing = None;
            self.login_failures.clear();
        }
    }

    /// Records a probe of the documents. `declared`: the identity provider itself says that it is
    /// unavailable.
    pub(crate) fn record_document_probe(
        &mut self,
        outcome: ProbeOutcome,
        declared: bool,
        took: Duration,
        now: Timestamp,
    ) {
        self.snapshot.documents.record(outcome, declared, now);
        match outcome {
            ProbeOutcome::Succeeded => {
                self.snapshot.window.record(now, CallKind::Probe, Ok(()), took);
                self.close_circuit_opened_by(OpenCause::Documents);
            }
            ProbeOutcome::Failed(code) => {
                self.snapshot.window.record(now, CallKind::Probe, Err(code), took);
            }
            ProbeOutcome::Inconclusive => {}
        }
    }

    /// Takes over the findings of another hub's prober.
    pub(crate) fn adopt_document_probes(
        &mut self,
        failing: Option<ProbeFailures>,
        alive_at: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) {
        let documents = &mut self.snapshot.documents;
        documents.failing = failing;
        documents.not_before = documents.not_before.max(not_before);
        if failing.is_none() {
            documents.succeeded_at = documents.succeeded_at.max(alive_at);
            self.close_circuit_opened_by(OpenCause::Documents);
        }
    }

    fn close_circuit_opened_by(&mut self, cause: OpenCause) {
        if self.snapshot.circuit.cause() == Some(cause) {
            self.snapshot.circuit.close();
            self.login_failures.clear();
        }
    }

    fn login_succeeded(&mut self, now: Timestamp) {
        self.snapshot.login_succeeded_at = Some(now);
        // Its keys have just worked, which outweighs any probe.
        self.snapshot.documents.failing = None;
        if self.snapshot.circuit.state(now) == CircuitState::HalfOpen {
            self.snapshot.circuit.close();
            self.login_failures.clear();
        }
    }
}
