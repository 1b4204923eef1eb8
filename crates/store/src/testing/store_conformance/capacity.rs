//! Tests the limits of a store, and what releases capacity.

use std::future::Future;
use std::sync::Arc;

use super::{AMPLE_CAPACITIES, at, code, key, new_record, new_record_in_family, value};
use crate::{
    Capacities, Family, NewRecord, RECORD_KINDS, RecordKind, RecordVersion, ReplaceOutcome, Store,
    StoreError,
};
use passerelle_protocol::digest;

pub async fn a_full_store_rejects_new_records_and_keeps_the_others<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { logins: 3, ..AMPLE_CAPACITIES }).await;
    let login = |n: u64| key(RecordKind::Login, &n.to_string());
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
        store.insert(key(RecordKind::Session, "s"), new_record("1", at(10)), at(9)).await,
        Ok(RecordVersion(1))
    );
}

pub async fn capacity_is_released<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { logins: 2, ..AMPLE_CAPACITIES }).await;
    let login = |name: &str| key(RecordKind::Login, name);
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
    assert_eq!(store.count(RecordKind::Login), 2);
}

pub async fn capacity_for_logins_is_limited_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { login_bytes: 100, ..AMPLE_CAPACITIES }).await;
    let login = |name: &str| key(RecordKind::Login, name);
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
        .insert(key(RecordKind::Session, "s"), new_record(&sixty.repeat(9), at(20)), at(1))
        .await
        .unwrap();
    assert_eq!(
        store.insert(login("e"), new_record(&sixty, at(40)), at(20)).await,
        Ok(RecordVersion(1)),
        "after an expiry"
    );
}

pub async fn what_wallets_send_is_limited_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let capacities =
        Capacities { login_page_code_bytes: 100, wallet_request_bytes: 100, ..AMPLE_CAPACITIES };
    let (store, sixty) = (make(capacities).await, "6".repeat(60));
    for kind in [RecordKind::LoginPageCode, RecordKind::WalletRequest] {
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
    let capacities = Capacities { blocks: 2, ..AMPLE_CAPACITIES };
    let store = make(capacities).await;
    // Hashes, because some kinds are compressed.
    let large = |bytes: usize| {
        let blocks = (0..=bytes / 32).map(|n| digest::sha256(&n.to_be_bytes()));
        blocks.flatten().collect::<Vec<u8>>()
    };
    for kind in RECORD_KINDS {
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
    let store = make(Capacities { codes_and_tokens: 2, ..AMPLE_CAPACITIES }).await;
    store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
    store.insert(key(RecordKind::Token, "a"), new_record("1", at(20)), at(0)).await.unwrap();
    for kind in [RecordKind::Code, RecordKind::Token] {
        assert_eq!(
            store.insert(key(kind, "b"), new_record("1", at(20)), at(1)).await,
            Err(StoreError::Full)
        );
    }
    assert_eq!((store.count(RecordKind::Code), store.count(RecordKind::Token)), (1, 1));
    assert_eq!(
        store.insert(key(RecordKind::Token, "b"), new_record("1", at(20)), at(10)).await,
        Ok(RecordVersion(1)),
        "the code's capacity"
    );
}

pub async fn used_assertions_have_a_capacity_of_their_own<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { used_jtis: 1, ..AMPLE_CAPACITIES }).await;
    let used = |name: &str| key(RecordKind::UsedJti, name);
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
