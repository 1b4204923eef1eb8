//! Defines the `[pkcs11]` table.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::SecretRef;

/// Private keys in a PKCS#11 token, for example a hardware security module
/// (docs/keys-in-hardware.md).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pkcs11Config {
    /// Path of the vendor's module: `/usr/lib/softhsm/libsofthsm2.so`. A relative path is relative to
    /// the configuration folder.
    pub module: PathBuf,
    /// Label of the token.
    pub token: String,
    /// PIN of the token's user. The file is read again at each login to the token.
    pub pin: SecretRef,
    /// New keys that `passerelle keys new` and `rotate` generate in the token: `tokens`, `assertion`,
    /// `encryption`. Default: all.
    #[serde(default = "DeviceKeyPurpose::all")]
    pub new_keys: Vec<DeviceKeyPurpose>,
    /// Sessions with the token: calls that it works on at the same time.
    #[serde(default = "default_sessions")]
    #[schemars(range(min = 1, max = 256))]
    pub sessions: usize,
    /// Longest time of a call of the token, with its wait for a session.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout_seconds: u64,
}

/// What a key in a token is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKeyPurpose {
    /// Signs the hub's tokens.
    Tokens,
    /// Authenticates the hub to identity providers.
    Assertion,
    /// Decrypts what identity providers encrypt to the hub.
    Encryption,
}

impl DeviceKeyPurpose {
    fn all() -> Vec<Self> {
        vec![Self::Tokens, Self::Assertion, Self::Encryption]
    }
}

const fn default_sessions() -> usize {
    4
}

const fn default_timeout_seconds() -> u64 {
    2
}
