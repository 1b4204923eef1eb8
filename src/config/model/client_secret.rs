//! Defines the secret of a client.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::settings::FilePath;

/// A client secret of 32 characters or more: by reference, or as its SHA-256 in hex.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSecret {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<FilePath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// SHA-256 of the secret: 64 hex digits.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Start of its validity, inclusive, for example `2027-03-01T00:00:00Z`. Default: no start.
    #[serde(default)]
    pub not_before: Option<String>,
    /// End of its validity, exclusive. Default: no end.
    #[serde(default)]
    pub not_after: Option<String>,
}
