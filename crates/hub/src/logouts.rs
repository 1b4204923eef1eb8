//! Performs a logout: what the session, the store and the identity provider's connector do, in this
//! order (docs/logout.md). Nothing waits for a mailbox before the session has ended.

use std::sync::Arc;

use super::identify;
use super::login_services::LoginServices;
use super::session_reuse::session_authentication;
use passerelle_audit::{Event, EventKind};
use passerelle_federation::login::WrongUser;
use passerelle_federation::login::upstream::EndSessionRequest;
use passerelle_federation::session::Session;
use passerelle_federation::session::logout::{LiveSession, LogoutDecision, decide_logout};
use passerelle_grants::backchannel_logout::LogoutNotifier;
use passerelle_grants::logout_redirects::{LogoutDestination, LogoutRequestKey};
use passerelle_jose::encrypt::JweMark;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, Secret};
use passerelle_protocol::logout::LogoutHint;
use url::Url;

/// Handle for logouts.
#[derive(Clone)]
pub struct Logouts {
    services: Arc<LoginServices>,
    notifier: Arc<LogoutNotifier>,
}

/// Result of a logout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogoutOutcome {
    /// The session has ended, and the browser is redirected to the identity provider to end its
    /// session.
    RedirectToIdp(Url),
    /// The session has ended, and the identity provider can't be notified.
    EndedLocally {
        connector: ConnectorId,
        /// The other service providers of the session.
        participants: Vec<ClientId>,
    },
    /// The session had ended before.
    AlreadyEnded,
}

impl LogoutOutcome {
    /// Returns the state with which the browser returns from the identity provider, if it is
    /// redirected there.
    pub fn redirect_state(&self) -> Option<String> {
        match self {
            Self::RedirectToIdp(url) => redirect_state(url),
            Self::EndedLocally { .. } | Self::AlreadyEnded => None,
        }
    }
}

/// Returns the `state` of a logout URL at an identity provider, in SAML its `RelayState`.
pub fn redirect_state(url: &Url) -> Option<String> {
    let states = url.query_pairs().filter(|(name, _)| name == "state" || name == "RelayState");
    states.last().map(|(_, state)| state.into_owned())
}

impl Logouts {
    /// Creates the handle.
    pub const fn new(services: Arc<LoginServices>, notifier: Arc<LogoutNotifier>) -> Self {
        Self { services, notifier }
    }

    pub(super) const fn services(&self) -> &Arc<LoginServices> {
        &self.services
    }

    /// Returns the queue and delivery of logout tokens.
    pub const fn notifier(&self) -> &Arc<LogoutNotifier> {
        &self.notifier
    }

    /// Decides what a valid request may do to the session of this cookie. `hint` is absent if the
    /// request has none. Returns the decision, and the session of the cookie if it exists.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn decide_logout(
        &self,
        hint: Option<&LogoutHint>,
        cookie: Option<&Secret<String>>,
    ) -> Result<(LogoutDecision, Option<Session>), ErrorCode> {
        let services = &self.services;
        let session = match cookie {
            Some(cookie) => services.sessions.find(cookie).await?,
            None => None,
        };
        let subject = session.as_ref().zip(hint).and_then(|(session, hint)| {
            identify::subject_for(
                services,
                &hint.audience,
                &session_authentication(session),
                &session.login.identity,
            )
            .ok()
        });
        let live =
            session.as_ref().map(|session| LiveSession { session, subject: subject.as_ref() });
        Ok((decide_logout(hint, live), session))
    }

    /// Returns the user whom an encrypted ID token names, if it was issued in the session of this
    /// cookie. Only its service provider can decrypt it; the hub recognizes it by the mark in its
    /// initialization vector ([`JweMark`]).
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn match_encrypted_hint_by_mark(
        &self,
        hint: &str,
        cookie: &Secret<String>,
    ) -> Result<Option<LogoutHint>, ErrorCode> {
        let Some(session) = self.services.sessions.find(cookie).await? else {
            return Ok(None);
        };
        let Some(key) = &session.hint_key else { return Ok(None) };
        let audience =
            session.participants().find(|audience| JweMark { key, audience }.matches(hint));
        Ok(audience.and_then(|audience| {
            let user = identify::subject_for(
                &self.services,
                audience,
                &session_authentication(&session),
                &session.login.identity,
            )
            .ok()?;
            Some(LogoutHint { audience: audience.clone(), user })
        }))
    }

    /// Ends the session of this cookie. `session` is its state as loaded before.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn log_out(
        &self,
        cookie: &Secret<String>,
        session: &Session,
        destination: &LogoutDestination,
    ) -> Result<LogoutOutcome, ErrorCode> {
        let services = &self.services;
        let connector = &session.login.connector;
        let state = services.core.env.entropy().token();
        let others = |id: &&ClientId| Some(*id) != destination.service_provider.as_ref();
        let participants: Vec<ClientId> = session.participants().filter(others).cloned().collect();
        let stored = LogoutDestination { participants, ..destination.clone() };
        // The destination is stored first: the browser that comes back must find it. Without room
        // for it the session ends, and the identity provider is not notified.
        let is_saved = session.login.session_hint.is_some()
            && self.save_destination(connector, &state, &stored).await;
        // Stored before the session ends, so that a restart in between loses no notice.
        let notices = self.notifier.store(self.logout_notices(session)).await;
        let Some(ended) = services.sessions.end(cookie).await? else {
            self.notifier.discard(notices).await;
            self.remove_destination(connector, &state).await;
            return self.repeat_redirect(cookie, destination).await;
        };
        self.notifier.deliver(notices);
        self.notify_late_participants(session, &ended).await;
        services.core.audit.record(|| {
            let done =
                Event::new(EventKind::LogoutCompleted).idp(connector).session(&ended.lineage);
            destination.service_provider.iter().fold(done, Event::sp)
        });
        let session_hint = ended.login.session_hint.filter(|_| is_saved);
        if let Some(url) = self.idp_logout_url(connector, session_hint, &state).await {
            if let Err(code) = services
                .logout_redirects
                .remember(cookie, LogoutRequestKey::Destination(destination), url.as_str())
                .await
            {
                tracing::warn!(%connector, code = code.entry().code, "logout redirect not stored: a repeated request is not redirected to the identity provider");
            }
            Ok(LogoutOutcome::RedirectToIdp(url))
        } else {
            self.remove_destination(connector, &state).await;
            let participants = stored.participants;
            Ok(LogoutOutcome::EndedLocally { connector: connector.clone(), participants })
        }
    }

    /// Ends the sessions of a person who is not the one at the browser: the hub's, if the login
    /// reused it, and the identity provider's. The browser returns to the login. Returns the
    /// identity provider's logout URL, if it has one.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn end_wrong_user_sessions(
        &self,
        user: WrongUser,
        cookie: Option<&Secret<String>>,
        login: &InteractionHash,
    ) -> Result<Option<Url>, ErrorCode> {
        let destination =
            LogoutDestination { login: Some(login.clone()), ..LogoutDestination::default() };
        // Only the session whose user the page showed.
        let reused = cookie.filter(|cookie| user.is_of_session(cookie));
        let WrongUser { connector, session_hint, .. } = user;
        if let Some(cookie) = reused
            && let Some(session) = self.services.sessions.find(cookie).await?
        {
            return Ok(match self.log_out(cookie, &session, &destination).await? {
                LogoutOutcome::RedirectToIdp(url) => Some(url),
                LogoutOutcome::EndedLocally { .. } | LogoutOutcome::AlreadyEnded => None,
            });
        }
        let state = self.services.core.env.entropy().token();
        if session_hint.is_none() || !self.save_destination(&connector, &state, &destination).await
        {
            return Ok(None);
        }
        let url = self.idp_logout_url(&connector, session_hint, &state).await;
        if url.is_none() {
            self.remove_destination(&connector, &state).await;
        }
        Ok(url)
    }

    /// Repeats the answer to a logout whose session has ended. A double click or a lost answer must
    /// not keep the identity provider's session alive, so a repeat is redirected as the first
    /// request was.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn repeat_redirect(
        &self,
        cookie: &Secret<String>,
        destination: &LogoutDestination,
    ) -> Result<LogoutOutcome, ErrorCode> {
        let earlier = self
            .services
            .logout_redirects
            .find(cookie, LogoutRequestKey::Destination(destination))
            .await?;
        Ok(earlier
            .and_then(|url| Url::parse(&url).ok())
            .map_or(LogoutOutcome::AlreadyEnded, LogoutOutcome::RedirectToIdp))
    }

    /// Returns the identity provider's logout URL, if it has one, is enabled and answers.
    async fn idp_logout_url(
        &self,
        connector: &ConnectorId,
        session_hint: Option<Secret<String>>,
        state: &str,
    ) -> Option<Url> {
        let handle = self.services.connectors.enabled_handle(connector)?;
        let issuer = &self.services.core.issuer;
        let request = EndSessionRequest {
            session_hint: session_hint?,
            post_logout_redirect_uri: format!("{issuer}/session/end/{connector}"),
            state: state.to_owned(),
        };
        let answer = handle.end_session(request).await;
        answer.inspect_err(|error| tracing::warn!(%connector, %error, "identity provider not notified of a logout")).ok()?
    }

    async fn save_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
        destination: &LogoutDestination,
    ) -> bool {
        let saved =
            self.services.logout_redirects.save_destination(connector, state, destination).await;
        let log = |code: &ErrorCode| {
            let code = code.entry().code;
            tracing::warn!(%connector, code, "logout destination not stored: the identity provider is not notified");
        };
        saved.inspect_err(log).is_ok()
    }

    async fn remove_destination(&self, connector: &ConnectorId, state: &str) {
        if self.services.logout_redirects.take_destination(connector, state).await.is_err() {
            tracing::warn!(%connector, "unused logout destination not removed; it expires");
        }
    }
}
