//! Values of fields that only the audit log has.

use schemars::JsonSchema;
use serde::Serialize;

use super::Event;
use crate::report::CheckpointCheck;
use passerelle_protocol::digest;

/// Purpose of a key of the hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditKeyPurpose {
    /// Signs tokens and this log.
    Tokens,
    /// Authenticates the hub to identity providers.
    Assertion,
    /// Decrypts answers of identity providers.
    Encryption,
}

/// Change of a part of the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigChange {
    Added,
    Changed,
    Removed,
}

/// Name of a login or a session in the log: a hash, as 16 characters of base64url.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Pseudonym(String);

impl Pseudonym {
    /// Hashes a name to 96 bits: unique enough, and useless as a key to the store.
    pub(super) fn new(kind: &str, name: &str) -> Self {
        let parts = ["passerelle audit ", kind, "\n", name];
        let hash = digest::sha256_parts(parts.map(str::as_bytes));
        Self(digest::base64url(hash.get(..12).unwrap_or_default()))
    }
}

/// Fields that few events have.
#[derive(Clone, Default, Debug)]
pub(crate) struct RareFields {
    pub block: Option<String>,
    pub kid: Option<String>,
    pub purpose: Option<AuditKeyPurpose>,
    pub change: Option<ConfigChange>,
    pub file: Option<String>,
    pub config: Option<String>,
    pub version: Option<&'static str>,
    pub lost: Option<u64>,
    pub last_checkpoint: Option<CheckpointCheck>,
    pub checkpoint_seq: Option<u64>,
    pub jws: Option<String>,
    pub operator: Option<String>,
    pub reason: Option<String>,
    pub salt: Option<String>,
}

impl Event {
    /// Returns the hash of the login.
    pub(crate) fn login_pseudonym(&self) -> Option<Pseudonym> {
        self.login.as_ref().map(|hash| Pseudonym::new("login", hash.as_str()))
    }

    /// Returns the hash of the session.
    pub(crate) fn session_pseudonym(&self) -> Option<Pseudonym> {
        self.session.as_ref().map(|lineage| Pseudonym::new("session", lineage))
    }
}
