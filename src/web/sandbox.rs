//! The sandbox identity provider's page: `/sandbox/{connector}`, which exists only where the sandbox is switched on.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{BASE_PATH, locale, page, see_other};
use super::hub::Hub;
use super::pages::{Field, Locale, Pick, SandboxPage};
use super::{form, problem};
use crate::assurance::Level;
use crate::connector::persona::{ChoiceFault, Offer};
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

/// Who to be.
pub async fn show(hub: web::Data<Hub>, request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Some(connector) = hub.connectors.connector(&id) else {
        return problem::outside(&hub, &request, ErrorCode::NotFound);
    };
    let Some(sandbox) = connector.sandbox() else {
        return problem::outside(&hub, &request, ErrorCode::NotFound);
    };
    let query = form::query(request.query_string()).unwrap_or_default();
    let Ok(Some(state)) = query.one("state") else {
        return problem::bad_request(&hub, &request, ErrorCode::StateUnknown);
    };
    let locale = locale(&request, &[]);
    let name = hub.connectors.name(&id).unwrap_or_default();
    let sandbox_page = view(locale, &id, locale.pick(&name), state, &sandbox.offer());
    page(&hub, 200, locale, |chrome| sandbox_page.render(chrome))
}

/// What was picked goes back to the hub as any identity provider's answer does: by the browser.
pub async fn pick(hub: web::Data<Hub>, request: HttpRequest, path: web::Path<String>, body: web::Payload) -> HttpResponse {
    let id = ConnectorId::new(path.into_inner());
    let Some(connector) = hub.connectors.connector(&id) else {
        return problem::outside(&hub, &request, ErrorCode::NotFound);
    };
    let (Some(sandbox), Ok(picked)) = (connector.sandbox(), form::body(&request, body).await) else {
        return problem::bad_request(&hub, &request, ErrorCode::BadRequest);
    };
    match sandbox.choose(picked.pairs()) {
        Ok(query) => see_other(&format!("{BASE_PATH}/callback/{id}?{query}")),
        Err(ChoiceFault::Full) => problem::outside(&hub, &request, ErrorCode::Busy),
        Err(ChoiceFault::Field(_)) => problem::bad_request(&hub, &request, ErrorCode::BadRequest),
    }
}

fn view(locale: Locale, id: &ConnectorId, provider: &str, state: &str, offer: &Offer<'_>) -> SandboxPage {
    let pick = |id: &str, label: String, is_picked| Pick { id: id.to_owned(), label, hint: None, is_picked };
    let level = |level: &Level| pick(level.as_str(), locale.level(*level), Some(level) == offer.levels.first());
    SandboxPage {
        provider: provider.to_owned(),
        action: format!("/sandbox/{id}"),
        hidden: vec![Field::new("state", state)],
        persons: offer.persons.iter().enumerate().map(|(n, person)| pick(&person.id, person.label.clone(), n == 0)).collect(),
        levels: offer.levels.iter().map(level).collect(),
        methods: offer.methods.iter().map(|method| pick(method, (*method).to_owned(), *method == "pwd")).collect(),
        failures: std::iter::once(pick("", locale.sandbox_failure("none"), true))
            .chain(offer.failures.iter().map(|failure| pick(failure.as_str(), locale.sandbox_failure(failure.as_str()), false)))
            .collect(),
    }
}
