//! Tests of snapshots that can not be read or written.

use super::*;

#[tokio::test]
async fn a_snapshot_that_can_not_be_removed_is_not_loaded() {
    let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
    store.insert(code("a"), new_record("1", at(90)), at(0)).await.unwrap();
    machine.save(&store, 10);
    // Nothing can be renamed to this path, not even by root.
    fs::create_dir_all(machine.folder.path().join("state/store.snapshot.loading/full")).unwrap();
    let store = MemoryStore::new(ample_capacities());
    let error = machine.snapshots(&["key"]).load(&store, at(11)).unwrap_err();
    assert!(
        matches!(&error, SnapshotError::NotRemovable { .. })
            && error.to_string().contains("store.snapshot: "),
        "{error}"
    );
    assert_eq!(store.count(RecordKind::CODE), 0);
}

#[tokio::test]
async fn an_unreadable_snapshot_is_set_aside_and_the_hub_starts_empty() {
    type Spoil = fn(&Path);
    let rows: [(&str, Spoil, &str); 5] = [
        (
            "a cut one",
            |path| fs::write(path, &fs::read(path).unwrap()[..60]).unwrap(),
            "it is truncated or was changed",
        ),
        ("something else", |path| fs::write(path, "[]").unwrap(), "not a snapshot"),
        ("an empty file", |path| fs::write(path, "").unwrap(), "not a snapshot"),
        (
            "a folder",
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap()
            },
            "not a snapshot",
        ),
        (
            "of a newer release",
            |path| {
                let mut bytes = fs::read(path).unwrap();
                bytes[7] = 2;
                fs::write(path, bytes).unwrap();
            },
            "it was written by a newer release (format 2)",
        ),
    ];
    for (name, spoil, word) in rows {
        let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
        store.insert(code("a"), new_record("1", at(90)), at(0)).await.unwrap();
        machine.save(&store, 10);
        spoil(&machine.path());
        let (store, found) = machine.load(ample_capacities(), 11);
        let SnapshotLoad::SetAside { reason, moved_to } = found else {
            panic!("{name}: {found:?}")
        };
        assert!(reason.to_string().contains(word), "{name}: {reason}");
        assert!(
            moved_to.ends_with("store.snapshot.unreadable") && moved_to.exists(),
            "{name}: {}",
            moved_to.display()
        );
        assert_eq!(
            (machine.files(), store.count(RecordKind::CODE)),
            (vec!["store.snapshot.unreadable".to_owned()], 0),
            "{name}"
        );
        assert!(matches!(machine.load(ample_capacities(), 12).1, SnapshotLoad::Nothing), "{name}");
    }
}

#[tokio::test]
async fn one_with_another_key_or_too_large_is_set_aside_too() {
    for (keys, largest, word) in
        [(&["other"], u64::MAX, "not in encryption_keys"), (&["key"], 10, "larger than 10 bytes")]
    {
        let (machine, store) = (Machine::new(), MemoryStore::new(ample_capacities()));
        store.insert(code("a"), new_record("1", at(90)), at(0)).await.unwrap();
        machine.save(&store, 10);
        let mut snapshots = machine.snapshots(keys);
        snapshots.max_bytes = largest;
        let (store, found) = machine.load_with(&snapshots, ample_capacities(), 11);
        assert!(
            matches!(&found, SnapshotLoad::SetAside { reason, .. } if reason.to_string().contains(word)),
            "{found:?}"
        );
        assert_eq!(store.count(RecordKind::CODE), 0);
    }
}

#[tokio::test]
async fn an_unwritable_snapshot_leaves_no_file_and_a_partial_one_is_overwritten() {
    let machine = Machine::new();
    fs::write(machine.folder.path().join("state"), "a file").unwrap();
    let snapshots = machine.snapshots(&["key"]);
    assert!(snapshots.save(&MemoryStore::new(ample_capacities()), &env(0)).is_err());
    assert!(SnapshotFile::check_writable(&machine.path()).is_err());

    let machine = Machine::new();
    SnapshotFile::check_writable(&machine.path()).unwrap();
    assert!(!machine.path().parent().unwrap().exists(), "a check creates nothing");
    fs::create_dir(machine.path().parent().unwrap()).unwrap();
    fs::write(machine.folder.path().join("state/store.snapshot.writing"), "half").unwrap();
    machine.save(&MemoryStore::new(ample_capacities()), 0);
    assert_eq!(machine.files(), ["store.snapshot"]);

    let machine = Machine::new();
    let mut snapshots = machine.snapshots(&["key"]);
    snapshots.max_bytes = 10;
    let error =
        snapshots.save(&MemoryStore::new(ample_capacities()), &env(0)).unwrap_err().to_string();
    assert!(error.contains("more than the limit of 10") && machine.files().is_empty(), "{error}");
}
