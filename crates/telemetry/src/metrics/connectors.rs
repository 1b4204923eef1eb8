//! Metrics of identity providers: calls, health and keys.

use std::time::Duration;

use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use super::declare::metric_table;
use super::{BUCKETS, Metrics, code_label, remove_series, unix_seconds};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// Outcome of a call, for the service level objective of an identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallOutcome {
    Success,
    Failure,
}

metric_table! {
    /// Metrics of identity providers.
    struct ConnectorMetrics {
        calls: IntCounterVec("connector_calls_total", ["connector", "operation", "outcome"])
            "Calls to identity providers; outcome is ok or an error code.";
        outcomes: IntCounterVec("connector_call_outcomes_total", ["connector", "outcome"])
            "Calls that a user waited for, by outcome: success, or failure of the identity provider, including calls rejected by its open circuit.";
        seconds: HistogramVec("connector_call_duration_seconds", ["connector", "operation"], BUCKETS)
            "Time of a call to an identity provider, in seconds.";
        skew: GaugeVec("connector_clock_skew_seconds", ["connector"])
            "Seconds by which an identity provider's clock was ahead of the hub's, by the Date of its last response or the iat of its last token.";
        blocks: IntGaugeVec("connector_blocks", ["connector"])
            "Blocks in force on an identity provider.";
        circuit: IntGaugeVec("connector_circuit_state", ["connector", "state"])
            "1 for the current state of the circuit to an identity provider, 0 for the others.";
        failures: GaugeVec("connector_failure_ratio", ["connector"])
            "Calls of the last minute that failed because of the identity provider, as a share of these and the successful logins.";
        latency: GaugeVec("connector_latency_seconds", ["connector", "quantile"])
            "Quantiles of the time of the last minute's calls to an identity provider, in seconds.";
        keys_fetched: GaugeVec("connector_keys_last_fetch_timestamp_seconds", ["connector"])
            "Time of the last successful fetch of an identity provider's keys; absent before the first one, and for kinds without keys.";
        certificate_expires: GaugeVec("connector_certificate_expiry_timestamp_seconds", ["connector", "certificate"])
            "Expiry time of what a connector relies on: the client_certificate for an OpenID Provider; of a connector to wallets its access_certificate, the first of its trust_anchors, the earliest NextUpdate of its trust_list.";
        probe_leader: IntGaugeVec("connector_probe_leader", [])
            "1 while this hub probes the identity providers, 0 while another hub does.";
        egress_down: IntGaugeVec("egress_down", [])
            "1 while every identity provider fails at once, which means that the hub's own outgoing network is down.";
        amr_dropped: IntCounterVec("amr_values_dropped_total", ["connector", "reason"])
            "Values of an identity provider's amr that were dropped.";
        metadata_dropped: IntCounterVec("connector_metadata_dropped_total", ["connector", "member"])
            "Malformed members of an identity provider's configuration document that no login needs, (repeated) its repeated ones, and (keys) malformed keys of its key set, which the hub ignores; counted when they change.";
        claims_dropped: IntCounterVec("claims_dropped_total", ["connector", "claim", "reason"])
            "Claims of an identity provider that were left out because their value doesn't fit the mapping rule or the declaration; or because they are only referred to; or because the SAML metadata does not list their scope; reason is type, size, characters, date, row, encoding, form, not_supported or scope.";
        params_dropped: IntCounterVec("connector_forwarded_params_dropped_total", ["connector", "parameter", "reason"])
            "Parameters of service providers that an identity provider did not get because their value doesn't fit its forwarded_params; reason is size, characters or pattern.";
    }
}

impl ConnectorMetrics {
    /// Removes the series of connectors that are rejected by `stays`.
    pub(super) fn remove_series(&self, stays: &dyn Fn(&str) -> bool) {
        remove_series(&self.calls, "connector", stays);
        remove_series(&self.outcomes, "connector", stays);
        remove_series(&self.seconds, "connector", stays);
        remove_series(&self.skew, "connector", stays);
        remove_series(&self.amr_dropped, "connector", stays);
        remove_series(&self.claims_dropped, "connector", stays);
        remove_series(&self.metadata_dropped, "connector", stays);
        remove_series(&self.params_dropped, "connector", stays);
    }
}

impl Metrics {
    /// Records a call.
    pub fn record_connector_call(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        outcome: Result<(), ErrorCode>,
        took: Duration,
    ) {
        let outcome = outcome.map_or_else(code_label, |()| "ok");
        self.connectors.calls.with([connector.as_str(), operation, outcome]).inc();
        self.connectors.seconds.with([connector.as_str(), operation]).observe(took.as_secs_f64());
    }

    /// Records a call that was not made; it has no duration.
    pub fn record_skipped_connector_call(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        why: ErrorCode,
    ) {
        self.connectors.calls.with([connector.as_str(), operation, code_label(why)]).inc();
    }

    /// Creates the outcome series of a connector at 0, so that its first failure raises a rate.
    pub fn init_connector(&self, connector: &ConnectorId) {
        for label in ["success", "failure"] {
            self.connectors.outcomes.with([connector.as_str(), label]).inc_by(0);
        }
    }

    /// Records whether a call that a user waited for succeeded.
    pub fn record_call_outcome(&self, connector: &ConnectorId, outcome: CallOutcome) {
        let label = match outcome {
            CallOutcome::Success => "success",
            CallOutcome::Failure => "failure",
        };
        self.connectors.outcomes.with([connector.as_str(), label]).inc();
    }

    /// Removes the gauges of all connectors, before those that exist set theirs again.
    pub fn clear_connector_gauges(&self) {
        self.connectors.circuit.0.reset();
        self.connectors.failures.0.reset();
        self.connectors.latency.0.reset();
        self.connectors.keys_fetched.0.reset();
        self.connectors.certificate_expires.0.reset();
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_connector_circuit(
        &self,
        connector: &ConnectorId,
        state: &'static str,
        states: &[&'static str],
    ) {
        for known in states {
            self.connectors
                .circuit
                .with([connector.as_str(), *known])
                .set(i64::from(*known == state));
        }
    }

    /// Sets whether this hub is the one that probes.
    pub fn set_probe_leader(&self, is_prober: bool) {
        self.connectors.probe_leader.with([]).set(i64::from(is_prober));
    }

    /// Sets whether every identity provider fails at once.
    pub fn set_egress_down(&self, is_down: bool) {
        self.connectors.egress_down.with([]).set(i64::from(is_down));
    }

    /// Sets the failure ratio, from 0 to 1.
    pub fn set_connector_failure_ratio(&self, connector: &ConnectorId, ratio: f64) {
        self.connectors.failures.with([connector.as_str()]).set(ratio);
    }

    /// Sets a quantile of the latency; `quantile` is a constant such as `0.99`.
    pub fn set_connector_latency(
        &self,
        connector: &ConnectorId,
        quantile: &'static str,
        within: Duration,
    ) {
        self.connectors.latency.with([connector.as_str(), quantile]).set(within.as_secs_f64());
    }

    /// Sets the time of the last fetch of the keys.
    pub fn set_connector_keys_fetched(&self, connector: &ConnectorId, at: Timestamp) {
        self.connectors.keys_fetched.with([connector.as_str()]).set(unix_seconds(at));
    }

    /// Sets the expiry of what a connector relies on; `certificate` is a constant.
    pub fn set_connector_certificate_expiry(
        &self,
        connector: &ConnectorId,
        certificate: &'static str,
        at: Timestamp,
    ) {
        self.connectors
            .certificate_expires
            .with([connector.as_str(), certificate])
            .set(unix_seconds(at));
    }

    /// Sets the clock skew in seconds; positive if the identity provider's clock is ahead.
    pub fn set_connector_clock_skew(&self, connector: &ConnectorId, seconds: f64) {
        self.connectors.skew.with([connector.as_str()]).set(seconds);
    }

    /// Sets the number of blocks in force on each connector, and removes all others.
    pub fn set_connector_blocks<'a>(&self, blocks: impl Iterator<Item = (&'a ConnectorId, usize)>) {
        self.connectors.blocks.0.reset();
        for (connector, count) in blocks {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.connectors.blocks.with([connector.as_str()]).set(count);
        }
    }

    /// Records dropped `amr` values. `reason` is one of a few constants; the values are not labels.
    pub fn record_dropped_amr_values(
        &self,
        connector: &ConnectorId,
        reason: &'static str,
        values: usize,
    ) {
        let values = u64::try_from(values).unwrap_or(u64::MAX);
        self.connectors.amr_dropped.with([connector.as_str(), reason]).inc_by(values);
    }

    /// Records a claim that was left out. `claim` is a name of the specification or of the
    /// settings.
    pub fn record_dropped_claim(&self, connector: &ConnectorId, claim: &str, reason: &str) {
        self.connectors.claims_dropped.with([connector.as_str(), claim, reason]).inc();
    }

    /// Records a service provider's parameter that was not sent on. `parameter` is a name of the
    /// connector's file.
    pub fn record_dropped_param(
        &self,
        connector: &ConnectorId,
        parameter: &str,
        reason: &'static str,
    ) {
        self.connectors.params_dropped.with([connector.as_str(), parameter, reason]).inc();
    }

    /// Records a malformed member of the metadata that was ignored. `member` is a constant.
    pub fn record_dropped_metadata(&self, connector: &ConnectorId, member: &'static str) {
        self.connectors.metadata_dropped.with([connector.as_str(), member]).inc();
    }
}
