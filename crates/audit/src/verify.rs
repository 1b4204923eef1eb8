//! Verifies a log: finds lines that were removed, changed, moved, inserted twice or cut off.
//!
//! Pure, except for reading. A truncated end is found only with a later checkpoint that was stored
//! elsewhere: [`TrustedCheckpoints`].

use std::io::{self, BufRead};
use std::ops::RangeInclusive;

use chrono::DateTime;
use serde::Deserialize;

use super::LINE_VERSION;
use super::chain::{ChainPosition, GENESIS_HASH, line_hash};
use super::lines::for_each_line;
use super::merkle::MerkleTree;
use super::report::{
    CheckpointCheck, FindingKind, LineLocation, LinePosition, LineReport,
    MAX_SECONDS_WITHOUT_CHECKPOINT, NoteKind, VerificationReport,
};
pub use super::signed_checkpoint::TrustedCheckpoints;
use super::signed_checkpoint::{CheckpointError, verify_checkpoint};
use passerelle_jose::verify::VerificationKeys;

/// Maximum number of findings that are listed.
const MAX_FINDINGS: usize = 200;

/// Members of a line that verification needs.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct LineHeader {
    v: u32,
    pub seq: u64,
    pub(super) prev: String,
    pub time: String,
    event: String,
    jws: Option<String>,
    last_checkpoint: Option<CheckpointCheck>,
    checkpoint_seq: Option<u64>,
}

impl LineHeader {
    /// Parses a line with its line end. Returns `None` if it is not a line of this version.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        serde_json::from_slice(line).ok().filter(|header: &Self| header.v == LINE_VERSION)
    }

    fn millis(&self) -> Option<i64> {
        DateTime::parse_from_rfc3339(&self.time).ok().map(|time| time.timestamp_millis())
    }
}

/// Number of chains that the files may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chains {
    /// One, as the file sink writes it.
    One,
    /// One for each start, as on standard output.
    Several,
}

/// Verifies the files of a log one after the other.
pub struct Verifier<'k> {
    keys: &'k VerificationKeys,
    chains: Chains,
    trusted: TrustedCheckpoints,
    report: VerificationReport,
    /// Last line in sequence; `None` before the first.
    position: Option<ChainPosition>,
    /// Numbers of missing lines, which may still turn up elsewhere.
    missing: Vec<RangeInclusive<u64>>,
    /// First line after the last checkpoint.
    first_unsigned: Option<u64>,
    /// Lines before the last start that no checkpoint covers yet.
    inherited: u64,
    /// The last line but checkpoints is a `stop`.
    is_stopped: bool,
    /// Tree of the lines since the last checkpoint; `None` if some of them are missing.
    tree: Option<MerkleTree>,
    /// Time of the last checkpoint, in milliseconds.
    checkpoint_at: Option<i64>,
    /// Lines that were written too late after that checkpoint.
    late_lines: Option<LateLines>,
    /// Unparsable line that a killed process may have left: its location and hash.
    unparsed: Option<(LineLocation, String)>,
    location: LineLocation,
}

impl<'k> Verifier<'k> {
    /// Creates a verifier without lines.
    pub fn new(keys: &'k VerificationKeys, trusted: TrustedCheckpoints, chains: Chains) -> Self {
        let location = LineLocation { file: String::new(), line: 0 };
        Self {
            keys,
            chains,
            trusted,
            report: VerificationReport::default(),
            position: None,
            missing: Vec::new(),
            first_unsigned: None,
            inherited: 0,
            is_stopped: false,
            tree: None,
            checkpoint_at: None,
            late_lines: None,
            unparsed: None,
            location,
        }
    }

    /// Reads the next file.
    ///
    /// # Errors
    /// Returns an error if the file can't be read.
    pub fn read_file(&mut self, name: &str, file: &mut impl BufRead) -> io::Result<()> {
        self.location = LineLocation { file: name.to_owned(), line: 0 };
        for_each_line(file, |line| {
            self.location.line += 1;
            self.report.lines += 1;
            self.report.unproven_lines += 1;
            self.check_line(line);
        })
    }

    /// Returns the report after the last file.
    pub fn finish(mut self) -> VerificationReport {
        self.report_late_lines();
        if let Some((location, _)) = self.unparsed.take() {
            self.add_finding_at(location, FindingKind::Malformed);
        }
        self.report.end = self.location.clone();
        let last = self.position.as_ref().map_or(0, |at| at.seq);
        let beyond = self.trusted.0.last_key_value().map(|(seq, _)| *seq).filter(|seq| *seq > last);
        if let Some(trusted) = beyond {
            self.add_finding(FindingKind::Truncated { last, trusted });
        }
        self.report
    }

    fn check_line(&mut self, line: &[u8]) {
        let Some(header) = LineHeader::parse(line) else { return self.record_unparsed(line) };
        let hash = line_hash(line);
        self.check_order(&header);
        if let Some(at) = &self.position
            && header.seq <= at.seq
            && !is_beginning(&header)
        {
            // Out of sequence: the next line is compared with the one before this.
            return;
        }
        self.record_position(&header);
        if self.trusted.0.get(&header.seq).is_some_and(|trusted| *trusted != hash) {
            self.add_finding(FindingKind::DiffersFromTrusted { seq: header.seq });
        }
        match header.event.as_str() {
            "checkpoint" => self.check_checkpoint(&header),
            "start" => self.check_start(&header),
            _ => self.check_lateness(&header),
        }
        if header.event != "checkpoint" {
            self.is_stopped = header.event == "stop";
        }
        if header.event == "checkpoint" || is_beginning(&header) {
            self.tree = Some(MerkleTree::default());
        }
        if let Some(tree) = &mut self.tree {
            tree.push(line);
        }
        self.position = Some(ChainPosition { seq: header.seq, hash });
    }

    /// Checks that the line follows the one before.
    fn check_order(&mut self, header: &LineHeader) {
        let unparsed = self.unparsed.take();
        let Some(at) = self.position.clone() else {
            let closes = self.explains_partial_line(unparsed, header);
            return self.check_first_line(header, closes);
        };
        if is_beginning(header) {
            self.missing.clear();
            // The checkpoints of the new chain say nothing about the end of the one before.
            let unsigned = self.first_unsigned.take().map_or(0, |from| at.seq + 1 - from);
            self.report.inherited_lines += unsigned;
            self.report.unproven_lines -= unsigned.min(self.report.unproven_lines);
            return match self.chains {
                Chains::One => self.add_finding(FindingKind::SecondChain),
                Chains::Several => self.add_note(NoteKind::NewChain),
            };
        }
        if header.seq <= at.seq {
            let moved = self.missing.iter().position(|range| range.contains(&header.seq));
            if let Some(index) = moved {
                let range = self.missing.swap_remove(index);
                self.missing.extend(
                    [*range.start()..=header.seq - 1, header.seq + 1..=*range.end()]
                        .into_iter()
                        .filter(|r| !r.is_empty()),
                );
            }
            return self.add_finding(if moved.is_some() {
                FindingKind::Moved { seq: header.seq }
            } else {
                FindingKind::Duplicated { seq: header.seq }
            });
        }
        if header.seq > at.seq + 1 {
            self.missing.push(at.seq + 1..=header.seq - 1);
            return self.add_finding(FindingKind::Removed { from: at.seq + 1, to: header.seq - 1 });
        }
        let partial_line = unparsed.is_some();
        let follows = self.explains_partial_line(unparsed, header) || header.prev == at.hash;
        if !follows {
            self.add_finding(FindingKind::Changed { seq: at.seq });
        }
        let unsigned = self.first_unsigned.map_or(0, |from| at.seq + 1 - from);
        if !follows || header.event != "start" {
            return;
        }
        self.inherited = unsigned;
        if unsigned > 0 || partial_line {
            self.add_note(NoteKind::Interrupted { unsigned, partial_line });
        } else if !self.is_stopped {
            self.add_note(NoteKind::NotStopped { seq: header.seq });
        }
    }

    /// Checks the first line of the log. `closes_partial_line` says that it is a `start` that names a
    /// line before it.
    fn check_first_line(&mut self, header: &LineHeader, closes_partial_line: bool) {
        if is_beginning(header) || (closes_partial_line && header.seq == 1) {
            return;
        }
        // The hub begins each file with `start` or a checkpoint, so that removed first lines show.
        if matches!(header.event.as_str(), "start" | "checkpoint") {
            self.add_note(NoteKind::BeginsLater { seq: header.seq });
        } else {
            let to = header.seq.saturating_sub(1);
            self.add_finding(FindingKind::Removed { from: 1, to });
        }
    }

    /// Returns whether `header` is a `start` that names the unparsed line; reports any other one.
    fn explains_partial_line(
        &mut self,
        unparsed: Option<(LineLocation, String)>,
        header: &LineHeader,
    ) -> bool {
        match unparsed {
            Some((_, hash)) if header.event == "start" && header.prev == hash => true,
            Some((location, _)) => {
                self.add_finding_at(location, FindingKind::Malformed);
                false
            }
            None => false,
        }
    }

    fn record_unparsed(&mut self, line: &[u8]) {
        if let Some((location, _)) = self.unparsed.take() {
            self.add_finding_at(location, FindingKind::Malformed);
        }
        if line.ends_with(b"\n") {
            self.unparsed = Some((self.location.clone(), line_hash(line)));
        } else {
            self.add_note(NoteKind::Unfinished);
        }
    }

    fn record_position(&mut self, header: &LineHeader) {
        let position = LinePosition { seq: header.seq, time: header.time.clone() };
        if self.report.first.is_none() {
            self.report.first = Some(position.clone());
        }
        self.report.last = Some(position);
        if header.event != "checkpoint" && self.first_unsigned.is_none() {
            self.first_unsigned = Some(header.seq);
        }
    }

    /// A start may come at any time. It does not cover earlier lines: only a checkpoint does.
    fn check_start(&mut self, header: &LineHeader) {
        self.report_late_lines();
        if is_beginning(header) {
            self.checkpoint_at = header.millis();
        }
        match (header.last_checkpoint, header.checkpoint_seq) {
            (
                Some(check @ (CheckpointCheck::Changed | CheckpointCheck::Missing)),
                Some(checkpoint_seq),
            ) => {
                let (from, to) = (
                    self.first_unsigned.unwrap_or(header.seq),
                    checkpoint_seq.max(header.seq.saturating_sub(1)),
                );
                let from = from.min(to);
                self.add_finding(FindingKind::DiffersFromLastCheckpoint {
                    from,
                    to,
                    checkpoint_seq,
                    check,
                });
            }
            (Some(CheckpointCheck::Unreadable), _) => {
                self.add_finding(FindingKind::LastCheckpointUnreadable { seq: header.seq });
            }
            (Some(CheckpointCheck::Unknown), _) if !is_beginning(header) => {
                self.add_note(NoteKind::LastCheckpointUnknown { seq: header.seq });
            }
            _ => {}
        }
    }

    /// Any other line must follow a checkpoint within [`MAX_SECONDS_WITHOUT_CHECKPOINT`].
    fn check_lateness(&mut self, header: &LineHeader) {
        let (Some(at), Some(checkpoint_at)) = (header.millis(), self.checkpoint_at) else { return };
        let seconds = at.saturating_sub(checkpoint_at) / 1000;
        if seconds <= MAX_SECONDS_WITHOUT_CHECKPOINT {
            return;
        }
        let from = self.first_unsigned.unwrap_or(header.seq);
        let late = self.late_lines.get_or_insert_with(|| LateLines {
            location: self.location.clone(),
            from,
            to: header.seq,
            seconds,
        });
        (late.to, late.seconds) = (header.seq, late.seconds.max(seconds));
    }

    fn report_late_lines(&mut self) {
        if let Some(LateLines { location, from, to, seconds }) = self.late_lines.take() {
            self.add_finding_at(
                location,
                FindingKind::NotSigned { from, to, seconds: seconds.unsigned_abs() },
            );
        }
    }

    fn check_checkpoint(&mut self, header: &LineHeader) {
        let broken = |reason: &str| FindingKind::InvalidCheckpoint {
            seq: header.seq,
            reason: reason.to_owned(),
        };
        match verify_checkpoint(header.jws.as_deref().unwrap_or_default(), self.keys) {
            Ok(checkpoint)
                if checkpoint.seq + 1 == header.seq && checkpoint.hash == header.prev =>
            {
                if !self.tree.as_ref().is_none_or(|tree| checkpoint.matches_tree(tree)) {
                    self.add_finding(broken("its Merkle tree is not that of the lines before it"));
                }
                self.report.unproven_lines = 0;
                self.report.inherited_lines += std::mem::take(&mut self.inherited);
                self.report.checkpoints += 1;
                self.report.last_signed =
                    Some(LinePosition { seq: checkpoint.seq, time: header.time.clone() });
                self.first_unsigned = None;
                self.reset_lateness(header);
            }
            Ok(_) => self.add_finding(broken("it covers another line than the one before it")),
            Err(CheckpointError::UnknownKey(kid)) => {
                if !self.report.unknown_keys.contains(&kid) {
                    self.report.unknown_keys.push(kid);
                }
                // Its validity is unknown, and the report says so.
                self.reset_lateness(header);
            }
            Err(CheckpointError::Invalid(reason)) => self.add_finding(broken(&reason)),
        }
    }

    fn reset_lateness(&mut self, checkpoint: &LineHeader) {
        self.report_late_lines();
        self.checkpoint_at = checkpoint.millis();
    }

    fn add_finding(&mut self, kind: FindingKind) {
        self.add_finding_at(self.location.clone(), kind);
    }

    fn add_finding_at(&mut self, location: LineLocation, kind: FindingKind) {
        self.tree = None;
        if self.report.findings.len() < MAX_FINDINGS {
            self.report.findings.push(LineReport { location, kind });
        } else {
            self.report.omitted_findings += 1;
        }
    }

    fn add_note(&mut self, note: NoteKind) {
        self.report.notes.push(LineReport { location: self.location.clone(), kind: note });
    }
}

/// Lines that were written too late after the last checkpoint.
struct LateLines {
    location: LineLocation,
    from: u64,
    to: u64,
    seconds: i64,
}

/// Returns whether the line is the first of a chain.
pub(super) fn is_beginning(header: &LineHeader) -> bool {
    header.seq == 1 && header.prev == GENESIS_HASH && header.event == "start"
}
