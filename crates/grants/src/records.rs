//! Store records of codes and tokens: JSON under hashed keys, so that reading the store reveals no
//! usable code or token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use passerelle_federation::assurance::Level;
use passerelle_federation::identity::ClaimName;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Scope, Secret, Subject, SupportId};
use passerelle_protocol::sender_constraint::Confirmation;
use passerelle_protocol::trace_context::TraceContext;
use passerelle_store::{Family, NewRecord, Record, RecordKey, RecordKind, Store, TakeOutcome};

/// An authorization code: its bindings, and the token that it will issue.
#[serde_with::skip_serializing_none]
#[derive(Serialize, Deserialize)]
pub(super) struct CodeRecord {
    pub code_challenge: Option<String>,
    pub nonce: Option<String>,
    #[serde(flatten)]
    pub id_token: IdTokenRecord,
    pub connector: ConnectorId,
    /// Level proven by the identity provider; the gate checks it again on redemption.
    #[serde(rename = "obtained")]
    pub achieved: Level,
    /// Thumbprint of the DPoP key that may redeem the code (RFC 9449 §10).
    #[serde(default)]
    pub dpop_jkt: Option<String>,
    pub token: TokenRecord,
}

/// What the ID tokens of one login say, besides what its access token says.
#[serde_with::skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct IdTokenRecord {
    /// Present if and only if the request has an `amr` claim.
    pub amr: Option<Vec<String>>,
    /// Identity claims that the request names for the ID token (OpenID Connect Core §5.5).
    #[serde(default)]
    pub claims: Map<String, Value>,
    #[serde(default)]
    pub auth_time: Option<Timestamp>,
    /// Family of the session that the code was issued in; the code is revoked with it.
    pub session: Family,
    /// The session's key that marks its encrypted ID tokens, which identifies them at logout.
    #[serde(default, with = "passerelle_protocol::ids::stored_secret")]
    pub hint_key: Option<Secret<String>>,
}

/// An access token: the claims that the user saw, for one service provider.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    pub client_id: ClientId,
    pub subject: Subject,
    pub scopes: Vec<Scope>,
    pub claims: Map<String, Value>,
    pub support_id: SupportId,
    /// Level released to the service provider; never above the level achieved.
    pub level: Level,
    /// The level name that the ID token has instead of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr_name: Option<Arc<str>>,
    /// When the token was issued; in a [`CodeRecord`], when the code was issued.
    pub issued_at: Timestamp,
    /// The user's `sub` for each data provider that may introspect this token, by sector. Derived
    /// when the code is issued, so that no record holds more of an identity than its service
    /// provider receives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subjects_by_sector: BTreeMap<String, Subject>,
    pub redirect_uri: String,
    /// The key that the token is bound to; absent for a bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
    /// Trace context of the login; absent when tracing is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// Returns the claims shown to the user that are released in one place.
pub(super) fn released_claims(
    shown: &Map<String, Value>,
    names: &BTreeSet<ClaimName>,
) -> Map<String, Value> {
    let released = shown.iter().filter(|(name, _)| names.contains(&ClaimName::from_name(name)));
    released.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the key of an authorization code.
pub(super) fn code_key(code: &str) -> RecordKey {
    hashed_key(RecordKind::CODE, code)
}

/// Returns the key of an access token.
pub(super) fn token_key(token: &str) -> RecordKey {
    hashed_key(RecordKind::TOKEN, token)
}

/// Returns the key of the grant that a refresh token names.
pub(super) fn refresh_grant_key(name: &str) -> RecordKey {
    hashed_key(RecordKind::REFRESH_GRANT, name)
}

/// Returns the key of the list of a person's refresh grants. No grant's name has a line break.
pub(super) fn subject_grants_key(subject: &Subject) -> RecordKey {
    hashed_key(RecordKind::REFRESH_GRANT, &format!("subject\n{}", subject.as_str()))
}

/// Returns the key of a logout destination. It is bound to one connector, so that no other
/// connector can consume it.
pub(super) fn logout_destination_key(connector: &ConnectorId, state: &str) -> RecordKey {
    hashed_key(RecordKind::LOGOUT_REDIRECT, &format!("back\n{connector}\n{state}"))
}

/// Returns the key of a logout's redirect, for a repeat of the same request in the same session.
pub(super) fn logout_redirect_key(cookie: &str, destination: &[u8]) -> RecordKey {
    hashed_key(
        RecordKind::LOGOUT_REDIRECT,
        &format!("departed\n{cookie}\n{}", digest::base64url(destination)),
    )
}

/// Returns the key of a POST logout request that waits for the GET with the browser's cookies.
pub(super) fn pending_logout_key(ticket: &str) -> RecordKey {
    hashed_key(RecordKind::PENDING_LOGOUT, ticket)
}

/// Returns the key of a posted authorization response of an identity provider that waits for the GET
/// with the browser's cookies. No ticket has a line break.
pub(super) fn pending_callback_key(connector: &ConnectorId, ticket: &str) -> RecordKey {
    hashed_key(RecordKind::PENDING_LOGOUT, &format!("callback\n{connector}\n{ticket}"))
}

/// Returns the key of a used request object, beside the used assertions.
pub(super) fn request_object_key(client_id: &ClientId, jti: &str) -> RecordKey {
    hashed_key(RecordKind::USED_JTI, &format!("request\n{client_id}\n{jti}"))
}

/// Returns the key of the session that the cookie identifies.
pub(super) fn session_key(cookie: &str) -> RecordKey {
    hashed_key(RecordKind::SESSION, cookie)
}

/// Returns the key of the sessions of an upstream `sub` or `sid`, or of a used `jti`. Connector ids
/// hold no line break, so two different values never share a key.
pub(super) fn upstream_session_key(
    connector: &ConnectorId,
    member: &str,
    value: &str,
) -> RecordKey {
    hashed_key(RecordKind::UPSTREAM_SESSION, &format!("{member}\n{connector}\n{value}"))
}

/// Returns the key of the sessions of a `sub` of this hub. No `member` of the keys above is empty.
pub(super) fn subject_sessions_key(subject: &Subject) -> RecordKey {
    hashed_key(RecordKind::UPSTREAM_SESSION, &format!("\n{subject}"))
}

/// Returns the key of a used assertion. Ids hold no line break, so two different pairs never share
/// a key.
pub(super) fn assertion_key(client_id: &ClientId, jti: &str) -> RecordKey {
    hashed_key(RecordKind::USED_JTI, &format!("{client_id}\n{jti}"))
}

/// Returns the key of a used DPoP proof. No client_id is empty, so it is not an assertion's key.
pub(super) fn dpop_proof_key(thumbprint: &str, jti: &str) -> RecordKey {
    hashed_key(RecordKind::USED_JTI, &format!("\ndpop\n{thumbprint}\n{jti}"))
}

/// Returns the key of a record that this secret names.
pub(super) fn hashed_key(kind: &'static RecordKind, secret: &str) -> RecordKey {
    RecordKey { kind, name: Arc::from(digest::sha256_base64url(secret)) }
}

/// Returns the family of everything issued for a code.
pub(super) fn code_family(code: &str) -> Family {
    Family(Arc::from(digest::sha256_base64url(code)))
}

/// Creates a store record that holds the value as JSON.
///
/// # Errors
/// `Internal` if the value has no JSON form.
pub(super) fn new_record(
    record: &impl Serialize,
    expires_at: Timestamp,
) -> Result<NewRecord, ErrorCode> {
    Ok(NewRecord::new(encode_record(record)?, expires_at))
}

/// Encodes a record as JSON.
///
/// # Errors
/// `Internal` if the record has no JSON form.
pub(super) fn encode_record(record: &impl Serialize) -> Result<Vec<u8>, ErrorCode> {
    serde_json::to_vec(record).map_err(|_| ErrorCode::Internal)
}

/// Loads a live record and decodes its value.
///
/// # Errors
/// Returns the error of the store, or `Internal` if the value is not JSON of such a record.
pub(super) async fn load_record<T: DeserializeOwned>(
    store: &dyn Store,
    key: &RecordKey,
    now: Timestamp,
) -> Result<Option<(T, Record)>, ErrorCode> {
    let found = store.load(key, now).await?;
    found.map(|record| Ok((decode_record(&record.value)?, record))).transpose()
}

/// Takes a record and decodes its value. At most one caller gets it. Its tombstone stays until
/// `until`.
///
/// # Errors
/// As [`load_record`].
pub(super) async fn take_record<T: DeserializeOwned>(
    store: &dyn Store,
    key: &RecordKey,
    until: Timestamp,
    now: Timestamp,
) -> Result<Option<T>, ErrorCode> {
    match store.take(key, Vec::new(), until, now).await? {
        TakeOutcome::Taken(record) => decode_record(&record.value).map(Some),
        TakeOutcome::AlreadyTaken(_) | TakeOutcome::Gone => Ok(None),
    }
}

/// Decodes a record from JSON.
///
/// # Errors
/// `Internal` if the bytes are not JSON of such a record.
pub(super) fn decode_record<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ErrorCode> {
    serde_json::from_slice(bytes).map_err(|_| ErrorCode::Internal)
}
