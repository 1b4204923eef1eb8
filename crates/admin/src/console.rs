//! The admin console: one login by its support id, and the state of the hub (docs/operating.md).
//!
//! Responsible for `/admin/`, `/admin/status`, `/admin/config`, `/admin/failures`,
//! `/admin/identity-providers`, `/admin/service-providers` and `/admin/logins/{support id}`, as JSON
//! and as pages without script. Does not decide access, and changes nothing (`admin` does). It
//! shows no personal data, and lists only logins that failed: for any other the operator must have
//! the support id, or a person's `sub` and a reason.

mod advice;
mod descriptions;
mod failure_views;
mod failures;
mod listing;
mod login;
mod lookup;
pub(super) mod pages;
mod peers;
mod provider_views;
mod providers;
pub mod session;
mod views;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use actix_web::web::{self, Data, ReqData, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;

pub use self::failure_views::{FailedLoginRow, FailureCause, FailureOverview, PartyCount};
use self::pages::PageContext;
use self::pages::overview::{self, RefreshMode};
pub(super) use self::peers::parse_failure_filter;
pub use self::peers::{
    FailureReport, LoginReport, PeerAnswer, PeerHubs, PeerLoginSearch, ReportSource,
    failure_filter_query,
};
pub use self::views::{
    ConfigurationView, ConfiguredNotice, DataProviderRow, EventView, ExtensionTable, HubStatus,
    LiveLogins, LoginView, NamedParty, NodeAnswer, PendingRegistrationRow, PersonLogin,
    PersonLogins, RefusalView, ServiceProviderRow, StoreUsage,
};
pub use crate::login_trend::{LoginMinute, LoginTrend};
use crate::operators::AdminRequester;
use crate::readiness::Readiness;
use crate::responses::{AdminError, ok_response};
use passerelle_audit::RecentEvents;
use passerelle_federation::blocks::Block;
use passerelle_federation::validity::format_rfc3339;
use passerelle_federation::{Federation, ServiceProvider};
use passerelle_grants::HubCore;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::Connectors;
use passerelle_hub::notices::Notices;
use passerelle_hub::registry::ConnectorRow;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, SupportId};
use passerelle_web::responses;

/// Reports how full the store is now.
pub type StoreUsageSource = Box<dyn Fn() -> Vec<StoreUsage> + Send + Sync>;

/// Reports the states of the live logins now.
pub type LiveLoginsSource = Box<dyn Fn() -> LiveLogins + Send + Sync>;

/// Returns what an optional crate shows now, from memory; `None` if there is nothing to show.
pub type ExtensionTableSource = Arc<dyn Fn() -> Option<ExtensionTable> + Send + Sync>;

/// The admin console of the private listener, if it is enabled.
type ConsoleData = Data<AdminConsole>;

/// Data sources of the admin console.
pub struct AdminConsole {
    pub core: Arc<HubCore>,
    /// Recent audit events; `None` if they are not kept.
    pub recent: Option<Arc<RecentEvents>>,
    /// Lifetime of a login: an older one that did not end is shown as expired.
    pub login_lifetime: Duration,
    pub connectors: Connectors,
    pub notices: Notices,
    /// The public keys of service providers.
    pub client_keys: Arc<KeyDirectory>,
    pub readiness: Arc<Readiness>,
    pub store_usage: StoreUsageSource,
    pub live_logins: LiveLoginsSource,
    pub extension_tables: Vec<ExtensionTableSource>,
    /// Name of this hub.
    pub node: String,
    /// Random name of this process.
    pub instance: String,
    /// The current file of the audit log; `None` if it is not in files.
    pub audit_log: Option<PathBuf>,
    /// Held while the files of the audit log are searched.
    pub audit_searches: Arc<tokio::sync::Mutex<()>>,
    /// The other hubs; `None` without any.
    pub peers: Option<Arc<dyn PeerHubs>>,
    /// `passerelle.toml` as loaded, with the value of each key that it leaves out. It names where
    /// secrets are, and holds none.
    pub settings: Value,
}

impl AdminConsole {
    /// Returns the id and the English name of an identity provider; the id alone of an unknown one.
    pub(super) fn describe_connector(&self, id: &ConnectorId) -> String {
        let name = self.connectors.display_name(id);
        name.map_or_else(|| id.to_string(), |name| format!("{id} ({})", english_name(&name)))
    }

    fn current_status(&self) -> HubStatus {
        let report = self.readiness.report();
        HubStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node: self.node.clone(),
            drained: self.readiness.is_drained(),
            last_hour: self.readiness.login_trend().minutes(),
            platform: self.core.platform,
            issuer: self.core.issuer.clone(),
            at: format_rfc3339(self.core.env.now()),
            ready: report.is_ready(),
            checks: report.check_results(),
            problems: report.problems,
            live: (self.live_logins)(),
            ended_logins: self.core.metrics.ended_logins(),
            store: (self.store_usage)(),
            connectors: worst_first(self.connectors.overview()),
            orphaned_blocks: self.connectors.orphaned_blocks(),
            pending_registrations: pending_registrations(&self.core.federation.load()),
            extensions: self.extension_tables.iter().filter_map(|table| table()).collect(),
        }
    }

    fn current_configuration(&self) -> ConfigurationView {
        let federation = self.core.federation.load();
        let now = self.core.env.now();
        ConfigurationView {
            settings: self.settings.clone(),
            connectors: federation.connectors().keys().cloned().collect(),
            service_providers: federation
                .service_providers()
                .map(|service| service_provider_row(service, &federation))
                .collect(),
            data_providers: federation
                .active_data_providers()
                .map(|provider| DataProviderRow {
                    client_id: provider.client_id.clone(),
                    active: provider.active,
                    scopes: provider.scopes.iter().map(ToString::to_string).collect(),
                })
                .collect(),
            notices: federation
                .notices
                .iter()
                .map(|notice| ConfiguredNotice {
                    text: english_name(&notice.text),
                    severity: notice.severity,
                    from: notice.validity.not_before.map(format_rfc3339),
                    until: notice.validity.not_after.map(format_rfc3339),
                    in_force: notice.is_in_force(now),
                })
                .collect(),
            blocks: federation
                .connectors()
                .values()
                .flat_map(|metadata| metadata.blocks.iter())
                .filter(|block: &&Block| !block.has_ended(now))
                .count(),
        }
    }
}

/// Returns the registered service providers that wait for approval, as this hub read them last.
fn pending_registrations(federation: &Federation) -> Vec<PendingRegistrationRow> {
    let pending = federation.pending_registrations();
    let rows = pending.map(|client| PendingRegistrationRow {
        client_id: client.registration.client_id.clone(),
        names: client.name.clone(),
        redirect_uris: client.registration.redirect_uris.clone(),
    });
    rows.collect()
}

/// Sorts the identity providers that need attention before those that are healthy, each by id.
fn worst_first(mut rows: Vec<ConnectorRow>) -> Vec<ConnectorRow> {
    rows.sort_by_key(|row| (row.state, row.is_healthy()));
    rows
}

fn service_provider_row(service: &ServiceProvider, federation: &Federation) -> ServiceProviderRow {
    let registration = &service.registration;
    let admitted =
        federation.connectors().keys().filter(|id| service.allowed_connectors.allows(id));
    ServiceProviderRow {
        client_id: registration.client_id.clone(),
        name: english_name(&service.name),
        active: registration.active,
        rules: registration.rules,
        redirect_uris: registration.redirect_uris.clone(),
        scopes: registration.granted_scopes.iter().map(ToString::to_string).collect(),
        connectors: admitted.cloned().collect(),
    }
}

/// Returns the English name, for operators.
fn english_name(names: &std::collections::BTreeMap<String, String>) -> String {
    passerelle_federation::localized_text::text_in_language(names, "en").to_owned()
}

/// Adds the console's routes below `/admin`.
pub(super) fn configure_routes(config: &mut ServiceConfig) {
    config
        .service(web::resource(["", "/"]).get(show_status))
        .service(web::resource("/status").get(show_status))
        .service(web::resource("/config").get(show_configuration))
        .service(web::resource("/failures").get(failures::show_failures))
        .service(web::resource("/identity-providers").get(providers::list_identity_providers))
        .service(web::resource("/identity-providers/{id}").get(providers::show_identity_provider))
        .service(web::resource("/service-providers").get(providers::show_service_providers))
        .service(web::resource("/logins").get(find_login))
        .service(web::resource("/logins/{support_id}").get(show_login));
}

/// Returns whether a browser sends the request. A program sends its token with each request.
pub(super) fn is_browser_request(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    !headers.contains_key(AUTHORIZATION)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

async fn show_status(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> Result<HttpResponse, AdminError> {
    let status = console.current_status();
    if !is_browser_request(request.headers()) {
        return Ok(ok_response(&status));
    }
    let refresh = RefreshMode::from_query(request.query_string());
    let causes = console.own_failures().causes;
    let mut page = console_page(&console, Some(&by), 200, |page| {
        overview::overview_page(&status, &causes, refresh, page)
    });
    if refresh == RefreshMode::On {
        let interval = HeaderValue::from(overview::REFRESH_SECONDS);
        page.headers_mut().insert(HeaderName::from_static("refresh"), interval);
    }
    Ok(page)
}

async fn show_configuration(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> Result<HttpResponse, AdminError> {
    let view = console.current_configuration();
    Ok(if is_browser_request(request.headers()) {
        console_page(&console, Some(&by), 200, |page| pages::configuration_page(&view, page))
    } else {
        ok_response(&view)
    })
}

/// Redirects the search form to the login's own URL, which an operator can keep in a ticket.
async fn find_login(request: HttpRequest) -> HttpResponse {
    let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    let entered =
        pairs.find(|(name, _)| name == "support_id").map(|(_, value)| value).unwrap_or_default();
    match SupportId::parse(&entered) {
        Some(id) => responses::see_other(&format!("/admin/logins/{id}")),
        None => responses::see_other("/admin/logins/not-a-support-id"),
    }
}

async fn show_login(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
    entered: web::Path<String>,
) -> Result<HttpResponse, AdminError> {
    let found = match SupportId::parse(&entered) {
        Some(id) => console.find_login_view(&id).await,
        None => Err(ErrorCode::SupportIdMalformed.into()),
    };
    match (found, is_browser_request(request.headers())) {
        (Ok(view), true) => {
            Ok(console_page(&console, Some(&by), 200, |page| pages::login_page(&view, page)))
        }
        (Ok(view), false) => Ok(ok_response(&view)),
        (Err(error), true) => {
            let status = error.code.entry().status;
            Ok(console_page(&console, Some(&by), status, |page| {
                pages::not_found_page(&error, page)
            }))
        }
        (Err(error), false) => Err(error),
    }
}

/// Builds a page for an operator.
pub(super) fn console_page(
    console: &AdminConsole,
    by: Option<&AdminRequester>,
    status: u16,
    render: impl FnOnce(&PageContext) -> String,
) -> HttpResponse {
    let nonce = console.core.env.entropy().token();
    let languages = &console.core.federation.load().languages;
    let page = PageContext::new(&nonce, &console.node, by, console.core.env.now(), languages);
    responses::admin_page_response(status, &nonce, render(&page))
}
