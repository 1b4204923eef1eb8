//! An optional crate that adds one of each to a hub, through the public interface alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::{Data, ReqData};
use clap::{Arg, ArgAction, Command};
use passerelle_admin::console::ExtensionTable;
use passerelle_admin::operators::AdminRequester;
use passerelle_admin::responses::{AdminError, ok_response};
use passerelle_admin::{AdminApi, AdminEndpoint};
use passerelle_audit::{Event, EventKind, ExtensionEvent};
use passerelle_extension::{
    AdminRequest, Extension, ExtensionCommand, ExtensionContext, SettingsTable, StartedExtension,
};
use passerelle_grants::HubCore;
use passerelle_protocol::catalogue::{
    CatalogueEntry, ErrorCode, ErrorOrigin, LogSeverity, ResponsibleParty,
};
use passerelle_protocol::ids::Scope;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::{ConfiguredTable, KindTable, TableKind};
use passerelle_store::{NewRecord, RecordKey, RecordKind, Store, Usage};
use passerelle_telemetry::{CheckFinding, ExtensionMetric, ExtensionMetricType};
use passerelle_web::endpoint::Endpoint;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::json_response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A visit, for a minute.
pub const VISIT: &RecordKind = &RecordKind::new("visit", b'q', "visits", 64);

/// Error of a visitor who finds no empty page.
pub const BOOK_FULL: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y509901",
    status: 503,
    oauth: "temporarily_unavailable",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::Hub,
    responsible: ResponsibleParty::Operator,
    page_text: "error-visitors-book",
    description: "The visitors' book is full.",
    depends_on_clock: false,
    caused_by_browser: false,
});

/// Event of a visit.
pub const BOOK_SIGNED: EventKind = EventKind::Extension(&ExtensionEvent {
    name: "book_signed",
    meaning: "A visitor has signed the visitors' book.",
    fields: &[],
    is_unauthenticated: true,
});

/// Event of the end of the visits.
pub const BOOK_CLOSED: EventKind = EventKind::Extension(&ExtensionEvent {
    name: "book_closed",
    meaning: "An operator has closed the visitors' book.",
    fields: &["operator"],
    is_unauthenticated: false,
});

static VISITS: ExtensionMetric = ExtensionMetric {
    name: "visits_total",
    metric_type: ExtensionMetricType::Counter,
    labels: &["outcome"],
    help: "Visits by outcome.",
};

/// A book that as many visitors can sign as `[visitors_book]` says.
pub const VISITORS_BOOK: Extension = Extension {
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
    record_kinds: &[(VISIT, |table| Usage { records: pages(table), bytes: 1000 })],
    table: Some(SettingsTable {
        kind: TableKind {
            name: "visitors_book",
            summary: "The visitors' book. Default: one of two pages.",
            schema: |generator| generator.subschema_for::<VisitorsBookConfig>(),
            load: load_table,
        },
        check: |table, other, check| {
            let Some(config) = table.settings::<VisitorsBookConfig>() else { return };
            (other.check_scopes)(check, &config.scopes, ProtocolRules::Federation);
        },
    }),
    endpoints: || {
        let visits = Endpoint::at("/api/v2/visits").post(sign_book).for_programs();
        vec![visits.rejected_as(EventKind::StepRefused)]
    },
    audit_events: &[BOOK_SIGNED, BOOK_CLOSED],
    admin_endpoints: &[AdminEndpoint {
        path: "/visits",
        methods: "GET, DELETE",
        add_handlers: |resource| resource.get(count_visits).delete(close_book),
    }],
    command: Some(ExtensionCommand {
        arguments: || {
            let close = Arg::new("close").long("close").action(ArgAction::SetTrue);
            let close = close.help("Close the book, so that no visitor can sign any more.");
            Command::new("visits").about("Count the visits of the running hub").arg(close)
        },
        request: |arguments| {
            let method = if arguments.get_flag("close") { "DELETE" } else { "GET" };
            Ok(AdminRequest::new(method, &["visits"]))
        },
        describe: |_, response| Ok(format!("{response}\n")),
    }),
    start: open_book,
    ..Extension::new("visitors-book")
};

/// `[visitors_book]`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VisitorsBookConfig {
    /// Visitors that the book has room for.
    #[schemars(range(min = 1, max = 100))]
    pub pages: usize,
    /// Scopes of service providers that may read the book.
    pub scopes: Vec<Scope>,
}

impl Default for VisitorsBookConfig {
    fn default() -> Self {
        Self { pages: 2, scopes: Vec::new() }
    }
}

fn load_table(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: VisitorsBookConfig = table.deserialize()?;
    if config.pages % 2 == 1 {
        table.report("pages", "is odd, but a sheet has two pages", "write an even number");
    }
    Some(table.configured(&config, config.clone()))
}

fn pages(table: Option<&ConfiguredTable>) -> usize {
    let config = table.and_then(ConfiguredTable::settings::<VisitorsBookConfig>);
    config.cloned().unwrap_or_default().pages
}

struct VisitorsBook {
    core: Arc<HubCore>,
    store: Arc<dyn Store>,
    is_open: AtomicBool,
}

fn open_book(context: &ExtensionContext<'_>) -> StartedExtension {
    let (core, store) = (Arc::clone(context.core), Arc::clone(context.store));
    let pages = pages(context.table);
    let book = Arc::new(VisitorsBook { core, store, is_open: AtomicBool::new(false) });
    let (opening, checked, shown) = (Arc::clone(&book), Arc::clone(&book), Arc::clone(&book));
    actix::spawn(async move { opening.is_open.store(true, Ordering::Relaxed) });
    StartedExtension {
        state: Some(book),
        console_table: Some(Arc::new(move || {
            let visits = shown.store.count(VISIT);
            (visits > 0).then(|| ExtensionTable {
                heading: "The visitors' book".to_owned(),
                columns: vec!["Visits".to_owned(), "Pages".to_owned()],
                rows: vec![vec![visits.to_string(), pages.to_string()]],
                advice: "Close it by DELETE /admin/visits.".to_owned(),
            })
        })),
        degradations: Some(Box::new(move || {
            let is_full = checked.store.count(VISIT) == pages;
            let finding = || CheckFinding::new("the visitors' book is full", "buy another one");
            is_full.then(finding).into_iter().collect()
        })),
        ..StartedExtension::default()
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
    book.core.audit.record(|| Event::new(BOOK_SIGNED));
    Ok(json_response(json!({ "is_open": book.is_open.load(Ordering::Relaxed) }).to_string()))
}

/// `GET /admin/visits`: the number of visits.
async fn count_visits(admin: Data<AdminApi>) -> Result<HttpResponse, AdminError> {
    let book = admin.extension::<VisitorsBook>().ok_or(ErrorCode::NotFound)?;
    Ok(ok_response(&json!({ "visits": book.store.count(VISIT) })))
}

/// `DELETE /admin/visits`: no one can sign any more.
async fn close_book(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
) -> Result<HttpResponse, AdminError> {
    let book = admin.extension::<VisitorsBook>().ok_or(ErrorCode::NotFound)?;
    book.is_open.store(false, Ordering::Relaxed);
    book.core.audit.record(|| Event::new(BOOK_CLOSED).operator(&by.operator.name));
    Ok(ok_response(&json!({ "is_open": false })))
}

#[cfg(test)]
mod tests;
