//! Bounds what the records of one owner take in the store, in number and in bytes, so that one
//! client or network leaves room for the others.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_store::Usage;

/// A quota for each client, and one of the same size for all registered clients together: where
/// anyone may register, a stranger can register several.
#[derive(Debug)]
pub(super) struct ClientStoreQuota {
    per_client: StoreQuota<ClientId>,
    registered: StoreQuota<()>,
}

impl ClientStoreQuota {
    /// Creates a quota of so many records and bytes.
    pub(crate) fn new(max: Usage) -> Self {
        Self { per_client: StoreQuota::new(max), registered: StoreQuota::new(max) }
    }

    /// Returns whether the client may have another record of so many bytes.
    pub(crate) fn has_capacity(&self, client_id: &ClientId, bytes: usize, now: Timestamp) -> bool {
        self.per_client.has_capacity(client_id, bytes, now)
            && (!client_id.is_assigned_by_hub() || self.registered.has_capacity(&(), bytes, now))
    }

    /// Counts a record that the store holds until then.
    pub(crate) fn reserve(
        &self,
        client_id: &ClientId,
        bytes: usize,
        until: Timestamp,
        now: Timestamp,
    ) {
        self.per_client.reserve(client_id, bytes, until, now);
        if client_id.is_assigned_by_hub() {
            self.registered.reserve(&(), bytes, until, now);
        }
    }
}

/// Usage of each owner, on this hub.
#[derive(Debug)]
pub(super) struct StoreQuota<K> {
    max_per_owner: Usage,
    state: Mutex<OwnerUsage<K>>,
}

#[derive(Debug)]
struct OwnerUsage<K> {
    /// Usage by the minute of expiry, which is at most some minutes ahead.
    by_owner: HashMap<K, BTreeMap<u64, Usage>>,
    /// The minute of the last removal of owners without records.
    pruned_at: u64,
}

impl<K: Eq + Hash + Clone> StoreQuota<K> {
    /// Creates a quota of so many records and bytes for each owner.
    pub(crate) fn new(max_per_owner: Usage) -> Self {
        let state = OwnerUsage { by_owner: HashMap::new(), pruned_at: 0 };
        Self { max_per_owner, state: Mutex::new(state) }
    }

    /// Returns whether the owner may have another record of so many bytes.
    pub(crate) fn has_capacity(&self, owner: &K, bytes: usize, now: Timestamp) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let max = self.max_per_owner;
        let Some(usage) = state.by_owner.get_mut(owner) else {
            return max.records > 0 && bytes <= max.bytes;
        };
        *usage = usage.split_off(&unix_minute(now));
        let records: usize = usage.values().map(|usage| usage.records).sum();
        let used: usize = usage.values().map(|usage| usage.bytes).sum();
        records < max.records && used.saturating_add(bytes) <= max.bytes
    }

    /// Counts a record that the store holds until then.
    pub(crate) fn reserve(&self, owner: &K, bytes: usize, until: Timestamp, now: Timestamp) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = unix_minute(now);
        if state.pruned_at != minute {
            state.pruned_at = minute;
            state.by_owner.retain(|_, usage| {
                usage.last_key_value().is_some_and(|(expiry, _)| *expiry >= minute)
            });
        }
        let owner = state.by_owner.entry(owner.clone()).or_default();
        let usage = owner.entry(unix_minute(until)).or_default();
        usage.records += 1;
        usage.bytes = usage.bytes.saturating_add(bytes);
    }
}

fn unix_minute(at: Timestamp) -> u64 {
    at.seconds() / 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_its_share_of_records_and_bytes_until_they_expire() {
        let quota = StoreQuota::new(Usage { records: 3, bytes: 100 });
        let at = Timestamp::from_seconds;
        assert!(!quota.has_capacity(&"a", 101, at(0)), "larger than the share");
        quota.reserve(&"a", 60, at(60), at(0));
        assert!(quota.has_capacity(&"a", 40, at(59)) && !quota.has_capacity(&"a", 41, at(59)));
        assert!(quota.has_capacity(&"b", 100, at(59)), "others have their own share");
        for _ in 0..2 {
            quota.reserve(&"a", 0, at(60), at(0));
        }
        assert!(!quota.has_capacity(&"a", 0, at(119)), "three records");
        assert!(quota.has_capacity(&"a", 100, at(120)), "after their expiry");
    }

    /// Attack: a stranger registers several clients, each with its own half of the store.
    #[test]
    fn registered_clients_together_have_the_share_of_one_client() {
        let quota = ClientStoreQuota::new(Usage { records: 2, bytes: 100 });
        let at = Timestamp::from_seconds;
        let [one, other, file] = ["dcr-one", "dcr-other", "bakery"].map(ClientId::from);
        quota.reserve(&one, 1, at(60), at(0));
        assert!(quota.has_capacity(&other, 99, at(0)) && !quota.has_capacity(&other, 100, at(0)));
        quota.reserve(&other, 1, at(60), at(0));
        assert!(!quota.has_capacity(&one, 1, at(0)) && !quota.has_capacity(&other, 1, at(0)));
        assert!(quota.has_capacity(&file, 100, at(0)));
        quota.reserve(&file, 1, at(60), at(0));
        assert!(quota.has_capacity(&file, 1, at(0)) && quota.has_capacity(&one, 1, at(120)));
    }

    #[test]
    fn a_flood_of_owners_is_forgotten_when_its_records_expire() {
        let quota = StoreQuota::new(Usage { records: 1, bytes: 1 });
        let at = Timestamp::from_seconds;
        for owner in 0..1000 {
            quota.reserve(&owner, 1, at(60), at(0));
        }
        quota.reserve(&1000, 1, at(240), at(180));
        assert_eq!(quota.state.lock().unwrap().by_owner.len(), 1);
    }
}
