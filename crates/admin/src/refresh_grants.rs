//! Lists and ends the refresh tokens of a person (`docs/refresh-tokens.md`).
//!
//! Both need a reason, which the audit log records with the operator.

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};

use super::AdminApi;
use super::logins::{LoginSearch, parse_search, record_search};
use super::operators::AdminRequester;
use super::responses::{AdminError, ok_response};
use passerelle_audit::{Event, EventKind};
use passerelle_grants::RefreshGrantSummary;

/// Response body of `POST /admin/refresh-grants/search`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefreshGrantList {
    pub grants: Vec<RefreshGrantSummary>,
}

/// Request body of `POST /admin/refresh-grants/revoke`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshGrantRevocation {
    /// The person's `sub` at the service provider.
    pub sub: String,
    /// Why the grants are ended.
    pub reason: String,
    /// One grant of the list; without it, all of the person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Response body of `POST /admin/refresh-grants/revoke`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokedGrants {
    pub revoked: usize,
}

/// Adds the routes.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/refresh-grants/search").post(search))
        .service(web::resource("/refresh-grants/revoke").post(revoke));
}

async fn search(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let search: LoginSearch = parse_search(payload).await?;
    let (subject, _) = record_search(&admin, &search, &by.operator.name)?;
    let grants = admin.refresh_tokens.find_by_subject(&subject).await?;
    Ok(ok_response(&RefreshGrantList { grants }))
}

async fn revoke(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let RefreshGrantRevocation { sub, reason, id } = parse_search(payload).await?;
    let search = LoginSearch { sub, reason };
    let (subject, reason) = record_search(&admin, &search, &by.operator.name)?;
    let revoked = admin.refresh_tokens.end_by_subject(&subject, id.as_deref()).await?;
    admin.console.core.audit.record(|| {
        let event = Event::new(EventKind::RefreshGrantsRevoked).subject(&subject);
        event.operator(&by.operator.name).reason(&reason)
    });
    Ok(ok_response(&RevokedGrants { revoked }))
}
