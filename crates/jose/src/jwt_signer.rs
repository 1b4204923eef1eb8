//! Signs JWTs: ID tokens, userinfo, introspection responses and assertions. Defines the claims of
//! ID tokens and userinfo (R030 to R040, R050 to R054).

use arc_swap::ArcSwap;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::key_device::KeyDeviceError;
use super::keyring::Keyring;
use super::signing_key::{SignatureError, SigningKey};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::Timestamp;

/// Why signing failed; always an error of the hub.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum SigningError {
    #[error("there is no {} key that signs now", .0.as_str())]
    NoKey(SigningAlg),
    #[error("signing failed")]
    Signature,
    /// The device that holds the key failed.
    #[error(transparent)]
    Device(#[from] KeyDeviceError),
    #[error("the claims could not be serialized to JSON")]
    Payload,
}

impl From<SignatureError> for SigningError {
    fn from(error: SignatureError) -> Self {
        match error {
            SignatureError::Local => Self::Signature,
            SignatureError::Device(error) => Self::Device(error),
        }
    }
}

/// Signs for the hub, with keys in memory or in a device.
#[async_trait]
pub trait Signer: Send + Sync {
    /// Returns a compact JWS (RFC 7515 §7.1) over `payload`, with `alg`, `typ` and `kid` in its
    /// header, signed with the key of `alg` that is current at `now`.
    ///
    /// # Errors
    /// `NoKey`, `Signature` or `Device`.
    async fn sign(
        &self,
        alg: SigningAlg,
        typ: &str,
        payload: &[u8],
        now: Timestamp,
    ) -> Result<String, SigningError>;

    /// Returns false if a key of `alg` is current and its device has failed. Known from memory.
    fn is_available(&self, _alg: SigningAlg, _now: Timestamp) -> bool {
        true
    }
}

#[async_trait]
impl Signer for Keyring {
    async fn sign(
        &self,
        alg: SigningAlg,
        typ: &str,
        payload: &[u8],
        now: Timestamp,
    ) -> Result<String, SigningError> {
        let key = self.current(alg, now).ok_or(SigningError::NoKey(alg))?;
        let header = key.header(typ);
        // Fits an RSA-2048 signature; only larger keys reallocate.
        let mut token =
            String::with_capacity(header.len() + payload.len().div_ceil(3) * 4 + 2 + 343);
        token.push_str(&header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = key.sign(token.as_bytes()).await?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    fn is_available(&self, alg: SigningAlg, now: Timestamp) -> bool {
        self.current(alg, now).is_none_or(SigningKey::is_available)
    }
}

/// The ring that is replaced when the key folder changes.
#[async_trait]
impl Signer for ArcSwap<Keyring> {
    async fn sign(
        &self,
        alg: SigningAlg,
        typ: &str,
        payload: &[u8],
        now: Timestamp,
    ) -> Result<String, SigningError> {
        self.load_full().sign(alg, typ, payload, now).await
    }

    fn is_available(&self, alg: SigningAlg, now: Timestamp) -> bool {
        self.load().is_available(alg, now)
    }
}

/// Signs claims as a JWT with this `typ`.
///
/// # Errors
/// As [`Signer::sign`], and `Payload`, which no claims of this module cause.
pub async fn sign_jwt(
    signer: &(impl Signer + ?Sized),
    alg: SigningAlg,
    typ: &str,
    claims: &(impl Serialize + Sync),
    now: Timestamp,
) -> Result<String, SigningError> {
    let payload = serde_json::to_vec(claims).map_err(|_| SigningError::Payload)?;
    signer.sign(alg, typ, &payload, now).await
}

/// Claims of an ID token (R033 to R040); without `at_hash`.
#[derive(Clone, Serialize)]
pub struct IdTokenClaims<'a> {
    /// Issuer, as in the discovery document (R034).
    pub iss: &'a str,
    /// Pairwise (R037).
    pub sub: &'a str,
    /// The client id, as a string and not a list (R035).
    pub aud: &'a str,
    #[serde(serialize_with = "unix_seconds")]
    pub exp: Timestamp,
    #[serde(serialize_with = "unix_seconds")]
    pub iat: Timestamp,
    /// Absent if it is not known and no rule demands it (OpenID Connect Core 1.0 §2).
    #[serde(serialize_with = "optional_unix_seconds", skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
    /// As in the authorization request (R036); absent if none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<&'a str>,
    /// Level achieved (R038), or a level name of the service provider.
    pub acr: &'a str,
    /// Only when requested (R039, R066).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amr: Option<&'a [String]>,
    /// Session at this service provider, if it receives logout tokens (OpenID Connect Back-Channel
    /// Logout 1.0 §2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sid: Option<&'a str>,
    /// Identity claims requested in the ID token (OpenID Connect Core §5.5); none has a name of
    /// those above.
    #[serde(flatten)]
    pub identity: Option<&'a Map<String, Value>>,
}

/// Claims of a userinfo response (R050 to R054).
#[derive(Clone)]
pub struct UserinfoClaims<'a> {
    /// The identity claims of the granted scopes.
    pub identity: &'a Map<String, Value>,
    /// Equal to the ID token's (R053).
    pub sub: &'a str,
    /// The client id, as a string (R054).
    pub aud: &'a str,
    /// The access token's expiry (R054).
    pub exp: Timestamp,
    pub iat: Timestamp,
    pub iss: &'a str,
}

impl Serialize for UserinfoClaims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("sub", self.sub)?;
        for (name, value) in self.identity {
            // A claim named `sub` or `aud` from an identity source must not stand beside the hub's
            // own, because a reader may take either. Claims without a value are omitted.
            let reserved =
                matches!(name.as_str(), "sub" | "aud" | "exp" | "iat" | "iss" | "nbf" | "jti");
            if !reserved && !value.is_null() {
                members.serialize_entry(name, value)?;
            }
        }
        members.serialize_entry("aud", self.aud)?;
        members.serialize_entry("exp", &self.exp.seconds())?;
        members.serialize_entry("iat", &self.iat.seconds())?;
        members.serialize_entry("iss", self.iss)?;
        members.end()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(super) fn unix_seconds<S: Serializer>(
    at: &Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.seconds())
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn optional_unix_seconds<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    at.map(Timestamp::seconds).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use josekit::jwk::JwkSet;
    use josekit::jws::{ES256, RS256};
    use serde_json::json;

    use super::*;
    use crate::keyring::JWKS_MAX_AGE;
    use crate::testing::sample_keys::{RING, T0};
    use passerelle_protocol::digest::from_base64url;

    fn parts(token: &str) -> (Value, Value) {
        let mut parts = token.split('.').map(|part| from_base64url(part).unwrap());
        let mut object = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
        (object(), object())
    }

    /// Verifies with josekit alone, against the published key set.
    fn verify(token: &str) {
        let (header, _) = parts(token);
        let set = JwkSet::from_bytes(RING.jwks(T0, JWKS_MAX_AGE)).unwrap();
        let key = *set.get(header["kid"].as_str().unwrap()).first().unwrap(); // R031
        match header["alg"].as_str().unwrap() {
            "ES256" => {
                josekit::jws::deserialize_compact(token, &ES256.verifier_from_jwk(key).unwrap())
                    .unwrap()
            }
            "RS256" => {
                josekit::jws::deserialize_compact(token, &RS256.verifier_from_jwk(key).unwrap())
                    .unwrap()
            }
            other => panic!("{other}"),
        };
    }

    fn id_token() -> IdTokenClaims<'static> {
        IdTokenClaims {
            iss: "https://hub.test/api/v2",
            sub: "pairwise",
            aud: "client",
            exp: T0 + Duration::from_millis(60_900),
            iat: T0,
            auth_time: Some(T0 - Duration::from_secs(5)),
            nonce: Some("n-0S6_WzA2Mj-n-0S6_WzA2Mj"),
            acr: "eidas1",
            amr: None,
            sid: None,
            identity: None,
        }
    }

    #[tokio::test]
    async fn header_is_alg_typ_kid_of_a_published_key() {
        // R030, R031, R032
        for alg in [SigningAlg::ES256, SigningAlg::RS256] {
            let token = sign_jwt(&**RING, alg, "JWT", &id_token(), T0).await.unwrap();
            verify(&token);
            let (header, _) = parts(&token);
            let kid = &RING.current(alg, T0).unwrap().kid;
            assert_eq!(header, json!({ "alg": alg.as_str(), "typ": "JWT", "kid": kid }));
        }
    }

    #[tokio::test]
    async fn a_configured_typ_is_written() {
        let token =
            RING.sign(SigningAlg::ES256, "token-introspection+jwt", b"{}", T0).await.unwrap();
        verify(&token);
        assert_eq!(parts(&token).0["typ"], "token-introspection+jwt");
    }

    #[tokio::test]
    async fn id_token_has_exactly_the_claims_of_the_specification() {
        // R033 to R036, R038, R040: integers, aud a string, no at_hash
        let (_, payload) =
            parts(&sign_jwt(&**RING, SigningAlg::ES256, "JWT", &id_token(), T0).await.unwrap());
        let expected = json!({
            "iss": "https://hub.test/api/v2", "sub": "pairwise", "aud": "client", "exp": T0.seconds() + 60,
            "iat": T0.seconds(), "auth_time": T0.seconds() - 5, "nonce": "n-0S6_WzA2Mj-n-0S6_WzA2Mj", "acr": "eidas1",
        });
        assert_eq!(payload, expected);
    }

    #[test]
    fn amr_and_nonce_appear_only_when_there() {
        // R039, R060
        let amr = ["pwd".to_owned(), "hub".to_owned()];
        let claims = IdTokenClaims { amr: Some(&amr), nonce: None, ..id_token() };
        let payload: Value = serde_json::to_value(&claims).unwrap();
        assert_eq!(payload["amr"], json!(["pwd", "hub"]));
        assert!(payload.get("nonce").is_none());
    }

    #[test]
    fn an_unknown_authentication_time_is_left_out() {
        let claims = IdTokenClaims { auth_time: None, ..id_token() };
        let payload: Value = serde_json::to_value(&claims).unwrap();
        assert!(payload.get("auth_time").is_none() && payload["acr"] == "eidas1", "{payload}");
    }

    #[tokio::test]
    async fn userinfo_is_the_identity_and_the_tokens_frame() {
        // R050, R052 to R054
        let identity = json!({ "given_name": "Ada Maria", "given_name_array": ["Ada", "Maria"], "birthdate": "1985-12-10" });
        let claims = UserinfoClaims {
            identity: identity.as_object().unwrap(),
            sub: "pairwise",
            aud: "client",
            exp: T0 + Duration::from_secs(60),
            iat: T0,
            iss: "https://hub.test/api/v2",
        };
        let token = sign_jwt(&**RING, SigningAlg::RS256, "JWT", &claims, T0).await.unwrap();
        verify(&token);
        let expected = json!({
            "sub": "pairwise", "given_name": "Ada Maria", "given_name_array": ["Ada", "Maria"], "birthdate": "1985-12-10",
            "aud": "client", "exp": T0.seconds() + 60, "iat": T0.seconds(), "iss": "https://hub.test/api/v2",
        });
        assert_eq!(parts(&token).1, expected);
    }

    #[test]
    fn identity_source_cannot_overwrite_the_tokens_frame() {
        let identity = json!({ "sub": "root", "iss": "evil", "aud": "evil", "exp": 1, "iat": 1, "email": null });
        let identity = identity.as_object().unwrap();
        let claims = UserinfoClaims { identity, sub: "s", aud: "a", exp: T0, iat: T0, iss: "i" };
        let payload =
            passerelle_protocol::json::parse_object(&serde_json::to_vec(&claims).unwrap()).unwrap(); // refuses duplicates
        assert_eq!(
            (&payload["sub"], &payload["iss"], &payload["aud"]),
            (&json!("s"), &json!("i"), &json!("a"))
        );
        assert_eq!(payload.len(), 5);
    }

    #[tokio::test]
    async fn key_before_its_time_does_not_sign() {
        let early = T0 - Duration::from_millis(1);
        let error = RING.sign(SigningAlg::ES256, "JWT", b"{}", early).await.unwrap_err();
        assert_eq!(error, SigningError::NoKey(SigningAlg::ES256));
    }

    #[tokio::test]
    async fn swapped_ring_signs_with_its_own_keys() {
        let swap = ArcSwap::new(Arc::clone(&RING));
        verify(&sign_jwt(&swap, SigningAlg::ES256, "JWT", &id_token(), T0).await.unwrap());
    }
}
