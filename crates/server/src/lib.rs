//! Builds a hub from its configuration: the composition root, which hands the kinds of stores,
//! registers and connectors to the rest.
//!
//! A [`HubServer`] holds no globals, so that a test or the demo can run several in one process. Does
//! not know the command line or the demo. Begin with [`HubServer`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod admin_client;
mod admitting_hubs;
mod audit_checkpoints;
mod audit_log;
mod build_error;
pub mod check;
pub mod confinement;
mod connection_limits;
pub mod explain;
mod from_settings;
mod hub_core;
mod hub_parts;
pub mod init;
pub mod key_device;
mod key_rotation;
mod keys;
mod kinds;
pub mod local_health;
mod local_hub;
pub mod memory_limit;
mod metrics_sampler;
mod operations;
mod peers;
pub mod plan;
mod prepare;
mod private_listener;
mod readiness;
mod register;
mod reload;
mod running_hub;
pub mod service_manager;
pub mod socket_activation;
mod startup;
mod store;
mod traces;
pub mod unbuildable_connectors;
mod watchdog;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::web;

pub use self::build_error::BuildError;
pub use self::check::{ProbeResults, find_startup_errors, probe_client_keys, probe_providers};
use self::from_settings::worker_count;
use self::hub_core::build_core;
use self::hub_parts::HubParts;
use self::key_device::HubKeyDevices;
pub use self::keys::HubKeys;
pub use self::kinds::{KINDS, declare_metrics};
use self::prepare::prepare_hub;
pub use self::register::{query_register, register_settings};
pub use self::reload::Reload;
pub use self::running_hub::{RunningHub, SocketOwner};
pub use self::store::probe_store;
use passerelle_admin::AdminApi;
use passerelle_admin::readiness::Readiness;
use passerelle_audit::Audit;
use passerelle_config::LoadedConfig;
use passerelle_config::model::LimitsConfig;
use passerelle_extension::{Extension, ExtensionContext};
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::notices::Notices;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{Diagnostic, Environment};
use passerelle_store::kind::StoreSnapshot;
use passerelle_telemetry::CheckFinding;
use passerelle_telemetry::trace::Tracer;
use passerelle_web::Hub;
use passerelle_web::connection::admission::ConnectionLimiter;
use passerelle_web::host::PrivateHosts;
use passerelle_web::outer_middleware::OuterMiddleware;

/// Dependencies of a hub besides its configuration.
pub struct ProgramDeps {
    pub env: Env,
    pub keys: HubKeys,
    /// Protections that this process lacks; `/readyz` reports them.
    pub process_findings: Vec<CheckFinding>,
}

impl ProgramDeps {
    /// Returns the system clock, OpenSSL's randomness and the keys in the configured folder.
    pub fn system() -> Self {
        Self { env: Env::system(), keys: HubKeys::FromFolder, process_findings: Vec::new() }
    }
}

/// A hub that is built and does not listen yet.
pub struct HubServer {
    hub: web::Data<Hub>,
    outer_middleware: Arc<OuterMiddleware>,
    readiness: Arc<Readiness>,
    admin: Arc<AdminApi>,
    tracer: Tracer,
    reload: Reload,
    client_keys: Arc<KeyDirectory>,
    arbiters: Vec<Arbiter>,
    admission: Arc<ConnectionLimiter>,
    private_hosts: Arc<PrivateHosts>,
    limits: LimitsConfig,
    snapshot: Option<Box<dyn StoreSnapshot>>,
    key_devices: HubKeyDevices,
}

impl HubServer {
    /// Builds a hub without waiting for any identity provider. Must be called inside an actix
    /// system.
    ///
    /// # Errors
    /// Returns every part that can't be built, with its fix.
    #[expect(clippy::too_many_lines, reason = "a list: each part, and what it is built from")]
    pub fn build(loaded: &LoadedConfig, deps: ProgramDeps) -> Result<Self, BuildError> {
        let ProgramDeps { env, keys, process_findings } = deps;
        let settings = &loaded.settings;
        let prepared = prepare_hub(loaded, &env, keys).map_err(BuildError::Several)?;
        let opened = store::open_store(loaded, &env, &prepared.metrics)?;
        prepared.connector_context.store.set(&opened.store);
        store::share_entries(&prepared.blocks, &opened.store);
        store::share_entries(&prepared.published_notices, &opened.store);
        let audit = audit_log::start_audit(
            loaded,
            &env,
            Arc::clone(&prepared.keys.shared.ring) as Arc<_>,
            &prepared.metrics,
            &opened.store,
        )?;
        let recent = audit_log::recent_logins(loaded, &env);
        let audit = recent.iter().fold(audit, Audit::with_recent);
        let core = build_core(loaded, env, &prepared, audit);
        let tracer = prepared.traces.start_export();
        let key_devices = prepared.keys.shared.devices.clone();
        let keys = keys::start_key_reload(prepared.keys, &settings.keys, &core.audit);
        let reload_interval = Duration::from_secs(settings.limits.reload_seconds);
        let workers = worker_count(settings.limits.workers);
        register::start_refresh(prepared.register.as_ref(), reload_interval);
        let start = |extension: &Extension| {
            let context = ExtensionContext {
                core: &core,
                store: &opened.store,
                client_keys: &prepared.client_keys,
                check_service_provider_file: &loaded.files.service_provider_check(),
                theme: &loaded.theme,
                retention: audit_log::retention_periods(loaded),
                table: loaded.extension_table(extension),
            };
            (extension.name, (extension.start)(&context))
        };
        let extensions = loaded.extensions.iter().map(start).collect();
        let mut parts = HubParts {
            loaded,
            notices: Notices::new(prepared.published_notices, core.federation.clone()),
            core,
            client_keys: prepared.client_keys,
            store: opened.store,
            keys,
            recent,
            register: prepared.register,
            blocks: prepared.blocks,
            live_logins: Arc::default(),
            extensions,
            arbiters: (0..workers).map(|_| Arbiter::new()).collect(),
        };
        actix::spawn(Arc::clone(&parts.client_keys).run(parts.core.env.clone()));
        let (connectors, registry) = parts.start_registry(prepared.connector_specs);
        parts.start_sampling();
        let publisher = prepared.discovery_publisher;
        let reload =
            parts.start_reload(registry, connectors.clone(), prepared.connector_context, publisher);
        let grants = parts.grants(&connectors, prepared.subject_keys);
        let (refresh_tokens, used_jtis) =
            (Arc::clone(&grants.refresh_tokens), Arc::clone(&grants.used_jtis));
        parts.start_key_rotation(&connectors);
        let hub = parts.hub(connectors, grants, opened.counters);
        passerelle_admin::report_blocks(&hub);
        let readiness = parts.readiness(&hub, reload.clone(), opened.check, process_findings);
        let admin = parts.admin(&hub, refresh_tokens, &readiness, reload.clone())?;
        // Last: restoring consumes the snapshot, which a later start error would lose.
        let snapshot = opened.snapshot.as_deref();
        store::restore_snapshot(snapshot, &*parts.store, &used_jtis, parts.core.env.now())?;
        Ok(Self {
            hub,
            outer_middleware: prepared.outer_middleware,
            admin,
            readiness,
            tracer,
            reload,
            client_keys: parts.client_keys,
            arbiters: parts.arbiters,
            admission: connection_limits::public_admission(settings, workers),
            private_hosts: Arc::new(PrivateHosts::new(settings.private.hosts.clone())),
            limits: settings.limits.clone(),
            snapshot: opened.snapshot,
            key_devices,
        })
    }

    /// Returns the state from which an in-process test serves requests.
    pub fn hub(&self) -> web::Data<Hub> {
        self.hub.clone()
    }

    /// Returns the administration, for in-process tests.
    pub fn admin(&self) -> Arc<AdminApi> {
        Arc::clone(&self.admin)
    }

    /// Returns the readiness checks, for in-process tests.
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// Returns the tracer, for in-process tests.
    pub fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Returns the keys of clients, for in-process tests.
    pub fn client_keys(&self) -> Arc<KeyDirectory> {
        Arc::clone(&self.client_keys)
    }

    /// Returns the outer middleware, for in-process tests.
    pub fn outer_middleware(&self) -> Arc<OuterMiddleware> {
        Arc::clone(&self.outer_middleware)
    }

    /// Returns the handle of the configuration reload.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }
}

/// Reads and checks the configuration in `folder`, with the kinds that the program has.
///
/// # Errors
/// Returns every problem found.
pub fn load_config(
    folder: &Path,
    environment: &Environment,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    let mut loaded = passerelle_config::load_config(folder, environment, KINDS)?;
    loaded.warnings.extend(register::empty_register_warning(&loaded));
    Ok(loaded)
}

/// Reads the configuration in `folder` for a start. The hub starts without invalid files of
/// connectors, service providers and other entries of a folder.
///
/// # Errors
/// Returns every problem found if one of them prevents the start.
pub fn load_usable_config(
    folder: &Path,
    environment: &Environment,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    let mut loaded = passerelle_config::load_usable_config(folder, environment, KINDS)?;
    loaded.warnings.extend(register::empty_register_warning(&loaded));
    unbuildable_connectors::deactivate_unbuildable(&mut loaded, &Env::system());
    Ok(loaded)
}

/// Adds the error codes, messages and audit events of the optional crates to those of the program,
/// for commands that read no configuration.
pub fn install_extensions() {
    KINDS.extensions.iter().for_each(Extension::install);
}

/// Returns a random secret, for the demo and for new folders.
pub fn generate_secret(env: &Env) -> Secret<String> {
    Secret::new(env.entropy().token())
}
