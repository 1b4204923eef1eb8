//! Runs one actor per identity provider. It owns the connector and the identity provider's health,
//! and limits concurrent calls, so that a slow or broken identity provider harms no other
//! (docs/design/architecture.md).

mod call_gate;
mod call_labels;
mod handle;

use std::sync::Arc;

use actix::prelude::*;

use self::call_gate::ProbeResult;
use self::call_gate::{CallGate, log_transition};
pub(crate) use self::call_gate::{ConnectorActorDeps, ConnectorCallLimits};
use self::handle::{ConnectorCall, RunProbe, UpdateHealth, preload};
use super::health::{CallKind, Health, HealthSnapshot, PublishedHealth};
use super::live_actor::LiveActor;
pub(crate) use handle::ConnectorHandle;
use passerelle_connector::Connector;
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::trace::TraceScope;

/// Name of the actor in metrics.
const ACTOR: &str = "connector";

/// Actor of one connector.
pub(crate) struct ConnectorActor {
    gate: Arc<CallGate>,
    health: Health,
    /// Set while the actor runs.
    live: Option<LiveActor>,
}

impl ConnectorActor {
    /// Creates the actor.
    pub(crate) fn new(
        id: ConnectorId,
        connector: Arc<dyn Connector>,
        limits: ConnectorCallLimits,
        health: Arc<PublishedHealth>,
        deps: ConnectorActorDeps,
    ) -> Self {
        let snapshot = HealthSnapshot::clone(&health.snapshot.load());
        let gate = CallGate::new(id, connector, limits, health, deps);
        // The failed logins that a former actor counted, and the outcomes of calls in flight when it
        // died, are forgotten: the circuit changes by new ones, the metrics have counted each call,
        // and the documents are fetched again at the start.
        let health = Health { snapshot, ..Health::default() };
        Self { gate: Arc::new(gate), health, live: None }
    }

    /// Changes the health, logs a change of the circuit, and publishes the snapshot.
    fn update_health<T>(&mut self, change: impl FnOnce(&mut Health) -> T) -> T {
        let (result, transition) = self.health.update(self.gate.deps.env.now(), change);
        log_transition(&self.gate.id, transition);
        self.gate.health.snapshot.store(Arc::new(self.health.snapshot.clone()));
        result
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
    type Result = ResponseFuture<ProbeResult>;
    fn handle(&mut self, _: RunProbe, ctx: &mut Self::Context) -> Self::Result {
        let (gate, actor) = (Arc::clone(&self.gate), ctx.address());
        Box::pin(async move {
            let (result, record) = gate.probe().await;
            // The prober reads the health next. If the actor has died, its successor probes.
            let _recorded = actor.send(UpdateHealth(record)).await;
            result
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
