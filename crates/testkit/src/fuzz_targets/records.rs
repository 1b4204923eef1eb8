//! What a store holds: records of a Redis server, and the snapshot of the in-memory store.

use super::sample_keys::NOW;
use super::{FuzzFunction, FuzzTarget, target};
use passerelle_federation::login::Login;
use passerelle_protocol::ids::Secret;
use passerelle_store::encryption::StoreEncryptionKeys;
use passerelle_store::memory::MemoryStore;
use passerelle_store::memory::snapshot::{self, SnapshotEntry, SnapshotProtection, read_entries};
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{RecordKind, Store as _};

pub(super) const TARGETS: &[FuzzTarget] = &[
    #[cfg(feature = "redis")]
    target(
        "redis_record",
        &[
            "crates/store/src/redis/record.rs",
            "crates/store/src/compression.rs",
            "crates/store/src/redis/family_members.rs",
        ],
        redis_record,
    ),
    target(
        "stored_login",
        &["crates/federation/src/login.rs", "crates/federation/src/login/context.rs"],
        stored_login,
    ),
    target(
        "snapshot",
        &["crates/store/src/memory/snapshot.rs", "crates/store/src/encryption.rs"],
        snapshot_file,
    ),
    target(
        "snapshot_entries",
        &["crates/store/src/memory/snapshot.rs", "crates/store/src/memory/restore.rs"],
        snapshot_entries,
    ),
];

#[cfg(feature = "redis")]
fn redis_record() -> FuzzFunction {
    use passerelle_store::compression::{compress, decompress};
    use passerelle_store::redis::family_members::FamilyMember;
    use passerelle_store::redis::record::{RecordHeader, encrypted_value};

    let keys = StoreEncryptionKeys::new(&[Secret::new("of the seeds".to_owned())]);
    Box::new(move |data| {
        let _ = FamilyMember::parse(data).map(|member| member.letter);
        let decompressed = decompress(data);
        if let Ok(value) = &decompressed {
            assert!(value.len() <= 8 << 20, "a decompression bomb");
            assert_eq!(&decompress(&compress(value)).unwrap(), value);
        }
        let Ok((header, rest)) = RecordHeader::parse(data) else { return decompressed.is_ok() };
        let Ok(encrypted) = encrypted_value(rest) else { return false };
        let bytes = header.authenticated_bytes();
        if let Ok(value) = keys.decrypt(b"location", &bytes, encrypted) {
            let _ = decompress(&value);
        }
        true
    })
}

fn stored_login() -> FuzzFunction {
    Box::new(|data| {
        let Ok(login) = serde_json::from_slice::<Login>(data) else { return false };
        let stored = serde_json::to_value(&login).unwrap();
        let again: Login = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&again).unwrap(), stored);
        let _ = (login.outcome(), login.is_completed(), login.is_being_verified(NOW));
        let _ = (login.expects_state("state"), login.replaced_session().is_some());
        let _ = (login.state.name(), login.state.connector());
        true
    })
}

fn snapshot_file() -> FuzzFunction {
    let keys = StoreEncryptionKeys::new(&[Secret::new("of the seeds".to_owned())]);
    Box::new(move |data| {
        let length = data.len() as u64;
        let read = snapshot::read(data, length, SnapshotProtection { keys: &keys, issuer: "hub" });
        read.is_ok_and(|(entries, _)| entries.len() <= data.len())
    })
}

/// The entries of a chunk, decrypted.
fn snapshot_entries() -> FuzzFunction {
    Box::new(|data| {
        let Some(entries) = read_entries(data) else { return false };
        let mut encoded = Vec::new();
        entries.iter().for_each(|entry| entry.encode(&mut encoded));
        assert_eq!(encoded, data, "an entry that is written again differs");
        let records = entries.iter().filter(|e| matches!(e, SnapshotEntry::Record { .. })).count();
        let store = MemoryStore::new(ample_capacities());
        store.restore(entries, NOW);
        assert!(store.count(RecordKind::LOGIN) <= records);
        store.snapshot_entries(NOW).count() > 0
    })
}
