//! The certificates of the hub's keys in its metadata, and when each is published.

use openssl::base64::encode_block;
use openssl::bn::BigNum;
use openssl::pkey::{PKey, Public};
use openssl::rsa::Rsa;
use serde_json::{Map, Value};

use crate::certificate::UnsignedCertificate;
use crate::service_provider_keys::{CertifiedKey, ServiceProviderKeys};
use passerelle_connector::error::ConnectorError;
use passerelle_jose::key_type::KeyType;
use passerelle_jose::{KeyState, RelyingPartyKeys, SigningKey};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

/// Certificates that the hub publishes, in base64 of their DER.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PublishedCertificates {
    /// Of the key that signs now, then of its successors.
    pub signing: Vec<String>,
    pub encryption: Vec<String>,
}

impl ServiceProviderKeys {
    /// Returns the certificates for the hub's metadata. A key is among those that sign before it
    /// does. Only one is for encryption, since an identity provider may choose any; earlier ones
    /// still decrypt.
    ///
    /// # Errors
    /// `Internal` if there is no key, or OpenSSL fails; `KeyDeviceUnavailable`.
    pub async fn certificates(
        &self,
        common_name: &str,
        now: Timestamp,
    ) -> Result<PublishedCertificates, ConnectorError> {
        match self {
            Self::File(keys) => file_certificates(keys),
            Self::Hub(keys) => hub_certificates(&keys.load_full(), common_name, now).await,
        }
    }
}

fn file_certificates(keys: &[CertifiedKey]) -> Result<PublishedCertificates, ConnectorError> {
    let encoded = |key: &CertifiedKey| {
        key.certificate.to_der().map(|der| encode_block(&der)).map_err(|_| failed("OpenSSL failed"))
    };
    Ok(PublishedCertificates {
        signing: keys.iter().map(encoded).collect::<Result<_, _>>()?,
        encryption: keys.first().map(encoded).transpose()?.into_iter().collect(),
    })
}

async fn hub_certificates(
    keys: &RelyingPartyKeys,
    common_name: &str,
    now: Timestamp,
) -> Result<PublishedCertificates, ConnectorError> {
    let mut published = PublishedCertificates::default();
    for (key, state) in keys.assertion().states(now) {
        let is_published = matches!(state, KeyState::Current | KeyState::Next);
        if key.alg == SigningAlg::RS256 && is_published {
            let certificate = certify(key.public_jwk(), key.created, common_name, key).await?;
            published.signing.push(certificate);
        }
    }
    let issuer = keys.assertion().current(SigningAlg::RS256, now);
    let issuer = issuer.ok_or_else(|| failed("there is no RSA key that signs now"))?;
    for (key, state) in keys.states(now) {
        let jwk = key.public_jwks().next().filter(|_| key.key_type == KeyType::Rsa);
        if let (Some(jwk), KeyState::Current) = (jwk, state) {
            published.encryption.push(certify(jwk, key.created, common_name, issuer).await?);
        }
    }
    Ok(published)
}

/// Returns the certificate of an RSA key, signed by a key of the hub.
async fn certify(
    jwk: &str,
    created: Timestamp,
    common_name: &str,
    issuer: &SigningKey,
) -> Result<String, ConnectorError> {
    let unsigned = rsa_public_key(jwk)
        .and_then(|key| UnsignedCertificate::new(&key, common_name, created))
        .ok_or_else(|| failed("OpenSSL can't encode it"))?;
    let signature = issuer.sign(unsigned.signing_input()).await.map_err(|error| {
        ConnectorError::new(ErrorCode::KeyDeviceUnavailable, format!("no certificate: {error}"))
    })?;
    Ok(encode_block(&unsigned.with_signature(&signature)))
}

fn rsa_public_key(jwk: &str) -> Option<PKey<Public>> {
    let members: Map<String, Value> = serde_json::from_str(jwk).ok()?;
    let number = |name: &str| {
        let bytes = digest::from_base64url(members.get(name)?.as_str()?)?;
        BigNum::from_slice(&bytes).ok()
    };
    PKey::from_rsa(Rsa::from_public_components(number("n")?, number("e")?).ok()?).ok()
}

fn failed(why: &str) -> ConnectorError {
    ConnectorError::new(ErrorCode::Internal, format!("a key of the hub has no certificate: {why}"))
}
