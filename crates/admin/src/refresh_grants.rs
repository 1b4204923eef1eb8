//! Lists and ends the refresh tokens of a person (`docs/refresh-tokens.md`).
//!
//! Both need a reason, which the audit log records with the operator.

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ReqData};
use serde::{Deserialize, Serialize};

use super::AdminApi;
use super::console_act::{ActConfirmation, ActOutcome, ConsoleAct};
use super::logins::{LoginSearch, parse_search, record_search};
use super::operators::AdminRequester;
use super::responses::{AdminError, ok_response};
use super::sessions::person_facts;
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

/// The forms.
pub(super) const ACTS: &[ConsoleAct] = &[ConsoleAct {
    name: "revoke-grants",
    confirm: Some(|act| {
        Box::pin(async move {
            let mut facts = person_facts(act)?;
            let which = act.form.field("id").unwrap_or("all of the person at this service");
            facts.push(("Refresh tokens".to_owned(), which.to_owned()));
            Ok(ActConfirmation {
                question: "End refresh tokens of this person?".to_owned(),
                facts,
                fields: Vec::new(),
                consequence: "The service can't renew its access any more; the access tokens end, too.",
                button: "End the refresh tokens",
            })
        })
    }),
    perform: |act| {
        Box::pin(async move {
            let LoginSearch { sub, reason } = LoginSearch::from_form(act.form);
            let id = act.form.field("id").map(str::to_owned);
            let revocation = RefreshGrantRevocation { sub, reason, id };
            let revoked = act.admin.revoke_refresh_grants(act.by, revocation).await?.revoked;
            Ok(ActOutcome::new(format!("Refresh tokens ended: {revoked}.")))
        })
    },
}];

impl AdminApi {
    /// Lists the refresh tokens of a person, and records who asked for it and why.
    ///
    /// # Errors
    /// `LoginSearchMalformed`, `LoginSearchUnrecorded`, or the error of the store.
    pub(super) async fn find_refresh_grants(
        &self,
        by: &AdminRequester,
        person: &LoginSearch,
    ) -> Result<RefreshGrantList, AdminError> {
        let (subject, _) = record_search(self, person, &by.operator.name)?;
        let grants = self.refresh_tokens.find_by_subject(&subject).await?;
        Ok(RefreshGrantList { grants })
    }

    /// Ends refresh tokens of a person, and records who asked for it and why.
    ///
    /// # Errors
    /// As [`Self::find_refresh_grants`].
    async fn revoke_refresh_grants(
        &self,
        by: &AdminRequester,
        revocation: RefreshGrantRevocation,
    ) -> Result<RevokedGrants, AdminError> {
        let RefreshGrantRevocation { sub, reason, id } = revocation;
        let search = LoginSearch { sub, reason };
        let (subject, reason) = record_search(self, &search, &by.operator.name)?;
        let revoked = self.refresh_tokens.end_by_subject(&subject, id.as_deref()).await?;
        if revoked > 0 {
            self.console.core.audit.record(|| {
                let event = Event::new(EventKind::RefreshGrantsRevoked).subject(&subject);
                event.operator(&by.operator.name).reason(&reason)
            });
        }
        Ok(RevokedGrants { revoked })
    }
}

async fn search(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.find_refresh_grants(&by, &parse_search(payload).await?).await?))
}

async fn revoke(
    admin: Data<AdminApi>,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> Result<HttpResponse, AdminError> {
    Ok(ok_response(&admin.revoke_refresh_grants(&by, parse_search(payload).await?).await?))
}
