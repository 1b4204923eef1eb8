//! The admin API, `/admin/…` on the private listener: lists the identity providers and their
//! blocks, sets and lifts blocks, reloads keys.
//!
//! Responsible for authentication (one bearer token, RFC 6750; `access` for browsers), the limit on
//! wrong tokens, and the JSON bodies. Does not know what a block does, where it is stored, or what
//! the admin console shows.

mod access;
mod blocks;
pub(super) mod responses;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::header::{ALLOW, AUTHORIZATION, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data};
use actix_web::{Error, HttpResponse};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use access::AccessDecision;
pub use blocks::{BlockChange, BlockList};
pub use responses::AdminErrorBody;
use responses::{AdminError, error_response, ok_response};

use super::admin_console::session::AdminSessions;
use super::admin_console::{self, AdminConsole};
use super::hub::Hub;
use crate::actor::Connectors;
use crate::actor::registry::{BlockRow, ConnectorRow};
use crate::audit::{Audit, Event, EventKind};
use crate::digest;
use crate::env::Env;
use crate::grant::auth_failures::{AuthFailureLimiter, FailureLimits};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry;

/// Bytes of a request body.
const MAX_BODY_BYTES: usize = 16 * 1024;
/// Time for the whole request body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Wrong tokens per minute before the response is 429. The right token is always accepted, so that
/// an attacker can't lock the operator out.
const MAX_WRONG_TOKENS_PER_MINUTE: NonZeroU32 = match NonZeroU32::new(10) {
    Some(guesses) => guesses,
    None => NonZeroU32::MIN,
};

/// Reloads the folder of the hub's keys.
#[async_trait]
pub trait KeyReloader: Send + Sync {
    /// Reloads the keys and returns the `kid`s of all keys in use.
    ///
    /// # Errors
    /// The reason reason the folder can't be read. The previous keys stay in use.
    async fn reload(&self) -> Result<Vec<String>, String>;
}

/// Response body of `POST /admin/keys/reload`.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeysInUse {
    pub kids: Vec<String>,
}

/// State of the admin API.
pub struct AdminApi {
    connectors: Connectors,
    /// SHA-256 of the token; `None` disables the admin API.
    token: Option<[u8; 32]>,
    auth_failures: AuthFailureLimiter,
    audit: Audit,
    env: Env,
    keys: Option<Arc<dyn KeyReloader>>,
    /// `None` without a token.
    sessions: Option<AdminSessions>,
    console: Data<Option<AdminConsole>>,
}

/// Response body of `GET /admin/connectors`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConnectorList {
    pub connectors: Vec<ConnectorRow>,
    /// Blocks by command of connectors that no longer exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
}

impl AdminApi {
    /// Creates the admin API. Without a token, every request is rejected.
    #[must_use]
    pub fn new(connectors: Connectors, token: Option<&Secret<String>>, env: &Env) -> Self {
        let allowed = FailureLimits {
            failed_authentications: MAX_WRONG_TOKENS_PER_MINUTE,
            inactive_answers: MAX_WRONG_TOKENS_PER_MINUTE,
        };
        let token = token.map(|token| digest::sha256(token.reveal().as_bytes()));
        let sessions = token.as_ref().map(|token| AdminSessions::new(token, env));
        let (auth_failures, audit, env) =
            (AuthFailureLimiter::new(allowed, env), Audit::off(), env.clone());
        Self {
            connectors,
            token,
            auth_failures,
            audit,
            env,
            keys: None,
            sessions,
            console: Data::new(None),
        }
    }

    /// Adds the admin console.
    #[must_use]
    pub fn with_console(mut self, console: AdminConsole) -> Self {
        self.console = Data::new(Some(console));
        self
    }

    /// Adds the reload of keys.
    #[must_use]
    pub fn with_key_reloader(mut self, keys: Arc<dyn KeyReloader>) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Records changes and rejections in this audit log.
    #[must_use]
    pub fn with_audit(mut self, audit: &Audit) -> Self {
        self.audit = audit.clone();
        self
    }

    fn check_bearer_token(&self, headers: &HeaderMap) -> Result<(), ErrorCode> {
        let token = self.token.as_ref().ok_or(ErrorCode::AdminOff)?;
        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '));
        // RFC 9110 §11.1: the scheme is case-insensitive.
        let sent = sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        self.verify_token(token, sent.map(|(_, sent)| sent))
    }

    /// Compares hashes, so that timing does not reveal the length of the token.
    fn verify_token(&self, token: &[u8; 32], sent: Option<&str>) -> Result<(), ErrorCode> {
        let is_valid = sent
            .is_some_and(|sent| digest::constant_time_eq(&digest::sha256(sent.as_bytes()), token));
        if is_valid {
            Ok(())
        } else {
            Err(self.auth_failures.count_failed_authentication(None, ErrorCode::AdminToken).0)
        }
    }

    fn record_rejection(&self, code: ErrorCode) {
        telemetry::log_rejection(None, None, code, "admin request rejected");
        self.audit.record(|| Event::new(EventKind::AdminRefused).code(code));
    }

    fn rejection_response(&self, code: ErrorCode) -> HttpResponse {
        let header = match code {
            ErrorCode::TooManyFailures => {
                Some((RETRY_AFTER, self.auth_failures.retry_after().to_string()))
            }
            ErrorCode::AdminToken => {
                Some((WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"".to_owned()))
            }
            _ => None,
        };
        error_response(code, Vec::new(), header)
    }
}

impl std::fmt::Debug for AdminApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminApi").field("connectors", &self.connectors).finish_non_exhaustive()
    }
}

async fn authenticate(
    admin: Arc<AdminApi>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match admin.decide_access(&request) {
        AccessDecision::Allow => return next.call(request).await,
        AccessDecision::SignInForm(form) => return Ok(request.into_response(form)),
        AccessDecision::BearerTokenDecides => {}
    }
    match admin.check_bearer_token(request.headers()) {
        Ok(()) => next.call(request).await,
        Err(code) => {
            admin.record_rejection(code);
            Ok(request.into_response(admin.rejection_response(code)))
        }
    }
}

/// Returns the routes under `/admin`. Access is decided before any handler runs.
pub fn admin_routes(admin: Arc<AdminApi>) -> impl HttpServiceFactory {
    let api = Arc::clone(&admin);
    let authenticated = from_fn(move |request, next| authenticate(Arc::clone(&api), request, next));
    let method_not_allowed = |allow: &'static str| {
        web::to(move || async move {
            error_response(ErrorCode::MethodNotAllowed, Vec::new(), Some((ALLOW, allow.to_owned())))
        })
    };
    web::scope("/admin")
        .app_data(admin.console.clone())
        .app_data(Data::from(admin))
        .wrap(authenticated)
        .service(
            web::resource("/connectors")
                .get(list_connectors)
                .default_service(method_not_allowed("GET")),
        )
        .service(
            web::resource("/blocks")
                .get(blocks::list_blocks)
                .post(blocks::set_block)
                .default_service(method_not_allowed("GET, POST")),
        )
        .service(
            web::resource("/blocks/{id}")
                .delete(blocks::lift_block)
                .default_service(method_not_allowed("DELETE")),
        )
        .service(
            web::resource("/keys/reload")
                .post(reload_keys)
                .default_service(method_not_allowed("POST")),
        )
        .service(
            web::resource("/sign-in")
                .post(access::sign_in)
                .default_service(method_not_allowed("POST")),
        )
        .service(
            web::resource("/sign-out")
                .post(access::sign_out)
                .default_service(method_not_allowed("POST")),
        )
        .configure(admin_console::configure_routes)
        .default_service(web::to(|| async {
            error_response(ErrorCode::NotFound, Vec::new(), None)
        }))
}

async fn list_connectors(admin: Data<AdminApi>) -> HttpResponse {
    ok_response(&ConnectorList {
        connectors: admin.connectors.overview(),
        orphaned_blocks: admin.connectors.orphaned_blocks(),
    })
}

async fn reload_keys(admin: Data<AdminApi>) -> Result<HttpResponse, AdminError> {
    let keys = admin.keys.as_ref().ok_or(ErrorCode::NotFound)?;
    let kids = keys
        .reload()
        .await
        .map_err(|reason| AdminError::new(ErrorCode::KeysUnreadable, &reason))?;
    Ok(ok_response(&KeysInUse { kids }))
}

/// Samples the number of blocks in force at each scrape.
pub fn report_blocks(hub: &Data<Hub>) {
    let weak_hub = Arc::downgrade(&Arc::clone(hub));
    hub.core.metrics.sample_with(move |metrics| {
        if let Some(hub) = weak_hub.upgrade() {
            hub.connectors.publish_block_metrics(metrics);
        }
    });
}
