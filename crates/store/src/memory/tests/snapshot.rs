//! Tests what a restart keeps, and which snapshots are rejected.

mod unreadable;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::super::snapshot_file::{SnapshotError, SnapshotFile, SnapshotLoad};
use super::super::*;
use crate::RecordRetention;
use crate::testing::store_conformance::{
    FOREIGN_KIND, ample_capacities, at, code, key, new_record, new_record_in_family, take, value,
};
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

fn kinds() -> Vec<&'static RecordKind> {
    let mut kinds = ample_capacities().kinds().to_vec();
    kinds.retain(|kind| kind.retention != RecordRetention::HubState);
    kinds
}

fn secrets(keys: &[&str]) -> Vec<Secret<String>> {
    keys.iter().map(|key| Secret::new((*key).to_owned())).collect()
}

fn env(seconds: u64) -> Env {
    Env::new(Arc::new(ManualClock::at(at(seconds))), Arc::new(SeededEntropy::new(7)))
}

/// Folder of a hub.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("state/store.snapshot")
    }

    fn snapshots(&self, keys: &[&str]) -> SnapshotFile {
        SnapshotFile::new(&self.path(), &secrets(keys), "https://hub.example")
    }

    fn save(&self, store: &MemoryStore, seconds: u64) {
        self.snapshots(&["key"]).save(store, &env(seconds)).unwrap();
    }

    fn load(&self, capacities: Capacities, seconds: u64) -> (Arc<dyn Store>, SnapshotLoad) {
        self.load_with(&self.snapshots(&["key"]), capacities, seconds)
    }

    fn load_with(
        &self,
        snapshots: &SnapshotFile,
        capacities: Capacities,
        seconds: u64,
    ) -> (Arc<dyn Store>, SnapshotLoad) {
        let store = MemoryStore::new(capacities);
        let found = snapshots.load(&store, at(seconds)).unwrap();
        (Arc::new(store), found)
    }

    /// Names of the files in the folder.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.path().parent().unwrap()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn restored(found: &SnapshotLoad) -> RestoreStats {
    match found {
        SnapshotLoad::Restored { restored, .. } => *restored,
        SnapshotLoad::Nothing | SnapshotLoad::SetAside { .. } => panic!("{found:?}"),
    }
}

#[tokio::test]
async fn a_restart_without_a_capability_leaves_out_its_records() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    for kind in [RecordKind::CODE, FOREIGN_KIND] {
        store.insert(key(kind, "one"), new_record("1", at(50)), at(0)).await.unwrap();
    }
    machine.save(&store, 10);
    let without = Capacities::default().with_records(RecordKind::CODE, 10);
    let (store, found) = machine.load(without, 12);
    assert_eq!(restored(&found), RestoreStats { records: 1, expired: 0, over_capacity: 0 });
    assert_eq!(store.count(FOREIGN_KIND), 0);
}

#[tokio::test]
async fn a_restart_keeps_records_of_every_kind_with_version_and_expiry() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    for kind in kinds() {
        store
            .insert(key(kind, "one"), new_record_in_family("first", at(50), "family"), at(0))
            .await
            .unwrap();
        store
            .replace(&key(kind, "one"), RecordVersion(1), format!("{kind:?}").into(), at(60), at(1))
            .await
            .unwrap();
        store.insert(key(kind, "two"), new_record(&"x".repeat(3000), at(20)), at(0)).await.unwrap();
    }
    // Blocks have their own file and are not among them.
    store.insert(key(RecordKind::BLOCKS, "blocks"), new_record("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    assert_eq!(machine.files(), ["store.snapshot"]);
    assert_eq!(fs::metadata(machine.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::metadata(machine.path().parent().unwrap()).unwrap().permissions().mode() & 0o777,
        0o700
    );

    let (store, found) = machine.load(ample_capacities(), 12);
    let records = 2 * kinds().len();
    assert_eq!(restored(&found), RestoreStats { records, expired: 0, over_capacity: 0 });
    assert!(matches!(found, SnapshotLoad::Restored { age, .. } if age == Duration::from_secs(2)));
    assert!(machine.files().is_empty());
    for kind in kinds() {
        let record = store.load(&key(kind, "one"), at(59)).await.unwrap().unwrap();
        assert_eq!(
            (record.version, &*record.value, record.expires_at),
            (RecordVersion(2), format!("{kind:?}").as_bytes(), at(60))
        );
        assert!(store.load(&key(kind, "one"), at(60)).await.unwrap().is_none());
        assert_eq!(store.count(kind), 2);
        assert_eq!(
            store.insert(key(kind, "one"), new_record("", at(99)), at(12)).await,
            Err(StoreError::Exists)
        );
    }
    // Restored records still belong to their family.
    store.revoke(&Family("family".into()), at(60), at(13)).await.unwrap();
    for kind in kinds() {
        assert_eq!(value(&store, &key(kind, "one"), at(14)).await, None);
        assert_eq!(value(&store, &key(kind, "two"), at(14)).await.unwrap().len(), 3000);
    }
}

#[tokio::test]
async fn a_code_spent_before_a_restart_stays_spent_and_names_its_tokens() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    store.insert(code("a"), new_record_in_family("1", at(30), "session"), at(0)).await.unwrap();
    store.take(&code("a"), "issued".into(), at(70), at(1)).await.unwrap();
    // The tombstone outlives its revoked family.
    store.revoke(&Family("session".into()), at(70), at(2)).await.unwrap();
    machine.save(&store, 10);
    let (store, _) = machine.load(ample_capacities(), 11);
    assert_eq!(take(&store, &code("a"), "again", at(99), at(12)).await, "already taken issued");
    assert_eq!(
        store.insert(code("a"), new_record("2", at(99)), at(12)).await,
        Err(StoreError::Exists)
    );
}

#[tokio::test]
async fn a_token_revoked_before_a_restart_stays_revoked_with_its_family() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    let token = |name: &str| key(RecordKind::TOKEN, name);
    store.insert(token("dead"), new_record_in_family("1", at(60), "ended"), at(0)).await.unwrap();
    store.insert(token("old"), new_record_in_family("1", at(60), "reopened"), at(0)).await.unwrap();
    store.revoke(&Family("ended".into()), at(50), at(1)).await.unwrap();
    store.revoke(&Family("reopened".into()), at(2), at(1)).await.unwrap();
    store
        .insert(token("young"), new_record_in_family("1", at(60), "reopened"), at(3))
        .await
        .unwrap();
    machine.save(&store, 10);
    let (store, found) = machine.load(ample_capacities(), 11);
    assert_eq!(restored(&found).records, 1);
    for (name, alive) in [("dead", None), ("old", None), ("young", Some("1"))] {
        assert_eq!(value(&store, &token(name), at(12)).await.as_deref(), alive, "{name}");
    }
    assert_eq!(
        store.insert(token("new"), new_record_in_family("1", at(60), "ended"), at(49)).await,
        Err(StoreError::Revoked)
    );
    assert_eq!(
        store.insert(token("new"), new_record_in_family("1", at(60), "ended"), at(50)).await,
        Ok(RecordVersion(1))
    );
}

#[tokio::test]
async fn a_snapshot_loads_only_once_so_that_no_used_code_is_valid_again() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    store.insert(code("a"), new_record("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    let (first, _) = machine.load(ample_capacities(), 11);
    assert_eq!(take(&first, &code("a"), "t", at(99), at(12)).await, "taken 1");
    // The process is killed; the next one starts.
    let (second, found) = machine.load(ample_capacities(), 13);
    assert!(matches!(found, SnapshotLoad::Nothing));
    assert_eq!(take(&second, &code("a"), "t", at(99), at(14)).await, "gone");
}

#[tokio::test]
async fn changes_after_the_snapshot_are_rejected_so_that_no_confirmed_change_is_lost() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    store.insert(code("a"), new_record("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    let refused = Err(StoreError::Unavailable("the hub is shutting down".into()));
    assert_eq!(store.insert(code("b"), new_record("1", at(90)), at(11)).await.map(drop), refused);
    assert_eq!(store.take(&code("a"), vec![], at(99), at(11)).await.map(drop), refused);
    assert_eq!(
        store.replace(&code("a"), RecordVersion(1), vec![], at(99), at(11)).await.map(drop),
        refused
    );
    assert_eq!(store.remove(&code("a")).await, refused);
    assert_eq!(store.revoke(&Family("f".into()), at(99), at(11)).await, refused);
    let (store, _) = machine.load(ample_capacities(), 12);
    assert_eq!(take(&store, &code("a"), "t", at(99), at(13)).await, "taken 1");
}

#[tokio::test]
async fn what_expires_while_the_hub_is_down_does_not_come_back_and_a_clock_set_back_prolongs_nothing()
 {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    for (name, until) in [("past", 9), ("meanwhile", 20), ("later", 30)] {
        store.insert(code(name), new_record(name, at(until)), at(0)).await.unwrap();
    }
    machine.save(&store, 10);
    let copy = fs::read(machine.path()).unwrap();
    let (store, found) = machine.load(ample_capacities(), 20);
    assert_eq!(restored(&found), RestoreStats { records: 1, expired: 1, over_capacity: 0 });
    assert_eq!(value(&store, &code("meanwhile"), at(20)).await, None);
    assert_eq!(value(&store, &code("later"), at(20)).await.unwrap(), "later");

    fs::write(machine.path(), copy).unwrap();
    let (store, found) = machine.load(ample_capacities(), 5);
    assert_eq!(restored(&found).records, 2, "what had expired when it was written is not in it");
    assert_eq!(value(&store, &code("past"), at(5)).await, None);
    assert_eq!(value(&store, &code("later"), at(30)).await, None);
}

#[tokio::test]
async fn a_smaller_store_keeps_what_it_can_and_forgets_nothing_that_was_used() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    for n in 0..20 {
        store
            .insert(key(RecordKind::SESSION, &n.to_string()), new_record("1", at(90)), at(0))
            .await
            .unwrap();
        store
            .insert(key(RecordKind::USED_JTI, &n.to_string()), new_record("", at(90)), at(0))
            .await
            .unwrap();
        store.insert(code(&n.to_string()), new_record("1", at(90)), at(0)).await.unwrap();
    }
    for n in 0..10 {
        store.take(&code(&n.to_string()), "t".into(), at(95), at(1)).await.unwrap();
    }
    machine.save(&store, 10);
    let small = ample_capacities()
        .with_records(RecordKind::SESSION, 5)
        .with_records(RecordKind::USED_JTI, 5)
        .with_records(RecordKind::CODE, 12);
    let (store, found) = machine.load(small, 11);
    let restored = restored(&found);
    assert_eq!(
        (restored.records, restored.over_capacity),
        (60 - restored.over_capacity, 60 - restored.records)
    );
    assert_eq!((store.count(RecordKind::SESSION), store.count(RecordKind::USED_JTI)), (5, 20));
    for n in 0..20 {
        let used = key(RecordKind::USED_JTI, &n.to_string());
        assert_eq!(
            store.insert(used, new_record("", at(90)), at(12)).await,
            Err(StoreError::Exists),
            "a replay is reported as one"
        );
        if n < 10 {
            assert_eq!(
                take(&store, &code(&n.to_string()), "x", at(99), at(12)).await,
                "already taken t"
            );
        }
    }
    let full = store.insert(key(RecordKind::SESSION, "new"), new_record("1", at(90)), at(12)).await;
    assert_eq!(full, Err(StoreError::Full));
    assert_eq!(
        store.insert(key(RecordKind::SESSION, "new"), new_record("1", at(99)), at(90)).await,
        Ok(RecordVersion(1)),
        "capacity becomes available again"
    );
}

/// Measures the figures of docs/deploying.md:
/// `cargo test --lib a_hundred_thousand -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "measures, and takes seconds"]
async fn a_hundred_thousand_logins() {
    let capacities = ample_capacities().with_records(RecordKind::LOGIN, 100_000);
    let (machine, store) = (Machine::new(), MemoryStore::new(capacities.clone()));
    for n in 0..100_000 {
        store
            .insert(
                key(RecordKind::LOGIN, &format!("{n:043}")),
                new_record(&"x".repeat(1500), at(90)),
                at(0),
            )
            .await
            .unwrap();
    }
    let begun = tokio::time::Instant::now();
    let saved = machine.snapshots(&["key"]).save(&store, &env(1)).unwrap();
    println!(
        "{} records, {} bytes, written in {:?}",
        saved.stats.records,
        saved.bytes,
        begun.elapsed()
    );
    let begun = tokio::time::Instant::now();
    let (_, found) = machine.load(capacities, 2);
    println!("{:?}, in {:?}", restored(&found), begun.elapsed());
}
