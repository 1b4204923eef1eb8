//! State: the service provider has its answer, which the hub repeats for a double click.

use serde::{Deserialize, Serialize};

use super::{
    CodeGrant, Effect, Failed, IdentifiedUser, LoginAnswer, LoginContext, LoginRequest, LoginState,
    NextAction, SessionUse, Step,
};
use passerelle_protocol::authorize::AuthorizationResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Secret};

/// The answer to the service provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Completed {
    /// The service provider gets this code; the browser gets the cookie of the new session.
    Granted {
        #[serde(with = "passerelle_protocol::ids::stored_secret")]
        code: Secret<String>,
        #[serde(default, with = "passerelle_protocol::ids::stored_secret")]
        session: Option<Secret<String>>,
        /// The connector through which the user authenticated.
        connector: ConnectorId,
        /// What the code stands for. With several hubs it is part of the stored record, so that
        /// another hub can store the grant if this process dies or the store is unavailable.
        #[serde(default, rename = "kept", skip_serializing_if = "Option::is_none")]
        pending_grant: Option<Box<PendingGrant>>,
    },
    Refused(ErrorCode),
}

/// Data of a grant, except its code and what [`LoginContext`] holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingGrant {
    #[serde(rename = "proven")]
    pub(super) user: IdentifiedUser,
    pub(super) session: SessionUse,
    pub(super) consented: bool,
    pub(super) granted_at: Timestamp,
}

impl PendingGrant {
    /// Returns the session that the new one replaces.
    const fn replaced_session(&self) -> Option<&Secret<String>> {
        match &self.session {
            SessionUse::New { replaced, .. } => replaced.as_ref(),
            SessionUse::Reused { .. } => None,
        }
    }

    /// Returns the grant of this code.
    pub(super) fn into_grant(self, code: &Secret<String>, context: &LoginContext) -> CodeGrant {
        CodeGrant {
            code: code.clone(),
            request: context.request.clone(),
            scopes: context.request.scopes.clone(),
            user: self.user,
            login: context.hash.clone(),
            support_id: context.support_id.clone(),
            consented: self.consented,
            session: self.session,
            granted_at: self.granted_at,
        }
    }
}

impl Completed {
    /// Returns the session that must end before the answer is repeated.
    pub(super) fn replaced_session(&self) -> Option<&Secret<String>> {
        match self {
            Self::Granted { pending_grant, .. } => pending_grant.as_ref()?.replaced_session(),
            Self::Refused(_) => None,
        }
    }

    /// Ends the login with an error for the service provider.
    pub(super) fn finish_with_error(mut context: Box<LoginContext>, code: ErrorCode) -> Step {
        context.discard_request_details();
        let state = Self::Refused(code);
        let answer = state.answer(&context);
        Step::save_and_answer(context, LoginState::Completed(state), answer)
    }

    /// Applies a request of the browser.
    pub(super) fn on_request(self, context: Box<LoginContext>, request: LoginRequest) -> Step {
        match request {
            // A callback that this login never accepted gets nothing, least of all a code.
            LoginRequest::Callback(callback)
                if context.accepted_state.as_deref() != Some(&callback.state) =>
            {
                self.answer_already_done(context)
            }
            // A double click, or a lost answer: the same answer again, while its code can still be
            // used.
            LoginRequest::OpenPage { .. }
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_)
            | LoginRequest::Consent(_)
            | LoginRequest::Cancel
            | LoginRequest::Callback(_) => match &self {
                Self::Granted { code, .. } => {
                    let effect = Effect::CheckCode(code.clone());
                    Step::perform_unsaved(context, LoginState::Completed(self), effect)
                }
                Self::Refused(_) if matches!(request, LoginRequest::OpenPage { .. }) => {
                    self.answer_already_done(context)
                }
                Self::Refused(_) => self.repeat_answer(context),
            },
            LoginRequest::Choose(_)
            | LoginRequest::OpenConsentPage
            | LoginRequest::ReportWrongUser
            | LoginRequest::Displace => self.answer_already_done(context),
        }
    }

    /// Applies the outcome of [`Effect::IssueCode`].
    pub(super) fn on_code_issued(
        mut self,
        context: Box<LoginContext>,
        result: Result<(), ErrorCode>,
    ) -> Step {
        match result {
            Ok(()) => {
                if let Self::Granted { pending_grant, .. } = &mut self {
                    *pending_grant = None;
                }
                self.repeat_answer(context)
            }
            // The code was issued, and is used or expired by now.
            Err(ErrorCode::AlreadyDone) => self.answer_already_done(context),
            // No page may be shown: the service provider gets the error at once.
            Err(code) if context.request.prompt.none => Self::finish_with_error(context, code),
            // The code may have been stored or not. The next request of the browser finds out.
            Err(code @ ErrorCode::StoreUnavailable) => self.answer_store_error(context, code),
            // It was not stored. The next request tries again, if the grant is still known.
            Err(code @ ErrorCode::StoreFull)
                if matches!(self, Self::Granted { pending_grant: Some(_), .. }) =>
            {
                self.answer_store_error(context, code)
            }
            Err(code) => Failed::new(code).enter(context),
        }
    }

    /// Applies the outcome of [`Effect::CheckCode`].
    pub(super) fn on_code_checked(
        self,
        context: Box<LoginContext>,
        lives: Result<bool, ErrorCode>,
    ) -> Step {
        match (lives, &self) {
            (Ok(true), _) => self.repeat_answer(context),
            // Never stored, or used. The store accepts no code twice, so the same grant can be
            // repeated.
            (Ok(false), Self::Granted { code, pending_grant: Some(pending), .. }) => {
                let effect =
                    Effect::IssueCode(Box::new(pending.clone().into_grant(code, &context)));
                Step::perform_unsaved(context, LoginState::Completed(self), effect)
            }
            (Ok(false), _) => self.answer_already_done(context),
            (Err(_), _) => self.answer_store_error(context, ErrorCode::StoreUnavailable),
        }
    }

    fn answer_store_error(self, context: Box<LoginContext>, code: ErrorCode) -> Step {
        Step::show_error(context, LoginState::Completed(self), code, NextAction::ChooseIdp)
    }

    fn answer(&self, context: &LoginContext) -> LoginAnswer {
        let redirect = &context.request.redirect;
        let (answer, session): (AuthorizationResponse, _) = match self {
            Self::Granted { code, session, .. } => {
                (redirect.code_response(code.reveal()), session.clone())
            }
            Self::Refused(code) => (redirect.error_response(*code), None),
        };
        LoginAnswer::ServiceProvider { answer, session }
    }

    fn repeat_answer(self, context: Box<LoginContext>) -> Step {
        let answer = self.answer(&context);
        Step::answer_unsaved(context, LoginState::Completed(self), answer)
    }

    fn answer_already_done(self, context: Box<LoginContext>) -> Step {
        Step::show_error(
            context,
            LoginState::Completed(self),
            ErrorCode::AlreadyDone,
            NextAction::HomePage,
        )
    }
}
