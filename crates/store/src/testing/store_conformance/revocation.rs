//! Tests the revocation of families.

use std::future::Future;
use std::sync::Arc;

use super::{ample_capacities, at, code, key, new_record, new_record_in_family, take, value};
use crate::{
    Capacities, Family, NewRecord, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError,
};

pub async fn revocation_is_effective_at_once<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    let token = |name: &str| key(RecordKind::TOKEN, name);
    store.insert(token("a"), new_record_in_family("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(code("a"), new_record_in_family("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(token("b"), new_record_in_family("other", at(60), "other"), at(0)).await.unwrap();
    store.revoke(&Family("mine".into()), at(50), at(1)).await.unwrap();
    assert_eq!(value(&store, &token("a"), at(1)).await, None);
    assert_eq!(take(&store, &code("a"), "t", at(99), at(1)).await, "gone");
    assert_eq!(
        store.replace(&token("a"), RecordVersion(1), "2".into(), at(99), at(1)).await,
        Ok(ReplaceOutcome::Gone)
    );
    assert_eq!(
        store.insert(token("c"), new_record_in_family("1", at(60), "mine"), at(49)).await,
        Err(StoreError::Revoked)
    );
    assert_eq!(value(&store, &token("b"), at(1)).await.unwrap(), "other");
}

pub async fn either_family_revokes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    for revoked in ["session", "grant"] {
        let store = make(ample_capacities()).await;
        let in_families = |names: &[&str]| NewRecord {
            families: names.iter().map(|name| Family((*name).into())).collect(),
            ..new_record("1", at(60))
        };
        store.insert(code("both"), in_families(&["session", "grant"]), at(0)).await.unwrap();
        store
            .insert(code("neither"), in_families(&["another session", "another grant"]), at(0))
            .await
            .unwrap();
        store.revoke(&Family(revoked.into()), at(60), at(1)).await.unwrap();
        assert_eq!(value(&store, &code("both"), at(1)).await, None, "{revoked}");
        assert_eq!(
            store.insert(code("late"), in_families(&["session", "grant"]), at(2)).await,
            Err(StoreError::Revoked),
            "{revoked}"
        );
        assert_eq!(value(&store, &code("neither"), at(1)).await.unwrap(), "1");
    }
}

pub async fn a_reopened_family_does_not_contain_its_old_records<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("old"), new_record_in_family("1", at(60), "mine"), at(0)).await.unwrap();
    store.revoke(&Family("mine".into()), at(20), at(10)).await.unwrap();
    store.revoke(&Family("mine".into()), at(15), at(11)).await.unwrap();
    assert_eq!(
        store.insert(code("new"), new_record_in_family("1", at(60), "mine"), at(19)).await,
        Err(StoreError::Revoked)
    );
    assert_eq!(
        store.insert(code("new"), new_record_in_family("1", at(60), "mine"), at(20)).await,
        Ok(RecordVersion(1))
    );
    assert_eq!(value(&store, &code("new"), at(21)).await.unwrap(), "1");
    assert_eq!(value(&store, &code("old"), at(21)).await, None, "revoked records never come back");
}

pub async fn a_tombstone_survives_revocation<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    store.insert(code("a"), new_record_in_family("1", at(10), "mine"), at(0)).await.unwrap();
    take(&store, &code("a"), "issued", at(70), at(1)).await;
    store.revoke(&Family("mine".into()), at(70), at(2)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(99), at(3)).await, "already taken issued");
}
