//! The hub's keys at an identity provider: what its metadata publishes, and what decrypts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Padding;
use openssl::x509::X509;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::decryption_key::DecryptionKey;
use passerelle_jose::device_key_uri::DeviceKeyUri;
use passerelle_jose::key_device::{
    DeviceKey, DeviceSigningKey, KeyDevice, KeyDeviceError, KeyLocation, OaepHash, UnusedKeyDevice,
};
use passerelle_jose::pkcs11_uri::Pkcs11Uri;
use passerelle_jose::testing::sample_keys;
use passerelle_jose::{Keyring, SigningKey, generate_ephemeral};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

use super::identity_provider::*;
use crate::authentication::response_error;
use crate::error_codes::{SAML_ENCRYPTION, SAML_SIGNATURE};
use crate::response::ResponseError;
use crate::service_provider_keys::ServiceProviderKeys;
use crate::xml::{
    SignatureAlgorithm, VerificationKey, XmlDecryptionError, XmlDecryptionKey, XmlSignatureError,
};

const T0: Timestamp = Timestamp::from_seconds(1_790_000_000);
const UNDECRYPTABLE: ResponseError = ResponseError::Decryption(XmlDecryptionError::Undecryptable);
const LEAD: Duration = Duration::from_secs(20 * 60);

fn signing_key(alg: SigningAlg, from: Timestamp) -> SigningKey {
    SigningKey::parse(&generate_ephemeral(alg).unwrap(), T0, from).unwrap()
}

fn hub(decryption: Vec<DecryptionKey>, signing: Vec<SigningKey>) -> ServiceProviderKeys {
    let keys = RelyingPartyKeys::new(decryption, Keyring::new(signing, T0).unwrap()).unwrap();
    ServiceProviderKeys::Hub(Arc::new(ArcSwap::from_pointee(keys)))
}

fn rsa_decryption_key(created: Timestamp) -> DecryptionKey {
    DecryptionKey::parse(&generate_ephemeral(SigningAlg::RS256).unwrap(), created).unwrap()
}

fn verification_key(certificate: &str) -> VerificationKey {
    let der = openssl::base64::decode_block(certificate).unwrap();
    VerificationKey::from_certificate(&der).unwrap()
}

/// The identity provider has fetched the metadata before the next key signs, and again after.
#[tokio::test]
async fn a_key_rollover_of_the_hub_is_published_before_the_next_key_signs() {
    let turn = T0 + LEAD;
    let signing = vec![
        signing_key(SigningAlg::ES256, T0),
        signing_key(SigningAlg::RS256, T0),
        signing_key(SigningAlg::RS256, turn),
    ];
    let old = rsa_decryption_key(T0);
    let new = rsa_decryption_key(turn);
    let privates = [&old, &new].map(|key| key.local_rsa_key().unwrap().clone());
    let keys = hub(vec![sample_keys::ec(T0), old, new], signing);
    let verifying = |certificates: &[String], signature: &[u8]| {
        let algorithm = SignatureAlgorithm::RSA_SHA256;
        let verifies = |one: &&String| verification_key(one).verifies(algorithm, b"m", signature);
        certificates.iter().filter(verifies).count()
    };
    let before = keys.certificates("hub.example", T0).await.unwrap();
    assert_eq!(before.signing.len(), 2, "the next key is there, and no EC key");
    for now in [T0, turn] {
        let signature = keys.sign(b"m", now).await.unwrap();
        assert_eq!(verifying(&before.signing, &signature), 1, "{now:?}");
    }
    let after = keys.certificates("hub.example", turn).await.unwrap();
    assert_eq!(after.signing, before.signing[1..], "byte for byte the one that was announced");

    // A minute after its creation the next encryption key replaces the first, which still decrypts.
    let later = keys.certificates("hub.example", turn + LEAD).await.unwrap();
    let encrypts_to = |certificates: &[String], private: &PKey<Private>| {
        let [only] = certificates else { panic!("{} certificates", certificates.len()) };
        let certificate = X509::from_der(&openssl::base64::decode_block(only).unwrap()).unwrap();
        certificate.public_key().unwrap().public_eq(private)
    };
    assert!(encrypts_to(&before.encryption, &privates[0]));
    assert!(encrypts_to(&later.encryption, &privates[1]));
    for private in &privates {
        let response = response_encrypted_to(private, &GCM);
        let decryption = keys.decryption_keys(response.as_bytes(), turn + LEAD).await;
        assert!(checks(&response, &decryption.keys));
    }
}

fn checks(response: &str, decryption_keys: &[XmlDecryptionKey]) -> bool {
    let provider = [KEYS.provider.verification_key()];
    check_encrypted(response, &provider, decryption_keys, |_| {}).is_ok()
}

fn response_encrypted_to(private: &PKey<Private>, encryption: &Encryption) -> String {
    response(&encrypted_to(private, "EncryptedAssertion", &sign(ASSERTION), encryption))
}

/// A device with one private key, and how often it was asked to decrypt.
struct Device(PKey<Private>, Arc<AtomicUsize>);

impl Device {
    fn new(private: PKey<Private>) -> Self {
        Self(private, Arc::default())
    }
}

#[async_trait]
impl KeyDevice for Device {
    async fn sign(&self, _: &DeviceSigningKey, _: &[u8]) -> Result<Vec<u8>, KeyDeviceError> {
        Err(KeyDeviceError::Busy)
    }

    async fn decrypt(
        &self,
        _: &DeviceKeyUri,
        hash: OaepHash,
        ciphertext: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let digest = match hash {
            OaepHash::Sha1 => openssl::hash::MessageDigest::sha1(),
            OaepHash::Sha256 => openssl::hash::MessageDigest::sha256(),
        };
        let mut decrypter = openssl::encrypt::Decrypter::new(&self.0).unwrap();
        decrypter.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
        decrypter.set_rsa_oaep_md(digest).unwrap();
        decrypter.set_rsa_mgf1_md(digest).unwrap();
        let mut key = vec![0; decrypter.decrypt_len(ciphertext).unwrap()];
        let length = decrypter.decrypt(ciphertext, &mut key);
        let length = length.map_err(|_| KeyDeviceError::Rejected("another key".to_owned()))?;
        key.truncate(length);
        Ok(Secret::new(key))
    }

    async fn derive(&self, _: &DeviceKeyUri, _: &[u8]) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        Err(KeyDeviceError::Busy)
    }

    fn close(&self) {}

    fn location(&self) -> KeyLocation {
        KeyLocation::Pkcs11
    }

    fn is_available(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<KeyDeviceError> {
        None
    }
}

/// A key in a device, with its private half.
fn key_in_device(
    algorithms: &[EncryptionAlg],
    device: impl FnOnce(PKey<Private>) -> Arc<dyn KeyDevice>,
) -> (ServiceProviderKeys, PKey<Private>) {
    let jwk = generate_ephemeral(SigningAlg::RS256).unwrap();
    let local = DecryptionKey::parse(&jwk, T0).unwrap();
    let private = local.local_rsa_key().unwrap().clone();
    let public = jwk.reveal().iter().filter(|(name, _)| ["kty", "n", "e"].contains(&name.as_str()));
    let public: serde_json::Map<_, _> =
        public.map(|(name, value)| (name.clone(), value.clone())).collect();
    let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![1]));
    let device = DeviceKey { device: device(private.clone()), uri };
    let in_device = DecryptionKey::in_device(&public, algorithms, &device, T0).unwrap();
    assert!(in_device.local_rsa_key().is_none());
    let signing = vec![signing_key(SigningAlg::ES256, T0), signing_key(SigningAlg::RS256, T0)];
    (hub(vec![sample_keys::ec(T0), in_device], signing), private)
}

/// A key in a device that counts what it is asked to decrypt.
pub(super) fn key_in_counting_device(
    algorithms: &[EncryptionAlg],
) -> (ServiceProviderKeys, PKey<Private>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let device = |private| Arc::new(Device(private, Arc::clone(&calls))) as Arc<dyn KeyDevice>;
    let (keys, private) = key_in_device(algorithms, device);
    (keys, private, calls)
}

pub(super) const SHA1: EncryptionAlg = EncryptionAlg::RsaOaep;
const SHA256: EncryptionAlg = EncryptionAlg::RsaOaep256;

#[tokio::test]
async fn a_key_in_a_device_decrypts_the_forms_that_the_device_has() {
    for (algorithms, form, is_decrypted) in [
        (&[SHA256, SHA1][..], GCM, true),
        (&[SHA256, SHA1], SHA256_OAEP, true),
        (&[SHA1], GCM, true),
        (&[SHA1], SHA256_OAEP, false),
        (&[SHA256], GCM, false),
        (&[SHA256, SHA1], SHA256_MGF1P, false),
    ] {
        let (keys, private) = key_in_device(algorithms, |private| Arc::new(Device::new(private)));
        let response = response_encrypted_to(&private, &form);
        let decryption = keys.decryption_keys(response.as_bytes(), T0).await;
        assert_eq!(checks(&response, &decryption.keys), is_decrypted, "{algorithms:?}");
        let refused = decryption.response_error(&UNDECRYPTABLE);
        assert_eq!(refused.code, SAML_ENCRYPTION);
        let names_reason = refused.detail.contains("pkcs11 does not decrypt this form");
        assert_eq!(names_reason, !is_decrypted, "{algorithms:?}: {refused}");
    }
    let (keys, _) = key_in_device(&[SHA256, SHA1], |private| Arc::new(Device::new(private)));
    let other = response_encrypted_to(&KEYS.hub, &GCM);
    let decryption = keys.decryption_keys(other.as_bytes(), T0).await;
    assert!(decryption.keys.is_empty());
    assert_eq!(decryption.response_error(&UNDECRYPTABLE), response_error(&UNDECRYPTABLE));
}

#[tokio::test]
async fn an_assertion_that_a_failed_device_does_not_decrypt_is_not_the_fault_of_its_sender() {
    let absent = |_| Arc::new(UnusedKeyDevice(KeyLocation::Pkcs11)) as Arc<dyn KeyDevice>;
    let (keys, private) = key_in_device(&[SHA1], absent);
    let response = response_encrypted_to(&private, &GCM);
    let decryption = keys.decryption_keys(response.as_bytes(), T0).await;
    assert_eq!(decryption.response_error(&UNDECRYPTABLE).code, ErrorCode::KeyDeviceUnavailable);
    let forged = ResponseError::Signature(XmlSignatureError::Signature);
    assert_eq!(decryption.response_error(&forged).code, SAML_SIGNATURE);
}
