//! Defines the `[store.redis]` table.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_protocol::ids::Secret;
use passerelle_settings::{AuthoritiesPath, CertificatePath, SecretRef};

/// A Redis, version 7.0 or later, or Valkey, shared by any number of hubs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "mode": "sentinel",
    "nodes": ["10.0.0.1:26379", "10.0.0.2:26379", "10.0.0.3:26379"],
    "primary": "passerelle",
    "tls": true,
    "password": { "file": "redis.password" },
    "encryption_keys": [{ "file": "store.key" }]
}]))]
pub struct RedisConfig {
    /// `host:port` of the server, of the Sentinels, or of some nodes of the Cluster; a single
    /// server may also be `unix:/path/of/its.sock`.
    pub nodes: Vec<String>,
    /// Kind of deployment.
    #[serde(default)]
    pub mode: RedisMode,
    /// The Sentinels' name of the primary; only with Sentinels.
    #[serde(default)]
    pub primary: Option<String>,
    /// Number of the database; a Cluster has only 0.
    #[serde(default)]
    pub database: u16,
    /// ACL user. Default: the server's default user.
    #[serde(default)]
    pub user: Option<String>,
    /// Password of the user.
    #[serde(default)]
    pub password: Option<SecretRef>,
    /// ACL user at the Sentinels, which have their own users.
    #[serde(default)]
    pub sentinel_user: Option<String>,
    /// Password at the Sentinels.
    #[serde(default)]
    pub sentinel_password: Option<SecretRef>,
    /// TLS to every node, including Sentinels. Host names are always verified.
    #[serde(default)]
    pub tls: bool,
    /// PEM file of the only certificate authorities trusted for the servers. Default: the system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// PEM file of the hub's certificate, followed by its chain, for servers that require one.
    #[serde(default)]
    pub client_certificate: Option<CertificatePath>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// Prefix of every Redis key; a different one for each `base_url` that shares the server.
    #[serde(default = "default_prefix")]
    pub prefix: String,
    /// Keys that encrypt records, each of at least 32 random characters. The first encrypts, all
    /// decrypt. The same for all hubs.
    pub encryption_keys: Vec<SecretRef>,
    /// Timeout of a call in milliseconds. The hub retries a call once.
    #[serde(default = "default_call_milliseconds")]
    #[schemars(range(min = 10, max = 10_000))]
    pub call_milliseconds: u64,
}

/// Credentials and encryption keys of the servers. Certificates and keys are PEM.
#[derive(Clone, Default, Debug)]
pub struct RedisCredentials {
    /// Password of the user.
    pub password: Option<Secret<String>>,
    /// Password at the Sentinels.
    pub sentinel_password: Option<Secret<String>>,
    /// The only certificate authorities trusted for the servers; `None` for the system's.
    pub ca: Option<String>,
    /// The hub's certificate with its chain, and its key.
    pub identity: Option<(String, Secret<String>)>,
    /// The encryption keys, at least one. The first encrypts, all decrypt.
    pub encryption_keys: Vec<Secret<String>>,
}

fn default_prefix() -> String {
    "passerelle".into()
}

const fn default_call_milliseconds() -> u64 {
    500
}

/// Kind of Redis deployment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedisMode {
    /// A single server.
    #[default]
    Single,
    /// Sentinels, which name the current primary.
    Sentinel,
    /// A Redis Cluster.
    Cluster,
}

/// Address of a Redis server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NodeAddress {
    /// Host and port.
    Host(String, u16),
    /// Path of a Unix socket.
    Socket(PathBuf),
}

impl NodeAddress {
    /// Parses `host:port`, `[::1]:port` or `unix:/path`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Path::new(path).is_absolute().then(|| Self::Socket(path.into()));
        }
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_host = |c: u8| c.is_ascii_alphanumeric() || b"-._:".contains(&c);
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty() && host.bytes().all(is_host)).then(|| Self::Host(host.to_owned(), port))
    }
}
