//! `[traces]` of `passerelle.toml`: where spans go, of how many logins, and who else hears of a trace
//! (docs/logs-and-traces.md).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::{self, Http};
use super::model::SecretRef;
use super::problem::Problem;
use super::secret_rules::Context;
use super::secrets;
use super::settings::within;
use super::source::Source;
use crate::ids::Secret;

/// docs/logs-and-traces.md.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Traces {
    /// Where spans are sent, as `https://collector.example.org:4318/v1/traces` (OTLP over HTTP, JSON). Without it nothing
    /// is traced.
    pub endpoint: Option<String>,
    /// Headers of each call to the collector, as `{ Authorization = { env = "OTLP_AUTHORIZATION" } }`.
    pub headers: BTreeMap<String, SecretRef>,
    /// Share of logins that are kept, from 0 to 1; each is kept whole or not at all.
    pub sample_ratio: f64,
    /// Whether the sampling flag of a caller's `traceparent` decides, instead of `sample_ratio`. Whoever reaches the hub may
    /// then have every request of his kept.
    pub trust_sampled: bool,
    /// To whom the hub sends `traceparent`.
    pub propagate: Propagate,
    /// `service.name`.
    pub service_name: String,
    /// More of the resource's attributes, as `{ "deployment.environment.name" = "production" }`.
    pub resource: BTreeMap<String, String>,
    /// Spans that wait for the collector at most; further ones are counted and let go.
    pub queue_spans: usize,
    /// Allows http for the collector.
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    pub internal_hosts: Vec<String>,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            sample_ratio: 0.02,
            trust_sampled: false,
            propagate: Propagate::Nobody,
            service_name: "passerelle".into(),
            resource: BTreeMap::new(),
            queue_spans: 8192,
            insecure_http: false,
            internal_hosts: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Propagate {
    /// Nobody outside learns an id that a service provider may know too.
    Nobody,
    /// The register's server.
    Register,
    /// The register's server and identity providers.
    Everybody,
}

/// Headers of each call to the collector: by reference in the file, as they are sent here.
pub type TraceHeaders = BTreeMap<String, Secret<String>>;

pub(super) fn check(
    source: &Source,
    traces: &Traces,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> TraceHeaders {
    let http = if traces.insecure_http { Http::Anywhere } else { Http::Nowhere };
    if let Some(endpoint) = &traces.endpoint
        && let Err((what, mend)) = address::without_query(endpoint, http)
    {
        problems.push(source.problem("traces.endpoint", what, mend));
    }
    problems.extend(source.not_hosts("traces.internal_hosts", &traces.internal_hosts));
    if !(0.0..=1.0).contains(&traces.sample_ratio) {
        problems.push(source.problem(
            "traces.sample_ratio",
            "is no share",
            "write a number from 0 to 1, as 0.1",
        ));
    }
    within(
        source,
        "traces.queue_spans",
        u64::try_from(traces.queue_spans).unwrap_or(u64::MAX),
        (128, 1_000_000),
        problems,
    );
    if traces.service_name.is_empty() {
        problems.push(source.problem(
            "traces.service_name",
            "is empty",
            "name this hub, or remove the key",
        ));
    }
    if traces.resource.contains_key("service.name") {
        let mend = "write it as traces.service_name";
        problems.push(source.problem("traces.resource", "names service.name", mend));
    }
    let mut headers = TraceHeaders::new();
    for (name, reference) in &traces.headers {
        let key = format!("traces.headers.{name}");
        if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            problems.push(source.problem(
                &key,
                "is no header's name",
                "use letters, digits and hyphens, as Authorization",
            ));
            continue;
        }
        match secrets::resolve(source, &key, reference, context) {
            Ok(value) if value.reveal().bytes().all(|c| c == b' ' || c.is_ascii_graphic()) => {
                headers.insert(name.clone(), value);
            }
            Ok(_) => problems.push(source.problem(
                &key,
                "leads to text that no header can carry",
                "use visible ASCII",
            )),
            Err(problem) => problems.push(problem),
        }
    }
    headers
}
