//! Tests `[store.redis]`.

use std::any::Any;

use super::stores::{KEY, folder_with};
use crate::LoadedConfig;
use crate::tests::Folder;
use passerelle_store::kind::StoreSettings;
use passerelle_store::redis::{RedisMode, RedisSettings};

fn redis_settings(loaded: &LoadedConfig) -> &RedisSettings {
    let settings = loaded.store.as_ref().unwrap().settings::<Box<dyn StoreSettings>>().unwrap();
    (settings.as_ref() as &dyn Any).downcast_ref().unwrap()
}

fn folder(table: &str) -> Folder {
    folder_with(&format!("[store.redis]\n{table}"))
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
    let RedisSettings { config, credentials } = redis_settings(&loaded);
    assert_eq!(
        (config.mode, config.call_milliseconds, config.prefix.as_str()),
        (RedisMode::Sentinel, 500, "passerelle")
    );
    assert_eq!(credentials.encryption_keys.len(), 2);
    assert_eq!(credentials.password.as_ref().unwrap().reveal(), "secret");
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
        ("nodes = [\"a:1\"]\nsentinel_user = \"u\"", SEAL, "sentinel_user", "remove it"),
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
