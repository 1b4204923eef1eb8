//! Password pages for the web layer: which connector has one, and the check of a password.

use super::login_summary::LoginSummary;
use super::registry::Connectors;
pub use passerelle_connector::hub_page::{PasswordCredentials, PasswordNotice, PasswordOutcome};
use passerelle_federation::assurance::AcrCheck;
use passerelle_grants::Gate as _;
use passerelle_protocol::catalogue::{ErrorCode, ErrorOrigin};
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::at_level;

impl Connectors {
    /// Returns whether the hub shows a password page for this connector.
    pub fn has_password_page(&self, id: &ConnectorId) -> bool {
        self.connector(id).is_some_and(|connector| connector.password_page().is_some())
    }

    /// Returns the page for users of this connector who forgot their password.
    pub fn forgotten_password_url(&self, id: &ConnectorId) -> Option<String> {
        Some(self.connector(id)?.password_page()?.forgotten_password_url()?.to_owned())
    }

    /// Returns whether the gate allows this login to use this connector, before the user is known.
    pub fn login_may_use(&self, id: &ConnectorId, login: &LoginSummary) -> bool {
        !login.is_completed
            && !login.is_failed
            && self
                .check_access(&login.client_id, id, AcrCheck::Requested(login.requirement))
                .is_ok()
    }

    /// Checks the password, within the connector's limits of calls and time.
    ///
    /// # Errors
    /// Why the password could not be checked; the error is logged.
    pub async fn sign_in(
        &self,
        id: &ConnectorId,
        credentials: PasswordCredentials,
        summary: &LoginSummary,
    ) -> Result<PasswordOutcome, ErrorCode> {
        let outcome = self.handle(id)?.sign_in(credentials).await;
        let support_id = summary.support_id.as_str();
        if let Ok(PasswordOutcome::Rejected { refusal: Some(error), .. }) = &outcome {
            at_level!(error.code, support_id, connector = %id, detail = error.detail, "directory refused the account");
        }
        outcome.map_err(|error| {
            if error.code.entry().origin == ErrorOrigin::User {
                at_level!(error.code, support_id, connector = %id, detail = error.detail, "directory refused the account");
            } else {
                at_level!(error.code, support_id, connector = %id, detail = error.detail, "call to the identity provider failed");
            }
            error.code
        })
    }
}
