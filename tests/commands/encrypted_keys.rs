//! Commands over a key folder whose private keys are encrypted.

use std::fs;

use crate::folder::{SETTINGS, run, valid_config_folder, write_private};

const CONNECTOR: &str = r#"
name = { en = "Provider" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.oidc]
issuer = "https://idp.invalid"
client_id = "hub"
client_secret = { file = "idp.secret" }
"#;

/// The attacker can write to the folder of keys, and does not know the passphrase.
#[test]
fn a_planted_plain_key_file_is_refused_by_check_and_start() {
    let folder = valid_config_folder();
    let path = |name: &str| folder.path().join(name);
    let write = |settings: &str| {
        fs::write(path("passerelle.toml"), format!("{settings}\n{SETTINGS}")).unwrap();
    };
    let refused = "plain_key_files = \"refused\"";
    write(refused);
    let (valid, text) = run(&["check", "--config"], folder.path());
    assert!(!valid && text.contains("plain_key_files") && text.contains("[pkcs11]"), "{text}");
    write("");
    let (done, text) = run(&["keys", "encrypt", "--config"], folder.path());
    assert!(!done && text.contains("key_passphrase is not set"), "{text}");
    assert!(!text.contains("the key is encrypted"), "{text}");

    let encrypted = "key_passphrase = { file = \"key.passphrase\" }";
    write(encrypted);
    write_private(&path("key.passphrase"), "correct horse battery staple");
    let (done, text) = run(&["keys", "encrypt", "--config"], folder.path());
    assert!(done && text.matches("encrypted /").count() == 6, "{text}");
    write(&format!("{encrypted}\n{refused}"));
    let (valid, text) = run(&["check", "--config"], folder.path());
    assert!(valid, "{text}");

    let attacker = tempfile::tempdir().unwrap();
    let own = attacker.path().join("keys");
    let (created, text) = run(&["keys", "new", "--dir"], &own);
    assert!(created, "{text}");
    let files = fs::read_dir(own).unwrap().map(|entry| entry.unwrap().path());
    let planted = files.into_iter().find(|path| path.is_file()).unwrap();
    let name = planted.file_name().unwrap().to_str().unwrap();
    fs::copy(&planted, path("keys").join(name)).unwrap();
    for arguments in [["check", "--config"], ["serve", "--config"]] {
        let (valid, text) = run(&arguments, folder.path());
        assert!(!valid && text.contains(name), "{text}");
        assert!(text.contains("passerelle keys encrypt"), "{text}");
    }
}

#[test]
fn keys_are_created_listed_and_used_through_the_passphrase_of_the_settings() {
    let folder = valid_config_folder();
    let path = |name: &str| folder.path().join(name);
    let settings = format!("key_passphrase = {{ file = \"key.passphrase\" }}\n{SETTINGS}");
    fs::write(path("passerelle.toml"), settings).unwrap();
    write_private(&path("key.passphrase"), "correct horse battery staple");
    fs::remove_dir_all(path("keys")).unwrap();
    let (created, text) = run(&["keys", "new", "--config"], folder.path());
    assert!(created, "{text}");
    let (_, found) = run(&["keys", "list", "--json", "--dir"], &path("keys"));
    assert_eq!(found.matches("\"kid\"").count(), 6, "{found}");
    for folder in ["keys", "keys/assertion", "keys/encryption"] {
        for entry in fs::read_dir(path(folder)).unwrap().map(Result::unwrap) {
            let Ok(file) = fs::read_to_string(entry.path()) else { continue };
            assert!(!file.contains("\"d\":"), "{file}");
        }
    }
    let (listed, text) = run(&["keys", "list", "--dir"], &path("keys"));
    assert!(listed, "{text}");
    let (valid, text) = run(&["check", "--config"], folder.path());
    assert!(valid, "{text}");

    fs::write(path("connectors/idp.toml"), CONNECTOR).unwrap();
    write_private(&path("idp.secret"), "secret");
    let config = folder.path().to_str().unwrap();
    let arguments = ["check", "connector", "--online", "--config", config];
    let (_, text) = run(&arguments, &path("connectors/idp.toml"));
    assert!(!text.contains("own keys"), "{text}");
    fs::write(path("audit.jsonl"), "").unwrap();
    let keys = path("keys");
    let arguments = ["audit", "verify", "--keys", keys.to_str().unwrap()];
    let (_, text) = run(&arguments, &path("audit.jsonl"));
    assert!(!text.contains("key folder"), "{text}");

    write_private(&path("key.passphrase"), "incorrect horse battery staple");
    let (valid, text) = run(&["check", "--config"], folder.path());
    assert!(!valid && text.contains("passphrase") && !text.contains("horse"), "{text}");
}
