//! COSE signatures with one signer (RFC 9052 §4.2, RFC 9360).

use ciborium::Value as Cbor;
use coset::iana::EnumI64;
use coset::{AsCborValue, CoseSign1, Label, RegisteredLabelWithPrivate};

use crate::cbor::parse_cbor;
use crate::presentation_error::PresentationError;
use crate::signature::CredentialAlg;

/// Header parameter `x5chain` (RFC 9360 §2).
const X5CHAIN: i64 = 33;

/// A `COSE_Sign1` that is not verified yet.
pub(super) struct Signature1(CoseSign1);

impl Signature1 {
    pub(super) fn parse(value: &Cbor) -> Result<Self, PresentationError> {
        // coset parses the protected header by itself, leniently.
        let protected = value.as_array().and_then(|parts| parts.first()?.as_bytes());
        let protected = protected.ok_or(PresentationError::Malformed)?;
        if !protected.is_empty() {
            parse_cbor(protected)?;
        }
        let parsed = CoseSign1::from_cbor_value(value.clone());
        parsed.map(Self).map_err(|_| PresentationError::Malformed)
    }

    /// Returns the algorithm of the protected header if it is one of the accepted ones.
    pub(super) fn accepted_alg(&self, accepted: &[CredentialAlg]) -> Option<CredentialAlg> {
        let claimed = match self.0.protected.header.alg.as_ref()? {
            RegisteredLabelWithPrivate::Assigned(alg) => alg.to_i64(),
            RegisteredLabelWithPrivate::PrivateUse(alg) => *alg,
            RegisteredLabelWithPrivate::Text(_) => return None,
        };
        accepted.iter().copied().find(|alg| alg.cose_ids().contains(&claimed))
    }

    /// Returns true if a header demands an extension: the hub knows none (RFC 9052 §3.1).
    pub(super) fn demands_extension(&self) -> bool {
        !self.0.protected.header.crit.is_empty() || !self.0.unprotected.crit.is_empty()
    }

    /// Returns the certificates of `x5chain` in DER, the signer's first. ISO/IEC 18013-5 §9.1.2.4
    /// puts them into the unprotected header.
    pub(super) fn certificate_chain(&self) -> Result<Vec<Vec<u8>>, PresentationError> {
        let rest = &self.0.unprotected.rest;
        let chain = rest.iter().find(|(label, _)| *label == Label::Int(X5CHAIN));
        let (_, chain) = chain.ok_or(PresentationError::CertificateMissing)?;
        let certificates = match chain {
            Cbor::Bytes(certificate) => Some(vec![certificate.clone()]),
            Cbor::Array(chain) => chain.iter().map(|part| part.as_bytes().cloned()).collect(),
            _ => None,
        };
        certificates.ok_or(PresentationError::CertificateMalformed)
    }

    pub(super) fn payload(&self) -> Option<&[u8]> {
        self.0.payload.as_deref()
    }

    /// Returns what the signature covers, for the attached or the detached payload.
    pub(super) fn message(&self, payload: &[u8]) -> Vec<u8> {
        coset::sig_structure_data(
            coset::SignatureContext::CoseSign1,
            self.0.protected.clone(),
            None,
            &[],
            payload,
        )
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.0.signature
    }
}
