//! `passerelle plan`, from outside: what it says a reload would change, and how it ends.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::folder::{passerelle, valid_config_folder};

const ANOTHER: &str = r#"
name = { en = "Another" }
levels = { lowest = "eidas1", highest = "eidas1" }
kind.persona.persons = "persons.toml"
"#;

fn plan(arguments: &[&str], folder: &Path) -> (Option<i32>, String) {
    let arguments: Vec<_> =
        ["plan"].iter().chain(arguments).chain(&["--config"]).copied().collect();
    let output = passerelle(&arguments, folder);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
    )
}

fn against(before: &TempDir, more: &[&str], folder: &TempDir) -> (Option<i32>, String) {
    let arguments: Vec<_> =
        ["--against", before.path().to_str().unwrap()].iter().chain(more).copied().collect();
    plan(&arguments, folder.path())
}

#[test]
fn two_folders_are_compared() {
    let (before, after) = (valid_config_folder(), valid_config_folder());
    assert_eq!(against(&before, &[], &after), (Some(0), "Nothing would change.\n".into()));
    fs::write(after.path().join("connectors/another.toml"), ANOTHER).unwrap();
    let output = "connector another: new\n  available to:          none\n".to_owned();
    assert_eq!(against(&before, &[], &after), (Some(2), output));
    let (code, json) = against(&before, &["--json"], &after);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["connectors"]["another"]["change"]), (Some(2), &"new".into()));
}

#[test]
fn invalid_files_and_a_hub_that_does_not_answer_are_reported() {
    let folder = valid_config_folder();
    let (code, output) = plan(&[], folder.path());
    assert!(
        code == Some(1)
            && output.contains("no hub answers at http://127.0.0.1:0/config/digest")
            && output.contains("--against"),
        "{output}"
    );
    fs::write(folder.path().join("connectors/another.toml"), "name = 3\n").unwrap();
    let (code, output) = plan(&[], folder.path());
    assert!(code == Some(1) && output.contains("another.toml:1: name: must be"), "{output}");
}
