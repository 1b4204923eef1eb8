//! The check that every extension passes.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check fails its test by panicking"
)]

use std::collections::BTreeSet;

use crate::{Extension, SettingsTable};
use passerelle_audit::EventKind;
use passerelle_localization::{Languages, MessageFile, catalogue};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_store::RecordKind;
use passerelle_telemetry::Metrics;

/// Checks that nothing of the extension collides with the hub's own, and that its texts are complete
/// in every built-in language.
pub fn check_extension(extension: &Extension) {
    extension.install();
    let codes = ErrorCode::all();
    let numbers: BTreeSet<&str> = codes.iter().map(|code| code.entry().code).collect();
    assert_eq!(numbers.len(), codes.len(), "a code has two rows");
    check_messages(extension);
    for locale in Languages::built_in().locales() {
        for code in extension.error_codes {
            let key = code.entry().page_text;
            assert_ne!(locale.text(key), key, "{locale} {}", code.entry().code);
        }
    }
    Metrics::with_extensions(extension.metrics).expect("no metric is declared twice");
    check_audit_events(extension);
    if let Some(SettingsTable { kind, .. }) = extension.table {
        assert!(kind.summary.ends_with('.'), "[{}] has no description", kind.name);
    }
    for endpoint in extension.admin_endpoints {
        let is_relative = endpoint.path.starts_with('/') && !endpoint.path.starts_with("/admin");
        assert!(is_relative && !endpoint.methods.is_empty(), "{endpoint:?}");
    }
    if let Some(command) = extension.command {
        (command.arguments)().debug_assert();
    }
    for (kind, capacity) in extension.record_kinds {
        let usage = capacity(None);
        let is_taken = RecordKind::HUB_KINDS.iter().any(|known| {
            known.letter == kind.letter || known.name == kind.name || known.pool == kind.pool
        });
        assert!(!is_taken, "{kind:?} collides with a kind of the hub");
        assert!(usage.records > 0 && usage.bytes > 0, "{kind:?} has no room");
    }
}

fn check_audit_events(extension: &Extension) {
    let names: Vec<_> = EventKind::all().iter().map(|event| event.as_str()).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "an audit event is declared twice");
    let line = passerelle_audit::schema();
    for event in extension.audit_events {
        assert!(event.meaning().ends_with('.'), "{event:?} has no sentence");
        for field in event.fields() {
            assert!(line["properties"].get(field).is_some(), "{event:?} has `{field}`");
        }
    }
}

fn check_messages(extension: &Extension) {
    let Some((_, english)) = extension.messages.iter().find(|(tag, _)| *tag == "en") else {
        assert!(extension.messages.is_empty(), "the English messages are missing");
        return;
    };
    let expected = keys(english);
    let tags: Vec<&str> = extension.messages.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, catalogue().tags().collect::<Vec<_>>(), "each built-in language once");
    for (tag, text) in extension.messages {
        assert_eq!(keys(text), expected, "{tag}");
        // The checks of an operator's file: known variables, no control characters, length.
        assert_eq!(MessageFile::from_text(tag, (*text).to_owned()).err(), None, "{tag}");
    }
    for key in expected {
        assert_eq!(catalogue().count_texts(key), 1, "`{key}` has two texts");
    }
}

/// Returns the keys of a file in Fluent's format.
fn keys(text: &str) -> BTreeSet<&str> {
    text.lines()
        .filter(|line| !line.starts_with([' ', '#', '[', '*', '}']))
        .filter_map(|line| Some(line.split_once(" =")?.0))
        .collect()
}
