//! What the hub's probes of one endpoint came to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::env::Timestamp;
use crate::protocol::catalogue::ErrorCode;

/// Points that condemn: two refused connections in a row, or three other failures (see [`weight`]).
const CONDEMNING_POINTS: u32 = 6;

/// What one probe came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeOutcome {
    Succeeded,
    Failed(ErrorCode),
    /// It says nothing about the identity provider, as where that limits the hub's rate (RFC 6585 §4).
    Inconclusive,
}

/// Probes that failed in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failing {
    pub since: Timestamp,
    pub points: u32,
    pub code: ErrorCode,
}

impl Failing {
    #[must_use]
    pub const fn is_condemning(&self) -> bool {
        self.points >= CONDEMNING_POINTS
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeRecord {
    pub failing: Option<Failing>,
    pub succeeded_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

impl ProbeRecord {
    /// `declared`: the identity provider itself says that it is unavailable (503 with Retry-After, RFC 9110 §10.2.3).
    pub fn record(&mut self, outcome: ProbeOutcome, declared: bool, now: Timestamp) {
        self.finished_at = Some(now);
        match outcome {
            ProbeOutcome::Succeeded => self.clear(now),
            ProbeOutcome::Failed(code) => {
                let (since, points) =
                    self.failing.map_or((now, 0), |failing| (failing.since, failing.points));
                let weight = if declared { CONDEMNING_POINTS } else { weight(code) };
                self.failing = Some(Failing {
                    since,
                    points: points.saturating_add(weight).min(CONDEMNING_POINTS),
                    code,
                });
            }
            ProbeOutcome::Inconclusive => {}
        }
    }

    pub const fn clear(&mut self, now: Timestamp) {
        self.failing = None;
        self.succeeded_at = Some(now);
    }

    /// Whether the last probe finished less than `long` ago.
    pub fn is_recent(&self, long: Duration, now: Timestamp) -> bool {
        self.finished_at.is_some_and(|at| super::circuit::is_within(at, long, now))
    }
}

/// A refused connection says more than a slow or a wrong answer.
const fn weight(code: ErrorCode) -> u32 {
    match code {
        ErrorCode::IdpUnreachable | ErrorCode::LdapTls => 3,
        _ => 2,
    }
}
