//! Checks invalid files of each kind of connector.

mod ldap;
mod oauth2;
mod oidc;
mod openid4vp;
mod persona;
mod saml;

use super::{Folder, check_rows_of};

/// Text to replace, replacement, expected key, and expected words.
pub(crate) type KindRow = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
pub(crate) fn check(good: &str, rows: &[KindRow]) {
    const FILE: &str = "connectors/kind.toml";
    let folder = || Folder::good().with(FILE, good);
    folder().loaded();
    check_rows_of(
        folder,
        rows.iter().map(|(from, to, key, words)| (FILE, *from, *to, *key, *words)),
    );
}

/// Levels of a kind that returns no `acr`.
pub(crate) const LEVELS: [KindRow; 6] = [
    ("assumed_level = \"eidas1\"", "", "assumed_level", "write assumed_level"),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas2\"",
        "assumed_level",
        "only level that may be assumed",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nacr = { eidas1 = [\"low\"] }",
        "acr",
        "returns no acr",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nacr = { send = false }",
        "acr",
        "returns no acr",
    ),
    (
        "assumed_level = \"eidas1\"",
        "assumed_level = \"eidas1\"\nignore_acr = true",
        "ignore_acr",
        "has no effect",
    ),
    (
        "highest = \"eidas1\"",
        "highest = \"eidas2\"",
        "levels.highest",
        "the only level of this kind",
    ),
];
