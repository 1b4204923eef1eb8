//! Heads and sizes of files.

use crate::assert_none;
use crate::source::{Source, sources};

/// Longest file without a reason of its own, in lines.
const MAX_LINES: usize = 400;

/// Longest file of tests without a reason of its own, in lines: a table has a row for each case.
const MAX_TEST_LINES: usize = 600;

/// Files that read better whole, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[
    ("actor/connector.rs", "the actor of one connector and the handle that sends its messages"),
    ("actor/health.rs", "everything that changes the health of one identity provider"),
    ("actor/steps.rs", "one login step, from the stored login to the stored result"),
    ("bin/passerelle/main.rs", "the commands and their help texts"),
    ("demo/federation.rs", "the demo's files, written side by side"),
    ("demo/service_provider.rs", "a service provider in one file, as an integrator reads it"),
    ("egress/safe_http_client.rs", "every check of an outbound call, in order"),
    ("login.rs", "the types of the login state machine"),
    ("protocol/authorize/tests.rs", "one table for the ordered checks, a row each"),
    ("protocol/catalogue.rs", "one row for each error code"),
    ("store/conformance/rules.rs", "the rules that every store must pass, one after another"),
    ("telemetry/trace.rs", "everything that may enter a span"),
    ("web/pages/gallery.rs", "every page in every state"),
];

#[test]
fn files_begin_with_what_they_are_responsible_for() {
    let silent = |s: &&Source| !s.is_test() && !s.text.starts_with("//!");
    let describe = |s: &Source| format!("src/{}: begins without `//!`", s.path);
    assert_none(&sources().iter().filter(silent).map(describe).collect::<Vec<_>>());
}

#[test]
fn long_files_have_a_reason() {
    let mut findings = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let has_reason = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        let max = if source.is_test() { MAX_TEST_LINES } else { MAX_LINES };
        if lines > max && !has_reason {
            findings
                .push(format!("src/{}: {lines} lines; split it, or give a reason", source.path));
        }
        if lines <= max && has_reason {
            findings.push(format!("src/{}: {lines} lines need no reason", source.path));
        }
    }
    assert_none(&findings);
}
