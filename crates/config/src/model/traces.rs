//! Defines the `[traces]` table of `passerelle.toml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::SecretRef;

/// The `[traces]` table (docs/logs-and-traces.md).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// URL of the collector, for example `https://collector.example.org:4318/v1/traces` (OTLP over
    /// HTTP, protobuf). Without it nothing is traced.
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
    #[schemars(range(min = 128, max = 1_000_000))]
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
