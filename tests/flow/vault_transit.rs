//! A hub whose keys are in a Transit engine: logins, and what fails while its server is away.

use std::path::Path;
use std::time::Duration;

use passerelle_jose::device_credential::DeviceCredential;
use passerelle_jose::keyfiles::KeyPurpose;
use passerelle_jose::vault_transit::{TransitKeyGenerator, TransitOptions, VaultTransitDevice};
use passerelle_protocol::ids::Secret;
use passerelle_testkit::fake_vault::{FakeVault, TOKEN, VaultFault};
use passerelle_testkit::wait::wait_until;

use super::federation;
use super::hub::TestHub;
use super::keys_in_device::{self, ALL_PURPOSES, check_outage};
use super::service::Authorize;

/// Replaces the hub's keys by keys that are in the engine for these purposes; those for ECDH-ES are
/// in a file.
fn move_keys(folder: &Path, vault: &FakeVault, purposes: &[KeyPurpose]) {
    keys_in_device::add_table(folder, &vault.settings());
    federation::put(folder, "vault.token", TOKEN.as_bytes());
    let options = TransitOptions {
        address: vault.address().parse().unwrap(),
        mount: "transit".to_owned(),
        namespace: None,
        token: DeviceCredential::new(None, Secret::new(TOKEN.to_owned())),
        ca: None,
        timeout: Duration::from_secs(5),
    };
    let device = VaultTransitDevice::connect_lazily(&options, None).unwrap();
    keys_in_device::move_keys(folder, device, &TransitKeyGenerator::new(options), purposes);
}

#[actix_web::test]
async fn while_the_vault_server_is_unreachable_no_login_begins_and_no_code_is_spent() {
    let vault = FakeVault::start();
    let hub = TestHub::edited(|folder| move_keys(folder, &vault, &ALL_PURPOSES)).await;
    let set = |fault| vault.set_fault(fault);
    let reason = check_outage(&hub, || set(VaultFault::Sealed), || set(VaultFault::None)).await;
    assert!(reason.contains("sealed") && !reason.contains(TOKEN), "{reason}");
}

#[actix_web::test]
async fn a_device_with_assertion_keys_alone_is_probed_and_its_failure_keeps_the_hub_ready() {
    let vault = FakeVault::start();
    let hub = TestHub::edited(|folder| {
        move_keys(folder, &vault, &[KeyPurpose::Assertion]);
        vault.set_fault(VaultFault::Sealed);
    })
    .await;
    let is_degraded = || {
        let findings = hub.degradations(0).remove("keys").unwrap_or_default();
        findings.iter().any(|finding| finding.to_string().contains("sealed"))
    };
    wait_until("the probe finds the failure", is_degraded).await;
    assert!(!hub.not_ready_reasons(0).contains_key("keys"), "{:?}", hub.not_ready_reasons(0));
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");

    vault.set_fault(VaultFault::None);
    wait_until("the probe finds that the device works", || !is_degraded()).await;
}
