//! Tests the rules of each operation on one record.

use std::future::Future;
use std::sync::Arc;

use super::{ample_capacities, at, code, key, new_record, take, value};
use crate::{Capacities, NewRecord, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError};

pub async fn versions_count_from_one<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    assert_eq!(store.insert(code("a"), new_record("1", at(10)), at(0)).await, Ok(RecordVersion(1)));
    assert_eq!(
        store.replace(&code("a"), RecordVersion(1), "2".into(), at(20), at(1)).await,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2)))
    );
    let record = store.load(&code("a"), at(15)).await.unwrap().unwrap();
    assert_eq!(
        (record.version, &*record.value, record.expires_at),
        (RecordVersion(2), &b"2"[..], at(20))
    );
}

/// Checks that a record is written only in the state that the writer has seen.
pub async fn compare_and_set_refuses_what_another_writer_changed<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let key = code("a");
    let set = async |expected: Option<u64>, value: &str, now| {
        let expected = expected.map(RecordVersion);
        store.compare_and_set(&key, expected, value.into(), at(20), at(now)).await.unwrap()
    };
    assert!(!set(Some(1), "unknown", 0).await);
    assert!(set(None, "1", 0).await);
    assert!(!set(None, "other", 0).await);
    assert!(set(Some(1), "2", 0).await);
    assert!(!set(Some(1), "other", 0).await);
    assert_eq!(value(&store, &key, at(19)).await.as_deref(), Some("2"));
    assert!(set(None, "after the expiry", 20).await);
}

pub async fn a_lost_replace_changes_nothing<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    for wrong in [0, 2, u64::MAX] {
        assert_eq!(
            store.replace(&code("a"), RecordVersion(wrong), "x".into(), at(99), at(1)).await,
            Ok(ReplaceOutcome::Stale)
        );
    }
    assert_eq!(value(&store, &code("a"), at(9)).await.unwrap(), "1");
    assert_eq!(value(&store, &code("a"), at(10)).await, None);
    assert_eq!(
        store.replace(&code("b"), RecordVersion(1), "x".into(), at(99), at(1)).await,
        Ok(ReplaceOutcome::Gone)
    );
}

pub async fn insert_refuses_a_live_key<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    assert_eq!(
        store.insert(code("a"), new_record("2", at(10)), at(9)).await,
        Err(StoreError::Exists)
    );
    assert_eq!(value(&store, &code("a"), at(9)).await.unwrap(), "1");
    assert_eq!(store.count(RecordKind::CODE), 1);
}

pub async fn a_record_is_gone_at_its_expiry_and_not_before<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    let just_before = passerelle_protocol::env::Timestamp::from_millis(at(10).millis() - 1);
    assert_eq!(value(&store, &code("a"), just_before).await.unwrap(), "1");
    assert_eq!(value(&store, &code("a"), at(10)).await, None);
    assert_eq!(
        store.replace(&code("a"), RecordVersion(1), "2".into(), at(99), at(10)).await,
        Ok(ReplaceOutcome::Gone)
    );
    assert_eq!(
        store.replace(&code("a"), RecordVersion(1), "2".into(), at(99), just_before).await,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2)))
    );
}

pub async fn expired_code_can_not_be_taken<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(99), at(10)).await, "gone");
    assert_eq!(take(&store, &code("never"), "t", at(99), at(10)).await, "gone");
    assert_eq!(
        take(&store, &code("never"), "t", at(99), at(10)).await,
        "gone",
        "an absent record leaves no tombstone"
    );
}

pub async fn a_taken_code_names_its_tokens<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "first", at(70), at(1)).await, "taken 1");
    assert_eq!(take(&store, &code("a"), "second", at(99), at(2)).await, "already taken first");
    assert_eq!(
        take(&store, &code("a"), "third", at(99), at(69)).await,
        "already taken first",
        "beyond the code's own life"
    );
    assert_eq!(value(&store, &code("a"), at(2)).await, None);
    assert_eq!(
        store.replace(&code("a"), RecordVersion(1), "x".into(), at(99), at(2)).await,
        Ok(ReplaceOutcome::Gone)
    );
    assert_eq!(store.count(RecordKind::CODE), 1);
}

pub async fn a_tombstone_expires<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    take(&store, &code("a"), "t", at(70), at(1)).await;
    assert_eq!(take(&store, &code("a"), "t", at(99), at(70)).await, "gone");
}

pub async fn insert_overwrites_expired_records_but_not_tombstones<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    assert_eq!(
        store.insert(code("a"), new_record("2", at(20)), at(10)).await,
        Ok(RecordVersion(1))
    );
    take(&store, &code("a"), "t", at(70), at(11)).await;
    assert_eq!(
        store.insert(code("a"), new_record("3", at(99)), at(69)).await,
        Err(StoreError::Exists)
    );
    assert_eq!(
        store.insert(code("a"), new_record("4", at(99)), at(70)).await,
        Ok(RecordVersion(1))
    );
    assert_eq!(value(&store, &code("a"), at(71)).await.unwrap(), "4");
    assert_eq!(store.count(RecordKind::CODE), 1);
}

pub async fn many_records_load_at_once<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let login = |n: u64| key(RecordKind::LOGIN, &n.to_string());
    for n in [1, 3, 4] {
        store.insert(login(n), new_record(&n.to_string(), at(n * 10)), at(0)).await.unwrap();
    }
    let keys: Vec<_> = (0..5).map(login).collect();
    let records = store.load_many(&keys, at(30)).await.unwrap();
    let values: Vec<_> =
        records.iter().map(|record| record.as_ref().map(|record| record.value.to_vec())).collect();
    assert_eq!(
        values,
        [None, None, None, None, Some(b"4".to_vec())],
        "in the order of the keys, without expired records"
    );
    assert_eq!(store.load_many(&keys[1..2], at(0)).await.unwrap().len(), 1);
    assert!(store.load_many(&[], at(0)).await.unwrap().is_empty());
}

pub async fn an_extended_record_outlives_its_earlier_expiry<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let (login, unread_until) = (key(RecordKind::LOGIN, "a"), Some(at(120)));
    store
        .insert(
            login.clone(),
            NewRecord { expires_unread_at: unread_until, ..new_record("1", at(1800)) },
            at(0),
        )
        .await
        .unwrap();
    let mut first = Vec::new();
    for _ in 0..2 {
        let loaded = store.load_and_extend(&login, at(0)).await.unwrap().unwrap();
        assert_eq!((loaded.record.version, loaded.record.expires_at), (RecordVersion(1), at(1800)));
        first.push(loaded.was_unread);
    }
    assert_eq!(first, [true, false]);
    assert_eq!(value(&store, &login, at(1799)).await.unwrap(), "1");
    assert_eq!(store.count(RecordKind::LOGIN), 1);
    store.insert(key(RecordKind::LOGIN, "b"), new_record("1", at(1800)), at(0)).await.unwrap();
    assert!(
        !store
            .load_and_extend(&key(RecordKind::LOGIN, "b"), at(0))
            .await
            .unwrap()
            .unwrap()
            .was_unread,
        "a record without an earlier expiry"
    );
    assert!(store.load_and_extend(&key(RecordKind::LOGIN, "c"), at(0)).await.unwrap().is_none());
}

pub async fn only_the_named_version_of_a_record_is_removed<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let unread_until = Some(at(120));
    for (name, is_kept, version) in [("unread", false, 1), ("kept", true, 1), ("changed", true, 2)]
    {
        let login = key(RecordKind::LOGIN, name);
        store
            .insert(
                login.clone(),
                NewRecord { expires_unread_at: unread_until, ..new_record("1", at(1800)) },
                at(0),
            )
            .await
            .unwrap();
        if is_kept {
            store.load_and_extend(&login, at(0)).await.unwrap().unwrap();
        }
        for old in 1..version {
            store.replace(&login, RecordVersion(old), "2".into(), at(1800), at(0)).await.unwrap();
        }
        for other in [0, version + 1, version - 1] {
            assert_eq!(
                store.remove_version(&login, RecordVersion(other), at(0)).await,
                Ok(false),
                "{name}: version {other}"
            );
        }
        assert_eq!(store.count(RecordKind::LOGIN), 1);
        assert_eq!(
            store.remove_version(&login, RecordVersion(version), at(0)).await,
            Ok(true),
            "{name}"
        );
        assert_eq!(
            (store.count(RecordKind::LOGIN), value(&store, &login, at(7)).await),
            (0, None),
            "{name}"
        );
        assert_eq!(
            store.remove_version(&login, RecordVersion(version), at(0)).await,
            Ok(false),
            "{name}"
        );
    }
}

pub async fn kinds_do_not_mix<F: Future<Output = Arc<dyn Store>>>(make: impl Fn(Capacities) -> F) {
    let (capacities, store) = (ample_capacities(), make(ample_capacities()).await);
    for kind in capacities.kinds() {
        store
            .insert(key(kind, "same"), new_record(&format!("{kind:?}"), at(10)), at(0))
            .await
            .unwrap();
    }
    store.remove(&key(RecordKind::LOGIN, "same")).await.unwrap();
    for kind in capacities.kinds().iter().skip(1) {
        assert_eq!(value(&store, &key(kind, "same"), at(1)).await.unwrap(), format!("{kind:?}"));
    }
    assert_eq!(value(&store, &key(RecordKind::LOGIN, "same"), at(1)).await, None);
}

pub async fn remove_removes_tombstones_too<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    take(&store, &code("a"), "t", at(70), at(1)).await;
    store.remove(&code("a")).await.unwrap();
    store.remove(&code("a")).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(70), at(2)).await, "gone");
    assert_eq!(store.count(RecordKind::CODE), 0);
}
