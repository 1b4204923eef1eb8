//! Reads the query of the choice page, and the cookie that remembers the last identity provider, if
//! the operator enables it.
//!
//! The cookie holds only a connector id. It is set when a login through that connector has
//! finished, is read only for the choice page, and never reaches a service provider or an identity
//! provider. Whatever its value, the page offers only providers that the gate allows.

use actix_web::cookie::Cookie;
use actix_web::{HttpResponse, web};

use super::csrf::FormPurpose;
use super::email_lookup::EmailLookup;
use super::hub::Hub;
use super::login_request_check::verify_login_form;
use super::pages::ListQuery;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{add_cookie, interaction_path, see_other};
use passerelle_hub::LoginSummary;
use passerelle_protocol::ids::ConnectorId;

/// What a browser requests from the choice page.
#[derive(Clone, Debug, Default)]
pub struct ChoiceQuery {
    pub list: ListQuery,
    pub last_used: Option<ConnectorId>,
    pub lookup: EmailLookup,
}

impl ChoiceQuery {
    /// Reads the query and the cookie of a request. Repeated and invalid parameters are ignored.
    pub fn from_request(context: &RequestContext) -> Self {
        let hub = &context.hub;
        let query = context.query().unwrap_or_default();
        let one = |name| query.get(name).map(str::to_owned);
        let page = one("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        let last_used = hub
            .core
            .federation
            .load()
            .remember_last
            .and_then(|_| hub.cookies.last_choice(&context.request));
        // Every link and form of the list has a query.
        let is_list =
            ["list", "q", "category", "letter", "page"].iter().any(|name| query.contains(name));
        let lookup = if is_list { EmailLookup::List } else { EmailLookup::NotAsked };
        let letter = one("letter").and_then(|letter| letter.parse().ok());
        let list = ListQuery { query: one("q"), category: one("category"), letter, page };
        Self { list, last_used, lookup }
    }
}

/// Returns the cookie that a finished login sets, if the operator enables it.
pub(crate) fn last_choice_cookie(hub: &Hub, summary: &LoginSummary) -> Option<Cookie<'static>> {
    let life = hub.core.federation.load().remember_last?;
    Some(hub.cookies.last_choice_cookie(summary.granted_by.as_ref()?, life))
}

/// Returns a cookie that removes the last choice, if the operator no longer enables it.
pub(crate) fn outdated_cookie_removal(context: &RequestContext) -> Option<Cookie<'static>> {
    let hub = &context.hub;
    let is_off = hub.core.federation.load().remember_last.is_none();
    (is_off && hub.cookies.has_last_choice(&context.request))
        .then(|| hub.cookies.expired_last_choice_cookie())
}

/// Handles `POST /api/v2/interaction/{hash}/forget`: removes the last choice. The login does not
/// change.
pub(crate) async fn forget_last_choice(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, _) =
        verify_login_form(&context, &path, body, FormPurpose::FORGET_LAST_CHOICE).await?;
    let mut response = see_other(&interaction_path(&login.hash));
    add_cookie(&mut response, &context.hub.cookies.expired_last_choice_cookie());
    Ok(response)
}
