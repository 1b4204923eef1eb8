//! Records the audit events of one step of a login. Each fact is recorded once. Facts about stored
//! data are recorded before the next effect; all others at the end of the step, because a step that
//! loses a race is repeated.

use super::login_services::LoginServices;
use passerelle_audit::{Audit, Event, EventKind};
use passerelle_federation::assurance::Level;
use passerelle_federation::login::state_name::{COMPLETED, FAILED};
use passerelle_federation::login::{
    ConsentAnswer, Effect, EffectOutcome, Login, LoginAnswer, LoginRequest, LoginState, MailAction,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Subject};

/// Audit recorder of one step.
pub(super) struct StepAudit<'m> {
    services: &'m LoginServices,
    state_before: &'static str,
    kind: StepKind,
    /// The user of the reused session, until its event is recorded.
    reused: Option<(ConnectorId, Subject, Level)>,
    /// The connector that was called last.
    called: Option<ConnectorId>,
    /// Names of the service provider's parameters that it gets.
    forwarded: Vec<String>,
    redirect: Option<Result<(), ErrorCode>>,
    achieved: Option<Level>,
    accepted: bool,
    /// Why the last call failed; shown in the admin console.
    error_detail: Option<String>,
}

/// Kind of request, as far as the audit log distinguishes it.
enum StepKind {
    OpenPage,
    Choose(ConnectorId),
    Callback,
    OpenConsentPage,
    ConsentYes,
    ConsentNo,
    Other,
}

/// Returns an event with the ids of this login.
pub(super) fn login_event(name: EventKind, login: &Login) -> Event {
    let context = &login.context;
    Event::new(name)
        .sp(&context.request.client_id)
        .login(&context.hash)
        .support_id(&context.support_id)
}

impl<'m> StepAudit<'m> {
    /// Starts the recording of a step.
    pub(crate) fn new(services: &'m LoginServices, login: &Login, request: &LoginRequest) -> Self {
        let mut reused = None;
        let kind = match request {
            LoginRequest::OpenPage { reuse } => {
                reused = reuse.as_ref().ok().and_then(Option::as_ref).map(|user| {
                    (user.authentication.connector.clone(), user.subject.clone(), user.level)
                });
                StepKind::OpenPage
            }
            LoginRequest::Choose(connector) => StepKind::Choose(connector.clone()),
            LoginRequest::Callback(_) => StepKind::Callback,
            LoginRequest::OpenConsentPage => StepKind::OpenConsentPage,
            LoginRequest::Consent(consent) if consent.answer == ConsentAnswer::Yes => {
                StepKind::ConsentYes
            }
            LoginRequest::Consent(_) => StepKind::ConsentNo,
            LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(_)
            | LoginRequest::Cancel
            | LoginRequest::ReportWrongUser
            | LoginRequest::Displace => StepKind::Other,
        };
        let before = login.state.name();
        Self {
            services,
            state_before: before,
            kind,
            reused,
            called: None,
            forwarded: Vec::new(),
            redirect: None,
            achieved: None,
            accepted: false,
            error_detail: None,
        }
    }

    /// Records what is already stored, before `effect` is performed.
    pub(crate) fn before_effect(&mut self, login: &Login, effect: &Effect) {
        match effect {
            Effect::BeginLogin(connector, request) => {
                self.called = Some(connector.clone());
                self.forwarded = request.forwarded.keys().cloned().collect();
            }
            Effect::CompleteLogin(attempt, ..) => self.called = Some(attempt.connector.clone()),
            Effect::Identify(authentication) => {
                self.accepted = true;
                self.audit().record(|| {
                    login_event(EventKind::CallbackAccepted, login)
                        .idp(&authentication.connector)
                        .level(authentication.level)
                });
            }
            Effect::Mail(mail) => {
                self.record_session_reuse(login);
                match mail.action {
                    MailAction::Send { .. } => self.record_mail(EventKind::MailCodeCreated, login),
                    MailAction::RecordWrongCode => {
                        self.record_mail(EventKind::MailCodeRefused, login);
                    }
                    MailAction::ConfirmAddress(_) => {}
                }
            }
            // A repeated grant: its events were recorded the first time.
            Effect::IssueCode(_) if self.state_before == COMPLETED => {}
            Effect::IssueCode(grant) => {
                self.record_session_reuse(login);
                let name = match (&self.kind, grant.consented) {
                    (StepKind::ConsentYes, true) => EventKind::ConsentGiven,
                    (StepKind::ConsentYes, false) => EventKind::InformationContinued,
                    _ => return,
                };
                let user = &grant.user;
                self.audit().record(|| {
                    login_event(name, login)
                        .idp(&user.authentication.connector)
                        .subject(&user.subject)
                });
            }
            Effect::CheckCode(_) => {}
        }
    }

    /// Notes the outcome of an effect. `error_detail`: why the call failed, if it did.
    pub(crate) fn after_effect(
        &mut self,
        login: &Login,
        report: &EffectOutcome,
        error_detail: Option<String>,
    ) {
        self.error_detail = error_detail.or_else(|| self.error_detail.take());
        match report {
            EffectOutcome::RedirectPrepared(redirect) => {
                self.redirect = Some(redirect.as_ref().map(|_| ()).map_err(|code| *code));
            }
            EffectOutcome::Authenticated(Ok(authentication)) => {
                self.achieved = Some(authentication.level);
            }
            EffectOutcome::Mail(Ok(())) => {
                if matches!(&login.state, LoginState::ConfirmingMail(mail) if mail.is_confirmed()) {
                    self.record_mail(EventKind::MailConfirmed, login);
                }
            }
            EffectOutcome::Authenticated(Err(_))
            | EffectOutcome::Identified(_)
            | EffectOutcome::Mail(Err(_))
            | EffectOutcome::CodeIssued(_)
            | EffectOutcome::CodeChecked(_) => {}
        }
    }

    /// Records the rest, after the step is stored and before `answer` is sent.
    pub(crate) fn record_step_end(mut self, login: &Login, answer: &LoginAnswer) {
        self.record_session_reuse(login);
        let after = login.state.name();
        let code = refusal_code(login, answer, self.state_before);
        match (&self.kind, answer) {
            (StepKind::OpenPage, LoginAnswer::ChoicePage { banner }) if self.redirect.is_none() => {
                self.audit().record(|| {
                    let shown = login_event(EventKind::ChoiceShown, login);
                    banner.as_ref().map_or(shown.clone(), |banner| {
                        with_idp(shown, banner.connector.as_ref()).code(banner.code)
                    })
                });
            }
            (StepKind::Callback, _)
                if !self.accepted || matches!(answer, LoginAnswer::ChoicePage { .. }) =>
            {
                return self.record_callback(login, answer, code);
            }
            (StepKind::OpenConsentPage, LoginAnswer::ConsentPage(page)) => {
                let name = if page.explicit {
                    EventKind::ConsentShown
                } else {
                    EventKind::InformationShown
                };
                let user = &page.user;
                self.audit().record(|| {
                    login_event(name, login)
                        .idp(&user.authentication.connector)
                        .subject(&user.subject)
                });
            }
            (StepKind::ConsentNo, _)
                if self.state_before != after
                    && login.outcome() == Some(Err(ErrorCode::UserRefusedConsent)) =>
            {
                self.audit().record(|| login_event(EventKind::ConsentRefused, login));
            }
            (_, LoginAnswer::WrongUserReported(user)) => {
                let event = login_event(EventKind::WrongUserReported, login);
                self.audit().record(|| event.idp(&user.connector));
            }
            _ => {}
        }
        if self.record_idp_choice(login, answer) {
            return self.record_login_end(login, answer);
        }
        let refused_step = match answer {
            LoginAnswer::ErrorPage(_) if after == FAILED => None,
            LoginAnswer::ErrorPage(_) | LoginAnswer::BlockedPage(_) => code,
            _ => None,
        };
        if let Some(code) = refused_step {
            let connector = match answer {
                LoginAnswer::BlockedPage(banner) => banner.connector.as_ref(),
                _ => None,
            };
            self.audit().record(|| {
                with_idp(login_event(EventKind::StepRefused, login), connector).code(code)
            });
        }
        self.record_login_end(login, answer);
    }

    /// Records the choice of an identity provider. Returns whether one was chosen.
    fn record_idp_choice(&self, login: &Login, answer: &LoginAnswer) -> bool {
        let (connector, code) = match (&self.redirect, &self.kind, answer) {
            (Some(redirect), _, _) => (self.called.as_ref(), redirect.err()),
            (
                None,
                StepKind::Choose(connector),
                LoginAnswer::ChoicePage { banner: Some(banner) },
            ) => {
                // The form may name anything; only configured connectors are recorded.
                let known = self.services.core.federation.load().connector(connector).is_some();
                (Some(connector).filter(|_| known), Some(banner.code))
            }
            _ => return false,
        };
        self.audit().record(|| {
            let event = with_idp(login_event(EventKind::IdpChosen, login), connector)
                .level(login.context.request.level)
                .forwarded(&self.forwarded);
            code.map_or(event.clone(), |code| event.code(code).detail(self.error_detail.as_deref()))
        });
        true
    }

    fn record_callback(&self, login: &Login, answer: &LoginAnswer, code: Option<ErrorCode>) {
        let has_moved = self.state_before != login.state.name();
        let refused = match answer {
            LoginAnswer::ErrorPage(_) if login.state.name() == FAILED => None,
            // The callback is forged or of an older attempt, or the whole attempt has failed.
            LoginAnswer::ErrorPage(_) | LoginAnswer::BlockedPage(_) => code,
            // A late duplicate of a callback gets the answer of the first one, and is not an event
            // of its own.
            LoginAnswer::ChoicePage { .. } | LoginAnswer::ServiceProvider { .. } if has_moved => {
                code
            }
            _ => None,
        };
        if let Some(code) = refused {
            self.audit().record(|| {
                let event =
                    with_idp(login_event(EventKind::CallbackRefused, login), self.called.as_ref())
                        .code(code);
                let event = event.detail(self.error_detail.as_deref());
                self.achieved.map_or(event.clone(), |level| event.level(level))
            });
        }
        self.record_login_end(login, answer);
    }

    /// Records how the login ended, if it ended in this step. The issuer of a code records its
    /// event.
    fn record_login_end(&self, login: &Login, answer: &LoginAnswer) {
        if self.state_before == login.state.name() || self.state_before == FAILED {
            return;
        }
        match (login.outcome(), answer) {
            (Some(Err(code)), _) => {
                self.audit().record(|| login_event(EventKind::LoginRefused, login).code(code));
            }
            (None, LoginAnswer::ErrorPage(problem)) if login.state.name() == FAILED => {
                self.audit()
                    .record(|| login_event(EventKind::LoginFailed, login).code(problem.code));
            }
            (Some(Ok(())) | None, _) => {}
        }
    }

    fn record_session_reuse(&mut self, login: &Login) {
        if let Some((idp, subject, level)) = self.reused.take() {
            self.audit().record(|| {
                login_event(EventKind::SessionReused, login)
                    .idp(&idp)
                    .subject(&subject)
                    .level(level)
            });
        }
    }

    fn record_mail(&self, kind: EventKind, login: &Login) {
        let LoginState::ConfirmingMail(state) = &login.state else { return };
        let user = state.user();
        self.audit().record(|| {
            login_event(kind, login).idp(&user.authentication.connector).subject(&user.subject)
        });
    }

    fn audit(&self) -> &'m Audit {
        &self.services.core.audit
    }
}

fn with_idp(event: Event, connector: Option<&ConnectorId>) -> Event {
    match connector {
        Some(connector) => event.idp(connector),
        None => event,
    }
}

/// Returns the error of the answer, if it is one.
fn refusal_code(login: &Login, answer: &LoginAnswer, before: &str) -> Option<ErrorCode> {
    match answer {
        LoginAnswer::ErrorPage(problem) => Some(problem.code),
        LoginAnswer::BlockedPage(banner) => Some(banner.code),
        LoginAnswer::ChoicePage { banner } => banner.as_ref().map(|banner| banner.code),
        LoginAnswer::ServiceProvider { .. } if before != login.state.name() => {
            login.outcome().and_then(Result::err)
        }
        LoginAnswer::ServiceProvider { .. }
        | LoginAnswer::RedirectToIdp { .. }
        | LoginAnswer::RedirectToMail
        | LoginAnswer::MailPage(_)
        | LoginAnswer::RedirectToConsent
        | LoginAnswer::WrongUserReported(_)
        | LoginAnswer::ConsentPage(_) => None,
    }
}
