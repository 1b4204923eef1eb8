//! L2 · Adapters to identity providers: one trait, [`Connector`], and one module per kind.
//!
//! Responsible for the upstream protocols and every check on the responses of identity providers
//! (docs/design/upstream-verification.md). Does not know actors, stores, service providers or
//! pages. `docs/adding-a-kind.md` shows how to add a kind.

mod code_flow;
mod connection_check;
pub mod diagnostic;
pub mod hub_page;
pub mod ldap;
mod mapped;
pub mod oauth2;
pub mod oidc;
pub mod one_time_code;
mod online_check;
pub mod persona;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use openidconnect::HttpResponse;
use url::Url;

use self::diagnostic::{ConnectorDiagnostic, DiagnosisContext};
use self::hub_page::PasswordPage;
use self::ldap::LdapConnector;
use self::oauth2::Oauth2Connector;
use self::oidc::OidcConnector;
use self::one_time_code::CodeStore;
use self::persona::PersonaConnector;
use crate::assurance::Level;
use crate::assurance::acr::AcrPolicy;
use crate::config;
use crate::config::model::{ConnectorFile, ConnectorKind};
use crate::egress::ca_bundle::CaBundle;
use crate::egress::http_client_pool::HttpClientPool;
use crate::egress::retry_after::retry_after;
use crate::egress::safe_http_client::EgressError;
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;

/// Adapter to one identity provider. Calls of several logins run concurrently.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Returns the redirect to the identity provider.
    ///
    /// # Errors
    /// Returns an error if the identity provider's metadata can't be fetched or used.
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError>;

    /// Exchanges the code of a callback and verifies the identity provider's responses.
    ///
    /// # Errors
    /// Returns an error with a distinct code for each failed check.
    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError>;

    /// Returns the URL that ends the session at the identity provider; `None` if it has no logout.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn end_session(&self, _: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        Ok(None)
    }

    /// Fetches metadata and keys before the first login. `check --online` calls it, too.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn preload(&self) -> Result<(), ConnectorError>;

    /// Checks everything that a login needs, for `check connector --online`.
    async fn diagnose(&self, _: &DiagnosisContext) -> Vec<ConnectorDiagnostic> {
        vec![match self.preload().await {
            Ok(()) => ConnectorDiagnostic::ok("reachable", "the identity provider responds"),
            Err(error) => ConnectorDiagnostic::error(
                "reachable",
                error.to_string(),
                "look up the error in docs/errors.md",
            ),
        }]
    }

    /// Checks over a new connection whether the identity provider works. The fetched documents
    /// replace the cached ones.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn probe(&self) -> Result<(), ConnectorError> {
        self.preload().await
    }

    /// Checks whether the identity provider can complete a login, by redeeming an invented code.
    /// Every error response of RFC 6749 §5.2 is a success. `redirect_uri` is the connector's
    /// callback.
    ///
    /// # Errors
    /// Returns the errors of [`Self::begin_login`].
    async fn probe_login(&self, _redirect_uri: &str) -> Result<(), ConnectorError> {
        self.probe().await
    }

    /// Returns whether the identity provider is a remote service, which is then probed.
    fn is_remote(&self) -> bool {
        true
    }

    /// Returns by how many seconds the identity provider's clock was ahead at the last login;
    /// `None` before the first login, and for a kind without a clock.
    fn clock_skew_seconds(&self) -> Option<i64> {
        None
    }

    /// Returns when the identity provider's current keys were fetched; `None` before the first
    /// fetch, and for a kind without keys.
    fn keys_fetched_at(&self) -> Option<Timestamp> {
        None
    }

    /// Returns the password check behind the hub's own login page, for a kind that has one.
    fn password_page(&self) -> Option<&dyn PasswordPage> {
        None
    }

    /// Returns the model of the sandbox's page, for the persona kind.
    fn persona_page(&self) -> Option<&dyn crate::connector::persona::PersonaPage> {
        None
    }
}

/// Error in a connector file: the key, and what is wrong with its value. The caller adds the file.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{key}: {message}")]
pub struct ConnectorConfigError {
    /// Path of the key, such as `kind.oidc.issuer`.
    pub key: &'static str,
    pub message: String,
}

impl ConnectorConfigError {
    /// Returns an error about `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}

/// Whether `persona` connectors may be built (`sandbox = true` in the hub's settings).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersonaSupport {
    Disabled,
    Enabled,
}

/// Dependencies of a connector.
#[derive(Clone)]
pub struct ConnectorContext {
    pub env: Env,
    /// The hub's keys for encrypted responses and client assertions; replaced when keys are
    /// rotated.
    pub upstream_keys: Arc<ArcSwap<UpstreamKeys>>,
    pub sandbox: PersonaSupport,
    pub http_clients: HttpClientPool,
    /// Stores the one-time codes of the hub's own login pages.
    pub code_store: Arc<dyn CodeStore>,
}

/// Builds the connector that a file describes. `client_secret` is the resolved secret of the file,
/// if it has one. Paths in the file must be absolute or relative to the working directory.
///
/// # Errors
/// Returns the key whose value can't be used.
pub fn build(
    id: ConnectorId,
    file: &ConnectorFile,
    client_secret: Option<Secret<String>>,
    context: ConnectorContext,
) -> Result<Arc<dyn Connector>, ConnectorConfigError> {
    let mapping = config::mapping::parse_mapping(file).map_err(|errors| {
        let to_text = |error: config::FieldDiagnostic| {
            format!("{}: {}; {}", error.key, error.message, error.fix)
        };
        let errors: Vec<_> = errors.into_iter().map(to_text).collect();
        ConnectorConfigError::new("mapping", errors.join("; "))
    })?;
    let connector: Arc<dyn Connector> = match &file.kind {
        ConnectorKind::Oidc(kind) => {
            Arc::new(OidcConnector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Oauth2(kind) => {
            Arc::new(Oauth2Connector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Ldap(kind) => {
            Arc::new(LdapConnector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Persona(kind) => {
            Arc::new(PersonaConnector::new(id.clone(), file, kind, context)?)
        }
    };
    Ok(mapped::with_mapping(id, connector, mapping))
}

/// Reads the `ca` file of a connector, if it names one.
fn read_ca_bundle(
    key: &'static str,
    path: Option<&Path>,
) -> Result<Option<CaBundle>, ConnectorConfigError> {
    path.map(CaBundle::read).transpose().map_err(|why| ConnectorConfigError::new(key, why))
}

/// Returns the `acr` policy of a connector's file.
#[must_use]
pub fn acr_policy(file: &ConnectorFile) -> AcrPolicy {
    let (lowest, highest) = (file.levels.lowest, file.levels.highest);
    match &file.kind {
        ConnectorKind::Oidc(_) | ConnectorKind::Oauth2(_) | ConnectorKind::Ldap(_) => {
            let (sends_acr_values, ignores_acr) = (file.acr.send, file.ignore_acr);
            AcrPolicy {
                lowest,
                highest,
                values: file.acr.values_by_level(),
                assumed: file.assumed_level,
                sends_acr_values,
                ignores_acr,
            }
        }
        // The sandbox uses the hub's own level names as `acr` values.
        ConnectorKind::Persona(_) => {
            let served = Level::ALL.into_iter().filter(|level| (lowest..=highest).contains(level));
            let values = served.map(|level| (level, vec![level.as_str().to_owned()])).collect();
            AcrPolicy {
                lowest,
                highest,
                values,
                assumed: None,
                sends_acr_values: true,
                ignores_acr: false,
            }
        }
    }
}

/// Error of an upstream step. `detail` is for the operator, and contains no token, secret or claim
/// value.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{}: {detail}", code.entry().code)]
pub struct ConnectorError {
    pub code: ErrorCode,
    pub detail: String,
    /// `Retry-After` of a 503 or 429 response (RFC 9110 §10.2.3, RFC 6585 §4).
    pub retry_after: Option<Duration>,
}

impl ConnectorError {
    /// Returns an error without `retry_after`.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), retry_after: None }
    }

    /// Returns the error for a response with an unexpected status.
    pub fn unexpected_status(what: &str, answer: &HttpResponse) -> Self {
        let status = answer.status();
        // RFC 6585 §4: the server works, and limits the hub's requests.
        let code = if status == http::StatusCode::TOO_MANY_REQUESTS {
            ErrorCode::IdpThrottled
        } else {
            ErrorCode::IdpStatus
        };
        let detail = format!("{what} answered with status {}", status.as_u16());
        // With other statuses the header has no defined meaning.
        let may_delay = matches!(
            status,
            http::StatusCode::TOO_MANY_REQUESTS | http::StatusCode::SERVICE_UNAVAILABLE
        );
        let retry_after = may_delay.then(|| retry_after(answer.headers())).flatten();
        Self { retry_after, ..Self::new(code, detail) }
    }
}

impl From<EgressError> for ConnectorError {
    fn from(error: EgressError) -> Self {
        let code = match &error {
            EgressError::AddressForbidden(_) => ErrorCode::IdpAddressForbidden,
            EgressError::Unreachable { .. } => ErrorCode::IdpUnreachable,
            EgressError::Timeout(_) => ErrorCode::IdpTimeout,
            EgressError::TooLarge { .. } => ErrorCode::IdpTooLarge,
        };
        Self::new(code, error.to_string())
    }
}

/// Compiles the examples of the contributor's guide as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adding-a-kind.md")]
pub struct AddingAKind;
