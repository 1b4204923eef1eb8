//! State: the browser is at the identity provider. One attempt is open.

use serde::{Deserialize, Serialize};

use super::choosing::choose_idp;
use super::upstream::LoginAttempt;
use super::{
    Callback, Completed, Effect, LoginAnswer, LoginContext, LoginRequest, LoginState, NextAction,
    Step, StepInputs, Verifying,
};
use crate::assurance::AcrCheck;
use passerelle_protocol::catalogue::ErrorCode;

/// The browser is at the identity provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitingCallback {
    pub(super) attempt: Box<LoginAttempt>,
}

impl AwaitingCallback {
    /// Applies a request of the browser.
    pub(super) fn on_request(
        self,
        context: Box<LoginContext>,
        request: LoginRequest,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match request {
            // The user came back with the back button: the choice page is shown again.
            LoginRequest::OpenPage { .. } | LoginRequest::ReportWrongUser => Step::answer_unsaved(
                context,
                LoginState::AwaitingCallback(self),
                LoginAnswer::ChoicePage { banner: None },
            ),
            // Choosing again closes the older attempt: its `state` is forgotten.
            LoginRequest::Choose(connector) => choose_idp(context, &connector, inputs),
            LoginRequest::Cancel => Completed::finish_with_error(context, ErrorCode::UserCancelled),
            LoginRequest::Callback(callback) => self.on_callback(context, callback, inputs),
            LoginRequest::OpenConsentPage
            | LoginRequest::Consent(_)
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_)
            | LoginRequest::Displace => Step::show_error(
                context,
                LoginState::AwaitingCallback(self),
                ErrorCode::StepOutOfOrder,
                NextAction::ChooseIdp,
            ),
        }
    }

    fn on_callback(
        self,
        mut context: Box<LoginContext>,
        callback: Callback,
        inputs: &StepInputs<'_>,
    ) -> Step {
        let attempt = &self.attempt;
        // Forged and replayed states, and answers of another identity provider (mix-up, RFC 9700
        // §4.4), leave the attempt open: the real answer may still arrive.
        if attempt.request.state != callback.state || attempt.connector != callback.connector {
            return Step::show_error(
                context,
                LoginState::AwaitingCallback(self),
                ErrorCode::StateUnknown,
                NextAction::ChooseIdp,
            );
        }
        if !callback.params.code_is_acceptable() {
            return Step::show_error(
                context,
                LoginState::AwaitingCallback(self),
                ErrorCode::IdpCodeMalformed,
                NextAction::ChooseIdp,
            );
        }
        context.accepted_state = Some(callback.state);
        if let Err(code) = check_issuer(attempt, callback.params.iss.as_deref()) {
            let connector = self.attempt.connector;
            return context.back_to_choice(connector, code);
        }
        if let Err(code) =
            (inputs.gate)(&attempt.connector, AcrCheck::Requested(attempt.requirement()))
        {
            return context.answer_gate_error(&attempt.connector, code);
        }
        // The attempt is stored as closed before the code is used: a second callback never reaches
        // the token endpoint.
        let state = LoginState::Verifying(Verifying {
            connector: attempt.connector.clone(),
            since: inputs.now,
        });
        Step::save_and_perform(
            context,
            state,
            Effect::CompleteLogin(self.attempt, callback.params, callback.network),
        )
    }
}

/// Checks `iss` (RFC 9207): required if announced, compared if present.
fn check_issuer(attempt: &LoginAttempt, iss: Option<&str>) -> Result<(), ErrorCode> {
    match iss {
        Some(iss) if iss != attempt.redirect.issuer => Err(ErrorCode::IdpIssWrong),
        None if attempt.redirect.iss_expected => Err(ErrorCode::IdpIssMissing),
        Some(_) | None => Ok(()),
    }
}
