//! Stores where browsers go at a logout: to the identity provider, and back from it
//! (`docs/logout.md`).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::records::{
    encode_record, load_record, logout_destination_key, logout_redirect_key, new_record,
    take_record,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, Secret};
use passerelle_protocol::logout::ProvenPostLogoutRedirect;
use passerelle_store::{RecordKey, Store};

/// How long a user may take at the identity provider's logout.
pub const DESTINATION_LIFETIME: Duration = Duration::from_secs(600);
/// How long a logout request may be repeated after its response was lost.
const REDIRECT_LIFETIME: Duration = Duration::from_secs(60);

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

/// The destinations of browsers that are at an identity provider's logout, and the redirects that
/// sent them there.
pub struct LogoutRedirects {
    pub(super) store: Arc<dyn Store>,
    pub(super) env: Env,
}

impl LogoutRedirects {
    /// Stores the destination for the browser that returns from this identity provider with
    /// `state`.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn save_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
        destination: &LogoutDestination,
    ) -> Result<(), ErrorCode> {
        self.insert(logout_destination_key(connector, state), destination, DESTINATION_LIFETIME)
            .await
    }

    /// Removes and returns the destination. At most one caller gets it.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
    ) -> Result<Option<LogoutDestination>, ErrorCode> {
        // The tombstone expires immediately: a second caller needs no information.
        let (key, now) = (logout_destination_key(connector, state), self.env.now());
        take_record(&*self.store, &key, now, now).await
    }

    /// Returns the destinations that wait for a browser with these states, each with its state.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn waiting_destinations(
        &self,
        connector: &ConnectorId,
        states: &[String],
    ) -> Result<Vec<(String, LogoutDestination)>, ErrorCode> {
        let mut waiting = Vec::new();
        for state in states {
            let key = logout_destination_key(connector, state);
            let found =
                load_record::<LogoutDestination>(&*self.store, &key, self.env.now()).await?;
            waiting.extend(found.map(|(destination, _)| (state.clone(), destination)));
        }
        Ok(waiting)
    }

    /// Stores where this request sent the browser, for an identical request whose session has ended
    /// by then.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn remember(
        &self,
        cookie: &Secret<String>,
        request: LogoutRequestKey<'_>,
        url: &str,
    ) -> Result<(), ErrorCode> {
        self.insert(request.redirect_key(cookie)?, &url, REDIRECT_LIFETIME).await
    }

    /// Returns where an identical request of this browser was sent.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn find(
        &self,
        cookie: &Secret<String>,
        request: LogoutRequestKey<'_>,
    ) -> Result<Option<String>, ErrorCode> {
        let key = request.redirect_key(cookie)?;
        let found = load_record(&*self.store, &key, self.env.now()).await?;
        Ok(found.map(|(url, _)| url))
    }

    async fn insert(
        &self,
        key: RecordKey,
        record: &impl Serialize,
        lifetime: Duration,
    ) -> Result<(), ErrorCode> {
        let now = self.env.now();
        self.store.insert(key, new_record(record, now + lifetime)?, now).await?;
        Ok(())
    }
}
