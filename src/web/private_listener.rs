//! The private listener's endpoints for monitoring: `/livez`, `/readyz`, `/metrics`, and
//! `/config/digest`.
//!
//! Does not know what is checked: each check is a named closure.

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

use crate::config::config_digest::ConfigDigest;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::{Listener, Metrics};
use crate::web::host::PrivateHosts;
use crate::web::outer_middleware::count_response;
use crate::web::{admin, form};

/// A readiness check; `Err` is the reason, for an operator.
type ReadinessCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Lists the problems that an operator should fix, while requests are still served.
type DegradationCheck = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// State of a check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    /// Needs a fix; requests are still served.
    Degraded,
    /// No request should be sent to this process.
    NotReady,
}

impl CheckState {
    /// Returns the state as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::NotReady => "not ready",
        }
    }

    /// Returns the CSS class of the state.
    #[must_use]
    pub const fn css_class(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Degraded => "warning",
            Self::NotReady => "error",
        }
    }
}

/// Result of one check, as in `/readyz`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CheckFinding>,
}

/// A problem that a check found, and its fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckFinding {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl CheckFinding {
    /// Splits a line that ends with its fix.
    fn from_line(line: &str) -> Self {
        let parts = line.split_once("; fix: ").or_else(|| line.rsplit_once("; "));
        match parts {
            Some((message, fix)) => Self { message: message.to_owned(), fix: Some(fix.to_owned()) },
            None => Self { message: line.to_owned(), fix: None },
        }
    }
}

/// Readiness of this process: ready if every check passes and it is not shutting down.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<(&'static str, ReadinessCheck)>,
    degradation_checks: Vec<(&'static str, DegradationCheck)>,
    draining: AtomicBool,
}

impl Readiness {
    /// Adds a check. It runs at each `/readyz`: it must read known state and never wait.
    #[must_use]
    pub fn with_check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Box::new(check)));
        self
    }

    /// Adds a check whose problems do not make the process unready. It runs at each `/readyz`.
    #[must_use]
    pub fn with_degradation_check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.degradation_checks.push((name, Box::new(check)));
        self
    }

    /// Returns the result of every check, by name.
    #[must_use]
    pub fn check_results(&self) -> Vec<CheckResult> {
        let (reasons, degradations) = (self.not_ready_reasons(), self.degradations());
        let registered = self
            .checks
            .iter()
            .map(|(name, _)| *name)
            .chain(self.degradation_checks.iter().map(|(name, _)| *name));
        let names: BTreeSet<&str> = registered.chain(reasons.keys().copied()).collect();
        let row = |name: &str| {
            let (reason, details) = (reasons.get(name), degradations.get(name));
            let state = match (reason, details) {
                (Some(_), _) => CheckState::NotReady,
                (None, Some(_)) => CheckState::Degraded,
                (None, None) => CheckState::Ok,
            };
            let lines = reason.into_iter().chain(details.into_iter().flatten());
            CheckResult {
                name: name.to_owned(),
                state,
                findings: lines.map(|line| CheckFinding::from_line(line)).collect(),
            }
        };
        names.into_iter().map(row).collect()
    }

    /// Returns the problems that do not make the process unready, by check.
    #[must_use]
    pub fn degradations(&self) -> BTreeMap<&'static str, Vec<String>> {
        let results = self.degradation_checks.iter().map(|(name, check)| (*name, check()));
        results.filter(|(_, problems)| !problems.is_empty()).collect()
    }

    /// Makes the process not ready: the first step of a shutdown.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Returns whether the process is shutting down.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Returns the reasons why the process is not ready, by check.
    #[must_use]
    pub fn not_ready_reasons(&self) -> BTreeMap<&'static str, String> {
        let reason = |(name, check): &(&'static str, ReadinessCheck)| {
            check().err().map(|error| (*name, error))
        };
        let mut reasons: BTreeMap<_, _> = self.checks.iter().filter_map(reason).collect();
        if self.is_draining() {
            reasons.insert("draining", "this process is shutting down".to_owned());
        }
        reasons
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|(name, _)| name)).finish()
    }
}

/// Middleware of the private listener: responds with 421 to an unknown host name, and with 404 to a
/// path that is not normalized.
///
/// # Errors
/// The handler's error.
pub async fn check_target(
    hosts: Arc<PrivateHosts>,
    metrics: Arc<Metrics>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let code = match () {
        () if !hosts.allows_request(&request) => ErrorCode::UnknownHost,
        () if !form::is_normalized(request.path()) => ErrorCode::NotFound,
        () => return next.call(request).await,
    };
    let (started, details) = (
        Instant::now(),
        match code {
            ErrorCode::UnknownHost => {
                vec!["use an IP address or localhost, or add the name to private.hosts".to_owned()]
            }
            _ => Vec::new(),
        },
    );
    let answer = Ok(request.into_response(admin::error_response(code, details, None)));
    count_response(&metrics, Listener::Private, &answer, started);
    answer
}

/// Adds the three paths, and `more`, to the private application, and counts their requests.
///
/// The scope matches every path, so other services must be registered before it.
pub fn configure_endpoints(
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
            count_response(&metrics, Listener::Private, &answer, started);
            answer
        }
    });
    config.app_data(Data::from(readiness)).app_data(Data::from(metrics)).service(
        web::scope("")
            .wrap(counted)
            .service(web::resource("/livez").get(livez).head(livez))
            .service(web::resource("/readyz").get(readyz).head(readyz))
            .service(web::resource("/metrics").get(render_metrics))
            .service(more),
    );
}

#[derive(Serialize)]
struct ReadyzBody {
    ready: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_ready: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    degraded: BTreeMap<&'static str, Vec<String>>,
    checks: Vec<CheckResult>,
}

/// Adds the digest of the configuration in use, which `passerelle plan` compares with the files.
///
/// Call it before [`configure_endpoints`]. The digest holds no secret.
pub fn configure_config_digest(
    config: &mut ServiceConfig,
    digest: impl Fn() -> ConfigDigest + Clone + 'static,
) {
    let handler = move || {
        let digest = digest();
        async move { HttpResponse::Ok().insert_header(("cache-control", "no-store")).json(digest) }
    };
    config.service(web::resource(CONFIG_DIGEST_PATH).get(handler));
}

/// Path of the configuration digest.
pub const CONFIG_DIGEST_PATH: &str = "/config/digest";

/// Always responds with 200: a hub that is not ready must not be restarted for it.
async fn livez() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(("cache-control", "no-store"))
        .json(serde_json::json!({ "alive": true }))
}

async fn readyz(readiness: Data<Readiness>) -> HttpResponse {
    let not_ready = readiness.not_ready_reasons();
    let status =
        if not_ready.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = ReadyzBody {
        ready: not_ready.is_empty(),
        not_ready,
        degraded: readiness.degradations(),
        checks: readiness.check_results(),
    };
    HttpResponse::build(status).insert_header(("cache-control", "no-store")).json(body)
}

async fn render_metrics(metrics: Data<Metrics>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(metrics.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;
    use actix_web::{App, test};

    async fn get(readiness: &Arc<Readiness>, path: &str) -> (u16, String) {
        get_with_metrics(
            readiness,
            path,
            Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap()),
        )
        .await
    }

    async fn get_with_metrics(
        readiness: &Arc<Readiness>,
        path: &str,
        metrics: Arc<Metrics>,
    ) -> (u16, String) {
        let app = test::init_service(App::new().configure(|config| {
            configure_endpoints(config, Arc::clone(readiness), metrics, web::resource("/more"))
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
        let readiness =
            Readiness::default().with_check("store", || Ok(())).with_check("keys", move || {
                if loaded.load(Ordering::SeqCst) {
                    Ok(())
                } else {
                    Err("no signing key is loaded".into())
                }
            });
        let readiness = Arc::new(readiness);
        let missing = concat!(
            r#"{"ready":false,"not_ready":{"keys":"no signing key is loaded"},"checks":["#,
            r#"{"name":"keys","state":"not_ready","findings":[{"message":"no signing key is loaded"}]},{"name":"store","state":"ok"}]}"#
        );
        assert_eq!(get(&readiness, "/readyz").await, (503, missing.into()));
        keys.store(true, Ordering::SeqCst);
        assert_eq!(
            get(&readiness, "/readyz").await,
            (200, r#"{"ready":true,"checks":[{"name":"keys","state":"ok"},{"name":"store","state":"ok"}]}"#.into())
        );
    }

    #[actix_web::test]
    async fn degradations_are_listed_and_do_not_make_the_process_unready() {
        let problems = || vec!["connectors/x.toml:3 name is missing; add it".to_owned()];
        let readiness = Arc::new(
            Readiness::default()
                .with_degradation_check("config", problems)
                .with_degradation_check("other", Vec::new),
        );
        let body = concat!(
            r#"{"ready":true,"degraded":{"config":["connectors/x.toml:3 name is missing; add it"]},"checks":["#,
            r#"{"name":"config","state":"degraded","findings":[{"message":"connectors/x.toml:3 name is missing","fix":"add it"}]},"#,
            r#"{"name":"other","state":"ok"}]}"#
        );
        assert_eq!(get(&readiness, "/readyz").await, (200, body.into()));
    }

    #[actix_web::test]
    async fn the_digest_of_the_configuration_in_use_is_served() {
        let readiness = Arc::new(Readiness::default());
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let app = App::new()
            .configure(|config| configure_config_digest(config, ConfigDigest::default))
            .configure(|config| {
                configure_endpoints(config, readiness, metrics, web::resource("/more"))
            });
        let app = test::init_service(app).await;
        let response =
            test::call_service(&app, test::TestRequest::get().uri(CONFIG_DIGEST_PATH).to_request())
                .await;
        assert_eq!(response.status(), 200);
        assert_eq!(
            test::read_body_json::<ConfigDigest, _>(response).await,
            ConfigDigest::default()
        );
        assert_eq!(
            test::call_service(&app, test::TestRequest::get().uri("/livez").to_request())
                .await
                .status(),
            200
        );
    }

    #[actix_web::test]
    async fn a_draining_process_is_not_ready_but_alive() {
        let readiness = Arc::new(Readiness::default());
        readiness.drain();
        let (status, body) = get(&readiness, "/readyz").await;
        assert_eq!((status, body.contains("draining")), (503, true));
        assert_eq!(get(&readiness, "/livez").await.0, 200);
    }

    #[actix_web::test]
    async fn metrics_are_served_as_text() {
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let readiness = Arc::new(Readiness::default());
        get_with_metrics(&readiness, "/livez", Arc::clone(&metrics)).await;
        let (status, body) = get_with_metrics(&readiness, "/metrics", metrics).await;
        assert_eq!((status, body.contains("passerelle_build_info")), (200, true));
        assert!(
            body.contains(r#"passerelle_http_requests_total{endpoint="/livez",listener="private",status="2xx"} 1"#),
            "{body}"
        );
    }
}
