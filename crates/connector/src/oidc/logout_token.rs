//! Verifies logout tokens of identity providers (OpenID Connect Back-Channel Logout 1.0 §2.6).
//!
//! Keys, algorithm and encryption are those of ID tokens. That a `jti` is used once is checked by
//! the caller, who has the store.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::ConnectorError;
use passerelle_federation::login::upstream::UpstreamLogout;
use passerelle_jose::logout_token::{LOGOUT_EVENT, LOGOUT_TOKEN_TYP};
use passerelle_jose::verify::{self, CLOCK_SKEW_TOLERANCE, Expiry, JwsError, VerificationKeys};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// Longest time until a logout token expires: its `jti` is remembered until then.
const MAX_LIFETIME: Duration = Duration::from_secs(3600);
/// Longest `jti`, `sid` and `sub`.
const MAX_VALUE_BYTES: usize = 255;

/// Expected values of a logout token.
pub struct LogoutTokenExpectations<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    /// Other audiences that a token may have beside the client ID.
    pub trusted_audiences: &'a [String],
    pub alg: SigningAlg,
    pub now: Timestamp,
}

/// Verifies a logout token, and returns the session or user that it names.
///
/// # Errors
/// Returns an error with a distinct code for each failed check. `LogoutTokenUnproven` means that
/// the key set may be outdated.
pub fn verify_logout_token(
    compact: &str,
    keys: &VerificationKeys,
    expected: &LogoutTokenExpectations<'_>,
) -> Result<UpstreamLogout, ConnectorError> {
    let verified = verify::verify_jws(compact, expected.alg, keys).map_err(signature_error)?;
    let claims = &verified.claims;
    check_kind(&verified.header, claims)?;
    check_party(claims, expected)?;
    let times = check_times(claims, expected.now)?;
    if claims.contains_key("nonce") {
        return Err(error(ErrorCode::LogoutTokenNonce, "nonce is present"));
    }
    let jti = text_claim(claims, "jti")?.ok_or_else(|| malformed("jti is missing"))?;
    let session_id = text_claim(claims, "sid")?.map(|sid| Secret::new(sid.to_owned()));
    let subject = text_claim(claims, "sub")?.map(|sub| Secret::new(sub.to_owned()));
    if session_id.is_none() && subject.is_none() {
        return Err(error(ErrorCode::LogoutTokenSubject, "neither sid nor sub is present"));
    }
    let (issued_at, expires_at) = times;
    Ok(UpstreamLogout { session_id, subject, jti: jti.to_owned(), issued_at, expires_at })
}

fn error(code: ErrorCode, detail: &str) -> ConnectorError {
    ConnectorError::new(code, detail)
}

fn malformed(detail: &str) -> ConnectorError {
    error(ErrorCode::LogoutTokenMalformed, detail)
}

fn signature_error(error: JwsError) -> ConnectorError {
    let code = match error {
        JwsError::UnknownKey | JwsError::AmbiguousKey | JwsError::Signature => {
            ErrorCode::LogoutTokenUnproven
        }
        JwsError::Encrypted => ErrorCode::LogoutTokenEncryption,
        JwsError::TooLarge | JwsError::Malformed | JwsError::Algorithm | JwsError::Extension => {
            ErrorCode::LogoutTokenMalformed
        }
    };
    ConnectorError::new(code, error.to_string())
}

/// Checks that it is a logout token and no other JWT of the identity provider.
fn check_kind(
    header: &Map<String, Value>,
    claims: &Map<String, Value>,
) -> Result<(), ConnectorError> {
    let is_typ = match header.get("typ") {
        None => true,
        Some(typ) => typ.as_str().is_some_and(|typ| {
            let typ = typ.strip_prefix("application/").unwrap_or(typ);
            typ.eq_ignore_ascii_case(LOGOUT_TOKEN_TYP) || typ.eq_ignore_ascii_case("JWT")
        }),
    };
    if !is_typ {
        return Err(error(ErrorCode::LogoutTokenEvent, "typ is that of another token"));
    }
    let event = claims.get("events").and_then(|events| events.get(LOGOUT_EVENT));
    if !event.is_some_and(Value::is_object) {
        return Err(error(ErrorCode::LogoutTokenEvent, "events lacks the logout event"));
    }
    Ok(())
}

fn check_party(
    claims: &Map<String, Value>,
    expected: &LogoutTokenExpectations<'_>,
) -> Result<(), ConnectorError> {
    if claims.get("iss").is_none_or(|iss| iss != expected.issuer) {
        return Err(error(ErrorCode::LogoutTokenIssuer, "iss is not the connector's issuer"));
    }
    // As in an ID token (OpenID Connect Core 1.0 §3.1.3.7, step 3).
    let is_expected = |audience: &Value| {
        let mut accepted = expected.trusted_audiences.iter().map(String::as_str);
        audience == expected.client_id || accepted.any(|trusted| audience == trusted)
    };
    let others = claims.get("aud").and_then(Value::as_array);
    if !verify::names_audience(claims, expected.client_id)
        || !others.is_none_or(|all| all.iter().all(is_expected))
    {
        let detail =
            "aud lacks the connector's client_id, or has one that trusted_audiences does not list";
        return Err(error(ErrorCode::LogoutTokenAudience, detail));
    }
    // A logout token needs none (Back-Channel Logout 1.0 §2.4). That of another client is not for us.
    if claims.get("azp").is_some_and(|azp| !azp.is_null() && azp != expected.client_id) {
        return Err(error(ErrorCode::LogoutTokenAudience, "azp is not the connector's client_id"));
    }
    Ok(())
}

/// Returns `iat` and `exp`.
fn check_times(
    claims: &Map<String, Value>,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp), ConnectorError> {
    let date = |name: &str| {
        let date = verify::numeric_date(claims, name).ok().flatten();
        date.ok_or_else(|| malformed("iat or exp is missing, or not a number"))
    };
    let (issued_at, expires_at) = (date("iat")?, date("exp")?);
    verify::check_time_claims(claims, Expiry::Required, now)
        .map_err(|failed| ConnectorError::new(ErrorCode::LogoutTokenTime, failed.to_string()))?;
    if expires_at > now + MAX_LIFETIME + CLOCK_SKEW_TOLERANCE {
        return Err(error(ErrorCode::LogoutTokenTime, "exp is more than an hour from now"));
    }
    Ok((issued_at, expires_at))
}

/// Returns the text of a claim; `None` if it is absent.
fn text_claim<'a>(
    claims: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, ConnectorError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let text = value.as_str().filter(|text| (1..=MAX_VALUE_BYTES).contains(&text.len()));
    text.map(Some).ok_or_else(|| malformed("jti, sid or sub is not a text of 1 to 255 characters"))
}
