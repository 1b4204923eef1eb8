//! A logout from its judgement to the browser's departure (decisions 12): what the session, the store and the identity
//! provider's connector do about it, in this order. Nothing here waits for a mailbox before the session has ended.

use std::sync::Arc;

use super::identify;
use super::means::LoginServices;
use super::reuse::authentication_of;
use crate::audit::{Event, Name};
use crate::grant::logout::Destination;
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::Farewell;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::logout::Hint;
use crate::session::Session;
use crate::session::logout::{Live, Verdict, judge};
use crate::token::seal::Mark;
use url::Url;

/// The typed handle for logouts.
#[derive(Clone)]
pub struct Logouts {
    means: Arc<LoginServices>,
}

/// What became of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Departed {
    /// It has ended; the browser goes to its identity provider, which ends its own.
    ToProvider(Url),
    /// It has ended, and its identity provider could not be told.
    Here { connector: ConnectorId },
    /// It had ended before.
    Already,
}

impl Logouts {
    #[must_use]
    pub const fn new(means: Arc<LoginServices>) -> Self {
        Self { means }
    }

    /// What a good request may do to the session of this cookie. `named` is absent where it came without a hint.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn judge(
        &self,
        named: Option<&Hint>,
        cookie: Option<&Secret<String>>,
    ) -> Result<(Verdict, Option<Session>), ErrorCode> {
        let means = &self.means;
        let session = match cookie {
            Some(cookie) => means.grants.session(cookie).await?,
            None => None,
        };
        let holder = session.as_ref().zip(named).and_then(|(session, hint)| {
            identify::subject(means, &hint.audience, &authentication_of(session), &session.identity)
                .ok()
        });
        let live = session.as_ref().map(|session| Live { session, holder: holder.as_ref() });
        Ok((judge(named, live), session))
    }

    /// Returns whom an encrypted ID token names, if it was issued in the session of this cookie. Only its service provider
    /// can decrypt it; the hub knows it by the mark that it was encrypted with.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn recognize_encrypted_hint(
        &self,
        hint: &str,
        cookie: &Secret<String>,
    ) -> Result<Option<Hint>, ErrorCode> {
        let Some(session) = self.means.grants.session(cookie).await? else { return Ok(None) };
        let Some(key) = &session.hint_key else { return Ok(None) };
        let audience = session.participants().find(|audience| Mark { key, audience }.is_on(hint));
        Ok(audience.and_then(|audience| {
            let user = identify::subject(
                &self.means,
                audience,
                &authentication_of(&session),
                &session.identity,
            )
            .ok()?;
            Some(Hint { audience: audience.clone(), user })
        }))
    }

    /// Ends the session of this cookie. `session` is what it was a moment ago.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still be there.
    pub async fn log_out(
        &self,
        cookie: &Secret<String>,
        session: &Session,
        destination: &Destination,
    ) -> Result<Departed, ErrorCode> {
        let grants = &self.means.grants;
        let connector = &session.connector;
        let state = self.means.env.entropy().token();
        // The record first: a browser that comes back must find its way. Without room for it the session ends all the
        // same, and the identity provider isn't told.
        let kept = session.id_token.is_some() && self.keep(connector, &state, destination).await;
        let Some(ended) = grants.end_session(cookie).await? else {
            self.forget(connector, &state).await;
            return self.repeat(cookie, destination).await;
        };
        grants.audit.tell(|| {
            let done = Event::of(Name::LogoutDone).idp(connector).session(&ended.lineage);
            destination.service_provider.iter().fold(done, Event::sp)
        });
        let farewell = ended.id_token.filter(|_| kept).map(|id_token| Farewell {
            id_token,
            return_uri: format!("{}/session/end/{connector}", grants.issuer),
            state: state.clone(),
        });
        match self.provider_of(connector, farewell).await {
            Some(url) => {
                if let Err(code) = grants.keep_departure(cookie, destination, url.as_str()).await {
                    tracing::warn!(%connector, code = code.entry().code, "a repeat of this logout will not find its identity provider");
                }
                Ok(Departed::ToProvider(url))
            }
            None => {
                self.forget(connector, &state).await;
                Ok(Departed::Here { connector: connector.clone() })
            }
        }
    }

    /// What becomes of a request whose session is gone: a double click, or an answer that got lost, must not keep the
    /// identity provider's session alive, so a repeat goes where the first went.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn repeat(
        &self,
        cookie: &Secret<String>,
        destination: &Destination,
    ) -> Result<Departed, ErrorCode> {
        let earlier = self.means.grants.departure(cookie, destination).await?;
        Ok(earlier
            .and_then(|url| Url::parse(&url).ok())
            .map_or(Departed::Already, Departed::ToProvider))
    }

    /// The identity provider's logout address, if it has one, is on, and can be asked for it.
    async fn provider_of(
        &self,
        connector: &ConnectorId,
        farewell: Option<Farewell>,
    ) -> Option<Url> {
        let handle = self.means.connectors.enabled(connector)?;
        let answer = handle.end(farewell?).await;
        answer.inspect_err(|fault| tracing::warn!(%connector, %fault, "the identity provider is not told of a logout")).ok()?
    }

    async fn keep(&self, connector: &ConnectorId, state: &str, destination: &Destination) -> bool {
        let kept = self.means.grants.keep_destination(connector, state, destination).await;
        let told = |code: &ErrorCode| {
            let code = code.entry().code;
            tracing::warn!(%connector, code, "no logout record could be kept; the identity provider is not told");
        };
        kept.inspect_err(told).is_ok()
    }

    async fn forget(&self, connector: &ConnectorId, state: &str) {
        if self.means.grants.take_destination(connector, state).await.is_err() {
            tracing::warn!(%connector, "a logout record that nobody needs could not be removed; it ends by time");
        }
    }
}

impl std::fmt::Debug for Logouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Logouts")
    }
}
