//! Signature algorithms of credentials, keys of holders, and the JWS form that SD-JWTs, status
//! lists and trust lists share.
//!
//! Responsible for who may sign with what. Does not depend on what is signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use josekit::jwk::Jwk;
use josekit::jws::alg::ecdsa::EcdsaJwsAlgorithm;
use josekit::jws::{ES256, ES384, ES512, JwsVerifier, PS256, RS256};
use openssl::pkey::{PKeyRef, Public};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use passerelle_protocol::digest;
use passerelle_protocol::json::parse_object;

/// Signature algorithm of issuers and holders: ECDSA only (RFC 7518 §3.4; RFC 9053 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
pub enum CredentialAlg {
    /// P-256, the one that HAIP 1.0 §7 demands.
    ES256,
    /// P-384.
    ES384,
    /// P-521.
    ES512,
}

impl CredentialAlg {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::ES256, Self::ES384, Self::ES512];

    /// Returns the JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::ES512 => "ES512",
        }
    }

    /// Returns the COSE identifiers: the polymorphic one, and the fully specified one (RFC 9864).
    pub const fn cose_ids(self) -> [i64; 2] {
        match self {
            Self::ES256 => [-7, -9],
            Self::ES384 => [-35, -51],
            Self::ES512 => [-36, -52],
        }
    }

    /// Returns the name of the curve in a JWK.
    pub const fn curve(self) -> &'static str {
        match self {
            Self::ES256 => "P-256",
            Self::ES384 => "P-384",
            Self::ES512 => "P-521",
        }
    }

    const fn coordinate_bytes(self) -> usize {
        match self {
            Self::ES256 => 32,
            Self::ES384 => 48,
            Self::ES512 => 66,
        }
    }

    const fn jose(self) -> EcdsaJwsAlgorithm {
        match self {
            Self::ES256 => ES256,
            Self::ES384 => ES384,
            Self::ES512 => ES512,
        }
    }

    /// Verifies a signature (`r` and `s`, as JOSE and COSE write it) with the key of a certificate.
    /// False for a key on another curve.
    pub fn verifies(self, key: &PKeyRef<Public>, message: &[u8], signature: &[u8]) -> bool {
        let verifier =
            key.public_key_to_der().ok().and_then(|der| self.jose().verifier_from_der(der).ok());
        verifier.is_some_and(|verifier| verifier.verify(message, signature).is_ok())
    }
}

/// Key of a holder, to which a credential is bound.
#[derive(Clone)]
pub struct HolderKey {
    alg: CredentialAlg,
    jwk: Jwk,
}

impl HolderKey {
    /// Parses a public JWK; `None` if it is private, malformed or of another type or curve.
    pub fn from_jwk(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let curve = text("crv").filter(|_| text("kty") == Some("EC"))?;
        let for_signatures = jwk.get("use").is_none_or(|purpose| purpose == "sig");
        if jwk.contains_key("d") || !for_signatures {
            return None;
        }
        let alg = CredentialAlg::ALL.into_iter().find(|alg| alg.curve() == curve)?;
        let coordinate = |name: &str| digest::from_base64url(text(name)?);
        Self::from_coordinates(alg, &coordinate("x")?, &coordinate("y")?)
    }

    /// Creates a key from its point; `None` if the point is not on the curve of the algorithm.
    pub fn from_coordinates(alg: CredentialAlg, x: &[u8], y: &[u8]) -> Option<Self> {
        if x.len() != alg.coordinate_bytes() || y.len() != alg.coordinate_bytes() {
            return None;
        }
        let (x, y) = (digest::base64url(x), digest::base64url(y));
        let members = json!({ "kty": "EC", "crv": alg.curve(), "x": x, "y": y });
        let jwk = Jwk::from_map(members.as_object()?.clone()).ok()?;
        alg.jose().verifier_from_jwk(&jwk).ok()?;
        Some(Self { alg, jwk })
    }

    /// Returns the algorithm that the curve of the key allows.
    pub const fn alg(&self) -> CredentialAlg {
        self.alg
    }

    /// Verifies a signature of this key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verifier = self.alg.jose().verifier_from_jwk(&self.jwk);
        verifier.is_ok_and(|verifier| verifier.verify(message, signature).is_ok())
    }
}

/// A compact JWS that is not verified yet.
pub struct UnverifiedJws<'a> {
    pub header: Map<String, Value>,
    pub claims: Map<String, Value>,
    /// What the signature covers.
    pub message: &'a str,
    pub signature: Vec<u8>,
}

impl<'a> UnverifiedJws<'a> {
    /// Parses header and payload as JSON objects without repeated members.
    pub fn parse(compact: &'a str) -> Option<Self> {
        let (message, signature) = compact.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let object = |part: &str| parse_object(&digest::from_base64url(part)?).ok();
        Some(Self {
            header: object(header)?,
            claims: object(payload)?,
            message,
            signature: digest::from_base64url(signature)?,
        })
    }

    /// Returns a text of the header.
    pub fn header_text(&self, name: &str) -> Option<&str> {
        self.header.get(name).and_then(Value::as_str)
    }

    /// Returns the algorithm of the header if it is one of the accepted ones: the verifier chooses,
    /// not the token (RFC 8725 §3.1). Stops `none`, and HS256 keyed with a public key.
    pub fn accepted_alg(&self, accepted: &[CredentialAlg]) -> Option<CredentialAlg> {
        let claimed = self.header_text("alg")?;
        accepted.iter().copied().find(|alg| alg.as_str() == claimed)
    }

    /// Returns true if the header demands an extension: the hub knows none (RFC 7515 §4.1.11).
    pub fn demands_extension(&self) -> bool {
        self.demands_extension_except("")
    }

    /// Returns true if the header demands another extension than this one.
    pub fn demands_extension_except(&self, known: &str) -> bool {
        let is_known = |names: &Value| {
            names.as_array().is_some_and(|names| names.iter().all(|name| name == known))
        };
        self.header.contains_key("b64") || !self.header.get("crit").is_none_or(is_known)
    }

    /// Verifies the signature of a trust list, whose operators also sign with RSA; `None` if the
    /// algorithm is not accepted.
    pub fn verify_trust_list_signature(&self, key: &PKeyRef<Public>) -> Option<bool> {
        let message = self.message.as_bytes();
        if let Some(alg) = self.accepted_alg(&CredentialAlg::ALL) {
            return Some(alg.verifies(key, message, &self.signature));
        }
        let der = key.public_key_to_der().ok()?;
        let verify = |verifier: &dyn JwsVerifier| verifier.verify(message, &self.signature).is_ok();
        match self.header_text("alg")? {
            "RS256" => Some(RS256.verifier_from_der(der).is_ok_and(|verifier| verify(&verifier))),
            "PS256" => Some(PS256.verifier_from_der(der).is_ok_and(|verifier| verify(&verifier))),
            _ => None,
        }
    }

    /// Returns the certificates of `x5c` in DER, the signer's first; `None` if it is absent or
    /// malformed.
    pub fn certificate_chain(&self) -> Option<Vec<Vec<u8>>> {
        let chain = self.header.get("x5c")?.as_array()?;
        chain.iter().map(|part| STANDARD.decode(part.as_str()?).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[A-Za-z0-9_.-]{0,200}") {
            let _read = UnverifiedJws::parse(&text);
        }
    }
}
