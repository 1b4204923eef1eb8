//! A hub whose keys are in a Transit engine: logins, and what fails while its server is away.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use passerelle::env::Env;
use passerelle::ids::Secret;
use passerelle::testing::fake_vault::{FakeVault, TOKEN, VaultFault};
use passerelle::testing::wait::{wait_for, wait_until};
use passerelle::token::device_credential::DeviceCredential;
use passerelle::token::keyfiles::{self, KeyFolder, KeyPurpose, NewDeviceKeys};
use passerelle::token::vault_transit::{TransitKeyGenerator, TransitOptions, VaultTransitDevice};

use super::federation;
use super::hub::TestHub;
use super::service::Authorize;

const PURPOSES: [KeyPurpose; 3] =
    [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];

/// Replaces the hub's keys by keys that are in the engine for these purposes; those for ECDH-ES are in
/// a file.
fn move_keys(folder: &Path, vault: &FakeVault, purposes: &[KeyPurpose]) {
    let settings = folder.join("passerelle.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{text}\n{}", vault.settings())).unwrap();
    federation::put(folder, "vault.token", TOKEN.as_bytes());
    fs::remove_dir_all(folder.join("keys")).unwrap();
    let options = TransitOptions {
        address: vault.address().parse().unwrap(),
        mount: "transit".to_owned(),
        namespace: None,
        token: DeviceCredential::new(None, Secret::new(TOKEN.to_owned())),
        ca: None,
        timeout: Duration::from_secs(5),
    };
    let device = VaultTransitDevice::connect_lazily(&options, None).unwrap();
    let generator = TransitKeyGenerator::new(options);
    let source = KeyFolder {
        folder: &folder.join("keys"),
        passphrase: None,
        devices: vec![Arc::new(device)],
        new_keys: vec![NewDeviceKeys { generator: &generator, purposes }],
    };
    keyfiles::create_keys(source, &Env::system()).unwrap();
}

#[actix_web::test]
async fn while_the_vault_server_is_away_no_login_begins_and_no_code_is_spent() {
    let vault = FakeVault::start();
    let hub = TestHub::edited(|folder| move_keys(folder, &vault, &PURPOSES)).await;
    let first = hub.browser();
    let received = first.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let second = hub.browser();
    let waiting = second.authorize(&Authorize::by("library")).await.finish_as("angela").await;

    vault.set_fault(VaultFault::Sealed);
    wait_for("the circuit opens", async || {
        let answer = hub.ask_userinfo(&tokens.access_token).await;
        assert_eq!(answer.status, 503, "{}", answer.body);
        hub.not_ready(0).contains_key("keys").then_some(())
    })
    .await;
    let reason = &hub.not_ready(0)["keys"];
    assert!(reason.contains("sealed") && !reason.contains(TOKEN), "{reason}");
    let third = hub.browser();
    let refused = third.authorize(&Authorize::by("bakery")).await.received();
    assert_eq!(refused.error_at("bakery"), "temporarily_unavailable");
    let answer = hub.redeem("library", waiting.code()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains("holds the hub's keys"), "{}", answer.body);
    // What others verify with is published all the same.
    hub.opened(&tokens.raw_id_token).await;

    vault.set_fault(VaultFault::None);
    wait_until("the hub is ready", || !hub.not_ready(0).contains_key("keys")).await;
    assert_eq!(hub.family_name("library", &waiting).await, "DUBOIS");
    third.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn a_device_without_keys_that_sign_tokens_is_probed_by_an_assertion_key_and_closes_no_hub() {
    let vault = FakeVault::start();
    let hub = TestHub::edited(|folder| {
        move_keys(folder, &vault, &[KeyPurpose::Assertion]);
        vault.set_fault(VaultFault::Sealed);
    })
    .await;
    let is_degraded = || {
        let findings = hub.degraded(0).remove("keys").unwrap_or_default();
        findings.iter().any(|finding| finding.to_string().contains("sealed"))
    };
    wait_until("the probe finds the failure", is_degraded).await;
    assert!(!hub.not_ready(0).contains_key("keys"), "{:?}", hub.not_ready(0));
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");

    vault.set_fault(VaultFault::None);
    wait_until("the probe finds that the device works", || !is_degraded()).await;
}
