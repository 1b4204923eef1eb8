//! The composition root: the only file that names concrete stores, connectors, registers and actors.
//!
//! A [`Program`] is a value, not a set of globals: a test or the demo runs several in one process.

mod keys;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use actix_web::dev::{Server, ServerHandle};
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use tokio::task::JoinHandle;

use crate::actor::registry::{Facts, Plan, Registry};
use crate::actor::{Logins, Means, logins};
use crate::config::model::{IdentitySource, Limits, RegisterConfig, SubjectSource};
use crate::config::{ConfiguredConnector, Federation, Loaded};
use crate::connector;
use crate::env::Env;
use crate::grant::{Gate, Grants, Lives};
use crate::identity::rules::{Required, Rules};
use crate::identity::sub::SubjectKey;
use crate::ids::{Scope, Secret};
use crate::protocol::acr::Platform;
use crate::protocol::discovery;
use crate::register::Register;
use crate::register::file::FileRegister;
use crate::session;
use crate::store::memory::MemoryStore;
use crate::store::metered::{self, MeteredStore};
use crate::store::{Capacities, Store};
use crate::telemetry::Metrics;
use crate::token::keyfiles;
use crate::token::keyring::JWKS_CACHE;
use crate::web::cookies::Cookies;
use crate::web::pages::{self, Locale};
use crate::web::private::{self, Readiness};
use crate::web::shell::Shell;
use crate::web::{Hub, Sandbox, problem, routes};

/// Logout records wait for a browser to come back from an identity provider; far fewer than sessions.
const LOGOUTS: usize = 50_000;

/// A connection that sends no whole request head in this time is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

pub use keys::Keys;

/// Why a program can't be put together; each says what to mend.
#[derive(thiserror::Error, Debug)]
pub enum BuildFault {
    #[error(transparent)]
    Keys(#[from] keyfiles::KeyFileFault),
    #[error("the signing keys can't be used for verification: {0}")]
    OwnKeys(#[from] crate::token::verify::OpenFault),
    #[error("the connector {id} can't work: {fault}")]
    Connector { id: String, fault: connector::ConnectorRefused },
    #[error("the register can't be loaded: {0}")]
    Register(String),
    #[error(transparent)]
    SubjectKey(#[from] crate::identity::sub::SubjectKeyFault),
    #[error("the scope table is unusable: {0}")]
    Scopes(#[from] crate::identity::scopes::ScopeTableFault),
    #[error(transparent)]
    Shell(#[from] crate::web::shell::ShellFault),
    #[error(transparent)]
    Telemetry(#[from] crate::telemetry::TelemetryFault),
    #[error("the discovery document can't be written: {0}")]
    Discovery(#[from] serde_json::Error),
}

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
    arbiters: Vec<Arbiter>,
    workers: usize,
    shutdown: Duration,
}

impl Program {
    /// Puts a hub together. Must be called inside an actix system. No identity provider is waited for.
    ///
    /// # Errors
    /// What can't work, and how to mend it.
    pub fn build(loaded: &Loaded, parts: Parts) -> Result<Self, BuildFault> {
        let Parts { env, keys } = parts;
        let settings = &loaded.settings;
        let now = env.now();
        let metrics = Arc::new(Metrics::new(now)?);
        let federation = Arc::new(Federation::of(loaded)?);
        let store = store(loaded, &metrics);
        let (keyring, own_keys) = keys::shared(&settings.keys, &env, keys)?;
        let workers = workers(settings.limits.workers);
        let arbiters: Vec<Arbiter> = (0..workers).map(|_| Arbiter::new()).collect();
        let handles: Vec<ArbiterHandle> = arbiters.iter().map(Arbiter::handle).collect();

        let plans = loaded.connectors.values().map(|configured| plan(configured, loaded, &env)).collect::<Result<Vec<_>, _>>()?;
        let connectors = Registry::start(
            plans,
            Arc::clone(&federation),
            settings.choice.order.clone(),
            settings.limits.calls_per_connector,
            Arc::clone(&metrics),
            handles.clone(),
        );
        let session_limits = session::Limits {
            idle: settings.lifetimes.session_idle(settings.platform),
            life: settings.lifetimes.session(settings.platform),
            ..session::Limits::of(settings.platform)
        };
        let grants = Arc::new(Grants {
            store: Arc::clone(&store),
            signer: Arc::clone(&keyring) as Arc<_>,
            gate: Arc::new(connectors.clone()) as Arc<dyn Gate>,
            federation: Arc::clone(&federation),
            metrics: Arc::clone(&metrics),
            env: env.clone(),
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            amr_marker: settings.amr_marker.clone(),
            own_keys,
            lives: Lives {
                code: settings.lifetimes.code(),
                access_token: settings.lifetimes.access_token(),
                id_token: settings.lifetimes.id_token(),
            },
            session_limits,
        });
        let means = Arc::new(Means {
            env: env.clone(),
            platform: settings.platform,
            store,
            federation: Arc::clone(&federation),
            connectors: connectors.clone(),
            register: register_of(loaded)?,
            grants: Arc::clone(&grants),
            metrics: Arc::clone(&metrics),
            identity_source: identity_source(loaded),
            subject_source: settings.subject,
            identity_rules: rules(loaded),
            subject_key: SubjectKey::new(loaded.subject_key.clone(), 1, settings.home_country.clone())?,
            callback_base: format!("{}/api/v2/callback/", settings.base_url),
            session_limits,
            login_life: settings.lifetimes.login(settings.platform),
        });
        let theme = pages::Theme::from(&loaded.theme);
        let shell = shell(loaded, &env, &metrics, theme.clone())?;
        let hub = web::Data::new(Hub {
            platform: settings.platform,
            issuer: loaded.issuer.clone(),
            logins: Logins::new(means, handles, limits(&settings.limits)),
            connectors,
            grants,
            metrics: Arc::clone(&metrics),
            cookies: Cookies::new(&settings.cookie_prefix, loaded.base_url.scheme() == "https"),
            theme,
            logo: loaded.theme.logo.clone(),
            sandbox: if settings.sandbox { Sandbox::On } else { Sandbox::Off },
            discovery: discovery_document(loaded, &federation)?.into(),
            federation,
            keyring,
            key_grace: settings.lifetimes.id_token().max(settings.lifetimes.access_token()) + JWKS_CACHE,
            env,
        });
        let shutdown = Duration::from_secs(settings.limits.shutdown_seconds);
        Ok(Self { hub, shell, metrics, readiness: Arc::default(), arbiters, workers, shutdown })
    }

    /// What an in-process test serves requests from.
    #[must_use]
    pub fn hub(&self) -> web::Data<Hub> {
        self.hub.clone()
    }

    #[must_use]
    pub fn shell(&self) -> Arc<Shell> {
        Arc::clone(&self.shell)
    }

    /// Listens. `private` carries probes and metrics, and must not be reachable from outside.
    ///
    /// # Errors
    /// The operating system refuses a listener.
    pub fn start(self, public: TcpListener, private: Option<TcpListener>) -> std::io::Result<Running> {
        let (hub, shell) = (self.hub, self.shell);
        let logins = hub.logins.clone();
        let address = public.local_addr()?;
        let public = HttpServer::new(move || {
            let (hub, shell) = (hub.clone(), Arc::clone(&shell));
            App::new()
                .configure(move |config| routes::configure(config, hub))
                .wrap(from_fn(move |request, next| Arc::clone(&shell).around(request, next)))
        })
        .workers(self.workers)
        .client_request_timeout(HEAD_LIMIT)
        .shutdown_timeout(self.shutdown.as_secs())
        .disable_signals()
        .listen(public)?
        .run();
        let private = private.map(|listener| private_server(listener, &self.readiness, &self.metrics)).transpose()?;
        let handles = (public.handle(), private.as_ref().map(Server::handle));
        if let Some(private) = private {
            actix::spawn(private);
        }
        Ok(Running {
            address,
            listening: actix::spawn(public),
            public: handles.0,
            private: handles.1,
            readiness: self.readiness,
            logins,
            arbiters: self.arbiters,
            shutdown: self.shutdown,
        })
    }
}

/// A hub that listens.
pub struct Running {
    pub address: SocketAddr,
    listening: JoinHandle<std::io::Result<()>>,
    public: ServerHandle,
    private: Option<ServerHandle>,
    readiness: Arc<Readiness>,
    logins: Logins,
    arbiters: Vec<Arbiter>,
    shutdown: Duration,
}

impl Running {
    /// Comes back only if the public listener ends by itself, which it never should.
    pub async fn died(&mut self) -> String {
        match (&mut self.listening).await {
            Ok(Ok(())) => "the public listener has ended".to_owned(),
            Ok(Err(error)) => format!("the public listener has ended: {error}"),
            Err(error) => format!("the public listener has died: {error}"),
        }
    }

    /// Goes down in order: not ready, no new connections and those in flight finish, logins, actors, then the probes.
    pub async fn stop(self) {
        self.readiness.drain();
        self.public.stop(true).await;
        // A step whose browser has gone is nobody's request any more, and must be brought to its end all the same.
        self.logins.rest(self.shutdown).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        for arbiter in self.arbiters {
            // A thread that has panicked is gone as well.
            let _gone = arbiter.join();
        }
        if let Some(private) = self.private {
            private.stop(true).await;
        }
    }
}

fn private_server(listener: TcpListener, readiness: &Arc<Readiness>, metrics: &Arc<Metrics>) -> std::io::Result<Server> {
    let (readiness, metrics) = (Arc::clone(readiness), Arc::clone(metrics));
    let server = HttpServer::new(move || {
        let (readiness, metrics) = (Arc::clone(&readiness), Arc::clone(&metrics));
        App::new().configure(move |config| private::configure(config, readiness, metrics))
    });
    Ok(server.workers(1).shutdown_timeout(1).disable_signals().listen(listener)?.run())
}

fn store(loaded: &Loaded, metrics: &Arc<Metrics>) -> Arc<dyn Store> {
    let limits = &loaded.settings.limits;
    let capacities = Capacities { logins: limits.logins, sessions: limits.sessions, grants: limits.grants, logouts: LOGOUTS };
    let store: Arc<dyn Store> = Arc::new(MeteredStore::new(Arc::new(MemoryStore::new(capacities)), metrics));
    let counted = Arc::downgrade(&store);
    metrics.sample_with(move |metrics| {
        if let Some(store) = counted.upgrade() {
            metered::report_records(store.as_ref(), metrics);
        }
    });
    store
}

fn plan(configured: &ConfiguredConnector, loaded: &Loaded, env: &Env) -> Result<Plan, BuildFault> {
    let secret = |_: &_| configured.client_secret.clone().ok_or_else(|| "the client secret is missing".to_owned());
    let sandbox = if loaded.settings.sandbox { connector::Sandbox::On } else { connector::Sandbox::Off };
    let connector = connector::build(configured.id.clone(), &configured.file, &secret, env.clone(), sandbox)
        .map_err(|fault| BuildFault::Connector { id: configured.id.to_string(), fault })?;
    let file = &configured.file;
    let facts = Facts {
        name: Arc::new(file.name.clone()),
        enabled: file.enabled,
        levels: file.levels,
        amr: file.amr.clone(),
        mfa: file.mfa.clone(),
    };
    Ok(Plan { id: configured.id.clone(), connector, facts })
}

fn register_of(loaded: &Loaded) -> Result<Option<Arc<dyn Register>>, BuildFault> {
    let Some(RegisterConfig::File(file)) = &loaded.settings.register else {
        return Ok(None);
    };
    let register = FileRegister::load(&file.path, &loaded.settings.home_country);
    Ok(Some(Arc::new(register.map_err(|fault| BuildFault::Register(fault.to_string()))?)))
}

/// On the high platform the identity is the provider's (R009), whatever the settings say.
fn identity_source(loaded: &Loaded) -> IdentitySource {
    match loaded.settings.platform {
        Platform::High => IdentitySource::Provider,
        Platform::Standard => loaded.settings.identity_source,
    }
}

fn rules(loaded: &Loaded) -> Rules {
    let required = match loaded.settings.subject {
        SubjectSource::Pivot => Required::Pivot,
        SubjectSource::Provider => Required::SubjectOnly,
    };
    Rules { home_country: loaded.settings.home_country.clone(), required }
}

fn shell(loaded: &Loaded, env: &Env, metrics: &Arc<Metrics>, theme: pages::Theme) -> Result<Arc<Shell>, BuildFault> {
    let env = env.clone();
    let page = move |head: &_, code| problem::early(&env, &theme, head, code);
    let deadline = Duration::from_secs(loaded.settings.limits.request_seconds);
    Ok(Arc::new(Shell::new(&loaded.settings.base_url, deadline, Arc::clone(metrics), page)?))
}

fn discovery_document(loaded: &Loaded, federation: &Federation) -> Result<String, serde_json::Error> {
    let scopes: Vec<Scope> = federation.scopes.scopes().cloned().collect();
    let claims: Vec<String> = federation.scopes.all_claim_names().into_iter().map(|claim| claim.as_str().to_owned()).collect();
    let ui_locales: Vec<String> = Locale::all().map(|locale| locale.to_string()).collect();
    discovery::document(&discovery::Provider {
        issuer: &loaded.issuer,
        base_url: &loaded.settings.base_url,
        platform: loaded.settings.platform,
        scopes: &scopes,
        claims: &claims,
        features: &[],
        ui_locales: &ui_locales,
    })
}

fn limits(configured: &Limits) -> logins::Limits {
    // A page of ours must come before the shell's deadline cuts the request.
    let patience = Duration::from_secs(configured.request_seconds).saturating_sub(Duration::from_secs(1));
    logins::Limits { steps_in_flight: configured.steps_in_flight, patience }
}

fn workers(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        given => given,
    }
}

/// For the demo, whose secrets live as long as its process.
#[must_use]
pub fn fresh_secret(env: &Env) -> Secret<String> {
    Secret::new(env.entropy().token())
}

/// What `check --online` found at each identity provider.
pub type Findings = Vec<(crate::ids::ConnectorId, Result<(), connector::ConnectorFault>)>;

/// Asks every identity provider for its metadata and keys, as the hub would.
///
/// # Errors
/// A connector that can't be built.
pub async fn probe(loaded: &Loaded, env: &Env) -> Result<Findings, BuildFault> {
    let mut findings = Vec::new();
    for configured in loaded.connectors.values() {
        let plan = plan(configured, loaded, env)?;
        findings.push((plan.id, plan.connector.warm().await));
    }
    Ok(findings)
}
