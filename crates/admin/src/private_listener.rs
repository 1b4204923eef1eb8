//! The private listener's endpoints for monitoring: `/livez`, `/readyz`, `/metrics`, and
//! `/config/digest`.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{Error, HttpResponse, http::StatusCode};
use serde::Serialize;
use tokio::time::Instant;

use crate::problem::Problem;
use crate::readiness::{CheckFinding, CheckResult, CheckState, Readiness};
use crate::responses::error_response;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_telemetry::{Listener, Metrics};
use passerelle_web::form;
use passerelle_web::host::PrivateHosts;
use passerelle_web::outer_middleware::count_response;

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
    let answer = Ok(request.into_response(error_response(code, details, None)));
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
struct ReadyzBody<'a> {
    ready: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_ready: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    degraded: BTreeMap<&'a str, Vec<String>>,
    checks: Vec<CheckResult>,
    /// Causes before effects.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'a [Problem],
}

/// Adds the digest of the configuration in use, which `passerelle plan` compares with the files.
///
/// Call it before [`configure_endpoints`]. The digest holds no secret.
pub fn configure_config_digest<D: Serialize>(
    config: &mut ServiceConfig,
    digest: impl Fn() -> D + Clone + 'static,
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
    let report = readiness.report();
    let ready = report.is_ready();
    let as_text = |(name, findings): (_, Vec<CheckFinding>)| {
        (name, findings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let not_ready = report.findings(CheckState::NotReady).into_iter().map(as_text);
    let body = ReadyzBody {
        ready,
        not_ready: not_ready.map(|(name, reasons)| (name, reasons.join("; "))).collect(),
        degraded: report.findings(CheckState::Degraded).into_iter().map(as_text).collect(),
        checks: report.check_results(),
        problems: &report.problems,
    };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    HttpResponse::build(status).insert_header(("cache-control", "no-store")).json(body)
}

async fn render_metrics(metrics: Data<Metrics>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(metrics.render())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use actix_web::{App, test};
    use passerelle_protocol::env::Env;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    fn readiness_without_checks() -> Readiness {
        let entropy = Arc::new(SeededEntropy::new(1));
        Readiness::new(&Env::new(Arc::new(ManualClock::default()), entropy), Arc::default())
    }

    async fn get(readiness: &Arc<Readiness>, path: &str) -> (u16, String) {
        get_with_metrics(readiness, path, Arc::new(Metrics::new().unwrap())).await
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
            readiness_without_checks().with_check("store", || None).with_check("keys", move || {
                (!loaded.load(Ordering::SeqCst))
                    .then(|| CheckFinding::new("no signing key is loaded", "add one"))
            });
        let readiness = Arc::new(readiness);
        let missing = concat!(
            r#"{"ready":false,"not_ready":{"keys":"no signing key is loaded; fix: add one"},"checks":["#,
            r#"{"name":"keys","state":"not_ready","findings":[{"message":"no signing key is loaded","fix":"add one"}]},{"name":"store","state":"ok"}],"#,
            r#""problems":[{"check":"keys","state":"not_ready","message":"no signing key is loaded","fix":"add one","since":"1970-01-01T00:00:00Z"}]}"#
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
        let problems = || vec![CheckFinding::new("connectors/x.toml:3 name is missing", "add it")];
        let readiness = Arc::new(
            readiness_without_checks()
                .with_degradation_check("config", problems)
                .with_degradation_check("other", Vec::new),
        );
        let body = concat!(
            r#"{"ready":true,"degraded":{"config":["connectors/x.toml:3 name is missing; fix: add it"]},"checks":["#,
            r#"{"name":"config","state":"degraded","findings":[{"message":"connectors/x.toml:3 name is missing","fix":"add it"}]},"#,
            r#"{"name":"other","state":"ok"}],"#,
            r#""problems":[{"check":"config","state":"degraded","message":"connectors/x.toml:3 name is missing","fix":"add it","since":"1970-01-01T00:00:00Z"}]}"#
        );
        assert_eq!(get(&readiness, "/readyz").await, (200, body.into()));
    }

    #[actix_web::test]
    async fn the_digest_of_the_configuration_in_use_is_served() {
        let readiness = Arc::new(readiness_without_checks());
        let metrics = Arc::new(Metrics::new().unwrap());
        let app = App::new()
            .configure(|config| configure_config_digest(config, || "the digest"))
            .configure(|config| {
                configure_endpoints(config, readiness, metrics, web::resource("/more"))
            });
        let app = test::init_service(app).await;
        let response =
            test::call_service(&app, test::TestRequest::get().uri(CONFIG_DIGEST_PATH).to_request())
                .await;
        assert_eq!(response.status(), 200);
        assert_eq!(test::read_body_json::<String, _>(response).await, "the digest");
        assert_eq!(
            test::call_service(&app, test::TestRequest::get().uri("/livez").to_request())
                .await
                .status(),
            200
        );
    }

    #[actix_web::test]
    async fn a_draining_process_is_not_ready_but_alive() {
        let readiness = Arc::new(readiness_without_checks());
        readiness.drain();
        let (status, body) = get(&readiness, "/readyz").await;
        assert_eq!((status, body.contains("draining")), (503, true));
        assert_eq!(get(&readiness, "/livez").await.0, 200);
    }

    #[actix_web::test]
    async fn metrics_are_served_as_text() {
        let metrics = Arc::new(Metrics::new().unwrap());
        let readiness = Arc::new(readiness_without_checks());
        get_with_metrics(&readiness, "/livez", Arc::clone(&metrics)).await;
        let (status, body) = get_with_metrics(&readiness, "/metrics", metrics).await;
        assert_eq!((status, body.contains("passerelle_build_info")), (200, true));
        assert!(
            body.contains(r#"passerelle_http_requests_total{endpoint="/livez",listener="private",status="2xx"} 1"#),
            "{body}"
        );
    }
}
