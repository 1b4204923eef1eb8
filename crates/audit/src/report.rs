//! Defines the report of a verification.

use chrono::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_protocol::env::Timestamp;

/// Maximum age in seconds of the last checkpoint at any line. The hub writes one each minute.
pub(super) const MAX_SECONDS_WITHOUT_CHECKPOINT: i64 = 90;

/// Result of comparing a log with its last saved checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointCheck {
    /// The log contains the saved checkpoint.
    Matched,
    /// No checkpoint of this log is saved: its first start, or the copies were removed.
    Unknown,
    /// The log ends before the saved checkpoint.
    Missing,
    /// Another line is in its place, or the chain does not lead from it to the end.
    Changed,
    /// A copy of the checkpoint or a file of the log can't be read: nothing was compared.
    Unreadable,
}

/// Location of a line in the files.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct LineLocation {
    pub file: String,
    /// Counted from 1.
    pub line: u64,
}

/// Kind of a finding: the log has been modified.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FindingKind {
    /// The line is not a line of an audit log.
    Malformed,
    /// The line before does not have the hash that this line states.
    Changed { seq: u64 },
    /// These lines are missing before this line.
    Removed { from: u64, to: u64 },
    /// The line is after a line that it preceded when it was written.
    Moved { seq: u64 },
    /// There is another line with this number.
    Duplicated { seq: u64 },
    /// A new chain begins after other lines.
    SecondChain,
    /// The signature is invalid, or does not cover the line before.
    InvalidCheckpoint { seq: u64, reason: String },
    /// The log ends before a line that a trusted checkpoint covers.
    Truncated { last: u64, trusted: u64 },
    /// A trusted checkpoint covers another line with this number.
    DiffersFromTrusted { seq: u64 },
    /// More time passed between the last checkpoint and these lines than a working hub allows.
    NotSigned { from: u64, to: u64, seconds: u64 },
    /// A start found that the log differed from its last checkpoint: nothing is proven of these
    /// lines.
    DiffersFromLastCheckpoint { from: u64, to: u64, checkpoint_seq: u64, check: CheckpointCheck },
    /// A start could not read a copy of the last checkpoint or a file of the log: nothing was
    /// compared.
    LastCheckpointUnreadable { seq: u64 },
}

/// Kind of a note: worth knowing, but no modification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// The lines before are not among the files.
    BeginsLater { seq: u64 },
    /// A process was killed before this line; `unsigned` lines had no checkpoint when the next
    /// began.
    Interrupted { unsigned: u64, partial_line: bool },
    /// A new chain begins, as with each start on standard output.
    NewChain,
    /// The process before this line wrote no `stop`: it was killed, or the log was cut off at its
    /// last checkpoint.
    NotStopped { seq: u64 },
    /// A start knew no checkpoint of the log: the copies were removed.
    LastCheckpointUnknown { seq: u64 },
    /// The last line has no end: its process is writing it, or was killed.
    Unfinished,
}

/// A finding or a note, with its location.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineReport<K> {
    #[serde(flatten)]
    pub location: LineLocation,
    #[serde(flatten)]
    pub kind: K,
}

/// Number and time of a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinePosition {
    pub seq: u64,
    pub time: String,
}

/// Result of a verification.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct VerificationReport {
    pub lines: u64,
    pub first: Option<LinePosition>,
    pub last: Option<LinePosition>,
    /// Last line that a valid checkpoint covers.
    pub last_signed: Option<LinePosition>,
    /// Lines after the last valid checkpoint: nothing is proven of them.
    pub unproven_lines: u64,
    /// Lines that the process which wrote them did not sign. The next one signed what it found in
    /// the file: nothing is proven of them either.
    pub inherited_lines: u64,
    /// Lines after it that a running hub signs with its next checkpoint.
    pub awaiting_checkpoint: u64,
    pub checkpoints: u64,
    pub findings: Vec<LineReport<FindingKind>>,
    /// Last line that was read.
    #[serde(skip)]
    pub end: LineLocation,
    /// Number of findings beyond those listed.
    pub omitted_findings: u64,
    pub notes: Vec<LineReport<NoteKind>>,
    /// Keys that checkpoints name but that were not given: what they sign is not proven.
    pub unknown_keys: Vec<String>,
}

/// Overall result of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerificationResult {
    /// The log is unmodified, and a checkpoint covers its last line.
    Intact,
    /// The log has been modified.
    Modified,
    /// The log has no line, no checkpoint, lines after the last one, or the end of a process that
    /// did not sign its last lines; or the key of a checkpoint is missing.
    Unproven,
}

impl VerificationReport {
    /// Checks the end of a log that a running hub writes: its last checkpoint must be recent, and
    /// lines after it wait for the next one.
    pub fn expect_running_hub(&mut self, now: Timestamp) {
        let (Some(signed), Some(last)) = (&self.last_signed, &self.last) else { return };
        let now = i64::try_from(now.seconds()).unwrap_or(i64::MAX);
        let signed_at = DateTime::parse_from_rfc3339(&signed.time).map_or(0, |at| at.timestamp());
        let seconds = now.saturating_sub(signed_at);
        if seconds <= MAX_SECONDS_WITHOUT_CHECKPOINT {
            self.awaiting_checkpoint = std::mem::take(&mut self.unproven_lines);
            return;
        }
        let kind = FindingKind::NotSigned {
            from: signed.seq + 1,
            to: last.seq,
            seconds: seconds.unsigned_abs(),
        };
        self.findings.push(LineReport { location: self.end.clone(), kind });
    }

    /// Returns true if a process ended without a signature over its last lines, or may have had
    /// further lines.
    pub fn has_unsigned_end(&self) -> bool {
        let is_open = |note: &LineReport<NoteKind>| {
            matches!(note.kind, NoteKind::NotStopped { .. } | NoteKind::Interrupted { .. })
        };
        self.inherited_lines > 0 || self.notes.iter().any(is_open)
    }

    /// Returns the overall result.
    pub fn result(&self) -> VerificationResult {
        if !self.findings.is_empty() {
            VerificationResult::Modified
        } else if self.last_signed.is_none()
            || self.unproven_lines > 0
            || self.has_unsigned_end()
            || !self.unknown_keys.is_empty()
        {
            VerificationResult::Unproven
        } else {
            VerificationResult::Intact
        }
    }
}
