//! One prober for hubs that share a store: a record there names it, and tells the others what it has found.
//!
//! Owns: who probes, and the record. The prober writes it when something has changed and every few seconds; a hub that sees
//! it unchanged for [`TAKE_OVER_AFTER`], by its own clock, takes over. While the store does not answer, each hub probes for
//! itself. The record holds names of connectors, moments and error codes, and nothing of any login.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::actor::connector::log_turn;
use crate::actor::health::{Failing, Health, IN_USE};
use crate::env::{Env, Timestamp};
use crate::ids::ConnectorId;
use crate::store::{Draft, Key, Kind, Record, Replaced, Store, StoreFault, Version};

/// A prober whose record does not change for so long has died.
pub const TAKE_OVER_AFTER: Duration = Duration::from_secs(12);
/// The prober writes its record at least this often.
const HEARTBEAT: Duration = Duration::from_secs(4);
/// A use that the record knows of is not reported again for this long.
const USE_REPORTED_FOR: Duration = Duration::from_secs(120);
/// The record outlives its writer by this.
const LIFE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// This hub probes: it is alone, holds the record, or can't read it.
    Prober,
    Follower,
}

/// The record.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Shared {
    prober: String,
    /// Grows with each write of the prober's.
    beat: u64,
    /// When any identity provider was last seen to work.
    alive_at: Option<Timestamp>,
    failing: BTreeMap<ConnectorId, Failing>,
    /// When a login of any hub last used a connector.
    used: BTreeMap<ConnectorId, Timestamp>,
}

pub struct Lease {
    store: Arc<dyn Store>,
    hub: String,
    state: Mutex<State>,
}

struct State {
    role: Role,
    /// What the record said last, and since when it says so by this hub's clock.
    seen: Option<(String, u64, Timestamp)>,
    written: Shared,
    written_at: Timestamp,
    alive_at: Option<Timestamp>,
    is_store_away: bool,
}

type Probed = [(ConnectorId, Arc<Health>)];

impl Lease {
    pub fn new(store: Arc<dyn Store>, env: &Env) -> Self {
        let hub = env.entropy().token().chars().take(16).collect();
        let state = State {
            role: Role::Follower,
            seen: None,
            written: Shared::default(),
            written_at: Timestamp::default(),
            alive_at: None,
            is_store_away: false,
        };
        Self { store, hub, state: Mutex::new(state) }
    }

    pub fn role(&self) -> Role {
        self.state().role
    }

    /// When the prober last saw any identity provider work.
    pub fn alive_at(&self) -> Option<Timestamp> {
        self.state().alive_at
    }

    /// One exchange: at most one read and one write.
    pub async fn sync(&self, probed: &Probed, now: Timestamp) {
        let outcome = self.exchange(probed, now).await;
        let mut state = self.state();
        match (&outcome, state.is_store_away) {
            (Err(fault), false) => {
                tracing::warn!(%fault, "the store can't be asked which hub probes; this hub probes for itself")
            }
            (Ok(_), true) => tracing::info!("the store can be asked which hub probes"),
            _ => {}
        }
        state.is_store_away = outcome.is_err();
        state.role = outcome.unwrap_or(Role::Prober);
    }

    async fn exchange(&self, probed: &Probed, now: Timestamp) -> Result<Role, StoreFault> {
        let Some(record) = self.store.load(&key(), now).await? else {
            let report = self.report(&Shared::default(), probed, now);
            let draft = Draft {
                value: encode(&report),
                expires_at: now + LIFE,
                unread_until: None,
                families: Arc::default(),
            };
            return match self.store.insert(key(), draft, now).await {
                Ok(_) => {
                    self.note_written(report, now);
                    Ok(Role::Prober)
                }
                Err(StoreFault::Exists) => Ok(Role::Follower),
                Err(fault) => Err(fault),
            };
        };
        // One that makes no sense is another release's: whoever sees it unchanged replaces it.
        let shared: Shared = serde_json::from_slice(&record.value).unwrap_or_default();
        if shared.prober == self.hub {
            self.lead(&shared, &record, probed, now).await
        } else {
            self.heed(shared, &record, probed, now).await
        }
    }

    async fn lead(
        &self,
        shared: &Shared,
        record: &Record,
        probed: &Probed,
        now: Timestamp,
    ) -> Result<Role, StoreFault> {
        for (id, health) in probed {
            if let Some(used_at) = shared.used.get(id) {
                health.mark_used((*used_at).min(now));
            }
        }
        let is_due = {
            let state = self.state();
            let is_changed = probed.iter().any(|(id, health)| {
                state.written.failing.get(id).copied() != health.documents_failing()
            });
            is_changed || now.since(state.written_at) >= HEARTBEAT || state.written_at > now
        };
        if !is_due {
            return Ok(Role::Prober);
        }
        // Where another hub was faster, it only reported a use: the next exchange writes.
        self.write(shared, record.version, probed, now).await.map(|_| Role::Prober)
    }

    async fn heed(
        &self,
        shared: Shared,
        record: &Record,
        probed: &Probed,
        now: Timestamp,
    ) -> Result<Role, StoreFault> {
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
                tracing::info!(
                    "this hub probes the identity providers from now on: the one that did has fallen silent"
                );
            }
            return Ok(if is_won { Role::Prober } else { Role::Follower });
        }
        for (id, health) in probed {
            log_turn(
                id,
                health.adopt_documents(shared.failing.get(id).copied(), shared.alive_at, now),
            );
        }
        self.state().alive_at = shared.alive_at;
        self.report_use(shared, record.version, probed, now).await?;
        Ok(Role::Follower)
    }

    /// Tells the prober which connectors logins of this hub use.
    async fn report_use(
        &self,
        shared: Shared,
        version: Version,
        probed: &Probed,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        let news = probed.iter().filter_map(|(id, health)| {
            let used_at = health.in_use_since(now)?;
            let is_old =
                shared.used.get(id).is_none_or(|known| used_at.since(*known) >= USE_REPORTED_FOR);
            is_old.then(|| (id.clone(), used_at))
        });
        let news: Vec<_> = news.collect();
        if news.is_empty() {
            return Ok(());
        }
        let mut told = shared;
        told.used.extend(news);
        // Lost against another write: the next exchange tells it.
        self.store.replace(&key(), version, encode(&told), now + LIFE, now).await.map(|_| ())
    }

    async fn write(
        &self,
        before: &Shared,
        version: Version,
        probed: &Probed,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        let report = self.report(before, probed, now);
        let replaced =
            self.store.replace(&key(), version, encode(&report), now + LIFE, now).await?;
        let is_done = matches!(replaced, Replaced::Done(_));
        if is_done {
            self.note_written(report, now);
        }
        Ok(is_done)
    }

    /// The record as this hub writes it, being the prober.
    fn report(&self, before: &Shared, probed: &Probed, now: Timestamp) -> Shared {
        let mut used = before.used.clone();
        used.extend(
            probed.iter().filter_map(|(id, health)| Some((id.clone(), health.in_use_since(now)?))),
        );
        used.retain(|_, at| now.since(*at) < IN_USE);
        Shared {
            prober: self.hub.clone(),
            beat: before.beat.wrapping_add(1),
            alive_at: probed.iter().filter_map(|(_, health)| health.evidence(now).alive_at).max(),
            failing: probed
                .iter()
                .filter_map(|(id, health)| Some((id.clone(), health.documents_failing()?)))
                .collect(),
            used,
        }
    }

    /// Remembers what the store has accepted, so that only news is written before the next heartbeat.
    fn note_written(&self, report: Shared, now: Timestamp) {
        let mut state = self.state();
        (state.written, state.written_at) = (report, now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key() -> Key {
    Key { kind: Kind::Probes, name: Arc::from("probes") }
}

/// Strings, numbers and maps of them: writing these as JSON can't fail.
fn encode(shared: &Shared) -> Vec<u8> {
    serde_json::to_vec(shared).unwrap_or_default()
}
