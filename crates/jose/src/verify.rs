//! Verifies signed tokens: ID tokens, user information, hints, assertions (RFC 7515 JWS, RFC 7517
//! JWK, RFC 7518 JWA, RFC 7519 JWT, RFC 8725 best practices).
//!
//! Responsible for the accepted form of a compact JWS, for choosing the key, and for the checks of
//! time and audience that every caller needs. Does not know who signed, or what the claims mean.

mod keys;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

pub use keys::{PRIVATE_JWK_MEMBERS, UnusableKey, VerificationKeys, is_blank};
pub(crate) use keys::{build_verifier, key_material};
use passerelle_protocol::alg::{AcceptedAlgs, SigningAlg, VerificationAlg};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::json;

/// Longest compact serialization that is parsed.
pub const MAX_JWT_BYTES: usize = 64 * 1024;
/// Accepted difference between another party's clock and the hub's.
pub const CLOCK_SKEW_TOLERANCE: Duration = Duration::from_secs(60);
/// Maximum number of keys in the key set of a client.
pub const MAX_KEYS_PER_SET: usize = 100;
/// Maximum number of usable keys of an identity provider's key set, whose size is limited besides:
/// the hub prepares a verifier for each, about 30 µs of work.
pub const MAX_USABLE_KEYS_PER_SET: usize = 1000;

/// A JWS with a valid signature. Its claims are not validated yet.
#[derive(Clone, PartialEq)]
pub struct VerifiedJws {
    pub header: Map<String, Value>,
    pub claims: Map<String, Value>,
}

/// Why a text is not an acceptable JWS. Contains nothing of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum JwsError {
    #[error("it is longer than 64 KiB")]
    TooLarge,
    #[error("it is encrypted (JWE), but only a signature (JWS) is registered")]
    Encrypted,
    #[error(
        "it is not a compact JWS: three parts of base64url, header and payload each a JSON object without repeated members"
    )]
    Malformed,
    #[error("its alg is not the registered one")]
    Algorithm,
    #[error("its header demands an extension (crit, b64)")]
    Extension,
    #[error("no published key has its kid and fits its alg")]
    UnknownKey,
    #[error("more than one published key fits its alg, and it has no kid")]
    AmbiguousKey,
    #[error("its signature is wrong")]
    Signature,
}

/// Verifies a compact JWS: its structure, then the registered algorithm, the key, and the
/// signature.
///
/// Ignores `jwk`, `jku`, `x5u` and `x5c` of the header: a token must not choose the key that
/// verifies it.
///
/// # Errors
/// The first rule that the JWS breaks.
pub fn verify_jws(
    compact: &str,
    alg: impl Into<VerificationAlg>,
    keys: &VerificationKeys,
) -> Result<VerifiedJws, JwsError> {
    let alg = alg.into();
    if compact.len() > MAX_JWT_BYTES {
        return Err(JwsError::TooLarge);
    }
    let parts: Vec<&str> = compact.splitn(6, '.').collect();
    let [header_part, payload_part, signature_part] = parts[..] else {
        return Err(if parts.len() == 5 { JwsError::Encrypted } else { JwsError::Malformed });
    };
    let header = decode_object(header_part)?;
    check_header(&header, alg)?;
    let claims = decode_object(payload_part)?;
    let signature = digest::from_base64url(signature_part).ok_or(JwsError::Malformed)?;
    let message =
        compact.get(..header_part.len() + 1 + payload_part.len()).ok_or(JwsError::Malformed)?;
    let verifier = keys.select_verifier(&header, alg)?;
    verifier.verify(message.as_bytes(), &signature).map_err(|_| JwsError::Signature)?;
    Ok(VerifiedJws { header, claims })
}

/// Returns the signing algorithm of the hub whose verification takes as long as the unverified
/// `alg` of a compact JWS; `None` for any other `alg`.
pub fn alg_of_similar_cost(compact: &str) -> Option<SigningAlg> {
    let header = decode_object(compact.split('.').next()?).ok()?;
    match header.get("alg")?.as_str()? {
        "ES256" | "EdDSA" | "Ed25519" => Some(SigningAlg::ES256),
        "RS256" | "PS256" => Some(SigningAlg::RS256),
        _ => None,
    }
}

/// Returns the unverified `alg` of a compact JWS, for messages only.
pub fn unverified_alg(compact: &str) -> Option<String> {
    let header = decode_object(compact.split('.').next()?).ok()?;
    header.get("alg")?.as_str().map(str::to_owned)
}

/// Returns the accepted algorithm that a compact JWS names; the only one, whatever it names. `None`
/// if it names none of several.
pub fn accepted_alg(compact: &str, accepted: AcceptedAlgs) -> Option<VerificationAlg> {
    if let Some(only) = accepted.only() {
        return Some(only);
    }
    let named = unverified_alg(compact.get(..MAX_JWT_BYTES).unwrap_or(compact))?;
    accepted.iter().find(|alg| alg.is_named(&named))
}

/// Returns the claims of a compact JWS without verifying it; none if it is malformed. For tokens
/// that were verified before.
pub fn unverified_claims(compact: &str) -> Map<String, Value> {
    compact.split('.').nth(1).and_then(|part| decode_object(part).ok()).unwrap_or_default()
}

pub(super) fn decode_object(part: &str) -> Result<Map<String, Value>, JwsError> {
    let bytes = digest::from_base64url(part).ok_or(JwsError::Malformed)?;
    json::parse_object(&bytes).map_err(|_| JwsError::Malformed)
}

fn check_header(header: &Map<String, Value>, alg: VerificationAlg) -> Result<(), JwsError> {
    // RFC 8725 §3.1: the verifier chooses the algorithm, not the token. Stops `none`, and HS256
    // keyed with a public key or a client secret.
    if !header.get("alg").and_then(Value::as_str).is_some_and(|own| alg.is_named(own)) {
        return Err(JwsError::Algorithm);
    }
    // RFC 7515 §4.1.11: unknown critical extensions must be rejected, and the hub knows none. `b64`
    // (RFC 7797) changes what is signed.
    if header.contains_key("crit") || header.contains_key("b64") {
        return Err(JwsError::Extension);
    }
    Ok(())
}

/// Sizes of the RSA moduli that other parties may use. Beyond them, a stranger's key decides what a
/// signature costs the hub.
const RSA_BITS: RangeInclusive<usize> = 2048..=4096;
/// The usual RSA exponent (FIPS 186-5 §A.1.1), and the largest accepted one.
const USUAL_RSA_EXPONENT: u64 = 65_537;

/// Returns true for a modulus of 2048 to 4096 bits and an odd exponent from 3 to 65537 (RFC 8017
/// §3.1). With an exponent of 1, anyone can sign and decrypt; a large exponent makes a verification
/// as slow as a signature.
pub(super) fn is_sound_rsa(n: &str, e: &str) -> bool {
    let number = digest::from_base64url;
    number(n).zip(number(e)).is_some_and(|(n, e)| is_sound_rsa_key(&n, &e))
}

/// As [`is_sound_rsa`], for the two numbers in bytes.
pub(super) fn is_sound_rsa_key(n: &[u8], e: &[u8]) -> bool {
    let is_sound_exponent = |e| e % 2 == 1 && (3..=USUAL_RSA_EXPONENT).contains(&e);
    RSA_BITS.contains(&bit_length(n)) && rsa_exponent(e).is_some_and(is_sound_exponent)
}

/// Returns true for a sound key with the usual exponent: all that a key needs that anyone may make
/// for one request.
pub(super) fn is_usual_rsa(n: &str, e: &str) -> bool {
    let exponent = digest::from_base64url(e).and_then(|e| rsa_exponent(&e));
    is_sound_rsa(n, e) && exponent == Some(USUAL_RSA_EXPONENT)
}

/// Returns an exponent; `None` if it is longer than 64 bits.
fn rsa_exponent(e: &[u8]) -> Option<u64> {
    (bit_length(e) <= 64)
        .then(|| e.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)))
}

/// Returns the bit length of an RSA modulus of a JWK; `None` if it is not base64url.
pub fn rsa_bits(n: &str) -> Option<usize> {
    digest::from_base64url(n).map(|n| bit_length(&n))
}

fn bit_length(number: &[u8]) -> usize {
    let zeros: usize = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros).map_or(0, |first| (number.len() - zeros) * 8 - first.leading_zeros() as usize)
}

/// Whether a token without `exp` is acceptable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    Required,
    Optional,
}

/// Why a time claim is invalid.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeClaimError {
    #[error("exp, nbf or iat is missing, not a number, or out of range")]
    Malformed,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
    #[error("it was issued in the future")]
    IssuedInFuture,
}

/// Checks `exp`, `nbf` and `iat` (RFC 7519 §4.1.4 to §4.1.6) against `now`, each with
/// [`CLOCK_SKEW_TOLERANCE`].
///
/// # Errors
/// The first invalid claim.
pub fn check_time_claims(
    claims: &Map<String, Value>,
    expiry: Expiry,
    now: Timestamp,
) -> Result<(), TimeClaimError> {
    match numeric_date(claims, "exp")? {
        Some(expires_at) if expires_at + CLOCK_SKEW_TOLERANCE <= now => {
            return Err(TimeClaimError::Expired);
        }
        None if expiry == Expiry::Required => return Err(TimeClaimError::Malformed),
        _ => {}
    }
    if numeric_date(claims, "nbf")?.is_some_and(|begins_at| begins_at > now + CLOCK_SKEW_TOLERANCE)
    {
        return Err(TimeClaimError::NotYet);
    }
    if numeric_date(claims, "iat")?.is_some_and(|issued_at| issued_at > now + CLOCK_SKEW_TOLERANCE)
    {
        return Err(TimeClaimError::IssuedInFuture);
    }
    Ok(())
}

/// Parses a NumericDate (RFC 7519 §2): seconds since the epoch, fractions allowed. `None` if the
/// claim is absent or `null`.
///
/// # Errors
/// `Malformed` if the value is not such a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub fn numeric_date(
    claims: &Map<String, Value>,
    name: &str,
) -> Result<Option<Timestamp>, TimeClaimError> {
    let Some(value) = claims.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let seconds = value
        .as_f64()
        .filter(|seconds| (0.0..1e13).contains(seconds))
        .ok_or(TimeClaimError::Malformed)?;
    Ok(Some(Timestamp::from_millis((seconds * 1000.0) as u64)))
}

/// Returns true if `aud` (RFC 7519 §4.1.3) is `audience` or a list that contains it.
pub fn names_audience(claims: &Map<String, Value>, audience: &str) -> bool {
    match claims.get("aud") {
        Some(Value::String(only)) => only == audience,
        Some(Value::Array(list)) => list.iter().any(|one| one.as_str() == Some(audience)),
        _ => false,
    }
}

/// Returns true if `aud` is `audience`, or a list that contains nothing else.
pub fn names_only_audience(claims: &Map<String, Value>, audience: &str) -> bool {
    let has_other = claims
        .get("aud")
        .and_then(Value::as_array)
        .is_some_and(|list| list.iter().any(|one| one.as_str() != Some(audience)));
    !has_other && names_audience(claims, audience)
}

#[cfg(test)]
mod tests;
