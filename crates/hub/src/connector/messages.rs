//! Defines the messages of a connector's actor, and the connector call that each makes.

use std::future::Future;
use std::sync::Arc;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::call_gate::{CallGate, ProbeReport};
use crate::health::CallKind;
use passerelle_connector::ConnectorError;
use passerelle_connector::hub_page::{PasswordCredentials, PasswordOutcome};
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_telemetry::trace::TraceScope;

/// A message that calls the connector.
pub(super) trait ConnectorMessage: Message + 'static {
    /// Makes the call.
    fn run(self, gate: Arc<CallGate>) -> impl Future<Output = Self::Result> + 'static;
}

/// A message with the time when it was sent and the trace scope of its call.
pub(super) struct TracedMessage<M> {
    pub message: M,
    pub sent_at: Instant,
    pub scope: TraceScope,
}

impl<M: Message> Message for TracedMessage<M>
where
    M::Result: 'static,
{
    type Result = M::Result;
}

/// Calls [`Connector::begin_login`](passerelle_connector::Connector::begin_login).
#[derive(Message)]
#[rtype(result = "Result<AuthorizationRedirect, ConnectorError>")]
pub(super) struct BeginLogin(pub UpstreamAuthorizationRequest);

/// Calls [`Connector::complete_login`](passerelle_connector::Connector::complete_login).
#[derive(Message)]
#[rtype(result = "Result<Authentication, ConnectorError>")]
pub(super) struct CompleteLogin(pub Box<LoginAttempt>, pub CallbackParams, pub ClientNetwork);

/// Checks a password.
#[derive(Message)]
#[rtype(result = "Result<PasswordOutcome, ConnectorError>")]
pub(super) struct SignIn(pub PasswordCredentials);

/// Calls [`Connector::end_session`](passerelle_connector::Connector::end_session).
#[derive(Message)]
#[rtype(result = "Result<Option<Url>, ConnectorError>")]
pub(super) struct EndSession(pub EndSessionRequest);

/// Calls [`Connector::preload`](passerelle_connector::Connector::preload).
#[derive(Message)]
#[rtype(result = "Result<(), ConnectorError>")]
pub(super) struct Preload;

/// A probe, outside of any login's span and limits.
#[derive(Message)]
#[rtype(result = "ProbeReport")]
pub(super) struct RunProbe;

impl ConnectorMessage for BeginLogin {
    async fn run(self, gate: Arc<CallGate>) -> Self::Result {
        let BeginLogin(request) = self;
        gate.call_in_span(CallKind::BeginLogin, None, gate.connector.begin_login(request)).await
    }
}

impl ConnectorMessage for CompleteLogin {
    async fn run(self, gate: Arc<CallGate>) -> Self::Result {
        let CompleteLogin(attempt, params, network) = self;
        let work = gate.connector.complete_login(*attempt, params);
        gate.call_in_span(CallKind::CompleteLogin, Some(network), work).await
    }
}

impl ConnectorMessage for SignIn {
    async fn run(self, gate: Arc<CallGate>) -> Self::Result {
        let SignIn(credentials) = self;
        gate.call_in_span(CallKind::SignIn, Some(credentials.network), async {
            match gate.connector.password_page() {
                Some(page) => page.sign_in(credentials).await,
                None => Err(ConnectorError::new(
                    ErrorCode::Internal,
                    "this connector has no password page",
                )),
            }
        })
        .await
    }
}

impl ConnectorMessage for EndSession {
    async fn run(self, gate: Arc<CallGate>) -> Self::Result {
        let EndSession(request) = self;
        gate.call_in_span(CallKind::EndSession, None, gate.connector.end_session(request)).await
    }
}

impl ConnectorMessage for Preload {
    async fn run(self, gate: Arc<CallGate>) -> Self::Result {
        gate.call_in_span(CallKind::Preload, None, async {
            let outcome = gate.connector.preload().await;
            if let Err(error) = &outcome {
                tracing::warn!(connector = %gate.id, %error, "preloading the identity provider's metadata failed; retried at the next login");
            }
            outcome
        })
        .await
    }
}
