//! Tests against a real server. Those that need several servers are in `tests/redis/`.

use futures_util::future::join_all;

use super::family_members::family_hash;
use super::*;
use crate::testing::redis_server::Server;
use crate::testing::redis_store::{config, credentials, fresh_prefix, shared_server, store_at};
use crate::testing::store_conformance::{
    ample_capacities, at, code, conformance, key, new_record, new_record_in_family, take, value,
};
use crate::{Family, Store};

async fn redis(capacities: Capacities) -> Arc<dyn Store> {
    Arc::new(store_at(shared_server(), &fresh_prefix(), &["key"], capacities))
}

conformance!(redis);

/// Returns the only key of a kind under a prefix.
pub(super) fn only_key(server: &Server, prefix: &str, kind: char) -> String {
    let start = format!("{prefix}:{kind}:");
    let keys: Vec<_> = server.keys().into_iter().filter(|key| key.starts_with(&start)).collect();
    let [key] = &keys[..] else { panic!("{keys:?}") };
    key.clone()
}

#[tokio::test]
async fn the_server_sees_neither_names_nor_values() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ample_capacities());
    let session = RecordKey { kind: RecordKind::SESSION, name: "the cookie's fingerprint".into() };
    let secret = "Angela Claire Louise Dubois ".repeat(20);
    store
        .insert(session, new_record_in_family(&secret, at(30), "the family"), at(0))
        .await
        .unwrap();
    let found = only_key(server, &prefix, 's');
    let bytes = String::from_utf8_lossy(&server.get(&found)).into_owned();
    for word in ["Angela", "Dubois", "fingerprint", "family"] {
        assert!(
            !bytes.contains(word) && !server.keys().iter().any(|key| key.contains(word)),
            "{word}"
        );
    }
}

#[tokio::test]
async fn a_tampered_record_counts_as_absent() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ample_capacities()));
    store.insert(code("a"), new_record("claims", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let good = server.get(&found);
    // The version, the expiry, the encrypted value and its tag: everything that a hub relies on.
    for byte in [9, 17, 40, good.len() - 1] {
        let mut bad = good.clone();
        bad[byte] ^= 1;
        server.set(&found, &bad);
        assert_eq!(value(&store, &code("a"), at(1)).await, None, "byte {byte}");
        assert_eq!(take(&store, &code("a"), "t", at(90), at(1)).await, "gone", "byte {byte}");
        server.set(&found, &good);
    }
    assert_eq!(value(&store, &code("a"), at(1)).await.unwrap(), "claims");
}

#[tokio::test]
async fn a_record_moved_to_another_key_is_rejected() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ample_capacities()));
    store
        .insert(key(RecordKind::SESSION, "mine"), new_record("mine", at(30)), at(0))
        .await
        .unwrap();
    let mine = only_key(server, &prefix, 's');
    let theirs = store_at(server, &format!("{prefix}x"), &["key"], ample_capacities());
    theirs
        .insert(key(RecordKind::SESSION, "theirs"), new_record("theirs", at(30)), at(0))
        .await
        .unwrap();
    server.set(&mine, &server.get(&only_key(server, &format!("{prefix}x"), 's')));
    assert_eq!(value(&store, &key(RecordKind::SESSION, "mine"), at(1)).await, None);
}

#[tokio::test]
async fn an_older_value_with_a_newer_header_is_rejected() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ample_capacities()));
    store.insert(code("a"), new_record("old", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let old = server.get(&found);
    store.replace(&code("a"), RecordVersion(1), "new".into(), at(30), at(1)).await.unwrap();
    let new = server.get(&found);
    server.set(&found, &[&new[..26], &old[26..]].concat());
    assert_eq!(value(&store, &code("a"), at(2)).await, None);
}

#[tokio::test]
async fn hubs_with_a_common_key_read_each_other_and_others_report_it() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let stores = |keys: &[&str]| -> Arc<dyn Store> {
        Arc::new(store_at(server, &prefix, keys, ample_capacities()))
    };
    let (before, during, after) = (stores(&["old"]), stores(&["new", "old"]), stores(&["new"]));
    before.insert(code("a"), new_record("by the old", at(30)), at(0)).await.unwrap();
    assert_eq!(value(&during, &code("a"), at(1)).await.unwrap(), "by the old");
    during.insert(code("b"), new_record("by the new", at(30)), at(0)).await.unwrap();
    assert_eq!(value(&after, &code("b"), at(1)).await.unwrap(), "by the new");
    let Err(StoreError::Unavailable(why)) = before.load(&code("b"), at(1)).await else {
        panic!("it was decrypted")
    };
    assert!(why.contains("encryption_keys"), "{why}");
}

#[tokio::test]
async fn a_record_of_a_newer_release_is_not_misread() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ample_capacities());
    store.insert(code("a"), new_record("claims", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let mut newer = server.get(&found);
    newer[0] = record::FORMAT + 1;
    server.set(&found, &newer);
    let Err(StoreError::Unavailable(why)) = store.load(&code("a"), at(1)).await else {
        panic!("it was read")
    };
    assert!(why.contains("newer release"), "{why}");
}

/// The server ran the command, the reply was lost, and the same bytes are sent again.
#[tokio::test]
async fn a_repeated_call_gets_the_same_reply() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ample_capacities());
    let place = store.locate(&code("a"));
    let (now, later) = (millis_text(at(1)), server_ttl(at(30), at(1)));

    let (birth, nonce) = store.new_insertion_id_and_nonce();
    let bound = record::authenticated_header(StoredState::Live, RecordVersion(1), at(30));
    let encrypted = store.encrypt(&place, &bound, &nonce, b"one").unwrap();
    let bytes = [&bound[..], &birth, &record::encode_families(&[], at(30)), &encrypted].concat();
    let insert: [&[u8]; 3] = [&bytes, now.as_bytes(), later.as_bytes()];
    for _ in 0..2 {
        assert_eq!(
            store.connections.run_script(&store.scripts.insert, &place.key, &insert).await,
            Ok(Value::Int(1))
        );
    }

    let bound = record::authenticated_header(StoredState::Live, RecordVersion(2), at(30));
    let encrypted =
        store.encrypt(&place, &bound, &store.new_insertion_id_and_nonce().1, b"two").unwrap();
    let (expected, until) = (1u64.to_be_bytes(), millis_text(at(30)));
    let replace: [&[u8]; 7] =
        [&expected, &bound, &encrypted, now.as_bytes(), later.as_bytes(), until.as_bytes(), b"0"];
    for _ in 0..2 {
        let answer = store
            .connections
            .run_script(&store.scripts.replace, &place.key, &replace)
            .await
            .unwrap();
        assert_eq!(array_items(&answer).first(), Some(&Value::Int(1)), "no lost race: {answer:?}");
    }

    let bound = record::authenticated_header(StoredState::Tombstone, RecordVersion(0), at(90));
    let encrypted =
        store.encrypt(&place, &bound, &store.new_insertion_id_and_nonce().1, b"mine").unwrap();
    let taking: [&[u8]; 4] = [&bound, &encrypted, now.as_bytes(), later.as_bytes()];
    for _ in 0..2 {
        let answer =
            store.connections.run_script(&store.scripts.take, &place.key, &taking).await.unwrap();
        let [Value::Int(1), Value::BulkString(taken), ..] = array_items(&answer) else {
            panic!("a second redemption: {answer:?}")
        };
        assert_eq!(&*store.read_live(&place, taken).unwrap().unwrap().value, b"two");
    }
    // Another caller does not get the record.
    let store: Arc<dyn Store> = Arc::new(store);
    assert_eq!(take(&store, &code("a"), "theirs", at(90), at(1)).await, "already taken mine");
}

#[tokio::test]
async fn an_insertion_that_arrives_after_its_family_was_revoked_does_not_live() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ample_capacities());
    let place = store.locate(&code("late"));
    let ((birth, nonce), family) = (store.new_insertion_id_and_nonce(), Family("mine".into()));
    // The family knows the record, whose insertion is still in flight.
    assert!(
        store.join_families(&[family_hash(&family)], &place, &birth, at(30), at(1)).await.unwrap()
            == JoinOutcome::Joined
    );
    store.revoke(&family, at(90), at(1)).await.unwrap();
    let bound = record::authenticated_header(StoredState::Live, RecordVersion(1), at(30));
    let encrypted = store.encrypt(&place, &bound, &nonce, b"one").unwrap();
    let bytes =
        [&bound[..], &birth, &record::encode_families(&[family_hash(&family)], at(30)), &encrypted]
            .concat();
    let insert: [&[u8]; 3] = [&bytes, b"0", b"60000"];
    assert_eq!(
        store.connections.run_script(&store.scripts.insert, &place.key, &insert).await,
        Ok(Value::Int(-1))
    );
    assert_eq!(store.load(&code("late"), at(2)).await.unwrap().map(|record| record.version), None);
}

#[tokio::test]
async fn revocation_applies_to_a_record_whose_life_was_extended() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ample_capacities()));
    let token = key(RecordKind::TOKEN, "a");
    store.insert(token.clone(), new_record_in_family("1", at(10), "mine"), at(0)).await.unwrap();
    store.replace(&token, RecordVersion(1), "2".into(), at(500), at(9)).await.unwrap();
    store
        .insert(code("another"), new_record_in_family("1", at(500), "mine"), at(400))
        .await
        .unwrap();
    store.revoke(&Family("mine".into()), at(500), at(400)).await.unwrap();
    assert_eq!(value(&store, &token, at(400)).await, None);
}

/// Clocks differ: a record that is expired for the revoking hub may be live for another.
#[tokio::test]
async fn a_token_revoked_by_a_hub_with_a_fast_clock_is_inactive_at_one_with_a_slow_clock() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ample_capacities()));
    let token = key(RecordKind::TOKEN, "a");
    store.insert(token.clone(), new_record_in_family("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(code("ahead"), new_record_in_family("1", at(150), "mine"), at(115)).await.unwrap();
    store.revoke(&Family("mine".into()), at(200), at(115)).await.unwrap();
    assert_eq!(value(&store, &token, at(56)).await, None, "a token alive after logout");
}

/// A session with very many logins.
#[tokio::test]
async fn a_family_of_thousands_is_revoked_whole() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(
        server,
        &prefix,
        &["key"],
        ample_capacities().with_records(RecordKind::CODE, 10_000),
    ));
    let tokens: Vec<_> =
        (0..5000).map(|number| key(RecordKind::TOKEN, &number.to_string())).collect();
    for some in tokens.chunks(500) {
        let inserted = some.iter().map(|token| {
            store.insert(token.clone(), new_record_in_family("1", at(60), "mine"), at(0))
        });
        assert!(join_all(inserted).await.iter().all(Result::is_ok));
    }
    let config = RedisConfig { call_milliseconds: 500, ..config(server, &prefix) };
    let metrics = Arc::new(Metrics::new().unwrap());
    let hasty = RedisStore::new(
        &config,
        &credentials(&["key"]),
        ample_capacities(),
        Env::system(),
        &metrics,
    )
    .unwrap();
    hasty.revoke(&Family("mine".into()), at(90), at(1)).await.unwrap();
    for some in tokens.chunks(500) {
        assert!(
            join_all(some.iter().map(|token| value(&store, token, at(1))))
                .await
                .iter()
                .all(Option::is_none)
        );
    }
}

#[tokio::test]
async fn the_server_frees_expired_records_by_itself() {
    let (server, prefix) = (shared_server(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ample_capacities());
    store.insert(code("a"), new_record_in_family("1", at(30), "mine"), at(0)).await.unwrap();
    for kind in ['c', 'f'] {
        let left: u64 =
            server.cli_text(&["PTTL", &only_key(server, &prefix, kind)]).parse().unwrap();
        assert!((80_000..=90_000).contains(&left), "{kind}: its 30 seconds, and a minute: {left}");
    }
}

#[tokio::test]
async fn counts_are_summed_over_hubs() {
    let store = store_at(shared_server(), &fresh_prefix(), &["of the tests"], ample_capacities());
    crate::testing::counter_conformance::check_counters(Arc::new(store)).await;
}

#[tokio::test]
async fn counts_disclose_no_network_address() {
    use crate::counters::Counters;
    use crate::testing::counter_conformance::batch;
    let prefix = fresh_prefix();
    let add = async |key: &str, window| {
        store_at(shared_server(), &prefix, &[key], ample_capacities())
            .add(&batch(window, 0, 1, &[("address", b'1', 1)]))
            .await
            .unwrap();
        let members =
            shared_server().cli_text(&["ZRANGE", &format!("{prefix}:q:{window}"), "0", "-1"]);
        members
            .lines()
            .filter(|member| !member.starts_with('!'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let members = [add("one key", 1).await, add("one key", 2).await, add("another key", 3).await];
    assert!(
        members
            .iter()
            .all(|members| members.len() == 1 && members[0] != digest::base64url(&[b'1'; 16])),
        "{members:?}"
    );
    assert!(members[0] != members[1], "different in each window");
    let ttl: i64 = shared_server().cli_text(&["PTTL", &format!("{prefix}:q:1")]).parse().unwrap();
    assert!((1..=120_000).contains(&ttl), "the server frees it: {ttl}");
}
