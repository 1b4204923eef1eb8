//! Defines references to secrets, and the `[secrets]` table.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file_path::FilePath;

/// Reference to a secret: `{ file = "path" }` or `{ env = "NAME" }`. Configuration files never
/// contain secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<FilePath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
}

/// The `[secrets]` table: where the secrets of connectors and clients are (docs/secrets.md).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretLocations {
    /// Folder of the secrets of connectors, service providers and data providers. Each file may
    /// only read its own subfolder: `connectors/ID`, `service-providers/ID` or `data-providers/ID`,
    /// where ID is its name without `.toml`.
    pub folder: PathBuf,
    /// Prefix for the names of the variables that those files may reference, which start with
    /// `CONNECTOR_ID__`, `SERVICE_PROVIDER_ID__` or `DATA_PROVIDER_ID__`. Capital letters, digits
    /// and `_`.
    pub environment_prefix: String,
}

impl Default for SecretLocations {
    fn default() -> Self {
        Self { folder: "secrets".into(), environment_prefix: String::new() }
    }
}
