//! Verifies userinfo responses (OpenID Connect Core 1.0 §5.3): plain JSON, or a JWS if registered.
//!
//! `openidconnect` is not used, as it supports only RS256 here and does not check `exp`.

use serde_json::{Map, Value};

use crate::error::ConnectorError;
use passerelle_jose::verify::{self, Expiry, JwsError, VerificationKeys};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::json;

/// Expected values of a signed response.
pub struct UserinfoExpectations<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub now: Timestamp,
}

/// Parses a plain JSON response.
///
/// # Errors
/// Returns an error if the body is larger than 64 KiB, encrypted, or not a JSON object.
pub fn parse_plain(body: &[u8]) -> Result<Map<String, Value>, ConnectorError> {
    if body.len() > verify::MAX_JWT_BYTES {
        return Err(ConnectorError::new(
            ErrorCode::UserinfoMalformed,
            "userinfo is larger than 64 KiB",
        ));
    }
    // A compact JWE has five parts, and begins with `{"` in base64url (RFC 7516 §3.1).
    if body.starts_with(b"ey") && memchr::memchr_iter(b'.', body).count() == 4 {
        let message = "userinfo is encrypted; set userinfo_encrypted_response_alg and userinfo_signed_response_alg";
        return Err(ConnectorError::new(ErrorCode::UserinfoEncryption, message));
    }
    json::parse_object(&json::replace_lone_surrogates(body)).map_err(|_| {
        let message = "userinfo is not a JSON object without repeated members; if it is signed, set userinfo_signed_response_alg";
        ConnectorError::new(ErrorCode::UserinfoMalformed, message)
    })
}

/// Returns the body of a JWS or JWE as text.
///
/// # Errors
/// `UserinfoMalformed` if the body is not UTF-8.
pub(crate) fn body_as_text(body: &[u8]) -> Result<&str, ConnectorError> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ConnectorError::new(ErrorCode::UserinfoMalformed, "userinfo is not UTF-8"))?;
    Ok(text.trim_ascii())
}

/// Verifies the signature, issuer, audience and times of a signed response (Core §5.3.4).
///
/// # Errors
/// Returns an error with a distinct code for each failed check. `UserinfoKey` means that the key
/// set may be outdated.
pub fn verify_signed(
    compact: &str,
    alg: SigningAlg,
    keys: &VerificationKeys,
    expected: &UserinfoExpectations<'_>,
) -> Result<Map<String, Value>, ConnectorError> {
    let claims = verify::verify_jws(compact, alg, keys)
        .map_err(|error| match error {
            JwsError::UnknownKey | JwsError::AmbiguousKey => {
                ConnectorError::new(ErrorCode::UserinfoKey, error.to_string())
            }
            JwsError::Signature | JwsError::Algorithm => {
                ConnectorError::new(ErrorCode::UserinfoSignature, error.to_string())
            }
            JwsError::Encrypted => {
                ConnectorError::new(ErrorCode::UserinfoEncryption, error.to_string())
            }
            JwsError::TooLarge | JwsError::Malformed | JwsError::Extension => {
                ConnectorError::new(ErrorCode::UserinfoMalformed, error.to_string())
            }
        })?
        .claims;
    let is_for_hub = claims.get("iss").is_some_and(|iss| iss == expected.issuer)
        && verify::names_audience(&claims, expected.client_id);
    if !is_for_hub {
        return Err(ConnectorError::new(
            ErrorCode::UserinfoAudience,
            "iss is not the connector's issuer, or aud does not contain the connector's client_id",
        ));
    }
    verify::check_time_claims(&claims, Expiry::Optional, expected.now)
        .map_err(|error| ConnectorError::new(ErrorCode::UserinfoTime, error.to_string()))?;
    Ok(claims)
}

/// Checks that the subject is that of the ID token (Core §5.3.2). Stops token substitution.
///
/// # Errors
/// `UserinfoSubject` if the subject is missing or differs.
pub fn check_subject(
    claims: &Map<String, Value>,
    id_token: &Map<String, Value>,
) -> Result<(), ConnectorError> {
    let subject =
        |claims: &Map<String, Value>| claims.get("sub").and_then(Value::as_str).map(str::to_owned);
    match (subject(claims), subject(id_token)) {
        (Some(one), Some(other)) if one == other => Ok(()),
        _ => Err(ConnectorError::new(
            ErrorCode::UserinfoSubject,
            "sub is missing or not that of the ID token",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_in_a_claim_leaves_the_others_readable() {
        let claims = parse_plain(br#"{"sub":"s-1","nickname":"\udead","email":"a@example.org"}"#);
        let claims = claims.unwrap();
        assert_eq!((&claims["sub"], &claims["email"]), (&"s-1".into(), &"a@example.org".into()));
        let id_token = Map::from_iter([("sub".to_owned(), Value::from("s-1"))]);
        assert!(check_subject(&claims, &id_token).is_ok());
    }
}
