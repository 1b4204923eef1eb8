//! State: a connector prepares the redirect; it may have to fetch metadata first.

use serde::{Deserialize, Serialize};

use super::upstream::{AuthorizationRedirect, LoginAttempt, UpstreamAuthorizationRequest};
use super::{AwaitingCallback, Effect, LoginAnswer, LoginContext, LoginState, Step, StepInputs};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// Parameters of the redirect that the connector prepares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreparingRedirect {
    connector: ConnectorId,
    #[serde(flatten)]
    request: Box<UpstreamAuthorizationRequest>,
}

impl PreparingRedirect {
    /// Returns the chosen connector.
    pub(super) const fn connector(&self) -> &ConnectorId {
        &self.connector
    }

    /// Requests the redirect from the connector.
    pub(super) fn enter(
        context: Box<LoginContext>,
        connector: ConnectorId,
        request: UpstreamAuthorizationRequest,
    ) -> Step {
        let state = LoginState::PreparingRedirect(Self {
            connector: connector.clone(),
            request: Box::new(request.clone()),
        });
        Step::perform_unsaved(context, state, Effect::BeginLogin(connector, request))
    }

    /// Applies the outcome of [`Effect::BeginLogin`].
    pub(super) fn on_redirect_prepared(
        self,
        context: Box<LoginContext>,
        result: Result<AuthorizationRedirect, ErrorCode>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        let redirect = match result {
            Ok(redirect) => redirect,
            Err(code) => return context.back_to_choice(self.connector, code),
        };
        let url = redirect.url.clone();
        let attempt = Box::new(LoginAttempt {
            connector: self.connector,
            request: *self.request,
            redirected_at: inputs.now,
            redirect,
        });
        Step::save_and_answer(
            context,
            LoginState::AwaitingCallback(AwaitingCallback { attempt }),
            LoginAnswer::RedirectToIdp { url },
        )
    }
}
