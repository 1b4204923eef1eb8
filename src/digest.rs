//! L0 · The few cryptographic words that everything shares: SHA-256, HMAC, base64url, constant-time comparison.
//!
//! All of it is OpenSSL's; nothing here draws randomness (that is [`crate::env`]).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;

#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    // The one-shot function looks its algorithm up by name each time, which takes longer than the hashing.
    let mut hash = openssl::sha::Sha256::new();
    hash.update(bytes);
    hash.finish()
}

/// SHA-256 of `value` as base64url: how codes, tokens and session cookies are keyed in a store.
#[must_use]
pub fn fingerprint(value: &str) -> String {
    base64url(&sha256(value.as_bytes()))
}

/// HMAC-SHA-256 over the parts, each preceded by its length (u32, big-endian), so that no two lists of parts collide.
///
/// # Errors
/// Only if OpenSSL itself fails (out of memory, a FIPS refusal).
pub fn hmac_parts(key: &[u8], parts: &[&[u8]]) -> Result<[u8; 32], openssl::error::ErrorStack> {
    let mut message = Vec::with_capacity(parts.iter().map(|p| p.len() + 4).sum());
    for part in parts {
        message.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        message.extend_from_slice(part);
    }
    hmac(key, &message)
}

/// HMAC-SHA-256 of one message.
///
/// # Errors
/// Only if OpenSSL itself fails.
pub fn hmac(key: &[u8], message: &[u8]) -> Result<[u8; 32], openssl::error::ErrorStack> {
    let key = PKey::hmac(key)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
    let mut tag = [0; 32];
    signer.sign_oneshot(&mut tag, message)?;
    Ok(tag)
}

#[must_use]
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// `None` for anything that is not unpadded base64url.
#[must_use]
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Compares without telling by its duration where two values differ; lengths are not secret.
#[must_use]
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && openssl::memcmp::eq(left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_collide_when_a_boundary_moves() {
        assert_ne!(hmac_parts(b"k", &[b"ab", b"c"]).unwrap(), hmac_parts(b"k", &[b"a", b"bc"]).unwrap());
    }

    #[test]
    fn hmac_is_rfc_4231_case_2() {
        let tag = hmac(b"Jefe", b"what do ya want for nothing?").unwrap();
        assert_eq!(tag[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }
}
