//! L1 · What was turned away because it came too often.

use prometheus::IntCounterVec;

use super::Metrics;
use super::declare::Declare;
use crate::telemetry::TelemetryFault;

pub(super) struct Limits {
    limited: IntCounterVec,
}

impl Limits {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            limited: declare.counters("limited_total", "Turned away by a limit.", &["limit"])?,
        })
    }
}

impl Metrics {
    /// `limit` is one of a handful; `times` 0 has it shown before the first refusal.
    pub fn limited(&self, limit: &'static str, times: u64) {
        self.limits.limited.with_label_values(&[limit]).inc_by(times);
    }
}
