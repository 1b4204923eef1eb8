//! A server that is full, dies, loses its scripts, rejects writes, or whose responses get lost.

use super::*;

#[tokio::test]
async fn a_full_server_refuses_new_records_and_keeps_the_others() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    store.insert(key(RecordKind::LOGIN, "a"), new_record("kept", &[]), timestamp(0)).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(
        store.insert(key(RecordKind::LOGIN, "b"), new_record("1", &[]), timestamp(0)).await,
        Err(StoreError::Full)
    );
    assert_eq!(
        &*store.load(&key(RecordKind::LOGIN, "a"), timestamp(1)).await.unwrap().unwrap().value,
        b"kept"
    );
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    store.insert(key(RecordKind::LOGIN, "b"), new_record("1", &[]), timestamp(0)).await.unwrap();
}

/// When the server is full, running logins must continue, and users must be able to sign out.
#[tokio::test]
async fn a_full_server_lets_running_logins_continue_and_users_sign_out() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    let (login, code, token, session) = (
        key(RecordKind::LOGIN, "a"),
        key(RecordKind::CODE, "a"),
        key(RecordKind::TOKEN, "a"),
        key(RecordKind::SESSION, "a"),
    );
    store.insert(login.clone(), new_record("login", &[]), timestamp(0)).await.unwrap();
    store.insert(code.clone(), new_record("code", &["mine"]), timestamp(0)).await.unwrap();
    store.insert(token.clone(), new_record("token", &["mine"]), timestamp(0)).await.unwrap();
    store.insert(session.clone(), new_record("session", &[]), timestamp(0)).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(
        store.replace(&login, RecordVersion(1), "next".into(), timestamp(700), timestamp(1)).await,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2)))
    );
    let taken = store.take(&code, b"spent".to_vec(), timestamp(600), timestamp(1)).await;
    assert!(matches!(taken, Ok(TakeOutcome::Taken(_))), "{taken:?}");
    assert_eq!(
        store.revoke(&Family("mine".into()), timestamp(600), timestamp(2)).await,
        Ok(()),
        "no user could sign out"
    );
    assert!(
        store.load(&token, timestamp(2)).await.unwrap().is_none(),
        "a token alive after logout"
    );
    assert_eq!(
        store.insert(key(RecordKind::TOKEN, "b"), new_record("1", &["other"]), timestamp(3)).await,
        Err(StoreError::Full)
    );
    assert_eq!(store.remove(&session).await, Ok(()));
}

/// The old primary, cut off from its replicas or demoted, still answers reads.
#[tokio::test]
async fn a_server_that_takes_no_more_writes_is_noticed_by_a_hub_that_writes_nothing() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    until("the store is available", || store.last_error().is_none().then_some(()));
    for (alone, again) in [
        (
            &["CONFIG", "SET", "min-replicas-to-write", "1"][..],
            &["CONFIG", "SET", "min-replicas-to-write", "0"][..],
        ),
        (&["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"]),
    ] {
        assert_eq!(server.cli_text(alone), "OK");
        let outcome = store.load(&key(RecordKind::TOKEN, "ended elsewhere"), timestamp(1)).await;
        assert!(
            matches!(outcome, Err(StoreError::Unavailable(_))),
            "its record may be outdated: {outcome:?}"
        );
        // A record that was created elsewhere is absent here; the hub must not report it as
        // expired.
        let outcome = store
            .replace(
                &key(RecordKind::LOGIN, "begun elsewhere"),
                RecordVersion(1),
                Vec::new(),
                timestamp(9),
                timestamp(1),
            )
            .await;
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "a login lost: {outcome:?}");
        let outcome = store
            .take(
                &key(RecordKind::CODE, "issued elsewhere"),
                Vec::new(),
                timestamp(9),
                timestamp(1),
            )
            .await;
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "a code lost: {outcome:?}");
        until("the store reports the error", || store.last_error().map(drop));
        assert_eq!(server.cli_text(again), "OK");
        until("the store is available again", || store.last_error().is_none().then_some(()));
    }
    assert!(server.keys().is_empty(), "the check leaves no record");
}

#[tokio::test]
async fn a_server_that_dies_is_reported_at_once_and_used_again_when_it_is_back() {
    let mut server = Server::start(&[]);
    let (store, metrics) =
        store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    call_every_operation(&store, "a").await;
    assert_eq!(store.last_error(), None);
    server.kill();
    let mut faults = 0;
    while faults < 6 {
        let outcome = store.load(&key(RecordKind::LOGIN, "a"), timestamp(1)).await;
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
        faults += 1;
    }
    assert!(store.last_error().is_some());
    let text = metrics.render();
    assert!(text.contains(r#"passerelle_redis_circuit_state{state="open"} 1"#), "{text}");
    assert!(text.contains(r#"passerelle_redis_errors_total{error="unreachable"}"#), "{text}");
    server.restart();
    // The hub notices without a request, because a hub that is not ready gets none.
    until("the store is available again", || store.last_error().is_none().then_some(()));
    call_every_operation(&store, "b").await;
}

/// A proxy that, on demand, drops the response to the next script and closes the connection.
struct LossyProxy {
    port: u16,
    drops_next: Arc<AtomicBool>,
}

impl LossyProxy {
    fn in_front_of(server: u16) -> Self {
        let (listener, drops_next) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(AtomicBool::new(false)));
        let (port, drops) = (listener.local_addr().unwrap().port(), Arc::clone(&drops_next));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (drops, is_script) = (Arc::clone(&drops), Arc::new(AtomicBool::new(false)));
                let (requests, sees_script) = (
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    Arc::clone(&is_script),
                );
                std::thread::spawn(move || {
                    forward(requests.0, requests.1, |bytes| {
                        sees_script.fetch_or(
                            bytes.windows(7).any(|word| word == b"EVALSHA"),
                            Ordering::SeqCst,
                        );
                        true
                    });
                });
                std::thread::spawn(move || {
                    forward(server, client, |_| {
                        !(is_script.swap(false, Ordering::SeqCst)
                            && drops.swap(false, Ordering::SeqCst))
                    });
                });
            }
        });
        Self { port, drops_next }
    }

    fn drop_next_response(&self) {
        self.drops_next.store(true, Ordering::SeqCst);
    }

    fn has_dropped(&self) -> bool {
        !self.drops_next.load(Ordering::SeqCst)
    }
}

/// Forwards bytes until `may_forward` returns false.
fn forward(mut from: TcpStream, mut to: TcpStream, may_forward: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 65536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !may_forward(&bytes[..length]) || to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _gone = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[tokio::test]
async fn a_call_without_a_response_can_be_repeated_safely() {
    let server = Server::start(&[]);
    let proxy = LossyProxy::in_front_of(server.port);
    let (store, metrics) = store(&config(RedisMode::Single, &[proxy.port]), &credentials(PASSWORD));
    call_every_operation(&store, "before").await;
    let code = key(RecordKind::CODE, "a");
    proxy.drop_next_response();
    assert_eq!(
        store.insert(code.clone(), new_record("one", &[]), timestamp(0)).await,
        Ok(RecordVersion(1)),
        "the repeated insertion must not conflict with itself"
    );
    assert!(proxy.has_dropped());
    proxy.drop_next_response();
    let replaced =
        store.replace(&code, RecordVersion(1), "two".into(), timestamp(600), timestamp(1)).await;
    assert_eq!(
        replaced,
        Ok(ReplaceOutcome::Replaced(RecordVersion(2))),
        "the repeated replacement must not lose a race against itself"
    );
    assert!(proxy.has_dropped());
    proxy.drop_next_response();
    let taken = store.take(&code, b"mine".to_vec(), timestamp(600), timestamp(1)).await.unwrap();
    assert!(
        matches!(&taken, TakeOutcome::Taken(record) if *record.value == *b"two"),
        "the repeated call must not count as a second redemption: {taken:?}"
    );
    assert!(proxy.has_dropped());
    assert!(metrics.render().contains("passerelle_redis_retries_total 3"), "{}", metrics.render());
    let taken = store.take(&code, b"theirs".to_vec(), timestamp(600), timestamp(1)).await.unwrap();
    assert!(matches!(&taken, TakeOutcome::AlreadyTaken(left) if **left == *b"mine"), "{taken:?}");
    assert_eq!(
        store.count(RecordKind::CODE),
        2,
        "the repeated insertion must not be counted twice"
    );
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_loaded_again() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    for name in ["a", "b"] {
        call_every_operation(&store, name).await;
        server.cli(&["SCRIPT", "FLUSH"]);
    }
}

/// The server answers reads, but no user can sign in.
#[tokio::test]
async fn a_user_that_may_not_write_is_reported_although_the_server_answers() {
    let server = Server::start(&[]);
    let rule = "user passerelle on >right ~hub:* resetchannels -@all +get +getex +ping +info +time +select";
    let words: Vec<&str> =
        std::iter::once("ACL").chain(["SETUSER"]).chain(rule.split(' ').skip(1)).collect();
    assert_eq!(server.cli_text(&words), "OK");
    let config = RedisConfig {
        user: Some("passerelle".into()),
        ..config(RedisMode::Single, &[server.port])
    };
    let (store, _) = store(&config, &credentials("right"));
    assert!(store.load(&key(RecordKind::LOGIN, "a"), timestamp(0)).await.unwrap().is_none());
    until("the store reports the error", || {
        store.last_error().filter(|why| why.contains("evalsha")).map(drop)
    });
    assert!(store.load(&key(RecordKind::LOGIN, "a"), timestamp(0)).await.unwrap().is_none());
    assert!(store.last_error().is_some(), "a successful read does not prove that writes succeed");
}

/// For example with a full disk: the server answers reads, and rejects writes until it can save
/// again.
#[tokio::test]
async fn a_server_that_can_not_save_is_reported_and_used_again_when_it_can() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    until("the store is available", || store.last_error().is_none().then_some(()));
    let in_the_way = server.folder.path().join("dump.rdb");
    std::fs::create_dir(&in_the_way).unwrap();
    let saved = |status: &str| {
        server.cli(&["BGSAVE"]);
        until("the save has ended", || {
            server
                .cli_text(&["INFO", "persistence"])
                .contains(&format!("rdb_last_bgsave_status:{status}"))
                .then_some(())
        });
    };
    server.cli(&["CONFIG", "SET", "save", "3600 1000000"]);
    saved("err");
    let inserted =
        store.insert(key(RecordKind::LOGIN, "a"), new_record("1", &[]), timestamp(0)).await;
    assert!(matches!(inserted, Err(StoreError::Unavailable(_))), "{inserted:?}");
    until("the store reports the error", || store.last_error().map(drop));
    std::fs::remove_dir(&in_the_way).unwrap();
    saved("ok");
    until("the store is available again", || store.last_error().is_none().then_some(()));
    store.insert(key(RecordKind::LOGIN, "a"), new_record("1", &[]), timestamp(0)).await.unwrap();
}
