//! The registry: it starts an actor for each connector, replaces one that has died, and publishes an immutable map of the
//! ways to them. What is so of a connector is in the federation's snapshot; an actor is only a way to call.

mod blocked;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;

use super::blocks::Blocks;
use super::connector::{ConnectorActor, ConnectorHandle};
use crate::assurance::At;
use crate::config::{ConfiguredConnector, ConnectorFacts, Current, Federation};
use crate::connector::Connector;
use crate::grant::Gate;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::session::gate::{self, Closed};
use crate::telemetry::Metrics;

pub use blocked::{BlockRow, By, ConnectorRow, ConnectorState, NewBlock, Unset};

/// How often the registry looks for connector actors that have died.
const ROUND: Duration = Duration::from_secs(1);

/// A connector as configured and built, before it has an actor.
#[derive(Clone)]
pub struct Plan {
    pub id: ConnectorId,
    pub connector: Arc<dyn Connector>,
    /// What it was built from: a file that says the same again changes nothing.
    pub configured: Arc<ConfiguredConnector>,
}

/// Reads the connector files again: what is new, changed or gone against what is known. It may block.
pub type Reader = Arc<dyn Fn(&Known) -> Changes + Send + Sync>;

/// The connectors that run, by what they were built from.
pub type Known = BTreeMap<ConnectorId, Arc<ConfiguredConnector>>;

/// What a reading of the files found. A bad file is in none of these: its last good version goes on.
#[derive(Default)]
pub struct Changes {
    /// New ones, and those that say something else than before.
    pub plans: Vec<Plan>,
    pub gone: Vec<ConnectorId>,
}

struct Entry {
    handle: ConnectorHandle,
    plan: Plan,
}

impl Entry {
    fn known(entry: &Arc<Self>) -> (ConnectorId, Arc<ConfiguredConnector>) {
        (entry.plan.id.clone(), Arc::clone(&entry.plan.configured))
    }
}

type Actors = BTreeMap<ConnectorId, Arc<Entry>>;

/// The shared view on all connectors: lookups go here, past the registry's mailbox.
#[derive(Clone)]
pub struct Connectors {
    actors: Arc<ArcSwap<Actors>>,
    pub(super) federation: Current,
    /// Kill switches by command.
    blocks: Blocks,
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

    /// The connector's actor, unless its file switches it off, or a block for everybody is in force.
    pub(super) fn enabled(&self, id: &ConnectorId) -> Option<ConnectorHandle> {
        let is_on = self.federation.load().connector(id).is_some_and(|connector| connector.enabled) && !self.is_blocked(id);
        self.actors.load().get(id).filter(|_| is_on).map(|entry| entry.handle.clone())
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
        connector: federation.connector(id).map_or(gate::Connector::Unknown, |connector| state(connector)),
        pairing: match service {
            Some(service) if !service.admitted.includes(id) => gate::Pairing::Blocked,
            Some(_) | None => gate::Pairing::Allowed,
        },
    }
}

const fn state(connector: &ConnectorFacts) -> gate::Connector {
    if connector.enabled {
        gate::Connector::On { lowest: connector.levels.lowest, highest: connector.levels.highest }
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
    metrics: Arc<Metrics>,
    arbiters: Vec<ArbiterHandle>,
    reader: Reader,
    reload: Duration,
}

/// What the registry works with.
pub struct Means {
    pub federation: Current,
    pub blocks: Blocks,
    /// Calls to one identity provider at once.
    pub calls: usize,
    pub metrics: Arc<Metrics>,
    /// Where connectors live; they must not be web workers.
    pub arbiters: Vec<ArbiterHandle>,
    pub reader: Reader,
    /// Between two readings of the files.
    pub reload: Duration,
}

impl Registry {
    /// Starts the registry on the first of the arbiters, spreads the connectors over all of them, and gives the shared
    /// view, already filled.
    #[must_use]
    pub fn start(plans: Vec<Plan>, means: Means) -> Connectors {
        let Means { federation, blocks, calls, metrics, arbiters, reader, reload } = means;
        let connectors = Connectors { actors: Arc::default(), federation, blocks };
        let registry = Self { connectors: connectors.clone(), calls, metrics, arbiters, reader, reload };
        registry.apply(Changes { plans, gone: Vec::new() });
        match registry.arbiters.first().cloned() {
            Some(arbiter) => drop(Self::start_in_arbiter(&arbiter, |_| registry)),
            None => drop(Actor::start(registry)),
        }
        connectors
    }

    /// Switches to a new snapshot at once; logins under way find their connector by its id in whichever there is. New actors
    /// are there before anyone may call them, and old ones go when nobody may any more.
    fn apply(&self, changes: Changes) {
        let federation = self.connectors.federation.load();
        let mut facts = federation.connectors().clone();
        let mut actors = Actors::clone(&self.connectors.actors.load());
        for id in &changes.gone {
            facts.remove(id);
        }
        for plan in changes.plans {
            facts.insert(plan.id.clone(), Arc::new(ConnectorFacts::of(&plan.configured)));
            actors.insert(plan.id.clone(), Arc::new(self.activate(plan)));
        }
        self.connectors.actors.store(Arc::new(actors.clone()));
        self.connectors.federation.switch(Federation::clone(&federation).with_connectors(facts));
        actors.retain(|id, _| !changes.gone.contains(id));
        self.connectors.actors.store(Arc::new(actors));
    }

    /// An event would only be a hint: the whole folder is read, and contents are compared.
    fn read_again(&self, ctx: &mut Context<Self>) {
        let known: Known = self.connectors.actors.load().values().map(Entry::known).collect();
        let reader = Arc::clone(&self.reader);
        let reading = tokio::task::spawn_blocking(move || reader(&known));
        ctx.spawn(reading.into_actor(self).map(|outcome, registry, _| match outcome {
            Ok(changes) if changes.plans.is_empty() && changes.gone.is_empty() => {}
            Ok(changes) => {
                for plan in &changes.plans {
                    tracing::info!(connector = %plan.id, "the connector's file is new or has changed, and is applied");
                }
                for id in &changes.gone {
                    tracing::info!(connector = %id, "the connector's file is gone, and so is the connector");
                }
                registry.apply(changes);
            }
            Err(fault) => tracing::error!(%fault, "the connector files can't be read again; the last good ones stay"),
        }));
    }

    fn activate(&self, plan: Plan) -> Entry {
        let actor = ConnectorActor::new(plan.id.clone(), Arc::clone(&plan.connector), self.calls, Arc::clone(&self.metrics));
        // By its name, so that a revived actor comes to live where its predecessor did.
        let place = plan.id.as_str().bytes().map(usize::from).sum::<usize>() % self.arbiters.len().max(1);
        let address = match self.arbiters.get(place) {
            Some(arbiter) => ConnectorActor::start_in_arbiter(arbiter, |_| actor),
            None => actor.start(),
        };
        Entry { handle: ConnectorHandle::new(address), plan }
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
            (id.clone(), Arc::new(self.activate(entry.plan.clone())))
        };
        self.connectors.actors.store(Arc::new(actors.iter().map(revived).collect()));
    }
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(ROUND, |registry, _| registry.replace_the_dead());
        ctx.run_interval(self.reload, |registry, ctx| registry.read_again(ctx));
    }
}
