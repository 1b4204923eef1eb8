//! Checks that modules use only those that the table in `src/lib.rs` allows.

use std::collections::{BTreeMap, BTreeSet};

use crate::assert_none;
use crate::source::{Source, sources};

const L0: &[&str] =
    &["protocol", "ids", "env", "digest", "localization", "client_network", "atomic_file"];
const L1: &[&str] =
    &["identity", "assurance", "token", "settings", "federation", "telemetry", "egress", "audit"];
const STATE_MACHINES: &[&str] = &["login", "session"];
const L2: &[&str] = &["store", "connector", "register"];
const TOP: &[&str] = &["app", "demo", "testing", "bin", "lib"];

/// Modules that `actor` and `grant` know by their traits only.
const ADAPTERS: &[&[&str]] = &[
    &["store", "memory"],
    &["store", "redis"],
    &["connector", "kinds"],
    &["connector", "oidc"],
    &["connector", "oauth2"],
    &["connector", "ldap"],
    &["connector", "openid4vp"],
    &["connector", "persona"],
    &["register", "file"],
    &["register", "http"],
];

/// Modules inside the state machine, which `web` may not use.
const STATE_MACHINE_INTERNALS: &[&[&str]] = &[&["login", "step"]];

/// Returns the modules that `module` may use, or `None` for a module without a row.
fn allowed(module: &str) -> Option<BTreeSet<&'static str>> {
    let union = |groups: &[&[&'static str]]| Some(groups.concat().into_iter().collect());
    match module {
        "protocol" | "ids" | "env" | "digest" | "localization" | "client_network"
        | "atomic_file" => union(&[L0]),
        "identity" | "assurance" | "token" | "settings" | "federation" | "telemetry" | "egress"
        | "audit" => union(&[L0, L1]),
        "login" | "session" => union(&[L0, &["identity", "assurance"]]),
        "store" | "connector" | "register" => union(&[L0, L1, STATE_MACHINES]),
        "quota" => union(&[L0, L1, &["store"]]),
        "grant" => union(&[L0, L1, STATE_MACHINES, L2, &["quota"]]),
        "actor" => union(&[L0, L1, STATE_MACHINES, L2, &["grant", "quota"]]),
        "web" => union(&[L0, L1, STATE_MACHINES, &["actor", "grant", "quota"]]),
        // The parts define their settings; `config` reads the files for all of them.
        "config" => union(&[L0, L1, STATE_MACHINES, L2, &["actor", "grant", "quota", "web"]]),
        _ => None,
    }
}

fn is_module(name: &str) -> bool {
    allowed(name).is_some() || TOP.contains(&name)
}

fn starts_with_any(path: &[String], prefixes: &[&[&str]]) -> bool {
    prefixes.iter().any(|p| path.len() >= p.len() && path.iter().zip(*p).all(|(a, b)| a == b))
}

fn forbidden_imports(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| !s.is_test() && !TOP.contains(&s.top_module())) {
        let from = source.top_module();
        let Some(allowed) = allowed(from) else {
            findings.push(format!("src/{}: the layer table has no row for `{from}`", source.path));
            continue;
        };
        for path in &source.imports {
            let Some(to) = path.first().filter(|to| is_module(to)) else { continue };
            let upward = to != from && !allowed.contains(to.as_str());
            let adapter = ["actor", "grant"].contains(&from) && starts_with_any(path, ADAPTERS);
            let internal = from == "web" && starts_with_any(path, STATE_MACHINE_INTERNALS);
            if upward || adapter || internal {
                let path = path.join("::");
                findings.push(format!("src/{}: `{from}` may not use `{path}`", source.path));
            }
        }
    }
    findings.dedup();
    findings
}

/// Returns what uses `testing` outside tests, and what uses `demo` but for the binary.
fn uses_of_demo_and_testing(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| !s.is_test()) {
        let may_use_demo = ["bin", "demo"].contains(&source.top_module());
        for path in &source.imports {
            let is_forbidden = match path.first().map(String::as_str) {
                Some("testing") => true,
                Some("demo") => !may_use_demo,
                _ => false,
            };
            if is_forbidden {
                findings.push(format!("src/{}: may not use `{}`", source.path, path.join("::")));
            }
        }
    }
    findings
}

/// Returns the modules of layer 1 that use each other, directly or through others.
fn cycles_in_layer_1(sources: &[Source]) -> Vec<String> {
    let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources.iter().filter(|s| !s.is_test() && L1.contains(&s.top_module())) {
        let targets = source.imports.iter().filter_map(|path| path.first().cloned());
        let targets = targets.filter(|to| L1.contains(&to.as_str()) && to != source.top_module());
        uses.entry(source.top_module()).or_default().extend(targets);
    }
    let reaches = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = next.pop() {
            for to in uses.get(at.as_str()).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    L1.iter()
        .filter(|module| reaches(module).contains(**module))
        .map(|module| format!("`{module}` is part of an import cycle in layer 1"))
        .collect()
}

fn impure_state_machines(sources: &[Source]) -> Vec<String> {
    const IMPURE: &[&[&str]] = &[&["env", "Env"], &["env", "Clock"]];
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| STATE_MACHINES.contains(&s.top_module())) {
        if source.is_test() {
            continue;
        }
        for path in source.imports.iter().filter(|path| starts_with_any(path, IMPURE)) {
            findings.push(format!("src/{}: not pure: uses `{}`", source.path, path.join("::")));
        }
        for name in ["tracing", "tokio", "actix"].iter().filter(|n| source.crates.contains(**n)) {
            findings.push(format!("src/{}: not pure: uses `{name}`", source.path));
        }
        if source.is_async {
            findings.push(format!("src/{}: not pure: has async code", source.path));
        }
    }
    findings
}

#[test]
fn modules_use_only_what_the_layer_table_allows() {
    assert_none(&forbidden_imports(sources()));
}

#[test]
fn product_code_uses_neither_the_demo_nor_test_doubles() {
    assert_none(&uses_of_demo_and_testing(sources()));
}

#[test]
fn modules_of_layer_1_do_not_use_each_other_in_a_cycle() {
    assert_none(&cycles_in_layer_1(sources()));
}

#[test]
fn state_machines_are_pure() {
    assert_none(&impure_state_machines(sources()));
}

#[test]
fn forged_imports_are_found() {
    let forged = [
        ("store/memory.rs", "use crate::connector::Connector;"),
        ("protocol/json.rs", "use crate::{ids::Scope, token};"),
        ("login.rs", "fn f() { crate::store::load() }"),
        ("web/choice.rs", "use crate::{\n    actor::Logins,\n    store::{Store, Version},\n};"),
        ("web/choice.rs", "use crate::login::step;"),
        ("grant/redeem.rs", "use crate::store::memory::Memory;"),
        ("grant/redeem.rs", "use crate::actor::Logins;"),
        ("ids.rs", "use super::store::Store;"),
        ("web/choice.rs", "use crate::testing::samples;"),
        ("attic.rs", ""),
        ("token.rs", "#[cfg(test)]\nmod tests;\nuse crate::web::Page;"),
    ];
    for (path, text) in forged {
        assert!(!forbidden_imports(&[Source::new(path, text)]).is_empty(), "{path}: {text}");
    }
    let allowed = [
        ("web/choice.rs", "use crate::actor::Logins;\nuse crate::login::upstream::Departure;"),
        ("store/memory.rs", "use super::Store; // crate::connector"),
        ("store/memory.rs", "#[cfg(test)]\nmod tests {\n    use crate::connector::Connector;\n}\n"),
        ("app.rs", "use crate::store::memory::Memory;"),
        ("grant/tests.rs", "use crate::store::memory::Memory;"),
    ];
    for (path, text) in allowed {
        assert_none(&forbidden_imports(&[Source::new(path, text)]));
    }
    let forged = [
        ("app.rs", "use crate::demo::Demo;"),
        ("app/store.rs", "fn f() { crate::testing::code_store::code_store() }"),
        ("demo.rs", "use crate::testing::env::ManualClock;"),
        ("bin/passerelle/main.rs", "use passerelle::{demo::Demo, testing::env::ManualClock};"),
        ("ids.rs", "#[cfg(feature = \"testing\")]\nuse super::testing::samples;"),
    ];
    for (path, text) in forged {
        let findings = uses_of_demo_and_testing(&[Source::new(path, text)]);
        assert_eq!(findings.len(), 1, "{path}: {text}");
    }
    let allowed = [
        ("bin/passerelle/main.rs", "use passerelle::demo::Demo;"),
        ("demo.rs", "use crate::demo::federation;"),
        ("web/pages.rs", "mod demo;\npub use demo::DemoError;"),
        ("ids.rs", "#[cfg(test)]\nmod tests {\n    use crate::testing::env::SeededEntropy;\n}\n"),
        ("grant/tests.rs", "use crate::testing::samples;"),
        ("testing/harness.rs", "use crate::demo::Demo;"),
    ];
    for (path, text) in allowed {
        assert_none(&uses_of_demo_and_testing(&[Source::new(path, text)]));
    }
    let cycle = [
        Source::new("token.rs", "use crate::settings::SecretRef;"),
        Source::new("settings.rs", "use crate::token::Keyring;"),
    ];
    assert_eq!(cycles_in_layer_1(&cycle).len(), 2);
    let impure = Source::new("session/reuse.rs", "async fn f() {}");
    assert_eq!(impure_state_machines(&[impure]).len(), 1);
}
