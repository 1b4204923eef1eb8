//! Encrypts signed tokens to the keys of a service provider (R005, R007, R041, R042; RFC 7516 JWE,
//! RFC 7517 JWK, RFC 7518 JWA, RFC 7519 §5.2 and §11.2 nested JWT).
//!
//! Responsible for which public keys can encrypt, for choosing one, and for the form of an
//! encrypted token. Does not know where keys come from, or what it encrypts.

use std::sync::Arc;

use josekit::jwe::{JweEncrypter, JweHeader};
use josekit::jwk::Jwk;
use josekit::util::random_bytes;
use serde_json::{Map, Value};

use super::jwe::{self, GCM_IV_BYTES};
use super::verify::{is_sound_rsa, key_material};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg};
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ClientId, Secret};

/// Error of a failed encryption. Only OpenSSL can cause it: every key is tried once when it is
/// parsed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the token could not be encrypted to the service provider's key")]
pub struct JweEncryptError;

/// Encryption keys of one service provider, parsed once.
#[derive(Default)]
pub struct EncryptionKeys {
    keys: Vec<Arc<EncryptionKey>>,
    rejected: Vec<(usize, &'static str)>,
}

/// A public key for one algorithm.
#[derive(derive_more::Debug)]
#[debug("EncryptionKey({} {kid})", alg.as_str())]
pub struct EncryptionKey {
    pub alg: EncryptionAlg,
    pub kid: String,
    /// Lower is better: keys that declare their purpose rank before those that do not.
    rank: u8,
    /// `enc`, `cty` and `kid`, equal for all tokens; josekit adds `alg`.
    header: JweHeader,
    encrypter: Box<dyn JweEncrypter>,
}

impl EncryptionKeys {
    /// Parses the usable keys of a JWK Set. Records why the others can't encrypt.
    pub(super) fn from_jwks(jwks: &[Value]) -> Self {
        let mut found = Self::default();
        for (index, jwk) in jwks.iter().enumerate() {
            match EncryptionKey::from_jwk(jwk) {
                Ok(keys) => found.keys.extend(keys.into_iter().map(Arc::new)),
                Err(reason) => found.rejected.push((index, reason)),
            }
        }
        found
    }

    /// Returns the best key for `alg`: first one with `use: enc`, then one that names its `alg`,
    /// then the first of the set.
    pub fn select(&self, alg: EncryptionAlg) -> Option<&Arc<EncryptionKey>> {
        self.keys.iter().filter(|key| key.alg == alg).min_by_key(|key| key.rank)
    }

    /// Returns true if no key can encrypt.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the rejected keys: the index in the set, from 0, and the reason.
    pub fn rejected(&self) -> &[(usize, &'static str)] {
        &self.rejected
    }
}

impl EncryptionKey {
    /// Encrypts a compact JWS to a compact JWE with the header members `alg`, `enc`, `cty: JWT`,
    /// `kid` (R041), and `epk` for ECDH-ES.
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn encrypt(&self, jws: &str) -> Result<String, JweEncryptError> {
        self.encrypt_with(&self.header, jws)
    }

    /// Encrypts like [`Self::encrypt`], to a JWE that the holder of `mark` recognizes with
    /// [`JweMark::matches`].
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn encrypt_marked(&self, jws: &str, mark: &JweMark<'_>) -> Result<String, JweEncryptError> {
        self.try_encrypt_marked(jws, mark).ok_or(JweEncryptError)
    }

    /// Encrypts like [`Self::encrypt`], with the issuer in the header too (RFC 7519 §5.3).
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn encrypt_for_issuer(&self, jws: &str, issuer: &str) -> Result<String, JweEncryptError> {
        let mut header = self.header.clone();
        header.set_issuer(issuer);
        self.encrypt_with(&header, jws)
    }

    fn encrypt_with(&self, header: &JweHeader, jws: &str) -> Result<String, JweEncryptError> {
        let encrypted =
            jwe::CONTEXT.serialize_compact(jws.as_bytes(), header, self.encrypter.as_ref());
        encrypted.map_err(|_| JweEncryptError)
    }

    /// RFC 7516 §5.1 as josekit implements it, except for the initialization vector.
    fn try_encrypt_marked(&self, jws: &str, mark: &JweMark<'_>) -> Option<String> {
        let content = jwe::CONTEXT.get_content_encryption(ContentEncryption::A256GCM.as_str())?;
        let mut header = self.header.clone();
        let agreed = self
            .encrypter
            .compute_content_encryption_key(content, &self.header, &mut header)
            .ok()?;
        let key = agreed.unwrap_or_else(|| random_bytes(content.key_len()).into());
        let encrypted_key =
            self.encrypter.encrypt(&key, &self.header, &mut header).ok()?.unwrap_or_default();
        header.set_algorithm(self.encrypter.algorithm().name());
        let header = digest::base64url(&serde_json::to_vec(header.claims_set()).ok()?);
        let encrypted_key = digest::base64url(&encrypted_key);
        let vector = mark.initialization_vector(&header, &encrypted_key);
        let (ciphertext, tag) =
            content.encrypt(&key, Some(&vector), jws.as_bytes(), header.as_bytes()).ok()?;
        let (ciphertext, tag) = (digest::base64url(&ciphertext), digest::base64url(&tag?));
        Some(format!("{header}.{encrypted_key}.{}.{ciphertext}.{tag}", digest::base64url(&vector)))
    }

    /// Parses a JWK; an RSA key without `alg` yields two keys.
    fn from_jwk(jwk: &Value) -> Result<Vec<Self>, &'static str> {
        let jwk = jwk.as_object().ok_or("is not a JSON object")?;
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        match text("use") {
            None if jwk.contains_key("use") => return Err("has a use that is not a string"),
            Some(purpose) if purpose != "enc" => return Err("is not for encryption (use)"),
            None | Some(_) => {}
        }
        if !key_ops_allow_encryption(jwk) {
            return Err("is not for encryption (key_ops)");
        }
        let fitting: &[EncryptionAlg] = match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) | (Some("OKP"), Some("X25519")) => &[EncryptionAlg::EcdhEs],
            (Some("RSA"), None)
                if is_sound_rsa(text("n").unwrap_or_default(), text("e").unwrap_or_default()) =>
            {
                &[EncryptionAlg::RsaOaep256, EncryptionAlg::RsaOaep]
            }
            (Some("RSA"), None) => {
                return Err(
                    "is an RSA key under 2048 or over 4096 bits, its e is even, 1 or over 65537, or the key is malformed",
                );
            }
            _ => return Err("is neither an EC key on P-256, an X25519 key, nor an RSA key"),
        };
        let fitting: Vec<_> = match jwk.get("alg") {
            None => fitting.to_vec(),
            Some(named) => fitting.iter().copied().filter(|alg| named == alg.as_str()).collect(),
        };
        if fitting.is_empty() {
            return Err(
                "names an alg that is not one of ECDH-ES, RSA-OAEP-256 and RSA-OAEP, or not of its type",
            );
        }
        // R041: the header names the key, so it needs a kid.
        let kid = text("kid")
            .filter(|kid| (1..=255).contains(&kid.len()))
            .ok_or("has no kid, or one over 255 characters")?;
        let rank = u8::from(!jwk.contains_key("use")) * 2 + u8::from(!jwk.contains_key("alg"));
        fitting
            .into_iter()
            .map(|alg| Self::new(alg, kid, rank, jwk).ok_or("is malformed: encrypting to it fails"))
            .collect()
    }

    /// Creates a key, and encrypts once with it, so that a bad key does not fail a login.
    fn new(alg: EncryptionAlg, kid: &str, rank: u8, jwk: &Map<String, Value>) -> Option<Self> {
        // Only the key material: `use`, `key_ops` and `alg` were checked before.
        let material = Jwk::from_map(key_material(jwk)).ok()?;
        let encrypter = jwe::encrypter(alg, &material).ok()?;
        let mut header = JweHeader::new();
        header.set_content_encryption(ContentEncryption::A256GCM.as_str());
        header.set_content_type("JWT"); // RFC 7519 §5.2
        header.set_key_id(kid);
        let key = Self { alg, kid: kid.to_owned(), rank, header, encrypter };
        key.encrypt("passerelle").ok()?;
        Some(key)
    }
}

/// Longest JWE that is checked for a mark.
const MAX_MARKED_JWE_BYTES: usize = 16 * 1024;

/// Mark that lets only this hub recognize a JWE that only the service provider can decrypt: the
/// initialization vector is a keyed digest of the header, the encrypted key and the audience.
///
/// AES-GCM requires that a vector is never used twice with one key (NIST SP 800-38D §8). The
/// content encryption key is new for each token, so any vector is safe. Without the digest's key, a
/// marked JWE is indistinguishable from others.
#[derive(Clone, Copy)]
pub struct JweMark<'a> {
    pub key: &'a Secret<String>,
    /// The service provider that the token is issued to.
    pub audience: &'a ClientId,
}

impl JweMark<'_> {
    /// Returns true if `jwe` was encrypted with this mark. Its content may have been modified.
    pub fn matches(&self, jwe: &str) -> bool {
        let mut parts = jwe.split('.');
        let (Some(header), Some(encrypted_key), Some(vector), Some(_), Some(_), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let vector = digest::from_base64url(vector).unwrap_or_default();
        jwe.len() <= MAX_MARKED_JWE_BYTES
            && digest::constant_time_eq(&vector, &self.initialization_vector(header, encrypted_key))
    }

    /// The header contains the ephemeral key of ECDH-ES, so no two tokens share both inputs.
    fn initialization_vector(&self, header: &str, encrypted_key: &str) -> [u8; GCM_IV_BYTES] {
        let parts = [
            b"logout hint".as_slice(),
            self.audience.as_str().as_bytes(),
            header.as_bytes(),
            encrypted_key.as_bytes(),
        ];
        let [vector @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
            digest::hmac_parts(self.key.reveal().as_bytes(), &parts);
        vector
    }
}

/// RFC 7517 §4.3. The public half of an ECDH key has no operation of its own, so an empty list
/// allows it.
fn key_ops_allow_encryption(jwk: &Map<String, Value>) -> bool {
    let Some(operations) = jwk.get("key_ops") else { return true };
    let Some(operations) = operations.as_array() else { return false };
    let is_rsa = jwk.get("kty").is_some_and(|kty| kty == "RSA");
    let serving: &[&str] =
        if is_rsa { &["encrypt", "wrapKey"] } else { &["deriveKey", "deriveBits"] };
    let serves = |operation: &Value| {
        operation.as_str().is_some_and(|operation| serving.contains(&operation))
    };
    operations.iter().any(serves) || (operations.is_empty() && !is_rsa)
}

#[cfg(test)]
pub(super) mod tests;
