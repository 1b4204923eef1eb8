//! Opens the store of a hub: the memory of this process, or Redis servers that several hubs share.

use std::sync::Arc;

use super::build_error::BuildError;
use super::snapshot::ShutdownSnapshot;
use crate::actor::blocks::Blocks;
use crate::config::LoadedConfig;
use crate::config::model::{LimitsConfig, StoreConfig};
use crate::env::Env;
use crate::store::counters::Counters;
use crate::store::memory::MemoryStore;
use crate::store::metered::{self, MeteredStore};
use crate::store::redis::{RedisStore, RedisStoreError};
use crate::store::{Capacities, Store, StoreScope};
use crate::telemetry::Metrics;

/// Logouts that wait for the browser to return from an identity provider; far fewer than sessions.
const MAX_LOGOUTS: usize = 50_000;
/// Logout requests by POST that wait for one redirect. Anyone with an ID token can send them, so
/// they have a capacity of their own; beyond it a request continues without its parameters.
const MAX_PENDING_LOGOUTS: usize = 10_000;
/// Codes of the hub's own login pages, which wait for one redirect, a minute at most.
const MAX_OWN_CODES: usize = 50_000;
/// One record each; more only for servers that have lost theirs and get it again.
const MAX_BLOCK_RECORDS: usize = 100;
const MAX_PROBE_RECORDS: usize = 100;

/// Returns why the store does not answer, as far as is known without a call.
pub(super) type StoreCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The store with its metrics, and what belongs to it.
pub(super) struct OpenedStore {
    pub store: Arc<dyn Store>,
    pub check: StoreCheck,
    /// Counters that hubs with a shared store sum up; `None` for the embedded store.
    pub counters: Option<Arc<dyn Counters>>,
    /// Snapshot of the embedded store, if configured.
    pub snapshot: Option<ShutdownSnapshot>,
}

/// Opens the configured store. If shared servers do not answer, the hub starts and becomes ready
/// when they do.
///
/// # Errors
/// Returns an error if the servers are configured unsafely, or the snapshot can't be written.
pub(super) fn open_store(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<OpenedStore, BuildError> {
    let capacities = capacities(&loaded.settings.limits);
    let (mut snapshot, mut counters): (_, Option<Arc<dyn Counters>>) = (None, None);
    let (store, check): (Arc<dyn Store>, StoreCheck) = match &loaded.settings.store {
        None => (Arc::new(MemoryStore::new(capacities)), Box::new(|| Ok(()))),
        Some(StoreConfig::Memory(config)) => {
            let store = Arc::new(MemoryStore::new(capacities));
            snapshot = Some(ShutdownSnapshot::new(config, loaded, &store, env)?);
            (store, Box::new(|| Ok(())))
        }
        Some(StoreConfig::Redis(config)) => {
            let store = RedisStore::new(config, &loaded.store, capacities, env.clone(), metrics)?;
            let store = Arc::new(store.for_issuer(&loaded.issuer));
            match store.join_blocking()? {
                Ok(summary) => tracing::info!(store = summary, "shared store connected"),
                Err(trouble) => tracing::error!(
                    trouble,
                    "the store does not answer yet; the hub starts, and is not ready"
                ),
            }
            let checked_store = Arc::clone(&store);
            counters = Some(Arc::clone(&store) as Arc<_>);
            (store, Box::new(move || checked_store.last_error().map_or(Ok(()), Err)))
        }
    };
    let store: Arc<dyn Store> = Arc::new(MeteredStore::new(store, metrics));
    let metered_store = Arc::downgrade(&store);
    metrics.sample_with(move |metrics| {
        if let Some(store) = metered_store.upgrade() {
            metered::report_records(store.as_ref(), &capacities, metrics);
        }
    });
    Ok(OpenedStore { store, check, counters, snapshot })
}

/// Shares the blocks through a shared store, and reads them before requests are served if the store
/// answers in time.
pub(super) fn share_blocks(blocks: &Blocks, store: &Arc<dyn Store>) {
    if store.scope() == StoreScope::Process {
        return;
    }
    blocks.share_through(Arc::clone(store));
    // The caller can't await, and the reading needs a timer.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            {
                runtime.block_on(blocks.refresh());
            }
        });
    });
    actix::spawn(blocks.clone().run_refresh());
}

/// Checks the shared store for `check --online`; returns `None` for the embedded store.
///
/// # Errors
/// Returns an error if the configuration can't be used.
pub async fn probe_store(
    loaded: &LoadedConfig,
    env: &Env,
) -> Result<Option<Result<String, String>>, BuildError> {
    let Some(StoreConfig::Redis(config)) = &loaded.settings.store else { return Ok(None) };
    let metrics = Arc::new(Metrics::new()?);
    let store = RedisStore::new(
        config,
        &loaded.store,
        capacities(&loaded.settings.limits),
        env.clone(),
        &metrics,
    )?;
    Ok(Some(match store.for_issuer(&loaded.issuer).inspect().await {
        Ok(answer) => answer,
        Err(error @ RedisStoreError::Misconfigured { .. }) => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    }))
}

fn capacities(limits: &LimitsConfig) -> Capacities {
    Capacities {
        logins: limits.logins,
        login_bytes: limits.login_bytes(),
        sessions: limits.sessions,
        grants: limits.grants,
        logout_redirects: MAX_LOGOUTS,
        pending_logouts: MAX_PENDING_LOGOUTS,
        // At most one assertion for each code; both are remembered for minutes.
        assertions: limits.grants,
        login_page_codes: MAX_OWN_CODES,
        blocks: MAX_BLOCK_RECORDS,
        probes: MAX_PROBE_RECORDS,
    }
}
