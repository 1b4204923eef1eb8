//! The admin API, `/admin/…` on the private listener: lists the identity providers and their
//! blocks, sets and lifts blocks, reloads keys.
//!
//! Responsible for authentication (one bearer token, RFC 6750; `access` for browsers), the limit on
//! wrong tokens, and the JSON bodies. Does not know what a block does, where it is stored, or what
//! the admin console shows.

mod access;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{HttpServiceFactory, ServiceRequest};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, HeaderMap, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::access::AccessDecision;
use super::admin_console::session::AdminSessions;
use super::admin_console::{self, AdminConsole};
use super::hub::Hub;
use super::responses::status_code;
use crate::actor::Connectors;
use crate::actor::blocks::{BlockUpdateError, Persistence};
use crate::actor::registry::{BlockError, BlockRow, ConnectorRow, NewBlock};
use crate::audit::{Audit, Event, EventKind};
use crate::digest;
use crate::env::Env;
use crate::grant::auth_failures::{AuthFailureLimiter, FailureLimits};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json::parse_object;
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
    console: Option<AdminConsole>,
}

/// Response body of `GET /admin/blocks`.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockList {
    pub blocks: Vec<BlockRow>,
}

/// Response body of `GET /admin/connectors`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConnectorList {
    pub connectors: Vec<ConnectorRow>,
    /// Blocks by command of connectors that no longer exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
}

/// Response body of setting or lifting a block. The change is in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockChange {
    pub block: BlockRow,
    /// Whether the change survives a restart.
    pub persisted: bool,
    /// Why it is not persisted, and how to fix that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Response body of an error.
#[derive(Debug, Serialize, Deserialize)]
pub struct AdminErrorBody {
    /// Error code of RFC 6749 or RFC 6750.
    pub error: String,
    pub error_description: String,
    /// `Y` and six digits.
    pub code: String,
    /// Details, each with its fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
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
        Self { connectors, token, auth_failures, audit, env, keys: None, sessions, console: None }
    }

    /// Adds the admin console.
    #[must_use]
    pub fn with_console(mut self, console: AdminConsole) -> Self {
        self.console = Some(console);
        self
    }

    /// Adds the reload of keys.
    #[must_use]
    pub fn with_key_reloader(mut self, keys: Arc<dyn KeyReloader>) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Returns the admin console, if it is enabled.
    pub(super) const fn console(&self) -> Option<&AdminConsole> {
        self.console.as_ref()
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

/// Returns the routes under `/admin`. Access is decided before any handler runs.
pub fn admin_routes(admin: Arc<AdminApi>) -> impl HttpServiceFactory {
    let api = Arc::clone(&admin);
    let authenticated = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
        let admin = Arc::clone(&api);
        async move {
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
    });
    let method_not_allowed = |allow: &'static str| {
        web::to(move || async move {
            error_response(ErrorCode::MethodNotAllowed, Vec::new(), Some((ALLOW, allow.to_owned())))
        })
    };
    web::scope("/admin")
        .app_data(Data::from(admin))
        .wrap(authenticated)
        .service(
            web::resource("/connectors")
                .get(list_connectors)
                .default_service(method_not_allowed("GET")),
        )
        .service(
            web::resource("/blocks")
                .get(list_blocks)
                .post(set_block)
                .default_service(method_not_allowed("GET, POST")),
        )
        .service(
            web::resource("/blocks/{id}")
                .delete(lift_block)
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
    json_response(
        StatusCode::OK,
        &ConnectorList {
            connectors: admin.connectors.overview(),
            orphaned_blocks: admin.connectors.orphaned_blocks(),
        },
    )
}

async fn reload_keys(admin: Data<AdminApi>) -> HttpResponse {
    match &admin.keys {
        None => error_response(ErrorCode::NotFound, Vec::new(), None),
        Some(keys) => match keys.reload().await {
            Ok(kids) => json_response(StatusCode::OK, &KeysInUse { kids }),
            Err(reason) => error_response(ErrorCode::KeysUnreadable, vec![reason], None),
        },
    }
}

async fn list_blocks(admin: Data<AdminApi>) -> HttpResponse {
    let configured = admin.connectors.overview().into_iter().flat_map(|row| row.blocks);
    json_response(
        StatusCode::OK,
        &BlockList { blocks: configured.chain(admin.connectors.orphaned_blocks()).collect() },
    )
}

async fn set_block(
    admin: Data<AdminApi>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let new = match parse_block(payload).await {
        Ok(new) => new,
        Err((code, details)) => return error_response(code, details, None),
    };
    match admin.connectors.block(&new).await {
        Ok((row, persistence)) => {
            log_block_change(&request, &row, "identity provider blocked");
            audit_block_change(&admin, EventKind::BlockSet, &row);
            json_response(StatusCode::CREATED, &block_change(row, persistence))
        }
        Err(error) => {
            let (code, details) = block_error_response_parts(error);
            error_response(code, details, None)
        }
    }
}

async fn lift_block(
    admin: Data<AdminApi>,
    request: HttpRequest,
    id: web::Path<String>,
) -> HttpResponse {
    match admin.connectors.unblock(&id).await {
        Ok(Some((row, persistence))) => {
            log_block_change(&request, &row, "block of identity provider lifted");
            audit_block_change(&admin, EventKind::BlockLifted, &row);
            json_response(StatusCode::OK, &block_change(row, persistence))
        }
        Ok(None) => error_response(ErrorCode::BlockUnknown, Vec::new(), None),
        Err(error) => {
            let (code, details) = update_error_response_parts(error);
            error_response(code, details, None)
        }
    }
}

async fn parse_block(payload: web::Payload) -> Result<NewBlock, (ErrorCode, Vec<String>)> {
    let body = tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(MAX_BODY_BYTES)).await;
    let body = body.map_err(|_| (ErrorCode::RequestTimeout, Vec::new()))?;
    let body = body.map_err(|_| {
        (
            ErrorCode::PayloadTooLarge,
            vec![format!("the body is larger than {MAX_BODY_BYTES} bytes")],
        )
    })?;
    let body = body.map_err(|_| {
        (
            ErrorCode::AdminMalformed,
            vec!["the connection closed before the whole body arrived".to_owned()],
        )
    })?;
    let not_an_object = |_| {
        (
            ErrorCode::AdminMalformed,
            vec!["the body must be one JSON object in which no member is named twice".to_owned()],
        )
    };
    let object = parse_object(&body).map_err(not_an_object)?;
    serde_json::from_value(Value::Object(object))
        .map_err(|error| (ErrorCode::AdminMalformed, vec![error.to_string()]))
}

fn block_error_response_parts(error: BlockError) -> (ErrorCode, Vec<String>) {
    match error {
        BlockError::UnknownConnector { known } => {
            let known: Vec<&str> = known.iter().map(crate::ids::ConnectorId::as_str).collect();
            (ErrorCode::BlockConnector, vec![format!("known: {}", known.join(", "))])
        }
        BlockError::UnknownServiceProvider => (ErrorCode::BlockServiceProvider, Vec::new()),
        BlockError::Invalid(diagnostics) => {
            (ErrorCode::BlockInvalid, diagnostics.iter().map(ToString::to_string).collect())
        }
        BlockError::NotUpdated(error) => update_error_response_parts(error),
    }
}

fn update_error_response_parts(error: BlockUpdateError) -> (ErrorCode, Vec<String>) {
    match error {
        BlockUpdateError::TooMany(reason) => (
            ErrorCode::TooManyBlocks,
            vec![format!("{reason}; fix: lift blocks that are no longer needed")],
        ),
        BlockUpdateError::StoreUnavailable(reason) => {
            let fix = "fix: check `passerelle idp list` when the store is available again, and repeat missing changes";
            (ErrorCode::StoreUnavailable, vec![format!("nothing was changed: {reason}; {fix}")])
        }
        BlockUpdateError::Interrupted => (ErrorCode::Internal, Vec::new()),
    }
}

/// Logs a change of a block with its origin.
fn log_block_change(request: &HttpRequest, row: &BlockRow, message: &'static str) {
    let peer = request.peer_addr().map(|peer| peer.to_string());
    let service_providers = row
        .service_providers
        .as_ref()
        .map(|some| some.iter().map(ToString::to_string).collect::<Vec<_>>());
    tracing::warn!(
        who = "admin token",
        peer,
        block = row.id,
        connector = %row.connector,
        service_provider = service_providers.map(|some| some.join(", ")),
        reason = row.reason,
        from = row.from,
        until = row.until,
        "{message}"
    );
}

/// Records a change of a block. A block by command covers all service providers or one.
fn audit_block_change(admin: &AdminApi, name: EventKind, row: &BlockRow) {
    admin.audit.record(|| {
        let event =
            Event::new(name).idp(&row.connector).block(row.id.as_deref().unwrap_or_default());
        row.service_providers.iter().flatten().take(1).fold(event, Event::sp)
    });
}

fn block_change(block: BlockRow, persistence: Persistence) -> BlockChange {
    match persistence {
        Persistence::Persisted => BlockChange { block, persisted: true, warning: None },
        Persistence::NotPersisted(error) => {
            let code = ErrorCode::BlocksNotPersisted.entry().code;
            tracing::error!(code, block = block.id, %error, "block change is in force, but not persisted");
            let warning = format!("the change is in force, but a restart will undo it: {error}");
            BlockChange { block, persisted: false, warning: Some(warning) }
        }
    }
}

/// Builds the JSON response for an error.
pub(super) fn error_response(
    code: ErrorCode,
    details: Vec<String>,
    header: Option<(HeaderName, String)>,
) -> HttpResponse {
    let entry = code.entry();
    let (error, error_description, code) =
        (entry.oauth.to_owned(), entry.description.to_owned(), entry.code.to_owned());
    let mut response = response_builder(status_code(entry.status));
    if let Some(header) = header {
        response.insert_header(header);
    }
    response.json(AdminErrorBody { error, error_description, code, details })
}

/// Builds a JSON response with status 200.
pub(super) fn ok_response(body: &impl Serialize) -> HttpResponse {
    json_response(StatusCode::OK, body)
}

fn json_response(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    response_builder(status).json(body)
}

fn response_builder(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header((CACHE_CONTROL, "no-store"));
    response
}

/// Samples the number of blocks in force at each scrape.
pub fn report_blocks(hub: &Data<Hub>) {
    let weak_hub = Arc::downgrade(&Arc::clone(hub));
    hub.metrics.sample_with(move |metrics| {
        if let Some(hub) = weak_hub.upgrade() {
            hub.connectors.publish_block_metrics(metrics);
        }
    });
}
