//! Metrics of rate limits.

use prometheus::IntCounterVec;

use super::Metrics;
use super::declare::MetricDeclarer;
use crate::telemetry::TelemetryError;

/// Metrics of rate limits.
pub(super) struct LimitMetrics {
    limited: IntCounterVec,
}

impl LimitMetrics {
    /// Declares the metrics.
    ///
    /// # Errors
    /// Returns an error if a name is malformed or declared twice.
    pub fn new(declare: &MetricDeclarer<'_>) -> Result<Self, TelemetryError> {
        Ok(Self {
            limited: declare.counter(
                "rate_limited_total",
                "Requests and connections rejected by a limit.",
                &["limit"],
            )?,
        })
    }
}

impl Metrics {
    /// Records rejections. `limit` is one of a few constants; `times` 0 creates the series.
    pub fn record_rate_limited(&self, limit: &'static str, times: u64) {
        self.limits.limited.with_label_values(&[limit]).inc_by(times);
    }
}
