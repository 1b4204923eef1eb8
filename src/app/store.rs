//! The store of a running hub: this process's memory, or servers that several hubs share.

use std::sync::Arc;

use super::BuildFault;
use super::snapshot::Successor;
use crate::actor::blocks::Blocks;
use crate::config::Loaded;
use crate::config::model::{Limits, StoreConfig};
use crate::env::Env;
use crate::store::counters::Counters;
use crate::store::memory::MemoryStore;
use crate::store::metered::{self, MeteredStore};
use crate::store::redis::{RedisFault, RedisStore};
use crate::store::{Capacities, Reach, Store};
use crate::telemetry::Metrics;

/// Logout records wait for a browser to come back from an identity provider; far fewer than sessions.
const LOGOUTS: usize = 50_000;
/// Logout requests that came by POST wait for one redirect. Anybody with an ID token can send them, so they have places
/// of their own; whoever finds none goes on without.
const PARKED: usize = 10_000;
/// Codes of the hub's own login pages wait for one redirect, and take their places for a minute at most.
const OWN_CODES: usize = 50_000;
/// One record each; more places only for servers that have lost it, and get it again.
const BLOCKS: usize = 100;
const PROBES: usize = 100;

/// Why the store does not answer, as far as is known without asking.
pub(super) type Complaint = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The store, with its verbs counted, and what says why it does not answer.
pub(super) struct Opened {
    pub store: Arc<dyn Store>,
    pub complaint: Complaint,
    /// Where hubs that share it sum up what each has counted.
    pub counters: Option<Arc<dyn Counters>>,
    /// Who takes up what this process's memory holds at its end.
    pub successor: Option<Successor>,
}

/// # Errors
/// Shared servers that must not be used as they are set up; a place where no snapshot can be kept. Servers that are away are waited for by nobody: the hub
/// starts, and is ready when they answer.
pub(super) fn open(
    loaded: &Loaded,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<Opened, BuildFault> {
    let capacities = capacities(&loaded.settings.limits);
    let (mut successor, mut counters): (_, Option<Arc<dyn Counters>>) = (None, None);
    let (store, complaint): (Arc<dyn Store>, Complaint) = match &loaded.settings.store {
        None => (Arc::new(MemoryStore::new(capacities)), Box::new(|| Ok(()))),
        Some(StoreConfig::Memory(config)) => {
            let store = Arc::new(MemoryStore::new(capacities));
            successor = Some(Successor::new(config, loaded, &store, env)?);
            (store, Box::new(|| Ok(())))
        }
        Some(StoreConfig::Redis(config)) => {
            let store = RedisStore::new(config, &loaded.store, capacities, env.clone(), metrics)?;
            let store = Arc::new(store.of_hub(&loaded.issuer));
            match store.join_and_wait()? {
                Ok(summary) => tracing::info!(store = summary, "the store is shared"),
                Err(trouble) => tracing::error!(
                    trouble,
                    "the store does not answer yet; the hub starts, and is not ready"
                ),
            }
            let asked = Arc::clone(&store);
            counters = Some(Arc::clone(&store) as Arc<_>);
            (store, Box::new(move || asked.complaint().map_or(Ok(()), Err)))
        }
    };
    let store: Arc<dyn Store> = Arc::new(MeteredStore::new(store, metrics));
    let counted = Arc::downgrade(&store);
    metrics.sample_with(move |metrics| {
        if let Some(store) = counted.upgrade() {
            metered::report_records(store.as_ref(), &capacities, metrics);
        }
    });
    Ok(Opened { store, complaint, counters, successor })
}

/// Where the store is shared, so are the blocks. They are read before anybody is served, if the store answers in time.
pub(super) fn share_blocks(blocks: &Blocks, store: &Arc<dyn Store>) {
    if store.reach() == Reach::Process {
        return;
    }
    blocks.share(Arc::clone(store));
    // Whoever builds a hub can't await, and the reading needs a clock.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            {
                runtime.block_on(blocks.refresh());
            }
        });
    });
    actix::spawn(blocks.clone().follow());
}

/// What a shared store says of itself; `None` where the hub has its own memory. For `check --online`.
///
/// # Errors
/// The configuration itself can't be used.
pub async fn probe_store(
    loaded: &Loaded,
    env: &Env,
) -> Result<Option<Result<String, String>>, BuildFault> {
    let Some(StoreConfig::Redis(config)) = &loaded.settings.store else { return Ok(None) };
    let metrics = Arc::new(Metrics::new(env.now())?);
    let store = RedisStore::new(
        config,
        &loaded.store,
        capacities(&loaded.settings.limits),
        env.clone(),
        &metrics,
    )?;
    Ok(Some(match store.of_hub(&loaded.issuer).inspect().await {
        Ok(answer) => answer,
        Err(unfit @ RedisFault::Unfit { .. }) => Err(unfit.to_string()),
        Err(fault) => return Err(fault.into()),
    }))
}

fn capacities(limits: &Limits) -> Capacities {
    Capacities {
        logins: limits.logins,
        login_bytes: limits.login_bytes(),
        sessions: limits.sessions,
        grants: limits.grants,
        logouts: LOGOUTS,
        parked: PARKED,
        // A code is redeemed with one assertion at most, and an assertion is kept for minutes, as a code's tombstone is.
        assertions: limits.grants,
        own_codes: OWN_CODES,
        blocks: BLOCKS,
        probes: PROBES,
    }
}
