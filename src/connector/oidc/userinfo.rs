//! User information (OpenID Connect Core 1.0, 5.3): plain JSON over TLS, or a JWS where one is registered.
//!
//! Owns: every check on the answer. Must not know: which claims a login needs.
//! The crate is not used here: it knows RS256 only, and does not look at `exp`.

use serde_json::{Map, Value};

use super::id_token::TOLERANCE;
use crate::connector::ConnectorFault;
use crate::env::Timestamp;
use crate::protocol::alg::SigningAlg;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;
use crate::token::verify::{self, Expiry, OpenFault, VerificationKeys};

/// What a signed answer must agree with.
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub now: Timestamp,
}

/// Reads plain JSON.
///
/// # Errors
/// It is longer than 64 KiB or no JSON object.
pub fn plain(body: &[u8]) -> Result<Map<String, Value>, ConnectorFault> {
    if body.len() > verify::MAX_BYTES {
        return Err(ConnectorFault::new(ErrorCode::UserinfoMalformed, "it is longer than 64 KiB"));
    }
    // A compact JWE is five parts, and begins with what `{"` is in base64url (RFC 7516, 3.1).
    if body.starts_with(b"ey") && body.iter().filter(|byte| **byte == b'.').count() == 4 {
        let why =
            "it is encrypted; set userinfo_encrypted_response_alg and userinfo_signed_response_alg";
        return Err(ConnectorFault::new(ErrorCode::UserinfoEncryption, why));
    }
    json::parse_object(body).map_err(|_| {
        let why = "it is not a JSON object without repeated members; if it is signed, set userinfo_signed_response_alg";
        ConnectorFault::new(ErrorCode::UserinfoMalformed, why)
    })
}

/// The body as the text of a JWS or JWE.
///
/// # Errors
/// It is no text.
pub fn compact(body: &[u8]) -> Result<&str, ConnectorFault> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ConnectorFault::new(ErrorCode::UserinfoMalformed, "it is not text"))?;
    Ok(text.trim())
}

/// Opens a signed answer and checks issuer, audience and times (Core, 5.3.4).
///
/// # Errors
/// One code for each failed check. `UserinfoKey` means that the key set may be out of date.
pub fn signed(
    compact: &str,
    alg: SigningAlg,
    keys: &VerificationKeys,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, ConnectorFault> {
    let claims = verify::open_jws(compact, alg, keys)
        .map_err(|fault| match fault {
            OpenFault::UnknownKey | OpenFault::AmbiguousKey => {
                ConnectorFault::new(ErrorCode::UserinfoKey, fault.to_string())
            }
            OpenFault::Signature | OpenFault::Algorithm => {
                ConnectorFault::new(ErrorCode::UserinfoSignature, fault.to_string())
            }
            OpenFault::Encrypted => {
                ConnectorFault::new(ErrorCode::UserinfoEncryption, fault.to_string())
            }
            OpenFault::TooLarge | OpenFault::Malformed | OpenFault::Extension => {
                ConnectorFault::new(ErrorCode::UserinfoMalformed, fault.to_string())
            }
        })?
        .claims;
    let names_us = claims.get("iss").is_some_and(|iss| iss == expected.issuer)
        && verify::names_audience(&claims, expected.client_id);
    if !names_us {
        return Err(ConnectorFault::new(
            ErrorCode::UserinfoAudience,
            "iss is not the connector's issuer, or aud does not hold our client_id",
        ));
    }
    verify::check_times(&claims, Expiry::IfSent, expected.now, TOLERANCE)
        .map_err(|fault| ConnectorFault::new(ErrorCode::UserinfoTime, fault.to_string()))?;
    Ok(claims)
}

/// Core, 5.3.2: the same subject as in the ID token, or the claims must not be used (token substitution).
///
/// # Errors
/// `UserinfoSubject`.
pub fn check_subject(
    claims: &Map<String, Value>,
    id_token: &Map<String, Value>,
) -> Result<(), ConnectorFault> {
    let subject =
        |claims: &Map<String, Value>| claims.get("sub").and_then(Value::as_str).map(str::to_owned);
    match (subject(claims), subject(id_token)) {
        (Some(one), Some(other)) if one == other => Ok(()),
        _ => Err(ConnectorFault::new(
            ErrorCode::UserinfoSubject,
            "sub is missing or not the ID token's",
        )),
    }
}
