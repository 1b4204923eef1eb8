//! L4 · The operator's window: one login by the support id on a person's screen, and how the hub is doing (docs/operating.md).
//!
//! Owns: what `/admin/`, `/admin/status`, `/admin/config` and `/admin/logins/{support id}` tell, in JSON and as pages that
//! need no script. Must not know: who may look (`admin` does), how files and the store are kept. Nothing here tells
//! anything of a person, and nothing lists logins: whoever looks has the support id already.

mod advice;
pub mod entrance;
mod login;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::login::{EventTold, LoginTold, Named, RefusalTold};
pub(super) use self::pages::sign_in as sign_in_page;
use super::admin::{self, Admin};
use super::answer;
use super::private::{CheckRow, Readiness};
use crate::actor::Connectors;
use crate::actor::registry::{BlockRow, ConnectorRow};
use crate::audit::Recent;
use crate::config::blocks::Block;
use crate::config::notices::Severity;
use crate::config::{Current, Federation, in_rfc3339};
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::Rules;

/// How full the store is, at this moment.
pub type Fill = Box<dyn Fn() -> Vec<StoreRow> + Send + Sync>;

/// Where logins on their way stand, at this moment.
pub type OnTheWay = Box<dyn Fn() -> LiveTold + Send + Sync>;

/// What the window looks at.
pub struct Window {
    pub env: Env,
    pub platform: Platform,
    pub issuer: String,
    /// `None` where nothing is remembered.
    pub recent: Option<Arc<Recent>>,
    /// Of a login: an older one that did not end is told as expired.
    pub login_life: Duration,
    pub federation: Current,
    pub connectors: Connectors,
    pub readiness: Arc<Readiness>,
    pub store: Fill,
    pub live: OnTheWay,
    /// `passerelle.toml` as loaded, defaults included. It names where secrets are, and holds none.
    pub settings: Value,
}

/// Records that share their places.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoreRow {
    pub records: String,
    pub held: usize,
    pub places: usize,
}

impl StoreRow {
    #[must_use]
    pub fn percent(&self) -> usize {
        self.held.saturating_mul(100) / self.places.max(1)
    }
}

/// What `GET /admin/status` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    pub platform: Platform,
    pub issuer: String,
    /// RFC 3339.
    pub at: String,
    pub ready: bool,
    /// As `/readyz` has them.
    pub checks: Vec<CheckRow>,
    pub live: LiveTold,
    pub store: Vec<StoreRow>,
    pub connectors: Vec<ConnectorRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
}

/// Logins on their way, by the state that they stand in. Of hubs that share a store only the sum over all of them says
/// something: a login that moves is counted below zero at one and above at another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LiveTold {
    pub choosing: i64,
    pub away: i64,
    pub verifying: i64,
    pub identifying: i64,
    pub consenting: i64,
}

impl LiveTold {
    /// In the order of a login.
    #[must_use]
    pub const fn rows(&self) -> [(&'static str, i64); 5] {
        [
            ("choosing", self.choosing),
            ("away", self.away),
            ("verifying", self.verifying),
            ("identifying", self.identifying),
            ("consenting", self.consenting),
        ]
    }
}

/// What `GET /admin/config` answers: the configuration as it counts now, without secrets.
#[derive(Debug, Serialize)]
pub struct Configuration {
    pub settings: Value,
    pub connectors: Vec<ConnectorId>,
    pub service_providers: Vec<ServiceRow>,
    pub data_providers: Vec<DataProviderRow>,
    pub notices: Vec<NoticeRow>,
    /// Kill switches that stand in connectors' files; those by command are with the connectors.
    pub blocks: usize,
}

#[derive(Debug, Serialize)]
pub struct ServiceRow {
    pub client_id: ClientId,
    pub name: String,
    pub active: bool,
    pub rules: Rules,
    pub redirect_uris: Vec<String>,
    pub scopes: Vec<String>,
    pub connectors: Vec<ConnectorId>,
}

#[derive(Debug, Serialize)]
pub struct DataProviderRow {
    pub client_id: ClientId,
    pub active: bool,
    pub scopes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct NoticeRow {
    pub text: String,
    pub severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub in_force: bool,
}

impl Window {
    fn status(&self) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: self.platform,
            issuer: self.issuer.clone(),
            at: in_rfc3339(self.env.now()),
            ready: self.readiness.complaints().is_empty(),
            checks: self.readiness.checks(),
            live: (self.live)(),
            store: (self.store)(),
            connectors: self.connectors.overview(),
            orphaned_blocks: self.connectors.orphaned_blocks(),
        }
    }

    fn configuration(&self) -> Configuration {
        let federation = self.federation.load();
        let now = self.env.now();
        Configuration {
            settings: self.settings.clone(),
            connectors: federation.connectors().keys().cloned().collect(),
            service_providers: services(&federation),
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
                    text: named(&notice.text),
                    severity: notice.severity,
                    from: notice.window.not_before.map(in_rfc3339),
                    until: notice.window.not_after.map(in_rfc3339),
                    in_force: notice.is_in_force(now),
                })
                .collect(),
            blocks: federation
                .connectors()
                .values()
                .flat_map(|facts| facts.blocks.iter())
                .filter(|block: &&Block| !block.is_over(now))
                .count(),
        }
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

fn services(federation: &Federation) -> Vec<ServiceRow> {
    let row = |service: &Arc<crate::config::Service>| {
        let registration = &service.registration;
        let admitted = federation.connectors().keys().filter(|id| service.admitted.includes(id));
        ServiceRow {
            client_id: registration.client_id.clone(),
            name: named(&service.name),
            active: registration.active,
            rules: registration.rules,
            redirect_uris: registration.redirect_uris.clone(),
            scopes: registration.granted_scopes.iter().map(ToString::to_string).collect(),
            connectors: admitted.cloned().collect(),
        }
    };
    federation.services().map(row).collect()
}

/// Operators read English.
fn named(names: &std::collections::BTreeMap<String, String>) -> String {
    crate::config::in_language(names, "en").to_owned()
}

/// The paths below `/admin` that are looked at.
pub(super) fn configure(config: &mut ServiceConfig) {
    config
        .service(web::resource(["", "/"]).get(overview))
        .service(web::resource("/status").get(overview))
        .service(web::resource("/config").get(configuration))
        .service(web::resource("/logins").get(search))
        .service(web::resource("/logins/{support_id}").get(one));
}

/// A person looks, and not a program: those prove themselves in each request.
pub(super) fn is_browser(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    !headers.contains_key(AUTHORIZATION)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

async fn overview(admin: Data<Admin>, request: HttpRequest) -> HttpResponse {
    let Some(window) = admin.window() else {
        return admin::refused(ErrorCode::NotFound, Vec::new(), None);
    };
    let status = window.status();
    if is_browser(request.headers()) {
        draw(window, 200, |nonce| pages::overview(&status, nonce))
    } else {
        admin::told(&status)
    }
}

async fn configuration(admin: Data<Admin>, request: HttpRequest) -> HttpResponse {
    let Some(window) = admin.window() else {
        return admin::refused(ErrorCode::NotFound, Vec::new(), None);
    };
    let told = window.configuration();
    match is_browser(request.headers()) {
        true => draw(window, 200, |nonce| pages::configuration(&told, nonce)),
        false => admin::told(&told),
    }
}

/// What the form on the page sends: on to the login's own address, which can be kept in a ticket.
async fn search(request: HttpRequest) -> HttpResponse {
    let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    let typed =
        pairs.find(|(name, _)| name == "support_id").map(|(_, value)| value).unwrap_or_default();
    match SupportId::read(&typed) {
        Some(id) => answer::see_other(&format!("/admin/logins/{id}")),
        None => answer::see_other("/admin/logins/not-a-support-id"),
    }
}

async fn one(admin: Data<Admin>, request: HttpRequest, typed: web::Path<String>) -> HttpResponse {
    let Some(window) = admin.window() else {
        return admin::refused(ErrorCode::NotFound, Vec::new(), None);
    };
    let found = SupportId::read(&typed)
        .map(|id| window.login(&id))
        .unwrap_or(Err(ErrorCode::SupportIdMalformed));
    match (found, is_browser(request.headers())) {
        (Ok(told), true) => draw(window, 200, |nonce| pages::login(&told, nonce)),
        (Ok(told), false) => admin::told(&told),
        (Err(code), true) => {
            draw(window, code.entry().status, |nonce| pages::not_found(code, nonce))
        }
        (Err(code), false) => admin::refused(code, Vec::new(), None),
    }
}

fn draw(window: &Window, status: u16, render: impl FnOnce(&str) -> String) -> HttpResponse {
    let nonce = window.env.entropy().token();
    answer::for_operators(status, &nonce, render(&nonce))
}
