//! `passerelle keys` and `passerelle check` with keys in a Transit engine.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use passerelle_protocol::env::Env;
use passerelle_testkit::fake_vault::{FakeVault, TOKEN, VaultFault};

use crate::folder::{SETTINGS, count_keys, run, valid_config_folder, write_private};

#[test]
fn a_rotation_moves_the_signing_keys_of_a_hub_into_an_engine() {
    let vault = FakeVault::start();
    let folder = valid_config_folder();
    let path = folder.path();
    let settings =
        |table: &str| fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{table}"));
    settings(&vault.settings()).unwrap();
    write_private(&path.join("vault.token"), TOKEN);

    vault.set_fault(VaultFault::Sealed);
    let (rotated, text) = run(&["keys", "rotate", "--lead", "0", "--config"], path);
    assert!(!rotated && text.contains("sealed"), "{text}");
    assert_eq!(count_keys(path, "current", "file"), 6, "a failed rotation changes nothing");
    vault.set_fault(VaultFault::None);
    // Creation times have whole seconds, and order the keys.
    let created = Env::system().now().seconds();
    while Env::system().now().seconds() == created {
        thread::yield_now();
    }
    let (rotated, text) = run(&["keys", "rotate", "--lead", "0", "--config"], path);
    assert!(rotated, "{text}");
    let began = Instant::now();
    while count_keys(path, "current", "vault_transit") < 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "the new keys don't sign");
    }
    assert_eq!((count_keys(path, "retired", "file"), count_keys(path, "next", "file")), (4, 2));
    let (valid, text) = run(&["check", "--config"], path);
    assert!(valid, "{text}");

    vault.set_fault(VaultFault::ForgedSignature);
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("is not that of"), "{text}");
    vault.set_fault(VaultFault::None);
    write_private(&path.join("vault.token"), "hvs.wrong");
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("check vault_transit.token"), "{text}");
    assert!(!text.contains("hvs.wrong"), "{text}");
    settings("").unwrap();
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("add the table [vault_transit]"), "{text}");
}

#[test]
fn a_swapped_public_half_of_a_decryption_key_in_an_engine_is_found_by_a_check() {
    let vault = FakeVault::start();
    let folder = valid_config_folder();
    let path = folder.path();
    fs::remove_dir_all(path.join("keys")).unwrap();
    let table = format!("{}new_keys = [\"rsa_encryption\"]\n", vault.settings());
    fs::write(path.join("passerelle.toml"), format!("{SETTINGS}{table}")).unwrap();
    write_private(&path.join("vault.token"), TOKEN);
    let (created, text) = run(&["keys", "new", "--config"], path);
    assert!(created, "{text}");
    assert_eq!(count_keys(path, "current", "vault_transit"), 1);
    let (valid, text) = run(&["check", "--config"], path);
    assert!(valid, "{text}");

    vault.set_fault(VaultFault::DecryptionRefused(403));
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("the token's policy"), "{text}");
    vault.set_fault(VaultFault::None);
    vault.replace_keys("passerelle-encryption-");
    let (valid, text) = run(&["check", "--config"], path);
    assert!(!valid && text.contains("does not decrypt what the public half of"), "{text}");
    assert!(text.contains("vault-transit:key=passerelle-encryption-"), "{text}");
}
