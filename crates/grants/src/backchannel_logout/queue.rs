//! The queue of logout tokens in the store, shared by the hubs: a few records, each with a list of
//! notices.
//!
//! An empty record stays: the inserting hub counts its capacity, and another hub could not release
//! it. A hub that delivers a notice first moves the time when it is due by [`LEASE`], so that no
//! other one takes it meanwhile. If the hub stops, the notice becomes due again.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::notice::LogoutNotice;
use super::slots::DeliverySlot;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_store::stored_value::{self, StoredValue};
use passerelle_store::{Record, RecordKey, RecordKind, RecordVersion, Store, StoreError};

/// Number of records: few enough to read all at once, so many that hubs seldom collide.
const BUCKETS: usize = 32;
/// Time for one attempt, after which any hub may try again.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Lifetime of a record after its last change; longer than any notice is retried.
const RECORD_LIFETIME: Duration = Duration::from_secs(2 * 3600);

/// A notice in the queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct QueuedNotice {
    pub id: String,
    #[serde(flatten)]
    pub notice: LogoutNotice,
    pub created_at: Timestamp,
    /// Attempts begun.
    pub attempts: u32,
    pub due_at: Timestamp,
}

impl QueuedNotice {
    /// Creates a notice, claimed by this hub or due at once.
    pub(super) fn new(notice: LogoutNotice, id: String, now: Timestamp, is_claimed: bool) -> Self {
        let (attempts, due_at) = if is_claimed { (1, now + LEASE) } else { (0, now) };
        Self { id, notice, created_at: now, attempts, due_at }
    }
}

/// What happens to a notice after an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settlement {
    Remove,
    RetryAt(Timestamp),
}

/// The value of a record.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Bucket(Vec<QueuedNotice>);

impl StoredValue for Bucket {
    fn expires_at(&self, now: Timestamp) -> Timestamp {
        now + RECORD_LIFETIME
    }
}

/// A record as loaded.
pub(super) struct LoadedBucket {
    pub index: usize,
    version: RecordVersion,
    pub entries: Vec<QueuedNotice>,
}

/// The queue.
pub(super) struct NoticeQueue {
    store: Arc<dyn Store>,
    max_per_bucket: usize,
}

impl NoticeQueue {
    /// Creates the queue; `capacity` notices fit.
    pub(super) fn new(store: Arc<dyn Store>, capacity: usize) -> Self {
        Self { store, max_per_bucket: capacity.div_ceil(BUCKETS) }
    }

    /// Inserts notices into a record chosen by `random`. Returns its index, and the notices without
    /// room: one service provider may have half of a record.
    ///
    /// # Errors
    /// The error of the store, with all notices.
    pub(super) async fn insert(
        &self,
        random: &[u8; 32],
        notices: Vec<QueuedNotice>,
        now: Timestamp,
    ) -> Result<(usize, Vec<QueuedNotice>), (StoreError, Vec<QueuedNotice>)> {
        let [first, ..] = *random;
        let index = usize::from(first) % BUCKETS;
        let inserted = self
            .update(index, now, |entries| {
                let mut rejected = Vec::new();
                for notice in &notices {
                    let client_id = &notice.notice.client_id;
                    let own =
                        entries.iter().filter(|entry| entry.notice.client_id == *client_id).count();
                    let has_room = entries.len() < self.max_per_bucket
                        && own < self.max_per_bucket.div_ceil(2);
                    let list = if has_room { &mut *entries } else { &mut rejected };
                    list.push(notice.clone());
                }
                rejected
            })
            .await;
        match inserted {
            Ok(rejected) => Ok((index, rejected)),
            Err(error) => Err((error, notices)),
        }
    }

    /// Loads every record of the queue.
    ///
    /// # Errors
    /// The error of the store.
    pub(super) async fn load_all(&self, now: Timestamp) -> Result<Vec<LoadedBucket>, StoreError> {
        let keys: Vec<RecordKey> = (0..BUCKETS).map(bucket_key).collect();
        let records = self.store.load_many(&keys, now).await?;
        // One with another release's format is left to that release.
        let load =
            |(index, record): (usize, Option<Record>)| LoadedBucket::new(index, &record?).ok();
        Ok(records.into_iter().enumerate().filter_map(load).collect())
    }

    /// Claims the due notices of a record for which `reserve` has a permit; none if another hub has
    /// changed the record meanwhile.
    pub(super) async fn claim(
        &self,
        bucket: LoadedBucket,
        reserve: impl Fn(&ClientId) -> Option<DeliverySlot>,
        now: Timestamp,
    ) -> Vec<(QueuedNotice, DeliverySlot)> {
        let LoadedBucket { index, version, mut entries } = bucket;
        let mut claimed = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.due_at <= now) {
            let Some(slot) = reserve(&entry.notice.client_id) else { continue };
            entry.attempts = entry.attempts.saturating_add(1);
            entry.due_at = now + LEASE;
            claimed.push((entry.clone(), slot));
        }
        if claimed.is_empty() {
            return claimed;
        }
        let key = bucket_key(index);
        let until = now + RECORD_LIFETIME;
        let value = encode_entries(&entries);
        match self.store.compare_and_set(&key, Some(version), value, until, now).await {
            Ok(true) => claimed,
            // Another hub was faster, or the store does not answer: the next round tries again.
            Ok(false) | Err(_) => Vec::new(),
        }
    }

    /// Removes notices or sets when they are due again.
    ///
    /// # Errors
    /// The error of the store.
    pub(super) async fn apply_settlements(
        &self,
        index: usize,
        settled: Vec<(String, Settlement)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(index, now, |entries| {
            for (id, settlement) in &settled {
                match settlement {
                    Settlement::Remove => entries.retain(|entry| entry.id != *id),
                    Settlement::RetryAt(at) => entries
                        .iter_mut()
                        .filter(|entry| entry.id == *id)
                        .for_each(|entry| entry.due_at = *at),
                }
            }
        })
        .await
    }

    async fn update<T>(
        &self,
        index: usize,
        now: Timestamp,
        change: impl Fn(&mut Vec<QueuedNotice>) -> T,
    ) -> Result<T, StoreError> {
        let change = |bucket: &mut Bucket| change(&mut bucket.0);
        stored_value::update(self.store.as_ref(), &bucket_key(index), now, change).await
    }
}

impl LoadedBucket {
    fn new(index: usize, record: &Record) -> Result<Self, StoreError> {
        let Bucket(entries) = stored_value::decode(&record.value)?;
        Ok(Self { index, version: record.version, entries })
    }
}

fn bucket_key(index: usize) -> RecordKey {
    RecordKey { kind: RecordKind::LOGOUT_NOTICE, name: Arc::from(format!("notices-{index}")) }
}

/// Encodes the list. Strings and numbers always serialize to JSON.
fn encode_entries(entries: &[QueuedNotice]) -> Vec<u8> {
    serde_json::to_vec(entries).unwrap_or_default()
}
