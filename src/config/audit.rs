//! `[audit]` of `passerelle.toml`: where the audit log goes, and what happens when it can go nowhere.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use super::source::Source;

/// docs/audit.md.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditLog {
    /// Where the audit log goes.
    pub sink: AuditSink,
    /// The file that is written; those that are full stay beside it, with the time in their names.
    pub path: PathBuf,
    /// A file of this many megabytes is full; 0: only the day ends it.
    pub rotate_mb: u64,
    /// A new file begins with each day (UTC).
    pub rotate_daily: bool,
    /// Full files that are kept, older ones are removed. Default: all.
    pub keep: Option<usize>,
    /// When nothing can be written: take no new logins, or go on and count what is lost.
    pub when_full: WhenFull,
    /// What this process is called in each line. Default: the machine's name.
    pub node: Option<String>,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self {
            sink: AuditSink::Off,
            path: "audit/audit.jsonl".into(),
            rotate_mb: 100,
            rotate_daily: true,
            keep: None,
            when_full: WhenFull::Stop,
            node: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditSink {
    Off,
    File,
    /// Standard output; the log goes to standard error. Each start begins a chain of its own.
    Stdout,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// No new logins, 503; those that are under way finish.
    Stop,
    GoOn,
}

pub(super) fn check(source: &Source, audit: &AuditLog, problems: &mut Vec<Problem>) {
    let is_name = |node: &String| {
        (1..=128).contains(&node.len()) && node.bytes().all(|c| c.is_ascii_graphic())
    };
    if audit.node.as_ref().is_some_and(|node| !is_name(node)) {
        let what = "is no name that a line can carry";
        problems.push(source.problem(
            "audit.node",
            what,
            "write 1 to 128 visible ASCII characters, or remove it",
        ));
    }
    if audit.path.file_name().is_none() || audit.path.extension().is_none() {
        let mend = "write a file's name with an ending, as \"audit/audit.jsonl\": the time goes between the two";
        problems.push(source.problem("audit.path", "names no file with an ending", mend));
    }
}
