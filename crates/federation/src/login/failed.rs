//! State: the login can't continue with this account. The user can go back to the service provider,
//! and after a failed identification choose another account.

use serde::{Deserialize, Serialize};

use super::{
    ChoiceBanner, Completed, IdentificationError, LoginAnswer, LoginContext, LoginErrorPage,
    LoginRequest, LoginState, NextAction, Step,
};
use crate::identity::ClaimName;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// The login can't continue, for this reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    code: ErrorCode,
    /// The claim that is missing or malformed, for the page.
    claim: Option<ClaimName>,
    /// The connector of the account whose user could not be identified: the user may choose another
    /// account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connector: Option<ConnectorId>,
}

impl Failed {
    /// Returns why the login failed.
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// Creates the state for this error.
    pub(super) const fn new(code: ErrorCode) -> Self {
        Self { code, claim: None, connector: None }
    }

    /// Creates the state for an error at the identification of an account's user.
    pub(super) fn from_identification_error(
        error: IdentificationError,
        connector: ConnectorId,
    ) -> Self {
        Self { code: error.code, claim: error.claim, connector: Some(connector) }
    }

    /// Stores the state and answers with the error page.
    pub(super) fn enter(self, context: Box<LoginContext>) -> Step {
        let answer = self.error_page();
        Step::save_and_answer(context, LoginState::Failed(self), answer)
    }

    /// Applies a request of the browser.
    pub(super) fn on_request(self, context: Box<LoginContext>, request: LoginRequest) -> Step {
        match request {
            // The link back to the service provider: it gets the error.
            LoginRequest::Cancel => Completed::finish_with_error(context, self.code),
            LoginRequest::ReportWrongUser if self.connector.is_some() => {
                context.show_choice(ChoiceBanner { connector: self.connector, code: self.code })
            }
            LoginRequest::OpenPage { .. }
            | LoginRequest::Choose(_)
            | LoginRequest::Callback(_)
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_)
            | LoginRequest::OpenConsentPage
            | LoginRequest::Consent(_)
            | LoginRequest::ReportWrongUser
            | LoginRequest::Displace => {
                let answer = self.error_page();
                Step::answer_unsaved(context, LoginState::Failed(self), answer)
            }
        }
    }

    fn error_page(&self) -> LoginAnswer {
        LoginAnswer::ErrorPage(LoginErrorPage {
            code: self.code,
            claim: self.claim.clone(),
            next_action: match &self.connector {
                Some(connector) => NextAction::ChooseOtherAccount(connector.clone()),
                None => NextAction::ReturnToServiceProvider,
            },
        })
    }
}
