//! Metrics for operators: version, configuration files, keys, certificates, audit log, trace
//! export.

use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec};

use super::declare::metric_table;
use super::{Metrics, unix_seconds};
use passerelle_protocol::env::Timestamp;

metric_table! {
    /// Metrics for operators.
    struct OperationsMetrics {
        build: IntGaugeVec("build_info", ["version"])
            "Always 1; the label is the version of the program.";
        hub: IntGaugeVec("platform_info", ["platform"])
            "Always 1; the label is the platform of the hub.";
        logins_admitted: IntGaugeVec("logins_admitted", [])
            "1 while the hub is ready and admits logins, else 0.";
        config_bad: IntGaugeVec("config_files_invalid", ["kind"])
            "Invalid configuration files; an earlier version or none is in use.";
        config_reads: IntCounterVec("config_reloads_total", ["outcome"])
            "Reloads of the configuration files, by outcome: changed, unchanged, failed.";
        config_read: GaugeVec("config_last_reload_success_timestamp_seconds", [])
            "Time of the last successful reload of the configuration files.";
        key_since: GaugeVec("key_activation_timestamp_seconds", ["purpose", "alg", "location"])
            "Time at which the key in use was created or began to sign.";
        key_rotation_due: GaugeVec("key_rotation_due_timestamp_seconds", [])
            "Time at which the keys are to be rotated; only with rotate_keys_every_days.";
        certificate_expires: GaugeVec("certificate_expiry_timestamp_seconds", ["certificate"])
            "Expiry time of a certificate of the register: register_client, the hub's own, or register_ca, the first of the authorities.";
        audit_events: IntCounterVec("audit_events_total", ["event"])
            "Events written to the audit log.";
        audit_lost: IntCounterVec("audit_events_lost_total", [])
            "Events lost because the audit log was full.";
        audit_errors: IntCounterVec("audit_write_errors_total", [])
            "Failed writes to the sink of the audit log.";
        last_checkpoint: GaugeVec("audit_last_checkpoint_timestamp_seconds", [])
            "Time of the last checkpoint of the audit log.";
        trace_spans: IntCounterVec("trace_spans_total", ["outcome"])
            "Spans of sampled traces by outcome: exported, queue_full, rejected by the collector.";
    }
}

impl Metrics {
    /// Sets the version of the program, and starts the counters of reloads at 0, so that the first
    /// one raises a rate.
    pub(super) fn start_operations(&self) {
        self.operations.build.with([env!("CARGO_PKG_VERSION")]).set(1);
        for outcome in ["changed", "unchanged", "failed"] {
            self.operations.config_reads.with([outcome]).inc_by(0);
        }
    }

    /// Sets the platform of the hub.
    pub fn set_platform(&self, platform: &'static str) {
        self.operations.hub.with([platform]).set(1);
    }

    /// Sets whether the hub is ready and admits logins.
    pub fn set_logins_admitted(&self, is_admitting: bool) {
        let value = i64::from(is_admitting);
        self.operations.logins_admitted.with([]).set(value);
    }

    /// Sets the number of invalid files of this kind.
    pub fn set_invalid_config_files(&self, kind: &'static str, count: usize) {
        self.operations.config_bad.with([kind]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records a reload at `at`; `outcome` is `changed`, `unchanged` or `failed`.
    pub fn record_config_reload(&self, outcome: &'static str, at: Timestamp) {
        self.operations.config_reads.with([outcome]).inc();
        if outcome != "failed" {
            self.operations.config_read.with([]).set(unix_seconds(at));
        }
    }

    /// Removes the keys in use, before they are set again.
    pub fn clear_active_keys(&self) {
        self.operations.key_since.0.reset();
    }

    /// Sets the key in use of this purpose, algorithm and location.
    pub fn set_active_key(&self, labels: [&'static str; 3], since: Timestamp) {
        self.operations.key_since.with(labels).set(unix_seconds(since));
    }

    /// Sets when the keys are to be rotated by schedule.
    pub fn set_key_rotation_due(&self, at: Timestamp) {
        self.operations.key_rotation_due.with([]).set(unix_seconds(at));
    }

    /// Sets the expiry of a certificate; `certificate` is a constant.
    pub fn set_certificate_expiry(&self, certificate: &'static str, at: Timestamp) {
        self.operations.certificate_expires.with([certificate]).set(unix_seconds(at));
    }

    /// Records a written event; `event` is its kind.
    pub fn record_audit_event(&self, event: &'static str) {
        self.operations.audit_events.with([event]).inc();
    }

    /// Creates the series of lost events and write errors at 0.
    pub fn init_audit(&self) {
        self.operations.audit_lost.with([]).inc_by(0);
        self.operations.audit_errors.with([]).inc_by(0);
    }

    /// Records a lost event.
    pub fn record_lost_audit_event(&self) {
        self.operations.audit_lost.with([]).inc();
    }

    /// Records a failed write.
    pub fn record_audit_write_error(&self) {
        self.operations.audit_errors.with([]).inc();
    }

    /// Sets the time of the last checkpoint.
    pub fn set_last_audit_checkpoint(&self, at: Timestamp) {
        self.operations.last_checkpoint.with([]).set(unix_seconds(at));
    }

    /// Records spans by outcome.
    pub fn record_spans(&self, outcome: &str, count: usize) {
        self.operations.trace_spans.with([outcome]).inc_by(count as u64);
    }
}
