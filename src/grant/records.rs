//! What the store keeps of codes and tokens: JSON under a hashed key, so that a look into the store gives nobody a code.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::assurance::Level;
use crate::digest;
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, Scope, Secret, Subject, SupportId};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::trace_context::TraceContext;
use crate::store::{Family, Key, Kind};

/// A code: what it is bound to, and what its token will stand for.
#[derive(Serialize, Deserialize)]
pub(super) struct CodeRecord {
    pub redirect_uri: String,
    pub code_challenge: Option<String>,
    pub nonce: Option<String>,
    /// Present if and only if the request asked for `amr`.
    pub amr: Option<Vec<String>>,
    /// Identity claims that were asked for in the ID token (Core, 5.5).
    #[serde(default)]
    pub claims: Map<String, Value>,
    pub auth_time: Timestamp,
    pub connector: ConnectorId,
    /// What the identity provider proved: the gate judges it again.
    pub obtained: Level,
    /// Ends with the session that it was issued in.
    pub session: Family,
    /// The session's, by which its encrypted ID tokens are recognized at logout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_key: Option<Secret<String>>,
    pub token: TokenRecord,
}

/// An access token: the snapshot of claims that the person saw, for one service provider.
#[derive(Clone, Serialize, Deserialize)]
pub struct TokenRecord {
    pub client_id: ClientId,
    pub subject: Subject,
    pub scopes: Vec<Scope>,
    pub claims: Map<String, Value>,
    pub support_id: SupportId,
    /// The level that this answer tells: at most what was obtained.
    pub level: Level,
    /// When the token was issued; in a code's record, when the code was.
    pub issued_at: Timestamp,
    /// Who the person is to each data provider that may learn of this token, by sector. Derived with the code, so that no
    /// record keeps more of an identity than its service provider gets: these are pseudonyms, and die with the token.
    pub subjects_by_sector: BTreeMap<String, Subject>,
    /// Where its code was sent; absent in a code's record, which says so itself, and in tokens of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// Where the spans of its login hang; absent where nobody traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

pub(super) fn code_key(code: &str) -> Key {
    key(Kind::Code, code)
}

pub(super) fn token_key(token: &str) -> Key {
    key(Kind::Token, token)
}

/// A logout's way back: of one connector, so that no other can use it up.
pub(super) fn logout_key(connector: &ConnectorId, state: &str) -> Key {
    key(Kind::Logout, &format!("back\n{connector}\n{state}"))
}

/// Where a logout sent its browser: for the same request of the same session again.
pub(super) fn departed_key(cookie: &str, destination: &[u8]) -> Key {
    key(Kind::Logout, &format!("departed\n{cookie}\n{}", digest::base64url(destination)))
}

/// A logout request that came by POST, and waits for its browser's cookies.
pub(super) fn parked_key(ticket: &str) -> Key {
    key(Kind::Parked, ticket)
}

pub(super) fn session_key(cookie: &str) -> Key {
    key(Kind::Session, cookie)
}

/// One client's `jti` is not another's. An id has no line end, so the two can't be mistaken for two others.
pub(super) fn assertion_key(client_id: &ClientId, jti: &str) -> Key {
    key(Kind::Assertion, &format!("{client_id}\n{jti}"))
}

fn key(kind: Kind, secret: &str) -> Key {
    Key { kind, name: Arc::from(digest::fingerprint(secret)) }
}

/// Everything issued for a code.
pub(super) fn family(code: &str) -> Family {
    Family(Arc::from(digest::fingerprint(code)))
}

pub(super) fn encode(record: &impl Serialize) -> Result<Vec<u8>, ErrorCode> {
    serde_json::to_vec(record).map_err(|_| ErrorCode::Internal)
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ErrorCode> {
    serde_json::from_slice(bytes).map_err(|_| ErrorCode::Internal)
}
