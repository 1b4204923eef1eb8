//! Verifies ID token and userinfo response (OpenID Connect Core §3.1.3.7 and §5.3.2; R156).

use serde_json::{Map, Value};

use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::decrypt::{JweAlgorithms, JweDecryptError, decrypt_jwe};
use passerelle_jose::verify::{
    Expiry, JwsError, TimeClaimError, VerificationKeys, VerifiedJws, check_time_claims, verify_jws,
};
use passerelle_protocol::acr::Level;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;

/// Expected values, from the registration and the request.
#[derive(Clone, Copy)]
pub(super) struct ExpectedToken<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub alg: SigningAlg,
    /// Encryption of both tokens and the decryption keys; `None` if they are only signed.
    pub encryption: Option<(JweAlgorithms, &'a RelyingPartyKeys)>,
    pub nonce: &'a str,
    /// Requested level, the lowest accepted.
    pub acr: Level,
}

/// Verified token.
pub(super) struct VerifiedToken {
    /// JWE header, if the token was encrypted.
    pub jwe_header: Option<Map<String, Value>>,
    /// The signed token, decrypted.
    pub compact: Secret<String>,
    pub jws: VerifiedJws,
}

/// Kind of token, for error messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    Id,
    Userinfo,
}

impl std::fmt::Display for TokenKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Id => "The ID token",
            Self::Userinfo => "The userinfo response",
        })
    }
}

/// Error returned when a token is rejected. Holds nothing of the token.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub(super) enum TokenError {
    #[error("{0} can't be trusted: {1}.")]
    Jws(TokenKind, JwsError),
    #[error("{0} can't be decrypted: {1}.")]
    Jwe(TokenKind, JweDecryptError),
    #[error("{0} is encrypted to a key that is not ours.")]
    OtherKey(TokenKind),
    #[error("{0} names another issuer.")]
    Issuer(TokenKind),
    #[error("{0} is meant for another client.")]
    Audience(TokenKind),
    #[error("{0} is not valid now: {1}.")]
    Times(TokenKind, TimeClaimError),
    #[error("The ID token belongs to another sign-in (its nonce differs).")]
    Nonce,
    #[error("The ID token has no subject.")]
    NoSubject,
    #[error("The level of assurance is missing, unknown or lower than the one requested.")]
    Acr,
    #[error("The userinfo response is about another user (its sub differs from the ID token's).")]
    Subject,
}

/// Verifies an ID token.
///
/// # Errors
/// Returns the first rule that it violates.
pub(super) async fn verify_id_token(
    token: &str,
    keys: &VerificationKeys,
    expected: &ExpectedToken<'_>,
    now: Timestamp,
) -> Result<VerifiedToken, TokenError> {
    let verified = decrypt_and_verify(TokenKind::Id, token, keys, expected, now).await?;
    if text(&verified, "nonce") != Some(expected.nonce) {
        return Err(TokenError::Nonce); // Core §3.1.3.7 (11): replay of an ID token from another login
    }
    subject(&verified)?;
    let acr: Option<Level> =
        verified.jws.claims.get("acr").and_then(|acr| serde_json::from_value(acr.clone()).ok());
    if acr.is_none_or(|acr| acr < expected.acr) {
        return Err(TokenError::Acr); // Core §3.1.3.7 (12)
    }
    Ok(verified)
}

/// Verifies a userinfo response for the subject of a verified ID token.
///
/// # Errors
/// Returns the first rule that it violates.
pub(super) async fn verify_userinfo(
    token: &str,
    keys: &VerificationKeys,
    expected: &ExpectedToken<'_>,
    id_token: &VerifiedToken,
    now: Timestamp,
) -> Result<VerifiedToken, TokenError> {
    let verified = decrypt_and_verify(TokenKind::Userinfo, token, keys, expected, now).await?;
    if text(&verified, "sub") != Some(subject(id_token)?) {
        return Err(TokenError::Subject); // Core §5.3.2: token substitution
    }
    Ok(verified)
}

async fn decrypt_and_verify(
    kind: TokenKind,
    token: &str,
    keys: &VerificationKeys,
    expected: &ExpectedToken<'_>,
    now: Timestamp,
) -> Result<VerifiedToken, TokenError> {
    let decrypted = match expected.encryption {
        None => None,
        Some((encryption, own)) => {
            Some(decrypt_jwe(token, encryption, own, now).await.map_err(|error| match error {
                JweDecryptError::UnknownKey => TokenError::OtherKey(kind),
                error => TokenError::Jwe(kind, error),
            })?)
        }
    };
    // Anyone can encrypt to the public key: only the signature inside proves the sender.
    let signed = decrypted.as_ref().map_or(token, |jws| jws.reveal().as_str());
    let jws =
        verify_jws(signed, expected.alg, keys).map_err(|error| TokenError::Jws(kind, error))?;
    let compact = Secret::new(signed.to_owned());
    let verified =
        VerifiedToken { jwe_header: decrypted.as_ref().and_then(|_| header(token)), compact, jws };
    if text(&verified, "iss") != Some(expected.issuer) {
        return Err(TokenError::Issuer(kind)); // Core §3.1.3.7 (2)
    }
    // R035, R054: a string. A list could name unknown audiences.
    if text(&verified, "aud") != Some(expected.client_id) {
        return Err(TokenError::Audience(kind)); // Core §3.1.3.7 (3)
    }
    check_time_claims(&verified.jws.claims, Expiry::Required, now)
        .map_err(|error| TokenError::Times(kind, error))?;
    Ok(verified)
}

/// Returns the header of a compact token.
fn header(compact: &str) -> Option<Map<String, Value>> {
    let (header, _) = compact.split_once('.')?;
    json::parse_object(&digest::from_base64url(header)?).ok()
}

fn subject(token: &VerifiedToken) -> Result<&str, TokenError> {
    text(token, "sub").filter(|sub| !sub.is_empty()).ok_or(TokenError::NoSubject)
}

fn text<'a>(token: &'a VerifiedToken, name: &str) -> Option<&'a str> {
    token.jws.claims.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use std::time::Duration;

    use super::*;
    use passerelle_jose::testing::sample_keys::{RING, T0};
    use passerelle_jose::{Keyring, Signer as _};
    use passerelle_protocol::digest::base64url;

    const EXPECTED: ExpectedToken<'static> = ExpectedToken {
        issuer: "https://hub.test/api/v2",
        client_id: "demo",
        alg: SigningAlg::ES256,
        encryption: None,
        nonce: "n-0123456789012345678901",
        acr: Level::Eidas1,
    };

    fn keys() -> VerificationKeys {
        VerificationKeys::from_jwks(&RING.jwks(T0, Duration::ZERO)).unwrap()
    }

    fn good() -> Map<String, Value> {
        let claims = json!({
            "iss": EXPECTED.issuer, "sub": "pairwise", "aud": "demo", "exp": T0.seconds() + 60, "iat": T0.seconds(),
            "auth_time": T0.seconds(), "nonce": EXPECTED.nonce, "acr": "eidas1",
        });
        claims.as_object().unwrap().clone()
    }

    async fn signed(ring: &Keyring, claims: &Map<String, Value>) -> String {
        ring.sign(SigningAlg::ES256, "JWT", &serde_json::to_vec(claims).unwrap(), T0).await.unwrap()
    }

    async fn verify_with_claim(name: &str, value: Value) -> Result<(), TokenError> {
        let mut claims = good();
        claims.insert(name.into(), value);
        verify_id_token(&signed(&RING, &claims).await, &keys(), &EXPECTED, T0).await.map(|_| ())
    }

    #[tokio::test]
    async fn valid_tokens_are_accepted() {
        let opened =
            verify_id_token(&signed(&RING, &good()).await, &keys(), &EXPECTED, T0).await.unwrap();
        verify_userinfo(&signed(&RING, &good()).await, &keys(), &EXPECTED, &opened, T0)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn forged_id_tokens_are_rejected_by_the_rule_they_violate() {
        let now = T0.seconds();
        for (name, value, refusal) in [
            ("iss", json!("https://evil.test"), TokenError::Issuer(TokenKind::Id)),
            ("iss", json!("https://hub.test/api/v2/"), TokenError::Issuer(TokenKind::Id)),
            ("aud", json!("another"), TokenError::Audience(TokenKind::Id)),
            ("aud", json!(["demo", "another"]), TokenError::Audience(TokenKind::Id)),
            ("nonce", json!("n-of-another-sign-in"), TokenError::Nonce),
            ("nonce", Value::Null, TokenError::Nonce),
            ("exp", json!(now - 60), TokenError::Times(TokenKind::Id, TimeClaimError::Expired)),
            ("exp", Value::Null, TokenError::Times(TokenKind::Id, TimeClaimError::Malformed)),
            (
                "iat",
                json!(now + 61),
                TokenError::Times(TokenKind::Id, TimeClaimError::IssuedInFuture),
            ),
            ("nbf", json!(now + 61), TokenError::Times(TokenKind::Id, TimeClaimError::NotYet)),
            ("sub", json!(""), TokenError::NoSubject),
            ("acr", json!("eidas9"), TokenError::Acr),
            ("acr", Value::Null, TokenError::Acr),
        ] {
            assert_eq!(verify_with_claim(name, value).await, Err(refusal), "{name}");
        }
        assert_eq!(
            verify_with_claim("exp", json!(now - 59)).await,
            Ok(()),
            "clocks may differ by a minute"
        );
    }

    #[tokio::test]
    async fn a_level_below_the_requested_one_is_rejected() {
        let token = signed(&RING, &good()).await;
        let high = ExpectedToken { acr: Level::Eidas2, ..EXPECTED };
        assert!(
            verify_id_token(&token, &keys(), &high, T0)
                .await
                .is_err_and(|refusal| refusal == TokenError::Acr)
        );
    }

    #[tokio::test]
    async fn signature_of_another_key_none_and_changed_claims_are_refused() {
        let token = signed(&RING, &good()).await;
        let refused = async |token: &str| {
            verify_id_token(token, &keys(), &EXPECTED, T0).await.map(|_| ()).unwrap_err()
        };

        let [header, _, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
        let mut claims = good();
        claims.insert("sub".into(), "root".into());
        let payload = base64url(&serde_json::to_vec(&claims).unwrap());
        assert_eq!(
            refused(&format!("{header}.{payload}.{signature}")).await,
            TokenError::Jws(TokenKind::Id, JwsError::Signature)
        );

        let none = base64url(br#"{"alg":"none"}"#);
        assert_eq!(
            refused(&format!("{none}.{payload}.")).await,
            TokenError::Jws(TokenKind::Id, JwsError::Algorithm)
        );

        let stranger = Keyring::ephemeral(T0).unwrap();
        assert_eq!(
            refused(&signed(&stranger, &good()).await).await,
            TokenError::Jws(TokenKind::Id, JwsError::UnknownKey)
        );

        let rsa = RING
            .sign(SigningAlg::RS256, "JWT", &serde_json::to_vec(&good()).unwrap(), T0)
            .await
            .unwrap();
        assert_eq!(refused(&rsa).await, TokenError::Jws(TokenKind::Id, JwsError::Algorithm));
    }

    #[tokio::test]
    async fn userinfo_of_another_subject_issuer_or_client_is_refused() {
        let opened =
            verify_id_token(&signed(&RING, &good()).await, &keys(), &EXPECTED, T0).await.unwrap();
        for (name, value, refusal) in [
            ("sub", json!("another"), TokenError::Subject),
            ("sub", Value::Null, TokenError::Subject),
            ("iss", json!("https://evil.test"), TokenError::Issuer(TokenKind::Userinfo)),
            ("aud", json!("another"), TokenError::Audience(TokenKind::Userinfo)),
            ("exp", json!(1), TokenError::Times(TokenKind::Userinfo, TimeClaimError::Expired)),
        ] {
            let mut claims = good();
            claims.insert(name.into(), value);
            let token = signed(&RING, &claims).await;
            assert_eq!(
                verify_userinfo(&token, &keys(), &EXPECTED, &opened, T0).await.map(|_| ()),
                Err(refusal),
                "{name}"
            );
        }
    }
}
