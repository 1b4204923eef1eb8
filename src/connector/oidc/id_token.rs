//! Every check on an identity provider's ID token (OpenID Connect Core 1.0, 3.1.3.7; decisions 10).
//!
//! Owns: the order of checks and the code of each failure. Must not know: keys' origin, levels, userinfo.
//! The signature comes first, by `token::verify`; then the crate judges `iss`, `aud`, `exp` and `nonce`; what the crate
//! leaves open is judged here: `nbf`, `iat`, `azp`, `at_hash`, the subject, `auth_time`.

use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use openidconnect::core::{CoreIdToken, CoreIdTokenClaims};
use openidconnect::{
    ClaimsVerificationError, ClientId, IdTokenVerifier, IssuerUrl, JsonWebKeySet, Nonce,
};
use serde_json::{Map, Value};

use super::keys::ProvenKey;
use crate::assurance::acr::{Agreement, LevelFault};
use crate::connector::{ConnectorFault, code_flow};
use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::login::upstream::Attempt;
use crate::protocol::alg::SigningAlg;
use crate::protocol::catalogue::ErrorCode;
use crate::token::verify::{self, Expiry, OpenFault, Opened, TimeFault, VerificationKeys};

/// How far the identity provider's clock may be from ours.
pub const TOLERANCE: Duration = Duration::from_secs(60);

/// What an ID token must agree with.
pub struct Expected<'a> {
    pub issuer: &'a IssuerUrl,
    pub client_id: &'a str,
    pub alg: SigningAlg,
    pub nonce: &'a str,
    pub access_token: &'a Secret<String>,
    pub now: Timestamp,
}

/// Opens the token and checks it; the claims that come back are proven to be the identity provider's, for us, now.
///
/// # Errors
/// One code for each failed check. `IdTokenKey` means that the key set may be out of date.
pub fn verify(
    compact: &str,
    keys: &VerificationKeys,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, ConnectorFault> {
    let opened = verify::open_jws(compact, expected.alg, keys)
        .map_err(|fault| ConnectorFault::new(code_of(fault), fault.to_string()))?;
    check_required_claims(&opened.claims)?;
    check_times(&opened.claims, expected.now)?;
    check_by_the_crate(compact, &opened, expected)?;
    check_authorized_party(&opened.claims, expected.client_id)?;
    check_access_token_hash(&opened.claims, expected.access_token)?;
    check_subject(&opened.claims)?;
    Ok(opened.claims)
}

fn code_of(fault: OpenFault) -> ErrorCode {
    match fault {
        OpenFault::TooLarge | OpenFault::Malformed | OpenFault::Extension => {
            ErrorCode::IdTokenMalformed
        }
        OpenFault::Encrypted => ErrorCode::IdTokenEncryption,
        OpenFault::Algorithm => ErrorCode::IdTokenAlgorithm,
        OpenFault::UnknownKey | OpenFault::AmbiguousKey => ErrorCode::IdTokenKey,
        OpenFault::Signature => ErrorCode::IdTokenSignature,
    }
}

/// Returns true if a claim's value has the type that the standard gives it.
type TypeCheck = fn(&Value) -> bool;

/// Core, 2: the claims that every ID token has. The fault names the claim, and never its value.
fn check_required_claims(claims: &Map<String, Value>) -> Result<(), ConnectorFault> {
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
    let fault = required.iter().find_map(|(name, has_type)| match claims.get(*name) {
        None => Some(format!("the required claim {name} is missing")),
        Some(value) if !has_type(value) => {
            Some(format!("the required claim {name} is of the wrong type"))
        }
        Some(_) => None,
    });
    fault.map_or(Ok(()), |what| Err(ConnectorFault::new(ErrorCode::IdTokenMalformed, what)))
}

/// The standard claims that the crate refuses where they are of another type than the standard's.
const TYPED_CLAIMS: [&str; 29] = [
    "acr",
    "address",
    "amr",
    "at_hash",
    "auth_time",
    "azp",
    "birthdate",
    "c_hash",
    "email",
    "email_verified",
    "exp",
    "family_name",
    "gender",
    "given_name",
    "iat",
    "locale",
    "middle_name",
    "name",
    "nickname",
    "nonce",
    "phone_number",
    "phone_number_verified",
    "picture",
    "preferred_username",
    "profile",
    "updated_at",
    "website",
    "zoneinfo",
    "aud",
];

/// Names the standard claims without which the crate takes the token.
fn claims_of_wrong_type(claims: &Map<String, Value>) -> String {
    let readable = |claims: Map<String, Value>| {
        serde_json::from_value::<CoreIdTokenClaims>(Value::Object(claims)).is_ok()
    };
    let culprit = TYPED_CLAIMS.iter().find(|name| {
        let mut without = claims.clone();
        // A claim in another language counts with the one that it translates (Core, 5.2).
        without.retain(|claim, _| claim != *name && !claim.starts_with(&format!("{name}#")));
        without.len() < claims.len() && readable(without)
    });
    match culprit {
        Some(name) => format!("the claim {name} is of the wrong type"),
        None => "several claims are of the wrong type".to_owned(),
    }
}

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), ConnectorFault> {
    verify::check_times(claims, Expiry::Required, now, TOLERANCE).map_err(|fault| {
        let code = match fault {
            TimeFault::Malformed => ErrorCode::IdTokenMalformed,
            TimeFault::Expired => ErrorCode::IdTokenExpired,
            TimeFault::NotYet => ErrorCode::IdTokenNotYet,
            TimeFault::Future => ErrorCode::IdTokenFuture,
        };
        ConnectorFault::new(code, fault.to_string())
    })
}

/// `iss`, `aud` (no second audience), `exp`, `nonce`, `typ`, `cty`, and the presence of all required claims.
fn check_by_the_crate(
    compact: &str,
    opened: &Opened,
    expected: &Expected<'_>,
) -> Result<(), ConnectorFault> {
    let malformed =
        || ConnectorFault::new(ErrorCode::IdTokenMalformed, claims_of_wrong_type(&opened.claims));
    let token = CoreIdToken::from_str(compact).map_err(|_| malformed())?;
    let key =
        ProvenKey::of(compact, opened.header.get("kid").and_then(Value::as_str), expected.alg);
    let alg = key.alg();
    let lenient_now = i64::try_from((expected.now - TOLERANCE).millis())
        .ok()
        .and_then(DateTime::from_timestamp_millis);
    let lenient_now = lenient_now.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let verifier = IdTokenVerifier::new_public_client(
        ClientId::new(expected.client_id.to_owned()),
        expected.issuer.clone(),
        JsonWebKeySet::new(vec![key]),
    )
    .set_allowed_algs([alg])
    .set_time_fn(move || lenient_now);
    // The crate's message repeats what the token says; only the kind of failure goes on.
    token.claims(&verifier, &Nonce::new(expected.nonce.to_owned())).map(|_| ()).map_err(|error| {
        match error {
            ClaimsVerificationError::InvalidIssuer(_) => {
                ConnectorFault::new(ErrorCode::IdTokenIssuer, "iss is not the connector's issuer")
            }
            ClaimsVerificationError::InvalidAudience(_) => {
                ConnectorFault::new(ErrorCode::IdTokenAudience, "aud is not our client_id alone")
            }
            ClaimsVerificationError::InvalidNonce(_) => {
                ConnectorFault::new(ErrorCode::IdTokenNonce, "nonce is missing or not the one sent")
            }
            ClaimsVerificationError::Expired(_) => {
                ConnectorFault::new(ErrorCode::IdTokenExpired, "it has expired")
            }
            ClaimsVerificationError::SignatureVerification(_) => ConnectorFault::new(
                ErrorCode::IdTokenSignature,
                "the signature could not be attributed to one key",
            ),
            _ => ConnectorFault::new(
                ErrorCode::IdTokenMalformed,
                "its typ or cty is not that of an ID token",
            ),
        }
    })
}

/// Core, 3.1.3.7, 5: an authorized party, where named, is us.
fn check_authorized_party(
    claims: &Map<String, Value>,
    client_id: &str,
) -> Result<(), ConnectorFault> {
    match claims.get("azp") {
        Some(azp) if azp != client_id => {
            Err(ConnectorFault::new(ErrorCode::IdTokenAzp, "azp is not our client_id"))
        }
        _ => Ok(()),
    }
}

/// Core, 3.1.3.8: the left half of the access token's SHA-256 (ES256 and RS256 both hash with it). Stops an access
/// token of somebody else that is slipped in beside a good ID token.
fn check_access_token_hash(
    claims: &Map<String, Value>,
    access_token: &Secret<String>,
) -> Result<(), ConnectorFault> {
    let Some(sent) = claims.get("at_hash") else { return Ok(()) };
    let hash = digest::sha256(access_token.reveal().as_bytes());
    let half = hash.first_chunk::<16>().map(|half| digest::base64url(half));
    if sent.as_str() == half.as_deref() {
        Ok(())
    } else {
        Err(ConnectorFault::new(
            ErrorCode::IdTokenAtHash,
            "at_hash is not that of the access token",
        ))
    }
}

/// Core, 2: never empty, at most 255 characters.
fn check_subject(claims: &Map<String, Value>) -> Result<(), ConnectorFault> {
    match claims.get("sub").and_then(Value::as_str) {
        Some(sub) if (1..=255).contains(&sub.len()) => Ok(()),
        _ => Err(ConnectorFault::new(
            ErrorCode::IdTokenSubject,
            "sub is empty, or longer than 255 characters",
        )),
    }
}

fn not_again(auth_time: Timestamp, attempt: &Attempt, asked_login: bool) -> ConnectorFault {
    let earlier = attempt.left_at.since(auth_time).as_secs();
    if asked_login {
        let what = format!(
            "it ignored prompt=login: auth_time is {earlier} s before the browser left; have the identity provider heed \
             prompt=login for this client (OpenID Connect Core 1.0, 3.1.2.1)"
        );
        return ConnectorFault::new(ErrorCode::PromptLoginIgnored, what);
    }
    let what = format!("max_age was sent, and auth_time is {earlier} s before the browser left");
    ConnectorFault::new(ErrorCode::ReauthenticationNotProven, what)
}

/// When the user authenticated, and the proof that it was late enough. `asked_login`: `prompt=login` was sent.
///
/// # Errors
/// `auth_time` is missing or in the future; or the user was not authenticated again although that was demanded:
/// `PromptLoginIgnored` where `prompt=login` demanded it, `ReauthenticationNotProven` where `max_age` alone did.
pub fn authenticated_at(
    claims: &Map<String, Value>,
    attempt: &Attempt,
    asked_login: bool,
    now: Timestamp,
) -> Result<Timestamp, ConnectorFault> {
    let unusable = |why: &str| ConnectorFault::new(ErrorCode::IdTokenAuthTime, why);
    let auth_time =
        verify::numeric_date(claims, "auth_time").map_err(|_| unusable("auth_time is not a number"))?.ok_or_else(|| {
            unusable("auth_time is missing; if this identity provider never sends it, set auth_time = \"callback\"")
        })?;
    if auth_time > now + TOLERANCE {
        return Err(unusable("auth_time is in the future"));
    }
    // Not before the browser left, or not more than max_age before: whichever is stricter was demanded.
    let oldest = match (attempt.reauthenticate, attempt.max_age) {
        (true, _) => Some(attempt.left_at),
        (false, Some(seconds)) => Some(attempt.left_at - Duration::from_secs(seconds)),
        (false, None) => None,
    };
    match oldest {
        Some(oldest) if auth_time < oldest - TOLERANCE => {
            Err(not_again(auth_time, attempt, asked_login))
        }
        // A clock that is ahead, within the tolerance, must not date the authentication in the future.
        _ => Ok(auth_time.min(now)),
    }
}

/// Names the returned `acr` to the operator, who decides whether it stands for a level.
pub fn unlisted_acr(value: &str, agreement: &Agreement) -> ConnectorFault {
    let shown = if value.is_empty() {
        "an empty acr, or one that is no string".to_owned()
    } else {
        format!("acr \"{}\"", code_flow::printable(value, 64))
    };
    let advice = match agreement.assumed {
        Some(_) => {
            "assumed_level counts only where none is returned; list the value, or set ignore_acr = true"
        }
        None => "list the value, if it stands for a level",
    };
    let what =
        format!("it returned {shown}, which the connector's [acr] table does not list; {advice}");
    ConnectorFault::new(LevelFault::Unlisted.code(), what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::assurance::Level;
    use crate::login::samples::{OPENED, left};

    #[test]
    fn an_auth_time_of_a_clock_that_is_ahead_is_not_passed_on_as_the_future() {
        let attempt = Attempt {
            connector: "idp".into(),
            state: String::new(),
            nonce: String::new(),
            verifier: Secret::new(String::new()),
            redirect_uri: String::new(),
            level: Level::Eidas1,
            reauthenticate: true,
            max_age: None,
            left_at: OPENED,
            left: left(),
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
            let at = authenticated_at(claims.as_object().unwrap(), &attempt, true, now)
                .map_err(|fault| fault.code);
            assert_eq!(
                at,
                expected.map(|seconds| OPENED + Duration::from_secs(seconds)),
                "{auth_time}"
            );
        }
    }
}
