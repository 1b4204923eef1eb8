//! The shared store on real servers: several servers, TLS, restricted users, and failures
//! (docs/redis.md).
//!
//! Needs Debian's `redis-server` and `redis-sentinel`, which `tests/run` installs. Nothing here
//! uses a fixed port or waits for a fixed time: a failover is over when the servers say so.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::pedantic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test may"
)]

mod cluster;
mod failures;
mod sentinels;
mod single_server;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_store::counters::{CounterBatch, CounterKey, Counters};
use passerelle_store::redis::{RedisConfig, RedisCredentials, RedisMode, RedisStore};
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{
    Family, NewRecord, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError,
    TakeOutcome,
};
use passerelle_telemetry::Metrics;
use passerelle_testkit::redis_server::{PASSWORD, Server, certificates, cli, free_port, until};
use passerelle_testkit::wait::wait_for;

fn timestamp(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

fn key(kind: &'static RecordKind, name: &str) -> RecordKey {
    RecordKey { kind, name: name.into() }
}

fn new_record(value: &str, families: &[&str]) -> NewRecord {
    let families = families.iter().map(|family| Family((*family).into())).collect();
    NewRecord { value: value.into(), expires_at: timestamp(600), expires_unread_at: None, families }
}

fn config(mode: RedisMode, ports: &[u16]) -> RedisConfig {
    let nodes = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let primary = (mode == RedisMode::Sentinel).then(|| "passerelle".into());
    RedisConfig {
        mode,
        primary,
        prefix: "hub".into(),
        call_milliseconds: 1000,
        ..RedisConfig::with_nodes(nodes)
    }
}

fn credentials(password: &str) -> RedisCredentials {
    RedisCredentials {
        password: Some(Secret::new(password.to_owned())),
        encryption_keys: vec![Secret::new("of the tests".to_owned())],
        ..RedisCredentials::default()
    }
}

fn store(config: &RedisConfig, credentials: &RedisCredentials) -> (Arc<RedisStore>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new().unwrap());
    (
        Arc::new(
            RedisStore::new(config, credentials, ample_capacities(), Env::system(), &metrics)
                .unwrap(),
        ),
        metrics,
    )
}

/// Calls every operation once, with families on other servers than their members.
async fn call_every_operation(store: &RedisStore, name: &str) {
    let (code, token, login) =
        (key(RecordKind::CODE, name), key(RecordKind::TOKEN, name), key(RecordKind::LOGIN, name));
    let families = [format!("session {name}"), format!("grant {name}")];
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    store.insert(login.clone(), new_record("login", &[]), timestamp(0)).await.unwrap();
    assert_eq!(
        store.replace(&login, RecordVersion(1), "next".into(), timestamp(700), timestamp(1)).await,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2)))
    );
    assert_eq!(
        store.replace(&login, RecordVersion(1), "late".into(), timestamp(700), timestamp(1)).await,
        Ok(ReplaceOutcome::Stale)
    );
    store.insert(code.clone(), new_record("code", &families), timestamp(1)).await.unwrap();
    let TakeOutcome::Taken(record) =
        store.take(&code, b"spent".to_vec(), timestamp(700), timestamp(2)).await.unwrap()
    else {
        panic!("the first call did not get the record")
    };
    assert_eq!(&*record.value, b"code");
    let TakeOutcome::AlreadyTaken(left) =
        store.take(&code, b"again".to_vec(), timestamp(700), timestamp(2)).await.unwrap()
    else {
        panic!("two calls got the record")
    };
    assert_eq!(&*left, b"spent");
    store.insert(token.clone(), new_record("token", &families), timestamp(3)).await.unwrap();
    assert_eq!(&*store.load(&token, timestamp(4)).await.unwrap().unwrap().value, b"token");
    let (session, paired) = (key(RecordKind::SESSION, name), format!("{name}, of a session"));
    let paired = key(RecordKind::CODE, &paired);
    let (first, second) = (new_record("session", &[]), new_record("code", &families));
    store.insert_pair(session.clone(), first, paired.clone(), second, timestamp(4)).await.unwrap();
    assert_eq!(&*store.load(&paired, timestamp(4)).await.unwrap().unwrap().value, b"code");
    store.revoke(&Family(families[0].into()), timestamp(700), timestamp(5)).await.unwrap();
    for revoked in [&token, &paired] {
        assert!(store.load(revoked, timestamp(5)).await.unwrap().is_none());
    }
    assert!(store.load(&session, timestamp(5)).await.unwrap().is_some(), "it belongs to no family");
    assert_eq!(
        store
            .insert(key(RecordKind::TOKEN, "late"), new_record("1", &families), timestamp(6))
            .await,
        Err(StoreError::Revoked)
    );
    store.remove(&login).await.unwrap();
    assert!(store.load(&login, timestamp(6)).await.unwrap().is_none());
    send_counter_batches(store).await;
}

/// Sends two batches of one hub, the second one twice.
async fn send_counter_batches(store: &RedisStore) {
    static WINDOW: AtomicU64 = AtomicU64::new(0);
    let window = WINDOW.fetch_add(1, Ordering::Relaxed);
    for (number, sum) in [(1, 3), (2, 6), (2, 6)] {
        let counted = CounterKey { limit: "tests", subject: *b"a network's hash" };
        let batch =
            CounterBatch { window, hub: *b"hub one!", number, additions: vec![(counted, 3)] };
        assert_eq!(store.add(&batch).await, Ok(vec![sum]));
    }
}

/// Returns an address that accepts connections and never answers, like a dead machine.
fn unresponsive_server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}
