//! Ends the sessions of a person (`docs/logout.md`). It needs a reason, which the audit log records
//! with the operator.

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};

use super::AdminApi;
use super::logins::{LoginSearch, parse_search, record_search};
use super::operators::AdminRequester;
use super::responses::{AdminError, ok_response};

/// Response body of `POST /admin/sessions/end`.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndedSessions {
    pub ended: usize,
}

/// Adds the route.
pub(super) fn configure_routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/sessions/end").post(end_sessions));
}

async fn end_sessions(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    let search: LoginSearch = parse_search(payload).await?;
    let operator = &by.operator.name;
    let (subject, reason) = record_search(&admin, &search, operator)?;
    let ended = admin.logouts.end_subject_sessions(&subject, operator, &reason).await?;
    Ok(ok_response(&EndedSessions { ended }))
}
