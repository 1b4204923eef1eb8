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

use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use actix_web::web;

pub use self::build_error::BuildError;
pub use self::check::{ProbeResults, find_startup_errors, probe_client_keys, probe_providers};
use self::from_settings::{
    auth_failure_limits, identity_rules, identity_source, login_capacity, login_limits,
    quota_rates, worker_count,
};
pub use self::keys::HubKeys;
use self::prepare::{PreparedHub, prepare_hub};
use self::readiness::{ReadinessSources, StoreCapacities};
pub use self::register::query_register;
pub use self::reload::Reload;
use self::reload::ReloadConfig;
pub use self::running_hub::{RunningHub, SocketOwner};
use self::snapshot::ShutdownSnapshot;
pub use self::store::probe_store;
use crate::actor::live_login_counter::LiveLoginCounter;
use crate::actor::registry::{self, Registry};
use crate::actor::{LoginServices, Logins, Logouts, UnauthenticatedLogins};
use crate::audit::Audit;
use crate::config::{CurrentFederation, LoadedConfig};
use crate::env::Env;
use crate::grant::auth_failures::AuthFailureLimiter;
use crate::grant::subjects::SubjectDeriver;
use crate::grant::{Gate, GrantLifetimes, Grants, UsedAssertionQuota};
use crate::ids::Secret;
use crate::quota::RateLimits;
use crate::session;
use crate::telemetry::Metrics;
use crate::telemetry::export::SpanQueue;
use crate::token::keyring::JWKS_MAX_AGE;
use crate::web::admin::{self, AdminApi};
use crate::web::admin_console::AdminConsole;
use crate::web::client_address::TrustedProxies;
use crate::web::connection::admission::ConnectionLimiter;
use crate::web::cookies::Cookies;
use crate::web::host::PrivateHosts;
use crate::web::outer_middleware::OuterMiddleware;
use crate::web::pages;
use crate::web::readiness::Readiness;
use crate::web::{Hub, SandboxRoutes};

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
        let PreparedHub {
            metrics,
            federation,
            client_keys,
            keys,
            connector_context,
            code_store,
            connector_specs,
            register,
            blocks,
            subject_keys,
            discovery_publisher,
            traces,
            outer_middleware,
        } = prepare_hub(loaded, &env, keys).map_err(BuildError::Several)?;
        let federation = CurrentFederation::new(federation);
        let store::OpenedStore { store, check: store_check, counters, snapshot } =
            store::open_store(loaded, &env, &metrics)?;
        code_store.set_store(&store);
        store::share_blocks(&blocks, &store);
        let traces = traces.start_export();
        let audit = audit_log::start_audit(
            loaded,
            &env,
            Arc::clone(&keys.shared.ring) as Arc<_>,
            &metrics,
            &store,
        )?;
        let recent = audit_log::recent_logins(loaded, &env);
        let audit = recent.iter().fold(audit, Audit::with_recent);
        let shared_keys = keys::start_key_reload(keys, &settings.keys, &audit);
        actix::spawn(Arc::clone(&client_keys).run(env.clone()));
        let register =
            register::start_register(register, Duration::from_secs(settings.limits.reload_seconds));
        let workers = worker_count(settings.limits.workers);
        let arbiters: Vec<Arbiter> = (0..workers).map(|_| Arbiter::new()).collect();
        let handles: Vec<ArbiterHandle> = arbiters.iter().map(Arbiter::handle).collect();

        let (connectors, registry) = Registry::start(
            connector_specs,
            registry::RegistryDeps {
                federation: federation.clone(),
                blocks: blocks.clone(),
                calls: settings.limits.calls_per_connector,
                env: env.clone(),
                metrics: Arc::clone(&metrics),
                store: Arc::clone(&store),
                callback_base: format!("{}/api/v2/callback/", settings.base_url),
                arbiters: handles.clone(),
            },
        );
        let live_logins = Arc::new(LiveLoginCounter::default());
        let metric_sources = metrics_sampler::MetricSources {
            federation: federation.clone(),
            client_keys: Arc::clone(&client_keys),
            keys: shared_keys.clone(),
            live_logins: Arc::clone(&live_logins),
            env: env.clone(),
        };
        metrics_sampler::start_sampling(loaded, metric_sources, &metrics);
        let live_login_reader =
            metrics_sampler::live_login_reader(Arc::clone(&live_logins), &env, &metrics);
        let reload = ReloadConfig {
            label_policy: metrics_sampler::LabelPolicy::from_settings(loaded),
            files: loaded.files.clone(),
            connectors: connector_context,
            discovery_publisher,
            registry,
            client_keys: Arc::clone(&client_keys),
            hub_keys: shared_keys.clone(),
            metrics: Arc::clone(&metrics),
            audit: audit.clone(),
            env: env.clone(),
            interval: Duration::from_secs(settings.limits.reload_seconds),
        }
        .start();
        let session_limits = session::SessionLimits {
            idle: settings.lifetimes.session_idle(settings.platform),
            lifetime: settings.lifetimes.session(settings.platform),
            ..session::SessionLimits::for_platform(settings.platform)
        };
        let grants = Arc::new(Grants {
            store: Arc::clone(&store),
            signer: Arc::clone(&shared_keys.ring) as Arc<_>,
            gate: Arc::new(connectors.clone()) as Arc<dyn Gate>,
            federation: federation.clone(),
            client_keys,
            assertion_quota: UsedAssertionQuota::with_store_capacity(settings.limits.grants),
            subjects: SubjectDeriver { source: settings.subject, keys: subject_keys },
            auth_failures: AuthFailureLimiter::with_metrics(
                auth_failure_limits(&settings.limits),
                &env,
                &metrics,
            ),
            metrics: Arc::clone(&metrics),
            audit: audit.clone(),
            env: env.clone(),
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            amr_marker: settings.amr_marker.clone(),
            own_keys: Arc::clone(&shared_keys.own),
            lifetimes: GrantLifetimes {
                code: settings.lifetimes.code(),
                access_token: settings.lifetimes.access_token(),
                id_token: settings.lifetimes.id_token(),
                openid_id_token: settings.lifetimes.openid_id_token(),
            },
            session_limits,
        });
        let quotas = Arc::new(RateLimits::new(quota_rates(&settings.quotas), &env, &metrics));
        let exchange =
            counter_sync::start_counter_sync(counters, &quotas, &grants.auth_failures, &env);
        let login_services = Arc::new(LoginServices {
            rate_limits: Arc::clone(&quotas),
            env: env.clone(),
            platform: settings.platform,
            store: Arc::clone(&store),
            federation: federation.clone(),
            connectors: connectors.clone(),
            register: register.clone(),
            grants: Arc::clone(&grants),
            metrics: Arc::clone(&metrics),
            live_logins,
            unauthenticated: UnauthenticatedLogins::new(login_capacity(&settings.limits), &metrics),
            identity_source: identity_source(loaded),
            identity_rules: identity_rules(loaded),
            callback_base: format!("{}/api/v2/callback/", settings.base_url),
            session_limits,
            login_lifetime: settings.lifetimes.login(settings.platform),
        });
        let logouts = Logouts::new(Arc::clone(&login_services));
        let hub = web::Data::new(Hub {
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            logins: Logins::new(login_services, handles, login_limits(&settings.limits)),
            logouts,
            connectors,
            grants,
            quotas,
            exchange: exchange.clone(),
            proxies: TrustedProxies::from_config(&settings.public),
            metrics: Arc::clone(&metrics),
            cookies: Cookies::new(&settings.cookie_prefix, loaded.base_url.scheme() == "https"),
            theme: pages::PageTheme::from(&loaded.theme),
            logo: loaded.theme.logo.clone(),
            sandbox: if settings.sandbox { SandboxRoutes::On } else { SandboxRoutes::Off },
            federation,
            keyring: Arc::clone(&shared_keys.ring),
            upstream_keys: Arc::clone(&shared_keys.upstream),
            key_grace: settings.lifetimes.id_token().max(settings.lifetimes.access_token())
                + JWKS_MAX_AGE,
            env,
        });
        admin::report_blocks(&hub);
        let capacities = StoreCapacities::from_settings(loaded);
        let readiness = Arc::new(readiness::build_readiness(ReadinessSources {
            env: hub.env.clone(),
            store: Arc::clone(&store),
            store_check,
            capacities,
            keys: shared_keys.clone(),
            connectors: hub.connectors.clone(),
            blocks,
            register,
            reload: reload.clone(),
            audit: audit.clone(),
            counter_sync: exchange,
        }));
        let console = AdminConsole {
            env: hub.env.clone(),
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            recent,
            login_lifetime: settings.lifetimes.login(settings.platform),
            federation: hub.federation.clone(),
            connectors: hub.connectors.clone(),
            readiness: Arc::clone(&readiness),
            store_usage: Box::new(move || capacities.usage_rows(store.as_ref())),
            live_logins: live_login_reader,
            settings: serde_json::to_value(settings)?,
        };
        let admin = AdminApi::new(hub.connectors.clone(), loaded.admin_token.as_ref(), &hub.env);
        let admin = Arc::new(
            admin.with_audit(&audit).with_key_reloader(Arc::new(shared_keys)).with_console(console),
        );
        let (not_ready_delay, shutdown_timeout) =
            (settings.limits.not_ready_seconds, settings.limits.shutdown_seconds);
        let (not_ready_delay, shutdown_timeout) =
            (Duration::from_secs(not_ready_delay), Duration::from_secs(shutdown_timeout));
        // Last: restoring consumes the snapshot, which a later start error would lose.
        snapshot::restore_snapshot(snapshot.as_ref(), &hub.grants)?;
        Ok(Self {
            hub,
            outer_middleware,
            admin,
            metrics,
            readiness,
            audit,
            traces,
            reload,
            arbiters,
            workers,
            admission: connection_limits::public_admission(settings, workers),
            private_hosts: Arc::new(PrivateHosts::new(settings.private.hosts.clone())),
            request_timeout: Duration::from_secs(settings.limits.request_seconds),
            not_ready_delay,
            shutdown_timeout,
            snapshot,
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

/// Returns a random secret, for the demo.
#[must_use]
pub fn fresh_secret(env: &Env) -> Secret<String> {
    Secret::new(env.entropy().token())
}
