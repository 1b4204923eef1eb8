//! The conformance suite, with restarts in between.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::snapshot::{read, write};
use super::super::*;
use crate::env::SeededEntropy;
use crate::ids::Secret;
use crate::store::conformance::conformance;
use crate::store::seal::Ring;

/// A store that goes through a restart before each verb, or before some.
struct Restarting {
    every: usize,
    verbs: AtomicUsize,
    current: RwLock<Arc<MemoryStore>>,
    capacities: Capacities,
}

impl Restarting {
    fn restarted(&self, now: Timestamp) -> Arc<MemoryStore> {
        let mut current = self.current.write().unwrap();
        if !self.verbs.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.every) {
            return Arc::clone(&current);
        }
        current.close();
        let (mut bytes, ring, entropy) =
            (Vec::new(), Ring::new(&[Secret::new("key".to_owned())]), SeededEntropy::new(1));
        write(&mut bytes, current.entries(now), (&ring, "hub"), (now, &entropy)).unwrap();
        let (entries, _) = read(&bytes[..], bytes.len() as u64, (&ring, "hub")).unwrap();
        let next = Arc::new(MemoryStore::new(self.capacities));
        next.restore(entries, now);
        *current = Arc::clone(&next);
        next
    }
}

#[async_trait]
impl Store for Restarting {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        self.restarted(now).insert(key, draft, now).await
    }
    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        self.restarted(now).load(key, now).await
    }
    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        self.restarted(now).replace(key, expected, value, expires_at, now).await
    }
    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault> {
        self.restarted(now).take(key, tombstone, until, now).await
    }
    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        let current = Arc::clone(&self.current.read().unwrap());
        current.remove(key).await
    }
    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        self.restarted(now).remove_version(key, version, now).await
    }
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        self.restarted(now).revoke(family, until, now).await
    }
    fn reach(&self) -> Reach {
        Reach::Process
    }
    fn count(&self, kind: Kind) -> usize {
        self.current.read().unwrap().count(kind)
    }
}

fn restarting_before(every: usize, capacities: Capacities) -> Arc<dyn Store> {
    let current = RwLock::new(Arc::new(MemoryStore::new(capacities)));
    Arc::new(Restarting { every, verbs: AtomicUsize::new(0), current, capacities })
}

async fn restarting(capacities: Capacities) -> Arc<dyn Store> {
    restarting_before(1, capacities)
}

async fn restarting_at_times(capacities: Capacities) -> Arc<dyn Store> {
    restarting_before(20, capacities)
}

// Without those that turn the clock back, that race (nobody may write while it goes down), and the blocks.
conformance!(restarting:
    versions_count_from_one, a_lost_replace_changes_nothing, insert_refuses_a_live_key, expired_code_can_not_be_taken,
    a_tombstone_ends_too, a_spent_code_tells_what_it_issued, insert_goes_over_what_expired_but_not_over_a_tombstone,
    a_full_store_refuses_newcomers_and_keeps_the_others, room_comes_back, codes_and_tokens_share_a_capacity,
    remove_takes_tombstones_too, revocation_is_effective_at_once, either_family_revokes,
    a_revoked_family_opens_again_without_its_old_records, a_tombstone_survives_revocation,
    used_assertions_have_a_capacity_of_their_own);
conformance!(restarting_at_times: agrees_with_a_simple_model);
