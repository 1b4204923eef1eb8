//! Heads and sizes of files.

use crate::assert_none;
use crate::source::{Source, sources};

/// Longest file without a reason of its own, in lines.
const MAX_LINES: usize = 500;

/// Files that read better whole, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

#[test]
fn files_begin_with_what_they_are_responsible_for() {
    let silent = |s: &&Source| !s.is_test() && !s.text.starts_with("//!");
    let describe = |s: &Source| format!("{}: begins without `//!`", s.path);
    assert_none(&sources().iter().filter(silent).map(describe).collect::<Vec<_>>());
}

#[test]
fn long_files_have_a_reason() {
    let mut findings = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let has_reason = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        if lines > MAX_LINES && !has_reason {
            findings.push(format!("{}: {lines} lines; split it, or give a reason", source.path));
        }
        if lines <= MAX_LINES && has_reason {
            findings.push(format!("{}: {lines} lines need no reason", source.path));
        }
    }
    assert_none(&findings);
}
