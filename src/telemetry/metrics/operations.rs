//! L1 · What an operator keeps in order: files, keys, certificates, the audit log; and what runs.

use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec};

use super::declare::Declare;
use super::{Metrics, unix};
use crate::env::Timestamp;
use crate::telemetry::TelemetryFault;

pub(super) struct Upkeep {
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

impl Upkeep {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        let build =
            declare.gauges("build_info", "Always 1; the labels say what runs.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Ok(Self {
            hub: declare.gauges("hub_info", "Always 1; the label says for which platform the hub serves.", &["platform"])?,
            config_bad: declare.gauges(
                "config_files_bad",
                "Configuration files of which an earlier version counts, or none.",
                &["kind"],
            )?,
            config_reads: declare.counters("config_reads_total", "Readings of the configuration files.", &["outcome"])?,
            config_read: declare.float_gauges(
                "config_read_timestamp_seconds",
                "When the configuration files were last read and put to use.",
                &[],
            )?,
            key_since: declare.float_gauges(
                "key_since_timestamp_seconds",
                "When the key that is in use now was made or began to sign.",
                &["purpose", "alg"],
            )?,
            certificate_expires: declare.float_gauges(
                "certificate_expires_timestamp_seconds",
                "When a certificate that the hub was configured with ends.",
                &["certificate"],
            )?,
            audit_events: declare.counters("audit_events_total", "Lines of the audit log, by event.", &["event"])?,
            audit_lost: declare.counters("audit_lost_total", "Events that found no place in the audit log.", &[])?,
            audit_errors: declare.counters("audit_write_errors_total", "Writes that the audit log's sink refused.", &[])?,
            audit_sealed: declare.float_gauges(
                "audit_checkpoint_timestamp_seconds",
                "When the audit log was last sealed.",
                &[],
            )?,
            trace_spans: declare.counters(
                "trace_spans_total",
                "Spans of kept traces, by what became of them: exported, no_room in the queue, refused by the collector.",
                &["outcome"],
            )?,
        })
    }
}

impl Metrics {
    pub fn hub_is(&self, platform: &'static str) {
        self.upkeep.hub.with_label_values(&[platform]).set(1);
    }

    /// How many files of this sort are bad now.
    pub fn config_files_bad(&self, kind: &'static str, count: usize) {
        self.upkeep
            .config_bad
            .with_label_values(&[kind])
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The files were read again; `outcome` is `changed`, `unchanged` or `failed`. At `at`, unless it failed, what they say
    /// was in use.
    pub fn config_read(&self, outcome: &'static str, at: Timestamp) {
        self.upkeep.config_reads.with_label_values(&[outcome]).inc();
        if outcome != "failed" {
            self.upkeep.config_read.with_label_values(&[] as &[&str]).set(unix(at));
        }
    }

    /// Before those that are in use are told.
    pub fn keys_cleared(&self) {
        self.upkeep.key_since.reset();
    }

    /// The current key of this purpose and algorithm.
    pub fn key_in_use(&self, purpose: &'static str, alg: &'static str, since: Timestamp) {
        self.upkeep.key_since.with_label_values(&[purpose, alg]).set(unix(since));
    }

    /// `certificate` says whose it is, in a word of the program.
    pub fn certificate_expires(&self, certificate: &'static str, at: Timestamp) {
        self.upkeep.certificate_expires.with_label_values(&[certificate]).set(unix(at));
    }

    /// `event` is one of the audit log's table.
    pub fn audit_written(&self, event: &'static str) {
        self.upkeep.audit_events.with_label_values(&[event]).inc();
    }

    /// There is an audit log: what has not been lost shows as 0.
    pub fn audit_began(&self) {
        self.upkeep.audit_lost.with_label_values::<&str>(&[]).inc_by(0);
        self.upkeep.audit_errors.with_label_values::<&str>(&[]).inc_by(0);
    }

    pub fn audit_lost(&self) {
        self.upkeep.audit_lost.with_label_values::<&str>(&[]).inc();
    }

    pub fn audit_refused(&self) {
        self.upkeep.audit_errors.with_label_values::<&str>(&[]).inc();
    }

    pub fn audit_sealed(&self, at: Timestamp) {
        self.upkeep.audit_sealed.with_label_values(&[] as &[&str]).set(unix(at));
    }

    /// `outcome` is what became of so many spans.
    pub fn spans(&self, outcome: &str, count: usize) {
        self.upkeep.trace_spans.with_label_values(&[outcome]).inc_by(count as u64);
    }
}
