//! Trial of a decryption key in a device: the device decrypts what the public half encrypts. Finds
//! a key file whose public half is that of another key, before a login fails.

use josekit::jwk::Jwk;

use super::{AlgorithmKey, DecryptionKey, PrivateDecryptionKey, decrypts_to_probe, encrypt_probe};
use crate::content_key::ContentKey;
use crate::key_device::{DeviceKey, KeyDeviceError};
use crate::signing_key::KeyError;
use passerelle_protocol::digest;
use passerelle_protocol::json;

/// Why a trial of a decryption key failed.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum DecryptionTrialError {
    #[error("{uri} does not decrypt what the public half of {kid} encrypts with {alg}: {why}")]
    Undecryptable { uri: String, kid: String, alg: &'static str, why: String },
    #[error(transparent)]
    Device(#[from] KeyDeviceError),
    #[error("the trial of a decryption key failed: {0}")]
    Key(#[from] KeyError),
}

impl DecryptionKey {
    /// Encrypts to the public half and decrypts in the device, with each algorithm. Does nothing
    /// for a local key, whose halves [`Self::parse`] has compared.
    ///
    /// # Errors
    /// `Undecryptable` if the device has another key, or may not decrypt with it; `Device`; `Key`
    /// if the public half can't be encrypted to.
    pub async fn try_in_device(&self) -> Result<(), DecryptionTrialError> {
        for key in &self.algorithm_keys {
            if let PrivateDecryptionKey::Device(device_key) = &key.private {
                key.try_in_device(device_key).await?;
            }
        }
        Ok(())
    }
}

impl AlgorithmKey {
    async fn try_in_device(&self, device_key: &DeviceKey) -> Result<(), DecryptionTrialError> {
        let public = Jwk::from_bytes(&self.public).map_err(|_| KeyError::Unusable)?;
        let encrypted = encrypt_probe(self.alg, &public)?;
        let mut parts = encrypted.split('.').map(digest::from_base64url);
        let (Some(Some(header)), Some(Some(encrypted_key))) = (parts.next(), parts.next()) else {
            return Err(KeyError::Unusable.into());
        };
        let header = json::parse_object(&header).map_err(|_| KeyError::Unusable)?;
        let undecryptable = |why: &str| DecryptionTrialError::Undecryptable {
            uri: device_key.uri.to_string(),
            kid: self.kid.clone(),
            alg: self.alg.as_str(),
            why: why.to_owned(),
        };
        match ContentKey::obtain(self.alg, device_key, &header, &encrypted_key).await {
            Ok(content_key) if decrypts_to_probe(&encrypted, &content_key) => Ok(()),
            Ok(_) => Err(undecryptable("it is another key")),
            Err(KeyDeviceError::Rejected(why)) => Err(undecryptable(&why)),
            Err(error) => Err(error.into()),
        }
    }
}
