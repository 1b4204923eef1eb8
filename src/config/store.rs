//! `[store.…]` of `passerelle.toml`: where logins, sessions, codes and tokens live (docs/redis.md, docs/deploying.md).
//!
//! Owns: the shape and rules of the table, and the secrets that it leads to. Must not know: how a store works.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::SecretRef;
use super::problem::Problem;
use super::register::read_pem;
use super::secret_rules::Context;
use super::secrets;
use super::settings::within;
use super::source::Source;
use crate::digest;
use crate::ids::Secret;

/// A key that seals records is derived from a secret of at least this many characters.
const SEAL_CHARACTERS: usize = 32;

/// Without such a table, this process's memory, and nothing outlives it: for one hub alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum StoreConfig {
    /// This process's memory, which a planned restart keeps.
    Memory(MemoryConfig),
    /// A Redis or Valkey that several hubs share.
    Redis(Box<RedisConfig>),
}

/// The memory of this process, for one hub alone: a planned restart takes what is there to the next process.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// File that a hub which goes down in order writes what it knows to, sealed, and that the next one takes up: logins on
    /// their way, sessions, codes, tokens and revocations. In a folder that the hub may write to, for itself alone.
    pub snapshot: PathBuf,
    /// What the file is sealed with: each leads to at least 32 random characters. The first seals, all open.
    pub seal_keys: Vec<SecretRef>,
}

/// A Redis, version 7.0 or later, or Valkey, that any number of hubs share.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// `host:port` of the server, of the Sentinels, or of some nodes of the Cluster; one server alone may also be
    /// `unix:/path/of/its.sock`.
    pub nodes: Vec<String>,
    /// What answers there.
    #[serde(default)]
    pub mode: RedisMode,
    /// What the Sentinels call the primary; needed with them alone.
    #[serde(default)]
    pub primary: Option<String>,
    /// Number of the database; a Cluster has 0 alone.
    #[serde(default)]
    pub database: u16,
    /// ACL user; the default one when absent.
    #[serde(default)]
    pub user: Option<String>,
    /// Password of the user.
    #[serde(default)]
    pub password: Option<SecretRef>,
    /// ACL user at the Sentinels, which don't share those of the servers.
    #[serde(default)]
    pub sentinel_user: Option<String>,
    /// Password at the Sentinels.
    #[serde(default)]
    pub sentinel_password: Option<SecretRef>,
    /// TLS to every node, Sentinels included. Names are always verified.
    #[serde(default)]
    pub tls: bool,
    /// PEM file of the only authorities that the servers' certificates may come from; those of the machine when absent.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// PEM file of the hub's certificate, its chain behind it, for servers that ask for one.
    #[serde(default)]
    pub client_certificate: Option<PathBuf>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// First part of every key: a word of its own for each hub address that shares the server.
    #[serde(default = "prefix")]
    pub prefix: String,
    /// What records are sealed with: each leads to at least 32 random characters. The first seals, all open. All hubs
    /// have the same.
    pub seal_keys: Vec<SecretRef>,
    /// A call without an answer for this long is given up, and tried once more.
    #[serde(default = "call_milliseconds")]
    pub call_milliseconds: u64,
}

impl RedisConfig {
    /// As a file has it that says no more than this.
    #[must_use]
    pub fn at(nodes: Vec<String>) -> Self {
        Self {
            nodes,
            mode: RedisMode::default(),
            primary: None,
            database: 0,
            user: None,
            password: None,
            sentinel_user: None,
            sentinel_password: None,
            tls: false,
            ca: None,
            client_certificate: None,
            client_key: None,
            prefix: prefix(),
            seal_keys: Vec::new(),
            call_milliseconds: call_milliseconds(),
        }
    }
}

fn prefix() -> String {
    "passerelle".into()
}

const fn call_milliseconds() -> u64 {
    500
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedisMode {
    /// One server.
    #[default]
    Single,
    /// Sentinels, which say what the primary is now.
    Sentinel,
    Cluster,
}

/// What a store is called with, and what seals its records: of a snapshot the last alone. Texts are PEM.
#[derive(Clone, Default, Debug)]
pub struct StoreCredentials {
    pub password: Option<Secret<String>>,
    pub sentinel_password: Option<Secret<String>>,
    /// The only authorities that the servers' certificates may come from.
    pub ca: Option<String>,
    /// The hub's certificate with its chain, and its key.
    pub identity: Option<(String, Secret<String>)>,
    /// At least one; the first seals.
    pub seal_keys: Vec<Secret<String>>,
}

pub(super) fn check(
    source: &Source,
    configured: &StoreConfig,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> StoreCredentials {
    if source.keys_of("store") > 1 {
        let mend = "keep [store.memory] for one hub alone, or [store.redis] for hubs that share it";
        problems.push(source.problem("store", "names two stores", mend));
    }
    match configured {
        StoreConfig::Memory(memory) => of_memory(source, memory, context, problems),
        StoreConfig::Redis(redis) => of_redis(source, redis, context, problems),
    }
}

fn of_memory(
    source: &Source,
    memory: &MemoryConfig,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> StoreCredentials {
    let path = memory.snapshot.as_os_str().as_encoded_bytes();
    if memory.snapshot.file_name().is_none() || path.ends_with(b"/") {
        let mend = "write a file's path, as \"state/store.snapshot\"";
        problems.push(source.problem("store.memory.snapshot", "names no file", mend));
    }
    let seal_keys =
        seal_keys(source, "store.memory.seal_keys", &memory.seal_keys, context, problems);
    StoreCredentials { seal_keys, ..StoreCredentials::default() }
}

fn of_redis(
    source: &Source,
    redis: &RedisConfig,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> StoreCredentials {
    nodes(source, redis, problems);
    shape(source, redis, problems);
    within(
        source,
        "store.redis.call_milliseconds",
        redis.call_milliseconds,
        (10, 10_000),
        problems,
    );
    let mut keep =
        |read: Result<String, Problem>| read.map_err(|problem| problems.push(problem)).ok();
    let pem = |key: &str, file: &Path| read_pem(source, key, file, context.folder);
    let ca = redis.ca.as_deref().and_then(|file| keep(pem("store.redis.ca", file)));
    let certificate = redis
        .client_certificate
        .as_deref()
        .and_then(|file| keep(pem("store.redis.client_certificate", file)));
    let mut secret = |key: &str, reference: &Option<SecretRef>| {
        let reference = reference.as_ref()?;
        keep(secrets::resolve(source, key, reference, context).map(Secret::into_inner))
            .map(Secret::new)
    };
    let password = secret("store.redis.password", &redis.password);
    let sentinel_password = secret("store.redis.sentinel_password", &redis.sentinel_password);
    let identity = certificate.zip(secret("store.redis.client_key", &redis.client_key));
    let seal_keys = seal_keys(source, "store.redis.seal_keys", &redis.seal_keys, context, problems);
    StoreCredentials { password, sentinel_password, ca, identity, seal_keys }
}

fn nodes(source: &Source, redis: &RedisConfig, problems: &mut Vec<Problem>) {
    if redis.nodes.is_empty() {
        problems.push(source.problem(
            "store.redis.nodes",
            "is empty",
            "write at least one, as [\"127.0.0.1:6379\"]",
        ));
    }
    if redis.mode == RedisMode::Single && redis.nodes.len() > 1 {
        let mend = "keep one, or set mode = \"sentinel\" or \"cluster\"";
        problems.push(source.problem(
            "store.redis.nodes",
            "names several servers, and mode is \"single\"",
            mend,
        ));
    }
    for (index, node) in redis.nodes.iter().enumerate() {
        let is_good = match Node::parse(node) {
            Some(Node::Socket(_)) => redis.mode == RedisMode::Single && !redis.tls,
            Some(Node::Host(..)) => true,
            None => false,
        };
        if !is_good {
            let mend =
                "write host:port; one server alone without TLS may also be unix:/path/of/its.sock";
            problems.push(source.problem(
                &format!("store.redis.nodes[{index}]"),
                "is no address of a server",
                mend,
            ));
        }
    }
}

fn shape(source: &Source, redis: &RedisConfig, problems: &mut Vec<Problem>) {
    let mut refuse = |key: &str, what: &str, mend: &str| {
        problems.push(source.problem(&format!("store.redis.{key}"), what, mend));
    };
    match (redis.mode, redis.primary.as_deref()) {
        (RedisMode::Sentinel, None | Some("")) => {
            refuse(
                "primary",
                "is missing",
                "write the name after `sentinel monitor` in the Sentinels' configuration",
            );
        }
        (RedisMode::Single | RedisMode::Cluster, Some(_)) => {
            refuse(
                "primary",
                "is known to Sentinels alone",
                "remove it, or set mode = \"sentinel\"",
            );
        }
        (RedisMode::Sentinel, Some(_)) | (RedisMode::Single | RedisMode::Cluster, None) => {}
    }
    if redis.mode != RedisMode::Sentinel
        && (redis.sentinel_user.is_some() || redis.sentinel_password.is_some())
    {
        refuse(
            "sentinel_password",
            "is for Sentinels alone",
            "remove it, or set mode = \"sentinel\"",
        );
    }
    if redis.mode == RedisMode::Cluster && redis.database != 0 {
        refuse("database", "is not 0, and a Cluster has no other", "remove it");
    }
    let halves = [
        ("user", "password", redis.user.is_some() && redis.password.is_none()),
        (
            "sentinel_user",
            "sentinel_password",
            redis.sentinel_user.is_some() && redis.sentinel_password.is_none(),
        ),
    ];
    for (given, missing, is_half) in halves {
        if is_half {
            refuse(
                given,
                &format!("is given without {missing}"),
                &format!("add {missing}, or remove {given}"),
            );
        }
    }
    if redis.client_certificate.is_some() != redis.client_key.is_some() {
        refuse(
            "client_certificate",
            "and client_key go together",
            "add what is missing, or remove both",
        );
    }
    if !redis.tls && (redis.ca.is_some() || redis.client_certificate.is_some()) {
        refuse("tls", "is off, and certificates are given", "set tls = true, or remove them");
    }
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    if !(1..=32).contains(&redis.prefix.len()) || !redis.prefix.bytes().all(is_plain) {
        refuse(
            "prefix",
            "is no word that a key can begin with",
            "use 1 to 32 characters of letters, digits, - _ and .",
        );
    }
}

fn seal_keys(
    source: &Source,
    key: &str,
    references: &[SecretRef],
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Secret<String>> {
    if references.is_empty() {
        let mend = "write seal_keys = [{ file = \"seal.key\" }], with a file of 32 random characters or more";
        problems.push(source.problem(key, "is empty, and nothing is stored unsealed", mend));
    }
    let mut keys: Vec<Secret<String>> = Vec::new();
    for (index, reference) in references.iter().enumerate() {
        let at = format!("{key}[{index}]");
        match secrets::resolve(source, &at, reference, context) {
            Err(problem) => problems.push(problem),
            Ok(key) if key.reveal().chars().count() < SEAL_CHARACTERS => {
                let mend =
                    "use at least 32 random characters, for instance from `openssl rand -hex 32`";
                problems.push(source.problem(&at, "leads to a secret that is too short", mend));
            }
            Ok(key)
                if keys.iter().any(|other| {
                    digest::equal(other.reveal().as_bytes(), key.reveal().as_bytes())
                }) =>
            {
                problems.push(source.problem(
                    &at,
                    "leads to the same key as another",
                    "remove one of the two",
                ));
            }
            Ok(key) => keys.push(key),
        }
    }
    keys
}

/// Where one server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    Host(String, u16),
    Socket(PathBuf),
}

impl Node {
    /// `host:port`, `[::1]:port` or `unix:/path`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
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
