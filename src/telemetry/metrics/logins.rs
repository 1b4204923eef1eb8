//! L1 · Logins: where they stand, how they ended, and whose time they took.

use std::time::Duration;

use prometheus::{Gauge, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use super::declare::Declare;
use super::{Metrics, code};
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryFault;

/// Seconds: our own part is around a millisecond, a person may take half an hour.
const BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 120.0, 300.0, 900.0, 1800.0,
];

/// In place of a connector, where none was chosen.
const NONE: &str = "(none)";

/// How a login ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The service provider got a code.
    Granted,
    /// The service provider got an error.
    Refused(ErrorCode),
    /// The person was left with a page that tells of an error.
    Failed(ErrorCode),
    /// Its time ran out and nobody came.
    Abandoned,
}

impl Outcome {
    const fn labels(self) -> (&'static str, Option<ErrorCode>) {
        match self {
            Self::Granted => ("granted", None),
            Self::Refused(code) => ("refused", Some(code)),
            Self::Failed(code) => ("failed", Some(code)),
            Self::Abandoned => ("abandoned", None),
        }
    }
}

/// Whose time a part of a login was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// The hub's own work on the login's steps, its store included.
    pub hub: Duration,
    /// Calls from the hub to the identity provider.
    pub calls: Duration,
    /// The identity rules, and the register where there is one.
    pub register: Duration,
    /// The browser was at the identity provider.
    pub away: Duration,
    /// A page of the hub was in front of the person.
    pub person: Duration,
}

pub(super) struct Logins {
    transitions: IntCounterVec,
    outcomes: IntCounterVec,
    by_service: IntCounterVec,
    abandoned: IntCounterVec,
    live: IntGaugeVec,
    parts: HistogramVec,
    last_success: GaugeVec,
}

impl Logins {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        let outcomes = declare.counters(
            "login_outcomes_total",
            "Logins that ended: granted, refused (the service provider got an error), failed (the person got a page), abandoned.",
            &["outcome", "error"],
        )?;
        // From the start, so that the first of them raises a rate.
        for outcome in ["granted", "abandoned"] {
            outcomes.with_label_values(&[outcome, "none"]).inc_by(0);
        }
        Ok(Self {
            outcomes,
            transitions: declare.counters("login_transitions_total", "Logins that reached a state.", &["to"])?,
            by_service: declare.counters(
                "service_provider_logins_total",
                "Logins that ended, by service provider (or its class), identity provider, outcome and family of errors.",
                &["service_provider", "connector", "outcome", "family"],
            )?,
            abandoned: declare.counters(
                "logins_abandoned_total",
                "Logins whose time ran out without an outcome, by the state that they stood in.",
                &["state"],
            )?,
            live: declare.gauges(
                "logins_live",
                "Logins without an outcome, by state, as this process has moved them; expired ones count half a minute longer.",
                &["state"],
            )?,
            parts: declare.durations(
                "login_part_duration_seconds",
                "Parts of the time of a granted login: hub, identity_provider_calls, register, away (the browser is at the \
                 identity provider), person (a page of the hub is shown).",
                &["part"],
                BUCKETS,
            )?,
            last_success: declare.float_gauges(
                "login_last_success_timestamp_seconds",
                "When a service provider was last given a code; absent before the first since the start.",
                &[],
            )?,
        })
    }

    pub fn forget(&self, connector: &dyn Fn(&str) -> bool, service: &dyn Fn(&str) -> bool) {
        super::forget(&self.by_service, "connector", &|id| id == NONE || connector(id));
        super::forget(&self.by_service, "service_provider", service);
    }
}

impl Metrics {
    pub fn login_reached(&self, to: &'static str) {
        self.logins.transitions.with_label_values(&[to]).inc();
    }

    /// `connector`: the last that was chosen.
    pub fn login_ended(
        &self,
        outcome: Outcome,
        service: &ClientId,
        connector: Option<&ConnectorId>,
        times: u64,
    ) {
        let (word, error) = outcome.labels();
        self.logins.outcomes.with_label_values(&[word, error.map_or("none", code)]).inc_by(times);
        let family = error.and_then(|error| code(error).get(..3)).unwrap_or("none");
        let connector = connector.map_or(NONE, ConnectorId::as_str);
        let service = self.service_label(service);
        self.logins
            .by_service
            .with_label_values(&[&*service, connector, word, family])
            .inc_by(times);
    }

    /// A code was issued at `at`.
    pub fn login_granted(&self, parts: &Parts, at: Timestamp) {
        let named = [
            ("hub", parts.hub),
            ("identity_provider_calls", parts.calls),
            ("register", parts.register),
            ("away", parts.away),
            ("person", parts.person),
        ];
        for (part, took) in named {
            self.logins.parts.with_label_values(&[part]).observe(took.as_secs_f64());
        }
        let last: Gauge = self.logins.last_success.with_label_values(&[] as &[&str]);
        last.set(super::unix(at));
    }

    pub fn logins_abandoned(&self, state: &'static str, times: u64) {
        self.logins.abandoned.with_label_values(&[state]).inc_by(times);
    }

    /// Below zero where another process moved on what this one opened: the sum over all is right.
    pub fn logins_live(&self, state: &'static str, count: i64) {
        self.logins.live.with_label_values(&[state]).set(count);
    }
}
