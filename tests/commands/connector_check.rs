//! `passerelle check connector FILE`, from outside: the mapping of a sample, exit codes, JSON, and
//! the documentation's examples.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::folder::{VARIABLE, valid_config_folder};

const CONNECTOR: &str = r#"
name = { en = "Provider" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oidc]
issuer = "https://idp.example.org"
client_id = "hub"
client_secret = { env = "CONNECTOR_IDP__SECRET" }
"#;

struct CheckOutput {
    code: Option<i32>,
    text: String,
}

fn check(folder: &Path, arguments: &[&str]) -> CheckOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(["check", "connector"]).args(arguments).current_dir(folder);
    let output =
        command.env("CONNECTOR_IDP__SECRET", "s").env(VARIABLE.0, VARIABLE.1).output().unwrap();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    CheckOutput { code: output.status.code(), text }
}

/// A folder with this mapping in `idp.toml`, and this sample in `claims.json`.
fn with(mapping: &str, claims: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = CONNECTOR.replacen("[kind.oidc]", &format!("{mapping}\n[kind.oidc]"), 1);
    fs::write(folder.path().join("idp.toml"), file).unwrap();
    fs::write(folder.path().join("claims.json"), claims).unwrap();
    folder
}

fn report(folder: &TempDir) -> Value {
    let output = check(folder.path(), &["idp.toml", "--sample", "claims.json", "--json"]);
    serde_json::from_str(&output.text).unwrap_or_else(|_| panic!("{}", output.text))
}

const MAPPING: &str = r#"
[mapping]
given_name = { join = ["first", "middle"] }
family_name = { from = "sn", case = "upper" }
birthdate = { from = "dob", date = "DD/MM/YYYY" }
gender = { from = "/person/sex", map = { M = "male", F = "female" } }
birthcountry = { from = "country", map = { FR = "99100", BE = "99131" } }
"#;

const CLAIMS: &str = r#"{ "sub": "1", "iss": "x", "first": "Ada", "sn": "Lovelace", "dob": "10/12/1815", "country": "BE",
  "person": { "sex": "F" }, "email": "ada@example.org" }"#;

#[test]
fn a_sample_is_mapped_checked_and_released() {
    let folder = with(MAPPING, CLAIMS);
    let output = check(folder.path(), &["idp.toml", "--sample", "claims.json"]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for line in [
        "family_name                 \"LOVELACE\"",
        "identity after the rules",
        "https://HUB/api/v2/callback/idp",
    ] {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
    let report = report(&folder);
    assert_eq!(report["status"], "ok");
    assert_eq!(report["sample"]["identity"]["birthdate"], "1815-12-10");
    assert_eq!(
        report["sample"]["claims"].get("iss"),
        None,
        "claims of the protocol are not passed on"
    );
    assert_eq!(
        report["sample"]["scopes"]["birth"],
        json!({ "claims": ["birthcountry"], "missing": ["birthplace"] })
    );
    assert_eq!(report["registration"][0]["name"], "redirect_uris");
}

#[test]
fn what_is_missing_and_why_is_reported_at_once() {
    let claims = r#"{ "sn": "Lovelace", "dob": "1815-12-10", "person": { "sex": "?" }, "country": "FR", "email": "ada" }"#;
    let folder = with(&format!("{MAPPING}\nlocale = {{ from = \"person.sex\" }}"), claims);
    let output = check(folder.path(), &["idp.toml", "--sample", "claims.json"]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    for line in [
        "birthdate is omitted: it is not a calendar day",
        "gender is omitted: the rule's map has no row",
        "given_name is made from first, middle, which this sample does not have",
        "write \"/person/sex\"",
        "identity: birthdate: required",
        "identity: gender: required",
        "identity: birthplace: required for a birth in the home country",
        "email is left out: it must be an address",
        "Y010010",
        "no identity",
    ] {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
}

#[test]
fn exit_codes_distinguish_errors_from_warnings() {
    let warned = with(&format!("{MAPPING}\nlocale = {{ from = \"lang\" }}"), CLAIMS);
    assert_eq!(check(warned.path(), &["idp.toml", "--sample", "claims.json"]).code, Some(2));
    assert_eq!(check(warned.path(), &["idp.toml"]).code, Some(0));
    let bad = with("[mapping]\nshoe_size = { from = \"x\" }", CLAIMS);
    let output = check(bad.path(), &["idp.toml", "--sample", "claims.json"]);
    assert!(
        output.code == Some(1) && output.text.contains("idp.toml:7: mapping.shoe_size"),
        "{}",
        output.text
    );
    for claims in
        ["[]", "{", "{\"a\":1,\"a\":2}", &format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200))]
    {
        let output = check(with(MAPPING, claims).path(), &["idp.toml", "--sample", "claims.json"]);
        assert!(
            output.code == Some(1) && output.text.contains("not a JSON object of claims"),
            "{claims}: {}",
            output.text
        );
    }
    assert_eq!(check(warned.path(), &["absent.toml"]).code, Some(1));
    // No pipeline takes a misspelt option for a warning.
    assert_eq!(check(warned.path(), &["idp.toml", "--onlin"]).code, Some(64));
    assert_eq!(check(warned.path(), &["idp.toml", "--sample", "absent.json"]).code, Some(1));
}

#[test]
fn a_connector_is_checked_with_the_settings_of_its_configuration_folder() {
    let hub = valid_config_folder();
    fs::write(hub.path().join("idp.toml"), CONNECTOR).unwrap();
    // Another connector that is broken does not matter here.
    fs::write(hub.path().join("connectors/broken.toml"), "name = 1").unwrap();
    let output = check(hub.path(), &["idp.toml", "--config", "."]);
    assert!(
        output.code == Some(0) && output.text.contains("http://localhost:8080/api/v2/callback/idp"),
        "{}",
        output.text
    );
    let output = check(hub.path(), &["connectors/persons.toml", "--config", ".", "--online"]);
    assert!(
        output.code == Some(0) && output.text.contains("there is nothing to check"),
        "{}",
        output.text
    );
    fs::write(hub.path().join("passerelle.toml"), "platform = 1").unwrap();
    assert_eq!(check(hub.path(), &["idp.toml", "--config", "."]).code, Some(1));
}

/// Every `toml` block of the documentation under a heading is a mapping, run on the `json` block
/// before the second `json` block, which is what it must make.
#[test]
fn every_example_of_the_documentation_does_what_it_says() {
    let page = include_str!("../../docs/claim-mapping.md");
    let mut examples = 0;
    for section in page.split("\n### ").skip(1) {
        let title = section.lines().next().unwrap();
        let blocks = |language: &str| -> Vec<String> {
            let fence = format!("```{language}\n");
            section
                .split(&fence)
                .skip(1)
                .map(|block| block.split("```").next().unwrap().to_owned())
                .collect()
        };
        let (rules, documents) = (blocks("toml"), blocks("json"));
        let ([rule], [given, made]) = (rules.as_slice(), documents.as_slice()) else {
            panic!("{title}: {rules:?} {documents:?}")
        };
        let report = report(&with(rule, given));
        let made: Value = serde_json::from_str(made).unwrap();
        for (name, value) in made.as_object().unwrap() {
            assert_eq!(
                report["sample"]["claims"].get(name).unwrap_or(&Value::Null),
                value,
                "{title}: {report:#}"
            );
        }
        examples += 1;
    }
    assert!(examples >= 8, "{examples}");
}

#[test]
fn an_unknown_category_and_a_level_outside_the_platform_are_found() {
    let hub = valid_config_folder();
    let check_with = |from: &str, to: &str| {
        fs::write(hub.path().join("idp.toml"), CONNECTOR.replacen(from, to, 1)).unwrap();
        check(hub.path(), &["idp.toml", "--config", "."])
    };
    let output = check_with("assumed_level", "category = \"helth\"\nassumed_level");
    assert!(
        output.code == Some(2)
            && output.text.contains("warning  category: category is a category without a heading"),
        "{}",
        output.text
    );
    let above = "levels = { lowest = \"eidas2\", highest = \"eidas3\" }\nacr = { eidas2 = [\"b\"], eidas3 = [\"c\"] }";
    let output = check_with(
        "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"",
        above,
    );
    assert!(
        output.code == Some(2)
            && output.text.contains("warning  levels: levels.lowest is above eidas1"),
        "{}",
        output.text
    );
    let high = fs::read_to_string(hub.path().join("passerelle.toml"))
        .unwrap()
        .replace("\"standard\"", "\"high\"");
    fs::write(hub.path().join("passerelle.toml"), high).unwrap();
    let output = check_with("", "");
    assert!(
        output.code == Some(2)
            && output.text.contains("warning  levels: levels.highest is below eidas2"),
        "{}",
        output.text
    );
}

#[test]
fn a_near_miss_of_a_key_is_guessed_and_never_repeated_as_a_value() {
    let output = check(with("", "{}").path(), &["idp.toml"]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    for (from, to, meant) in [
        ("client_id =", "clientid =", "did you mean `client_id`?"),
        ("client_secret =", "client_secrets =", "did you mean `client_secret`?"),
        ("assumed_level =", "asumed_levle =", "did you mean `assumed_level`?"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("idp.toml"), CONNECTOR.replacen(from, to, 1)).unwrap();
        let output = check(folder.path(), &["idp.toml"]);
        assert!(output.code == Some(1) && output.text.contains(meant), "{}", output.text);
        assert!(!output.text.contains("use one of"), "a guess and every key: {}", output.text);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("idp.toml"), format!("quite_another_thing = 1\n{CONNECTOR}"))
        .unwrap();
    let output = check(folder.path(), &["idp.toml"]);
    assert!(
        !output.text.contains("did you mean") && output.text.contains("remove it, or use one of"),
        "{}",
        output.text
    );
}

#[test]
fn the_check_finds_the_configuration_folder_of_a_file_or_names_the_folder_of_relative_paths() {
    let file = CONNECTOR.replace("env = \"CONNECTOR_IDP__SECRET\"", "file = \"idp.secret\"");
    let file = format!("{file}ca = \"ca.pem\"\n");
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join("idp.toml"), &file).unwrap();
    let output = check(alone.path(), &["idp.toml"]);
    let fix = "because --config is missing, that is the folder of this file";
    assert_eq!((output.code, output.text.matches(fix).count()), (Some(1), 2), "{}", output.text);
    let hub = valid_config_folder();
    let connectors = hub.path().join("connectors");
    fs::write(connectors.join("idp.toml"), file).unwrap();
    let expected = check(hub.path(), &["connectors/idp.toml", "--config", "."]);
    assert!(!expected.text.contains("--config is missing"), "{}", expected.text);
    assert_eq!(expected.text.matches("configuration folder").count(), 2, "{}", expected.text);
    let output = check(hub.path(), &["connectors/idp.toml"]);
    assert_eq!((output.code, &output.text), (expected.code, &expected.text));
    let output = check(&connectors, &["idp.toml"]);
    let text = output.text.replace(" idp.toml:", " connectors/idp.toml:");
    assert_eq!((output.code, &text), (expected.code, &expected.text));
}

#[test]
fn an_unset_variable_is_named_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("idp.toml"),
        CONNECTOR.replace("CONNECTOR_IDP__SECRET", "CONNECTOR_IDP__SECRTE"),
    )
    .unwrap();
    let output = check(folder.path(), &["idp.toml"]);
    assert!(
        output.code == Some(1) && output.text.contains("CONNECTOR_IDP__SECRTE that is not set"),
        "{}",
        output.text
    );
}

/// Small machines and containers lack the authorities of the system.
#[test]
fn on_a_machine_without_certificate_authorities_the_check_says_what_to_install() {
    let folder = with("", "{}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(["check", "connector", "idp.toml", "--online"]).current_dir(folder.path());
    command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", folder.path());
    let output = command.env("CONNECTOR_IDP__SECRET", "s").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let message =
        "idp.example.org can't be called over TLS: this machine has no certificate authorities";
    let fix = "fix: install the package ca-certificates, or set SSL_CERT_FILE";
    assert!(text.contains(message) && text.contains(fix), "{text}");
}
