//! The algorithms that the document names.

/// Algorithms of the hub's signatures, and those of them that FAPI 2.0 accepts.
pub(super) const SIGNING_ALGS: &[&str] = &["ES256", "RS256"];
pub(super) const FAPI_SIGNING_ALGS: &[&str] = &["ES256"];

/// Algorithms of JWTs that service providers sign, and those of them that FAPI 2.0 accepts.
pub(super) const CLIENT_SIGNING_ALGS: &[&str] = &["ES256", "RS256", "PS256", "EdDSA"];
pub(super) const FAPI_CLIENT_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "EdDSA"];

/// Algorithms for encrypting to service providers and data providers.
pub(super) const ENCRYPTION_ALGS: &[&str] = &["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"];
pub(super) const ENCRYPTION_ENCS: &[&str] = &["A256GCM"];
