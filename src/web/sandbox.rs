//! The sandbox identity provider's form, `/sandbox/{connector}`. It is served only if the sandbox
//! is enabled.

use actix_web::{HttpRequest, HttpResponse, web};

use super::hub::Hub;
use super::pages::{HiddenField, Locale, SandboxOption, SandboxPage};
use super::responses::{BASE_PATH, negotiate_locale, page_response, see_other};
use super::{error_pages, form};
use crate::actor::{SandboxError, SandboxOffer, SandboxUser};
use crate::ids::ConnectorId;
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

/// Shows the form to choose a test user.
pub async fn show_form(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Some(offer) = hub.connectors.sandbox_offer(&id) else {
        return error_pages::outside_login(&hub, &request, ErrorCode::NotFound);
    };
    let query = form::parse_query(request.query_string()).unwrap_or_default();
    let Ok(Some(state)) = query.single("state") else {
        return error_pages::malformed_request(&hub, &request, ErrorCode::StateUnknown);
    };
    let requested = query
        .single("level")
        .ok()
        .flatten()
        .and_then(|level| offer.levels.iter().copied().find(|one| one.as_str() == level));
    let locale = negotiate_locale(&request, &[]);
    let name = hub.connectors.display_name(&id).unwrap_or_default();
    let sandbox = sandbox_page(locale, &id, locale.localize(&name), state, requested, &offer);
    page_response(&hub, 200, locale, |chrome| sandbox.render(chrome))
}

/// Handles the submitted form. The result returns to the hub's callback through the browser, like
/// any identity provider's response.
pub async fn submit_form(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Ok(params) = form::parse_body(&request, body).await else {
        return error_pages::malformed_request(&hub, &request, ErrorCode::BadRequest);
    };
    match hub.connectors.choose_sandbox_user(&id, params.pairs()).await {
        Ok(query) => see_other(&format!("{BASE_PATH}/callback/{id}?{query}")),
        Err(SandboxError::Unknown) => {
            error_pages::outside_login(&hub, &request, ErrorCode::NotFound)
        }
        Err(SandboxError::NotSaved) => {
            error_pages::outside_login(&hub, &request, ErrorCode::StoreUnavailable)
        }
        Err(SandboxError::Full) => error_pages::outside_login(&hub, &request, ErrorCode::Busy),
        Err(SandboxError::Malformed) => {
            error_pages::malformed_request(&hub, &request, ErrorCode::BadRequest)
        }
    }
}

/// Builds the form. `requested` is the level of the login: it is selected, and lower levels carry a
/// hint that they are too low.
fn sandbox_page(
    locale: Locale,
    id: &ConnectorId,
    provider: &str,
    state: &str,
    requested: Option<Level>,
    offer: &SandboxOffer,
) -> SandboxPage {
    let requested = requested.or(offer.levels.first().copied());
    let option = |id: &str, label: String, is_selected| SandboxOption {
        id: id.to_owned(),
        label,
        hint: None,
        is_selected,
    };
    let failure = |id: &&str| option(id, locale.sandbox_failure_label(id), false);
    let level = |level: &Level| SandboxOption {
        hint: (Some(*level) < requested).then(|| locale.sandbox_level_too_low()),
        ..option(level.as_str(), locale.sandbox_level_label(*level), Some(*level) == requested)
    };
    let person = |person: &SandboxUser, is_selected| SandboxOption {
        hint: Some(locale.localize(&person.hint).to_owned()).filter(|hint| !hint.is_empty()),
        ..option(&person.id, person.label.clone(), is_selected)
    };
    SandboxPage {
        provider: provider.to_owned(),
        action: format!("/sandbox/{id}"),
        hidden: vec![HiddenField::new("state", state)],
        persons: offer.users.iter().enumerate().map(|(n, one)| person(one, n == 0)).collect(),
        levels: offer.levels.iter().map(level).collect(),
        methods: offer
            .methods
            .iter()
            .map(|method| option(method, (*method).to_owned(), *method == "pwd"))
            .collect(),
        failures: std::iter::once(option("", locale.sandbox_failure_label("none"), true))
            .chain(offer.failures.iter().map(failure))
            .collect(),
    }
}
