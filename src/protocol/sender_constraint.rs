//! Sender-constrained access tokens on the wire: what a request sends to prove possession of a
//! key, and the key that a token is bound to (RFC 9449; RFC 7800 §3.1).
//!
//! Does not verify anything: `token::dpop_proof` reads a proof, `grant::dpop` decides on it.

use serde::{Deserialize, Serialize};

use crate::ids::Secret;

/// Algorithms of DPoP proofs: asymmetric ones only (RFC 9449 §4.3). `Ed25519` is `EdDSA` under its
/// own name (RFC 9864).
pub const DPOP_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];

/// Maximum length of a DPoP proof: holds a key and a signature of RSA with 8192 bits.
pub const MAX_DPOP_PROOF_BYTES: usize = 8 * 1024;

/// Key that an access token is bound to: the member `cnf` (RFC 7800 §3.1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Confirmation {
    /// Thumbprint of the public key of DPoP proofs (RFC 9449 §6.1).
    #[serde(rename = "jkt")]
    DpopKey(String),
}

impl Confirmation {
    /// Returns the type of a token that is bound to this key.
    #[must_use]
    pub const fn token_type(&self) -> &'static str {
        match self {
            Self::DpopKey(_) => "DPoP",
        }
    }

    /// Returns the metric label of the method.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::DpopKey(_) => "dpop",
        }
    }
}

/// What a request sends to prove possession of a key. Not verified.
#[derive(Clone, Debug, Default)]
pub struct SenderEvidence {
    /// The `DPoP` header.
    pub dpop: Option<DpopHeader>,
}

/// The one `DPoP` header of a request, and the method of that request.
#[derive(Clone, Debug)]
pub struct DpopHeader {
    /// As sent, at most [`MAX_DPOP_PROOF_BYTES`].
    pub proof: Secret<String>,
    /// The HTTP method that the proof must name.
    pub method: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_the_member_of_the_standard() {
        let bound = Confirmation::DpopKey("thumbprint".into());
        let written = serde_json::to_string(&bound).unwrap();
        assert_eq!(written, r#"{"jkt":"thumbprint"}"#);
        assert_eq!(serde_json::from_str::<Confirmation>(&written).unwrap(), bound);
    }
}
