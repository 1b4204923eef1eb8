//! `passerelle check`, from outside: what it accepts, `serve` can start with.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::x509::X509;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::folder::{SETTINGS, VARIABLE, passerelle, valid_config_folder, write_private};

fn check(folder: &TempDir) -> (bool, String) {
    let output = passerelle(&["check", "--config"], folder.path());
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code() == Some(0), text)
}

#[test]
fn a_hub_that_can_start_passes() {
    let (passes, text) = check(&valid_config_folder());
    assert!(passes && text.contains("The configuration is valid."), "{text}");
}

#[test]
fn every_error_that_stops_serve_is_reported_with_its_fix() {
    type Spoil = fn(&Path);
    let table: [(&str, Spoil, &str); 6] = [
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
        let folder = valid_config_folder();
        spoil(folder.path());
        let (passes, text) = check(&folder);
        assert!(!passes && text.contains(fix), "{what}: {text}");
        assert!(!text.contains("The configuration is valid."), "{what}: {text}");
    }
}

/// Returns the output of `serve`, which ends because the port of its public listener is in use.
fn serve_on_a_used_port(folder: &TempDir) -> String {
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("public.listen = \"{}\"", used.local_addr().unwrap());
    let settings = SETTINGS.replace("public.listen = \"127.0.0.1:0\"", &listen);
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let output = passerelle(&["serve", "--config"], folder.path());
    fs::write(folder.path().join("passerelle.toml"), SETTINGS).unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn a_connector_that_can_not_be_built_is_a_problem_of_its_file_and_the_hub_starts() {
    let folder = valid_config_folder();
    fs::write(folder.path().join("persons.toml"), "[[persn]]\n").unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && !text.contains("would not start"), "{text}");
    let place = "connectors/persons.toml:4: kind.persona.persons: makes the connector unusable";
    assert!(text.contains(place) && text.contains("fix: "), "{text}");
    let output = passerelle(&["check", "--json", "--config"], folder.path());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["valid"], &report["start_errors"]), (&false.into(), &json!([])));
    assert_eq!(report["problems"][0]["key"], "kind.persona.persons", "{report}");

    let text = serve_on_a_used_port(&folder);
    assert!(text.contains("can't be listened on") && !text.contains("persons.toml"), "{text}");

    // Both are reported at once.
    fs::remove_dir_all(folder.path().join("keys")).unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains(place), "{text}");
    assert!(text.contains("would not start:") && text.contains("keys new"), "{text}");
}

#[test]
fn a_used_port_is_reported_with_its_key_and_a_fix() {
    let text = serve_on_a_used_port(&valid_config_folder());
    let fix = "stop the program that uses it, or choose another port";
    assert!(text.contains("public.listen: 127.0.0.1:") && text.contains(fix), "{text}");
}

#[test]
fn a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_named() {
    let folder = valid_config_folder();
    let path = folder.path().join("register.csv");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains("register.file.path: names a folder"), "{text}");
    fs::remove_dir(&path).unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains("register.file.path: names a file that is missing"), "{text}");

    let output = passerelle(&["check", "--config"], &folder.path().join("persons.toml"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("leads through a file") && text.contains("--config FOLDER"), "{text}");
}

/// Runs the check as a user that may not read `file`.
fn check_without_access(folder: &TempDir, file: &str) -> String {
    const OTHER_USER: u32 = 65_534;
    fn give_away(path: &Path) {
        chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.for_each(|entry| give_away(&entry.unwrap().path()));
    }
    let path = folder.path().join(file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // Root may read every file.
        give_away(folder.path());
        chown(&path, Some(0), Some(0)).unwrap();
        command.uid(OTHER_USER).gid(OTHER_USER);
    } else {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    command.args(["check", "--config"]).arg(folder.path());
    let output = command.env(VARIABLE.0, VARIABLE.1).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn a_file_of_another_user_is_reported_with_the_fix_of_its_owner() {
    let folder = valid_config_folder();
    write_private(&folder.path().join("subject.key"), VARIABLE.1);
    let settings = SETTINGS.replace("env = \"SUBJECT_KEY\"", "file = \"subject.key\"");
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let text = check_without_access(&folder, "subject.key");
    assert!(text.contains("subject_key.file: references a file that can't be read"), "{text}");
    assert!(text.contains("give the file to the user that runs the hub, with mode 0600"), "{text}");
    assert!(!text.contains("create the file"), "{text}");

    let folder = valid_config_folder();
    write_private(&folder.path().join("register.csv"), "");
    let text = check_without_access(&folder, "register.csv");
    assert!(text.contains("register.file.path: names a file that can't be read"), "{text}");
    assert!(text.contains("let the user that runs the hub read the file"), "{text}");
}

/// Returns a certificate that expires after these days, as PEM.
fn certificate(days: u32) -> Vec<u8> {
    let key = PKey::generate_ed25519().unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(days).unwrap()).unwrap();
    builder.sign(&key, MessageDigest::null()).unwrap();
    builder.build().to_pem().unwrap()
}

#[test]
fn a_certificate_that_expires_soon_is_a_warning() {
    let folder = valid_config_folder();
    let proxy = "public.trusted_proxies = [\"127.0.0.1\"]";
    let settings =
        format!("{SETTINGS}public.client_certificates = {{ ca = \"ca.pem\" }}\n{proxy}\n");
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let place = "passerelle.toml:10: public.client_certificates.ca: references a certificate whose validity ends at 2";
    for (days, is_warned) in [(13, true), (15, false)] {
        fs::write(folder.path().join("ca.pem"), certificate(days)).unwrap();
        let (passes, text) = check(&folder);
        assert!(passes && text.contains("The configuration is valid."), "{text}");
        assert_eq!(text.contains(place), is_warned, "{days}: {text}");
    }
}

#[test]
fn the_proxys_duty_for_client_certificates_is_a_note() {
    let folder = valid_config_folder();
    let (passes, text) = check(&folder);
    assert!(passes && !text.contains("note:"), "{text}");
    let proxy = "public.trusted_proxies = [\"127.0.0.1\"]";
    for (table, where_asked) in [
        (
            "{ base_url = \"https://mtls.example.org\" }",
            "ask for certificates at https://mtls.example.org, and the hub ignores the header",
        ),
        ("{ header = \"client-cert\" }", "they ask every browser for a certificate"),
    ] {
        let settings = format!("{SETTINGS}public.client_certificates = {table}\n{proxy}\n");
        fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
        let (passes, text) = check(&folder);
        assert!(
            passes && text.contains("must replace or remove the header `client-cert`"),
            "{text}"
        );
        assert!(text.contains(where_asked), "{text}");
    }
}

#[test]
fn a_register_without_persons_is_a_warning_where_it_is_used() {
    let folder = valid_config_folder();
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
    let folder = valid_config_folder();
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
    let folder = valid_config_folder();
    fs::remove_dir_all(folder.path().join("keys")).unwrap();
    fs::write(folder.path().join("register.csv"), "a,b\n").unwrap();
    let (passes, text) = check(&folder);
    assert!(!passes && text.contains("keys new") && text.contains("register.csv"), "{text}");
}

#[test]
fn an_explanation_of_an_unknown_service_provider_names_those_that_exist() {
    let folder = valid_config_folder();
    let explain =
        ["acr", "explain", "--sp", "unknown", "--idp", "persons", "--acr", "eidas1", "--config"];
    let output = passerelle(&explain, folder.path());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("there is no service provider unknown; known: none"), "{text}");
}
