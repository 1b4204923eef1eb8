//! Defines references to the keys that a `sub` is derived with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::SecretPath;

/// A version of the subject key, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionedKey {
    /// Version at the end of every `sub`: 1 for the first key, then increasing.
    pub version: u32,
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<SecretPath>,
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
    pub file: Option<SecretPath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// Version of the name normalization, which must never change for a version of the key: 2, the
    /// only one (docs/subject.md). Default: 2.
    #[serde(default)]
    pub derivation: Option<u32>,
}
