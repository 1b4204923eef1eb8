//! Runs the conformance suite on the memory store, and tests what is specific to moka.

mod restarting;
mod snapshot;
use super::*;
use crate::revocations::Membership;
use crate::testing::store_conformance::{self, conformance};
use passerelle_protocol::testing::wait::wait_until;

async fn memory(capacities: Capacities) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(capacities))
}

conformance!(memory);

#[tokio::test]
async fn an_unread_record_expires_at_its_earlier_expiry() {
    let store: Arc<dyn Store> = memory(store_conformance::ample_capacities()).await;
    let (key, at) = (store_conformance::key(RecordKind::LOGIN, "a"), store_conformance::at);
    let draft = || NewRecord {
        expires_unread_at: Some(at(10)),
        ..store_conformance::new_record("1", at(100))
    };
    store.insert(key.clone(), draft(), at(0)).await.unwrap();
    assert!(store.load(&key, at(9)).await.unwrap().is_some());
    assert!(
        store.load(&key, at(10)).await.unwrap().is_none(),
        "a plain load does not extend the record"
    );
    assert!(store.load_and_extend(&key, at(10)).await.unwrap().is_none());
    store
        .insert(key.clone(), NewRecord { expires_unread_at: Some(at(20)), ..draft() }, at(10))
        .await
        .unwrap();
    store.replace(&key, RecordVersion(1), "2".into(), at(100), at(19)).await.unwrap();
    assert!(
        store.load(&key, at(99)).await.unwrap().is_some(),
        "a replaced record lives until expires_at"
    );
}

/// Otherwise a flood's logins would take room for a minute longer than its rate limit counts them.
#[tokio::test]
async fn an_unread_record_frees_its_room_at_its_earlier_expiry() {
    let store = MemoryStore::new(store_conformance::ample_capacities());
    let at = store_conformance::at;
    let expires_unread_at = Some(at(0) + Duration::from_millis(1));
    let draft = NewRecord { expires_unread_at, ..store_conformance::new_record("1", at(100)) };
    store.insert(store_conformance::key(RecordKind::LOGIN, "a"), draft, at(0)).await.unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while store.usage(RecordKind::LOGIN) != Usage::default() {
        assert!(std::time::Instant::now() < deadline, "the room is still taken");
        store.caches.get(RecordKind::LOGIN).records.run_pending_tasks();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_janitor_ends_with_its_store() {
    let store = MemoryStore::new(store_conformance::ample_capacities());
    let caches = Arc::downgrade(&store.caches);
    drop(store);
    wait_until("its thread lets go of the caches", || caches.strong_count() == 0).await;
}

/// moka reports an expired value as `Replaced`; a counter that trusts this cause would drift.
#[tokio::test]
async fn capacity_is_freed_when_moka_expired_the_record_first() {
    let store =
        MemoryStore::new(store_conformance::ample_capacities().with_records(RecordKind::LOGIN, 2));
    let cache = store.caches.get(RecordKind::LOGIN);
    let short = CachedRecord {
        version: RecordVersion(1),
        state: RecordState::Live,
        value: Arc::from([]),
        expires_at: Timestamp::from_seconds(9),
        unread_expiry: Timestamp::from_seconds(9),
        seconds_to_live: 0,
        membership: Membership::default(),
    };
    assert!(cache.try_reserve(0));
    let key = RecordKey { kind: RecordKind::LOGIN, name: "a".into() };
    cache.records.insert((&key).into(), short);
    assert!(cache.records.get(&CompactName::from(&key)).is_none(), "expired for moka at once");
    let expires_at = Timestamp::from_seconds(9);
    let draft =
        NewRecord { value: vec![], expires_at, expires_unread_at: None, families: Arc::default() };
    store.insert(key, draft, Timestamp::from_seconds(1)).await.unwrap();
    assert_eq!(store.count(RecordKind::LOGIN), 1);
}

#[tokio::test]
async fn a_long_lived_record_is_compressed_in_memory_and_returned_unchanged() {
    let store: Arc<dyn Store> = memory(store_conformance::ample_capacities()).await;
    let (key, at) = (store_conformance::key(RecordKind::SESSION, "a"), store_conformance::at);
    let (first, second, tombstone) = ("1".repeat(1000), "2".repeat(1000), "3".repeat(1000));
    let draft = store_conformance::new_record(&first, at(100));
    let version = store.insert(key.clone(), draft, at(0)).await.unwrap();
    assert!(store.usage(RecordKind::SESSION).bytes < 100);
    assert_eq!(*store.load(&key, at(1)).await.unwrap().unwrap().value, *first.as_bytes());
    store.replace(&key, version, second.clone().into(), at(100), at(2)).await.unwrap();
    let extended = store.load_and_extend(&key, at(3)).await.unwrap().unwrap();
    assert_eq!(*extended.record.value, *second.as_bytes());
    let take = || store.take(&key, tombstone.clone().into(), at(100), at(4));
    let TakeOutcome::Taken(taken) = take().await.unwrap() else { panic!("not taken") };
    assert_eq!(*taken.value, *second.as_bytes());
    let TakeOutcome::AlreadyTaken(value) = take().await.unwrap() else { panic!("taken twice") };
    assert_eq!(*value, *tombstone.as_bytes());
    assert!(store.usage(RecordKind::SESSION).bytes < 100);
}
