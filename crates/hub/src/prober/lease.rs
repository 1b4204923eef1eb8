//! Chooses one prober for hubs that share a store: a record there names it and holds its findings.
//!
//! Responsible for who probes, and for the record. The prober writes it on changes and every few
//! seconds. A hub that sees it unchanged for [`TAKE_OVER_AFTER`], by its own clock, takes over.
//! While the store does not answer, or the record is unreadable, each hub probes for itself. The record holds ids of connectors,
//! times and error codes, and nothing of any login.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use crate::connector::ConnectorHandle;
use crate::health::{Health, IN_USE_PERIOD, ProbeFailures};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_store::{
    NewRecord, Record, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError,
};

/// Time after which a prober whose record does not change counts as dead.
pub(super) const TAKE_OVER_AFTER: Duration = Duration::from_secs(12);
/// Longest time between two writes of the record.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(4);
/// Time after which a use of a connector is reported again.
const USE_REPORT_INTERVAL: Duration = Duration::from_secs(120);
/// Time after a probe in which requests of other hubs lead to no further one.
const REQUEST_INTERVAL: Duration = Duration::from_secs(10);
/// Lifetime of the record after its last write.
const RECORD_LIFETIME: Duration = Duration::from_secs(60);

/// Whether this hub probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProberRole {
    /// This hub probes: it holds the lease, or can't read the record.
    Prober,
    Follower,
}

/// The record in the store.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SharedProbeRecord {
    prober: String,
    /// Increases with each write of the prober.
    beat: u64,
    /// When any identity provider last worked.
    alive_at: Option<Timestamp>,
    failing: BTreeMap<ConnectorId, ProbeFailures>,
    /// When a login of any hub last used a connector.
    used: BTreeMap<ConnectorId, Timestamp>,
    /// Ends of the pauses after the prober's last probes.
    paused_until: BTreeMap<ConnectorId, Timestamp>,
    /// Identity providers that worked when operators probed them at other hubs since the prober's
    /// last write.
    requested: BTreeSet<ConnectorId>,
}

/// The lease of the prober among hubs that share a store.
pub(super) struct ProberLease {
    store: Arc<dyn Store>,
    hub: String,
    state: Mutex<State>,
}

struct State {
    role: ProberRole,
    /// The prober and heartbeat last seen in the record, and since when, by this hub's clock.
    seen: Option<(String, u64, Timestamp)>,
    written: SharedProbeRecord,
    written_at: Timestamp,
    alive_at: Option<Timestamp>,
    is_store_unavailable: bool,
}

type ProbedConnectors = [(ConnectorId, ConnectorHandle)];

impl ProberLease {
    /// Creates a lease that the hub does not hold yet.
    pub(super) fn new(store: Arc<dyn Store>, env: &Env) -> Self {
        let hub = env.entropy().token().chars().take(16).collect();
        let state = State {
            role: ProberRole::Follower,
            seen: None,
            written: SharedProbeRecord::default(),
            written_at: Timestamp::default(),
            alive_at: None,
            is_store_unavailable: false,
        };
        Self { store, hub, state: Mutex::new(state) }
    }

    /// Returns the hub's role after the last exchange.
    pub(super) fn role(&self) -> ProberRole {
        self.state().role
    }

    /// Returns when the prober last saw any identity provider work.
    pub(super) fn alive_at(&self) -> Option<Timestamp> {
        self.state().alive_at
    }

    /// Exchanges once: at most one read and one write.
    pub(super) async fn sync(&self, probed: &ProbedConnectors, now: Timestamp) {
        let outcome = self.exchange_record(probed, now).await;
        let mut state = self.state();
        match (&outcome, state.is_store_unavailable) {
            (Err(error), false) => {
                tracing::warn!(%error, "the store is unavailable to choose the prober; this hub probes for itself");
            }
            (Ok(_), true) => tracing::info!("the store is available again to choose the prober"),
            _ => {}
        }
        state.is_store_unavailable = outcome.is_err();
        state.role = outcome.unwrap_or(ProberRole::Prober);
    }

    async fn exchange_record(
        &self,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> Result<ProberRole, StoreError> {
        let Some(record) = self.store.load(&lease_key(), now).await? else {
            let report = self.build_record(&SharedProbeRecord::default(), probed, now);
            let draft = NewRecord::new(encode_record(&report), now + RECORD_LIFETIME);
            return match self.store.insert(lease_key(), draft, now).await {
                Ok(_) => {
                    self.note_written(report, now);
                    Ok(ProberRole::Prober)
                }
                Err(StoreError::Exists) => Ok(ProberRole::Follower),
                Err(error) => Err(error),
            };
        };
        // A record of another release may be unreadable. It stays while its prober writes it, and
        // expires without.
        let Ok(shared) = serde_json::from_slice::<SharedProbeRecord>(&record.value) else {
            return Ok(ProberRole::Prober);
        };
        if shared.prober == self.hub {
            self.write_as_prober(&shared, &record, probed, now).await
        } else {
            self.follow_prober(shared, &record, probed, now).await
        }
    }

    async fn write_as_prober(
        &self,
        shared: &SharedProbeRecord,
        record: &Record,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> Result<ProberRole, StoreError> {
        let marked = probed.iter().filter_map(|(id, handle)| {
            let used_at = (*shared.used.get(id)?).min(now);
            Some(handle.update_health(move |health| health.mark_used(used_at)))
        });
        join_all(marked).await;
        let is_requested = |(id, handle): &&(ConnectorId, ConnectorHandle)| {
            let probed_at = handle.health().documents.probed_at;
            shared.requested.contains(id)
                && probed_at.is_none_or(|at| now.since(at) >= REQUEST_INTERVAL)
        };
        for (_, handle) in probed.iter().filter(is_requested) {
            handle.update_health(Health::request_probe).await;
        }
        let is_due = {
            let state = self.state();
            let is_changed = probed.iter().any(|(id, handle)| {
                state.written.failing.get(id).copied() != handle.health().documents.failing
            });
            is_changed
                || !shared.requested.is_empty()
                || now.since(state.written_at) >= HEARTBEAT_INTERVAL
                || state.written_at > now
        };
        if !is_due {
            return Ok(ProberRole::Prober);
        }
        // If another hub was faster, it only reported a use: the next exchange writes.
        self.write(shared, record.version, probed, now).await.map(|_| ProberRole::Prober)
    }

    async fn follow_prober(
        &self,
        shared: SharedProbeRecord,
        record: &Record,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> Result<ProberRole, StoreError> {
        let is_silent = {
            let mut state = self.state();
            let said = (shared.prober.clone(), shared.beat);
            let since = match &state.seen {
                Some((prober, beat, since))
                    if (prober, *beat) == (&said.0, said.1) && *since <= now =>
                {
                    *since
                }
                _ => now,
            };
            state.seen = Some((said.0, said.1, since));
            now.since(since) >= TAKE_OVER_AFTER
        };
        if is_silent {
            let is_won = self.write(&shared, record.version, probed, now).await?;
            if is_won {
                tracing::info!("this hub takes over as the prober: the former one is silent");
            }
            return Ok(if is_won { ProberRole::Prober } else { ProberRole::Follower });
        }
        let adopted = probed.iter().map(|(id, handle)| {
            let (failing, alive_at) = (shared.failing.get(id).copied(), shared.alive_at);
            let paused_until = shared.paused_until.get(id).copied();
            let adopt = move |health: &mut Health| {
                health.adopt_document_probes(failing, alive_at, paused_until);
            };
            handle.update_health(adopt)
        });
        join_all(adopted).await;
        self.state().alive_at = shared.alive_at;
        self.report_to_prober(shared, record.version, probed, now).await?;
        Ok(ProberRole::Follower)
    }

    /// Reports to the prober which connectors this hub's logins use, and which identity providers
    /// worked when its operators probed them.
    async fn report_to_prober(
        &self,
        shared: SharedProbeRecord,
        version: RecordVersion,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let news = probed.iter().filter_map(|(id, handle)| {
            let used_at = handle.health().last_used_at(now)?;
            let is_old = shared
                .used
                .get(id)
                .is_none_or(|known| used_at.since(*known) >= USE_REPORT_INTERVAL);
            is_old.then(|| (id.clone(), used_at))
        });
        let news: Vec<_> = news.collect();
        let requested: Vec<_> =
            probed.iter().filter(|(_, handle)| handle.health().probe_requested).collect();
        if news.is_empty() && requested.is_empty() {
            return Ok(());
        }
        let mut updated = shared;
        updated.used.extend(news);
        updated.requested.extend(requested.iter().map(|(id, _)| id.clone()));
        // If another write was faster, the next exchange reports it.
        let value = encode_record(&updated);
        let replaced =
            self.store.replace(&lease_key(), version, value, now + RECORD_LIFETIME, now).await?;
        if matches!(replaced, ReplaceOutcome::Replaced(_)) {
            for (_, handle) in requested {
                handle.update_health(Health::take_probe_requests).await;
            }
        }
        Ok(())
    }

    async fn write(
        &self,
        before: &SharedProbeRecord,
        version: RecordVersion,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let report = self.build_record(before, probed, now);
        let replaced = self
            .store
            .replace(&lease_key(), version, encode_record(&report), now + RECORD_LIFETIME, now)
            .await?;
        let is_done = matches!(replaced, ReplaceOutcome::Replaced(_));
        if is_done {
            self.note_written(report, now);
        }
        Ok(is_done)
    }

    /// Returns the record that this hub writes as the prober.
    fn build_record(
        &self,
        before: &SharedProbeRecord,
        probed: &ProbedConnectors,
        now: Timestamp,
    ) -> SharedProbeRecord {
        let mut used = before.used.clone();
        used.extend(
            probed
                .iter()
                .filter_map(|(id, handle)| Some((id.clone(), handle.health().last_used_at(now)?))),
        );
        used.retain(|_, at| now.since(*at) < IN_USE_PERIOD);
        SharedProbeRecord {
            prober: self.hub.clone(),
            beat: before.beat.wrapping_add(1),
            alive_at: probed.iter().filter_map(|(_, handle)| handle.health().alive_at()).max(),
            failing: probed
                .iter()
                .filter_map(|(id, handle)| Some((id.clone(), handle.health().documents.failing?)))
                .collect(),
            paused_until: probed
                .iter()
                .filter_map(|(id, handle)| {
                    Some((id.clone(), handle.health().documents.paused_until(now)?))
                })
                .collect(),
            used,
            requested: BTreeSet::new(),
        }
    }

    /// Remembers what was written, so that only changes are written before the next heartbeat.
    fn note_written(&self, report: SharedProbeRecord, now: Timestamp) {
        let mut state = self.state();
        (state.written, state.written_at) = (report, now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn lease_key() -> RecordKey {
    RecordKey { kind: RecordKind::PROBES, name: Arc::from("probes") }
}

/// Encodes the record. Strings, numbers and maps of them always serialize to JSON.
fn encode_record(shared: &SharedProbeRecord) -> Vec<u8> {
    serde_json::to_vec(shared).unwrap_or_default()
}
