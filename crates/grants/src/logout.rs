//! Stores logout destinations and pending logout requests, and ends sessions
//! (`docs/logout.md`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::TokenService;
use super::lifetimes::MAX_ACCESS_TOKEN_LIFETIME;
use super::records::{
    decode_record, encode_record, logout_destination_key, logout_redirect_key, new_record,
    pending_callback_key, pending_logout_key, session_key,
};
use super::session::session_family;
use passerelle_federation::session::Session;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, Secret};
use passerelle_protocol::logout::ProvenPostLogoutRedirect;
use passerelle_store::{RecordKey, TakeOutcome};

/// How long a user may take at the identity provider's logout.
pub const DESTINATION_LIFETIME: Duration = Duration::from_secs(600);
/// How long a logout request may be repeated after its response was lost.
const REDIRECT_LIFETIME: Duration = Duration::from_secs(60);
/// How long a POST logout request waits for the GET that follows immediately.
const PENDING_REQUEST_LIFETIME: Duration = Duration::from_secs(60);

/// Where the browser goes after a logout.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LogoutDestination {
    pub service_provider: Option<ClientId>,
    /// Redirect to the service provider; without one, the hub shows its logout page.
    #[serde(rename = "back")]
    pub return_to: Option<ProvenPostLogoutRedirect>,
    /// The login that continues, if the user of its page was another person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<InteractionHash>,
    /// The other service providers of the session, for the logout page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<ClientId>,
}

/// Identifies a logout request of a browser, so that the hub recognizes its repetition.
#[derive(Clone, Copy, Debug)]
pub enum LogoutRequestKey<'a> {
    /// The same destination.
    Destination(&'a LogoutDestination),
    /// The same parameters, for a request whose encrypted hint no session recognizes any more.
    Parameters(&'a str),
}

impl LogoutRequestKey<'_> {
    fn redirect_key(self, cookie: &Secret<String>) -> Result<RecordKey, ErrorCode> {
        let request = match self {
            Self::Destination(destination) => encode_record(destination)?,
            Self::Parameters(parameters) => parameters.as_bytes().to_vec(),
        };
        Ok(logout_redirect_key(cookie.reveal(), &request))
    }
}

impl TokenService {
    /// Stores the destination for the browser that returns from this identity provider with
    /// `state`.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn save_logout_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
        destination: &LogoutDestination,
    ) -> Result<(), ErrorCode> {
        self.insert_record(
            logout_destination_key(connector, state),
            destination,
            DESTINATION_LIFETIME,
        )
        .await
    }

    /// Removes and returns the destination. At most one caller gets it.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take_logout_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
    ) -> Result<Option<LogoutDestination>, ErrorCode> {
        self.take_record(&logout_destination_key(connector, state)).await
    }

    /// Returns the destinations that wait for a browser with these states, each with its state.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn waiting_logout_destinations(
        &self,
        connector: &ConnectorId,
        states: &[String],
    ) -> Result<Vec<(String, LogoutDestination)>, ErrorCode> {
        let mut waiting = Vec::new();
        for state in states {
            let key = logout_destination_key(connector, state);
            let found = self.load_record::<LogoutDestination>(&key).await?;
            waiting.extend(found.map(|(destination, _)| (state.clone(), destination)));
        }
        Ok(waiting)
    }

    /// Stores where this request sent the browser, for an identical request whose session has ended
    /// by then.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn remember_logout_redirect(
        &self,
        cookie: &Secret<String>,
        request: LogoutRequestKey<'_>,
        url: &str,
    ) -> Result<(), ErrorCode> {
        self.insert_record(request.redirect_key(cookie)?, &url, REDIRECT_LIFETIME).await
    }

    /// Returns where an identical request of this browser was sent.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn logout_redirect(
        &self,
        cookie: &Secret<String>,
        request: LogoutRequestKey<'_>,
    ) -> Result<Option<String>, ErrorCode> {
        let found = self.load_record(&request.redirect_key(cookie)?).await?;
        Ok(found.map(|(url, _)| url))
    }

    /// Stores the parameters of a validated POST logout request, for the GET that carries the
    /// browser's cookies. Returns the ticket to retrieve them with.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn save_logout_request(
        &self,
        pairs: &[(String, String)],
    ) -> Result<Secret<String>, ErrorCode> {
        let ticket = self.core.env.entropy().token();
        self.insert_record(pending_logout_key(&ticket), &pairs, PENDING_REQUEST_LIFETIME).await?;
        Ok(Secret::new(ticket))
    }

    /// Removes and returns the parameters stored under this ticket. At most one caller gets them.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take_logout_request(
        &self,
        ticket: &str,
    ) -> Result<Option<Vec<(String, String)>>, ErrorCode> {
        self.take_record(&pending_logout_key(ticket)).await
    }

    /// Stores the parameters of a posted authorization response, for the GET that carries the
    /// browser's cookies. Returns the ticket to retrieve them with.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn save_callback(
        &self,
        connector: &ConnectorId,
        pairs: &[(String, String)],
    ) -> Result<Secret<String>, ErrorCode> {
        let ticket = self.core.env.entropy().token();
        let key = pending_callback_key(connector, &ticket);
        self.insert_record(key, &pairs, PENDING_REQUEST_LIFETIME).await?;
        Ok(Secret::new(ticket))
    }

    /// Removes and returns the parameters stored under this ticket for this connector. At most one
    /// caller gets them.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take_callback(
        &self,
        connector: &ConnectorId,
        ticket: &str,
    ) -> Result<Option<Vec<(String, String)>>, ErrorCode> {
        self.take_record(&pending_callback_key(connector, ticket)).await
    }

    /// Ends the session of this cookie and revokes its codes and tokens. Exactly one caller gets
    /// the session.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn end_session(&self, cookie: &Secret<String>) -> Result<Option<Session>, ErrorCode> {
        let Some(session) = self.session(cookie).await? else {
            return Ok(None);
        };
        self.end_session_record(&session_key(cookie.reveal()), &session).await
    }

    /// Ends the session under this key like [`Self::end_session`]; `session` is its state as loaded
    /// before.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still exist.
    pub async fn end_session_record(
        &self,
        key: &RecordKey,
        session: &Session,
    ) -> Result<Option<Session>, ErrorCode> {
        let now = self.core.env.now();
        // Revoked first: if the hub stops in between, the session remains, and a repeated request
        // ends everything. `until` is the longest that a code issued now, and then its token, could
        // live.
        let code_lifetime = self.lifetimes.longest_code();
        let until = now + code_lifetime + MAX_ACCESS_TOKEN_LIFETIME;
        self.store.revoke(&session_family(session), until, now).await?;
        // The tombstone stays as long as the login that began the session can be answered again: it
        // must not restart the session.
        self.take_record_until::<Session>(key, now + code_lifetime).await
    }

    async fn insert_record(
        &self,
        key: RecordKey,
        record: &impl Serialize,
        lifetime: Duration,
    ) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        self.store.insert(key, new_record(record, now + lifetime)?, now).await?;
        Ok(())
    }

    async fn take_record<T: serde::de::DeserializeOwned>(
        &self,
        key: &RecordKey,
    ) -> Result<Option<T>, ErrorCode> {
        // The tombstone expires immediately: a second caller needs no information.
        self.take_record_until(key, self.core.env.now()).await
    }

    async fn take_record_until<T: serde::de::DeserializeOwned>(
        &self,
        key: &RecordKey,
        until: Timestamp,
    ) -> Result<Option<T>, ErrorCode> {
        match self.store.take(key, Vec::new(), until, self.core.env.now()).await? {
            TakeOutcome::Taken(record) => decode_record(&record.value).map(Some),
            TakeOutcome::AlreadyTaken(_) | TakeOutcome::Gone => Ok(None),
        }
    }
}
