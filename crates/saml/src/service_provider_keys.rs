//! The hub's keys toward one identity provider: they sign requests and decrypt assertions.

use std::sync::Arc;

use arc_swap::ArcSwap;
use openssl::pkey::{Id, PKey, Private};
use openssl::x509::X509;

use crate::xml::{EncryptedContentKey, SignatureAlgorithm, XmlDecryptionKey, encrypted_keys};
use passerelle_connector::error::ConnectorError;
use passerelle_egress::certificate_expiry;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::key_device::DeviceKey;
use passerelle_jose::key_type::KeyType;
use passerelle_protocol::alg::SigningAlg;
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

    /// Returns what decrypts a response: every key, as an identity provider may have read older
    /// metadata. A key in a device decrypts the encrypted keys of the response here; it decrypts
    /// RSA-OAEP with one hash function for both parts, and no NameID that is encrypted inside an
    /// encrypted assertion.
    pub async fn decryption_keys(&self, response: &[u8], now: Timestamp) -> Vec<XmlDecryptionKey> {
        let keys = match self {
            Self::File(keys) => {
                let private = keys.iter().map(|key| key.private.clone());
                return private.filter_map(XmlDecryptionKey::new).collect();
            }
            Self::Hub(keys) => keys.load_full(),
        };
        let mut decryption = Vec::new();
        for (key, _) in keys.states(now).into_iter().filter(|(key, _)| key.key_type == KeyType::Rsa)
        {
            decryption.extend(key.local_rsa_key().cloned().and_then(XmlDecryptionKey::new));
            let Some(DeviceKey { device, uri }) = key.device_key() else { continue };
            for EncryptedContentKey { hash, encrypted } in encrypted_keys(response) {
                match device.decrypt(uri, hash, &encrypted).await {
                    Ok(content_key) => decryption.push(XmlDecryptionKey::from_content_key(
                        encrypted,
                        content_key.into_inner(),
                    )),
                    Err(error) => {
                        tracing::info!(%error, kid = key.kid, "key of a SAML response not decrypted");
                    }
                }
            }
        }
        decryption
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
