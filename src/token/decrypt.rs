//! The one entrance for everything sealed to the hub: ID tokens and user information of identity providers (decisions
//! 10). What comes out goes on to [`super::verify`], for a seal proves nothing about its sender: our public keys are
//! everyone's.
//!
//! Owns: what a compact JWE must look like, which key opens it, what may be inside. Must not know: who sealed it, or what
//! the claims inside mean. RFC 7516 (JWE), RFC 7518 (JWA), RFC 8725, 3.1 and 3.6 (algorithms, compression).

use serde_json::{Map, Value};

use super::decryption_key::DecryptionKey;
use super::jwe;
use super::upstream_keys::UpstreamKeys;
use super::verify::MAX_BYTES;
use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::protocol::alg::{ContentEncryption, EncryptionAlg};
use crate::protocol::json;

/// Bytes (RFC 7518, 5.3).
const GCM_IV: usize = 12;
const GCM_TAG: usize = 16;

/// How an identity provider seals its answers, as registered with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealing {
    pub alg: EncryptionAlg,
    pub enc: ContentEncryption,
}

/// Why a text is not a JWE around a JWS that we accept. Never carries any of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnsealFault {
    #[error("it is longer than 64 KiB")]
    TooLarge,
    #[error("it is only signed (JWS), and an encrypted one (JWE) is registered")]
    Bare,
    #[error(
        "it is not a compact JWE: five parts of base64url, of them a JSON object without repeated members, an IV of 12 bytes and a tag of 16"
    )]
    Malformed,
    #[error("its alg is not the registered one")]
    Algorithm,
    #[error("its enc is not the registered one")]
    ContentEncryption,
    #[error("it is compressed (zip)")]
    Compressed,
    #[error("its header demands an extension (crit)")]
    Extension,
    #[error(
        "its kid names none of our encryption keys of that alg; has the identity provider read /api/v2/client/jwks lately?"
    )]
    UnknownKey,
    #[error("it does not open with our key, so it was sealed to another, or changed on its way")]
    Broken,
    #[error("what is inside is not signed, so anyone may have sealed it")]
    Unsigned,
    #[error("what is inside is encrypted again")]
    Nested,
}

/// Opens a compact JWE; the compact JWS inside is not verified yet.
///
/// Every rule that the header can break is judged before the private key is used.
///
/// # Errors
/// The first rule that it breaks.
pub fn open_jwe(
    compact: &str,
    sealing: Sealing,
    keys: &UpstreamKeys,
    now: Timestamp,
) -> Result<Secret<String>, UnsealFault> {
    if compact.len() > MAX_BYTES {
        return Err(UnsealFault::TooLarge);
    }
    let parts: Vec<&str> = compact.splitn(6, '.').collect();
    let [header_part, _, iv_part, _, tag_part] = parts[..] else {
        return Err(if parts.len() == 3 { UnsealFault::Bare } else { UnsealFault::Malformed });
    };
    let header = digest::from_base64url(header_part).ok_or(UnsealFault::Malformed)?;
    let header = json::parse_object(&header).map_err(|_| UnsealFault::Malformed)?;
    check_header(&header, sealing)?;
    // GCM itself takes shorter tags, down to one byte, which a forger guesses.
    if bytes(iv_part) != Some(GCM_IV) || bytes(tag_part) != Some(GCM_TAG) {
        return Err(UnsealFault::Malformed);
    }
    let key = find(&header, sealing.alg, keys, now)?;
    let decrypter = key.decrypter(sealing.alg).ok_or(UnsealFault::UnknownKey)?;
    let (inside, _) =
        jwe::CONTEXT.deserialize_compact(compact, decrypter).map_err(|_| UnsealFault::Broken)?;
    jws(inside)
}

fn bytes(part: &str) -> Option<usize> {
    digest::from_base64url(part).map(|decoded| decoded.len())
}

fn check_header(
    header: &Map<String, Value>,
    Sealing { alg, enc }: Sealing,
) -> Result<(), UnsealFault> {
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    // RFC 8725, 3.1: the receiver says which algorithm, not the token. Stops `dir`, RSA1_5, and the CBC encryptions.
    if text("alg") != Some(alg.as_str()) {
        return Err(UnsealFault::Algorithm);
    }
    if text("enc") != Some(enc.as_str()) {
        return Err(UnsealFault::ContentEncryption);
    }
    // RFC 8725, 3.6. Stops what inflates to a thousand times its size.
    if header.contains_key("zip") {
        return Err(UnsealFault::Compressed);
    }
    // RFC 7516, 4.1.13: what we do not understand must be refused, and we understand no extension.
    if header.contains_key("crit") {
        return Err(UnsealFault::Extension);
    }
    Ok(())
}

fn find<'k>(
    header: &Map<String, Value>,
    alg: EncryptionAlg,
    keys: &'k UpstreamKeys,
    now: Timestamp,
) -> Result<&'k DecryptionKey, UnsealFault> {
    match header.get("kid") {
        None => keys.unnamed(alg, now).ok_or(UnsealFault::UnknownKey),
        Some(Value::String(kid)) => keys.named(kid).ok_or(UnsealFault::UnknownKey),
        Some(_) => Err(UnsealFault::Malformed),
    }
}

/// Exactly one compact JWS. Its form is enough here: whoever wants its claims must verify it.
fn jws(inside: Vec<u8>) -> Result<Secret<String>, UnsealFault> {
    let compact = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let text = String::from_utf8(inside).map_err(|_| UnsealFault::Unsigned)?;
    match text.bytes().filter(|byte| *byte == b'.').count() {
        _ if !text.as_bytes().iter().all(compact) => Err(UnsealFault::Unsigned),
        2 => Ok(Secret::new(text)),
        4 => Err(UnsealFault::Nested),
        _ => Err(UnsealFault::Unsigned),
    }
}

#[cfg(test)]
pub(crate) mod tests;
