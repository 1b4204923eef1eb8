//! Builds the chain of lines. Pure.
//!
//! Each line has a number and the hash of the line before, so that a changed, removed, inserted or
//! moved line is detected at the next one. A checkpoint signs the position of the chain.
//!
//! A hash is SHA-256 over the bytes of a line with its line end, in hexadecimal:
//! `sed -n 5p audit.jsonl | sha256sum` prints the `prev` of line 6.

use chrono::{DateTime, SecondsFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LINE_VERSION;
use super::event::{AuditKeyPurpose, ConfigChange, Event, EventKind, Pseudonym, RareFields};
use super::merkle::{MerkleTree, to_hex};
use super::report::CheckpointCheck;
use passerelle_federation::assurance::Level;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject, SupportId};

/// `typ` of a checkpoint's header, so that no other signature of the hub is accepted as one
/// (RFC 8725 §3.11).
pub const CHECKPOINT_TYPE: &str = "passerelle-checkpoint+jws";

/// `prev` of the first line of a chain.
pub const GENESIS_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Position of a chain: the number and hash of its last line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainPosition {
    pub seq: u64,
    pub hash: String,
}

/// Line of the log. Absent fields are left out.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "A line of Passerelle's audit log", rename = "AuditLine")]
pub(super) struct AuditLine<'a> {
    /// Version of this format: 1.
    v: u32,
    /// Number of the line: 1 for the first of a chain, then counting up, across files.
    seq: u64,
    /// SHA-256 of the line before with its line end, in hexadecimal; 64 zeros in the first of a
    /// chain.
    prev: &'a str,
    /// Time of the event: RFC 3339, UTC, milliseconds. Lines are in the order of `seq`; a line may
    /// have an earlier time than the one before it.
    time: &'a str,
    event: EventKind,
    /// The process that wrote it (`audit.node`).
    node: &'a str,
    /// Service provider, by its client_id.
    #[serde(skip_serializing_if = "Option::is_none")]
    sp: Option<&'a ClientId>,
    /// Identity provider, by its connector's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    idp: Option<&'a ConnectorId>,
    /// Data provider, by its client_id.
    #[serde(skip_serializing_if = "Option::is_none")]
    dp: Option<&'a ClientId>,
    /// The user, as the pairwise subject of the service provider or the data provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a Subject>,
    /// Level of assurance: requested in a request, achieved from the callback on, reported in
    /// tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<Level>,
    /// The reason of a refusal: a code of docs/errors.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The login, as a hash that gives no access to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Pseudonym>,
    /// The session, as a hash that gives no access to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Pseudonym>,
    /// Shown to the user on pages; the same for a whole login and everything issued in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    support_id: Option<&'a SupportId>,
    /// A block's id, as `passerelle idp list` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<&'a str>,
    /// A key, by its RFC 7638 thumbprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<AuditKeyPurpose>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<ConfigChange>,
    /// A configuration file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// Identifies the content of connectors, service providers, data providers and scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
    /// Version of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    /// The number of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    /// Whether the log contains the last checkpoint that the state folder or the shared store has
    /// saved: `matched`, `unknown` (none is saved), `missing` (the log ends before it), `changed`
    /// (another line is there), `unreadable` (no comparison was possible).
    #[serde(skip_serializing_if = "Option::is_none")]
    last_checkpoint: Option<CheckpointCheck>,
    /// Number of that checkpoint's line.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_seq: Option<u64>,
    /// A compact JWS of `iss`, `iat`, `node`, `seq` and `hash` of the line before, and `tree_size`
    /// and `root_hash` of the Merkle tree of the lines from the last checkpoint to that line;
    /// `inherited_leaves` counts those of an earlier process.
    #[serde(skip_serializing_if = "Option::is_none")]
    jws: Option<&'a str>,
    /// The operator who caused the event, by the name in `private.operators`.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<&'a str>,
    /// Why the operator did it, in the operator's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Random value in lines without `support_id`, so that the hash of this line in a proof of
    /// another one does not confirm a guess of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<&'a str>,
}

/// Claims of a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckpointClaims {
    pub iss: String,
    /// Seconds since the Unix epoch.
    pub iat: u64,
    pub node: String,
    pub seq: u64,
    pub hash: String,
    /// Number of leaves of the tree: the lines from the last checkpoint, included, to line `seq`.
    pub tree_size: u64,
    /// Merkle Tree Hash of these lines (RFC 9162 §2.1.1), in hexadecimal.
    pub root_hash: String,
    /// Number of leaves before the first line of the process that signs: it found them in the file,
    /// and can't vouch for them. Absent for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inherited_leaves: u64,
}

const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CheckpointClaims {
    /// Returns whether the tree of the claims is `tree`.
    pub(super) fn matches_tree(&self, tree: &MerkleTree) -> bool {
        self.tree_size == tree.size() && self.root_hash == to_hex(&tree.root())
    }
}

impl Default for ChainPosition {
    /// Returns the position before the first line.
    fn default() -> Self {
        Self { seq: 0, hash: GENESIS_HASH.to_owned() }
    }
}

impl ChainPosition {
    /// Appends the next line, with its line end, to `bytes`. Returns the line.
    pub(super) fn append<'b>(
        &mut self,
        bytes: &'b mut Vec<u8>,
        event: &Event,
        at: Timestamp,
        node: &str,
    ) -> &'b [u8] {
        let none = RareFields::default();
        let rare = event.rare.as_deref().unwrap_or(&none);
        let line = AuditLine {
            v: LINE_VERSION,
            seq: self.seq + 1,
            prev: &self.hash,
            time: &to_rfc3339(at),
            event: event.kind,
            node,
            sp: event.sp.as_ref(),
            idp: event.idp.as_ref(),
            dp: event.dp.as_ref(),
            sub: event.sub.as_ref(),
            level: event.level,
            code: event.code.map(|code| code.entry().code),
            login: event.login_pseudonym(),
            session: event.session_pseudonym(),
            support_id: event.support_id.as_ref(),
            block: rare.block.as_deref(),
            kid: rare.kid.as_deref(),
            purpose: rare.purpose,
            change: rare.change,
            file: rare.file.as_deref(),
            config: rare.config.as_deref(),
            version: rare.version,
            lost: rare.lost,
            last_checkpoint: rare.last_checkpoint,
            checkpoint_seq: rare.checkpoint_seq,
            jws: rare.jws.as_deref(),
            operator: rare.operator.as_deref(),
            reason: rare.reason.as_deref(),
            salt: rare.salt.as_deref(),
        };
        let from = bytes.len();
        // Serializing strings and numbers to memory can't fail.
        let _ok = serde_json::to_writer(&mut *bytes, &line);
        bytes.push(b'\n');
        let line = bytes.get(from..).unwrap_or_default();
        self.hash = line_hash(line);
        self.seq += 1;
        line
    }
}

/// Returns the hash of a line, which includes its line end.
#[must_use]
pub fn line_hash(line: &[u8]) -> String {
    to_hex(&digest::sha256(line))
}

/// Formats a time as RFC 3339, always with milliseconds, so that times sort as text.
#[must_use]
pub fn to_rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Millis, true))
}
