//! Runs one actor per identity provider. It owns the connector and limits its concurrent calls, so
//! that a slow or broken identity provider harms no other (docs/design/actors-and-shutdown.md).

mod call_labels;
mod messages;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

use self::call_labels::{call_label, span_name};
use self::messages::{
    BeginLogin, CompleteLogin, ConnectorMessage, EndSession, Preload, RunProbe, SignIn,
    TracedMessage,
};
use super::health::{
    Attribution, Availability, CallKind, CircuitTransition, Health, ProbeOutcome, attribute_outcome,
};
use super::live_actor::LiveActor;
use crate::client_network::ClientNetwork;
use crate::connector::hub_page::{PasswordCredentials, PasswordOutcome};
use crate::connector::{Connector, ConnectorError};
use crate::egress::circuit_breaker::CircuitState;
use crate::env::Env;
use crate::ids::ConnectorId;
use crate::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace::{self, TracePeer, TraceScope};
use crate::telemetry::{CallOutcome, Metrics};

/// Name of the actor in metrics.
const ACTOR: &str = "connector";

/// Longest time of one call: token, keys and userinfo, six seconds each.
const CALL_TIMEOUT: Duration = Duration::from_secs(18);

/// Longest time of one probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(6);

/// Wait after a 429 without `Retry-After`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Returns the longest wait for the actor: the queue, the call, and a margin for its mailbox.
fn response_timeout(limits: ConnectorCallLimits) -> Duration {
    limits.wait + CALL_TIMEOUT + Duration::from_millis(500)
}

/// Limits on the concurrent calls to one identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectorCallLimits {
    pub calls: usize,
    /// Calls that wait for another to end.
    pub queue: usize,
    /// Longest wait of a queued call.
    pub wait: Duration,
}

/// A call of the hub's own.
#[derive(Clone, Debug)]
pub(super) enum Probe {
    Documents,
    Login { redirect_uri: String },
}

/// What the schedule needs to know of a probe; the connector's health has its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ProbeReport {
    /// How long the identity provider asks the hub to wait.
    pub retry_after: Option<Duration>,
}

/// Dependencies of all connector actors.
#[derive(Clone)]
pub struct ConnectorActorDeps {
    pub env: Env,
    pub metrics: Arc<Metrics>,
}

/// Actor of one connector.
pub struct ConnectorActor {
    gate: Arc<CallGate>,
    /// Set while the actor runs.
    live: Option<LiveActor>,
}

/// Admits, makes and evaluates the calls to one identity provider.
struct CallGate {
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    limits: ConnectorCallLimits,
    calls: Arc<Semaphore>,
    /// Slots for running and queued calls.
    slots: Arc<Semaphore>,
    health: Arc<Health>,
    deps: ConnectorActorDeps,
}

impl ConnectorActor {
    /// Creates the actor.
    pub fn new(
        id: ConnectorId,
        connector: Arc<dyn Connector>,
        limits: ConnectorCallLimits,
        health: Arc<Health>,
        deps: ConnectorActorDeps,
    ) -> Self {
        let calls = Arc::new(Semaphore::new(limits.calls));
        let slots = Arc::new(Semaphore::new(limits.calls.saturating_add(limits.queue)));
        Self {
            gate: Arc::new(CallGate { id, connector, limits, calls, slots, health, deps }),
            live: None,
        }
    }

    /// Starts the actor with `start`, and returns its handle.
    pub fn start_with(self, start: impl FnOnce(Self) -> Addr<Self>) -> ConnectorHandle {
        let (health, env) = (Arc::clone(&self.gate.health), self.gate.deps.env.clone());
        let response_timeout = response_timeout(self.gate.limits);
        ConnectorHandle { address: start(self), health, env, response_timeout }
    }

    /// Runs one call outside the mailbox, so that calls of other logins start meanwhile.
    fn run_call<T, F>(
        &self,
        call: CallKind,
        network: Option<ClientNetwork>,
        scope: TraceScope,
        work: impl FnOnce(Arc<CallGate>) -> F + 'static,
    ) -> ResponseActFuture<Self, Result<T, ConnectorError>>
    where
        T: 'static,
        F: Future<Output = Result<T, ConnectorError>> + 'static,
    {
        let gate = Arc::clone(&self.gate);
        Box::pin(scope.run(gate.call_in_span(call, network, work)).into_actor(self))
    }
}

impl CallGate {
    async fn call_in_span<T, F>(
        self: Arc<Self>,
        call: CallKind,
        network: Option<ClientNetwork>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, ConnectorError>
    where
        F: Future<Output = Result<T, ConnectorError>>,
    {
        let mut span = trace::start_span(span_name(call)).with_peer(TracePeer::IdentityProvider);
        span.set_connector(&self.id);
        let outcome = span.run(self.call(call, network, work)).await;
        if let Err(error) = &outcome {
            span.fail_with_code(error.code);
        }
        outcome
    }

    async fn call<T, F>(
        self: Arc<Self>,
        call: CallKind,
        network: Option<ClientNetwork>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, ConnectorError>
    where
        F: Future<Output = Result<T, ConnectorError>>,
    {
        let env = &self.deps.env;
        if matches!(call, CallKind::BeginLogin | CallKind::CompleteLogin | CallKind::SignIn) {
            // Counted even if it is refused: users want this identity provider.
            self.health.mark_used(env.now());
        }
        // Checked before any wait.
        if self.health.would_refuse(call, env.now()) {
            return Err(self.reject_call(
                call,
                ErrorCode::IdpInTrouble,
                "its circuit is open after several failures",
            ));
        }
        // Calls that no user waits for take no slot from those that a user waits for.
        let _permits = match call {
            CallKind::Preload | CallKind::Probe | CallKind::LoginProbe => None,
            CallKind::BeginLogin
            | CallKind::CompleteLogin
            | CallKind::SignIn
            | CallKind::EndSession => Some(
                self.acquire_permits()
                    .await
                    .map_err(|why| self.reject_call(call, ErrorCode::IdpBusy, why))?,
            ),
        };
        let Some(permit) = self.health.admit(call, env.now()) else {
            return Err(self.reject_call(
                call,
                ErrorCode::IdpInTrouble,
                "its circuit opened while this call waited",
            ));
        };
        let started = Instant::now();
        let outcome =
            tokio::time::timeout(CALL_TIMEOUT, work(Arc::clone(&self))).await.unwrap_or_else(
                |_| Err(ConnectorError::new(ErrorCode::IdpTimeout, "the call took too long")),
            );
        let (result, took) =
            (outcome.as_ref().map(|_| ()).map_err(|error| error.code), started.elapsed());
        self.deps.metrics.record_connector_call(&self.id, call_label(call), result, took);
        self.record_call_outcome(call, result);
        log_transition(&self.id, permit.record(result, network, took, env.now()));
        outcome
    }

    /// Acquires permits for a call: at once, or after a short wait in a short queue.
    async fn acquire_permits(
        &self,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), &'static str> {
        let slot = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| "too many calls are running and queued")?;
        let call = match Arc::clone(&self.calls).try_acquire_owned() {
            Ok(call) => Ok(call),
            Err(_) => match tokio::time::timeout(
                self.limits.wait,
                Arc::clone(&self.calls).acquire_owned(),
            )
            .await
            {
                Ok(Ok(call)) => Ok(call),
                Ok(Err(_)) | Err(_) => Err("no running call ended while this one waited"),
            },
        }?;
        Ok((call, slot))
    }

    /// Probes, outside of all limits: where every other call hangs, the probe still finds out.
    async fn probe(&self, probe: Probe) -> ProbeReport {
        let env = &self.deps.env;
        let started = Instant::now();
        let (call, outcome) = match &probe {
            Probe::Documents => (CallKind::Probe, self.connector.probe()),
            Probe::Login { redirect_uri } => {
                (CallKind::LoginProbe, self.connector.probe_login(redirect_uri))
            }
        };
        let late = || Err(ConnectorError::new(ErrorCode::IdpTimeout, "the probe took too long"));
        let outcome = tokio::time::timeout(PROBE_TIMEOUT, outcome).await.unwrap_or_else(|_| late());
        let took = started.elapsed();
        let result = outcome.as_ref().map(|_| ()).map_err(|error| error.code);
        self.deps.metrics.record_connector_call(&self.id, call_label(call), result, took);
        let retry_after = outcome.as_ref().err().and_then(|error| error.retry_after);
        let probe_outcome = match attribute_outcome(call, result) {
            Attribution::Success => ProbeOutcome::Succeeded,
            Attribution::Failure(code) => ProbeOutcome::Failed(code),
            Attribution::Ignored => ProbeOutcome::Inconclusive,
        };
        let transition = match call {
            CallKind::LoginProbe => self.health.record_login_probe(probe_outcome, took, env.now()),
            _ => self.health.record_document_probe(
                probe_outcome,
                retry_after.is_some(),
                took,
                env.now(),
            ),
        };
        log_transition(&self.id, transition);
        let is_throttled = result == Err(ErrorCode::IdpThrottled);
        ProbeReport { retry_after: retry_after.or(is_throttled.then_some(DEFAULT_RETRY_AFTER)) }
    }

    fn record_call_outcome(&self, call: CallKind, outcome: Result<(), ErrorCode>) {
        let outcome = match (call, attribute_outcome(call, outcome)) {
            // No user waited.
            (CallKind::Preload | CallKind::Probe | CallKind::LoginProbe, _)
            | (_, Attribution::Ignored) => return,
            (_, Attribution::Success) => CallOutcome::Success,
            (_, Attribution::Failure(_)) => CallOutcome::Failure,
        };
        self.deps.metrics.record_call_outcome(&self.id, outcome);
    }

    /// Counts a call that was not made, without a duration.
    fn reject_call(&self, call: CallKind, code: ErrorCode, why: &str) -> ConnectorError {
        self.deps.metrics.record_skipped_connector_call(&self.id, call_label(call), code);
        if !matches!(call, CallKind::Preload | CallKind::Probe | CallKind::LoginProbe) {
            self.deps.metrics.record_call_outcome(&self.id, CallOutcome::Failure);
        }
        ConnectorError::new(code, why)
    }
}

/// Logs a change of the circuit.
pub(super) fn log_transition(connector: &ConnectorId, transition: Option<CircuitTransition>) {
    let Some(CircuitTransition { to, cause, tally, reasons }) = transition else { return };
    match cause {
        Some(cause) => {
            let reasons: Vec<_> = reasons
                .iter()
                .map(|(code, times)| format!("{} {times}", code.entry().code))
                .collect();
            tracing::error!(
                %connector, cause = cause.label(), failures = tally.failures, successes = tally.successes, reasons = reasons.join(", "),
                "circuit opened: the identity provider is not offered until a probe succeeds"
            );
        }
        None => {
            tracing::info!(%connector, circuit = to.label(), "circuit closed or half-open: the identity provider is offered again")
        }
    }
}

impl Actor for ConnectorActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.gate.deps.metrics.init_connector(&self.gate.id);
        self.live = Some(LiveActor::new(&self.gate.deps.metrics, ACTOR));
        // Metadata is fetched before the first login; the hub's start does not wait for it.
        ctx.notify(TracedMessage {
            message: Preload,
            sent_at: Instant::now(),
            scope: TraceScope::default(),
        });
    }
}

/// Handle to a connector's actor. Cheap to clone.
#[derive(Clone)]
pub struct ConnectorHandle {
    address: Addr<ConnectorActor>,
    health: Arc<Health>,
    env: Env,
    response_timeout: Duration,
}

impl ConnectorHandle {
    /// Returns whether the actor runs.
    pub(super) fn is_alive(&self) -> bool {
        self.address.connected()
    }

    /// Returns the health, without a message to the actor.
    #[must_use]
    pub const fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Returns whether it may be chosen now, by its last calls.
    #[must_use]
    pub fn availability(&self) -> Availability {
        self.health.availability(self.env.now())
    }

    /// Sets the gauges of this connector.
    pub(super) fn publish_metrics(&self, id: &ConnectorId, metrics: &Metrics) {
        let view = self.health.view(self.env.now());
        metrics.set_connector_circuit(id, view.circuit.label(), &CircuitState::LABELS);
        metrics.set_connector_failure_ratio(id, view.tally.failure_ratio());
        if let Some(latency) = view.latency {
            for (quantile, within) in
                [("0.5", latency.p50), ("0.95", latency.p95), ("0.99", latency.p99)]
            {
                metrics.set_connector_latency(id, quantile, within);
            }
        }
    }

    /// Prepares the redirect to the identity provider.
    ///
    /// # Errors
    /// The connector's error; `IdpBusy` beyond its limits; `IdpInTrouble` while its circuit is
    /// open; `IdpTimeout` if its actor does not answer in time; `Internal` if its actor has died.
    pub async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        self.send(BeginLogin(request)).await
    }

    /// Completes a login with a callback.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub async fn complete_login(
        &self,
        attempt: LoginAttempt,
        params: CallbackParams,
        network: ClientNetwork,
    ) -> Result<Authentication, ConnectorError> {
        self.send(CompleteLogin(attempt, params, network)).await
    }

    /// Checks a password from the connector's own page.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub async fn sign_in(
        &self,
        credentials: PasswordCredentials,
    ) -> Result<PasswordOutcome, ConnectorError> {
        self.send(SignIn(credentials)).await
    }

    /// Returns the URL that ends the identity provider's session, if it has one.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub async fn end_session(
        &self,
        request: EndSessionRequest,
    ) -> Result<Option<Url>, ConnectorError> {
        self.send(EndSession(request)).await
    }

    /// Probes, and records the outcome. Returns the default if the actor has died.
    pub(super) async fn probe(&self, probe: Probe) -> ProbeReport {
        self.address.send(RunProbe(probe)).await.unwrap_or_default()
    }

    /// Fetches metadata ahead of the first login.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub async fn preload(&self) -> Result<(), ConnectorError> {
        self.send(Preload).await
    }

    async fn send<M, T>(&self, message: M) -> Result<T, ConnectorError>
    where
        M: ConnectorMessage + Message<Result = Result<T, ConnectorError>> + Send + 'static,
        T: Send + 'static,
    {
        match self
            .address
            .send(TracedMessage { message, sent_at: Instant::now(), scope: trace::current_scope() })
            .timeout(self.response_timeout)
            .await
        {
            Ok(outcome) => outcome,
            Err(MailboxError::Timeout) => Err(ConnectorError::new(
                ErrorCode::IdpTimeout,
                "the connector's actor did not answer in time",
            )),
            Err(MailboxError::Closed) => Err(actor_died()),
        }
    }
}

fn actor_died() -> ConnectorError {
    ConnectorError::new(ErrorCode::Internal, "the connector's actor died and is being replaced")
}

#[cfg(test)]
mod tests;
