//! Metrics of identity providers and of the register: calls, health and keys.

use std::time::Duration;

use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use super::declare::MetricDeclarer;
use super::{BUCKETS, Metrics, code_label, remove_series, unix_seconds};
use crate::env::Timestamp;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryError;

/// Outcome of a call, for the service level objective of an identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallOutcome {
    Success,
    Failure,
}

/// Metrics of identity providers.
pub(super) struct ConnectorMetrics {
    calls: IntCounterVec,
    outcomes: IntCounterVec,
    seconds: HistogramVec,
    skew: GaugeVec,
    blocks: IntGaugeVec,
    circuit: IntGaugeVec,
    failures: GaugeVec,
    latency: GaugeVec,
    keys_fetched: GaugeVec,
    amr_dropped: IntCounterVec,
    probe_leader: IntGaugeVec,
    egress_down: IntGaugeVec,
}

impl ConnectorMetrics {
    /// Declares the metrics.
    ///
    /// # Errors
    /// Returns an error if a name is malformed or declared twice.
    pub fn new(declare: &MetricDeclarer<'_>) -> Result<Self, TelemetryError> {
        Ok(Self {
            calls: declare.counter(
                "connector_calls_total",
                "Calls to identity providers; outcome is ok or an error code.",
                &["connector", "operation", "outcome"],
            )?,
            outcomes: declare.counter(
                "connector_call_outcomes_total",
                "Calls that a user waited for, by outcome: success, or failure of the identity provider, including calls rejected by its open circuit.",
                &["connector", "outcome"],
            )?,
            seconds: declare.histogram(
                "connector_call_duration_seconds",
                "Time of a call to an identity provider, in seconds.",
                &["connector", "operation"],
                BUCKETS,
            )?,
            skew: declare.float_gauge(
                "connector_clock_skew_seconds",
                "Seconds by which an identity provider's clock was ahead of the hub's, at the last ID token.",
                &["connector"],
            )?,
            blocks: declare.gauge("connector_blocks", "Blocks in force on an identity provider.", &["connector"])?,
            circuit: declare.gauge(
                "connector_circuit_state",
                "1 for the current state of the circuit to an identity provider, 0 for the others.",
                &["connector", "state"],
            )?,
            failures: declare.float_gauge(
                "connector_failure_ratio",
                "Share of the last minute's calls to an identity provider that failed because of it.",
                &["connector"],
            )?,
            latency: declare.float_gauge(
                "connector_latency_seconds",
                "Quantiles of the time of the last minute's calls to an identity provider, in seconds.",
                &["connector", "quantile"],
            )?,
            keys_fetched: declare.float_gauge(
                "connector_keys_last_fetch_timestamp_seconds",
                "Time of the last successful fetch of an identity provider's keys; absent before the first one, and for kinds without keys.",
                &["connector"],
            )?,
            probe_leader: declare.gauge("connector_probe_leader", "1 while this hub probes the identity providers, 0 while another hub does.", &[])?,
            egress_down: declare.gauge(
                "egress_down",
                "1 while every identity provider fails at once, which means that the hub's own outgoing network is down.",
                &[],
            )?,
            amr_dropped: declare.counter(
                "amr_values_dropped_total",
                "Values of an identity provider's amr that were dropped.",
                &["connector", "reason"],
            )?,
        })
    }

    /// Removes the series of connectors that are rejected by `stays`.
    pub fn remove_series(&self, stays: &dyn Fn(&str) -> bool) {
        remove_series(&self.calls, "connector", stays);
        remove_series(&self.outcomes, "connector", stays);
        remove_series(&self.seconds, "connector", stays);
        remove_series(&self.skew, "connector", stays);
        remove_series(&self.amr_dropped, "connector", stays);
    }
}

/// Metrics of the register.
pub(super) struct RegisterMetrics {
    lookups: IntCounterVec,
    seconds: HistogramVec,
    retries: IntCounterVec,
    circuit: IntGaugeVec,
}

impl RegisterMetrics {
    /// Declares the metrics.
    ///
    /// # Errors
    /// Returns an error if a name is malformed or declared twice.
    pub fn new(declare: &MetricDeclarer<'_>) -> Result<Self, TelemetryError> {
        Ok(Self {
            lookups: declare.counter(
                "register_lookups_total",
                "Queries of the register by outcome.",
                &["outcome"],
            )?,
            seconds: declare.histogram(
                "register_call_duration_seconds",
                "Time of a call to the register, in seconds.",
                &[],
                BUCKETS,
            )?,
            retries: declare.counter(
                "register_retries_total",
                "Calls to the register that were repeated.",
                &[],
            )?,
            circuit: declare.gauge(
                "register_circuit_state",
                "1 for the current state of the circuit to the register, 0 for the others.",
                &["state"],
            )?,
        })
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
        self.connectors.calls.with_label_values(&[connector.as_str(), operation, outcome]).inc();
        self.connectors
            .seconds
            .with_label_values(&[connector.as_str(), operation])
            .observe(took.as_secs_f64());
    }

    /// Records a call that was not made; it has no duration.
    pub fn record_skipped_connector_call(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        why: ErrorCode,
    ) {
        self.connectors
            .calls
            .with_label_values(&[connector.as_str(), operation, code_label(why)])
            .inc();
    }

    /// Creates the outcome series of a connector at 0, so that its first failure raises a rate.
    pub fn init_connector(&self, connector: &ConnectorId) {
        for word in ["success", "failure"] {
            self.connectors.outcomes.with_label_values(&[connector.as_str(), word]).inc_by(0);
        }
    }

    /// Records whether a call that a user waited for succeeded.
    pub fn record_call_outcome(&self, connector: &ConnectorId, verdict: CallOutcome) {
        let word = match verdict {
            CallOutcome::Success => "success",
            CallOutcome::Failure => "failure",
        };
        self.connectors.outcomes.with_label_values(&[connector.as_str(), word]).inc();
    }

    /// Removes the gauges of all connectors, before those that exist set theirs again.
    pub fn clear_connector_gauges(&self) {
        self.connectors.circuit.reset();
        self.connectors.failures.reset();
        self.connectors.latency.reset();
        self.connectors.keys_fetched.reset();
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
                .with_label_values(&[connector.as_str(), *known])
                .set(i64::from(*known == state));
        }
    }

    /// Sets whether this hub is the one that probes.
    pub fn set_probe_leader(&self, is_prober: bool) {
        self.connectors.probe_leader.with_label_values::<&str>(&[]).set(i64::from(is_prober));
    }

    /// Sets whether every identity provider fails at once.
    pub fn set_egress_down(&self, is_down: bool) {
        self.connectors.egress_down.with_label_values::<&str>(&[]).set(i64::from(is_down));
    }

    /// Sets the failure ratio, from 0 to 1.
    pub fn set_connector_failure_ratio(&self, connector: &ConnectorId, ratio: f64) {
        self.connectors.failures.with_label_values(&[connector.as_str()]).set(ratio);
    }

    /// Sets a quantile of the latency; `quantile` is a constant such as `0.99`.
    pub fn set_connector_latency(
        &self,
        connector: &ConnectorId,
        quantile: &'static str,
        within: Duration,
    ) {
        self.connectors
            .latency
            .with_label_values(&[connector.as_str(), quantile])
            .set(within.as_secs_f64());
    }

    /// Sets the time of the last fetch of the keys.
    pub fn set_connector_keys_fetched(&self, connector: &ConnectorId, at: Timestamp) {
        self.connectors.keys_fetched.with_label_values(&[connector.as_str()]).set(unix_seconds(at));
    }

    /// Sets the clock skew in seconds; positive if the identity provider's clock is ahead.
    pub fn set_connector_clock_skew(&self, connector: &ConnectorId, seconds: f64) {
        self.connectors.skew.with_label_values(&[connector.as_str()]).set(seconds);
    }

    /// Sets the number of blocks in force on each connector, and removes all others.
    pub fn set_connector_blocks<'a>(&self, blocks: impl Iterator<Item = (&'a ConnectorId, usize)>) {
        self.connectors.blocks.reset();
        for (connector, count) in blocks {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.connectors.blocks.with_label_values(&[connector.as_str()]).set(count);
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
        self.connectors.amr_dropped.with_label_values(&[connector.as_str(), reason]).inc_by(values);
    }

    /// Records a query of the register.
    pub fn record_register_lookup(&self, answer: &'static str, took: Duration) {
        self.register.lookups.with_label_values(&[answer]).inc();
        self.register.seconds.with_label_values::<&str>(&[]).observe(took.as_secs_f64());
    }

    /// Records a query that was not made; it has no duration.
    pub fn record_skipped_register_lookup(&self, answer: &'static str) {
        self.register.lookups.with_label_values(&[answer]).inc();
    }

    /// Records a repeated call.
    pub fn record_register_retry(&self) {
        self.register.retries.with_label_values::<&str>(&[]).inc();
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_register_circuit(&self, state: &'static str, states: &[&'static str]) {
        // Retries start at 0, so that the first one raises a rate.
        self.register.retries.with_label_values::<&str>(&[]).inc_by(0);
        for known in states {
            self.register.circuit.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }
}
