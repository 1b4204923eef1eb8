//! Finds the sessions that came from an upstream `sub` or `sid`, for an identity provider's logout
//! tokens (OpenID Connect Back-Channel Logout 1.0 §2.7), and those of a `sub` of this hub, for
//! operators.
//!
//! The first index exists only for connectors whose identity provider may end sessions, the second
//! one only with `index_sessions_by_sub`. They hold hashes, and name sessions by the keys of
//! their records.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Sessions;
use crate::records::{
    decode_record, encode_record, load_record, subject_sessions_key, upstream_session_key,
};
use crate::subjects::UpstreamAccount;
use passerelle_federation::login::upstream::UpstreamLogout;
use passerelle_federation::session::Session;
use passerelle_jose::verify::{numeric_date, unverified_claims};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret, Subject};
use passerelle_store::{MAX_UPDATE_ATTEMPTS, NewRecord, Record, RecordKey, RecordKind, StoreError};

/// Maximum number of sessions of one `sub` or `sid`. A further one removes the oldest from the
/// index.
const MAX_INDEXED_SESSIONS: usize = 32;
/// Values of `sid` by which one session is found.
const MAX_SESSION_IDS: usize = 2;
/// How long a logout is remembered that finds no session: as long as a login may be on its way.
const LOGOUT_LIFETIME: Duration = Duration::from_secs(3600);
/// How long a `jti` is stored after the token's expiry: the identity provider's clock may be
/// behind.
const JTI_MARGIN: Duration = Duration::from_secs(120);

/// The sessions of one `sub` or `sid`.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
struct SessionIndex {
    /// Names of the records of the sessions, the newest last.
    sessions: Vec<Arc<str>>,
    /// `iat` of the last logout token: ID tokens from before begin no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// Name of the index of the only `sub` that the logout tokens of this `sid` named; `None` if
    /// they end the sessions of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_subject: Option<Arc<str>>,
}

impl SessionIndex {
    /// Records a logout token with this `iat`, which ends the sessions of one `sub` or of all.
    fn record_logout(&mut self, issued_at: Timestamp, subject: Option<Arc<str>>) {
        let is_first = self.ended_at.is_none();
        self.ended_subject =
            subject.filter(|named| is_first || self.ended_subject.as_ref() == Some(named));
        self.ended_at = self.ended_at.max(Some(issued_at));
    }

    /// Returns true if an ID token of this `sub` from before a logout token may begin no session.
    fn has_ended(&self, issued_at: Timestamp, subject: &Arc<str>) -> bool {
        self.ended_at.is_some_and(|ended| issued_at < ended)
            && self.ended_subject.as_ref().is_none_or(|ended| ended == subject)
    }
}

/// Returns the claims that name the identity provider's session: of the ID token, or the hint's own.
fn hint_claims(hint: &str) -> Map<String, Value> {
    serde_json::from_str(hint).unwrap_or_else(|_| unverified_claims(hint))
}

impl Sessions {
    /// Adds a session that is about to be stored under this key to the index, if its connector
    /// accepts logout tokens.
    ///
    /// # Errors
    /// `LoginRequired` if the identity provider has ended the user's session since its ID token;
    /// `Busy`, `StoreUnavailable`.
    pub(super) async fn index_upstream_session(
        &self,
        session: &Session,
        key: &RecordKey,
        now: Timestamp,
    ) -> Result<(), ErrorCode> {
        let login = &session.login;
        let accepts_logout = |connector: &ConnectorId| {
            let federation = self.core.federation.load();
            federation.connector(connector).is_some_and(|metadata| metadata.backchannel_logout)
        };
        if !accepts_logout(&login.connector) {
            return Ok(());
        }
        // Verified when the login was completed.
        let claims = login.session_hint.as_ref().map(|hint| hint_claims(hint.reveal()));
        let claims = claims.unwrap_or_default();
        let issued_at = numeric_date(&claims, "iat").ok().flatten();
        let sids = match claims.get("sid") {
            Some(Value::Array(sids)) => sids.as_slice(),
            sid => sid.map(std::slice::from_ref).unwrap_or_default(),
        };
        let sids = sids.iter().filter_map(Value::as_str).take(MAX_SESSION_IDS);
        let by_sid = sids.map(|sid| upstream_session_key(&login.connector, "sid", sid));
        let until = now + self.core.session_limits.lifetime;
        let by_subject =
            upstream_session_key(&login.connector, "sub", login.upstream_subject.reveal());
        let subject = Arc::clone(&by_subject.name);
        for index in by_sid.chain([by_subject]) {
            let Some(updated) = self.add_to_index(&index, key, until).await? else { continue };
            if issued_at.is_some_and(|issued| updated.has_ended(issued, &subject)) {
                return Err(ErrorCode::LoginRequired);
            }
        }
        Ok(())
    }

    /// Adds a session that is about to be stored to those of its user's `sub` at this service
    /// provider, if the hub indexes sessions.
    ///
    /// # Errors
    /// `Busy`, `StoreUnavailable`.
    pub(super) async fn index_session_subject(
        &self,
        session: &Session,
        key: &RecordKey,
        client_id: &ClientId,
    ) -> Result<(), ErrorCode> {
        let subject = self.indexes_subjects.then(|| self.session_subject(session, client_id));
        if let Some(subject) = subject.flatten() {
            let until = self.core.env.now() + self.core.session_limits.lifetime;
            self.add_to_index(&subject_sessions_key(&subject), key, until).await?;
        }
        Ok(())
    }

    /// Returns the `sub` of the session's user at a service provider; `None` if that is inactive.
    fn session_subject(&self, session: &Session, client_id: &ClientId) -> Option<Subject> {
        let federation = self.core.federation.load();
        let service = federation.active_service_provider(client_id)?;
        let login = &session.login;
        let account =
            UpstreamAccount { connector: &login.connector, subject: &login.upstream_subject };
        let version = service.subject_key_version;
        self.subjects.derive(version, &service.sector, account, &login.identity).ok()
    }

    /// Returns the live sessions of a `sub`, with the keys of their records.
    ///
    /// # Errors
    /// `SessionsNotIndexed`, `Internal`, `StoreUnavailable`.
    pub async fn find_by_subject(
        &self,
        subject: &Subject,
    ) -> Result<Vec<(RecordKey, Session)>, ErrorCode> {
        if !self.indexes_subjects {
            return Err(ErrorCode::SessionsNotIndexed);
        }
        let (index, now) = (subject_sessions_key(subject), self.core.env.now());
        let named = load_record::<SessionIndex>(&*self.store, &index, now).await?;
        let sessions = named.map(|(index, _)| index.sessions).unwrap_or_default();
        self.load_sessions(sessions).await
    }

    async fn load_sessions(
        &self,
        names: Vec<Arc<str>>,
    ) -> Result<Vec<(RecordKey, Session)>, ErrorCode> {
        let keys: Vec<RecordKey> =
            names.into_iter().map(|name| RecordKey { kind: RecordKind::SESSION, name }).collect();
        let records = self.store.load_many(&keys, self.core.env.now()).await?;
        let live = keys.into_iter().zip(records);
        live.filter_map(|(key, record)| Some((key, record?)))
            .map(|(key, record)| Ok((key, decode_record(&record.value)?)))
            .collect()
    }

    /// Records that a logout token was used.
    ///
    /// # Errors
    /// `LogoutTokenReplayed`, on any hub that shares the store; `StoreUnavailable`.
    pub async fn use_logout_token(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
    ) -> Result<(), ErrorCode> {
        let key = upstream_session_key(connector, "jti", &logout.jti);
        let draft = NewRecord::new(Vec::new(), logout.expires_at + JTI_MARGIN);
        match self.store.insert(key, draft, self.core.env.now()).await {
            // Without room the logout still takes place. A replay of it would end nothing more than
            // the identity provider asked for.
            Ok(_) | Err(StoreError::Full) => Ok(()),
            Err(StoreError::Exists) => Err(ErrorCode::LogoutTokenReplayed),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a logout token be used again, because its sessions could not be ended.
    pub async fn forget_logout_token(&self, connector: &ConnectorId, logout: &UpstreamLogout) {
        let key = upstream_session_key(connector, "jti", &logout.jti);
        if let Err(error) = self.store.remove(&key).await {
            tracing::warn!(%connector, %error, "the identity provider can't repeat its logout token");
        }
    }

    /// Records a logout token in the index, so that no ID token from before it begins a session.
    /// Returns the names of the sessions of its `sid`, or of its `sub` if it has no `sid`; some may
    /// have ended, or may not be stored yet.
    ///
    /// # Errors
    /// `Busy`, `StoreFull`, `StoreUnavailable`.
    pub async fn record_upstream_logout(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
    ) -> Result<Vec<Arc<str>>, ErrorCode> {
        let key = |member, value: &Secret<String>| {
            upstream_session_key(connector, member, value.reveal())
        };
        let by_subject = logout.subject.as_ref().map(|subject| key("sub", subject));
        let (index, subject) = match (&logout.session_id, by_subject) {
            // A token with both names the session of this user only (§2.7).
            (Some(sid), by_subject) => (key("sid", sid), by_subject.map(|index| index.name)),
            (None, Some(by_subject)) => (by_subject, None),
            (None, None) => return Ok(Vec::new()),
        };
        let now = self.core.env.now();
        let ended = self.update_index(&index, now + LOGOUT_LIFETIME, |sessions| {
            sessions.record_logout(logout.issued_at, subject.clone());
        });
        Ok(ended.await?.sessions)
    }

    /// Returns those of the sessions with these names that are live and fit the logout token, with
    /// the keys of their records.
    ///
    /// # Errors
    /// `Internal`, `StoreUnavailable`.
    pub async fn load_upstream_sessions(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
        names: Vec<Arc<str>>,
    ) -> Result<Vec<(RecordKey, Session)>, ErrorCode> {
        let is_named = |session: &Session| {
            let login = &session.login;
            let is_subject = |subject: &_| login.upstream_subject == *subject;
            login.connector == *connector && logout.subject.as_ref().is_none_or(is_subject)
        };
        let mut found = self.load_sessions(names).await?;
        found.retain(|(_, session)| is_named(session));
        Ok(found)
    }

    /// Adds a session to a record of the index. `None` if the store has no room for it: a login
    /// must not fail because of that, and its session ends by time or by its user.
    async fn add_to_index(
        &self,
        index: &RecordKey,
        session: &RecordKey,
        until: Timestamp,
    ) -> Result<Option<SessionIndex>, ErrorCode> {
        let updated = self.update_index(index, until, |sessions| {
            sessions.sessions.push(Arc::clone(&session.name));
            let surplus = sessions.sessions.len().saturating_sub(MAX_INDEXED_SESSIONS);
            sessions.sessions.drain(..surplus);
        });
        match updated.await {
            Err(ErrorCode::StoreFull) => {
                tracing::warn!(
                    "no room for the index of sessions: neither a logout token nor an operator can end this session"
                );
                Ok(None)
            }
            updated => updated.map(Some),
        }
    }

    /// Changes a record of the index, which lives until `until` at least. Returns its new value.
    async fn update_index(
        &self,
        key: &RecordKey,
        until: Timestamp,
        change: impl Fn(&mut SessionIndex),
    ) -> Result<SessionIndex, ErrorCode> {
        let now = self.core.env.now();
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let found = load_record::<SessionIndex>(&*self.store, key, now).await?;
            let (sessions, record) = found.unzip();
            let (version, until) = record.map_or((None, until), |record: Record| {
                (Some(record.version), until.max(record.expires_at))
            });
            let mut sessions = sessions.unwrap_or_default();
            change(&mut sessions);
            let value = encode_record(&sessions)?;
            if self.store.compare_and_set(key, version, value, until, now).await? {
                return Ok(sessions);
            }
        }
        Err(ErrorCode::Busy)
    }
}
