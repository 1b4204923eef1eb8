//! Defines references to secrets, and the `[secrets]` table.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file_path::{SecretCertificatePath, SecretPath};

/// Reference to a secret: `{ file = "path" }` or `{ env = "NAME" }`. Configuration files never
/// contain secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<SecretPath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
}

/// Reference to certificates in PEM: `{ file = "path" }` or `{ env = "NAME" }`. Their private key may
/// be beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateRef {
    /// Path, relative to the configuration folder.
    #[serde(default)]
    pub file: Option<SecretCertificatePath>,
    /// Name of an environment variable.
    #[serde(default)]
    #[schemars(extend("format" = CERTIFICATE_VARIABLE))]
    pub env: Option<String>,
}

/// Format, in a schema, of the name of an environment variable that has certificates.
pub(super) const CERTIFICATE_VARIABLE: &str = "certificate-variable";

impl From<&CertificateRef> for SecretRef {
    fn from(reference: &CertificateRef) -> Self {
        let file = reference.file.as_ref().map(|file| file.to_path_buf().into());
        Self { file, env: reference.env.clone() }
    }
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
