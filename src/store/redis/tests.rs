//! Against a real server. Those that need several are in `tests/redis.rs`.

#[path = "../../../tests/redis_server/mod.rs"]
mod redis_server;
pub(crate) mod released;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::names::hash_of;
use super::*;
use crate::ids::Secret;
use crate::store::conformance::{ROOMY, at, code, conformance, draft, key, kin, take, value};
use crate::store::{Family, Store};
use redis_server::{PASSWORD, Server};

/// One for all tests that do it no harm; each store has keys of its own there.
pub(crate) fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&[]))
}

fn config(server: &Server, prefix: &str) -> RedisConfig {
    let nodes = vec![format!("unix:{}", server.socket().display())];
    RedisConfig { prefix: prefix.to_owned(), call_milliseconds: 5000, ..RedisConfig::at(nodes) }
}

fn credentials(seal_keys: &[&str]) -> StoreCredentials {
    StoreCredentials {
        password: Some(Secret::new(PASSWORD.to_owned())),
        seal_keys: seal_keys.iter().map(|key| Secret::new((*key).to_owned())).collect(),
        ..StoreCredentials::default()
    }
}

pub(crate) fn store_at(
    server: &Server,
    prefix: &str,
    seal_keys: &[&str],
    capacities: Capacities,
) -> RedisStore {
    let metrics = Arc::new(Metrics::new(at(0)).unwrap());
    RedisStore::new(
        &config(server, prefix),
        &credentials(seal_keys),
        capacities,
        Env::system(),
        &metrics,
    )
    .unwrap()
}

pub(crate) fn fresh_prefix() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

async fn redis(capacities: Capacities) -> Arc<dyn Store> {
    Arc::new(store_at(shared(), &fresh_prefix(), &["key"], capacities))
}

conformance!(redis);

/// The only key of a kind under a prefix.
pub(super) fn only_key(server: &Server, prefix: &str, kind: char) -> String {
    let start = format!("{prefix}:{kind}:");
    let keys: Vec<_> = server.keys().into_iter().filter(|key| key.starts_with(&start)).collect();
    let [key] = &keys[..] else { panic!("{keys:?}") };
    key.clone()
}

#[tokio::test]
async fn a_look_into_the_server_tells_neither_names_nor_values() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ROOMY);
    let session = Key { kind: Kind::Session, name: "the cookie's fingerprint".into() };
    let secret = "Angela Claire Louise Dubois ".repeat(20);
    store.insert(session, kin(&secret, at(30), "the family"), at(0)).await.unwrap();
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
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ROOMY));
    store.insert(code("a"), draft("claims", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let good = server.get(&found);
    // The version, the expiry, the sealed value, its tag: everything that a hub believes.
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
async fn a_record_put_under_another_key_opens_nothing() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ROOMY));
    store.insert(key(Kind::Session, "mine"), draft("mine", at(30)), at(0)).await.unwrap();
    let mine = only_key(server, &prefix, 's');
    let theirs = store_at(server, &format!("{prefix}x"), &["key"], ROOMY);
    theirs.insert(key(Kind::Session, "theirs"), draft("theirs", at(30)), at(0)).await.unwrap();
    server.set(&mine, &server.get(&only_key(server, &format!("{prefix}x"), 's')));
    assert_eq!(value(&store, &key(Kind::Session, "mine"), at(1)).await, None);
}

#[tokio::test]
async fn an_older_version_put_back_with_a_newer_head_opens_nothing() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ROOMY));
    store.insert(code("a"), draft("old", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let old = server.get(&found);
    store.replace(&code("a"), Version(1), "new".into(), at(30), at(1)).await.unwrap();
    let new = server.get(&found);
    server.set(&found, &[&new[..26], &old[26..]].concat());
    assert_eq!(value(&store, &code("a"), at(2)).await, None);
}

#[tokio::test]
async fn hubs_with_a_common_key_read_each_other_and_others_say_so() {
    let (server, prefix) = (shared(), fresh_prefix());
    let stores =
        |keys: &[&str]| -> Arc<dyn Store> { Arc::new(store_at(server, &prefix, keys, ROOMY)) };
    let (before, during, after) = (stores(&["old"]), stores(&["new", "old"]), stores(&["new"]));
    before.insert(code("a"), draft("by the old", at(30)), at(0)).await.unwrap();
    assert_eq!(value(&during, &code("a"), at(1)).await.unwrap(), "by the old");
    during.insert(code("b"), draft("by the new", at(30)), at(0)).await.unwrap();
    assert_eq!(value(&after, &code("b"), at(1)).await.unwrap(), "by the new");
    let Err(StoreFault::Unavailable(why)) = before.load(&code("b"), at(1)).await else {
        panic!("it opened")
    };
    assert!(why.contains("seal_keys"), "{why}");
}

#[tokio::test]
async fn a_record_of_a_newer_release_is_not_misread() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ROOMY);
    store.insert(code("a"), draft("claims", at(30)), at(0)).await.unwrap();
    let found = only_key(server, &prefix, 'c');
    let mut newer = server.get(&found);
    newer[0] = record::FORMAT + 1;
    server.set(&found, &newer);
    let Err(StoreFault::Unavailable(why)) = store.load(&code("a"), at(1)).await else {
        panic!("it was read")
    };
    assert!(why.contains("newer release"), "{why}");
}

/// The server has done it, the answer was lost, and the same bytes come again.
#[tokio::test]
async fn a_step_whose_answer_was_lost_is_answered_again_as_the_first_time() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ROOMY);
    let place = store.place(&code("a"));
    let (now, later) = (text(at(1)), kept_for(at(30), at(1)));

    let (birth, nonce) = store.fresh();
    let bound = record::bound(State::Live, Version(1), at(30));
    let sealed = store.seal(&place, &bound, &nonce, b"one").unwrap();
    let bytes = [&bound[..], &birth, &record::families(&[], at(30)), &sealed].concat();
    let insert: [&[u8]; 3] = [&bytes, now.as_bytes(), later.as_bytes()];
    for _ in 0..2 {
        assert_eq!(
            store.link.run(&store.scripts.insert, &place.key, &insert).await,
            Ok(Value::Int(1))
        );
    }

    let bound = record::bound(State::Live, Version(2), at(30));
    let sealed = store.seal(&place, &bound, &store.fresh().1, b"two").unwrap();
    let (expected, until) = (1u64.to_be_bytes(), text(at(30)));
    let replace: [&[u8]; 7] =
        [&expected, &bound, &sealed, now.as_bytes(), later.as_bytes(), until.as_bytes(), b"0"];
    for _ in 0..2 {
        let answer = store.link.run(&store.scripts.replace, &place.key, &replace).await.unwrap();
        assert_eq!(parts(&answer).first(), Some(&Value::Int(1)), "no lost race: {answer:?}");
    }

    let bound = record::bound(State::Tombstone, Version(0), at(90));
    let sealed = store.seal(&place, &bound, &store.fresh().1, b"mine").unwrap();
    let taking: [&[u8]; 4] = [&bound, &sealed, now.as_bytes(), later.as_bytes()];
    for _ in 0..2 {
        let answer = store.link.run(&store.scripts.take, &place.key, &taking).await.unwrap();
        let [Value::Int(1), Value::BulkString(taken), ..] = parts(&answer) else {
            panic!("a second redemption: {answer:?}")
        };
        assert_eq!(&*store.read(&place, taken).unwrap().unwrap().value, b"two");
    }
    // Whoever else comes has not won, whatever they send.
    let store: Arc<dyn Store> = Arc::new(store);
    assert_eq!(take(&store, &code("a"), "theirs", at(90), at(1)).await, "spent mine");
}

#[tokio::test]
async fn an_insertion_that_arrives_after_its_family_was_revoked_does_not_live() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ROOMY);
    let place = store.place(&code("late"));
    let ((birth, nonce), family) = (store.fresh(), Family("mine".into()));
    // The family has heard of it, the record is still on its way.
    assert!(
        store.join(&[hash_of(&family)], (&place, &birth), at(30), at(1)).await.unwrap()
            == Joined::Yes
    );
    store.revoke(&family, at(90), at(1)).await.unwrap();
    let bound = record::bound(State::Live, Version(1), at(30));
    let sealed = store.seal(&place, &bound, &nonce, b"one").unwrap();
    let bytes =
        [&bound[..], &birth, &record::families(&[hash_of(&family)], at(30)), &sealed].concat();
    let insert: [&[u8]; 3] = [&bytes, b"0", b"60000"];
    assert_eq!(
        store.link.run(&store.scripts.insert, &place.key, &insert).await,
        Ok(Value::Int(-1))
    );
    assert_eq!(store.load(&code("late"), at(2)).await.unwrap().map(|record| record.version), None);
}

#[tokio::test]
async fn revocation_reaches_a_record_that_was_made_to_live_longer() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ROOMY));
    let token = key(Kind::Token, "a");
    store.insert(token.clone(), kin("1", at(10), "mine"), at(0)).await.unwrap();
    store.replace(&token, Version(1), "2".into(), at(500), at(9)).await.unwrap();
    store.insert(code("another"), kin("1", at(500), "mine"), at(400)).await.unwrap();
    store.revoke(&Family("mine".into()), at(500), at(400)).await.unwrap();
    assert_eq!(value(&store, &token, at(400)).await, None);
}

/// Hubs' clocks differ: what is over for the one that revokes may live for another.
#[tokio::test]
async fn a_hub_whose_clock_is_ahead_leaves_no_token_alive_for_one_that_is_behind() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> = Arc::new(store_at(server, &prefix, &["key"], ROOMY));
    let token = key(Kind::Token, "a");
    store.insert(token.clone(), kin("1", at(60), "mine"), at(0)).await.unwrap();
    store.insert(code("ahead"), kin("1", at(150), "mine"), at(115)).await.unwrap();
    store.revoke(&Family("mine".into()), at(200), at(115)).await.unwrap();
    assert_eq!(value(&store, &token, at(56)).await, None, "a token alive after logout");
}

/// A session by which somebody signs in without end.
#[tokio::test]
async fn a_family_of_thousands_is_revoked_whole() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store: Arc<dyn Store> =
        Arc::new(store_at(server, &prefix, &["key"], Capacities { grants: 10_000, ..ROOMY }));
    let tokens: Vec<_> = (0..5000).map(|number| key(Kind::Token, &number.to_string())).collect();
    for some in tokens.chunks(500) {
        let inserted =
            some.iter().map(|token| store.insert(token.clone(), kin("1", at(60), "mine"), at(0)));
        assert!(join_all(inserted).await.iter().all(Result::is_ok));
    }
    let config = RedisConfig { call_milliseconds: 500, ..config(server, &prefix) };
    let metrics = Arc::new(Metrics::new(at(0)).unwrap());
    let hasty =
        RedisStore::new(&config, &credentials(&["key"]), ROOMY, Env::system(), &metrics).unwrap();
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
async fn a_record_leaves_the_server_by_itself() {
    let (server, prefix) = (shared(), fresh_prefix());
    let store = store_at(server, &prefix, &["key"], ROOMY);
    store.insert(code("a"), kin("1", at(30), "mine"), at(0)).await.unwrap();
    for kind in ['c', 'f'] {
        let left: u64 =
            server.cli_text(&["PTTL", &only_key(server, &prefix, kind)]).parse().unwrap();
        assert!((80_000..=90_000).contains(&left), "{kind}: its 30 seconds, and a minute: {left}");
    }
}

#[tokio::test]
async fn counts_are_summed_over_hubs() {
    let store = store_at(shared(), &fresh_prefix(), &["of the tests"], ROOMY);
    crate::store::counters::conformance::check(Arc::new(store)).await;
}

#[tokio::test]
async fn counts_tell_the_servers_operator_no_address() {
    use crate::store::counters::Counters;
    use crate::store::counters::conformance::batch;
    let prefix = fresh_prefix();
    let add = async |key: &str, window| {
        store_at(shared(), &prefix, &[key], ROOMY)
            .add(&batch(window, 0, 1, &[("address", b'1', 1)]))
            .await
            .unwrap();
        let members = shared().cli_text(&["ZRANGE", &format!("{prefix}:q:{window}"), "0", "-1"]);
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
    assert!(members[0] != members[1], "nor whether it came back");
    let ttl: i64 = shared().cli_text(&["PTTL", &format!("{prefix}:q:1")]).parse().unwrap();
    assert!((1..=120_000).contains(&ttl), "the server forgets: {ttl}");
}
