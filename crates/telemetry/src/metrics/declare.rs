//! Declares metrics: each table names, creates, registers and documents its metrics in one place,
//! with the prefix `passerelle`.

use std::cell::RefCell;

use prometheus::core::{Collector, Desc, MetricVec, MetricVecBuilder};
#[cfg(target_os = "linux")]
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::{self, MetricFamily};
use prometheus::{Opts, Registry};
use serde::Serialize;

use crate::TelemetryError;

/// Declaration of a metric.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MetricDeclaration {
    /// The full name; samples of a histogram append `_bucket`, `_sum` and `_count`.
    pub name: String,
    pub metric_type: MetricType,
    pub labels: Vec<String>,
    pub help: String,
}

/// Metric type of Prometheus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricType {
    /// Only increases, until the process ends.
    Counter,
    Gauge,
    Histogram,
}

impl MetricType {
    /// Returns the name of the type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl MetricDeclaration {
    /// Returns the unit, as the name of the metric implies it.
    pub fn unit(&self) -> &'static str {
        let name = self.name.strip_suffix("_total").unwrap_or(&self.name);
        let units = [
            ("_timestamp_seconds", "Unix time"),
            ("_seconds", "seconds"),
            ("_bytes", "bytes"),
            ("_ratio", "0 to 1"),
        ];
        units.iter().find(|(ending, _)| name.ends_with(ending)).map_or("count", |(_, unit)| unit)
    }
}

/// Registers metrics and collects their declarations.
pub(super) struct MetricDeclarer<'r> {
    pub registry: &'r Registry,
    pub declared: RefCell<Vec<MetricDeclaration>>,
}

impl MetricDeclarer<'_> {
    /// Declares the standard `process_*` metrics.
    ///
    /// # Errors
    /// Returns an error if a name is declared twice.
    #[cfg(target_os = "linux")]
    pub(super) fn process(&self) -> Result<(), TelemetryError> {
        self.record(Box::new(ProcessCollector::for_self()))
            .map_err(|error| registration_error("process", &error))
    }

    /// Registers a metric.
    ///
    /// # Errors
    /// Returns an error if the name is malformed or declared twice.
    pub(super) fn register<C: Collector + Clone + 'static>(
        &self,
        name: &str,
        metric: prometheus::Result<C>,
    ) -> Result<C, TelemetryError> {
        metric
            .and_then(|metric| self.record(Box::new(metric.clone())).map(|()| metric))
            .map_err(|error| registration_error(name, &error))
    }

    /// Registers a collector and records the declarations of its metrics.
    fn record(&self, collector: Box<dyn Collector>) -> prometheus::Result<()> {
        let families = collector.collect();
        let metric_type = |name: &str| {
            let family = families.iter().find(|family| family.name() == name);
            match family.map(MetricFamily::get_field_type) {
                Some(proto::MetricType::COUNTER) => MetricType::Counter,
                Some(proto::MetricType::HISTOGRAM) => MetricType::Histogram,
                Some(_) | None => MetricType::Gauge,
            }
        };
        let declaration = |desc: &Desc| MetricDeclaration {
            name: desc.fq_name.clone(),
            metric_type: metric_type(&desc.fq_name),
            labels: desc.variable_labels.clone(),
            help: desc.help.clone(),
        };
        let declarations: Vec<_> = collector.desc().into_iter().map(declaration).collect();
        self.registry.register(collector)?;
        self.declared.borrow_mut().extend(declarations);
        Ok(())
    }
}

fn registration_error(name: &str, error: &prometheus::Error) -> TelemetryError {
    TelemetryError::Metric { name: name.into(), reason: error.to_string() }
}

/// Returns the options of a metric with the hub's prefix.
pub(super) fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("passerelle")
}

/// Metric with `N` labels: another number of values does not compile.
#[derive(Clone, Debug)]
pub(super) struct Labelled<V, const N: usize>(pub V);

impl<B: MetricVecBuilder, const N: usize> Labelled<MetricVec<B>, N> {
    /// Returns the series with these values.
    pub(super) fn with(&self, values: [&str; N]) -> B::M {
        self.0.with_label_values(&values)
    }
}

/// Declares a struct of metrics: field, type, name, labels, buckets of a histogram, and help text.
macro_rules! metric_table {
    (
        $(#[$doc:meta])*
        struct $table:ident {$(
            $field:ident: $metric:ident($name:literal, [$($label:literal),*] $(, $buckets:expr)?)
                $help:literal;
        )*}
    ) => {
        $(#[$doc])*
        pub(in crate::metrics) struct $table {
            $($field: $crate::metrics::declare::Labelled<
                $metric,
                { <[&str]>::len(&[$($label),*]) },
            >,)*
        }

        impl $table {
            /// Registers the metrics.
            ///
            /// # Errors
            /// Returns an error if a name is malformed or declared twice.
            pub(in crate::metrics) fn new(
                declare: &$crate::metrics::declare::MetricDeclarer<'_>,
            ) -> Result<Self, $crate::TelemetryError> {
                Ok(Self {$(
                    $field: {
                        let options =
                            $crate::metrics::declare::options($name, $help);
                        $(let options =
                            prometheus::HistogramOpts::from(options).buckets($buckets.to_vec());)?
                        $crate::metrics::declare::Labelled(
                            declare.register($name, $metric::new(options, &[$($label),*]))?,
                        )
                    },
                )*})
            }
        }
    };
}
pub(super) use metric_table;
