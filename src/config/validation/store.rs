//! Checks `[store.…]` of `passerelle.toml`: where logins, sessions, codes and tokens
//! are stored (docs/redis.md, docs/deploying.md).

use std::path::Path;

use super::references::read_pem;
use super::value_checks::check_range;
use crate::config::loading::{Diagnostic, SecretContext, SourceFile, secrets};
use crate::config::model::{
    MemoryConfig, NodeAddress, RedisConfig, RedisMode, SecretRef, StoreConfig,
};
use crate::digest;
use crate::ids::Secret;

/// Minimum length of an encryption key in characters.
const MIN_ENCRYPTION_KEY_CHARS: usize = 32;

/// Credentials and encryption keys of the store; a snapshot has only encryption keys. Certificates
/// and keys are PEM.
#[derive(Clone, Default, Debug)]
pub struct StoreCredentials {
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

/// Checks the table and reads its secrets.
pub fn check_store(
    source: &SourceFile,
    configured: &StoreConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> StoreCredentials {
    if source.key_count("store") > 1 {
        let fix = "keep [store.memory] for a single hub, or [store.redis] for several hubs";
        problems.push(source.diagnostic("store", "contains two stores", fix));
    }
    match configured {
        StoreConfig::Memory(memory) => check_memory(source, memory, context, problems),
        StoreConfig::Redis(redis) => check_redis(source, redis, context, problems),
    }
}

fn check_memory(
    source: &SourceFile,
    memory: &MemoryConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> StoreCredentials {
    let path = memory.snapshot.as_os_str().as_encoded_bytes();
    if memory.snapshot.file_name().is_none() || path.ends_with(b"/") {
        let fix = "write the path of a file, for example \"state/store.snapshot\"";
        problems.push(source.diagnostic("store.memory.snapshot", "is not the path of a file", fix));
    }
    let encryption_keys = read_encryption_keys(
        source,
        "store.memory.encryption_keys",
        &memory.encryption_keys,
        context,
        problems,
    );
    StoreCredentials { encryption_keys, ..StoreCredentials::default() }
}

fn check_redis(
    source: &SourceFile,
    redis: &RedisConfig,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> StoreCredentials {
    check_nodes(source, redis, problems);
    check_combinations(source, redis, problems);
    check_range(
        source,
        "store.redis.call_milliseconds",
        redis.call_milliseconds,
        (10, 10_000),
        problems,
    );
    let mut keep =
        |read: Result<String, Diagnostic>| read.map_err(|problem| problems.push(problem)).ok();
    let pem = |key: &str, file: &Path| read_pem(source, key, file, context.folder);
    let ca = redis.ca.as_deref().and_then(|file| keep(pem("store.redis.ca", file)));
    let certificate = redis
        .client_certificate
        .as_deref()
        .and_then(|file| keep(pem("store.redis.client_certificate", file)));
    let mut secret = |key: &str, reference: &Option<SecretRef>| {
        let reference = reference.as_ref()?;
        keep(secrets::resolve_secret(source, key, reference, context).map(Secret::into_inner))
            .map(Secret::new)
    };
    let password = secret("store.redis.password", &redis.password);
    let sentinel_password = secret("store.redis.sentinel_password", &redis.sentinel_password);
    let identity = certificate.zip(secret("store.redis.client_key", &redis.client_key));
    let encryption_keys = read_encryption_keys(
        source,
        "store.redis.encryption_keys",
        &redis.encryption_keys,
        context,
        problems,
    );
    StoreCredentials { password, sentinel_password, ca, identity, encryption_keys }
}

fn check_nodes(source: &SourceFile, redis: &RedisConfig, problems: &mut Vec<Diagnostic>) {
    if redis.nodes.is_empty() {
        problems.push(source.diagnostic(
            "store.redis.nodes",
            "is empty",
            "write at least one, for example [\"127.0.0.1:6379\"]",
        ));
    }
    if redis.mode == RedisMode::Single && redis.nodes.len() > 1 {
        let fix = "keep one, or set mode = \"sentinel\" or \"cluster\"";
        problems.push(source.diagnostic(
            "store.redis.nodes",
            "contains several servers, but mode is \"single\"",
            fix,
        ));
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
            problems.push(source.diagnostic(
                &format!("store.redis.nodes[{index}]"),
                "is not the address of a server",
                fix,
            ));
        }
    }
}

fn check_combinations(source: &SourceFile, redis: &RedisConfig, problems: &mut Vec<Diagnostic>) {
    let mut report = |key: &str, message: &str, fix: &str| {
        problems.push(source.diagnostic(&format!("store.redis.{key}"), message, fix));
    };
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
    if redis.mode != RedisMode::Sentinel
        && (redis.sentinel_user.is_some() || redis.sentinel_password.is_some())
    {
        report(
            "sentinel_password",
            "is for Sentinels only",
            "remove it, or set mode = \"sentinel\"",
        );
    }
    if redis.mode == RedisMode::Cluster && redis.database != 0 {
        report("database", "is not 0, the only database of a Cluster", "remove it");
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
            report(
                given,
                &format!("is set without {missing}"),
                &format!("add {missing}, or remove {given}"),
            );
        }
    }
    if redis.client_certificate.is_some() != redis.client_key.is_some() {
        report(
            "client_certificate",
            "and client_key must be set together",
            "add the missing one, or remove both",
        );
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

fn read_encryption_keys(
    source: &SourceFile,
    key: &str,
    references: &[SecretRef],
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Secret<String>> {
    if references.is_empty() {
        let fix = "write encryption_keys = [{ file = \"store.key\" }], with a file of 32 random characters or more";
        problems.push(source.diagnostic(key, "is empty, but records must be encrypted", fix));
    }
    let mut keys: Vec<Secret<String>> = Vec::new();
    for (index, reference) in references.iter().enumerate() {
        let at = format!("{key}[{index}]");
        match secrets::resolve_secret(source, &at, reference, context) {
            Err(problem) => problems.push(problem),
            Ok(key) if key.reveal().chars().count() < MIN_ENCRYPTION_KEY_CHARS => {
                let fix =
                    "use at least 32 random characters, for example from `openssl rand -hex 32`";
                problems.push(source.diagnostic(&at, "references a secret that is too short", fix));
            }
            Ok(key)
                if keys.iter().any(|other| {
                    digest::constant_time_eq(other.reveal().as_bytes(), key.reveal().as_bytes())
                }) =>
            {
                problems.push(source.diagnostic(
                    &at,
                    "references the same key as another entry",
                    "remove one of the two",
                ));
            }
            Ok(key) => keys.push(key),
        }
    }
    keys
}
