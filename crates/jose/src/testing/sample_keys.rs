//! Keys for tests that don't depend on them, and what a peer encrypts to them.

use std::sync::{Arc, LazyLock};

use josekit::jwe::{ECDH_ES, JweEncrypter, JweHeader, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;
use serde_json::Value;

use crate::decryption_key::DecryptionKey;
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{DeviceKey, KeyLocation, UnusedKeyDevice};
use crate::pkcs11_uri::Pkcs11Uri;
use crate::relying_party_keys::RelyingPartyKeys;
use crate::{Keyring, SigningKey, signing_key};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::env::Timestamp;

/// When [`RING`] begins to sign.
pub const T0: Timestamp = Timestamp::from_seconds(1_790_000_000);

/// Ring for all tests that don't depend on their keys; it signs from [`T0`].
pub static RING: LazyLock<Arc<Keyring>> =
    LazyLock::new(|| Arc::new(Keyring::ephemeral(T0).unwrap()));

/// Keys for all tests that don't depend on them; they sign from the Unix epoch on.
pub static KEYS: LazyLock<Arc<RelyingPartyKeys>> =
    LazyLock::new(|| Arc::new(RelyingPartyKeys::ephemeral(Timestamp::default()).unwrap()));

pub fn ec(created: Timestamp) -> DecryptionKey {
    DecryptionKey::parse(&signing_key::generate(SigningAlg::ES256).unwrap(), created).unwrap()
}

/// Keys whose private halves are in a device that does not answer.
pub fn in_absent_device() -> RelyingPartyKeys {
    let now = Timestamp::default();
    let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![1]));
    let key = DeviceKey { device: Arc::new(UnusedKeyDevice(KeyLocation::Pkcs11)), uri };
    let public = |(key, _): (&SigningKey, _)| {
        let jwk: serde_json::Map<String, Value> = serde_json::from_str(key.public_jwk()).unwrap();
        signing_key::public_half(&jwk).unwrap().1
    };
    let halves: Vec<_> = RING.states(T0).into_iter().map(public).collect();
    let signing = halves.iter().map(|half| SigningKey::in_device(half, key.clone(), now, now));
    let decryption = halves.iter().map(|half| {
        let algorithms: &[EncryptionAlg] = match half["kty"].as_str() {
            Some("EC") => &[EncryptionAlg::EcdhEs],
            _ => &[EncryptionAlg::RsaOaep256],
        };
        DecryptionKey::in_device(half, algorithms, &key, now).unwrap()
    });
    let ring = Keyring::new_unchecked(signing.collect::<Result<_, _>>().unwrap());
    RelyingPartyKeys::new_unchecked(decryption.collect(), ring)
}

/// The published key for `alg`.
pub fn published(keys: &RelyingPartyKeys, now: Timestamp, alg: &str) -> Jwk {
    let set: Value = serde_json::from_slice(&keys.jwks(now)).unwrap();
    let found = set["keys"].as_array().unwrap().iter().find(|key| key["alg"] == alg).unwrap();
    Jwk::from_map(found.as_object().unwrap().clone()).unwrap()
}

pub fn encrypter(alg: EncryptionAlg, jwk: &Jwk) -> Box<dyn JweEncrypter> {
    match alg {
        EncryptionAlg::EcdhEs => Box::new(ECDH_ES.encrypter_from_jwk(jwk).unwrap()),
        EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.encrypter_from_jwk(jwk).unwrap()),
        EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.encrypter_from_jwk(jwk).unwrap()),
    }
}

/// Encrypts like a conforming identity provider, with `more` in the header.
pub fn encrypt_to(jwk: &Jwk, alg: EncryptionAlg, content: &str, more: &Value) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption("A256GCM");
    for (name, value) in more.as_object().unwrap() {
        header.set_claim(name, Some(value.clone())).unwrap();
    }
    josekit::jwe::serialize_compact(content.as_bytes(), &header, encrypter(alg, jwk).as_ref())
        .unwrap()
}
