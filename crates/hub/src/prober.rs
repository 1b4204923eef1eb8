//! Probes the identity providers: when each is probed, and what all results together say.
//!
//! Responsible for the schedule, and for the decision to open a circuit. A circuit opens only with
//! a witness, another identity provider that works: a fault of the hub's own network disables none.
//! Does not depend on what a probe does. Where hubs share a store, one of them probes for all
//! (`lease`). docs/identity-provider-health.md states the times.

mod lease;
mod schedule;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::MissedTickBehavior;

use self::lease::{ProberLease, ProberRole};
use self::schedule::Schedule;
use super::connector::ConnectorHandle;
use super::health::{Health, HealthEvidence, OpenCause};
use super::registry::Connectors;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_grants::HubCore;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;
use passerelle_store::{Store, StoreScope};
use passerelle_telemetry::CheckFinding;

/// Interval between two checks of the schedule.
const ROUND_INTERVAL: Duration = Duration::from_secs(1);
/// Rounds between two exchanges of hubs that share a store.
const ROUNDS_BETWEEN_SYNCS: u64 = 2;
/// Maximum number of working identity providers that are probed to find a witness.
const MAX_WITNESS_PROBES: usize = 3;

/// Identity providers that begin to fail within this time of each other may have one cause: the
/// hub's own network.
const COMMON_OUTAGE_PERIOD: Duration = Duration::from_secs(120);

/// Whether every identity provider fails at once, so that the hub's own network is at fault. Cheap
/// to clone.
#[derive(Clone, Default)]
pub struct OutboundNetwork(Arc<AtomicBool>);

impl OutboundNetwork {
    /// Returns what keeps the hub from its identity providers, with the fix.
    pub fn warning(&self) -> Option<CheckFinding> {
        self.is_down().then(|| {
            CheckFinding::new(
                "every identity provider fails at once: this hub's network is at fault, so no identity provider is disabled",
                "check this machine's network, DNS and firewall (docs/identity-provider-health.md)",
            )
        })
    }

    fn is_down(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Prober of all identity providers.
pub(super) struct Prober {
    connectors: Connectors,
    schedule: Arc<Mutex<Schedule>>,
    lease: Option<ProberLease>,
    core: Arc<HubCore>,
}

/// An enabled connector whose identity provider is on another machine.
struct RemoteConnector {
    id: ConnectorId,
    handle: ConnectorHandle,
    evidence: HealthEvidence,
    /// False if its file switches the probes off: then only logins show whether it works.
    is_probed: bool,
}

impl Prober {
    /// Creates the prober.
    pub(crate) fn new(connectors: Connectors, store: Arc<dyn Store>, core: Arc<HubCore>) -> Self {
        let lease =
            (store.scope() == StoreScope::Shared).then(|| ProberLease::new(store, &core.env));
        Self { connectors, schedule: Arc::default(), lease, core }
    }

    /// Runs the probes in rounds; never returns.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(ROUND_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round: u64 = 0;
        loop {
            ticks.tick().await;
            if round.is_multiple_of(ROUNDS_BETWEEN_SYNCS) {
                self.sync_with_store().await;
            }
            round += 1;
            for due in self.due_probes().await {
                let prober = Arc::clone(&self);
                tokio::spawn(async move { prober.run_probe(due).await });
            }
        }
    }

    /// Exchanges findings with hubs that share the store.
    async fn sync_with_store(&self) {
        let Some(lease) = &self.lease else { return };
        let probed: Vec<(ConnectorId, ConnectorHandle)> = self
            .connectors
            .remote_connectors()
            .into_iter()
            .filter_map(|(id, handle, is_probed)| is_probed.then_some((id, handle)))
            .collect();
        lease.sync(&probed, self.core.env.now()).await;
    }

    /// Updates the circuits, and returns the connectors to probe now.
    async fn due_probes(&self) -> Vec<RemoteConnector> {
        let now = self.core.env.now();
        let role = self.lease.as_ref().map_or(ProberRole::Prober, ProberLease::role);
        self.core.metrics.set_probe_leader(role == ProberRole::Prober);
        self.connectors.is_probed_elsewhere.store(role == ProberRole::Follower, Ordering::Relaxed);
        let mut remote = self.remote_connectors(role, now).await;
        let is_network_back = self.update_circuits(&remote, now).await;
        for one in &mut remote {
            one.evidence.is_open = one.handle.circuit_state() == CircuitState::Open;
        }
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let probed: Vec<ConnectorId> =
            remote.iter().filter(|one| one.is_probed).map(|one| one.id.clone()).collect();
        schedule.sync_entries(&probed, now);
        if role == ProberRole::Follower {
            schedule.postpone_all(now);
        }
        if is_network_back {
            for one in &remote {
                schedule.probe_soon(&one.id, now);
            }
        } else {
            for witness in self.missing_witnesses(&remote, &schedule) {
                schedule.probe_soon(&witness, now);
            }
        }
        let mut due = Vec::new();
        let room = schedule.max_probes_per_round();
        for one in remote {
            let health = one.handle.health();
            if role == ProberRole::Prober
                && due.len() < room
                && health.documents.paused_until(now).is_none()
                && schedule.begin_documents(&one.id, health.last_used_at(now).is_some(), now)
            {
                due.push(one);
            }
        }
        due
    }

    async fn run_probe(&self, RemoteConnector { id, handle, .. }: RemoteConnector) {
        let _recorded = handle.probe().await;
        let now = self.core.env.now();
        let failing = handle.health().documents.failing;
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.finish_documents(&id, failing.as_ref(), now);
    }

    /// Opens the circuits of those that fail while others work. If all fail, opens none and reports
    /// it. Returns whether the hub's network has just recovered, so that all must be probed again.
    async fn update_circuits(&self, probed: &[RemoteConnector], now: Timestamp) -> bool {
        let OutboundNetwork(is_down) = &self.connectors.outbound;
        let comparable = comparable_connectors(probed);
        let mut probed_ones = comparable.iter().filter(|one| one.is_probed);
        let all_fail = probed_ones.clone().count() > 1
            && probed_ones.clone().all(|one| one.evidence.failing_since.is_some())
            && probed_ones.any(|one| one.evidence.open_cause.is_some());
        let was_down = is_down.swap(all_fail, Ordering::Relaxed);
        match (was_down, all_fail) {
            (false, true) => tracing::error!(
                identity_providers = comparable.len(),
                "every identity provider fails at once: this hub's network is at fault, so no identity provider is disabled"
            ),
            (true, false) => tracing::info!("the hub reaches identity providers again"),
            _ => {}
        }
        self.core.metrics.set_egress_down(all_fail);
        if was_down && !all_fail {
            let forget = move |health: &mut Health| health.forget_failures_unless_open(now);
            join_all(probed.iter().map(|one| one.handle.update_health(forget))).await;
            return true;
        }
        if all_fail {
            let close = Health::close_circuit_keeping_evidence;
            join_all(comparable.iter().map(|one| one.handle.update_health(close))).await;
            return false;
        }
        let is_only_one = comparable.len() == 1;
        let opened = comparable.iter().filter_map(|one| {
            let (cause, since) = one.evidence.open_cause.filter(|_| !one.evidence.is_open)?;
            (is_only_one || self.has_witness(probed, one, cause, since)).then(|| {
                one.handle.update_health(move |health| health.open_circuit_if_failing(cause, now))
            })
        });
        join_all(opened).await;
        false
    }

    /// Returns whether anything has worked since, so that the fault is not the hub's own.
    fn has_witness(
        &self,
        probed: &[RemoteConnector],
        failing: &RemoteConnector,
        cause: OpenCause,
        since: Timestamp,
    ) -> bool {
        let is_after = |at: Option<Timestamp>| at.is_some_and(|at| at >= since);
        let others = probed
            .iter()
            .filter(|other| other.id != failing.id)
            .any(|other| is_after(other.evidence.alive_at));
        let shared = self.lease.as_ref().is_some_and(|lease| is_after(lease.alive_at()));
        others
            || shared
            || (cause != OpenCause::Documents && is_after(failing.evidence.documents_at))
    }

    /// Returns identity providers whose probes would show whether a failure is the hub's own.
    fn missing_witnesses(
        &self,
        probed: &[RemoteConnector],
        schedule: &Schedule,
    ) -> Vec<ConnectorId> {
        let doubtful = |one: &&RemoteConnector| {
            let since =
                one.evidence.failing_since.or(one.evidence.open_cause.map(|(_, since)| since));
            since.filter(|since| {
                !one.evidence.is_open
                    && !self.has_witness(probed, one, OpenCause::Documents, *since)
            })
        };
        let Some(since) = probed.iter().filter_map(|one| doubtful(&one)).min() else {
            return Vec::new();
        };
        let mut others: Vec<&RemoteConnector> =
            probed.iter().filter(|one| one.evidence.failing_since.is_none()).collect();
        let probed_count =
            others.iter().filter(|one| schedule.was_probed_since(&one.id, since)).count();
        others.retain(|one| !schedule.was_probed_since(&one.id, since));
        // Those that worked last are the likeliest to work.
        others.sort_by_key(|one| std::cmp::Reverse(one.evidence.alive_at));
        others
            .into_iter()
            .take(MAX_WITNESS_PROBES.saturating_sub(probed_count))
            .map(|one| one.id.clone())
            .collect()
    }

    /// Returns every enabled connector whose identity provider is on another machine, by id. A
    /// circuit whose minimum time is over is half-open then. All actors are asked at once, so that
    /// the prober waits for several that hang as long as for one. For an actor that does not
    /// answer, what it published last counts. A follower leaves the requests to the lease.
    async fn remote_connectors(&self, role: ProberRole, now: Timestamp) -> Vec<RemoteConnector> {
        let ask = |(id, handle, is_probed): (ConnectorId, ConnectorHandle, bool)| async move {
            let (schedule, examined) = (Arc::clone(&self.schedule), id.clone());
            let examine = move |health: &mut Health| {
                // Scheduled here, where none is lost: not one that comes now, nor that of an actor
                // whose answer is late.
                let mut schedule = schedule.lock().unwrap_or_else(PoisonError::into_inner);
                if role == ProberRole::Prober {
                    schedule.take_requests(&examined, health, now);
                }
                health.half_open_if_due(now);
                health.evidence(now)
            };
            let answer = handle.update_health(examine).await;
            let evidence = answer.unwrap_or_else(|| handle.health().evidence(now));
            RemoteConnector { id, handle, evidence, is_probed }
        };
        join_all(self.connectors.remote_connectors().into_iter().map(ask)).await
    }
}

/// Returns those that show whether the hub's network works: all but those whose circuit is open and
/// that began to fail more than [`COMMON_OUTAGE_PERIOD`] before the latest one did.
fn comparable_connectors(probed: &[RemoteConnector]) -> Vec<&RemoteConnector> {
    let latest = probed.iter().filter_map(|one| one.evidence.failing_since).max();
    let is_old =
        |since: Timestamp| latest.is_some_and(|latest| latest.since(since) > COMMON_OUTAGE_PERIOD);
    probed
        .iter()
        .filter(|one| !(one.evidence.is_open && one.evidence.failing_since.is_some_and(is_old)))
        .collect()
}
