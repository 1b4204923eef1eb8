//! The registry: it starts an actor for each connector file, replaces one that has died, and publishes an immutable
//! snapshot that every reader shares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;

use super::connector::{ConnectorActor, ConnectorHandle};
use crate::assurance::At;
use crate::config::model::Levels;
use crate::config::shown::{Lineup, Shown};
use crate::config::{ConfiguredConnector, Federation, Service};
use crate::connector::Connector;
use crate::grant::Gate;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::session::gate::{self, Closed};
use crate::telemetry::Metrics;

/// How often the registry looks for connector actors that have died.
const ROUND: Duration = Duration::from_secs(1);

/// A connector as configured and built, before it has an actor.
#[derive(Clone)]
pub struct Plan {
    pub id: ConnectorId,
    pub connector: Arc<dyn Connector>,
    pub facts: Facts,
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

/// What the gate, the choice page and the amr rules know of a connector.
#[derive(Clone, Debug)]
pub struct Facts {
    /// For people, by language.
    pub name: Arc<BTreeMap<String, String>>,
    pub enabled: bool,
    pub levels: Levels,
    /// Methods to count on when the identity provider sends none.
    pub amr: Vec<String>,
    /// What this identity provider's `mfa` stands for.
    pub mfa: Vec<String>,
    /// What the choice page shows of it.
    pub shown: Arc<Shown>,
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

type Snapshot = BTreeMap<ConnectorId, Arc<Entry>>;

/// The shared view on all connectors: lookups go here, past the registry's mailbox.
#[derive(Clone)]
pub struct Connectors {
    snapshot: Arc<ArcSwap<Snapshot>>,
    pub(super) federation: Arc<Federation>,
    /// By name, made anew with each snapshot.
    pub(super) lineup: Arc<ArcSwap<Lineup>>,
}

impl Facts {
    #[must_use]
    pub fn of(connector: &ConfiguredConnector) -> Self {
        let (file, shown) = (&connector.file, Arc::new(Shown::of(connector)));
        Self {
            name: Arc::clone(&shown.name),
            shown,
            enabled: file.enabled,
            levels: file.levels,
            amr: file.amr.clone(),
            mfa: file.mfa.clone(),
        }
    }

    const fn state(&self) -> gate::Connector {
        if self.enabled {
            gate::Connector::On { lowest: self.levels.lowest, highest: self.levels.highest }
        } else {
            gate::Connector::Off
        }
    }
}

impl Connectors {
    /// The name for people, by language.
    #[must_use]
    pub fn name(&self, id: &ConnectorId) -> Option<Arc<BTreeMap<String, String>>> {
        self.snapshot.load().get(id).map(|entry| Arc::clone(&entry.plan.facts.name))
    }

    pub(super) fn handle(&self, id: &ConnectorId) -> Result<ConnectorHandle, ErrorCode> {
        self.snapshot.load().get(id).map(|entry| entry.handle.clone()).ok_or(ErrorCode::IdpUnknown)
    }

    /// The connector's actor, unless its file switches it off.
    pub(super) fn enabled(&self, id: &ConnectorId) -> Option<ConnectorHandle> {
        self.snapshot.load().get(id).filter(|entry| entry.plan.facts.enabled).map(|entry| entry.handle.clone())
    }

    /// What is known of each of these, as one snapshot has it; those that aren't there are left out.
    pub(super) fn known_among<'a>(
        &self,
        ids: impl Iterator<Item = &'a ConnectorId>,
        mut take: impl FnMut(&'a ConnectorId, &Facts),
    ) {
        let snapshot = self.snapshot.load();
        for (id, entry) in ids.filter_map(|id| Some((id, snapshot.get(id)?))) {
            take(id, &entry.plan.facts);
        }
    }

    pub(super) fn configured(&self, id: &ConnectorId) -> Option<Facts> {
        self.snapshot.load().get(id).map(|entry| entry.plan.facts.clone())
    }

    pub(super) fn connector(&self, id: &ConnectorId) -> Option<Arc<dyn Connector>> {
        self.snapshot.load().get(id).map(|entry| Arc::clone(&entry.plan.connector))
    }

    /// The facts that the gate judges, as they are now.
    #[must_use]
    pub fn facts(&self, client_id: &ClientId, id: &ConnectorId) -> gate::Facts {
        let snapshot = self.snapshot.load();
        gate_facts(&self.federation, client_id, id, snapshot.get(id).map(|entry| &entry.plan.facts))
    }
}

/// What the gate judges, of a service provider and of a connector that exists or not; also for whoever explains it.
#[must_use]
pub fn gate_facts(federation: &Federation, client_id: &ClientId, id: &ConnectorId, connector: Option<&Facts>) -> gate::Facts {
    facts_of(federation.active(client_id), id, connector)
}

/// The same of a service provider that has been looked up; `None` for one that is not active.
pub(super) fn facts_of(service: Option<&Service>, id: &ConnectorId, connector: Option<&Facts>) -> gate::Facts {
    gate::Facts {
        service_provider: match service {
            Some(_) => gate::ServiceProvider::Active,
            None => gate::ServiceProvider::Inactive,
        },
        connector: connector.map_or(gate::Connector::Unknown, Facts::state),
        pairing: match service {
            Some(service) if !service.admitted.includes(id) => gate::Pairing::Blocked,
            Some(_) | None => gate::Pairing::Allowed,
        },
    }
}

impl Gate for Connectors {
    fn may(&self, client_id: &ClientId, connector: &ConnectorId, at: At) -> Result<(), ErrorCode> {
        gate::may(&self.facts(client_id, connector), at).map_err(|closed| match closed {
            Closed::ConnectorUnknown => ErrorCode::IdpUnknown,
            Closed::ConnectorOff => ErrorCode::IdpOff,
            Closed::ServiceProviderInactive | Closed::Blocked => ErrorCode::GateClosed,
            Closed::LevelTooHigh | Closed::LevelTooLow => ErrorCode::AcrTooLow,
        })
    }
}

impl std::fmt::Debug for Connectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.snapshot.load().keys()).finish()
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
    pub federation: Arc<Federation>,
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
        let Means { federation, calls, metrics, arbiters, reader, reload } = means;
        let connectors = Connectors { snapshot: Arc::default(), federation, lineup: Arc::default() };
        let registry = Self { connectors: connectors.clone(), calls, metrics, arbiters, reader, reload };
        registry.apply(Changes { plans, gone: Vec::new() });
        match registry.arbiters.first().cloned() {
            Some(arbiter) => drop(Self::start_in_arbiter(&arbiter, |_| registry)),
            None => drop(Actor::start(registry)),
        }
        connectors
    }

    /// Switches to a new snapshot at once; logins under way find their connector by its id in whichever there is.
    fn apply(&self, changes: Changes) {
        let mut entries = Snapshot::clone(&self.connectors.snapshot.load());
        for id in &changes.gone {
            entries.remove(id);
        }
        for plan in changes.plans {
            entries.insert(plan.id.clone(), Arc::new(self.activate(plan)));
        }
        let lineup = Lineup::of(entries.iter().map(|(id, entry)| (id, &*entry.plan.facts.shown)));
        self.connectors.snapshot.store(Arc::new(entries));
        self.connectors.lineup.store(Arc::new(lineup));
    }

    /// An event would only be a hint: the whole folder is read, and contents are compared.
    fn read_again(&self, ctx: &mut Context<Self>) {
        let known: Known = self.connectors.snapshot.load().values().map(Entry::known).collect();
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
        let snapshot = self.connectors.snapshot.load();
        if snapshot.values().all(|entry| entry.handle.is_alive()) {
            return;
        }
        let revived = |(id, entry): (&ConnectorId, &Arc<Entry>)| {
            if entry.handle.is_alive() {
                return (id.clone(), Arc::clone(entry));
            }
            tracing::error!(connector = %id, "a connector's actor has died and is replaced");
            (id.clone(), Arc::new(self.activate(entry.plan.clone())))
        };
        self.connectors.snapshot.store(Arc::new(snapshot.iter().map(revived).collect()));
    }
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(ROUND, |registry, _| registry.replace_the_dead());
        ctx.run_interval(self.reload, |registry, ctx| registry.read_again(ctx));
    }
}
