//! The composition root: the only place that names concrete stores, connectors, registers and actors.
//!
//! A [`Program`] is a value, not a set of globals: a test or the demo runs several in one process.

pub mod administer;
mod audit;
pub mod check;
mod codes;
mod connections;
mod counted;
mod draining;
pub mod explain;
mod fault;
pub mod handed;
pub mod health;
mod keys;
mod listening;
pub mod plan;
mod prepare;
mod private;
mod pulse;
mod quotas;
mod readiness;
mod register;
mod reload;
mod running;
mod seals;
pub mod service_manager;
mod settled;
mod snapshot;
mod store;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use actix_web::web;

pub use self::check::{Findings, check, probe, probe_client_keys};
pub use self::fault::BuildFault;
pub use self::keys::Keys;
use self::prepare::{Prepared, prepare};
use self::readiness::{Looked, Places};
pub use self::register::ask_register;
use self::reload::Follower;
pub use self::reload::Reload;
pub use self::running::{Running, Sockets};
use self::settled::{allowed, identity_source, limits, login_room, rates, rules, workers};
use self::snapshot::Successor;
pub use self::store::probe_store;
use crate::actor::ongoing::Ongoing;
use crate::actor::registry::{self, Registry};
use crate::actor::{Logins, Logouts, LoginServices, UnauthenticatedLogins};
use crate::audit::Audit;
use crate::config::{Current, Loaded};
use crate::env::Env;
use crate::grant::mistakes::Mistakes;
use crate::grant::subjects::Subjects;
use crate::grant::{AssertionRoom, Gate, Grants, Lives};
use crate::ids::Secret;
use crate::quota::Quotas;
use crate::session;
use crate::telemetry::Metrics;
use crate::telemetry::export::Queue;
use crate::token::keyring::JWKS_CACHE;
use crate::web::admin::{self, Admin};
use crate::web::client_address::Proxies;
use crate::web::connection::admission::Admission;
use crate::web::cookies::Cookies;
use crate::web::host::PrivateHosts;
use crate::web::pages;
use crate::web::private::Readiness;
use crate::web::shell::Shell;
use crate::web::window::Window;
use crate::web::{Hub, Sandbox};

/// What a program is made of besides its configuration.
pub struct Parts {
    pub env: Env,
    pub keys: Keys,
}

impl Parts {
    /// As `passerelle serve` runs: the machine's clock, OpenSSL's randomness, keys and register from files.
    #[must_use]
    pub fn real() -> Self {
        Self { env: Env::system(), keys: Keys::Folder }
    }
}

/// A hub, put together and not yet listening.
pub struct Program {
    hub: web::Data<Hub>,
    shell: Arc<Shell>,
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    admin: Arc<Admin>,
    audit: Audit,
    traces: Option<Queue>,
    reload: Reload,
    arbiters: Vec<Arbiter>,
    workers: usize,
    admission: Arc<Admission>,
    private_hosts: Arc<PrivateHosts>,
    request: Duration,
    not_ready: Duration,
    shutdown: Duration,
    successor: Option<Successor>,
}

impl Program {
    /// Puts a hub together. Must be called inside an actix system. No identity provider is waited for.
    ///
    /// # Errors
    /// What can't work, and how to mend it.
    pub fn build(loaded: &Loaded, parts: Parts) -> Result<Self, BuildFault> {
        let Parts { env, keys } = parts;
        let settings = &loaded.settings;
        let Prepared {
            metrics,
            federation,
            client_keys,
            keys,
            connector_means,
            codes,
            plans,
            register,
            blocks,
            subject_keys,
            publication,
            traces,
            shell,
        } = prepare(loaded, &env, keys).map_err(BuildFault::Several)?;
        let federation = Current::new(federation);
        let store::Opened { store, complaint, counters, successor } =
            store::open(loaded, &env, &metrics)?;
        codes.wait_in(&store);
        store::share_blocks(&blocks, &store);
        let traces = traces.start();
        let audit =
            audit::begin(loaded, &env, Arc::clone(&keys.shared.ring) as Arc<_>, &metrics, &store)?;
        let recent = audit::recent(loaded, &env);
        let audit = recent.iter().fold(audit, Audit::remembered);
        let shared_keys = keys::share(keys, &settings.keys, &audit);
        actix::spawn(Arc::clone(&client_keys).follow(env.clone()));
        let register =
            register::share(register, Duration::from_secs(settings.limits.reload_seconds));
        let workers = workers(settings.limits.workers);
        let arbiters: Vec<Arbiter> = (0..workers).map(|_| Arbiter::new()).collect();
        let handles: Vec<ArbiterHandle> = arbiters.iter().map(Arbiter::handle).collect();

        let (connectors, registry) = Registry::start(
            plans,
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
        let ongoing = Arc::new(Ongoing::default());
        let looked = counted::Looked {
            federation: federation.clone(),
            client_keys: Arc::clone(&client_keys),
            keys: shared_keys.clone(),
            ongoing: Arc::clone(&ongoing),
            env: env.clone(),
        };
        counted::follow(loaded, looked, &metrics);
        let on_the_way = counted::on_the_way(Arc::clone(&ongoing), &env, &metrics);
        let reload = Follower {
            naming: counted::Naming::of(loaded),
            files: loaded.files.clone(),
            connectors: connector_means,
            publication,
            registry,
            client_keys: Arc::clone(&client_keys),
            own_keys: shared_keys.clone(),
            metrics: Arc::clone(&metrics),
            audit: audit.clone(),
            env: env.clone(),
            round: Duration::from_secs(settings.limits.reload_seconds),
        }
        .start();
        let session_limits = session::Limits {
            idle: settings.lifetimes.session_idle(settings.platform),
            life: settings.lifetimes.session(settings.platform),
            ..session::Limits::of(settings.platform)
        };
        let grants = Arc::new(Grants {
            store: Arc::clone(&store),
            signer: Arc::clone(&shared_keys.ring) as Arc<_>,
            gate: Arc::new(connectors.clone()) as Arc<dyn Gate>,
            federation: federation.clone(),
            client_keys,
            assertion_room: AssertionRoom::within(settings.limits.grants),
            subjects: Subjects { source: settings.subject, keys: subject_keys },
            mistakes: Mistakes::counted(allowed(&settings.limits), &env, &metrics),
            metrics: Arc::clone(&metrics),
            audit: audit.clone(),
            env: env.clone(),
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            amr_marker: settings.amr_marker.clone(),
            own_keys: Arc::clone(&shared_keys.own),
            lives: Lives {
                code: settings.lifetimes.code(),
                access_token: settings.lifetimes.access_token(),
                id_token: settings.lifetimes.id_token(),
                openid_id_token: settings.lifetimes.openid_id_token(),
            },
            session_limits,
        });
        let quotas = Arc::new(Quotas::new(rates(&settings.quotas), &env, &metrics));
        let exchange = quotas::exchange(counters, &quotas, &grants.mistakes, &env);
        let means = Arc::new(LoginServices {
            quotas: Arc::clone(&quotas),
            env: env.clone(),
            platform: settings.platform,
            store: Arc::clone(&store),
            federation: federation.clone(),
            connectors: connectors.clone(),
            register: register.clone(),
            grants: Arc::clone(&grants),
            metrics: Arc::clone(&metrics),
            ongoing,
            unauthenticated: UnauthenticatedLogins::new(login_room(&settings.limits), &metrics),
            identity_source: identity_source(loaded),
            identity_rules: rules(loaded),
            callback_base: format!("{}/api/v2/callback/", settings.base_url),
            session_limits,
            login_life: settings.lifetimes.login(settings.platform),
        });
        let logouts = Logouts::new(Arc::clone(&means));
        let hub = web::Data::new(Hub {
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            logins: Logins::new(means, handles, limits(&settings.limits)),
            logouts,
            connectors,
            grants,
            quotas,
            exchange: exchange.clone(),
            proxies: Proxies::of(&settings.public),
            metrics: Arc::clone(&metrics),
            cookies: Cookies::new(&settings.cookie_prefix, loaded.base_url.scheme() == "https"),
            theme: pages::Theme::from(&loaded.theme),
            logo: loaded.theme.logo.clone(),
            sandbox: if settings.sandbox { Sandbox::On } else { Sandbox::Off },
            federation,
            keyring: Arc::clone(&shared_keys.ring),
            upstream_keys: Arc::clone(&shared_keys.upstream),
            key_grace: settings.lifetimes.id_token().max(settings.lifetimes.access_token())
                + JWKS_CACHE,
            env,
        });
        admin::report_blocks(&hub);
        let places = Places::of(loaded);
        let readiness = Arc::new(readiness::readiness(Looked {
            env: hub.env.clone(),
            store: Arc::clone(&store),
            complaint,
            places,
            keys: shared_keys.clone(),
            connectors: hub.connectors.clone(),
            blocks,
            register,
            reload: reload.clone(),
            audit: audit.clone(),
            exchange,
        }));
        let window = Window {
            env: hub.env.clone(),
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            recent,
            login_life: settings.lifetimes.login(settings.platform),
            federation: hub.federation.clone(),
            connectors: hub.connectors.clone(),
            readiness: Arc::clone(&readiness),
            store: Box::new(move || places.rows(store.as_ref())),
            live: on_the_way,
            settings: serde_json::to_value(settings)?,
        };
        let admin = Admin::new(hub.connectors.clone(), loaded.admin_token.as_ref(), &hub.env);
        let admin =
            Arc::new(admin.audited(&audit).with_keys(Arc::new(shared_keys)).with_window(window));
        let (not_ready, shutdown) =
            (settings.limits.not_ready_seconds, settings.limits.shutdown_seconds);
        let (not_ready, shutdown) = (Duration::from_secs(not_ready), Duration::from_secs(shutdown));
        // Last: what is taken up would be lost with a hub that can't start.
        snapshot::take_up(successor.as_ref(), &hub.grants)?;
        Ok(Self {
            hub,
            shell,
            admin,
            metrics,
            readiness,
            audit,
            traces,
            reload,
            arbiters,
            workers,
            admission: connections::public(settings, workers),
            private_hosts: Arc::new(PrivateHosts::new(settings.private.hosts.clone())),
            request: Duration::from_secs(settings.limits.request_seconds),
            not_ready,
            shutdown,
            successor,
        })
    }

    /// What an in-process test serves requests from.
    #[must_use]
    pub fn hub(&self) -> web::Data<Hub> {
        self.hub.clone()
    }

    /// What an in-process test administers the hub by.
    #[must_use]
    pub fn admin(&self) -> Arc<Admin> {
        Arc::clone(&self.admin)
    }

    /// What an in-process test is told of the hub by its probes.
    #[must_use]
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// Where spans wait for the collector, if there is one.
    #[must_use]
    pub fn traces(&self) -> Option<Queue> {
        self.traces.clone()
    }

    #[must_use]
    pub fn shell(&self) -> Arc<Shell> {
        Arc::clone(&self.shell)
    }

    /// What follows the files.
    #[must_use]
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }
}

/// For the demo, whose secrets live as long as its process.
#[must_use]
pub fn fresh_secret(env: &Env) -> Secret<String> {
    Secret::new(env.entropy().token())
}
