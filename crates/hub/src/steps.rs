//! Runs one step of a login: load, decide, store, perform, decide, store, answer.

mod login_records;
mod outcomes;
mod timer;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use self::login_records::{CachedLogin, login_key, record_expiry};
use self::login_records::{RunStepError, load_after_verification, save_login};
use self::outcomes::{
    displayed_detail, log_answer, log_connector_error, log_issuer_error, record_outcome,
};
use self::timer::{StepTimer, TimeOwner};
use super::connector::ConnectorHandle;
use super::identify;
use super::live_login_counter::LoginPosition;
use super::login_services::LoginServices;
use super::login_summary::{LoginSummary, Reply, StepError};
use super::mail_step;
use super::session_reuse;
use super::step_admission::StepPermit;
use super::step_audit::StepAudit;
use passerelle_connector::ConnectorError;
use passerelle_federation::login::{
    self, Effect, EffectOutcome, HubCount, Login, LoginAnswer, LoginRequest, Save, Step,
    StepInputs, StepOutput,
};
use passerelle_grants::Gate as _;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, Secret};
use passerelle_protocol::registration::{ClientType, ConsentRequirement};
use passerelle_store::{RecordVersion, StoreScope};
use passerelle_telemetry::trace::{self, Span, TraceScope};

/// Maximum number of runs of a step that loses races against other hubs.
const MAX_STEP_RUNS: usize = 4;

/// A request of the browser, and the session cookie that came with it.
#[derive(Clone)]
pub(super) struct BrowserStep {
    pub request: LoginRequest,
    pub session: Option<Secret<String>>,
    pub permit: Arc<StepPermit>,
    /// Trace scope of the HTTP request.
    pub scope: TraceScope,
}

/// Runs one step. Returns the login to cache for the next one.
pub(super) async fn run_browser_step(
    services: &LoginServices,
    hash: &InteractionHash,
    mut cached: Option<CachedLogin>,
    step: BrowserStep,
) -> (Option<CachedLogin>, Result<Reply, StepError>) {
    for _ in 0..MAX_STEP_RUNS {
        let (current, loaded_from) = match cached
            .take()
            .filter(|cached| services.core.env.now() < cached.expires_at)
        {
            Some(current) if may_use_cache(services, &step.request) => (current, LoadedFrom::Cache),
            Some(_) | None => match load_after_verification(services, hash, &step.permit).await {
                Ok(Some(current)) => (current, LoadedFrom::Store),
                Ok(None) => return (None, Err(StepError::Unknown)),
                Err(code) => return (None, Err(StepError::Hub(code))),
            },
        };
        let context = &current.login.context;
        trace::attach_login(&context.support_id, context.trace.as_ref());
        let mut span = trace::start_span("login step");
        span.set_client(&context.request.client_id);
        let advanced = Box::pin(advance_login(services, current, loaded_from, &step));
        let result = span.run(advanced).await;
        record_span(&mut span, &result);
        match result {
            Ok((current, answer)) => {
                let summary = LoginSummary::from_login(&current.login);
                return (Some(current), Ok(Reply { answer, summary }));
            }
            Err(RunStepError::Stale) => {}
            Err(RunStepError::Gone) => return (None, Err(StepError::Unknown)),
            Err(RunStepError::Hub(code)) => return (None, Err(StepError::Hub(code))),
        }
    }
    (None, Err(StepError::Hub(ErrorCode::Busy)))
}

/// Where the login at the start of a step comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoadedFrom {
    Store,
    Cache,
}

/// Returns whether the step may start from the cache. Opening the page usually changes nothing:
/// where other hubs may have changed the login, it is loaded.
fn may_use_cache(services: &LoginServices, request: &LoginRequest) -> bool {
    services.store.scope() == StoreScope::Process
        || !matches!(request, LoginRequest::OpenPage { .. })
}

/// Records the result of a step in its span.
fn record_span(span: &mut Span, result: &Result<(CachedLogin, LoginAnswer), RunStepError>) {
    match result {
        Ok((cached, answer)) => {
            span.set_login_state(cached.login.state.name());
            match answer {
                LoginAnswer::ErrorPage(problem) => span.fail_with_code(problem.code),
                LoginAnswer::BlockedPage(banner) => span.fail_with_code(banner.code),
                _ => {}
            }
        }
        Err(RunStepError::Hub(code)) => span.fail_with_code(*code),
        Err(RunStepError::Stale) => span.set_outcome("stale"),
        Err(RunStepError::Gone) => span.set_outcome("gone"),
    }
}

/// Advances a login by one request, to the answer for the browser.
async fn advance_login(
    services: &LoginServices,
    current: CachedLogin,
    loaded_from: LoadedFrom,
    browser: &BrowserStep,
) -> Result<(CachedLogin, LoginAnswer), RunStepError> {
    let CachedLogin { mut login, version, expires_at, shows_consent_next } = current;
    let sp = login.context.request.client_id.clone();
    services.core.ensure_client_known(sp.as_str()).await.map_err(RunStepError::Hub)?;
    let connectors = &services.connectors;
    let gate = |connector: &_, at| connectors.check_access(&sp, connector, at);
    let connector_for_login_hint = |request: &_| connectors.connector_for_login_hint(request);
    let forwarded_params = param_selector(services);
    let check_registration =
        |request: &_| services.core.federation.load().check_registration(request);
    let (consent, client_type) = consent_requirement(services, &sp);
    let callback_base = services.core.callback_base();
    let inputs = || StepInputs {
        now: services.core.env.now(),
        entropy: services.core.env.entropy(),
        gate: &gate,
        check_registration: &check_registration,
        connector_for_login_hint: &connector_for_login_hint,
        forwarded_params: &forwarded_params,
        consent,
        client_type,
        callback_base: &callback_base,
        session: browser.session.as_ref(),
        hub_count: hub_count(services),
        mail_code_key: &services.mail_code_key,
    };
    let timer = StepTimer::start(&mut login, services.core.env.now());
    let request = add_reusable_user(services, &login, browser).await;
    let mut running = RunningStep {
        services,
        browser,
        timer,
        audit: StepAudit::new(services, &login, &request),
        state_before: login.state.name(),
        position: LoginPosition::from_login(&login),
        chosen: login.state.connector().cloned(),
        version,
        expires_at,
    };
    let mut step = login::on_request(login, request, &inputs());
    log_issuer_error(&step);
    if loaded_from == LoadedFrom::Cache && may_be_stale(services, &step, shows_consent_next) {
        return Err(RunStepError::Stale);
    }
    loop {
        let Step { mut login, save, output } = step;
        running.record_decision(&mut login, save).await?;
        match output {
            StepOutput::Answer(answer) => return Ok(running.finish(login, answer)),
            StepOutput::Perform(effect) => {
                running.before_effect(&login, &effect);
                let mut detail = None;
                // Boxed, because its size would count for steps without an effect, too.
                let performed = Box::pin(perform_effect(services, &login, *effect, &mut detail));
                let outcome = performed.await;
                running.after_effect(&login, &outcome, detail);
                step = login::on_effect_outcome(login, outcome, &inputs());
            }
        }
    }
}

/// Returns what selects the further parameters of a request that a connector gets, and counts those
/// that its file doesn't permit.
fn param_selector(
    services: &LoginServices,
) -> impl Fn(&ConnectorId, &AuthorizationRequest) -> BTreeMap<String, String> {
    move |id, request| {
        let federation = services.core.federation.load();
        let Some(connector) = federation.connector(id) else { return BTreeMap::new() };
        connector.forwarded_params.select(request, |name, reason| {
            services.core.metrics.record_dropped_param(id, name, reason);
        })
    }
}

fn hub_count(services: &LoginServices) -> HubCount {
    match services.store.scope() {
        StoreScope::Shared => HubCount::Several,
        StoreScope::Process => HubCount::Single,
    }
}

/// Returns whether a step that started from this hub's copy of a login must start again from the
/// stored one.
fn may_be_stale(services: &LoginServices, step: &Step, shows_consent_next: bool) -> bool {
    services.store.scope() == StoreScope::Shared && !is_proven_current(step, shows_consent_next)
}

/// Returns whether a step that started from this hub's copy of a shared login may continue: if its
/// result is saved, because the save checks the version; if it prepares a redirect, which is saved
/// before the browser gets it; or if it shows the consent page to which this hub has just sent the
/// browser, whose form is checked against the version. Any other answer may come from an outdated
/// copy, which must not refuse a login that another hub has advanced.
fn is_proven_current(step: &Step, shows_consent_next: bool) -> bool {
    match (&step.output, step.save) {
        (_, Save::Yes) => true,
        (StepOutput::Perform(effect), Save::No) => matches!(**effect, Effect::BeginLogin(..)),
        (StepOutput::Answer(LoginAnswer::ConsentPage(_)), Save::No) => shows_consent_next,
        (StepOutput::Answer(_), Save::No) => false,
    }
}

/// Returns what the user must confirm for the service provider, and the type of its client.
fn consent_requirement(
    services: &LoginServices,
    client_id: &ClientId,
) -> (ConsentRequirement, ClientType) {
    let federation = services.core.federation.load();
    let registration = federation.active_service_provider(client_id).map(|sp| &sp.registration);
    registration.map_or_else(Default::default, |registration| {
        (registration.consent, registration.client_type)
    })
}

/// Returns the browser's request, with the user of its session where the login may reuse it. The
/// interaction page is one of the few places where a session is loaded.
async fn add_reusable_user(
    services: &LoginServices,
    login: &Login,
    browser: &BrowserStep,
) -> LoginRequest {
    match browser.request.clone() {
        LoginRequest::OpenPage { .. } => LoginRequest::OpenPage {
            reuse: session_reuse::find_reusable_user(services, login, browser.session.as_ref())
                .await
                .map(|user| user.map(Box::new)),
        },
        other => other,
    }
}

/// A step between its first decision and its answer.
struct RunningStep<'a> {
    services: &'a LoginServices,
    browser: &'a BrowserStep,
    timer: StepTimer,
    audit: StepAudit<'a>,
    state_before: &'static str,
    position: Option<LoginPosition>,
    /// The connector that was chosen last.
    chosen: Option<ConnectorId>,
    version: RecordVersion,
    expires_at: Timestamp,
}

impl RunningStep<'_> {
    /// Records what the state machine decided, and stores the login if it changed.
    async fn record_decision(&mut self, login: &mut Login, save: Save) -> Result<(), RunStepError> {
        self.timer.record(login);
        self.chosen = login.state.connector().cloned().or(self.chosen.take());
        if save == Save::No {
            return Ok(());
        }
        (self.version, self.expires_at) = save_login(self.services, login, self.version).await?;
        // An expired login stays in its position.
        if !login.has_expired() {
            let position = LoginPosition::from_login(login);
            self.services.live_logins.record_move(
                login.context.expires_at,
                self.position.as_ref(),
                position.clone(),
            );
            self.position = position;
        }
        Ok(())
    }

    /// Records an effect that is about to be performed.
    fn before_effect(&mut self, login: &Login, effect: &Effect) {
        if effect.calls_idp() {
            self.browser.permit.release_slot();
        }
        if matches!(effect, Effect::Identify(_)) {
            self.services.unauthenticated.remove(&login.context.hash);
        }
        self.audit.before_effect(login, effect);
        self.timer.begin_effect(TimeOwner::for_effect(effect));
    }

    /// Records the outcome of an effect.
    fn after_effect(
        &mut self,
        login: &Login,
        outcome: &EffectOutcome,
        error_detail: Option<String>,
    ) {
        self.timer.end_effect();
        self.audit.after_effect(login, outcome, error_detail);
    }

    /// Records the answer. Returns the login to cache.
    fn finish(mut self, mut login: Login, answer: LoginAnswer) -> (CachedLogin, LoginAnswer) {
        self.timer.record(&mut login);
        let (before, chosen) = (self.state_before, self.chosen.as_ref());
        record_outcome(self.services, before, &login, chosen, &answer);
        log_answer(before, &login, &answer);
        self.audit.record_step_end(&login, &answer);
        let shows_consent_next = matches!(answer, LoginAnswer::RedirectToConsent);
        let (version, expires_at) = (self.version, self.expires_at);
        (CachedLogin { login, version, expires_at, shows_consent_next }, answer)
    }
}

/// Performs an effect. A panic or a dropped future here fails this step, and not the login.
/// `error_detail` receives the operator's explanation of a failed call.
async fn perform_effect(
    services: &LoginServices,
    login: &Login,
    effect: Effect,
    error_detail: &mut Option<String>,
) -> EffectOutcome {
    let support_id = &login.context.support_id;
    let mut log_error = |connector: &ConnectorId, error: ConnectorError| {
        log_connector_error(support_id.as_str(), connector, &error);
        *error_detail = displayed_detail(&error);
        error.code
    };
    match effect {
        Effect::BeginLogin(connector, request) => {
            EffectOutcome::RedirectPrepared(match count_redirect(services, &connector) {
                Ok(handle) => {
                    handle.begin_login(request).await.map_err(|error| log_error(&connector, error))
                }
                Err(code) => Err(code),
            })
        }
        Effect::CompleteLogin(attempt, params, network) => {
            let connector = attempt.connector.clone();
            EffectOutcome::Authenticated(match services.connectors.handle(&connector) {
                Ok(handle) => handle
                    .complete_login(attempt, params, network)
                    .await
                    .map(Box::new)
                    .map_err(|error| log_error(&connector, error)),
                Err(code) => Err(code),
            })
        }
        Effect::Identify(authentication) => EffectOutcome::Identified(
            identify::identify_user(services, login, *authentication).await.map(Box::new),
        ),
        Effect::Mail(mail) => {
            EffectOutcome::Mail(mail_step::perform_mail_effect(services, login, *mail).await)
        }
        Effect::IssueCode(grant) => EffectOutcome::CodeIssued(services.codes.issue(&grant).await),
        Effect::CheckCode(code) => {
            let is_live = services.codes.is_live(code.reveal()).await;
            // The process that stored the code may have died before it ended the former session.
            if let (Ok(true), Some(former)) = (&is_live, login.replaced_session()) {
                services.sessions.remove(former).await;
            }
            EffectOutcome::CodeChecked(is_live)
        }
    }
}

/// Counts a redirect against the limit of the identity provider, and returns the connector's
/// handle.
///
/// # Errors
/// `IdpUnknown`, or `IdpLimited` if the identity provider gets no more users this minute.
fn count_redirect(
    services: &LoginServices,
    connector: &ConnectorId,
) -> Result<ConnectorHandle, ErrorCode> {
    let handle = services.connectors.handle(connector)?;
    let own_rate = services
        .core
        .federation
        .load()
        .connector(connector)
        .and_then(|metadata| metadata.redirects_per_minute);
    services
        .core
        .rate_limits
        .check_redirect(connector, own_rate)
        .map_err(|_| ErrorCode::IdpLimited)?;
    Ok(handle)
}
