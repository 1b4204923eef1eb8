//! Verifies ID tokens of identity providers (OpenID Connect Core 1.0 §3.1.3.7).
//!
//! `passerelle_jose::verify` verifies the signature first. Then `openidconnect` checks `iss`, `aud`, `exp`
//! and `nonce`, on a copy of the token that has no other claims. This module checks the rest:
//! `nbf`, `iat`, `azp`, `at_hash`, the subject, `auth_time`.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use openidconnect::core::CoreIdToken;
use openidconnect::{
    ClaimsVerificationError, ClientId, IdTokenVerifier, IssuerUrl, JsonWebKeySet, Nonce,
};
use serde_json::{Map, Value};

use super::keys::PreverifiedKey;
use crate::error::ConnectorError;
use passerelle_federation::assurance::acr::{AcrPolicy, LevelError};
use passerelle_federation::login::upstream::LoginAttempt;
use passerelle_jose::verify::{
    self, CLOCK_SKEW_TOLERANCE, Expiry, JwsError, TimeClaimError, VerificationKeys, VerifiedJws,
};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::printable_ascii;

/// Expected values of an ID token.
pub struct IdTokenExpectations<'a> {
    pub issuer: &'a IssuerUrl,
    pub client_id: &'a str,
    /// Other audiences that an ID token may have beside the client ID.
    pub trusted_audiences: &'a [String],
    pub alg: SigningAlg,
    pub nonce: &'a str,
    pub access_token: &'a Secret<String>,
    pub now: Timestamp,
}

/// Verifies the signature of an ID token. Its claims are not checked yet.
///
/// # Errors
/// Returns an error with a distinct code for each failed check. `IdTokenKey` means that the key set
/// may be outdated.
pub fn verify_signature(
    compact: &str,
    keys: &VerificationKeys,
    alg: SigningAlg,
) -> Result<VerifiedJws, ConnectorError> {
    verify::verify_jws(compact, alg, keys).map_err(|error| {
        let message = match error {
            JwsError::Algorithm => wrong_algorithm_message(compact, alg),
            error => error.to_string(),
        };
        ConnectorError::new(error_code(error), message)
    })
}

/// Checks the claims of an ID token whose signature is verified, and returns them.
///
/// # Errors
/// Returns an error with a distinct code for each failed check.
pub fn check_claims(
    compact: &str,
    verified: VerifiedJws,
    expected: &IdTokenExpectations<'_>,
) -> Result<Map<String, Value>, ConnectorError> {
    check_required_claims(&verified.claims)?;
    check_times(&verified.claims, expected.now)?;
    check_claims_with_openidconnect(compact, &verified, expected)?;
    check_authorized_party(&verified.claims, expected.client_id)?;
    check_access_token_hash(&verified.claims, expected.access_token)?;
    check_subject(&verified.claims)?;
    Ok(verified.claims)
}

/// Returns a message that names the algorithm of the token and the one that the file demands.
fn wrong_algorithm_message(compact: &str, expected: SigningAlg) -> String {
    let expected = expected.as_str();
    let found = verify::unverified_alg(compact)
        .map_or_else(|| "no alg".to_owned(), |alg| format!("alg {}", printable_ascii(&alg, 32)));
    let fix = match found.as_str() {
        "alg ES256" | "alg RS256" => "set id_token_signed_response_alg to that algorithm, or",
        _ => "the hub verifies ES256 and RS256:",
    };
    format!(
        "its header has {found}, but id_token_signed_response_alg is {expected}; {fix} let the identity provider sign \
         this client's ID tokens with {expected}"
    )
}

fn error_code(error: JwsError) -> ErrorCode {
    match error {
        JwsError::TooLarge | JwsError::Malformed | JwsError::Extension => {
            ErrorCode::IdTokenMalformed
        }
        JwsError::Encrypted => ErrorCode::IdTokenEncryption,
        JwsError::Algorithm => ErrorCode::IdTokenAlgorithm,
        JwsError::UnknownKey | JwsError::AmbiguousKey => ErrorCode::IdTokenKey,
        JwsError::Signature => ErrorCode::IdTokenSignature,
    }
}

/// Returns whether a claim's value has the type of the standard.
type TypeCheck = fn(&Value) -> bool;

/// Checks the required claims (Core §2). The error names the claim, never its value.
fn check_required_claims(claims: &Map<String, Value>) -> Result<(), ConnectorError> {
    let is_audience = |value: &Value| {
        value.is_string()
            || value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
    };
    let required: [(&str, TypeCheck); 5] = [
        ("iss", Value::is_string),
        ("sub", Value::is_string),
        ("aud", is_audience),
        ("exp", Value::is_number),
        ("iat", Value::is_number),
    ];
    let error = required.iter().find_map(|(name, has_type)| match claims.get(*name) {
        None => Some(format!("the required claim {name} is missing")),
        Some(value) if !has_type(value) => {
            Some(format!("the required claim {name} is of the wrong type"))
        }
        Some(_) => None,
    });
    error.map_or(Ok(()), |message| Err(ConnectorError::new(ErrorCode::IdTokenMalformed, message)))
}

/// The claims that `openidconnect` checks, and `sub`, without which it parses none. Every other
/// claim is read where it is used: the crate rejects a whole token for one claim of another type,
/// even if no login needs it.
const CHECKED_CLAIMS: [&str; 6] = ["iss", "sub", "aud", "exp", "iat", "nonce"];

/// Returns a verified token with no other claims than those that `openidconnect` checks.
fn reduce_to_checked_claims(compact: &str, claims: &Map<String, Value>) -> Option<String> {
    let (header, rest) = compact.split_once('.')?;
    let (_, signature) = rest.split_once('.')?;
    let checked = claims.iter().filter(|(name, value)| {
        // A nonce of another type is not the one sent.
        CHECKED_CLAIMS.contains(&name.as_str()) && (*name != "nonce" || value.is_string())
    });
    let checked = checked.map(|(name, value)| (name.clone(), value.clone())).collect();
    let payload = digest::base64url(Value::Object(checked).to_string().as_bytes());
    Some(format!("{header}.{payload}.{signature}"))
}

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), ConnectorError> {
    verify::check_time_claims(claims, Expiry::Required, now).map_err(|error| {
        let code = match error {
            TimeClaimError::Malformed => ErrorCode::IdTokenMalformed,
            TimeClaimError::Expired => ErrorCode::IdTokenExpired,
            TimeClaimError::NotYet => ErrorCode::IdTokenNotYet,
            TimeClaimError::IssuedInFuture => ErrorCode::IdTokenFuture,
        };
        ConnectorError::new(code, error.to_string())
    })
}

/// Checks `iss`, `aud`, `exp`, `nonce`, `typ` and `cty`.
fn check_claims_with_openidconnect(
    compact: &str,
    verified: &VerifiedJws,
    expected: &IdTokenExpectations<'_>,
) -> Result<(), ConnectorError> {
    let malformed = || {
        let message = "its header is malformed, iss is not a URL, or exp or iat is out of range";
        ConnectorError::new(ErrorCode::IdTokenMalformed, message)
    };
    let reduced = reduce_to_checked_claims(compact, &verified.claims).ok_or_else(malformed)?;
    let token = CoreIdToken::from_str(&reduced).map_err(|_| malformed())?;
    let key = PreverifiedKey::for_verified_token(
        &reduced,
        verified.header.get("kid").and_then(Value::as_str),
        expected.alg,
    );
    let alg = key.alg();
    let lenient_now = i64::try_from((expected.now - CLOCK_SKEW_TOLERANCE).millis())
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    let lenient_now = lenient_now.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let verifier = IdTokenVerifier::new_public_client(
        ClientId::new(expected.client_id.to_owned()),
        expected.issuer.clone(),
        JsonWebKeySet::new(vec![key]),
    )
    .set_allowed_algs([alg])
    .set_other_audience_verifier_fn(|audience| {
        expected.trusted_audiences.iter().any(|trusted| trusted == audience.as_str())
    })
    .set_time_fn(move || lenient_now);
    // The crate's message repeats values of the token, so only the kind of failure is used.
    token.claims(&verifier, &Nonce::new(expected.nonce.to_owned())).map(|_| ()).map_err(|error| {
        match error {
            ClaimsVerificationError::InvalidIssuer(_) => {
                ConnectorError::new(ErrorCode::IdTokenIssuer, "iss is not the connector's issuer")
            }
            ClaimsVerificationError::InvalidAudience(_) => ConnectorError::new(
                ErrorCode::IdTokenAudience,
                "aud lacks the connector's client_id, or has one that trusted_audiences does not list",
            ),
            ClaimsVerificationError::InvalidNonce(_) => {
                ConnectorError::new(ErrorCode::IdTokenNonce, "nonce is missing or not the one sent")
            }
            ClaimsVerificationError::Expired(_) => {
                ConnectorError::new(ErrorCode::IdTokenExpired, "the ID token has expired")
            }
            ClaimsVerificationError::SignatureVerification(_) => ConnectorError::new(
                ErrorCode::IdTokenSignature,
                "the signature could not be attributed to one key",
            ),
            _ => ConnectorError::new(
                ErrorCode::IdTokenMalformed,
                "its typ or cty is not that of an ID token",
            ),
        }
    })
}

/// Checks that `azp`, if present, is the client ID; beside another audience it must be present (Core
/// §3.1.3.7). Otherwise a token that was issued to another client would sign its user in here.
fn check_authorized_party(
    claims: &Map<String, Value>,
    client_id: &str,
) -> Result<(), ConnectorError> {
    let error = |message| Err(ConnectorError::new(ErrorCode::IdTokenAzp, message));
    match claims.get("azp").filter(|azp| !azp.is_null()) {
        Some(azp) if azp != client_id => error("azp is not the connector's client_id"),
        None if !verify::names_only_audience(claims, client_id) => {
            error("aud has several values, and azp is missing")
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks `at_hash` (Core §3.1.3.8): the left half of the access token's SHA-256, for ES256 and
/// RS256. Stops the substitution of another access token.
fn check_access_token_hash(
    claims: &Map<String, Value>,
    access_token: &Secret<String>,
) -> Result<(), ConnectorError> {
    let at_hash = claims.get("at_hash").filter(|at_hash| !at_hash.is_null());
    let Some(at_hash) = at_hash else { return Ok(()) };
    let hash = digest::sha256(access_token.reveal().as_bytes());
    let half = hash.first_chunk::<16>().map(|half| digest::base64url(half));
    if at_hash.as_str() == half.as_deref() {
        Ok(())
    } else {
        Err(ConnectorError::new(
            ErrorCode::IdTokenAtHash,
            "at_hash is not that of the access token",
        ))
    }
}

/// Checks that `sub` has 1 to 255 characters (Core §2).
fn check_subject(claims: &Map<String, Value>) -> Result<(), ConnectorError> {
    match claims.get("sub").and_then(Value::as_str) {
        Some(sub) if (1..=255).contains(&sub.len()) => Ok(()),
        _ => Err(ConnectorError::new(
            ErrorCode::IdTokenSubject,
            "sub is empty, or longer than 255 characters",
        )),
    }
}

fn stale_auth_time_error(
    auth_time: Timestamp,
    attempt: &LoginAttempt,
    sent_prompt_login: bool,
) -> ConnectorError {
    let earlier = attempt.redirected_at.since(auth_time).as_secs();
    if sent_prompt_login {
        let message = format!(
            "the identity provider ignored prompt=login: auth_time is {earlier} s before the authorization \
             request; ask it to respect prompt=login for this client (OpenID Connect Core 1.0 §3.1.2.1)"
        );
        return ConnectorError::new(ErrorCode::PromptLoginIgnored, message);
    }
    let message =
        format!("max_age was sent, but auth_time is {earlier} s before the authorization request");
    ConnectorError::new(ErrorCode::ReauthenticationNotProven, message)
}

/// Verifies `auth_time`, and returns it; `None` if it is unusable and the login doesn't need it.
/// `sent_prompt_login` says whether `prompt=login` was sent.
///
/// # Errors
/// `IdTokenAuthTime` if a login needs it and it is missing, 0, not a number, or in the future. If a
/// requested reauthentication did not take place, `PromptLoginIgnored` if `prompt=login` was sent,
/// else `ReauthenticationNotProven`.
pub(crate) fn verify_auth_time(
    claims: &Map<String, Value>,
    attempt: &LoginAttempt,
    sent_prompt_login: bool,
    now: Timestamp,
) -> Result<Option<Timestamp>, ConnectorError> {
    let auth_time = match read_auth_time(claims, now) {
        Ok(auth_time) => auth_time,
        Err(message) if attempt.request.needs_auth_time() => {
            return Err(ConnectorError::new(ErrorCode::IdTokenAuthTime, message));
        }
        Err(_) => return Ok(None),
    };
    // Reauthentication requires a time after the redirect, `max_age` one not older than that before
    // it.
    let oldest = match (attempt.request.reauthenticate, attempt.request.max_age) {
        (true, _) => Some(attempt.redirected_at),
        (false, Some(seconds)) => Some(attempt.redirected_at - Duration::from_secs(seconds)),
        (false, None) => None,
    };
    match oldest {
        Some(oldest) if auth_time < oldest - CLOCK_SKEW_TOLERANCE => {
            Err(stale_auth_time_error(auth_time, attempt, sent_prompt_login))
        }
        // A clock that is ahead must not result in a future time.
        _ => Ok(Some(auth_time.min(now))),
    }
}

/// Returns the time of `auth_time`, or why it is unusable.
fn read_auth_time(claims: &Map<String, Value>, now: Timestamp) -> Result<Timestamp, &'static str> {
    let auth_time = verify::numeric_date(claims, "auth_time")
        .map_err(|_| "auth_time is not a number of seconds since 1970")?
        .ok_or(
            "auth_time is missing, although the hub asked for it; if the identity provider never \
             sends it, set auth_time = \"callback\"",
        )?;
    // Some identity providers send 0 for an unknown time.
    if auth_time.seconds() == 0 {
        return Err(
            "auth_time is 0, which is not a time; if the identity provider sends no other \
                    value, set auth_time = \"callback\"",
        );
    }
    if auth_time > now + CLOCK_SKEW_TOLERANCE {
        return Err("auth_time is in the future");
    }
    Ok(auth_time)
}

/// Returns the error that names an unlisted `acr` to the operator.
pub(crate) fn unlisted_acr_error(value: &str, acr_policy: &AcrPolicy) -> ConnectorError {
    let shown = if value.is_empty() {
        "an acr that is empty or not a string".to_owned()
    } else {
        format!("acr \"{}\"", printable_ascii(value, 64))
    };
    let advice = match acr_policy.assumed {
        Some(_) => {
            "assumed_level applies only if no acr is returned; list the value, or set ignore_acr = true"
        }
        None => "list the value if it corresponds to a level",
    };
    let message = format!(
        "the identity provider returned {shown}, which the connector's [acr] table does not list; {advice}"
    );
    ConnectorError::new(LevelError::Unlisted.code(), message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use passerelle_federation::assurance::Level;
    use passerelle_federation::testing::samples::{OPENED, authorization_redirect};

    #[test]
    fn an_auth_time_of_a_clock_that_is_ahead_is_not_passed_on_as_the_future() {
        use passerelle_federation::login::upstream::UpstreamAuthorizationRequest;
        let attempt = LoginAttempt {
            connector: "idp".into(),
            request: UpstreamAuthorizationRequest {
                state: String::new(),
                nonce: String::new(),
                verifier: Secret::new(String::new()),
                redirect_uri: String::new(),
                level: Level::Eidas1,
                reauthenticate: true,
                max_age: None,
                auth_time_required: false,
                level_names: Vec::new(),
                login_hint: None,
                forwarded: std::collections::BTreeMap::new(),
                requester: None,
                ui_locales: None,
            },
            redirected_at: OPENED,
            redirect: authorization_redirect(),
        };
        let now = OPENED + Duration::from_secs(5);
        for (auth_time, expected) in [
            (0, Ok(0)),
            (5, Ok(5)),
            (45, Ok(5)),
            (65, Ok(5)),
            (66, Err(ErrorCode::IdTokenAuthTime)),
        ] {
            let claims = json!({ "auth_time": OPENED.seconds() + auth_time });
            let at = verify_auth_time(claims.as_object().unwrap(), &attempt, true, now)
                .map_err(|error| error.code);
            assert_eq!(
                at,
                expected.map(|seconds| Some(OPENED + Duration::from_secs(seconds))),
                "{auth_time}"
            );
        }
    }
}
