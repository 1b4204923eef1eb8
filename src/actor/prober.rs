//! The hub's own probes of its identity providers: when each is made, and what all of them together say.
//!
//! Owns: the schedule, and the decision to open a circuit. A circuit opens only with a witness: some other identity provider
//! that works, so that a failure of the hub's own way out greys nobody. Must not know: what a probe is made of. Where hubs
//! share a store, one of them probes for all (`sharing`). docs/identity-provider-health.md states the times.

mod schedule;
mod sharing;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use self::schedule::Schedule;
use self::sharing::{Lease, Role};
use super::connector::{ConnectorHandle, Probe, ProbeReport, log_turn};
use super::health::{Cause, Evidence, Health};
use super::registry::Connectors;
use crate::env::{Env, Timestamp};
use crate::ids::ConnectorId;
use crate::store::{Reach, Store};
use crate::telemetry::Metrics;

/// How often the schedule is looked at.
const ROUND: Duration = Duration::from_secs(1);
/// How often hubs that share a store exchange what they know.
const SYNC_ROUNDS: u64 = 2;
/// Working identity providers that are asked for a witness, when there is none.
const WITNESSES: usize = 3;

/// Identity providers that begin to fail within this time of each other may fail for one reason: the hub's way out.
const ONE_OUTAGE: Duration = Duration::from_secs(120);

/// What the prober works with.
pub struct ProberDeps {
    pub store: Arc<dyn Store>,
    /// `{base_url}/api/v2/callback/`; a connector's id makes it whole.
    pub callback_base: String,
    pub env: Env,
    pub metrics: Arc<Metrics>,
}

/// Whether every identity provider fails at once, for whoever reports it. Cheap to clone.
#[derive(Clone, Default)]
pub struct WayOut(Arc<AtomicBool>);

impl WayOut {
    /// What keeps the hub from its identity providers, with what to do.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        self.is_down().then(|| {
            "every identity provider fails at once, so that the fault is this hub's way out; none is greyed for it; \
             mend: check this machine's network, DNS and firewall (docs/identity-provider-health.md)"
                .to_owned()
        })
    }

    fn is_down(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct Prober {
    connectors: Connectors,
    schedule: Mutex<Schedule>,
    lease: Option<Lease>,
    callback_base: String,
    env: Env,
    metrics: Arc<Metrics>,
}

/// An identity provider that can be probed.
struct Probed {
    id: ConnectorId,
    handle: ConnectorHandle,
    evidence: Evidence,
}

/// A probe that is to be made now.
struct Due {
    id: ConnectorId,
    handle: ConnectorHandle,
    probe: Probe,
}

impl Prober {
    pub fn new(connectors: Connectors, deps: ProberDeps) -> Self {
        let ProberDeps { store, callback_base, env, metrics } = deps;
        let lease = (store.reach() == Reach::Shared).then(|| Lease::new(store, &env));
        Self { connectors, schedule: Mutex::default(), lease, callback_base, env, metrics }
    }

    /// Probes for ever.
    pub async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(ROUND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round: u64 = 0;
        loop {
            ticks.tick().await;
            if round.is_multiple_of(SYNC_ROUNDS) {
                self.sync().await;
            }
            round += 1;
            for due in self.round() {
                let prober = Arc::clone(&self);
                tokio::spawn(async move { prober.make(due).await });
            }
        }
    }

    /// Exchanges what is known with hubs that share the store.
    async fn sync(&self) {
        let Some(lease) = &self.lease else { return };
        let probed: Vec<(ConnectorId, Arc<Health>)> = self
            .probed(self.env.now())
            .into_iter()
            .map(|one| (one.id, Arc::clone(one.handle.health())))
            .collect();
        lease.sync(&probed, self.env.now()).await;
    }

    /// Decides what is known so far, and returns the probes that are to be made now.
    fn round(&self) -> Vec<Due> {
        let now = self.env.now();
        let is_way_out_back = self.decide(now);
        let probed = self.probed(now);
        let role = self.lease.as_ref().map_or(Role::Prober, Lease::role);
        self.metrics.prober(role == Role::Prober);
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.follow(&probed.iter().map(|one| one.id.clone()).collect::<Vec<_>>(), now);
        if role == Role::Follower {
            schedule.postpone_all(now);
        }
        if is_way_out_back {
            probed.iter().for_each(|one| schedule.hurry(&one.id, now));
        }
        for witness in self.missing_witnesses(&probed, &schedule) {
            schedule.hurry(&witness, now);
        }
        let mut due = Vec::new();
        let mut room = schedule.most_at_once();
        for Probed { id, handle, .. } in probed {
            let health = handle.health();
            if health.take_documents_suspicion() {
                schedule.hurry(&id, now);
            }
            if role == Role::Prober
                && room > 0
                && schedule.begin_documents(&id, health.in_use_since(now).is_some(), now)
            {
                room -= 1;
                due.push(Due { id: id.clone(), handle: handle.clone(), probe: Probe::Documents });
            }
            if health.wants_login_probe(now) && schedule.begin_login(&id, now) {
                let redirect_uri = format!("{}{id}", self.callback_base);
                due.push(Due { id, handle, probe: Probe::Login { redirect_uri } });
            }
        }
        due
    }

    async fn make(&self, Due { id, handle, probe }: Due) {
        let is_login = matches!(probe, Probe::Login { .. });
        let ProbeReport { retry_after } = handle.probe(probe).await;
        let now = self.env.now();
        let health = handle.health();
        let confirm =
            !is_login && health.documents_failing().is_some_and(|failing| !failing.is_condemning());
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.finish(&id, is_login, confirm, retry_after, now);
    }

    /// Opens the circuits of those that fail while others work; where all fail, opens none and reports it. Returns whether the
    /// way out has just come back, so that what each of them is worth must be seen anew.
    fn decide(&self, now: Timestamp) -> bool {
        let probed = self.probed(now);
        let WayOut(way_out) = &self.connectors.way_out;
        let comparable = comparable(&probed);
        let all_fail = comparable.len() > 1
            && comparable.iter().all(|one| one.evidence.failing_since.is_some())
            && comparable.iter().any(|one| one.evidence.condemned.is_some());
        let was_down = way_out.swap(all_fail, Ordering::Relaxed);
        match (was_down, all_fail) {
            (false, true) => tracing::error!(
                identity_providers = comparable.len(),
                "every identity provider fails at once: the hub's own way out is at fault, and none is greyed"
            ),
            (true, false) => tracing::info!("the hub reaches identity providers again"),
            _ => {}
        }
        self.metrics.way_out_down(all_fail);
        if was_down && !all_fail {
            // One whose circuit is open had failed before: that was not the hub's own doing.
            probed
                .iter()
                .filter(|one| !one.evidence.is_open)
                .for_each(|one| one.handle.health().forgive());
            return true;
        }
        for Probed { id, handle, evidence } in &comparable {
            let health = handle.health();
            if all_fail {
                log_turn(id, health.withhold(now));
            } else if let Some((cause, since)) = evidence.condemned
                && !evidence.is_open
                && (comparable.len() == 1 || self.has_witness(&probed, id, evidence, cause, since))
            {
                log_turn(id, health.open(cause, now));
            }
        }
        false
    }

    /// Whether something has worked since, so that the fault is not the hub's own.
    fn has_witness(
        &self,
        probed: &[Probed],
        id: &ConnectorId,
        own: &Evidence,
        cause: Cause,
        since: Timestamp,
    ) -> bool {
        let is_after = |at: Option<Timestamp>| at.is_some_and(|at| at >= since);
        let others = probed
            .iter()
            .filter(|other| other.id != *id)
            .any(|other| is_after(other.evidence.alive_at));
        let shared = self.lease.as_ref().is_some_and(|lease| is_after(lease.alive_at()));
        others || shared || (cause != Cause::Documents && is_after(own.documents_at))
    }

    /// Identity providers whose word would show whether a failure is the hub's own.
    fn missing_witnesses(&self, probed: &[Probed], schedule: &Schedule) -> Vec<ConnectorId> {
        let doubtful = |one: &&Probed| {
            let since =
                one.evidence.failing_since.or(one.evidence.condemned.map(|(_, since)| since));
            since.filter(|since| {
                !one.evidence.is_open
                    && !self.has_witness(probed, &one.id, &one.evidence, Cause::Documents, *since)
            })
        };
        let Some(since) = probed.iter().filter_map(|one| doubtful(&one)).min() else {
            return Vec::new();
        };
        let mut others: Vec<&Probed> =
            probed.iter().filter(|one| one.evidence.failing_since.is_none()).collect();
        let asked = others.iter().filter(|one| schedule.was_asked_since(&one.id, since)).count();
        others.retain(|one| !schedule.was_asked_since(&one.id, since));
        // Those that worked last are the likeliest to work.
        others.sort_by_key(|one| std::cmp::Reverse(one.evidence.alive_at));
        others.into_iter().take(WITNESSES.saturating_sub(asked)).map(|one| one.id.clone()).collect()
    }

    /// Every connector that is switched on and whose identity provider is another machine's, by id.
    fn probed(&self, now: Timestamp) -> Vec<Probed> {
        let probed = |(id, handle): (ConnectorId, ConnectorHandle)| {
            let evidence = handle.health().evidence(now);
            Probed { id, handle, evidence }
        };
        self.connectors.probed().into_iter().map(probed).collect()
    }
}

/// Returns those that show whether the way out works: all but those whose circuit is open and that began to fail more than
/// [`ONE_OUTAGE`] before the latest one did.
fn comparable(probed: &[Probed]) -> Vec<&Probed> {
    let latest = probed.iter().filter_map(|one| one.evidence.failing_since).max();
    let is_old = |since: Timestamp| latest.is_some_and(|latest| latest.since(since) > ONE_OUTAGE);
    probed
        .iter()
        .filter(|one| !(one.evidence.is_open && one.evidence.failing_since.is_some_and(is_old)))
        .collect()
}
