//! Opens the store of a hub, whatever its kind.

use std::sync::Arc;

use super::build_error::BuildError;
use passerelle_config::LoadedConfig;
use passerelle_config::model::LimitsConfig;
use passerelle_grants::UsedJtis;
use passerelle_hub::runtime_entries::{EntryKind, RuntimeEntries};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_store::kind::{
    OpenStoreError, OpenedStore, StoreContext, StoreOrigin, StoreSettings, StoreSnapshot,
};
use passerelle_store::metered::{self, MeteredStore};
use passerelle_store::{Capacities, RecordKind, Store, StoreScope, Usage};
use passerelle_telemetry::Metrics;

/// Logouts that wait for the browser to return from an identity provider; far fewer than sessions.
const MAX_LOGOUT_REDIRECTS: usize = 50_000;
/// Logout requests by POST that wait for one redirect. Anyone with an ID token can send them, so
/// they have a capacity of their own; beyond it a request continues without its parameters.
const MAX_PENDING_LOGOUTS: usize = 10_000;
/// Codes of the hub's own login pages, which wait for one redirect, a minute at most. More than 2,000
/// presentations of the largest size wait for their browsers at once.
const LOGIN_PAGE_CODE_USAGE: Usage = Usage { records: 50_000, bytes: 128 << 20 };
/// Records of the kind `BLOCKS`: the operators' blocks and notices, and the audit checkpoints. The
/// margin is for records that are written again after a failover.
const MAX_BLOCK_RECORDS: usize = 100;
/// Records that name a hub: the prober, one that admits logins, the one that rotates keys. The margin
/// is the same.
const MAX_PROBE_RECORDS: usize = 100;
/// Records of the queue of logout tokens, a few of many tokens each.
const MAX_LOGOUT_NOTICE_RECORDS: usize = 1000;
/// Records of the upstream index for each session: its `sub`, its `sid`, and a used `jti`.
const UPSTREAM_RECORDS_PER_SESSION: usize = 3;

/// Opens the configured store with its metrics. If shared servers do not answer, the hub starts and
/// becomes ready when they do.
///
/// # Errors
/// Returns an error if the servers are configured unsafely, or the snapshot can't be written.
pub(super) fn open_store(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<OpenedStore, BuildError> {
    let context = store_context(loaded, env, metrics);
    let opened = store_settings(loaded)?.open(&context)?;
    let capacities = context.capacities;
    let store: Arc<dyn Store> = Arc::new(MeteredStore::new(opened.store, &capacities, metrics));
    let metered_store = Arc::downgrade(&store);
    metrics.sample_with(move |metrics| {
        if let Some(store) = metered_store.upgrade() {
            metered::report_records(store.as_ref(), &capacities, metrics);
        }
    });
    Ok(OpenedStore { store, ..opened })
}

/// Shares runtime entries through a shared store, and reads them before requests are served if the
/// store answers in time.
pub(super) fn share_entries<K: EntryKind>(entries: &RuntimeEntries<K>, store: &Arc<dyn Store>) {
    if store.scope() == StoreScope::Process {
        return;
    }
    entries.share_through(Arc::clone(store));
    // The caller can't await, and the reading needs a timer.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            {
                runtime.block_on(entries.refresh());
            }
        });
    });
    actix::spawn(entries.clone().run_refresh());
}

/// Checks the shared store for `check --online`; returns `None` for the embedded store.
///
/// # Errors
/// Returns an error if the configuration can't be used.
pub async fn probe_store(
    loaded: &LoadedConfig,
    env: &Env,
) -> Result<Option<Result<String, String>>, BuildError> {
    let metrics = Arc::new(Metrics::new()?);
    Ok(store_settings(loaded)?.probe(&store_context(loaded, env, &metrics)).await?)
}

/// Restores the snapshot, if there is one. A store that begins empty knows no used client
/// assertion, so assertions issued before now are refused.
///
/// # Errors
/// Returns an error if the snapshot might be restored again by a later start.
pub(super) fn restore_snapshot(
    snapshot: Option<&dyn StoreSnapshot>,
    store: &dyn Store,
    used_jtis: &UsedJtis,
    now: Timestamp,
) -> Result<(), BuildError> {
    let origin = snapshot.map_or(Ok(StoreOrigin::Empty), StoreSnapshot::restore)?;
    if store.scope() == StoreScope::Process && origin == StoreOrigin::Empty {
        used_jtis.set_known_since(now);
    }
    Ok(())
}

/// Returns the settings of the store.
///
/// # Errors
/// Returns an error if the kind is not that of a store.
pub(super) fn store_settings(loaded: &LoadedConfig) -> Result<&dyn StoreSettings, OpenStoreError> {
    let Some(configured) = &loaded.store else { return Ok(passerelle_store::DEFAULT) };
    let settings = configured.settings::<Box<dyn StoreSettings>>().map(Box::as_ref);
    settings.ok_or_else(|| OpenStoreError(format!("{configured:?} opens no store")))
}

fn store_context(loaded: &LoadedConfig, env: &Env, metrics: &Arc<Metrics>) -> StoreContext {
    StoreContext {
        capacities: capacities(loaded),
        issuer: loaded.issuer.clone(),
        env: env.clone(),
        metrics: Arc::clone(metrics),
    }
}

/// Returns the kinds of records that a hub stores, and the capacity of each.
pub(super) fn capacities(loaded: &LoadedConfig) -> Capacities {
    let capacities = hub_capacities(&loaded.settings.limits);
    loaded.extensions.iter().fold(capacities, |capacities, extension| {
        let table = loaded.extension_table(extension);
        let kinds = extension.record_kinds.iter();
        kinds.fold(capacities, |all, (kind, capacity)| all.with_usage(kind, capacity(table)))
    })
}

fn hub_capacities(limits: &LimitsConfig) -> Capacities {
    let login_usage = Usage { records: limits.logins, bytes: limits.login_bytes() };
    let upstream_sessions = limits.sessions.saturating_mul(UPSTREAM_RECORDS_PER_SESSION);
    Capacities::default()
        .with_usage(RecordKind::LOGIN, login_usage)
        .with_records(RecordKind::SESSION, limits.sessions)
        .with_records(RecordKind::CODE, limits.grants)
        .with_records(RecordKind::TOKEN, limits.grants)
        .with_records(RecordKind::LOGOUT_REDIRECT, MAX_LOGOUT_REDIRECTS)
        .with_records(RecordKind::PENDING_LOGOUT, MAX_PENDING_LOGOUTS)
        // About one used `jti` for each code; both are remembered for minutes.
        .with_records(RecordKind::USED_JTI, limits.grants)
        .with_usage(RecordKind::LOGIN_PAGE_CODE, LOGIN_PAGE_CODE_USAGE)
        // At most one for each code; each is remembered for minutes.
        .with_records(RecordKind::PUSHED_REQUEST, limits.grants)
        .with_records(RecordKind::BLOCKS, MAX_BLOCK_RECORDS)
        .with_records(RecordKind::PROBES, MAX_PROBE_RECORDS)
        .with_records(RecordKind::REFRESH_GRANT, limits.refresh_grants)
        .with_records(RecordKind::LOGOUT_NOTICE, MAX_LOGOUT_NOTICE_RECORDS)
        .with_records(RecordKind::UPSTREAM_SESSION, upstream_sessions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KINDS;

    /// What the memory store needs for a record beside its value (docs/limits.md).
    const BYTES_BESIDE_VALUE: usize = 300;
    /// The program with 500 connectors and 5,000 service providers (docs/performance.md).
    const OTHER_BYTES: usize = 300 << 20;

    #[test]
    fn the_systemd_unit_and_the_helm_chart_allow_the_memory_of_all_records_with_default_limits() {
        let unit = include_str!("../../../deploy/systemd/passerelle.service");
        let values = include_str!("../../../deploy/helm/passerelle/values.yaml");
        let capacities = hub_capacities(&LimitsConfig::default());
        let extensions = KINDS.extensions.iter().flat_map(|extension| extension.record_kinds);
        let capacities = extensions
            .fold(capacities, |all, (kind, capacity)| all.with_usage(kind, capacity(None)));
        let pools = capacities.pools();
        let records: usize =
            pools.map(|(_, usage, _)| usage.bytes + usage.records * BYTES_BESIDE_VALUE).sum();
        for (file, prefix, suffix) in [
            (unit, "\nMemoryMax=", "G\n"),
            (values, "\n  limits: { cpu: \"2\", memory: ", "Gi }\n"),
        ] {
            let (_, limit) = file.split_once(prefix).unwrap();
            let limit: usize = limit.split_once(suffix).unwrap().0.parse().unwrap();
            assert!(
                limit << 30 >= records + OTHER_BYTES,
                "{prefix}{limit}: the records need {records} bytes"
            );
        }
    }
}
