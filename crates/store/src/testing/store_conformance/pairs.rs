//! Tests the insertion of two records at once.

use std::future::Future;
use std::sync::Arc;

use super::{ample_capacities, at, code, key, new_record, new_record_in_family, value};
use crate::{Capacities, Family, InsertPairError, RecordKey, RecordKind, Store, StoreError};
use passerelle_protocol::env::Timestamp;

async fn insert_pair(
    store: &Arc<dyn Store>,
    session: &RecordKey,
    code: &RecordKey,
    now: Timestamp,
) -> Result<(), InsertPairError> {
    let first = new_record("session", at(60));
    let second = new_record_in_family("code", at(60), "mine");
    store.insert_pair(session.clone(), first, code.clone(), second, now).await
}

pub async fn a_pair_is_inserted_in_its_order<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let session = |name: &str| key(RecordKind::SESSION, name);
    assert_eq!(insert_pair(&store, &session("a"), &code("a"), at(0)).await, Ok(()));
    assert_eq!(value(&store, &session("a"), at(1)).await.unwrap(), "session");
    assert_eq!(value(&store, &code("a"), at(1)).await.unwrap(), "code");
    assert_eq!(
        insert_pair(&store, &session("a"), &code("b"), at(1)).await,
        Err(InsertPairError::First(StoreError::Exists))
    );
    assert_eq!(value(&store, &code("b"), at(1)).await, None, "without its session");
    assert_eq!(
        insert_pair(&store, &session("b"), &code("a"), at(1)).await,
        Err(InsertPairError::Second(StoreError::Exists))
    );
    assert_eq!(value(&store, &session("b"), at(1)).await.unwrap(), "session");
    assert_eq!(store.count(RecordKind::SESSION), 2);
    assert_eq!(store.count(RecordKind::CODE), 1);
    store.revoke(&Family("mine".into()), at(90), at(2)).await.unwrap();
    assert_eq!(value(&store, &code("a"), at(2)).await, None, "joined its family");
    assert_eq!(value(&store, &session("a"), at(2)).await.unwrap(), "session");
    assert_eq!(
        insert_pair(&store, &session("c"), &code("c"), at(3)).await,
        Err(InsertPairError::Second(StoreError::Revoked))
    );
    assert_eq!(value(&store, &code("c"), at(3)).await, None);
    assert_eq!(value(&store, &session("c"), at(3)).await.unwrap(), "session");
}

pub async fn a_pair_needs_room_for_each_record<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let session = |name: &str| key(RecordKind::SESSION, name);
    let store = make(ample_capacities().with_records(RecordKind::SESSION, 1)).await;
    assert_eq!(insert_pair(&store, &session("a"), &code("a"), at(0)).await, Ok(()));
    assert_eq!(
        insert_pair(&store, &session("b"), &code("b"), at(1)).await,
        Err(InsertPairError::First(StoreError::Full))
    );
    assert_eq!(value(&store, &code("b"), at(1)).await, None, "without its session");

    let store = make(ample_capacities().with_records(RecordKind::CODE, 1)).await;
    assert_eq!(insert_pair(&store, &session("a"), &code("a"), at(0)).await, Ok(()));
    assert_eq!(
        insert_pair(&store, &session("b"), &code("b"), at(1)).await,
        Err(InsertPairError::Second(StoreError::Full))
    );
    assert_eq!(value(&store, &session("b"), at(1)).await.unwrap(), "session");
    assert_eq!(store.count(RecordKind::SESSION), 2);
}
