//! Stores records in Redis or Valkey, for any number of hubs: one server, Sentinels or a Cluster.
//!
//! Responsible for the store operations over the network. Does not depend on what a record means.
//!
//! **One key per record.** In a Cluster no operation needs two keys at once, so it can spread them;
//! one server inserts a record and joins its families in one call. A family is a sorted set of its
//! members, by their expiry. Revoking it closes the set, then revokes each member. Reading a token
//! thus costs one round trip; docs/redis.md proves that no member is missed.
//!
//! **Time.** A record expires by its own `expires_at` and the `now` of the call. The server only
//! frees its memory, some time later. Calls carry durations, so the server's clock decides nothing.

mod call_error;
mod capacity;
mod checks;
mod client;
mod connection_manager;
mod counters;
pub mod family_members;
mod insertion;
mod keyring_check;
mod outage_log;
pub mod record;
mod scripts;
mod server_info;
mod settings;
#[cfg(test)]
mod tests;
mod verbs;

use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use self::call_error::RedisCallError;
use self::capacity::CapacityTracker;
use self::client::RedisClient;
use self::connection_manager::ConnectionManager;
use self::insertion::JoinOutcome;
use self::record::{FAMILY_HASH_BYTES, InsertionId, RecordHeader, StoredState};
use self::scripts::Scripts;
use self::server_info::DeploymentInfo;
use crate::encryption::{EncryptionError, StoreEncryptionKeys};
use crate::error::RecordFormatError;
use crate::{CLOCK_SKEW_GRACE, compression};
use crate::{Capacities, Record, RecordKey, RecordKind, RecordVersion, StoreError};
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::Metrics;

pub use checks::{KIND, RedisSettings};
pub use settings::{RedisConfig, RedisCredentials, RedisMode};

/// Command that reads a record. Redis treats GETEX as a write, although it changes nothing here: a
/// primary that was cut off and replaced rejects it for lack of replicas, where GET would return
/// records that were revoked elsewhere.
const READ_COMMAND: &str = "GETEX";
/// Time that a revocation marker rejects the insertion of its record, which may still be in flight.
const REVOCATION_MARKER_TTL: Duration = Duration::from_secs(60);
/// Maximum time to live of a key.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// Store on servers that any number of hubs share.
pub struct RedisStore {
    connections: Arc<ConnectionManager>,
    scripts: Scripts,
    encryption_keys: StoreEncryptionKeys,
    capacity: CapacityTracker,
    prefix: String,
    /// First half of the insertion ids of this store. Tells which records count against its
    /// capacity.
    instance_id: [u8; 4],
    /// Key of the HMAC over the subjects of counters.
    counter_key: [u8; 32],
    /// Issuer of the hubs that share the records; empty if unchecked.
    issuer: String,
    env: Env,
}

/// Error that keeps a hub from using the store.
#[derive(thiserror::Error, Debug)]
pub enum RedisStoreError {
    /// The operating system can't start the thread.
    #[error("the store's thread can't be started: {0}")]
    Thread(#[from] std::io::Error),
    /// The server's configuration is unsafe, for example an evicting `maxmemory-policy`.
    #[error("the store, {servers}, can't be used: {reason}")]
    Misconfigured { servers: String, reason: String },
}

impl RedisStore {
    /// Creates the store. It connects in the background.
    ///
    /// # Errors
    /// `Thread`: the operating system can't start the thread.
    pub fn new(
        config: &RedisConfig,
        credentials: &RedisCredentials,
        capacities: Capacities,
        env: Env,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, RedisStoreError> {
        let call_timeout = Duration::from_millis(config.call_milliseconds);
        let [a, b, c, d, ..] = env.entropy().bits256();
        // During a key rotation, hubs with another first key count separately (docs/limits.md).
        let first_key = credentials.encryption_keys.first().map_or("", |key| key.reveal());
        let counter_key = digest::hmac(b"passerelle counters 1", first_key.as_bytes());
        Ok(Self {
            counter_key,
            connections: ConnectionManager::new(
                RedisClient::new(config, credentials),
                call_timeout,
                &config.prefix,
                Arc::clone(metrics),
            )?,
            scripts: Scripts::default(),
            encryption_keys: StoreEncryptionKeys::new(&credentials.encryption_keys),
            capacity: CapacityTracker::new(&capacities),
            prefix: config.prefix.clone(),
            instance_id: [a, b, c, d],
            issuer: String::new(),
            env,
        })
    }

    /// Limits the store to hubs of this issuer.
    #[must_use]
    pub fn for_issuer(self, issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), ..self }
    }

    /// Queries the servers and returns a one-line summary for the operator. An inner `Err`
    /// describes servers that are down, which is not a configuration error.
    ///
    /// # Errors
    /// `Misconfigured`: the servers must not be used as they are configured.
    pub async fn inspect(&self) -> Result<Result<String, String>, RedisStoreError> {
        let servers = self.connections.description();
        let result = async {
            let info: DeploymentInfo = self.connections.query_servers().await?;
            info.check_suitability().map_err(RedisCallError::Misconfigured)?;
            self.check_marker().await?;
            let now = self.env.now();
            let summary = info.summary(now);
            if info.has_wrong_clock(now) {
                tracing::warn!(%servers, summary, "the clocks of the store and of this machine differ");
            }
            Ok(summary)
        };
        match result.await {
            Ok(summary) => Ok(Ok(format!("{servers}: {summary}"))),
            Err(RedisCallError::Misconfigured(reason)) => {
                Err(RedisStoreError::Misconfigured { servers, reason })
            }
            Err(error) => Ok(Err(format!("{servers}: {error}"))),
        }
    }

    /// Calls [`Self::inspect`], blocking for a few seconds at most, and leaves the marker that
    /// makes hubs that start later check their keys against this hub's.
    ///
    /// # Errors
    /// `Misconfigured`.
    pub fn join_blocking(self: &Arc<Self>) -> Result<Result<String, String>, RedisStoreError> {
        let (store, (reply, answer)) = (Arc::clone(self), std::sync::mpsc::channel());
        self.connections.spawn_on_store_thread(async move {
            let info = store.inspect().await;
            if matches!(info, Ok(Ok(_)))
                && let Err(error) = store.write_marker().await
            {
                tracing::warn!(%error, "the marker of this hub's keys can't be written: hubs that start later can't check theirs");
            }
            let _ignored = reply.send(info);
        });
        answer.recv().unwrap_or_else(|_| Ok(Err("its thread has ended".to_owned())))
    }

    /// Returns the last error of the store, without a network call.
    pub fn last_error(&self) -> Option<String> {
        self.connections.last_error().map(|error| error.to_string())
    }
}

/// Key of a record on the server: a hash of its kind and name, so the server never learns names.
struct RecordLocation {
    kind: &'static RecordKind,
    hash: [u8; 32],
    key: String,
}

impl RedisStore {
    fn locate(&self, key: &RecordKey) -> RecordLocation {
        let hash = digest::sha256(&[&[key.kind.letter], key.name.as_bytes()].concat());
        self.location_of_hash(key.kind, hash)
    }

    fn location_of_hash(&self, kind: &'static RecordKind, hash: [u8; 32]) -> RecordLocation {
        let key =
            format!("{}:{}:{}", self.prefix, char::from(kind.letter), digest::base64url(&hash));
        RecordLocation { kind, hash, key }
    }

    fn family_key(&self, family: &[u8; FAMILY_HASH_BYTES]) -> String {
        format!("{}:f:{}", self.prefix, digest::base64url(family))
    }

    fn new_insertion_id_and_nonce(&self) -> (InsertionId, [u8; 12]) {
        let [a, b, c, d] = self.instance_id;
        let bits = self.env.entropy().bits256();
        let [e, f, g, h, rest @ ..] = bits;
        ([a, b, c, d, e, f, g, h], rest.first_chunk().copied().unwrap_or_default())
    }

    fn encrypt(
        &self,
        location: &RecordLocation,
        associated_data: &[u8],
        nonce: &[u8; 12],
        value: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let encrypted = self.encryption_keys.encrypt(
            &location.hash,
            associated_data,
            nonce,
            &compression::compress(value),
        );
        encrypted.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// Decrypts a value. Returns `None` if it was tampered with; the record then counts as absent.
    fn decrypt(
        &self,
        location: &RecordLocation,
        head: &RecordHeader,
        encrypted: &[u8],
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        match self.encryption_keys.decrypt(&location.hash, &head.authenticated_bytes(), encrypted) {
            Ok(compressed) => {
                Ok(Some(compression::decompress(&compressed).map_err(format_error)?.into()))
            }
            Err(EncryptionError::Corrupted) => {
                tracing::error!(kind = ?location.kind, "record in the store was tampered with; treated as absent");
                Ok(None)
            }
            Err(error) => Err(StoreError::Unavailable(format!("a record can't be read: {error}"))),
        }
    }

    /// Parses and decrypts a live record, expired or not.
    fn read_live(
        &self,
        location: &RecordLocation,
        bytes: &[u8],
    ) -> Result<Option<Record>, StoreError> {
        let (head, rest) = RecordHeader::parse(bytes).map_err(format_error)?;
        if head.state != StoredState::Live {
            return Ok(None);
        }
        let encrypted = record::encrypted_value(rest).map_err(format_error)?;
        let value = self.decrypt(location, &head, encrypted)?;
        let has_outdated_key = self.encryption_keys.is_outdated(encrypted);
        let (version, expires_at) = (head.version, head.expires_at);
        Ok(value.map(|value| Record { version, value, expires_at, has_outdated_key }))
    }

    /// Revokes one member, unless another record has replaced it.
    async fn revoke_member(
        &self,
        location: &RecordLocation,
        insertion_id: &InsertionId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let marker = RecordHeader {
            state: StoredState::Revoked,
            version: RecordVersion(0),
            expires_at: now,
            insertion_id: *insertion_id,
        };
        let marker = [&marker.authenticated_bytes()[..], insertion_id].concat();
        let px = REVOCATION_MARKER_TTL.as_millis().to_string();
        let reply = self
            .connections
            .run_script(
                &self.scripts.revoke_member,
                &location.key,
                &[insertion_id, &marker, px.as_bytes()],
            )
            .await?;
        self.release_capacity(location.kind, &reply);
        Ok(())
    }

    /// Releases the capacity of a removed record that this store had inserted.
    fn release_capacity(&self, kind: &RecordKind, old: &Value) {
        if let Value::BulkString(old) = old
            && let Some(head) = self.own_header(old)
        {
            self.capacity.release(kind, head.expires_at);
        }
    }

    fn update_capacity(&self, kind: &RecordKind, old: &[u8], to: Timestamp, bytes: usize) {
        if let Some(head) = self.own_header(old) {
            self.capacity.update(kind, head.expires_at, to, bytes);
        }
    }

    fn own_header(&self, old: &[u8]) -> Option<RecordHeader> {
        RecordHeader::parse(old)
            .ok()
            .map(|(head, _)| head)
            .filter(|head| head.insertion_id.starts_with(&self.instance_id))
    }
}

fn millis_text(timestamp: Timestamp) -> String {
    record::script_millis(timestamp).to_string()
}

/// Returns the time to live of a key, in milliseconds.
fn server_ttl(until: Timestamp, now: Timestamp) -> String {
    until.since(now).saturating_add(CLOCK_SKEW_GRACE).min(MAX_TTL).as_millis().to_string()
}

fn array_items(answer: &Value) -> &[Value] {
    match answer {
        Value::Array(parts) => parts,
        _ => &[],
    }
}

impl From<RedisCallError> for StoreError {
    fn from(error: RedisCallError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

fn format_error(error: RecordFormatError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn unexpected_reply() -> StoreError {
    StoreError::Unavailable("unexpected reply: another program uses these keys".to_owned())
}
