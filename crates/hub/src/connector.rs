//! Runs one actor per identity provider. It owns the connector and limits its concurrent calls, so
//! that a slow or broken identity provider harms no other (docs/design/architecture.md).

mod call_gate;
mod call_labels;
mod handle;
mod messages;

use std::sync::Arc;

use actix::prelude::*;
use tokio::time::Instant;

use self::call_gate::CallGate;
pub use self::call_gate::{ConnectorActorDeps, ConnectorCallLimits};
pub(super) use self::call_gate::{ProbeReport, log_transition};
use self::messages::{ConnectorMessage, Preload, RunProbe, TracedMessage};
use super::health::Health;
use super::live_actor::LiveActor;
pub use handle::ConnectorHandle;
use passerelle_connector::Connector;
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::trace::TraceScope;

/// Name of the actor in metrics.
const ACTOR: &str = "connector";

/// Actor of one connector.
pub struct ConnectorActor {
    gate: Arc<CallGate>,
    /// Set while the actor runs.
    live: Option<LiveActor>,
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
        let gate = CallGate::new(id, connector, limits, health, deps);
        Self { gate: Arc::new(gate), live: None }
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

/// Makes the call outside the mailbox, so that calls of other logins start meanwhile.
impl<M: ConnectorMessage> Handler<TracedMessage<M>> for ConnectorActor
where
    M::Result: 'static,
{
    type Result = ResponseFuture<M::Result>;
    fn handle(&mut self, traced: TracedMessage<M>, _: &mut Self::Context) -> Self::Result {
        let TracedMessage { message, sent_at, scope } = traced;
        self.gate.deps.metrics.record_mailbox_delay(ACTOR, sent_at.elapsed());
        Box::pin(scope.run(message.run(Arc::clone(&self.gate))))
    }
}

impl Handler<RunProbe> for ConnectorActor {
    type Result = ResponseFuture<ProbeReport>;
    fn handle(&mut self, _: RunProbe, _: &mut Self::Context) -> Self::Result {
        let gate = Arc::clone(&self.gate);
        Box::pin(async move { gate.probe().await })
    }
}

#[cfg(test)]
mod tests;
