//! Is a log what the hub wrote? Reads lines in order, and finds what was removed, changed, moved, put in twice or cut off.
//! Pure but for the reading; nothing is kept but what was found.
//!
//! What it can't find: an end that was cut off, when no later checkpoint was kept elsewhere. [`Kept`] holds those that were.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::ops::RangeInclusive;

use chrono::DateTime;
use serde::Deserialize;

use super::VERSION;
use super::chain::{CHECKPOINT_TYPE, Chain, NOTHING, Seal, hash};
use super::last_seal::SealCheck;
use super::report::{Finding, Flaw, Mark, Note, Noted, Place, Report};
use crate::protocol::alg::SigningAlg;
use crate::token::verify::{OpenFault, VerificationKeys, open_jws};

/// A line that is longer was not written by the hub.
const LONGEST: u64 = 64 * 1024;
/// Findings that are told one by one.
const MOST: usize = 200;
/// Seconds after a checkpoint in which lines may stand: the hub makes the next one after a minute.
const LONGEST_UNSEALED: i64 = 90;

/// What verification needs of a line.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Head {
    v: u32,
    pub seq: u64,
    pub(super) prev: String,
    pub time: String,
    event: String,
    jws: Option<String>,
    last_seal: Option<SealCheck>,
    sealed: Option<u64>,
}

impl Head {
    /// `None` for what is no line of this version, with its end.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        serde_json::from_slice(line).ok().filter(|head: &Self| head.v == VERSION)
    }

    fn millis(&self) -> Option<i64> {
        DateTime::parse_from_rfc3339(&self.time).ok().map(|time| time.timestamp_millis())
    }
}

/// Checkpoints that were kept elsewhere: by number of the line, its hash.
#[derive(Clone, Default, Debug)]
pub struct Kept(BTreeMap<u64, String>);

impl Kept {
    /// Takes every checkpoint out of any text, such as the lines of a log. What is signed by none of the keys, or is none,
    /// is passed over.
    #[must_use]
    pub fn in_text(text: &str, keys: &VerificationKeys) -> Self {
        let words =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')));
        let seals = words
            .filter(|word| word.matches('.').count() == 2)
            .filter_map(|word| open(word, keys).ok());
        Self(seals.map(|seal| (seal.seq, seal.hash)).collect())
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How many chains the files may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chains {
    /// As the file sink writes them.
    One,
    /// As standard output gives them, one for each start.
    Several,
}

/// Reads a log's files one after the other.
pub struct Verifier<'k> {
    keys: &'k VerificationKeys,
    chains: Chains,
    kept: Kept,
    report: Report,
    /// The last line that was in its place; `None` before the first.
    at: Option<Chain>,
    /// Of lines that were missing when they should have come.
    missing: Vec<RangeInclusive<u64>>,
    /// After the last checkpoint.
    unsealed: Option<u64>,
    /// When the last checkpoint was made, in milliseconds.
    sealed_at: Option<i64>,
    /// Lines that stand too long after it.
    late: Option<Late>,
    /// A line without sense, which a process that was cut off may have left: where, and the hash of it.
    odd: Option<(Place, String)>,
    place: Place,
}

impl<'k> Verifier<'k> {
    #[must_use]
    pub fn new(keys: &'k VerificationKeys, kept: Kept, chains: Chains) -> Self {
        let place = Place { file: String::new(), line: 0 };
        Self {
            keys,
            chains,
            kept,
            report: Report::default(),
            at: None,
            missing: Vec::new(),
            unsealed: None,
            sealed_at: None,
            late: None,
            odd: None,
            place,
        }
    }

    /// Reads the next file.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(&mut self, name: &str, file: &mut impl BufRead) -> io::Result<()> {
        self.place = Place { file: name.to_owned(), line: 0 };
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut *file).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            self.place.line += 1;
            self.report.lines += 1;
            self.line(&line);
        }
    }

    #[must_use]
    pub fn finish(mut self) -> Report {
        self.end_late();
        if let Some((place, _)) = self.odd.take() {
            self.find_at(place, Flaw::Malformed);
        }
        let last = self.at.as_ref().map_or(0, |at| at.seq);
        let beyond = self.kept.0.last_key_value().map(|(seq, _)| *seq).filter(|seq| *seq > last);
        if let Some(kept) = beyond {
            self.find(Flaw::Truncated { last, kept });
        }
        self.report
    }

    fn line(&mut self, line: &[u8]) {
        let Some(head) = Head::read(line) else { return self.senseless(line) };
        let hash = hash(line);
        self.judge(&head);
        if let Some(at) = &self.at
            && head.seq <= at.seq
            && !is_beginning(&head)
        {
            // Out of its place: the next line is held against the one before this.
            return;
        }
        self.mark(&head);
        if self.kept.0.get(&head.seq).is_some_and(|kept| *kept != hash) {
            self.find(Flaw::OtherThanKept { seq: head.seq });
        }
        match head.event.as_str() {
            "checkpoint" => self.checkpoint(&head),
            "start" => self.start(&head),
            _ => self.measure(&head),
        }
        self.at = Some(Chain { seq: head.seq, hash });
    }

    /// Where the line stands, and whether it follows from the one before.
    fn judge(&mut self, head: &Head) {
        let odd = self.odd.take();
        let Some(at) = self.at.clone() else {
            let closes = self.closes_a_half_line(odd, head);
            let is_first = is_beginning(head) || (closes && head.seq == 1);
            if !is_first {
                // The hub begins a file with `start` or a checkpoint, so that its first lines can't go unseen.
                let may_begin = matches!(head.event.as_str(), "start" | "checkpoint");
                if may_begin {
                    self.note(Note::BeginsLater { seq: head.seq });
                } else {
                    self.find(Flaw::Removed { from: 1, to: head.seq.saturating_sub(1) });
                }
            }
            return;
        };
        if is_beginning(head) {
            self.missing.clear();
            self.unsealed = None;
            return match self.chains {
                Chains::One => self.find(Flaw::BegunAnew),
                Chains::Several => self.note(Note::BeginsAnew),
            };
        }
        if head.seq <= at.seq {
            let moved = self.missing.iter().position(|range| range.contains(&head.seq));
            if let Some(index) = moved {
                let range = self.missing.swap_remove(index);
                self.missing.extend(
                    [*range.start()..=head.seq - 1, head.seq + 1..=*range.end()]
                        .into_iter()
                        .filter(|r| !r.is_empty()),
                );
            }
            return self.find(if moved.is_some() {
                Flaw::Moved { seq: head.seq }
            } else {
                Flaw::Duplicated { seq: head.seq }
            });
        }
        if head.seq > at.seq + 1 {
            self.missing.push(at.seq + 1..=head.seq - 1);
            return self.find(Flaw::Removed { from: at.seq + 1, to: head.seq - 1 });
        }
        let half_a_line = odd.is_some();
        let follows = self.closes_a_half_line(odd, head) || head.prev == at.hash;
        if !follows {
            self.find(Flaw::Changed { seq: at.seq });
        }
        let unsealed = self.unsealed.map_or(0, |from| at.seq + 1 - from);
        if follows && head.event == "start" && (unsealed > 0 || half_a_line) {
            self.note(Note::CutOff { unsealed, half_a_line });
        }
    }

    /// A line without sense is explained by a `start` that names it. Any other is a finding.
    fn closes_a_half_line(&mut self, odd: Option<(Place, String)>, head: &Head) -> bool {
        match odd {
            Some((_, hash)) if head.event == "start" && head.prev == hash => true,
            Some((place, _)) => {
                self.find_at(place, Flaw::Malformed);
                false
            }
            None => false,
        }
    }

    fn senseless(&mut self, line: &[u8]) {
        if let Some((place, _)) = self.odd.take() {
            self.find_at(place, Flaw::Malformed);
        }
        if line.ends_with(b"\n") {
            self.odd = Some((self.place.clone(), hash(line)));
        } else {
            self.note(Note::Unfinished);
        }
    }

    fn mark(&mut self, head: &Head) {
        let mark = Mark { seq: head.seq, time: head.time.clone() };
        if self.report.first.is_none() {
            self.report.first = Some(mark.clone());
        }
        self.report.last = Some(mark);
        if head.event != "checkpoint" && self.unsealed.is_none() {
            self.unsealed = Some(head.seq);
        }
    }

    /// A start is as late as the hub was down. It ends no span: only a checkpoint vouches for what stands before it.
    fn start(&mut self, head: &Head) {
        self.end_late();
        if is_beginning(head) {
            self.sealed_at = head.millis();
        }
        match (head.last_seal, head.sealed) {
            (Some(check @ (SealCheck::Changed | SealCheck::Missing)), Some(sealed)) => {
                let (from, to) =
                    (self.unsealed.unwrap_or(head.seq), sealed.max(head.seq.saturating_sub(1)));
                let from = from.min(to);
                self.find(Flaw::NotAsSealed { from, to, sealed, check });
            }
            (Some(SealCheck::Unreadable), _) => self.find(Flaw::NotCompared { seq: head.seq }),
            (Some(SealCheck::Unknown), _) if !is_beginning(head) => {
                self.note(Note::SealUnknown { seq: head.seq })
            }
            _ => {}
        }
    }

    /// Any other line stands soon after a checkpoint: the hub makes one each minute.
    fn measure(&mut self, head: &Head) {
        let (Some(at), Some(sealed_at)) = (head.millis(), self.sealed_at) else { return };
        let seconds = at.saturating_sub(sealed_at) / 1000;
        if seconds <= LONGEST_UNSEALED {
            return;
        }
        let from = self.unsealed.unwrap_or(head.seq);
        let late = self.late.get_or_insert_with(|| Late {
            place: self.place.clone(),
            from,
            to: head.seq,
            seconds,
        });
        (late.to, late.seconds) = (head.seq, late.seconds.max(seconds));
    }

    fn end_late(&mut self) {
        if let Some(Late { place, from, to, seconds }) = self.late.take() {
            self.find_at(place, Flaw::Unsealed { from, to, seconds: seconds.unsigned_abs() });
        }
    }

    fn checkpoint(&mut self, head: &Head) {
        let broken = |why: &str| Flaw::SealBroken { seq: head.seq, why: why.to_owned() };
        match open(head.jws.as_deref().unwrap_or_default(), self.keys) {
            Ok(seal) if seal.seq + 1 == head.seq && seal.hash == head.prev => {
                self.report.checkpoints += 1;
                self.report.sealed = Some(Mark { seq: seal.seq, time: head.time.clone() });
                self.unsealed = None;
                self.sealed_by(head);
            }
            Ok(_) => self.find(broken("it is over another line than the one before it")),
            Err(Unopened::UnknownKey(kid)) => {
                if !self.report.unknown_keys.contains(&kid) {
                    self.report.unknown_keys.push(kid);
                }
                // Whether it holds is not known, and the report says so.
                self.sealed_by(head);
            }
            Err(Unopened::Broken(why)) => self.find(broken(&why)),
        }
    }

    fn sealed_by(&mut self, checkpoint: &Head) {
        self.end_late();
        self.sealed_at = checkpoint.millis();
    }

    fn find(&mut self, flaw: Flaw) {
        self.find_at(self.place.clone(), flaw);
    }

    fn find_at(&mut self, place: Place, flaw: Flaw) {
        if self.report.findings.len() < MOST {
            self.report.findings.push(Finding { place, flaw });
        } else {
            self.report.more += 1;
        }
    }

    fn note(&mut self, note: Note) {
        self.report.notes.push(Noted { place: self.place.clone(), note });
    }
}

/// Lines that stand too long after the last checkpoint.
struct Late {
    place: Place,
    from: u64,
    to: u64,
    seconds: i64,
}

/// The first line of a chain.
fn is_beginning(head: &Head) -> bool {
    head.seq == 1 && head.prev == NOTHING && head.event == "start"
}

enum Unopened {
    UnknownKey(String),
    Broken(String),
}

fn open(jws: &str, keys: &VerificationKeys) -> Result<Seal, Unopened> {
    let opened = open_jws(jws, SigningAlg::ES256, keys).map_err(|fault| match fault {
        OpenFault::UnknownKey => Unopened::UnknownKey(kid(jws)),
        fault => Unopened::Broken(fault.to_string()),
    })?;
    if opened.header.get("typ").and_then(serde_json::Value::as_str) != Some(CHECKPOINT_TYPE) {
        return Err(Unopened::Broken("it is signed, but is no checkpoint".to_owned()));
    }
    serde_json::from_value(serde_json::Value::Object(opened.claims))
        .map_err(|_| Unopened::Broken("it is no checkpoint".to_owned()))
}

/// As the header says; nothing of it is proven.
fn kid(jws: &str) -> String {
    let header = jws.split('.').next().and_then(crate::digest::from_base64url).unwrap_or_default();
    let header: serde_json::Value = serde_json::from_slice(&header).unwrap_or_default();
    header
        .get("kid")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("(none)")
        .chars()
        .take(64)
        .collect()
}
