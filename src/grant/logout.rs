//! Logout in the store: the way back is kept, then the session ends with all that was issued in it (decisions 12).
//!
//! Owns: the order of that, and that a record is taken once. Must not know: identity providers, cookies, pages.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::records::{decode, departed_key, encode, logout_key, parked_key, session_key};
use super::session::family_of;
use super::{Grants, store_code};
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, Secret};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::logout::ProvenReturn;
use crate::session::Session;
use crate::store::{Draft, Key, Taken};

/// How long a person may take at their identity provider.
const LOGOUT_LIFE: Duration = Duration::from_secs(600);
/// How long a request whose answer got lost may come again.
const REPEATED_LIFE: Duration = Duration::from_secs(60);
/// How long a request that came by POST waits for the GET that follows at once.
const PARKED_LIFE: Duration = Duration::from_secs(60);

/// Where a logout leads in the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Destination {
    pub service_provider: Option<ClientId>,
    /// Without it, the page that says so.
    pub back: Option<ProvenReturn>,
}

impl Grants {
    /// Keeps the destination for the browser that comes back from this identity provider with `state`.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn keep_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
        kept: &Destination,
    ) -> Result<(), ErrorCode> {
        self.keep(logout_key(connector, state), kept, LOGOUT_LIFE).await
    }

    /// What was kept: once, and then no more.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn take_destination(
        &self,
        connector: &ConnectorId,
        state: &str,
    ) -> Result<Option<Destination>, ErrorCode> {
        self.take(&logout_key(connector, state)).await
    }

    /// Keeps where this request sent the browser, for a repeat of it whose session is gone by then.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn keep_departure(
        &self,
        cookie: &Secret<String>,
        asked: &Destination,
        url: &str,
    ) -> Result<(), ErrorCode> {
        self.keep(departed_key(cookie.reveal(), &encode(asked)?), &url, REPEATED_LIFE).await
    }

    /// Where the same request sent the same browser a moment ago.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn departure(
        &self,
        cookie: &Secret<String>,
        asked: &Destination,
    ) -> Result<Option<String>, ErrorCode> {
        self.departed(&departed_key(cookie.reveal(), &encode(asked)?)).await
    }

    async fn departed(&self, key: &Key) -> Result<Option<String>, ErrorCode> {
        let found =
            self.store.load(key, self.env.now()).await.map_err(|fault| store_code(&fault))?;
        found.map(|record| decode(&record.value)).transpose()
    }

    /// Keeps where this very request sent the browser, for a repeat whose encrypted hint no session recognizes any more.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn remember_redirect(
        &self,
        cookie: &Secret<String>,
        request: &str,
        location: &str,
    ) -> Result<(), ErrorCode> {
        self.keep(departed_key(cookie.reveal(), request.as_bytes()), &location, REPEATED_LIFE).await
    }

    /// Returns where the same request sent the same browser a moment ago.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn remembered_redirect(
        &self,
        cookie: &Secret<String>,
        request: &str,
    ) -> Result<Option<String>, ErrorCode> {
        self.departed(&departed_key(cookie.reveal(), request.as_bytes())).await
    }

    /// Keeps the pairs of a request that passed every check, for the GET that brings the browser's cookies.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`.
    pub async fn park(&self, pairs: &[(String, String)]) -> Result<Secret<String>, ErrorCode> {
        let ticket = self.env.entropy().token();
        self.keep(parked_key(&ticket), &pairs, PARKED_LIFE).await?;
        Ok(Secret::new(ticket))
    }

    /// # Errors
    /// `StoreUnavailable`.
    pub async fn unpark(&self, ticket: &str) -> Result<Option<Vec<(String, String)>>, ErrorCode> {
        self.take(&parked_key(ticket)).await
    }

    /// Ends the session of this cookie, its codes and its tokens; gives what it was. Exactly one caller gets it.
    ///
    /// # Errors
    /// `StoreUnavailable`: the session may still be there.
    pub async fn end_session(&self, cookie: &Secret<String>) -> Result<Option<Session>, ErrorCode> {
        let Some(session) = self.session(cookie).await? else {
            return Ok(None);
        };
        let now = self.env.now();
        // Before the session goes: a hub that dies in between leaves it there, and the same request ends them all. The longest that a code of this moment, and then its token, could live.
        let until = now + self.lives.code + self.lives.access_token;
        self.store
            .revoke(&family_of(&session), until, now)
            .await
            .map_err(|fault| store_code(&fault))?;
        // For as long as the login that began it can be answered again, the place stays taken: signed out is signed out.
        self.take_until::<Session>(&session_key(cookie.reveal()), now + self.lives.code).await
    }

    async fn keep(
        &self,
        key: Key,
        record: &impl Serialize,
        life: Duration,
    ) -> Result<(), ErrorCode> {
        let now = self.env.now();
        let draft = Draft {
            value: encode(record)?,
            expires_at: now + life,
            unread_until: None,
            families: Arc::default(),
        };
        self.store.insert(key, draft, now).await.map(|_| ()).map_err(|fault| store_code(&fault))
    }

    async fn take<T: serde::de::DeserializeOwned>(
        &self,
        key: &Key,
    ) -> Result<Option<T>, ErrorCode> {
        // A tombstone that is over at once: there is nothing to tell whoever comes second.
        self.take_until(key, self.env.now()).await
    }

    async fn take_until<T: serde::de::DeserializeOwned>(
        &self,
        key: &Key,
        until: Timestamp,
    ) -> Result<Option<T>, ErrorCode> {
        match self
            .store
            .take(key, Vec::new(), until, self.env.now())
            .await
            .map_err(|fault| store_code(&fault))?
        {
            Taken::Won(record) => decode(&record.value).map(Some),
            Taken::Spent(_) | Taken::Gone => Ok(None),
        }
    }
}
