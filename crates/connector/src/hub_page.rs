//! Interface between a login page of the hub and its connector, for kinds whose page the hub
//! serves.
//!
//! Does not depend on HTML, HTTP, or how a password is verified.

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use super::error::ConnectorError;
use passerelle_federation::login::upstream::UpstreamAuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::{ConnectorId, InteractionHash, Secret};

/// Password check behind the hub's login page at `{base_url}/connectors/{connector}/login`.
#[async_trait]
pub trait PasswordPage: Send + Sync {
    /// Verifies a password.
    ///
    /// # Errors
    /// Returns an error if the password could not be verified, for a reason other than its value.
    async fn sign_in(
        &self,
        credentials: PasswordCredentials,
    ) -> Result<PasswordOutcome, ConnectorError>;

    /// Returns the page for users who forgot their password or must change it.
    fn forgotten_password_url(&self) -> Option<&str> {
        None
    }
}

/// Username and password, with the login and attempt they were entered for.
#[derive(Clone)]
pub struct PasswordCredentials {
    /// Login under which wrong passwords are counted.
    pub login: InteractionHash,
    /// `state` of the attempt.
    pub state: String,
    pub username: Secret<String>,
    pub password: Secret<String>,
    /// Network from which the form was sent.
    pub network: ClientNetwork,
}

/// Outcome of a password check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PasswordOutcome {
    Accepted {
        /// Query for the connector's callback, without `?`.
        callback_query: Secret<String>,
        /// What the user has to know before the login continues.
        notice: Option<PasswordNotice>,
    },
    /// The username or the password is wrong, or the account is locked. It is not distinguished
    /// which, against user enumeration.
    Rejected {
        /// After one more rejection the user has to wait.
        is_last_attempt_next: bool,
        /// For the operator: why the directory refuses the account, whatever the password is.
        refusal: Option<ConnectorError>,
    },
    /// Too many wrong passwords: nothing was verified, and nothing will be for this long.
    RateLimited(Duration),
}

/// What a directory says of a password that it accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PasswordNotice {
    /// The user must change it.
    MustChange,
    /// It has expired, and works this many more times.
    SignInsLeft(u32),
    /// It expires after this time.
    ExpiresIn(Duration),
}

/// Returns the hub's base URL, without a slash at its end; `None` if `redirect_uri` is not this
/// connector's callback.
pub fn base_url_from_redirect_uri<'a>(redirect_uri: &'a str, id: &ConnectorId) -> Option<&'a str> {
    redirect_uri.strip_suffix(&format!("{}/callback/{id}", path::ISSUER))
}

/// Returns the URL of a page of the hub. The base URL is derived from the redirect URI.
///
/// # Errors
/// `Internal` if the redirect URI is not this connector's callback.
pub fn hub_page_url(
    request: &UpstreamAuthorizationRequest,
    id: &ConnectorId,
    path: &str,
) -> Result<Url, ConnectorError> {
    let base = base_url_from_redirect_uri(&request.redirect_uri, id);
    base.and_then(|base| Url::from_str(&format!("{base}{path}")).ok()).ok_or_else(|| {
        ConnectorError::new(
            ErrorCode::Internal,
            "the redirect_uri is not this connector's callback",
        )
    })
}
