//! Runs the whole hub in the test's process, with a manual clock.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::to_bytes;
use actix_web::http::header::HeaderMap;
use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service, try_call_service};
use actix_web::web::Data;
use actix_web::{App, HttpResponse};
use passerelle_admin::Problem;
use passerelle_admin::readiness::{CheckFinding, CheckState, Readiness};
use passerelle_config::LoadedConfig;
use passerelle_config::kinds::Kinds;
use passerelle_federation::Federation;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_protocol::env::{Clock as _, Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_server::{HubServer, ProgramDeps, Reload};
use passerelle_settings::{Diagnostic, Environment};
use passerelle_telemetry::Metrics;
use passerelle_telemetry::trace::Tracer;
use passerelle_web::{Hub, routes};
use tempfile::TempDir;
use url::form_urlencoded::Serializer;

use super::browser::Browser;
use super::federation::{self, ADMIN_TOKEN, HOST, SECRET};

/// Wraps an actix service, whose type can't be named, in a boxed function.
macro_rules! serving {
    ($app:expr) => {{
        let app = Rc::new(init_service($app).await);
        let serve: Serve = Box::new(move |request| {
            let app = Rc::clone(&app);
            Box::pin(async move {
                match try_call_service(app.as_ref(), request.to_request()).await {
                    Ok(response) => response.into_parts().1.map_into_boxed_body(),
                    Err(error) => error.error_response(),
                }
            })
        });
        serve
    }};
}

type Serve = Box<dyn Fn(TestRequest) -> Pin<Box<dyn Future<Output = HttpResponse>>>>;

pub struct TestHub {
    serve: Serve,
    serve_private: Serve,
    clock: Arc<ManualClock>,
    /// The configuration that it was built from.
    pub loaded: LoadedConfig,
    pub metrics: Arc<Metrics>,
    pub(super) hub: Data<Hub>,
    /// Other hubs that share its store; requests are distributed over all of them.
    others: Vec<Data<Hub>>,
    client_keys: Arc<KeyDirectory>,
    reload: Reload,
    tracer: Tracer,
    folder: TempDir,
    /// The private listener and readiness of this hub, or of each of several.
    private_listeners: Vec<PrivateListener>,
}

/// Returns the time at which a hub starts. Its keys were created at the system clock's time; a day later
/// all of them sign.
fn tomorrow() -> Timestamp {
    Env::system().now() + Duration::from_secs(24 * 3600)
}

fn environment() -> Environment {
    [
        ("SUBJECT_KEY", "a subject key of more than 32 bytes, for ever"),
        ("CLIENT_SECRET", SECRET),
        ("ADMIN_TOKEN", ADMIN_TOKEN),
        ("REDIS_PASSWORD", "of the tests' servers"),
        ("STORE_KEY", "an encryption key of more than 32 characters"),
    ]
    .into_iter()
    .collect()
}

/// The private listener and readiness of one hub.
struct PrivateListener {
    serve: Serve,
    readiness: Arc<Readiness>,
}

/// The response to one request.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl TestHub {
    pub async fn start() -> Self {
        Self::with("").await
    }

    /// Starts a hub. `settings` are lines added to `passerelle.toml`.
    pub async fn with(settings: &str) -> Self {
        Self::build(settings, |_| ()).await
    }

    /// Starts a hub. `files` are additional files of the configuration folder, by name.
    pub async fn with_files(settings: &str, files: &[(&str, String)]) -> Self {
        let put = |folder: &Path| {
            for (name, text) in files.iter() {
                federation::put(folder, name, text.as_bytes());
            }
        };
        Self::build(settings, put).await
    }

    /// Starts a hub as in production: without the sandbox, and so without any identity provider.
    pub async fn without_sandbox(settings: &str, files: &[(&str, String)]) -> Self {
        let edit = |folder: &Path| {
            let file = folder.join("passerelle.toml");
            let text = std::fs::read_to_string(&file).unwrap();
            let without = text.replace("sandbox = true\nsandbox_public = true\n", "");
            std::fs::write(&file, without).unwrap();
            for entry in std::fs::read_dir(folder.join("connectors")).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
            for (name, text) in files {
                federation::put(folder, name, text.as_bytes());
            }
        };
        Self::build(settings, edit).await
    }

    /// Starts a hub after `edit` has changed files of the configuration folder.
    pub async fn edited(edit: impl FnOnce(&Path)) -> Self {
        Self::build("", edit).await
    }

    async fn build(settings: &str, edit: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write(folder.path(), settings);
        edit(folder.path());
        Self::on(folder).await
    }

    /// Starts a hub of the high platform. `services` are the service providers: the id, and the
    /// lines of its file beyond the common keys.
    pub async fn high(services: &[(&str, String)]) -> Self {
        Self::high_with(services, |_| ()).await
    }

    /// Like [`Self::high`], after `edit` has changed files of the configuration folder.
    pub async fn high_with(services: &[(&str, String)], edit: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write_high(folder.path(), services);
        edit(folder.path());
        Self::on(folder).await
    }

    /// Starts several hubs that share a store, behind one address that sends each request to the
    /// next one. Returns the metrics of each hub too.
    pub async fn several(count: u64, settings: &str) -> (Self, Vec<Arc<Metrics>>) {
        Self::several_edited(count, settings, |_| ()).await
    }

    /// Like [`Self::several`], after `edit` has changed files of the configuration folder.
    pub async fn several_edited(
        count: u64,
        settings: &str,
        edit: impl FnOnce(&Path),
    ) -> (Self, Vec<Arc<Metrics>>) {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write(folder.path(), settings);
        edit(folder.path());
        Self::on(folder).await.distributed(count).await
    }

    /// Starts so many hubs with the configuration of this one, behind one address as in
    /// [`Self::several`].
    pub async fn distributed(mut self, count: u64) -> (Self, Vec<Arc<Metrics>>) {
        let (mut apps, mut metrics, mut private_listeners, mut others) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for seed in 0..count {
            let env = Env::new(
                Arc::clone(&self.clock) as Arc<_>,
                Arc::new(SeededEntropy::new(100 + seed)),
            );
            let program =
                HubServer::build(&self.loaded, ProgramDeps { env, ..ProgramDeps::system() })
                    .unwrap();
            let (hub, middleware) = (program.hub(), program.outer_middleware());
            metrics.push(Arc::clone(&hub.core.metrics));
            let serve =
                serving!(App::new().service(passerelle_admin::admin_routes(program.admin())));
            private_listeners.push(PrivateListener { serve, readiness: program.readiness() });
            others.push(hub.clone());
            let app = App::new()
                .configure(move |config| routes::configure_routes(config, hub))
                .wrap(from_fn(move |request, next| Arc::clone(&middleware).handle(request, next)));
            apps.push(Rc::new(init_service(app).await));
        }
        (self.private_listeners, self.others) = (private_listeners, others);
        let next = Cell::new(0);
        self.serve = Box::new(move |request| {
            let request = request.to_request();
            next.set(next.get() + 1);
            let app = Rc::clone(&apps[next.get() % apps.len()]);
            Box::pin(async move {
                match try_call_service(app.as_ref(), request).await {
                    Ok(response) => response.into_parts().1.map_into_boxed_body(),
                    Err(error) => error.error_response(),
                }
            })
        });
        (self, metrics)
    }

    async fn on(folder: TempDir) -> Self {
        Self::on_at(folder, tomorrow()).await
    }

    /// Starts a hub of a program with these kinds. `settings` are lines added to `passerelle.toml`.
    ///
    /// # Errors
    /// Returns what is wrong with the configuration.
    pub async fn with_kinds(kinds: Kinds, settings: &str) -> Result<Self, Vec<Diagnostic>> {
        Self::with_kinds_edited(kinds, settings, |_| ()).await
    }

    /// Like [`Self::with_kinds`], after `edit` has changed files of the configuration folder.
    ///
    /// # Errors
    /// Returns what is wrong with the configuration.
    pub async fn with_kinds_edited(
        kinds: Kinds,
        settings: &str,
        edit: impl FnOnce(&Path),
    ) -> Result<Self, Vec<Diagnostic>> {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write(folder.path(), settings);
        edit(folder.path());
        let loaded = passerelle_config::load_config(folder.path(), &environment(), kinds)?;
        Ok(Self::from_config(folder, loaded, tomorrow()).await)
    }

    /// Starts a hub with the configuration, the keys and the state of this folder, at this time.
    pub async fn on_at(folder: TempDir, now: Timestamp) -> Self {
        let loaded = passerelle_server::load_usable_config(folder.path(), &environment()).unwrap();
        Self::from_config(folder, loaded, now).await
    }

    async fn from_config(folder: TempDir, loaded: LoadedConfig, now: Timestamp) -> Self {
        let clock = Arc::new(ManualClock::at(now));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(7)));
        let program =
            HubServer::build(&loaded, ProgramDeps { env, ..ProgramDeps::system() }).unwrap();

        let (hub, middleware) = (program.hub(), program.outer_middleware());
        let metrics = Arc::clone(&hub.core.metrics);
        let served = hub.clone();
        let app = App::new()
            .configure(move |config| routes::configure_routes(config, served))
            .wrap(from_fn(move |request, next| Arc::clone(&middleware).handle(request, next)));
        let serve = serving!(app);
        let serve_private =
            serving!(App::new().service(passerelle_admin::admin_routes(program.admin())));
        let own = serving!(App::new().service(passerelle_admin::admin_routes(program.admin())));
        let private_listeners =
            vec![PrivateListener { serve: own, readiness: program.readiness() }];
        Self {
            serve,
            serve_private,
            clock,
            loaded,
            metrics,
            hub,
            reload: program.reload(),
            client_keys: program.client_keys(),
            tracer: program.tracer(),
            folder,
            private_listeners,
            others: Vec::new(),
        }
    }

    /// Ends this hub, and starts another one with the same configuration folder.
    pub async fn restart(self) -> Self {
        Self::on(self.folder).await
    }

    /// Returns the state folder.
    pub fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Sends a request to the private listener.
    pub async fn send_private(&self, request: TestRequest) -> Answer {
        Answer::from_response((self.serve_private)(request).await).await
    }

    /// Sends a request to the private listener of hub number `hub`.
    pub async fn send_private_to(&self, hub: usize, request: TestRequest) -> Answer {
        Answer::from_response((self.private_listeners[hub].serve)(request).await).await
    }

    /// Returns the reasons why hub number `hub` is not ready, by check.
    pub fn not_ready_reasons(&self, hub: usize) -> BTreeMap<String, String> {
        let problems = self.problems(hub).into_iter();
        let reasons = problems.filter(|problem| problem.state == CheckState::NotReady);
        reasons.map(|problem| (problem.check, problem.finding.to_string())).collect()
    }

    /// Returns the degradations of hub number `hub`, by check.
    pub fn degradations(&self, hub: usize) -> BTreeMap<String, Vec<CheckFinding>> {
        let mut degradations: BTreeMap<String, Vec<CheckFinding>> = BTreeMap::new();
        let problems = self.problems(hub).into_iter();
        for problem in problems.filter(|problem| problem.state == CheckState::Degraded) {
            degradations.entry(problem.check).or_default().push(problem.finding);
        }
        degradations
    }

    /// Returns the problems of hub number `hub`, causes before effects.
    pub fn problems(&self, hub: usize) -> Vec<Problem> {
        self.private_listeners[hub].readiness.report().problems
    }

    /// Returns a browser without cookies, whose language is English.
    pub fn browser(&self) -> Browser<'_> {
        Browser::new(self, "en")
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Refreshes the published keys of clients, as the hub does every few seconds.
    pub async fn refresh_client_keys(&self) {
        self.client_keys.refresh(&self.hub.core.env).await;
    }

    /// Delivers the logout tokens that are due, as each hub does every two seconds.
    pub async fn deliver_logout_tokens(&self) {
        for hub in std::iter::once(&self.hub).chain(&self.others) {
            hub.logouts.notifier().start_due().await;
        }
    }

    /// Returns the clients and connectors in force.
    pub fn federation(&self) -> Arc<Federation> {
        self.hub.core.federation.load()
    }

    /// Reads the registrations and records their uses at all hubs, as each does every two seconds.
    #[cfg(feature = "client-registration")]
    pub async fn maintain_registrations(&self) {
        use passerelle_client_registration::ClientRegistrations;
        for hub in std::iter::once(&self.hub).chain(&self.others) {
            if let Some(registrations) = hub.extension::<ClientRegistrations>() {
                registrations.maintain().await;
            }
        }
    }

    /// Waits until all events recorded so far are in the audit log.
    pub fn flush_audit(&self) {
        self.hub.core.audit.flush();
    }

    /// Waits until all pending spans have been sent to the collector.
    pub async fn flush_traces(&self) {
        self.tracer.flush(Duration::from_secs(20)).await;
    }

    /// Synchronizes the rate limit counters of all hubs, as they do each second.
    pub async fn sync_counters(&self) {
        for hub in &self.others {
            if let Some(counter_sync) = &hub.counter_sync {
                counter_sync.sync_once().await;
            }
        }
    }

    /// Returns the configuration folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Reloads the configuration files now.
    pub async fn reload_files(&self) {
        self.reload.reload_now().await;
    }

    pub const fn reload(&self) -> &Reload {
        &self.reload
    }

    /// Sends a request to the hub's own host.
    pub async fn send(&self, request: TestRequest) -> Answer {
        self.send_to(HOST, request).await
    }

    /// Sends a request with this `Host` header.
    pub async fn send_to(&self, host: &str, request: TestRequest) -> Answer {
        Answer::from_response((self.serve)(request.insert_header(("host", host))).await).await
    }

    /// Sends a form to the hub's own host.
    pub async fn post_form(&self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let body = Serializer::new(String::new()).extend_pairs(pairs).finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.send(TestRequest::post().uri(path).insert_header(form).set_payload(body)).await
    }
}

impl Answer {
    async fn from_response(response: HttpResponse) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body()).await.unwrap();
        Self { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
