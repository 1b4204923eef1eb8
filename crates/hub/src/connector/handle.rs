//! The handle to a connector's actor.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::call_gate::{CALL_TIMEOUT, ConnectorCallLimits, ProbeReport};
use super::{ACTOR, ConnectorActor};
use crate::health::{CallKind, Health};
use passerelle_connector::hub_page::{PasswordCredentials, PasswordOutcome};
use passerelle_connector::{Connector, ConnectorError};
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::Metrics;
use passerelle_telemetry::trace::{self, TraceScope};

/// Returns the longest wait for the actor: the queue, the call, and a margin for its mailbox.
pub(super) fn response_timeout(limits: ConnectorCallLimits) -> Duration {
    limits.wait + CALL_TIMEOUT + Duration::from_millis(500)
}

impl ConnectorActor {
    /// Starts the actor with `start`, and returns its handle.
    pub fn start_with(self, start: impl FnOnce(Self) -> Addr<Self>) -> ConnectorHandle {
        let (health, env) = (Arc::clone(&self.gate.health), self.gate.deps.env.clone());
        let response_timeout = response_timeout(self.gate.limits);
        ConnectorHandle { address: start(self), health, env, response_timeout }
    }
}

/// Handle to a connector's actor. Cheap to clone.
#[derive(Clone)]
pub struct ConnectorHandle {
    pub(super) address: Addr<ConnectorActor>,
    health: Arc<Health>,
    env: Env,
    response_timeout: Duration,
}

impl ConnectorHandle {
    /// Returns whether the actor runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.address.connected()
    }

    /// Returns the health, without a message to the actor.
    #[must_use]
    pub const fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Returns the state of the circuit.
    #[must_use]
    pub fn circuit_state(&self) -> CircuitState {
        self.health.circuit_state(self.env.now())
    }

    /// Sets the gauges of this connector.
    pub(crate) fn publish_metrics(&self, id: &ConnectorId, metrics: &Metrics) {
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
    /// The connector's error; `IdpBusy` beyond its limits; `IdpCircuitOpen` while its circuit is
    /// open; `IdpTimeout` if its actor does not answer in time; `Internal` if its actor has died.
    pub async fn begin_login(
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
    pub async fn complete_login(
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
    pub async fn sign_in(
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
    pub async fn end_session(
        &self,
        request: EndSessionRequest,
    ) -> Result<Option<Url>, ConnectorError> {
        let end = |idp: Arc<dyn Connector>| async move { idp.end_session(request).await };
        self.send(ConnectorCall::new(CallKind::EndSession, end)).await
    }

    /// Probes, and records the outcome. Returns the default if the actor has died.
    pub(crate) async fn probe(&self) -> ProbeReport {
        self.address.send(RunProbe).await.unwrap_or_default()
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

    fn handle(&mut self, call: ConnectorCall<W>, _: &mut Self::Context) -> Self::Result {
        let ConnectorCall { kind, network, work, sent_at, scope } = call;
        self.gate.deps.metrics.record_mailbox_delay(ACTOR, sent_at.elapsed());
        let gate = Arc::clone(&self.gate);
        let work = work(Arc::clone(&gate.connector));
        Box::pin(scope.run(async move { gate.call(kind, network, work).await }))
    }
}

/// Fetches the connector's metadata.
pub(super) async fn preload(idp: Arc<dyn Connector>) -> Result<(), ConnectorError> {
    idp.preload().await
}

/// A probe, outside of any login's span and limits.
#[derive(Message)]
#[rtype(result = "ProbeReport")]
pub(super) struct RunProbe;

fn actor_died() -> ConnectorError {
    ConnectorError::new(ErrorCode::Internal, "the connector's actor died and is being replaced")
}
