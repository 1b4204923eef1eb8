//! Encrypts records and snapshots, and binds each ciphertext to its location.
//!
//! Responsible for keys and AEAD: an attacker who reads the store's memory, network or files learns
//! no contents, and one who writes there can't replace a record by another one. Does not depend on
//! what it encrypts.
//!
//! AES-256-GCM with a random 96-bit nonce. Each record has its own key, derived from the configured
//! key and the record's location, so that no AES key reaches the 2³² messages after which random
//! nonces are unsafe (NIST SP 800-38D §8.3).

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

use passerelle_protocol::digest::{self, HmacKey};
use passerelle_protocol::ids::Secret;

const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// Error of [`StoreEncryptionKeys`].
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncryptionError {
    /// No configured key has the key id of the ciphertext.
    #[error("it is encrypted with a key that is not in encryption_keys")]
    UnknownKey,
    /// The ciphertext was changed, truncated or moved.
    #[error("it can't be decrypted: it was changed or belongs to another location")]
    Corrupted,
    /// OpenSSL failed, or no key is configured.
    #[error("OpenSSL can't encrypt")]
    Openssl,
}

/// Keys of a store. The first key encrypts; all keys decrypt.
pub struct StoreEncryptionKeys {
    keys: Vec<DerivedStoreKey>,
    /// AES-256-GCM, looked up once: OpenSSL's lookup by name takes a third of an encryption.
    cipher: Option<Cipher>,
}

struct DerivedStoreKey {
    id: [u8; KEY_ID_BYTES],
    secret: HmacKey,
}

impl StoreEncryptionKeys {
    /// Derives the keys from the configured secrets.
    pub fn new(secrets: &[Secret<String>]) -> Self {
        let key = |secret: &Secret<String>| {
            let derived = |purpose: &[u8]| {
                digest::hmac_parts(secret.reveal().as_bytes(), &[b"passerelle store", purpose])
            };
            let id = derived(b"id").first_chunk().copied().unwrap_or_default();
            DerivedStoreKey { id, secret: HmacKey::new(&derived(b"seal")) }
        };
        Self {
            keys: secrets.iter().map(key).collect(),
            cipher: Cipher::fetch(None, "AES-256-GCM", None).ok(),
        }
    }

    /// Encrypts for one location. `associated_data` must be equal on decryption. `nonce` must be
    /// random.
    ///
    /// # Errors
    /// `Openssl`: OpenSSL fails, or no key is configured.
    pub fn encrypt(
        &self,
        location: &[u8],
        associated_data: &[u8],
        nonce: &[u8; NONCE_BYTES],
        plain: &[u8],
    ) -> Result<Vec<u8>, EncryptionError> {
        let (Some(key), Some(cipher)) = (self.keys.first(), &self.cipher) else {
            return Err(EncryptionError::Openssl);
        };
        let mut encrypted =
            Vec::with_capacity(plain.len() + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES);
        encrypted.extend_from_slice(&key.id);
        encrypted.extend_from_slice(nonce);
        let mut append = || {
            let mut context = CipherCtx::new()?;
            context.encrypt_init(Some(cipher), Some(&key.derive(location)), Some(nonce))?;
            context.cipher_update(associated_data, None)?;
            context.cipher_update_vec(plain, &mut encrypted)?;
            context.cipher_final_vec(&mut encrypted)?;
            let mut tag = [0; TAG_BYTES];
            context.tag(&mut tag)?;
            encrypted.extend_from_slice(&tag);
            Ok::<_, ErrorStack>(())
        };
        append().map_err(|_| EncryptionError::Openssl)?;
        Ok(encrypted)
    }

    /// Returns true if the ciphertext is not of the key that encrypts.
    pub fn is_outdated(&self, encrypted: &[u8]) -> bool {
        self.keys.first().is_some_and(|key| !encrypted.starts_with(&key.id))
    }

    /// Decrypts a ciphertext that was encrypted for the same location and associated data.
    ///
    /// # Errors
    /// `UnknownKey`, `Corrupted`, `Openssl`.
    pub fn decrypt(
        &self,
        location: &[u8],
        associated_data: &[u8],
        encrypted: &[u8],
    ) -> Result<Vec<u8>, EncryptionError> {
        let (id, rest) =
            encrypted.split_at_checked(KEY_ID_BYTES).ok_or(EncryptionError::Corrupted)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_BYTES).ok_or(EncryptionError::Corrupted)?;
        let (cipher, tag) = rest
            .len()
            .checked_sub(TAG_BYTES)
            .and_then(|at| rest.split_at_checked(at))
            .ok_or(EncryptionError::Corrupted)?;
        let key = self.keys.iter().find(|key| key.id == id).ok_or(EncryptionError::UnknownKey)?;
        let aes = self.cipher.as_ref().ok_or(EncryptionError::Openssl)?;
        let decrypted = || {
            let mut context = CipherCtx::new()?;
            context.decrypt_init(Some(aes), Some(&key.derive(location)), Some(nonce))?;
            context.cipher_update(associated_data, None)?;
            context.set_tag(tag)?;
            let mut plain = Vec::with_capacity(cipher.len());
            context.cipher_update_vec(cipher, &mut plain)?;
            context.cipher_final_vec(&mut plain)?;
            Ok::<_, ErrorStack>(plain)
        };
        decrypted().map_err(|_| EncryptionError::Corrupted)
    }
}

impl DerivedStoreKey {
    fn derive(&self, location: &[u8]) -> [u8; 32] {
        self.secret.tag(location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secrets: &[&str]) -> StoreEncryptionKeys {
        StoreEncryptionKeys::new(
            &secrets.iter().map(|secret| Secret::new((*secret).to_owned())).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn keys_rotate_with_an_overlap() {
        let (old, both, new) = (keys(&["old"]), keys(&["new", "old"]), keys(&["new"]));
        let encrypted = old.encrypt(b"here", b"v1", &[1; 12], b"value").unwrap();
        assert_eq!(both.decrypt(b"here", b"v1", &encrypted).unwrap(), b"value");
        assert!(both.is_outdated(&encrypted) && !old.is_outdated(&encrypted));
        let encrypted = both.encrypt(b"here", b"v1", &[2; 12], b"value").unwrap();
        assert_eq!(new.decrypt(b"here", b"v1", &encrypted).unwrap(), b"value");
        assert_eq!(old.decrypt(b"here", b"v1", &encrypted), Err(EncryptionError::UnknownKey));
    }

    #[test]
    fn a_record_decrypts_only_in_its_own_location_and_unchanged() {
        let keys = keys(&["key"]);
        let encrypted = keys.encrypt(b"here", b"v1", &[1; 12], b"value").unwrap();
        assert_eq!(
            keys.decrypt(b"there", b"v1", &encrypted),
            Err(EncryptionError::Corrupted),
            "moved"
        );
        assert_eq!(
            keys.decrypt(b"here", b"v2", &encrypted),
            Err(EncryptionError::Corrupted),
            "another version"
        );
        for at in KEY_ID_BYTES..encrypted.len() {
            let mut changed = encrypted.clone();
            changed[at] ^= 1;
            assert_eq!(
                keys.decrypt(b"here", b"v1", &changed),
                Err(EncryptionError::Corrupted),
                "byte {at}"
            );
            assert_eq!(
                keys.decrypt(b"here", b"v1", &encrypted[..at]),
                Err(EncryptionError::Corrupted),
                "cut at {at}"
            );
        }
    }
}
