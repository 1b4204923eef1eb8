//! The shared store on real servers, when they are several, speak TLS, grant little, or die (docs/redis.md).
//!
//! Needs Debian's `redis-server` and `redis-sentinel`, which `tests/run` installs. Nothing here uses a fixed port or waits
//! for a fixed time: a failover is over when the servers say so.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::expect_used, reason = "a test may")]

#[path = "redis_server/mod.rs"]
mod redis_server;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use passerelle::config::StoreCredentials;
use passerelle::config::model::{RedisConfig, RedisMode};
use passerelle::env::{Env, Timestamp};
use passerelle::ids::Secret;
use passerelle::store::counters::{Batch, Counted, Counters};
use passerelle::store::redis::RedisStore;
use passerelle::store::{Capacities, Draft, Family, Key, Kind, Replaced, Store, StoreFault, Taken, Version};
use passerelle::telemetry::Metrics;
use redis_server::{PASSWORD, Server, certificates, cli, free_port, until};

const ROOMY: Capacities = Capacities {
    logins: 10_000,
    sessions: 10_000,
    grants: 10_000,
    logouts: 10_000,
    parked: 10_000,
    assertions: 10_000,
    own_codes: 10_000,
    blocks: 10,
};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

fn key(kind: Kind, name: &str) -> Key {
    Key { kind, name: name.into() }
}

fn draft(value: &str, families: &[&str]) -> Draft {
    let families = families.iter().map(|family| Family((*family).into())).collect();
    Draft { value: value.into(), expires_at: at(600), families }
}

fn config(mode: RedisMode, ports: &[u16]) -> RedisConfig {
    RedisConfig {
        nodes: ports.iter().map(|port| format!("127.0.0.1:{port}")).collect(),
        mode,
        primary: (mode == RedisMode::Sentinel).then(|| "passerelle".into()),
        database: 0,
        user: None,
        password: None,
        sentinel_user: None,
        sentinel_password: None,
        tls: false,
        ca: None,
        client_certificate: None,
        client_key: None,
        prefix: "hub".into(),
        seal_keys: Vec::new(),
        call_milliseconds: 1000,
    }
}

fn credentials(password: &str) -> StoreCredentials {
    StoreCredentials {
        password: Some(Secret::new(password.to_owned())),
        seal_keys: vec![Secret::new("of the tests".to_owned())],
        ..StoreCredentials::default()
    }
}

fn store(config: &RedisConfig, credentials: &StoreCredentials) -> (Arc<RedisStore>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(at(0)).unwrap());
    (Arc::new(RedisStore::new(config, credentials, ROOMY, Env::system(), &metrics).unwrap()), metrics)
}

/// Every verb once, with families that lie on other servers than their members.
async fn whole_life(store: &RedisStore, name: &str) {
    let (code, token, login) = (key(Kind::Code, name), key(Kind::Token, name), key(Kind::Login, name));
    let families = [format!("session {name}"), format!("grant {name}")];
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    store.insert(login.clone(), draft("login", &[]), at(0)).await.unwrap();
    assert_eq!(store.replace(&login, Version(1), "next".into(), at(700), at(1)).await, Ok(Replaced::Done(Version(2))));
    assert_eq!(store.replace(&login, Version(1), "late".into(), at(700), at(1)).await, Ok(Replaced::Stale));
    store.insert(code.clone(), draft("code", &families), at(1)).await.unwrap();
    let Taken::Won(record) = store.take(&code, b"spent".to_vec(), at(700), at(2)).await.unwrap() else { panic!("not won") };
    assert_eq!(&*record.value, b"code");
    let Taken::Spent(left) = store.take(&code, b"again".to_vec(), at(700), at(2)).await.unwrap() else { panic!("won twice") };
    assert_eq!(&*left, b"spent");
    store.insert(token.clone(), draft("token", &families), at(3)).await.unwrap();
    assert_eq!(&*store.load(&token, at(4)).await.unwrap().unwrap().value, b"token");
    store.revoke(&Family(families[0].into()), at(700), at(5)).await.unwrap();
    assert!(store.load(&token, at(5)).await.unwrap().is_none());
    assert_eq!(store.insert(key(Kind::Token, "late"), draft("1", &families), at(6)).await, Err(StoreFault::Revoked));
    store.remove(&login).await.unwrap();
    assert!(store.load(&login, at(6)).await.unwrap().is_none());
    counts(store).await;
}

/// Two batches of one hub, the second one sent twice.
async fn counts(store: &RedisStore) {
    static WINDOW: AtomicU64 = AtomicU64::new(0);
    let window = WINDOW.fetch_add(1, Ordering::Relaxed);
    for (number, sum) in [(1, 3), (2, 6), (2, 6)] {
        let counted = Counted { limit: "tests", subject: *b"a network's hash" };
        let batch = Batch { window, hub: *b"hub one!", number, additions: vec![(counted, 3)] };
        assert_eq!(store.add(&batch).await, Ok(vec![sum]));
    }
}

/// The least that the hub needs, as docs/redis.md gives it.
fn least_privilege() -> String {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/redis.md")).unwrap();
    let rule = text.lines().find(|line| line.starts_with("user passerelle ")).expect("docs/redis.md gives an ACL rule");
    rule.replace("~passerelle:*", "~hub:*").replace(">PASSWORD", ">least")
}

#[tokio::test]
async fn the_least_privileged_user_of_the_docs_is_enough_and_sees_nothing_else() {
    let server = Server::start(&[]);
    let rule = least_privilege();
    let words: Vec<&str> = rule.split(' ').skip(1).collect();
    assert_eq!(server.cli_text(&[&["ACL", "SETUSER"], &words[..]].concat()), "OK");
    let mut config = config(RedisMode::Single, &[server.port]);
    config.user = Some("passerelle".into());
    let (store, _) = store(&config, &credentials("least"));
    store.inspect().await.unwrap().unwrap();
    whole_life(&store, "a").await;
    for refused in [&["KEYS", "*"][..], &["GET", "other"], &["FLUSHALL"], &["CONFIG", "GET", "*"], &["ACL", "LIST"]] {
        let login = ["--user", "passerelle", "--pass", "least"];
        let answer = String::from_utf8(cli(server.port, &[&login[..], refused].concat(), None)).unwrap();
        assert!(answer.starts_with("NOPERM"), "{refused:?}: {answer}");
    }
}

#[tokio::test]
async fn over_tls_by_the_right_authority_alone() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let port = free_port();
    let server = Server::start(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("server.crt"),
        "--tls-key-file",
        &file("server.key"),
        "--tls-ca-cert-file",
        &file("ca.crt"),
    ]);
    let mut config = config(RedisMode::Single, &[port]);
    config.tls = true;
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let identity = Some((read("server.crt"), Secret::new(read("server.key"))));
    let trusting = StoreCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) };
    whole_life(&store(&config, &trusting).0, "a").await;

    let nobody = StoreCredentials { identity: None, ..trusting.clone() };
    let refused = store(&config, &nobody).0.load(&key(Kind::Login, "a"), at(1)).await;
    assert!(matches!(refused, Err(StoreFault::Unavailable(_))), "the server asks for a certificate: {refused:?}");
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let ca = std::fs::read_to_string(other.path().join("ca.crt")).unwrap();
    let mistaken = StoreCredentials { ca: Some(ca), ..trusting };
    let refused = store(&config, &mistaken).0.load(&key(Kind::Login, "a"), at(1)).await;
    assert!(matches!(refused, Err(StoreFault::Unavailable(_))), "an impostor's certificate: {refused:?}");
    drop(server);
}

#[tokio::test]
async fn a_server_that_would_evict_is_refused_with_the_mend() {
    let server = Server::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    let refused = store.join_and_wait().unwrap_err().to_string();
    assert!(refused.contains("allkeys-lru") && refused.contains("set maxmemory-policy noeviction"), "{refused}");
    let asked = store.insert(key(Kind::Login, "a"), draft("1", &[]), at(0)).await;
    assert!(matches!(asked, Err(StoreFault::Unavailable(_))), "also when it was away at the start: {asked:?}");
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let served = async || store.insert(key(Kind::Login, "a"), draft("1", &[]), at(0)).await;
    while served().await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_hub_whose_keys_are_not_the_others_is_refused_and_a_rotation_by_the_book_is_not() {
    let server = Server::start(&[]);
    let config = config(RedisMode::Single, &[server.port]);
    let starts = |keys: &[&str]| {
        let seal_keys = keys.iter().map(|key| Secret::new((*key).to_owned())).collect();
        let (store, _) = store(&config, &StoreCredentials { seal_keys, ..credentials(PASSWORD) });
        move || store.join_and_wait()
    };
    for by_the_book in [&["old"][..], &["old", "new"], &["new", "old"], &["old", "new"], &["new", "old"], &["new"]] {
        let summary = starts(by_the_book)().unwrap();
        assert!(summary.is_ok(), "{by_the_book:?}: {summary:?}");
    }
    for refused in [&["old"][..], &["another"]] {
        let fault = starts(refused)().unwrap_err().to_string();
        assert!(fault.contains("seal_keys lacks here") && fault.contains("delete hub:ring"), "{refused:?}: {fault}");
    }
    // Only asking leaves no mark: it may be the next configuration that is asked about.
    let (asking, _) = store(
        &config,
        &StoreCredentials { seal_keys: ["next", "new"].map(|key| Secret::new(key.to_owned())).to_vec(), ..credentials(PASSWORD) },
    );
    assert!(asking.inspect().await.unwrap().is_ok());
    assert!(starts(&["new"])().unwrap().is_ok());
    server.cli(&["DEL", "hub:ring"]);
    assert!(starts(&["another"])().unwrap().is_ok(), "as the message says");
}

/// Cookies and client ids of two platforms may be alike, and what proves a person to one must not prove them to the other.
#[tokio::test]
async fn two_platforms_under_one_prefix_are_told_before_they_read_each_other() {
    let server = Server::start(&[]);
    let config = config(RedisMode::Single, &[server.port]);
    let starts = |issuer: &str| {
        let metrics = Arc::new(Metrics::new(at(0)).unwrap());
        let store = RedisStore::new(&config, &credentials(PASSWORD), ROOMY, Env::system(), &metrics).unwrap();
        Arc::new(store.of_hub(issuer)).join_and_wait()
    };
    // A release that did not say whose its mark is.
    assert!(starts("").unwrap().is_ok());
    assert!(starts("https://one.example").unwrap().is_ok());
    assert!(starts("https://one.example").unwrap().is_ok());
    let fault = starts("https://two.example").unwrap_err().to_string();
    assert!(fault.contains("https://one.example") && fault.contains("its own prefix"), "{fault}");
    server.cli(&["DEL", "hub:ring"]);
    assert!(starts("https://two.example").unwrap().is_ok(), "as the message says");
}

#[tokio::test]
async fn a_wrong_password_is_told_and_nothing_is_stored() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials("wrong"));
    let Err(StoreFault::Unavailable(why)) = store.insert(key(Kind::Login, "a"), draft("1", &[]), at(0)).await else {
        panic!("let in")
    };
    assert!(why.to_lowercase().contains("auth"), "{why}");
    assert!(server.keys().iter().all(String::is_empty));
}

#[tokio::test]
async fn a_full_server_refuses_newcomers_and_keeps_the_others() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    store.insert(key(Kind::Login, "a"), draft("kept", &[]), at(0)).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(store.insert(key(Kind::Login, "b"), draft("1", &[]), at(0)).await, Err(StoreFault::Full));
    assert_eq!(&*store.load(&key(Kind::Login, "a"), at(1)).await.unwrap().unwrap().value, b"kept");
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    store.insert(key(Kind::Login, "b"), draft("1", &[]), at(0)).await.unwrap();
}

/// Memory is short when people are many: those who are there must be able to go on, and to leave.
#[tokio::test]
async fn a_full_server_lets_those_who_are_there_go_on_and_sign_out() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    let (login, code, token, session) =
        (key(Kind::Login, "a"), key(Kind::Code, "a"), key(Kind::Token, "a"), key(Kind::Session, "a"));
    store.insert(login.clone(), draft("login", &[]), at(0)).await.unwrap();
    store.insert(code.clone(), draft("code", &["mine"]), at(0)).await.unwrap();
    store.insert(token.clone(), draft("token", &["mine"]), at(0)).await.unwrap();
    store.insert(session.clone(), draft("session", &[]), at(0)).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(store.replace(&login, Version(1), "next".into(), at(700), at(1)).await, Ok(Replaced::Done(Version(2))));
    let taken = store.take(&code, b"spent".to_vec(), at(600), at(1)).await;
    assert!(matches!(taken, Ok(Taken::Won(_))), "{taken:?}");
    assert_eq!(store.revoke(&Family("mine".into()), at(600), at(2)).await, Ok(()), "nobody could sign out");
    assert!(store.load(&token, at(2)).await.unwrap().is_none(), "a token alive after logout");
    assert_eq!(store.insert(key(Kind::Token, "b"), draft("1", &["other"]), at(3)).await, Err(StoreFault::Full));
    assert_eq!(store.remove(&session).await, Ok(()));
}

/// The old primary, cut off from its replicas or one itself by now, still answers those who only read.
#[tokio::test]
async fn a_server_that_takes_no_more_writes_is_noticed_by_a_hub_that_writes_nothing() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    until("the store is well", || store.complaint().is_none().then_some(()));
    for (alone, again) in [
        (&["CONFIG", "SET", "min-replicas-to-write", "1"][..], &["CONFIG", "SET", "min-replicas-to-write", "0"][..]),
        (&["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"]),
    ] {
        assert_eq!(server.cli_text(alone), "OK");
        let asked = store.load(&key(Kind::Token, "ended elsewhere"), at(1)).await;
        assert!(matches!(asked, Err(StoreFault::Unavailable(_))), "what it shows may be over: {asked:?}");
        until("the store complains", || store.complaint().map(drop));
        assert_eq!(server.cli_text(again), "OK");
        until("the store is well again", || store.complaint().is_none().then_some(()));
    }
    assert!(server.keys().is_empty(), "looking leaves nothing");
}

#[tokio::test]
async fn a_server_that_dies_is_told_at_once_and_served_again_when_it_is_back() {
    let mut server = Server::start(&[]);
    let (store, metrics) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    whole_life(&store, "a").await;
    assert_eq!(store.complaint(), None);
    server.kill();
    let mut faults = 0;
    while faults < 6 {
        let asked = store.load(&key(Kind::Login, "a"), at(1)).await;
        assert!(matches!(asked, Err(StoreFault::Unavailable(_))), "{asked:?}");
        faults += 1;
    }
    assert!(store.complaint().is_some());
    let text = metrics.render();
    assert!(text.contains(r#"passerelle_redis_breaker{state="open"} 1"#), "{text}");
    assert!(text.contains(r#"passerelle_redis_errors_total{error="unreachable"}"#), "{text}");
    server.restart();
    // Nobody asks, and it is known all the same: a hub that is not ready gets no requests that could find out.
    until("the store is well again", || store.complaint().is_none().then_some(()));
    whole_life(&store, "b").await;
}

/// A way to a server on which the next answer to a script gets lost, and the connection with it.
struct Lossy {
    port: u16,
    loses: Arc<AtomicBool>,
}

impl Lossy {
    fn to(server: u16) -> Self {
        let (listener, loses) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(AtomicBool::new(false)));
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::clone(&loses));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (loses, is_script) = (Arc::clone(&asked), Arc::new(AtomicBool::new(false)));
                let (ways, saw) = ((client.try_clone().unwrap(), server.try_clone().unwrap()), Arc::clone(&is_script));
                std::thread::spawn(move || {
                    pass(ways.0, ways.1, |bytes| {
                        saw.fetch_or(bytes.windows(7).any(|word| word == b"EVALSHA"), Ordering::SeqCst);
                        true
                    });
                });
                std::thread::spawn(move || {
                    pass(server, client, |_| !(is_script.swap(false, Ordering::SeqCst) && loses.swap(false, Ordering::SeqCst)));
                });
            }
        });
        Self { port, loses }
    }

    fn lose(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }

    fn has_lost(&self) -> bool {
        !self.loses.load(Ordering::SeqCst)
    }
}

/// Passes bytes on as long as they may pass.
fn pass(mut from: TcpStream, mut to: TcpStream, may: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 65536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !may(&bytes[..length]) || to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _gone = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[tokio::test]
async fn a_call_that_was_carried_out_and_not_answered_is_repeated_without_harm() {
    let server = Server::start(&[]);
    let way = Lossy::to(server.port);
    let (store, metrics) = store(&config(RedisMode::Single, &[way.port]), &credentials(PASSWORD));
    whole_life(&store, "before").await;
    let code = key(Kind::Code, "a");
    way.lose();
    assert_eq!(store.insert(code.clone(), draft("one", &[]), at(0)).await, Ok(Version(1)), "its own key is not taken");
    assert!(way.has_lost());
    way.lose();
    let replaced = store.replace(&code, Version(1), "two".into(), at(600), at(1)).await;
    assert_eq!(replaced, Ok(Replaced::Done(Version(2))), "it lost no race against itself");
    assert!(way.has_lost());
    way.lose();
    let taken = store.take(&code, b"mine".to_vec(), at(600), at(1)).await.unwrap();
    assert!(matches!(&taken, Taken::Won(record) if *record.value == *b"two"), "it redeemed no code twice: {taken:?}");
    assert!(way.has_lost());
    assert!(metrics.render().contains("passerelle_redis_retries_total 3"), "{}", metrics.render());
    let taken = store.take(&code, b"theirs".to_vec(), at(600), at(1)).await.unwrap();
    assert!(matches!(&taken, Taken::Spent(left) if **left == *b"mine"), "{taken:?}");
    assert_eq!(store.count(Kind::Code), 2, "nor takes it two places");
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_told_again() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    for name in ["a", "b"] {
        whole_life(&store, name).await;
        server.cli(&["SCRIPT", "FLUSH"]);
    }
}

/// Three primaries, each with a third of the slots.
fn cluster() -> Vec<Server> {
    cluster_of(3, &[], |_| Vec::new()).into_iter().map(|(node, _)| node).collect()
}

/// So many nodes, three of them primaries, each started with what `more` makes of a port for it to be met at; and that port.
fn cluster_of(count: usize, create: &[&str], more: impl Fn(u16) -> Vec<String>) -> Vec<(Server, u16)> {
    let node = || {
        let (bus, other) = (free_port().to_string(), free_port());
        let more = more(other);
        let own = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
        let node = Server::start(&own.into_iter().chain(more.iter().map(String::as_str)).collect::<Vec<_>>());
        let met_at = if more.is_empty() { node.port } else { other };
        (node, met_at)
    };
    let nodes: Vec<(Server, u16)> = (0..count).map(|_| node()).collect();
    let addresses: Vec<String> = nodes.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let mut words = vec!["--cluster", "create"];
    words.extend(addresses.iter().map(String::as_str));
    words.extend(create);
    words.push("--cluster-yes");
    let said = String::from_utf8_lossy(&nodes[0].0.cli(&words)).into_owned();
    assert!(said.contains("All 16384 slots covered"), "{said}");
    for (node, _) in &nodes {
        until("the cluster is whole", || node.cli_text(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(()));
    }
    nodes
}

/// What `INFO replication` says under this name.
fn replication(node: &Server, name: &str) -> Option<String> {
    let told = node.cli_text(&["INFO", "replication"]);
    told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned()))
}

#[tokio::test]
async fn a_cluster_over_tls_that_loses_a_primary_goes_on_and_spent_stays_spent() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [ca, certificate, private] = ["ca.crt", "server.crt", "server.key"].map(&file);
    let client = ["--cluster-replicas", "1", "--tls", "--cacert", &ca, "--cert", &certificate, "--key", &private];
    let (mut nodes, ports): (Vec<Server>, Vec<u16>) = cluster_of(6, &client, |port| {
        let files = ["--tls-ca-cert-file", &ca, "--tls-cert-file", &certificate, "--tls-key-file", &private];
        let among_them = ["--tls-cluster", "yes", "--tls-replication", "yes", "--masterauth", PASSWORD];
        let port = port.to_string();
        let words = ["--tls-port", &port].into_iter().chain(files).chain(among_them);
        words.map(ToOwned::to_owned).collect()
    })
    .into_iter()
    .unzip();
    let mut config = config(RedisMode::Cluster, &ports);
    config.tls = true;
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let identity = Some((read("server.crt"), Secret::new(read("server.key"))));
    let (store, _) = store(&config, &StoreCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) });
    let codes: Vec<Key> = (0..30).map(|n: u32| key(Kind::Code, &format!("code {n}"))).collect();
    for code in &codes {
        store.insert(code.clone(), draft("claims", &["session"]), at(0)).await.unwrap();
        assert!(matches!(store.take(code, b"spent".to_vec(), at(600), at(1)).await, Ok(Taken::Won(_))));
    }
    until("the replicas have all", || {
        let offsets = |role: &str| {
            let of_role = nodes.iter().filter(|node| replication(node, "role").as_deref() == Some(role));
            let mut offsets: Vec<_> = of_role.filter_map(|node| replication(node, "master_repl_offset")).collect();
            offsets.sort();
            offsets
        };
        let (primaries, replicas) = (offsets("master"), offsets("slave"));
        (primaries.len() == 3 && primaries == replicas).then_some(())
    });
    nodes.remove(0).kill();
    until("a replica is the third primary", || {
        let primaries = nodes.iter().filter(|node| replication(node, "role").as_deref() == Some("master")).count();
        (primaries == 3).then_some(())
    });
    for code in &codes {
        let again = loop {
            match store.take(code, b"again".to_vec(), at(600), at(3)).await {
                Ok(again) => break again,
                Err(StoreFault::Unavailable(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        };
        assert!(matches!(&again, Taken::Spent(left) if **left == *b"spent"), "a second redemption: {again:?}");
    }
    futures_util::future::join_all((0..30).map(async |n: u32| whole_life(&store, &n.to_string()).await)).await;
}

#[tokio::test]
async fn a_cluster_spreads_the_records_and_keeps_every_rule() {
    let nodes = cluster();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let (store, _) = store(&config(RedisMode::Cluster, &ports[..1]), &credentials(PASSWORD));
    let told = store.inspect().await.unwrap().unwrap();
    assert_eq!(told.matches("noeviction").count(), 3, "each of them is looked at: {told}");
    let lives = (0..60).map(async |n: u32| whole_life(&store, &n.to_string()).await);
    futures_util::future::join_all(lives).await;
    for node in &nodes {
        assert!(node.keys().len() > 20, "{} has {} keys", node.port, node.keys().len());
    }
}

#[tokio::test]
async fn many_redeem_one_code_on_a_cluster_and_one_wins() {
    let nodes = cluster();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let hubs: Vec<_> = (0..3).map(|_| store(&config(RedisMode::Cluster, &ports), &credentials(PASSWORD)).0).collect();
    for round in 0..50 {
        let code = key(Kind::Code, &round.to_string());
        hubs[0].insert(code.clone(), draft("claims", &["session", "grant"]), at(0)).await.unwrap();
        let takes =
            hubs.iter().cycle().take(12).map(async |hub| hub.take(&code, b"spent".to_vec(), at(90), at(1)).await.unwrap());
        let taken = futures_util::future::join_all(takes).await;
        assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Won(_))).count(), 1, "round {round}");
        assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Spent(_))).count(), 11, "round {round}");
    }
}

/// A primary, a replica and three Sentinels with the ports that these are met at; over TLS, if certificates are given.
fn sentinels(folder: Option<&Path>) -> (Server, Server, Vec<(Server, u16)>) {
    // As on a command line; in a file without the dashes.
    let tls = |port: u16| -> Vec<String> {
        let Some(folder) = folder else { return Vec::new() };
        let file = |name: &str| folder.join(name).display().to_string();
        let words = ["--tls-port", &port.to_string(), "--tls-replication", "yes"].map(ToOwned::to_owned);
        let names = [("--tls-ca-cert-file", "ca.crt"), ("--tls-cert-file", "server.crt"), ("--tls-key-file", "server.key")];
        words.into_iter().chain(names.into_iter().flat_map(|(word, name)| [word.to_owned(), file(name)])).collect()
    };
    let server = |more: &[&str]| {
        let other = free_port();
        let tls = tls(other);
        let words = tls.iter().map(String::as_str).chain(["--masterauth", PASSWORD]).chain(more.iter().copied());
        let server = Server::start(&words.collect::<Vec<_>>());
        let met_at = if tls.is_empty() { server.port } else { other };
        (server, met_at)
    };
    let (primary, port) = server(&[]);
    let of = format!("127.0.0.1 {port}");
    let (replica, replica_port) = server(&["--replicaof", &of, "--repl-diskless-sync-delay", "0"]);
    until("the replica is in step", || {
        replica.cli_text(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
    let sentinel = || {
        let (folder, port, other) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let tls = tls(other);
        let lines: String = tls.chunks(2).map(|pair| format!("{}\n", pair.join(" ").trim_start_matches('-'))).collect();
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\n{lines}sentinel monitor passerelle {of} 2\nsentinel auth-pass passerelle \"{PASSWORD}\"\n\
             sentinel down-after-milliseconds passerelle 500\nsentinel failover-timeout passerelle 3000\n",
            folder.path().display()
        );
        (Server::of_file("redis-sentinel", port, folder, &text, &[]), if tls.is_empty() { port } else { other })
    };
    let sentinels: Vec<(Server, u16)> = (0..3).map(|_| sentinel()).collect();
    for (sentinel, _) in &sentinels {
        until("the Sentinels know each other and the replica", || {
            let told = sentinel.cli_text(&["SENTINEL", "CKQUORUM", "passerelle"]);
            let replicas = sentinel.cli_text(&["SENTINEL", "REPLICAS", "passerelle"]);
            (told.starts_with("OK 3 usable") && replicas.contains(&replica_port.to_string())).then_some(())
        });
    }
    (primary, replica, sentinels)
}

#[tokio::test]
async fn after_a_failover_what_was_replicated_is_there_and_spent_stays_spent() {
    outlives_its_primary(sentinels(None), config(RedisMode::Sentinel, &[]), &credentials(PASSWORD)).await;
}

#[tokio::test]
async fn sentinels_and_servers_over_tls_outlive_a_primary() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let identity = Some((read("server.crt"), Secret::new(read("server.key"))));
    let trusting = StoreCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) };
    let config = RedisConfig { tls: true, ..config(RedisMode::Sentinel, &[]) };
    outlives_its_primary(sentinels(Some(folder.path())), config, &trusting).await;
}

async fn outlives_its_primary(
    (mut primary, replica, sentinels): (Server, Server, Vec<(Server, u16)>),
    mut config: RedisConfig,
    credentials: &StoreCredentials,
) {
    config.nodes = sentinels.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let (store, _) = store(&config, credentials);
    let (login, code, token) = (key(Kind::Login, "a"), key(Kind::Code, "a"), key(Kind::Token, "a"));
    store.insert(login.clone(), draft("login", &[]), at(0)).await.unwrap();
    store.insert(code.clone(), draft("claims", &["session"]), at(0)).await.unwrap();
    assert!(matches!(store.take(&code, b"spent".to_vec(), at(600), at(1)).await, Ok(Taken::Won(_))));
    store.insert(token.clone(), draft("token", &["session"]), at(1)).await.unwrap();
    store.revoke(&Family("session".into()), at(600), at(2)).await.unwrap();
    assert_eq!(primary.cli_text(&["WAIT", "1", "5000"]), "1", "as min-replicas-to-write bounds it");
    primary.kill();
    until("the replica is the primary", || replica.cli_text(&["ROLE"]).starts_with("master").then_some(()));
    let found = loop {
        match store.load(&login, at(3)).await {
            Ok(found) => break found,
            Err(StoreFault::Unavailable(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(&*found.unwrap().value, b"login");
    let again = store.take(&code, b"again".to_vec(), at(600), at(3)).await.unwrap();
    assert!(matches!(&again, Taken::Spent(left) if **left == *b"spent"), "a second redemption: {again:?}");
    assert!(store.load(&token, at(3)).await.unwrap().is_none(), "a token alive after logout");
    whole_life(&store, "b").await;
}

/// What is left of a machine that has died: whoever connects hears nothing.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_silent_sentinel_keeps_no_hub_from_the_primary() {
    let ((_primary, _replica, sentinels), (_silent, port)) = (sentinels(None), silent());
    let ports: Vec<u16> = std::iter::once(port).chain(sentinels.iter().take(2).map(|(_, port)| *port)).collect();
    let config = RedisConfig { call_milliseconds: 500, ..config(RedisMode::Sentinel, &ports) };
    whole_life(&store(&config, &credentials(PASSWORD)).0, "a").await;
}

#[tokio::test]
async fn a_silent_node_keeps_no_hub_from_the_cluster() {
    let (servers, (_silent, port)) = (cluster(), silent());
    let ports: Vec<u16> = std::iter::once(port).chain(servers.iter().map(|server| server.port)).collect();
    let config = RedisConfig { call_milliseconds: 500, ..config(RedisMode::Cluster, &ports) };
    whole_life(&store(&config, &credentials(PASSWORD)).0, "a").await;
}

/// One that was cut off with the old primary, which takes itself for the primary still.
#[tokio::test]
async fn a_sentinel_that_has_not_heard_of_the_new_primary_is_outvoted() {
    let (_primary, _replica, sentinels) = sentinels(None);
    let old = Server::start(&[]);
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let text = format!(
        "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor passerelle 127.0.0.1 {} 2\nsentinel auth-pass passerelle \"{PASSWORD}\"\n",
        folder.path().display(),
        old.port
    );
    let behind = Server::of_file("redis-sentinel", port, folder, &text, &[]);
    let ports: Vec<u16> = std::iter::once(behind.port).chain(sentinels.iter().take(2).map(|(_, port)| *port)).collect();
    let (store, _) = store(&config(RedisMode::Sentinel, &ports), &credentials(PASSWORD));
    whole_life(&store, "a").await;
    assert!(old.keys().is_empty(), "written where nobody reads: {:?}", old.keys());
}

/// What it may read it reads; and yet nobody can sign in.
#[tokio::test]
async fn a_user_that_may_not_write_is_told_of_though_the_server_answers() {
    let server = Server::start(&[]);
    let rule = "user passerelle on >right ~hub:* resetchannels -@all +get +getex +ping +info +time +select";
    let words: Vec<&str> = std::iter::once("ACL").chain(["SETUSER"]).chain(rule.split(' ').skip(1)).collect();
    assert_eq!(server.cli_text(&words), "OK");
    let config = RedisConfig { user: Some("passerelle".into()), ..config(RedisMode::Single, &[server.port]) };
    let (store, _) = store(&config, &credentials("right"));
    assert!(store.load(&key(Kind::Login, "a"), at(0)).await.unwrap().is_none());
    until("the store complains", || store.complaint().filter(|why| why.contains("evalsha")).map(drop));
    assert!(store.load(&key(Kind::Login, "a"), at(0)).await.unwrap().is_none());
    assert!(store.complaint().is_some(), "a reading is no proof of writing");
}

/// As when the disk is full: the server goes on reading, and takes no writes until it can save again.
#[tokio::test]
async fn a_server_that_can_not_save_is_told_of_and_used_again_when_it_can() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    until("the store is well", || store.complaint().is_none().then_some(()));
    let in_the_way = server.folder.path().join("dump.rdb");
    std::fs::create_dir(&in_the_way).unwrap();
    let saved = |status: &str| {
        server.cli(&["BGSAVE"]);
        until("it has saved, or not", || {
            server.cli_text(&["INFO", "persistence"]).contains(&format!("rdb_last_bgsave_status:{status}")).then_some(())
        });
    };
    server.cli(&["CONFIG", "SET", "save", "3600 1000000"]);
    saved("err");
    let inserted = store.insert(key(Kind::Login, "a"), draft("1", &[]), at(0)).await;
    assert!(matches!(inserted, Err(StoreFault::Unavailable(_))), "{inserted:?}");
    until("the store complains", || store.complaint().map(drop));
    std::fs::remove_dir(&in_the_way).unwrap();
    saved("ok");
    until("the store is well again", || store.complaint().is_none().then_some(()));
    store.insert(key(Kind::Login, "a"), draft("1", &[]), at(0)).await.unwrap();
}
