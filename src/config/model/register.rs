//! Defines the `[register]` table of `passerelle.toml`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults;
use super::secret_ref::SecretRef;

/// The register of persons.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum RegisterConfig {
    /// A CSV file.
    File(FileRegisterConfig),
    /// A server.
    Http(Box<HttpRegisterConfig>),
}

/// A register in a CSV file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRegisterConfig {
    /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace,
    /// birthcountry, status. A `status` is `active` (or empty), `deceased` or `refused`; persons
    /// with the last two are rejected (Y010003, Y010004).
    pub path: PathBuf,
}

/// A register that is queried over HTTPS, specified in `docs/register.openapi.yaml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRegisterConfig {
    /// Base URL without a query: `https://register.example.org/v1`.
    pub url: String,
    /// PEM file of the hub's certificate, followed by its chain, for a register that requires one.
    #[serde(default)]
    pub client_certificate: Option<PathBuf>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// PEM file of the only certificate authorities trusted for the register. Default: the
    /// system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Bearer token, sent as `Authorization: Bearer …` (RFC 6750).
    #[serde(default)]
    pub bearer: Option<SecretRef>,
    /// Maximum number of concurrent calls to the register.
    #[serde(default = "defaults::register_calls")]
    pub calls: usize,
    /// Allows http for the register.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}
