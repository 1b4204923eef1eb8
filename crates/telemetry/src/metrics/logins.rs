//! Metrics of logins: states, outcomes and time.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus::core::Collector as _;
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use super::clients::UNKNOWN_CLIENT;
use super::declare::metric_table;
use super::{Metrics, code_label};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};

/// Buckets in seconds: the hub's own part takes about a millisecond, a user up to half an hour.
const BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 120.0, 300.0, 900.0, 1800.0,
];

/// Label value when no connector was chosen.
const NONE: &str = "(none)";

/// Outcome of a login.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginOutcome {
    /// The service provider received a code.
    Granted,
    /// The service provider received an error.
    Refused(ErrorCode),
    /// The user was left on an error page.
    Failed(ErrorCode),
    /// The login expired.
    Abandoned,
}

impl LoginOutcome {
    const fn labels(self) -> (&'static str, Option<ErrorCode>) {
        match self {
            Self::Granted => ("granted", None),
            Self::Refused(code) => ("refused", Some(code)),
            Self::Failed(code) => ("failed", Some(code)),
            Self::Abandoned => ("abandoned", None),
        }
    }
}

/// Numbers of ended logins, by the identity provider chosen last and by outcome. Logins that ended
/// before a choice are counted as `(none)`.
pub type EndedLogins = BTreeMap<String, BTreeMap<String, u64>>;

/// Time of a granted login, by phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoginPhases {
    /// The hub's own work, store included.
    pub hub: Duration,
    /// Calls from the hub to the identity provider.
    pub idp_calls: Duration,
    /// The identity rules, and the register where there is one.
    pub register: Duration,
    /// The browser is at the identity provider.
    pub at_idp: Duration,
    /// A page of the hub is shown to the user.
    pub user: Duration,
}

metric_table! {
    /// Metrics of logins.
    struct LoginMetrics {
        outcomes: IntCounterVec("login_outcomes_total", ["outcome", "error"])
            "Ended logins by outcome: granted, refused (the service provider received an error), failed (the user is on an error page), abandoned.";
        transitions: IntCounterVec("login_transitions_total", ["to"])
            "Transitions of logins into a state.";
        by_service: IntCounterVec("service_provider_logins_total", ["service_provider", "connector", "outcome", "error_family"])
            "Ended logins by service provider (or its class), identity provider, outcome and error family.";
        abandoned: IntCounterVec("logins_abandoned_total", ["state"])
            "Logins that expired, by their last state.";
        live: IntGaugeVec("logins_in_progress", ["state"])
            "Logins in progress by state, as this process has moved them; an expired login counts for up to 30 more seconds.";
        phases: HistogramVec("login_phase_duration_seconds", ["phase"], BUCKETS)
            "Time of a granted login by phase, in seconds: hub, identity_provider_calls, register, at_identity_provider \
             (the browser is there), user (a page of the hub is shown).";
        last_success: GaugeVec("login_last_success_timestamp_seconds", [])
            "Time of the last granted login; absent before the first one since the start.";
    }
}

impl LoginMetrics {
    /// Removes the series of connectors and service providers that are rejected.
    pub(super) fn remove_series(
        &self,
        connector: &dyn Fn(&str) -> bool,
        service: &dyn Fn(&str) -> bool,
    ) {
        super::remove_series(&self.by_service, "connector", &|id| id == NONE || connector(id));
        super::remove_series(&self.by_service, "service_provider", &|id| {
            id == UNKNOWN_CLIENT || service(id)
        });
    }
}

impl Metrics {
    /// Creates the series of two outcomes at 0, so that the first login raises a rate.
    pub(super) fn init_login_outcomes(&self) {
        for outcome in ["granted", "abandoned"] {
            self.logins.outcomes.with([outcome, "none"]).inc_by(0);
        }
    }

    /// Records that a login entered the state `to`.
    pub fn record_login_transition(&self, to: &'static str) {
        self.logins.transitions.with([to]).inc();
    }

    /// Records the end of `times` logins. `connector` is the one chosen last.
    pub fn record_login_end(
        &self,
        outcome: LoginOutcome,
        service: &ClientId,
        connector: Option<&ConnectorId>,
        times: u64,
    ) {
        let (word, error) = outcome.labels();
        self.logins.outcomes.with([word, error.map_or("none", code_label)]).inc_by(times);
        let family = error.and_then(|error| code_label(error).get(..3)).unwrap_or("none");
        let connector = connector.map_or(NONE, ConnectorId::as_str);
        let service = self.client_label(service);
        self.logins.by_service.with([&*service, connector, word, family]).inc_by(times);
    }

    /// Returns the numbers of logins that ended since the start.
    pub fn ended_logins(&self) -> EndedLogins {
        let mut ended = EndedLogins::new();
        for metric in self.logins.by_service.0.collect().iter().flat_map(MetricFamily::get_metric) {
            let label = |name: &str| {
                let pair = metric.get_label().iter().find(|pair| pair.name() == name);
                pair.map_or_else(String::new, |pair| pair.value().to_owned())
            };
            let outcomes = ended.entry(label("connector")).or_default();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the value of an integer counter"
            )]
            let count = metric.get_counter().get_value() as u64;
            *outcomes.entry(label("outcome")).or_default() += count;
        }
        ended
    }

    /// Records the phases of a granted login, whose code was issued at `at`.
    pub fn record_granted_login(&self, parts: &LoginPhases, at: Timestamp) {
        let named = [
            ("hub", parts.hub),
            ("identity_provider_calls", parts.idp_calls),
            ("register", parts.register),
            ("at_identity_provider", parts.at_idp),
            ("user", parts.user),
        ];
        for (part, took) in named {
            self.logins.phases.with([part]).observe(took.as_secs_f64());
        }
        let last: Gauge = self.logins.last_success.with([]);
        last.set(super::unix_seconds(at));
    }

    /// Records expired logins by their last state.
    pub fn record_abandoned_logins(&self, state: &'static str, times: u64) {
        self.logins.abandoned.with([state]).inc_by(times);
    }

    /// Sets the live logins of a state. Negative if other processes moved logins that this one
    /// opened: only the sum over all processes is exact.
    pub fn set_live_logins(&self, state: &'static str, count: i64) {
        self.logins.live.with([state]).set(count);
    }
}
