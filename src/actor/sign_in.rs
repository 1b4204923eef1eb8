//! Password pages for the web layer: which connector has one, and the check of a password.

use std::time::Duration;

use super::logins::LoginSummary;
use super::registry::Connectors;
use crate::assurance::AcrCheck;
use crate::client_network::ClientNetwork;
use crate::connector::hub_page::{PasswordCredentials, PasswordOutcome};
use crate::grant::Gate as _;
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::at_level;

/// A submitted password form, and the attempt that it belongs to.
#[derive(Clone, Debug)]
pub struct PasswordForm {
    pub login: InteractionHash,
    /// The attempt's `state`, from the page's address.
    pub state: String,
    pub username: Secret<String>,
    pub password: Secret<String>,
    /// The network that the form was sent from.
    pub network: ClientNetwork,
}

/// Result of a password check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignInOutcome {
    /// The password is right. Holds the query, without `?`, for the connector's callback.
    Accepted(Secret<String>),
    /// The username or the password is wrong.
    Refused,
    /// Too many attempts failed: the next is allowed after this time.
    Wait(Duration),
    /// The password could not be checked; the error is logged.
    Failed(ErrorCode),
}

impl Connectors {
    /// Returns whether the hub shows a password page for this connector.
    #[must_use]
    pub fn has_password_page(&self, id: &ConnectorId) -> bool {
        self.connector(id).is_some_and(|connector| connector.password_page().is_some())
    }

    /// Returns whether the gate allows this login to use this connector, before the user is known.
    #[must_use]
    pub fn login_may_use(&self, id: &ConnectorId, login: &LoginSummary) -> bool {
        !login.is_completed
            && !login.is_failed
            && self
                .check_access(&login.client_id, id, AcrCheck::Requested(login.requirement))
                .is_ok()
    }

    /// Checks the password, within the connector's limits of calls and time.
    pub async fn sign_in(
        &self,
        id: &ConnectorId,
        form: PasswordForm,
        summary: &LoginSummary,
    ) -> SignInOutcome {
        let PasswordForm { login, state, username, password, network } = form;
        let outcome = match self.handle(id) {
            Ok(handle) => {
                handle
                    .sign_in(PasswordCredentials { login, state, username, password, network })
                    .await
            }
            Err(code) => return SignInOutcome::Failed(code),
        };
        match outcome {
            Ok(PasswordOutcome::Accepted(query)) => SignInOutcome::Accepted(query),
            Ok(PasswordOutcome::Rejected) => SignInOutcome::Refused,
            Ok(PasswordOutcome::RateLimited(wait)) => SignInOutcome::Wait(wait),
            Err(error) => {
                let support_id = summary.support_id.as_str();
                at_level!(error.code, support_id, connector = %id, detail = error.detail, "call to the identity provider failed");
                SignInOutcome::Failed(error.code)
            }
        }
    }
}
