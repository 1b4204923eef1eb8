//! Finds the events of a login, or of a person, in the files of an audit log.
//!
//! Responsible for reading bounded: the newest file first, for a limited time, and only lines that
//! contain the wanted text. Does not verify the chain ([`super::verify`] does).

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::DateTime;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::file::rotated_files;
use super::lines::MAX_LINE_BYTES;
use passerelle_federation::assurance::Level;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject, SupportId};

/// Longest time of one search: the files of a year are many gigabytes.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(4);
/// Number of lines between two checks of the time limit.
const LINES_PER_TIME_CHECK: u32 = 4096;
/// Maximum number of lines that a search returns.
const MAX_LINES: usize = 512;

/// Fields of an audit line that belong to a login. Each event of a login also has this form between
/// hubs.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoginLine {
    /// RFC 3339.
    pub time: String,
    pub event: EventKind,
    pub sp: Option<ClientId>,
    pub idp: Option<ConnectorId>,
    pub dp: Option<ClientId>,
    pub level: Option<Level>,
    /// An error code: `Y` and six digits.
    pub code: Option<String>,
    pub support_id: Option<SupportId>,
    /// Why a call to an identity provider failed; no audit line has it.
    pub detail: Option<String>,
}

impl LoginLine {
    /// Returns the time; `None` if it is malformed.
    pub fn timestamp(&self) -> Option<Timestamp> {
        let millis = DateTime::parse_from_rfc3339(&self.time).ok()?.timestamp_millis();
        Some(Timestamp::from_millis(u64::try_from(millis).ok()?))
    }
}

/// Lines that a search found, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchResult {
    pub lines: Vec<LoginLine>,
    /// False if the time ended before every file was read.
    pub is_complete: bool,
}

/// Returns the lines of a login in the log at `path`. It reads the files from the newest to the
/// oldest, and stops after the one with the login's first event, `authorization_received`: other
/// lines follow for as long as its tokens are used.
///
/// # Errors
/// Returns an error if the folder or a file can't be read.
pub fn find_login(path: &Path, id: &SupportId) -> io::Result<SearchResult> {
    search(path, &format!("\"support_id\":\"{id}\""), StopRule::AtFirstEvent)
}

/// Returns the latest lines about a person, by the `sub` of a service provider or data provider.
///
/// # Errors
/// Returns an error if the folder or a file can't be read.
pub fn find_subject(path: &Path, subject: &Subject) -> io::Result<SearchResult> {
    let quoted = serde_json::to_string(subject.as_str()).unwrap_or_default();
    search(path, &format!("\"sub\":{quoted}"), StopRule::AtLimit)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StopRule {
    /// Stop after the file with the login's first event, or at the limit of lines.
    AtFirstEvent,
    /// Stop at the limit of lines.
    AtLimit,
}

fn search(path: &Path, wanted: &str, stop: StopRule) -> io::Result<SearchResult> {
    let (finder, until) = (Finder::new(wanted), Instant::now() + MAX_SEARCH_TIME);
    let mut files: Vec<PathBuf> = rotated_files(path)?;
    files.push(path.to_owned());
    let mut found = SearchResult { lines: Vec::new(), is_complete: true };
    for file in files.iter().rev() {
        let (mut lines, is_complete) = match search_file(file, &finder, until) {
            // A file that was removed or renamed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            searched => searched?,
        };
        let is_first_event = |line: &LoginLine| line.event == EventKind::AuthorizationReceived;
        let has_first_event = lines.iter().any(is_first_event);
        lines.append(&mut found.lines);
        let surplus = lines.len().saturating_sub(MAX_LINES);
        found.lines = lines.split_off(surplus);
        if !is_complete {
            found.is_complete = false;
            break;
        }
        if (has_first_event && stop == StopRule::AtFirstEvent) || surplus > 0 {
            break;
        }
    }
    Ok(found)
}

/// Returns the last lines of one file, and whether all of it was read.
fn search_file(
    path: &Path,
    wanted: &Finder<'_>,
    until: Instant,
) -> io::Result<(Vec<LoginLine>, bool)> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path)?);
    let (mut found, mut line, mut count) = (Vec::new(), Vec::new(), 0_u32);
    loop {
        line.clear();
        if reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok((found, true));
        }
        if wanted.find(&line).is_some()
            && let Ok(parsed) = serde_json::from_slice::<LoginLine>(&line)
        {
            if found.len() >= MAX_LINES {
                found.remove(0);
            }
            found.push(parsed);
        }
        count = count.wrapping_add(1);
        if count.is_multiple_of(LINES_PER_TIME_CHECK) && Instant::now() >= until {
            return Ok((found, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u32, id: &str, sub: &str) -> String {
        event_line("code_issued", seq, id, sub)
    }

    fn event_line(event: &str, seq: u32, id: &str, sub: &str) -> String {
        format!(
            "{{\"v\":1,\"seq\":{seq},\"prev\":\"00\",\"time\":\"2026-11-21T10:15:{seq:02}.123Z\",\"event\":\"{event}\",\"node\":\"hub-1\",\"sp\":\"town-hall\",\"sub\":\"{sub}\",\"level\":\"eidas1\",\"support_id\":\"{id}\"}}\n"
        )
    }

    fn log(files: &[(&str, String)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let path = folder.path().join("audit.jsonl");
        (folder, path)
    }

    #[test]
    fn a_login_is_found_back_to_its_first_event() {
        let id = "7K2M9QX4T0BC";
        let (_folder, path) = log(&[
            // Another login had the same ID, by chance: its file is not read.
            ("audit-20261118T101500.123Z.jsonl", line(1, id, "a")),
            ("audit-20261119T101500.123Z.jsonl", {
                event_line("authorization_received", 2, id, "a") + &line(3, "000000000000", "b")
            }),
            // A day without a request with one of the login's tokens.
            ("audit-20261120T101500.123Z.jsonl", line(4, "000000000000", "b")),
            ("audit.jsonl", line(5, id, "a")),
        ]);
        let found = find_login(&path, &SupportId::new(id)).unwrap();
        let times: Vec<&str> = found.lines.iter().map(|line| &line.time[17..19]).collect();
        assert_eq!((times, found.is_complete), (vec!["02", "05"], true));
        assert_eq!(found.lines[0].sp.as_ref().map(ClientId::as_str), Some("town-hall"));
        assert!(find_login(&path, &SupportId::new("111111111111")).unwrap().lines.is_empty());
    }

    #[test]
    fn a_person_is_found_by_the_whole_sub_only() {
        let text = line(1, "7K2M9QX4T0BC", "abc") + &line(2, "000000000000", "abcd") + "not json\n";
        let (_folder, path) = log(&[("audit.jsonl", text)]);
        let found = |sub: &str| find_subject(&path, &Subject::new(sub)).unwrap().lines.len();
        assert_eq!((found("abc"), found("abcd"), found("ab"), found("")), (1, 1, 0, 0));
    }

    /// Attack: text in the search that ends the JSON string and matches every line.
    #[test]
    fn a_quote_in_the_sub_matches_nothing() {
        let (_folder, path) = log(&[("audit.jsonl", line(1, "7K2M9QX4T0BC", "abc"))]);
        for sub in ["abc\"", "abc\",\"level", "\\", "\n"] {
            assert!(find_subject(&path, &Subject::new(sub)).unwrap().lines.is_empty(), "{sub}");
        }
    }

    #[test]
    fn the_latest_lines_are_kept_where_there_are_many() {
        let text: String = (0..MAX_LINES + 50).map(|_| line(1, "000000000000", "a")).collect();
        let text = text + &line(9, "7K2M9QX4T0BC", "a");
        let (_folder, path) = log(&[("audit.jsonl", text)]);
        let found = find_subject(&path, &Subject::new("a")).unwrap();
        assert_eq!(found.lines.len(), MAX_LINES);
        assert_eq!(found.lines.last().map(|line| &line.time[17..19]), Some("09"));
    }
}
