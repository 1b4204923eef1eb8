//! The queue in the store, shared by the hubs: a few records, each with the mails to some addresses.
//!
//! The hub that sends a mail first moves the time when it is due by [`LEASE`], so that no other hub
//! takes it meanwhile. If the hub stops, the mail becomes due again: a mail may be sent twice, and
//! both have the same code.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::person::HOUR;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use passerelle_store::stored_value::{self, StoredValue};
use passerelle_store::{RecordKey, RecordKind, Store, StoreError};

/// Mails that wait, and when mails to the same addresses were queued.
pub(crate) const MAIL_QUEUE: &RecordKind =
    &RecordKind::new("mail_queue", b'm', "mail_queues", 64 << 10);

/// Number of records: few enough to read all at once, so many that hubs seldom collide.
pub(crate) const BUCKETS: usize = 32;
/// Time for one attempt, after which any hub may try again. Longer than an attempt takes.
const LEASE: Duration = Duration::from_secs(60);
/// Maximum number of mails in an hour to the addresses of one record.
const MAX_COUNTED_MAILS: usize = 4096;
/// Bytes of the digest by which the mails to an address are counted.
const ADDRESS_DIGEST_BYTES: usize = 12;

/// A mail that waits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueuedMail {
    pub id: String,
    pub support_id: SupportId,
    pub address: String,
    pub code: String,
    pub language: String,
    pub service: String,
    pub queued_at: Timestamp,
    /// The mail must not be sent later.
    pub expires_at: Timestamp,
    /// Attempts begun.
    pub attempts: u32,
    pub due_at: Timestamp,
}

/// One record of the queue.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct MailBucket {
    pub waiting: Vec<QueuedMail>,
    /// Digest of the address, and time, of each mail of the last hour.
    counted: Vec<(String, Timestamp)>,
}

impl StoredValue for MailBucket {
    fn expires_at(&self, now: Timestamp) -> Timestamp {
        let waiting = self.waiting.iter().map(|mail| mail.expires_at);
        let counted = self.counted.iter().map(|(_, at)| *at + HOUR);
        // An empty record stays for a while: another hub may just be writing it.
        waiting.chain(counted).fold(now + LEASE, Ord::max)
    }
}

/// Outcome of [`MailQueue::insert`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    Inserted,
    /// The address got too many mails.
    Limited,
    Full,
}

/// What happens to a mail after an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MailSettlement {
    Remove,
    RetryAt(Timestamp),
}

/// The queue.
pub(crate) struct MailQueue {
    store: Arc<dyn Store>,
    max_per_bucket: usize,
    mails_per_address: usize,
}

impl MailQueue {
    pub(crate) fn new(store: Arc<dyn Store>, max_waiting: usize, mails_per_address: usize) -> Self {
        Self { store, max_per_bucket: max_waiting.div_ceil(BUCKETS), mails_per_address }
    }

    /// Inserts a mail. It replaces a waiting one of the same login, whose code is no longer valid.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn insert(
        &self,
        mail: &QueuedMail,
        now: Timestamp,
    ) -> Result<Insertion, StoreError> {
        let (digest, key) = locate(&mail.address);
        stored_value::update(self.store.as_ref(), &key, now, |bucket: &mut MailBucket| {
            bucket.counted.retain(|(_, at)| now.since(*at) < HOUR);
            let counted = bucket.counted.iter().filter(|(one, _)| *one == digest).count();
            if counted >= self.mails_per_address {
                return Insertion::Limited;
            }
            let is_full = bucket.counted.len() >= MAX_COUNTED_MAILS;
            if is_full || bucket.waiting.len() >= self.max_per_bucket {
                return Insertion::Full;
            }
            bucket.counted.push((digest.clone(), now));
            bucket.waiting.retain(|one| one.support_id != mail.support_id);
            bucket.waiting.push(mail.clone());
            Insertion::Inserted
        })
        .await
    }

    /// Loads the waiting mails of every record.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn load_all(&self, now: Timestamp) -> Result<Vec<QueuedMail>, StoreError> {
        let keys: Vec<RecordKey> = (0..BUCKETS).map(bucket_key).collect();
        let records = self.store.load_many(&keys, now).await?;
        // One with another release's format is left to that release.
        let buckets = records.into_iter().flatten();
        let buckets =
            buckets.filter_map(|found| serde_json::from_slice::<MailBucket>(&found.value).ok());
        Ok(buckets.flat_map(|bucket| bucket.waiting).collect())
    }

    /// Claims a mail that is due, so that only this hub sends it now. `None` if another hub has it,
    /// or it no longer waits.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn claim(
        &self,
        mail: &QueuedMail,
        now: Timestamp,
    ) -> Result<Option<QueuedMail>, StoreError> {
        let (_, key) = locate(&mail.address);
        stored_value::update(self.store.as_ref(), &key, now, |bucket: &mut MailBucket| {
            let is_it = |one: &&mut QueuedMail| one.id == mail.id && one.due_at <= now;
            let found = bucket.waiting.iter_mut().find(is_it)?;
            found.attempts = found.attempts.saturating_add(1);
            found.due_at = now + LEASE;
            Some(found.clone())
        })
        .await
    }

    /// Removes a mail, or sets when it is due again. Returns whether it still waited.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn remove_or_postpone(
        &self,
        mail: &QueuedMail,
        settlement: MailSettlement,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (_, key) = locate(&mail.address);
        stored_value::update(self.store.as_ref(), &key, now, |bucket: &mut MailBucket| {
            let Some(at) = bucket.waiting.iter().position(|one| one.id == mail.id) else {
                return false;
            };
            match settlement {
                MailSettlement::Remove => drop(bucket.waiting.remove(at)),
                MailSettlement::RetryAt(due_at) => {
                    bucket.waiting.iter_mut().skip(at).take(1).for_each(|one| one.due_at = due_at);
                }
            }
            true
        })
        .await
    }
}

/// Returns the digest by which the mails to an address are counted, and the key of its record.
fn locate(address: &str) -> (String, RecordKey) {
    let digest = digest::sha256(address.to_ascii_lowercase().as_bytes());
    let index = usize::from(digest.first().copied().unwrap_or_default()) % BUCKETS;
    let short = digest.get(..ADDRESS_DIGEST_BYTES).unwrap_or(&digest);
    (digest::base64url(short), bucket_key(index))
}

fn bucket_key(index: usize) -> RecordKey {
    RecordKey { kind: MAIL_QUEUE, name: Arc::from(format!("mails-{index}")) }
}
