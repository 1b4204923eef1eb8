//! A single server, and the requirements that the hub checks.

use super::*;

/// Returns the ACL rule of docs/redis.md, with the permissions that the hub needs.
fn least_privilege() -> String {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/redis.md")).unwrap();
    let rule = text
        .lines()
        .find(|line| line.starts_with("user passerelle "))
        .expect("docs/redis.md gives an ACL rule");
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
    call_every_operation(&store, "a").await;
    for refused in [
        &["KEYS", "*"][..],
        &["GET", "other"],
        &["FLUSHALL"],
        &["CONFIG", "GET", "*"],
        &["ACL", "LIST"],
    ] {
        let login = ["--user", "passerelle", "--pass", "least"];
        let answer =
            String::from_utf8(cli(server.port, &[&login[..], refused].concat(), None)).unwrap();
        assert!(answer.starts_with("NOPERM"), "{refused:?}: {answer}");
    }
}

#[tokio::test]
async fn a_tls_server_of_another_authority_is_refused() {
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
    let trusting = RedisCredentials { ca: Some(read("ca.crt")), identity, ..credentials(PASSWORD) };
    call_every_operation(&store(&config, &trusting).0, "a").await;

    let default_user = RedisCredentials { identity: None, ..trusting.clone() };
    let refused =
        store(&config, &default_user).0.load(&key(RecordKind::LOGIN, "a"), timestamp(1)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "the server asks for a certificate: {refused:?}"
    );
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let ca = std::fs::read_to_string(other.path().join("ca.crt")).unwrap();
    let mistaken = RedisCredentials { ca: Some(ca), ..trusting };
    let refused =
        store(&config, &mistaken).0.load(&key(RecordKind::LOGIN, "a"), timestamp(1)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "an impostor's certificate: {refused:?}"
    );
    drop(server);
}

#[tokio::test]
async fn a_server_that_would_evict_is_rejected_with_the_fix() {
    let server = Server::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials(PASSWORD));
    let refused = store.join_blocking().unwrap_err().to_string();
    assert!(
        refused.contains("allkeys-lru") && refused.contains("set maxmemory-policy noeviction"),
        "{refused}"
    );
    let outcome =
        store.insert(key(RecordKind::LOGIN, "a"), new_record("1", &[]), timestamp(0)).await;
    assert!(
        matches!(outcome, Err(StoreError::Unavailable(_))),
        "the server was unreachable at the start: {outcome:?}"
    );
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let served = async || {
        store.insert(key(RecordKind::LOGIN, "a"), new_record("1", &[]), timestamp(0)).await
    };
    while served().await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_hub_whose_keys_are_not_the_others_is_refused_and_a_documented_rotation_is_accepted() {
    let server = Server::start(&[]);
    let config = config(RedisMode::Single, &[server.port]);
    let starts = |keys: &[&str]| {
        let encryption_keys = keys.iter().map(|key| Secret::new((*key).to_owned())).collect();
        let (store, _) =
            store(&config, &RedisCredentials { encryption_keys, ..credentials(PASSWORD) });
        move || store.join_blocking()
    };
    for keys in
        [&["old"][..], &["old", "new"], &["new", "old"], &["old", "new"], &["new", "old"], &["new"]]
    {
        let summary = starts(keys)().unwrap();
        assert!(summary.is_ok(), "{keys:?}: {summary:?}");
    }
    for refused in [&["old"][..], &["another"]] {
        let fault = starts(refused)().unwrap_err().to_string();
        assert!(
            fault.contains("encryption_keys lacks here") && fault.contains("delete hub:ring"),
            "{refused:?}: {fault}"
        );
    }
    // An inspection changes no record, because it may concern a future configuration.
    let (inspecting, _) = store(
        &config,
        &RedisCredentials {
            encryption_keys: ["next", "new"].map(|key| Secret::new(key.to_owned())).to_vec(),
            ..credentials(PASSWORD)
        },
    );
    assert!(inspecting.inspect().await.unwrap().is_ok());
    assert!(starts(&["new"])().unwrap().is_ok());
    server.cli(&["DEL", "hub:ring"]);
    assert!(starts(&["another"])().unwrap().is_ok(), "as the message says");
}

/// Cookies and client ids of two platforms may be equal, and a session of one platform must not be
/// valid at the other.
#[tokio::test]
async fn two_platforms_under_one_prefix_are_rejected_before_they_read_each_other() {
    let server = Server::start(&[]);
    let config = config(RedisMode::Single, &[server.port]);
    let starts = |issuer: &str| {
        let metrics = Arc::new(Metrics::new().unwrap());
        let store = RedisStore::new(
            &config,
            &credentials(PASSWORD),
            ample_capacities(),
            Env::system(),
            &metrics,
        )
        .unwrap();
        Arc::new(store.for_issuer(issuer)).join_blocking()
    };
    assert!(starts("https://one.example").unwrap().is_ok());
    assert!(starts("https://one.example").unwrap().is_ok());
    let fault = starts("https://two.example").unwrap_err().to_string();
    assert!(fault.contains("https://one.example") && fault.contains("its own prefix"), "{fault}");
    server.cli(&["DEL", "hub:ring"]);
    assert!(starts("https://two.example").unwrap().is_ok(), "as the message says");
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_nothing_is_stored() {
    let server = Server::start(&[]);
    let (store, _) = store(&config(RedisMode::Single, &[server.port]), &credentials("wrong"));
    let Err(StoreError::Unavailable(why)) =
        store.insert(key(RecordKind::LOGIN, "a"), new_record("1", &[]), timestamp(0)).await
    else {
        panic!("the server accepted a wrong password")
    };
    assert!(why.to_ascii_lowercase().contains("auth"), "{why}");
    assert!(server.keys().iter().all(String::is_empty));
}
