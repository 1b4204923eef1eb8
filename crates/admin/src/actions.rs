//! The forms of the admin console: what a signed-in operator may change from a page.
//!
//! Responsible for the check that a form comes from a page of the console, for the page that names
//! what will happen to whom, and for the page that follows. A form carries a token that is bound to
//! the operator's session, so that another site can't send one ([`csrf`]). An act itself is the one
//! that the command calls by its own path.

use std::collections::BTreeMap;

use actix_web::web::{self, Data, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;

use super::AdminApi;
use super::blocks::{self, read_body};
use super::logins::{self, LoginSearch};
use super::operators::{AdminRequester, validate_reason};
use super::responses::AdminError;
use super::{operations, probes, refresh_grants, sessions};
use crate::console::{AdminConsole, pages};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::csrf::{self, FormPurpose};

/// Path below which a signed-in browser may send forms.
pub(super) const ACTIONS_PATH: &str = "/admin/actions/";

/// Field of a form whose act the operator has confirmed.
const CONFIRMED: &str = "confirmed";

/// An act of an operator by a form of the console.
#[derive(Clone, Copy)]
pub(crate) struct ConsoleAct {
    /// Last part of the path of its form.
    pub name: &'static str,
    /// Says what will happen to whom, which the operator confirms. `None` if the page with the form
    /// says it.
    pub confirm: Option<for<'a> fn(&'a ActRequest<'a>) -> ActFuture<'a, Confirmation>>,
    /// Does it. The future belongs to one worker, as each request does.
    pub perform: for<'a> fn(&'a ActRequest<'a>) -> ActFuture<'a, ActOutcome>,
}

/// A step of an act.
pub(crate) type ActFuture<'a, T> = LocalBoxFuture<'a, Result<T, AdminError>>;

/// What happens to whom.
#[derive(Debug)]
pub(crate) struct Confirmation {
    /// The heading: a question.
    pub question: String,
    /// Names and values of what the operator entered.
    pub facts: Vec<(String, String)>,
    /// Fields that the confirmation sends beside those of the form.
    pub fields: Vec<(&'static str, String)>,
    /// What follows from it.
    pub consequence: &'static str,
    /// The word of the button.
    pub button: &'static str,
}

/// What was done.
#[derive(Debug)]
pub(crate) struct ActOutcome {
    pub message: String,
    /// Address and name of the page that shows it.
    pub see: Option<(String, String)>,
}

impl ActOutcome {
    /// Creates an outcome that the overview shows.
    #[must_use]
    pub(crate) const fn new(message: String) -> Self {
        Self { message, see: None }
    }
}

/// A form that passed its checks, with what an act needs.
pub(crate) struct ActRequest<'a> {
    pub admin: &'a AdminApi,
    pub request: &'a HttpRequest,
    pub by: &'a AdminRequester,
    pub form: &'a ActionForm,
}

/// The fields of a form that comes from a page of the console.
pub(crate) struct ActionForm(Vec<(String, String)>);

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
    #[must_use]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim_ascii());
        found.filter(|value| !value.is_empty())
    }

    /// Returns the reason, which the audit log records.
    ///
    /// # Errors
    /// `ReasonMissing`.
    pub(crate) fn reason(&self) -> Result<&str, AdminError> {
        let reason = self.field("reason").and_then(validate_reason);
        reason.ok_or_else(|| ErrorCode::ReasonMissing.into())
    }

    /// Returns the lines of a field that are not empty.
    pub(crate) fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.field(name).unwrap_or_default().lines().map(str::trim_ascii);
        lines.filter(|line| !line.is_empty())
    }

    /// Returns the text of each language: the fields `message.fr`, `message.en` for `message`.
    #[must_use]
    pub(crate) fn texts(&self, name: &str) -> BTreeMap<String, String> {
        let languages = self.0.iter().filter_map(|(key, _)| {
            let language = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((language.to_owned(), self.field(key)?.to_owned()))
        });
        languages.collect()
    }

    /// Returns a time in RFC 3339: the browser's field has no time zone, and the page says UTC.
    #[must_use]
    pub(crate) fn time(&self, name: &str) -> Option<String> {
        let entered = self.field(name)?;
        let seconds = if entered.matches(':').count() == 1 { ":00" } else { "" };
        Some(format!("{entered}{seconds}Z"))
    }

    /// Returns the fields that the page of the confirmation sends again.
    fn confirmed_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.filter(|(name, _)| *name != CONFIRMED).chain([(CONFIRMED, "yes")])
    }
}

/// Adds the routes of the forms.
pub(super) fn configure_actions(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/actions/search").post(search))
        .service(web::resource("/actions/list-grants").post(list_grants))
        .service(web::resource("/actions/{action}").post(perform_action));
}

/// Returns the act of this name.
fn find_act(name: &str) -> Option<ConsoleAct> {
    let acts = [blocks::ACTS, sessions::ACTS, refresh_grants::ACTS, probes::ACTS, operations::ACTS];
    acts.concat().into_iter().find(|act| act.name == name)
}

async fn perform_action(
    admin: Data<AdminApi>,
    request: HttpRequest,
    by: ReqData<AdminRequester>,
    payload: web::Payload,
) -> HttpResponse {
    let console = &admin.console;
    let done = async {
        let form = ActionForm::read(&request, &by, payload).await?;
        let act = find_act(request.match_info().query("action"));
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
        let form = ActionForm::read(&request, &by, payload).await?;
        logins::search_all_hubs(&admin, &by, &person(&form)).await
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
        let form = ActionForm::read(&request, &by, payload).await?;
        let person = person(&form);
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

/// Returns the person that a form names, and the reason.
pub(super) fn person(form: &ActionForm) -> LoginSearch {
    let text = |name| form.field(name).unwrap_or_default().to_owned();
    LoginSearch { sub: text("sub"), reason: text("reason") }
}

/// Returns the page that says why nothing was done.
fn not_done(console: &AdminConsole, by: &AdminRequester, error: &AdminError) -> HttpResponse {
    let status = error.code.entry().status;
    crate::console::console_page(console, Some(by), status, |page| {
        pages::acts::not_done_page(error, page)
    })
}
