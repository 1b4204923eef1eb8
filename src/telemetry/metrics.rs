//! L1 · Every metric of the hub, declared in [`Metrics::new`] and nowhere else.
//!
//! A value, not a global: each hub in a process has its own.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus::core::{Collector, Desc};
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};

use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryFault;
use crate::telemetry::process::Process;

/// Seconds: our own work is around a tenth of a millisecond, an identity provider may take six seconds.
const BUCKETS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Which of the two servers answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listener {
    Public,
    Private,
}

impl Listener {
    const fn label(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// In place of a client's id, where it is not known who asked; or none was registered under it.
const NOBODY: &str = "(not known)";

type Sampler = Box<dyn Fn(&Metrics) + Send + Sync>;

/// A metric as it was declared, whether or not it has counted anything yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The whole name; a histogram's samples append `_bucket`, `_sum` and `_count`.
    pub name: String,
    pub labels: Vec<String>,
}

/// What the hub counts. Methods take what happened; names and labels are known only here.
pub struct Metrics {
    registry: Registry,
    declared: Vec<Declared>,
    samplers: Mutex<Vec<Sampler>>,
    http_requests: IntCounterVec,
    http_seconds: HistogramVec,
    login_transitions: IntCounterVec,
    login_outcomes: IntCounterVec,
    connector_calls: IntCounterVec,
    connector_seconds: HistogramVec,
    connector_skew: GaugeVec,
    connector_blocks: IntGaugeVec,
    connector_breaker: IntGaugeVec,
    connector_failures: GaugeVec,
    connector_latency: GaugeVec,
    amr_dropped: IntCounterVec,
    register_answers: IntCounterVec,
    register_seconds: HistogramVec,
    register_retries: IntCounterVec,
    register_breaker: IntGaugeVec,
    store_operations: IntCounterVec,
    store_errors: IntCounterVec,
    store_records: IntGaugeVec,
    redis_seconds: HistogramVec,
    redis_errors: IntCounterVec,
    redis_retries: IntCounterVec,
    redis_breaker: IntGaugeVec,
    actors_live: IntGaugeVec,
    actors_activated: IntCounterVec,
    actors_passivated: IntCounterVec,
    logouts: IntCounterVec,
    tokens_issued: IntCounterVec,
    token_refusals: IntCounterVec,
    introspections: IntCounterVec,
    revocations: IntCounterVec,
    key_fetches: IntCounterVec,
    keys_fetched: GaugeVec,
    config_bad: IntGaugeVec,
    config_reads: IntCounterVec,
    config_read: GaugeVec,
    audit_events: IntCounterVec,
    audit_lost: IntCounterVec,
    audit_errors: IntCounterVec,
    audit_sealed: GaugeVec,
    trace_spans: IntCounterVec,
}

impl Metrics {
    /// All metrics, at zero; `started` is when this process began.
    ///
    /// # Errors
    /// `Metric`: a name is declared twice or malformed, which a test would have seen.
    pub fn new(started: Timestamp) -> Result<Self, TelemetryFault> {
        let registry = Registry::new();
        let declare = Declare { registry: &registry, told: RefCell::default() };
        let build = declare.gauges("build_info", "Always 1; the labels say what runs.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        declare.keep("process", Process::new(started))?;
        Ok(Self {
            http_requests: declare.counters("http_requests_total", "Requests answered.", &["listener", "endpoint", "status"])?,
            http_seconds: declare.durations("http_request_duration_seconds", "Time to the answer.", &["listener", "endpoint"])?,
            login_transitions: declare.counters("login_transitions_total", "Logins that reached a state.", &["to"])?,
            login_outcomes: declare.counters("login_outcomes_total", "Logins that ended.", &["outcome", "error"])?,
            connector_calls: declare.counters(
                "connector_calls_total",
                "Calls to identity providers.",
                &["connector", "operation", "outcome"],
            )?,
            connector_seconds: declare.durations(
                "connector_call_duration_seconds",
                "Time of a call to an identity provider.",
                &["connector", "operation"],
            )?,
            connector_skew: declare.float_gauges(
                "connector_clock_skew_seconds",
                "How far an identity provider's clock was ahead of ours, at the last ID token.",
                &["connector"],
            )?,
            connector_blocks: declare.gauges("connector_blocks", "Blocks in force on an identity provider.", &["connector"])?,
            connector_breaker: declare.gauges(
                "connector_breaker",
                "1 for the state of the circuit to an identity provider.",
                &["connector", "state"],
            )?,
            connector_failures: declare.float_gauges(
                "connector_failure_ratio",
                "Share of the last minute's calls to an identity provider that failed by its own doing.",
                &["connector"],
            )?,
            connector_latency: declare.float_gauges(
                "connector_latency_seconds",
                "Time that so many of the last minute's calls to an identity provider stayed within.",
                &["connector", "quantile"],
            )?,
            amr_dropped: declare.counters(
                "amr_dropped_total",
                "Values of an identity provider's amr that were not believed.",
                &["connector", "reason"],
            )?,
            register_answers: declare.counters("register_answers_total", "What the national register said.", &["answer"])?,
            register_seconds: declare.durations("register_call_duration_seconds", "Time of a call to the register.", &[])?,
            register_retries: declare.counters("register_retries_total", "Calls to the register made a second time.", &[])?,
            register_breaker: declare.gauges("register_breaker", "1 for the state of the register's circuit.", &["state"])?,
            store_operations: declare.counters("store_operations_total", "Verbs asked of the store.", &["kind", "verb"])?,
            store_errors: declare.counters("store_errors_total", "Verbs that the store refused.", &["kind", "verb", "error"])?,
            store_records: declare.gauges("store_records", "Records that take a place in the store.", &["kind"])?,
            redis_seconds: declare.durations(
                "redis_round_trip_duration_seconds",
                "Time of a round trip to the shared store.",
                &["verb"],
            )?,
            redis_errors: declare.counters("redis_errors_total", "Calls to the shared store without an answer.", &["error"])?,
            redis_retries: declare.counters("redis_retries_total", "Calls to the shared store made a second time.", &[])?,
            redis_breaker: declare.gauges("redis_breaker", "1 for the state of the circuit to the shared store.", &["state"])?,
            actors_live: declare.gauges("actors_live", "Actors in memory.", &["actor"])?,
            actors_activated: declare.counters("actors_activated_total", "Actors started.", &["actor"])?,
            actors_passivated: declare.counters("actors_passivated_total", "Actors that went to sleep.", &["actor"])?,
            logouts: declare.counters("logouts_total", "Logout requests, by what came of them.", &["outcome"])?,
            tokens_issued: declare.counters("tokens_issued_total", "Codes and tokens issued.", &["kind"])?,
            token_refusals: declare.counters(
                "token_refusals_total",
                "Requests with or for a token refused.",
                &["client", "reason"],
            )?,
            key_fetches: declare.counters(
                "client_key_fetches_total",
                "Fetches of the keys at a client's jwks_uri.",
                &["client", "outcome"],
            )?,
            keys_fetched: declare.float_gauges(
                "client_keys_fetched_timestamp_seconds",
                "When the keys of a jwks_uri that are in use were fetched; 0 where there are none yet.",
                &["client"],
            )?,
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
            introspections: declare.counters(
                "introspections_total",
                "Tokens that a data provider asked about.",
                &["data_provider", "outcome"],
            )?,
            revocations: declare.counters("revocations_total", "Requests to forget a token.", &["outcome"])?,
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
        self.http_seconds.with_label_values(&[listener.label(), endpoint]).observe(took.as_secs_f64());
    }

    pub fn login_reached(&self, to: &'static str) {
        self.login_transitions.with_label_values(&[to]).inc();
    }

    pub fn login_ended(&self, outcome: &'static str, error: Option<ErrorCode>) {
        self.login_outcomes.with_label_values(&[outcome, error.map_or("none", code)]).inc();
    }

    pub fn connector_call(
        &self,
        connector: &ConnectorId,
        operation: &'static str,
        outcome: Result<(), ErrorCode>,
        took: Duration,
    ) {
        let outcome = outcome.map_or_else(code, |()| "ok");
        self.connector_calls.with_label_values(&[connector.as_str(), operation, outcome]).inc();
        self.connector_seconds.with_label_values(&[connector.as_str(), operation]).observe(took.as_secs_f64());
    }

    /// A call that never began: counted, and no time of it is measured.
    pub fn connector_spared(&self, connector: &ConnectorId, operation: &'static str, why: ErrorCode) {
        self.connector_calls.with_label_values(&[connector.as_str(), operation, code(why)]).inc();
    }

    /// Before those that there are set their gauges anew: a connector that is gone must not stay.
    pub fn connectors_cleared(&self) {
        self.connector_breaker.reset();
        self.connector_failures.reset();
        self.connector_latency.reset();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn connector_breaker(&self, connector: &ConnectorId, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.connector_breaker.with_label_values(&[connector.as_str(), *known]).set(i64::from(*known == state));
        }
    }

    /// From 0 to 1.
    pub fn connector_failure_ratio(&self, connector: &ConnectorId, ratio: f64) {
        self.connector_failures.with_label_values(&[connector.as_str()]).set(ratio);
    }

    /// `quantile` is one of a handful, as `0.99`.
    pub fn connector_latency(&self, connector: &ConnectorId, quantile: &'static str, within: Duration) {
        self.connector_latency.with_label_values(&[connector.as_str(), quantile]).set(within.as_secs_f64());
    }

    /// Seconds; positive when the identity provider's clock is ahead.
    pub fn connector_clock_skew(&self, connector: &ConnectorId, seconds: f64) {
        self.connector_skew.with_label_values(&[connector.as_str()]).set(seconds);
    }

    /// How many blocks are in force on each connector; one that is gone is told of no more.
    pub fn connector_blocks<'a>(&self, blocks: impl Iterator<Item = (&'a ConnectorId, usize)>) {
        self.connector_blocks.reset();
        for (connector, count) in blocks {
            self.connector_blocks.with_label_values(&[connector.as_str()]).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// `reason` is one of a handful; the values themselves are an identity provider's, and stay out of labels.
    pub fn amr_dropped(&self, connector: &ConnectorId, reason: &'static str, values: usize) {
        let values = u64::try_from(values).unwrap_or(u64::MAX);
        self.amr_dropped.with_label_values(&[connector.as_str(), reason]).inc_by(values);
    }

    pub fn register_answered(&self, answer: &'static str, took: Duration) {
        self.register_answers.with_label_values(&[answer]).inc();
        self.register_seconds.with_label_values::<&str>(&[]).observe(took.as_secs_f64());
    }

    /// A question that was never asked: counted, and no time of it is measured.
    pub fn register_spared(&self, answer: &'static str) {
        self.register_answers.with_label_values(&[answer]).inc();
    }

    pub fn register_retried(&self) {
        self.register_retries.with_label_values::<&str>(&[]).inc();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn register_breaker(&self, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.register_breaker.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }

    /// A call that reached the shared store's connection, whatever came of it.
    pub fn redis_round_trip(&self, verb: &'static str, took: Duration) {
        self.redis_seconds.with_label_values(&[verb]).observe(took.as_secs_f64());
    }

    /// `error` is one of a handful.
    pub fn redis_failed(&self, error: &'static str) {
        self.redis_errors.with_label_values(&[error]).inc();
    }

    pub fn redis_retried(&self) {
        self.redis_retries.with_label_values::<&str>(&[]).inc();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn redis_breaker(&self, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.redis_breaker.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }

    /// Handles for one kind and verb, for whoever counts on each call.
    #[must_use]
    pub fn store_meter(&self, kind: &'static str, verb: &'static str) -> StoreMeter {
        let operations = self.store_operations.with_label_values(&[kind, verb]);
        StoreMeter { operations, errors: self.store_errors.clone(), kind, verb }
    }

    pub fn store_records(&self, kind: &'static str, records: usize) {
        self.store_records.with_label_values(&[kind]).set(i64::try_from(records).unwrap_or(i64::MAX));
    }

    pub fn actor_activated(&self, actor: &'static str) {
        self.actors_activated.with_label_values(&[actor]).inc();
        self.actors_live.with_label_values(&[actor]).inc();
    }

    /// The actor went to sleep; it can be activated again.
    pub fn actor_passivated(&self, actor: &'static str) {
        self.actors_passivated.with_label_values(&[actor]).inc();
        self.actor_stopped(actor);
    }

    /// The actor ended for another reason: done, crashed, or its connector was removed.
    pub fn actor_stopped(&self, actor: &'static str) {
        self.actors_live.with_label_values(&[actor]).dec();
    }

    /// `outcome` is one of a handful: `provider`, `here`, `asked`, `nobody`, `refused`, `returned`.
    pub fn logout(&self, outcome: &'static str) {
        self.logouts.with_label_values(&[outcome]).inc();
    }

    pub fn token_issued(&self, kind: &'static str) {
        self.tokens_issued.with_label_values(&[kind]).inc();
    }

    /// `client_id`: of a registered client, where it is known who asked.
    pub fn token_refused(&self, client_id: Option<&ClientId>, why: ErrorCode) {
        self.token_refusals.with_label_values(&[client_id.map_or(NOBODY, ClientId::as_str), code(why)]).inc();
    }

    /// `outcome` is one of a handful.
    pub fn client_keys_asked(&self, client_id: &ClientId, outcome: &'static str) {
        self.key_fetches.with_label_values(&[client_id.as_str(), outcome]).inc();
    }

    /// `None`: there are none yet, and nothing can be sealed for the client.
    pub fn client_keys_fetched(&self, client_id: &ClientId, at: Option<Timestamp>) {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of any date that will be are exact")]
        let seconds = at.map_or(0.0, |at| at.millis() as f64 / 1000.0);
        self.keys_fetched.with_label_values(&[client_id.as_str()]).set(seconds);
    }

    /// A client that publishes keys no more, or isn't there any more.
    pub fn client_keys_forgotten(&self, client_id: &ClientId) {
        // One that was never there is forgotten already.
        let _gone = self.keys_fetched.remove_label_values(&[client_id.as_str()]);
    }

    /// How many files of this sort are bad now.
    pub fn config_files_bad(&self, kind: &'static str, count: usize) {
        self.config_bad.with_label_values(&[kind]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The files were read again; `outcome` is `changed`, `unchanged` or `failed`. At `at`, unless it failed, what they say
    /// was in use.
    pub fn config_read(&self, outcome: &'static str, at: Timestamp) {
        self.config_reads.with_label_values(&[outcome]).inc();
        if outcome != "failed" {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of any date that will be are exact")]
            self.config_read.with_label_values(&[] as &[&str]).set(at.millis() as f64 / 1000.0);
        }
    }

    /// `event` is one of the audit log's table.
    pub fn audit_written(&self, event: &'static str) {
        self.audit_events.with_label_values(&[event]).inc();
    }

    /// There is an audit log: what has not been lost shows as 0.
    pub fn audit_began(&self) {
        self.audit_lost.with_label_values::<&str>(&[]).inc_by(0);
        self.audit_errors.with_label_values::<&str>(&[]).inc_by(0);
    }

    pub fn audit_lost(&self) {
        self.audit_lost.with_label_values::<&str>(&[]).inc();
    }

    pub fn audit_refused(&self) {
        self.audit_errors.with_label_values::<&str>(&[]).inc();
    }

    /// `outcome` is what became of so many spans.
    pub fn spans(&self, outcome: &str, count: usize) {
        self.trace_spans.with_label_values(&[outcome]).inc_by(count as u64);
    }

    pub fn audit_sealed(&self, at: Timestamp) {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of any date that will be are exact")]
        self.audit_sealed.with_label_values(&[] as &[&str]).set(at.millis() as f64 / 1000.0);
    }

    /// `outcome` is `active` or `inactive`; the data provider is a registered one.
    pub fn introspected(&self, data_provider: &ClientId, outcome: &'static str) {
        self.introspections.with_label_values(&[data_provider.as_str(), outcome]).inc();
    }

    /// `outcome` is `revoked`, or `nothing` where the token was not there or not the client's.
    pub fn revoked(&self, outcome: &'static str) {
        self.revocations.with_label_values(&[outcome]).inc();
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Counts the calls of one store verb on one kind of record.
#[derive(Clone, Debug)]
pub struct StoreMeter {
    operations: IntCounter,
    errors: IntCounterVec,
    kind: &'static str,
    verb: &'static str,
}

impl StoreMeter {
    pub fn asked(&self) {
        self.operations.inc();
    }

    pub fn refused(&self, error: &'static str) {
        self.errors.with_label_values(&[self.kind, self.verb, error]).inc();
    }
}

const fn code(error: ErrorCode) -> &'static str {
    error.entry().code
}

/// Creates, registers and writes down in one go, so that no metric is forgotten.
struct Declare<'r> {
    registry: &'r Registry,
    told: RefCell<Vec<Declared>>,
}

impl Declare<'_> {
    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, TelemetryFault> {
        self.keep(name, IntCounterVec::new(options(name, help), labels))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, TelemetryFault> {
        self.keep(name, IntGaugeVec::new(options(name, help), labels))
    }

    fn float_gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, TelemetryFault> {
        self.keep(name, GaugeVec::new(options(name, help), labels))
    }

    fn durations(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, TelemetryFault> {
        let options = HistogramOpts { common_opts: options(name, help), buckets: BUCKETS.to_vec() };
        self.keep(name, HistogramVec::new(options, labels))
    }

    fn keep<C: Collector + Clone + 'static>(&self, name: &str, metric: prometheus::Result<C>) -> Result<C, TelemetryFault> {
        let fault = |error: prometheus::Error| TelemetryFault::Metric { name: name.into(), reason: error.to_string() };
        let metric = metric.map_err(fault)?;
        self.registry.register(Box::new(metric.clone())).map_err(fault)?;
        let of = |desc: &Desc| Declared { name: desc.fq_name.clone(), labels: desc.variable_labels.clone() };
        self.told.borrow_mut().extend(metric.desc().into_iter().map(of));
        Ok(metric)
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("passerelle")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn metrics() -> Metrics {
        Metrics::new(Timestamp::from_millis(1_800_000_000_500)).unwrap()
    }

    fn everything_once(metrics: &Metrics) {
        let impots = ConnectorId::from("impots");
        let took = Duration::from_millis(3);
        metrics.http_request(Listener::Public, "/api/v2/token", 200, took);
        metrics.login_reached("away");
        metrics.login_ended("refused", Some(ErrorCode::AcrTooLow));
        metrics.connector_call(&impots, "complete", Err(ErrorCode::IdTokenNonce), took);
        metrics.connector_spared(&impots, "begin", ErrorCode::IdpBusy);
        metrics.connector_breaker(&"gone".into(), "open", &["closed", "open"]);
        metrics.connectors_cleared();
        metrics.connector_breaker(&impots, "open", &["closed", "open"]);
        metrics.connector_failure_ratio(&impots, 0.5);
        metrics.connector_latency(&impots, "0.99", Duration::from_millis(1500));
        metrics.connector_clock_skew(&impots, -1.5);
        metrics.connector_blocks([(&ConnectorId::from("gone"), 1)].into_iter());
        metrics.connector_blocks([(&impots, 2)].into_iter());
        metrics.amr_dropped(&impots, "unknown", 2);
        metrics.register_answered("found", took);
        metrics.register_spared("breaker_open");
        metrics.register_retried();
        metrics.register_breaker("open", &["closed", "open"]);
        metrics.store_meter("login", "insert").asked();
        metrics.store_meter("login", "insert").refused("full");
        metrics.store_records("login", 7);
        metrics.actor_activated("login");
        metrics.actor_activated("login");
        metrics.actor_passivated("login");
        metrics.token_issued("code");
        metrics.introspected(&"archive".into(), "active");
        metrics.revoked("nothing");
        metrics.token_refused(None, ErrorCode::CodeUnknown);
        metrics.token_refused(Some(&"sp".into()), ErrorCode::ClientAuthentication);
        metrics.client_keys_asked(&"sp".into(), "ok");
        metrics.client_keys_fetched(&"sp".into(), Some(Timestamp::from_millis(1_800_000_000_250)));
        metrics.client_keys_fetched(&"other".into(), None);
        metrics.client_keys_fetched(&"gone".into(), None);
        metrics.client_keys_forgotten(&"gone".into());
        metrics.config_files_bad("connector", 2);
        metrics.config_read("changed", Timestamp::from_millis(1_800_000_000_250));
        metrics.config_read("failed", Timestamp::from_millis(1_900_000_000_250));
        metrics.audit_written("code_issued");
        metrics.audit_lost();
        metrics.audit_refused();
        metrics.audit_sealed(Timestamp::from_millis(1_800_000_000_250));
        metrics.spans("exported", 7);
    }

    #[test]
    fn each_event_shows_under_its_name() {
        let metrics = metrics();
        everything_once(&metrics);
        let text = metrics.render();
        let busy = ErrorCode::IdpBusy.entry().code;
        for line in [
            r#"passerelle_http_requests_total{endpoint="/api/v2/token",listener="public",status="2xx"} 1"#,
            r#"passerelle_http_request_duration_seconds_bucket{endpoint="/api/v2/token",listener="public",le="0.005"} 1"#,
            r#"passerelle_login_transitions_total{to="away"} 1"#,
            r#"passerelle_login_outcomes_total{error="Y100002",outcome="refused"} 1"#,
            r#"passerelle_connector_calls_total{connector="impots",operation="complete",outcome="Y020040"} 1"#,
            r#"passerelle_connector_call_duration_seconds_count{connector="impots",operation="complete"} 1"#,
            &format!(r#"passerelle_connector_calls_total{{connector="impots",operation="begin",outcome="{busy}"}} 1"#),
            r#"passerelle_connector_clock_skew_seconds{connector="impots"} -1.5"#,
            r#"passerelle_connector_blocks{connector="impots"} 2"#,
            r#"passerelle_connector_breaker{connector="impots",state="closed"} 0"#,
            r#"passerelle_connector_breaker{connector="impots",state="open"} 1"#,
            r#"passerelle_connector_failure_ratio{connector="impots"} 0.5"#,
            r#"passerelle_connector_latency_seconds{connector="impots",quantile="0.99"} 1.5"#,
            r#"passerelle_amr_dropped_total{connector="impots",reason="unknown"} 2"#,
            r#"passerelle_register_answers_total{answer="found"} 1"#,
            "passerelle_register_call_duration_seconds_count 1",
            r#"passerelle_register_answers_total{answer="breaker_open"} 1"#,
            "passerelle_register_retries_total 1",
            r#"passerelle_register_breaker{state="closed"} 0"#,
            r#"passerelle_register_breaker{state="open"} 1"#,
            r#"passerelle_store_operations_total{kind="login",verb="insert"} 1"#,
            r#"passerelle_store_errors_total{error="full",kind="login",verb="insert"} 1"#,
            r#"passerelle_store_records{kind="login"} 7"#,
            r#"passerelle_config_files_bad{kind="connector"} 2"#,
            r#"passerelle_config_reads_total{outcome="failed"} 1"#,
            "passerelle_config_read_timestamp_seconds 1800000000.25",
            r#"passerelle_actors_live{actor="login"} 1"#,
            r#"passerelle_actors_activated_total{actor="login"} 2"#,
            r#"passerelle_actors_passivated_total{actor="login"} 1"#,
            r#"passerelle_tokens_issued_total{kind="code"} 1"#,
            r#"passerelle_introspections_total{data_provider="archive",outcome="active"} 1"#,
            r#"passerelle_revocations_total{outcome="nothing"} 1"#,
            r#"passerelle_token_refusals_total{client="(not known)",reason="Y042001"} 1"#,
            r#"passerelle_token_refusals_total{client="sp",reason="Y041002"} 1"#,
            r#"passerelle_client_key_fetches_total{client="sp",outcome="ok"} 1"#,
            r#"passerelle_client_keys_fetched_timestamp_seconds{client="sp"} 1800000000.25"#,
            r#"passerelle_client_keys_fetched_timestamp_seconds{client="other"} 0"#,
            r#"passerelle_audit_events_total{event="code_issued"} 1"#,
            "passerelle_audit_lost_total 1",
            "passerelle_audit_write_errors_total 1",
            "passerelle_audit_checkpoint_timestamp_seconds 1800000000.25",
            r#"passerelle_trace_spans_total{outcome="exported"} 7"#,
            "process_start_time_seconds 1800000000.5",
        ] {
            assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
        }
        assert!(text.contains("passerelle_build_info{version="));
        assert!(!text.contains("connector=\"gone\""), "a connector that is gone stays");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_process_is_measured_at_the_scrape() {
        let text = metrics().render();
        for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"] {
            assert!(text.contains(&format!("\n{name} ")), "{name} is missing in\n{text}");
        }
    }

    #[test]
    fn what_is_rendered_was_declared() {
        let metrics = metrics();
        everything_once(&metrics);
        let text = metrics.render();
        let rendered = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        let declared: Vec<_> = metrics.declared().iter().map(|declared| declared.name.as_str()).collect();
        for name in rendered {
            assert!(declared.contains(&name), "{name} is missing in {declared:?}");
        }
        let calls = metrics.declared().iter().find(|declared| declared.name == "passerelle_connector_calls_total").unwrap();
        assert_eq!(calls.labels, ["connector", "operation", "outcome"]);
    }

    #[test]
    fn two_hubs_in_one_process_do_not_count_together() {
        let (one, other) = (metrics(), metrics());
        one.login_reached("away");
        assert!(!other.render().contains("login_transitions_total{"));
    }

    #[test]
    fn samplers_speak_before_each_scrape() {
        let metrics = metrics();
        let records = Arc::new(std::sync::atomic::AtomicUsize::new(3));
        let sampled = Arc::clone(&records);
        metrics.sample_with(move |metrics| metrics.store_records("code", sampled.load(std::sync::atomic::Ordering::Relaxed)));
        assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 3"));
        records.store(4, std::sync::atomic::Ordering::Relaxed);
        assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 4"));
    }
}
