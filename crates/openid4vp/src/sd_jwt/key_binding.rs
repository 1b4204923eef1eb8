//! Verifies key binding JWTs (RFC 9901 §4.3, §7.3).

use crate::credential::PresentationExpectations;
use crate::presentation_error::PresentationError;
use crate::signature::{HolderKey, UnverifiedJws};
use passerelle_jose::verify::numeric_date;
use passerelle_protocol::digest;

/// Verifies that the holder made the presentation for this request, now.
pub(super) fn verify_key_binding(
    compact: &str,
    sd_jwt: &str,
    holder_key: &HolderKey,
    expected: &PresentationExpectations<'_>,
) -> Result<(), PresentationError> {
    let jws = UnverifiedJws::parse(compact).ok_or(PresentationError::KeyBindingMalformed)?;
    if jws.header_text("typ") != Some("kb+jwt") {
        return Err(PresentationError::KeyBindingType);
    }
    let alg = jws.accepted_alg(&expected.policy.holder_algs);
    if alg.is_none_or(|alg| alg != holder_key.alg()) {
        return Err(PresentationError::HolderAlgorithm);
    }
    if jws.demands_extension() {
        return Err(PresentationError::KeyBindingMalformed);
    }
    if !holder_key.verifies(jws.message.as_bytes(), &jws.signature) {
        return Err(PresentationError::HolderSignature);
    }
    let text = |name: &str| jws.claims.get(name).and_then(serde_json::Value::as_str);
    // A presentation for another verifier is worthless here, and the other way round.
    if text("aud") != Some(expected.channel.audience().as_ref()) {
        return Err(PresentationError::KeyBindingAudience);
    }
    let same = |claimed: Option<&str>, own: &str| {
        claimed.is_some_and(|claimed| digest::constant_time_eq(claimed.as_bytes(), own.as_bytes()))
    };
    // Stops the replay of a presentation for an earlier request.
    if !same(text("nonce"), expected.nonce) {
        return Err(PresentationError::KeyBindingNonce);
    }
    // Stops the exchange of disclosures, or of the whole credential, under a signature.
    if !same(text("sd_hash"), &digest::sha256_base64url(sd_jwt)) {
        return Err(PresentationError::KeyBindingDigest);
    }
    verify_times(&jws, expected)
}

fn verify_times(
    jws: &UnverifiedJws<'_>,
    expected: &PresentationExpectations<'_>,
) -> Result<(), PresentationError> {
    let (now, skew) = (expected.received_at, expected.policy.clock_skew);
    let time =
        |name| numeric_date(&jws.claims, name).map_err(|_| PresentationError::KeyBindingMalformed);
    let issued_at = time("iat")?.ok_or(PresentationError::KeyBindingMalformed)?;
    let is_early = issued_at > now + skew || time("nbf")?.is_some_and(|nbf| nbf > now + skew);
    if is_early {
        return Err(PresentationError::KeyBindingInFuture);
    }
    let is_late = now.since(issued_at) > expected.policy.key_binding_max_age + skew
        || time("exp")?.is_some_and(|exp| exp + skew <= now);
    if is_late { Err(PresentationError::KeyBindingTooOld) } else { Ok(()) }
}
