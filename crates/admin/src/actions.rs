//! The forms of the admin console: what a signed-in operator may change from a page.
//!
//! Responsible for the check that a form comes from a page of the console, for the page that asks
//! before an act, and for the page that follows. A form carries a token that is bound to
//! the operator's session, so that another site can't send one ([`csrf`]). An act itself is the one
//! that the command calls by its own path.

use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};

use super::AdminApi;
use super::blocks::{self, read_body};
use super::console_act::{ActRequest, ActionForm, CONFIRMED, ConsoleAct};
use super::logins::{self, LoginSearch};
use super::operators::AdminRequester;
use super::responses::AdminError;
use super::{notices, operations, probes, refresh_grants, sessions};
use crate::console::{AdminConsole, pages};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::csrf::{self, FormPurpose};

/// Path below which a signed-in browser may send forms.
pub(super) const ACTIONS_PATH: &str = "/admin/actions/";

/// Reads the form of a request, and checks its token.
async fn read_form(
    request: &HttpRequest,
    by: &AdminRequester,
    payload: web::Payload,
) -> Result<ActionForm, AdminError> {
    let key = by.form_key.as_ref().ok_or(ErrorCode::CsrfMissing)?;
    let form = ActionForm::parse(&read_body(payload).await?);
    csrf::verify_form(request, key, FormPurpose::ADMIN_ACTION, "", form.field("form_token"))?;
    Ok(form)
}

/// Adds the routes of the forms.
pub(super) fn configure_actions(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/actions/search").post(search))
        .service(web::resource("/actions/list-grants").post(list_grants))
        .service(web::resource("/actions/{action}").post(perform_action));
}

/// The forms of every hub.
const ACTS: &[&[ConsoleAct]] = &[
    blocks::ACTS,
    notices::ACTS,
    sessions::ACTS,
    refresh_grants::ACTS,
    probes::ACTS,
    operations::ACTS,
];

impl AdminApi {
    /// Returns the act of this name. That of an optional crate can't replace one of every hub.
    fn find_act(&self, name: &str) -> Option<&'static ConsoleAct> {
        let acts = ACTS.iter().chain(&self.extensions.acts).copied();
        acts.flatten().find(|act| act.name == name)
    }
}

async fn perform_action(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let console = &admin.console;
    let done = async {
        let form = read_form(&request, &by, payload).await?;
        let act = admin.find_act(request.match_info().query("action"));
        let act = act.ok_or(ErrorCode::NotFound)?;
        let act_request = ActRequest { admin: &admin, request: &request, by: &by, form: &form };
        if let Some(confirm) = act.confirm.filter(|_| form.field(CONFIRMED).is_none()) {
            let confirmation = confirm(&act_request).await?;
            let own = confirmation.fields.iter().map(|(name, value)| (*name, value.as_str()));
            let fields: Vec<(&str, &str)> = form.confirmed_fields().chain(own).collect();
            return Ok(crate::console::console_page(console, Some(&by), 200, |page| {
                pages::acts::confirmation_page(act.name, &confirmation, &fields, page)
            }));
        }
        let outcome = (act.perform)(&act_request).await?;
        Ok(crate::console::console_page(console, Some(&by), 200, |page| {
            pages::acts::done_page(&outcome, page)
        }))
    };
    done.await.unwrap_or_else(|error| not_done(console, &by, &error))
}

async fn search(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let found = async {
        let form = read_form(&request, &by, payload).await?;
        logins::search_all_hubs(&admin, &by, &LoginSearch::from_form(&form)).await
    };
    let console = &admin.console;
    match found.await {
        Ok(found) => crate::console::console_page(console, Some(&by), 200, |page| {
            pages::person_logins_page(&found, page)
        }),
        Err(error) => not_done(console, &by, &error),
    }
}

async fn list_grants(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let found = async {
        let form = read_form(&request, &by, payload).await?;
        let person = LoginSearch::from_form(&form);
        Ok((admin.find_refresh_grants(&by, &person).await?, person))
    };
    let console = &admin.console;
    match found.await {
        Ok((found, person)) => crate::console::console_page(console, Some(&by), 200, |page| {
            pages::acts::grants_page(&found, &person, page)
        }),
        Err(error) => not_done(console, &by, &error),
    }
}

/// Returns the page that says why nothing was done.
fn not_done(console: &AdminConsole, by: &AdminRequester, error: &AdminError) -> HttpResponse {
    let status = error.code.entry().status;
    crate::console::console_page(console, Some(by), status, |page| {
        pages::acts::not_done_page(error, page)
    })
}
