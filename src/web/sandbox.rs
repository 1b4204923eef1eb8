//! The sandbox identity provider's page: `/sandbox/{connector}`, which exists only where the sandbox is switched on.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{BASE_PATH, locale, page, see_other};
use super::hub::Hub;
use super::pages::{Field, Locale, Pick, SandboxPage};
use super::{form, problem};
use crate::actor::{SandboxOffer, SandboxPerson, SandboxRefusal};
use crate::ids::ConnectorId;
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

/// Who to be.
pub async fn show(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Some(offer) = hub.connectors.sandbox_offer(&id) else {
        return problem::outside(&hub, &request, ErrorCode::NotFound);
    };
    let query = form::query(request.query_string()).unwrap_or_default();
    let Ok(Some(state)) = query.one("state") else {
        return problem::bad_request(&hub, &request, ErrorCode::StateUnknown);
    };
    let asked = query
        .one("level")
        .ok()
        .flatten()
        .and_then(|level| offer.levels.iter().copied().find(|one| one.as_str() == level));
    let locale = locale(&request, &[]);
    let name = hub.connectors.name(&id).unwrap_or_default();
    let sandbox = view(locale, &id, locale.pick(&name), state, asked, &offer);
    page(&hub, 200, locale, |chrome| sandbox.render(chrome))
}

/// What was picked goes back to the hub as any identity provider's answer does: by the browser.
pub async fn pick(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Ok(picked) = form::body(&request, body).await else {
        return problem::bad_request(&hub, &request, ErrorCode::BadRequest);
    };
    match hub.connectors.sandbox_choose(&id, picked.pairs()).await {
        Ok(query) => see_other(&format!("{BASE_PATH}/callback/{id}?{query}")),
        Err(SandboxRefusal::Unknown) => problem::outside(&hub, &request, ErrorCode::NotFound),
        Err(SandboxRefusal::Unkept) => {
            problem::outside(&hub, &request, ErrorCode::StoreUnavailable)
        }
        Err(SandboxRefusal::Full) => problem::outside(&hub, &request, ErrorCode::Busy),
        Err(SandboxRefusal::Malformed) => {
            problem::bad_request(&hub, &request, ErrorCode::BadRequest)
        }
    }
}

/// `asked` is the level that the person came for: picked already, and those below it say what becomes of them.
fn view(
    locale: Locale,
    id: &ConnectorId,
    provider: &str,
    state: &str,
    asked: Option<Level>,
    offer: &SandboxOffer,
) -> SandboxPage {
    let asked = asked.or(offer.levels.first().copied());
    let pick = |id: &str, label: String, is_picked| Pick {
        id: id.to_owned(),
        label,
        hint: None,
        is_picked,
    };
    let failure = |id: &&str| pick(id, locale.sandbox_failure(id), false);
    let level = |level: &Level| Pick {
        hint: (Some(*level) < asked).then(|| locale.level_too_low()),
        ..pick(level.as_str(), locale.level(*level), Some(*level) == asked)
    };
    let person = |person: &SandboxPerson, is_picked| Pick {
        hint: Some(locale.pick(&person.hint).to_owned()).filter(|hint| !hint.is_empty()),
        ..pick(&person.id, person.label.clone(), is_picked)
    };
    SandboxPage {
        provider: provider.to_owned(),
        action: format!("/sandbox/{id}"),
        hidden: vec![Field::new("state", state)],
        persons: offer.persons.iter().enumerate().map(|(n, one)| person(one, n == 0)).collect(),
        levels: offer.levels.iter().map(level).collect(),
        methods: offer
            .methods
            .iter()
            .map(|method| pick(method, (*method).to_owned(), *method == "pwd"))
            .collect(),
        failures: std::iter::once(pick("", locale.sandbox_failure("none"), true))
            .chain(offer.failures.iter().map(failure))
            .collect(),
    }
}
