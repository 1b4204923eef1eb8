//! `passerelle serve`, stopped while it still starts.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_store::memory::MemoryStore;
use passerelle_store::memory::snapshot_file::{SnapshotFile, SnapshotLoad};
use passerelle_store::{Capacities, NewRecord, RecordKey, RecordKind, Store as _};

use crate::folder::{SETTINGS, VARIABLE, valid_config_folder};

const STORE_KEY: &str = "0123456789abcdef0123456789abcdef-store";
/// So many that restoring them takes longer than a signal.
const SESSIONS: usize = 50_000;

/// The hub restarts twice, and no session is lost.
#[test]
fn a_hub_stopped_during_its_start_keeps_the_snapshot_that_it_restored() {
    let folder = valid_config_folder();
    let memory = "[store.memory]\nsnapshot = \"store.snapshot\"\nencryption_keys = [{ env = \"STORE_KEY\" }]\n";
    fs::write(folder.path().join("passerelle.toml"), format!("{SETTINGS}\n{memory}")).unwrap();
    let (env, snapshot) = (Env::system(), folder.path().join("store.snapshot"));
    let snapshots = SnapshotFile::new(
        &snapshot,
        &[Secret::new(STORE_KEY.into())],
        "http://localhost:8080/api/v2",
    );
    let store = MemoryStore::new(Capacities::default().with_records(RecordKind::SESSION, SESSIONS));
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        for number in 0..SESSIONS {
            let (key, expires_at) = (
                RecordKey { kind: RecordKind::SESSION, name: number.to_string().into() },
                env.now() + Duration::from_secs(3600),
            );
            let draft = NewRecord {
                value: vec![b'x'; 500],
                expires_at,
                expires_unread_at: None,
                families: [].into(),
            };
            store.insert(key, draft, env.now()).await.unwrap();
        }
    });
    snapshots.save(&store, &env).unwrap();

    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command
        .arg("serve")
        .arg("--config")
        .arg(folder.path())
        .env(VARIABLE.0, VARIABLE.1)
        .env("STORE_KEY", STORE_KEY);
    let mut hub = command.stderr(Stdio::null()).spawn().unwrap();
    while snapshot.exists() && hub.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    assert!(
        Command::new("kill").args(["-TERM", &hub.id().to_string()]).status().unwrap().success()
    );
    assert!(
        hub.wait().unwrap().success(),
        "the signal killed the hub, and the restored records with it"
    );

    let next = MemoryStore::new(Capacities::default().with_records(RecordKind::SESSION, SESSIONS));
    let SnapshotLoad::Restored { restored, .. } = snapshots.load(&next, env.now()).unwrap() else {
        panic!("there is no snapshot")
    };
    assert_eq!(restored.records, SESSIONS);
}

#[test]
fn a_hub_with_too_little_memory_exits_with_a_sentence_instead_of_an_abort() {
    let folder = valid_config_folder();
    let program = env!("CARGO_BIN_EXE_passerelle");
    // 400 MiB of address space: enough to begin, and not to serve.
    let script = format!("ulimit -v 409600; exec {program} serve --config \"$0\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(folder.path())
        .env(VARIABLE.0, VARIABLE.1)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("400 MiB of address space") && text.contains("at least 512"), "{text}");
}
