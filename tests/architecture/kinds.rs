//! A connector kind is one folder or one crate: no other file knows a kind by name.

use crate::assert_none;
use crate::source::{Source, sources};

/// The file that lists the kinds, one line for each.
const REGISTRATION: &str = "crates/server/src/kinds.rs";

/// Files that know kinds by name, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/connector/src/lib.rs", "declares the modules"),
    (REGISTRATION, "registers the kinds"),
    (
        "crates/protocol/src/catalogue/table.rs",
        "has an error code for each failed check, of whatever kind",
    ),
    ("crates/hub/src/health/attribution.rs", "says of each error code whose failure it is"),
    ("crates/hub/src/health/probe_record.rs", "says of each error code how far a call came"),
    (
        "crates/config/src/markdown_reference/sections.rs",
        "groups the keys of the reference by task",
    ),
    ("crates/demo/src/connectors.rs", "writes the connector files of the demo"),
    ("crates/demo/src/federation.rs", "writes the files of the demo's sandbox identity providers"),
    ("crates/demo/src/lib.rs", "starts the demo's identity provider of an optional kind"),
    ("crates/demo/src/localized_names.rs", "names it"),
    ("crates/demo/src/saml_identity_provider.rs", "is that identity provider"),
];

/// Returns the names of the kinds that [`REGISTRATION`] lists.
fn registered(sources: &[Source]) -> Vec<&str> {
    let source = sources.iter().find(|source| source.path == REGISTRATION).unwrap();
    let lines = source.text.lines().map(str::trim_ascii);
    lines.filter_map(|line| line.strip_suffix("::KIND,")).collect()
}

/// A kind is a folder of the crate of connectors, or a crate of its own.
fn is_in_folder(path: &str, kind: &str) -> bool {
    let rest = path
        .strip_prefix("crates/connector/src/")
        .or_else(|| path.strip_prefix("crates/"))
        .and_then(|path| path.strip_prefix(kind));
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Returns the code of a file: its lines without comments, up to its tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = text.lines().enumerate().peekable();
    std::iter::from_fn(move || {
        let (at, line) = lines.next()?;
        if line != "#[cfg(test)]" {
            return Some((at + 1, line));
        }
        // A module in another file is skipped; one in this file is the last item.
        let (at, line) = lines.next()?;
        (!line.ends_with('{')).then_some((at + 1, ""))
    })
    .filter(|(_, line)| !line.trim_ascii_start().starts_with("//"))
    .map(|(at, line)| (at, line.split(" // ").next().unwrap_or(line)))
}

/// Returns true if the word is the kind's name, or begins with it as a type's name does.
fn names_kind(word: &str, kind: &str) -> bool {
    let (first, rest) = kind.split_at(1);
    let type_prefix = first.to_ascii_uppercase() + rest;
    let begins = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_lowercase());
    word == kind || word.strip_prefix(type_prefix.as_str()).is_some_and(begins)
}

fn named_elsewhere(sources: &[Source], kinds: &[&str]) -> Vec<String> {
    let is_exempt = |source: &&Source| EXCEPTIONS.iter().any(|(path, _)| *path == source.path);
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| !s.is_test() && !is_exempt(s)) {
        for (line, code) in code(&source.text) {
            let mut words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let foreign = kinds.iter().filter(|kind| !is_in_folder(&source.path, kind));
            let named = |word: &str| foreign.clone().any(|kind| names_kind(word, kind));
            if let Some(word) = words.find(|word| named(word)) {
                findings.push(format!("{}:{line}: `{word}`", source.path));
            }
        }
    }
    findings
}

#[test]
fn only_its_folder_knows_a_connector_kind() {
    let kinds = registered(sources());
    assert!(kinds.len() >= 4, "{kinds:?}");
    assert_none(&named_elsewhere(sources(), &kinds));
}

#[test]
fn every_exception_is_needed() {
    let kinds = registered(sources());
    let names_one = |text: &str| {
        let words = |line: &str| {
            let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.any(|word| kinds.iter().any(|kind| names_kind(word, kind)))
        };
        code(text).any(|(_, line)| words(line))
    };
    for (path, _) in EXCEPTIONS {
        let source = sources().iter().find(|source| source.path == *path);
        assert!(source.is_some_and(|source| names_one(&source.text)), "{path} needs no exception");
    }
}

#[test]
fn forged_names_of_kinds_are_found() {
    let kinds = ["oidc", "ldap", "persona"];
    for (path, text) in [
        ("crates/config/src/kinds.rs", "const KIND: &str = \"oidc\";"),
        ("crates/config/src/kinds.rs", "const KEY: &str = \"kind.ldap.url\";"),
        ("crates/server/src/check.rs", "use passerelle_connector::persona;"),
        ("crates/server/src/check.rs", "fn f(kind: OidcConnector) {}"),
        ("crates/ldap/src/lib.rs", "use super::oidc;"),
        ("crates/connector/src/oidc_like.rs", "const KIND: &str = \"oidc\";"),
        ("crates/server/src/check.rs", "#[cfg(test)]\nmod tests;\nconst KIND: &str = \"oidc\";"),
    ] {
        assert_eq!(named_elsewhere(&[Source::new(path, text)], &kinds).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("crates/connector/src/oidc.rs", "const KIND: &str = \"oidc\";"),
        ("crates/connector/src/oidc/settings.rs", "pub struct OidcKind;"),
        (
            "crates/server/src/check.rs",
            "// as oidc does\nconst TEXT: &str = \"personal ldap3\"; // oidc",
        ),
        (
            "crates/server/src/check.rs",
            "#[cfg(test)]\nmod tests {\n    const KIND: &str = \"oidc\";\n}",
        ),
        ("crates/config/src/tests.rs", "const KIND: &str = \"oidc\";"),
    ] {
        assert_none(&named_elsewhere(&[Source::new(path, text)], &kinds));
    }
}
