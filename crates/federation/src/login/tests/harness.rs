//! Runs a login with inputs set by hand. Between two steps it always passes through the store's
//! format.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::assurance::{AcrCheck, Level};
use crate::login::upstream::{CallbackParams, LoginAttempt};
use crate::login::{
    Callback, ChoiceBanner, CodeGrant, Completed, ConsentAnswer, ConsentSubmission, Effect,
    EffectOutcome, HubCount, IdentifiedUser, Login, LoginAnswer, LoginErrorPage, LoginRequest,
    LoginState, MailPage, NextAction, Save, Step, StepInputs, StepOutput, on_effect_outcome,
    on_request,
};
use crate::testing::samples::{
    IDP_ISSUER, LIFETIME_SECONDS, OPENED, authentication, authorization_redirect, identified_user,
    login_context,
};
use passerelle_protocol::authorize::AuthorizationResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest::HmacKey;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Secret, Subject};
use passerelle_protocol::registration::ClientType;
use passerelle_protocol::registration::ConsentRequirement;
use passerelle_protocol::testing::env::SeededEntropy;

pub(super) type Gate = fn(&ConnectorId, AcrCheck) -> Result<(), ErrorCode>;

pub(super) const OPEN: Gate = |_, _| Ok(());
pub(super) const BLOCKED: Gate = |_, _| Err(ErrorCode::IdpBlocked);
pub(super) const CLOSED: Gate = |_, _| Err(ErrorCode::GateClosed);

pub(super) struct Harness {
    pub login: Login,
    pub now: Timestamp,
    pub gate: Gate,
    /// Result of the registration check.
    pub registered: Result<(), ErrorCode>,
    /// The connector that the e-mail domain in `login_hint` leads to.
    pub login_hint_idp: Option<ConnectorId>,
    pub consent: ConsentRequirement,
    pub client_type: ClientType,
    /// The session cookie that comes with each request.
    pub session: Option<Secret<String>>,
    pub hub_count: HubCount,
    /// Whether the last step was saved.
    pub saved: Save,
    /// What the store holds: all that survives a crash.
    pub(super) stored: Login,
    entropy: SeededEntropy,
}

/// An answer as a browser sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BrowserView {
    ChoicePage(Option<ChoiceBanner>),
    RedirectToIdp(String),
    RedirectToMail,
    MailPage(MailPage),
    RedirectToConsent,
    ConsentPage(String),
    WrongUserReported,
    ServiceProvider(AuthorizationResponse, Option<String>),
    BlockedPage(ChoiceBanner),
    ErrorPage(ErrorCode, NextAction),
}

impl Harness {
    pub(super) fn new(changes: &[(&str, &str)]) -> Self {
        let login = Login::new(login_context(changes));
        Self {
            stored: login.clone(),
            login,
            now: OPENED,
            gate: OPEN,
            registered: Ok(()),
            login_hint_idp: None,
            consent: ConsentRequirement::None,
            client_type: ClientType::Confidential,
            session: None,
            hub_count: HubCount::Several,
            saved: Save::No,
            entropy: SeededEntropy::new(7),
        }
    }

    pub(super) fn requiring_subject(mut self, subject: &str) -> Self {
        self.login.context.required_subjects.push(Subject::new(subject));
        self
    }

    pub(super) fn with_session(mut self, cookie: &str) -> Self {
        self.session = Some(Secret::new(cookie.into()));
        self
    }

    pub(super) fn with_policy(mut self, policy: ConsentRequirement) -> Self {
        self.consent = policy;
        self
    }

    pub(super) fn for_public_client(mut self) -> Self {
        self.client_type = ClientType::Public;
        self
    }

    /// Moves the time to this many milliseconds from the login's expiry.
    pub(super) fn at_end_plus(&mut self, millis: i64) {
        let end = (OPENED + Duration::from_secs(LIFETIME_SECONDS)).millis();
        self.now = Timestamp::from_millis(end.saturating_add_signed(millis));
    }

    pub(super) fn send(&mut self, request: LoginRequest) -> StepOutput {
        self.step(|login, inputs| on_request(login, request, inputs))
    }

    pub(super) fn report_outcome(&mut self, report: EffectOutcome) -> StepOutput {
        self.step(|login, inputs| on_effect_outcome(login, report, inputs))
    }

    fn step(&mut self, take: impl FnOnce(Login, &StepInputs<'_>) -> Step) -> StepOutput {
        let stored = serde_json::to_value(&self.login).unwrap();
        let record = serde_json::to_vec(&self.login).unwrap();
        let loaded = Login::from_record(&self.login.context.hash, &record).unwrap();
        assert_eq!(
            serde_json::to_value(&loaded).unwrap(),
            stored,
            "the store's format changes the state"
        );
        let inputs = StepInputs {
            now: self.now,
            entropy: &self.entropy,
            gate: &self.gate,
            check_registration: &|_| self.registered,
            connector_for_login_hint: &|_| self.login_hint_idp.clone(),
            forwarded_params: &|_, _| BTreeMap::new(),
            consent: self.consent,
            client_type: self.client_type,
            callback_base: "https://hub.example/api/v2/callback/",
            session: self.session.as_ref(),
            hub_count: self.hub_count,
            mail_code_key: &HmacKey::new(b"key of the tests"),
        };
        let step = take(loaded, &inputs);
        self.login = step.login;
        self.saved = step.save;
        if step.save == Save::Yes {
            self.stored = self.login.clone();
        }
        step.output
    }

    /// Simulates the death of the process: another continues with what was stored.
    pub(super) fn crash(&mut self) {
        self.login = self.stored.clone();
    }

    pub(super) fn view_after(&mut self, request: LoginRequest) -> BrowserView {
        browser_view(self.send(request))
    }

    pub(super) fn effect_after(&mut self, request: LoginRequest) -> Effect {
        effect(self.send(request))
    }

    /// Opens the page without a session that can be reused.
    pub(super) fn open_page(&mut self) -> BrowserView {
        self.view_after(LoginRequest::OpenPage { reuse: Ok(None) })
    }

    /// Chooses this connector, up to the redirect.
    pub(super) fn begin_at(&mut self, connector: &str) -> LoginAttempt {
        assert!(matches!(
            self.effect_after(LoginRequest::Choose(connector.into())),
            Effect::BeginLogin(..)
        ));
        self.redirect()
    }

    pub(super) fn redirect(&mut self) -> LoginAttempt {
        assert_eq!(
            browser_view(
                self.report_outcome(EffectOutcome::RedirectPrepared(Ok(authorization_redirect())))
            ),
            BrowserView::RedirectToIdp(authorization_redirect().url)
        );
        assert_eq!(self.saved, Save::Yes, "an attempt that no other hub would know");
        let LoginState::AwaitingCallback(away) = &self.login.state else {
            panic!("{}", self.login.state.name())
        };
        LoginAttempt::clone(&away.attempt)
    }

    /// Goes to `idp` and back; the callback is to be verified.
    pub(super) fn reach_verifying(&mut self) -> LoginAttempt {
        let attempt = self.begin_at("idp");
        assert!(matches!(self.effect_after(callback(&attempt)), Effect::CompleteLogin(..)));
        assert_eq!(self.saved, Save::Yes, "an attempt that another hub would find open");
        attempt
    }

    /// Continues up to the identification.
    pub(super) fn reach_identifying(&mut self) -> LoginAttempt {
        let attempt = self.reach_verifying();
        assert!(matches!(effect(self.report_authentication(Level::Eidas1)), Effect::Identify(_)));
        attempt
    }

    pub(super) fn report_authentication(&mut self, level: Level) -> StepOutput {
        self.report_outcome(EffectOutcome::Authenticated(Ok(Box::new(authentication(
            "idp", level,
        )))))
    }

    pub(super) fn report_identification(&mut self, proven: IdentifiedUser) -> StepOutput {
        self.report_outcome(EffectOutcome::Identified(Ok(Box::new(proven))))
    }

    /// Continues up to the consent page.
    pub(super) fn reach_consenting(&mut self) -> LoginAttempt {
        let attempt = self.reach_identifying();
        assert_eq!(
            browser_view(self.report_identification(identified_user("idp", Level::Eidas1))),
            BrowserView::RedirectToConsent
        );
        attempt
    }

    /// Completes the login. Returns the answer that carries the code.
    pub(super) fn reach_granted(&mut self) -> BrowserView {
        self.reach_consenting();
        let yes = self.yes();
        grant(self.send(yes));
        browser_view(self.report_outcome(EffectOutcome::CodeIssued(Ok(()))))
    }

    /// Returns the submission of the current consent page.
    pub(super) fn yes(&mut self) -> LoginRequest {
        self.form(ConsentAnswer::Yes)
    }

    pub(super) fn no(&mut self) -> LoginRequest {
        self.form(ConsentAnswer::No)
    }

    fn form(&mut self, answer: ConsentAnswer) -> LoginRequest {
        let BrowserView::ConsentPage(shown) = self.view_after(LoginRequest::OpenConsentPage) else {
            panic!("{}", self.login.state.name())
        };
        LoginRequest::Consent(ConsentSubmission { answer, page_digest: shown })
    }

    /// Returns whether this answer gives the service provider this error, and the login ended with
    /// it.
    pub(super) fn ended_with_error(&self, seen: &BrowserView, code: ErrorCode) -> bool {
        let expected = BrowserView::ServiceProvider(
            self.login.context.request.redirect.error_response(code),
            None,
        );
        *seen == expected && self.login.outcome() == Some(Err(code)) && self.saved == Save::Yes
    }

    pub(super) fn code(&self) -> Option<&str> {
        match &self.login.state {
            LoginState::Completed(Completed::Granted { code, .. }) => Some(code.reveal()),
            _ => None,
        }
    }
}

/// Returns the valid callback of this attempt.
pub(super) fn callback(attempt: &LoginAttempt) -> LoginRequest {
    callback_with(attempt, |_| {})
}

pub(super) fn callback_with(
    attempt: &LoginAttempt,
    change: impl FnOnce(&mut Callback),
) -> LoginRequest {
    let arrival = CallbackParams {
        code: Some(Secret::new("upstream code".into())),
        iss: Some(IDP_ISSUER.into()),
        error: None,
        response: None,
    };
    let network = ClientNetwork::containing([192, 0, 2, 1].into());
    let mut back = Callback {
        connector: attempt.connector.clone(),
        state: attempt.request.state.clone(),
        params: arrival,
        network,
    };
    change(&mut back);
    LoginRequest::Callback(back)
}

pub(super) fn browser_view(then: StepOutput) -> BrowserView {
    match then {
        StepOutput::Answer(answer) => seen(answer),
        StepOutput::Perform(effect) => panic!("{effect:?}"),
    }
}

pub(super) fn seen(answer: LoginAnswer) -> BrowserView {
    match answer {
        LoginAnswer::ChoicePage { banner } => BrowserView::ChoicePage(banner),
        LoginAnswer::RedirectToIdp { url } => BrowserView::RedirectToIdp(url),
        LoginAnswer::RedirectToMail => BrowserView::RedirectToMail,
        LoginAnswer::MailPage(page) => BrowserView::MailPage(page),
        LoginAnswer::RedirectToConsent => BrowserView::RedirectToConsent,
        LoginAnswer::ConsentPage(page) => BrowserView::ConsentPage(page.page_digest()),
        LoginAnswer::WrongUserReported(_) => BrowserView::WrongUserReported,
        LoginAnswer::ServiceProvider { answer, session } => {
            BrowserView::ServiceProvider(answer, session.map(Secret::into_inner))
        }
        LoginAnswer::BlockedPage(banner) => BrowserView::BlockedPage(banner),
        LoginAnswer::ErrorPage(LoginErrorPage { code, next_action, .. }) => {
            BrowserView::ErrorPage(code, next_action)
        }
    }
}

pub(super) fn effect(then: StepOutput) -> Effect {
    match then {
        StepOutput::Perform(effect) => *effect,
        StepOutput::Answer(answer) => panic!("{answer:?}"),
    }
}

pub(super) fn grant(then: StepOutput) -> CodeGrant {
    match effect(then) {
        Effect::IssueCode(grant) => *grant,
        other => panic!("{other:?}"),
    }
}

pub(super) fn choice_with_banner(connector: Option<&str>, code: ErrorCode) -> BrowserView {
    BrowserView::ChoicePage(Some(ChoiceBanner {
        connector: connector.map(ConnectorId::from),
        code,
    }))
}

pub(super) const fn error_page(code: ErrorCode, next_action: NextAction) -> BrowserView {
    BrowserView::ErrorPage(code, next_action)
}
