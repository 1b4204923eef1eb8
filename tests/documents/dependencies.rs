//! `docs/security/dependencies.md` against Cargo.toml: each direct dependency has its line of why.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::listed::page;

/// The crates of both tables, by the heading above them.
fn listed(page: &str, heading: &str) -> (BTreeSet<String>, Vec<String>) {
    let table = page
        .lines()
        .skip_while(|line| *line != heading)
        .skip_while(|line| !line.starts_with("| `"));
    let (mut names, mut faults) = (BTreeSet::new(), Vec::new());
    for line in table.take_while(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, why] = cells[..] else { panic!("two cells: {line}") };
        if why.trim_end_matches('|').trim().len() < 3 {
            faults.push(format!("{name} has no reason"));
        }
        if !names.insert(name.trim_matches('`').to_owned()) {
            faults.push(format!("{name} is there twice"));
        }
    }
    (names, faults)
}

fn faults(page: &str, manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut faults = Vec::new();
    for (table, heading) in [
        ("dependencies", "## Direct dependencies"),
        ("dev-dependencies", "## Dependencies of the tests"),
    ] {
        let wanted: BTreeSet<String> =
            manifest[table].as_table().unwrap().keys().cloned().collect();
        let (names, mut wrong) = listed(page, heading);
        faults.append(&mut wrong);
        faults.extend(wanted.difference(&names).map(|name| format!("{name} has no row")));
        faults.extend(names.difference(&wanted).map(|name| format!("{name} is no dependency")));
    }
    faults
}

#[test]
fn each_direct_dependency_has_one_line_of_why_and_a_forged_page_is_found_out() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let page = page("security/dependencies.md");
    assert_eq!(faults(&page, &manifest), [""; 0]);
    for (from, to, fault) in [
        ("| `toml` |", "| `tomlish` |", "toml has no row"),
        ("| `toml` |", "| `tomlish` |", "tomlish is no dependency"),
        ("| `toml` |", "| `url` |", "`url` is there twice"),
        ("| `url` | addresses |", "| `url` | - |", "`url` has no reason"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replacen(from, to, 1), &manifest);
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}
