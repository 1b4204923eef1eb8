//! The failover of a primary to its replica, announced by Sentinels.

use super::*;

/// Starts a primary, a replica and three Sentinels, over TLS if `folder` has certificates. Returns
/// each Sentinel with the port to connect to.
fn sentinels(folder: Option<&Path>) -> (Server, Server, Vec<(Server, u16)>) {
    // Arguments of the command line; a configuration file has them without the dashes.
    let tls = |port: u16| -> Vec<String> {
        let Some(folder) = folder else { return Vec::new() };
        let file = |name: &str| folder.join(name).display().to_string();
        let words =
            ["--tls-port", &port.to_string(), "--tls-replication", "yes"].map(ToOwned::to_owned);
        let names = [
            ("--tls-ca-cert-file", "ca.crt"),
            ("--tls-cert-file", "server.crt"),
            ("--tls-key-file", "server.key"),
        ];
        words
            .into_iter()
            .chain(names.into_iter().flat_map(|(word, name)| [word.to_owned(), file(name)]))
            .collect()
    };
    let server = |more: &[&str]| {
        let other = free_port();
        let tls = tls(other);
        let words = tls
            .iter()
            .map(String::as_str)
            .chain(["--masterauth", PASSWORD])
            .chain(more.iter().copied());
        let server = Server::start(&words.collect::<Vec<_>>());
        let port = if tls.is_empty() { server.port } else { other };
        (server, port)
    };
    let (primary, port) = server(&[]);
    let primary_address = format!("127.0.0.1 {port}");
    let (replica, replica_port) =
        server(&["--replicaof", &primary_address, "--repl-diskless-sync-delay", "0"]);
    until("the replica is in step", || {
        replica.cli_text(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
    let sentinel = || {
        let (folder, port, other) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let tls = tls(other);
        let lines: String = tls
            .chunks(2)
            .map(|pair| format!("{}\n", pair.join(" ").trim_start_matches('-')))
            .collect();
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\n{lines}sentinel monitor passerelle {primary_address} 2\nsentinel auth-pass passerelle \"{PASSWORD}\"\n\
             sentinel down-after-milliseconds passerelle 500\nsentinel failover-timeout passerelle 3000\n",
            folder.path().display()
        );
        (
            Server::for_file("redis-sentinel", port, folder, &text, &[]),
            if tls.is_empty() { port } else { other },
        )
    };
    let sentinels: Vec<(Server, u16)> = (0..3).map(|_| sentinel()).collect();
    for (sentinel, _) in &sentinels {
        until("the Sentinels know each other and the replica", || {
            let quorum = sentinel.cli_text(&["SENTINEL", "CKQUORUM", "passerelle"]);
            let replicas = sentinel.cli_text(&["SENTINEL", "REPLICAS", "passerelle"]);
            (quorum.starts_with("OK 3 usable") && replicas.contains(&replica_port.to_string()))
                .then_some(())
        });
    }
    (primary, replica, sentinels)
}

#[tokio::test]
async fn after_a_failover_what_was_replicated_is_there_and_spent_stays_spent() {
    outlives_its_primary(sentinels(None), config(RedisMode::Sentinel, &[]), &credentials(PASSWORD))
        .await;
}

#[tokio::test]
async fn sentinels_and_servers_over_tls_outlive_a_primary() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let identity = Some((read("server.crt"), Secret::new(read("server.key"))));
    let trusting = RedisCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) };
    let config = RedisConfig { tls: true, ..config(RedisMode::Sentinel, &[]) };
    outlives_its_primary(sentinels(Some(folder.path())), config, &trusting).await;
}

async fn outlives_its_primary(
    (mut primary, replica, sentinels): (Server, Server, Vec<(Server, u16)>),
    mut config: RedisConfig,
    credentials: &RedisCredentials,
) {
    config.nodes = sentinels.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let (store, _) = store(&config, credentials);
    let (login, code, token) =
        (key(RecordKind::LOGIN, "a"), key(RecordKind::CODE, "a"), key(RecordKind::TOKEN, "a"));
    store.insert(login.clone(), new_record("login", &[]), timestamp(0)).await.unwrap();
    store.insert(code.clone(), new_record("claims", &["session"]), timestamp(0)).await.unwrap();
    assert!(matches!(
        store.take(&code, b"spent".to_vec(), timestamp(600), timestamp(1)).await,
        Ok(TakeOutcome::Taken(_))
    ));
    store.insert(token.clone(), new_record("token", &["session"]), timestamp(1)).await.unwrap();
    store.revoke(&Family("session".into()), timestamp(600), timestamp(2)).await.unwrap();
    assert_eq!(primary.cli_text(&["WAIT", "1", "5000"]), "1", "as min-replicas-to-write bounds it");
    primary.kill();
    until("the replica is the primary", || {
        replica.cli_text(&["ROLE"]).starts_with("master").then_some(())
    });
    let found =
        wait_for("the store is available", async || match store.load(&login, timestamp(3)).await {
            Ok(found) => Some(found),
            Err(StoreError::Unavailable(_)) => None,
            Err(other) => panic!("{other}"),
        })
        .await;
    assert_eq!(&*found.unwrap().value, b"login");
    let again = store.take(&code, b"again".to_vec(), timestamp(600), timestamp(3)).await.unwrap();
    assert!(
        matches!(&again, TakeOutcome::AlreadyTaken(left) if **left == *b"spent"),
        "a second redemption: {again:?}"
    );
    assert!(
        store.load(&token, timestamp(3)).await.unwrap().is_none(),
        "a token alive after logout"
    );
    call_every_operation(&store, "b").await;
}

#[tokio::test]
async fn an_unresponsive_sentinel_does_not_prevent_the_use_of_the_primary() {
    let ((_primary, _replica, sentinels), (_unresponsive, port)) =
        (sentinels(None), unresponsive_server());
    let ports: Vec<u16> =
        std::iter::once(port).chain(sentinels.iter().take(2).map(|(_, port)| *port)).collect();
    let config = RedisConfig { call_milliseconds: 500, ..config(RedisMode::Sentinel, &ports) };
    call_every_operation(&store(&config, &credentials(PASSWORD)).0, "a").await;
}

/// The Sentinel was cut off together with the old primary, which still considers itself primary.
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
    let outdated = Server::for_file("redis-sentinel", port, folder, &text, &[]);
    let ports: Vec<u16> = std::iter::once(outdated.port)
        .chain(sentinels.iter().take(2).map(|(_, port)| *port))
        .collect();
    let (store, _) = store(&config(RedisMode::Sentinel, &ports), &credentials(PASSWORD));
    call_every_operation(&store, "a").await;
    assert!(old.keys().is_empty(), "written where no hub reads: {:?}", old.keys());
}
