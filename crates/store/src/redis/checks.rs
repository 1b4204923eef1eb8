//! Registers the kind `redis`, and checks `[store.redis]` (docs/redis.md).

use std::sync::Arc;

use async_trait::async_trait;

use super::settings::{NodeAddress, RedisConfig, RedisCredentials, RedisMode};
use super::{RedisStore, RedisStoreError};
use crate::counters::Counters;
use crate::encryption_settings::read_encryption_keys;
use crate::kind::{OpenStoreError, OpenedStore, StoreContext, StoreSettings, store_settings};
use passerelle_settings::{ConfiguredTable, KindTable, TableKind};

/// A checked `[store.redis]` with its secrets.
pub struct RedisSettings {
    pub config: RedisConfig,
    pub credentials: RedisCredentials,
}

/// The kind `redis`.
pub const KIND: TableKind = TableKind {
    name: "redis",
    summary: "A Redis or Valkey shared by several hubs.",
    schema: |generator| generator.subschema_for::<RedisConfig>(),
    load,
};

fn load(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: RedisConfig = table.deserialize()?;
    check_nodes(table, &config);
    check_mode(table, &config);
    check_combinations(table, &config);
    let credentials = read_credentials(table, &config);
    let shown = config.clone();
    Some(store_settings(table, &shown, RedisSettings { config, credentials }))
}

#[async_trait]
impl StoreSettings for RedisSettings {
    fn open(&self, context: &StoreContext) -> Result<OpenedStore, OpenStoreError> {
        let store = Arc::new(self.build(context)?);
        match store.join_blocking()? {
            Ok(summary) => tracing::info!(store = summary, "shared store connected"),
            Err(error) => tracing::error!(
                error,
                "the store does not answer yet; the hub starts, and is not ready"
            ),
        }
        let checked_store = Arc::clone(&store);
        Ok(OpenedStore {
            check: Box::new(move || checked_store.last_error().map_or(Ok(()), Err)),
            counters: Some(Arc::clone(&store) as Arc<dyn Counters>),
            ..OpenedStore::new(store)
        })
    }

    fn uses_unix_socket(&self) -> bool {
        let addresses = self.config.nodes.iter().filter_map(|node| NodeAddress::parse(node));
        addresses.into_iter().any(|address| matches!(address, NodeAddress::Socket(_)))
    }

    async fn probe(
        &self,
        context: &StoreContext,
    ) -> Result<Option<Result<String, String>>, OpenStoreError> {
        Ok(Some(match self.build(context)?.inspect().await {
            Ok(answer) => answer,
            Err(error @ RedisStoreError::Misconfigured { .. }) => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        }))
    }
}

impl RedisSettings {
    fn build(&self, context: &StoreContext) -> Result<RedisStore, RedisStoreError> {
        let StoreContext { capacities, issuer, env, metrics } = context;
        let store = RedisStore::new(
            &self.config,
            &self.credentials,
            capacities.clone(),
            env.clone(),
            metrics,
        )?;
        Ok(store.for_issuer(issuer))
    }
}

impl From<RedisStoreError> for OpenStoreError {
    fn from(error: RedisStoreError) -> Self {
        Self(error.to_string())
    }
}

fn read_credentials(table: &mut KindTable<'_>, redis: &RedisConfig) -> RedisCredentials {
    let ca = table.read_pem("ca", redis.ca.as_deref());
    let certificate = table.read_pem("client_certificate", redis.client_certificate.as_deref());
    let password = table.resolve_secret("password", redis.password.as_ref());
    let sentinel_password =
        table.resolve_secret("sentinel_password", redis.sentinel_password.as_ref());
    let identity = certificate.zip(table.resolve_secret("client_key", redis.client_key.as_ref()));
    let encryption_keys = read_encryption_keys(table, &redis.encryption_keys);
    RedisCredentials { password, sentinel_password, ca, identity, encryption_keys }
}

fn check_nodes(table: &mut KindTable<'_>, redis: &RedisConfig) {
    if redis.nodes.is_empty() {
        table.report("nodes", "is empty", "write at least one, for example [\"127.0.0.1:6379\"]");
    }
    if redis.mode == RedisMode::Single && redis.nodes.len() > 1 {
        let fix = "keep one, or set mode = \"sentinel\" or \"cluster\"";
        table.report("nodes", "contains several servers, but mode is \"single\"", fix);
    }
    for (index, node) in redis.nodes.iter().enumerate() {
        let is_good = match NodeAddress::parse(node) {
            Some(NodeAddress::Socket(_)) => redis.mode == RedisMode::Single && !redis.tls,
            Some(NodeAddress::Host(..)) => true,
            None => false,
        };
        if !is_good {
            let fix =
                "write host:port; a single server without TLS may also be unix:/path/of/its.sock";
            table.report(&format!("nodes[{index}]"), "is not the address of a server", fix);
        }
    }
}

/// Checks keys that belong to one mode only.
fn check_mode(table: &mut KindTable<'_>, redis: &RedisConfig) {
    let mut report = |key: &str, message: &str, fix: &str| table.report(key, message, fix);
    match (redis.mode, redis.primary.as_deref()) {
        (RedisMode::Sentinel, None | Some("")) => {
            report(
                "primary",
                "is missing",
                "write the name after `sentinel monitor` in the Sentinels' configuration",
            );
        }
        (RedisMode::Single | RedisMode::Cluster, Some(_)) => {
            report("primary", "is for Sentinels only", "remove it, or set mode = \"sentinel\"");
        }
        (RedisMode::Sentinel, Some(_)) | (RedisMode::Single | RedisMode::Cluster, None) => {}
    }
    let credentials = [
        ("sentinel_user", redis.sentinel_user.is_some()),
        ("sentinel_password", redis.sentinel_password.is_some()),
    ];
    for (key, is_set) in credentials {
        if is_set && redis.mode != RedisMode::Sentinel {
            report(key, "is for Sentinels only", "remove it, or set mode = \"sentinel\"");
        }
    }
    if redis.mode == RedisMode::Cluster && redis.database != 0 {
        report("database", "is not 0, the only database of a Cluster", "remove it");
    }
}

/// Checks keys that belong together.
fn check_combinations(table: &mut KindTable<'_>, redis: &RedisConfig) {
    let mut report = |key: &str, message: &str, fix: &str| table.report(key, message, fix);
    let halves = [
        ("user", "password", redis.user.is_some() && redis.password.is_none()),
        (
            "sentinel_user",
            "sentinel_password",
            redis.mode == RedisMode::Sentinel
                && redis.sentinel_user.is_some()
                && redis.sentinel_password.is_none(),
        ),
        (
            "client_certificate",
            "client_key",
            redis.client_certificate.is_some() && redis.client_key.is_none(),
        ),
        (
            "client_key",
            "client_certificate",
            redis.client_key.is_some() && redis.client_certificate.is_none(),
        ),
    ];
    for (given, missing, is_half) in halves {
        if is_half {
            report(
                given,
                &format!("is set without {missing}"),
                &format!("add {missing}, or remove {given}"),
            );
        }
    }
    if !redis.tls && (redis.ca.is_some() || redis.client_certificate.is_some()) {
        report("tls", "is off, but certificates are set", "set tls = true, or remove them");
    }
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    if !(1..=32).contains(&redis.prefix.len()) || !redis.prefix.bytes().all(is_plain) {
        report(
            "prefix",
            "is not a valid key prefix",
            "use 1 to 32 characters of letters, digits, - _ and .",
        );
    }
}
