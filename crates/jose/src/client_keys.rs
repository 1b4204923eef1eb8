//! Public keys of a service provider: for verifying its signatures and for encrypting to it (RFC
//! 7517 §5).
//!
//! Responsible for which key sets are acceptable. Does not know where they come from.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::x509::X509;
use serde_json::Value;

use super::encrypt::EncryptionKeys;
use super::verify::{MAX_KEYS_PER_SET, PRIVATE_JWK_MEMBERS, VerificationKeys};
use passerelle_egress::certificate_expiry::expiry;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::json;

/// A parsed key set. A key without `use` serves both purposes.
#[derive(derive_more::Debug)]
#[debug("ClientKeys({} for signatures)", verification.len())]
pub struct ClientKeys {
    /// Verify the client's assertions (`private_key_jwt`).
    pub verification: VerificationKeys,
    /// Encrypt ID tokens and userinfo on the high platform.
    pub encryption: EncryptionKeys,
    /// Thumbprints of its client certificates, the first of each `x5c`
    /// (`self_signed_tls_client_auth`, RFC 8705 §2.2.2), with their expiry, if it can be read.
    pub certificates: BTreeMap<String, Option<Timestamp>>,
}

/// Why a whole key set is rejected. Contains nothing of it.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKeysError {
    #[error(
        "is not a JWK Set: a JSON object with an array `keys` of objects, without repeated members"
    )]
    Malformed,
    #[error("holds more than {MAX_KEYS_PER_SET} keys")]
    TooMany,
    /// Anyone who read the set can now sign as its owner.
    #[error(
        "holds a private or symmetric key (d, p, q, dp, dq, qi, oth, k), which must never leave its owner"
    )]
    Private,
    #[error("holds no usable key: EC on P-256, RSA of 2048 to 4096 bits, Ed25519, or X25519")]
    Empty,
}

impl ClientKeys {
    /// Parses a JWK Set. Unusable keys are skipped.
    ///
    /// # Errors
    /// See [`ClientKeysError`].
    pub fn from_jwks(bytes: &[u8]) -> Result<Self, ClientKeysError> {
        let set = json::parse_object(bytes).map_err(|_| ClientKeysError::Malformed)?;
        let Some(Value::Array(jwks)) = set.get("keys") else {
            return Err(ClientKeysError::Malformed);
        };
        if !jwks.iter().all(Value::is_object) {
            return Err(ClientKeysError::Malformed);
        }
        if jwks.len() > MAX_KEYS_PER_SET {
            return Err(ClientKeysError::TooMany);
        }
        if jwks.iter().any(|jwk| PRIVATE_JWK_MEMBERS.iter().any(|member| jwk.get(member).is_some()))
        {
            return Err(ClientKeysError::Private);
        }
        let verification =
            VerificationKeys::from_client_jwks(bytes).map_err(|_| ClientKeysError::Malformed)?;
        let encryption = EncryptionKeys::from_jwks(jwks);
        let certificates: BTreeMap<_, _> = jwks.iter().filter_map(read_certificate).collect();
        if verification.is_empty() && encryption.is_empty() && certificates.is_empty() {
            return Err(ClientKeysError::Empty);
        }
        Ok(Self { verification, encryption, certificates })
    }
}

/// Returns the thumbprint and the expiry of the first certificate of `x5c`: base64, not base64url
/// (RFC 7517 §4.7).
fn read_certificate(jwk: &Value) -> Option<(String, Option<Timestamp>)> {
    let der = STANDARD.decode(jwk.get("x5c")?.get(0)?.as_str()?).ok()?;
    let expires_at = X509::from_der(&der).ok().and_then(|certificate| expiry(&certificate));
    Some((digest::base64url(&digest::sha256(&der)), expires_at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::encrypt::tests::{EC, RSA, public};

    fn read(set: &Value) -> Result<(usize, bool), ClientKeysError> {
        let keys = ClientKeys::from_jwks(set.to_string().as_bytes())?;
        Ok((keys.verification.len(), keys.encryption.is_empty()))
    }

    #[test]
    fn a_key_is_used_for_its_use_and_for_both_without_one() {
        for (purpose, expected) in
            [(Some("sig"), (1, true)), (Some("enc"), (0, false)), (None, (1, false))]
        {
            let mut jwk = public(&EC, "ec", &json!({}));
            if let Some(purpose) = purpose {
                jwk["use"] = purpose.into();
            }
            assert_eq!(read(&json!({ "keys": [jwk] })), Ok(expected), "{purpose:?}");
        }
    }

    #[test]
    fn a_set_with_a_published_private_key_is_refused_whole() {
        let good = public(&EC, "ec", &json!({}));
        for member in PRIVATE_JWK_MEMBERS {
            let mut leaked = public(&RSA, "rsa", &json!({}));
            leaked[member] = "c2VjcmV0".into();
            assert_eq!(
                read(&json!({ "keys": [good, leaked] })),
                Err(ClientKeysError::Private),
                "{member}"
            );
        }
    }

    #[test]
    fn what_is_no_usable_set_is_refused_by_what_is_wrong_with_it() {
        let key = public(&EC, "ec", &json!({}));
        let many: Vec<_> = std::iter::repeat_n(&key, MAX_KEYS_PER_SET + 1).collect();
        for (set, error) in [
            (json!({}), ClientKeysError::Malformed),
            (json!({ "keys": {} }), ClientKeysError::Malformed),
            (json!({ "keys": [key, 7] }), ClientKeysError::Malformed),
            (json!({ "keys": [] }), ClientKeysError::Empty),
            (
                json!({ "keys": [{ "kty": "EC", "crv": "P-521", "kid": "a" }] }),
                ClientKeysError::Empty,
            ),
            (json!({ "keys": many }), ClientKeysError::TooMany),
        ] {
            assert_eq!(read(&set), Err(error));
        }
        assert_eq!(
            ClientKeys::from_jwks(br#"{"keys":[],"keys":[]}"#).unwrap_err(),
            ClientKeysError::Malformed
        );
    }
}
