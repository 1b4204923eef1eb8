//! Defines and checks the `[audit]` table of `passerelle.toml`: where the audit log is written, and
//! what happens if that fails.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::FileCheck;

/// The `[audit]` table (docs/audit.md).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    /// Where the audit log is written.
    pub sink: AuditSink,
    /// The current file. Rotated files stay in its folder, with the time in their names.
    pub path: PathBuf,
    /// Size at which a file is rotated, in megabytes; 0 for no limit.
    pub rotate_mb: u64,
    /// Starts a new file each day (UTC).
    pub rotate_daily: bool,
    /// Number of rotated files to keep; older ones are deleted. Default: all.
    pub keep_files: Option<usize>,
    /// Days after its last line at which a rotated file is deleted. Default: never. Requires
    /// `rotate_daily`.
    pub keep_days: Option<u32>,
    /// File that gets a copy of each last checkpoint, on another volume than the log: a start then
    /// finds a log that was rewritten. The state folder and a shared store have one in any case.
    pub checkpoint_copy: Option<PathBuf>,
    /// What happens when the log can't be written: reject new logins, or continue and count the
    /// lost events.
    pub when_full: WhenFull,
    /// Name of this process in each line. Default: the host name.
    pub node: Option<String>,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            sink: AuditSink::Off,
            path: "audit/audit.jsonl".into(),
            rotate_mb: 100,
            rotate_daily: true,
            keep_files: None,
            keep_days: None,
            checkpoint_copy: None,
            when_full: WhenFull::Stop,
            node: None,
        }
    }
}

/// Where the audit log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditSink {
    /// No audit log.
    Off,
    /// A file.
    File,
    /// Standard output; the diagnostic log is written to standard error. Each start begins a new
    /// chain.
    Stdout,
}

/// What happens when the audit log can't be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// New logins get 503; started ones finish.
    Stop,
    /// Logins continue, and lost events are counted.
    GoOn,
}

/// Checks `[audit]`.
pub fn check_audit(check: &mut FileCheck<'_>, audit: &AuditConfig) {
    let is_name = |node: &String| {
        (1..=128).contains(&node.len()) && node.bytes().all(|c| c.is_ascii_graphic())
    };
    if audit.node.as_ref().is_some_and(|node| !is_name(node)) {
        let message = "is not a valid name";
        check.report(
            "audit.node",
            message,
            "write 1 to 128 visible ASCII characters, or remove it",
        );
    }
    if audit.path.file_name().is_none() || audit.path.extension().is_none() {
        let fix = "write a file name with an extension, for example \"audit/audit.jsonl\"; the time is inserted before the extension";
        check.report("audit.path", "is not a file name with an extension", fix);
    }
    if let Some(copy) = &audit.checkpoint_copy
        && copy.parent() == audit.path.parent()
    {
        let message = "is in the folder of the log: an attacker who rewrites the log could rewrite the copy too";
        let fix = "name a file on another volume, which those who can write the log can't write";
        check.report("audit.checkpoint_copy", message, fix);
    }
    if audit.keep_days == Some(0) {
        let fix = "write at least 1, or remove it to keep all files";
        check.report("audit.keep_days", "deletes every full file", fix);
    }
    if audit.keep_days.is_some() && !audit.rotate_daily {
        let message = "counts days, and a file may have lines of many days";
        let fix = "write audit.rotate_daily = true";
        check.report("audit.keep_days", message, fix);
    }
}
