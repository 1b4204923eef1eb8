//! Runs one step of a login: load, decide, store, perform, decide, store, answer.

mod timer;

use std::sync::Arc;
use std::time::Duration;

use self::timer::{StepTimer, TimeOwner};
use super::connector::ConnectorHandle;
use super::identify;
use super::live_login_counter::LoginPosition;
use super::login_services::LoginServices;
use super::login_summary::{LoginSummary, Reply, StepError};
use super::session_reuse;
use super::step_admission::StepPermit;
use super::step_audit::StepAudit;
use super::unauthenticated_logins::unseen_expiry;
use crate::connector::ConnectorError;
use crate::env::Timestamp;
use crate::grant::{Gate as _, store_error_code};
use crate::ids::{ClientId, ConnectorId, InteractionHash, Secret};
use crate::login::state_name::FAILED;
use crate::login::{
    self, ConsentPolicy, Effect, EffectOutcome, Login, LoginAnswer, LoginRequest, Nodes, Save,
    Step, StepInputs, StepOutput,
};
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::ConsentRequirement;
use crate::store::{
    LoadedRecord, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, StoreScope,
};
use crate::telemetry::trace::{self, Span, TraceScope};
use crate::telemetry::{LoginOutcome, at_level};

/// How long the record outlives the login, so that a repeated request can still be answered.
pub(super) const RECORD_RETENTION: Duration = Duration::from_secs(60);

/// Most attempts at a step that loses races against other nodes.
const MAX_STEP_ATTEMPTS: usize = 4;

/// Poll interval while another node processes the callback.
const CALLBACK_POLL_INTERVAL: Duration = Duration::from_millis(100);
const MAX_CALLBACK_POLLS: usize = 80;

/// A request of the browser, and the session cookie that came with it.
#[derive(Clone, Debug)]
pub(super) struct BrowserStep {
    pub request: LoginRequest,
    pub session: Option<Secret<String>>,
    pub permit: Arc<StepPermit>,
    /// Trace scope of the HTTP request.
    pub scope: TraceScope,
}

/// A login as last stored.
pub(super) struct CachedLogin {
    login: Login,
    version: RecordVersion,
    /// When the record expires; the cache must not outlive it.
    expires_at: Timestamp,
}

/// Returns the key of a login's record.
pub(super) fn login_key(hash: &InteractionHash) -> RecordKey {
    RecordKey { kind: RecordKind::Login, name: Arc::from(hash.as_str()) }
}

/// Runs one step. Returns the login to cache for the next one.
pub(super) async fn run_browser_step(
    services: &LoginServices,
    hash: &InteractionHash,
    mut cached: Option<CachedLogin>,
    step: BrowserStep,
) -> (Option<CachedLogin>, Result<Reply, StepError>) {
    for _ in 0..MAX_STEP_ATTEMPTS {
        let (current, loaded_from) = match cached
            .take()
            .filter(|cached| services.env.now() < cached.expires_at)
        {
            Some(current) if may_use_cache(services, &step.request) => (current, LoadedFrom::Cache),
            Some(_) | None => match load_after_verification(services, hash, &step).await {
                Ok(Some(current)) => (current, LoadedFrom::Store),
                Ok(None) => return (None, Err(StepError::Unknown)),
                Err(code) => return (None, Err(StepError::Hub(code))),
            },
        };
        match attempt_step(services, current, loaded_from, &step).await {
            Ok((current, answer)) => {
                let summary = LoginSummary::from_login(&current.login);
                return (Some(current), Ok(Reply { answer, summary }));
            }
            Err(AttemptError::Stale) => {}
            Err(AttemptError::Gone) => return (None, Err(StepError::Unknown)),
            Err(AttemptError::Hub(code)) => return (None, Err(StepError::Hub(code))),
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
/// where other nodes may have changed the login, it is loaded.
fn may_use_cache(services: &LoginServices, request: &LoginRequest) -> bool {
    services.store.scope() == StoreScope::Process
        || !matches!(request, LoginRequest::OpenPage { .. })
}

/// Error of one attempt at a step.
enum AttemptError {
    /// Another node has changed the login, or may have.
    Stale,
    Gone,
    Hub(ErrorCode),
}

async fn attempt_step(
    services: &LoginServices,
    current: CachedLogin,
    loaded_from: LoadedFrom,
    browser: &BrowserStep,
) -> Result<(CachedLogin, LoginAnswer), AttemptError> {
    let context = &current.login.context;
    trace::attach_login(&context.support_id, context.trace.as_ref());
    let mut span = trace::start_span("login step");
    span.set_client(&context.request.client_id);
    let result = span.run(Box::pin(run_step(services, current, loaded_from, browser))).await;
    record_span(&mut span, &result);
    result
}

/// Records the result of a step in its span.
fn record_span(span: &mut Span, result: &Result<(CachedLogin, LoginAnswer), AttemptError>) {
    match result {
        Ok((cached, answer)) => {
            span.set_login_state(cached.login.state.name());
            match answer {
                LoginAnswer::ErrorPage(problem) => span.fail_with_code(problem.code),
                LoginAnswer::BlockedPage(banner) => span.fail_with_code(banner.code),
                _ => {}
            }
        }
        Err(AttemptError::Hub(code)) => span.fail_with_code(*code),
        Err(AttemptError::Stale) => span.set_outcome("stale"),
        Err(AttemptError::Gone) => span.set_outcome("gone"),
    }
}

async fn run_step(
    services: &LoginServices,
    current: CachedLogin,
    loaded_from: LoadedFrom,
    browser: &BrowserStep,
) -> Result<(CachedLogin, LoginAnswer), AttemptError> {
    let CachedLogin { mut login, version, expires_at } = current;
    let sp = login.context.request.client_id.clone();
    let gate = |connector: &_, at| services.connectors.check_access(&sp, connector, at);
    let check_registration =
        |request: &AuthorizationRequest| services.federation.load().check_registration(request);
    let consent = consent_policy(services, &sp);
    let inputs = || StepInputs {
        now: services.env.now(),
        entropy: services.env.entropy(),
        gate: &gate,
        check_registration: &check_registration,
        consent,
        callback_base: &services.callback_base,
        session: browser.session.as_ref(),
        nodes: if services.store.scope() == StoreScope::Shared { Nodes::Many } else { Nodes::One },
    };
    let timer = StepTimer::start(&mut login, services.env.now());
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
    // A stored result proves by its version that it started from the current state. An unsaved
    // answer proves nothing: this node's outdated copy must not refuse a login that another node
    // has advanced.
    if step.save == Save::No
        && loaded_from == LoadedFrom::Cache
        && services.store.scope() == StoreScope::Shared
    {
        return Err(AttemptError::Stale);
    }
    loop {
        let Step { mut login, save, output } = step;
        running.record_decision(&mut login, save).await?;
        match output {
            StepOutput::Answer(answer) => return Ok(running.finish(login, answer)),
            StepOutput::Perform(effect) => {
                let outcome = running.perform(&login, *effect).await;
                step = login::on_effect_outcome(login, outcome, &inputs());
            }
        }
    }
}

/// Returns when the service provider wants the consent page.
fn consent_policy(services: &LoginServices, client_id: &ClientId) -> ConsentPolicy {
    let federation = services.federation.load();
    match federation.active_service_provider(client_id).map(|sp| sp.registration.consent) {
        Some(ConsentRequirement::Required) => ConsentPolicy::Required,
        Some(ConsentRequirement::None) => ConsentPolicy::None,
        Some(ConsentRequirement::Information) | None => ConsentPolicy::Information,
    }
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
                .map(Box::new),
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
    async fn record_decision(&mut self, login: &mut Login, save: Save) -> Result<(), AttemptError> {
        self.timer.record(login);
        self.chosen = login.state.connector().cloned().or(self.chosen.take());
        if save == Save::No {
            return Ok(());
        }
        (self.version, self.expires_at) = save_login(self.services, login, self.version).await?;
        if !LoginPosition::is_expired(login) {
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

    /// Performs an effect and records it.
    async fn perform(&mut self, login: &Login, effect: Effect) -> EffectOutcome {
        if effect.calls_idp() {
            self.browser.permit.release_slot();
        }
        if matches!(effect, Effect::Identify(_)) {
            self.services.unauthenticated.remove(&login.context.hash);
        }
        self.audit.before_effect(login, &effect);
        let owner = TimeOwner::for_effect(&effect);
        let mut error_detail = None;
        let performed = perform_effect(self.services, login, effect, &mut error_detail);
        let outcome = self.timer.measure(owner, performed).await;
        self.audit.after_effect(&outcome, error_detail);
        outcome
    }

    /// Records the answer. Returns the login to cache.
    fn finish(mut self, mut login: Login, answer: LoginAnswer) -> (CachedLogin, LoginAnswer) {
        self.timer.record(&mut login);
        let (before, chosen) = (self.state_before, self.chosen.as_ref());
        record_outcome(self.services, before, &login, chosen, &answer);
        log_answer(before, &login, &answer);
        self.audit.record_step_end(&login, &answer);
        (CachedLogin { login, version: self.version, expires_at: self.expires_at }, answer)
    }
}

/// Performs an effect. A panic or a lost future here costs this step, never the login.
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
            EffectOutcome::RedirectPrepared(match handle_for_redirect(services, &connector) {
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
                    .complete_login(*attempt, params, network)
                    .await
                    .map(Box::new)
                    .map_err(|error| log_error(&connector, error)),
                Err(code) => Err(code),
            })
        }
        Effect::Identify(authentication) => EffectOutcome::Identified(
            identify::identify_user(services, login, *authentication).await.map(Box::new),
        ),
        Effect::Grant(grant) => EffectOutcome::Granted(services.grants.issue_code(*grant).await),
        Effect::CheckCode(code) => {
            let is_live = services.grants.is_code_live(code.reveal()).await;
            // The process that stored the code may have died before it ended the former session.
            if let (Ok(true), Some(former)) = (&is_live, login.replaced_session()) {
                services.grants.remove_session(former).await;
            }
            EffectOutcome::CodeChecked(is_live)
        }
    }
}

/// Returns the handle of a connector whose identity provider may get one more user this minute.
fn handle_for_redirect(
    services: &LoginServices,
    connector: &ConnectorId,
) -> Result<ConnectorHandle, ErrorCode> {
    let handle = services.connectors.handle(connector)?;
    let own_rate = services
        .federation
        .load()
        .connector(connector)
        .and_then(|facts| facts.redirects_per_minute);
    services.rate_limits.check_redirect(connector, own_rate).map_err(|_| ErrorCode::IdpLimited)?;
    Ok(handle)
}

/// Logs an error with the support id that the user sees on the page.
fn log_connector_error(support_id: &str, connector: &ConnectorId, error: &ConnectorError) {
    at_level!(error.code, support_id, %connector, detail = error.detail, "call to the identity provider failed");
}

/// Returns the explanation that the operator console shows. An error from the callback's query is
/// left out, because its `error_description` may hold any text, such as personal data. The log has
/// it.
fn displayed_detail(error: &ConnectorError) -> Option<String> {
    let repeats_the_query = matches!(error.code, ErrorCode::IdpDenied | ErrorCode::IdpError);
    (!repeats_the_query).then(|| error.detail.clone())
}

/// Counts the transition, and the outcome if the login has one now.
fn record_outcome(
    services: &LoginServices,
    before: &'static str,
    login: &Login,
    chosen: Option<&ConnectorId>,
    answer: &LoginAnswer,
) {
    let (metrics, sp) = (&services.metrics, &login.context.request.client_id);
    let after = login.state.name();
    if before == after {
        return;
    }
    metrics.record_login_transition(after);
    match (login.outcome(), answer) {
        // The failure was counted before; now the service provider gets the error.
        _ if before == FAILED => {}
        (Some(Ok(())), _) => {
            metrics.record_login_end(LoginOutcome::Granted, sp, chosen, 1);
            metrics.record_granted_login(
                &timer::time_parts(&login.context.time_spent),
                services.env.now(),
            );
        }
        (Some(Err(code)), _) => {
            metrics.record_login_end(LoginOutcome::Refused(code), sp, chosen, 1)
        }
        // Counted as abandoned once its second is past.
        (None, _) if LoginPosition::is_expired(login) => {}
        (None, LoginAnswer::ErrorPage(problem)) if after == FAILED => {
            metrics.record_login_end(LoginOutcome::Failed(problem.code), sp, chosen, 1);
        }
        (None, _) => {}
    }
}

/// Logs what the answer says about the login.
fn log_answer(before: &'static str, login: &Login, answer: &LoginAnswer) {
    let after = login.state.name();
    let support_id = login.context.support_id.as_str();
    match answer {
        LoginAnswer::ErrorPage(problem) => {
            at_level!(problem.code, support_id, state = after, "login step refused");
        }
        LoginAnswer::BlockedPage(banner) => {
            let connector = banner.connector.as_ref().map(tracing::field::display);
            at_level!(
                banner.code,
                support_id,
                connector,
                state = before,
                "login stopped by a block"
            );
        }
        LoginAnswer::ServiceProvider { .. } if before != after => {
            let client_id = &login.context.request.client_id;
            match login.outcome().and_then(Result::err) {
                None => {
                    tracing::info!(support_id, %client_id, outcome = "granted", "login completed")
                }
                Some(code) => {
                    at_level!(code, support_id, %client_id, outcome = "refused", "login completed")
                }
            }
        }
        LoginAnswer::ServiceProvider { .. }
        | LoginAnswer::ChoicePage { .. }
        | LoginAnswer::RedirectToIdp { .. }
        | LoginAnswer::RedirectToConsent
        | LoginAnswer::ConsentPage(_) => {}
    }
}

/// Loads the login. While another node verifies the callback, it waits: a browser that repeats the
/// callback or reloads the page gets the outcome.
async fn load_after_verification(
    services: &LoginServices,
    hash: &InteractionHash,
    step: &BrowserStep,
) -> Result<Option<CachedLogin>, ErrorCode> {
    let mut found = load(services, hash).await?;
    if services.store.scope() == StoreScope::Process {
        return Ok(found);
    }
    for _ in 0..MAX_CALLBACK_POLLS {
        if !found.as_ref().is_some_and(|cached| cached.login.is_being_verified(services.env.now()))
        {
            break;
        }
        step.permit.release_slot();
        tokio::time::sleep(CALLBACK_POLL_INTERVAL).await;
        found = load(services, hash).await?;
    }
    Ok(found)
}

async fn load(
    services: &LoginServices,
    hash: &InteractionHash,
) -> Result<Option<CachedLogin>, ErrorCode> {
    let found = services
        .store
        .load_and_extend(&login_key(hash), services.env.now())
        .await
        .map_err(|error| store_error_code(&error))?;
    let Some(LoadedRecord { record, was_unread: is_first }) = found else {
        return Ok(None);
    };
    let login: Login = serde_json::from_slice(&record.value).map_err(|_| ErrorCode::Internal)?;
    services.unauthenticated.update(hash, record.version, record.expires_at);
    if is_first {
        let ends = (unseen_expiry(&login.context), login.context.expires_at);
        services.live_logins.move_expiry(ends, LoginPosition::from_login(&login));
    }
    Ok(Some(CachedLogin { login, version: record.version, expires_at: record.expires_at }))
}

/// Stores the login. Returns the record's new version and expiry.
async fn save_login(
    services: &LoginServices,
    login: &Login,
    version: RecordVersion,
) -> Result<(RecordVersion, Timestamp), AttemptError> {
    let value = serde_json::to_vec(login).map_err(|_| AttemptError::Hub(ErrorCode::Internal))?;
    let now = services.env.now();
    let until = stored_until(login, now);
    match services.store.replace(&login_key(&login.context.hash), version, value, until, now).await
    {
        Ok(ReplaceOutcome::Replaced(version)) => {
            services.unauthenticated.update(&login.context.hash, version, until);
            Ok((version, until))
        }
        Ok(ReplaceOutcome::Stale) => Err(AttemptError::Stale),
        Ok(ReplaceOutcome::Gone) => Err(AttemptError::Gone),
        Err(error) => Err(AttemptError::Hub(store_error_code(&error))),
    }
}

/// Returns how long the record is kept: a minute after completion, or after the login's expiry.
pub(super) fn stored_until(login: &Login, now: Timestamp) -> Timestamp {
    let end = if login.is_completed() { now } else { login.context.expires_at };
    end + RECORD_RETENTION
}
