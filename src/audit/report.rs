//! What a verification has found, as a person and a machine read it.

use serde::Serialize;

use super::last_seal::SealCheck;

/// A place in the files.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    pub file: String,
    /// Counted from 1.
    pub line: u64,
}

/// Somebody did something to the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Flaw {
    /// It is no line of an audit log.
    Malformed,
    /// The line before is not what this line says it was.
    Changed { seq: u64 },
    /// These are missing before this line.
    Removed { from: u64, to: u64 },
    /// It stands after a line that it came before.
    Moved { seq: u64 },
    /// A line of this number was there already.
    Duplicated { seq: u64 },
    /// Lines stand before the first of a chain.
    BegunAnew,
    /// The signature is wrong, or over something else than what stands before it.
    SealBroken { seq: u64, why: String },
    /// A checkpoint that was kept elsewhere is over a line that the log ends before.
    Truncated { last: u64, kept: u64 },
    /// A checkpoint that was kept elsewhere is over another line than the log's.
    OtherThanKept { seq: u64 },
    /// No checkpoint covers these lines for longer than a hub at work leaves them uncovered.
    Unsealed { from: u64, to: u64, seconds: u64 },
    /// A start found that the log was not as its last seal, over line `sealed`, says: of these lines nothing is proven.
    NotAsSealed { from: u64, to: u64, sealed: u64, check: SealCheck },
    /// The start in this line could not read the copies of the last seal, or a file of the log: nothing was compared.
    NotCompared { seq: u64 },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    #[serde(flatten)]
    pub place: Place,
    #[serde(flatten)]
    pub flaw: Flaw,
}

/// What is worth knowing, and no tampering.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Note {
    /// The lines before are not among the files.
    BeginsLater { seq: u64 },
    /// A process was cut off before this line: so many lines were not sealed before the next one had begun.
    CutOff { unsealed: u64, half_a_line: bool },
    /// A chain of its own, as each start on standard output begins one.
    BeginsAnew,
    /// A start knew no seal of the log before it: the copies were removed, or an older release wrote it.
    SealUnknown { seq: u64 },
    /// The last line has no end: its process is at work on it, or was cut off.
    Unfinished,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Noted {
    #[serde(flatten)]
    pub place: Place,
    #[serde(flatten)]
    pub note: Note,
}

/// A line by its number and time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Mark {
    pub seq: u64,
    pub time: String,
}

/// What was found.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    pub lines: u64,
    pub first: Option<Mark>,
    pub last: Option<Mark>,
    /// The last line that a good checkpoint vouches for; those after it are not sealed yet.
    pub sealed: Option<Mark>,
    pub checkpoints: u64,
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub more: u64,
    pub notes: Vec<Noted>,
    /// Keys that checkpoints name, and that were not given: what they seal is not proven.
    pub unknown_keys: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing was done to it, as far as it is sealed.
    Whole,
    TamperedWith,
    /// No line is there, or a seal could not be looked at for want of its key, or no seal is there.
    Unproven,
}

impl Report {
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if !self.findings.is_empty() {
            Verdict::TamperedWith
        } else if self.sealed.is_none() || !self.unknown_keys.is_empty() {
            Verdict::Unproven
        } else {
            Verdict::Whole
        }
    }
}
