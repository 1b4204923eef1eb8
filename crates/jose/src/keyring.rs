//! The hub's signing keys as one immutable value, and which of them signs at a given moment.
//!
//! A key's state is computed from times, never stored: all nodes that read the same key folder
//! change keys at the same moment without communicating. Does not know files.

use std::time::Duration;

use super::signing_key::{self, KeyError, SigningKey};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::Timestamp;

/// How long service providers may cache the key set (`cache-control: max-age`).
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(600);
/// Default time between a key's publication and its first signature: twice the cache time.
pub const DEFAULT_ROTATION_LEAD: Duration = Duration::from_secs(20 * 60);
/// How long a retired key still verifies logout hints.
pub const RETIRED_KEY_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// State of a key at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyState {
    /// Signs: the latest of its algorithm whose time has come.
    Current,
    /// Published, but not signing yet.
    Next,
    /// No longer signs: its successor has signed since.
    Retired { since: Timestamp },
}

/// Why a ring can't be created.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyringError {
    #[error("there is no {} key that signs now", .0.as_str())]
    NoCurrent(SigningAlg),
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// All signing keys of one hub. To change keys, build a new ring and swap it in.
#[derive(Debug)]
pub struct Keyring {
    /// By algorithm in the order of `SigningAlg::ALL`, the latest `signs_from` first.
    keys: Vec<SigningKey>,
}

impl Keyring {
    /// Creates a ring in which both algorithms can sign at `now`: an RSA key must always exist.
    ///
    /// # Errors
    /// `NoCurrent` names the algorithm without a current key.
    pub fn new(keys: Vec<SigningKey>, now: Timestamp) -> Result<Self, KeyringError> {
        let ring = Self::new_unchecked(keys);
        for alg in SigningAlg::ALL {
            ring.current(alg, now).ok_or(KeyringError::NoCurrent(alg))?;
        }
        Ok(ring)
    }

    /// Creates a ring that may lack a current key, for the commands that repair a key folder.
    #[must_use]
    pub(super) fn new_unchecked(mut keys: Vec<SigningKey>) -> Self {
        // The kid breaks ties, so that all hubs agree on the current key.
        keys.sort_by(|a, b| {
            let place = |key: &SigningKey| SigningAlg::ALL.iter().position(|alg| *alg == key.alg);
            place(a).cmp(&place(b)).then(b.signs_from.cmp(&a.signs_from)).then(a.kid.cmp(&b.kid))
        });
        Self { keys }
    }

    /// Creates a ring of one new EC and one new RSA key that sign from `now` and are not saved: for
    /// the demo and for tests.
    ///
    /// The RSA key costs up to half a second of CPU. Tests that don't depend on the keys should
    /// share one ring.
    ///
    /// # Errors
    /// Only if OpenSSL can't generate keys.
    pub fn ephemeral(now: Timestamp) -> Result<Self, KeyringError> {
        let fresh = |alg| SigningKey::parse(&signing_key::generate_ephemeral(alg)?, now, now);
        Self::new(SigningAlg::ALL.into_iter().map(fresh).collect::<Result<_, _>>()?, now)
    }

    /// Returns the key that signs at `now`.
    pub fn current(&self, alg: SigningAlg, now: Timestamp) -> Option<&SigningKey> {
        self.keys.iter().find(|key| key.alg == alg && key.signs_from <= now)
    }

    /// Returns the keys that sign at `now`, one for each algorithm that has any.
    pub fn current_keys(&self, now: Timestamp) -> impl Iterator<Item = &SigningKey> {
        SigningAlg::ALL.into_iter().filter_map(move |alg| self.current(alg, now))
    }

    /// Returns every key with its state at `now`, in the order of the key set: EC current, RSA
    /// current, retired, next.
    pub fn states(&self, now: Timestamp) -> Vec<(&SigningKey, KeyState)> {
        let mut states: Vec<_> = self.keys.iter().map(|key| (key, self.state(key, now))).collect();
        states.sort_by_key(|(_, state)| match state {
            KeyState::Current => 0,
            KeyState::Retired { .. } => 1,
            KeyState::Next => 2,
        });
        states
    }

    /// Returns the JWK Set for service providers (R071). A retired key stays for `grace`: the
    /// longest lifetime of a token plus [`JWKS_MAX_AGE`].
    pub fn jwks(&self, now: Timestamp, grace: Duration) -> Vec<u8> {
        key_set(self.published_jwks(now, grace))
    }

    /// Returns the JWK Set that verifies the hub's own tokens as hints; retired keys stay for
    /// [`RETIRED_KEY_LIFETIME`].
    pub fn verification_jwks(&self, now: Timestamp) -> Vec<u8> {
        self.jwks(now, RETIRED_KEY_LIFETIME)
    }

    /// Returns the public JWKs in the order of the key set.
    pub(super) fn published_jwks(
        &self,
        now: Timestamp,
        grace: Duration,
    ) -> impl Iterator<Item = &str> {
        self.states(now).into_iter().filter_map(move |(key, state)| match state {
            KeyState::Retired { since } if since + grace < now => None,
            KeyState::Retired { .. } | KeyState::Current | KeyState::Next => Some(key.public_jwk()),
        })
    }

    fn state(&self, key: &SigningKey, now: Timestamp) -> KeyState {
        if key.signs_from > now {
            return KeyState::Next;
        }
        match self.successor(key) {
            Some(successor) if successor.signs_from <= now => {
                KeyState::Retired { since: successor.signs_from }
            }
            Some(_) | None => KeyState::Current,
        }
    }

    /// Returns the successor of `key`, if it exists already.
    pub fn successor(&self, key: &SigningKey) -> Option<&SigningKey> {
        let place = self.keys.iter().position(|other| other.kid == key.kid)?;
        self.keys.get(place.checked_sub(1)?).filter(|other| other.alg == key.alg)
    }
}

/// Returns a JWK Set (RFC 7517 §5).
pub(super) fn key_set<'a>(jwks: impl Iterator<Item = &'a str>) -> Vec<u8> {
    format!("{{\"keys\":[{}]}}", jwks.collect::<Vec<_>>().join(",")).into_bytes()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::testing::sample_keys::{RING, T0};

    fn at(seconds: u64) -> Timestamp {
        T0 + Duration::from_secs(seconds)
    }

    fn ec(from: Timestamp) -> SigningKey {
        SigningKey::parse(&signing_key::generate(SigningAlg::ES256).unwrap(), from, from).unwrap()
    }

    fn rsa(from: Timestamp) -> SigningKey {
        static JWK: LazyLock<signing_key::PrivateJwk> =
            LazyLock::new(|| signing_key::generate_ephemeral(SigningAlg::RS256).unwrap());
        SigningKey::parse(&JWK, from, from).unwrap()
    }

    fn kids(set: &[u8]) -> Vec<String> {
        let set: serde_json::Value = serde_json::from_slice(set).unwrap();
        set["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["kid"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_current_key_changes_at_signs_from() {
        let (old, new) = (ec(T0), ec(at(1200)));
        let (old_kid, new_kid) = (old.kid.clone(), new.kid.clone());
        let ring = Keyring::new(vec![rsa(T0), new, old], T0).unwrap();
        let current = |now| ring.current(SigningAlg::ES256, now).unwrap().kid.clone();
        assert_eq!(current(at(1200) - Duration::from_millis(1)), old_kid);
        assert_eq!(current(at(1200)), new_kid);
        let state = |kid: &str, now| {
            ring.states(now).into_iter().find(|(key, _)| key.kid == kid).unwrap().1
        };
        assert_eq!(
            (state(&old_kid, at(0)), state(&new_kid, at(0))),
            (KeyState::Current, KeyState::Next)
        );
        assert_eq!(state(&old_kid, at(1200)), KeyState::Retired { since: at(1200) });
        assert_eq!(state(&new_kid, at(1200)), KeyState::Current);
        assert!(ring.current(SigningAlg::ES256, T0 - Duration::from_secs(1)).is_none());
    }

    #[test]
    fn key_set_is_ec_current_rsa_current_retired_next() {
        let (retired, current, next, rsa) = (ec(T0), ec(at(100)), ec(at(5000)), rsa(T0));
        let expected = [&current, &rsa, &retired, &next].map(|key| key.kid.clone());
        let ring = Keyring::new(vec![retired, next, rsa, current], T0).unwrap();
        assert_eq!(kids(&ring.jwks(at(200), JWKS_MAX_AGE)), expected);
    }

    #[test]
    fn retired_key_is_published_while_something_it_signed_may_live() {
        let (old, new) = (ec(T0), ec(at(100)));
        let old_kid = old.kid.clone();
        let ring = Keyring::new(vec![rsa(T0), old, new], T0).unwrap();
        let grace = Duration::from_secs(660);
        assert!(kids(&ring.jwks(at(760), grace)).contains(&old_kid));
        assert!(!kids(&ring.jwks(at(761), grace)).contains(&old_kid));
        let month = 30 * 24 * 3600;
        assert!(kids(&ring.verification_jwks(at(100 + month))).contains(&old_kid));
        assert!(!kids(&ring.verification_jwks(at(101 + month))).contains(&old_kid));
    }

    #[test]
    fn ring_without_a_current_key_of_each_algorithm_is_refused() {
        assert_eq!(
            Keyring::new(vec![ec(T0)], T0).unwrap_err(),
            KeyringError::NoCurrent(SigningAlg::RS256)
        );
        assert_eq!(
            Keyring::new(vec![rsa(T0), ec(at(1))], T0).unwrap_err(),
            KeyringError::NoCurrent(SigningAlg::ES256)
        );
    }

    #[test]
    fn published_keys_carry_kid_use_and_alg() {
        let set: serde_json::Value = serde_json::from_slice(&RING.jwks(T0, JWKS_MAX_AGE)).unwrap();
        for (key, alg) in set["keys"].as_array().unwrap().iter().zip(["ES256", "RS256"]) {
            assert_eq!((&key["alg"], &key["use"]), (&alg.into(), &"sig".into()));
            assert_eq!(key["kid"].as_str().unwrap().len(), 43);
        }
    }

    #[tokio::test]
    async fn own_tokens_are_known_again_after_their_key_retired() {
        use crate::Signer as _;
        use crate::verify::{JwsError, VerificationKeys, verify_jws};

        let ring = Keyring::new(vec![rsa(T0), ec(T0), ec(at(100))], T0).unwrap();
        let hint = ring.sign(SigningAlg::ES256, "JWT", b"{}", T0).await.unwrap();
        let verify = |set: Vec<u8>| {
            verify_jws(&hint, SigningAlg::ES256, &VerificationKeys::from_jwks(&set).unwrap())
        };
        let later = at(24 * 3600);
        assert!(verify(ring.verification_jwks(later)).is_ok());
        assert!(
            verify(ring.jwks(later, JWKS_MAX_AGE))
                .is_err_and(|error| error == JwsError::UnknownKey)
        );
    }
}
