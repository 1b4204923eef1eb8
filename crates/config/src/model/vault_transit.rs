//! Defines the `[vault_transit]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::{AuthoritiesPath, SecretRef};

/// Private keys in the Transit engine of a Vault server, or of another with its HTTP interface
/// (docs/keys-in-hardware.md).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultTransitConfig {
    /// Address of the server: `https://vault.example.org:8200`. Plain http only at `127.0.0.0/8`
    /// and `::1`, for an agent on the same machine; not at a name, which can resolve to another host.
    pub address: String,
    /// Path of the engine.
    #[serde(default = "default_mount")]
    pub mount: String,
    /// Namespace of the engine, sent as `X-Vault-Namespace`. Default: none.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Token of the hub, sent as `X-Vault-Token`. The file is read again when an agent has renewed
    /// the token.
    pub token: SecretRef,
    /// PEM file of the only certificate authorities trusted for the server. Default: the system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// New keys that `passerelle keys new` and `rotate` generate in the engine: `tokens`,
    /// `assertion`, `rsa_encryption`. `encryption` is refused, because Transit has no key agreement
    /// and so no keys for ECDH-ES. Default: `tokens`, `assertion`.
    #[serde(default = "TransitKeyPurpose::signing")]
    pub new_keys: Vec<TransitKeyPurpose>,
    /// Longest time of a call of the server.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout_seconds: u64,
}

/// What a key in a Transit engine is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransitKeyPurpose {
    /// Signs the hub's tokens.
    Tokens,
    /// Authenticates the hub to identity providers.
    Assertion,
    /// Decrypts what identity providers encrypt to the hub with RSA-OAEP-256.
    RsaEncryption,
    /// Refused: includes a key for ECDH-ES.
    Encryption,
}

impl TransitKeyPurpose {
    fn signing() -> Vec<Self> {
        vec![Self::Tokens, Self::Assertion]
    }
}

fn default_mount() -> String {
    "transit".to_owned()
}

const fn default_timeout_seconds() -> u64 {
    2
}
