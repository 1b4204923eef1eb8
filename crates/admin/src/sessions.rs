//! Ends the sessions of a person (`docs/logout.md`). It needs a reason, which the audit log records
//! with the operator.

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};

use super::AdminApi;
use super::console_act::{ActConfirmation, ActOutcome, ActRequest, ConsoleAct};
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

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[ConsoleAct {
    name: "end-sessions",
    confirm: Some(|act| {
        Box::pin(async move {
            Ok(ActConfirmation {
                question: "End the sessions of this person?".to_owned(),
                facts: person_facts(act)?,
                fields: Vec::new(),
                consequence: "Their sessions end at every hub of this store, with their codes and access tokens. Service providers with a logout endpoint are notified.",
                button: "End the sessions",
            })
        })
    }),
    perform: |act| {
        Box::pin(async move {
            let ended =
                act.admin.end_sessions(act.by, &LoginSearch::from_form(act.form)).await?.ended;
            Ok(ActOutcome::new(format!("Sessions ended: {ended}.")))
        })
    },
}];

/// Returns the facts of an act on a person.
///
/// # Errors
/// `ReasonMissing`.
pub(super) fn person_facts(act: &ActRequest<'_>) -> Result<Vec<(String, String)>, AdminError> {
    let sub = act.form.field("sub").unwrap_or_default().to_owned();
    let reason = act.form.reason()?.to_owned();
    Ok(vec![("The person's sub".to_owned(), sub), ("Reason".to_owned(), reason)])
}

impl AdminApi {
    /// Ends the sessions of a person, and records who asked for it and why.
    ///
    /// # Errors
    /// `LoginSearchMalformed`, `LoginSearchUnrecorded`, `SessionsNotIndexed`, or the error of the
    /// store.
    async fn end_sessions(
        &self,
        by: &AdminRequester,
        person: &LoginSearch,
    ) -> Result<EndedSessions, AdminError> {
        let operator = &by.operator.name;
        let (subject, reason) = record_search(self, person, operator)?;
        let ended = self.logouts.end_subject_sessions(&subject, operator, &reason).await?;
        Ok(EndedSessions { ended })
    }
}

async fn end_sessions(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.end_sessions(&by, &parse_search(payload).await?).await?))
}
