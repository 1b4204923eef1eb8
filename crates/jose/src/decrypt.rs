//! Decrypts the JWEs that identity providers send: ID tokens and user information (RFC 7516, RFC
//! 7518; RFC 8725 §3.1 and §3.6).
//!
//! Responsible for the accepted form of a compact JWE, the choice of the key, and the form of the
//! content. The decrypted JWS still needs [`super::verify`]: anyone can encrypt to the hub's public
//! keys, so encryption proves nothing about the sender.

use serde_json::{Map, Value};

use super::decryption_key::{DecryptionError, DecryptionKey};
use super::jwe::{GCM_IV_BYTES, GCM_TAG_BYTES};
use super::key_device::KeyDeviceError;
use super::relying_party_keys::RelyingPartyKeys;
use super::verify::MAX_JWT_BYTES;
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;

/// Algorithms with which an identity provider encrypts, as registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JweAlgorithms {
    pub alg: EncryptionAlg,
    pub enc: ContentEncryption,
}

/// Why a text is not an acceptable JWE around a JWS. Contains nothing of the text.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum JweDecryptError {
    #[error("it is longer than 64 KiB")]
    TooLarge,
    #[error("it is only signed (JWS), but encryption (JWE) is registered")]
    NotEncrypted,
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
        "its kid names none of the hub's encryption keys for this alg; the identity provider may hold an old copy of /api/v2/client/jwks"
    )]
    UnknownKey,
    #[error(
        "it can't be decrypted with the hub's key: it was encrypted to another key, or modified"
    )]
    DecryptionFailed,
    #[error("its content is not signed, so anyone may have encrypted it")]
    Unsigned,
    #[error("its content is encrypted again")]
    Nested,
    /// The device that holds the hub's key failed.
    #[error(transparent)]
    Device(KeyDeviceError),
}

/// Decrypts a compact JWE and returns the compact JWS content, which is not verified yet.
///
/// Checks the whole header before it uses the private key. Waits only for the device of a key.
///
/// # Errors
/// The first rule that the JWE breaks.
pub async fn decrypt_jwe(
    compact: &str,
    algorithms: JweAlgorithms,
    keys: &RelyingPartyKeys,
    now: Timestamp,
) -> Result<Secret<String>, JweDecryptError> {
    let JweAlgorithms { alg, enc } = algorithms;
    let header = parse_header(compact, alg, &[enc.as_str()])?;
    let key = select_key(&header, alg, keys, now)?;
    if !key.supports(alg) {
        return Err(JweDecryptError::UnknownKey);
    }
    let content = key.decrypt(compact, &header, alg).await;
    check_nested_jws(content.map_err(|error| match error {
        DecryptionError::Undecryptable => JweDecryptError::DecryptionFailed,
        DecryptionError::Device(error) => JweDecryptError::Device(error),
    })?)
}

/// Returns the header of a compact JWE with this `alg` and one of these `enc`, which are GCM.
///
/// # Errors
/// The first rule that the JWE breaks.
pub(super) fn parse_header(
    compact: &str,
    alg: EncryptionAlg,
    encs: &[&str],
) -> Result<Map<String, Value>, JweDecryptError> {
    if compact.len() > MAX_JWT_BYTES {
        return Err(JweDecryptError::TooLarge);
    }
    let parts: Vec<&str> = compact.splitn(6, '.').collect();
    let [header, _, iv, _, tag] = parts[..] else {
        return Err(if parts.len() == 3 {
            JweDecryptError::NotEncrypted
        } else {
            JweDecryptError::Malformed
        });
    };
    let header = digest::from_base64url(header).ok_or(JweDecryptError::Malformed)?;
    let header = json::parse_object(&header).map_err(|_| JweDecryptError::Malformed)?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    // RFC 8725 §3.1: the receiver chooses the algorithm, not the token. Stops `dir`, RSA1_5, and
    // the CBC encryptions.
    if text("alg") != Some(alg.as_str()) {
        return Err(JweDecryptError::Algorithm);
    }
    if !text("enc").is_some_and(|enc| encs.contains(&enc)) {
        return Err(JweDecryptError::ContentEncryption);
    }
    // RFC 8725 §3.6. Stops decompression bombs.
    if header.contains_key("zip") {
        return Err(JweDecryptError::Compressed);
    }
    // RFC 7516 §4.1.13: unknown critical extensions must be rejected, and the hub knows none.
    if header.contains_key("crit") {
        return Err(JweDecryptError::Extension);
    }
    let decoded_len = |part: &str| digest::from_base64url(part).map(|decoded| decoded.len());
    // GCM accepts shorter tags, down to one byte, which an attacker can guess.
    if decoded_len(iv) != Some(GCM_IV_BYTES) || decoded_len(tag) != Some(GCM_TAG_BYTES) {
        return Err(JweDecryptError::Malformed);
    }
    Ok(header)
}

fn select_key<'k>(
    header: &Map<String, Value>,
    alg: EncryptionAlg,
    keys: &'k RelyingPartyKeys,
    now: Timestamp,
) -> Result<&'k DecryptionKey, JweDecryptError> {
    match header.get("kid") {
        None => keys.default_key(alg, now).ok_or(JweDecryptError::UnknownKey),
        Some(Value::String(kid)) => keys.key_by_kid(kid).ok_or(JweDecryptError::UnknownKey),
        Some(_) => Err(JweDecryptError::Malformed),
    }
}

/// Checks that the content has the form of one compact JWS. Verification follows elsewhere.
fn check_nested_jws(content: Vec<u8>) -> Result<Secret<String>, JweDecryptError> {
    let compact = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let text = String::from_utf8(content).map_err(|_| JweDecryptError::Unsigned)?;
    match text.bytes().filter(|byte| *byte == b'.').count() {
        _ if !text.as_bytes().iter().all(compact) => Err(JweDecryptError::Unsigned),
        2 => Ok(Secret::new(text)),
        4 => Err(JweDecryptError::Nested),
        _ => Err(JweDecryptError::Unsigned),
    }
}

#[cfg(test)]
mod tests;
