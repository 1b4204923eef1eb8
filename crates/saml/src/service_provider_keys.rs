//! The hub's keys toward one identity provider: they sign requests and decrypt assertions.

use std::sync::Arc;

use arc_swap::ArcSwap;
use openssl::error::ErrorStack;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::X509;

use crate::authentication::response_error;
use crate::certificate::UnsignedCertificate;
use crate::error_codes::SAML_ENCRYPTION;
use crate::response::ResponseError;
use crate::xml::{
    EncryptedContentKey, SignatureAlgorithm, XmlDecryptionError, XmlDecryptionKey, encrypted_keys,
};
use passerelle_connector::error::ConnectorError;
use passerelle_egress::certificate_expiry;
use passerelle_jose::decryption_key::DecryptionKey;
use passerelle_jose::key_device::{DeviceKey, KeyDeviceError, KeyLocation, OaepHash};
use passerelle_jose::key_type::KeyType;
use passerelle_jose::{KeyState, RelyingPartyKeys};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;

/// Algorithm of the hub's signatures, which every peer verifies.
pub const REQUEST_ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RSA_SHA256;

/// Where the keys are.
pub enum ServiceProviderKeys {
    /// In the PEM file that the connector's file names, the one that signs first.
    File(Vec<CertifiedKey>),
    /// The hub's own keys for identity providers, in files or devices.
    Hub(Arc<ArcSwap<RelyingPartyKeys>>),
}

/// A private key and its certificate.
pub struct CertifiedKey {
    pub private: PKey<Private>,
    pub certificate: X509,
}

impl CertifiedKey {
    /// Generates a key, whose certificate is valid from now.
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn generate(common_name: &str, now: Timestamp) -> Result<Self, ErrorStack> {
        let private = PKey::from_rsa(Rsa::generate(2048)?)?;
        let unsigned = UnsignedCertificate::new(&private, common_name, now);
        let unsigned = unsigned.ok_or_else(ErrorStack::get)?;
        let signature = REQUEST_ALGORITHM.sign(&private, unsigned.signing_input())?;
        let certificate = X509::from_der(&unsigned.with_signature(&signature))?;
        Ok(Self { private, certificate })
    }

    /// Returns both as the file of `private_keys` has them.
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn to_pem(&self) -> Result<String, ErrorStack> {
        let pem = [self.private.private_key_to_pem_pkcs8()?, self.certificate.to_pem()?].concat();
        Ok(String::from_utf8_lossy(&pem).into_owned())
    }
}

impl ServiceProviderKeys {
    /// Reads the keys of a connector; `pem` is the value of `private_keys`, if it is set.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        pem: Option<&Secret<String>>,
        hub: Arc<ArcSwap<RelyingPartyKeys>>,
    ) -> Result<Self, FieldDiagnostic> {
        let Some(pem) = pem else { return Ok(Self::Hub(hub)) };
        certified_keys(pem.reveal()).map(Self::File).map_err(|message| {
            let fix = "write for each key its PEM private key (RSA, 2048 bits or more, without a passphrase) and its certificate into the file";
            FieldDiagnostic::new("kind.saml.private_keys", message, fix)
        })
    }

    /// Returns a signature by [`REQUEST_ALGORITHM`].
    ///
    /// # Errors
    /// `Internal` or `KeyDeviceUnavailable` if the key did not sign.
    pub async fn sign(&self, message: &[u8], now: Timestamp) -> Result<Vec<u8>, ConnectorError> {
        let failed =
            |code| ConnectorError::new(code, "the hub's key did not sign the SAML request");
        match self {
            Self::File(keys) => {
                let key = keys.first().ok_or_else(|| failed(ErrorCode::Internal))?;
                let signature = REQUEST_ALGORITHM.sign(&key.private, message);
                signature.map_err(|_| failed(ErrorCode::Internal))
            }
            Self::Hub(keys) => {
                let keys = keys.load_full();
                let key = keys.assertion().current(SigningAlg::RS256, now);
                let key = key.ok_or_else(|| failed(ErrorCode::Internal))?;
                let signature = key.sign(message).await;
                signature.map_err(|_| failed(ErrorCode::KeyDeviceUnavailable))
            }
        }
    }

    /// Returns the earliest expiry of the certificates of the file. Identity providers warn of it, and
    /// few refuse what was signed after it.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::File(keys) => {
                keys.iter().filter_map(|key| certificate_expiry::expiry(&key.certificate)).min()
            }
            Self::Hub(_) => None,
        }
    }

    /// Returns what decrypts a message: every key, as an identity provider may have read older
    /// metadata. A key in a device decrypts the encrypted keys of the message here, and so no
    /// NameID that is encrypted inside an encrypted assertion.
    pub async fn decryption_keys(&self, message: &[u8], now: Timestamp) -> DecryptionKeys {
        let mut decryption = DecryptionKeys::default();
        let keys = match self {
            Self::File(keys) => {
                let private = keys.iter().map(|key| key.private.clone());
                decryption.keys.extend(private.filter_map(XmlDecryptionKey::new));
                return decryption;
            }
            Self::Hub(keys) => keys.load_full(),
        };
        for (key, _) in keys.states(now).into_iter().filter(|(key, _)| key.key_type == KeyType::Rsa)
        {
            decryption.keys.extend(key.local_rsa_key().cloned().and_then(XmlDecryptionKey::new));
            let Some(device_key) = key.device_key() else { continue };
            for encrypted in encrypted_keys(message) {
                match decrypt_in_device(key, device_key, encrypted).await {
                    Ok(content_key) => decryption.keys.extend(content_key),
                    Err(error) => decryption.device_failure = Some(error),
                }
            }
        }
        decryption
    }

    /// Returns the published decryption key if a device holds it, and so limits what it decrypts.
    pub fn device_decryption_limits(&self, now: Timestamp) -> Option<DeviceDecryptionLimits> {
        let Self::Hub(keys) = self else { return None };
        let keys = keys.load();
        let is_published = |(key, state): &(&DecryptionKey, KeyState)| {
            key.key_type == KeyType::Rsa && *state == KeyState::Current
        };
        let (key, _) = keys.states(now).into_iter().find(is_published)?;
        key.device_key()?;
        Some(DeviceDecryptionLimits {
            location: key.location(),
            has_sha1: key.supports(EncryptionAlg::RsaOaep),
            has_sha256: key.supports(EncryptionAlg::RsaOaep256),
        })
    }
}

/// Which forms of RSA-OAEP a key in a device decrypts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceDecryptionLimits {
    pub location: KeyLocation,
    pub has_sha1: bool,
    pub has_sha256: bool,
}

/// What may decrypt one message.
#[derive(Default, Debug)]
pub struct DecryptionKeys {
    pub keys: Vec<XmlDecryptionKey>,
    /// Why a key in a device decrypted nothing, except that it is another key.
    device_failure: Option<ConnectorError>,
}

impl DecryptionKeys {
    /// Returns the error of a refused response: that of the device, if it kept the hub from
    /// decrypting it.
    pub(crate) fn response_error(&self, error: &ResponseError) -> ConnectorError {
        let failure = match error {
            ResponseError::Decryption(cause) => self.device_failure(*cause),
            _ => None,
        };
        failure.unwrap_or_else(|| response_error(error))
    }

    /// Returns the error of the device that kept the hub from decrypting.
    pub(crate) fn device_failure(&self, cause: XmlDecryptionError) -> Option<ConnectorError> {
        let failure = self.device_failure.as_ref();
        failure.filter(|_| cause == XmlDecryptionError::Undecryptable).cloned()
    }
}

/// Returns `None` for a content key that is encrypted to another key.
async fn decrypt_in_device(
    key: &DecryptionKey,
    DeviceKey { device, uri }: &DeviceKey,
    EncryptedContentKey { hash, encrypted }: EncryptedContentKey,
) -> Result<Option<XmlDecryptionKey>, ConnectorError> {
    let is_supported = |hash: &OaepHash| {
        key.supports(match hash {
            OaepHash::Sha1 => EncryptionAlg::RsaOaep,
            OaepHash::Sha256 => EncryptionAlg::RsaOaep256,
        })
    };
    let hash = hash.filter(is_supported).ok_or_else(|| {
        let detail = format!(
            "the hub's key in {} does not decrypt this form of RSA-OAEP; `passerelle check connector --online` says what it decrypts",
            uri.location().as_str()
        );
        ConnectorError::new(SAML_ENCRYPTION, detail)
    })?;
    match device.decrypt(uri, hash, &encrypted).await {
        Ok(content) => {
            Ok(Some(XmlDecryptionKey::from_content_key(encrypted, content.into_inner())))
        }
        Err(KeyDeviceError::Rejected(_)) => Ok(None),
        Err(error) => Err(ConnectorError::new(
            ErrorCode::KeyDeviceUnavailable,
            format!("the message is not decrypted: {error}"),
        )),
    }
}

/// Reads pairs of keys and certificates, in any order.
fn certified_keys(pem: &str) -> Result<Vec<CertifiedKey>, String> {
    let certificates = X509::stack_from_pem(pem.as_bytes())
        .map_err(|_| "has a certificate that can't be read".to_owned())?;
    let mut keys = Vec::new();
    for block in private_key_blocks(pem) {
        let private = PKey::private_key_from_pem_callback(block.as_bytes(), |_| Ok(0))
            .map_err(|_| "has a private key that can't be read".to_owned())?;
        if private.id() != Id::RSA || private.bits() < 2048 {
            return Err("has a private key that is not RSA with 2048 bits or more".to_owned());
        }
        let belongs = |one: &&X509| one.public_key().is_ok_and(|public| public.public_eq(&private));
        let certificate = certificates.iter().find(belongs).cloned();
        let certificate =
            certificate.ok_or_else(|| "has a private key without its certificate".to_owned())?;
        keys.push(CertifiedKey { private, certificate });
    }
    if keys.is_empty() { Err("has no private key in PEM".to_owned()) } else { Ok(keys) }
}

/// Returns the PEM blocks of private keys (RFC 7468).
fn private_key_blocks(pem: &str) -> Vec<&str> {
    const BEGIN: &str = "-----BEGIN ";
    let starts = pem.match_indices(BEGIN).map(|(start, _)| start);
    let blocks = starts.filter_map(|start| {
        let rest = pem.get(start..)?;
        let end = rest.get(BEGIN.len()..)?.find(BEGIN).map_or(rest.len(), |end| end + BEGIN.len());
        rest.get(..end)
    });
    blocks.filter(|block| block.lines().next().is_some_and(|l| l.contains("PRIVATE KEY"))).collect()
}
