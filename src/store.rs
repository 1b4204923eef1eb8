//! L2 · Where records live: a port with atomic verbs, adapters behind it, one conformance suite for all of them.
//!
//! Owns: atomicity, expiry, capacity, families. Must not know: what a record means; values are bytes.
//! Every verb gets `now`: a record is gone at `expires_at <= now`, whatever the adapter's own clock thinks.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::env::Timestamp;

#[cfg(test)]
pub mod conformance;
pub mod counters;
pub mod memory;
pub mod metered;
pub mod redis;
mod revocations;
mod seal;

/// What a record is; each kind has a capacity of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Login,
    Session,
    Code,
    Token,
    /// Where a logout leads, until its browser is back from an identity provider.
    Logout,
    /// A logout request that came by POST, until its browser's cookies come.
    Parked,
    /// The id of a client assertion that was used.
    Assertion,
    /// What was proven on a login page of the hub's own, until its callback.
    OwnCode,
    /// What outlives every login: the kill switches by command, and the last seals of all audit logs, a record each.
    Blocks,
    /// Which hub probes the identity providers, and what it has found: one record.
    Probes,
}

const KINDS: [(Kind, u8); 10] = [
    (Kind::Login, b'l'),
    (Kind::Session, b's'),
    (Kind::Code, b'c'),
    (Kind::Token, b't'),
    (Kind::Logout, b'o'),
    (Kind::Parked, b'p'),
    (Kind::Assertion, b'a'),
    (Kind::OwnCode, b'i'),
    (Kind::Blocks, b'b'),
    (Kind::Probes, b'h'),
];

impl Kind {
    /// What it is called wherever it is written: never another one, and never for another kind.
    const fn letter(self) -> u8 {
        match self {
            Self::Login => b'l',
            Self::Session => b's',
            Self::Code => b'c',
            Self::Token => b't',
            Self::Logout => b'o',
            Self::Parked => b'p',
            Self::Assertion => b'a',
            Self::OwnCode => b'i',
            Self::Blocks => b'b',
            Self::Probes => b'h',
        }
    }

    /// True of a record that hubs read all the time, whether or not anybody logs in, and that no successor takes over.
    const fn is_watched(self) -> bool {
        matches!(self, Self::Blocks | Self::Probes)
    }

    fn of_letter(letter: u8) -> Option<Self> {
        KINDS.into_iter().find(|(_, of)| *of == letter).map(|(kind, _)| kind)
    }
}

/// How many records of each kind are admitted, tombstones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacities {
    pub logins: usize,
    /// Bytes of all logins' values together.
    pub login_bytes: usize,
    pub sessions: usize,
    /// Codes and tokens together.
    pub grants: usize,
    pub logouts: usize,
    pub parked: usize,
    pub assertions: usize,
    pub own_codes: usize,
    pub blocks: usize,
    pub probes: usize,
}

/// A record's key: its kind, and a name that is already a hash wherever the plain value is a secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub kind: Kind,
    pub name: Arc<str>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/…", self.kind)
    }
}

/// Records that are revoked together: all codes and tokens of one session, or of one grant.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Family(pub Arc<str>);

/// Grows by one with each `replace`; the first is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version(pub u64);

#[derive(Clone, Debug)]
pub struct Draft {
    pub value: Vec<u8>,
    pub expires_at: Timestamp,
    /// An earlier end, unless [`Store::load_and_keep`] or [`Store::replace`] comes before. A store on a network leaves this
    /// one to its server's clock.
    pub unread_until: Option<Timestamp>,
    /// A record is gone as soon as one of these is revoked.
    pub families: Arc<[Family]>,
}

impl Draft {
    /// When the record ends if nothing else happens to it.
    #[must_use]
    pub fn first_end(&self) -> Timestamp {
        self.unread_until.map_or(self.expires_at, |unread_until| unread_until.min(self.expires_at))
    }
}

#[derive(Clone, Debug)]
pub struct Record {
    pub version: Version,
    pub value: Arc<[u8]>,
    pub expires_at: Timestamp,
}

/// What [`Store::load_and_keep`] has found.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub record: Record,
    /// The record had an earlier end until now ([`Draft::unread_until`]).
    pub is_first: bool,
}

/// What records take of their capacity, tombstones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    pub records: usize,
    /// Of values.
    pub bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replaced {
    Done(Version),
    /// Somebody was faster: load and step again.
    Stale,
    /// Expired, revoked, or never there.
    Gone,
}

#[derive(Clone, Debug)]
pub enum Taken {
    /// This caller, and no other, has the record. The tombstone stands in its place.
    Won(Record),
    /// Somebody took it before; this is the tombstone they left.
    Spent(Arc<[u8]>),
    /// Expired, revoked, or never there.
    Gone,
}

/// Who has the records of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// This process alone.
    Process,
    /// Any number of hubs.
    Shared,
}

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum StoreFault {
    /// The kind's capacity is reached; nothing live was evicted.
    #[error("the store is full")]
    Full,
    /// `insert` found a live record under this key, or a tombstone: what was spent does not come back.
    #[error("the key is taken")]
    Exists,
    /// `insert` into families of which one has been revoked.
    #[error("a family is revoked")]
    Revoked,
    #[error("the store does not answer: {0}")]
    Unavailable(String),
}

/// The port. Every verb is atomic, alone and against every other.
#[async_trait]
pub trait Store: Send + Sync {
    /// # Errors
    /// `Exists`, `Full`, `Revoked`, `Unavailable`.
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault>;

    /// Live records only: neither tombstones, nor expired, nor revoked ones.
    /// # Errors
    /// `Unavailable`.
    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault>;

    /// Loads several records at once, in the order of `keys`: a store on a network is asked in one round trip.
    /// # Errors
    /// `Unavailable`.
    async fn load_many(
        &self,
        keys: &[Key],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreFault> {
        let mut records = Vec::with_capacity(keys.len());
        for key in keys {
            records.push(self.load(key, now).await?);
        }
        Ok(records)
    }

    /// Loads a record, which from now on lives until its `expires_at`, whatever its [`Draft::unread_until`] was.
    /// # Errors
    /// `Unavailable`.
    async fn load_and_keep(&self, key: &Key, now: Timestamp) -> Result<Option<Loaded>, StoreFault> {
        Ok(self.load(key, now).await?.map(|record| Loaded { record, is_first: false }))
    }

    /// Replaces value and expiry (the families stay) if the record still has the expected version.
    /// # Errors
    /// `Unavailable`.
    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault>;

    /// Takes the record, leaving `tombstone` until `tombstone_until`. Exactly one of any number of callers wins.
    /// A tombstone survives the revocation of its families: it must be able to tell what it issued.
    /// # Errors
    /// `Unavailable`.
    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault>;

    /// Removes the record, or the tombstone; absent is fine.
    /// # Errors
    /// `Unavailable`.
    async fn remove(&self, key: &Key) -> Result<(), StoreFault>;

    /// Removes a record that has this version. Returns whether a live one was removed.
    /// # Errors
    /// `Unavailable`.
    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault>;

    /// From now on every record of the family is gone, and until `until` none can be inserted into it.
    /// # Errors
    /// `Unavailable`.
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault>;

    /// Whether others change records, too: what was read a moment ago may then be old.
    fn reach(&self) -> Reach;

    /// Records of a kind that take a place, tombstones included: for admission and metrics. What has expired counts
    /// until its memory is freed.
    fn count(&self, kind: Kind) -> usize;

    /// What the records of a kind take of its capacity. Cheap: it is asked at each admission of a login.
    fn usage(&self, kind: Kind) -> Usage {
        Usage { records: self.count(kind), bytes: 0 }
    }
}
