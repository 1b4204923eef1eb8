//! Lists the identity providers and the service providers.

use std::sync::Arc;

use actix_web::web::ReqData;
use actix_web::{HttpRequest, HttpResponse};

use super::listing::TableQuery;
use super::pages::providers;
use super::{
    ConsoleData, console_page, english_name, is_browser_request, service_provider_row, worst_first,
};
use crate::operators::AdminRequester;
use crate::responses::ok_response;
use passerelle_federation::ServiceProvider;

/// Handles `GET /admin/identity-providers?q=…&page=…`.
pub(super) async fn list_identity_providers(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> HttpResponse {
    let query = TableQuery::parse(request.query_string());
    let mut rows = worst_first(console.connectors.overview());
    rows.retain(|row| {
        let name = english_name(&row.name);
        query.matches([row.id.as_str(), &name, row.state.as_str()].into_iter())
    });
    let list = query.select(rows);
    if is_browser_request(request.headers()) {
        let render = |page: &_| providers::identity_providers_page(&list, page);
        return console_page(&console, Some(&by), 200, render);
    }
    ok_response(&list)
}

/// Handles `GET /admin/service-providers?q=…&page=…`.
pub(super) async fn list_service_providers(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> HttpResponse {
    let query = TableQuery::parse(request.query_string());
    let federation = console.core.federation.load();
    let mut services: Vec<&Arc<ServiceProvider>> = federation.service_providers().collect();
    services.retain(|service| {
        let registration = &service.registration;
        let name = english_name(&service.name);
        let texts = [registration.client_id.as_str(), &name].into_iter();
        query.matches(texts.chain(registration.redirect_uris.iter().map(String::as_str)))
    });
    let list = query.select(services).map(|service| service_provider_row(service, &federation));
    if is_browser_request(request.headers()) {
        let render = |page: &_| providers::service_providers_page(&list, page);
        return console_page(&console, Some(&by), 200, render);
    }
    ok_response(&list)
}
