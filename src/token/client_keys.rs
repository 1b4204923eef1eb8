//! A service provider's public keys: those that prove its signatures, and those that its tokens are sealed to.
//!
//! Owns: what is an acceptable key set. Must not know: where it comes from, whose it is. RFC 7517, 5.

use serde_json::Value;

use super::seal::EncryptionKeys;
use super::verify::{MAX_KEYS, VerificationKeys};
use crate::protocol::json;

/// One key set, each key parsed once. A key whose `use` is absent may serve both purposes.
pub struct ClientKeys {
    /// For the client's assertions (`private_key_jwt`).
    pub verification: VerificationKeys,
    /// For ID tokens and userinfo on the high platform.
    pub encryption: EncryptionKeys,
}

/// Why a key set is refused as a whole. Carries nothing of it.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKeysFault {
    #[error("is no JWK Set: one JSON object with a list `keys` of objects, and no member twice")]
    Malformed,
    #[error("holds more than {MAX_KEYS} keys")]
    TooMany,
    /// Whoever published it can no longer be told from whoever read it.
    #[error(
        "holds a private or symmetric key (d, p, q, dp, dq, qi, oth, k), which must never leave its owner"
    )]
    Private,
    #[error("holds no key that is usable here: EC on P-256, RSA from 2048 bits, or X25519")]
    Empty,
}

const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl ClientKeys {
    /// Reads a JWK Set. A key that is of no use here is skipped.
    ///
    /// # Errors
    /// See [`ClientKeysFault`].
    pub fn from_jwks(bytes: &[u8]) -> Result<Self, ClientKeysFault> {
        let set = json::parse_object(bytes).map_err(|_| ClientKeysFault::Malformed)?;
        let Some(Value::Array(jwks)) = set.get("keys") else {
            return Err(ClientKeysFault::Malformed);
        };
        if !jwks.iter().all(Value::is_object) {
            return Err(ClientKeysFault::Malformed);
        }
        if jwks.len() > MAX_KEYS {
            return Err(ClientKeysFault::TooMany);
        }
        if jwks.iter().any(|jwk| PRIVATE.iter().any(|member| jwk.get(member).is_some())) {
            return Err(ClientKeysFault::Private);
        }
        let verification =
            VerificationKeys::from_jwks(bytes).map_err(|_| ClientKeysFault::Malformed)?;
        let encryption = EncryptionKeys::of(jwks);
        if verification.is_empty() && encryption.is_empty() {
            return Err(ClientKeysFault::Empty);
        }
        Ok(Self { verification, encryption })
    }
}

impl std::fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientKeys({} for signatures)", self.verification.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::token::seal::tests::{EC, RSA, public};

    fn read(set: &Value) -> Result<(usize, bool), ClientKeysFault> {
        let keys = ClientKeys::from_jwks(set.to_string().as_bytes())?;
        Ok((keys.verification.len(), keys.encryption.is_empty()))
    }

    #[test]
    fn a_key_serves_what_its_use_says_and_both_without() {
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
        for member in PRIVATE {
            let mut leaked = public(&RSA, "rsa", &json!({}));
            leaked[member] = "c2VjcmV0".into();
            assert_eq!(
                read(&json!({ "keys": [good, leaked] })),
                Err(ClientKeysFault::Private),
                "{member}"
            );
        }
    }

    #[test]
    fn what_is_no_usable_set_is_refused_by_what_is_wrong_with_it() {
        let key = public(&EC, "ec", &json!({}));
        let many: Vec<_> = std::iter::repeat_n(&key, MAX_KEYS + 1).collect();
        for (set, fault) in [
            (json!({}), ClientKeysFault::Malformed),
            (json!({ "keys": {} }), ClientKeysFault::Malformed),
            (json!({ "keys": [key, 7] }), ClientKeysFault::Malformed),
            (json!({ "keys": [] }), ClientKeysFault::Empty),
            (
                json!({ "keys": [{ "kty": "EC", "crv": "P-521", "kid": "a" }] }),
                ClientKeysFault::Empty,
            ),
            (json!({ "keys": many }), ClientKeysFault::TooMany),
        ] {
            assert_eq!(read(&set), Err(fault));
        }
        assert_eq!(
            ClientKeys::from_jwks(br#"{"keys":[],"keys":[]}"#).unwrap_err(),
            ClientKeysFault::Malformed
        );
    }
}
