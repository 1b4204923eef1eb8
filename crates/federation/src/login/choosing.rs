//! State: the user chooses an identity provider.

use serde::{Deserialize, Serialize};

use super::upstream::UpstreamAuthorizationRequest;
use super::{
    Completed, Consenting, IdentifiedUser, LoginAnswer, LoginContext, LoginRequest, LoginState,
    NextAction, PreparingRedirect, Step, StepInputs,
};
use crate::assurance::AcrCheck;
use passerelle_protocol::catalogue::{ErrorCode, ErrorOrigin};
use passerelle_protocol::ids::{ConnectorId, Secret};

/// The user chooses; the banner says why the last attempt failed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Choosing {
    pub banner: Option<ChoiceBanner>,
}

/// Why the user is back at the choice page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChoiceBanner {
    /// The identity provider that failed; `None` for a failure of the hub.
    pub connector: Option<ConnectorId>,
    pub code: ErrorCode,
}

impl ChoiceBanner {
    /// Returns whether the code says that an operator has blocked the connector.
    pub(super) const fn is_block(code: ErrorCode) -> bool {
        matches!(code, ErrorCode::IdpBlocked | ErrorCode::IdpBlockedForService)
    }

    /// Returns the error for the service provider of a user who gives up under this banner. Who
    /// leaves because the identity provider or the hub failed, or because the sign-in was less safe
    /// than asked, did not stop it (RFC 6749 §4.1.2.1).
    const fn code_of_leaving_user(&self) -> ErrorCode {
        let is_failure =
            matches!(self.code.entry().origin, ErrorOrigin::Upstream | ErrorOrigin::Hub);
        if is_failure || matches!(self.code, ErrorCode::AcrTooLow | ErrorCode::AcrNotRequired) {
            self.code
        } else {
            ErrorCode::UserCancelled
        }
    }
}

impl Choosing {
    /// Applies a request of the browser.
    pub(super) fn on_request(
        self,
        context: Box<LoginContext>,
        request: LoginRequest,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match request {
            LoginRequest::OpenPage { reuse } => self.on_open_page(context, reuse, inputs),
            LoginRequest::Choose(connector) => choose_idp(context, &connector, inputs),
            LoginRequest::Cancel => {
                let banner = self.banner.as_ref();
                let code =
                    banner.map_or(ErrorCode::UserCancelled, ChoiceBanner::code_of_leaving_user);
                Completed::finish_with_error(context, code)
            }
            // A double click.
            LoginRequest::ReportWrongUser => self.show_choice(context),
            // A late duplicate of the callback that led here gets the same answer.
            LoginRequest::Callback(callback)
                if context.accepted_state.as_deref() == Some(&callback.state) =>
            {
                self.show_choice(context)
            }
            LoginRequest::Callback(_) => self.show_error(context, ErrorCode::StateUnknown),
            // A block came into force while the consent page was open, and the user reloads or
            // submits it.
            LoginRequest::OpenConsentPage | LoginRequest::Consent(_) if self.is_blocked() => {
                self.show_block(context)
            }
            LoginRequest::OpenConsentPage
            | LoginRequest::Consent(_)
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_)
            | LoginRequest::Displace => self.show_error(context, ErrorCode::StepOutOfOrder),
        }
    }

    fn on_open_page(
        self,
        mut context: Box<LoginContext>,
        reuse: Result<Option<Box<IdentifiedUser>>, ErrorCode>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        if self.banner.is_some() {
            return self.show_choice(context);
        }
        // `prompt=none` allows no page, and is never sent to an identity provider.
        match reuse {
            Ok(Some(user)) => return Consenting::enter(context, *user, inputs),
            Ok(None) if context.request.prompt.none => {
                return Completed::finish_with_error(context, ErrorCode::LoginRequired);
            }
            Err(code) if context.request.prompt.none => {
                return Completed::finish_with_error(context, code);
            }
            // The user can authenticate again.
            Ok(None) | Err(_) => {}
        }
        match hinted_idp(&context, inputs) {
            Some(connector) => {
                context.hint_followed = true;
                choose_idp(context, &connector, inputs)
            }
            None => self.show_choice(context),
        }
    }

    fn is_blocked(&self) -> bool {
        self.banner.as_ref().is_some_and(|banner| ChoiceBanner::is_block(banner.code))
    }

    fn show_block(self, context: Box<LoginContext>) -> Step {
        match self.banner.clone() {
            Some(banner) => Step::answer_unsaved(
                context,
                LoginState::Choosing(self),
                LoginAnswer::BlockedPage(banner),
            ),
            None => self.show_choice(context),
        }
    }

    fn show_choice(self, context: Box<LoginContext>) -> Step {
        let banner = self.banner.clone();
        Step::answer_unsaved(
            context,
            LoginState::Choosing(self),
            LoginAnswer::ChoicePage { banner },
        )
    }

    fn show_error(self, context: Box<LoginContext>, code: ErrorCode) -> Step {
        Step::show_error(context, LoginState::Choosing(self), code, NextAction::ChooseIdp)
    }
}

/// Returns the connector that `idp_hint` names, or else the one that the e-mail domain in
/// `login_hint` leads to. A hint that the gate refuses is ignored. Of several the user chooses.
fn hinted_idp(context: &LoginContext, inputs: &StepInputs<'_>) -> Option<ConnectorId> {
    let request = &context.request;
    if context.hint_followed || request.prompt.select_account {
        return None;
    }
    let at = AcrCheck::Requested(request.requirement());
    let is_open = |connector: &ConnectorId| (inputs.gate)(connector, at).is_ok();
    match request.idp_hints.as_slice() {
        [only] if is_open(only) => Some(only.clone()),
        [_, _, ..] if request.idp_hints.iter().any(is_open) => None,
        _ => (inputs.connector_for_login_hint)(request).filter(is_open),
    }
}

/// Prepares the redirect to a connector, if the gate allows it.
pub(super) fn choose_idp(
    context: Box<LoginContext>,
    connector: &ConnectorId,
    inputs: &StepInputs<'_>,
) -> Step {
    if let Err(code) = (inputs.gate)(connector, AcrCheck::Requested(context.request.requirement()))
    {
        let banner = ChoiceBanner { connector: Some(connector.clone()), code };
        return context.show_choice(banner);
    }
    let request = &context.request;
    let upstream_request = UpstreamAuthorizationRequest {
        // Unrelated to the interaction's address, which the identity provider must not learn.
        state: inputs.entropy.token(),
        nonce: inputs.entropy.token(),
        verifier: Secret::new(inputs.entropy.token()),
        redirect_uri: format!("{}{connector}", inputs.callback_base),
        level: request.level,
        reauthenticate: request.prompt.login,
        max_age: request.max_age,
        auth_time_required: !request.claims.auth_time_optional,
        level_names: request.level_names().cloned().collect(),
        login_hint: request.login_hint.as_ref().map(|hint| hint.reveal().clone()),
        forwarded: (inputs.forwarded_params)(connector, request),
        requester: Some(request.client_id.clone()),
        ui_locales: (!request.ui_locales.is_empty()).then(|| request.ui_locales.join(" ")),
    };
    PreparingRedirect::enter(context, connector.clone(), upstream_request)
}
