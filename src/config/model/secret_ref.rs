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

/// A version of the subject key, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionedKey {
    /// Version at the end of every `sub`: 1 for the first key, then increasing.
    pub version: u32,
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<FilePath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// As in `subject_key`.
    #[serde(default)]
    pub derivation: Option<u32>,
}

/// Reference to a secret: `{ file = "path" }` or `{ env = "NAME" }`; with the version of the name
/// normalization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectKeyRef {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<FilePath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// Version of the name normalization, which must never change for a version of the key: 2, the
    /// only one (docs/subject.md). Default: 2.
    #[serde(default)]
    pub derivation: Option<u32>,
}

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
