//! Paths in the files of connectors, service providers and data providers: their type makes the hub
//! read the named file again (docs/reload.md).

use crate::assert_none;
use crate::source::{Source, sources};

/// Types of the files that a running hub reads again.
const FILES: &[&str] = &[
    "crates/connector/src/connector_file.rs",
    "crates/config/src/model/service_provider.rs",
    "crates/config/src/model/data_provider.rs",
];

/// Folders of the kinds of connectors.
const KINDS: &[&str] =
    &["crates/connector/src/", "crates/ldap/src/", "crates/openid4vp/src/", "crates/saml/src/"];

fn untyped_paths(sources: &[Source]) -> Vec<String> {
    let is_reloaded = |path: &str| {
        let is_kind = KINDS.iter().any(|folder| path.starts_with(folder));
        is_kind && path.ends_with("/settings.rs") || FILES.contains(&path)
    };
    let lines = sources.iter().filter(|source| is_reloaded(&source.path)).flat_map(|source| {
        let is_field =
            |line: &&str| line.trim_ascii().starts_with("pub ") && line.contains("PathBuf");
        source.text.lines().filter(is_field).map(move |line| (&source.path, line.trim_ascii()))
    });
    let message = |(path, line)| {
        format!(
            "{path}: `{line}` is read at the start only: use a type of crates/settings/src/file_path.rs"
        )
    };
    lines.map(message).collect()
}

#[test]
fn every_path_in_a_reloaded_file_has_a_type_that_is_watched() {
    assert_none(&untyped_paths(sources()));
}

#[test]
fn a_forged_path_is_found() {
    let forged = [
        Source::new(
            "crates/connector/src/new/settings.rs",
            "pub struct New {\n    pub ca: Option<PathBuf>,\n}",
        ),
        Source::new(
            "crates/store/src/redis/settings.rs",
            "pub struct Old {\n    pub ca: Option<PathBuf>,\n}",
        ),
    ];
    assert_eq!(untyped_paths(&forged).len(), 1);
}
