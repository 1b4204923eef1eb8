//! What the kinds share whose page is the hub's own, so that the browser never leaves it: where that page is, and what
//! one with a password can do.
//!
//! Owns: the port between such a page and its connector. Must not know: HTML, HTTP; how a password is judged.

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use super::ConnectorFault;
use crate::client_network::ClientNetwork;
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::upstream::Departure;
use crate::protocol::catalogue::ErrorCode;

/// A kind whose passwords are typed on a page of the hub, `{base_url}/connectors/{connector}/login`.
#[async_trait]
pub trait PasswordPage: Send + Sync {
    /// Judges what was typed.
    ///
    /// # Errors
    /// It could not be judged; nothing that the person did.
    async fn sign_in(&self, typed: Typed) -> Result<SignedIn, ConnectorFault>;
}

/// What was typed, and for which attempt.
#[derive(Clone)]
pub struct Typed {
    /// The login that the password is typed for: wrong passwords are counted by it.
    pub login: InteractionHash,
    /// The attempt's `state`.
    pub state: String,
    pub username: Secret<String>,
    pub password: Secret<String>,
    /// The network that the form was sent from.
    pub network: ClientNetwork,
}

/// What it was worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignedIn {
    /// The query, without `?`, for the connector's callback.
    Yes(Secret<String>),
    /// Name or password are wrong; which of them is nobody's business.
    No,
    /// Too many wrong ones: nothing was judged, and nothing will be before this time has passed.
    Wait(Duration),
}

impl std::fmt::Debug for Typed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Typed(***)")
    }
}

/// A page of the hub's own, below its base address, which follows from that of the callback.
///
/// # Errors
/// `Internal`: the callback is not this connector's.
pub fn address(departure: &Departure, id: &ConnectorId, path: &str) -> Result<Url, ConnectorFault> {
    let base = departure.redirect_uri.strip_suffix(&format!("/api/v2/callback/{id}"));
    base.and_then(|base| Url::from_str(&format!("{base}{path}")).ok()).ok_or_else(|| {
        ConnectorFault::new(
            ErrorCode::Internal,
            "the hub's own redirect_uri is not that of this connector",
        )
    })
}
