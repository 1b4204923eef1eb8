//! Tests `[store]` whatever its kind.

use crate::kinds::Kinds;
use crate::load_config;
use crate::tests::Folder;
use passerelle_settings::TableKind;

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A valid configuration with these tables, and variables for keys and passwords.
pub(crate) fn folder_with(tables: &str) -> Folder {
    let text = format!("identity_source = \"provider\"\n{tables}\n");
    let folder = Folder::good().edit("passerelle.toml", "identity_source = \"provider\"\n", &text);
    folder
        .variable("SEAL", KEY)
        .variable("OTHER", &KEY.to_ascii_uppercase())
        .variable("SHORT", "short")
        .variable("PASSWORD", "secret")
}

#[test]
fn exactly_one_store_of_a_known_kind_is_accepted() {
    let memory =
        "[store.memory]\nsnapshot = \"s\"\nencryption_keys = [{ env = \"SEAL\" }]".to_owned();
    let rows = [
        (format!("{memory}\n[store.redis]\nnodes = []"), "store", "keep one: [store.memory]"),
        ("[store.disk]\npath = \"a\"".to_owned(), "store.disk", "write one of: memory, redis"),
        ("[store]".to_owned(), "store", "add [store.memory] or [store.redis]"),
        ("store = 1".to_owned(), "store", "must be a table"),
        ("store = \"redis\"".to_owned(), "store", "must be a table"),
    ];
    for (tables, key, word) in rows {
        let (file, named, text) = folder_with(&tables).problem();
        assert_eq!((file.as_str(), named.as_str()), ("passerelle.toml", key), "{tables}: {text}");
        assert!(text.contains(word), "{tables}: {text}");
    }
}

/// Every problem of the file is reported at once, also where another table is broken.
#[test]
fn a_broken_store_is_reported_with_the_other_problems() {
    let folder = folder_with("[store.memory]\nsnapshot = 1\n[limits]\nlogins = \"many\"");
    for key in ["store.memory.snapshot", "limits.logins"] {
        folder.problem_at(key);
    }
}

#[test]
fn a_kind_that_was_not_built_in_is_named_with_its_feature() {
    const KINDS: Kinds = Kinds {
        stores: &[TableKind::missing("redis")],
        registers: &[],
        connectors: &[],
        extensions: &[],
    };
    let folder = folder_with("[store.redis]\nnodes = [\"a:1\"]");
    let problems = load_config(folder.path(), &folder.environment(), KINDS).unwrap_err();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(texts.concat().contains("store.redis: needs the Cargo feature `redis`"), "{texts:?}");
}
