//! The whole program in process, with a clock that is moved by hand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::app::{self, HubServer, ProgramDeps, Reload};
use crate::config::{Environment, Federation, LoadedConfig};
use crate::env::{Clock as _, Env, Timestamp};
use crate::grant::logout::LogoutDestination;
use crate::protocol::logout::{self, LogoutRequest};
use crate::protocol::params::Params;
use crate::telemetry::Metrics;
use crate::telemetry::trace::Tracer;
use crate::testing::env::{ManualClock, SeededEntropy};
use crate::web::readiness::{CheckFinding, Readiness};
use crate::web::{Hub, admin, routes};
use actix_web::body::to_bytes;
use actix_web::http::header::HeaderMap;
use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service, try_call_service};
use actix_web::web::Data;
use actix_web::{App, HttpResponse};
use tempfile::TempDir;
use url::form_urlencoded::Serializer;

use super::browser::Browser;
use super::federation::{self, ADMIN_TOKEN, HOST, SECRET};

/// A service as a plain function; its own type can't be named here.
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
    administer: Serve,
    clock: Arc<ManualClock>,
    /// What it was built from.
    pub loaded: LoadedConfig,
    pub metrics: Arc<Metrics>,
    pub(super) hub: Data<Hub>,
    /// Those that share a store with it, and answer in its stead.
    others: Vec<Data<Hub>>,
    reload: Reload,
    tracer: Tracer,
    folder: TempDir,
    /// Private listeners and probes: of this hub, or of each of several.
    nodes: Vec<Node>,
}

/// A hub by itself.
struct Node {
    administer: Serve,
    readiness: Arc<Readiness>,
}

/// What came back to one request.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl TestHub {
    pub async fn start() -> Self {
        Self::with("").await
    }

    /// `settings` are lines added to `passerelle.toml`.
    pub async fn with(settings: &str) -> Self {
        Self::build(settings, |_| ()).await
    }

    /// `files` are more files of the configuration folder, by name.
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

    /// `edit` may change any file of the configuration folder.
    pub async fn edited(edit: impl FnOnce(&Path)) -> Self {
        Self::build("", edit).await
    }

    async fn build(settings: &str, edit: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write(folder.path(), settings);
        edit(folder.path());
        Self::on(folder).await
    }

    /// On the high platform, with these service providers: id, and what its file has beyond the
    /// common keys.
    pub async fn high(services: &[(&str, String)]) -> Self {
        Self::high_with(services, |_| ()).await
    }

    /// The same; `edit` may change any file of the configuration folder.
    pub async fn high_with(services: &[(&str, String)], edit: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write_high(folder.path(), services);
        edit(folder.path());
        Self::on(folder).await
    }

    /// Several hubs that share a store, behind one address that sends each request to another of
    /// them. Gives what each of them counts, too.
    pub async fn several(count: u64, settings: &str) -> (Self, Vec<Arc<Metrics>>) {
        Self::several_edited(count, settings, |_| ()).await
    }

    /// The same; `edit` may change any file of the configuration folder.
    pub async fn several_edited(
        count: u64,
        settings: &str,
        edit: impl FnOnce(&Path),
    ) -> (Self, Vec<Arc<Metrics>>) {
        let folder = TempDir::with_prefix("passerelle-flow-").unwrap();
        federation::write(folder.path(), settings);
        edit(folder.path());
        let mut behind = Self::on(folder).await;
        let (mut apps, mut counted, mut nodes, mut others) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for seed in 0..count {
            let env = Env::new(
                Arc::clone(&behind.clock) as Arc<_>,
                Arc::new(SeededEntropy::new(100 + seed)),
            );
            let program =
                HubServer::build(&behind.loaded, ProgramDeps { env, ..ProgramDeps::system() })
                    .unwrap();
            let (hub, shell) = (program.hub(), program.outer_middleware());
            counted.push(Arc::clone(&hub.core.metrics));
            let administer = serving!(App::new().service(admin::admin_routes(program.admin())));
            nodes.push(Node { administer, readiness: program.readiness() });
            others.push(hub.clone());
            let app = App::new()
                .configure(move |config| routes::configure_routes(config, hub))
                .wrap(from_fn(move |request, next| Arc::clone(&shell).handle(request, next)));
            apps.push(Rc::new(init_service(app).await));
        }
        (behind.nodes, behind.others) = (nodes, others);
        let turn = Cell::new(0);
        behind.serve = Box::new(move |request| {
            let request = request.to_request();
            turn.set(turn.get() + 1);
            let app = Rc::clone(&apps[turn.get() % apps.len()]);
            Box::pin(async move {
                match try_call_service(app.as_ref(), request).await {
                    Ok(response) => response.into_parts().1.map_into_boxed_body(),
                    Err(error) => error.error_response(),
                }
            })
        });
        (behind, counted)
    }

    async fn on(folder: TempDir) -> Self {
        let environment: Environment = [
            ("SUBJECT_KEY", "a subject key of more than 32 bytes, for ever"),
            ("CLIENT_SECRET", SECRET),
            ("ADMIN_TOKEN", ADMIN_TOKEN),
            ("REDIS_PASSWORD", "of the tests' servers"),
            ("SEAL_KEY", "a key of more than 32 characters to seal with"),
        ]
        .into_iter()
        .collect();
        let loaded = app::load_usable_config(folder.path(), &environment).unwrap();

        // The keys were made by the machine's clock, and sign from their making; a day later all of
        // them do.
        let clock = Arc::new(ManualClock::at(Env::system().now() + Duration::from_secs(24 * 3600)));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(7)));
        let program =
            HubServer::build(&loaded, ProgramDeps { env, ..ProgramDeps::system() }).unwrap();

        let (hub, shell) = (program.hub(), program.outer_middleware());
        let metrics = Arc::clone(&hub.core.metrics);
        let served = hub.clone();
        let app = App::new()
            .configure(move |config| routes::configure_routes(config, served))
            .wrap(from_fn(move |request, next| Arc::clone(&shell).handle(request, next)));
        let serve = serving!(app);
        let administer = serving!(App::new().service(admin::admin_routes(program.admin())));
        let by_node = serving!(App::new().service(admin::admin_routes(program.admin())));
        let nodes = vec![Node { administer: by_node, readiness: program.readiness() }];
        Self {
            serve,
            administer,
            clock,
            loaded,
            metrics,
            hub,
            reload: program.reload(),
            tracer: program.tracer(),
            folder,
            nodes,
            others: Vec::new(),
        }
    }

    /// Another process on the same configuration folder, after this one has ended.
    pub async fn restarted(self) -> Self {
        Self::on(self.folder).await
    }

    /// Where the hub keeps what it must not forget.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Asks the private listener.
    pub async fn administer(&self, request: TestRequest) -> Answer {
        Answer::from_response((self.administer)(request).await).await
    }

    /// Asks the private listener of one of several.
    pub async fn administer_at(&self, node: usize, request: TestRequest) -> Answer {
        Answer::from_response((self.nodes[node].administer)(request).await).await
    }

    /// Why one of several must not be asked, by check.
    pub fn not_ready(&self, node: usize) -> BTreeMap<&'static str, String> {
        let reasons = self.nodes[node].readiness.not_ready_reasons().into_iter();
        reasons.map(|(name, finding)| (name, finding.to_string())).collect()
    }

    /// What is degraded at one of several, by check.
    pub fn degraded(&self, node: usize) -> BTreeMap<&'static str, Vec<CheckFinding>> {
        self.nodes[node].readiness.degradations()
    }

    /// A browser without cookies, of a person who reads English.
    pub fn browser(&self) -> Browser<'_> {
        Browser::new(self, "en")
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Keeps the way back of a whole logout request, as if the browser had left for this identity
    /// provider's logout.
    pub async fn keep_logout(&self, connector: &str, state: &str, request: &[(&str, &str)]) {
        let hub = &self.hub;
        let pairs =
            request.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let asked = logout::validate_request(
            &Params::new(pairs),
            hub.core.federation.load().as_ref(),
            |hint| hub.grants.verify_logout_hint(hint),
        );
        let LogoutRequest::Named { hint, return_to: back } = asked.unwrap() else {
            panic!("it names no service provider")
        };
        let kept = LogoutDestination {
            service_provider: Some(hint.audience),
            return_to: back,
            ..LogoutDestination::default()
        };
        hub.grants.save_logout_destination(&connector.into(), state, &kept).await.unwrap();
    }

    /// Takes every place that logout requests sent by POST may wait in.
    pub async fn fill_with_parked_logouts(&self) {
        while self.hub.grants.save_logout_request(&[]).await.is_ok() {}
    }

    /// What the hub does by itself every few seconds.
    pub async fn refresh_client_keys(&self) {
        self.hub.grants.client_keys.refresh(&self.hub.core.env).await;
    }

    /// Has every hub look at the queue of logout tokens, as each does every two seconds.
    pub async fn deliver_logout_tokens(&self) {
        for hub in std::iter::once(&self.hub).chain(&self.others) {
            hub.logouts.notifier().start_due().await;
        }
    }

    /// Returns the clients and connectors in force.
    pub fn federation(&self) -> Arc<Federation> {
        self.hub.core.federation.load()
    }

    /// Has every hub read the registrations and record their uses, as each does every two seconds.
    pub async fn maintain_registrations(&self) {
        for hub in std::iter::once(&self.hub).chain(&self.others) {
            if let Some(registrations) = &hub.core.registrations {
                registrations.maintain().await;
            }
        }
    }

    /// Comes back when everything recorded so far is in the audit log.
    pub fn flush_audit(&self) {
        self.hub.core.audit.flush();
    }

    /// Comes back when every span that waits was sent to the collector.
    pub async fn flush_traces(&self) {
        self.tracer.flush(Duration::from_secs(20)).await;
    }

    /// Has all hubs tell each other what they have counted, as they do each second.
    pub async fn exchange_counts(&self) {
        for hub in &self.others {
            if let Some(exchange) = &hub.exchange {
                exchange.sync_once().await;
            }
        }
    }

    /// The configuration folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Has the configuration files read again now, as an event or a round would.
    pub async fn reread(&self) {
        self.reload.reload_now().await;
    }

    pub const fn reload(&self) -> &Reload {
        &self.reload
    }

    /// Sends one request to the hub's own host.
    pub async fn send(&self, request: TestRequest) -> Answer {
        self.send_to(HOST, request).await
    }

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
