//! A hub whose keys are in a PKCS#11 token: logins, and what fails while the token is away.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use passerelle_jose::device_credential::DeviceCredential;
use passerelle_jose::pkcs11::{DeviceOptions, Pkcs11Device, Pkcs11Token};
use passerelle_protocol::ids::Secret;
use passerelle_testkit::softhsm::{PIN, SoftHsm};
use passerelle_testkit::wait::wait_until;

use super::federation;
use super::hub::TestHub;
use super::keys_in_device::{self, ALL_PURPOSES, check_outage};
use super::service::Authorize;

/// Replaces the hub's keys by keys in the token.
pub(crate) fn move_keys(folder: &Path, hsm: &SoftHsm) {
    keys_in_device::add_table(folder, &hsm.settings());
    federation::put(folder, "pin", PIN.as_bytes());
    let pin = DeviceCredential::new(None, Secret::new(PIN.to_owned()));
    let token = Arc::new(Pkcs11Token::load(&hsm.module(), &hsm.token, pin).unwrap());
    let options = DeviceOptions { sessions: 1, timeout: Duration::from_secs(5), metrics: None };
    let device = Pkcs11Device::start(&token, options).unwrap();
    keys_in_device::move_keys(folder, device, token.as_ref(), &ALL_PURPOSES);
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
    assert!(!hub.not_ready_reasons(0).contains_key("keys"));
}

#[actix_web::test]
async fn while_the_token_is_missing_no_login_begins_and_no_code_is_spent() {
    let Some((hsm, hub)) = start().await else { return };
    check_outage(&hub, || hsm.set_fault("removed"), || hsm.set_fault("none")).await;
}

#[actix_web::test]
async fn a_hub_starts_while_the_token_is_missing_and_serves_when_it_returns() {
    let Some(hsm) = SoftHsm::start() else { return };
    let hub = TestHub::edited(|folder| {
        move_keys(folder, &hsm);
        hsm.set_fault("removed");
    })
    .await;
    wait_until("the watch finds it", || hub.not_ready_reasons(0).contains_key("keys")).await;
    hsm.set_fault("none");
    wait_until("the hub is ready", || !hub.not_ready_reasons(0).contains_key("keys")).await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let received = choice.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}
