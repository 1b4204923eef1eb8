//! What a connector's actor is asked, and how each question is put to its connector.

use std::sync::Arc;

use actix::prelude::*;
use tokio::time::Instant;
use url::Url;

use super::{ACTOR, ConnectorActor, Probe, ProbeReport};
use crate::actor::health::Call;
use crate::client_network::ClientNetwork;
use crate::connector::ConnectorFault;
use crate::connector::own_page::{SignedIn, Typed};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace::Scope;

/// What a connector is asked.
pub(super) trait Asked: Message {
    /// Called once the actor has taken the message.
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result>;
}

pub(super) type Answer<T> = ResponseActFuture<ConnectorActor, T>;

/// A message, when it was sent, and the span that its call belongs to.
pub(super) struct Posted<M> {
    pub message: M,
    pub at: Instant,
    pub scope: Scope,
}

impl<M: Message> Message for Posted<M>
where
    M::Result: 'static,
{
    type Result = M::Result;
}

impl<M: Asked> Handler<Posted<M>> for ConnectorActor
where
    M::Result: 'static,
{
    type Result = Answer<M::Result>;
    fn handle(
        &mut self,
        Posted { message, at, scope }: Posted<M>,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.desk.surroundings.metrics.actor_took(ACTOR, at.elapsed());
        message.answer(self, scope)
    }
}

#[derive(Message)]
#[rtype(result = "Result<AuthorizationRedirect, ConnectorFault>")]
pub(super) struct Begin(pub Departure);

#[derive(Message)]
#[rtype(result = "Result<Authentication, ConnectorFault>")]
pub(super) struct Complete(pub Attempt, pub Arrival, pub ClientNetwork);

#[derive(Message)]
#[rtype(result = "Result<SignedIn, ConnectorFault>")]
pub(super) struct SignIn(pub Typed);

#[derive(Message)]
#[rtype(result = "Result<Option<Url>, ConnectorFault>")]
pub(super) struct End(pub Farewell);

#[derive(Message)]
#[rtype(result = "Result<(), ConnectorFault>")]
pub(super) struct Warm;

/// A probe by the hub itself, outside any login's span and limits.
#[derive(Message)]
#[rtype(result = "ProbeReport")]
pub(super) struct RunProbe(pub Probe);

impl Handler<RunProbe> for ConnectorActor {
    type Result = Answer<ProbeReport>;
    fn handle(&mut self, RunProbe(probe): RunProbe, _: &mut Self::Context) -> Self::Result {
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { desk.probe(probe).await }.into_actor(self))
    }
}

impl Asked for Begin {
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result> {
        let Begin(departure) = self;
        actor.call(Call::Begin, None, scope, move |desk| async move {
            desk.connector.begin(departure).await
        })
    }
}

impl Asked for Complete {
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result> {
        let Complete(attempt, arrival, network) = self;
        actor.call(Call::Complete, Some(network), scope, move |desk| async move {
            let outcome = desk.connector.complete(attempt, arrival).await;
            if let (Ok(_), Some(seconds)) = (&outcome, desk.connector.skew_seconds()) {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a skew of 2^52 seconds is beyond every clock"
                )]
                desk.surroundings.metrics.connector_clock_skew(&desk.id, seconds as f64);
            }
            outcome
        })
    }
}

impl Asked for SignIn {
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result> {
        let SignIn(typed) = self;
        actor.call(Call::SignIn, Some(typed.network), scope, move |desk| async move {
            match desk.connector.password_page() {
                Some(page) => page.sign_in(typed).await,
                None => Err(ConnectorFault::new(
                    ErrorCode::Internal,
                    "this connector has no page with a password",
                )),
            }
        })
    }
}

impl Asked for End {
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result> {
        let End(farewell) = self;
        actor.call(
            Call::End,
            None,
            scope,
            move |desk| async move { desk.connector.end(farewell).await },
        )
    }
}

impl Asked for Warm {
    fn answer(self, actor: &ConnectorActor, scope: Scope) -> Answer<Self::Result> {
        actor.call(Call::Warm, None, scope, move |desk| async move {
            let outcome = desk.connector.warm().await;
            if let Err(fault) = &outcome {
                tracing::warn!(connector = %desk.id, %fault, "the identity provider is not ready; it is asked again at the next login");
            }
            outcome
        })
    }
}
