//! Private keys encrypted in their files (RFC 7517 §7), by a passphrase that is elsewhere.
//!
//! Responsible for the form of an encrypted key, and for deriving its key once and not at each
//! reading of the folder. Does not know where the passphrase is from
//! (docs/design/adr/0029-private-key-files-encrypted-as-jwe.md).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use josekit::jwe::{JweHeader, PBES2_HS512_A256KW};
use serde_json::Value;

use super::jwe;
use super::jwe::{GCM_IV_BYTES, GCM_TAG_BYTES};
use super::signing_key::PrivateJwk;
use passerelle_protocol::alg::ContentEncryption;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json::parse_object;

/// Iterations of PBKDF2 with HMAC-SHA-512, as OWASP's Password Storage Cheat Sheet recommends.
const ITERATIONS: usize = 210_000;
const MAX_ITERATIONS: usize = 1_000_000;
const SALT_BYTES: usize = 16;
const MAX_SALT_BYTES: usize = 64;
/// A content key of 256 bits after AES key wrap (RFC 3394).
const WRAPPED_KEY_BYTES: usize = 40;
/// The only header parameters of a key file.
const PARAMETERS: [&str; 5] = ["alg", "enc", "cty", "p2s", "p2c"];
/// More keys than a folder has: above it all are forgotten, and those of the folder derived again.
const MAX_REMEMBERED_KEYS: usize = 64;

/// A key could not be encrypted or decrypted. Says nothing more: both halves are secret.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the key can't be encrypted or decrypted with this passphrase")]
pub struct KeyEncryptionError;

/// Encrypts and decrypts the private keys of a folder.
#[derive(Debug)]
pub struct KeyPassphrase {
    passphrase: Secret<String>,
    /// Decrypted keys by the hash of their encrypted form: the hub reads its folder every 30
    /// seconds, and deriving a key takes a tenth of a second.
    decrypted: Mutex<BTreeMap<[u8; 32], PrivateJwk>>,
}

impl KeyPassphrase {
    pub fn new(passphrase: Secret<String>) -> Self {
        Self { passphrase, decrypted: Mutex::default() }
    }

    /// Returns the private JWK as a compact JWE.
    ///
    /// # Errors
    /// Only if OpenSSL fails.
    pub(super) fn encrypt(&self, jwk: &PrivateJwk) -> Result<String, KeyEncryptionError> {
        let passphrase = self.passphrase.reveal().as_bytes();
        let encrypter = PBES2_HS512_A256KW.encrypter_from_bytes(passphrase);
        let mut encrypter = encrypter.map_err(|_| KeyEncryptionError)?;
        encrypter.set_iter_count(ITERATIONS);
        encrypter.set_salt_len(SALT_BYTES);
        let mut header = JweHeader::new();
        header.set_content_encryption(ContentEncryption::A256GCM.as_str());
        header.set_content_type("jwk+json");
        let text = jwk.to_json().map_err(|_| KeyEncryptionError)?;
        jwe::CONTEXT
            .serialize_compact(text.reveal(), &header, &encrypter)
            .map_err(|_| KeyEncryptionError)
    }

    /// Returns the private JWK of a compact JWE.
    ///
    /// # Errors
    /// The passphrase is another one, or the JWE is of another form or was modified.
    pub(super) fn decrypt(&self, compact: &str) -> Result<PrivateJwk, KeyEncryptionError> {
        let hash = digest::sha256(compact.as_bytes());
        let known = self.decrypted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jwk) = known.get(&hash) {
            return Ok(jwk.clone());
        }
        drop(known);
        check_form(compact).ok_or(KeyEncryptionError)?;
        let passphrase = self.passphrase.reveal().as_bytes();
        let decrypter = PBES2_HS512_A256KW.decrypter_from_bytes(passphrase);
        let decrypter = decrypter.map_err(|_| KeyEncryptionError)?;
        let decrypted = jwe::CONTEXT.deserialize_compact(compact, &decrypter);
        let text = Secret::new(decrypted.map_err(|_| KeyEncryptionError)?.0);
        let jwk = Secret::new(parse_object(text.reveal()).map_err(|_| KeyEncryptionError)?);
        let mut known = self.decrypted.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_REMEMBERED_KEYS {
            known.clear();
        }
        known.insert(hash, jwk.clone());
        Ok(jwk)
    }
}

/// Returns `None` for a JWE that [`KeyPassphrase::encrypt`] can't have written. josekit itself has
/// no least number of iterations, and panics on a wrapped key that is too short.
fn check_form(compact: &str) -> Option<()> {
    let parts: Vec<_> = compact.split('.').collect();
    let [header, wrapped_key, nonce, _, tag] = parts.as_slice() else { return None };
    let header = parse_object(&digest::from_base64url(header)?).ok()?;
    let text = |name| header.get(name).and_then(Value::as_str);
    let length = |part| digest::from_base64url(part).map(|bytes| bytes.len());
    let iterations = usize::try_from(header.get("p2c")?.as_u64()?).ok()?;
    let is_known = header.keys().all(|name| PARAMETERS.contains(&name.as_str()))
        && text("alg") == Some(PBES2_HS512_A256KW.name())
        && text("enc") == Some(ContentEncryption::A256GCM.as_str())
        && (ITERATIONS..=MAX_ITERATIONS).contains(&iterations)
        && (SALT_BYTES..=MAX_SALT_BYTES).contains(&length(text("p2s")?)?);
    let lengths = [length(wrapped_key)?, length(nonce)?, length(tag)?];
    (is_known && lengths == [WRAPPED_KEY_BYTES, GCM_IV_BYTES, GCM_TAG_BYTES]).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing_key;
    use passerelle_protocol::alg::SigningAlg;

    fn passphrase(text: &str) -> KeyPassphrase {
        KeyPassphrase::new(Secret::new(text.to_owned()))
    }

    #[test]
    fn an_encrypted_key_shows_nothing_of_it_and_opens_with_its_passphrase_only() {
        let right = passphrase("correct horse battery staple");
        let jwk = signing_key::generate(SigningAlg::ES256).unwrap();
        let encrypted = right.encrypt(&jwk).unwrap();
        assert!(!encrypted.contains(jwk.reveal()["d"].as_str().unwrap()));
        let header = digest::from_base64url(encrypted.split('.').next().unwrap()).unwrap();
        let header = parse_object(&header).unwrap();
        assert_eq!(
            (&header["alg"], &header["enc"]),
            (&"PBES2-HS512+A256KW".into(), &"A256GCM".into())
        );
        assert_eq!(header["p2c"], 210_000);
        assert_eq!(right.decrypt(&encrypted).unwrap().reveal(), jwk.reveal());
        let wrong = passphrase("incorrect horse battery staple").decrypt(&encrypted);
        assert_eq!(wrong.unwrap_err(), KeyEncryptionError);
        assert!(!format!("{right:?}").contains("horse"));
    }

    #[test]
    fn a_weakened_or_modified_key_is_refused() {
        let right = passphrase("correct horse battery staple");
        let jwk = signing_key::generate(SigningAlg::ES256).unwrap();
        let encrypted = right.encrypt(&jwk).unwrap();
        let (header, rest) = encrypted.split_once('.').unwrap();
        let header = String::from_utf8(digest::from_base64url(header).unwrap()).unwrap();
        for (from, to) in
            [("210000", "2000000000"), ("PBES2-HS512+A256KW", "dir"), ("A256GCM", "A128CBC-HS256")]
        {
            let changed = header.replace(from, to);
            assert_ne!(changed, header);
            let forged = format!("{}.{rest}", digest::base64url(changed.as_bytes()));
            assert_eq!(right.decrypt(&forged).unwrap_err(), KeyEncryptionError, "{to}");
        }
        let mut cut = encrypted.clone();
        cut.pop();
        assert!(right.decrypt(&cut).is_err() && right.decrypt("").is_err());
    }

    #[test]
    fn a_key_that_was_encrypted_with_few_iterations_is_refused() {
        let right = passphrase("correct horse battery staple");
        let mut encrypter =
            PBES2_HS512_A256KW.encrypter_from_bytes(right.passphrase.reveal()).unwrap();
        encrypter.set_iter_count(1000);
        encrypter.set_salt_len(SALT_BYTES);
        let mut header = JweHeader::new();
        header.set_content_encryption("A256GCM");
        let weak = jwe::CONTEXT.serialize_compact(b"{}", &header, &encrypter).unwrap();
        assert_eq!(right.decrypt(&weak).unwrap_err(), KeyEncryptionError);
    }

    #[test]
    fn a_wrapped_key_nonce_or_tag_of_another_length_is_refused() {
        let right = passphrase("correct horse battery staple");
        let jwk = signing_key::generate(SigningAlg::ES256).unwrap();
        let encrypted = right.encrypt(&jwk).unwrap();
        let parts: Vec<_> = encrypted.split('.').collect();
        for part in [1, 2, 4] {
            for length in [0, 1, 8] {
                let other = digest::base64url(&vec![7; length]);
                let mut forged = parts.clone();
                forged[part] = &other;
                assert_eq!(right.decrypt(&forged.join(".")).unwrap_err(), KeyEncryptionError);
            }
        }
    }
}
