//! The lists of identity providers and service providers, and what the hub knows of one.

use std::sync::Arc;

use actix_web::web::{self, ReqData};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use url::form_urlencoded;

use super::listing::TableQuery;
use super::pages::providers;
use super::provider_views::{
    DatedItem, IdentityProviderView, ServiceProviderView, SettingRow, UnusableProvider,
};
use super::views::NamedParty;
use super::{
    AdminConsole, ConsoleData, console_page, english_name, is_browser_request,
    service_provider_row, worst_first,
};
use crate::operators::AdminRequester;
use crate::responses::{AdminError, ok_response};
use passerelle_audit::recent::failures::FailureFilter;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::{ClientAuthentication, ConnectorProfile, ServiceProvider};
use passerelle_hub::registry::{BlockRow, ConnectorRow};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};

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

/// Handles `GET /admin/identity-providers/{id}`.
///
/// # Errors
/// `NotFound` without this connector.
pub(super) async fn show_identity_provider(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    let Some(view) = console.view_identity_provider(&ConnectorId::new(id.into_inner())).await
    else {
        return not_found(&console, &by, &request);
    };
    if is_browser_request(request.headers()) {
        let render = |page: &_| providers::identity_provider_page(&view, page);
        return Ok(console_page(&console, Some(&by), 200, render));
    }
    Ok(ok_response(&view))
}

/// Handles `GET /admin/service-providers?q=…&page=…`, and with `client_id` one of them: an id may
/// have characters that a path can't.
///
/// # Errors
/// `NotFound` without this service provider.
pub(super) async fn show_service_providers(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> Result<HttpResponse, AdminError> {
    let mut pairs = form_urlencoded::parse(request.query_string().as_bytes());
    let named = pairs.find(|(name, _)| name == "client_id").map(|(_, id)| ClientId::new(id));
    let Some(client_id) = named else {
        return Ok(list_service_providers(&console, &by, &request));
    };
    let Some(view) = console.view_service_provider(&client_id).await else {
        return not_found(&console, &by, &request);
    };
    if is_browser_request(request.headers()) {
        let render = |page: &_| providers::service_provider_page(&view, page);
        return Ok(console_page(&console, Some(&by), 200, render));
    }
    Ok(ok_response(&view))
}

fn list_service_providers(
    console: &ConsoleData,
    by: &ReqData<AdminRequester>,
    request: &HttpRequest,
) -> HttpResponse {
    let query = TableQuery::parse(request.query_string());
    let federation = console.core.federation.load();
    let mut services: Vec<&Arc<ServiceProvider>> =
        federation.service_providers().chain(federation.registered_without_file()).collect();
    services.retain(|service| {
        let registration = &service.registration;
        let name = english_name(&service.name);
        let texts = [registration.client_id.as_str(), &name].into_iter();
        query.matches(texts.chain(registration.redirect_uris.iter().map(String::as_str)))
    });
    let list = query.select(services).map(|service| service_provider_row(service, &federation));
    if is_browser_request(request.headers()) {
        let render = |page: &_| providers::service_providers_page(&list, page);
        return console_page(console, Some(by), 200, render);
    }
    ok_response(&list)
}

fn not_found(
    console: &ConsoleData,
    by: &ReqData<AdminRequester>,
    request: &HttpRequest,
) -> Result<HttpResponse, AdminError> {
    let error = AdminError::from(ErrorCode::NotFound);
    if !is_browser_request(request.headers()) {
        return Err(error);
    }
    Ok(console_page(console, Some(by), error.code.entry().status, providers::unknown_provider_page))
}

impl AdminConsole {
    async fn view_identity_provider(&self, id: &ConnectorId) -> Option<IdentityProviderView> {
        let identity_provider = self.connectors.overview().into_iter().find(|row| row.id == *id)?;
        let metadata = Arc::clone(self.core.federation.load().connector(id)?);
        let filter = FailureFilter { identity_provider: Some(id.clone()), ..Default::default() };
        let dates = self.connectors.dates(id);
        let expiries = dates.expiries.into_iter();
        let expiries = expiries.map(|(name, at)| DatedItem::new(name.replace('_', " "), at));
        let fetched = dates.keys_fetched_at.map(|at| DatedItem::new("keys fetched", at));
        Some(IdentityProviderView {
            granted_per_minute: self
                .readiness
                .login_trend()
                .granted_per_minute(std::slice::from_ref(id)),
            failures: self.find_failures(&filter).await,
            settings: connector_settings(&metadata),
            dates: expiries.chain(fetched).collect(),
            identity_provider,
        })
    }

    async fn view_service_provider(&self, client_id: &ClientId) -> Option<ServiceProviderView> {
        let federation = self.core.federation.load();
        let service = federation.service_provider(client_id)?;
        let filter =
            FailureFilter { service_provider: Some(client_id.clone()), ..Default::default() };
        let row = service_provider_row(service, &federation);
        let unavailable = |row: &ConnectorRow| {
            if !service.allowed_connectors.allows(&row.id) {
                return None;
            }
            let permitted = self.connectors.permit_connector(client_id, &row.id);
            let reason = match permitted {
                Err(reason) => reason.to_string(),
                Ok(_) if row.state.is_usable() => return None,
                Ok(_) => format!("the identity provider is {}", row.state.as_str()),
            };
            let name = english_name(&row.name);
            let identity_provider = NamedParty { id: row.id.to_string(), name };
            Some(UnusableProvider { identity_provider, reason })
        };
        let concerns = |block: &BlockRow| {
            block.service_providers.as_ref().is_some_and(|ids| ids.contains(client_id))
        };
        let connectors = self.connectors.overview();
        Some(ServiceProviderView {
            service_provider: row,
            is_registered: federation
                .registered_without_file()
                .any(|client| client.registration.client_id == *client_id),
            failures: self.find_failures(&filter).await,
            unavailable: connectors.iter().filter_map(unavailable).collect(),
            blocks: connectors.into_iter().flat_map(|row| row.blocks).filter(concerns).collect(),
            settings: service_settings(service),
            dates: self.service_dates(service),
        })
    }

    /// Returns when the secrets and the client certificates of a service provider expire, and when
    /// its keys were fetched.
    fn service_dates(&self, service: &ServiceProvider) -> Vec<DatedItem> {
        let secret = DatedSecret::last_expiry(service.authentication.secrets());
        let client_id = &service.registration.client_id;
        let keys = self.client_keys.keys(client_id, &service.keys);
        let certificates = keys.iter().flat_map(|keys| &keys.certificates);
        let certificates = certificates.filter_map(|(thumbprint, expires_at)| {
            Some(DatedItem::new(format!("client certificate {thumbprint}"), (*expires_at)?))
        });
        let fetched = self.client_keys.fetched_at(client_id, &service.keys);
        let secret = secret.map(|at| DatedItem::new("last secret", at));
        let fetched = fetched.map(|at| DatedItem::new("keys fetched", at));
        secret.into_iter().chain(certificates).chain(fetched).collect()
    }
}

fn connector_settings(metadata: &ConnectorProfile) -> Vec<SettingRow> {
    let redirects = metadata
        .redirects_per_minute
        .map_or_else(|| "the hub's default".to_owned(), |limit| limit.to_string());
    [
        ("enabled", yes_or_no(metadata.enabled)),
        ("on the choice page", yes_or_no(metadata.listed)),
        ("e-mail domains", list(&metadata.email_domains)),
        ("addresses", list(&metadata.addresses)),
        ("probed by the hub", yes_or_no(metadata.is_probed)),
        ("proves an identity", yes_or_no(metadata.proves_identity)),
        ("proves a new authentication", yes_or_no(metadata.reauthenticates)),
        ("back-channel logout", yes_or_no(metadata.backchannel_logout)),
        ("redirects per minute", redirects),
    ]
    .map(|(name, value)| SettingRow { name, value })
    .into()
}

fn service_settings(service: &ServiceProvider) -> Vec<SettingRow> {
    let registration = &service.registration;
    let authentication = match &service.authentication {
        ClientAuthentication::SecretPost(_) => "client_secret_post",
        ClientAuthentication::SecretBasic(_) => "client_secret_basic",
        ClientAuthentication::Secret(_) => "client_secret_basic or client_secret_post",
        ClientAuthentication::PrivateKeyJwt(_) => "private_key_jwt",
        ClientAuthentication::TlsCertificate(_) => "tls_client_auth",
        ClientAuthentication::SelfSignedCertificate => "self_signed_tls_client_auth",
        ClientAuthentication::Public => "none (a public client)",
    };
    let keys = match &service.keys {
        KeySource::None => "none".to_owned(),
        KeySource::Inline(_) => "in its file".to_owned(),
        KeySource::Uri(uri) => uri.uri.to_string(),
    };
    let logins = service
        .logins_per_minute
        .map_or_else(|| "the hub's default".to_owned(), |limit| limit.to_string());
    [
        ("rules", text(&registration.rules)),
        ("authentication", authentication.to_owned()),
        ("keys", keys),
        ("PKCE required", yes_or_no(registration.needs_pkce())),
        ("pushed requests required", yes_or_no(registration.protection.require_pushed)),
        ("consent", text(&registration.consent)),
        ("identity provider hints", text(&registration.hints)),
        ("refresh tokens", yes_or_no(service.refresh_tokens.is_some())),
        ("receives logout tokens", yes_or_no(service.logout_endpoint.is_some())),
        ("responses encrypted", yes_or_no(service.encryption.iter().next().is_some())),
        ("logins per minute", logins),
        ("post-logout redirect URIs", list(&registration.post_logout_redirect_uris)),
        ("home page", registration.home_page.clone()),
    ]
    .map(|(name, value)| SettingRow { name, value })
    .into()
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn list(values: &[String]) -> String {
    if values.is_empty() { "none".to_owned() } else { values.join(", ") }
}

/// Returns a value as the configuration file has it.
fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
