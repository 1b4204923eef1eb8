//! Keys to which the answer of one request is encrypted (OpenID for Verifiable Presentations 1.0
//! §8.3): a new one for each request, so that an answer to another request can't be decrypted.
//!
//! Responsible for the accepted form of such a JWE. Its content is not verified: anyone who has the
//! request can encrypt to the key.

use std::sync::LazyLock;

use josekit::jwe::JweContext;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::decrypt::{self, JweDecryptError};
use super::jwe;
use super::signing_key::{self, KeyError, PrivateJwk, PublicHalf};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;

/// Content encryption algorithms that are offered (HAIP 1.0 §5: both must be supported).
pub const RESPONSE_ENCRYPTIONS: [&str; 2] = ["A128GCM", "A256GCM"];

/// josekit context with [`RESPONSE_ENCRYPTIONS`].
static CONTEXT: LazyLock<JweContext> =
    LazyLock::new(|| jwe::context_with_encryptions(&RESPONSE_ENCRYPTIONS));

/// A private P-256 key for the answer of one request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResponseKey(#[serde(with = "passerelle_protocol::ids::stored_secret")] PrivateJwk);

impl ResponseKey {
    /// Generates a key.
    ///
    /// # Errors
    /// `Generation`.
    pub fn generate() -> Result<Self, KeyError> {
        signing_key::generate(SigningAlg::ES256).map(Self)
    }

    /// Returns the public JWK to encrypt to; its `kid` is the thumbprint.
    ///
    /// # Errors
    /// `Unusable` if the stored key was damaged.
    pub fn public_jwk(&self) -> Result<Map<String, Value>, KeyError> {
        let PublicHalf { jwk: mut public, kid, .. } = signing_key::identified_public_half(&self.0)?;
        let alg = EncryptionAlg::EcdhEs.as_str();
        for (name, value) in [("kid", kid.as_str()), ("use", "enc"), ("alg", alg)] {
            public.insert(name.to_owned(), value.into());
        }
        Ok(public)
    }

    /// Returns the thumbprint (RFC 7638), to which the holder of an mdoc binds its signature.
    ///
    /// # Errors
    /// `Unusable` if the stored key was damaged.
    pub fn thumbprint(&self) -> Result<[u8; 32], KeyError> {
        let kid = signing_key::identified_public_half(&self.0)?.kid;
        let bytes = digest::from_base64url(&kid).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or(KeyError::Unusable)
    }

    /// Decrypts a compact JWE with a JSON object. Checks the whole header before it uses the key.
    ///
    /// # Errors
    /// The first rule that the JWE breaks.
    pub fn decrypt(&self, compact: &str) -> Result<Secret<Map<String, Value>>, JweDecryptError> {
        let header = decrypt::parse_header(compact, EncryptionAlg::EcdhEs, &RESPONSE_ENCRYPTIONS)?;
        // OpenID4VP 1.0 §8.3: the `kid` of the request's key. Stops answers to an older request
        // before the private key is used.
        let thumbprint = signing_key::identified_public_half(&self.0).map(|half| half.kid);
        match (header.get("kid"), thumbprint) {
            (Some(Value::String(kid)), Ok(thumbprint)) if *kid == thumbprint => {}
            (None, Ok(_)) => {}
            _ => return Err(JweDecryptError::UnknownKey),
        }
        let key = josekit::jwk::Jwk::from_map(self.0.reveal().clone())
            .and_then(|key| jwe::decrypter(EncryptionAlg::EcdhEs, &key))
            .map_err(|_| JweDecryptError::UnknownKey)?;
        let (content, _) = CONTEXT
            .deserialize_compact(compact, key.as_ref())
            .map_err(|_| JweDecryptError::DecryptionFailed)?;
        json::parse_object(&content).map(Secret::new).map_err(|_| JweDecryptError::Malformed)
    }
}

/// Encrypts an answer to the public JWK of a request, as a wallet does.
///
/// # Errors
/// `Unusable` if the JWK is no key on P-256, or `enc` is not offered.
pub fn encrypt_response(
    public: &Map<String, Value>,
    enc: &str,
    content: &[u8],
) -> Result<String, KeyError> {
    let mut header = josekit::jwe::JweHeader::new();
    header.set_content_encryption(enc);
    if let Some(kid) = public.get("kid").and_then(Value::as_str) {
        header.set_key_id(kid);
    }
    let key = josekit::jwk::Jwk::from_map(public.clone());
    let encrypter = key.and_then(|key| jwe::encrypter(EncryptionAlg::EcdhEs, &key));
    encrypter
        .and_then(|encrypter| CONTEXT.serialize_compact(content, &header, encrypter.as_ref()))
        .map_err(|_| KeyError::Unusable)
}

#[cfg(test)]
mod tests;
