//! Keeps the registry of connectors: starts an actor for each, replaces one that has died, and
//! publishes an immutable map of handles. The federation's snapshot describes the connectors; an
//! actor only makes their calls.

mod block_commands;
mod block_lookup;
mod connector_overview;
mod probe_command;
mod public_status;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::prelude::*;
use arc_swap::ArcSwap;

use super::connector::{ConnectorActor, ConnectorActorDeps, ConnectorCallLimits, ConnectorHandle};
use super::health::PublishedHealth;
use super::hub_clock::{CommonSkew, HubClock};
use super::prober::{OutboundNetwork, Prober};
use passerelle_connector::{Connector, ConnectorLimits};
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::assurance::AcrCheck;
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_federation::{CurrentFederation, Federation};
use passerelle_grants::{Gate, HubCore};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_settings::FieldDigests;
use passerelle_store::Store;
use passerelle_telemetry::CheckFinding;

pub use block_commands::{BlockError, BlockRow, Blocks, NewBlock};
pub use connector_overview::{
    ConnectorDates, ConnectorRow, ConnectorState, HealthRow, UnreachableRow,
};
pub use probe_command::NotProbedError;
pub use public_status::{ProviderStatus, PublicBlock};

/// Interval between two searches for dead connector actors.
const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A connector as configured and built, without an actor.
#[derive(Clone)]
pub struct ConnectorSpec {
    pub id: ConnectorId,
    pub connector: Arc<dyn Connector>,
    pub limits: ConnectorLimits,
    /// Digest of the configuration that it was built from: an equal one changes nothing.
    pub fields: Arc<FieldDigests>,
}

/// Message that replaces connectors and the federation together.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ApplyConfig {
    /// New and changed connectors. One that isn't in the federation is removed; all others keep
    /// their actors.
    pub specs: Vec<ConnectorSpec>,
    pub federation: Federation,
}

/// Handle to the registry, for configuration reloads.
#[derive(Clone)]
pub struct RegistryHandle(Addr<Registry>);

/// Error returned when the registry's arbiter has stopped.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the registry of connectors has stopped")]
pub struct RegistryStoppedError;

impl RegistryHandle {
    /// Applies new connectors and a new federation.
    ///
    /// # Errors
    /// [`RegistryStoppedError`]; nothing has changed.
    pub async fn apply(&self, config: ApplyConfig) -> Result<(), RegistryStoppedError> {
        self.0.send(config).await.map_err(|_| RegistryStoppedError)
    }
}

struct RunningConnector {
    handle: ConnectorHandle,
    spec: ConnectorSpec,
}

type Actors = BTreeMap<ConnectorId, Arc<RunningConnector>>;

/// Shared view of all connectors. Lookups read it without the registry's mailbox.
#[derive(Clone)]
pub struct Connectors {
    actors: Arc<ArcSwap<Actors>>,
    pub(super) federation: CurrentFederation,
    /// The operators' blocks.
    blocks: Blocks,
    /// Whether all identity providers fail at once.
    pub(super) outbound: OutboundNetwork,
    /// What is wrong with the newest version of a connector's file, which is not in use.
    invalid_files: Arc<ArcSwap<BTreeMap<ConnectorId, String>>>,
    pub(super) clock: HubClock,
    /// Whether another hub of the same store probes for this one.
    pub(super) is_probed_elsewhere: Arc<AtomicBool>,
}

impl Connectors {
    /// Sets which connectors have an invalid file, and what is wrong with it.
    pub fn set_invalid_files(&self, invalid: BTreeMap<ConnectorId, String>) {
        self.invalid_files.store(Arc::new(invalid));
    }

    /// Returns the skew that shows that this hub's own clock is wrong.
    pub fn common_clock_skew(&self) -> Option<CommonSkew> {
        self.clock.common_skew()
    }

    /// Returns the display name, by language.
    pub fn display_name(&self, id: &ConnectorId) -> Option<Arc<BTreeMap<String, String>>> {
        self.federation.load().connector(id).map(|connector| Arc::clone(&connector.name))
    }

    /// Returns the handle of a connector's actor.
    ///
    /// # Errors
    /// `IdpUnknown`.
    pub(super) fn handle(&self, id: &ConnectorId) -> Result<ConnectorHandle, ErrorCode> {
        self.actors.load().get(id).map(|entry| entry.handle.clone()).ok_or(ErrorCode::IdpUnknown)
    }

    /// Returns the state of the circuit of its identity provider.
    pub(super) fn circuit_state(&self, id: &ConnectorId) -> CircuitState {
        let actors = self.actors.load();
        actors.get(id).map_or(CircuitState::Closed, |entry| entry.handle.circuit_state())
    }

    /// Returns the handle of a connector, unless its file disables it or it is blocked for all
    /// service providers.
    pub(super) fn enabled_handle(&self, id: &ConnectorId) -> Option<ConnectorHandle> {
        let is_on = self.federation.load().connector(id).is_some_and(|connector| connector.enabled)
            && !self.is_blocked(id);
        self.actors.load().get(id).filter(|_| is_on).map(|entry| entry.handle.clone())
    }

    /// Makes this hub, if it probes, probe those that fail in its next round: an operator has
    /// corrected something. Another hub that probes reads its files itself, and must not repeat what
    /// may lock the hub's own account for each hub that reads the same ones.
    pub fn probe_failing_now(&self) {
        for (_, handle, _) in self.remote_connectors() {
            self.retry_if_failing(&handle);
        }
    }

    /// The same for one of them.
    pub fn probe_now_if_failing(&self, id: &ConnectorId) {
        if let Some(entry) = self.actors.load().get(id) {
            self.retry_if_failing(&entry.handle);
        }
    }

    fn retry_if_failing(&self, handle: &ConnectorHandle) {
        let is_prober = !self.is_probed_elsewhere.load(Ordering::Relaxed);
        handle.post_health_update(move |health| health.retry_if_failing(is_prober));
    }

    /// Returns what keeps the hub from all its identity providers, with the fix.
    pub fn outbound_warning(&self) -> Option<CheckFinding> {
        self.outbound.warning()
    }

    /// Returns the connectors that are enabled and call another machine, by id, and whether the hub
    /// probes each.
    pub(super) fn remote_connectors(&self) -> Vec<(ConnectorId, ConnectorHandle, bool)> {
        let (federation, actors) = (self.federation.load(), self.actors.load());
        let remote = |(id, entry): (&ConnectorId, &Arc<RunningConnector>)| {
            let metadata = federation.connector(id).filter(|connector| connector.enabled)?;
            let is_remote = entry.spec.connector.is_remote();
            is_remote.then(|| (id.clone(), entry.handle.clone(), metadata.is_probed))
        };
        actors.iter().filter_map(remote).collect()
    }

    /// Returns the unverified `state` of an encrypted authorization response; `None` if the
    /// connector can't decrypt it.
    pub async fn unverified_state(
        &self,
        id: &ConnectorId,
        response: &Secret<String>,
    ) -> Option<String> {
        self.connector(id)?.unverified_state(response).await
    }

    /// Returns a connector.
    pub(super) fn connector(&self, id: &ConnectorId) -> Option<Arc<dyn Connector>> {
        self.actors.load().get(id).map(|entry| Arc::clone(&entry.spec.connector))
    }
}

impl Gate for Connectors {
    fn check_access(
        &self,
        client_id: &ClientId,
        connector: &ConnectorId,
        at: AcrCheck,
    ) -> Result<(), ErrorCode> {
        let permitted = self.permit_connector(client_id, connector);
        permitted.and_then(|permitted| permitted.check_level(at)).map_err(|reason| match reason {
            UnavailableReason::ConnectorUnknown => ErrorCode::IdpUnknown,
            UnavailableReason::ConnectorDisabled => ErrorCode::IdpOff,
            UnavailableReason::ConnectorBlocked => ErrorCode::IdpBlocked,
            UnavailableReason::BlockedForServiceProvider => ErrorCode::IdpBlockedForService,
            UnavailableReason::ServiceProviderInactive
            | UnavailableReason::ExcludedByServiceProvider => ErrorCode::GateClosed,
            UnavailableReason::LevelTooHigh | UnavailableReason::LevelTooLow => {
                ErrorCode::AcrTooLow
            }
            UnavailableReason::ReauthenticationUnproven => ErrorCode::IdpReauthenticationUnproven,
            UnavailableReason::Down => ErrorCode::IdpCircuitOpen,
        })
    }
}

/// Starts and restarts connector actors. Logins never wait for its mailbox.
pub struct Registry {
    connectors: Connectors,
    default_max_calls: usize,
    actor_deps: ConnectorActorDeps,
    arbiters: Vec<ArbiterHandle>,
}

/// Dependencies of [`Registry`].
pub struct RegistryDeps {
    pub core: Arc<HubCore>,
    pub blocks: Blocks,
    /// Default number of concurrent calls to one identity provider.
    pub default_max_calls: usize,
    /// Store in which the hubs that share it elect the one that probes.
    pub store: Arc<dyn Store>,
    /// Arbiters of the connector actors. They also serve the connections of the public listener
    /// (`docs/design/adr/0021-connections-on-the-arbiters-of-the-actors.md`).
    pub arbiters: Vec<ArbiterHandle>,
}

impl Registry {
    /// Starts the registry on the first arbiter and the connectors on all of them. Returns the
    /// shared view with all connectors in it.
    pub fn start(
        specs: Vec<ConnectorSpec>,
        registry_deps: RegistryDeps,
    ) -> (Connectors, RegistryHandle) {
        let RegistryDeps { core, blocks, default_max_calls, store, arbiters } = registry_deps;
        let connectors = Connectors {
            actors: Arc::default(),
            invalid_files: Arc::default(),
            federation: core.federation.clone(),
            blocks,
            outbound: OutboundNetwork::default(),
            clock: HubClock::default(),
            is_probed_elsewhere: Arc::default(),
        };
        let (env, metrics) = (core.env.clone(), Arc::clone(&core.metrics));
        let prober = Arc::new(Prober::new(connectors.clone(), store, core));
        let seen = Arc::downgrade(&connectors.actors);
        metrics.sample_with(move |metrics| {
            metrics.clear_connector_gauges();
            let Some(actors) = seen.upgrade() else { return };
            for (id, entry) in actors.load().iter() {
                entry.handle.publish_metrics(id, metrics);
                if let Some(at) = entry.spec.connector.keys_fetched_at() {
                    metrics.set_connector_keys_fetched(id, at);
                }
                for (certificate, at) in entry.spec.connector.certificate_expiries() {
                    metrics.set_connector_certificate_expiry(id, certificate, at);
                }
            }
        });
        let actor_deps = ConnectorActorDeps {
            env,
            metrics,
            clock: connectors.clock.clone(),
            federation: connectors.federation.clone(),
        };
        let registry =
            Self { connectors: connectors.clone(), default_max_calls, actor_deps, arbiters };
        let fresh = |spec: ConnectorSpec| {
            (spec.id.clone(), Arc::new(registry.start_actor(spec, Arc::default())))
        };
        connectors.actors.store(Arc::new(specs.into_iter().map(fresh).collect()));
        let address = if let Some(arbiter) = registry.arbiters.first().cloned() {
            arbiter.spawn(prober.run());
            Self::start_in_arbiter(&arbiter, |_| registry)
        } else {
            actix::spawn(prober.run());
            Actor::start(registry)
        };
        (connectors, RegistryHandle(address))
    }

    /// Adds new actors before the new federation is published, and removes old ones after it; the
    /// federation changes at once. Running logins find their connector by its id, and the gate uses
    /// the current snapshot.
    fn apply(&self, ApplyConfig { specs, federation }: ApplyConfig) {
        let mut actors = Actors::clone(&self.connectors.actors.load());
        for spec in specs {
            // A changed file may mean another identity provider: its health starts from nothing.
            actors.insert(spec.id.clone(), Arc::new(self.start_actor(spec, Arc::default())));
        }
        let mut stay = actors.clone();
        stay.retain(|id, _| federation.connector(id).is_some());
        self.connectors.actors.store(Arc::new(actors));
        self.connectors.federation.replace(federation);
        self.connectors.actors.store(Arc::new(stay));
    }

    fn start_actor(&self, spec: ConnectorSpec, health: Arc<PublishedHealth>) -> RunningConnector {
        let configured = spec.limits;
        let limits = ConnectorCallLimits {
            calls: configured.calls.unwrap_or(self.default_max_calls),
            queue: configured.queue,
            wait: Duration::from_millis(configured.queue_ms),
        };
        let actor = ConnectorActor::new(
            spec.id.clone(),
            Arc::clone(&spec.connector),
            limits,
            health,
            self.actor_deps.clone(),
        );
        // By its id, so that a replaced actor runs where its predecessor did.
        let arbiter_index =
            spec.id.as_str().bytes().map(usize::from).sum::<usize>() % self.arbiters.len().max(1);
        let handle = actor.start_with(|actor| match self.arbiters.get(arbiter_index) {
            Some(arbiter) => ConnectorActor::start_in_arbiter(arbiter, |_| actor),
            None => actor.start(),
        });
        RunningConnector { handle, spec }
    }

    /// Replaces dead actors. actix's `Supervisor` does not restart an actor after a panic.
    fn replace_dead_actors(&self) {
        let actors = self.connectors.actors.load();
        if actors.values().all(|entry| entry.handle.is_alive()) {
            return;
        }
        let revived = |(id, entry): (&ConnectorId, &Arc<RunningConnector>)| {
            if entry.handle.is_alive() {
                return (id.clone(), Arc::clone(entry));
            }
            tracing::error!(connector = %id, "connector actor died and is replaced");
            // The health of the identity provider is carried over.
            let health = Arc::clone(entry.handle.published_health());
            (id.clone(), Arc::new(self.start_actor(entry.spec.clone(), health)))
        };
        self.connectors.actors.store(Arc::new(actors.iter().map(revived).collect()));
    }
}

impl Actor for Registry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(LIVENESS_CHECK_INTERVAL, |registry, _| registry.replace_dead_actors());
    }
}

impl Handler<ApplyConfig> for Registry {
    type Result = ();
    fn handle(&mut self, config: ApplyConfig, _: &mut Self::Context) {
        self.apply(config);
    }
}

#[cfg(test)]
mod tests;
