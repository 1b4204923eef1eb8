//! Defines and checks `[traces]` of `passerelle.toml`: where spans are sent, how many logins are
//! sampled, and where trace context is propagated (docs/logs-and-traces.md).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::{self, Http};
use super::diagnostic::Diagnostic;
use super::model::SecretRef;
use super::secret_rules::SecretContext;
use super::secrets;
use super::settings::check_range;
use super::source_file::SourceFile;
use crate::ids::Secret;

/// The `[traces]` table (docs/logs-and-traces.md).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// URL of the collector, for example `https://collector.example.org:4318/v1/traces` (OTLP over
    /// HTTP, JSON). Without it nothing is traced.
    pub endpoint: Option<String>,
    /// Headers of each request to the collector, for example `{ Authorization = { env =
    /// "OTLP_AUTHORIZATION" } }`.
    pub headers: BTreeMap<String, SecretRef>,
    /// Ratio of logins that are sampled, from 0 to 1. A login is sampled completely or not at all.
    pub sample_ratio: f64,
    /// Follows the sampling flag of a caller's `traceparent` instead of `sample_ratio`. Any caller
    /// can then have all its requests sampled.
    pub trust_sampled: bool,
    /// Which servers the hub sends `traceparent` to.
    pub propagate: TracePropagation,
    /// Resource attribute `service.name`.
    pub service_name: String,
    /// Further resource attributes, for example `{ "deployment.environment.name" = "production" }`.
    pub resource: BTreeMap<String, String>,
    /// Maximum number of spans that wait for the collector. Further ones are dropped and counted.
    pub queue_spans: usize,
    /// Allows http for the collector.
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    pub internal_hosts: Vec<String>,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            sample_ratio: 0.02,
            trust_sampled: false,
            propagate: TracePropagation::None,
            service_name: "passerelle".into(),
            resource: BTreeMap::new(),
            queue_spans: 8192,
            insecure_http: false,
            internal_hosts: Vec::new(),
        }
    }
}

/// Which servers the hub sends `traceparent` to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TracePropagation {
    /// None. No other server learns an id that a service provider may know too.
    None,
    /// The register.
    Register,
    /// The register and identity providers.
    All,
}

/// Headers of each request to the collector, with resolved secrets.
pub type TraceHeaders = BTreeMap<String, Secret<String>>;

/// Checks the table and reads the headers.
pub(super) fn check_traces(
    source: &SourceFile,
    traces: &TracesConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> TraceHeaders {
    let http = if traces.insecure_http { Http::Anywhere } else { Http::Nowhere };
    if let Some(endpoint) = &traces.endpoint
        && let Err((message, fix)) = address::parse_url_without_query(endpoint, http)
    {
        problems.push(source.diagnostic("traces.endpoint", message, fix));
    }
    problems.extend(source.check_hosts("traces.internal_hosts", &traces.internal_hosts));
    if !(0.0..=1.0).contains(&traces.sample_ratio) {
        problems.push(source.diagnostic(
            "traces.sample_ratio",
            "is not a ratio",
            "write a number from 0 to 1, for example 0.1",
        ));
    }
    check_range(
        source,
        "traces.queue_spans",
        u64::try_from(traces.queue_spans).unwrap_or(u64::MAX),
        (128, 1_000_000),
        problems,
    );
    if traces.service_name.is_empty() {
        problems.push(source.diagnostic(
            "traces.service_name",
            "is empty",
            "name this hub, or remove the key",
        ));
    }
    if traces.resource.contains_key("service.name") {
        let fix = "use traces.service_name instead";
        problems.push(source.diagnostic("traces.resource", "contains service.name", fix));
    }
    let mut headers = TraceHeaders::new();
    for (name, reference) in &traces.headers {
        let key = format!("traces.headers.{name}");
        if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            problems.push(source.diagnostic(
                &key,
                "is not a header name",
                "use letters, digits and hyphens, for example Authorization",
            ));
            continue;
        }
        match secrets::resolve_secret(source, &key, reference, context) {
            Ok(value) if value.reveal().bytes().all(|c| c == b' ' || c.is_ascii_graphic()) => {
                headers.insert(name.clone(), value);
            }
            Ok(_) => problems.push(source.diagnostic(
                &key,
                "references a text that is not a valid header value",
                "use visible ASCII",
            )),
            Err(problem) => problems.push(problem),
        }
    }
    headers
}
