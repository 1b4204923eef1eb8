//! Runs the conformance suite with restarts between operations.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::snapshot::{SnapshotProtection, read, write};
use super::super::*;
use crate::encryption::StoreEncryptionKeys;
use crate::testing::store_conformance::conformance;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::SeededEntropy;

/// Store that restarts before every n-th operation.
struct Restarting {
    every: usize,
    operations: AtomicUsize,
    current: RwLock<Arc<MemoryStore>>,
    capacities: Capacities,
}

impl Restarting {
    fn restarted(&self, now: Timestamp) -> Arc<MemoryStore> {
        let mut current = self.current.write().unwrap();
        if !self.operations.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.every) {
            return Arc::clone(&current);
        }
        current.close();
        let (mut bytes, keys, entropy) = (
            Vec::new(),
            StoreEncryptionKeys::new(&[Secret::new("key".to_owned())]),
            SeededEntropy::new(1),
        );
        let protection = SnapshotProtection { keys: &keys, issuer: "hub" };
        write(&mut bytes, current.snapshot_entries(now), protection, now, &entropy).unwrap();
        let (entries, _) = read(&bytes[..], bytes.len() as u64, protection).unwrap();
        let next = Arc::new(MemoryStore::new(self.capacities.clone()));
        next.restore(entries, now);
        *current = Arc::clone(&next);
        next
    }
}

#[async_trait]
impl Store for Restarting {
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        self.restarted(now).insert(key, draft, now).await
    }
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError> {
        self.restarted(now).load(key, now).await
    }
    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError> {
        self.restarted(now).replace(key, expected, value, expires_at, now).await
    }
    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError> {
        self.restarted(now).take(key, tombstone, until, now).await
    }
    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError> {
        let current = Arc::clone(&self.current.read().unwrap());
        current.remove(key).await
    }
    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.restarted(now).remove_version(key, version, now).await
    }
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.restarted(now).revoke(family, until, now).await
    }
    fn scope(&self) -> StoreScope {
        StoreScope::Process
    }
    fn count(&self, kind: &RecordKind) -> usize {
        self.current.read().unwrap().count(kind)
    }
}

fn restarting_before(every: usize, capacities: Capacities) -> Arc<dyn Store> {
    let current = RwLock::new(Arc::new(MemoryStore::new(capacities.clone())));
    Arc::new(Restarting { every, operations: AtomicUsize::new(0), current, capacities })
}

async fn restarting(capacities: Capacities) -> Arc<dyn Store> {
    restarting_before(1, capacities)
}

async fn restarting_at_times(capacities: Capacities) -> Arc<dyn Store> {
    restarting_before(20, capacities)
}

// Without the tests that turn the clock back, that race (a closing store rejects writes), or that
// use blocks.
conformance!(restarting:
    versions_count_from_one, a_lost_replace_changes_nothing, insert_refuses_a_live_key, expired_code_can_not_be_taken,
    a_tombstone_expires, a_taken_code_names_its_tokens,
    insert_overwrites_expired_records_but_not_tombstones,
    a_full_store_rejects_new_records_and_keeps_the_others, capacity_is_released, codes_and_tokens_share_a_capacity,
    remove_removes_tombstones_too, revocation_is_effective_at_once, either_family_revokes,
    a_reopened_family_does_not_contain_its_old_records, a_tombstone_survives_revocation,
    used_assertions_have_a_capacity_of_their_own);
conformance!(restarting_at_times: agrees_with_a_simple_model);
