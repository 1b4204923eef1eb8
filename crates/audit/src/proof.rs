//! Exports events of a log with a proof each, and checks such a proof without the log.
//!
//! A proof has the line, a checkpoint, and the hashes that lead from the line to the Merkle root
//! that the checkpoint signs (RFC 9162 §2.1.3). It shows no other line.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use super::chain::CheckpointClaims;
use super::lines::for_each_line;
use super::merkle::{NodeHash, from_hex, hash_leaf, inclusion_path, root_from_path};
use super::signed_checkpoint::{CheckpointError, verify_checkpoint};
use super::verify::{LineHeader, is_beginning};
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::ids::SupportId;

/// Version of the format of a proof.
const FORMAT: &str = "passerelle-audit-proof/1";

/// Events of one login, each with its proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginProof {
    /// `passerelle-audit-proof/1`.
    pub format: String,
    pub support_id: String,
    pub events: Vec<EventProof>,
}

/// Line of the log and the proof that the hub wrote it. Members are named as in RFC 9162 §4.12.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventProof {
    /// The line, byte for byte, without its line end.
    pub line: String,
    /// Index of the line in the tree, from 0.
    pub leaf_index: u64,
    pub tree_size: u64,
    /// Hashes of the siblings, from the leaf to the root, in hexadecimal.
    pub inclusion_path: Vec<String>,
    /// Compact JWS over the root.
    pub checkpoint: String,
}

/// Why an event is not proven.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ProofError {
    #[error(
        "the checkpoint is signed with key {0}, which was not given: give the hub's key set of that time with --jwks"
    )]
    UnknownKey(String),
    #[error("the checkpoint is invalid: {0}")]
    InvalidCheckpoint(String),
    #[error("it is not a line of an audit log")]
    NotAnAuditLine,
    #[error("the format is not {FORMAT}: another release wrote it, or it is not a proof")]
    UnknownFormat,
    #[error("it names the support id {found}, and the proof is for {expected}")]
    OtherSupportId { found: String, expected: String },
    #[error("the hashes do not lead from the line to the root that the checkpoint signs")]
    RootMismatch,
    #[error(
        "line {0} was not signed by the process that wrote it: the next process found it in the file, where it may have been replaced"
    )]
    SignedByAnotherProcess(u64),
    #[error(
        "no checkpoint follows line {0}: a running hub writes one within a minute; without one the line can't be proven"
    )]
    NotSigned(u64),
}

impl ProofError {
    /// Returns whether the event may still be proven with more keys or another file.
    pub const fn is_inconclusive(&self) -> bool {
        matches!(self, Self::UnknownKey(_) | Self::NotSigned(_) | Self::SignedByAnotherProcess(_))
    }
}

/// Members of a line that a proof needs.
#[derive(Deserialize)]
struct EventHeader {
    event: String,
    support_id: Option<String>,
    jws: Option<String>,
}

impl EventHeader {
    fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line.strip_suffix(b"\n")?).ok()
    }
}

impl EventProof {
    /// Checks the proof. Returns the claims of its checkpoint, which name the hub and the time.
    ///
    /// # Errors
    /// Returns an error if the event is not proven.
    pub fn verify(
        &self,
        support_id: &str,
        keys: &VerificationKeys,
    ) -> Result<CheckpointClaims, ProofError> {
        let line = [self.line.as_bytes(), b"\n"].concat();
        let header = LineHeader::parse(&line).ok_or(ProofError::NotAnAuditLine)?;
        let found = EventHeader::parse(&line).and_then(|event| event.support_id);
        if found.as_deref() != Some(support_id) {
            return Err(ProofError::OtherSupportId {
                found: found.unwrap_or_else(|| "(none)".to_owned()),
                expected: support_id.to_owned(),
            });
        }
        let (claims, root) = read_root(&self.checkpoint, keys)?;
        let first = (claims.seq + 1).checked_sub(self.tree_size);
        let is_in_place = claims.tree_size == self.tree_size
            && first.and_then(|first| first.checked_add(self.leaf_index)) == Some(header.seq);
        let path: Option<Vec<NodeHash>> =
            self.inclusion_path.iter().map(|hash| from_hex(hash)).collect();
        let reached = path.and_then(|path| {
            root_from_path(hash_leaf(&line), self.leaf_index, self.tree_size, &path)
        });
        if !is_in_place || reached != Some(root) {
            return Err(ProofError::RootMismatch);
        }
        // A process that was killed has not signed its last lines. Who can write the file could
        // replace them before the next process signed them.
        if self.leaf_index < claims.inherited_leaves {
            return Err(ProofError::SignedByAnotherProcess(header.seq));
        }
        Ok(claims)
    }
}

/// Line of a proof, and the claims of its checkpoint or why it is not proven.
pub type EventVerification<'p> = (&'p str, Result<CheckpointClaims, ProofError>);

impl LoginProof {
    /// Checks every event. Returns it with the claims of its checkpoint.
    ///
    /// # Errors
    /// Returns an error if the format is unknown; each event has its own result.
    pub fn verify<'p>(
        &'p self,
        keys: &VerificationKeys,
    ) -> Result<Vec<EventVerification<'p>>, ProofError> {
        if self.format != FORMAT {
            return Err(ProofError::UnknownFormat);
        }
        let verified =
            |event: &'p EventProof| (event.line.as_str(), event.verify(&self.support_id, keys));
        Ok(self.events.iter().map(verified).collect())
    }
}

/// Verifies a checkpoint and reads the root that it signs.
fn read_root(
    jws: &str,
    keys: &VerificationKeys,
) -> Result<(CheckpointClaims, NodeHash), ProofError> {
    let claims = verify_checkpoint(jws, keys).map_err(|error| match error {
        CheckpointError::UnknownKey(kid) => ProofError::UnknownKey(kid),
        CheckpointError::Invalid(reason) => ProofError::InvalidCheckpoint(reason),
    })?;
    let root = from_hex(&claims.root_hash)
        .ok_or_else(|| ProofError::InvalidCheckpoint("its root is not a hash".to_owned()))?;
    Ok((claims, root))
}

/// Reads the files of a log in their order, and proves the events of one login.
pub struct Prover<'k> {
    keys: &'k VerificationKeys,
    support_id: SupportId,
    /// Kind of the events to prove; `None` proves all of the login.
    kind: Option<String>,
    /// Lines since the last checkpoint.
    leaves: Vec<NodeHash>,
    /// Those of the login, by their index.
    selected: Vec<(usize, String)>,
    proof: LoginProof,
    errors: Vec<ProofError>,
}

impl<'k> Prover<'k> {
    /// Creates a prover without lines. With `kind`, it proves only the events of that name.
    pub fn new(keys: &'k VerificationKeys, support_id: SupportId, kind: Option<String>) -> Self {
        let proof = LoginProof {
            format: FORMAT.to_owned(),
            support_id: support_id.as_str().to_owned(),
            events: Vec::new(),
        };
        let (leaves, selected) = (Vec::new(), Vec::new());
        Self { keys, support_id, kind, leaves, selected, proof, errors: Vec::new() }
    }

    /// Reads the next file.
    ///
    /// # Errors
    /// Returns an error if the file can't be read.
    pub fn read_file(&mut self, file: &mut impl BufRead) -> io::Result<()> {
        for_each_line(file, |line| {
            let Some(header) = LineHeader::parse(line) else { return };
            if is_beginning(&header) {
                self.report_unsigned_lines();
                self.leaves.clear();
            }
            if let Some(event) = EventHeader::parse(line) {
                self.add_line(line, &event);
            }
        })
    }

    /// Returns the proof, and why further events of the login are not proven.
    pub fn finish(mut self) -> (LoginProof, Vec<ProofError>) {
        self.report_unsigned_lines();
        (self.proof, self.errors)
    }

    /// Reports the selected lines that no checkpoint follows.
    fn report_unsigned_lines(&mut self) {
        for (_, line) in std::mem::take(&mut self.selected) {
            let seq = LineHeader::parse(format!("{line}\n").as_bytes()).map_or(0, |line| line.seq);
            self.errors.push(ProofError::NotSigned(seq));
        }
    }

    fn add_line(&mut self, line: &[u8], event: &EventHeader) {
        if let (true, Some(jws)) = (event.event == "checkpoint", &event.jws) {
            self.prove_selected(jws);
            self.leaves.clear();
        }
        let is_selected = event.support_id.as_deref() == Some(self.support_id.as_str())
            && self.kind.as_ref().is_none_or(|kind| *kind == event.event);
        if is_selected {
            let text = String::from_utf8_lossy(line);
            self.selected.push((self.leaves.len(), text.trim_end_matches('\n').to_owned()));
        }
        self.leaves.push(hash_leaf(line));
    }

    /// Proves the selected lines by the checkpoint that follows them.
    fn prove_selected(&mut self, jws: &str) {
        for (index, line) in std::mem::take(&mut self.selected) {
            match self.prove(index, line, jws) {
                Ok(event) => self.proof.events.push(event),
                Err(error) => self.errors.push(error),
            }
        }
    }

    fn prove(&self, index: usize, line: String, jws: &str) -> Result<EventProof, ProofError> {
        let path = inclusion_path(&self.leaves, index).ok_or(ProofError::RootMismatch)?;
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let event = EventProof {
            line,
            leaf_index: number(index),
            tree_size: number(self.leaves.len()),
            inclusion_path: path.iter().map(hex::encode).collect(),
            checkpoint: jws.to_owned(),
        };
        event.verify(self.support_id.as_str(), self.keys).map(|_| event)
    }
}
