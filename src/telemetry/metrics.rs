//! L1 · Every metric of the hub, declared by subject in the files of this folder and nowhere else.
//!
//! A value, not a global: each hub in a process has its own.

mod clients;
mod connectors;
mod declare;
mod limits;
mod logins;
mod store;
mod upkeep;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{HistogramVec, IntCounterVec, Registry, TextEncoder};

use crate::env::Timestamp;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryFault;
use crate::telemetry::process::Process;

pub use connectors::Judged;
pub use declare::{Declared, Sort, page};
pub use logins::{Outcome, Parts};
pub use store::StoreMeter;

/// Seconds: our own work is around a tenth of a millisecond, an identity provider may take six seconds.
const BUCKETS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Which of the two servers answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listener {
    Public,
    Private,
}

impl Listener {
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

type Sampler = Box<dyn Fn(&Metrics) + Send + Sync>;

/// What the hub counts. Methods take what happened; names and labels are known only here.
pub struct Metrics {
    registry: Registry,
    declared: Vec<Declared>,
    samplers: Mutex<Vec<Sampler>>,
    http_requests: IntCounterVec,
    http_seconds: HistogramVec,
    logins: logins::Logins,
    connectors: connectors::Connectors,
    register: connectors::Register,
    clients: clients::Clients,
    store: store::StoreMetrics,
    actors: store::Actors,
    upkeep: upkeep::Upkeep,
    limits: limits::Limits,
}

impl Metrics {
    /// All metrics, at zero; `started` is when this process began.
    ///
    /// # Errors
    /// `Metric`: a name is declared twice or malformed, which a test would have seen.
    pub fn new(started: Timestamp) -> Result<Self, TelemetryFault> {
        let registry = Registry::new();
        let declare = declare::Declare { registry: &registry, told: RefCell::default() };
        declare.keep("process", Process::new(started))?;
        Ok(Self {
            http_requests: declare.counters(
                "http_requests_total",
                "Requests answered.",
                &["listener", "endpoint", "status"],
            )?,
            http_seconds: declare.durations(
                "http_request_duration_seconds",
                "Time to the answer.",
                &["listener", "endpoint"],
                BUCKETS,
            )?,
            logins: logins::Logins::new(&declare)?,
            connectors: connectors::Connectors::new(&declare)?,
            register: connectors::Register::new(&declare)?,
            clients: clients::Clients::new(&declare)?,
            store: store::StoreMetrics::new(&declare)?,
            actors: store::Actors::new(&declare)?,
            upkeep: upkeep::Upkeep::new(&declare)?,
            limits: limits::Limits::new(&declare)?,
            samplers: Mutex::default(),
            declared: declare.told.into_inner(),
            registry,
        })
    }

    /// Every metric there is: [`Self::render`] leaves out what has counted nothing yet.
    #[must_use]
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// Prometheus' text format, after asking the samplers.
    #[must_use]
    pub fn render(&self) -> String {
        for sampler in self.samplers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            sampler(self);
        }
        let mut text = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "the metrics can't be written");
        }
        text
    }

    /// Has `sampler` set its gauges before each `render`; it must not call `render` or `sample_with`.
    pub fn sample_with(&self, sampler: impl Fn(&Self) + Send + Sync + 'static) {
        self.samplers.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(sampler));
    }

    /// `endpoint` is the route's pattern, never the path.
    pub fn http_request(&self, listener: Listener, endpoint: &str, status: u16, took: Duration) {
        let class = match status {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.http_requests.with_label_values(&[listener.label(), endpoint, class]).inc();
        self.http_seconds
            .with_label_values(&[listener.label(), endpoint])
            .observe(took.as_secs_f64());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Removes the series whose value of this label does not stay.
fn forget<B: MetricVecBuilder>(series: &MetricVec<B>, label: &str, stays: &dyn Fn(&str) -> bool)
where
    MetricVec<B>: Collector,
{
    for family in series.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> =
                metric.get_label().iter().map(|pair| (pair.name(), pair.value())).collect();
            if labels.get(label).is_some_and(|value| !stays(value)) {
                // One that has gone meanwhile is gone.
                let _gone = series.remove(&labels);
            }
        }
    }
}

const fn code(error: ErrorCode) -> &'static str {
    error.entry().code
}

/// Seconds since 1970.
fn unix(at: Timestamp) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of any date that will be are exact"
    )]
    let seconds = at.millis() as f64 / 1000.0;
    seconds
}

#[cfg(test)]
mod tests;
