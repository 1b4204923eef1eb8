//! The mobile security object (ISO/IEC 18013-5 §9.1.2.4): digests, device key and validity.

use chrono::DateTime;
use ciborium::Value as Cbor;
use openssl::hash::MessageDigest;

use super::as_unsigned;
use crate::cbor::member;
use crate::credential::StatusReference;
use crate::presentation_error::PresentationError;
use crate::signature::{CredentialAlg, HolderKey};
use passerelle_protocol::env::Timestamp;

/// Tag of a date and time as text (RFC 8949 §3.4.1).
const DATE_TIME: u64 = 0;
/// `EC2` (RFC 9053 §7.1).
const KEY_TYPE_EC2: i128 = 2;

/// Digest algorithm of the elements (ISO/IEC 18013-5 table 21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementDigestAlg {
    Sha256,
    Sha384,
    Sha512,
}

impl ElementDigestAlg {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "SHA-256" => Some(Self::Sha256),
            "SHA-384" => Some(Self::Sha384),
            "SHA-512" => Some(Self::Sha512),
            _ => None,
        }
    }

    pub(super) fn hash(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let algorithm = match self {
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
        };
        openssl::hash::hash(algorithm, bytes).ok().map(|digest| digest.to_vec())
    }
}

/// The mobile security object: the data that the issuer signed (ISO/IEC 18013-5 §9.1.2.4).
pub(super) struct MobileSecurityObject {
    pub doc_type: String,
    pub digest_alg: ElementDigestAlg,
    value_digests: Cbor,
    pub device_key: HolderKey,
    key_authorizations: Option<Cbor>,
    pub signed: Timestamp,
    pub valid_from: Timestamp,
    pub valid_until: Timestamp,
    pub status: Option<StatusReference>,
}

impl MobileSecurityObject {
    pub(super) fn parse(object: &Cbor) -> Result<Self, PresentationError> {
        let text = |name: &str| {
            member(object, name).and_then(Cbor::as_text).ok_or(PresentationError::Malformed)
        };
        if !["1.0", "1.1"].contains(&text("version")?) {
            return Err(PresentationError::MsoVersion);
        }
        let digest_alg = ElementDigestAlg::from_name(text("digestAlgorithm")?)
            .ok_or(PresentationError::MsoDigestAlgorithm)?;
        let value_digests = member(object, "valueDigests").filter(|digests| digests.is_map());
        let key_info =
            member(object, "deviceKeyInfo").ok_or(PresentationError::HolderKeyMissing)?;
        let key = member(key_info, "deviceKey").ok_or(PresentationError::HolderKeyMissing)?;
        let validity = member(object, "validityInfo").ok_or(PresentationError::InvalidTimes)?;
        let time = |name: &str| {
            member(validity, name).and_then(date_time).ok_or(PresentationError::InvalidTimes)
        };
        Ok(Self {
            doc_type: text("docType")?.to_owned(),
            digest_alg,
            value_digests: value_digests.ok_or(PresentationError::Malformed)?.clone(),
            device_key: device_key(key).ok_or(PresentationError::HolderKeyInvalid)?,
            key_authorizations: member(key_info, "keyAuthorizations").cloned(),
            signed: time("signed")?,
            valid_from: time("validFrom")?,
            valid_until: time("validUntil")?,
            status: status_reference(object)?,
        })
    }

    /// Returns the digest of an element.
    pub(super) fn value_digest(&self, namespace: &str, id: u64) -> Option<&[u8]> {
        let digests = member(&self.value_digests, namespace)?.as_map()?;
        let digest = digests.iter().find(|(key, _)| as_unsigned(key) == Some(id));
        digest.and_then(|(_, digest)| digest.as_bytes()).map(Vec::as_slice)
    }

    /// Returns true if the device key may sign this element by itself (`KeyAuthorizations`).
    pub(super) fn authorizes(&self, namespace: &str, element: &str) -> bool {
        let lists = |list: Option<&Cbor>, name: &str| {
            let names = list.and_then(Cbor::as_array).into_iter().flatten();
            names.filter_map(Cbor::as_text).any(|listed| listed == name)
        };
        self.key_authorizations.as_ref().is_some_and(|authorizations| {
            let elements = member(authorizations, "dataElements");
            lists(member(authorizations, "nameSpaces"), namespace)
                || lists(elements.and_then(|elements| member(elements, namespace)), element)
        })
    }
}

/// Parses a `COSE_Key` (RFC 9052 §7) on one of the curves of the signature algorithms.
fn device_key(key: &Cbor) -> Option<HolderKey> {
    let parameter = |label: i128| {
        let entries = key.as_map()?;
        let is_label = |key: &Cbor| key.as_integer().is_some_and(|key| i128::from(key) == label);
        entries.iter().find(|(key, _)| is_label(key)).map(|(_, value)| value)
    };
    let number = |label| Some(i128::from(parameter(label)?.as_integer()?));
    if number(1)? != KEY_TYPE_EC2 || parameter(-4).is_some() {
        return None;
    }
    let alg = match number(-1)? {
        1 => CredentialAlg::ES256,
        2 => CredentialAlg::ES384,
        3 => CredentialAlg::ES512,
        _ => return None,
    };
    HolderKey::from_coordinates(alg, parameter(-2)?.as_bytes()?, parameter(-3)?.as_bytes()?)
}

fn date_time(value: &Cbor) -> Option<Timestamp> {
    let Cbor::Tag(DATE_TIME, text) = value else { return None };
    let time = DateTime::parse_from_rfc3339(text.as_text()?).ok()?;
    u64::try_from(time.timestamp()).ok().map(Timestamp::from_seconds)
}

/// Token Status List §6.3: `status` of the mobile security object.
fn status_reference(object: &Cbor) -> Result<Option<StatusReference>, PresentationError> {
    let Some(status) = member(object, "status") else { return Ok(None) };
    let reference = member(status, "status_list").and_then(|list| {
        let uri = member(list, "uri")?.as_text()?.to_owned();
        Some(StatusReference { uri, index: as_unsigned(member(list, "idx")?)? })
    });
    reference.map(Some).ok_or(PresentationError::InvalidStatusReference)
}
