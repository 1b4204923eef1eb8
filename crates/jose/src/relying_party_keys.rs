//! The hub's keys as a client of identity providers: decryption keys, and keys that sign client
//! assertions. None of them is a key of `/api/v2/jwks`.
//!
//! The state of a decryption key is computed from its creation time, so that all nodes that read
//! one key folder agree. In its first minute it only decrypts, while every node reads it; then it
//! is the only published key of its type. Its predecessor is withdrawn, because an identity
//! provider may choose any fitting key of a set, and keeps decrypting, because identity providers
//! may cache a key set longer than allowed.

use std::time::Duration;

use super::decryption_key::DecryptionKey;
use super::key_type::KeyType;
use super::keyring::{JWKS_MAX_AGE, KeyState, Keyring, KeyringError, key_set};
use super::signing_key::{self, KeyError};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::env::Timestamp;

/// Time between a decryption key's creation and its publication: twice the interval at which hubs
/// read the folder. A key published earlier could come back to a hub that does not have it yet.
pub const PUBLICATION_DELAY: Duration = Duration::from_secs(60);
/// How long a decryption key is kept after its withdrawal. Key sets are cached for minutes to days;
/// a month covers identity providers whose operators update the hub's keys by hand.
pub const RETIRED_DECRYPTION_KEY_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum lifetime of a client assertion.
pub const MAX_ASSERTION_LIFETIME: Duration = Duration::from_secs(60);
/// Lifetime of a request object. It waits for one redirect of a browser.
pub const REQUEST_OBJECT_LIFETIME: Duration = Duration::from_secs(300);

/// All keys of one hub as a client. To change keys, build a new value and swap it in.
#[derive(Debug)]
pub struct RelyingPartyKeys {
    /// By type in the order of the key set, the newest first.
    decryption: Vec<DecryptionKey>,
    assertion: Keyring,
}

impl RelyingPartyKeys {
    /// Creates a value with decryption keys of both types.
    ///
    /// # Errors
    /// The missing type.
    pub fn new(decryption: Vec<DecryptionKey>, assertion: Keyring) -> Result<Self, KeyType> {
        let keys = Self::new_unchecked(decryption, assertion);
        match KeyType::ALL
            .into_iter()
            .find(|key_type| keys.keys_of_type(*key_type).next().is_none())
        {
            Some(missing) => Err(missing),
            None => Ok(keys),
        }
    }

    /// Creates a value that may lack keys, for the commands that repair a key folder.
    pub(super) fn new_unchecked(mut decryption: Vec<DecryptionKey>, assertion: Keyring) -> Self {
        // The kid breaks ties, so that all hubs publish the same key.
        let place = |key: &DecryptionKey| {
            KeyType::ALL.iter().position(|key_type| *key_type == key.key_type)
        };
        decryption.sort_by(|a, b| {
            place(a).cmp(&place(b)).then(b.created.cmp(&a.created)).then(a.kid.cmp(&b.kid))
        });
        Self { decryption, assertion }
    }

    /// Creates a value without keys, for commands that only check the configuration.
    pub fn empty() -> Self {
        Self::new_unchecked(Vec::new(), Keyring::new_unchecked(Vec::new()))
    }

    /// Creates new keys that are not saved: for the demo and for tests. Two RSA keys are among
    /// them, so tests should share them.
    ///
    /// # Errors
    /// Only if OpenSSL can't generate keys.
    pub fn ephemeral(now: Timestamp) -> Result<Self, KeyringError> {
        let fresh = |alg| DecryptionKey::parse(&signing_key::generate_ephemeral(alg)?, now);
        let decryption = SigningAlg::ALL.into_iter().map(fresh).collect::<Result<_, KeyError>>()?;
        Ok(Self::new_unchecked(decryption, Keyring::ephemeral(now)?))
    }

    /// Returns the keys that sign client assertions.
    pub fn assertion(&self) -> &Keyring {
        &self.assertion
    }

    /// Returns the JWK Set for identity providers; each key has `kid`, `use` and `alg`.
    pub fn jwks(&self, now: Timestamp) -> Vec<u8> {
        let encryption = KeyType::ALL
            .into_iter()
            .filter_map(|key_type| self.published(key_type, now))
            .flat_map(DecryptionKey::public_jwks);
        let signing = self.assertion.published_jwks(now, REQUEST_OBJECT_LIFETIME + JWKS_MAX_AGE);
        key_set(encryption.chain(signing))
    }

    /// Returns every decryption key with its state at `now`, in the order of the key set.
    pub fn states(&self, now: Timestamp) -> Vec<(&DecryptionKey, KeyState)> {
        self.decryption.iter().map(|key| (key, self.state(key, now))).collect()
    }

    /// Returns when `key` is replaced, if its successor exists.
    pub fn retirement_time(&self, key: &DecryptionKey) -> Option<Timestamp> {
        let newer =
            self.keys_of_type(key.key_type).take_while(|other| other.kid != key.kid).last()?;
        Some(newer.created + PUBLICATION_DELAY)
    }

    /// Returns the key with this id, published or not: all keys decrypt.
    pub(super) fn key_by_kid(&self, kid: &str) -> Option<&DecryptionKey> {
        self.decryption.iter().find(|key| key.is_named(kid))
    }

    /// Returns the key for a JWE without a `kid`.
    pub(super) fn default_key(&self, alg: EncryptionAlg, now: Timestamp) -> Option<&DecryptionKey> {
        let key_type =
            KeyType::ALL.into_iter().find(|key_type| key_type.encryption_algs().contains(&alg))?;
        self.published(key_type, now)
    }

    fn keys_of_type(&self, key_type: KeyType) -> impl Iterator<Item = &DecryptionKey> {
        self.decryption.iter().filter(move |key| key.key_type == key_type)
    }

    /// Returns the newest key whose publication time has come; the very first key is published
    /// immediately.
    fn published(&self, key_type: KeyType, now: Timestamp) -> Option<&DecryptionKey> {
        self.keys_of_type(key_type)
            .find(|key| key.created + PUBLICATION_DELAY <= now)
            .or_else(|| self.keys_of_type(key_type).last())
    }

    fn state(&self, key: &DecryptionKey, now: Timestamp) -> KeyState {
        match self.published(key.key_type, now) {
            Some(published) if published.kid == key.kid => KeyState::Current,
            Some(published) if published.created < key.created => KeyState::Next,
            _ => KeyState::Retired { since: self.retirement_time(key).unwrap_or(now) },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::sample_keys::{KEYS, RING, T0, ec};

    fn set(keys: &RelyingPartyKeys, now: Timestamp) -> Vec<Value> {
        let set: Value = serde_json::from_slice(&keys.jwks(now)).unwrap();
        set["keys"].as_array().unwrap().clone()
    }

    #[test]
    fn the_key_set_has_the_use_of_each_key_and_each_kid_once() {
        let set = set(&KEYS, T0);
        let uses: Vec<_> = set
            .iter()
            .map(|key| (key["use"].as_str().unwrap(), key["alg"].as_str().unwrap()))
            .collect();
        assert_eq!(
            uses,
            [
                ("enc", "ECDH-ES"),
                ("enc", "RSA-OAEP-256"),
                ("enc", "RSA-OAEP"),
                ("sig", "ES256"),
                ("sig", "RS256")
            ]
        );
        let kids: std::collections::BTreeSet<_> =
            set.iter().map(|key| key["kid"].as_str().unwrap()).collect();
        assert_eq!(kids.len(), set.len());
        for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(set.iter().all(|key| key.get(private).is_none()), "{private}");
        }
    }

    #[test]
    fn no_key_of_a_client_is_a_key_of_the_issuer() {
        let issuer = String::from_utf8(RING.jwks(T0, JWKS_MAX_AGE)).unwrap();
        assert!(set(&KEYS, T0).iter().all(|key| !issuer.contains(key["kid"].as_str().unwrap())));
    }

    #[test]
    fn a_new_key_is_published_alone_after_a_minute_and_the_former_still_decrypts() {
        let made = T0 + Duration::from_secs(1000);
        let (old, new) = (ec(T0), ec(made));
        let (old_kid, new_kid) = (old.kid.clone(), new.kid.clone());
        let keys =
            RelyingPartyKeys::new_unchecked(vec![old, new], Keyring::new_unchecked(Vec::new()));
        let published = |now| {
            set(&keys, now)
                .iter()
                .map(|key| key["kid"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let turn = made + PUBLICATION_DELAY;
        let moment = Duration::from_millis(1);
        assert_eq!(published(T0), [old_kid.as_str()], "the first key does not wait");
        assert_eq!(published(turn - moment), [old_kid.as_str()]);
        assert_eq!(published(turn), [new_kid.as_str()]);
        let states = |now| keys.states(now).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
        assert_eq!(states(turn - moment), [KeyState::Next, KeyState::Current]);
        assert_eq!(states(turn), [KeyState::Current, KeyState::Retired { since: turn }]);
        assert_eq!(keys.default_key(EncryptionAlg::EcdhEs, turn).unwrap().kid, new_kid);
        assert!(keys.key_by_kid(&old_kid).is_some() && keys.key_by_kid(&new_kid).is_some());
    }

    #[test]
    fn a_missing_kind_is_named() {
        let ring = || Keyring::new_unchecked(Vec::new());
        assert_eq!(RelyingPartyKeys::new(Vec::new(), ring()).unwrap_err(), KeyType::Ec);
        assert_eq!(RelyingPartyKeys::new(vec![ec(T0)], ring()).unwrap_err(), KeyType::Rsa);
    }
}
