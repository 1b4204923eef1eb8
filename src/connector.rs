//! L2 · Adapters to identity providers, one kind a file, behind one small trait.
//!
//! Owns: the upstream protocol and every check on what an identity provider says (decisions 10). Must not know:
//! actors, stores, service providers, pages. `docs/adding-a-kind.md` shows how another kind is added.

mod asked;
mod code_flow;
mod connection;
pub mod finding;
pub mod ldap;
mod mapped;
pub mod oauth2;
pub mod oidc;
pub mod one_time;
pub mod own_page;
pub mod persona;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use openidconnect::HttpResponse;
use url::Url;

use self::finding::{Examination, Finding};
use self::ldap::LdapConnector;
use self::oauth2::Oauth2Connector;
use self::oidc::OidcConnector;
use self::one_time::CodeStore;
use self::own_page::PasswordPage;
use self::persona::PersonaConnector;
use crate::assurance::Level;
use crate::assurance::acr::Agreement;
use crate::config;
use crate::config::model::{ConnectorFile, ConnectorKind};
use crate::egress::authorities::Authorities;
use crate::egress::guard::GuardFault;
use crate::egress::retry_after::retry_after;
use crate::egress::shared::Guards;
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;

/// An adapter to one identity provider. It is `Sync`: calls of several logins run side by side.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Where to send the browser.
    /// # Errors
    /// The identity provider's metadata can't be had or used.
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault>;

    /// Turns a callback into a proven authentication: code exchange, every check, userinfo.
    /// # Errors
    /// One fault, with a code of its own for each failed check.
    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault>;

    /// Where to send the browser to end the identity provider's own session; `None` where that can't be done.
    /// # Errors
    /// As for `begin`.
    async fn end(&self, _: Farewell) -> Result<Option<Url>, ConnectorFault> {
        Ok(None)
    }

    /// Fetches what will be needed (discovery, keys) ahead of the first login; also what `check --online` calls.
    /// # Errors
    /// As for `begin`.
    async fn warm(&self) -> Result<(), ConnectorFault>;

    /// Looks at everything that a login would need, ahead of any; what `check connector --online` shows.
    async fn examine(&self, _: &Examination) -> Vec<Finding> {
        vec![match self.warm().await {
            Ok(()) => Finding::ok("reachable", "it answers as it should"),
            Err(fault) => Finding::fault(
                "reachable",
                fault.to_string(),
                "the error is explained in docs/errors.md",
            ),
        }]
    }

    /// Calls the identity provider to see whether it works, over a new connection: never answered from memory. What it
    /// fetches replaces the documents in use.
    /// # Errors
    /// As for `begin`.
    async fn probe(&self) -> Result<(), ConnectorFault> {
        self.warm().await
    }

    /// Makes the call that a login needs, without a person: redeems a made-up code. Any error answer of RFC 6749 §5.2 is
    /// what a working identity provider says, and so a success. `redirect_uri` is the hub's callback for this connector.
    /// # Errors
    /// As for `begin`.
    async fn probe_login(&self, _redirect_uri: &str) -> Result<(), ConnectorFault> {
        self.probe().await
    }

    /// Whether the identity provider is another machine's service, which can fail while the hub works.
    fn is_remote(&self) -> bool {
        true
    }

    /// How far the identity provider's clock was ahead of ours at the last login, in seconds; `None` before the first,
    /// and for a kind that has no clock of its own.
    fn skew_seconds(&self) -> Option<i64> {
        None
    }

    /// When the identity provider's keys that are in use were fetched; `None` before that, and for a kind that has none.
    fn keys_fetched_at(&self) -> Option<Timestamp> {
        None
    }

    /// The page of the hub's own where a password is typed, for a kind that has one.
    fn password_page(&self) -> Option<&dyn PasswordPage> {
        None
    }

    /// The sandbox's own page, for the one kind that has it.
    fn sandbox(&self) -> Option<&dyn crate::connector::persona::SandboxPage> {
        None
    }
}

/// A connector file that can't work: which key, and how to mend it. The caller knows the file.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{key}: {mend}")]
pub struct ConnectorRefused {
    pub key: &'static str,
    pub mend: String,
}

impl ConnectorRefused {
    pub fn new(key: &'static str, mend: impl Into<String>) -> Self {
        Self { key, mend: mend.into() }
    }
}

/// Whether `persona` connectors may be built (`sandbox = true` in the hub's settings).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    Off,
    On,
}

/// What every connector has of its hub.
#[derive(Clone)]
pub struct ConnectorContext {
    pub env: Env,
    /// What identity providers seal to, and what proves to them who the hub is; swapped when keys are rotated.
    pub keys: Arc<ArcSwap<UpstreamKeys>>,
    pub sandbox: Sandbox,
    /// The way out, shared by connectors with the same rules for it.
    pub guards: Guards,
    /// Where codes of the hub's own login pages wait for their callback.
    pub codes: Arc<dyn CodeStore>,
}

/// Builds the connector that a file describes: one line for each kind. `client_secret` is the resolved one, where the
/// file names any. Paths in the file must already be absolute or relative to the working directory.
///
/// # Errors
/// Which key of the file can't work, and how to mend it.
pub fn build(
    id: ConnectorId,
    file: &ConnectorFile,
    client_secret: Option<Secret<String>>,
    means: ConnectorContext,
) -> Result<Arc<dyn Connector>, ConnectorRefused> {
    let mapping = config::mapping::of(file).map_err(|faults| {
        let fault =
            faults.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("; ");
        ConnectorRefused::new("mapping", fault)
    })?;
    let connector: Arc<dyn Connector> = match &file.kind {
        ConnectorKind::Oidc(kind) => {
            Arc::new(OidcConnector::new(id.clone(), file, kind, client_secret, means)?)
        }
        ConnectorKind::Oauth2(kind) => {
            Arc::new(Oauth2Connector::new(id.clone(), file, kind, client_secret, means)?)
        }
        ConnectorKind::Ldap(kind) => {
            Arc::new(LdapConnector::new(id.clone(), file, kind, client_secret, means)?)
        }
        ConnectorKind::Persona(kind) => {
            Arc::new(PersonaConnector::new(id.clone(), file, kind, means)?)
        }
    };
    Ok(mapped::around(id, connector, mapping))
}

/// Reads the `ca` file of a connector, where it names one.
fn authorities(
    key: &'static str,
    path: Option<&Path>,
) -> Result<Option<Authorities>, ConnectorRefused> {
    path.map(Authorities::read).transpose().map_err(|why| ConnectorRefused::new(key, why))
}

/// What a connector's file agrees with its identity provider on levels: the one source for whoever asks, judges or
/// explains.
#[must_use]
pub fn agreement(file: &ConnectorFile) -> Agreement {
    let (lowest, highest) = (file.levels.lowest, file.levels.highest);
    match &file.kind {
        ConnectorKind::Oidc(_) | ConnectorKind::Oauth2(_) | ConnectorKind::Ldap(_) => {
            let (sends_acr_values, ignores_acr) = (file.acr.send, file.ignore_acr);
            Agreement {
                lowest,
                highest,
                values: file.acr.values(),
                assumed: file.assumed_level,
                sends_acr_values,
                ignores_acr,
            }
        }
        // The sandbox's own page speaks of the hub's levels by their names.
        ConnectorKind::Persona(_) => {
            let served = Level::ALL.into_iter().filter(|level| (lowest..=highest).contains(level));
            let values = served.map(|level| (level, vec![level.as_str().to_owned()])).collect();
            Agreement {
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

/// Why an upstream step failed: the catalogue's code, and a line for the operator that holds no token, no secret
/// and no claim value.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{}: {detail}", code.entry().code)]
pub struct ConnectorFault {
    pub code: ErrorCode,
    pub detail: String,
    /// How long the identity provider asks the hub to wait, with a 503 or a 429 (RFC 9110 §10.2.3, RFC 6585 §4).
    pub retry_after: Option<Duration>,
}

impl ConnectorFault {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), retry_after: None }
    }

    /// Returns the fault of an answer whose status is not the one that was hoped for.
    pub fn of_status(what: &str, answer: &HttpResponse) -> Self {
        let status = answer.status();
        // RFC 6585 §4: it works, and limits the hub's requests.
        let code = if status == http::StatusCode::TOO_MANY_REQUESTS {
            ErrorCode::IdpThrottled
        } else {
            ErrorCode::IdpStatus
        };
        let detail = format!("{what} answered with status {}", status.as_u16());
        // With any other status the header has no meaning that the hub could rely on.
        let may_ask_to_wait = matches!(
            status,
            http::StatusCode::TOO_MANY_REQUESTS | http::StatusCode::SERVICE_UNAVAILABLE
        );
        let retry_after = may_ask_to_wait.then(|| retry_after(answer.headers())).flatten();
        Self { retry_after, ..Self::new(code, detail) }
    }
}

impl From<GuardFault> for ConnectorFault {
    fn from(fault: GuardFault) -> Self {
        let code = match &fault {
            GuardFault::AddressForbidden(_) => ErrorCode::IdpAddressForbidden,
            GuardFault::Unreachable { .. } => ErrorCode::IdpUnreachable,
            GuardFault::Timeout(_) => ErrorCode::IdpTimeout,
            GuardFault::TooLarge { .. } => ErrorCode::IdpTooLarge,
        };
        Self::new(code, fault.to_string())
    }
}

/// The contributor's guide, whose example must compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adding-a-kind.md")]
pub struct AddingAKind;
