//! `passerelle keys` and `passerelle check` with keys in a PKCS#11 token.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use passerelle_testkit::softhsm::{PIN, SoftHsm};
use serde_json::Value;

use crate::folder::{SETTINGS, count_keys, run, valid_config_folder, write_private};

#[test]
fn a_rotation_moves_the_keys_of_a_hub_into_a_token() {
    let Some(hsm) = SoftHsm::start() else { return };
    let folder = valid_config_folder();
    let path = folder.path();
    assert_eq!(count_keys(path, "current", "file"), 6);
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{}", hsm.settings())).unwrap();
    write_private(&path.join("pin"), PIN);

    let (rotated, text) = run(&["keys", "rotate", "--lead", "0", "--config"], path);
    assert!(rotated, "{text}");
    // Signing keys sign from the next whole second; encryption keys are published after a minute.
    let began = Instant::now();
    while count_keys(path, "current", "pkcs11") < 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "the new keys don't sign");
    }
    assert_eq!(
        (count_keys(path, "current", "pkcs11"), count_keys(path, "retired", "file")),
        (4, 4)
    );
    assert_eq!((count_keys(path, "next", "pkcs11"), count_keys(path, "current", "file")), (2, 2));
    let (valid, text) = run(&["check", "--config"], path);
    assert!(valid, "{text}");

    hsm.set_fault("removed");
    assert_eq!(count_keys(path, "current", "pkcs11"), 4, "a list needs no token");
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("no slot has a token labelled"), "{text}");
    hsm.set_fault("corrupt");
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("is not that of"), "{text}");
    hsm.set_fault("none");
    write_private(&path.join("pin"), "wrong");
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("PIN") && !text.contains(PIN), "{text}");
}

#[test]
fn keys_in_a_token_need_the_table_and_a_module_that_loads() {
    let Some(hsm) = SoftHsm::start() else { return };
    let folder = valid_config_folder();
    let path = folder.path();
    fs::remove_dir_all(path.join("keys")).unwrap();
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{}", hsm.settings())).unwrap();
    write_private(&path.join("pin"), PIN);
    let (created, text) = run(&["keys", "new", "--config"], path);
    assert!(created, "{text}");
    assert_eq!(count_keys(path, "current", "pkcs11"), 6);

    fs::write(path.join("passerelle.toml"), SETTINGS).unwrap();
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("add the table [pkcs11]"), "{text}");
    let module = hsm.module().display().to_string();
    let absent = hsm.settings().replace(&module, "absent.so");
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{absent}")).unwrap();
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("correct pkcs11.module"), "{text}");
}

/// Returns the files of the decryption keys of a folder by their algorithms.
fn decryption_key_files(keys: &Path) -> BTreeMap<String, (PathBuf, Value)> {
    let entries = fs::read_dir(keys.join("encryption")).unwrap();
    let read = |path: PathBuf| {
        let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (file["algorithms"].to_string(), (path, file))
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

#[test]
fn a_swapped_public_half_of_a_decryption_key_in_a_token_is_found_by_a_check() {
    let Some(hsm) = SoftHsm::start() else { return };
    let folder = valid_config_folder();
    let path = folder.path();
    fs::remove_dir_all(path.join("keys")).unwrap();
    let table = format!("{}new_keys = [\"encryption\"]\n", hsm.settings());
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{table}")).unwrap();
    write_private(&path.join("pin"), PIN);
    let other = tempfile::tempdir().unwrap();
    let other_folder = other.path().to_str().unwrap();
    for arguments in
        [vec!["keys", "new", "--config"], vec!["keys", "new", "--dir", other_folder, "--config"]]
    {
        let (created, text) = run(&arguments, path);
        assert!(created, "{text}");
    }
    let (valid, text) = run(&["check", "--config"], path);
    assert!(valid, "{text}");

    let (own, others) =
        (decryption_key_files(&path.join("keys")), decryption_key_files(other.path()));
    assert_eq!(own.len(), 2);
    for (algorithms, (file, content)) in own {
        let mut swapped = content.clone();
        swapped["pkcs11"] = others[&algorithms].1["pkcs11"].clone();
        fs::write(&file, swapped.to_string()).unwrap();
        let (valid, text) = run(&["check", "--config"], path);
        assert!(!valid && text.contains("does not decrypt what the public half of"), "{text}");
        assert!(text.contains(swapped["pkcs11"].as_str().unwrap()), "{algorithms}: {text}");
        fs::write(&file, content.to_string()).unwrap();
    }
}

#[cfg(feature = "saml")]
#[test]
fn a_check_of_a_saml_connector_names_the_encryption_that_the_token_lacks() {
    use passerelle_testkit::fake_identity_provider::{ENTITY_ID, FakeIdentityProvider};
    let Some(hsm) = SoftHsm::start() else { return };
    let folder = valid_config_folder();
    let path = folder.path();
    fs::write(path.join("idp.xml"), FakeIdentityProvider::new().metadata("")).unwrap();
    let file = path.join("connectors/university.toml");
    let text = format!(
        "name = {{ en = \"University\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n\
         acr = {{ eidas1 = [\"urn:x\"] }}\n[kind.saml]\nentity_id = \"{ENTITY_ID}\"\n\
         metadata_file = \"idp.xml\"\n"
    );
    fs::write(&file, text).unwrap();
    let check = ["check", "connector", file.to_str().unwrap(), "--online", "--config"];
    let (_, text) = run(&check, path);
    assert!(!text.contains("RSA-OAEP"), "a key in a file decrypts each form: {text}");

    fs::remove_dir_all(path.join("keys")).unwrap();
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{}", hsm.settings())).unwrap();
    write_private(&path.join("pin"), PIN);
    assert!(run(&["keys", "new", "--config"], path).0);
    let (_, text) = run(&check, path);
    assert!(text.contains("pkcs11 decrypts RSA-OAEP with SHA-1"), "{text}");
    assert!(text.contains("not RSA-OAEP with SHA-256"), "SoftHSM 2.6 lacks it: {text}");
    assert!(text.contains("set private_keys"), "{text}");
}
