//! Builds a hub from its configuration: the composition root, and the only module that names
//! concrete stores, connectors, registers and actors.
//!
//! A [`HubServer`] holds no globals, so that a test or the demo can run several in one process.

pub mod admin_client;
mod audit_checkpoints;
mod audit_log;
mod build_error;
pub mod check;
mod code_store;
mod connection_limits;
mod counter_sync;
mod draining;
pub mod explain;
mod from_settings;
pub mod health;
mod hub_parts;
mod keys;
mod metrics_sampler;
pub mod plan;
mod prepare;
mod private_listener;
mod readiness;
mod register;
mod reload;
mod running_hub;
pub mod service_manager;
mod snapshot;
pub mod socket_activation;
mod startup;
mod store;
mod traces;
mod watchdog;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::web;

pub use self::build_error::BuildError;
pub use self::check::{ProbeResults, find_startup_errors, probe_client_keys, probe_providers};
use self::from_settings::worker_count;
use self::hub_parts::HubParts;
pub use self::keys::HubKeys;
use self::prepare::prepare_hub;
pub use self::register::query_register;
pub use self::reload::Reload;
pub use self::running_hub::{RunningHub, SocketOwner};
use self::snapshot::ShutdownSnapshot;
pub use self::store::probe_store;
use crate::audit::Audit;
use crate::config::{self, CurrentFederation, Diagnostic, Environment, LoadedConfig};
use crate::connector;
use crate::env::Env;
use crate::ids::Secret;
use crate::telemetry::Metrics;
use crate::telemetry::export::SpanQueue;
use crate::web::Hub;
use crate::web::admin::{self, AdminApi};
use crate::web::connection::admission::ConnectionLimiter;
use crate::web::host::PrivateHosts;
use crate::web::outer_middleware::OuterMiddleware;
use crate::web::readiness::Readiness;

/// Dependencies of a hub besides its configuration.
pub struct ProgramDeps {
    pub env: Env,
    pub keys: HubKeys,
}

impl ProgramDeps {
    /// Returns the system clock, OpenSSL's randomness and the keys in the configured folder.
    #[must_use]
    pub fn system() -> Self {
        Self { env: Env::system(), keys: HubKeys::FromFolder }
    }
}

/// A hub that is built and does not listen yet.
pub struct HubServer {
    hub: web::Data<Hub>,
    outer_middleware: Arc<OuterMiddleware>,
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    admin: Arc<AdminApi>,
    audit: Audit,
    traces: Option<SpanQueue>,
    reload: Reload,
    arbiters: Vec<Arbiter>,
    workers: usize,
    admission: Arc<ConnectionLimiter>,
    private_hosts: Arc<PrivateHosts>,
    request_timeout: Duration,
    not_ready_delay: Duration,
    shutdown_timeout: Duration,
    snapshot: Option<ShutdownSnapshot>,
}

impl HubServer {
    /// Builds a hub without waiting for any identity provider. Must be called inside an actix
    /// system.
    ///
    /// # Errors
    /// Returns every part that can't be built, with its fix.
    pub fn build(loaded: &LoadedConfig, deps: ProgramDeps) -> Result<Self, BuildError> {
        let ProgramDeps { env, keys } = deps;
        let settings = &loaded.settings;
        let prepared = prepare_hub(loaded, &env, keys).map_err(BuildError::Several)?;
        let opened = store::open_store(loaded, &env, &prepared.metrics)?;
        prepared.code_store.set_store(&opened.store);
        store::share_blocks(&prepared.blocks, &opened.store);
        let traces = prepared.traces.start_export();
        let audit = audit_log::start_audit(
            loaded,
            &env,
            Arc::clone(&prepared.keys.shared.ring) as Arc<_>,
            &prepared.metrics,
            &opened.store,
        )?;
        let recent = audit_log::recent_logins(loaded, &env);
        let audit = recent.iter().fold(audit, Audit::with_recent);
        let reload_interval = Duration::from_secs(settings.limits.reload_seconds);
        let workers = worker_count(settings.limits.workers);
        let parts = HubParts {
            loaded,
            metrics: prepared.metrics,
            federation: CurrentFederation::new(prepared.federation),
            client_keys: prepared.client_keys,
            store: opened.store,
            keys: keys::start_key_reload(prepared.keys, &settings.keys, &audit),
            audit,
            recent,
            register: register::start_register(prepared.register, reload_interval),
            blocks: prepared.blocks,
            live_logins: Arc::default(),
            arbiters: (0..workers).map(|_| Arbiter::new()).collect(),
            env,
        };
        actix::spawn(Arc::clone(&parts.client_keys).run(parts.env.clone()));
        let (connectors, registry) = parts.start_registry(prepared.connector_specs);
        parts.start_sampling();
        let publisher = prepared.discovery_publisher;
        let reload = parts.start_reload(registry, prepared.connector_context, publisher);
        let hub = parts.hub(connectors, prepared.subject_keys, opened.counters);
        admin::report_blocks(&hub);
        let readiness = parts.readiness(&hub, reload.clone(), opened.check);
        let admin = parts.admin(&hub, &readiness)?;
        // Last: restoring consumes the snapshot, which a later start error would lose.
        snapshot::restore_snapshot(opened.snapshot.as_ref(), &hub.grants)?;
        Ok(Self {
            hub,
            outer_middleware: prepared.outer_middleware,
            admin,
            metrics: parts.metrics,
            readiness,
            audit: parts.audit,
            traces,
            reload,
            arbiters: parts.arbiters,
            workers,
            admission: connection_limits::public_admission(settings, workers),
            private_hosts: Arc::new(PrivateHosts::new(settings.private.hosts.clone())),
            request_timeout: Duration::from_secs(settings.limits.request_seconds),
            not_ready_delay: Duration::from_secs(settings.limits.not_ready_seconds),
            shutdown_timeout: Duration::from_secs(settings.limits.shutdown_seconds),
            snapshot: opened.snapshot,
        })
    }

    /// Returns the state from which an in-process test serves requests.
    #[must_use]
    pub fn hub(&self) -> web::Data<Hub> {
        self.hub.clone()
    }

    /// Returns the administration, for in-process tests.
    #[must_use]
    pub fn admin(&self) -> Arc<AdminApi> {
        Arc::clone(&self.admin)
    }

    /// Returns the readiness checks, for in-process tests.
    #[must_use]
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// Returns the queue of spans for the collector, if one is configured.
    #[must_use]
    pub fn traces(&self) -> Option<SpanQueue> {
        self.traces.clone()
    }

    /// Returns the outer middleware, for in-process tests.
    #[must_use]
    pub fn outer_middleware(&self) -> Arc<OuterMiddleware> {
        Arc::clone(&self.outer_middleware)
    }

    /// Returns the handle of the configuration reload.
    #[must_use]
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }
}

/// Reads and checks the configuration in `folder`, with the connector kinds of this program.
///
/// # Errors
/// Returns every problem found.
pub fn load_config(
    folder: &Path,
    environment: &Environment,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    config::load_config(folder, environment, connector::KINDS)
}

/// Returns a random secret, for the demo.
#[must_use]
pub fn fresh_secret(env: &Env) -> Secret<String> {
    Secret::new(env.entropy().token())
}
