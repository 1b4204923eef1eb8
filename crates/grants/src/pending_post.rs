//! Stores the parameters of POST requests from other sites: browsers send them without the hub's
//! cookies (`SameSite=Lax`), which the GET after them carries.

use std::sync::Arc;
use std::time::Duration;

use super::records::{
    load_record, new_record, pending_callback_key, pending_logout_key, take_record,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_store::{RecordKey, Store};

/// How long a POST waits for the GET that follows immediately, or for its repetition after the
/// longest `Retry-After` of a limit per minute.
const PENDING_POST_LIFETIME: Duration = Duration::from_secs(120);

/// What was posted.
#[derive(Clone, Copy, Debug)]
pub enum PostedMessage<'a> {
    /// A logout request of a service provider.
    Logout,
    /// An authorization response of this connector's identity provider.
    Callback(&'a ConnectorId),
}

impl PostedMessage<'_> {
    fn key(self, ticket: &str) -> RecordKey {
        match self {
            Self::Logout => pending_logout_key(ticket),
            Self::Callback(connector) => pending_callback_key(connector, ticket),
        }
    }
}

/// POST requests that wait for their GET.
pub struct PendingPosts {
    pub(super) store: Arc<dyn Store>,
    pub(super) env: Env,
}

impl PendingPosts {
    /// Stores parameters, and returns the ticket to retrieve them with.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn save(
        &self,
        message: PostedMessage<'_>,
        pairs: &[(String, String)],
    ) -> Result<Secret<String>, ErrorCode> {
        let (ticket, now) = (self.env.entropy().token(), self.env.now());
        let record = new_record(&pairs, now + PENDING_POST_LIFETIME)?;
        self.store.insert(message.key(&ticket), record, now).await?;
        Ok(Secret::new(ticket))
    }

    /// Returns the parameters stored under this ticket, and leaves them there.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn load(
        &self,
        message: PostedMessage<'_>,
        ticket: &str,
    ) -> Result<Option<Vec<(String, String)>>, ErrorCode> {
        let loaded = load_record(&*self.store, &message.key(ticket), self.env.now()).await?;
        Ok(loaded.map(|(pairs, _)| pairs))
    }

    /// Removes and returns the parameters stored under this ticket. At most one caller gets them.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take(
        &self,
        message: PostedMessage<'_>,
        ticket: &str,
    ) -> Result<Option<Vec<(String, String)>>, ErrorCode> {
        // The tombstone expires immediately: a second caller needs no information.
        let now = self.env.now();
        take_record(&*self.store, &message.key(ticket), now, now).await
    }
}
