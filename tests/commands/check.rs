//! `passerelle check`, from outside: what it accepts, `serve` can start with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::folder::{SETTINGS, VARIABLE, good, passerelle, write_private};

fn check(folder: &TempDir) -> (bool, String) {
    let output = passerelle(&["check", "--config"], folder.path());
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code() == Some(0), text)
}

#[test]
fn a_hub_that_can_start_passes() {
    let (passes, text) = check(&good());
    assert!(passes && text.contains("The configuration is valid."), "{text}");
}

#[test]
fn every_error_that_stops_serve_is_reported_with_its_fix() {
    type Spoil = fn(&Path);
    let table: [(&str, Spoil, &str); 7] = [
        (
            "no keys",
            |folder| fs::remove_dir_all(folder.join("keys")).unwrap(),
            "`passerelle keys new`",
        ),
        (
            "register",
            |folder| fs::write(folder.join("register.csv"), "a,b\n").unwrap(),
            "the first line must name",
        ),
        (
            "persons",
            |folder| fs::write(folder.join("persons.toml"), "[[persn]]\n").unwrap(),
            "kind.persona.persons",
        ),
        (
            "log filter",
            |folder| {
                fs::write(
                    folder.join("passerelle.toml"),
                    format!("{SETTINGS}log.filter = \"x=loud\"\n"),
                )
                .unwrap()
            },
            "write it as `info`",
        ),
        (
            "blocks",
            |folder| {
                fs::create_dir(folder.join("state")).unwrap();
                fs::write(folder.join("state/blocks.json"), "{").unwrap();
            },
            "without them a blocked identity provider would be usable again",
        ),
        (
            "snapshot",
            |folder| {
                fs::write(folder.join("state"), "no folder").unwrap();
                write_private(&folder.join("store.key"), "0123456789abcdef0123456789abcdef");
                let table = "[store.memory]\nsnapshot = \"state/snapshots/hub\"\nencryption_keys = [{ file = \"store.key\" }]\n";
                fs::write(folder.join("passerelle.toml"), format!("{SETTINGS}\n{table}")).unwrap();
            },
            "let this user write to the folder (the setting `store.memory.snapshot`)",
        ),
        (
            "no subject key",
            |folder| {
                fs::write(
                    folder.join("passerelle.toml"),
                    SETTINGS.replace("SUBJECT_KEY", "UNSET_SUBJECT_KEY"),
                )
                .unwrap();
            },
            "set the variable",
        ),
    ];
    for (what, spoil, fix) in table {
        let folder = good();
        spoil(folder.path());
        let (passes, text) = check(&folder);
        assert!(!passes && text.contains(fix), "{what}: {text}");
        assert!(!text.contains("The configuration is valid."), "{what}: {text}");
    }
}

#[test]
fn a_register_without_persons_is_a_warning_where_it_is_used() {
    let folder = good();
    let words = "register.csv: contains no person, so no user can log in";
    let (passes, text) = check(&folder);
    assert!(passes && text.contains(words) && text.contains("register import"), "{text}");
    let path = folder.path().join("register.csv");
    let header = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{header}Ada,ONE,1990-01-01,female,,99134,\n")).unwrap();
    let (passes, text) = check(&folder);
    assert!(passes && !text.contains(words), "{text}");
    fs::write(&path, header).unwrap();
    let settings = format!("identity_source = \"provider\"\n{SETTINGS}");
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let (passes, text) = check(&folder);
    assert!(passes && !text.contains(words), "{text}");
}

#[test]
fn a_secret_file_that_others_can_read_is_refused_with_its_fix() {
    let folder = good();
    let path = folder.path().join("subject.key");
    write_private(&path, VARIABLE.1);
    let settings = SETTINGS.replace("env = \"SUBJECT_KEY\"", "file = \"subject.key\"");
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let (passes, text) = check(&folder);
    assert!(passes, "{text}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains("chmod 600") && text.contains("0644"), "{text}");
}

#[test]
fn all_errors_are_reported_at_once() {
    let folder = good();
    fs::remove_dir_all(folder.path().join("keys")).unwrap();
    fs::write(folder.path().join("register.csv"), "a,b\n").unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains("keys new") && text.contains("register.csv"), "{text}");
}

#[test]
fn an_explanation_of_an_unknown_service_provider_names_those_that_exist() {
    let folder = good();
    let explain =
        ["acr", "explain", "--sp", "unknown", "--idp", "persons", "--acr", "eidas1", "--config"];
    let output = passerelle(&explain, folder.path());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("there is no service provider unknown; known: none"), "{text}");
}
