//! Handles logins whose service provider's file no longer holds what the request was checked
//! against: the redirect URI or a scope was removed during the login.
//!
//! Does not depend on where registrations come from.

use super::{
    ChoiceBanner, Choosing, LoginAnswer, LoginContext, LoginState, NextAction, Step, StepInputs,
};
use passerelle_protocol::catalogue::ErrorCode;

impl LoginContext {
    /// Returns whether the redirect URI is no longer registered.
    pub(super) fn is_redirect_withdrawn(&self, inputs: &StepInputs<'_>) -> bool {
        (inputs.check_registration)(&self.request) == Err(ErrorCode::RedirectUriWithdrawn)
    }

    /// Returns whether a requested scope is no longer registered.
    pub(super) fn is_scope_withdrawn(&self, inputs: &StepInputs<'_>) -> bool {
        (inputs.check_registration)(&self.request) == Err(ErrorCode::ScopeWithdrawn)
    }
}

impl Step {
    /// Answers a request with an error page while the redirect URI is not registered: neither a
    /// code nor an error is sent to it (RFC 9700 §4.11). The login keeps its state, and continues
    /// once the file is corrected.
    pub(super) fn redirect_uri_withdrawn(context: Box<LoginContext>, state: LoginState) -> Self {
        Self::show_error(context, state, ErrorCode::RedirectUriWithdrawn, NextAction::HomePage)
    }

    /// Answers the outcome of an effect with the same page, and discards the outcome. The upstream
    /// code can't be redeemed again, so the attempt is closed, and the user chooses an identity
    /// provider again once the file is corrected.
    pub(super) fn redirect_uri_withdrawn_during_effect(
        context: Box<LoginContext>,
        state: LoginState,
    ) -> Self {
        if !matches!(
            state,
            LoginState::PreparingRedirect(_)
                | LoginState::Verifying(_)
                | LoginState::Identifying(_)
        ) {
            return Self::redirect_uri_withdrawn(context, state);
        }
        let connector = state.connector().cloned();
        let banner = ChoiceBanner { connector, code: ErrorCode::Interrupted };
        let state = LoginState::Choosing(Choosing { banner: Some(banner) });
        Self::save_and_answer(
            context,
            state,
            LoginAnswer::error_page(ErrorCode::RedirectUriWithdrawn, NextAction::HomePage),
        )
    }
}
