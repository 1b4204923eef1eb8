//! Declares and records every metric of the hub. Each hub in a process has its own [`Metrics`].

mod clients;
mod connectors;
mod declare;
mod extensions;
mod key_device;
mod logins;
mod markdown_reference;
mod operations;
mod rate_limits;
mod register;
mod store;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{HistogramVec, IntCounterVec, Registry, TextEncoder};

use crate::TelemetryError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;

use declare::{Labelled, metric_table};

pub use connectors::CallOutcome;
pub use declare::{MetricDeclaration, MetricType};
pub use extensions::{ExtensionMetric, ExtensionMetricType};
pub use logins::{EndedLogins, LoginOutcome, LoginPhases};
pub use markdown_reference::markdown_page;
pub use store::StoreMeter;

/// Buckets in seconds: the hub's own work takes about 0.1 ms, an identity provider up to 6 s.
const BUCKETS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Listener that served a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listener {
    Public,
    Private,
}

impl Listener {
    /// Returns the label value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

metric_table! {
    /// Metrics of HTTP requests.
    struct HttpMetrics {
        requests: IntCounterVec("http_requests_total", ["listener", "endpoint", "status"])
            "HTTP requests answered.";
        seconds: HistogramVec("http_request_duration_seconds", ["listener", "endpoint"], BUCKETS)
            "Time to answer an HTTP request, in seconds.";
    }
}

type Sampler = Box<dyn Fn(&Metrics) + Send + Sync>;

/// All metrics of a hub. Methods record events; names and labels are known only here.
pub struct Metrics {
    registry: Registry,
    declared: Vec<MetricDeclaration>,
    samplers: Mutex<Vec<Sampler>>,
    /// Class of each client; `None` if clients are labelled by id.
    classes: ArcSwapOption<BTreeMap<ClientId, Arc<str>>>,
    http: HttpMetrics,
    logins: logins::LoginMetrics,
    connectors: connectors::ConnectorMetrics,
    register: register::RegisterMetrics,
    clients: clients::ClientMetrics,
    store: store::StoreMetrics,
    actors: store::ActorMetrics,
    key_device: key_device::KeyDeviceMetrics,
    operations: operations::OperationsMetrics,
    limits: rate_limits::LimitMetrics,
    extensions: extensions::ExtensionMetrics,
}

impl Metrics {
    /// Registers all metrics but those of optional crates.
    ///
    /// # Errors
    /// Returns [`TelemetryError::Metric`] if a name is malformed or declared twice.
    pub fn new() -> Result<Self, TelemetryError> {
        Self::with_extensions(&[])
    }

    /// Registers all metrics, with these of optional crates.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_extensions(
        extensions: &[&'static ExtensionMetric],
    ) -> Result<Self, TelemetryError> {
        let registry = Registry::new();
        let declare = declare::MetricDeclarer { registry: &registry, declared: RefCell::default() };
        #[cfg(target_os = "linux")]
        declare.process()?;
        let metrics = Self {
            http: HttpMetrics::new(&declare)?,
            logins: logins::LoginMetrics::new(&declare)?,
            connectors: connectors::ConnectorMetrics::new(&declare)?,
            register: register::RegisterMetrics::new(&declare)?,
            clients: clients::ClientMetrics::new(&declare)?,
            store: store::StoreMetrics::new(&declare)?,
            actors: store::ActorMetrics::new(&declare)?,
            key_device: key_device::KeyDeviceMetrics::new(&declare)?,
            operations: operations::OperationsMetrics::new(&declare)?,
            limits: rate_limits::LimitMetrics::new(&declare)?,
            extensions: extensions::ExtensionMetrics::new(&declare, extensions)?,
            samplers: Mutex::default(),
            classes: ArcSwapOption::empty(),
            declared: declare.declared.into_inner(),
            registry,
        };
        metrics.init_login_outcomes();
        metrics.start_operations();
        Ok(metrics)
    }

    /// Returns every declared metric; [`Self::render`] omits those without a series.
    pub fn declared(&self) -> &[MetricDeclaration] {
        &self.declared
    }

    /// Runs the samplers and returns all series in the Prometheus text format.
    pub fn render(&self) -> String {
        for sampler in self.samplers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            sampler(self);
        }
        let mut text = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "the metrics can't be encoded");
        }
        text
    }

    /// Runs `sampler` before each `render`; it must not call `render` or `sample_with`.
    pub fn sample_with(&self, sampler: impl Fn(&Self) + Send + Sync + 'static) {
        self.samplers.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(sampler));
    }

    /// Records an HTTP request. `endpoint` is the pattern of the route, never the path.
    pub fn record_http_request(
        &self,
        listener: Listener,
        endpoint: &str,
        status: u16,
        took: Duration,
    ) {
        let class = match status {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.http.requests.with([listener.label(), endpoint, class]).inc();
        self.http.seconds.with([listener.label(), endpoint]).observe(took.as_secs_f64());
    }
}

/// Removes the series whose value of this label is rejected by `stays`.
fn remove_series<B: MetricVecBuilder, const N: usize>(
    Labelled(series): &Labelled<MetricVec<B>, N>,
    label: &str,
    stays: &dyn Fn(&str) -> bool,
) where
    MetricVec<B>: Collector,
{
    for family in series.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> =
                metric.get_label().iter().map(|pair| (pair.name(), pair.value())).collect();
            if labels.get(label).is_some_and(|value| !stays(value)) {
                // The series may have been removed meanwhile.
                let _gone = series.remove(&labels);
            }
        }
    }
}

const fn code_label(error: ErrorCode) -> &'static str {
    error.entry().code
}

/// Converts to seconds since the Unix epoch.
fn unix_seconds(at: Timestamp) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of any date that will be are exact"
    )]
    let seconds = at.millis() as f64 / 1000.0;
    seconds
}

#[cfg(test)]
mod tests;
