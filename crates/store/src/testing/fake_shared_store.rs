//! A store that hubs share, and that a test makes unavailable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use passerelle_protocol::env::Timestamp;

use super::store_conformance::ample_capacities;
use crate::memory::MemoryStore;
use crate::*;

/// A store that can be made unavailable.
pub struct FakeSharedStore {
    inner: MemoryStore,
    is_unavailable: AtomicBool,
    is_outrun: AtomicBool,
    loses_reply: AtomicBool,
    calls: AtomicUsize,
}

impl FakeSharedStore {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(ample_capacities()),
            is_unavailable: AtomicBool::new(false),
            is_outrun: AtomicBool::new(false),
            loses_reply: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        })
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub fn set_unavailable(&self, away: bool) {
        self.is_unavailable.store(away, Ordering::Relaxed);
    }

    /// Lets another writer be faster than the next `replace`.
    pub fn outrun_next_replace(&self) {
        self.is_outrun.store(true, Ordering::Relaxed);
    }

    /// Lets the next `replace` take effect without a reply.
    pub fn lose_next_reply(&self) {
        self.loses_reply.store(true, Ordering::Relaxed);
    }

    fn reach(&self) -> Result<&MemoryStore, StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.is_unavailable.load(Ordering::Relaxed) {
            Err(StoreError::Unavailable("cut off".into()))
        } else {
            Ok(&self.inner)
        }
    }

    /// Simulates a failover to a replica that misses the latest writes.
    pub async fn put_back(&self, key: &RecordKey, record: Option<Record>, now: Timestamp) {
        self.inner.remove(key).await.unwrap();
        if let Some(record) = record {
            let draft = NewRecord {
                value: record.value.to_vec(),
                expires_at: record.expires_at,
                expires_unread_at: None,
                families: Arc::default(),
            };
            self.inner.insert(key.clone(), draft, now).await.unwrap();
        }
    }

    /// Returns a record although the store is unavailable.
    pub async fn record(&self, key: &RecordKey, now: Timestamp) -> Option<Record> {
        self.inner.load(key, now).await.unwrap()
    }
}

#[async_trait]
impl Store for FakeSharedStore {
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        self.reach()?.insert(key, draft, now).await
    }
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError> {
        self.reach()?.load(key, now).await
    }
    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError> {
        let inner = self.reach()?;
        if self.is_outrun.swap(false, Ordering::Relaxed) {
            return Ok(ReplaceOutcome::Stale);
        }
        let outcome = inner.replace(key, expected, value, until, now).await;
        if self.loses_reply.swap(false, Ordering::Relaxed) {
            return Err(StoreError::Unavailable("timed out".into()));
        }
        outcome
    }
    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError> {
        self.reach()?.take(key, tombstone, until, now).await
    }
    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError> {
        self.reach()?.remove(key).await
    }
    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.reach()?.remove_version(key, version, now).await
    }
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.reach()?.revoke(family, until, now).await
    }
    fn scope(&self) -> StoreScope {
        StoreScope::Shared
    }
    fn count(&self, kind: &RecordKind) -> usize {
        self.inner.count(kind)
    }
}
