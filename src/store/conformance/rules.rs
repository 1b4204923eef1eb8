//! The rules that one caller alone can see.

use std::future::Future;
use std::sync::Arc;

use super::{ROOMY, at, code, draft, key, kin, take, value};
use crate::store::{Capacities, Draft, Family, Kind, Replaced, Store, StoreFault, Version};

pub async fn versions_count_from_one<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    assert_eq!(store.insert(code("a"), draft("1", at(10)), at(0)).await, Ok(Version(1)));
    assert_eq!(
        store.replace(&code("a"), Version(1), "2".into(), at(20), at(1)).await,
        Ok(Replaced::Done(Version(2)))
    );
    let record = store.load(&code("a"), at(15)).await.unwrap().unwrap();
    assert_eq!(
        (record.version, &*record.value, record.expires_at),
        (Version(2), &b"2"[..], at(20))
    );
}

pub async fn a_lost_replace_changes_nothing<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    for wrong in [0, 2, u64::MAX] {
        assert_eq!(
            store.replace(&code("a"), Version(wrong), "x".into(), at(99), at(1)).await,
            Ok(Replaced::Stale)
        );
    }
    assert_eq!(value(&store, &code("a"), at(9)).await.unwrap(), "1");
    assert_eq!(value(&store, &code("a"), at(10)).await, None);
    assert_eq!(
        store.replace(&code("b"), Version(1), "x".into(), at(99), at(1)).await,
        Ok(Replaced::Gone)
    );
}

pub async fn insert_refuses_a_live_key<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    assert_eq!(store.insert(code("a"), draft("2", at(10)), at(9)).await, Err(StoreFault::Exists));
    assert_eq!(value(&store, &code("a"), at(9)).await.unwrap(), "1");
    assert_eq!(store.count(Kind::Code), 1);
}

pub async fn a_record_is_gone_at_its_expiry_and_not_before<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    let just_before = crate::env::Timestamp::from_millis(at(10).millis() - 1);
    assert_eq!(value(&store, &code("a"), just_before).await.unwrap(), "1");
    assert_eq!(value(&store, &code("a"), at(10)).await, None);
    assert_eq!(
        store.replace(&code("a"), Version(1), "2".into(), at(99), at(10)).await,
        Ok(Replaced::Gone)
    );
    assert_eq!(
        store.replace(&code("a"), Version(1), "2".into(), at(99), just_before).await,
        Ok(Replaced::Done(Version(2)))
    );
}

pub async fn expired_code_can_not_be_taken<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(99), at(10)).await, "gone");
    assert_eq!(take(&store, &code("never"), "t", at(99), at(10)).await, "gone");
    assert_eq!(
        take(&store, &code("never"), "t", at(99), at(10)).await,
        "gone",
        "an absent record leaves no tombstone"
    );
}

pub async fn a_spent_code_tells_what_it_issued<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "first", at(70), at(1)).await, "won 1");
    assert_eq!(take(&store, &code("a"), "second", at(99), at(2)).await, "spent first");
    assert_eq!(
        take(&store, &code("a"), "third", at(99), at(69)).await,
        "spent first",
        "beyond the code's own life"
    );
    assert_eq!(value(&store, &code("a"), at(2)).await, None);
    assert_eq!(
        store.replace(&code("a"), Version(1), "x".into(), at(99), at(2)).await,
        Ok(Replaced::Gone)
    );
    assert_eq!(store.count(Kind::Code), 1);
}

pub async fn a_tombstone_ends_too<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    take(&store, &code("a"), "t", at(70), at(1)).await;
    assert_eq!(take(&store, &code("a"), "t", at(99), at(70)).await, "gone");
}

pub async fn insert_goes_over_what_expired_but_not_over_a_tombstone<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    assert_eq!(store.insert(code("a"), draft("2", at(20)), at(10)).await, Ok(Version(1)));
    take(&store, &code("a"), "t", at(70), at(11)).await;
    assert_eq!(store.insert(code("a"), draft("3", at(99)), at(69)).await, Err(StoreFault::Exists));
    assert_eq!(store.insert(code("a"), draft("4", at(99)), at(70)).await, Ok(Version(1)));
    assert_eq!(value(&store, &code("a"), at(71)).await.unwrap(), "4");
    assert_eq!(store.count(Kind::Code), 1);
}

pub async fn a_full_store_refuses_newcomers_and_keeps_the_others<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { logins: 3, ..ROOMY }).await;
    let login = |n: u64| key(Kind::Login, &n.to_string());
    for n in 0..3 {
        store.insert(login(n), draft("1", at(10)), at(0)).await.unwrap();
    }
    for n in 3..50 {
        assert_eq!(
            store.insert(login(n), draft("1", at(10)), at(n / 10)).await,
            Err(StoreFault::Full)
        );
    }
    for n in 0..3 {
        assert_eq!(value(&store, &login(n), at(9)).await.unwrap(), "1");
        let replaced = store.replace(&login(n), Version(1), "2".into(), at(10), at(9)).await;
        assert_eq!(
            replaced,
            Ok(Replaced::Done(Version(2))),
            "a full store still serves those that it holds"
        );
    }
    assert_eq!(
        store.insert(key(Kind::Session, "s"), draft("1", at(10)), at(9)).await,
        Ok(Version(1))
    );
}

pub async fn room_comes_back<F: Future<Output = Arc<dyn Store>>>(make: impl Fn(Capacities) -> F) {
    let store = make(Capacities { logins: 2, ..ROOMY }).await;
    let login = |name: &str| key(Kind::Login, name);
    store.insert(login("a"), draft("1", at(10)), at(0)).await.unwrap();
    store.insert(login("b"), kin("1", at(100), "family"), at(0)).await.unwrap();
    store.remove(&login("a")).await.unwrap();
    assert_eq!(
        store.insert(login("c"), draft("1", at(20)), at(1)).await,
        Ok(Version(1)),
        "after a removal"
    );
    assert_eq!(store.insert(login("d"), draft("1", at(40)), at(2)).await, Err(StoreFault::Full));
    assert_eq!(
        store.insert(login("d"), draft("1", at(40)), at(20)).await,
        Ok(Version(1)),
        "after an expiry"
    );
    store.revoke(&Family("family".into()), at(100), at(21)).await.unwrap();
    assert_eq!(
        store.insert(login("e"), draft("1", at(40)), at(25)).await,
        Ok(Version(1)),
        "after a revocation"
    );
    assert_eq!(store.count(Kind::Login), 2);
}

pub async fn many_records_load_at_once<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    let login = |n: u64| key(Kind::Login, &n.to_string());
    for n in [1, 3, 4] {
        store.insert(login(n), draft(&n.to_string(), at(n * 10)), at(0)).await.unwrap();
    }
    let keys: Vec<_> = (0..5).map(login).collect();
    let records = store.load_many(&keys, at(30)).await.unwrap();
    let values: Vec<_> =
        records.iter().map(|record| record.as_ref().map(|record| record.value.to_vec())).collect();
    assert_eq!(
        values,
        [None, None, None, None, Some(b"4".to_vec())],
        "in the order of the keys, without what has ended"
    );
    assert_eq!(store.load_many(&keys[1..2], at(0)).await.unwrap().len(), 1);
    assert!(store.load_many(&[], at(0)).await.unwrap().is_empty());
}

pub async fn a_record_that_is_loaded_to_be_kept_outlives_its_earlier_end<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    let (login, unread_until) = (key(Kind::Login, "a"), Some(at(120)));
    store
        .insert(login.clone(), Draft { unread_until, ..draft("1", at(1800)) }, at(0))
        .await
        .unwrap();
    let mut first = Vec::new();
    for _ in 0..2 {
        let loaded = store.load_and_keep(&login, at(0)).await.unwrap().unwrap();
        assert_eq!((loaded.record.version, loaded.record.expires_at), (Version(1), at(1800)));
        first.push(loaded.is_first);
    }
    assert_eq!(first, [true, false]);
    assert_eq!(value(&store, &login, at(1799)).await.unwrap(), "1");
    assert_eq!(store.count(Kind::Login), 1);
    store.insert(key(Kind::Login, "b"), draft("1", at(1800)), at(0)).await.unwrap();
    assert!(
        !store.load_and_keep(&key(Kind::Login, "b"), at(0)).await.unwrap().unwrap().is_first,
        "one without an earlier end"
    );
    assert!(store.load_and_keep(&key(Kind::Login, "c"), at(0)).await.unwrap().is_none());
}

pub async fn only_the_named_version_of_a_record_is_removed<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    let unread_until = Some(at(120));
    for (name, is_kept, version) in [("unread", false, 1), ("kept", true, 1), ("changed", true, 2)]
    {
        let login = key(Kind::Login, name);
        store
            .insert(login.clone(), Draft { unread_until, ..draft("1", at(1800)) }, at(0))
            .await
            .unwrap();
        if is_kept {
            store.load_and_keep(&login, at(0)).await.unwrap().unwrap();
        }
        for old in 1..version {
            store.replace(&login, Version(old), "2".into(), at(1800), at(0)).await.unwrap();
        }
        for other in [0, version + 1, version - 1] {
            assert_eq!(
                store.remove_version(&login, Version(other), at(0)).await,
                Ok(false),
                "{name}: version {other}"
            );
        }
        assert_eq!(store.count(Kind::Login), 1);
        assert_eq!(store.remove_version(&login, Version(version), at(0)).await, Ok(true), "{name}");
        assert_eq!(
            (store.count(Kind::Login), value(&store, &login, at(7)).await),
            (0, None),
            "{name}"
        );
        assert_eq!(
            store.remove_version(&login, Version(version), at(0)).await,
            Ok(false),
            "{name}"
        );
    }
}

pub async fn room_for_logins_is_counted_in_bytes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { login_bytes: 100, ..ROOMY }).await;
    let login = |name: &str| key(Kind::Login, name);
    let (forty, sixty) = ("4".repeat(40), "6".repeat(60));
    store.insert(login("a"), draft(&forty, at(20)), at(0)).await.unwrap();
    store.insert(login("b"), draft(&forty, at(20)), at(0)).await.unwrap();
    assert_eq!(store.insert(login("c"), draft(&forty, at(20)), at(0)).await, Err(StoreFault::Full));
    store.insert(login("c"), draft("4", at(20)), at(0)).await.unwrap();
    let replaced =
        store.replace(&login("a"), Version(1), sixty.clone().into(), at(20), at(1)).await;
    assert_eq!(replaced, Ok(Replaced::Done(Version(2))), "a login that is under way may grow");
    assert_eq!(store.insert(login("d"), draft("", at(20)), at(1)).await, Err(StoreFault::Full));
    store.remove(&login("a")).await.unwrap();
    assert_eq!(
        store.insert(login("d"), draft(&forty[..20], at(20)), at(1)).await,
        Ok(Version(1)),
        "after a removal"
    );
    store.insert(key(Kind::Session, "s"), draft(&sixty.repeat(9), at(20)), at(1)).await.unwrap();
    assert_eq!(
        store.insert(login("e"), draft(&sixty, at(40)), at(20)).await,
        Ok(Version(1)),
        "after an expiry"
    );
}

pub async fn codes_and_tokens_share_a_capacity<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { grants: 2, ..ROOMY }).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    store.insert(key(Kind::Token, "a"), draft("1", at(20)), at(0)).await.unwrap();
    for kind in [Kind::Code, Kind::Token] {
        assert_eq!(
            store.insert(key(kind, "b"), draft("1", at(20)), at(1)).await,
            Err(StoreFault::Full)
        );
    }
    assert_eq!((store.count(Kind::Code), store.count(Kind::Token)), (1, 1));
    assert_eq!(
        store.insert(key(Kind::Token, "b"), draft("1", at(20)), at(10)).await,
        Ok(Version(1)),
        "the code's place"
    );
}

pub async fn used_assertions_have_a_capacity_of_their_own<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(Capacities { assertions: 1, ..ROOMY }).await;
    let used = |name: &str| key(Kind::Assertion, name);
    store.insert(used("a"), draft("", at(10)), at(0)).await.unwrap();
    assert_eq!(
        store.insert(used("b"), draft("", at(20)), at(9)).await,
        Err(StoreFault::Full),
        "nothing live makes room"
    );
    assert_eq!(
        store.insert(used("a"), draft("", at(20)), at(9)).await,
        Err(StoreFault::Exists),
        "a full store still tells a replay"
    );
    store.insert(code("a"), draft("1", at(20)), at(9)).await.unwrap();
    assert_eq!(
        store.insert(used("b"), draft("", at(20)), at(10)).await,
        Ok(Version(1)),
        "the expired one's place"
    );
}

pub async fn kinds_do_not_mix<F: Future<Output = Arc<dyn Store>>>(make: impl Fn(Capacities) -> F) {
    let store = make(ROOMY).await;
    let kinds = [
        Kind::Login,
        Kind::Session,
        Kind::Code,
        Kind::Token,
        Kind::Logout,
        Kind::Parked,
        Kind::Assertion,
        Kind::OwnCode,
        Kind::Blocks,
        Kind::Probes,
    ];
    for kind in kinds {
        store.insert(key(kind, "same"), draft(&format!("{kind:?}"), at(10)), at(0)).await.unwrap();
    }
    store.remove(&key(Kind::Login, "same")).await.unwrap();
    for kind in kinds.into_iter().skip(1) {
        assert_eq!(value(&store, &key(kind, "same"), at(1)).await.unwrap(), format!("{kind:?}"));
    }
    assert_eq!(value(&store, &key(Kind::Login, "same"), at(1)).await, None);
}

pub async fn remove_takes_tombstones_too<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
    take(&store, &code("a"), "t", at(70), at(1)).await;
    store.remove(&code("a")).await.unwrap();
    store.remove(&code("a")).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(70), at(2)).await, "gone");
    assert_eq!(store.count(Kind::Code), 0);
}

pub async fn revocation_is_effective_at_once<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    let token = |name: &str| key(Kind::Token, name);
    store.insert(token("a"), kin("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(code("a"), kin("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(token("b"), kin("other", at(60), "other"), at(0)).await.unwrap();
    store.revoke(&Family("mine".into()), at(50), at(1)).await.unwrap();
    assert_eq!(value(&store, &token("a"), at(1)).await, None);
    assert_eq!(take(&store, &code("a"), "t", at(99), at(1)).await, "gone");
    assert_eq!(
        store.replace(&token("a"), Version(1), "2".into(), at(99), at(1)).await,
        Ok(Replaced::Gone)
    );
    assert_eq!(
        store.insert(token("c"), kin("1", at(60), "mine"), at(49)).await,
        Err(StoreFault::Revoked)
    );
    assert_eq!(value(&store, &token("b"), at(1)).await.unwrap(), "other");
}

pub async fn either_family_revokes<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    for revoked in ["session", "grant"] {
        let store = make(ROOMY).await;
        let of = |names: &[&str]| Draft {
            families: names.iter().map(|name| Family((*name).into())).collect(),
            ..draft("1", at(60))
        };
        store.insert(code("both"), of(&["session", "grant"]), at(0)).await.unwrap();
        store
            .insert(code("neither"), of(&["another session", "another grant"]), at(0))
            .await
            .unwrap();
        store.revoke(&Family(revoked.into()), at(60), at(1)).await.unwrap();
        assert_eq!(value(&store, &code("both"), at(1)).await, None, "{revoked}");
        assert_eq!(
            store.insert(code("late"), of(&["session", "grant"]), at(2)).await,
            Err(StoreFault::Revoked),
            "{revoked}"
        );
        assert_eq!(value(&store, &code("neither"), at(1)).await.unwrap(), "1");
    }
}

pub async fn a_revoked_family_opens_again_without_its_old_records<
    F: Future<Output = Arc<dyn Store>>,
>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("old"), kin("1", at(60), "mine"), at(0)).await.unwrap();
    store.revoke(&Family("mine".into()), at(20), at(10)).await.unwrap();
    store.revoke(&Family("mine".into()), at(15), at(11)).await.unwrap();
    assert_eq!(
        store.insert(code("new"), kin("1", at(60), "mine"), at(19)).await,
        Err(StoreFault::Revoked)
    );
    assert_eq!(store.insert(code("new"), kin("1", at(60), "mine"), at(20)).await, Ok(Version(1)));
    assert_eq!(value(&store, &code("new"), at(21)).await.unwrap(), "1");
    assert_eq!(value(&store, &code("old"), at(21)).await, None, "revoked records never come back");
}

pub async fn a_tombstone_survives_revocation<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ROOMY).await;
    store.insert(code("a"), kin("1", at(10), "mine"), at(0)).await.unwrap();
    take(&store, &code("a"), "issued", at(70), at(1)).await;
    store.revoke(&Family("mine".into()), at(70), at(2)).await.unwrap();
    assert_eq!(take(&store, &code("a"), "t", at(99), at(3)).await, "spent issued");
}
