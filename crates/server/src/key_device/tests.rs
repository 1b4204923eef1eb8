//! What a failed device means for `/readyz`.

use std::fs;
use std::path::PathBuf;

use super::*;
use passerelle_egress::circuit_breaker::FAILURES_TO_OPEN;
use passerelle_jose::device_key_uri::DeviceKeyUri;
use passerelle_jose::key_device::{KeyLocation, OaepHash};
use passerelle_jose::keyfiles;
use passerelle_jose::testing::fake_vault::{FakeVault, TOKEN, VaultFault};
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;

/// Opens an engine that generates the keys for these purposes.
fn open(vault: &FakeVault, new_keys: &[TransitKeyPurpose]) -> HubKeyDevices {
    open_with_token_file(vault, new_keys, None)
}

fn open_with_token_file(
    vault: &FakeVault,
    new_keys: &[TransitKeyPurpose],
    token_file: Option<PathBuf>,
) -> HubKeyDevices {
    let engine = VaultTransitAccess {
        address: vault.address().parse().unwrap(),
        mount: "transit".to_owned(),
        namespace: None,
        token: Secret::new(TOKEN.to_owned()),
        token_file,
        ca: None,
        new_keys: new_keys.to_vec(),
        timeout_seconds: 2,
    };
    let access = PrivateKeyAccess { vault_transit: Some(engine), ..PrivateKeyAccess::default() };
    HubKeyDevices::open(&access, None).unwrap()
}

/// Calls the device until its circuit is open.
async fn fail(devices: &HubKeyDevices) {
    let uri = "vault-transit:key=passerelle;version=1";
    let key = DeviceKeyUri::parse(KeyLocation::VaultTransit, uri).unwrap();
    for _ in 0..FAILURES_TO_OPEN {
        devices.devices[0].device.decrypt(&key, OaepHash::Sha256, b"x").await.unwrap_err();
    }
}

#[tokio::test]
async fn a_failed_device_makes_a_hub_unready_only_if_its_keys_sign_tokens() {
    use TransitKeyPurpose::{Assertion, RsaEncryption, Tokens};
    for (purpose, blocks) in [(Tokens, true), (Assertion, false), (RsaEncryption, false)] {
        let vault = FakeVault::start();
        let devices = open(&vault, &[purpose]);
        let (folder, env) = (tempfile::tempdir().unwrap(), Env::system());
        let created = keyfiles::create_keys(devices.key_folder(folder.path()), &env);
        assert_eq!(created.unwrap().len(), 6);
        let ring = keyfiles::load_keyring(devices.key_folder(folder.path()), env.now()).unwrap();
        assert_eq!(devices.not_ready_reason(&ring, env.now()), None);
        assert_eq!(devices.device_findings(&ring, env.now()), []);

        vault.set_fault(VaultFault::Sealed);
        fail(&devices).await;
        let blocking = devices.not_ready_reason(&ring, env.now()).map(|found| found.to_string());
        let degraded = devices.device_findings(&ring, env.now());
        assert_eq!((blocking.is_some(), degraded.len()), (blocks, usize::from(!blocks)));
        let text = blocking.unwrap_or_else(|| degraded[0].to_string());
        assert!(text.contains("sealed"), "{purpose:?}: {text}");
    }
}

#[tokio::test]
async fn a_token_file_that_is_missing_or_empty_is_a_finding_that_names_it() {
    let vault = FakeVault::start();
    let (folder, env) = (tempfile::tempdir().unwrap(), Env::system());
    let file = folder.path().join("vault.token");
    let keys = folder.path().join("keys");
    let devices = open(&vault, &[TransitKeyPurpose::Tokens]);
    keyfiles::create_keys(devices.key_folder(&keys), &env).unwrap();
    for (content, words) in [(None, "can't be read"), (Some("\n"), "is empty")] {
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let devices = open_with_token_file(&vault, &[], Some(file.clone()));
        let ring = keyfiles::load_keyring(devices.key_folder(&keys), env.now()).unwrap();
        assert_eq!(devices.device_findings(&ring, env.now()), []);
        let key = ring.current_keys(env.now()).next().unwrap();
        key.sign(b"with the token of the start").await.unwrap();
        let findings = devices.device_findings(&ring, env.now());
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        let text = finding.to_string();
        assert!(text.contains(&format!("{} {words}", file.display())), "{text}");
        assert!(text.contains("write the token into that file") && !text.contains(TOKEN), "{text}");
    }
}
