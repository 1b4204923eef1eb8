//! Compares the places of the version with Cargo.toml. `packaging/set-version` writes them.

use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

/// Returns the versions of the released sections of the changelog, newest first.
fn released_versions(changelog: &str) -> Vec<&str> {
    let titles = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    titles.filter_map(|title| Some(title.split_once(" (")?.0)).collect()
}

#[test]
fn the_changelog_begins_with_the_version_or_with_unreleased_changes() {
    let changelog = read("CHANGELOG.md");
    let first = changelog.lines().find_map(|line| line.strip_prefix("## ")).unwrap();
    let is_expected = match VERSION.strip_suffix("-dev") {
        Some(_) => first == "Unreleased",
        None => first.starts_with(&format!("{VERSION} (")) || first.starts_with("Unreleased: "),
    };
    assert!(is_expected, "{VERSION}: {first}");
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = read("deploy/helm/passerelle/Chart.yaml");
    for key in ["version", "appVersion"] {
        assert!(chart.lines().any(|line| line == format!("{key}: {VERSION}")), "{key}");
    }
}

#[test]
fn the_sandbox_names_the_newest_release() {
    let changelog = read("CHANGELOG.md");
    let newest = match VERSION.strip_suffix("-dev") {
        Some(_) => *released_versions(&changelog).first().unwrap(),
        None => VERSION,
    };
    for file in ["deploy/sandbox/README.md", "deploy/sandbox/compose.yaml"] {
        let text = read(file);
        let named: Vec<&str> = text
            .split("passerelle")
            .skip(1)
            .filter_map(|after| after.strip_prefix(['-', '_', ':']))
            .filter(|after| after.starts_with(|c: char| c.is_ascii_digit()))
            .map(|after| {
                let end = after.find(|c: char| !c.is_ascii_digit() && c != '.');
                after[..end.unwrap_or(after.len())].trim_end_matches('.')
            })
            .collect();
        assert!(!named.is_empty() && named.iter().all(|version| *version == newest), "{named:?}");
    }
}

#[test]
fn the_readme_names_the_packages_of_the_newest_release() {
    let changelog = read("CHANGELOG.md");
    let sentence = released_versions(&changelog).first().map_or_else(
        || "\nThere are no published packages yet.\n".into(),
        |version| format!("\nThe repository's **Releases** page has the packages of {version}.\n"),
    );
    assert!(read("README.md").contains(&sentence), "{sentence}");
}

#[test]
fn the_lock_file_of_the_fuzz_targets_has_the_version() {
    let lock = read("fuzz/Cargo.lock");
    let entry = format!("name = \"passerelle-protocol\"\nversion = \"{VERSION}\"\n");
    assert!(lock.contains(&entry), "run packaging/set-version {VERSION}");
}

#[test]
fn later_builds_read_the_files_of_each_release() {
    let changelog = read("CHANGELOG.md");
    let dev = VERSION.ends_with("-dev");
    let current = [VERSION].into_iter().filter(|_| !dev);
    for version in released_versions(&changelog).into_iter().chain(current) {
        let facts = path(&format!("tests/fixtures/release/{version}/facts.json"));
        assert!(facts.is_file(), "{version}: run tests/fixtures/release/record");
    }
}
