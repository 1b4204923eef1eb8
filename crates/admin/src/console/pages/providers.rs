//! The lists of identity providers and service providers.

use askama::Template;

use super::PageContext;
use crate::console::listing::TablePage;
use crate::console::views::ServiceProviderRow;
use passerelle_hub::registry::ConnectorRow;
use passerelle_web::pages::render_template;

/// Renders the list of identity providers.
pub(in crate::console) fn identity_providers_page(
    list: &TablePage<ConnectorRow>,
    page: &PageContext,
) -> String {
    render_template(&IdentityProvidersTemplate { page, list })
}

/// Renders the list of service providers.
pub(in crate::console) fn service_providers_page(
    list: &TablePage<ServiceProviderRow>,
    page: &PageContext,
) -> String {
    render_template(&ServiceProvidersTemplate { page, list })
}

#[derive(Template)]
#[template(path = "admin_identity_providers.html")]
struct IdentityProvidersTemplate<'a> {
    page: &'a PageContext,
    list: &'a TablePage<ConnectorRow>,
}

#[derive(Template)]
#[template(path = "admin_service_providers.html")]
struct ServiceProvidersTemplate<'a> {
    page: &'a PageContext,
    list: &'a TablePage<ServiceProviderRow>,
}
