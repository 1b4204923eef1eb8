//! Records the hub's probes of one endpoint.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// Points of failures that open the circuit: two refused connections in a row, or three other
/// failures (see [`failure_points`]).
const POINTS_TO_OPEN: u32 = 6;
/// Longest pause that is honoured: an identity provider must not hide its recovery.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Outcome of one probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProbeOutcome {
    Succeeded,
    Failed(ErrorCode),
    /// The probe says nothing about the identity provider, for example if that limits the hub's
    /// rate (RFC 6585 §4).
    Inconclusive,
}

/// Consecutive failed probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProbeFailures {
    pub since: Timestamp,
    pub points: u32,
    pub code: ErrorCode,
}

impl ProbeFailures {
    /// Returns whether the failures suffice to open the circuit.
    pub const fn reaches_threshold(&self) -> bool {
        self.points >= POINTS_TO_OPEN
    }
}

/// Latest probes of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeRecord {
    pub failing: Option<ProbeFailures>,
    pub succeeded_at: Option<Timestamp>,
    /// When this hub probed last.
    pub probed_at: Option<Timestamp>,
    /// End of the pause after the last probe, at any hub of the store.
    pub not_before: Option<Timestamp>,
}

impl ProbeRecord {
    /// Records a probe. `declared`: the identity provider itself says that it is unavailable (503
    /// with Retry-After, RFC 9110 §10.2.3).
    pub(crate) fn record(&mut self, outcome: ProbeOutcome, declared: bool, now: Timestamp) {
        self.probed_at = Some(now);
        match outcome {
            ProbeOutcome::Succeeded => self.clear(now),
            ProbeOutcome::Failed(code) => {
                let (since, points) =
                    self.failing.map_or((now, 0), |failing| (failing.since, failing.points));
                let weight = if declared { POINTS_TO_OPEN } else { failure_points(code) };
                self.failing = Some(ProbeFailures {
                    since,
                    points: points.saturating_add(weight).min(POINTS_TO_OPEN),
                    code,
                });
            }
            ProbeOutcome::Inconclusive => {}
        }
    }

    /// Begins a pause, as the identity provider asks or as its answer demands; none for `None`.
    pub(crate) fn pause(&mut self, wait: Option<Duration>, now: Timestamp) {
        self.not_before = wait.map(|wait| now + wait.min(MAX_PAUSE));
    }

    /// Returns when the pause ends in which the hub must not probe, if it has not ended. A clock
    /// that was set back does not lengthen it.
    pub(crate) fn paused_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.not_before.filter(|until| now < *until && *until <= now + MAX_PAUSE)
    }

    /// Forgets the failures after a success.
    pub(crate) const fn clear(&mut self, now: Timestamp) {
        self.failing = None;
        self.succeeded_at = Some(now);
    }
}

/// Returns the points of a failure. A refused connection says more than a slow or a wrong answer.
const fn failure_points(code: ErrorCode) -> u32 {
    match code {
        ErrorCode::IdpUnreachable | ErrorCode::IdpCertificateTime | ErrorCode::LdapTls => 3,
        _ => 2,
    }
}
