//! Metrics for operators: version, configuration files, keys, certificates, audit log, trace
//! export.

use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec};

use super::declare::MetricDeclarer;
use super::{Metrics, unix_seconds};
use crate::env::Timestamp;
use crate::telemetry::TelemetryError;

/// Metrics for operators.
pub(super) struct OperationsMetrics {
    hub: IntGaugeVec,
    config_bad: IntGaugeVec,
    config_reads: IntCounterVec,
    config_read: GaugeVec,
    key_since: GaugeVec,
    certificate_expires: GaugeVec,
    audit_events: IntCounterVec,
    audit_lost: IntCounterVec,
    audit_errors: IntCounterVec,
    audit_sealed: GaugeVec,
    trace_spans: IntCounterVec,
}

impl OperationsMetrics {
    /// Declares the metrics.
    ///
    /// # Errors
    /// Returns an error if a name is malformed or declared twice.
    pub fn new(declare: &MetricDeclarer<'_>) -> Result<Self, TelemetryError> {
        let build = declare.gauge(
            "build_info",
            "Always 1; the label is the version of the program.",
            &["version"],
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Ok(Self {
            hub: declare.gauge("platform_info", "Always 1; the label is the platform of the hub.", &["platform"])?,
            config_bad: declare.gauge(
                "config_files_invalid",
                "Invalid configuration files; an earlier version or none is in use.",
                &["kind"],
            )?,
            config_reads: declare.counter("config_reloads_total", "Reloads of the configuration files, by outcome: changed, unchanged, failed.", &["outcome"])?,
            config_read: declare.float_gauge(
                "config_last_reload_success_timestamp_seconds",
                "Time of the last successful reload of the configuration files.",
                &[],
            )?,
            key_since: declare.float_gauge(
                "key_activation_timestamp_seconds",
                "Time at which the key in use was created or began to sign.",
                &["purpose", "alg"],
            )?,
            certificate_expires: declare.float_gauge(
                "certificate_expiry_timestamp_seconds",
                "Expiry time of a configured certificate.",
                &["certificate"],
            )?,
            audit_events: declare.counter("audit_events_total", "Events written to the audit log.", &["event"])?,
            audit_lost: declare.counter("audit_events_lost_total", "Events lost because the audit log was full.", &[])?,
            audit_errors: declare.counter("audit_write_errors_total", "Failed writes to the sink of the audit log.", &[])?,
            audit_sealed: declare.float_gauge(
                "audit_last_checkpoint_timestamp_seconds",
                "Time of the last checkpoint of the audit log.",
                &[],
            )?,
            trace_spans: declare.counter(
                "trace_spans_total",
                "Spans of sampled traces by outcome: exported, queue_full, rejected by the collector.",
                &["outcome"],
            )?,
        })
    }
}

impl Metrics {
    /// Sets the platform of the hub.
    pub fn set_platform(&self, platform: &'static str) {
        self.operations.hub.with_label_values(&[platform]).set(1);
    }

    /// Sets the number of invalid files of this kind.
    pub fn set_invalid_config_files(&self, kind: &'static str, count: usize) {
        self.operations
            .config_bad
            .with_label_values(&[kind])
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records a reload at `at`; `outcome` is `changed`, `unchanged` or `failed`.
    pub fn record_config_reload(&self, outcome: &'static str, at: Timestamp) {
        self.operations.config_reads.with_label_values(&[outcome]).inc();
        if outcome != "failed" {
            self.operations.config_read.with_label_values(&[] as &[&str]).set(unix_seconds(at));
        }
    }

    /// Removes the keys in use, before they are set again.
    pub fn clear_active_keys(&self) {
        self.operations.key_since.reset();
    }

    /// Sets the key in use of this purpose and algorithm.
    pub fn set_active_key(&self, purpose: &'static str, alg: &'static str, since: Timestamp) {
        self.operations.key_since.with_label_values(&[purpose, alg]).set(unix_seconds(since));
    }

    /// Sets the expiry of a certificate; `certificate` is a constant.
    pub fn set_certificate_expiry(&self, certificate: &'static str, at: Timestamp) {
        self.operations.certificate_expires.with_label_values(&[certificate]).set(unix_seconds(at));
    }

    /// Records a written event; `event` is its kind.
    pub fn record_audit_event(&self, event: &'static str) {
        self.operations.audit_events.with_label_values(&[event]).inc();
    }

    /// Creates the series of lost events and write errors at 0.
    pub fn init_audit(&self) {
        self.operations.audit_lost.with_label_values::<&str>(&[]).inc_by(0);
        self.operations.audit_errors.with_label_values::<&str>(&[]).inc_by(0);
    }

    /// Records a lost event.
    pub fn record_lost_audit_event(&self) {
        self.operations.audit_lost.with_label_values::<&str>(&[]).inc();
    }

    /// Records a failed write.
    pub fn record_audit_write_error(&self) {
        self.operations.audit_errors.with_label_values::<&str>(&[]).inc();
    }

    /// Sets the time of the last checkpoint.
    pub fn set_last_audit_checkpoint(&self, at: Timestamp) {
        self.operations.audit_sealed.with_label_values(&[] as &[&str]).set(unix_seconds(at));
    }

    /// Records spans by outcome.
    pub fn record_spans(&self, outcome: &str, count: usize) {
        self.operations.trace_spans.with_label_values(&[outcome]).inc_by(count as u64);
    }
}
