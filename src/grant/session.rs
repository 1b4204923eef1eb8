//! Sessions in the store: begun when a login finishes, used again by later ones (decisions 4 and 5).

use std::sync::Arc;

use super::records::{decode, encode, session_key};
use super::{Grants, store_code};
use crate::digest;
use crate::env::Timestamp;
use crate::identity::Claim;
use crate::ids::Secret;
use crate::login::{Grant, SessionUse};
use crate::protocol::catalogue::ErrorCode;
use crate::session::{Finished, Session};
use crate::store::{Draft, Family, Replaced, StoreFault, Version};

/// A use that loses a race against another tab's is noted anew, this often.
const ATTEMPTS: usize = 5;

/// When a grant's session began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Now,
    Before,
}

/// The session that a grant is issued in.
pub(super) struct InSession {
    /// Of all that is issued in it.
    pub family: Family,
    pub begun: Begun,
    /// Marks its encrypted ID tokens, where there are any.
    pub hint_key: Option<Secret<String>>,
}

impl InSession {
    fn new(session: Session, begun: Begun) -> Self {
        Self { family: family_of(&session), begun, hint_key: session.hint_key }
    }
}

impl Grants {
    /// The session that a browser's cookie names, if it is still alive.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn session(&self, cookie: &Secret<String>) -> Result<Option<Session>, ErrorCode> {
        Ok(self.load_session(cookie.reveal(), self.env.now()).await?.map(|(session, _)| session))
    }

    /// Notes that the grant's service provider takes part, in a new session or in the one that is reused.
    pub(super) async fn begin_session(
        &self,
        grant: &Grant,
        now: Timestamp,
    ) -> Result<InSession, ErrorCode> {
        match &grant.session {
            SessionUse::Reused { cookie } => self.use_session(grant, cookie, now).await,
            SessionUse::Fresh { cookie, former } => {
                self.start_session(grant, cookie, former.as_ref(), now).await
            }
        }
    }

    async fn start_session(
        &self,
        grant: &Grant,
        cookie: &Secret<String>,
        former: Option<&Secret<String>>,
        now: Timestamp,
    ) -> Result<InSession, ErrorCode> {
        let authentication = &grant.proven.authentication;
        let finished = Finished {
            connector: authentication.connector.clone(),
            upstream_subject: authentication.upstream_subject.clone(),
            level: authentication.level,
            evidence: grant.proven.evidence.clone(),
            auth_time: authentication.auth_time,
            identity: grant.proven.identity.clone(),
            id_token: authentication.id_token.clone(),
        };
        let mut session = Session::start(finished, &digest::fingerprint(cookie.reveal()), now);
        // The same person keeps what the session before it knew.
        if let Some(former) = former
            && let Some((before, _)) = self.load_session(former.reveal(), now).await?
            && self.subjects.is_same_person(&session, &before, &self.federation.load())
        {
            session.continue_from(before);
        }
        self.note(&mut session, grant);
        let draft = Draft {
            value: encode(&session)?,
            expires_at: session.expires_at(&self.session_limits),
            unread_until: None,
            families: Arc::default(),
        };
        match self.store.insert(session_key(cookie.reveal()), draft, now).await {
            Ok(_) => Ok(InSession::new(session, Begun::Now)),
            // The value is nobody else's: an earlier try to answer the same login has begun it. What that one continued may have
            // ended since, so the lineage is the one that was begun with; and signed out is signed out.
            Err(StoreFault::Exists) => match self.load_session(cookie.reveal(), now).await? {
                Some((begun, _)) => Ok(InSession::new(begun, Begun::Before)),
                None => Err(ErrorCode::LoginRequired),
            },
            Err(fault) => Err(store_code(&fault)),
        }
    }

    /// Whoever authenticates anew ends the session before (ASVS 5, 7.2.4). Last of all, so that a login that could not
    /// be finished takes nothing away.
    pub(super) async fn end_former_session(&self, grant: &Grant) {
        if let SessionUse::Fresh { former: Some(former), .. } = &grant.session {
            self.forget_session(former).await;
        }
    }

    /// Takes back what `begin_session` began: its cookie was never sent.
    pub(super) async fn abandon_session(&self, grant: &Grant) {
        if let SessionUse::Fresh { cookie, .. } = &grant.session {
            self.forget_session(cookie).await;
        }
    }

    /// Ends it without a word, if it is there: what was issued in it lives on.
    pub async fn forget_session(&self, cookie: &Secret<String>) {
        if let Err(fault) = self.store.remove(&session_key(cookie.reveal())).await {
            tracing::error!(%fault, "a session could not be ended; it ends by time");
        }
    }

    async fn use_session(
        &self,
        grant: &Grant,
        cookie: &Secret<String>,
        now: Timestamp,
    ) -> Result<InSession, ErrorCode> {
        for _ in 0..ATTEMPTS {
            // It was alive a moment ago: ended meanwhile means that this login may not be answered from it.
            let (mut session, version) =
                self.load_session(cookie.reveal(), now).await?.ok_or(ErrorCode::LoginRequired)?;
            session.touch(now);
            self.note(&mut session, grant);
            let until = session.expires_at(&self.session_limits);
            let replaced = self
                .store
                .replace(&session_key(cookie.reveal()), version, encode(&session)?, until, now)
                .await;
            match replaced.map_err(|fault| store_code(&fault))? {
                Replaced::Done(_) => return Ok(InSession::new(session, Begun::Before)),
                Replaced::Stale => {}
                Replaced::Gone => return Err(ErrorCode::LoginRequired),
            }
        }
        Err(ErrorCode::Busy)
    }

    fn note(&self, session: &mut Session, grant: &Grant) {
        let client_id = &grant.request.client_id;
        session.take_part(client_id);
        if grant.consented {
            session.remember_consent(client_id, shown(&grant.proven.claims));
        }
        // In the writes that the session and the code need anyway, so that redeeming writes nothing for it.
        let encrypts = self
            .federation
            .load()
            .active(client_id)
            .is_some_and(|client| client.encryption.is_some());
        if encrypts && session.hint_key.is_none() {
            session.hint_key = Some(Secret::new(self.env.entropy().token()));
        }
    }

    async fn load_session(
        &self,
        cookie: &str,
        now: Timestamp,
    ) -> Result<Option<(Session, Version)>, ErrorCode> {
        let found =
            self.store.load(&session_key(cookie), now).await.map_err(|fault| store_code(&fault))?;
        found.map(|record| Ok((decode(&record.value)?, record.version))).transpose()
    }
}

/// Codes and tokens that end with this session's logout.
pub(super) fn family_of(session: &Session) -> Family {
    Family(Arc::from(session.lineage.as_str()))
}

/// The claims on a page, by name.
#[must_use]
pub fn shown(
    claims: &serde_json::Map<String, serde_json::Value>,
) -> std::collections::BTreeSet<Claim> {
    claims.keys().filter_map(|name| Claim::named(name)).collect()
}
