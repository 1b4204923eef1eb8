//! L1 · How a metric is declared: created, registered and written down in one go, so that none is forgotten.
//!
//! Owns: the hub's prefix, and what is told of a metric that has counted nothing yet. Must not know: any metric.

use std::cell::RefCell;
use std::fmt::Write as _;

use prometheus::core::{Collector, Desc};
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry,
};

use crate::telemetry::TelemetryFault;

/// A metric as it was declared, whether or not it has counted anything yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The whole name; a histogram's samples append `_bucket`, `_sum` and `_count`.
    pub name: String,
    pub sort: Sort,
    pub labels: Vec<String>,
    pub help: String,
}

/// As Prometheus sorts metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Only grows, until the process ends.
    Counter,
    Gauge,
    Histogram,
}

impl Sort {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Declared {
    /// What is counted or measured, as the name says it.
    #[must_use]
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

/// Every metric as the Markdown page of the documentation, by name.
#[must_use]
pub fn page(declared: &[Declared]) -> String {
    let mut sorted: Vec<&Declared> = declared.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = String::from(HEAD);
    for metric in sorted {
        let labels =
            metric.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        let (name, sort, unit, help) =
            (&metric.name, metric.sort.as_str(), metric.unit(), &metric.help);
        // Nothing can go wrong when writing into a string.
        let _written = writeln!(text, "| `{name}` | {sort} | {unit} | {labels} | {help} |");
    }
    text
}

const HEAD: &str = "# Metrics

The private listener answers `GET /metrics` in Prometheus' text format. This page is made by `passerelle metrics --markdown`
from the declarations in the code, and a test compares the two. What each metric is good for is in
[the dashboards](../dashboards/README.md), what to do when one is out of order in [the runbooks](runbooks.md).

A label's value is a word of the program, a code of [errors.md](errors.md), or an id from the configuration: never a person, a
session or free text. A hub with thousands of service providers writes `[metrics] service_provider_labels = \"class\"` in
`passerelle.toml`: `service_provider` and `client` are then the `class` of the service provider's file, or, where it names none,
the platform and its rules (`standard/federation`, `standard/openid`, `high/federation`; `standard/data-provider` for data
providers). When a connector or a client is taken out of the configuration, its series end.

A counter is there from its first event on, so its first event raises no rate; `login_outcomes_total` of `granted` and
`abandoned` begins at 0.

| metric | type | unit | labels | meaning |
|---|---|---|---|---|
";

/// Where declarations go.
pub(super) struct Declare<'r> {
    pub registry: &'r Registry,
    pub told: RefCell<Vec<Declared>>,
}

impl Declare<'_> {
    pub fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, TelemetryFault> {
        self.keep(name, IntCounterVec::new(options(name, help), labels))
    }

    pub fn gauges(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntGaugeVec, TelemetryFault> {
        self.keep(name, IntGaugeVec::new(options(name, help), labels))
    }

    pub fn float_gauges(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<GaugeVec, TelemetryFault> {
        self.keep(name, GaugeVec::new(options(name, help), labels))
    }

    pub fn durations(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> Result<HistogramVec, TelemetryFault> {
        let options = HistogramOpts { common_opts: options(name, help), buckets: buckets.to_vec() };
        let metric = self.keep(name, HistogramVec::new(options, labels))?;
        if let Some(told) = self.told.borrow_mut().last_mut() {
            told.sort = Sort::Histogram;
        }
        Ok(metric)
    }

    pub fn keep<C: Collector + Clone + 'static>(
        &self,
        name: &str,
        metric: prometheus::Result<C>,
    ) -> Result<C, TelemetryFault> {
        let fault = |error: prometheus::Error| TelemetryFault::Metric {
            name: name.into(),
            reason: error.to_string(),
        };
        let metric = metric.map_err(fault)?;
        self.registry.register(Box::new(metric.clone())).map_err(fault)?;
        let of = |desc: &Desc| Declared {
            name: desc.fq_name.clone(),
            sort: if desc.fq_name.ends_with("_total") { Sort::Counter } else { Sort::Gauge },
            labels: desc.variable_labels.clone(),
            help: desc.help.clone(),
        };
        self.told.borrow_mut().extend(metric.desc().into_iter().map(of));
        Ok(metric)
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("passerelle")
}
