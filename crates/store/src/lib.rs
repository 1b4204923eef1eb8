//! Stores short-lived records (logins, sessions, codes, tokens) behind the [`Store`] trait.
//!
//! Responsible for atomicity, expiry, capacity and revocation. Values are opaque bytes;
//! [`stored_value`] changes those that are JSON.
//! Every operation takes `now`. A record is expired when `expires_at <= now`, whatever the clock of
//! the adapter says. All adapters pass the same conformance suite. Does not know what a record
//! means. Begin with [`Store`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

#[cfg(any(test, feature = "testing"))]
pub mod testing;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use passerelle_protocol::env::Timestamp;
use passerelle_settings::TableKind;

mod by_kind;
mod capacities;
mod compact_name;
pub mod compression;
pub mod counters;
pub mod encryption;
mod encryption_settings;
mod error;
pub mod kind;
mod late_store;
pub mod memory;
pub mod metered;
mod record_kind;
#[cfg(feature = "redis")]
pub mod redis;
mod revocations;
pub mod stored_value;

pub use capacities::Capacities;
pub use error::{InsertPairError, StoreError};
pub use late_store::LateStore;
pub use record_kind::{RecordKind, RecordRetention};

/// The kinds of stores of this program.
pub const KINDS: &[TableKind] = &[
    memory::KIND,
    #[cfg(feature = "redis")]
    redis::KIND,
    #[cfg(not(feature = "redis"))]
    TableKind::missing("redis"),
];

/// The store of a hub without a `[store]` table.
pub const DEFAULT: &dyn kind::StoreSettings = &memory::VolatileMemory;

/// Key of a record. `name` is a hash wherever the plain value is a secret.
#[derive(Clone, PartialEq, Eq, Hash, derive_more::Debug)]
#[debug("{kind:?}/…")]
pub struct RecordKey {
    pub kind: &'static RecordKind,
    pub name: Arc<str>,
}

/// Name of the records that the hub revokes together: everything issued in a session, or everything
/// issued for one code.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Family(pub Arc<str>);

/// Version of a record: 1 after `insert`, incremented by each `replace`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RecordVersion(pub u64);

/// Record to be inserted.
#[derive(Clone, Debug)]
pub struct NewRecord {
    pub value: Vec<u8>,
    pub expires_at: Timestamp,
    /// Earlier expiry that applies until [`Store::load_and_extend`] or [`Store::replace`] is
    /// called. A network store measures it by its server's clock.
    pub expires_unread_at: Option<Timestamp>,
    /// Revoking any of these families revokes the record.
    pub families: Arc<[Family]>,
}

impl NewRecord {
    /// Creates a record that belongs to no family and expires at `expires_at`, read or not.
    pub fn new(value: Vec<u8>, expires_at: Timestamp) -> Self {
        Self { value, expires_at, expires_unread_at: None, families: Arc::default() }
    }

    /// Returns when the record expires if it is never read or replaced.
    pub fn earliest_expiry(&self) -> Timestamp {
        self.expires_unread_at.map_or(self.expires_at, |unread| unread.min(self.expires_at))
    }
}

/// Live record.
#[derive(Clone, Debug)]
pub struct Record {
    pub version: RecordVersion,
    pub value: Arc<[u8]>,
    pub expires_at: Timestamp,
    /// Whether the store would encrypt it with another key today. A record that lives longer than a
    /// rotation of the keys takes must be written again.
    pub has_outdated_key: bool,
}

/// Result of [`Store::load_and_extend`].
#[derive(Clone, Debug)]
pub struct LoadedRecord {
    pub record: Record,
    /// Whether [`NewRecord::expires_unread_at`] still applied until this call.
    pub was_unread: bool,
}

/// Used capacity, tombstones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    pub records: usize,
    /// Total bytes of the values.
    pub bytes: usize,
}

/// Outcome of [`Store::replace`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplaceOutcome {
    Replaced(RecordVersion),
    /// The record has another version: load it and retry.
    Stale,
    /// The record is expired, revoked or unknown.
    Gone,
}

/// Outcome of [`Store::take`].
#[derive(Clone, Debug)]
pub enum TakeOutcome {
    /// Only this caller has the record. A tombstone replaces it.
    Taken(Record),
    /// Another caller took the record and left this tombstone.
    AlreadyTaken(Arc<[u8]>),
    /// The record is expired, revoked or unknown.
    Gone,
}

/// Which processes can access the records of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreScope {
    /// Only this process.
    Process,
    /// Any number of hubs.
    Shared,
}

/// Time that a store keeps an expired record, because the clocks of hubs differ, and a call whose
/// reply was lost is repeated.
const CLOCK_SKEW_GRACE: Duration = Duration::from_secs(60);
/// Maximum number of attempts to update a record that other requests change concurrently.
pub const MAX_UPDATE_ATTEMPTS: usize = 16;

/// Store of records. Every operation is atomic with respect to all others, except
/// [`Store::insert_pair`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Inserts a record and returns its first version.
    ///
    /// # Errors
    /// `Exists`, `Full`, `Revoked`, `Unavailable`.
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError>;

    /// Inserts a record, and then another one; in one round trip where the store can.
    ///
    /// # Errors
    /// `First`, `Second`, with the error of an insertion.
    async fn insert_pair(
        &self,
        first_key: RecordKey,
        first: NewRecord,
        second_key: RecordKey,
        second: NewRecord,
        now: Timestamp,
    ) -> Result<(), InsertPairError> {
        self.insert(first_key, first, now).await.map_err(InsertPairError::First)?;
        self.insert(second_key, second, now).await.map_err(InsertPairError::Second)?;
        Ok(())
    }

    /// Returns the record, or `None` if it is expired, revoked or a tombstone.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError>;

    /// Loads several records in one round trip, in the order of `keys`.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn load_many(
        &self,
        keys: &[RecordKey],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreError> {
        let mut records = Vec::with_capacity(keys.len());
        for key in keys {
            records.push(self.load(key, now).await?);
        }
        Ok(records)
    }

    /// Loads a record and cancels its [`NewRecord::expires_unread_at`].
    ///
    /// # Errors
    /// `Unavailable`.
    async fn load_and_extend(
        &self,
        key: &RecordKey,
        now: Timestamp,
    ) -> Result<Option<LoadedRecord>, StoreError> {
        Ok(self.load(key, now).await?.map(|record| LoadedRecord { record, was_unread: false }))
    }

    /// Replaces value and expiry if the record still has the expected version. Its families stay.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError>;

    /// Writes the record if it still has the expected version; with `None`, if it doesn't exist.
    /// Returns false if another writer was faster.
    ///
    /// # Errors
    /// `Full`, `Revoked`, `Unavailable`.
    async fn compare_and_set(
        &self,
        key: &RecordKey,
        expected: Option<RecordVersion>,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let Some(version) = expected else {
            let inserted = self.insert(key.clone(), NewRecord::new(value, expires_at), now).await;
            return match inserted {
                Ok(_) => Ok(true),
                Err(StoreError::Exists) => Ok(false),
                Err(error) => Err(error),
            };
        };
        let replaced = self.replace(key, version, value, expires_at, now).await?;
        Ok(matches!(replaced, ReplaceOutcome::Replaced(_)))
    }

    /// Takes the record and leaves `tombstone` until `tombstone_until`.
    ///
    /// Of several concurrent callers exactly one gets [`TakeOutcome::Taken`]. The tombstone
    /// survives the revocation of its families, so that a replayed code still names the tokens
    /// issued for it.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError>;

    /// Removes the record or tombstone, if there is one.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError>;

    /// Removes the record if it has this version. Returns whether a live record was removed.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Revokes every record of the family, and refuses insertions into it until `until`.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Returns which processes can change the records.
    fn scope(&self) -> StoreScope;

    /// Returns the number of records of a kind, tombstones included. Expired records count until
    /// their memory is freed.
    fn count(&self, kind: &RecordKind) -> usize;

    /// Returns the used capacity of a kind. Each admission of a login calls it: it must be cheap.
    fn usage(&self, kind: &RecordKind) -> Usage {
        Usage { records: self.count(kind), bytes: 0 }
    }
}
