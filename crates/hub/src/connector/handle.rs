//! The handle to a connector's actor.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::call_gate::{CALL_TIMEOUT, ConnectorCallLimits, ProbeResult};
use super::{ACTOR, ConnectorActor};
use crate::health::{CallKind, EndedCall, Health, HealthSnapshot, PublishedHealth};
use passerelle_connector::hub_page::{PasswordCredentials, PasswordOutcome};
use passerelle_connector::{Connector, ConnectorError};
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::Metrics;
use passerelle_telemetry::trace::{self, TraceScope};

/// Longest wait for a change of the health, so that a hanging actor does not stop the prober.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the longest wait for the actor: the queue, the call, and a margin for its mailbox.
pub(super) fn response_timeout(limits: ConnectorCallLimits) -> Duration {
    limits.wait + CALL_TIMEOUT + Duration::from_millis(500)
}

impl ConnectorActor {
    /// Starts the actor with `start`, and returns its handle.
    pub(crate) fn start_with(self, start: impl FnOnce(Self) -> Addr<Self>) -> ConnectorHandle {
        let (published, env) = (Arc::clone(&self.gate.health), self.gate.deps.env.clone());
        let response_timeout = response_timeout(self.gate.limits);
        ConnectorHandle { address: start(self), published, env, response_timeout }
    }
}

/// Handle to a connector's actor. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectorHandle {
    pub(super) address: Addr<ConnectorActor>,
    published: Arc<PublishedHealth>,
    env: Env,
    response_timeout: Duration,
}

impl ConnectorHandle {
    /// Returns whether the actor runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.address.connected()
    }

    /// Returns the health that the actor published last.
    pub(crate) fn health(&self) -> Arc<HealthSnapshot> {
        self.published.snapshot.load_full()
    }

    /// Returns what is known of the identity provider, which outlives the actor.
    pub(crate) const fn published_health(&self) -> &Arc<PublishedHealth> {
        &self.published
    }

    /// Changes the health. Returns `None` if the actor has died or does not answer in time.
    pub(crate) async fn update_health<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Health) -> T + Send + 'static,
    ) -> Option<T> {
        self.address.send(UpdateHealth(change)).timeout(HEALTH_TIMEOUT).await.ok()
    }

    /// Changes the health later, without waiting.
    pub(crate) fn post_health_update(&self, change: impl FnOnce(&mut Health) + Send + 'static) {
        self.address.do_send(UpdateHealth(change));
    }

    /// Returns the state of the circuit.
    pub(crate) fn circuit_state(&self) -> CircuitState {
        self.health().circuit_state(self.env.now())
    }

    /// Sets the gauges of this connector.
    pub(crate) fn publish_metrics(&self, id: &ConnectorId, metrics: &Metrics) {
        let (health, now) = (self.health(), self.env.now());
        metrics.set_connector_circuit(id, health.circuit_state(now).label(), &CircuitState::LABELS);
        metrics.set_connector_failure_ratio(id, health.window.tally(now).failure_ratio());
        if let Some(latency) = health.window.latency(now) {
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
    /// The connector's error; `IdpBusy` beyond its limits; `IdpCircuitOpen` while its circuit is
    /// open; `IdpTimeout` if its actor does not answer in time; `Internal` if its actor has died.
    pub(crate) async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let begin = |idp: Arc<dyn Connector>| async move { idp.begin_login(request).await };
        self.send(ConnectorCall::new(CallKind::BeginLogin, begin)).await
    }

    /// Completes a login with a callback.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub(crate) async fn complete_login(
        &self,
        attempt: Box<LoginAttempt>,
        params: CallbackParams,
        network: ClientNetwork,
    ) -> Result<Authentication, ConnectorError> {
        let complete =
            |idp: Arc<dyn Connector>| async move { idp.complete_login(*attempt, params).await };
        let call = ConnectorCall::new(CallKind::CompleteLogin, complete);
        self.send(ConnectorCall { network: Some(network), ..call }).await
    }

    /// Checks a password from the connector's own page.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub(crate) async fn sign_in(
        &self,
        credentials: PasswordCredentials,
    ) -> Result<PasswordOutcome, ConnectorError> {
        let network = Some(credentials.network);
        let sign_in = |idp: Arc<dyn Connector>| async move {
            match idp.password_page() {
                Some(page) => page.sign_in(credentials).await,
                None => Err(ConnectorError::new(
                    ErrorCode::Internal,
                    "this connector has no password page",
                )),
            }
        };
        let call = ConnectorCall::new(CallKind::SignIn, sign_in);
        self.send(ConnectorCall { network, ..call }).await
    }

    /// Returns the URL that ends the identity provider's session, if it has one.
    ///
    /// # Errors
    /// As for [`Self::begin_login`].
    pub(crate) async fn end_session(
        &self,
        request: EndSessionRequest,
    ) -> Result<Option<Url>, ConnectorError> {
        let end = |idp: Arc<dyn Connector>| async move { idp.end_session(request).await };
        self.send(ConnectorCall::new(CallKind::EndSession, end)).await
    }

    /// Probes, and records the outcome.
    ///
    /// # Errors
    /// Why it failed; `Internal` if the actor has died.
    pub(crate) async fn probe(&self) -> ProbeResult {
        self.address.send(RunProbe).await.unwrap_or(Err(ErrorCode::Internal))
    }

    /// Sends a message, and waits for its outcome.
    pub(super) async fn send<W, F, T>(&self, call: ConnectorCall<W>) -> Result<T, ConnectorError>
    where
        W: FnOnce(Arc<dyn Connector>) -> F + Send + 'static,
        F: Future<Output = Result<T, ConnectorError>> + 'static,
        T: Send + 'static,
    {
        match self.address.send(call).timeout(self.response_timeout).await {
            Ok(outcome) => outcome,
            Err(MailboxError::Timeout) => Err(ConnectorError::new(
                ErrorCode::IdpTimeout,
                "the connector's actor did not answer in time",
            )),
            Err(MailboxError::Closed) => Err(actor_died()),
        }
    }
}

/// A message that calls the connector.
pub(super) struct ConnectorCall<W> {
    pub kind: CallKind,
    /// The network of the user that waits for it.
    pub network: Option<ClientNetwork>,
    pub work: W,
    pub sent_at: Instant,
    /// The trace scope of the sender.
    pub scope: TraceScope,
}

impl<W> ConnectorCall<W> {
    pub(super) fn new(kind: CallKind, work: W) -> Self {
        let scope = trace::current_scope();
        Self { kind, network: None, work, sent_at: Instant::now(), scope }
    }
}

impl<W, F, T> Message for ConnectorCall<W>
where
    W: FnOnce(Arc<dyn Connector>) -> F,
    F: Future<Output = Result<T, ConnectorError>>,
    T: 'static,
{
    type Result = Result<T, ConnectorError>;
}

/// Makes the call outside the mailbox, so that calls of other logins start meanwhile.
impl<W, F, T> Handler<ConnectorCall<W>> for ConnectorActor
where
    W: FnOnce(Arc<dyn Connector>) -> F + 'static,
    F: Future<Output = Result<T, ConnectorError>> + 'static,
    T: 'static,
{
    type Result = ResponseFuture<Result<T, ConnectorError>>;

    fn handle(&mut self, call: ConnectorCall<W>, ctx: &mut Self::Context) -> Self::Result {
        let ConnectorCall { kind, network, work, sent_at, scope } = call;
        self.gate.deps.metrics.record_mailbox_delay(ACTOR, sent_at.elapsed());
        if matches!(kind, CallKind::BeginLogin | CallKind::CompleteLogin | CallKind::SignIn) {
            // Counted even if it is refused: users want this identity provider.
            let now = self.gate.deps.env.now();
            self.update_health(|health| health.mark_used(now));
        }
        let (gate, actor) = (Arc::clone(&self.gate), ctx.address());
        let work = work(Arc::clone(&gate.connector));
        let record = move |ended: EndedCall, at: Timestamp| {
            actor.do_send(UpdateHealth(move |health: &mut Health| health.record_call(ended, at)));
        };
        Box::pin(scope.run(async move { gate.call(kind, network, work, record).await }))
    }
}

/// Changes the health of the identity provider.
pub(super) struct UpdateHealth<F>(pub F);

impl<F: FnOnce(&mut Health) -> T, T: 'static> Message for UpdateHealth<F> {
    type Result = T;
}

impl<F: FnOnce(&mut Health) -> T, T: 'static> Handler<UpdateHealth<F>> for ConnectorActor {
    type Result = MessageResult<UpdateHealth<F>>;

    fn handle(
        &mut self,
        UpdateHealth(change): UpdateHealth<F>,
        _: &mut Context<Self>,
    ) -> Self::Result {
        MessageResult(self.update_health(change))
    }
}

/// Fetches the connector's metadata.
pub(super) async fn preload(idp: Arc<dyn Connector>) -> Result<(), ConnectorError> {
    idp.preload().await
}

/// A probe, outside of any login's span and limits.
#[derive(Message)]
#[rtype(result = "ProbeResult")]
pub(super) struct RunProbe;

fn actor_died() -> ConnectorError {
    ConnectorError::new(ErrorCode::Internal, "the connector's actor died and is being replaced")
}
