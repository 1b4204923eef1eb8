//! The port to private keys that a device holds and never gives out: a hardware security module or
//! a key service (docs/design/adr/0028-private-keys-behind-a-port.md).
//!
//! Responsible for the operations that JOSE needs, for the kinds of failure, and for the check of
//! what a device signed. Does not know any device.

use std::sync::Arc;

use async_trait::async_trait;
use josekit::jws::JwsVerifier;
use serde_json::{Map, Value};

use super::device_key_uri::DeviceKeyUri;
use super::key_type::KeyType;
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::CheckFinding;

/// Where the private half of a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyLocation {
    /// In its key file, or only in memory.
    File,
    /// In a PKCS#11 token.
    Pkcs11,
    /// In a Vault server, or one with its interface.
    VaultTransit,
}

impl KeyLocation {
    /// All locations.
    pub const ALL: [Self; 3] = [Self::File, Self::Pkcs11, Self::VaultTransit];

    /// Returns the name that `passerelle keys list` shows, the label of metrics, and the table of
    /// `passerelle.toml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Pkcs11 => "pkcs11",
            Self::VaultTransit => "vault_transit",
        }
    }
}

/// Hash function of RSA-OAEP and of its mask generation (RFC 7518 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OaepHash {
    Sha1,
    Sha256,
}

/// Why a device did not do what it was asked. Contains nothing secret.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum KeyDeviceError {
    #[error("the key device is unavailable: {0}")]
    Unavailable(String),
    #[error("the key device did not answer in time")]
    TimedOut,
    #[error("too many calls wait for the key device")]
    Busy,
    #[error("the key device has no private key {0}")]
    KeyMissing(String),
    /// The device works, and rejects this input: for example a ciphertext for another key.
    #[error("the key device rejected the input: {0}")]
    Rejected(String),
    #[error("the key device returned a signature that its public key does not verify")]
    WrongSignature,
}

/// A device that holds private keys.
#[async_trait]
pub trait KeyDevice: Send + Sync {
    /// Returns the JWS signature (RFC 7518 §3.3, §3.4) over `message`. The hub verifies it with the
    /// public key first, so that a wrong key object or a defective session fails here and not at
    /// service providers.
    ///
    /// # Errors
    /// Any [`KeyDeviceError`].
    async fn sign(&self, key: &DeviceSigningKey, message: &[u8])
    -> Result<Vec<u8>, KeyDeviceError>;

    /// Returns what `ciphertext` encrypts with RSA-OAEP.
    ///
    /// # Errors
    /// Any [`KeyDeviceError`] but `WrongSignature`.
    async fn decrypt(
        &self,
        key: &DeviceKeyUri,
        hash: OaepHash,
        ciphertext: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError>;

    /// Returns the shared secret Z of ECDH with a peer's public key on P-256, an uncompressed
    /// point.
    ///
    /// # Errors
    /// Any [`KeyDeviceError`] but `WrongSignature`.
    async fn derive(
        &self,
        key: &DeviceKeyUri,
        peer: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError>;

    /// Makes no further calls, and ends those under way before the process does. Blocks, no longer
    /// than a call may take.
    fn close(&self);

    /// Returns where its private keys are.
    fn location(&self) -> KeyLocation;

    /// Returns false while calls fail immediately, because the device has failed. Known from
    /// memory.
    fn is_available(&self) -> bool;

    /// Returns why the device has failed; `None` while it works.
    fn failure(&self) -> Option<KeyDeviceError>;

    /// Returns what the operator has to fix although calls succeed. Known from memory.
    fn warning(&self) -> Option<CheckFinding> {
        None
    }
}

/// What a new key in a device is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceKeyUsage {
    Sign,
    /// RSA-OAEP, or ECDH-ES.
    Decrypt,
}

/// A key to generate in a device.
#[derive(Clone, Debug)]
pub struct DeviceKeySpec {
    /// Names the key: random, as no two keys may have one id.
    pub id: Vec<u8>,
    /// Shown by the device's own tools.
    pub label: String,
    pub key_type: KeyType,
    pub usage: DeviceKeyUsage,
}

/// A key that a device generated.
#[derive(Clone, Debug)]
pub struct GeneratedDeviceKey {
    pub uri: DeviceKeyUri,
    /// The public JWK.
    pub public: Map<String, Value>,
    /// Of a decryption key: the algorithms that the device has.
    pub algorithms: Vec<EncryptionAlg>,
}

/// Why a device gave no usable key.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{error}")]
pub struct KeyGenerationError {
    pub error: KeyDeviceError,
    /// The key, if the device generated it before the failure.
    pub uri: Option<DeviceKeyUri>,
}

impl From<KeyDeviceError> for KeyGenerationError {
    fn from(error: KeyDeviceError) -> Self {
        Self { error, uri: None }
    }
}

/// Generates keys in a device.
pub trait DeviceKeyGenerator: Send + Sync {
    /// Returns true if the device has the operation that such a key is for.
    fn supports(&self, usage: DeviceKeyUsage, key_type: KeyType) -> bool;

    /// Generates a key that never leaves the device. Blocks; don't call it on an arbiter.
    ///
    /// # Errors
    /// Returns an error that names the key if the device has it all the same.
    fn generate(&self, spec: &DeviceKeySpec) -> Result<GeneratedDeviceKey, KeyGenerationError>;
}

/// A private key in a device.
#[derive(Clone)]
pub struct DeviceKey {
    pub device: Arc<dyn KeyDevice>,
    pub uri: DeviceKeyUri,
}

/// A signing key in a device, with its public half.
#[derive(Clone, Debug)]
pub struct DeviceSigningKey {
    pub uri: DeviceKeyUri,
    pub alg: SigningAlg,
    /// Verifies with the public half.
    pub verifier: Arc<dyn JwsVerifier>,
}

impl DeviceSigningKey {
    /// Verifies what the device signed.
    ///
    /// # Errors
    /// `WrongSignature`.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), KeyDeviceError> {
        let verified = self.verifier.verify(message, signature);
        verified.map_err(|_| KeyDeviceError::WrongSignature)
    }
}

/// Replaces the device in commands that call none, such as those that list keys.
pub struct UnusedKeyDevice(pub KeyLocation);

#[async_trait]
impl KeyDevice for UnusedKeyDevice {
    async fn sign(&self, _: &DeviceSigningKey, _: &[u8]) -> Result<Vec<u8>, KeyDeviceError> {
        Err(unused())
    }

    async fn decrypt(
        &self,
        _: &DeviceKeyUri,
        _: OaepHash,
        _: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        Err(unused())
    }

    async fn derive(&self, _: &DeviceKeyUri, _: &[u8]) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        Err(unused())
    }

    fn close(&self) {}

    fn location(&self) -> KeyLocation {
        self.0
    }

    fn is_available(&self) -> bool {
        false
    }

    fn failure(&self) -> Option<KeyDeviceError> {
        Some(unused())
    }
}

fn unused() -> KeyDeviceError {
    KeyDeviceError::Unavailable("this command calls no device".to_owned())
}
