//! Sealing: a signed token goes out encrypted to a key of its service provider (R005, R007, R041, R042; decisions 6).
//!
//! Owns: which public keys can encrypt, how one is chosen, the form of a sealed token. Must not know: where keys come
//! from, what is sealed. RFC 7516 (JWE), RFC 7517 (JWK), RFC 7518 (JWA), RFC 7519, 5.2 and 11.2 (nested JWT).

use std::sync::Arc;

use josekit::jwe::{ECDH_ES, JweEncrypter, JweHeader, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;
use josekit::util::random_bytes;
use serde_json::{Map, Value};

use super::jwe;
use super::verify::is_sound_rsa;
use crate::digest;
use crate::ids::{ClientId, Secret};
use crate::protocol::alg::{ContentEncryption, EncryptionAlg};

/// Nothing was sealed: OpenSSL refused, for every key has sealed once when it was read.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the token could not be encrypted to the service provider's key")]
pub struct SealFault;

/// The keys of one service provider that can encrypt, parsed once.
#[derive(Default)]
pub struct EncryptionKeys {
    keys: Vec<Arc<EncryptionKey>>,
    refusals: Vec<(usize, &'static str)>,
}

/// One key for one algorithm.
pub struct EncryptionKey {
    pub alg: EncryptionAlg,
    pub kid: String,
    /// Lower is better: keys that say what they are for come before those that leave it open.
    rank: u8,
    /// `enc`, `cty`, `kid`: the same for every token; josekit adds `alg`.
    header: JweHeader,
    encrypter: Box<dyn JweEncrypter>,
}

impl EncryptionKeys {
    /// Takes the usable ones of a JWK Set's members. What can't encrypt is set aside with its reason.
    pub(super) fn of(jwks: &[Value]) -> Self {
        let mut found = Self::default();
        for (index, jwk) in jwks.iter().enumerate() {
            match EncryptionKey::all_of(jwk) {
                Ok(keys) => found.keys.extend(keys.into_iter().map(Arc::new)),
                Err(reason) => found.refusals.push((index, reason)),
            }
        }
        found
    }

    /// The key for `alg`: one whose `use` is `enc` before one that leaves it open, then one that names its `alg`, then
    /// the first of the set.
    #[must_use]
    pub fn choose(&self, alg: EncryptionAlg) -> Option<&Arc<EncryptionKey>> {
        self.keys.iter().filter(|key| key.alg == alg).min_by_key(|key| key.rank)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Index in the set, counted from 0, and why that key encrypts nothing.
    #[must_use]
    pub fn refusals(&self) -> &[(usize, &'static str)] {
        &self.refusals
    }
}

impl EncryptionKey {
    /// Seals a compact JWS: a compact JWE whose header is `alg`, `enc`, `cty: JWT`, `kid` (R041), and `epk` with
    /// ECDH-ES.
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn seal(&self, jws: &str) -> Result<String, SealFault> {
        jwe::CONTEXT
            .serialize_compact(jws.as_bytes(), &self.header, self.encrypter.as_ref())
            .map_err(|_| SealFault)
    }

    /// Encrypts as [`Self::seal`] does, to a token that the holder of `mark` recognizes by [`Mark::is_on`].
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn seal_marked(&self, jws: &str, mark: &Mark<'_>) -> Result<String, SealFault> {
        self.marked(jws, mark).ok_or(SealFault)
    }

    /// RFC 7516 §5.1, as josekit does it, but for the initialization vector.
    fn marked(&self, jws: &str, mark: &Mark<'_>) -> Option<String> {
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
        let vector = mark.vector(&header, &encrypted_key);
        let (ciphertext, tag) =
            content.encrypt(&key, Some(&vector), jws.as_bytes(), header.as_bytes()).ok()?;
        let (ciphertext, tag) = (digest::base64url(&ciphertext), digest::base64url(&tag?));
        Some(format!("{header}.{encrypted_key}.{}.{ciphertext}.{tag}", digest::base64url(&vector)))
    }

    /// An RSA key that names no `alg` serves two.
    fn all_of(jwk: &Value) -> Result<Vec<Self>, &'static str> {
        let jwk = jwk.as_object().ok_or("is no JSON object")?;
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        match text("use") {
            None if jwk.contains_key("use") => return Err("has a use that is no text"),
            Some(purpose) if purpose != "enc" => return Err("is not for encryption (use)"),
            None | Some(_) => {}
        }
        if !operations_allow(jwk) {
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
                    "is an RSA key under 2048 or over 8192 bits, or its e is even, 1 or over 64 bits, or it is damaged",
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
        // R041: the header names the key, so it must have a name.
        let kid = text("kid")
            .filter(|kid| (1..=255).contains(&kid.len()))
            .ok_or("has no kid, or one over 255 characters")?;
        let rank = u8::from(!jwk.contains_key("use")) * 2 + u8::from(!jwk.contains_key("alg"));
        fitting
            .into_iter()
            .map(|alg| {
                Self::new(alg, kid, rank, jwk).ok_or("is damaged: nothing can be encrypted to it")
            })
            .collect()
    }

    /// Proven by sealing once, so that a login does not find out.
    fn new(alg: EncryptionAlg, kid: &str, rank: u8, jwk: &Map<String, Value>) -> Option<Self> {
        // Only the key itself: `use`, `key_ops` and `alg` have been judged.
        let material = jwk
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "kty" | "crv" | "x" | "y" | "n" | "e"));
        let material = Jwk::from_map(
            material.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>(),
        )
        .ok()?;
        let encrypter: Box<dyn JweEncrypter> = match alg {
            EncryptionAlg::EcdhEs => Box::new(ECDH_ES.encrypter_from_jwk(&material).ok()?),
            EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.encrypter_from_jwk(&material).ok()?),
            EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.encrypter_from_jwk(&material).ok()?),
        };
        let mut header = JweHeader::new();
        header.set_content_encryption(ContentEncryption::A256GCM.as_str());
        header.set_content_type("JWT"); // RFC 7519, 5.2
        header.set_key_id(kid);
        let key = Self { alg, kid: kid.to_owned(), rank, header, encrypter };
        key.seal("passerelle").ok()?;
        Some(key)
    }
}

/// Bytes of a JWE that is looked at.
const LONGEST_MARKED: usize = 16 * 1024;
/// Bytes of an initialization vector of AES-GCM (RFC 7518 §5.3).
const VECTOR: usize = 12;

/// What makes a JWE recognizable to this hub alone, although only the service provider can decrypt it: the initialization
/// vector is a keyed digest of the header, the encrypted key and the audience.
///
/// AES-GCM asks of the vector that it is never used twice with one key (NIST SP 800-38D §8). The content encryption key is
/// new for each token, so any vector will do. Without the digest's key, a marked JWE looks like any other.
#[derive(Clone, Copy)]
pub struct Mark<'a> {
    pub key: &'a Secret<String>,
    /// The service provider that the token is issued to.
    pub audience: &'a ClientId,
}

impl Mark<'_> {
    /// Returns whether `sealed` is a JWE that was encrypted with this mark. Its content is not known to be unchanged.
    #[must_use]
    pub fn is_on(&self, sealed: &str) -> bool {
        let mut parts = sealed.split('.');
        let (Some(header), Some(encrypted_key), Some(vector), Some(_), Some(_), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let vector = digest::from_base64url(vector).unwrap_or_default();
        sealed.len() <= LONGEST_MARKED
            && digest::equal(&vector, &self.vector(header, encrypted_key))
    }

    /// The header holds the ephemeral key of ECDH-ES, so that no two tokens share both.
    fn vector(&self, header: &str, encrypted_key: &str) -> [u8; VECTOR] {
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

impl std::fmt::Debug for Mark<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mark(***)")
    }
}

/// RFC 7517, 4.3. The public half of a key for ECDH has no operation of its own, so an empty list allows it.
fn operations_allow(jwk: &Map<String, Value>) -> bool {
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

impl std::fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncryptionKey({} {})", self.alg.as_str(), self.kid)
    }
}

#[cfg(test)]
pub(super) mod tests;
