//! A valid configuration folder that tests then damage.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const SETTINGS: &str = r#"
platform = "standard"
base_url = "http://localhost:8080"
subject_key = { env = "SUBJECT_KEY" }
connectors = "connectors"
sandbox = true
public.listen = "127.0.0.1:0"
private.listen = "127.0.0.1:0"
register.file.path = "register.csv"
"#;

/// The environment that the folder refers to.
pub(crate) const VARIABLE: (&str, &str) = ("SUBJECT_KEY", "0123456789abcdef0123456789abcdef");

const PERSONA: &str = r#"
name = { en = "Persons" }
levels = { lowest = "eidas1", highest = "eidas1" }
kind.persona.persons = "persons.toml"
"#;

const PERSONS: &str = "[[person]]\nid = \"ada\"\nlabel = \"Ada\"\n";
const REGISTER: &str = "given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n";

/// Runs the program on `folder`.
pub(crate) fn passerelle(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(arguments).arg(folder).env(VARIABLE.0, VARIABLE.1).output().unwrap()
}

/// Runs the program on `folder`; returns whether it succeeded, and its output.
pub(crate) fn run(arguments: &[&str], folder: &Path) -> (bool, String) {
    let output = passerelle(arguments, folder);
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// Counts the keys in the folder `keys` by their state and location.
pub(crate) fn count_keys(folder: &Path, state: &str, location: &str) -> usize {
    let (_, text) = run(&["keys", "list", "--json", "--dir"], &folder.join("keys"));
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    rows.iter().filter(|row| row["state"] == state && row["location"] == location).count()
}

/// Writes a file that only this user may read.
pub(crate) fn write_private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Creates a configuration folder with keys, with which `serve` starts.
pub(crate) fn valid_config_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("connectors")).unwrap();
    fs::create_dir(path("service-providers")).unwrap();
    fs::write(path("passerelle.toml"), SETTINGS).unwrap();
    fs::write(path("connectors/persons.toml"), PERSONA).unwrap();
    fs::write(path("persons.toml"), PERSONS).unwrap();
    fs::write(path("register.csv"), REGISTER).unwrap();
    fs::write(path("scopes.toml"), include_str!("../../config/scopes.toml")).unwrap();
    assert!(passerelle(&["keys", "new", "--dir"], &path("keys")).status.success());
    folder
}
