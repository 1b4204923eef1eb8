//! `docs/security/cryptography.md` against the sources: each file that calls a cryptographic
//! library or computes a MAC is in one row of the algorithms.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::test_tables::{page, tests};

/// Calls of cryptography: the libraries, and the hub's own HMAC over OpenSSL's SHA-256.
const CALLS: [&str; 10] = [
    "openssl::",
    "josekit::",
    "cryptoki::",
    "rustls::",
    "x509_parser::",
    "pkcs8::",
    "rsa::",
    "digest::hmac",
    "hmac_parts(",
    "HmacKey::",
];
/// Tests, test doubles, and the demo's wallet, which no release configuration starts.
const EXCLUDED: [&str; 4] = ["/testing/", "/benches/", "crates/testkit/", "crates/demo/"];

/// Collects the sources that call cryptography outside their tests, by their path in the repository.
fn callers(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            callers(&path, root, found);
            continue;
        }
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs");
        if is_test || !name.ends_with(".rs") || EXCLUDED.iter().any(|part| name.contains(part)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let source = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let mut code = source.lines().filter(|line| !line.trim_ascii_start().starts_with("//"));
        if code.any(|line| CALLS.iter().any(|call| line.contains(call))) {
            found.insert(name);
        }
    }
}

fn faults(page: &str, callers: &BTreeSet<String>) -> Vec<String> {
    let section = page.split("\n## Algorithms\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let named: Vec<&str> =
        section.lines().filter_map(|row| row.rsplit(" | ").next()).flat_map(tests).collect();
    let named = named.into_iter().filter(|name| name.ends_with(".rs")).map(str::to_owned);
    let mut listed = BTreeSet::new();
    let mut faults = Vec::new();
    for name in named {
        if !callers.contains(&name) {
            faults.push(format!("{name} calls no cryptography"));
        }
        if !listed.insert(name.clone()) {
            faults.push(format!("{name} occurs twice"));
        }
    }
    faults.extend(callers.difference(&listed).map(|name| format!("{name} is in no row")));
    faults
}

#[test]
fn each_use_of_cryptography_is_in_the_inventory_and_forged_pages_are_detected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for folder in ["crates", "src"] {
        callers(&root.join(folder), root, &mut found);
    }
    let page = page("security/cryptography.md");
    assert_eq!(faults(&page, &found), [""; 0]);
    for (from, to, fault) in [
        ("`crates/store/src/encryption.rs`", "-", "crates/store/src/encryption.rs is in no row"),
        (
            "`crates/protocol/src/env.rs`",
            "`crates/protocol/src/env.rs`, `src/output.rs`",
            "src/output.rs calls no cryptography",
        ),
        (
            "`crates/protocol/src/env.rs`",
            "`crates/protocol/src/env.rs`, `crates/protocol/src/digest.rs`",
            "crates/protocol/src/digest.rs occurs twice",
        ),
    ] {
        let forged = page.replace(&format!("{from} |"), &format!("{to} |"));
        let found = faults(&forged, &found);
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}
