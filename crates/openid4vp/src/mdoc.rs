//! Verifies presentations of mdocs (ISO/IEC 18013-5 §9.3.1, OpenID4VP 1.0 appendix B.2).
//!
//! Responsible for what the issuer and the device signed. A MAC of the device is refused: the
//! request doesn't offer one, and the transcript of OpenID4VP has no reader key to agree on it.

mod cose;
mod device_response;
mod element_value;
mod security_object;
mod session_transcript;

use std::collections::BTreeSet;

use ciborium::Value as Cbor;
use serde_json::{Map, Value};

use super::cbor::{CborError, embedded_cbor, encode_cbor, encoded_cbor_item, member, parse_cbor};
use super::claims_path::{PathComponent, select_claims};
use super::credential::{
    CredentialValidity, DisclosedClaims, PresentationExpectations, VerifiedCredential,
};
use super::presentation_error::PresentationError;
use super::trust::{CertificatePurpose, IssuerCertificate};
use cose::Signature1;
use device_response::Document;
use passerelle_protocol::digest;
use security_object::MobileSecurityObject;
pub use session_transcript::session_transcript;

/// Shortest accepted `random` of an element (ISO/IEC 18013-5 §9.1.2.5), in bytes.
const MIN_RANDOM_BYTES: usize = 16;

impl From<CborError> for PresentationError {
    fn from(error: CborError) -> Self {
        match error {
            CborError::Malformed => Self::InvalidCbor,
            CborError::TooComplex => Self::CborTooDeep,
        }
    }
}

/// Verifies a `DeviceResponse` (base64url) with one document.
///
/// # Errors
/// The first rule that the presentation breaks.
pub fn verify_device_response(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<VerifiedCredential, PresentationError> {
    verify_document(presentation, expected, verify_device_auth)
}

/// Verifies a `DeviceResponse` but for what its device signed.
///
/// # Errors
/// The first rule that the presentation breaks.
pub fn verify_issuer_signed(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<VerifiedCredential, PresentationError> {
    verify_document(presentation, expected, |_, _, _| Ok(()))
}

fn verify_document(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
    verify_holder: impl FnOnce(
        &Document<'_>,
        &MobileSecurityObject,
        &PresentationExpectations<'_>,
    ) -> Result<(), PresentationError>,
) -> Result<VerifiedCredential, PresentationError> {
    let bytes = digest::from_base64url(presentation).ok_or(PresentationError::Malformed)?;
    let response = parse_cbor(&bytes)?;
    let document = device_response::single_document(&response)?;
    let (object, issuer) = verify_issuer_auth(&document, expected)?;
    if object.doc_type != document.doc_type {
        return Err(PresentationError::DocTypeMismatch);
    }
    if !expected.credential.types.iter().any(|accepted| accepted == document.doc_type) {
        return Err(PresentationError::WrongType);
    }
    let validity = verify_validity(&object, &issuer, expected)?;
    let claims = verify_elements(&document, &object)?;
    verify_holder(&document, &object, expected)?;
    let requested = &expected.credential.claims;
    if expected.credential.unrequested_paths(&element_paths(&claims)).next().is_some() {
        return Err(PresentationError::UnrequestedClaim);
    }
    expected.credential.check_claims(&claims)?;
    Ok(VerifiedCredential {
        credential_type: object.doc_type,
        claims: select_claims(&claims, requested),
        issuer,
        validity,
        status: object.status,
    })
}

/// Reads what a `DeviceResponse` discloses, without verifying its signatures.
///
/// # Errors
/// The rule of the format that it breaks.
pub fn read_disclosed_claims(presentation: &str) -> Result<DisclosedClaims, PresentationError> {
    let bytes = digest::from_base64url(presentation).ok_or(PresentationError::Malformed)?;
    let response = parse_cbor(&bytes)?;
    let document = device_response::single_document(&response)?;
    let signature = Signature1::parse(document.issuer_auth)?;
    let object = parse_security_object(&signature)?;
    let claims = verify_elements(&document, &object)?;
    Ok(DisclosedClaims { paths: element_paths(&claims), claims })
}

/// Returns the path of each element: namespace and name.
fn element_paths(claims: &Map<String, Value>) -> Vec<Vec<PathComponent>> {
    let names = claims.iter().flat_map(|(namespace, elements)| {
        let names = elements.as_object().into_iter().flat_map(Map::keys);
        names.map(move |name| [namespace, name])
    });
    names.map(|path| path.map(|key| PathComponent::Key(key.clone())).to_vec()).collect()
}

fn parse_security_object(
    signature: &Signature1,
) -> Result<MobileSecurityObject, PresentationError> {
    let payload = signature.payload().ok_or(PresentationError::Malformed)?;
    let payload = parse_cbor(payload)?;
    let object = embedded_cbor(&payload).ok_or(PresentationError::Malformed)?;
    MobileSecurityObject::parse(&parse_cbor(object)?)
}

/// Verifies the issuer's signature of the mobile security object (ISO/IEC 18013-5 §9.1.2.4).
fn verify_issuer_auth(
    document: &Document<'_>,
    expected: &PresentationExpectations<'_>,
) -> Result<(MobileSecurityObject, IssuerCertificate), PresentationError> {
    let signature = Signature1::parse(document.issuer_auth)?;
    if signature.demands_extension() {
        return Err(PresentationError::IssuerHeader);
    }
    let alg = signature
        .accepted_alg(&expected.policy.issuer_algs)
        .ok_or(PresentationError::IssuerAlgorithm)?;
    let chain = signature.certificate_chain()?;
    let purpose = CertificatePurpose::MobileSecurityObject;
    let signer = expected.anchors.verify_chain(&chain, purpose, expected.now)?;
    let payload = signature.payload().ok_or(PresentationError::Malformed)?;
    let message = signature.message(payload);
    if !alg.verifies(&signer.key, &message, signature.signature()) {
        return Err(PresentationError::IssuerSignature);
    }
    Ok((parse_security_object(&signature)?, signer.certificate))
}

/// ISO/IEC 18013-5 §9.3.1: the object was signed while the certificate was valid, and is
/// valid now.
fn verify_validity(
    object: &MobileSecurityObject,
    issuer: &IssuerCertificate,
    expected: &PresentationExpectations<'_>,
) -> Result<CredentialValidity, PresentationError> {
    if object.signed < issuer.not_before || object.signed > issuer.not_after {
        return Err(PresentationError::SignedOutsideCertificate);
    }
    let validity = CredentialValidity {
        issued_at: Some(object.signed),
        not_before: Some(object.valid_from),
        expires_at: Some(object.valid_until),
    };
    validity.check(expected.now, expected.policy.clock_skew)?;
    Ok(validity)
}

/// Compares every returned element with its digest. Returns the elements by namespace.
fn verify_elements(
    document: &Document<'_>,
    object: &MobileSecurityObject,
) -> Result<Map<String, Value>, PresentationError> {
    let mut claims = Map::new();
    for (namespace, items) in document.issuer_name_spaces()? {
        let (mut elements, mut seen_digests) = (Map::new(), BTreeSet::new());
        for item in items {
            let bytes = embedded_cbor(item).ok_or(PresentationError::Malformed)?;
            let element = parse_cbor(bytes)?;
            let id = member(&element, "digestID").and_then(as_unsigned);
            let id = id.ok_or(PresentationError::Malformed)?;
            let expected = object.value_digest(namespace, id);
            let expected = expected.ok_or(PresentationError::DigestMissing)?;
            let digest = object.digest_alg.hash(&encode_cbor(&encoded_cbor_item(bytes)));
            if digest.as_deref() != Some(expected) {
                return Err(PresentationError::DigestMismatch);
            }
            let random = member(&element, "random").and_then(Cbor::as_bytes);
            let random = random.ok_or(PresentationError::Malformed)?;
            if random.len() < MIN_RANDOM_BYTES {
                return Err(PresentationError::ElementSalt);
            }
            let name = member(&element, "elementIdentifier").and_then(Cbor::as_text);
            let name = name.ok_or(PresentationError::Malformed)?;
            let value = member(&element, "elementValue").ok_or(PresentationError::Malformed)?;
            let value = element_value::to_claim(name, value);
            let is_repeated = elements.insert(name.to_owned(), value).is_some();
            if is_repeated || !seen_digests.insert(id) {
                return Err(PresentationError::RepeatedElement);
            }
        }
        claims.insert(namespace.to_owned(), Value::Object(elements));
    }
    Ok(claims)
}

/// Verifies that the device signed this response for this request (ISO/IEC 18013-5 §9.1.3).
fn verify_device_auth(
    document: &Document<'_>,
    object: &MobileSecurityObject,
    expected: &PresentationExpectations<'_>,
) -> Result<(), PresentationError> {
    let signature = Signature1::parse(document.device_signature()?)?;
    let alg = signature.accepted_alg(&expected.policy.holder_algs);
    if alg.is_none_or(|alg| alg != object.device_key.alg()) {
        return Err(PresentationError::HolderAlgorithm);
    }
    if signature.demands_extension() {
        return Err(PresentationError::HolderAlgorithm);
    }
    // The payload is detached (ISO/IEC 18013-5 §9.1.3.6): one that is present is not what counts.
    if signature.payload().is_some() {
        return Err(PresentationError::HolderSignature);
    }
    let authentication = Cbor::Array(vec![
        "DeviceAuthentication".into(),
        session_transcript(expected),
        document.doc_type.into(),
        document.device_name_spaces.clone(),
    ]);
    let payload = encode_cbor(&encoded_cbor_item(&encode_cbor(&authentication)));
    if !object.device_key.verifies(&signature.message(&payload), signature.signature()) {
        return Err(PresentationError::HolderSignature);
    }
    // What the device signs by itself never becomes a claim: an issuer has not confirmed it.
    for (namespace, element) in document.device_signed_elements()? {
        if !object.authorizes(&namespace, &element) {
            return Err(PresentationError::KeyNotAuthorized);
        }
    }
    Ok(())
}

fn as_unsigned(value: &Cbor) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}
