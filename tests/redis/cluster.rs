//! A Cluster: its slots and its failover.

use super::*;

/// Starts three primaries, each with a third of the slots.
fn cluster() -> Vec<Server> {
    cluster_with(3, &[], |_| Vec::new()).into_iter().map(|(node, _)| node).collect()
}

/// Starts `count` nodes, three of them primaries. `more` returns arguments of a node for an
/// additional port. Returns each node with the port to connect to.
fn cluster_with(
    count: usize,
    create: &[&str],
    more: impl Fn(u16) -> Vec<String>,
) -> Vec<(Server, u16)> {
    let node = || {
        let (bus, other) = (free_port().to_string(), free_port());
        let more = more(other);
        let own =
            ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "2000"];
        let node = Server::start(
            &own.into_iter().chain(more.iter().map(String::as_str)).collect::<Vec<_>>(),
        );
        let port = if more.is_empty() { node.port } else { other };
        (node, port)
    };
    let nodes: Vec<(Server, u16)> = (0..count).map(|_| node()).collect();
    let addresses: Vec<String> =
        nodes.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
    let mut words = vec!["--cluster", "create"];
    words.extend(addresses.iter().map(String::as_str));
    words.extend(create);
    words.push("--cluster-yes");
    let output = String::from_utf8_lossy(&nodes[0].0.cli(&words)).into_owned();
    assert!(output.contains("All 16384 slots covered"), "{output}");
    for (node, _) in &nodes {
        until("the cluster is whole", || {
            node.cli_text(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(())
        });
    }
    nodes
}

/// Returns a value of `INFO replication`.
fn replication(node: &Server, name: &str) -> Option<String> {
    let info = node.cli_text(&["INFO", "replication"]);
    info.lines().find_map(|line| {
        line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim_ascii().to_owned())
    })
}

#[tokio::test]
async fn a_tls_cluster_that_loses_a_primary_continues_and_spent_codes_stay_spent() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [ca, certificate, private] = ["ca.crt", "server.crt", "server.key"].map(&file);
    let client = [
        "--cluster-replicas",
        "1",
        "--tls",
        "--cacert",
        &ca,
        "--cert",
        &certificate,
        "--key",
        &private,
    ];
    let (mut nodes, ports): (Vec<Server>, Vec<u16>) = cluster_with(6, &client, |port| {
        let files = [
            "--tls-ca-cert-file",
            &ca,
            "--tls-cert-file",
            &certificate,
            "--tls-key-file",
            &private,
        ];
        let among_them =
            ["--tls-cluster", "yes", "--tls-replication", "yes", "--masterauth", PASSWORD];
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
    let (store, _) = store(
        &config,
        &RedisCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) },
    );
    let codes: Vec<RecordKey> =
        (0..30).map(|n: u32| key(RecordKind::CODE, &format!("code {n}"))).collect();
    for code in &codes {
        store.insert(code.clone(), new_record("claims", &["session"]), timestamp(0)).await.unwrap();
        assert!(matches!(
            store.take(code, b"spent".to_vec(), timestamp(600), timestamp(1)).await,
            Ok(TakeOutcome::Taken(_))
        ));
    }
    until("the replicas have all", || {
        let offsets = |role: &str| {
            let of_role =
                nodes.iter().filter(|node| replication(node, "role").as_deref() == Some(role));
            let mut offsets: Vec<_> =
                of_role.filter_map(|node| replication(node, "master_repl_offset")).collect();
            offsets.sort();
            offsets
        };
        let (primaries, replicas) = (offsets("master"), offsets("slave"));
        (primaries.len() == 3 && primaries == replicas).then_some(())
    });
    nodes.remove(0).kill();
    until("a replica is the third primary", || {
        let primaries = nodes
            .iter()
            .filter(|node| replication(node, "role").as_deref() == Some("master"))
            .count();
        (primaries == 3).then_some(())
    });
    for code in &codes {
        let again = wait_for("the store is available", async || {
            match store.take(code, b"again".to_vec(), timestamp(600), timestamp(3)).await {
                Ok(again) => Some(again),
                Err(StoreError::Unavailable(_)) => None,
                Err(other) => panic!("{other}"),
            }
        })
        .await;
        assert!(
            matches!(&again, TakeOutcome::AlreadyTaken(left) if **left == *b"spent"),
            "a second redemption: {again:?}"
        );
    }
    futures_util::future::join_all(
        (0..30).map(async |n: u32| call_every_operation(&store, &n.to_string()).await),
    )
    .await;
}

#[tokio::test]
async fn a_cluster_spreads_the_records_and_keeps_every_rule() {
    let nodes = cluster();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let (store, _) = store(&config(RedisMode::Cluster, &ports[..1]), &credentials(PASSWORD));
    let info = store.inspect().await.unwrap().unwrap();
    assert_eq!(info.matches("noeviction").count(), 3, "each server is checked: {info}");
    let lives = (0..60).map(async |n: u32| call_every_operation(&store, &n.to_string()).await);
    futures_util::future::join_all(lives).await;
    for node in &nodes {
        assert!(node.keys().len() > 20, "{} has {} keys", node.port, node.keys().len());
    }
}

#[tokio::test]
async fn many_redeem_one_code_on_a_cluster_and_one_wins() {
    let nodes = cluster();
    let ports: Vec<u16> = nodes.iter().map(|node| node.port).collect();
    let hubs: Vec<_> = (0..3)
        .map(|_| store(&config(RedisMode::Cluster, &ports), &credentials(PASSWORD)).0)
        .collect();
    for round in 0..50 {
        let code = key(RecordKind::CODE, &round.to_string());
        hubs[0]
            .insert(code.clone(), new_record("claims", &["session", "grant"]), timestamp(0))
            .await
            .unwrap();
        let takes = hubs.iter().cycle().take(12).map(async |hub| {
            hub.take(&code, b"spent".to_vec(), timestamp(90), timestamp(1)).await.unwrap()
        });
        let taken = futures_util::future::join_all(takes).await;
        assert_eq!(
            taken.iter().filter(|taken| matches!(taken, TakeOutcome::Taken(_))).count(),
            1,
            "round {round}"
        );
        assert_eq!(
            taken.iter().filter(|taken| matches!(taken, TakeOutcome::AlreadyTaken(_))).count(),
            11,
            "round {round}"
        );
    }
}

#[tokio::test]
async fn an_unresponsive_node_does_not_prevent_the_use_of_the_cluster() {
    let (servers, (_unresponsive, port)) = (cluster(), unresponsive_server());
    let ports: Vec<u16> =
        std::iter::once(port).chain(servers.iter().map(|server| server.port)).collect();
    let config = RedisConfig { call_milliseconds: 500, ..config(RedisMode::Cluster, &ports) };
    call_every_operation(&store(&config, &credentials(PASSWORD)).0, "a").await;
}

/// Providers of managed servers offer such a Cluster: one node that has every slot.
#[tokio::test]
async fn the_only_node_of_a_cluster_serves_as_one_server() {
    let bus = free_port().to_string();
    let node = Server::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
    assert_eq!(node.cli_text(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]), "OK");
    until("the cluster is whole", || {
        node.cli_text(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(())
    });
    let (store, _) = store(&config(RedisMode::Single, &[node.port]), &credentials(PASSWORD));
    store.inspect().await.unwrap().unwrap();
    call_every_operation(&store, "a").await;
}
