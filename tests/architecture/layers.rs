//! What a crate may not use, though its dependencies have it.

use crate::assert_none;
use crate::source::{Source, sources};

/// What a crate may not use of another one.
struct Rule {
    /// Module that the rule is about.
    user: &'static [&'static str],
    /// Modules that it may not use.
    unused: &'static [&'static [&'static str]],
    reason: &'static str,
}

/// Stores, kinds of connectors and registers, which others know by their traits only.
const ADAPTERS: &[&[&str]] = &[
    &["store", "memory"],
    &["store", "redis"],
    &["connector", "oidc"],
    &["connector", "oauth2"],
    &["ldap"],
    &["openid4vp"],
    &["saml"],
    &["client_registration"],
    &["mail"],
    &["public_pages"],
    &["connector", "persona"],
    &["register", "file"],
    &["register", "http"],
];

const CLOCKS: &[&[&str]] = &[&["protocol", "env", "Env"], &["protocol", "env", "Clock"]];

const RULES: &[Rule] = &[
    Rule { user: &["hub"], unused: ADAPTERS, reason: "an adapter is known by its trait" },
    Rule { user: &["grants"], unused: ADAPTERS, reason: "an adapter is known by its trait" },
    Rule {
        user: &["web"],
        unused: &[&["federation", "login", "step"]],
        reason: "the state machine's steps are its own",
    },
    Rule { user: &["federation", "login"], unused: CLOCKS, reason: "a state machine is pure" },
    Rule { user: &["federation", "session"], unused: CLOCKS, reason: "a state machine is pure" },
];

/// Modules without async code, tracing and runtime.
const PURE: &[&[&str]] = &[&["federation", "login"], &["federation", "session"]];

fn starts_with(path: &[String], prefix: &[&str]) -> bool {
    path.len() >= prefix.len() && path.iter().zip(prefix).all(|(a, b)| a == b)
}

fn forbidden_imports(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        for rule in RULES.iter().filter(|rule| starts_with(&source.module(), rule.user)) {
            let is_forbidden =
                |path: &&Vec<String>| rule.unused.iter().any(|unused| starts_with(path, unused));
            findings.extend(source.imports.iter().filter(is_forbidden).map(|path| {
                format!("{}: may not use `{}`: {}", source.path, path.join("::"), rule.reason)
            }));
        }
    }
    findings
}

/// Returns what uses test doubles outside tests.
fn uses_of_test_doubles(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let is_double = |path: &&Vec<String>| path.get(1).is_some_and(|part| part == "testing");
        findings.extend(
            source
                .imports
                .iter()
                .filter(is_double)
                .map(|path| format!("{}: may not use `{}`", source.path, path.join("::"))),
        );
    }
    findings
}

fn impure_state_machines(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    let is_pure = |source: &&Source| {
        !source.is_test() && PURE.iter().any(|module| starts_with(&source.module(), module))
    };
    for source in sources.iter().filter(is_pure) {
        for name in ["tracing", "tokio", "actix"].iter().filter(|n| source.crates.contains(**n)) {
            findings.push(format!("{}: not pure: uses `{name}`", source.path));
        }
        if source.is_async {
            findings.push(format!("{}: not pure: has async code", source.path));
        }
    }
    findings
}

#[test]
fn crates_use_of_each_other_only_what_the_rules_allow() {
    assert_none(&forbidden_imports(sources()));
}

#[test]
fn product_code_does_not_use_test_doubles() {
    assert_none(&uses_of_test_doubles(sources()));
}

#[test]
fn state_machines_are_pure() {
    assert_none(&impure_state_machines(sources()));
}

#[test]
fn forged_imports_are_found() {
    let forged = [
        ("crates/web/src/choice.rs", "use passerelle_federation::login::step;"),
        ("crates/grants/src/redeem.rs", "use passerelle_store::memory::Memory;"),
        ("crates/hub/src/redeem.rs", "fn f() { passerelle_store::redis::open() }"),
        ("crates/federation/src/login/step.rs", "use passerelle_protocol::env::{Env, Timestamp};"),
        ("crates/grants/src/a.rs", "#[cfg(test)]\nmod tests;\nuse passerelle_register::http::A;"),
    ];
    for (path, text) in forged {
        assert_eq!(forbidden_imports(&[Source::new(path, text)]).len(), 1, "{path}: {text}");
    }
    let allowed = [
        ("crates/web/src/choice.rs", "use passerelle_federation::login::upstream::Departure;"),
        ("crates/server/src/store.rs", "use passerelle_store::memory::Memory;"),
        ("crates/grants/src/tests.rs", "use passerelle_store::memory::Memory;"),
        ("crates/federation/src/validity.rs", "use passerelle_protocol::env::Env;"),
    ];
    for (path, text) in allowed {
        assert_none(&forbidden_imports(&[Source::new(path, text)]));
    }
    let forged = [
        ("crates/server/src/store.rs", "fn f() { passerelle_store::testing::code_store() }"),
        (
            "crates/protocol/src/ids.rs",
            "#[cfg(feature = \"testing\")]\nuse super::testing::samples;",
        ),
    ];
    for (path, text) in forged {
        let findings = uses_of_test_doubles(&[Source::new(path, text)]);
        assert_eq!(findings.len(), 1, "{path}: {text}");
    }
    let allowed = [
        ("crates/grants/src/tests.rs", "use passerelle_federation::testing::samples;"),
        ("crates/testkit/src/harness.rs", "use passerelle_federation::testing::samples;"),
        ("crates/a/src/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::testing::env::A;\n}\n"),
    ];
    for (path, text) in allowed {
        assert_none(&uses_of_test_doubles(&[Source::new(path, text)]));
    }
    let impure = Source::new("crates/federation/src/session/reuse.rs", "async fn f() {}");
    assert_eq!(impure_state_machines(&[impure]).len(), 1);
}
