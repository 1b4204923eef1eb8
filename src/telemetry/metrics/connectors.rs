//! L1 · Identity providers, and the register: what they were asked, how they are doing, what is known of their keys.

use std::time::Duration;

use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use super::declare::Declare;
use super::{BUCKETS, Metrics, code, forget, unix};
use crate::env::Timestamp;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryFault;

/// What is counted towards an identity provider's objective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    Well,
    Ill,
}

pub(super) struct Connectors {
    calls: IntCounterVec,
    verdicts: IntCounterVec,
    seconds: HistogramVec,
    skew: GaugeVec,
    blocks: IntGaugeVec,
    breaker: IntGaugeVec,
    failures: GaugeVec,
    latency: GaugeVec,
    keys_fetched: GaugeVec,
    amr_dropped: IntCounterVec,
    prober: IntGaugeVec,
    way_out_down: IntGaugeVec,
}

impl Connectors {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            calls: declare.counters(
                "connector_calls_total",
                "Calls to identity providers; outcome is ok or an error code.",
                &["connector", "operation", "outcome"],
            )?,
            verdicts: declare.counters(
                "connector_verdicts_total",
                "Calls that a person waited for: well, or ill by the identity provider's own doing, those spared for it included.",
                &["connector", "verdict"],
            )?,
            seconds: declare.durations(
                "connector_call_duration_seconds",
                "Time of a call to an identity provider.",
                &["connector", "operation"],
                BUCKETS,
            )?,
            skew: declare.float_gauges(
                "connector_clock_skew_seconds",
                "How far an identity provider's clock was ahead of ours, at the last ID token.",
                &["connector"],
            )?,
            blocks: declare.gauges("connector_blocks", "Blocks in force on an identity provider.", &["connector"])?,
            breaker: declare.gauges(
                "connector_breaker",
                "1 for the state of the circuit to an identity provider.",
                &["connector", "state"],
            )?,
            failures: declare.float_gauges(
                "connector_failure_ratio",
                "Share of the last minute's calls to an identity provider that failed by its own doing.",
                &["connector"],
            )?,
            latency: declare.float_gauges(
                "connector_latency_seconds",
                "Time that so many of the last minute's calls to an identity provider stayed within.",
                &["connector", "quantile"],
            )?,
            keys_fetched: declare.float_gauges(
                "connector_keys_fetched_timestamp_seconds",
                "When the keys in use of an identity provider were fetched; absent before the first fetch, and for kinds without.",
                &["connector"],
            )?,
            prober: declare.gauges("connector_prober", "1 while this hub probes identity providers, 0 while another one does.", &[])?,
            way_out_down: declare.gauges(
                "connectors_way_out_down",
                "1 while every identity provider fails at once, so that the hub's own way out is at fault.",
                &[],
            )?,
            amr_dropped: declare.counters(
                "amr_dropped_total",
                "Values of an identity provider's amr that were not believed.",
                &["connector", "reason"],
            )?,
        })
    }

    pub fn forget(&self, stays: &dyn Fn(&str) -> bool) {
        forget(&self.calls, "connector", stays);
        forget(&self.verdicts, "connector", stays);
        forget(&self.seconds, "connector", stays);
        forget(&self.skew, "connector", stays);
        forget(&self.amr_dropped, "connector", stays);
    }
}

pub(super) struct Register {
    answers: IntCounterVec,
    seconds: HistogramVec,
    retries: IntCounterVec,
    breaker: IntGaugeVec,
}

impl Register {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            answers: declare.counters(
                "register_answers_total",
                "What the national register said.",
                &["answer"],
            )?,
            seconds: declare.durations(
                "register_call_duration_seconds",
                "Time of a call to the register.",
                &[],
                BUCKETS,
            )?,
            retries: declare.counters(
                "register_retries_total",
                "Calls to the register made a second time.",
                &[],
            )?,
            breaker: declare.gauges(
                "register_breaker",
                "1 for the state of the register's circuit.",
                &["state"],
            )?,
        })
    }
}

impl Metrics {
    pub fn connector_call(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        outcome: Result<(), ErrorCode>,
        took: Duration,
    ) {
        let outcome = outcome.map_or_else(code, |()| "ok");
        self.connectors.calls.with_label_values(&[connector.as_str(), operation, outcome]).inc();
        self.connectors
            .seconds
            .with_label_values(&[connector.as_str(), operation])
            .observe(took.as_secs_f64());
    }

    /// A call that never began: counted, and no time of it is measured.
    pub fn connector_spared(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        why: ErrorCode,
    ) {
        self.connectors.calls.with_label_values(&[connector.as_str(), operation, code(why)]).inc();
    }

    /// There is such an identity provider: what it is judged by begins at zero, so that its first failure raises a rate.
    pub fn connector_begins(&self, connector: &ConnectorId) {
        for word in ["well", "ill"] {
            self.connectors.verdicts.with_label_values(&[connector.as_str(), word]).inc_by(0);
        }
    }

    /// Whether a person was served by the identity provider, as far as that is its own doing.
    pub fn connector_judged(&self, connector: &ConnectorId, verdict: Judged) {
        let word = match verdict {
            Judged::Well => "well",
            Judged::Ill => "ill",
        };
        self.connectors.verdicts.with_label_values(&[connector.as_str(), word]).inc();
    }

    /// Before those that there are set their gauges anew: a connector that is gone must not stay.
    pub fn connectors_cleared(&self) {
        self.connectors.breaker.reset();
        self.connectors.failures.reset();
        self.connectors.latency.reset();
        self.connectors.keys_fetched.reset();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn connector_breaker(
        &self,
        connector: &ConnectorId,
        state: &'static str,
        states: &[&'static str],
    ) {
        for known in states {
            self.connectors
                .breaker
                .with_label_values(&[connector.as_str(), *known])
                .set(i64::from(*known == state));
        }
    }

    /// Sets whether this hub is the one that probes.
    pub fn prober(&self, is_prober: bool) {
        self.connectors.prober.with_label_values::<&str>(&[]).set(i64::from(is_prober));
    }

    /// Sets whether every identity provider fails at once.
    pub fn way_out_down(&self, is_down: bool) {
        self.connectors.way_out_down.with_label_values::<&str>(&[]).set(i64::from(is_down));
    }

    /// From 0 to 1.
    pub fn connector_failure_ratio(&self, connector: &ConnectorId, ratio: f64) {
        self.connectors.failures.with_label_values(&[connector.as_str()]).set(ratio);
    }

    /// `quantile` is one of a handful, as `0.99`.
    pub fn connector_latency(
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

    pub fn connector_keys_fetched(&self, connector: &ConnectorId, at: Timestamp) {
        self.connectors.keys_fetched.with_label_values(&[connector.as_str()]).set(unix(at));
    }

    /// Seconds; positive when the identity provider's clock is ahead.
    pub fn connector_clock_skew(&self, connector: &ConnectorId, seconds: f64) {
        self.connectors.skew.with_label_values(&[connector.as_str()]).set(seconds);
    }

    /// How many blocks are in force on each connector; one that is gone is told of no more.
    pub fn connector_blocks<'a>(&self, blocks: impl Iterator<Item = (&'a ConnectorId, usize)>) {
        self.connectors.blocks.reset();
        for (connector, count) in blocks {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.connectors.blocks.with_label_values(&[connector.as_str()]).set(count);
        }
    }

    /// `reason` is one of a handful; the values themselves are an identity provider's, and stay out of labels.
    pub fn amr_dropped(&self, connector: &ConnectorId, reason: &'static str, values: usize) {
        let values = u64::try_from(values).unwrap_or(u64::MAX);
        self.connectors.amr_dropped.with_label_values(&[connector.as_str(), reason]).inc_by(values);
    }

    pub fn register_answered(&self, answer: &'static str, took: Duration) {
        self.register.answers.with_label_values(&[answer]).inc();
        self.register.seconds.with_label_values::<&str>(&[]).observe(took.as_secs_f64());
    }

    /// A question that was never asked: counted, and no time of it is measured.
    pub fn register_spared(&self, answer: &'static str) {
        self.register.answers.with_label_values(&[answer]).inc();
    }

    pub fn register_retried(&self) {
        self.register.retries.with_label_values::<&str>(&[]).inc();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn register_breaker(&self, state: &'static str, states: &[&'static str]) {
        // With a circuit there are second tries to count: from 0, so that the first one shows.
        self.register.retries.with_label_values::<&str>(&[]).inc_by(0);
        for known in states {
            self.register.breaker.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }
}
