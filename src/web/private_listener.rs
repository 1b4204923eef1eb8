//! L4 · What the operator's machinery asks on the private listener: alive, ready, metrics.
//!
//! Owns: `/livez`, `/readyz`, `/metrics`. Must not know: what is checked; each check is a closure with a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{Error, HttpResponse, http::StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::config::outline::Outline;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::{Listener, Metrics};
use crate::web::host::PrivateHosts;
use crate::web::shell::count;
use crate::web::{admin, form};

/// `Err` says, for an operator, why not.
type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What an operator should mend, although requests are served all the same.
type Detail = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// How one check stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    /// To be mended, and served all the same.
    Degraded,
    /// No request should be sent here.
    NotReady,
}

impl CheckState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::NotReady => "not ready",
        }
    }

    /// Of a page's style sheet.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Degraded => "odd",
            Self::NotReady => "ill",
        }
    }
}

/// One check, as `/readyz` lists it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckRow {
    pub name: String,
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What is not as it should be, and what the operator does about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    /// Of a line that ends with its mend.
    fn of(line: &str) -> Self {
        let parts = line.split_once("; mend: ").or_else(|| line.rsplit_once("; "));
        match parts {
            Some((what, mend)) => Self { what: what.to_owned(), mend: Some(mend.to_owned()) },
            None => Self { what: line.to_owned(), mend: None },
        }
    }
}

/// Whether this process should be sent requests: every named check agrees, and it is not going down.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<(&'static str, Check)>,
    details: Vec<(&'static str, Detail)>,
    draining: AtomicBool,
}

impl Readiness {
    /// Adds a check. It is asked at each `/readyz`: it must look at something already known, and never wait.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Box::new(check)));
        self
    }

    /// Adds a list of what is not as it should be, and keeps nobody from being served. Asked as a check is.
    #[must_use]
    pub fn with_detail(
        mut self,
        name: &'static str,
        detail: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.details.push((name, Box::new(detail)));
        self
    }

    /// Every check by name, each with what there is to mend.
    #[must_use]
    pub fn checks(&self) -> Vec<CheckRow> {
        let (complaints, degraded) = (self.complaints(), self.degraded());
        let asked = self
            .checks
            .iter()
            .map(|(name, _)| *name)
            .chain(self.details.iter().map(|(name, _)| *name));
        let names: BTreeSet<&str> = asked.chain(complaints.keys().copied()).collect();
        let row = |name: &str| {
            let (complaint, details) = (complaints.get(name), degraded.get(name));
            let state = match (complaint, details) {
                (Some(_), _) => CheckState::NotReady,
                (None, Some(_)) => CheckState::Degraded,
                (None, None) => CheckState::Ok,
            };
            let lines = complaint.into_iter().chain(details.into_iter().flatten());
            CheckRow {
                name: name.to_owned(),
                state,
                findings: lines.map(|line| Finding::of(line)).collect(),
            }
        };
        names.into_iter().map(row).collect()
    }

    /// What should be mended, by name; empty when all is well.
    #[must_use]
    pub fn degraded(&self) -> BTreeMap<&'static str, Vec<String>> {
        let told = self.details.iter().map(|(name, detail)| (*name, detail()));
        told.filter(|(_, told)| !told.is_empty()).collect()
    }

    /// From now on not ready: the first step of going down.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Going down.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// What is not ready, by name, with the reason; empty when all is well.
    #[must_use]
    pub fn complaints(&self) -> BTreeMap<&'static str, String> {
        let complaint =
            |(name, check): &(&'static str, Check)| check().err().map(|reason| (*name, reason));
        let mut complaints: BTreeMap<_, _> = self.checks.iter().filter_map(complaint).collect();
        if self.is_draining() {
            complaints.insert("draining", "this process is going down".to_owned());
        }
        complaints
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|(name, _)| name)).finish()
    }
}

/// The middleware around the private application: 421 for a host name that is none of its own, 404 for an address that
/// encodes what needs no encoding. Only then is a request anybody's.
///
/// # Errors
/// The handler's.
pub async fn admit(
    hosts: Arc<PrivateHosts>,
    metrics: Arc<Metrics>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let code = match () {
        () if !hosts.is_meant_by(&request) => ErrorCode::UnknownHost,
        () if !form::is_normalized(request.path()) => ErrorCode::NotFound,
        () => return next.call(request).await,
    };
    let (started, details) = (
        Instant::now(),
        match code {
            ErrorCode::UnknownHost => vec![
                "ask by an IP address or localhost, or add the name to private.hosts".to_owned(),
            ],
            _ => Vec::new(),
        },
    );
    let answer = Ok(request.into_response(admin::refused(code, details, None)));
    count(&metrics, Listener::Private, &answer, started);
    answer
}

/// Adds the three paths, and `more` that is counted as they are, to the private application. Its scope takes every path: whatever else that application serves
/// is registered before.
pub fn configure(
    config: &mut ServiceConfig,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    more: impl HttpServiceFactory + 'static,
) {
    let counter = Arc::clone(&metrics);
    let counted = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
        let metrics = Arc::clone(&counter);
        async move {
            let started = Instant::now();
            let answer = next.call(request).await;
            count(&metrics, Listener::Private, &answer, started);
            answer
        }
    });
    config.app_data(Data::from(readiness)).app_data(Data::from(metrics)).service(
        web::scope("")
            .wrap(counted)
            .service(web::resource("/livez").get(alive).head(alive))
            .service(web::resource("/readyz").get(ready).head(ready))
            .service(web::resource("/metrics").get(scrape))
            .service(more),
    );
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_ready: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    degraded: BTreeMap<&'static str, Vec<String>>,
    checks: Vec<CheckRow>,
}

/// Adds, before [`configure`], what the files in use say, in short: for `passerelle plan`, which holds it against the files
/// that there are. It tells who may be served by whom, and no secret.
pub fn configure_digest(
    config: &mut ServiceConfig,
    digest: impl Fn() -> Outline + Clone + 'static,
) {
    let told = move || {
        let outline = digest();
        async move { HttpResponse::Ok().insert_header(("cache-control", "no-store")).json(outline) }
    };
    config.service(web::resource(DIGEST).get(told));
}

/// Where [`configure_digest`] answers.
pub const DIGEST: &str = "/config/digest";

/// True as long as anything answers at all: a hub that is not ready must not be restarted for it.
async fn alive() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(("cache-control", "no-store"))
        .json(serde_json::json!({ "alive": true }))
}

async fn ready(readiness: Data<Readiness>) -> HttpResponse {
    let not_ready = readiness.complaints();
    let status =
        if not_ready.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = Ready {
        ready: not_ready.is_empty(),
        not_ready,
        degraded: readiness.degraded(),
        checks: readiness.checks(),
    };
    HttpResponse::build(status).insert_header(("cache-control", "no-store")).json(body)
}

async fn scrape(metrics: Data<Metrics>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(metrics.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;
    use actix_web::{App, test};

    async fn answer(readiness: &Arc<Readiness>, path: &str) -> (u16, String) {
        answer_counted(readiness, path, Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap()))
            .await
    }

    async fn answer_counted(
        readiness: &Arc<Readiness>,
        path: &str,
        metrics: Arc<Metrics>,
    ) -> (u16, String) {
        let app = test::init_service(App::new().configure(|config| {
            configure(config, Arc::clone(readiness), metrics, web::resource("/more"))
        }))
        .await;
        let response =
            test::call_service(&app, test::TestRequest::get().uri(path).to_request()).await;
        let status = response.status().as_u16();
        (status, String::from_utf8(test::read_body(response).await.to_vec()).unwrap())
    }

    #[actix_web::test]
    async fn readiness_names_what_is_missing() {
        let keys = Arc::new(AtomicBool::new(false));
        let loaded = Arc::clone(&keys);
        let readiness = Readiness::default().with("store", || Ok(())).with("keys", move || {
            if loaded.load(Ordering::SeqCst) {
                Ok(())
            } else {
                Err("no signing key is loaded".into())
            }
        });
        let readiness = Arc::new(readiness);
        let missing = concat!(
            r#"{"ready":false,"not_ready":{"keys":"no signing key is loaded"},"checks":["#,
            r#"{"name":"keys","state":"not_ready","findings":[{"what":"no signing key is loaded"}]},{"name":"store","state":"ok"}]}"#
        );
        assert_eq!(answer(&readiness, "/readyz").await, (503, missing.into()));
        keys.store(true, Ordering::SeqCst);
        assert_eq!(
            answer(&readiness, "/readyz").await,
            (200, r#"{"ready":true,"checks":[{"name":"keys","state":"ok"},{"name":"store","state":"ok"}]}"#.into())
        );
    }

    #[actix_web::test]
    async fn what_is_to_be_mended_is_told_and_keeps_nobody_from_being_served() {
        let told = || vec!["connectors/x.toml:3 name is missing; add it".to_owned()];
        let readiness = Arc::new(
            Readiness::default().with_detail("config", told).with_detail("other", Vec::new),
        );
        let body = concat!(
            r#"{"ready":true,"degraded":{"config":["connectors/x.toml:3 name is missing; add it"]},"checks":["#,
            r#"{"name":"config","state":"degraded","findings":[{"what":"connectors/x.toml:3 name is missing","mend":"add it"}]},"#,
            r#"{"name":"other","state":"ok"}]}"#
        );
        assert_eq!(answer(&readiness, "/readyz").await, (200, body.into()));
    }

    #[actix_web::test]
    async fn what_is_in_use_is_told_to_whoever_makes_a_plan() {
        let readiness = Arc::new(Readiness::default());
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let app = App::new()
            .configure(|config| configure_digest(config, Outline::default))
            .configure(|config| configure(config, readiness, metrics, web::resource("/more")));
        let app = test::init_service(app).await;
        let response =
            test::call_service(&app, test::TestRequest::get().uri(DIGEST).to_request()).await;
        assert_eq!(response.status(), 200);
        assert_eq!(test::read_body_json::<Outline, _>(response).await, Outline::default());
        assert_eq!(
            test::call_service(&app, test::TestRequest::get().uri("/livez").to_request())
                .await
                .status(),
            200
        );
    }

    #[actix_web::test]
    async fn going_down_is_not_ready_but_alive() {
        let readiness = Arc::new(Readiness::default());
        readiness.drain();
        let (status, body) = answer(&readiness, "/readyz").await;
        assert_eq!((status, body.contains("draining")), (503, true));
        assert_eq!(answer(&readiness, "/livez").await.0, 200);
    }

    #[actix_web::test]
    async fn metrics_are_served_as_text() {
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let readiness = Arc::new(Readiness::default());
        answer_counted(&readiness, "/livez", Arc::clone(&metrics)).await;
        let (status, body) = answer_counted(&readiness, "/metrics", metrics).await;
        assert_eq!((status, body.contains("passerelle_build_info")), (200, true));
        assert!(
            body.contains(r#"passerelle_http_requests_total{endpoint="/livez",listener="private",status="2xx"} 1"#),
            "{body}"
        );
    }
}
