//! Lists the contents of the store for a snapshot, and restores them into a new store.

use super::MemoryStore;
use super::kind_cache::{CachedRecord, RecordState, seconds_to_live};
use super::snapshot::SnapshotEntry;
use crate::compact_name::CompactName;
use crate::revocations::Membership;
use crate::{Family, RecordKey, RecordKind, RecordRetention};
use passerelle_protocol::env::Timestamp;

/// Numbers of records that a restore kept and dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestoreStats {
    pub records: usize,
    /// Records that expired in the meantime.
    pub expired: usize,
    /// Records without room, because the capacities are smaller than before.
    pub over_capacity: usize,
}

impl MemoryStore {
    /// Returns the contents of a snapshot, revocations first. Close the store before, so that the
    /// snapshot is consistent. Blocks are left out: a single hub has them in their own file.
    pub fn snapshot_entries(&self, now: Timestamp) -> impl Iterator<Item = SnapshotEntry> {
        let revoked = self.revocations.closed_families(now).into_iter().map(|(family, until)| {
            SnapshotEntry::RevokedFamily { family: family_from(&family), until }
        });
        let caches = self.caches.iter();
        let caches = caches.filter(|cache| cache.kind.retention != RecordRetention::HubState);
        let records = caches.flat_map(move |cache| {
            // Recent writes may still be invisible to iteration.
            cache.records.run_pending_tasks();
            let live = cache.records.iter().filter(move |(_, slot)| !self.is_dead(slot, now));
            live.filter_map(|(name, slot)| {
                let value = cache.unpack(slot.value).inspect_err(
                    |error| tracing::error!(kind = ?cache.kind, %error, "record is missing in the snapshot"),
                );
                Some(SnapshotEntry::Record {
                    letter: cache.kind.letter,
                    name: name.to_text().into(),
                    state: slot.state,
                    version: slot.version,
                    value: value.ok()?,
                    expires_at: slot.expires_at,
                    families: slot.membership.families().iter().map(family_from).collect(),
                })
            })
        });
        revoked.chain(records)
    }

    /// Restores the entries of a snapshot into a new store that is not in use yet.
    pub fn restore(&self, entries: Vec<SnapshotEntry>, now: Timestamp) -> RestoreStats {
        let mut restored = RestoreStats::default();
        for entry in entries {
            match entry {
                SnapshotEntry::RevokedFamily { family, until } if now < until => {
                    self.revocations.revoke((&family).into(), until, now);
                }
                SnapshotEntry::RevokedFamily { .. } => {}
                SnapshotEntry::Record { expires_at, .. } if expires_at <= now => {
                    restored.expired += 1;
                }
                SnapshotEntry::Record {
                    letter,
                    name,
                    state,
                    version,
                    value,
                    expires_at,
                    families,
                } => {
                    // The kind belongs to a capability that this program or configuration lacks.
                    let Some(kind) = self.caches.kind_of_letter(letter) else { continue };
                    let membership = match state {
                        // A revoked family admits nothing, whatever the snapshot says.
                        RecordState::Live => self.revocations.admit(&families, expires_at, now),
                        RecordState::Tombstone => Some(Membership::default()),
                    };
                    let Some(membership) = membership else { continue };
                    let cache = self.caches.get(kind);
                    let value = cache.pack(value);
                    if protects_from_replay(kind, state) {
                        cache.reserve_for_update(value.len());
                    } else if !cache.try_reserve(value.len()) {
                        restored.over_capacity += 1;
                        continue;
                    }
                    let slot = CachedRecord {
                        version,
                        value,
                        expires_at,
                        unread_expiry: expires_at,
                        seconds_to_live: seconds_to_live(expires_at, now),
                        membership,
                        state,
                    };
                    cache.records.insert((&RecordKey { kind, name }).into(), slot);
                    restored.records += 1;
                }
            }
        }
        restored
    }
}

fn family_from(name: &CompactName) -> Family {
    Family(name.to_text().into())
}

/// Returns whether losing the record would allow a replay. Such records are restored even over
/// capacity; they expire within minutes.
fn protects_from_replay(kind: &RecordKind, state: RecordState) -> bool {
    state == RecordState::Tombstone || kind.retention == RecordRetention::ReplayProtection
}
