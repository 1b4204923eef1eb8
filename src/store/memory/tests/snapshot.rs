//! What a restart keeps, what it must not bring back, and what is not believed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::super::keeping::{Found, SnapshotFault, Snapshots};
use super::super::*;
use crate::env::{Env, HandClock, SeededEntropy};
use crate::ids::Secret;
use crate::store::KINDS;
use crate::store::conformance::{ROOMY, at, code, draft, key, kin, take, value};

fn kinds() -> impl Iterator<Item = Kind> {
    KINDS.into_iter().map(|(kind, _)| kind).filter(|kind| !kind.is_watched())
}

fn secrets(keys: &[&str]) -> Vec<Secret<String>> {
    keys.iter().map(|key| Secret::new((*key).to_owned())).collect()
}

fn env(seconds: u64) -> Env {
    Env::new(Arc::new(HandClock::at(at(seconds))), Arc::new(SeededEntropy::new(7)))
}

/// A hub's folder.
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

    fn snapshots(&self, keys: &[&str]) -> Snapshots {
        Snapshots::new(&self.path(), &secrets(keys), "https://hub.example")
    }

    fn save(&self, store: &MemoryStore, seconds: u64) {
        self.snapshots(&["key"]).save(store, &env(seconds)).unwrap();
    }

    fn load(&self, capacities: Capacities, seconds: u64) -> (Arc<dyn Store>, Found) {
        self.load_with(&self.snapshots(&["key"]), capacities, seconds)
    }

    fn load_with(
        &self,
        snapshots: &Snapshots,
        capacities: Capacities,
        seconds: u64,
    ) -> (Arc<dyn Store>, Found) {
        let store = MemoryStore::new(capacities);
        let found = snapshots.load(&store, at(seconds)).unwrap();
        (Arc::new(store), found)
    }

    /// What lies in the folder.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.path().parent().unwrap()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn restored(found: &Found) -> Restored {
    match found {
        Found::Taken { restored, .. } => *restored,
        Found::Nothing | Found::SetAside { .. } => panic!("{found:?}"),
    }
}

#[tokio::test]
async fn a_restart_keeps_records_of_every_kind_with_version_and_expiry() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    for kind in kinds() {
        store.insert(key(kind, "one"), kin("first", at(50), "family"), at(0)).await.unwrap();
        store
            .replace(&key(kind, "one"), Version(1), format!("{kind:?}").into(), at(60), at(1))
            .await
            .unwrap();
        store.insert(key(kind, "two"), draft(&"x".repeat(3000), at(20)), at(0)).await.unwrap();
    }
    // These have a file of their own, and are not among the sixteen.
    store.insert(key(Kind::Blocks, "blocks"), draft("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    assert_eq!(machine.files(), ["store.snapshot"]);
    assert_eq!(fs::metadata(machine.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::metadata(machine.path().parent().unwrap()).unwrap().permissions().mode() & 0o777,
        0o700
    );

    let (store, found) = machine.load(ROOMY, 12);
    assert_eq!(restored(&found), Restored { records: 16, expired: 0, left_out: 0 });
    assert!(matches!(found, Found::Taken { age, .. } if age == Duration::from_secs(2)));
    assert!(machine.files().is_empty());
    for kind in kinds() {
        let record = store.load(&key(kind, "one"), at(59)).await.unwrap().unwrap();
        assert_eq!(
            (record.version, &*record.value, record.expires_at),
            (Version(2), format!("{kind:?}").as_bytes(), at(60))
        );
        assert!(store.load(&key(kind, "one"), at(60)).await.unwrap().is_none());
        assert_eq!(store.count(kind), 2);
        assert_eq!(
            store.insert(key(kind, "one"), draft("", at(99)), at(12)).await,
            Err(StoreFault::Exists)
        );
    }
    // Restored records go on belonging to their family.
    store.revoke(&Family("family".into()), at(60), at(13)).await.unwrap();
    for kind in kinds() {
        assert_eq!(value(&store, &key(kind, "one"), at(14)).await, None);
        assert_eq!(value(&store, &key(kind, "two"), at(14)).await.unwrap().len(), 3000);
    }
}

#[tokio::test]
async fn a_code_spent_before_a_restart_stays_spent_and_tells_what_it_issued() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    store.insert(code("a"), kin("1", at(30), "session"), at(0)).await.unwrap();
    store.take(&code("a"), "issued".into(), at(70), at(1)).await.unwrap();
    // The tombstone outlives its family, also where that is closed.
    store.revoke(&Family("session".into()), at(70), at(2)).await.unwrap();
    machine.save(&store, 10);
    let (store, _) = machine.load(ROOMY, 11);
    assert_eq!(take(&store, &code("a"), "again", at(99), at(12)).await, "spent issued");
    assert_eq!(store.insert(code("a"), draft("2", at(99)), at(12)).await, Err(StoreFault::Exists));
}

#[tokio::test]
async fn a_token_revoked_before_a_restart_stays_dead_and_its_family_closed() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    let token = |name: &str| key(Kind::Token, name);
    store.insert(token("dead"), kin("1", at(60), "ended"), at(0)).await.unwrap();
    store.insert(token("old"), kin("1", at(60), "reopened"), at(0)).await.unwrap();
    store.revoke(&Family("ended".into()), at(50), at(1)).await.unwrap();
    store.revoke(&Family("reopened".into()), at(2), at(1)).await.unwrap();
    store.insert(token("young"), kin("1", at(60), "reopened"), at(3)).await.unwrap();
    machine.save(&store, 10);
    let (store, found) = machine.load(ROOMY, 11);
    assert_eq!(restored(&found).records, 1);
    for (name, alive) in [("dead", None), ("old", None), ("young", Some("1"))] {
        assert_eq!(value(&store, &token(name), at(12)).await.as_deref(), alive, "{name}");
    }
    assert_eq!(
        store.insert(token("new"), kin("1", at(60), "ended"), at(49)).await,
        Err(StoreFault::Revoked)
    );
    assert_eq!(store.insert(token("new"), kin("1", at(60), "ended"), at(50)).await, Ok(Version(1)));
}

#[tokio::test]
async fn whoever_loads_a_snapshot_twice_finds_nothing_so_that_no_spent_code_comes_back() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    store.insert(code("a"), draft("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    let (first, _) = machine.load(ROOMY, 11);
    assert_eq!(take(&first, &code("a"), "t", at(99), at(12)).await, "won 1");
    // It is killed; the next one starts.
    let (second, found) = machine.load(ROOMY, 13);
    assert!(matches!(found, Found::Nothing));
    assert_eq!(take(&second, &code("a"), "t", at(99), at(14)).await, "gone");
}

#[tokio::test]
async fn a_snapshot_that_can_not_be_taken_away_is_not_loaded() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    store.insert(code("a"), draft("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    // The name that it is taken to is one that nothing can be renamed to, for root neither.
    fs::create_dir_all(machine.folder.path().join("state/store.snapshot.loading/full")).unwrap();
    let store = MemoryStore::new(ROOMY);
    let fault = machine.snapshots(&["key"]).load(&store, at(11)).unwrap_err();
    assert!(
        matches!(&fault, SnapshotFault::Stuck { .. })
            && fault.to_string().contains("store.snapshot: "),
        "{fault}"
    );
    assert_eq!(store.count(Kind::Code), 0);
}

#[tokio::test]
async fn what_changes_after_the_snapshot_is_refused_so_that_nothing_is_told_and_then_forgotten() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    store.insert(code("a"), draft("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    let refused = Err(StoreFault::Unavailable("the hub goes down".into()));
    assert_eq!(store.insert(code("b"), draft("1", at(90)), at(11)).await.map(drop), refused);
    assert_eq!(store.take(&code("a"), vec![], at(99), at(11)).await.map(drop), refused);
    assert_eq!(
        store.replace(&code("a"), Version(1), vec![], at(99), at(11)).await.map(drop),
        refused
    );
    assert_eq!(store.remove(&code("a")).await, refused);
    assert_eq!(store.revoke(&Family("f".into()), at(99), at(11)).await, refused);
    let (store, _) = machine.load(ROOMY, 12);
    assert_eq!(take(&store, &code("a"), "t", at(99), at(13)).await, "won 1");
}

#[tokio::test]
async fn what_expires_while_nobody_runs_does_not_come_back_and_a_clock_set_back_prolongs_nothing() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    for (name, until) in [("past", 9), ("meanwhile", 20), ("later", 30)] {
        store.insert(code(name), draft(name, at(until)), at(0)).await.unwrap();
    }
    machine.save(&store, 10);
    let copy = fs::read(machine.path()).unwrap();
    let (store, found) = machine.load(ROOMY, 20);
    assert_eq!(restored(&found), Restored { records: 1, expired: 1, left_out: 0 });
    assert_eq!(value(&store, &code("meanwhile"), at(20)).await, None);
    assert_eq!(value(&store, &code("later"), at(20)).await.unwrap(), "later");

    fs::write(machine.path(), copy).unwrap();
    let (store, found) = machine.load(ROOMY, 5);
    assert_eq!(restored(&found).records, 2, "what had expired when it was written is not in it");
    assert_eq!(value(&store, &code("past"), at(5)).await, None);
    assert_eq!(value(&store, &code("later"), at(30)).await, None);
}

#[tokio::test]
async fn a_smaller_store_keeps_what_it_can_and_forgets_nothing_that_was_used() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
    for n in 0..20 {
        store.insert(key(Kind::Session, &n.to_string()), draft("1", at(90)), at(0)).await.unwrap();
        store.insert(key(Kind::Assertion, &n.to_string()), draft("", at(90)), at(0)).await.unwrap();
        store.insert(code(&n.to_string()), draft("1", at(90)), at(0)).await.unwrap();
    }
    for n in 0..10 {
        store.take(&code(&n.to_string()), "t".into(), at(95), at(1)).await.unwrap();
    }
    machine.save(&store, 10);
    let small = Capacities { sessions: 5, assertions: 5, grants: 12, ..ROOMY };
    let (store, found) = machine.load(small, 11);
    let restored = restored(&found);
    assert_eq!(
        (restored.records, restored.left_out),
        (60 - restored.left_out, 60 - restored.records)
    );
    assert_eq!((store.count(Kind::Session), store.count(Kind::Assertion)), (5, 20));
    for n in 0..20 {
        let used = key(Kind::Assertion, &n.to_string());
        assert_eq!(
            store.insert(used, draft("", at(90)), at(12)).await,
            Err(StoreFault::Exists),
            "a replay is told as one"
        );
        if n < 10 {
            assert_eq!(take(&store, &code(&n.to_string()), "x", at(99), at(12)).await, "spent t");
        }
    }
    let full = store.insert(key(Kind::Session, "new"), draft("1", at(90)), at(12)).await;
    assert_eq!(full, Err(StoreFault::Full));
    assert_eq!(
        store.insert(key(Kind::Session, "new"), draft("1", at(99)), at(90)).await,
        Ok(Version(1)),
        "places come back"
    );
}

#[tokio::test]
async fn what_can_not_be_opened_is_set_aside_and_the_hub_starts_empty() {
    type Spoil = fn(&Path);
    let rows: [(&str, Spoil, &str); 5] = [
        (
            "a cut one",
            |path| fs::write(path, &fs::read(path).unwrap()[..60]).unwrap(),
            "it is cut, or was changed",
        ),
        ("something else", |path| fs::write(path, "[]").unwrap(), "no snapshot"),
        ("an empty file", |path| fs::write(path, "").unwrap(), "no snapshot"),
        (
            "a folder",
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap()
            },
            "no snapshot",
        ),
        (
            "of a newer release",
            |path| {
                let mut bytes = fs::read(path).unwrap();
                bytes[7] = 2;
                fs::write(path, bytes).unwrap();
            },
            "a newer release has written it (format 2)",
        ),
    ];
    for (name, spoil, word) in rows {
        let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
        store.insert(code("a"), draft("1", at(90)), at(0)).await.unwrap();
        machine.save(&store, 10);
        spoil(&machine.path());
        let (store, found) = machine.load(ROOMY, 11);
        let Found::SetAside { why, lies } = found else { panic!("{name}: {found:?}") };
        assert!(why.to_string().contains(word), "{name}: {why}");
        assert!(
            lies.ends_with("store.snapshot.unreadable") && lies.exists(),
            "{name}: {}",
            lies.display()
        );
        assert_eq!(
            (machine.files(), store.count(Kind::Code)),
            (vec!["store.snapshot.unreadable".to_owned()], 0),
            "{name}"
        );
        assert!(matches!(machine.load(ROOMY, 12).1, Found::Nothing), "{name}");
    }
}

#[tokio::test]
async fn one_with_another_key_or_too_large_is_set_aside_too() {
    for (keys, largest, word) in
        [(&["other"], u64::MAX, "not in seal_keys"), (&["key"], 10, "larger than 10 bytes")]
    {
        let (machine, store) = (Machine::new(), MemoryStore::new(ROOMY));
        store.insert(code("a"), draft("1", at(90)), at(0)).await.unwrap();
        machine.save(&store, 10);
        let mut snapshots = machine.snapshots(keys);
        snapshots.largest = largest;
        let (store, found) = machine.load_with(&snapshots, ROOMY, 11);
        assert!(
            matches!(&found, Found::SetAside { why, .. } if why.to_string().contains(word)),
            "{found:?}"
        );
        assert_eq!(store.count(Kind::Code), 0);
    }
}

#[tokio::test]
async fn a_snapshot_that_can_not_be_written_leaves_nothing_and_one_half_written_is_written_over() {
    let machine = Machine::new();
    fs::write(machine.folder.path().join("state"), "a file").unwrap();
    let snapshots = machine.snapshots(&["key"]);
    assert!(snapshots.save(&MemoryStore::new(ROOMY), &env(0)).is_err());
    assert!(Snapshots::examine(&machine.path()).is_err());

    let machine = Machine::new();
    Snapshots::examine(&machine.path()).unwrap();
    assert!(!machine.path().parent().unwrap().exists(), "looking makes nothing");
    fs::create_dir(machine.path().parent().unwrap()).unwrap();
    fs::write(machine.folder.path().join("state/store.snapshot.writing"), "half").unwrap();
    machine.save(&MemoryStore::new(ROOMY), 0);
    assert_eq!(machine.files(), ["store.snapshot"]);

    let machine = Machine::new();
    let mut snapshots = machine.snapshots(&["key"]);
    snapshots.largest = 10;
    let fault = snapshots.save(&MemoryStore::new(ROOMY), &env(0)).unwrap_err().to_string();
    assert!(
        fault.contains("none of more than 10 is taken up") && machine.files().is_empty(),
        "{fault}"
    );
}

/// The figures of docs/deploying.md: `cargo test --lib a_hundred_thousand -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "measures, and takes seconds"]
async fn a_hundred_thousand_logins() {
    let capacities = Capacities { logins: 100_000, ..ROOMY };
    let (machine, store) = (Machine::new(), MemoryStore::new(capacities));
    for n in 0..100_000 {
        store
            .insert(key(Kind::Login, &format!("{n:043}")), draft(&"x".repeat(1500), at(90)), at(0))
            .await
            .unwrap();
    }
    let begun = tokio::time::Instant::now();
    let saved = machine.snapshots(&["key"]).save(&store, &env(1)).unwrap();
    println!(
        "{} records, {} bytes, written in {:?}",
        saved.written.records,
        saved.bytes,
        begun.elapsed()
    );
    let begun = tokio::time::Instant::now();
    let (_, found) = machine.load(capacities, 2);
    println!("{:?}, in {:?}", restored(&found), begun.elapsed());
}
