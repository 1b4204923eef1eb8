//! Fetches the key set of an identity provider (RFC 7517; OpenID Connect Core 1.0 §10.1), and
//! provides [`PreverifiedKey`].

use std::sync::Arc;

use openidconnect::core::{CoreJsonWebKeyType, CoreJsonWebKeyUse, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKey, JsonWebKeyAlgorithm, JsonWebKeyId, SignatureVerificationError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::documents::DocumentClient;
use crate::error::ConnectorError;
use passerelle_egress::cached_document::{FetchedDocument, cache_lifetime};
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;

/// Fetches and parses a key set. Verifiers are built once per fetch, not per login.
///
/// # Errors
/// Returns an error if the key set can't be fetched or parsed, or has no usable key.
pub(super) async fn fetch_keys(
    jwks_uri: &Url,
    documents: DocumentClient<'_>,
) -> Result<FetchedDocument<VerificationKeys>, ConnectorError> {
    let response = documents.get(jwks_uri.as_str()).await?;
    let unusable = |message: &str| ConnectorError::new(ErrorCode::IdpKeys, message);
    let keys = VerificationKeys::from_jwks(response.body()).map_err(|_| {
        unusable("the key set is not a JWK Set: a JSON object with one member keys, a list")
    })?;
    let skipped = keys
        .skipped_by_reason()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect::<Vec<_>>()
        .join(", ");
    if keys.is_empty() {
        return Err(unusable(&format!(
            "the key set has no public key for ES256 or RS256 signatures, but: {skipped}"
        )));
    }
    if !skipped.is_empty() {
        tracing::debug!(
            host = jwks_uri.host_str(),
            usable = keys.len(),
            skipped,
            "unusable keys in key set"
        );
    }
    Ok(FetchedDocument { value: keys, lifetime: cache_lifetime(response.headers()) })
}

/// Key that accepts exactly one token: the part that `openidconnect` checks of a token whose
/// signature `verify_jws` has already verified.
///
/// `openidconnect` checks a signature before the claims. A second elliptic-curve operation would
/// add a tenth to the CPU time of a login, so this key compares the token instead.
#[derive(Clone, derive_more::Debug)]
#[debug("PreverifiedKey(***)")]
pub(super) struct PreverifiedKey {
    kid: Option<JsonWebKeyId>,
    kty: CoreJsonWebKeyType,
    alg: CoreJwsSigningAlgorithm,
    /// Compact token; `None` accepts nothing.
    verified_token: Option<Arc<str>>,
}

impl PreverifiedKey {
    /// Returns the key that accepts this part of a token that `verify_jws` has verified, with the
    /// `kid` of its header.
    pub(super) fn for_verified_token(compact: &str, kid: Option<&str>, alg: SigningAlg) -> Self {
        Self {
            verified_token: Some(compact.into()),
            kid: kid.map(|kid| JsonWebKeyId::new(kid.to_owned())),
            ..Self::rejecting_all(alg)
        }
    }

    fn rejecting_all(alg: SigningAlg) -> Self {
        let (kty, alg) = match alg {
            SigningAlg::ES256 => {
                (CoreJsonWebKeyType::EllipticCurve, CoreJwsSigningAlgorithm::EcdsaP256Sha256)
            }
            SigningAlg::RS256 => {
                (CoreJsonWebKeyType::RSA, CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256)
            }
        };
        Self { kid: None, kty, alg, verified_token: None }
    }

    /// Returns the algorithm as a type of `openidconnect`.
    pub(super) fn alg(&self) -> CoreJwsSigningAlgorithm {
        self.alg.clone()
    }
}

impl JsonWebKey for PreverifiedKey {
    type KeyUse = CoreJsonWebKeyUse;
    type SigningAlgorithm = CoreJwsSigningAlgorithm;

    fn key_id(&self) -> Option<&JsonWebKeyId> {
        self.kid.as_ref()
    }

    fn key_type(&self) -> &CoreJsonWebKeyType {
        &self.kty
    }

    fn key_use(&self) -> Option<&CoreJsonWebKeyUse> {
        Some(&CoreJsonWebKeyUse::Signature)
    }

    fn signing_alg(&self) -> JsonWebKeyAlgorithm<&CoreJwsSigningAlgorithm> {
        JsonWebKeyAlgorithm::Algorithm(&self.alg)
    }

    /// Returns a key that rejects everything, so that HS256 with the client secret fails.
    fn new_symmetric(_: Vec<u8>) -> Self {
        Self::rejecting_all(SigningAlg::default())
    }

    fn verify_signature(
        &self,
        alg: &CoreJwsSigningAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureVerificationError> {
        let same = self
            .verified_token
            .as_deref()
            .and_then(|compact| compact.rsplit_once('.'))
            .is_some_and(|(message_part, signature_part)| {
                *alg == self.alg
                    && message_part.as_bytes() == message
                    && signature_part == digest::base64url(signature)
            });
        if same {
            Ok(())
        } else {
            Err(SignatureVerificationError::CryptoError("not the verified token".into()))
        }
    }

    fn hash_bytes(&self, bytes: &[u8], alg: &CoreJwsSigningAlgorithm) -> Result<Vec<u8>, String> {
        if *alg == self.alg {
            Ok(digest::sha256(bytes).to_vec())
        } else {
            Err("not this key's algorithm".into())
        }
    }
}

/// Always fails; the trait of `openidconnect` requires `Serialize` and `Deserialize`.
impl Serialize for PreverifiedKey {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a preverified key can't be serialized"))
    }
}

impl<'de> Deserialize<'de> for PreverifiedKey {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("a preverified key can't be deserialized"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preverified_key_accepts_only_the_verified_token() {
        let key = PreverifiedKey::for_verified_token("aGVhZA.Ym9keQ.c2ln", None, SigningAlg::ES256);
        let es256 = CoreJwsSigningAlgorithm::EcdsaP256Sha256;
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keQ", b"sig").is_ok());
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keR", b"sig").is_err());
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keQ", b"sih").is_err());
        assert!(
            key.verify_signature(&CoreJwsSigningAlgorithm::HmacSha256, b"aGVhZA.Ym9keQ", b"sig")
                .is_err()
        );
        let secret = PreverifiedKey::new_symmetric(b"the client secret".to_vec());
        assert!(secret.verify_signature(&CoreJwsSigningAlgorithm::HmacSha256, b"", b"").is_err());
        assert!(secret.verify_signature(&es256, b"", b"").is_err());
    }
}
