//! What hubs with keys in devices share: how their keys get there, and what a failed device means.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use passerelle_jose::key_device::{DeviceKeyGenerator, KeyDevice};
use passerelle_jose::keyfiles::{self, KeyFolder, KeyPurpose, NewDeviceKeys};
use passerelle_protocol::env::Env;
use passerelle_testkit::wait::{wait_for, wait_until};

use super::hub::TestHub;
use super::service::Authorize;

pub(crate) const ALL_PURPOSES: [KeyPurpose; 3] =
    [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];

/// Adds a device's table to the settings of a hub.
pub(crate) fn add_table(folder: &Path, table: &str) {
    let settings = folder.join("passerelle.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{text}\n{table}")).unwrap();
}

/// Replaces the hub's keys by new ones, which are in the device for these purposes.
pub(crate) fn move_keys(
    folder: &Path,
    device: impl KeyDevice + 'static,
    generator: &dyn DeviceKeyGenerator,
    purposes: &[KeyPurpose],
) {
    fs::remove_dir_all(folder.join("keys")).unwrap();
    let source = KeyFolder {
        folder: &folder.join("keys"),
        passphrase: None,
        refuses_plain_keys: false,
        devices: vec![Arc::new(device)],
        new_keys: vec![NewDeviceKeys { generator, purposes }],
    };
    keyfiles::create_keys(source, &Env::system()).unwrap();
}

/// Checks that no login begins while the device fails, that no code is spent, and that logins go on
/// when it works again. Returns the reason that `/readyz` gave.
pub(crate) async fn check_outage(hub: &TestHub, fail: impl Fn(), recover: impl Fn()) -> String {
    let first = hub.browser();
    let received = first.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let second = hub.browser();
    let waiting = second.authorize(&Authorize::by("library")).await.finish_as("angela").await;

    fail();
    wait_for("the circuit opens", async || {
        let answer = hub.get_userinfo(&tokens.access_token).await;
        assert_eq!(answer.status, 503, "{}", answer.body);
        hub.not_ready_reasons(0).contains_key("keys").then_some(())
    })
    .await;
    let reason = hub.not_ready_reasons(0)["keys"].clone();
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
    hub.verified_claims(&tokens.raw_id_token).await;

    recover();
    wait_until("the hub is ready", || !hub.not_ready_reasons(0).contains_key("keys")).await;
    assert_eq!(hub.family_name("library", &waiting).await, "DUBOIS");
    third.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.belongs_to("bakery");
    reason
}
