//! Reads and verifies DPoP proofs (RFC 9449 §4.2 and §4.3): one compact JWS that carries the public
//! key it is signed with.
//!
//! Responsible for the form of a proof, for the keys and algorithms that are accepted, for the
//! thumbprint of the key (RFC 7638) and for the signature. Does not know the request that the proof
//! is for, nonces, or which proofs were used before.

use josekit::jwk::Jwk;
use josekit::jws::JwsVerifier;
use serde_json::{Map, Value};

use super::verify::{PRIVATE_JWK_MEMBERS, build_verifier, decode_object, is_usual_rsa};
use passerelle_protocol::alg::VerificationAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::sender_constraint::MAX_DPOP_PROOF_BYTES;

/// Why a text is not a DPoP proof. Contains nothing of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DpopProofError {
    #[error("it is not a compact JWS of at most 8 KiB")]
    Malformed,
    #[error("its typ is not dpop+jwt")]
    Typ,
    #[error("its alg is not an accepted asymmetric algorithm")]
    Algorithm,
    #[error("its jwk is not a public key that fits its alg")]
    Key,
    #[error("its signature is wrong")]
    Signature,
}

impl DpopProofError {
    /// Returns the catalogue code of the error.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Malformed => ErrorCode::DpopProofMalformed,
            Self::Typ => ErrorCode::DpopProofTyp,
            Self::Algorithm => ErrorCode::DpopProofAlgorithm,
            Self::Key => ErrorCode::DpopProofKey,
            Self::Signature => ErrorCode::DpopProofSignature,
        }
    }
}

/// A well-formed proof whose signature is not verified yet.
pub struct DpopProof<'a> {
    signed: &'a str,
    signature: Vec<u8>,
    key: ProofKey,
    claims: Map<String, Value>,
}

impl<'a> DpopProof<'a> {
    /// Reads a proof.
    ///
    /// # Errors
    /// The first rule of form that it breaks.
    pub fn parse(compact: &'a str) -> Result<Self, DpopProofError> {
        if compact.len() > MAX_DPOP_PROOF_BYTES {
            return Err(DpopProofError::Malformed);
        }
        let (signed, signature) = compact.rsplit_once('.').ok_or(DpopProofError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(DpopProofError::Malformed)?;
        let malformed = |_| DpopProofError::Malformed;
        let header = decode_object(header).map_err(malformed)?;
        let claims = decode_object(payload).map_err(malformed)?;
        let signature = digest::from_base64url(signature).ok_or(DpopProofError::Malformed)?;
        // RFC 7515 §4.1.11, RFC 7797: extensions that the hub doesn't know.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(DpopProofError::Malformed);
        }
        // RFC 9449 §4.2: a type of its own, so that no other JWT of the client passes for a proof.
        let typ = header.get("typ").and_then(Value::as_str);
        if !typ.is_some_and(|typ| typ.eq_ignore_ascii_case("dpop+jwt")) {
            return Err(DpopProofError::Typ);
        }
        let alg = header.get("alg").and_then(Value::as_str).ok_or(DpopProofError::Algorithm)?;
        let alg = VerificationAlg::ALL.into_iter().find(|known| known.is_named(alg));
        let alg = alg.ok_or(DpopProofError::Algorithm)?;
        let jwk = header.get("jwk").and_then(Value::as_object).ok_or(DpopProofError::Key)?;
        let key = ProofKey::read(alg, jwk).ok_or(DpopProofError::Key)?;
        Ok(Self { signed, signature, key, claims })
    }

    /// Returns the thumbprint of the key that the proof carries.
    pub fn thumbprint(&self) -> String {
        self.key.thumbprint()
    }

    /// Returns the claims, which anyone may have written.
    pub const fn unverified_claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// Returns whether FAPI 2.0 accepts its algorithm (FAPI 2.0 Security Profile §5.4.1).
    pub const fn has_fapi_algorithm(&self) -> bool {
        !matches!(self.key.alg, VerificationAlg::RS256)
    }

    /// Verifies the signature with the key that the proof carries.
    ///
    /// # Errors
    /// `Key` if the key is none, for example a point beside its curve; `Signature`.
    pub fn verify(&self) -> Result<(), DpopProofError> {
        let verifier = self.key.verifier().ok_or(DpopProofError::Key)?;
        let verified = verifier.verify(self.signed.as_bytes(), &self.signature);
        verified.map_err(|_| DpopProofError::Signature)
    }
}

/// The required members of a public key, each of base64url characters or a fixed word.
struct ProofKey {
    alg: VerificationAlg,
    /// In the order of RFC 7638 §3.3.
    members: Vec<(&'static str, String)>,
}

impl ProofKey {
    /// Returns `None` for a private key, a key that doesn't fit the algorithm, and an unsound one.
    fn read(alg: VerificationAlg, jwk: &Map<String, Value>) -> Option<Self> {
        // RFC 9449 §4.3, check 7. Anyone who saw the proof could sign with such a key.
        if PRIVATE_JWK_MEMBERS.iter().any(|member| jwk.contains_key(*member)) {
            return None;
        }
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let word = |name: &'static str, expected: &str| {
            (text(name) == Some(expected)).then(|| (name, expected.to_owned()))
        };
        let coordinate = |name: &'static str| {
            let value = text(name)?;
            (digest::from_base64url(value)?.len() == 32).then(|| (name, value.to_owned()))
        };
        let members = match alg {
            VerificationAlg::ES256 => {
                vec![word("crv", "P-256")?, word("kty", "EC")?, coordinate("x")?, coordinate("y")?]
            }
            VerificationAlg::EdDSA => {
                vec![word("crv", "Ed25519")?, word("kty", "OKP")?, coordinate("x")?]
            }
            VerificationAlg::PS256 | VerificationAlg::RS256 => {
                let (e, n) = (text("e")?, text("n")?);
                if !is_usual_rsa(n, e) {
                    return None;
                }
                vec![("e", e.to_owned()), word("kty", "RSA")?, ("n", n.to_owned())]
            }
        };
        Some(Self { alg, members })
    }

    /// Returns SHA-256 of the required members as base64url (RFC 7638 §3).
    fn thumbprint(&self) -> String {
        // No member needs an escape: base64url characters and fixed words.
        let members: Vec<_> =
            self.members.iter().map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
        digest::sha256_base64url(&format!("{{{}}}", members.join(",")))
    }

    fn verifier(&self) -> Option<Box<dyn JwsVerifier>> {
        let members = self.members.iter();
        let members =
            members.map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
        let jwk = Jwk::from_map(members.collect::<Map<_, _>>()).ok()?;
        build_verifier(self.alg, &jwk).ok()
    }
}

#[cfg(test)]
mod tests;
