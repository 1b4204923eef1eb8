//! Makes DPoP proofs (RFC 9449 §4.2): the hub as a client of identity providers.
//!
//! A key serves one login, so that nothing links a person's logins, a lost key is worth one login,
//! and no key needs rotation. It is stored with the login, so that any node completes it.

use josekit::jws::JwsSigner;
use serde_json::{Map, Value, json};

use super::signing_key::{self, KeyError, PrivateJwk};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;

/// The algorithm of the hub's proofs.
pub const DPOP_CLIENT_ALG: SigningAlg = SigningAlg::ES256;

/// The key of one login's proofs.
pub struct DpopKey {
    public: Map<String, Value>,
    thumbprint: String,
    signer: Box<dyn JwsSigner>,
}

impl DpopKey {
    /// Generates a private key.
    ///
    /// # Errors
    /// `Generation` if OpenSSL fails.
    pub fn generate() -> Result<PrivateJwk, KeyError> {
        signing_key::generate_ephemeral(DPOP_CLIENT_ALG)
    }

    /// Parses a private key that [`Self::generate`] made.
    ///
    /// # Errors
    /// `UnsupportedType` or `Unusable` for any other.
    pub fn parse(private: &PrivateJwk) -> Result<Self, KeyError> {
        let half = signing_key::identified_public_half(private)?;
        if half.alg != DPOP_CLIENT_ALG {
            return Err(KeyError::UnsupportedType);
        }
        let signer = signing_key::build_signer(half.alg, private.reveal())?;
        Ok(Self { public: half.jwk, thumbprint: half.kid, signer })
    }

    /// Returns the thumbprint (RFC 7638), for `dpop_jkt`.
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// Returns a proof with these claims; `None` if OpenSSL fails.
    pub fn sign_proof(&self, claims: &Map<String, Value>) -> Option<String> {
        let header =
            json!({ "typ": "dpop+jwt", "alg": DPOP_CLIENT_ALG.as_str(), "jwk": self.public });
        let part = |json: String| digest::base64url(json.as_bytes());
        let mut proof = format!("{}.{}", part(header.to_string()), part(json!(claims).to_string()));
        let signature = self.signer.sign(proof.as_bytes()).ok()?;
        proof.push('.');
        proof.push_str(&digest::base64url(&signature));
        Some(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dpop_proof::DpopProof;

    #[test]
    fn a_proof_has_the_form_that_servers_verify_and_nothing_private() {
        let key = DpopKey::parse(&DpopKey::generate().unwrap()).unwrap();
        let claims = json!({ "htm": "POST", "jti": "1" });
        let proof = key.sign_proof(claims.as_object().unwrap()).unwrap();
        let verified = DpopProof::parse(&proof).unwrap();
        verified.verify().unwrap();
        assert_eq!(verified.thumbprint(), key.thumbprint());
        assert_eq!(Value::Object(verified.unverified_claims().clone()), claims);
        let header = digest::from_base64url(proof.split('.').next().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert!(header["jwk"].get("d").is_none());
    }

    #[test]
    fn only_a_key_of_its_own_kind_makes_proofs() {
        let rsa = signing_key::generate_ephemeral(SigningAlg::RS256).unwrap();
        assert_eq!(DpopKey::parse(&rsa).err(), Some(KeyError::UnsupportedType));
    }
}
