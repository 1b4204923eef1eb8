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
use crate::console::AdminConsole;
use passerelle_audit::{Event, EventKind};
use passerelle_grants::{RefreshGrantSummary, RefreshTokens};
use passerelle_protocol::catalogue::ErrorCode;

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

type ConsoleData = Data<Option<AdminConsole>>;

/// Adds the routes.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/refresh-grants/search").post(search))
        .service(web::resource("/refresh-grants/revoke").post(revoke));
}

async fn search(
    admin: Data<AdminApi>,
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let search: LoginSearch = parse_search(payload).await?;
    let console = (**console).as_ref().ok_or(ErrorCode::NotFound)?;
    let (subject, _) = record_search(&admin, console, &search, &by.operator.name)?;
    let grants = refresh_tokens(&admin)?.find_by_subject(&subject).await?;
    Ok(ok_response(&RefreshGrantList { grants }))
}

async fn revoke(
    admin: Data<AdminApi>,
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let RefreshGrantRevocation { sub, reason, id } = parse_search(payload).await?;
    let console = (**console).as_ref().ok_or(ErrorCode::NotFound)?;
    let search = LoginSearch { sub, reason };
    let (subject, reason) = record_search(&admin, console, &search, &by.operator.name)?;
    let revoked = refresh_tokens(&admin)?.end_by_subject(&subject, id.as_deref()).await?;
    admin.audit.record(|| {
        let event = Event::new(EventKind::RefreshGrantsRevoked).subject(&subject);
        event.operator(&by.operator.name).reason(&reason)
    });
    Ok(ok_response(&RevokedGrants { revoked }))
}

fn refresh_tokens(admin: &AdminApi) -> Result<&RefreshTokens, ErrorCode> {
    admin.refresh_tokens.as_deref().ok_or(ErrorCode::NotFound)
}
