//! The one entrance for everything signed: ID tokens, user information, hints, assertions (decisions 10).
//!
//! Owns: what a compact JWS must look like, which key may have signed it, and the small checks on time and audience
//! that every caller needs. Must not know: who signed it, or what its claims mean.
//! RFC 7515 (JWS), RFC 7517 (JWK), RFC 7518 (JWA), RFC 7519 (JWT), RFC 8725 (best practice).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use josekit::jwk::Jwk;
use josekit::jws::{ES256, JwsVerifier, RS256};
use serde_json::{Map, Value};

use crate::digest;
use crate::env::Timestamp;
use crate::protocol::alg::SigningAlg;
use crate::protocol::json;

/// The longest compact serialization that is looked at.
pub const MAX_BYTES: usize = 64 * 1024;
/// The most keys that are taken from one key set.
pub const MAX_KEYS: usize = 100;

/// A JWS whose signature holds. Its claims still have to be judged.
#[derive(Clone, PartialEq)]
pub struct Opened {
    pub header: Map<String, Value>,
    pub claims: Map<String, Value>,
}

/// Why a text is not a JWS that we accept. Never carries any of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenFault {
    #[error("it is longer than 64 KiB")]
    TooLarge,
    #[error("it is encrypted (JWE), and only a signed one (JWS) is registered")]
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
    #[error("more than one published key fits its alg, and no kid tells them apart")]
    AmbiguousKey,
    #[error("its signature is wrong")]
    Signature,
}

/// Opens a compact JWS: structure first, then the registered algorithm, then the key, then the signature.
///
/// `jwk`, `jku`, `x5u` and `x5c` of the header are ignored: a token does not choose the key that proves it.
///
/// # Errors
/// The first rule that it breaks.
pub fn open_jws(
    compact: &str,
    alg: SigningAlg,
    keys: &VerificationKeys,
) -> Result<Opened, OpenFault> {
    if compact.len() > MAX_BYTES {
        return Err(OpenFault::TooLarge);
    }
    let parts: Vec<&str> = compact.splitn(6, '.').collect();
    let [header_part, payload_part, signature_part] = parts[..] else {
        return Err(if parts.len() == 5 { OpenFault::Encrypted } else { OpenFault::Malformed });
    };
    let header = object(header_part)?;
    check_header(&header, alg)?;
    let claims = object(payload_part)?;
    let signature = digest::from_base64url(signature_part).ok_or(OpenFault::Malformed)?;
    let message =
        compact.get(..header_part.len() + 1 + payload_part.len()).ok_or(OpenFault::Malformed)?;
    let key = keys.find(&header, alg)?;
    key.verifier.verify(message.as_bytes(), &signature).map_err(|_| OpenFault::Signature)?;
    Ok(Opened { header, claims })
}

/// What a compact JWS says it is signed with; nothing of it is proven.
#[must_use]
pub fn announced_alg(compact: &str) -> Option<SigningAlg> {
    let header = object(compact.split('.').next()?).ok()?;
    let alg = header.get("alg")?.as_str()?;
    [SigningAlg::ES256, SigningAlg::RS256].into_iter().find(|known| known.as_str() == alg)
}

fn object(part: &str) -> Result<Map<String, Value>, OpenFault> {
    let bytes = digest::from_base64url(part).ok_or(OpenFault::Malformed)?;
    json::parse_object(&bytes).map_err(|_| OpenFault::Malformed)
}

fn check_header(header: &Map<String, Value>, alg: SigningAlg) -> Result<(), OpenFault> {
    // RFC 8725, 3.1: the verifier says which algorithm, not the token. Stops `none` and HS256 keyed with a public key
    // or a client secret.
    if header.get("alg").and_then(Value::as_str) != Some(alg.as_str()) {
        return Err(OpenFault::Algorithm);
    }
    // RFC 7515, 4.1.11: what we do not understand must be refused, and we understand no extension. RFC 7797's b64
    // would change what is signed.
    if header.contains_key("crit") || header.contains_key("b64") {
        return Err(OpenFault::Extension);
    }
    Ok(())
}

/// The public keys of one issuer, parsed once (parsing an EC key costs about a third of a verification).
#[derive(Default)]
pub struct VerificationKeys {
    keys: Vec<Key>,
    skipped: BTreeMap<Unfit, usize>,
}

/// Why a key of a set is of no use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unfit {
    Secret,
    OtherUse,
    OtherAlgorithm,
    UnsoundRsa,
    Malformed,
    Repeated,
    Surplus,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret => "with private or symmetric parts, which prove nothing once published",
            Self::OtherUse => "for another use than signatures",
            Self::OtherAlgorithm => "of another type, curve or algorithm",
            Self::UnsoundRsa => "RSA under 2048 or over 8192 bits, or with an unsound exponent",
            Self::Malformed => "malformed",
            Self::Repeated => "repeated",
            Self::Surplus => "beyond the most that are read",
        })
    }
}

struct Key {
    kid: Option<String>,
    alg: SigningAlg,
    verifier: Box<dyn JwsVerifier>,
}

impl VerificationKeys {
    /// Reads a JWK Set (RFC 7517, 5). Keys that can't verify ES256 or RS256 are skipped: symmetric, private,
    /// for encryption, of another type, curve or algorithm, RSA under 2048 bits or with an exponent of 1, the same once more,
    /// and all beyond the hundredth.
    ///
    /// # Errors
    /// `Malformed` if it is not a JSON object with an array `keys`.
    pub fn from_jwks(bytes: &[u8]) -> Result<Self, OpenFault> {
        let set = json::parse_object(bytes).map_err(|_| OpenFault::Malformed)?;
        let Some(Value::Array(jwks)) = set.get("keys") else { return Err(OpenFault::Malformed) };
        let (mut keys, mut skipped, mut seen) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        for (place, jwk) in jwks.iter().enumerate() {
            let read = if place < MAX_KEYS { Key::from_jwk(jwk) } else { Err(Unfit::Surplus) };
            match read {
                Ok((key, material)) if seen.insert((key.kid.clone(), material.clone())) => {
                    keys.push(key)
                }
                Ok(_) => *skipped.entry(Unfit::Repeated).or_default() += 1,
                Err(unfit) => *skipped.entry(unfit).or_default() += 1,
            }
        }
        Ok(Self { keys, skipped })
    }

    /// How many keys can verify something.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys of the set were of no use.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped.values().sum()
    }

    /// The same, by reason.
    pub fn skipped_for(&self) -> impl Iterator<Item = (Unfit, usize)> {
        self.skipped.iter().map(|(unfit, count)| (*unfit, *count))
    }

    /// True if a token signed with this algorithm could be proven.
    #[must_use]
    pub fn verifies(&self, alg: SigningAlg) -> bool {
        self.keys.iter().any(|key| key.alg == alg)
    }

    /// Spends the time of a verification that fails, where there is nothing to verify and that must not be noticed.
    pub fn rehearse(&self, alg: SigningAlg) {
        // Numbers within range: others are refused before any arithmetic.
        let signature: &[u8] = match alg {
            SigningAlg::ES256 => &[1; 64],
            SigningAlg::RS256 => &[1; 256],
        };
        if let Some(key) = self.keys.iter().find(|key| key.alg == alg) {
            let _refused = key.verifier.verify(b"rehearsal", signature);
        }
    }

    fn find(&self, header: &Map<String, Value>, alg: SigningAlg) -> Result<&Key, OpenFault> {
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.as_str()),
            Some(_) => return Err(OpenFault::Malformed),
        };
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.alg == alg && (kid.is_none() || key.kid.as_deref() == kid));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(OpenFault::UnknownKey),
            (Some(_), Some(_)) => Err(OpenFault::AmbiguousKey),
        }
    }
}

impl Key {
    /// The key, and what it is made of.
    fn from_jwk(jwk: &Value) -> Result<(Self, String), Unfit> {
        let jwk = jwk.as_object().ok_or(Unfit::Malformed)?;
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let part = |name: &str| text(name).ok_or(Unfit::Malformed);
        // A private key that is published proves nothing any more.
        if ["d", "p", "q", "k"].iter().any(|member| jwk.contains_key(*member)) {
            return Err(Unfit::Secret);
        }
        let for_signatures = jwk.get("use").is_none_or(|purpose| purpose == "sig");
        let operations =
            |ops: &Value| ops.as_array().is_some_and(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures || !jwk.get("key_ops").is_none_or(operations) {
            return Err(Unfit::OtherUse);
        }
        let alg = match part("kty")? {
            "EC" if part("crv")? == "P-256" => SigningAlg::ES256,
            "RSA" if is_sound_rsa(part("n")?, part("e")?) => SigningAlg::RS256,
            "RSA" => return Err(Unfit::UnsoundRsa),
            _ => return Err(Unfit::OtherAlgorithm),
        };
        if jwk.get("alg").is_some_and(|own| own != alg.as_str()) {
            return Err(Unfit::OtherAlgorithm);
        }
        // Only the key itself: given a `kid`, josekit would demand it in every token.
        let material = jwk
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "kty" | "crv" | "x" | "y" | "n" | "e"));
        let material: Map<_, _> =
            material.map(|(name, value)| (name.clone(), value.clone())).collect();
        let written = Value::Object(material.clone()).to_string();
        let material = Jwk::from_map(material).map_err(|_| Unfit::Malformed)?;
        let verifier: Box<dyn JwsVerifier> = match alg {
            SigningAlg::ES256 => {
                Box::new(ES256.verifier_from_jwk(&material).map_err(|_| Unfit::Malformed)?)
            }
            SigningAlg::RS256 => {
                Box::new(RS256.verifier_from_jwk(&material).map_err(|_| Unfit::Malformed)?)
            }
        };
        Ok((Self { kid: text("kid").map(str::to_owned), alg, verifier }, written))
    }
}

/// True for a modulus of 2048 to 8192 bits and an odd exponent from 3 to 64 bits (RFC 8017, 3.1). With an exponent of 1
/// everybody signs, and reads what is sealed; a huge one makes each verification as dear as a signature.
pub(super) fn is_sound_rsa(n: &str, e: &str) -> bool {
    let modulus = digest::from_base64url(n).is_some_and(|n| (2048..=8192).contains(&bits(&n)));
    let exponent = digest::from_base64url(e).is_some_and(|e| {
        e.last().is_some_and(|last| last & 1 == 1) && (2..=64).contains(&bits(&e))
    });
    modulus && exponent
}

/// How many bits an RSA modulus has, as a JWK writes it; `None` if it is no base64url.
#[must_use]
pub fn rsa_bits(n: &str) -> Option<usize> {
    digest::from_base64url(n).map(|n| bits(&n))
}

fn bits(number: &[u8]) -> usize {
    let zeros: usize = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros).map_or(0, |first| (number.len() - zeros) * 8 - first.leading_zeros() as usize)
}

/// Whether a token without `exp` is acceptable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    Required,
    IfSent,
}

/// Which time claim is wrong.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeFault {
    #[error("exp, nbf or iat is missing, not a number, or out of range")]
    Malformed,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
    #[error("it was issued in the future")]
    Future,
}

/// Judges `exp`, `nbf` and `iat` (RFC 7519, 4.1.4 to 4.1.6) against `now`, each with the same tolerance.
///
/// # Errors
/// The first claim that is wrong.
pub fn check_times(
    claims: &Map<String, Value>,
    expiry: Expiry,
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), TimeFault> {
    match numeric_date(claims, "exp")? {
        Some(expires_at) if expires_at + tolerance <= now => return Err(TimeFault::Expired),
        None if expiry == Expiry::Required => return Err(TimeFault::Malformed),
        _ => {}
    }
    if numeric_date(claims, "nbf")?.is_some_and(|begins_at| begins_at > now + tolerance) {
        return Err(TimeFault::NotYet);
    }
    if numeric_date(claims, "iat")?.is_some_and(|issued_at| issued_at > now + tolerance) {
        return Err(TimeFault::Future);
    }
    Ok(())
}

/// A NumericDate (RFC 7519, 2): seconds since the epoch, fractions allowed. `None` when the claim is absent.
///
/// # Errors
/// `Malformed` when it is there and is no such number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub fn numeric_date(
    claims: &Map<String, Value>,
    name: &str,
) -> Result<Option<Timestamp>, TimeFault> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value
        .as_f64()
        .filter(|seconds| (0.0..1e13).contains(seconds))
        .ok_or(TimeFault::Malformed)?;
    Ok(Some(Timestamp::from_millis((seconds * 1000.0) as u64)))
}

/// True if `aud` (RFC 7519, 4.1.3) is `audience`, or a list that holds it.
#[must_use]
pub fn names_audience(claims: &Map<String, Value>, audience: &str) -> bool {
    match claims.get("aud") {
        Some(Value::String(only)) => only == audience,
        Some(Value::Array(list)) => list.iter().any(|one| one.as_str() == Some(audience)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
