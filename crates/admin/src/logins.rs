//! Finds logins on all hubs: the answers for other hubs, and the search for the logins of a person.
//!
//! A search of a person's logins needs a reason, and each hub that searches records who asked and
//! why. Everything that another hub sends is bounded and checked: it may be wrong.

use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AdminApi;
use super::blocks::read_body;
use super::console_act::ActionForm;
use super::operators::{AdminRequester, validate_reason};
use super::responses::{AdminError, ok_response};
use crate::console::{PeerLoginSearch, PersonLogins, parse_failure_filter};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::identity::is_forbidden_char;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{Subject, SupportId};
use passerelle_protocol::json::parse_object;

/// Request body of `POST /admin/logins/search`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSearch {
    /// The person's `sub` at a service provider or data provider.
    pub sub: String,
    /// Why the person's logins are searched, for example the number of a ticket.
    pub reason: String,
}

impl LoginSearch {
    /// Returns the person that a form names, and the reason.
    pub(crate) fn from_form(form: &ActionForm) -> Self {
        let text = |name| form.field(name).unwrap_or_default().to_owned();
        Self { sub: text("sub"), reason: text("reason") }
    }
}

/// Adds the routes of the search, and those for other hubs.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/logins/search").post(search_person))
        .service(web::resource("/peer/failures").get(report_failures))
        .service(web::resource("/peer/logins/search").post(report_person))
        .service(web::resource("/peer/logins/{support_id}").get(report_login));
}

/// Handles `POST /admin/logins/search`.
///
/// # Errors
/// `LoginSearchMalformed` without a reason; `LoginSearchUnrecorded` without an audit log.
pub(super) async fn search_person(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let search: LoginSearch = parse_search(payload).await?;
    Ok(ok_response(&search_all_hubs(&admin, &by, &search).await?))
}

/// Records the search, and returns the person's recent logins on all hubs.
///
/// # Errors
/// As [`search_person`].
pub(super) async fn search_all_hubs(
    admin: &AdminApi,
    by: &AdminRequester,
    search: &LoginSearch,
) -> Result<PersonLogins, AdminError> {
    let operator = by.operator.name.clone();
    let (subject, reason) = record_search(admin, search, &operator)?;
    let (sub, instance) = (search.sub.clone(), admin.console.instance.clone());
    let peer_search = PeerLoginSearch { sub, reason, operator, instance };
    Ok(admin.console.find_person(&subject, &peer_search).await)
}

/// Handles `GET /admin/peer/logins/{support_id}`: what this hub alone knows of a login.
///
/// # Errors
/// `SupportIdMalformed`.
pub(super) async fn report_login(
    admin: Data<AdminApi>,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    let id = SupportId::parse(&id).ok_or(ErrorCode::SupportIdMalformed)?;
    Ok(ok_response(&admin.console.report_login(&id).await))
}

/// Handles `GET /admin/peer/failures`: the failed logins that this hub alone knows.
pub(super) async fn report_failures(admin: Data<AdminApi>, request: HttpRequest) -> HttpResponse {
    let filter = parse_failure_filter(request.query_string());
    ok_response(&admin.console.report_failures(&filter))
}

/// Handles `POST /admin/peer/logins/search`: what this hub alone knows of a person.
///
/// # Errors
/// As [`search_person`].
pub(super) async fn report_person(
    admin: Data<AdminApi>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let console = &admin.console;
    let PeerLoginSearch { sub, reason, operator, instance } = parse_search(payload).await?;
    if instance == console.instance {
        return Ok(ok_response(&console.own_answer()));
    }
    let name: String = operator.chars().filter(|c| !is_forbidden_char(*c)).take(64).collect();
    let hub = request.peer_addr().map(|address| format!("the hub {}", address.ip()));
    let operator = format!("{name} (at {})", hub.as_deref().unwrap_or("another hub"));
    let (subject, _) = record_search(&admin, &LoginSearch { sub, reason }, &operator)?;
    Ok(ok_response(&console.report_person(&subject).await))
}

/// Checks a search and records it in the audit log.
///
/// # Errors
/// `LoginSearchMalformed`, `LoginSearchUnrecorded`.
pub(super) fn record_search(
    admin: &AdminApi,
    search: &LoginSearch,
    operator: &str,
) -> Result<(Subject, String), AdminError> {
    let sub = search.sub.trim_ascii();
    let is_subject =
        (1..=255).contains(&sub.len()) && sub.bytes().all(|byte| byte.is_ascii_graphic());
    let reason = validate_reason(&search.reason).filter(|_| is_subject);
    let reason = reason.ok_or(ErrorCode::LoginSearchMalformed)?;
    let subject = Subject::new(sub);
    let event = Event::new(EventKind::LoginsSearched).subject(&subject);
    let event = event.operator(operator).reason(reason);
    let console = &admin.console;
    if console.audit_log.is_none() || !console.core.audit.record_required(event) {
        return Err(ErrorCode::LoginSearchUnrecorded.into());
    }
    tracing::warn!(operator, reason, "the recent logins of a person are searched");
    Ok((subject, reason.to_owned()))
}

/// Reads the body of a search.
///
/// # Errors
/// `LoginSearchMalformed`.
pub(super) async fn parse_search<T: serde::de::DeserializeOwned>(
    payload: web::Payload,
) -> Result<T, AdminError> {
    let body = read_body(payload).await?;
    let object = parse_object(&body).map_err(|_| ErrorCode::LoginSearchMalformed)?;
    serde_json::from_value(Value::Object(object))
        .map_err(|error| AdminError::new(ErrorCode::LoginSearchMalformed, &error.to_string()))
}
