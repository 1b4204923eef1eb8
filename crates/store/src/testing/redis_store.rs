//! Stores on a real Redis server that tests share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::Metrics;
use serde_json::json;

use super::redis_server::{PASSWORD, Server};
use crate::Capacities;
use crate::redis::{RedisConfig, RedisCredentials, RedisStore};

/// Server shared by all tests that don't harm it; each store has its own prefix.
pub fn shared_server() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&[]))
}

impl RedisConfig {
    /// Returns the configuration with these nodes and defaults.
    pub fn with_nodes(nodes: Vec<String>) -> Self {
        serde_json::from_value(json!({ "nodes": nodes, "encryption_keys": [] })).unwrap()
    }
}

pub fn config(server: &Server, prefix: &str) -> RedisConfig {
    let nodes = vec![format!("unix:{}", server.socket().display())];
    RedisConfig {
        prefix: prefix.to_owned(),
        call_milliseconds: 5000,
        ..RedisConfig::with_nodes(nodes)
    }
}

pub fn credentials(encryption_keys: &[&str]) -> RedisCredentials {
    RedisCredentials {
        password: Some(Secret::new(PASSWORD.to_owned())),
        encryption_keys: encryption_keys.iter().map(|key| Secret::new((*key).to_owned())).collect(),
        ..RedisCredentials::default()
    }
}

pub fn store_at(
    server: &Server,
    prefix: &str,
    encryption_keys: &[&str],
    capacities: Capacities,
) -> RedisStore {
    let metrics = Arc::new(Metrics::new().unwrap());
    RedisStore::new(
        &config(server, prefix),
        &credentials(encryption_keys),
        capacities,
        Env::system(),
        &metrics,
    )
    .unwrap()
}

pub fn fresh_prefix() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
