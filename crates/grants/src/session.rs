//! Stores sessions: created when a login finishes, reused by later logins (`docs/design/login.md`),
//! and ended with everything issued in them.

mod index;

use std::sync::Arc;
use std::time::Duration;

use super::HubCore;
use super::lifetimes::MAX_ACCESS_TOKEN_LIFETIME;
use super::records::{encode_record, load_record, new_record, session_key, take_record};
use super::subjects::SubjectDeriver;
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_federation::session::{FinishedLogin, Session};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_store::{
    Family, MAX_UPDATE_ATTEMPTS, NewRecord, RecordKey, RecordVersion, ReplaceOutcome, Store,
};

/// Whether the session of a grant is new.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionOrigin {
    New,
    Existing,
}

/// Session that a grant is issued in.
pub(super) struct GrantSession {
    /// Family of everything issued in the session.
    pub family: Family,
    /// Key that marks its encrypted ID tokens, if the service provider encrypts.
    pub hint_key: Option<Secret<String>>,
    /// Record of a new session, to be inserted with the code.
    pub new_record: Option<(RecordKey, NewRecord)>,
}

impl GrantSession {
    fn new(session: Session, new_record: Option<(RecordKey, NewRecord)>) -> Self {
        Self { family: session_family(&session), hint_key: session.hint_key, new_record }
    }

    /// Returns whether the session is new, until its record is taken.
    pub(crate) const fn origin(&self) -> SessionOrigin {
        if self.new_record.is_some() { SessionOrigin::New } else { SessionOrigin::Existing }
    }
}

/// The sessions of browsers.
pub struct Sessions {
    pub(super) core: Arc<HubCore>,
    pub(super) store: Arc<dyn Store>,
    pub(super) subjects: Arc<SubjectDeriver>,
    /// The longest that a code is valid.
    pub(super) code_lifetime: Duration,
    /// Whether sessions are indexed by the `sub` of each service provider.
    pub(super) indexes_subjects: bool,
}

impl Sessions {
    /// Returns the live session of a browser's cookie.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn find(&self, cookie: &Secret<String>) -> Result<Option<Session>, ErrorCode> {
        Ok(self.load_session(cookie).await?.map(|(session, _)| session))
    }

    /// Records the grant's service provider as a participant, in a new session or in the reused
    /// one. A new session is not stored yet.
    ///
    /// # Errors
    /// `LoginRequired` if the session has ended meanwhile, `Busy` after too many concurrent
    /// updates; otherwise the error of the store.
    pub(super) async fn begin(
        &self,
        grant: &CodeGrant,
        now: Timestamp,
    ) -> Result<GrantSession, ErrorCode> {
        match &grant.session {
            SessionUse::Reused { cookie } => self.reuse_session(grant, cookie, now).await,
            SessionUse::New { cookie, replaced: previous } => {
                self.start_session(grant, cookie, previous.as_ref(), now).await
            }
        }
    }

    /// Returns the session that an earlier attempt to answer the login stored: its cookie is unique
    /// to the login. That session keeps its lineage, because the one it continued may have ended
    /// since.
    ///
    /// # Errors
    /// `LoginRequired` if the session is gone: the user signed out.
    pub(super) async fn find_earlier(&self, grant: &CodeGrant) -> Result<GrantSession, ErrorCode> {
        let (SessionUse::New { cookie, .. } | SessionUse::Reused { cookie }) = &grant.session;
        let (session, _) = self.load_session(cookie).await?.ok_or(ErrorCode::LoginRequired)?;
        Ok(GrantSession::new(session, None))
    }

    async fn start_session(
        &self,
        grant: &CodeGrant,
        cookie: &Secret<String>,
        previous: Option<&Secret<String>>,
        now: Timestamp,
    ) -> Result<GrantSession, ErrorCode> {
        let authentication = &grant.user.authentication;
        let finished = FinishedLogin {
            connector: authentication.connector.clone(),
            upstream_subject: authentication.upstream_subject.clone(),
            level: authentication.level,
            evidence: grant.user.evidence.clone(),
            auth_time: authentication.auth_time,
            session_ends_at: authentication.session_ends_at,
            identity: grant.user.identity.clone(),
            confirmed_at: grant.user.confirmed_at,
            electronic_records: authentication.electronic_records.clone(),
            session_hint: authentication.session_hint.clone(),
        };
        let mut session = Session::start(finished, &digest::sha256_base64url(cookie.reveal()), now);
        // The session of the same user inherits the participants and consents of the previous one.
        if let Some(previous) = previous
            && let Some((before, _)) = self.load_session(previous).await?
            && self.subjects.is_same_person(&session, &before, &self.core.federation.load())
        {
            session.continue_from(before);
        }
        self.record_participation(&mut session, grant);
        let key = session_key(cookie.reveal());
        self.index_upstream_session(&session, &key, now).await?;
        for client_id in session.participants() {
            self.index_session_subject(&session, &key, client_id).await?;
        }
        let draft = new_record(&session, session.expires_at(&self.core.session_limits))?;
        Ok(GrantSession::new(session, Some((key, draft))))
    }

    /// Ends the session that a new authentication replaces (ASVS 5 §7.2.4). This is the last step,
    /// so that a login that fails ends nothing.
    pub(super) async fn end_previous(&self, grant: &CodeGrant) {
        if let SessionUse::New { replaced: Some(previous), .. } = &grant.session {
            self.remove(previous).await;
        }
    }

    /// Removes the new session of a login that gets no code: its cookie was never sent.
    pub(super) async fn discard_new(&self, grant: &CodeGrant) {
        if let SessionUse::New { cookie, .. } = &grant.session {
            self.remove(cookie).await;
        }
    }

    /// Removes the session, if it exists. What was issued in it stays valid.
    pub async fn remove(&self, cookie: &Secret<String>) {
        if let Err(error) = self.store.remove(&session_key(cookie.reveal())).await {
            tracing::error!(%error, "session could not be removed; it expires by itself");
        }
    }

    async fn reuse_session(
        &self,
        grant: &CodeGrant,
        cookie: &Secret<String>,
        now: Timestamp,
    ) -> Result<GrantSession, ErrorCode> {
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            // The session was live a moment ago. If it ended meanwhile, this login must not be
            // answered from it.
            let (mut session, version) =
                self.load_session(cookie).await?.ok_or(ErrorCode::LoginRequired)?;
            session.record_use(now);
            if grant.user.evidence.has_mail() {
                session.login.evidence.add_mail();
            }
            let client_id = &grant.request.client_id;
            if !session.has_participant(client_id) {
                let key = session_key(cookie.reveal());
                self.index_session_subject(&session, &key, client_id).await?;
            }
            self.record_participation(&mut session, grant);
            let until = session.expires_at(&self.core.session_limits);
            let replaced = self
                .store
                .replace(
                    &session_key(cookie.reveal()),
                    version,
                    encode_record(&session)?,
                    until,
                    now,
                )
                .await?;
            match replaced {
                ReplaceOutcome::Replaced(_) => {
                    return Ok(GrantSession::new(session, None));
                }
                ReplaceOutcome::Stale => {}
                ReplaceOutcome::Gone => return Err(ErrorCode::LoginRequired),
            }
        }
        Err(ErrorCode::Busy)
    }

    fn record_participation(&self, session: &mut Session, grant: &CodeGrant) {
        let client_id = &grant.request.client_id;
        let federation = self.core.federation.load();
        session.add_participant(client_id);
        let claims = federation.consent_claims(&grant.user.claims);
        if grant.consented {
            session.remember_consent(client_id, &grant.scopes, claims);
        } else if grant.user.informed {
            session.remember_information(client_id, &grant.scopes, claims);
        }
        let Some(client) = federation.active_service_provider(client_id) else { return };
        if client.logout_endpoint.is_some() {
            session.set_support_id(client_id, &grant.support_id);
        }
        // Stored with the writes that the session and the code need anyway, so that redeeming a
        // code needs no extra write.
        if client.encryption.id_token.is_some() && session.hint_key.is_none() {
            session.hint_key = Some(Secret::new(self.core.env.entropy().token()));
        }
    }

    /// Ends the session of this cookie and revokes its codes and tokens. Exactly one caller gets
    /// the session.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn end(&self, cookie: &Secret<String>) -> Result<Option<Session>, ErrorCode> {
        let Some(session) = self.find(cookie).await? else {
            return Ok(None);
        };
        self.end_record(&session_key(cookie.reveal()), &session).await
    }

    /// Ends the session under this key like [`Self::end`]; `session` is its state as loaded
    /// before.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn end_record(
        &self,
        key: &RecordKey,
        session: &Session,
    ) -> Result<Option<Session>, ErrorCode> {
        let now = self.core.env.now();
        // Revoked first: if the hub stops in between, the session remains, and a repeated request
        // ends everything. `until` is the longest that a code issued now, and then its token, could
        // live.
        let until = now + self.code_lifetime + MAX_ACCESS_TOKEN_LIFETIME;
        self.store.revoke(&session_family(session), until, now).await?;
        // The tombstone stays as long as the login that began the session can be answered again: it
        // must not restart the session.
        take_record(&*self.store, key, now + self.code_lifetime, now).await
    }

    async fn load_session(
        &self,
        cookie: &Secret<String>,
    ) -> Result<Option<(Session, RecordVersion)>, ErrorCode> {
        let key = session_key(cookie.reveal());
        let found = load_record(&*self.store, &key, self.core.env.now()).await?;
        Ok(found.map(|(session, record)| (session, record.version)))
    }
}

/// Returns the family of codes and tokens that end with this session's logout.
pub(super) fn session_family(session: &Session) -> Family {
    Family(Arc::from(session.lineage.as_str()))
}
