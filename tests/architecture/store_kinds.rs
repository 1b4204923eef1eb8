//! A kind of store or of register is one folder: only the file that registers it names it.

use crate::assert_none;
use crate::source::{Source, sources};

/// The files that list the kinds, one line for each, with the modules that hold their folders.
const REGISTRATIONS: &[(&str, &str)] =
    &[("crates/store/src/lib.rs", "store"), ("crates/register/src/lib.rs", "register")];

/// Files that name a kind, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "src/register_command.rs",
        "`register import` writes the format of the kind `file`, also without a configuration",
    ),
    ("src/progress.rs", "shows the progress of `register import`"),
    ("crates/demo/src/federation.rs", "writes the settings file of the demo"),
];

/// A kind: the module of its folder, its name, and the public types in its folder that bear the
/// name.
struct Kind {
    module: &'static str,
    name: String,
    types: Vec<String>,
}

/// Returns the kinds that the registration files list.
fn registered(sources: &[Source]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (path, module) in REGISTRATIONS {
        let text = &sources.iter().find(|source| source.path == *path).unwrap().text;
        let (_, list) = text.split_once("pub const KINDS: &[TableKind] = &[").unwrap();
        let (list, _) = list.split_once("];").unwrap();
        let words = list.split(|c: char| !(c.is_ascii_alphanumeric() || "_:".contains(c)));
        for name in words.filter_map(|word| word.strip_suffix("::KIND")) {
            let own = sources.iter().filter(|source| is_in_folder(&source.path, module, name));
            let types = own.filter(|s| !s.is_test()).flat_map(|s| s.public_types.clone());
            let types = types.filter(|own| own.to_ascii_lowercase().contains(name)).collect();
            kinds.push(Kind { module, name: name.to_owned(), types });
        }
    }
    kinds
}

fn is_in_folder(path: &str, module: &str, kind: &str) -> bool {
    path.strip_prefix("crates/")
        .and_then(|path| path.strip_prefix(module)?.strip_prefix("/src/")?.strip_prefix(kind))
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Returns the code of a file: its lines without comments, up to the tests at its end.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_ascii_start().starts_with("//"))
}

/// Returns true if `line` has `text` and then no further character of a name.
fn names(line: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(text).any(|(at, _)| {
        !line[at + text.len()..].starts_with(is_part) && !line[..at].ends_with(is_part)
    })
}

fn named_elsewhere(sources: &[Source], kinds: &[Kind]) -> Vec<String> {
    let is_exempt = |source: &&Source| {
        let known = REGISTRATIONS.iter().chain(EXCEPTIONS);
        known.into_iter().any(|(path, _)| *path == source.path)
    };
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| !s.is_test() && !is_exempt(s)) {
        for Kind { module, name, types } in kinds {
            if is_in_folder(&source.path, module, name) {
                continue;
            }
            let path = format!("{module}::{name}");
            let table = format!("{module}.{name}");
            let imports =
                |import: &Vec<String>| import.starts_with(&[(*module).into(), name.clone()]);
            let named = source.imports.iter().any(imports)
                || code(&source.text).any(|line| {
                    [&path, &table].into_iter().chain(types).any(|text| names(line, text))
                });
            if named {
                findings.push(format!("{}: names the kind `{name}`", source.path));
            }
        }
    }
    findings
}

#[test]
fn only_its_folder_knows_a_kind_of_store_or_register() {
    let kinds = registered(sources());
    let names: Vec<_> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["memory", "redis", "file", "http"]);
    assert!(kinds.iter().all(|kind| !kind.types.is_empty()));
    assert_none(&named_elsewhere(sources(), &kinds));
}

#[test]
fn forged_names_of_kinds_are_found() {
    let kind = |module, name: &str, own: &str| Kind {
        module,
        name: name.to_owned(),
        types: vec![own.to_owned()],
    };
    let kinds = [kind("store", "redis", "RedisStore"), kind("register", "file", "FileRegister")];
    for (path, text) in [
        ("crates/server/src/store.rs", "use passerelle_store::redis::verbs;"),
        ("crates/server/src/store.rs", "use passerelle_store::{Store, redis};"),
        ("crates/store/src/metered.rs", "use super::redis;"),
        ("crates/store/src/metered.rs", "fn f(store: RedisStore) {}"),
        ("crates/config/src/model/store.rs", "const KEY: &str = \"store.redis.nodes\";"),
        ("src/top.rs", "use passerelle_register::file;"),
        ("crates/store/src/redis_like.rs", "fn f(store: RedisStore) {}"),
    ] {
        assert_eq!(named_elsewhere(&[Source::new(path, text)], &kinds).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("crates/store/src/redis/verbs.rs", "use super::RedisStore;"),
        ("crates/store/src/redis.rs", "pub struct RedisStore;"),
        (
            "crates/server/src/store.rs",
            "// like store::redis\nfn f(metrics: &M) { metrics.store.redis_errors }",
        ),
        (
            "crates/server/src/store.rs",
            "#[cfg(test)]\nmod tests {\n    use passerelle_store::redis::RedisStore;\n}",
        ),
        ("crates/hub/src/runtime_entries/tests.rs", "use passerelle_store::redis::RedisStore;"),
    ] {
        assert_none(&named_elsewhere(&[Source::new(path, text)], &kinds));
    }
}
