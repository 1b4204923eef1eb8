//! Runs one actor per identity provider. It owns the connector and limits its concurrent calls, so
//! that a slow or broken identity provider harms no other (docs/design/architecture.md).

mod call_gate;
mod call_labels;
mod handle;

use std::sync::Arc;

use actix::prelude::*;

use self::call_gate::CallGate;
pub use self::call_gate::{ConnectorActorDeps, ConnectorCallLimits};
pub(super) use self::call_gate::{ProbeReport, log_transition};
use self::handle::{ConnectorCall, RunProbe, preload};
use super::health::{CallKind, Health};
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
        let scope = TraceScope::default();
        ctx.notify(ConnectorCall { scope, ..ConnectorCall::new(CallKind::Preload, preload) });
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
