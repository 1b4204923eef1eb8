//! What operators use: the private listener, readiness, the admin API (`/admin/…`: blocks, notices,
//! logins, sessions, refresh grants, operations on this hub) and the console.
//!
//! Responsible for authentication (bearer tokens, RFC 6750; `access` for browsers), the operators'
//! roles, the limit on wrong tokens, and the JSON bodies. Does not depend on what a block does,
//! or where it is stored. Begin with [`private_listener`].

#![cfg_attr(
    test,
    allow(
        clippy::pedantic,
        clippy::too_many_arguments,
        reason = "tests are tables, and panic where they fail; product code is checked without them"
    )
)]

mod access;
mod actions;
pub mod blocks;
pub mod console;
pub mod console_act;
pub mod login_trend;
mod logins;
mod notices;
mod operations;
pub mod operator_accounts;
pub mod operators;
pub mod private_listener;
mod probes;
mod problem;
pub mod readable;
pub mod readiness;
mod refresh_grants;
pub mod responses;
mod sessions;
pub mod settings;

use std::any::Any;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::header::{ALLOW, AUTHORIZATION, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data};
use actix_web::{Error, HttpMessage as _, HttpResponse, Resource};
use serde::{Deserialize, Serialize};

use access::AccessDecision;
pub use blocks::{BlockChange, BlockList};
pub use logins::LoginSearch;
pub use notices::{NewNotice, NoticeChange, NoticeList};
pub use operations::{DrainState, HubOperations, NewKey, ReloadOutcome, RotationOutcome};
pub use operators::AdminCredentials;
use operators::{AdminRequester, Operator, required_role};
pub use probes::OperatorProbeOutcome;
pub use problem::{Problem, fold_problems};
pub use refresh_grants::{RefreshGrantList, RefreshGrantRevocation, RevokedGrants};
pub use responses::AdminErrorBody;
use responses::{AdminError, error_response, ok_response};
pub use sessions::EndedSessions;

use crate::console::AdminConsole;
use crate::console::session::AdminSessions;
use crate::console_act::ConsoleAct;
use crate::settings::OperatorRole;
use passerelle_audit::{Event, EventKind};
use passerelle_grants::RefreshTokens;
use passerelle_grants::auth_failures::{AuthFailureLimiter, FailureLimits};
use passerelle_hub::Logouts;
use passerelle_hub::registry::{BlockRow, ConnectorRow};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::hub::Hub;

/// Bytes of a request body of an operator: a block may name thousands of service providers, and has a
/// message in every language.
const MAX_BODY_BYTES: usize = 256 * 1024;
/// Time for the whole request body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Wrong tokens per minute before the response is 429. The right token is always accepted, so that
/// an attacker can't lock the operator out.
const MAX_WRONG_TOKENS_PER_MINUTE: NonZeroU32 = match NonZeroU32::new(10) {
    Some(guesses) => guesses,
    None => NonZeroU32::MIN,
};

/// Response body of `POST /admin/keys/reload`.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeysInUse {
    pub kids: Vec<String>,
}

/// State of the admin API.
pub struct AdminApi {
    console: Data<AdminConsole>,
    tokens: AdminCredentials,
    operations: Arc<dyn HubOperations>,
    refresh_tokens: Arc<RefreshTokens>,
    logouts: Logouts,
    extensions: AdminExtensions,
    auth_failures: AuthFailureLimiter,
    /// Sessions of browsers; absent if there is no token to sign in with.
    sessions: Option<AdminSessions>,
}

/// Route of an optional crate below `/admin`. GET needs the role of a viewer, any other method that
/// of an operator; access is decided before the handler runs.
#[derive(Clone, Copy, Debug)]
pub struct AdminEndpoint {
    /// Path below `/admin`, for example `/clients/{id}`.
    pub path: &'static str,
    /// Its methods, as the header `allow` lists them.
    pub methods: &'static str,
    /// Adds the handler of each method. A handler finds the operator as `ReqData<AdminRequester>`,
    /// and the state of its crate by [`AdminApi::extension`].
    pub add_handlers: fn(Resource) -> Resource,
}

/// What the optional crates add.
#[derive(Default)]
pub struct AdminExtensions {
    pub endpoints: Vec<&'static [AdminEndpoint]>,
    pub acts: Vec<&'static [ConsoleAct]>,
    pub states: Vec<Arc<dyn Any + Send + Sync>>,
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
    /// Creates the API of a hub.
    #[must_use]
    pub fn new(
        console: AdminConsole,
        tokens: AdminCredentials,
        operations: Arc<dyn HubOperations>,
        refresh_tokens: Arc<RefreshTokens>,
        logouts: &Logouts,
    ) -> Self {
        let allowed = FailureLimits {
            failed_authentications: MAX_WRONG_TOKENS_PER_MINUTE,
            inactive_introspections: MAX_WRONG_TOKENS_PER_MINUTE,
        };
        let env = &console.core.env;
        Self {
            auth_failures: AuthFailureLimiter::new(allowed, env),
            sessions: (!tokens.is_empty()).then(|| AdminSessions::new(env)),
            console: Data::new(console),
            tokens,
            operations,
            refresh_tokens,
            logouts: logouts.clone(),
            extensions: AdminExtensions::default(),
        }
    }

    /// Adds what optional crates add.
    #[must_use]
    pub fn with_extensions(self, extensions: AdminExtensions) -> Self {
        Self { extensions, ..self }
    }

    /// Returns the state of an optional crate; `None` if the hub runs without it.
    pub fn extension<T: 'static>(&self) -> Option<&T> {
        self.extensions.states.iter().find_map(|state| state.downcast_ref())
    }

    fn check_bearer_token(&self, headers: &HeaderMap) -> Result<AdminRequester, ErrorCode> {
        if self.tokens.is_empty() {
            return Err(ErrorCode::AdminOff);
        }
        let operator = self.verify_token(bearer_token(headers))?;
        Ok(AdminRequester { operator, form_key: None })
    }

    fn verify_token(&self, sent: Option<&str>) -> Result<Operator, ErrorCode> {
        sent.and_then(|sent| self.tokens.find(sent))
            .ok_or_else(|| self.count_failure(ErrorCode::AdminToken))
    }

    /// Checks the token of another hub, which is valid for its own paths only.
    fn check_peer_token(&self, headers: &HeaderMap) -> Result<AdminRequester, ErrorCode> {
        if !self.tokens.admits_peers() {
            return Err(ErrorCode::AdminOff);
        }
        if !bearer_token(headers).is_some_and(|sent| self.tokens.is_peer(sent)) {
            return Err(self.count_failure(ErrorCode::PeerToken));
        }
        let operator = Operator { name: "another hub".to_owned(), role: OperatorRole::Viewer };
        Ok(AdminRequester { operator, form_key: None })
    }

    fn count_failure(&self, code: ErrorCode) -> ErrorCode {
        self.auth_failures.count_failed_authentication(None, code).0
    }

    fn record_rejection(&self, code: ErrorCode, operator: Option<&Operator>) {
        passerelle_telemetry::log_rejection(None, None, code, "admin request rejected");
        self.console.core.audit.record(|| {
            let event = Event::new(EventKind::AdminRefused).code(code);
            operator.into_iter().fold(event, |event, operator| event.operator(&operator.name))
        });
    }

    fn rejection_response(&self, code: ErrorCode, headers: &HeaderMap) -> HttpResponse {
        let header = match code {
            ErrorCode::TooManyFailures => {
                Some((RETRY_AFTER, self.auth_failures.retry_after().to_string()))
            }
            ErrorCode::AdminToken | ErrorCode::PeerToken => {
                // RFC 6750 §3.1: a request without a token gets no error code in the challenge.
                let has_token = bearer_token(headers).is_some_and(|token| !token.is_empty());
                let challenge = if has_token { "Bearer error=\"invalid_token\"" } else { "Bearer" };
                Some((WWW_AUTHENTICATE, challenge.to_owned()))
            }
            _ => None,
        };
        error_response(code, Vec::new(), header)
    }
}

/// Returns the token of the `Authorization` header. RFC 9110 §11.1: the scheme is case-insensitive.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

async fn authenticate(
    admin: Arc<AdminApi>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let requester = match admin.decide_access(&request) {
        AccessDecision::Allow => return next.call(request).await,
        AccessDecision::SignInForm(form) => return Ok(request.into_response(form)),
        AccessDecision::RefuseRepeatedCookie => {
            let response = admin.refuse_repeated_cookie(request.headers());
            return Ok(request.into_response(response));
        }
        AccessDecision::Session(requester) => Ok(requester),
        AccessDecision::RequirePeerToken => admin.check_peer_token(request.headers()),
        AccessDecision::RequireBearerToken => admin.check_bearer_token(request.headers()),
    };
    let rejected = match requester {
        Ok(requester)
            if requester.operator.role >= required_role(request.method(), request.path()) =>
        {
            request.extensions_mut().insert(requester);
            return next.call(request).await;
        }
        Ok(requester) => (ErrorCode::AdminRole, Some(requester.operator)),
        Err(code) => (code, None),
    };
    let (code, operator) = rejected;
    admin.record_rejection(code, operator.as_ref());
    let response = admin.rejection_response(code, request.headers());
    Ok(request.into_response(response))
}

/// Returns the routes under `/admin`. Access is decided before any handler runs.
pub fn admin_routes(admin: Arc<AdminApi>) -> impl HttpServiceFactory {
    let (api, endpoints) = (Arc::clone(&admin), admin.extensions.endpoints.concat());
    let authenticated = from_fn(move |request, next| authenticate(Arc::clone(&api), request, next));
    web::scope("/admin")
        .app_data(admin.console.clone())
        .app_data(Data::from(admin))
        .wrap(authenticated)
        .service(resource("/connectors", "GET").get(list_connectors))
        .service(resource("/blocks", "GET, POST").get(blocks::list_blocks).post(blocks::set_block))
        .service(resource("/blocks/{id}", "DELETE").delete(blocks::lift_block))
        .service(resource("/keys/reload", "POST").post(reload_keys))
        .configure(notices::configure_routes)
        .configure(operations::configure_routes)
        .configure(probes::configure_routes)
        .configure(logins::configure_routes)
        .configure(refresh_grants::configure_routes)
        .configure(sessions::configure_routes)
        .configure(actions::configure_actions)
        .configure(move |config| {
            for AdminEndpoint { path, methods, add_handlers } in endpoints {
                config.service(add_handlers(resource(path, methods)));
            }
        })
        .service(resource("/sign-in", "POST").post(access::sign_in))
        .service(resource("/sign-out", "POST").post(access::sign_out))
        .configure(crate::console::configure_routes)
        .default_service(web::to(|| async {
            error_response(ErrorCode::NotFound, Vec::new(), None)
        }))
}

/// Returns a resource that answers the methods it lacks with 405 and `allow`.
fn resource(path: &str, allow: &'static str) -> Resource {
    web::resource(path).default_service(web::to(move || async move {
        error_response(ErrorCode::MethodNotAllowed, Vec::new(), Some((ALLOW, allow.to_owned())))
    }))
}

async fn list_connectors(admin: Data<AdminApi>) -> HttpResponse {
    let connectors = &admin.console.connectors;
    ok_response(&ConnectorList {
        connectors: connectors.overview(),
        orphaned_blocks: connectors.orphaned_blocks(),
    })
}

async fn reload_keys(admin: Data<AdminApi>) -> Result<HttpResponse, AdminError> {
    let reloaded = admin.operations.reload_keys().await;
    let kids = reloaded.map_err(|reason| AdminError::new(ErrorCode::KeysUnreadable, &reason))?;
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
