//! Checks `[audit]` of `passerelle.toml`: where the audit log is written, and what
//! happens if that fails.

use crate::config::loading::{Diagnostic, SourceFile};
use crate::config::model::AuditConfig;

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
}
