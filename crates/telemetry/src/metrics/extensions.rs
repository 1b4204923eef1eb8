//! Metrics that optional crates declare.

use std::collections::HashMap;

use prometheus::{IntCounterVec, IntGaugeVec};

use super::declare::{Labelled, MetricDeclarer, options};
use super::{Metrics, remove_series};
use crate::TelemetryError;

/// Metric of an optional crate, declared by Prometheus' naming practice without the prefix
/// `passerelle`. Label values are constants of the program, codes or configured ids.
#[derive(Debug)]
pub struct ExtensionMetric {
    pub name: &'static str,
    pub metric_type: ExtensionMetricType,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// Type of an [`ExtensionMetric`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtensionMetricType {
    Counter,
    Gauge,
}

enum Series {
    Counter(Labelled<IntCounterVec, 0>),
    Gauge(Labelled<IntGaugeVec, 0>),
}

/// The metrics of optional crates, by name.
#[derive(Default)]
pub(super) struct ExtensionMetrics(HashMap<&'static str, Series>);

impl ExtensionMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// Returns an error if a name is malformed or declared twice.
    pub(super) fn new(
        declare: &MetricDeclarer<'_>,
        metrics: &[&'static ExtensionMetric],
    ) -> Result<Self, TelemetryError> {
        let mut series = HashMap::new();
        for ExtensionMetric { name, metric_type, labels, help } in metrics.iter().copied() {
            let options = options(name, help);
            let registered = match metric_type {
                ExtensionMetricType::Counter => {
                    let counter = IntCounterVec::new(options, labels);
                    Series::Counter(Labelled(declare.register(name, counter)?))
                }
                ExtensionMetricType::Gauge => Series::Gauge(Labelled(
                    declare.register(name, IntGaugeVec::new(options, labels))?,
                )),
            };
            series.insert(*name, registered);
        }
        Ok(Self(series))
    }

    /// Removes the series whose value of this label is rejected by `stays`.
    pub(super) fn remove_series(&self, label: &str, stays: &dyn Fn(&str) -> bool) {
        for series in self.0.values() {
            match series {
                Series::Counter(counter) => remove_series(counter, label, stays),
                Series::Gauge(gauge) => remove_series(gauge, label, stays),
            }
        }
    }
}

impl Metrics {
    /// Adds one to a counter that was declared to [`Metrics::with_extensions`].
    pub fn increment(&self, counter: &ExtensionMetric, labels: &[&str]) {
        if let Some(Series::Counter(series)) = self.extensions.0.get(counter.name)
            && let Ok(series) = series.0.get_metric_with_label_values(labels)
        {
            series.inc();
        }
    }

    /// Sets a gauge that was declared to [`Metrics::with_extensions`].
    pub fn set_gauge(&self, gauge: &ExtensionMetric, labels: &[&str], value: i64) {
        if let Some(Series::Gauge(series)) = self.extensions.0.get(gauge.name)
            && let Ok(series) = series.0.get_metric_with_label_values(labels)
        {
            series.set(value);
        }
    }
}
