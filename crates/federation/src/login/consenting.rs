//! State: the user continues, consents or refuses (docs/design/login.md).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::completed::PendingGrant;
use super::{
    ChoiceBanner, Choosing, Completed, ConfirmingMail, ConsentAnswer, ConsentSubmission, Effect,
    HubCount, IdentifiedUser, LoginAnswer, LoginContext, LoginRequest, LoginState, NextAction,
    SessionUse, Step, StepInputs, WrongUser,
};
use crate::assurance::AcrCheck;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::registration::{ClientType, ConsentRequirement};

/// An identified user, whose consent or confirmation is pending.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Consenting {
    #[serde(rename = "proven")]
    pub user: IdentifiedUser,
    /// Whether explicit consent is needed; otherwise one button continues.
    pub explicit: bool,
}

impl Consenting {
    /// Shows the page if one is due; otherwise completes the login.
    pub(super) fn enter(
        context: Box<LoginContext>,
        mut user: IdentifiedUser,
        inputs: &StepInputs<'_>,
    ) -> Step {
        // The user must be the one that the request names (OpenID Connect Core 1.0 §3.1.2.1 and
        // §5.5.1).
        if context.required_subjects.iter().any(|required| *required != user.subject) {
            return Completed::finish_with_error(context, ErrorCode::OtherUser);
        }
        if context.is_scope_withdrawn(inputs) {
            return Completed::finish_with_error(context, ErrorCode::ScopeWithdrawn);
        }
        if let Some(requirement) = user.mail.take() {
            return ConfirmingMail::enter(context, user, *requirement);
        }
        // Any application can send requests in the name of a public client. So the user sees each
        // of them, whatever the session holds (RFC 8252 §8.6).
        let interact = context.request.prompt.consent || inputs.client_type == ClientType::Public;
        // Single sign-on shows no page of its own. So without this rule a service that the user has
        // never seen would get the user's identity by `prompt=none`.
        let is_acknowledged = match inputs.consent {
            ConsentRequirement::Required => user.consented,
            ConsentRequirement::Information => user.informed,
            ConsentRequirement::None => true,
        };
        let page = interact || !is_acknowledged;
        let explicit = inputs.consent == ConsentRequirement::Required;
        let state = Self { user, explicit };
        if page && context.request.prompt.none {
            return Completed::finish_with_error(context, ErrorCode::ConsentRequired);
        }
        if page {
            return Step::save_and_answer(
                context,
                LoginState::Consenting(Arc::new(state)),
                LoginAnswer::RedirectToConsent,
            );
        }
        state.grant_code(context, inputs)
    }

    /// Returns a digest of what the page shows: consent to another identity or other claims is
    /// invalid.
    pub fn page_digest(&self) -> String {
        let claims = serde_json::to_string(&self.user.claims).unwrap_or_default();
        digest::sha256_base64url(&format!("{}\n{}\n{claims}", self.explicit, self.user.subject))
    }

    /// Applies a request of the browser.
    pub(super) fn on_request(
        self: Arc<Self>,
        context: Box<LoginContext>,
        request: LoginRequest,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match request {
            // The code by mail was entered before, or its form was sent twice.
            LoginRequest::OpenPage { .. }
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_) => Step::answer_unsaved(
                context,
                LoginState::Consenting(self),
                LoginAnswer::RedirectToConsent,
            ),
            LoginRequest::OpenConsentPage if context.is_scope_withdrawn(inputs) => {
                Completed::finish_with_error(context, ErrorCode::ScopeWithdrawn)
            }
            LoginRequest::OpenConsentPage => {
                // Consent that can't lead to a code is not requested.
                if let Some(code) = self.block_in_force(inputs) {
                    return context.answer_gate_error(&self.user.authentication.connector, code);
                }
                let page = LoginAnswer::ConsentPage(Arc::clone(&self));
                Step::answer_unsaved(context, LoginState::Consenting(self), page)
            }
            LoginRequest::Consent(consent) => self.on_consent(context, consent, inputs),
            LoginRequest::Cancel => Completed::finish_with_error(context, ErrorCode::UserCancelled),
            LoginRequest::ReportWrongUser => self.report_wrong_user(context),
            // A repeated callback gets the same answer, without a second token call.
            LoginRequest::Callback(callback)
                if context.accepted_state.as_deref() == Some(&callback.state) =>
            {
                Step::answer_unsaved(
                    context,
                    LoginState::Consenting(self),
                    LoginAnswer::RedirectToConsent,
                )
            }
            LoginRequest::Callback(_) => self.show_error(context, ErrorCode::StateUnknown),
            LoginRequest::Choose(_) | LoginRequest::Displace => {
                self.show_error(context, ErrorCode::StepOutOfOrder)
            }
        }
    }

    /// Returns the code of a block that came into force after the authentication.
    fn block_in_force(&self, inputs: &StepInputs<'_>) -> Option<ErrorCode> {
        let authentication = &self.user.authentication;
        let answer =
            (inputs.gate)(&authentication.connector, AcrCheck::Achieved(authentication.level));
        answer.err().filter(|code| ChoiceBanner::is_block(*code))
    }

    /// Drops the person, and goes back to the choice. The banner keeps a session from being reused.
    fn report_wrong_user(self: Arc<Self>, context: Box<LoginContext>) -> Step {
        let IdentifiedUser { authentication, session, .. } = Arc::unwrap_or_clone(self).user;
        let connector = authentication.connector;
        let banner =
            ChoiceBanner { connector: Some(connector.clone()), code: ErrorCode::UserCancelled };
        let rejected = WrongUser { connector, session_hint: authentication.session_hint, session };
        Step::save_and_answer(
            context,
            LoginState::Choosing(Choosing { banner: Some(banner) }),
            LoginAnswer::WrongUserReported(rejected),
        )
    }

    fn on_consent(
        self: Arc<Self>,
        context: Box<LoginContext>,
        consent: ConsentSubmission,
        inputs: &StepInputs<'_>,
    ) -> Step {
        if !digest::constant_time_eq(consent.page_digest.as_bytes(), self.page_digest().as_bytes())
        {
            return self.show_error(context, ErrorCode::CsrfWrong);
        }
        match consent.answer {
            ConsentAnswer::Yes => {
                let mut state = Arc::unwrap_or_clone(self);
                state.user.informed = true;
                state.grant_code(context, inputs)
            }
            ConsentAnswer::No => {
                Completed::finish_with_error(context, ErrorCode::UserRefusedConsent)
            }
        }
    }

    /// Creates the code. No other function does.
    fn grant_code(mut self, mut context: Box<LoginContext>, inputs: &StepInputs<'_>) -> Step {
        if context.is_scope_withdrawn(inputs) {
            return Completed::finish_with_error(context, ErrorCode::ScopeWithdrawn);
        }
        let authentication = &self.user.authentication;
        if let Err(code) =
            (inputs.gate)(&authentication.connector, AcrCheck::Achieved(authentication.level))
        {
            return context.answer_gate_error(&authentication.connector, code);
        }
        let connector = authentication.connector.clone();
        let code = Secret::new(inputs.entropy.token());
        // A new value after every authentication: an earlier one may be fixated by an attacker.
        let session = match (self.user.session.take(), inputs.session) {
            (None, replaced) => SessionUse::New {
                cookie: Secret::new(inputs.entropy.token()),
                replaced: replaced.cloned(),
            },
            (Some(reused), Some(cookie)) if digest::sha256_base64url(cookie.reveal()) == reused => {
                SessionUse::Reused { cookie: cookie.clone() }
            }
            // The session changed in another tab: the page showed another user.
            (Some(_), _) => {
                return context.show_choice(ChoiceBanner {
                    connector: Some(connector),
                    code: ErrorCode::Interrupted,
                });
            }
        };
        let pending = PendingGrant {
            user: self.user,
            session,
            consented: self.explicit,
            granted_at: inputs.now,
        };
        let session = pending.session.new_cookie();
        let pending_grant =
            (inputs.hub_count == HubCount::Several).then(|| Box::new(pending.clone()));
        let effect = Effect::IssueCode(Box::new(pending.into_grant(&code, &context)));
        if pending_grant.is_none() {
            context.discard_request_details();
        }
        let state = Completed::Granted { code, session, connector, pending_grant };
        // The login is stored as completed before the code exists: of two submissions at two hubs,
        // one succeeds.
        Step::save_and_perform(context, LoginState::Completed(state), effect)
    }

    fn show_error(self: Arc<Self>, context: Box<LoginContext>, code: ErrorCode) -> Step {
        Step::show_error(context, LoginState::Consenting(self), code, NextAction::ChooseIdp)
    }
}
