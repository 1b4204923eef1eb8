//! The forms of the admin console: what a signed-in operator may change from a page.
//!
//! Responsible for the check that a form comes from a page of the console, and for the page that
//! follows. A form carries a token that is bound to the operator's session, so that another site
//! can't send one ([`csrf`]).

use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};

use super::AdminApi;
use super::blocks::{BlockChange, read_body};
use super::logins::{self, LoginSearch};
use super::operators::{AdminRequester, validate_reason};
use super::responses::AdminError;
use crate::console::{AdminConsole, pages};
use passerelle_hub::registry::NewBlock;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_web::csrf::{self, FormPurpose};

/// Path below which a signed-in browser may send forms.
pub(super) const ACTIONS_PATH: &str = "/admin/actions/";

/// The fields of a form that comes from a page of the console.
struct ActionForm(Vec<(String, String)>);

impl ActionForm {
    /// Reads the body, and checks the token of the form.
    async fn read(
        request: &HttpRequest,
        by: &AdminRequester,
        payload: web::Payload,
    ) -> Result<Self, AdminError> {
        let key = by.form_key.as_ref().ok_or(ErrorCode::CsrfMissing)?;
        let body = read_body(payload).await?;
        let form = Self(url::form_urlencoded::parse(&body).into_owned().collect());
        let sent = form.field("form_token");
        csrf::verify_form(request, key, FormPurpose::ADMIN_ACTION, "", sent)?;
        Ok(form)
    }

    /// Returns a field that is not empty.
    fn field(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim_ascii());
        found.filter(|value| !value.is_empty())
    }

    /// Returns the end of a block: the browser's field has no time zone, and the page says UTC.
    fn until(&self) -> Option<String> {
        let entered = self.field("until")?;
        let seconds = if entered.matches(':').count() == 1 { ":00" } else { "" };
        Some(format!("{entered}{seconds}Z"))
    }
}

/// Adds the routes of the forms.
pub(super) fn configure_actions(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/actions/search").post(search))
        .service(web::resource("/actions/{action}").post(perform_action));
}

async fn perform_action(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let done = async {
        let form = ActionForm::read(&request, &by, payload).await?;
        match request.match_info().query("action") {
            "block" => block(&admin, &request, &by, &form).await,
            "unblock" => unblock(&admin, &request, &by, &form).await,
            "reload" => Ok(reload(&admin, &by).await),
            "rotate-keys" => rotate_keys(&admin, &by).await,
            "drain" => {
                admin.set_drained(true, &by);
                Ok("This hub is not ready now: the load balancer sends its requests elsewhere."
                    .to_owned())
            }
            "resume" => {
                admin.set_drained(false, &by);
                Ok("This hub takes requests again.".to_owned())
            }
            _ => Err(ErrorCode::NotFound.into()),
        }
    };
    respond(&admin.console, &by, done.await)
}

async fn block(
    admin: &AdminApi,
    request: &HttpRequest,
    by: &AdminRequester,
    form: &ActionForm,
) -> Result<String, AdminError> {
    let reason = form.field("reason").and_then(validate_reason);
    let new = NewBlock {
        connector: ConnectorId::new(form.field("connector").unwrap_or_default()),
        service_provider: form.field("service_provider").map(ClientId::new),
        reason: reason.ok_or(ErrorCode::ReasonMissing)?.to_owned(),
        message: std::collections::BTreeMap::new(),
        from: None,
        until: form.until(),
    };
    let change = admin.set_block(request, by, &new, reason).await?;
    Ok(describe_change("The block is in force", &change))
}

async fn unblock(
    admin: &AdminApi,
    request: &HttpRequest,
    by: &AdminRequester,
    form: &ActionForm,
) -> Result<String, AdminError> {
    let reason = form.field("reason").and_then(validate_reason);
    let reason = reason.ok_or(ErrorCode::ReasonMissing)?;
    let id = form.field("id").unwrap_or_default();
    let change = admin.lift_block(request, by, id, Some(reason)).await?;
    Ok(describe_change("The block is lifted", &change))
}

fn describe_change(what: &str, change: &BlockChange) -> String {
    let warning = change.warning.as_ref().map(|warning| format!(" Warning: {warning}"));
    format!("{what}: {}.{}", change.block.connector, warning.unwrap_or_default())
}

async fn reload(admin: &AdminApi, by: &AdminRequester) -> String {
    match admin.reload(by).await.findings.len() {
        0 => "The files and the keys were read. All of them are in use.".to_owned(),
        problems => {
            format!("The files and the keys were read. Problems: {problems}; see the check config.")
        }
    }
}

async fn rotate_keys(admin: &AdminApi, by: &AdminRequester) -> Result<String, AdminError> {
    let keys = admin.rotate(by).await?.keys;
    let listed = keys.iter().map(|key| format!("{} ({}) from {}", key.kid, key.purpose, key.from));
    Ok(format!(
        "New keys: {}. If the other hubs have key folders of their own, copy the files there before that time.",
        listed.collect::<Vec<_>>().join("; ")
    ))
}

async fn search(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let found = async {
        let form = ActionForm::read(&request, &by, payload).await?;
        let text = |name| form.field(name).unwrap_or_default().to_owned();
        let search = LoginSearch { sub: text("sub"), reason: text("reason") };
        logins::search_all_hubs(&admin, &by, &search).await
    };
    let console = &admin.console;
    match found.await {
        Ok(found) => crate::console::console_page(console, Some(&by), 200, |page| {
            pages::person_logins_page(&found, page)
        }),
        Err(error) => respond(console, &by, Err(error)),
    }
}

/// Returns the page that says what was done, or why not.
fn respond(
    console: &AdminConsole,
    by: &AdminRequester,
    done: Result<String, AdminError>,
) -> HttpResponse {
    match done {
        Ok(message) => crate::console::console_page(console, Some(by), 200, |page| {
            pages::done_page(&message, page)
        }),
        Err(error) => {
            let status = error.code.entry().status;
            crate::console::console_page(console, Some(by), status, |page| {
                pages::not_done_page(&error, page)
            })
        }
    }
}
