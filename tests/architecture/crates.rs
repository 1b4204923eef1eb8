//! What each crate of the workspace has in its manifest, and in the table of the architecture page.

use std::fs;
use std::path::Path;

use crate::assert_none;

struct Member {
    name: String,
    manifest: toml::Table,
}

fn members() -> Vec<Member> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let read = |entry: fs::DirEntry| Member {
        name: entry.file_name().into_string().unwrap(),
        manifest: fs::read_to_string(entry.path().join("Cargo.toml")).unwrap().parse().unwrap(),
    };
    let mut members: Vec<_> = fs::read_dir(folder).unwrap().map(|e| read(e.unwrap())).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(members.len() > 10);
    members
}

/// Returns what a crate's manifest lacks: without `lints`, it may have `unsafe` code.
fn incomplete_manifests(members: &[Member]) -> Vec<String> {
    let mut findings = Vec::new();
    for Member { name, manifest } in members {
        let inherits = |table: &str, key: &str| {
            let value = manifest.get(table).and_then(|table| table.get(key));
            value.is_some_and(|value| {
                value.as_bool() == Some(true)
                    || value.get("workspace").and_then(toml::Value::as_bool) == Some(true)
            })
        };
        if !inherits("lints", "workspace") {
            findings.push(format!("crates/{name}: add `[lints] workspace = true`"));
        }
        for key in ["version", "edition", "rust-version", "license"] {
            if !inherits("package", key) {
                findings.push(format!("crates/{name}: {key} is not the workspace's"));
            }
        }
        let package = &manifest["package"];
        if package["name"].as_str() != Some(format!("passerelle-{name}").as_str()) {
            findings.push(format!("crates/{name}: the package is not passerelle-{name}"));
        }
        if package.get("description").is_none() {
            findings.push(format!("crates/{name}: add a description"));
        }
        for table in ["dependencies", "dev-dependencies"] {
            for (dependency, spec) in
                manifest.get(table).and_then(|t| t.as_table()).into_iter().flatten()
            {
                if spec.get("workspace").is_none() {
                    findings.push(format!(
                        "crates/{name}: the version of {dependency} is not the workspace's"
                    ));
                }
            }
        }
    }
    findings
}

/// Returns the crates that depend on the demo or on test doubles: only the root package may.
fn dependents_of_demo_and_tests(members: &[Member]) -> Vec<String> {
    let mut findings = Vec::new();
    for Member { name, manifest } in members {
        let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
        for (dependency, spec) in dependencies.into_iter().flatten() {
            let is_double =
                spec.get("features").and_then(|f| f.as_array()).is_some_and(|features| {
                    features.iter().any(|feature| feature.as_str() == Some("testing"))
                });
            let is_top = ["passerelle-demo", "passerelle-testkit"].contains(&dependency.as_str());
            if is_top || is_double && name != "testkit" {
                findings.push(format!("crates/{name}: may not depend on {dependency}"));
            }
        }
    }
    findings
}

#[test]
fn every_crate_inherits_the_lints_and_versions_of_the_workspace() {
    assert_none(&incomplete_manifests(&members()));
}

#[test]
fn only_the_root_package_depends_on_the_demo_and_on_test_doubles() {
    assert_none(&dependents_of_demo_and_tests(&members()));
}

#[test]
fn the_architecture_page_has_a_row_for_every_crate() {
    let page = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design/architecture.md"),
    )
    .unwrap();
    let rows: Vec<&str> =
        page.lines().filter_map(|l| l.strip_prefix("| [`")?.split('`').next()).collect();
    let names: Vec<String> = members().into_iter().map(|member| member.name).collect();
    for name in &names {
        assert!(rows.contains(&name.as_str()), "docs/design/architecture.md: no row for {name}");
    }
}

#[test]
fn forged_manifests_are_found() {
    let member = |text: &str| [Member { name: "a".to_owned(), manifest: text.parse().unwrap() }];
    let good = "[package]\nname = \"passerelle-a\"\ndescription = \"A\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n[dependencies]\nurl.workspace = true\n[lints]\nworkspace = true\n";
    assert_none(&incomplete_manifests(&member(good)));
    for (from, to) in [
        ("workspace = true\n[dep", "workspace = false\n[dep"),
        ("[lints]\nworkspace = true\n", ""),
        ("edition.workspace = true", "edition = \"2021\""),
        ("url.workspace = true", "url = \"2\""),
        ("passerelle-a", "a"),
    ] {
        assert_eq!(incomplete_manifests(&member(&good.replace(from, to))).len(), 1, "{to}");
    }
    for dependency in [
        "passerelle-demo.workspace = true",
        "passerelle-testkit.workspace = true",
        "passerelle-jose = { workspace = true, features = [\"testing\"] }",
    ] {
        let forged = good.replace("url.workspace = true", dependency);
        assert_eq!(dependents_of_demo_and_tests(&member(&forged)).len(), 1, "{dependency}");
    }
}
