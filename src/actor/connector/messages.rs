//! Defines the messages of a connector's actor, and the connector call that each makes.

use std::sync::Arc;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::{ACTOR, ConnectorActor, Probe, ProbeReport};
use crate::actor::health::CallKind;
use crate::client_network::ClientNetwork;
use crate::connector::ConnectorError;
use crate::connector::hub_page::{PasswordCredentials, PasswordOutcome};
use crate::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace::TraceScope;

/// A message that calls the connector.
pub(super) trait ConnectorMessage: Message {
    /// Makes the call, once the actor has taken the message.
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result>;
}

/// Response to a message.
pub(super) type ActorResponse<T> = ResponseActFuture<ConnectorActor, T>;

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

impl<M: ConnectorMessage> Handler<TracedMessage<M>> for ConnectorActor
where
    M::Result: 'static,
{
    type Result = ActorResponse<M::Result>;
    fn handle(
        &mut self,
        TracedMessage { message, sent_at: at, scope }: TracedMessage<M>,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.gate.deps.metrics.record_mailbox_delay(ACTOR, at.elapsed());
        message.run(self, scope)
    }
}

/// Calls [`Connector::begin_login`](crate::connector::Connector::begin_login).
#[derive(Message)]
#[rtype(result = "Result<AuthorizationRedirect, ConnectorError>")]
pub(super) struct BeginLogin(pub UpstreamAuthorizationRequest);

/// Calls [`Connector::complete_login`](crate::connector::Connector::complete_login).
#[derive(Message)]
#[rtype(result = "Result<Authentication, ConnectorError>")]
pub(super) struct CompleteLogin(pub LoginAttempt, pub CallbackParams, pub ClientNetwork);

/// Checks a password.
#[derive(Message)]
#[rtype(result = "Result<PasswordOutcome, ConnectorError>")]
pub(super) struct SignIn(pub PasswordCredentials);

/// Calls [`Connector::end_session`](crate::connector::Connector::end_session).
#[derive(Message)]
#[rtype(result = "Result<Option<Url>, ConnectorError>")]
pub(super) struct EndSession(pub EndSessionRequest);

/// Calls [`Connector::preload`](crate::connector::Connector::preload).
#[derive(Message)]
#[rtype(result = "Result<(), ConnectorError>")]
pub(super) struct Preload;

/// A probe, outside of any login's span and limits.
#[derive(Message)]
#[rtype(result = "ProbeReport")]
pub(super) struct RunProbe(pub Probe);

impl Handler<RunProbe> for ConnectorActor {
    type Result = ActorResponse<ProbeReport>;
    fn handle(&mut self, RunProbe(probe): RunProbe, _: &mut Self::Context) -> Self::Result {
        let gate = Arc::clone(&self.gate);
        Box::pin(async move { gate.probe(probe).await }.into_actor(self))
    }
}

impl ConnectorMessage for BeginLogin {
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result> {
        let BeginLogin(request) = self;
        actor.run_call(CallKind::BeginLogin, None, scope, move |gate| async move {
            gate.connector.begin_login(request).await
        })
    }
}

impl ConnectorMessage for CompleteLogin {
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result> {
        let CompleteLogin(attempt, params, network) = self;
        actor.run_call(CallKind::CompleteLogin, Some(network), scope, move |gate| async move {
            let outcome = gate.connector.complete_login(attempt, params).await;
            if let (Ok(_), Some(seconds)) = (&outcome, gate.connector.clock_skew_seconds()) {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a skew of 2^52 seconds is beyond every clock"
                )]
                gate.deps.metrics.set_connector_clock_skew(&gate.id, seconds as f64);
            }
            outcome
        })
    }
}

impl ConnectorMessage for SignIn {
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result> {
        let SignIn(credentials) = self;
        actor.run_call(CallKind::SignIn, Some(credentials.network), scope, move |gate| async move {
            match gate.connector.password_page() {
                Some(page) => page.sign_in(credentials).await,
                None => Err(ConnectorError::new(
                    ErrorCode::Internal,
                    "this connector has no password page",
                )),
            }
        })
    }
}

impl ConnectorMessage for EndSession {
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result> {
        let EndSession(request) = self;
        actor.run_call(CallKind::EndSession, None, scope, move |gate| async move {
            gate.connector.end_session(request).await
        })
    }
}

impl ConnectorMessage for Preload {
    fn run(self, actor: &ConnectorActor, scope: TraceScope) -> ActorResponse<Self::Result> {
        actor.run_call(CallKind::Preload, None, scope, move |gate| async move {
            let outcome = gate.connector.preload().await;
            if let Err(error) = &outcome {
                tracing::warn!(connector = %gate.id, %error, "preloading the identity provider's metadata failed; retried at the next login");
            }
            outcome
        })
    }
}
