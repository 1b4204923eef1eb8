//! Metrics of rate limits.

use prometheus::IntCounterVec;

use super::Metrics;
use super::declare::metric_table;

metric_table! {
    /// Metrics of rate limits.
    struct LimitMetrics {
        limited: IntCounterVec("rate_limited_total", ["limit"])
            "Requests and connections rejected by a limit.";
    }
}

impl Metrics {
    /// Records rejections. `limit` is one of a few constants; `times` 0 creates the series.
    pub fn record_rate_limited(&self, limit: &'static str, times: u64) {
        self.limits.limited.with([limit]).inc_by(times);
    }
}
