//! The admin console: one login by its support id, and the state of the hub (docs/operating.md).
//!
//! Responsible for `/admin/`, `/admin/status`, `/admin/config` and `/admin/logins/{support id}`, as
//! JSON and as pages without script. Does not decide access (`admin` does). It shows no personal
//! data and lists no logins: the operator must have the support id.

mod advice;
mod login;
mod pages;
pub mod session;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::login::{EventView, LoginView, NamedParty, RefusalView};
pub(super) use self::pages::sign_in_page;
use super::admin::{self, AdminApi};
use super::private_listener::{CheckResult, Readiness};
use super::responses;
use crate::actor::Connectors;
use crate::actor::registry::{BlockRow, ConnectorRow};
use crate::audit::RecentEvents;
use crate::config::blocks::Block;
use crate::config::model::NoticeSeverity;
use crate::config::{CurrentFederation, Federation, format_rfc3339};
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::ProtocolRules;

/// Reports how full the store is now.
pub type StoreUsageSource = Box<dyn Fn() -> Vec<StoreUsage> + Send + Sync>;

/// Reports the states of the live logins now.
pub type LiveLoginsSource = Box<dyn Fn() -> LiveLogins + Send + Sync>;

/// Data sources of the admin console.
pub struct AdminConsole {
    pub env: Env,
    pub platform: Platform,
    pub issuer: String,
    /// Recent audit events; `None` if they are not kept.
    pub recent: Option<Arc<RecentEvents>>,
    /// Lifetime of a login: an older one that did not end is shown as expired.
    pub login_lifetime: Duration,
    pub federation: CurrentFederation,
    pub connectors: Connectors,
    pub readiness: Arc<Readiness>,
    pub store_usage: StoreUsageSource,
    pub live_logins: LiveLoginsSource,
    /// `passerelle.toml` as loaded, defaults included. It names where secrets are, and holds none.
    pub settings: Value,
}

/// Fill level of a kind of records that share a capacity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoreUsage {
    pub records: String,
    pub used: usize,
    pub capacity: usize,
}

impl StoreUsage {
    /// Returns the used share of the capacity in percent.
    #[must_use]
    pub fn percent_used(&self) -> usize {
        self.used.saturating_mul(100) / self.capacity.max(1)
    }
}

/// Response body of `GET /admin/status`.
#[derive(Debug, Serialize, Deserialize)]
pub struct HubStatus {
    pub version: String,
    pub platform: Platform,
    pub issuer: String,
    /// Time of the response, RFC 3339.
    pub at: String,
    pub ready: bool,
    /// The checks of `/readyz`.
    pub checks: Vec<CheckResult>,
    pub live: LiveLogins,
    pub store: Vec<StoreUsage>,
    pub connectors: Vec<ConnectorRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
}

/// Numbers of live logins by state.
///
/// For hubs that share a store only the sum over all hubs is meaningful: a login that moves from
/// one hub to another makes the number of the first one negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LiveLogins {
    pub choosing: i64,
    pub awaiting_callback: i64,
    pub verifying: i64,
    pub identifying: i64,
    pub consenting: i64,
}

impl LiveLogins {
    /// Returns the numbers in the order of a login.
    #[must_use]
    pub const fn rows(&self) -> [(&'static str, i64); 5] {
        [
            ("choosing", self.choosing),
            ("awaiting_callback", self.awaiting_callback),
            ("verifying", self.verifying),
            ("identifying", self.identifying),
            ("consenting", self.consenting),
        ]
    }
}

/// Response body of `GET /admin/config`: the configuration in use, without secrets.
#[derive(Debug, Serialize)]
pub struct ConfigurationView {
    pub settings: Value,
    pub connectors: Vec<ConnectorId>,
    pub service_providers: Vec<ServiceProviderRow>,
    pub data_providers: Vec<DataProviderRow>,
    pub notices: Vec<NoticeRow>,
    /// Number of blocks in connector files. Blocks by command are listed with the connectors.
    pub blocks: usize,
}

/// A service provider in `GET /admin/config`.
#[derive(Debug, Serialize)]
pub struct ServiceProviderRow {
    pub client_id: ClientId,
    pub name: String,
    pub active: bool,
    pub rules: ProtocolRules,
    pub redirect_uris: Vec<String>,
    pub scopes: Vec<String>,
    pub connectors: Vec<ConnectorId>,
}

/// A data provider in `GET /admin/config`.
#[derive(Debug, Serialize)]
pub struct DataProviderRow {
    pub client_id: ClientId,
    pub active: bool,
    pub scopes: Vec<String>,
}

/// A notice in `GET /admin/config`.
#[derive(Debug, Serialize)]
pub struct NoticeRow {
    pub text: String,
    pub severity: NoticeSeverity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub in_force: bool,
}

impl AdminConsole {
    fn current_status(&self) -> HubStatus {
        HubStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: self.platform,
            issuer: self.issuer.clone(),
            at: format_rfc3339(self.env.now()),
            ready: self.readiness.not_ready_reasons().is_empty(),
            checks: self.readiness.check_results(),
            live: (self.live_logins)(),
            store: (self.store_usage)(),
            connectors: self.connectors.overview(),
            orphaned_blocks: self.connectors.orphaned_blocks(),
        }
    }

    fn current_configuration(&self) -> ConfigurationView {
        let federation = self.federation.load();
        let now = self.env.now();
        ConfigurationView {
            settings: self.settings.clone(),
            connectors: federation.connectors().keys().cloned().collect(),
            service_providers: service_provider_rows(&federation),
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
                .map(|notice| NoticeRow {
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
                .flat_map(|facts| facts.blocks.iter())
                .filter(|block: &&Block| !block.has_ended(now))
                .count(),
        }
    }
}

impl std::fmt::Debug for AdminConsole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminConsole").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

fn service_provider_rows(federation: &Federation) -> Vec<ServiceProviderRow> {
    let row = |service: &Arc<crate::config::ServiceProvider>| {
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
    };
    federation.service_providers().map(row).collect()
}

/// Returns the English name, for operators.
fn english_name(names: &std::collections::BTreeMap<String, String>) -> String {
    crate::config::text_in_language(names, "en").to_owned()
}

/// Adds the console's routes below `/admin`.
pub(super) fn configure_routes(config: &mut ServiceConfig) {
    config
        .service(web::resource(["", "/"]).get(show_status))
        .service(web::resource("/status").get(show_status))
        .service(web::resource("/config").get(show_configuration))
        .service(web::resource("/logins").get(find_login))
        .service(web::resource("/logins/{support_id}").get(show_login));
}

/// Returns whether a browser sends the request. A program sends its token with each request.
pub(super) fn is_browser_request(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    !headers.contains_key(AUTHORIZATION)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

async fn show_status(admin: Data<AdminApi>, request: HttpRequest) -> HttpResponse {
    let Some(console) = admin.console() else {
        return admin::error_response(ErrorCode::NotFound, Vec::new(), None);
    };
    let status = console.current_status();
    if is_browser_request(request.headers()) {
        console_page(console, 200, |nonce| pages::overview_page(&status, nonce))
    } else {
        admin::ok_response(&status)
    }
}

async fn show_configuration(admin: Data<AdminApi>, request: HttpRequest) -> HttpResponse {
    let Some(console) = admin.console() else {
        return admin::error_response(ErrorCode::NotFound, Vec::new(), None);
    };
    let view = console.current_configuration();
    match is_browser_request(request.headers()) {
        true => console_page(console, 200, |nonce| pages::configuration_page(&view, nonce)),
        false => admin::ok_response(&view),
    }
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
    admin: Data<AdminApi>,
    request: HttpRequest,
    entered: web::Path<String>,
) -> HttpResponse {
    let Some(console) = admin.console() else {
        return admin::error_response(ErrorCode::NotFound, Vec::new(), None);
    };
    let found = SupportId::parse(&entered)
        .map(|id| console.find_login_view(&id))
        .unwrap_or(Err(ErrorCode::SupportIdMalformed));
    match (found, is_browser_request(request.headers())) {
        (Ok(view), true) => console_page(console, 200, |nonce| pages::login_page(&view, nonce)),
        (Ok(view), false) => admin::ok_response(&view),
        (Err(code), true) => {
            console_page(console, code.entry().status, |nonce| pages::not_found_page(code, nonce))
        }
        (Err(code), false) => admin::error_response(code, Vec::new(), None),
    }
}

fn console_page(
    console: &AdminConsole,
    status: u16,
    render: impl FnOnce(&str) -> String,
) -> HttpResponse {
    let nonce = console.env.entropy().token();
    responses::admin_page_response(status, &nonce, render(&nonce))
}
