//! `[metrics]` of `passerelle.toml`: how finely service providers are told apart in metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// docs/metrics.md.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricLabels {
    /// Each service provider by its `client_id`, or each class of them (`class` in its file): for a hub with thousands.
    pub service_provider_labels: ServiceProviderLabels,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceProviderLabels {
    #[default]
    Each,
    Class,
}
