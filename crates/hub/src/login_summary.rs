//! Defines what a step of a login returns: its answer, or its error, and what pages need to know of
//! the login.

use passerelle_federation::login::{Completed, Login, LoginAnswer, LoginState};
use passerelle_protocol::acr::AuthenticationRequirement;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::email_domain::EmailDomain;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, SupportId};
use passerelle_protocol::refresh::OFFLINE_ACCESS;
use passerelle_store::Record;

/// Result of a step.
#[derive(Clone, Debug)]
pub struct Reply {
    pub answer: LoginAnswer,
    pub summary: LoginSummary,
}

/// Data of a login that a page shows.
#[derive(Clone, Debug)]
pub struct LoginSummary {
    pub client_id: ClientId,
    pub support_id: SupportId,
    pub requirement: AuthenticationRequirement,
    pub ui_locales: Vec<String>,
    /// Whether the service provider asks for access while the user is away.
    pub offline_access: bool,
    /// The connectors that `idp_hint` names, if there are several.
    pub idp_hints: Vec<ConnectorId>,
    /// The domain of an e-mail address in `login_hint`.
    pub login_hint_domain: Option<EmailDomain>,
    pub opened_at: Timestamp,
    pub expires_at: Timestamp,
    /// Whether the service provider has its answer; the login's cookie expires a minute later.
    pub is_completed: bool,
    pub is_failed: bool,
    /// Whether it was closed because too many younger logins are open in its browser.
    pub is_displaced: bool,
    /// The connector through which the user authenticated, once the service provider has its code.
    pub granted_by: Option<ConnectorId>,
}

impl LoginSummary {
    /// Returns the summary of a login.
    pub(super) fn from_login(login: &Login) -> Self {
        let context = &login.context;
        let login_hint = context.request.login_hint.as_ref();
        Self {
            client_id: context.request.client_id.clone(),
            support_id: context.support_id.clone(),
            requirement: context.request.requirement(),
            ui_locales: context.request.ui_locales.clone(),
            offline_access: context
                .request
                .scopes
                .iter()
                .any(|scope| scope.as_str() == OFFLINE_ACCESS),
            idp_hints: Some(&context.request.idp_hints)
                .filter(|hints| hints.len() > 1)
                .cloned()
                .unwrap_or_default(),
            login_hint_domain: login_hint.and_then(|hint| EmailDomain::from_address(hint.reveal())),
            opened_at: context.opened_at,
            expires_at: context.expires_at,
            is_completed: login.is_completed(),
            is_failed: matches!(login.state, LoginState::Failed(_)),
            is_displaced: matches!(&login.state, LoginState::Failed(failed) if failed.code() == ErrorCode::TooManyLogins),
            granted_by: match &login.state {
                LoginState::Completed(Completed::Granted { connector, .. }) => {
                    Some(connector.clone())
                }
                _ => None,
            },
        }
    }
}

/// A login as stored.
pub struct StoredLogin(Login);

impl StoredLogin {
    /// Parses the record of the login `hash`.
    ///
    /// # Errors
    /// `Internal` if the record is not JSON of a login.
    pub(super) fn parse(hash: &InteractionHash, record: &Record) -> Result<Self, ErrorCode> {
        Login::from_record(hash, &record.value).map(Self).map_err(|_| ErrorCode::Internal)
    }

    /// Returns the summary of the login.
    pub fn summary(&self) -> LoginSummary {
        LoginSummary::from_login(&self.0)
    }

    /// Returns whether the login expects a callback with this `state`, or has accepted it last.
    pub fn expects_state(&self, state: &str) -> bool {
        self.0.expects_state(state)
    }

    /// Returns whether a callback of `connector` with this `state` closes the open attempt.
    pub fn awaits_callback(&self, connector: &ConnectorId, state: &str) -> bool {
        self.0.awaits_callback(connector, state)
    }

    /// Returns whether the login can continue.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.0.context.expires_at
            && !self.0.is_completed()
            && !matches!(self.0.state, LoginState::Failed(_))
    }
}

/// Error returned when a login could not run a step.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepError {
    #[error("the login is unknown or has expired")]
    Unknown,
    #[error("the step was interrupted")]
    Interrupted,
    #[error("the hub could not run the step: {}", .0.entry().code)]
    Hub(ErrorCode),
}
