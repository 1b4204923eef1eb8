//! The algorithms that the document names.

use crate::acr::Platform;

/// Algorithms of the hub's signatures, and those of them that FAPI 2.0 accepts.
pub(super) const SIGNING_ALGS: &[&str] = &["ES256", "RS256"];
pub(super) const FAPI_SIGNING_ALGS: &[&str] = &["ES256"];

/// Algorithms of JWTs that service providers sign, and those of them that FAPI 2.0 accepts.
pub(super) const CLIENT_SIGNING_ALGS: &[&str] = &["ES256", "RS256", "PS256", "EdDSA"];
pub(super) const FAPI_CLIENT_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "EdDSA"];

/// Algorithms for encrypting to clients: to service providers on the high platform, to data
/// providers on both.
pub(super) const ENCRYPTION_ALGS: &[&str] = &["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"];
pub(super) const ENCRYPTION_ENCS: &[&str] = &["A256GCM"];

/// Key management and content encryption of tokens; none on the standard platform.
pub(super) type TokenEncryption =
    (Option<&'static [&'static str]>, Option<&'static [&'static str]>);

/// Returns the algorithms that ID tokens and userinfo are encrypted with.
pub(super) const fn token_encryption(platform: Platform) -> TokenEncryption {
    match platform {
        Platform::Standard => (None, None),
        Platform::High => (Some(ENCRYPTION_ALGS), Some(ENCRYPTION_ENCS)),
    }
}
