//! What a careful service provider checks before it believes anything (R156): OpenID Connect Core 3.1.3.7 and 5.3.2.
//!
//! Owns: the rules. Must not know: HTTP, cookies, pages.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::protocol::alg::SigningAlg;
use crate::protocol::json;
use crate::token::UpstreamKeys;
use crate::token::open::{Sealing, UnsealFault, open_jwe};
use crate::token::verify::{
    Expiry, OpenFault, Opened, TimeFault, VerificationKeys, check_times, open_jws,
};

/// How far the hub's clock may be from ours.
const TOLERANCE: Duration = Duration::from_secs(60);

/// What this service provider was registered with, and what it sent with this login.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub alg: SigningAlg,
    /// How both tokens are sealed, and the keys that open them; `None` where they are only signed.
    pub seal: Option<(Sealing, &'a UpstreamKeys)>,
    pub nonce: &'a str,
    /// The least it asked for.
    pub acr: Level,
}

/// A token that broke no rule.
pub struct Proven {
    /// The JWE's header, where it came sealed.
    pub seal: Option<Map<String, Value>>,
    /// As it was signed, no longer sealed.
    pub compact: Secret<String>,
    pub jws: Opened,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    Id,
    Userinfo,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Id => "The ID token",
            Self::Userinfo => "The userinfo answer",
        })
    }
}

/// Why nothing of an answer was used. Carries nothing of the answer.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    #[error("{0} can not be trusted: {1}.")]
    Jws(Token, OpenFault),
    #[error("{0} can not be decrypted: {1}.")]
    Jwe(Token, UnsealFault),
    #[error("{0} is encrypted to a key that is not ours.")]
    OtherKey(Token),
    #[error("{0} names another issuer.")]
    Issuer(Token),
    #[error("{0} is meant for another client.")]
    Audience(Token),
    #[error("{0} is not valid now: {1}.")]
    Times(Token, TimeFault),
    #[error("The ID token belongs to another sign-in (its nonce differs).")]
    Nonce,
    #[error("The ID token has no subject.")]
    NoSubject,
    #[error("The level of assurance is missing, unknown or lower than the one asked.")]
    Acr,
    #[error("The userinfo answer is about somebody else (its sub differs from the ID token's).")]
    Subject,
}

/// A proven ID token.
///
/// # Errors
/// The first rule that it breaks.
pub fn id_token(
    token: &str,
    keys: &VerificationKeys,
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<Proven, Refusal> {
    let proven = open(Token::Id, token, keys, expected, now)?;
    if text(&proven, "nonce") != Some(expected.nonce) {
        return Err(Refusal::Nonce); // Core 3.1.3.7, 11: an ID token replayed from another sign-in
    }
    subject(&proven)?;
    let acr: Option<Level> =
        proven.jws.claims.get("acr").and_then(|acr| serde_json::from_value(acr.clone()).ok());
    if acr.is_none_or(|acr| acr < expected.acr) {
        return Err(Refusal::Acr); // Core 3.1.3.7, 12
    }
    Ok(proven)
}

/// A proven userinfo answer about the subject of a proven ID token.
///
/// # Errors
/// The first rule that it breaks.
pub fn userinfo(
    token: &str,
    keys: &VerificationKeys,
    expected: &Expected<'_>,
    id_token: &Proven,
    now: Timestamp,
) -> Result<Proven, Refusal> {
    let proven = open(Token::Userinfo, token, keys, expected, now)?;
    if text(&proven, "sub") != Some(subject(id_token)?) {
        return Err(Refusal::Subject); // Core 5.3.2: token substitution
    }
    Ok(proven)
}

fn open(
    kind: Token,
    token: &str,
    keys: &VerificationKeys,
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<Proven, Refusal> {
    let unsealed = match expected.seal {
        None => None,
        Some((sealing, own)) => {
            Some(open_jwe(token, sealing, own, now).map_err(|fault| match fault {
                UnsealFault::UnknownKey => Refusal::OtherKey(kind),
                fault => Refusal::Jwe(kind, fault),
            })?)
        }
    };
    // Who sealed it is unknown, for our public key is everyone's: only the signature inside proves anything.
    let signed = unsealed.as_ref().map_or(token, |jws| jws.reveal().as_str());
    let jws = open_jws(signed, expected.alg, keys).map_err(|fault| Refusal::Jws(kind, fault))?;
    let compact = Secret::new(signed.to_owned());
    let proven = Proven { seal: unsealed.as_ref().and_then(|_| header(token)), compact, jws };
    if text(&proven, "iss") != Some(expected.issuer) {
        return Err(Refusal::Issuer(kind)); // Core 3.1.3.7, 2
    }
    // R035, R054: a string. A list would name audiences that we do not know.
    if text(&proven, "aud") != Some(expected.client_id) {
        return Err(Refusal::Audience(kind)); // Core 3.1.3.7, 3
    }
    check_times(&proven.jws.claims, Expiry::Required, now, TOLERANCE)
        .map_err(|fault| Refusal::Times(kind, fault))?;
    Ok(proven)
}

/// The header of a compact token that has been opened.
fn header(compact: &str) -> Option<Map<String, Value>> {
    let (header, _) = compact.split_once('.')?;
    json::parse_object(&digest::from_base64url(header)?).ok()
}

fn subject(token: &Proven) -> Result<&str, Refusal> {
    text(token, "sub").filter(|sub| !sub.is_empty()).ok_or(Refusal::NoSubject)
}

fn text<'a>(token: &'a Proven, name: &str) -> Option<&'a str> {
    token.jws.claims.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::digest::base64url;
    use crate::token::keyring::tests::{RING, T0};
    use crate::token::{Keyring, Signer as _};

    const EXPECTED: Expected<'static> = Expected {
        issuer: "https://hub.test/api/v2",
        client_id: "demo",
        alg: SigningAlg::ES256,
        seal: None,
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

    async fn judged(name: &str, value: Value) -> Result<(), Refusal> {
        let mut claims = good();
        claims.insert(name.into(), value);
        id_token(&signed(&RING, &claims).await, &keys(), &EXPECTED, T0).map(|_| ())
    }

    #[tokio::test]
    async fn honest_answers_are_believed() {
        let opened = id_token(&signed(&RING, &good()).await, &keys(), &EXPECTED, T0).unwrap();
        userinfo(&signed(&RING, &good()).await, &keys(), &EXPECTED, &opened, T0).unwrap();
    }

    #[tokio::test]
    async fn forged_id_tokens_are_refused_by_the_rule_they_break() {
        let now = T0.seconds();
        for (name, value, refusal) in [
            ("iss", json!("https://evil.test"), Refusal::Issuer(Token::Id)),
            ("iss", json!("https://hub.test/api/v2/"), Refusal::Issuer(Token::Id)),
            ("aud", json!("another"), Refusal::Audience(Token::Id)),
            ("aud", json!(["demo", "another"]), Refusal::Audience(Token::Id)),
            ("nonce", json!("n-of-another-sign-in"), Refusal::Nonce),
            ("nonce", Value::Null, Refusal::Nonce),
            ("exp", json!(now - 60), Refusal::Times(Token::Id, TimeFault::Expired)),
            ("exp", Value::Null, Refusal::Times(Token::Id, TimeFault::Malformed)),
            ("iat", json!(now + 61), Refusal::Times(Token::Id, TimeFault::Future)),
            ("nbf", json!(now + 61), Refusal::Times(Token::Id, TimeFault::NotYet)),
            ("sub", json!(""), Refusal::NoSubject),
            ("acr", json!("eidas9"), Refusal::Acr),
            ("acr", Value::Null, Refusal::Acr),
        ] {
            assert_eq!(judged(name, value).await, Err(refusal), "{name}");
        }
        assert_eq!(judged("exp", json!(now - 59)).await, Ok(()), "clocks may differ by a minute");
    }

    #[tokio::test]
    async fn level_below_the_one_asked_is_refused() {
        let token = signed(&RING, &good()).await;
        let high = Expected { acr: Level::Eidas2, ..EXPECTED };
        assert!(id_token(&token, &keys(), &high, T0).is_err_and(|refusal| refusal == Refusal::Acr));
    }

    #[tokio::test]
    async fn signature_of_another_key_none_and_changed_claims_are_refused() {
        let token = signed(&RING, &good()).await;
        let refused =
            |token: &str| id_token(token, &keys(), &EXPECTED, T0).map(|_| ()).unwrap_err();

        let [header, _, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
        let mut claims = good();
        claims.insert("sub".into(), "root".into());
        let payload = base64url(&serde_json::to_vec(&claims).unwrap());
        assert_eq!(
            refused(&format!("{header}.{payload}.{signature}")),
            Refusal::Jws(Token::Id, OpenFault::Signature)
        );

        let none = base64url(br#"{"alg":"none"}"#);
        assert_eq!(
            refused(&format!("{none}.{payload}.")),
            Refusal::Jws(Token::Id, OpenFault::Algorithm)
        );

        let stranger = Keyring::ephemeral(T0).unwrap();
        assert_eq!(
            refused(&signed(&stranger, &good()).await),
            Refusal::Jws(Token::Id, OpenFault::UnknownKey)
        );

        let rsa = RING
            .sign(SigningAlg::RS256, "JWT", &serde_json::to_vec(&good()).unwrap(), T0)
            .await
            .unwrap();
        assert_eq!(refused(&rsa), Refusal::Jws(Token::Id, OpenFault::Algorithm));
    }

    #[tokio::test]
    async fn userinfo_of_another_subject_issuer_or_client_is_refused() {
        let opened = id_token(&signed(&RING, &good()).await, &keys(), &EXPECTED, T0).unwrap();
        for (name, value, refusal) in [
            ("sub", json!("another"), Refusal::Subject),
            ("sub", Value::Null, Refusal::Subject),
            ("iss", json!("https://evil.test"), Refusal::Issuer(Token::Userinfo)),
            ("aud", json!("another"), Refusal::Audience(Token::Userinfo)),
            ("exp", json!(1), Refusal::Times(Token::Userinfo, TimeFault::Expired)),
        ] {
            let mut claims = good();
            claims.insert(name.into(), value);
            let token = signed(&RING, &claims).await;
            assert_eq!(
                userinfo(&token, &keys(), &EXPECTED, &opened, T0).map(|_| ()),
                Err(refusal),
                "{name}"
            );
        }
    }
}
