//! The lists of identity providers and service providers, and the page of one.

use askama::Template;

use super::PageContext;
use crate::console::listing::TablePage;
use crate::console::provider_views::{IdentityProviderView, ServiceProviderView};
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

/// Renders the page of an identity provider.
pub(in crate::console) fn identity_provider_page(
    view: &IdentityProviderView,
    page: &PageContext,
) -> String {
    render_template(&IdentityProviderTemplate { page, view })
}

/// Renders the page of a service provider.
pub(in crate::console) fn service_provider_page(
    view: &ServiceProviderView,
    page: &PageContext,
) -> String {
    render_template(&ServiceProviderTemplate { page, view })
}

/// Renders the page for an id that no provider has.
pub(in crate::console) fn unknown_provider_page(page: &PageContext) -> String {
    render_template(&UnknownProviderTemplate { page })
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

#[derive(Template)]
#[template(path = "admin_identity_provider.html")]
struct IdentityProviderTemplate<'a> {
    page: &'a PageContext,
    view: &'a IdentityProviderView,
}

impl IdentityProviderTemplate<'_> {
    /// Returns the rate of the last hour at this hub.
    fn rate(&self) -> String {
        let rate = self.view.granted_per_minute;
        rate.map_or_else(|| "not known yet".to_owned(), |rate| format!("{rate:.1} per minute"))
    }
}

#[derive(Template)]
#[template(path = "admin_service_provider.html")]
struct ServiceProviderTemplate<'a> {
    page: &'a PageContext,
    view: &'a ServiceProviderView,
}

#[derive(Template)]
#[template(path = "admin_unknown_provider.html")]
struct UnknownProviderTemplate<'a> {
    page: &'a PageContext,
}
