//! Defines `[metrics]` of `passerelle.toml`: how service providers are labelled in metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[metrics]` table (docs/metrics.md).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricLabels {
    /// Label of service providers: the `client_id`, or the class (`class` in its file) for a hub
    /// with thousands of them.
    pub service_provider_labels: ServiceProviderLabels,
}

/// Label of service providers in metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceProviderLabels {
    /// The `client_id`.
    #[default]
    Each,
    /// The class.
    Class,
}
