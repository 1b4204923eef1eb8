//! The conformance suite on the memory store, and what only moka can go wrong in.

mod restarting;
mod snapshot;
use super::*;
use crate::store::conformance::{self, conformance};

async fn memory(capacities: Capacities) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(capacities))
}

conformance!(memory);

#[tokio::test]
async fn a_record_that_nobody_reads_is_gone_at_its_earlier_end() {
    let store: Arc<dyn Store> = memory(conformance::ROOMY).await;
    let (key, at) = (conformance::key(Kind::Login, "a"), conformance::at);
    let draft = || Draft { unread_until: Some(at(10)), ..conformance::draft("1", at(100)) };
    store.insert(key.clone(), draft(), at(0)).await.unwrap();
    assert!(store.load(&key, at(9)).await.unwrap().is_some());
    assert!(
        store.load(&key, at(10)).await.unwrap().is_none(),
        "a load without keeping changes nothing"
    );
    assert!(store.load_and_keep(&key, at(10)).await.unwrap().is_none());
    store
        .insert(key.clone(), Draft { unread_until: Some(at(20)), ..draft() }, at(10))
        .await
        .unwrap();
    store.replace(&key, Version(1), "2".into(), at(100), at(19)).await.unwrap();
    assert!(store.load(&key, at(99)).await.unwrap().is_some(), "what is replaced is kept");
}

/// A record that stayed a minute longer took room that its network was no longer held to account for.
#[tokio::test]
async fn a_record_that_was_never_read_gives_its_room_back_at_its_earlier_end() {
    let store = MemoryStore::new(conformance::ROOMY);
    let at = conformance::at;
    let unread_until = Some(at(0) + Duration::from_millis(1));
    let draft = Draft { unread_until, ..conformance::draft("1", at(100)) };
    store.insert(conformance::key(Kind::Login, "a"), draft, at(0)).await.unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while store.usage(Kind::Login) != Usage::default() {
        assert!(std::time::Instant::now() < deadline, "the room is still taken");
        store.shelves.of(Kind::Login).records.run_pending_tasks();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn the_janitor_ends_with_its_store() {
    let mut store = MemoryStore::new(conformance::ROOMY);
    let thread = store.janitor.thread.take().unwrap();
    drop(store);
    thread.join().unwrap();
}

/// moka calls a value that expired unnoticed `Replaced`; a counter that trusted the cause would lose a place.
#[tokio::test]
async fn a_place_comes_back_when_moka_expired_the_record_first() {
    let store = MemoryStore::new(Capacities { logins: 2, ..conformance::ROOMY });
    let shelf = store.shelves.of(Kind::Login);
    let short = Slot {
        version: Version(1),
        state: State::Live,
        value: Arc::from([]),
        expires_at: Timestamp::from_seconds(9),
        unread_until: None,
        kept_for: Duration::ZERO,
        families: Arc::default(),
        born: Born::default(),
    };
    assert!(shelf.admit(0));
    let name: Arc<str> = "a".into();
    shelf.records.insert(Arc::clone(&name), short);
    assert!(shelf.records.get(&name).is_none(), "expired for moka at once");
    let key = Key { kind: Kind::Login, name };
    let expires_at = Timestamp::from_seconds(9);
    let draft = Draft { value: vec![], expires_at, unread_until: None, families: Arc::default() };
    store.insert(key, draft, Timestamp::from_seconds(1)).await.unwrap();
    assert_eq!(store.count(Kind::Login), 1);
}
