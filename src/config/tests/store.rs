//! Tests `[store.redis]` and `[store.memory]`.

use std::path::Path;

use super::super::model::{RedisMode, StoreConfig};
use super::super::tests::Folder;

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn folder(table: &str) -> Folder {
    stored(&format!("[store.redis]\n{table}"))
}

fn stored(tables: &str) -> Folder {
    let text = format!("identity_source = \"provider\"\n{tables}\n");
    let folder = Folder::good().edit("passerelle.toml", "identity_source = \"provider\"\n", &text);
    folder
        .variable("SEAL", KEY)
        .variable("OTHER", &KEY.to_uppercase())
        .variable("SHORT", "short")
        .variable("PASSWORD", "secret")
}

#[test]
fn a_store_is_read_with_its_secrets_and_debug_omits_them() {
    let loaded = folder(
        r#"nodes = ["10.0.0.1:26379", "[::1]:26379", "redis.example.org:26379"]
mode = "sentinel"
primary = "passerelle"
user = "passerelle"
password = { env = "PASSWORD" }
encryption_keys = [{ env = "SEAL" }, { env = "OTHER" }]"#,
    )
    .loaded();
    let Some(StoreConfig::Redis(redis)) = &loaded.settings.store else { panic!("no store") };
    assert_eq!(
        (redis.mode, redis.call_milliseconds, redis.prefix.as_str()),
        (RedisMode::Sentinel, 500, "passerelle")
    );
    assert_eq!(loaded.store.encryption_keys.len(), 2);
    assert!(!format!("{loaded:?}").contains(KEY));
}

#[test]
fn each_bad_store_is_named_with_its_fix() {
    const SEAL: &str = "encryption_keys = [{ env = \"SEAL\" }]";
    let rows = [
        ("nodes = []", SEAL, "nodes", "at least one"),
        ("nodes = [\"a:1\", \"b:1\"]", SEAL, "nodes", "mode = \"sentinel\" or \"cluster\""),
        ("nodes = [\"redis://a:1\"]", SEAL, "nodes[0]", "host:port"),
        ("nodes = [\"a\"]", SEAL, "nodes[0]", "host:port"),
        ("nodes = [\"a:0\"]", SEAL, "nodes[0]", "host:port"),
        ("nodes = [\"unix:/a.sock\"]\nmode = \"cluster\"", SEAL, "nodes[0]", "a single server"),
        ("nodes = [\"a:1\"]\nmode = \"sentinel\"", SEAL, "primary", "sentinel monitor"),
        (
            "nodes = [\"a:1\"]\nmode = \"sentinel\"\nprimary = \"\"",
            SEAL,
            "primary",
            "sentinel monitor",
        ),
        (
            "nodes = [\"a:1\"]\nmode = \"sentinel\"\nprimary = \"p\"\nsentinel_user = \"u\"",
            SEAL,
            "sentinel_user",
            "sentinel_password",
        ),
        ("nodes = [\"a:1\"]\nprimary = \"p\"", SEAL, "primary", "remove it"),
        (
            "nodes = [\"a:1\"]\nmode = \"cluster\"\ndatabase = 1",
            SEAL,
            "database",
            "the only database",
        ),
        ("nodes = [\"a:1\"]\nuser = \"u\"", SEAL, "user", "add password"),
        ("nodes = [\"a:1\"]\nca = \"none.crt\"\ntls = true", SEAL, "ca", "missing"),
        ("nodes = [\"a:1\"]\nprefix = \"a{b}\"", SEAL, "prefix", "letters, digits"),
        ("nodes = [\"a:1\"]\ncall_milliseconds = 1", SEAL, "call_milliseconds", "from 10 to 10000"),
        ("nodes = [\"a:1\"]\nport = 1", SEAL, "port", "nodes"),
        ("nodes = [\"a:1\"]", "encryption_keys = []", "encryption_keys", "32 random characters"),
        (
            "nodes = [\"a:1\"]",
            "encryption_keys = [{ env = \"SHORT\" }]",
            "encryption_keys[0]",
            "too short",
        ),
        (
            "nodes = [\"a:1\"]",
            "encryption_keys = [{ env = \"SEAL\" }, { env = \"SEAL\" }]",
            "encryption_keys[1]",
            "same key",
        ),
    ];
    for (table, seal, key, word) in rows {
        let (file, named, text) = folder(&format!("{table}\n{seal}")).problem();
        assert_eq!(
            (file.as_str(), named),
            ("passerelle.toml", format!("store.redis.{key}")),
            "{table}: {text}"
        );
        assert!(text.contains(word), "{table}: {text}");
    }
}

#[test]
fn a_relative_snapshot_path_is_in_the_configuration_folder() {
    for (written, wanted) in
        [("state/store.snapshot", None), ("/var/lib/hub/s", Some(Path::new("/var/lib/hub/s")))]
    {
        let folder = stored(&format!(
            "[store.memory]\nsnapshot = \"{written}\"\nencryption_keys = [{{ env = \"SEAL\" }}, {{ env = \"OTHER\" }}]"
        ));
        let loaded = folder.loaded();
        let Some(StoreConfig::Memory(memory)) = &loaded.settings.store else { panic!("no store") };
        assert_eq!(
            memory.snapshot,
            wanted.map_or_else(|| folder.path().join(written), Path::to_owned)
        );
        assert_eq!(loaded.store.encryption_keys.len(), 2);
        assert!(!format!("{loaded:?}").contains(KEY));
    }
}

#[test]
fn each_bad_snapshot_is_named_with_its_fix() {
    const REDIS: &str = "[store.redis]\nnodes = [\"a:1\"]\nencryption_keys = [{ env = \"SEAL\" }]";
    let seal = |keys: &str| format!("[store.memory]\nsnapshot = \"s\"\nencryption_keys = [{keys}]");
    let file = |path: &str| {
        format!("[store.memory]\nsnapshot = \"{path}\"\nencryption_keys = [{{ env = \"SEAL\" }}]")
    };
    let rows = [
        (file(""), "store.memory.snapshot", "state/store.snapshot"),
        (file("state/"), "store.memory.snapshot", "is not the path of a file"),
        (file(".."), "store.memory.snapshot", "is not the path of a file"),
        ("[store.memory]\nsnapshot = \"s\"".to_owned(), "store.memory.encryption_keys", "missing"),
        ("[store.memory]\nencryption_keys = []".to_owned(), "store.memory.snapshot", "missing"),
        (seal(""), "store.memory.encryption_keys", "32 random characters"),
        (seal("{ env = \"SHORT\" }"), "store.memory.encryption_keys[0]", "too short"),
        (
            seal("{ env = \"SEAL\" }, { env = \"SEAL\" }"),
            "store.memory.encryption_keys[1]",
            "same key",
        ),
        (
            format!("{}\n{REDIS}", seal("{ env = \"SEAL\" }")),
            "store",
            "keep [store.memory] for a single hub, or [store.redis]",
        ),
    ];
    for (tables, key, word) in rows {
        let (file, named, text) = stored(&tables).problem();
        assert_eq!((file.as_str(), named.as_str()), ("passerelle.toml", key), "{tables}: {text}");
        assert!(text.contains(word), "{tables}: {text}");
    }
}
