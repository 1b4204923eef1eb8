//! Values of fields that only the audit log has.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::report::CheckpointCheck;
use passerelle_federation::notices::NoticeTable;
use passerelle_protocol::digest;
use passerelle_protocol::ids::InteractionHash;

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
pub(crate) struct Pseudonym(String);

impl Pseudonym {
    /// Hashes a name to 96 bits: unique enough, and useless as a key to the store.
    pub(super) fn new(kind: &str, name: &str) -> Self {
        let parts = ["passerelle audit ", kind, "\n", name];
        let hash = digest::sha256_parts(parts.map(str::as_bytes));
        Self(digest::base64url(hash.get(..12).unwrap_or_default()))
    }
}

/// Fields that few events have.
#[serde_with::skip_serializing_none]
#[derive(Clone, Default, Debug, Serialize, JsonSchema)]
pub(crate) struct RareFields {
    /// Names of the service provider's parameters that the identity provider gets, without values.
    pub forwarded: Option<Vec<String>>,
    /// Names of the claims that the response asserts as verified, without values.
    pub verified_claims: Option<BTreeSet<String>>,
    /// A block's id, as `passerelle idp list` shows it.
    pub block: Option<String>,
    /// A notice's id, as `passerelle notice list` shows it.
    pub notice: Option<String>,
    /// What users see of it: `text` by language, `from`, `until`, `severity`, `link`.
    pub content: Option<NoticeTable>,
    /// A key, by its RFC 7638 thumbprint.
    pub kid: Option<String>,
    pub purpose: Option<AuditKeyPurpose>,
    pub change: Option<ConfigChange>,
    /// A configuration file's name.
    pub file: Option<String>,
    /// Identifies the content of connectors, service providers, data providers and scopes.
    pub config: Option<String>,
    /// Version of the program.
    pub version: Option<&'static str>,
    /// The number of events.
    pub lost: Option<u64>,
    /// Whether the log contains the last checkpoint that the state folder or the shared store has
    /// saved: `matched`, `unknown` (none is saved), `missing` (the log ends before it), `changed`
    /// (another line is there), `unreadable` (no comparison was possible).
    pub last_checkpoint: Option<CheckpointCheck>,
    /// Number of that checkpoint's line.
    pub checkpoint_seq: Option<u64>,
    /// A compact JWS of `iss`, `iat`, `node`, `seq` and `hash` of the line before, and `tree_size`
    /// and `root_hash` of the Merkle tree of the lines from the last checkpoint to that line;
    /// `inherited_leaves` counts those of an earlier process.
    pub jws: Option<String>,
    /// The operator who caused the event, by the name in `private.operators`.
    pub operator: Option<String>,
    /// Why the operator did it, in the operator's words.
    pub reason: Option<String>,
    /// Random value in lines without `support_id`, so that the hash of this line in a proof of
    /// another one does not confirm a guess of its content.
    pub salt: Option<String>,
}

/// Serializes the hash of a login.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub(super) fn serialize_login<S: Serializer>(
    login: &Option<InteractionHash>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    login.as_ref().map(|hash| Pseudonym::new("login", hash.as_str())).serialize(serializer)
}

/// Serializes the hash of a session.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub(super) fn serialize_session<S: Serializer>(
    session: &Option<Box<str>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    session.as_ref().map(|lineage| Pseudonym::new("session", lineage)).serialize(serializer)
}
