//! Ends sessions because their identity provider (OpenID Connect Back-Channel Logout 1.0 §2.6 and
//! §2.7) or an operator says so, and names the service providers that are notified of a logout.

use std::sync::Arc;
use std::time::Duration;

use super::identify;
use super::logouts::Logouts;
use super::session_reuse::session_authentication;
use passerelle_audit::{Event, EventKind};
use passerelle_federation::login::upstream::UpstreamLogout;
use passerelle_federation::session::Session;
use passerelle_grants::backchannel_logout::{LogoutNotice, derive_sid};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject};
use passerelle_store::RecordKey;

/// Time within which a login stores its session after it has added it to the index of an identity
/// provider's sessions.
const MAX_STORING_TIME: Duration = Duration::from_secs(10);

impl Logouts {
    /// Returns a notice for each service provider of the session that receives logout tokens.
    pub(super) fn logout_notices(&self, session: &Session) -> Vec<LogoutNotice> {
        session
            .participants()
            .filter_map(|client_id| self.logout_notice(session, client_id))
            .collect()
    }

    /// Notifies the service providers that joined the session after it was `loaded`, and before it
    /// `ended`.
    pub(super) async fn notify_late_participants(&self, loaded: &Session, ended: &Session) {
        let late = ended.participants().filter(|client_id| !loaded.has_participant(client_id));
        let notices = late.filter_map(|client_id| self.logout_notice(ended, client_id)).collect();
        let notices = self.notifier().store(notices).await;
        self.notifier().deliver(notices);
    }

    fn logout_notice(&self, session: &Session, client_id: &ClientId) -> Option<LogoutNotice> {
        let services = self.services();
        let federation = services.core.federation.load();
        federation.active_service_provider(client_id)?.logout_endpoint.as_ref()?;
        let authentication = session_authentication(session);
        let identity = &session.login.identity;
        let derived = identify::subject_for(services, client_id, &authentication, identity);
        let log = |code: &ErrorCode| {
            let code = code.entry().code;
            tracing::error!(%client_id, code, "no sub for a logout token: the service provider is not notified");
        };
        Some(LogoutNotice {
            client_id: client_id.clone(),
            subject: derived.inspect_err(log).ok()?,
            sid: derive_sid(&session.lineage, client_id),
            support_id: session.support_id(client_id).cloned(),
        })
    }

    /// Ends the sessions that a logout token of this identity provider names. Returns their number.
    ///
    /// # Errors
    /// `NotFound` if the connector accepts no logout tokens; the code of the first check that the
    /// token fails, `LogoutTokenReplayed` included; otherwise the error of the store, after which
    /// the same token may be sent again.
    pub async fn end_upstream_sessions(
        &self,
        connector: &ConnectorId,
        logout_token: &str,
    ) -> Result<usize, ErrorCode> {
        let services = self.services();
        let is_on = services
            .core
            .federation
            .load()
            .connector(connector)
            .is_some_and(|metadata| metadata.backchannel_logout);
        let adapter = services.connectors.connector(connector).filter(|_| is_on);
        let adapter = adapter.ok_or(ErrorCode::NotFound)?;
        let logout = adapter.verify_logout_token(logout_token).await.map_err(|error| {
            let error = services.connectors.clock.attribute_error(error);
            tracing::warn!(%connector, %error, "logout token of the identity provider rejected");
            error.code
        })?;
        self.end_sessions_once(connector, &logout).await
    }

    /// Ends the sessions that a verified logout of this identity provider names. Returns their
    /// number.
    ///
    /// # Errors
    /// `LogoutTokenReplayed`; otherwise the error of the store, after which the same logout may be
    /// sent again.
    pub async fn end_sessions_once(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
    ) -> Result<usize, ErrorCode> {
        let sessions = &self.services().sessions;
        sessions.use_logout_token(connector, logout).await?;
        let ended = self.end_sessions_of_logout(connector, logout).await;
        if ended.is_err() {
            sessions.forget_logout_token(connector, logout).await;
        }
        ended
    }

    /// Records the logout, ends the sessions that it names, and repeats that after
    /// [`MAX_STORING_TIME`] for sessions that were being stored. Returns the number of ended
    /// sessions.
    async fn end_sessions_of_logout(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
    ) -> Result<usize, ErrorCode> {
        let names = self.services().sessions.record_upstream_logout(connector, logout).await?;
        let ended = self.end_named_sessions(connector, logout, names.clone()).await?;
        if ended < names.len() {
            let (logouts, connector, logout) = (self.clone(), connector.clone(), logout.clone());
            tokio::spawn(async move {
                tokio::time::sleep(MAX_STORING_TIME).await;
                let ended = logouts.end_named_sessions(&connector, &logout, names).await;
                if let Err(code) = ended {
                    let code = code.entry().code;
                    tracing::warn!(%connector, code, "a session that began during a logout may not have ended");
                }
            });
        }
        Ok(ended)
    }

    async fn end_named_sessions(
        &self,
        connector: &ConnectorId,
        logout: &UpstreamLogout,
        names: Vec<Arc<str>>,
    ) -> Result<usize, ErrorCode> {
        let sessions = &self.services().sessions;
        let sessions = sessions.load_upstream_sessions(connector, logout, names).await?;
        self.end_sessions(sessions, "upstream", |session| {
            let event = Event::new(EventKind::UpstreamLogoutReceived).idp(connector);
            event.session(&session.lineage)
        })
        .await
    }

    /// Ends the sessions of a person, because an operator asked for it. Returns their number.
    ///
    /// # Errors
    /// `SessionsNotIndexed`, `Internal`, `StoreUnavailable`.
    pub async fn end_subject_sessions(
        &self,
        subject: &Subject,
        operator: &str,
        reason: &str,
    ) -> Result<usize, ErrorCode> {
        let sessions = self.services().sessions.find_by_subject(subject).await?;
        self.end_sessions(sessions, "operator", |session| {
            let event = Event::new(EventKind::SessionEndedByOperator).subject(subject);
            event.session(&session.lineage).operator(operator).reason(reason)
        })
        .await
    }

    /// Ends sessions and notifies their service providers.
    async fn end_sessions(
        &self,
        sessions: Vec<(RecordKey, Session)>,
        outcome: &'static str,
        event: impl Fn(&Session) -> Event,
    ) -> Result<usize, ErrorCode> {
        let services = self.services();
        let mut ended = 0;
        for (key, session) in sessions {
            let notices = self.notifier().store(self.logout_notices(&session)).await;
            let Some(ended_session) = services.sessions.end_record(&key, &session).await? else {
                self.notifier().discard(notices).await;
                continue;
            };
            self.notifier().deliver(notices);
            self.notify_late_participants(&session, &ended_session).await;
            services.core.metrics.record_logout(outcome);
            services.core.audit.record(|| event(&session));
            ended += 1;
        }
        Ok(ended)
    }
}
