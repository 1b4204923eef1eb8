//! L2 · What is sealed under a ring of the hub's own: whoever reads a server's memory, its network or a file reads nothing,
//! and whoever writes there can't pass one record off as another.
//!
//! Owns: keys, what a seal is bound to. Must not know: what is sealed, and where it lies.
//!
//! AES-256-GCM with 96 random bits as nonce. Each record has a key of its own, derived from the ring's and from the
//! record's key: so no AES key ever comes near the 2³² messages after which random nonces must not be trusted
//! (NIST SP 800-38D, 8.3), whatever the traffic of a nation.

use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};

use crate::digest::{self, HmacKey};
use crate::ids::Secret;

const ID: usize = 4;
const NONCE: usize = 12;
const TAG: usize = 16;

#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SealFault {
    /// The ring lacks the key, or the record was written by somebody else.
    #[error("it is sealed by a key that is not in seal_keys")]
    UnknownKey,
    /// Changed, cut, or moved here from another place.
    #[error("it does not open: it was changed, or belongs elsewhere")]
    Broken,
    #[error("OpenSSL can't seal")]
    Openssl,
}

/// The first seals, all open.
pub struct Ring(Vec<Key>);

struct Key {
    id: [u8; ID],
    secret: HmacKey,
}

impl Ring {
    pub fn new(secrets: &[Secret<String>]) -> Self {
        let key = |secret: &Secret<String>| {
            let derived = |purpose: &[u8]| {
                digest::hmac_parts(secret.reveal().as_bytes(), &[b"passerelle store", purpose])
            };
            let id = derived(b"id").first_chunk().copied().unwrap_or_default();
            Key { id, secret: HmacKey::new(&derived(b"seal")) }
        };
        Self(secrets.iter().map(key).collect())
    }

    /// Seals for one place; `bound` must be the same when it is opened. `nonce` is random, and never twice the same.
    ///
    /// # Errors
    /// OpenSSL itself fails, or the ring is empty.
    pub fn seal(
        &self,
        place: &[u8],
        bound: &[u8],
        nonce: &[u8; NONCE],
        plain: &[u8],
    ) -> Result<Vec<u8>, SealFault> {
        let key = self.0.first().ok_or(SealFault::Openssl)?;
        let mut tag = [0; TAG];
        let cipher = encrypt_aead(
            Cipher::aes_256_gcm(),
            &key.of(place),
            Some(nonce),
            bound,
            plain,
            &mut tag,
        );
        let cipher = cipher.map_err(|_| SealFault::Openssl)?;
        Ok([&key.id[..], nonce, &cipher, &tag].concat())
    }

    /// # Errors
    /// `UnknownKey`, `Broken`.
    pub fn open(&self, place: &[u8], bound: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealFault> {
        let (id, rest) = sealed.split_at_checked(ID).ok_or(SealFault::Broken)?;
        let (nonce, rest) = rest.split_at_checked(NONCE).ok_or(SealFault::Broken)?;
        let (cipher, tag) = rest
            .len()
            .checked_sub(TAG)
            .and_then(|at| rest.split_at_checked(at))
            .ok_or(SealFault::Broken)?;
        let key = self.0.iter().find(|key| key.id == id).ok_or(SealFault::UnknownKey)?;
        decrypt_aead(Cipher::aes_256_gcm(), &key.of(place), Some(nonce), bound, cipher, tag)
            .map_err(|_| SealFault::Broken)
    }
}

impl Key {
    fn of(&self, place: &[u8]) -> [u8; 32] {
        self.secret.tag(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(secrets: &[&str]) -> Ring {
        Ring::new(
            &secrets.iter().map(|secret| Secret::new((*secret).to_owned())).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn keys_rotate_with_an_overlap() {
        let (old, both, new) = (ring(&["old"]), ring(&["new", "old"]), ring(&["new"]));
        let sealed = old.seal(b"here", b"v1", &[1; 12], b"value").unwrap();
        assert_eq!(both.open(b"here", b"v1", &sealed).unwrap(), b"value");
        let sealed = both.seal(b"here", b"v1", &[2; 12], b"value").unwrap();
        assert_eq!(new.open(b"here", b"v1", &sealed).unwrap(), b"value");
        assert_eq!(old.open(b"here", b"v1", &sealed), Err(SealFault::UnknownKey));
    }

    #[test]
    fn a_record_opens_in_its_own_place_alone_and_unchanged() {
        let ring = ring(&["key"]);
        let sealed = ring.seal(b"here", b"v1", &[1; 12], b"value").unwrap();
        assert_eq!(ring.open(b"there", b"v1", &sealed), Err(SealFault::Broken), "moved");
        assert_eq!(
            ring.open(b"here", b"v2", &sealed),
            Err(SealFault::Broken),
            "of another version"
        );
        for at in ID..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(ring.open(b"here", b"v1", &changed), Err(SealFault::Broken), "byte {at}");
            assert_eq!(
                ring.open(b"here", b"v1", &sealed[..at]),
                Err(SealFault::Broken),
                "cut at {at}"
            );
        }
    }
}
