//! The registry: it starts an actor for each connector, replaces one that has died, and publishes an immutable map of the
//! ways to them. What is so of a connector is in the federation's snapshot; an actor is only a way to call.

mod blocked;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;

use super::blocks::Blocks;
use super::connector::{ConnectorActor, ConnectorHandle, Limits, Surroundings};
use super::health::{Health, Standing};
use super::prober::{Prober, ProberDeps, WayOut};
use crate::assurance::At;
use crate::config::model::ConnectorLimits;
use crate::config::outline::Fields;
use crate::config::{ConnectorFacts, Current, Federation};
use crate::connector::Connector;
use crate::env::Env;
use crate::grant::Gate;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::session::gate::{self, Closed};
use crate::store::Store;
use crate::telemetry::Metrics;

pub use blocked::{
    BlockRow, By, Circuit, ConnectorRow, ConnectorStanding, ConnectorState, HealthRow, NewBlock,
    Unset,
};

/// How often the registry looks for connector actors that have died.
const ROUND: Duration = Duration::from_secs(1);

/// A connector as configured and built, before it has an actor.
#[derive(Clone)]
pub struct Plan {
    pub id: ConnectorId,
    pub connector: Arc<dyn Connector>,
    pub limits: ConnectorLimits,
    /// What it was built from: a file that says the same again changes nothing.
    pub fields: Arc<Fields>,
}

/// From now on these connectors and this federation count, together.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Switch {
    /// Connectors that are new or have changed. One that isn't in the federation goes; all others keep their actors.
    pub plans: Vec<Plan>,
    pub federation: Federation,
}

/// The way to the registry, for whoever reads the files.
#[derive(Clone)]
pub struct RegistryHandle(Addr<Registry>);

/// The registry's arbiter has gone down.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the registry of connectors is gone")]
pub struct RegistryGone;

impl RegistryHandle {
    /// # Errors
    /// The registry is gone; nothing has changed then.
    pub async fn switch(&self, switch: Switch) -> Result<(), RegistryGone> {
        self.0.send(switch).await.map_err(|_| RegistryGone)
    }
}

struct Entry {
    handle: ConnectorHandle,
    plan: Plan,
}

type Actors = BTreeMap<ConnectorId, Arc<Entry>>;

/// The shared view on all connectors: lookups go here, past the registry's mailbox.
#[derive(Clone)]
pub struct Connectors {
    actors: Arc<ArcSwap<Actors>>,
    pub(super) federation: Current,
    /// Kill switches by command.
    blocks: Blocks,
    /// Whether all of them fail at once.
    pub(super) way_out: WayOut,
}

impl Connectors {
    /// The name for people, by language.
    #[must_use]
    pub fn name(&self, id: &ConnectorId) -> Option<Arc<BTreeMap<String, String>>> {
        self.federation.load().connector(id).map(|connector| Arc::clone(&connector.name))
    }

    pub(super) fn handle(&self, id: &ConnectorId) -> Result<ConnectorHandle, ErrorCode> {
        self.actors.load().get(id).map(|entry| entry.handle.clone()).ok_or(ErrorCode::IdpUnknown)
    }

    /// How its identity provider is doing.
    pub(super) fn standing(&self, id: &ConnectorId) -> Standing {
        self.actors.load().get(id).map_or(Standing::Well, |entry| entry.handle.standing())
    }

    /// The connector's actor, unless its file switches it off, or a block for everybody is in force.
    pub(super) fn enabled(&self, id: &ConnectorId) -> Option<ConnectorHandle> {
        let is_on = self.federation.load().connector(id).is_some_and(|connector| connector.enabled)
            && !self.is_blocked(id);
        self.actors.load().get(id).filter(|_| is_on).map(|entry| entry.handle.clone())
    }

    /// What keeps the hub from all its identity providers, with what to do.
    #[must_use]
    pub fn way_out_complaint(&self) -> Option<String> {
        self.way_out.complaint()
    }

    /// The connectors whose identity providers are probed, by id: those switched on, and other machines' services.
    pub(super) fn probed(&self) -> Vec<(ConnectorId, ConnectorHandle)> {
        let (federation, actors) = (self.federation.load(), self.actors.load());
        let is_probed = |(id, entry): &(&ConnectorId, &Arc<Entry>)| {
            entry.plan.connector.is_remote()
                && federation.connector(id).is_some_and(|connector| connector.enabled)
        };
        actors
            .iter()
            .filter(is_probed)
            .map(|(id, entry)| (id.clone(), entry.handle.clone()))
            .collect()
    }

    pub(super) fn connector(&self, id: &ConnectorId) -> Option<Arc<dyn Connector>> {
        self.actors.load().get(id).map(|entry| Arc::clone(&entry.plan.connector))
    }
}

/// What the gate judges, of a service provider and of a connector that exists or not; also for whoever explains it.
#[must_use]
pub fn gate_facts(federation: &Federation, client_id: &ClientId, id: &ConnectorId) -> gate::Facts {
    let service = federation.active(client_id);
    gate::Facts {
        service_provider: match service {
            Some(_) => gate::ServiceProvider::Active,
            None => gate::ServiceProvider::Inactive,
        },
        connector: federation
            .connector(id)
            .map_or(gate::Connector::Unknown, |connector| state(connector)),
        pairing: match service {
            Some(service) if !service.admitted.includes(id) => gate::Pairing::Blocked,
            Some(_) | None => gate::Pairing::Allowed,
        },
    }
}

const fn state(connector: &ConnectorFacts) -> gate::Connector {
    if connector.enabled {
        let ConnectorFacts { levels, reauthenticates, .. } = connector;
        gate::Connector::On {
            lowest: levels.lowest,
            highest: levels.highest,
            reauthenticates: *reauthenticates,
        }
    } else {
        gate::Connector::Off
    }
}

impl Gate for Connectors {
    fn may(&self, client_id: &ClientId, connector: &ConnectorId, at: At) -> Result<(), ErrorCode> {
        gate::may(&self.facts(client_id, connector), at).map_err(|closed| match closed {
            Closed::ConnectorUnknown => ErrorCode::IdpUnknown,
            Closed::ConnectorOff => ErrorCode::IdpOff,
            Closed::ConnectorBlocked => ErrorCode::IdpBlocked,
            Closed::Suspended => ErrorCode::IdpBlockedForService,
            Closed::ServiceProviderInactive | Closed::Blocked => ErrorCode::GateClosed,
            Closed::LevelTooHigh | Closed::LevelTooLow => ErrorCode::AcrTooLow,
            Closed::ReauthenticationUnproven => ErrorCode::IdpReauthenticationUnproven,
        })
    }
}

impl std::fmt::Debug for Connectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.actors.load().keys()).finish()
    }
}

/// Starts and restarts connector actors. Its own mailbox is never on the way of a login.
pub struct Registry {
    connectors: Connectors,
    calls: usize,
    surroundings: Surroundings,
    arbiters: Vec<ArbiterHandle>,
}

/// What the registry works with.
pub struct RegistryDeps {
    pub federation: Current,
    pub blocks: Blocks,
    /// Calls to one identity provider at once, where its file says nothing else.
    pub calls: usize,
    pub env: Env,
    pub metrics: Arc<Metrics>,
    /// Where hubs agree on who probes, if they share it.
    pub store: Arc<dyn Store>,
    /// `{base_url}/api/v2/callback/`.
    pub callback_base: String,
    /// Where connectors live; they must not be web workers.
    pub arbiters: Vec<ArbiterHandle>,
}

impl Registry {
    /// Starts the registry on the first of the arbiters, spreads the connectors over all of them, and gives the shared
    /// view, already filled.
    #[must_use]
    pub fn start(plans: Vec<Plan>, means: RegistryDeps) -> (Connectors, RegistryHandle) {
        let RegistryDeps { federation, blocks, calls, env, metrics, store, callback_base, arbiters } =
            means;
        let connectors =
            Connectors { actors: Arc::default(), federation, blocks, way_out: WayOut::default() };
        let deps =
            ProberDeps { store, callback_base, env: env.clone(), metrics: Arc::clone(&metrics) };
        let prober = Arc::new(Prober::new(connectors.clone(), deps));
        let seen = Arc::downgrade(&connectors.actors);
        metrics.sample_with(move |metrics| {
            metrics.connectors_cleared();
            let Some(actors) = seen.upgrade() else { return };
            for (id, entry) in actors.load().iter() {
                entry.handle.report(id, metrics);
                if let Some(at) = entry.plan.connector.keys_fetched_at() {
                    metrics.connector_keys_fetched(id, at);
                }
            }
        });
        let surroundings = Surroundings { env, metrics };
        let registry = Self { connectors: connectors.clone(), calls, surroundings, arbiters };
        let fresh =
            |plan: Plan| (plan.id.clone(), Arc::new(registry.activate(plan, Arc::default())));
        connectors.actors.store(Arc::new(plans.into_iter().map(fresh).collect()));
        let address = match registry.arbiters.first().cloned() {
            Some(arbiter) => {
                arbiter.spawn(prober.run());
                Self::start_in_arbiter(&arbiter, |_| registry)
            }
            None => {
                actix::spawn(prober.run());
                Actor::start(registry)
            }
        };
        (connectors, RegistryHandle(address))
    }

    /// New actors are there before anyone may call them, and old ones go when nobody may any more; in between, everything
    /// changes at once. Logins under way find their connector by its id, and are judged by whichever snapshot there is.
    fn switch(&self, Switch { plans, federation }: Switch) {
        let mut actors = Actors::clone(&self.connectors.actors.load());
        for plan in plans {
            // A file that says something else is another identity provider, for all that is known.
            actors.insert(plan.id.clone(), Arc::new(self.activate(plan, Arc::default())));
        }
        let mut stay = actors.clone();
        stay.retain(|id, _| federation.connector(id).is_some());
        self.connectors.actors.store(Arc::new(actors));
        self.connectors.federation.switch(federation);
        self.connectors.actors.store(Arc::new(stay));
    }

    fn activate(&self, plan: Plan, health: Arc<Health>) -> Entry {
        let configured = plan.limits;
        let limits = Limits {
            calls: configured.calls.unwrap_or(self.calls),
            queue: configured.queue,
            wait: Duration::from_millis(configured.queue_ms),
        };
        let actor = ConnectorActor::new(
            plan.id.clone(),
            Arc::clone(&plan.connector),
            limits,
            health,
            self.surroundings.clone(),
        );
        // By its name, so that a revived actor comes to live where its predecessor did.
        let place =
            plan.id.as_str().bytes().map(usize::from).sum::<usize>() % self.arbiters.len().max(1);
        let handle = actor.run(|actor| match self.arbiters.get(place) {
            Some(arbiter) => ConnectorActor::start_in_arbiter(arbiter, |_| actor),
            None => actor.start(),
        });
        Entry { handle, plan }
    }

    /// actix's `Supervisor` does not bring an actor back after a panic, so the registry does.
    fn replace_the_dead(&self) {
        let actors = self.connectors.actors.load();
        if actors.values().all(|entry| entry.handle.is_alive()) {
            return;
        }
        let revived = |(id, entry): (&ConnectorId, &Arc<Entry>)| {
            if entry.handle.is_alive() {
                return (id.clone(), Arc::clone(entry));
            }
            tracing::error!(connector = %id, "a connector's actor has died and is replaced");
            // What was known of the identity provider holds on.
            (
                id.clone(),
                Arc::new(self.activate(entry.plan.clone(), Arc::clone(entry.handle.health()))),
            )
        };
        self.connectors.actors.store(Arc::new(actors.iter().map(revived).collect()));
    }
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(ROUND, |registry, _| registry.replace_the_dead());
    }
}

impl Handler<Switch> for Registry {
    type Result = ();
    fn handle(&mut self, switch: Switch, _: &mut Self::Context) {
        self.switch(switch);
    }
}

#[cfg(test)]
mod tests;
