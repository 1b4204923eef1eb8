//! JWE content encryption of the hub: A256GCM without compression (RFC 7518 §5.1; RFC 8725 §3.6).

use std::sync::LazyLock;

use josekit::JoseError;
use josekit::jwe::{ECDH_ES, JweContext, JweDecrypter, JweEncrypter, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;

use crate::protocol::alg::EncryptionAlg;

/// josekit context with A256GCM only. Compression is off: it leaks content through the length, and
/// 256 KB can inflate to 200 MB.
pub(super) static CONTEXT: LazyLock<JweContext> = LazyLock::new(|| {
    let mut context = JweContext::new();
    context.remove_compression("DEF");
    for other in ["A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM"] {
        context.remove_content_encryption(other);
    }
    context
});

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
