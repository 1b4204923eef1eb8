//! An extension of another crate: it adds one of each to a hub, through the public interface alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::http::header::ALLOW;
use actix_web::test::{TestRequest, call_and_read_body, call_service, init_service};
use actix_web::{App, HttpResponse};
use passerelle_audit::EventKind;
use passerelle_config::LoadedConfig;
use passerelle_config::kinds::Kinds;
use passerelle_extension::testing::check_extension;
use passerelle_extension::{Extension, ExtensionContext, StartedExtension};
use passerelle_grants::HubCore;
use passerelle_protocol::catalogue::{
    CatalogueEntry, ErrorCode, ErrorOrigin, LogSeverity, ResponsibleParty,
};
use passerelle_server::{HubServer, KINDS, ProgramDeps};
use passerelle_store::{NewRecord, RecordKey, RecordKind, Store, Usage};
use passerelle_telemetry::{CheckFinding, ExtensionMetric, ExtensionMetricType};
use passerelle_web::endpoint::Endpoint;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::json_response;
use passerelle_web::routes;
use serde_json::{Value, json};

use crate::folder::{VARIABLE, valid_config_folder};

const VISIT: &RecordKind = &RecordKind::new("visit", b'q', "visits", 64);

const BOOK_FULL: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y509901",
    status: 503,
    oauth: "temporarily_unavailable",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::Hub,
    responsible: ResponsibleParty::Operator,
    page_text: "error-visitors-book",
    description: "The visitors' book is full.",
    depends_on_clock: false,
});

static VISITS: ExtensionMetric = ExtensionMetric {
    name: "visits_total",
    metric_type: ExtensionMetricType::Counter,
    labels: &["outcome"],
    help: "Visits by outcome.",
};

/// A book that two visitors can sign.
const VISITORS_BOOK: Extension = Extension {
    error_codes: &[BOOK_FULL],
    messages: &[
        ("ar", "error-visitors-book = سجل الزوار ممتلئ."),
        ("de", "error-visitors-book = Das Gästebuch ist voll."),
        ("en", "error-visitors-book = The visitors’ book is full."),
        ("es", "error-visitors-book = El libro de visitas está lleno."),
        ("fr", "error-visitors-book = Le livre d’or est plein."),
        ("it", "error-visitors-book = Il libro degli ospiti è pieno."),
        ("nl", "error-visitors-book = Het gastenboek is vol."),
        ("pl", "error-visitors-book = Księga gości jest pełna."),
        ("pt", "error-visitors-book = O livro de visitas está cheio."),
        ("ro", "error-visitors-book = Cartea de oaspeți este plină."),
    ],
    metrics: &[&VISITS],
    record_kinds: &[(VISIT, Usage { records: 2, bytes: 1000 })],
    endpoints: || {
        let visits = Endpoint::at("/api/v2/visits").post(sign_book).for_programs();
        vec![visits.rejected_as(EventKind::StepRefused)]
    },
    start: open_book,
    ..Extension::new("visitors-book")
};

struct VisitorsBook {
    core: Arc<HubCore>,
    store: Arc<dyn Store>,
    is_open: AtomicBool,
}

fn open_book(context: &ExtensionContext<'_>) -> StartedExtension {
    let (core, store) = (Arc::clone(context.core), Arc::clone(context.store));
    let book = Arc::new(VisitorsBook { core, store, is_open: AtomicBool::new(false) });
    let (opening, checked) = (Arc::clone(&book), Arc::clone(&book));
    actix::spawn(async move { opening.is_open.store(true, Ordering::Relaxed) });
    StartedExtension {
        state: Some(book),
        degradations: Some(Box::new(move || {
            let is_full = checked.store.count(VISIT) == 2;
            let finding = || CheckFinding::new("the visitors' book is full", "buy another one");
            is_full.then(finding).into_iter().collect()
        })),
    }
}

async fn sign_book(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let book = context.hub.extension::<VisitorsBook>();
    let book = book.ok_or(Rejection::OutsideLogin(ErrorCode::NotFound))?;
    let env = &book.core.env;
    let key = RecordKey { kind: VISIT, name: env.entropy().token().into() };
    let visit = NewRecord::new(b"a visitor".to_vec(), env.now() + Duration::from_secs(60));
    let signed = book.store.insert(key, visit, env.now()).await;
    let outcome = if signed.is_ok() { "signed" } else { "full" };
    book.core.metrics.increment(&VISITS, &[outcome]);
    signed.map_err(|_| Rejection::Client(BOOK_FULL.into()))?;
    Ok(json_response(json!({ "is_open": book.is_open.load(Ordering::Relaxed) }).to_string()))
}

fn load(kinds: Kinds) -> LoadedConfig {
    let folder = valid_config_folder();
    let environment = [VARIABLE].into_iter().collect();
    let loaded = passerelle_config::load_config(folder.path(), &environment, kinds).unwrap();
    std::mem::forget(folder);
    loaded
}

#[actix_web::test]
async fn an_extension_adds_its_route_record_error_metric_task_and_readiness_to_a_hub() {
    let loaded = load(Kinds { extensions: &[VISITORS_BOOK], ..KINDS });
    let server = HubServer::build(&loaded, ProgramDeps::system()).unwrap();
    let hub = server.hub();
    let metrics = Arc::clone(&hub.core.metrics);
    let app =
        init_service(App::new().configure(|config| routes::configure_routes(config, hub))).await;
    let visit = || TestRequest::post().uri("/api/v2/visits").to_request();
    tokio::task::yield_now().await;
    for _ in 0..2 {
        let answer: Value =
            serde_json::from_slice(&call_and_read_body(&app, visit()).await).unwrap();
        assert_eq!(answer, json!({ "is_open": true }));
    }
    let full = call_service(&app, visit()).await;
    assert_eq!(full.status(), 503);
    let answer: Value = serde_json::from_slice(&actix_web::test::read_body(full).await).unwrap();
    assert_eq!(answer["error_description"], "The visitors' book is full.");
    let other_method = TestRequest::get().uri("/api/v2/visits").to_request();
    let refused = call_service(&app, other_method).await;
    assert_eq!(
        (refused.status().as_u16(), refused.headers().get(ALLOW).unwrap()),
        (405, &"POST".parse().unwrap())
    );
    let text = metrics.render();
    for line in [
        r#"passerelle_visits_total{outcome="signed"} 2"#,
        r#"passerelle_visits_total{outcome="full"} 1"#,
        r#"passerelle_store_pool_records{pool="visits"} 2"#,
        r#"passerelle_store_errors_total{error="full",kind="visit",operation="insert"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    let degradations = serde_json::to_string(&server.readiness().degradations()).unwrap();
    assert!(degradations.contains("buy another one"), "{degradations}");
}

#[actix_web::test]
async fn a_hub_without_the_extension_has_none_of_it() {
    let loaded = load(KINDS);
    let hub = HubServer::build(&loaded, ProgramDeps::system()).unwrap().hub();
    let metrics = Arc::clone(&hub.core.metrics);
    let app =
        init_service(App::new().configure(|config| routes::configure_routes(config, hub))).await;
    let visit = TestRequest::post().uri("/api/v2/visits").to_request();
    assert_eq!(call_service(&app, visit).await.status(), 404);
    let declared = metrics.declared();
    assert!(!declared.iter().any(|metric| metric.name == "passerelle_visits_total"));
    assert!(!metrics.render().contains("visit"));
}

#[test]
fn an_extension_whose_parts_are_complete_passes_its_check() {
    check_extension(&VISITORS_BOOK);
    let stored = serde_json::to_string(&BOOK_FULL).unwrap();
    assert_eq!(serde_json::from_str::<ErrorCode>(&stored).unwrap(), BOOK_FULL);
}
