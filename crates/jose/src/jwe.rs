//! JWE content encryption of the hub: A256GCM without compression (RFC 7518 §5.1; RFC 8725 §3.6).

use std::sync::LazyLock;

use josekit::JoseError;
use josekit::jwe::{ECDH_ES, JweContext, JweDecrypter, JweEncrypter, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;

use passerelle_protocol::alg::EncryptionAlg;

/// RFC 7518 §5.3
pub(super) const GCM_IV_BYTES: usize = 12;
pub(super) const GCM_TAG_BYTES: usize = 16;

/// josekit context with A256GCM only.
pub(super) static CONTEXT: LazyLock<JweContext> =
    LazyLock::new(|| context_with_encryptions(&["A256GCM"]));

/// Returns a josekit context with these content encryption algorithms only. Compression is off: it
/// leaks content through the length, and 256 KB can inflate to 200 MB.
pub(super) fn context_with_encryptions(encs: &[&str]) -> JweContext {
    const KNOWN: [&str; 6] =
        ["A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM", "A256GCM"];
    let mut context = JweContext::new();
    context.remove_compression("DEF");
    for enc in KNOWN.into_iter().filter(|enc| !encs.contains(enc)) {
        context.remove_content_encryption(enc);
    }
    context
}

/// Returns what encrypts to a public key.
///
/// # Errors
/// Returns an error if the key is malformed or of another type than the algorithm requires.
pub(super) fn encrypter(alg: EncryptionAlg, key: &Jwk) -> Result<Box<dyn JweEncrypter>, JoseError> {
    Ok(match alg {
        EncryptionAlg::EcdhEs => Box::new(ECDH_ES.encrypter_from_jwk(key)?),
        EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.encrypter_from_jwk(key)?),
        EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.encrypter_from_jwk(key)?),
    })
}

/// Returns what decrypts with a private key.
///
/// # Errors
/// Returns an error if the key is malformed or of another type than the algorithm requires.
pub(super) fn decrypter(alg: EncryptionAlg, key: &Jwk) -> Result<Box<dyn JweDecrypter>, JoseError> {
    Ok(match alg {
        EncryptionAlg::EcdhEs => Box::new(ECDH_ES.decrypter_from_jwk(key)?),
        EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.decrypter_from_jwk(key)?),
        EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.decrypter_from_jwk(key)?),
    })
}
