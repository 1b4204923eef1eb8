//! A hub whose keys are in a PKCS#11 token: logins, and what fails while the token is away.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use passerelle::env::Env;
use passerelle::ids::Secret;
use passerelle::testing::softhsm::{PIN, SoftHsm};
use passerelle::testing::wait::{wait_for, wait_until};
use passerelle::token::device_credential::DeviceCredential;
use passerelle::token::keyfiles::{self, KeyFolder, KeyPurpose, NewDeviceKeys};
use passerelle::token::pkcs11::{DeviceOptions, Pkcs11Device, Pkcs11Token};

use super::federation;
use super::hub::TestHub;
use super::service::Authorize;

const PURPOSES: [KeyPurpose; 3] =
    [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];

/// Replaces the hub's keys by keys in the token.
fn move_keys(folder: &Path, hsm: &SoftHsm) {
    let settings = folder.join("passerelle.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{text}\n{}", hsm.settings())).unwrap();
    federation::put(folder, "pin", PIN.as_bytes());
    fs::remove_dir_all(folder.join("keys")).unwrap();
    let pin = DeviceCredential::new(None, Secret::new(PIN.to_owned()));
    let token = Arc::new(Pkcs11Token::load(&hsm.module(), &hsm.token, pin).unwrap());
    let options = DeviceOptions { sessions: 1, timeout: Duration::from_secs(5), metrics: None };
    let device = Pkcs11Device::start(&token, options).unwrap();
    let source = KeyFolder {
        folder: &folder.join("keys"),
        passphrase: None,
        devices: vec![Arc::new(device)],
        new_keys: vec![NewDeviceKeys { generator: token.as_ref(), purposes: &PURPOSES }],
    };
    keyfiles::create_keys(source, &Env::system()).unwrap();
}

/// `None` where SoftHSM is not installed.
async fn start() -> Option<(SoftHsm, TestHub)> {
    let hsm = SoftHsm::start()?;
    let hub = TestHub::edited(|folder| move_keys(folder, &hsm)).await;
    Some((hsm, hub))
}

#[actix_web::test]
async fn a_login_is_signed_in_the_token() {
    let Some((_hsm, hub)) = start().await else { return };
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let received = choice.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    assert!(!hub.not_ready(0).contains_key("keys"));
}

#[actix_web::test]
async fn while_the_token_is_away_no_login_begins_and_no_code_is_spent() {
    let Some((hsm, hub)) = start().await else { return };
    let first = hub.browser();
    let choice = first.authorize(&Authorize::by("bakery")).await;
    let received = choice.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let second = hub.browser();
    let choice = second.authorize(&Authorize::by("library")).await;
    let waiting = choice.finish_as("angela").await;

    hsm.set_fault("removed");
    wait_for("the circuit opens", async || {
        let answer = hub.ask_userinfo(&tokens.access_token).await;
        assert_eq!(answer.status, 503, "{}", answer.body);
        hub.not_ready(0).contains_key("keys").then_some(())
    })
    .await;
    let reason = &hub.not_ready(0)["keys"];
    assert!(reason.contains("no login begins"), "{reason}");

    // The service provider learns it at once, and shows no login page.
    let third = hub.browser();
    let refused = third.authorize(&Authorize::by("bakery")).await.received();
    assert_eq!(refused.error_at("bakery"), "temporarily_unavailable");
    let description = &refused.fields["error_description"];
    assert!(description.contains("holds the hub's keys"), "{description}");
    // A code that could not be exchanged is not spent.
    for _ in 0..3 {
        let answer = hub.redeem("library", waiting.code()).await;
        assert_eq!(answer.status, 503, "{}", answer.body);
        assert!(answer.body.contains("holds the hub's keys"), "{}", answer.body);
    }
    // What others verify with is published all the same.
    hub.opened(&tokens.raw_id_token).await;

    hsm.set_fault("none");
    wait_until("the hub is ready", || !hub.not_ready(0).contains_key("keys")).await;
    assert_eq!(hub.family_name("library", &waiting).await, "DUBOIS");
    let choice = third.authorize(&Authorize::by("bakery")).await;
    choice.finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn a_hub_starts_while_the_token_is_away_and_serves_when_it_is_back() {
    let Some(hsm) = SoftHsm::start() else { return };
    let hub = TestHub::edited(|folder| {
        move_keys(folder, &hsm);
        hsm.set_fault("removed");
    })
    .await;
    wait_until("the watch finds it", || hub.not_ready(0).contains_key("keys")).await;
    hsm.set_fault("none");
    wait_until("the hub is ready", || !hub.not_ready(0).contains_key("keys")).await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let received = choice.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}
