//! The handle to a connector's actor.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::ConnectorActor;
use super::call_gate::{CALL_TIMEOUT, ConnectorCallLimits, ProbeReport};
use super::messages::{
    BeginLogin, CompleteLogin, ConnectorMessage, EndSession, RunProbe, SignIn, TracedMessage,
};
use crate::health::Health;
use passerelle_connector::ConnectorError;
use passerelle_connector::hub_page::{PasswordCredentials, PasswordOutcome};
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
use passerelle_telemetry::trace;

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
        self.send(BeginLogin(request)).await
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
    pub(crate) async fn probe(&self) -> ProbeReport {
        self.address.send(RunProbe).await.unwrap_or_default()
    }

    /// Sends a message, and waits for its outcome.
    pub(super) async fn send<M, T>(&self, message: M) -> Result<T, ConnectorError>
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
