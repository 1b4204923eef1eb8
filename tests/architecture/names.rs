//! Names of public types and of functions.

use std::collections::BTreeMap;

use crate::assert_none;
use crate::source::{Source, sources};

/// Public type names that stand for more than one type, each with its reason.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("ActiveSpan", "builds without the feature otlp have a stand-in"),
    ("SpanRecording", "builds without the feature otlp have a stand-in"),
    ("TracerConfig", "builds without the feature otlp have a stand-in"),
];

fn repeated_types(sources: &[Source]) -> Vec<String> {
    let mut files: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|s| !s.is_test()) {
        for name in &source.public_types {
            files.entry(name.clone()).or_default().push(&source.path);
        }
    }
    let has_reason = |name: &str| SHARED_NAMES.iter().any(|(shared, _)| *shared == name);
    files
        .iter()
        .filter(|(name, files)| files.len() > 1 && !has_reason(name))
        .map(|(name, files)| format!("`{name}` names {} types: {}", files.len(), files.join(", ")))
        .collect()
}

fn functions_named_of(sources: &[Source]) -> Vec<String> {
    let named_of = |s: &&Source| s.functions.iter().any(|name| name == "of");
    sources.iter().filter(named_of).map(|s| format!("{}: has a function `of`", s.path)).collect()
}

#[test]
fn a_public_type_name_is_used_once() {
    assert_none(&repeated_types(sources()));
}

#[test]
fn no_function_is_named_of() {
    assert_none(&functions_named_of(sources()));
}

#[test]
fn forged_names_are_found() {
    let twice = [
        Source::new("crates/store/src/lib.rs", "pub struct Kept; struct Private;"),
        Source::new("crates/egress/src/kept.rs", "pub(crate) enum Kept {} struct Private;"),
        Source::new("crates/egress/src/tests.rs", "pub struct Kept;"),
    ];
    assert_eq!(
        repeated_types(&twice),
        ["`Kept` names 2 types: crates/store/src/lib.rs, crates/egress/src/kept.rs"]
    );
    let of = [Source::new("crates/store/src/lib.rs", "impl Kept { fn of() {} }")];
    assert_eq!(functions_named_of(&of).len(), 1);
}
