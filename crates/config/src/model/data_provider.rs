//! Defines the data provider file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::defaults;
use super::service_provider::JwksSource;
use passerelle_federation::dated_secret::ClientSecret;
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use passerelle_protocol::ids::{ClientId, Scope};

/// A data provider file: `config/data-providers/*.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataProviderFile {
    /// As the data provider sends it; unique among service providers and data providers.
    pub client_id: ClientId,
    /// Name for operators and the log, by language (`fr`, `en`).
    #[schemars(extend("examples" = [{"en": "…"}]))]
    pub name: BTreeMap<String, String>,
    /// An inactive data provider is treated as unknown.
    #[serde(default = "defaults::yes")]
    pub active: bool,
    /// Scopes that it may see. A token with none of them is inactive to it; `openid` doesn't count.
    pub scopes: Vec<Scope>,
    /// What it sends as `client_secret`. Two may be valid at once, so that rotation needs no
    /// coordination.
    pub secrets: Vec<ClientSecret>,
    /// Data providers and service providers with the same sector share one `sub`; each of them must
    /// declare it. Default: the client_id.
    #[serde(default)]
    pub sector: Option<String>,
    /// Version of the subject key that its `sub` are derived with; the same in a whole sector.
    /// Default: the newest.
    #[serde(default)]
    pub subject_key_version: Option<u32>,
    /// Absent: introspection returns JSON (RFC 7662). Present: a JWT signed with this algorithm
    /// (RFC 9701).
    #[serde(default)]
    pub introspection_signed_response_alg: Option<SigningAlg>,
    /// Present: that JWT is encrypted to its key with this algorithm.
    #[serde(default)]
    pub introspection_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub introspection_encrypted_response_enc: Option<ContentEncryption>,
    /// Its public keys, to encrypt responses to.
    #[serde(default)]
    pub jwks: Option<JwksSource>,
    /// Instead of `jwks`: where it publishes its keys. Fetched and refreshed in the background.
    #[serde(default)]
    pub jwks_uri: Option<String>,
    /// Allows http for `jwks_uri`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts of `jwks_uri` that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}
