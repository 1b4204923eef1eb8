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
use super::event::{Event, EventKind};
use super::merkle::MerkleTree;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

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

/// Line of the log.
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
    #[serde(flatten)]
    fields: &'a Event,
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
        self.tree_size == tree.size() && self.root_hash == hex::encode(tree.root())
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
        let line = AuditLine {
            v: LINE_VERSION,
            seq: self.seq + 1,
            prev: &self.hash,
            time: &to_rfc3339(at),
            event: event.kind,
            node,
            fields: event,
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
pub fn line_hash(line: &[u8]) -> String {
    hex::encode(digest::sha256(line))
}

/// Formats a time as RFC 3339, always with milliseconds, so that times sort as text.
pub fn to_rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Millis, true))
}
