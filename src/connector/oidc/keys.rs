//! The identity provider's keys, and the bridge over which the crate believes a signature that `token::verify` has
//! already proven.
//!
//! Owns: fetching a key set; [`ProvenKey`]. Must not know: claims. RFC 7517; OpenID Connect Core 1.0, 10.1.

use std::fmt;
use std::sync::Arc;

use openidconnect::core::{CoreJsonWebKeyType, CoreJsonWebKeyUse, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKey, JsonWebKeyAlgorithm, JsonWebKeyId, SignatureVerificationError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::metadata;
use crate::connector::ConnectorFault;
use crate::digest;
use crate::egress::guard::Guard;
use crate::egress::kept::{Fetched, life_of};
use crate::protocol::alg::SigningAlg;
use crate::protocol::catalogue::ErrorCode;
use crate::token::verify::{MAX_KEYS, VerificationKeys};

/// Fetches and parses a key set; verifiers are built here, once, not per login.
///
/// # Errors
/// It can't be had, is no key set, is far too long a one, or holds no key that could verify anything.
pub async fn fetch(
    jwks_uri: &Url,
    guard: &Guard,
) -> Result<Fetched<VerificationKeys>, ConnectorFault> {
    let answer = metadata::get(guard, jwks_uri.as_str()).await?;
    let unusable = |why: &str| ConnectorFault::new(ErrorCode::IdpKeys, why);
    let keys = VerificationKeys::from_jwks(answer.body())
        .map_err(|_| unusable("it is not a JWK Set without repeated members"))?;
    let offered = keys.len() + keys.skipped();
    if offered > MAX_KEYS {
        let why = format!(
            "it holds {offered} keys, and {MAX_KEYS} are the most; those that are out of use should be withdrawn"
        );
        return Err(ConnectorFault::new(ErrorCode::IdpKeysTooMany, why));
    }
    let skipped = keys
        .skipped_for()
        .map(|(why, count)| format!("{count} {why}"))
        .collect::<Vec<_>>()
        .join(", ");
    if keys.is_empty() {
        return Err(unusable(&format!(
            "it holds no public key for ES256 or RS256 signatures, but: {skipped}"
        )));
    }
    if !skipped.is_empty() {
        tracing::debug!(
            host = jwks_uri.host_str(),
            usable = keys.len(),
            skipped,
            "not all keys of a key set are of use"
        );
    }
    Ok(Fetched { value: keys, life: life_of(answer.headers()) })
}

/// The key of exactly one token whose signature `open_jws` has verified. The crate insists on checking a signature
/// itself before it judges claims; a second elliptic-curve operation would add a tenth to the cost of a login. So
/// this key accepts the bytes that were proven, compares instead of computing, and accepts nothing else.
#[derive(Clone)]
pub struct ProvenKey {
    kid: Option<JsonWebKeyId>,
    kty: CoreJsonWebKeyType,
    alg: CoreJwsSigningAlgorithm,
    /// The compact token; `None` accepts nothing.
    proven: Option<Arc<str>>,
}

impl ProvenKey {
    /// For a token that `open_jws` has opened, and its header's `kid`.
    pub fn of(opened_compact: &str, kid: Option<&str>, alg: SigningAlg) -> Self {
        Self {
            proven: Some(opened_compact.into()),
            kid: kid.map(|kid| JsonWebKeyId::new(kid.to_owned())),
            ..Self::barren(alg)
        }
    }

    fn barren(alg: SigningAlg) -> Self {
        let (kty, alg) = match alg {
            SigningAlg::ES256 => {
                (CoreJsonWebKeyType::EllipticCurve, CoreJwsSigningAlgorithm::EcdsaP256Sha256)
            }
            SigningAlg::RS256 => {
                (CoreJsonWebKeyType::RSA, CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256)
            }
        };
        Self { kid: None, kty, alg, proven: None }
    }

    /// The algorithm's name in the crate.
    pub fn alg(&self) -> CoreJwsSigningAlgorithm {
        self.alg.clone()
    }
}

impl JsonWebKey for ProvenKey {
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

    /// A client secret is no key here: what the crate makes of one for HS256 accepts nothing.
    fn new_symmetric(_: Vec<u8>) -> Self {
        Self::barren(SigningAlg::default())
    }

    fn verify_signature(
        &self,
        alg: &CoreJwsSigningAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureVerificationError> {
        let same = self.proven.as_deref().and_then(|compact| compact.rsplit_once('.')).is_some_and(
            |(proven, proven_signature)| {
                *alg == self.alg
                    && proven.as_bytes() == message
                    && proven_signature == digest::base64url(signature)
            },
        );
        if same {
            Ok(())
        } else {
            Err(SignatureVerificationError::CryptoError("not the token that was opened".into()))
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

impl fmt::Debug for ProvenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProvenKey(***)")
    }
}

/// The crate's trait asks for both directions of serde; such a key is neither written nor read.
impl Serialize for ProvenKey {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a proven key is not written"))
    }
}

impl<'de> Deserialize<'de> for ProvenKey {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("a proven key is not read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proven_key_accepts_only_the_token_that_was_opened() {
        let key = ProvenKey::of("aGVhZA.Ym9keQ.c2ln", None, SigningAlg::ES256);
        let es256 = CoreJwsSigningAlgorithm::EcdsaP256Sha256;
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keQ", b"sig").is_ok());
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keR", b"sig").is_err());
        assert!(key.verify_signature(&es256, b"aGVhZA.Ym9keQ", b"sih").is_err());
        assert!(
            key.verify_signature(&CoreJwsSigningAlgorithm::HmacSha256, b"aGVhZA.Ym9keQ", b"sig")
                .is_err()
        );
        let secret = ProvenKey::new_symmetric(b"the client secret".to_vec());
        assert!(secret.verify_signature(&CoreJwsSigningAlgorithm::HmacSha256, b"", b"").is_err());
        assert!(secret.verify_signature(&es256, b"", b"").is_err());
    }
}
