//! Checks `[audit]` of `passerelle.toml`: where the audit log is written, and what
//! happens if that fails.

use crate::config::model::AuditConfig;
use crate::settings::{Diagnostic, SourceFile};

/// Checks `[audit]`.
pub fn check_audit(source: &SourceFile, audit: &AuditConfig, problems: &mut Vec<Diagnostic>) {
    let is_name = |node: &String| {
        (1..=128).contains(&node.len()) && node.bytes().all(|c| c.is_ascii_graphic())
    };
    if audit.node.as_ref().is_some_and(|node| !is_name(node)) {
        let message = "is not a valid name";
        problems.push(source.diagnostic(
            "audit.node",
            message,
            "write 1 to 128 visible ASCII characters, or remove it",
        ));
    }
    if audit.path.file_name().is_none() || audit.path.extension().is_none() {
        let fix = "write a file name with an extension, for example \"audit/audit.jsonl\"; the time is inserted before the extension";
        problems.push(source.diagnostic("audit.path", "is not a file name with an extension", fix));
    }
    if let Some(copy) = &audit.checkpoint_copy
        && copy.parent() == audit.path.parent()
    {
        let message = "is in the folder of the log: an attacker who rewrites the log could rewrite the copy too";
        let fix = "name a file on another volume, which those who can write the log can't write";
        problems.push(source.diagnostic("audit.checkpoint_copy", message, fix));
    }
    if audit.keep_days == Some(0) {
        let fix = "write at least 1, or remove it to keep all files";
        problems.push(source.diagnostic("audit.keep_days", "deletes every full file", fix));
    }
    if audit.keep_days.is_some() && !audit.rotate_daily {
        let message = "counts days, and a file may have lines of many days";
        let fix = "write audit.rotate_daily = true";
        problems.push(source.diagnostic("audit.keep_days", message, fix));
    }
}
