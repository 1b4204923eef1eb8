//! The hub's keys as a client of identity providers: those to which they seal their answers, and those by which it
//! proves who it is (decisions 2, 10). None of them is a key of `/api/v2/jwks`.
//!
//! Owns: turns, and the key set that identity providers read. Must not know: files, what is sealed or asserted.
//!
//! A decryption key's turn is computed from the time of its making, so that all nodes that read one key folder agree:
//! for its first minute it only opens, while every node reads it; then it alone of its kind is published. Its
//! predecessor stays unpublished, for an identity provider takes any fitting key of a set, and opens as long as it is
//! kept, for an identity provider may hold a set much longer than it is told to.

use std::time::Duration;

use super::decryption_key::{DecryptionKey, KeyKind};
use super::keyring::{JWKS_CACHE, KeyState, Keyring, KeyringFault};
use super::signing_key::{self, KeyFault};
use crate::env::Timestamp;
use crate::protocol::alg::{EncryptionAlg, SigningAlg};

/// Until a new decryption key is published: twice the half minute in which every node reads the folder again. Published
/// earlier, one node's key would come back sealed to another that does not have it yet.
pub const SPREAD: Duration = Duration::from_secs(60);
/// How long a decryption key is kept after it was last published. Key sets are held for minutes to days; a month leaves
/// room for an identity provider where an operator has to read ours by hand.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long an assertion lives at most.
pub const ASSERTION_LIFE: Duration = Duration::from_secs(60);

/// All keys of one hub as a client. To change keys, build another and swap it in.
#[derive(Debug)]
pub struct UpstreamKeys {
    /// By kind in the order of the key set, the newest first.
    decryption: Vec<DecryptionKey>,
    assertion: Keyring,
}

impl UpstreamKeys {
    /// Keys of which both kinds can open.
    ///
    /// # Errors
    /// The kind of which there is none.
    pub fn new(decryption: Vec<DecryptionKey>, assertion: Keyring) -> Result<Self, KeyKind> {
        let keys = Self::unchecked(decryption, assertion);
        match KeyKind::ALL.into_iter().find(|kind| keys.of_kind(*kind).next().is_none()) {
            Some(missing) => Err(missing),
            None => Ok(keys),
        }
    }

    /// Keys of which some may be missing: for the commands that mend them.
    #[must_use]
    pub(super) fn unchecked(mut decryption: Vec<DecryptionKey>, assertion: Keyring) -> Self {
        // The kid breaks ties, so that all nodes publish the same key.
        let place = |key: &DecryptionKey| KeyKind::ALL.iter().position(|kind| *kind == key.kind);
        decryption.sort_by(|a, b| {
            place(a).cmp(&place(b)).then(b.created.cmp(&a.created)).then(a.kid.cmp(&b.kid))
        });
        Self { decryption, assertion }
    }

    /// No key at all, for a program that only asks whether everything else is sound.
    #[must_use]
    pub fn none() -> Self {
        Self::unchecked(Vec::new(), Keyring::unchecked(Vec::new()))
    }

    /// Fresh keys, kept nowhere: for the demo and for tests, which should share them, for two RSA keys are among them.
    ///
    /// # Errors
    /// Only if OpenSSL can't generate keys.
    pub fn ephemeral(now: Timestamp) -> Result<Self, KeyringFault> {
        let fresh = |family| DecryptionKey::parse(&signing_key::generate_ephemeral(family)?, now);
        let decryption = [SigningAlg::ES256, SigningAlg::RS256]
            .into_iter()
            .map(fresh)
            .collect::<Result<_, KeyFault>>()?;
        Ok(Self::unchecked(decryption, Keyring::ephemeral(now)?))
    }

    /// What signs assertions.
    #[must_use]
    pub fn assertion(&self) -> &Keyring {
        &self.assertion
    }

    /// The key set that identity providers read: `{"keys":[…]}`, each with `kid`, `use` and `alg`.
    #[must_use]
    pub fn jwks(&self, now: Timestamp) -> Vec<u8> {
        let sealing = KeyKind::ALL
            .into_iter()
            .filter_map(|kind| self.published(kind, now))
            .flat_map(DecryptionKey::public_jwks);
        let signing = self.assertion.published(now, ASSERTION_LIFE + JWKS_CACHE);
        let all: Vec<&str> = sealing.chain(signing).collect();
        format!("{{\"keys\":[{}]}}", all.join(",")).into_bytes()
    }

    /// Every decryption key with its state at `now`, in the order of the key set.
    #[must_use]
    pub fn states(&self, now: Timestamp) -> Vec<(&DecryptionKey, KeyState)> {
        self.decryption.iter().map(|key| (key, self.state(key, now))).collect()
    }

    /// The key that takes over from `key`, if there is one already, and when.
    #[must_use]
    pub fn succession(&self, key: &DecryptionKey) -> Option<Timestamp> {
        let newer = self.of_kind(key.kind).take_while(|other| other.kid != key.kid).last()?;
        Some(newer.created + SPREAD)
    }

    /// Published, waiting to be, or no longer: every one of them opens.
    pub(super) fn named(&self, kid: &str) -> Option<&DecryptionKey> {
        self.decryption.iter().find(|key| key.is_named(kid))
    }

    /// The one key that an identity provider which names none can mean.
    pub(super) fn unnamed(&self, alg: EncryptionAlg, now: Timestamp) -> Option<&DecryptionKey> {
        let kind = KeyKind::ALL.into_iter().find(|kind| kind.algorithms().contains(&alg))?;
        self.published(kind, now)
    }

    fn of_kind(&self, kind: KeyKind) -> impl Iterator<Item = &DecryptionKey> {
        self.decryption.iter().filter(move |key| key.kind == kind)
    }

    /// The newest whose time has come; the very first has no predecessor to wait for.
    fn published(&self, kind: KeyKind, now: Timestamp) -> Option<&DecryptionKey> {
        self.of_kind(kind)
            .find(|key| key.created + SPREAD <= now)
            .or_else(|| self.of_kind(kind).last())
    }

    fn state(&self, key: &DecryptionKey, now: Timestamp) -> KeyState {
        match self.published(key.kind, now) {
            Some(published) if published.kid == key.kid => KeyState::Current,
            Some(published) if published.created < key.created => KeyState::Next,
            _ => KeyState::Retired { since: self.succession(key).unwrap_or(now) },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, LazyLock};

    use serde_json::Value;

    use super::*;
    use crate::token::keyring::tests::{RING, T0};

    /// One set for all tests that don't care which keys they have; it signs from long before any test's clock.
    pub(crate) static KEYS: LazyLock<Arc<UpstreamKeys>> =
        LazyLock::new(|| Arc::new(UpstreamKeys::ephemeral(Timestamp::default()).unwrap()));

    pub(crate) fn ec(created: Timestamp) -> DecryptionKey {
        DecryptionKey::parse(&signing_key::generate(SigningAlg::ES256).unwrap(), created).unwrap()
    }

    fn set(keys: &UpstreamKeys, now: Timestamp) -> Vec<Value> {
        let set: Value = serde_json::from_slice(&keys.jwks(now)).unwrap();
        set["keys"].as_array().unwrap().clone()
    }

    #[test]
    fn key_set_says_what_each_key_is_for_and_names_each_once() {
        let set = set(&KEYS, T0);
        let told: Vec<_> = set
            .iter()
            .map(|key| (key["use"].as_str().unwrap(), key["alg"].as_str().unwrap()))
            .collect();
        assert_eq!(
            told,
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
        let issuer = String::from_utf8(RING.jwks(T0, JWKS_CACHE)).unwrap();
        assert!(set(&KEYS, T0).iter().all(|key| !issuer.contains(key["kid"].as_str().unwrap())));
    }

    #[test]
    fn a_new_key_is_published_alone_a_minute_after_its_making_and_the_former_still_opens() {
        let made = T0 + Duration::from_secs(1000);
        let (old, new) = (ec(T0), ec(made));
        let (old_kid, new_kid) = (old.kid.clone(), new.kid.clone());
        let keys = UpstreamKeys::unchecked(vec![old, new], Keyring::unchecked(Vec::new()));
        let published = |now| {
            set(&keys, now)
                .iter()
                .map(|key| key["kid"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let turn = made + SPREAD;
        let moment = Duration::from_millis(1);
        assert_eq!(published(T0), [old_kid.as_str()], "the first waits for nobody");
        assert_eq!(published(turn - moment), [old_kid.as_str()]);
        assert_eq!(published(turn), [new_kid.as_str()]);
        let states = |now| keys.states(now).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
        assert_eq!(states(turn - moment), [KeyState::Next, KeyState::Current]);
        assert_eq!(states(turn), [KeyState::Current, KeyState::Retired { since: turn }]);
        assert_eq!(keys.unnamed(EncryptionAlg::EcdhEs, turn).unwrap().kid, new_kid);
        assert!(keys.named(&old_kid).is_some() && keys.named(&new_kid).is_some());
    }

    #[test]
    fn a_missing_kind_is_told() {
        let ring = || Keyring::unchecked(Vec::new());
        assert_eq!(UpstreamKeys::new(Vec::new(), ring()).unwrap_err(), KeyKind::Ec);
        assert_eq!(UpstreamKeys::new(vec![ec(T0)], ring()).unwrap_err(), KeyKind::Rsa);
    }
}
