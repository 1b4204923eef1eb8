//! `docs/security/dependencies.md` against the dependencies of the workspace in Cargo.toml: each has a row with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::test_tables::page;

/// Returns the crates of the tables below a heading, and their faults.
fn listed(page: &str, heading: &str) -> (BTreeSet<String>, Vec<String>) {
    let section = page.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let (mut names, mut faults) = (BTreeSet::new(), Vec::new());
    for line in section.filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim_ascii).collect();
        let [name, reason] = cells[..] else { panic!("two cells: {line}") };
        if reason.trim_end_matches('|').trim_ascii().len() < 3 {
            faults.push(format!("{name} has no reason"));
        }
        if !names.insert(name.trim_matches('`').to_owned()) {
            faults.push(format!("{name} occurs twice"));
        }
    }
    (names, faults)
}

fn faults(page: &str, manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut faults = Vec::new();
    let all = manifest["workspace"]["dependencies"].as_table().unwrap().keys().cloned();
    let all: BTreeSet<String> = all.filter(|name| !name.starts_with("passerelle-")).collect();
    let (tests, _) = listed(page, "## Dependencies of the tests");
    let product: BTreeSet<String> = all.difference(&tests).cloned().collect();
    let tests: BTreeSet<String> = all.intersection(&tests).cloned().collect();
    for (wanted, heading) in
        [(product, "## Direct dependencies"), (tests, "## Dependencies of the tests")]
    {
        let (names, mut table_faults) = listed(page, heading);
        faults.append(&mut table_faults);
        faults.extend(wanted.difference(&names).map(|name| format!("{name} has no row")));
        faults.extend(names.difference(&wanted).map(|name| format!("{name} is no dependency")));
    }
    faults
}

#[test]
fn each_direct_dependency_has_one_row_with_its_reason_and_forged_pages_are_detected() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let page = page("security/dependencies.md");
    assert_eq!(faults(&page, &manifest), [""; 0]);
    for (from, to, fault) in [
        ("| `toml` |", "| `tomlish` |", "toml has no row"),
        ("| `toml` |", "| `tomlish` |", "tomlish is no dependency"),
        ("| `toml` |", "| `url` |", "`url` occurs twice"),
        ("| `url` | addresses |", "| `url` | - |", "`url` has no reason"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replacen(from, to, 1), &manifest);
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}
