//! The arrows of the house: reads the `crate::…` paths of `src/` and fails on one that the layer table forbids.
//!
//! Owns: the table, as the documentation in `lib.rs` states it, and the house rules that a test can hold. Test code
//! inside the crate (`#[cfg(test)]` modules, files named `tests.rs` or `…_tests.rs`) may look anywhere and is not read.

#![expect(clippy::unwrap_used, reason = "a test that can't read the sources has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const L0: &[&str] = &["protocol", "ids", "env", "digest", "client_network"];
const L1: &[&str] = &["identity", "assurance", "token", "config", "telemetry", "egress", "audit"];
const MACHINES: &[&str] = &["login", "session"];
const L2: &[&str] = &["store", "connector", "register"];
const TOP: &[&str] = &["app", "demo", "bin", "lib"];

/// What `actor` and `grant` may not name: they know adapters by their traits only.
const CONCRETE: &[&str] =
    &["store::memory", "store::redis", "connector::oidc", "register::file", "register::http"];

/// What `web` may not name: the machine's inside.
const MACHINE_INSIDE: &[&str] = &["login::step", "login::machine"];

/// Files that read better whole, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[
    (
        "demo/service_provider/tests.rs",
        "one table of answers that the demo must not believe, on both platforms",
    ),
    ("config/model.rs", "the configuration files' shapes, read side by side with them"),
    ("config/tests.rs", "one table of bad files and their messages"),
    ("protocol/authorize/tests.rs", "one table for the ordered checks, a row each"),
    ("protocol/catalogue.rs", "one row for each error code"),
    ("web/pages/gallery.rs", "every page in every state, to be looked at"),
    ("web/shell.rs", "the shell and the real-socket tests of its order"),
];

/// Longest file without a reason of its own, in lines.
const LONGEST: usize = 400;

fn allowed(from: &str) -> Option<BTreeSet<&'static str>> {
    let of =
        |groups: &[&[&'static str]]| Some(groups.iter().flat_map(|g| g.iter().copied()).collect());
    match from {
        "protocol" | "ids" | "env" | "digest" | "client_network" => of(&[L0]),
        "identity" | "assurance" | "token" | "config" | "telemetry" | "egress" | "audit" => {
            of(&[L0, L1])
        }
        "login" | "session" => of(&[L0, &["identity", "assurance"]]),
        "store" | "connector" | "register" => of(&[L0, L1, MACHINES]),
        "quota" => of(&[L0, L1, &["store"]]),
        "grant" => of(&[L0, L1, MACHINES, L2, &["quota"]]),
        "actor" => of(&[L0, L1, MACHINES, L2, &["grant", "quota"]]),
        "web" => of(&[L0, L1, MACHINES, &["actor", "grant", "quota"]]),
        _ => None,
    }
}

/// A source file: its path under `src/` with forward slashes, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// First folder or file name: the module that the table speaks of.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// Modules between this file and the crate's root.
    fn depth(&self) -> usize {
        self.path.split('/').count()
    }

    fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The text without comments and without `#[cfg(test)]` modules.
    fn code(&self) -> String {
        let mut code = String::new();
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            if line.trim() == "#[cfg(test)]" {
                // rustfmt puts the closing brace of an item at the item's own indent.
                let closing = format!("{}}}", " ".repeat(indent));
                for skipped in lines.by_ref() {
                    if skipped == closing
                        || (skipped.ends_with(';')
                            && skipped.len() - skipped.trim_start().len() == indent)
                    {
                        break;
                    }
                }
                continue;
            }
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
        }
        code
    }
}

/// Every path that begins at the crate's root, as `module` or `module::item`, groups in braces opened.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        open_path("", &code[at + "crate::".len()..], &mut found);
    }
    found
}

/// Follows one path from `rest`, under `prefix`, two segments deep.
fn open_path(prefix: &str, rest: &str, found: &mut BTreeSet<String>) {
    let rest = rest.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        for member in members(group) {
            open_path(prefix, member, found);
        }
        return;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (segment, tail) = rest.split_at(end);
    if segment.is_empty() {
        return;
    }
    match (prefix.is_empty(), tail.strip_prefix("::")) {
        (true, Some(tail)) => {
            found.insert(segment.to_owned());
            open_path(segment, tail, found);
        }
        (true, None) => _ = found.insert(segment.to_owned()),
        (false, _) => _ = found.insert(format!("{prefix}::{segment}")),
    }
}

/// The members of a brace group whose opening brace is already read.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                all.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// Longest run of `super::` in the code: how far up a relative path climbs.
fn longest_climb(code: &str) -> usize {
    (1..8).take_while(|&times| code.contains(&"super::".repeat(times))).count()
}

fn forbidden_arrows(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|s| !s.is_test()) {
        let from = source.module();
        if TOP.contains(&from) {
            continue;
        }
        let Some(allowed) = allowed(from) else {
            faults.push(format!("src/{}: no row of the layer table names `{from}`", source.path));
            continue;
        };
        let code = source.code();
        for path in crate_paths(&code) {
            let to = path.split("::").next().unwrap_or_default();
            let known = is_module(to);
            let upward = path == to && to != from && !allowed.contains(to);
            let concrete = ["actor", "grant"].contains(&from) && CONCRETE.contains(&path.as_str());
            let inside = from == "web" && MACHINE_INSIDE.contains(&path.as_str());
            if known && (upward || concrete || inside) {
                faults.push(format!("src/{}: `{from}` must not use `crate::{path}`", source.path));
            }
        }
        let inline = usize::from(
            code.lines().any(|l| l.trim_start().contains("mod ") && l.trim_end().ends_with('{')),
        );
        if longest_climb(&code) >= source.depth() + inline {
            faults.push(format!(
                "src/{}: reaches the crate's root by `super::`; write `crate::`",
                source.path
            ));
        }
    }
    faults
}

/// True for the name of a module of the house; macros and items at the root are not arrows.
fn is_module(name: &str) -> bool {
    allowed(name).is_some() || TOP.contains(&name)
}

/// Pairs of L1 modules that use each other, directly or round about: the table wants these arrows one-way.
fn circles(sources: &[Source]) -> Vec<String> {
    let mut arrows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources.iter().filter(|s| !s.is_test() && L1.contains(&s.module())) {
        let targets = crate_paths(&source.code())
            .into_iter()
            .filter(|p| L1.contains(&p.as_str()) && p != source.module());
        arrows.entry(source.module()).or_default().extend(targets);
    }
    let reaches = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = next.pop() {
            for to in arrows.get(at.as_str()).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    L1.iter()
        .filter(|m| reaches(m).contains(**m))
        .map(|m| format!("`{m}` is part of a circle of arrows in L1"))
        .collect()
}

fn impure_machines(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|s| MACHINES.contains(&s.module()) && !s.is_test()) {
        let code = source.code();
        for word in [
            "async ",
            ".await",
            "tracing::",
            "tokio::",
            "actix",
            "env::Env",
            "env::Clock",
            "openssl::rand",
        ] {
            if code.contains(word) {
                faults.push(format!(
                    "src/{}: the machine is pure, but names `{}`",
                    source.path,
                    word.trim()
                ));
            }
        }
    }
    faults
}

fn read_sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let relative =
                    path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                sources.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(sources.len() > 10, "src/ was not found");
    sources
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn arrows_only_point_down() {
    assert_none(&forbidden_arrows(&read_sources()));
}

#[test]
fn arrows_within_the_first_floor_are_one_way() {
    assert_none(&circles(&read_sources()));
}

#[test]
fn the_machines_are_pure() {
    assert_none(&impure_machines(&read_sources()));
}

#[test]
fn files_say_what_they_own() {
    let silent = |s: &&Source| !s.is_test() && !s.text.starts_with("//!");
    let faults: Vec<_> = read_sources()
        .iter()
        .filter(silent)
        .map(|s| format!("src/{}: begins without `//!`", s.path))
        .collect();
    assert_none(&faults);
}

#[test]
fn long_files_have_a_reason() {
    let mut faults = Vec::new();
    for source in read_sources() {
        let lines = source.text.lines().count();
        let reasoned = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        if lines > LONGEST && !reasoned {
            faults.push(format!(
                "src/{}: {lines} lines; split it, or give the reason in LONG_FILES",
                source.path
            ));
        }
        if lines <= LONGEST && reasoned {
            faults.push(format!(
                "src/{}: {lines} lines; its reason in LONG_FILES is no longer needed",
                source.path
            ));
        }
    }
    assert_none(&faults);
}

/// The checks above can fail: each forged file breaks one rule.
#[test]
fn forged_arrows_are_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let forged = [
        ("store/memory.rs", "use crate::connector::Connector;"),
        ("protocol/json.rs", "use crate::{ids::Scope, token};"),
        ("login.rs", "fn f() { crate::store::load() }"),
        ("web/choice.rs", "use crate::{\n    actor::Logins,\n    store::{Store, Version},\n};"),
        ("web/choice.rs", "use crate::login::step;"),
        ("grant/redeem.rs", "use crate::store::memory::Memory;"),
        ("grant/redeem.rs", "use crate::actor::Logins;"),
        ("ids.rs", "use super::store::Store;"),
        ("attic.rs", ""),
    ];
    for (path, text) in forged {
        assert_eq!(forbidden_arrows(&[source(path, text)]).len(), 1, "{path}: {text}");
    }
    let fine = [
        ("web/choice.rs", "use crate::actor::Logins;\nuse crate::login::upstream::Left;"),
        (
            "store/memory.rs",
            "use super::Store; // crate::connector\n#[cfg(test)]\nmod tests {\n    use crate::connector::Connector;\n}\n",
        ),
        ("app.rs", "use crate::store::memory::Memory;"),
        ("grant/tests.rs", "use crate::store::memory::Memory;"),
    ];
    for (path, text) in fine {
        assert_none(&forbidden_arrows(&[source(path, text)]));
    }
    let after_tests = "#[cfg(test)]\nmod tests;\nuse crate::web::Page;";
    assert_eq!(forbidden_arrows(&[source("token.rs", after_tests)]).len(), 1);
    let circle = [
        source("token.rs", "use crate::config::Settings;"),
        source("config.rs", "use crate::token::Keyring;"),
    ];
    assert_eq!(circles(&circle).len(), 2);
    assert_eq!(impure_machines(&[source("session/reuse.rs", "async fn f() {}")]).len(), 1);
}
