//! Measures the operations of the Redis store and of the one in memory: alone, and a hundred at
//! once.
//!
//! `cargo bench --bench store`; needs Debian's redis-server. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_store::memory::MemoryStore;
use passerelle_store::redis::{RedisConfig, RedisCredentials, RedisStore};
use passerelle_store::{
    Capacities, Family, NewRecord, RecordKey, RecordKind, RecordVersion, Store,
};
use passerelle_telemetry::Metrics;
use passerelle_testkit::redis_server::{PASSWORD, Server};
use tokio::time::Instant;

const OPERATIONS: u32 = 20_000;
const CAPACITY: usize = 1_000_000;

/// Returns a value as long as a waiting login, and as hard to compress.
fn value(n: u32) -> Vec<u8> {
    let random = |at: u32| {
        Secret::new(passerelle_protocol::digest::sha256_base64url(&format!("{n} {at}")))
            .into_inner()
    };
    let fields: Vec<String> =
        (0..6).map(|at| format!(r#""a_field_of_the_request_{at}":"{}""#, random(at))).collect();
    let names = r#""redirect_uri":"https://service.example.org/callback","scope":"openid given_name family_name birthdate""#;
    format!("{{{},{names},{names}}}", fields.join(",")).into_bytes()
}

fn main() {
    let server = Server::start(&[]);
    let nodes = vec![format!("127.0.0.1:{}", server.port)];
    let config = RedisConfig {
        prefix: "bench".into(),
        call_milliseconds: 5000,
        ..RedisConfig::with_nodes(nodes)
    };
    let credentials = RedisCredentials {
        password: Some(Secret::new(PASSWORD.to_owned())),
        encryption_keys: vec![Secret::new("a key".to_owned())],
        ..RedisCredentials::default()
    };
    let kinds = [RecordKind::LOGIN, RecordKind::SESSION, RecordKind::CODE, RecordKind::TOKEN];
    let capacities =
        kinds.into_iter().fold(Capacities::default(), |all, kind| all.with_records(kind, CAPACITY));
    let env = Env::system();
    let metrics = Arc::new(Metrics::new().unwrap());
    let redis: Arc<dyn Store> = Arc::new(
        RedisStore::new(&config, &credentials, capacities.clone(), env.clone(), &metrics).unwrap(),
    );
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(capacities));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, store) in [("memory", memory), ("redis", redis)] {
        for at_once in [1, 100] {
            runtime.block_on(measure(name, store.as_ref(), at_once, env.now()));
        }
    }
    let bytes = server.cli_text(&["INFO", "memory"]);
    let used = bytes.lines().find(|line| line.starts_with("used_memory_human")).unwrap_or_default();
    println!("redis: {used} for {} keys", server.cli_text(&["DBSIZE"]));
}

async fn measure(name: &str, store: &dyn Store, at_once: u32, now: Timestamp) {
    let key = |kind, n: u32| RecordKey { kind, name: format!("{at_once}/{n}").into() };
    let until = now + Duration::from_secs(600);
    let families: Arc<[Family]> = [Family("session".into()), Family("grant".into())].into();
    let families = &families;
    let operations = OPERATIONS / if at_once == 1 { 10 } else { 1 };
    let report = |verb: &str, took: Duration| {
        println!("{name}, {at_once} at once: {verb} {:?}", took / operations);
    };
    macro_rules! each {
        ($verb:literal, |$n:ident| $work:expr) => {{
            let began = Instant::now();
            stream::iter(0..operations)
                .for_each_concurrent(at_once as usize, async |$n| _ = $work.await.unwrap())
                .await;
            report($verb, began.elapsed());
        }};
    }
    let draft = |n, families: &Arc<[Family]>| NewRecord {
        value: value(n),
        expires_at: until,
        expires_unread_at: None,
        families: Arc::clone(families),
    };
    let none: &Arc<[Family]> = &Arc::default();
    each!("insert ", |n| store.insert(key(RecordKind::LOGIN, n), draft(n, none), now));
    each!("load   ", |n| store.load(&key(RecordKind::LOGIN, n), now));
    each!("replace", |n| store.replace(
        &key(RecordKind::LOGIN, n),
        RecordVersion(1),
        value(n + 1),
        until,
        now
    ));
    each!("insert with two families", |n| store.insert(
        key(RecordKind::CODE, n),
        draft(n, families),
        now
    ));
    each!("take   ", |n| store.take(&key(RecordKind::CODE, n), b"tombstone".to_vec(), until, now));
}
