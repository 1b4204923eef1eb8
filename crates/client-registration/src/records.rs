//! The records of registrations, and the index that names them.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ClientRegistrations;
use super::client_metadata::ClientMetadata;
use super::error_codes;
use super::settings::ClientRegistrationConfig;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_store::{
    MAX_UPDATE_ATTEMPTS, NewRecord, Record, RecordKey, RecordKind, RecordVersion,
};

/// A dynamically registered client, or the index of them and of initial access tokens.
pub(crate) const REGISTRATION: &RecordKind =
    &RecordKind::new("registration", b'n', "registrations", 32 << 10);
/// Lifetime of a record: longer than a registration can be unused after its record was renewed.
pub(super) const RECORD_LIFETIME: Duration = days(600);
/// Age at which the record of a client in use is renewed.
pub(super) const RECORD_RENEWAL_AGE: Duration = days(180);
/// Length of the pseudonym of a network.
const NETWORK_PSEUDONYM_BYTES: usize = 12;
/// Length of a fingerprint: 64 bits, which no client can choose.
const FINGERPRINT_CHARS: usize = 16;

pub(super) const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}

/// Whether an operator, or the policy, lets a registered client sign users in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationStatus {
    /// It waits for an operator.
    Pending,
    Approved,
}

impl RegistrationStatus {
    /// Returns the status as answers, lists and metrics have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
        }
    }
}

/// What a registration may request, by its initial access token or by the configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct RegistrationTerms {
    /// Whether it is approved at once, unless it names an address that the hub calls.
    pub approved: bool,
    pub scopes: Vec<Scope>,
    /// The only hosts of its addresses. If empty, any host that neither the hub nor another service
    /// uses.
    pub hosts: Vec<String>,
}

/// One registration in the index.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ClientEntry {
    pub client_id: ClientId,
    /// Name of the record with its metadata.
    pub record: String,
    /// As decided last; [`ClientRegistrations::current_status`] is what is in force.
    pub status: RegistrationStatus,
    /// Whether an operator approved it, and not the policy alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved_by_operator: bool,
    pub created_at: Timestamp,
    /// When the status changed, or a user signed in, whichever is later; to the day.
    pub active_at: Timestamp,
    /// When the record was written.
    pub renewed_at: Timestamp,
    /// Id of its initial access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Pseudonym of the network that it came from, without an initial access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
}

impl ClientEntry {
    /// Returns when the registration ends if nothing happens.
    pub(super) fn expires_at(&self, config: &ClientRegistrationConfig) -> Timestamp {
        let unused = match self.status {
            RegistrationStatus::Pending => config.pending_days,
            RegistrationStatus::Approved => config.unused_days,
        };
        self.active_at + days(unused.into())
    }

    /// Returns the fingerprint of what is registered. Each update changes it: the name of a record
    /// is random and never used again.
    pub(super) fn fingerprint(&self) -> String {
        sha256_hex(&self.record).chars().take(FINGERPRINT_CHARS).collect()
    }
}

/// An initial access token (RFC 7591 §3): its hash and what it allows.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct InitialToken {
    /// Names it for operators.
    pub id: String,
    /// base64url(SHA-256) of the token.
    pub hash: String,
    pub purpose: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Registrations that it allows, and those made.
    pub registrations: u32,
    pub used: u32,
    pub terms: RegistrationTerms,
}

/// All registrations and initial access tokens.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct RegistrationIndex {
    pub clients: Vec<ClientEntry>,
    pub tokens: Vec<InitialToken>,
    /// Key of the pseudonyms of networks; empty until the first one.
    #[serde(default)]
    network_key: String,
}

impl RegistrationIndex {
    pub(super) fn client(&self, client_id: &str) -> Option<&ClientEntry> {
        self.clients.iter().find(|entry| entry.client_id.as_str() == client_id)
    }

    pub(super) fn client_mut(&mut self, client_id: &str) -> Option<&mut ClientEntry> {
        self.clients.iter_mut().find(|entry| entry.client_id.as_str() == client_id)
    }

    /// Returns the pseudonym of a network. `new_key` becomes the key if there is none.
    pub(super) fn network_pseudonym(&mut self, network: ClientNetwork, new_key: &str) -> String {
        if self.network_key.is_empty() {
            new_key.clone_into(&mut self.network_key);
        }
        let tag = digest::hmac(self.network_key.as_bytes(), &network.octets());
        digest::base64url(tag.get(..NETWORK_PSEUDONYM_BYTES).unwrap_or(&tag))
    }

    /// Removes the registration that gives its place to a new one from `network`, and returns it:
    /// of those that are candidates, the least recently used one of the network with the most.
    /// A network with as many as any other displaces its own, so that a flood closes the
    /// registration for no other network. `None` if there is no candidate.
    pub(super) fn displace(
        &mut self,
        network: Option<&str>,
        is_candidate: impl Fn(&ClientEntry) -> bool,
    ) -> Option<ClientEntry> {
        let candidates: Vec<&ClientEntry> =
            self.clients.iter().filter(|entry| is_candidate(entry)).collect();
        let count = |network: Option<&str>| {
            candidates.iter().filter(|entry| entry.network.as_deref() == network).count()
        };
        let most = candidates.iter().map(|entry| count(entry.network.as_deref())).max()?;
        let is_own_fullest = network.is_some() && count(network) == most;
        let in_fullest = candidates.iter().filter(|entry| {
            let other = entry.network.as_deref();
            if is_own_fullest { other == network } else { count(other) == most }
        });
        let displaced = in_fullest.min_by_key(|entry| (entry.active_at, entry.created_at))?;
        let client_id = displaced.client_id.clone();
        self.remove_client(client_id.as_str())
    }

    /// Removes the registration of a client, and returns it.
    pub(super) fn remove_client(&mut self, client_id: &str) -> Option<ClientEntry> {
        let is_same = |entry: &ClientEntry| entry.client_id.as_str() == client_id;
        let place = self.clients.iter().position(is_same)?;
        Some(self.clients.remove(place))
    }

    /// Removes what has expired.
    pub(super) fn remove_expired(&mut self, config: &ClientRegistrationConfig, now: Timestamp) {
        self.clients.retain(|entry| entry.expires_at(config) > now);
        self.tokens.retain(|token| token.expires_at > now);
    }
}

/// The metadata of a registration, with the hashes of its credentials.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegistrationRecord {
    pub client_id: ClientId,
    pub created_at: Timestamp,
    pub metadata: ClientMetadata,
    pub terms: RegistrationTerms,
    /// Hex SHA-256 of the client secret, as in the file of a service provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_sha256: Option<String>,
    /// base64url(SHA-256) of the registration access token.
    pub access_token_hash: String,
}

/// Returns the key of the index.
pub(super) fn index_key() -> RecordKey {
    RecordKey { kind: REGISTRATION, name: "index".into() }
}

/// Returns the key of the record with the metadata of a registration.
pub(super) fn registration_key(name: &str) -> RecordKey {
    RecordKey { kind: REGISTRATION, name: digest::sha256_base64url(name).into() }
}

/// Returns the SHA-256 of a text in hex, as the files of service providers have that of a secret.
pub(super) fn sha256_hex(text: &str) -> String {
    digest::sha256(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encode_record(record: &impl Serialize) -> Result<Vec<u8>, ErrorCode> {
    serde_json::to_vec(record).map_err(|_| ErrorCode::Internal)
}

/// Decodes a record.
///
/// # Errors
/// `Internal` if this release can't parse it.
pub(super) fn decode_record<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ErrorCode> {
    serde_json::from_slice(bytes).map_err(|_| ErrorCode::Internal)
}

impl ClientRegistrations {
    /// Loads the index without what has expired.
    ///
    /// # Errors
    /// The error of the store, or `Internal` if this release can't parse it.
    pub(super) async fn load_index(
        &self,
    ) -> Result<(RegistrationIndex, Option<RecordVersion>), ErrorCode> {
        let now = self.services.env.now();
        let Some(found) = self.services.store.load(&index_key(), now).await? else {
            return Ok((RegistrationIndex::default(), None));
        };
        let mut index: RegistrationIndex = decode_record(&found.value)?;
        index.remove_expired(&self.config, now);
        Ok((index, Some(found.version)))
    }

    /// Changes the index. `change` runs again if another request was faster.
    ///
    /// # Errors
    /// The error of `change`, then nothing has changed; the error of the store.
    pub(super) async fn update_index<T>(
        &self,
        change: impl Fn(&mut RegistrationIndex) -> Result<T, GrantError>,
    ) -> Result<T, GrantError> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let (mut index, version) = self.load_index().await?;
            let made = change(&mut index)?;
            let (key, value) = (index_key(), encode_record(&index)?);
            let (store, now) = (&self.services.store, self.services.env.now());
            let until = now + RECORD_LIFETIME;
            let written = store.compare_and_set(&key, version, value, until, now).await;
            if written.map_err(ErrorCode::from)? {
                self.refresh().await;
                return Ok(made);
            }
        }
        Err(ErrorCode::Unavailable.into())
    }

    /// Writes the record of a registration, and returns its name.
    ///
    /// # Errors
    /// The error of the store.
    pub(super) async fn insert_record(
        &self,
        record: &RegistrationRecord,
    ) -> Result<String, ErrorCode> {
        let (env, name) = (&self.services.env, self.services.env.entropy().token());
        let now = env.now();
        let draft = NewRecord::new(encode_record(record)?, now + RECORD_LIFETIME);
        self.services.store.insert(registration_key(&name), draft, now).await?;
        Ok(name)
    }

    /// Loads the record of a registration, under the terms of today.
    ///
    /// # Errors
    /// The error of the store; `REGISTRATION_UNREADABLE` if the record is absent or can't be read.
    pub(super) async fn load_registration(
        &self,
        entry: &ClientEntry,
    ) -> Result<RegistrationRecord, ErrorCode> {
        let now = self.services.env.now();
        let found = self.services.store.load(&registration_key(&entry.record), now).await?;
        let record = found.and_then(|found| self.decode_registration(entry, &found));
        record.ok_or(error_codes::REGISTRATION_UNREADABLE)
    }

    /// Decodes the record of a registration. Returns `None` if it can't be read, or is another
    /// client's.
    pub(super) fn decode_registration(
        &self,
        entry: &ClientEntry,
        found: &Record,
    ) -> Option<RegistrationRecord> {
        let record: RegistrationRecord = decode_record(&found.value).ok()?;
        (record.client_id == entry.client_id)
            .then(|| self.limit_to_current_terms(entry.token.as_deref(), record))
    }

    /// Removes a record that the index no longer names. A failure leaves it until it expires.
    pub(super) async fn remove_record(&self, name: &str) {
        if let Err(error) = self.services.store.remove(&registration_key(name)).await {
            tracing::warn!(%error, "the record of a registration could not be removed; it expires");
        }
    }
}
