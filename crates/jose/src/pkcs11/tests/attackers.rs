//! Attackers who can cause calls of a token, or write to the folder of keys.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::device_key_uri::DeviceKeyUri;
use crate::keyfiles::KeyFileError;
use crate::signing_key;

/// More calls than the token can serve in time; each that begins succeeds.
#[tokio::test]
async fn an_attacker_who_fills_the_queue_does_not_open_the_circuit() {
    let Some(fixture) = Fixture::start(&[KeyPurpose::Tokens]) else { return };
    let ring = fixture.ring();
    fixture.sign(&ring).await.unwrap();
    fixture.hsm.set_fault("slow:100");
    let outcomes = futures_util::future::join_all((0..30).map(|_| fixture.sign(&ring))).await;
    fixture.hsm.set_fault("none");
    let busy = Err(SigningError::Device(KeyDeviceError::Busy));
    assert!(outcomes.iter().any(Result::is_ok) && outcomes.contains(&busy), "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| outcome.is_ok() || *outcome == busy), "{outcomes:?}");
    assert!(fixture.device.is_available());
}

/// The private half of the planted key is the attacker's. As it signs from a later time, no
/// signature of the hub would find that out, and the hub would publish it.
#[tokio::test]
async fn a_planted_key_that_names_the_token_is_refused() {
    let Some(fixture) = Fixture::start(ALL) else { return };
    let refusing = || KeyFolder { refuses_plain_keys: true, ..fixture.key_folder(ALL) };
    keyfiles::load_keyring(refusing(), fixture.now()).unwrap();
    keyfiles::load_upstream_keys(refusing(), fixture.now()).unwrap();

    let ring = fixture.ring();
    let (key, _) = ring.states(fixture.now())[0];
    let uri = &key.device_key().unwrap().uri;
    let DeviceKeyUri::Pkcs11(_) = uri else { panic!("{uri:?}") };
    let attacker = signing_key::generate(SigningAlg::ES256).unwrap();
    let (_, public) = signing_key::public_half(attacker.reveal()).unwrap();
    let kid = signing_key::thumbprint(&public);
    let later = fixture.now().seconds() + 30 * 24 * 3600;
    let file = json!({
        "created": fixture.now().seconds(), "signs_from": later, "pkcs11": uri.to_string(), "jwk": public,
    });
    let planted = fixture.folder.path().join(format!("es256-{kid}.json"));
    fs::write(&planted, file.to_string()).unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o600)).unwrap();
    let error = keyfiles::load_keyring(refusing(), fixture.now()).unwrap_err();
    assert!(matches!(error, KeyFileError::Unproven { .. }), "{error}");
    assert!(error.to_string().contains(planted.to_str().unwrap()), "{error}");
    fs::remove_file(planted).unwrap();
    keyfiles::load_keyring(refusing(), fixture.now()).unwrap();
}
