//! Tests the limits of a store, and what releases capacity.

use std::future::Future;
use std::sync::Arc;

use super::{
    FOREIGN_KIND, ample_capacities, at, code, key, new_record, new_record_in_family, value,
};
use crate::{
    Capacities, Family, NewRecord, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError,
    Usage,
};
use passerelle_protocol::digest;

const HUNDRED_BYTES: Usage = Usage { records: 1000, bytes: 100 };

pub async fn a_full_store_rejects_new_records_and_keeps_the_others<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_records(RecordKind::LOGIN, 3)).await;
    let login = |n: u64| key(RecordKind::LOGIN, &n.to_string());
    for n in 0..3 {
        store.insert(login(n), new_record("1", at(10)), at(0)).await.unwrap();
    }
    for n in 3..50 {
        assert_eq!(
            store.insert(login(n), new_record("1", at(10)), at(n / 10)).await,
            Err(StoreError::Full)
        );
    }
    for n in 0..3 {
        assert_eq!(value(&store, &login(n), at(9)).await.unwrap(), "1");
        let replaced = store.replace(&login(n), RecordVersion(1), "2".into(), at(10), at(9)).await;
        assert_eq!(
            replaced,
            Ok(ReplaceOutcome::Replaced(RecordVersion(2))),
            "a full store still serves its records"
        );
    }
    assert_eq!(
        store.insert(key(RecordKind::SESSION, "s"), new_record("1", at(10)), at(9)).await,
        Ok(RecordVersion(1))
    );
}

pub async fn capacity_is_released<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_records(RecordKind::LOGIN, 2)).await;
    let login = |name: &str| key(RecordKind::LOGIN, name);
    store.insert(login("a"), new_record("1", at(10)), at(0)).await.unwrap();
    store.insert(login("b"), new_record_in_family("1", at(100), "family"), at(0)).await.unwrap();
    store.remove(&login("a")).await.unwrap();
    assert_eq!(
        store.insert(login("c"), new_record("1", at(20)), at(1)).await,
        Ok(RecordVersion(1)),
        "after a removal"
    );
    assert_eq!(
        store.insert(login("d"), new_record("1", at(40)), at(2)).await,
        Err(StoreError::Full)
    );
    assert_eq!(
        store.insert(login("d"), new_record("1", at(40)), at(20)).await,
        Ok(RecordVersion(1)),
        "after an expiry"
    );
    store.revoke(&Family("family".into()), at(100), at(21)).await.unwrap();
    assert_eq!(
        store.insert(login("e"), new_record("1", at(40)), at(25)).await,
        Ok(RecordVersion(1)),
        "after a revocation"
    );
    assert_eq!(store.count(RecordKind::LOGIN), 2);
}

pub async fn capacity_for_logins_is_limited_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_usage(RecordKind::LOGIN, HUNDRED_BYTES)).await;
    let login = |name: &str| key(RecordKind::LOGIN, name);
    let (forty, sixty) = ("4".repeat(40), "6".repeat(60));
    store.insert(login("a"), new_record(&forty, at(20)), at(0)).await.unwrap();
    store.insert(login("b"), new_record(&forty, at(20)), at(0)).await.unwrap();
    assert_eq!(
        store.insert(login("c"), new_record(&forty, at(20)), at(0)).await,
        Err(StoreError::Full)
    );
    store.insert(login("c"), new_record("4", at(20)), at(0)).await.unwrap();
    let replaced =
        store.replace(&login("a"), RecordVersion(1), sixty.clone().into(), at(20), at(1)).await;
    assert_eq!(
        replaced,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2))),
        "a running login may grow"
    );
    assert_eq!(
        store.insert(login("d"), new_record("", at(20)), at(1)).await,
        Err(StoreError::Full)
    );
    store.remove(&login("a")).await.unwrap();
    assert_eq!(
        store.insert(login("d"), new_record(&forty[..20], at(20)), at(1)).await,
        Ok(RecordVersion(1)),
        "after a removal"
    );
    store
        .insert(key(RecordKind::SESSION, "s"), new_record(&sixty.repeat(9), at(20)), at(1))
        .await
        .unwrap();
    assert_eq!(
        store.insert(login("e"), new_record(&sixty, at(40)), at(20)).await,
        Ok(RecordVersion(1)),
        "after an expiry"
    );
}

pub async fn every_capacity_can_be_limited_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let kinds = [RecordKind::LOGIN_PAGE_CODE, FOREIGN_KIND];
    let capacities =
        kinds.into_iter().fold(ample_capacities(), |all, kind| all.with_usage(kind, HUNDRED_BYTES));
    let (store, sixty) = (make(capacities).await, "6".repeat(60));
    for kind in kinds {
        store.insert(key(kind, "a"), new_record(&sixty, at(20)), at(0)).await.unwrap();
        assert_eq!(
            store.insert(key(kind, "b"), new_record(&sixty, at(20)), at(0)).await,
            Err(StoreError::Full),
            "{kind:?}"
        );
        store.insert(key(kind, "b"), new_record("6", at(21)), at(0)).await.unwrap();
        store.take(&key(kind, "a"), Vec::new(), at(10), at(1)).await.unwrap();
        assert_eq!(
            store.insert(key(kind, "c"), new_record(&sixty, at(20)), at(1)).await,
            Ok(RecordVersion(1)),
            "after {kind:?} was taken"
        );
    }
}

pub async fn every_kind_is_limited_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    // Two records of operators' blocks have room for two mebibytes, other kinds for one.
    let capacities = ample_capacities().with_records(RecordKind::BLOCKS, 2);
    let store = make(capacities.clone()).await;
    // Hashes, because some kinds are compressed.
    let large = |bytes: usize| {
        let blocks = (0..=bytes / 32).map(|n| digest::sha256(&n.to_be_bytes()));
        blocks.flatten().collect::<Vec<u8>>()
    };
    for kind in capacities.kinds() {
        let value = large(capacities.for_kind(kind).bytes / 2);
        let insert = async |name: &str, value: &[u8]| {
            let draft = NewRecord::new(value.to_vec(), at(20));
            store.insert(key(kind, name), draft, at(0)).await
        };
        insert("a", &value).await.unwrap();
        assert_eq!(insert("b", &value).await, Err(StoreError::Full), "{kind:?}");
        insert("c", b"small").await.unwrap();
        store.remove(&key(kind, "a")).await.unwrap();
        insert("b", &value).await.unwrap();
        for name in ["b", "c"] {
            store.remove(&key(kind, name)).await.unwrap();
        }
    }
}

pub async fn codes_and_tokens_share_a_capacity<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_records(RecordKind::CODE, 2)).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    store.insert(key(RecordKind::TOKEN, "a"), new_record("1", at(20)), at(0)).await.unwrap();
    for kind in [RecordKind::CODE, RecordKind::TOKEN] {
        assert_eq!(
            store.insert(key(kind, "b"), new_record("1", at(20)), at(1)).await,
            Err(StoreError::Full)
        );
    }
    assert_eq!((store.count(RecordKind::CODE), store.count(RecordKind::TOKEN)), (1, 1));
    assert_eq!(
        store.insert(key(RecordKind::TOKEN, "b"), new_record("1", at(20)), at(10)).await,
        Ok(RecordVersion(1)),
        "the code's capacity"
    );
}

pub async fn used_assertions_have_a_capacity_of_their_own<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_records(RecordKind::USED_JTI, 1)).await;
    let used = |name: &str| key(RecordKind::USED_JTI, name);
    store.insert(used("a"), new_record("", at(10)), at(0)).await.unwrap();
    assert_eq!(
        store.insert(used("b"), new_record("", at(20)), at(9)).await,
        Err(StoreError::Full),
        "live records are not evicted"
    );
    assert_eq!(
        store.insert(used("a"), new_record("", at(20)), at(9)).await,
        Err(StoreError::Exists),
        "a full store still reports a replay"
    );
    store.insert(code("a"), new_record("1", at(20)), at(9)).await.unwrap();
    assert_eq!(
        store.insert(used("b"), new_record("", at(20)), at(10)).await,
        Ok(RecordVersion(1)),
        "the expired one's capacity"
    );
}

pub async fn a_kind_without_a_capacity_has_no_room<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities::default().with_records(RecordKind::LOGIN, 1)).await;
    let foreign = key(FOREIGN_KIND, "a");
    let inserted = store.insert(foreign.clone(), new_record("1", at(10)), at(0)).await;
    assert_eq!(inserted, Err(StoreError::Full));
    assert_eq!(value(&store, &foreign, at(1)).await, None);
}
