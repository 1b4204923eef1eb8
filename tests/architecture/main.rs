//! Rules about the project's own source: crates, layers, import cycles, names, words, references.
//!
//! Each rule reads `crates/` and `src/` with `syn` and names the file that breaks it. Each rule also has a test
//! that a forged source file breaks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::pedantic,
    clippy::indexing_slicing,
    reason = "a test that can't read the sources fails"
)]

mod crates;
mod cycles;
mod files;
mod kinds;
mod layers;
mod named_files;
mod names;
mod source;
mod store_kinds;
mod words;

/// Fails with one line for each finding.
fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
