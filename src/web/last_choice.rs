//! What a browser asks of the choice page: a search, a category, a page of the list, and what it remembers of the last
//! time, if the operator lets it remember anything.
//!
//! The last choice is a cookie of its own that holds a connector's id and nothing else. It is set when a login through
//! that connector has finished, read for the choice page and nowhere else, and never reaches a service provider or an
//! identity provider. Whatever stands in it, the page shows only what the gate lets through.

use actix_web::cookie::Cookie;
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::see_other;
use super::csrf::Purpose;
use super::form;
use super::hub::Hub;
use super::login::{add_cookie, prove_form};
use super::pages::Asked;
use super::problem;
use crate::actor::Standing;
use crate::ids::ConnectorId;

/// What the choice page is to show.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub asked: Asked,
    pub last_used: Option<ConnectorId>,
}

impl Wish {
    /// A parameter that is there twice, or makes no sense, is as if it were not there.
    #[must_use]
    pub fn of(hub: &Hub, request: &HttpRequest) -> Self {
        let query = form::query(request.query_string()).unwrap_or_default();
        let one = |name| query.one(name).ok().flatten().map(str::to_owned);
        let page = one("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        let last_used =
            hub.federation.load().remember_last.and_then(|_| hub.cookies.last_choice(request));
        Self { asked: Asked { query: one("q"), category: one("category"), page }, last_used }
    }
}

/// The cookie that a finished login leaves, if the operator wants one.
#[must_use]
pub fn remembered(hub: &Hub, standing: &Standing) -> Option<Cookie<'static>> {
    let life = hub.federation.load().remember_last?;
    Some(hub.cookies.set_last_choice(standing.finished_with.as_ref()?, life))
}

/// Ends what is remembered where the operator no longer wants it.
#[must_use]
pub fn outdated(hub: &Hub, request: &HttpRequest) -> Option<Cookie<'static>> {
    let is_off = hub.federation.load().remember_last.is_none();
    (is_off && hub.cookies.has_last_choice(request)).then(|| hub.cookies.forget_last_choice())
}

/// `POST /api/v2/interaction/{hash}/forget`: the person doesn't want it remembered. No step of the login.
pub async fn forget(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    match prove_form(&hub, &request, &path, body, Purpose::Forget).await {
        Ok((hash, ..)) => {
            let mut response = see_other(&problem::interaction(&hash));
            add_cookie(&mut response, &hub.cookies.forget_last_choice());
            response
        }
        Err(refusal) => refusal,
    }
}
