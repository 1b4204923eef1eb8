//! What packages, scripts and terminals use: completions, man pages, the version, JSON, colours,
//! and checks on a machine without the secrets.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::folder::{SETTINGS, VARIABLE, valid_config_folder};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(arguments).env(VARIABLE.0, VARIABLE.1).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[test]
fn every_shell_gets_its_completions_and_every_command_its_man_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(text(&["completions", shell]).contains("verify-proof"), "{shell}");
    }
    assert!(text(&["man"]).contains(".TH passerelle 1"));
    let folder = tempfile::tempdir().unwrap();
    text(&["man", "--write", folder.path().to_str().unwrap()]);
    for page in ["passerelle.1", "passerelle-audit-prove.1", "passerelle-keys-rotate.1"] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
}

#[test]
fn the_version_names_no_path_of_the_machine() {
    let version = text(&["--version"]);
    let package = format!("passerelle {}", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&package) && !version.contains('/'), "{version}");
}

#[test]
fn one_error_code_is_explained_and_an_unknown_one_is_named() {
    let explained = text(&["errors", "y020020"]);
    assert!(explained.starts_with("Y020020: ") && explained.contains("fixed by"), "{explained}");
    assert_eq!(json(&["errors", "Y020020", "--json"])["code"], "Y020020");
    let unknown = run(&["errors", "Y999999"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("Y999999 is not an error code"));
}

#[test]
fn lists_are_json_for_scripts() {
    let errors = json(&["errors", "--json"]);
    let lines = text(&["errors"]).lines().count();
    assert_eq!(errors.as_array().unwrap().len(), lines);
    assert!(errors[0]["responsible"].is_string());
    let metrics = json(&["metrics", "--json"]);
    assert_eq!(metrics.as_array().unwrap().len(), text(&["metrics"]).lines().count());
    assert!(metrics[0]["metric_type"].is_string() && metrics[0]["labels"].is_array());

    let folder = valid_config_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let keys = json(&["keys", "list", "--dir", &path("keys"), "--json"]);
    let key = &keys[0];
    assert_eq!((key["state"].as_str(), key["until"].as_str()), (Some("current"), None));
    assert!(key["since"].as_str().unwrap().ends_with('Z'));
    let configured = json(&["keys", "list", "--config", &path(""), "--json"]);
    assert_eq!(configured, keys, "the key folder of passerelle.toml");

    let valid = json(&["check", "--config", &path(""), "--json"]);
    assert_eq!(valid["valid"], true, "{valid}");
    assert_eq!(valid["connectors"], serde_json::json!(["persons"]));
    fs::write(path("connectors/persons.toml"), "name = 3\n").unwrap();
    let output = run(&["check", "--config", &path(""), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let invalid: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(invalid["valid"], false);
    let problem = &invalid["problems"][0];
    assert!(problem["file"].as_str().unwrap().ends_with("persons.toml"), "{problem}");
    assert!(problem["fix"].is_string() && problem["line"].is_number(), "{problem}");
}

#[test]
fn a_folder_is_checked_where_its_secrets_and_keys_are_not_present() {
    let folder = valid_config_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::remove_dir_all(path("keys")).unwrap();
    let settings = format!(
        "{SETTINGS}private.admin_token = {{ file = \"admin.token\" }}\n\
         store.redis = {{ nodes = [\"127.0.0.1:6379\"], encryption_keys = [{{ file = \"a.key\" }}, {{ file = \"b.key\" }}] }}\n"
    );
    fs::write(path("passerelle.toml"), settings).unwrap();
    let client = "client_id = \"one\"\nname = { en = \"One\" }\nhome_page = \"http://localhost/\"\n\
                  redirect_uris = [\"http://localhost/callback\"]\nscopes = [\"openid\"]\n\
                  secrets = [{ file = \"secrets/service-providers/one/a\" }, { file = \"secrets/service-providers/one/b\" }]\n";
    fs::write(path("service-providers/one.toml"), client).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
        let output = command.args(arguments).args(["--config", &path("")]).output().unwrap();
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    };
    let (code, text) = run(&["check"]);
    assert!(code == 1 && text.contains("is not set"), "{text}");
    let (code, text) = run(&["check", "--without-secrets"]);
    assert!(code == 0 && text.contains("they are not checked"), "{text}");
    let (code, text) = run(&["plan", "--without-secrets", "--against", &path("")]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = run(&[
        "acr",
        "explain",
        "--without-secrets",
        "--sp",
        "one",
        "--idp",
        "persons",
        "--acr",
        "eidas1",
    ]);
    assert_eq!(code, 0, "{text}");

    // What the rules forbid stays forbidden, whether or not a secret is present.
    fs::write(path("service-providers/one.toml"), client.replace("one/a", "two/a")).unwrap();
    let (code, text) = run(&["check", "--without-secrets"]);
    assert!(code == 1 && text.contains("may not reference"), "{text}");
}

/// Runs a command on a terminal, by script(1) of util-linux. Returns its output.
fn run_on_terminal(no_colour: &str) -> String {
    let command = format!("{} errors Y999999", env!("CARGO_BIN_EXE_passerelle"));
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("NO_COLOR", no_colour)
        .env("TERM", "xterm")
        .output();
    let output = output.expect("install script(1), which util-linux or bsdutils contains");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_terminal_shows_colours_unless_no_color_is_set() {
    let unknown = run(&["errors", "Y999999"]);
    assert!(!unknown.stderr.contains(&0x1b), "a pipe gets none");
    let coloured = run_on_terminal("");
    assert!(coloured.contains("\u{1b}[") && coloured.contains("passerelle:"), "{coloured:?}");
    let plain = run_on_terminal("1");
    assert!(!plain.contains('\u{1b}') && plain.contains("Y999999"), "{plain:?}");
}

#[test]
fn the_page_of_commands_has_every_command_of_the_help() {
    let page = include_str!("../../docs/commands.md");
    let help = text(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_ascii_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 15, "{help}");
    for name in names {
        assert!(page.contains(&format!("`{name}")), "docs/commands.md lacks {name}");
    }
}
