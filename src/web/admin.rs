//! `/admin/…` on the private listener: which identity providers there are, what blocks them, and setting and lifting a
//! block while the hub runs.
//!
//! Owns: who may ask (one bearer token, RFC 6750; a browser that has sent it may look, `entering`), how often one may
//! guess, what is told in JSON. Must not know: what a block does, where it is kept, or what the window shows.

mod entering;

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

use self::entering::Reception;
use super::answer::status_code;
use super::hub::Hub;
use super::window::entrance::Entrance;
use super::window::{self, Window};
use crate::actor::Connectors;
use crate::actor::blocks::{Survival, Unchanged};
use crate::actor::registry::{BlockRow, ConnectorRow, NewBlock, Unset};
use crate::audit::{Audit, Event, Name};
use crate::digest;
use crate::env::Env;
use crate::grant::mistakes::{Allowed, Mistakes};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json::parse_object;
use crate::telemetry;

/// Bytes of a body: a block is a few lines.
const BODY: usize = 16 * 1024;
/// For the whole body to arrive.
const PATIENCE: Duration = Duration::from_secs(5);
/// Wrong tokens in a minute; those beyond get 429. The right one always passes, so nobody can lock the operator out.
const GUESSES: NonZeroU32 = match NonZeroU32::new(10) {
    Some(guesses) => guesses,
    None => NonZeroU32::MIN,
};

/// Reads the folder of the hub's keys again.
#[async_trait]
pub trait KeyReload: Send + Sync {
    /// The kids of all keys that are in use from now on.
    ///
    /// # Errors
    /// Why the folder can't be read: the last good keys stay in use.
    async fn reload(&self) -> Result<Vec<String>, String>;
}

/// What `POST /admin/keys/reload` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeysInUse {
    pub kids: Vec<String>,
}

/// The administration of one hub.
pub struct Admin {
    connectors: Connectors,
    /// SHA-256 of the token; `None`: there is no administration.
    token: Option<[u8; 32]>,
    mistakes: Mistakes,
    audit: Audit,
    env: Env,
    keys: Option<Arc<dyn KeyReload>>,
    /// `None` without a token.
    entrance: Option<Entrance>,
    window: Option<Window>,
}

/// What `GET /admin/blocks` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct BlockList {
    pub blocks: Vec<BlockRow>,
}

/// What `GET /admin/connectors` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConnectorList {
    pub connectors: Vec<ConnectorRow>,
    /// Blocks by command of connectors that are not there (any more).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
}

/// What setting or lifting a block answers. The change is in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct Changed {
    pub block: BlockRow,
    /// Whether a restart finds the change again.
    pub kept: bool,
    /// Why not, and how to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What a refusal answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refused {
    /// RFC 6749's or RFC 6750's word.
    pub error: String,
    pub error_description: String,
    /// `Y` and six digits.
    pub code: String,
    /// What exactly, each with its mend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

impl Admin {
    #[must_use]
    pub fn new(connectors: Connectors, token: Option<&Secret<String>>, env: &Env) -> Self {
        let allowed = Allowed { failed_authentications: GUESSES, inactive_answers: GUESSES };
        let token = token.map(|token| digest::sha256(token.reveal().as_bytes()));
        let entrance = token.as_ref().map(|token| Entrance::new(token, env));
        let (mistakes, audit, env) = (Mistakes::new(allowed, env), Audit::off(), env.clone());
        Self { connectors, token, mistakes, audit, env, keys: None, entrance, window: None }
    }

    /// Whoever is let in may look through it.
    #[must_use]
    pub fn with_window(mut self, window: Window) -> Self {
        self.window = Some(window);
        self
    }

    /// The keys that may be read again on request.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<dyn KeyReload>) -> Self {
        self.keys = Some(keys);
        self
    }

    pub(super) const fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// Changes and refusals are told there.
    #[must_use]
    pub fn audited(mut self, audit: &Audit) -> Self {
        self.audit = audit.clone();
        self
    }

    fn admit(&self, headers: &HeaderMap) -> Result<(), ErrorCode> {
        let token = self.token.as_ref().ok_or(ErrorCode::AdminOff)?;
        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '));
        // RFC 9110, 11.1: the scheme's name has no case.
        let sent = sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        self.prove(token, sent.map(|(_, sent)| sent))
    }

    /// Hashes are compared, so that not even the length is told.
    fn prove(&self, token: &[u8; 32], sent: Option<&str>) -> Result<(), ErrorCode> {
        let proven =
            sent.is_some_and(|sent| digest::equal(&digest::sha256(sent.as_bytes()), token));
        if proven {
            Ok(())
        } else {
            Err(self.mistakes.authentication_failed(None, ErrorCode::AdminToken).0)
        }
    }

    fn tell_refusal(&self, code: ErrorCode) {
        telemetry::refused(None, None, code, "the administration was refused");
        self.audit.tell(|| Event::of(Name::AdminRefused).code(code));
    }

    fn refuse(&self, code: ErrorCode) -> HttpResponse {
        let header = match code {
            ErrorCode::TooManyMistakes => {
                Some((RETRY_AFTER, self.mistakes.retry_after().to_string()))
            }
            ErrorCode::AdminToken => {
                Some((WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"".to_owned()))
            }
            _ => None,
        };
        refused(code, Vec::new(), header)
    }
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").field("connectors", &self.connectors).finish_non_exhaustive()
    }
}

/// Everything under `/admin`. Nothing of it is looked at before the token is proven.
pub fn scope(admin: Arc<Admin>) -> impl HttpServiceFactory {
    let guard = Arc::clone(&admin);
    let guarded = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| {
        let admin = Arc::clone(&guard);
        async move {
            match admin.receive(&request) {
                Reception::LetIn => return next.call(request).await,
                Reception::Asked(form) => return Ok(request.into_response(form)),
                Reception::Unknown => {}
            }
            match admin.admit(request.headers()) {
                Ok(()) => next.call(request).await,
                Err(code) => {
                    admin.tell_refusal(code);
                    Ok(request.into_response(admin.refuse(code)))
                }
            }
        }
    });
    let otherwise = |allow: &'static str| {
        web::to(move || async move {
            refused(ErrorCode::MethodNotAllowed, Vec::new(), Some((ALLOW, allow.to_owned())))
        })
    };
    web::scope("/admin")
        .app_data(Data::from(admin))
        .wrap(guarded)
        .service(web::resource("/connectors").get(connectors).default_service(otherwise("GET")))
        .service(
            web::resource("/blocks")
                .get(blocks)
                .post(block)
                .default_service(otherwise("GET, POST")),
        )
        .service(web::resource("/blocks/{id}").delete(unblock).default_service(otherwise("DELETE")))
        .service(web::resource("/keys/reload").post(reload_keys).default_service(otherwise("POST")))
        .service(
            web::resource("/sign-in").post(entering::sign_in).default_service(otherwise("POST")),
        )
        .service(
            web::resource("/sign-out").post(entering::sign_out).default_service(otherwise("POST")),
        )
        .configure(window::configure)
        .default_service(web::to(|| async { refused(ErrorCode::NotFound, Vec::new(), None) }))
}

async fn connectors(admin: Data<Admin>) -> HttpResponse {
    json(
        StatusCode::OK,
        &ConnectorList {
            connectors: admin.connectors.overview(),
            orphaned_blocks: admin.connectors.orphaned_blocks(),
        },
    )
}

async fn reload_keys(admin: Data<Admin>) -> HttpResponse {
    match &admin.keys {
        None => refused(ErrorCode::NotFound, Vec::new(), None),
        Some(keys) => match keys.reload().await {
            Ok(kids) => json(StatusCode::OK, &KeysInUse { kids }),
            Err(why) => refused(ErrorCode::KeysUnreadable, vec![why], None),
        },
    }
}

async fn blocks(admin: Data<Admin>) -> HttpResponse {
    let of_connectors = admin.connectors.overview().into_iter().flat_map(|row| row.blocks);
    json(
        StatusCode::OK,
        &BlockList { blocks: of_connectors.chain(admin.connectors.orphaned_blocks()).collect() },
    )
}

async fn block(admin: Data<Admin>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let new = match read(payload).await {
        Ok(new) => new,
        Err((code, details)) => return refused(code, details, None),
    };
    match admin.connectors.block(&new).await {
        Ok((row, survival)) => {
            tell(&request, &row, "an identity provider is blocked");
            audit(&admin, Name::BlockSet, &row);
            json(StatusCode::CREATED, &changed(row, survival))
        }
        Err(unset) => {
            let (code, details) = why(unset);
            refused(code, details, None)
        }
    }
}

async fn unblock(admin: Data<Admin>, request: HttpRequest, id: web::Path<String>) -> HttpResponse {
    match admin.connectors.unblock(&id).await {
        Ok(Some((row, survival))) => {
            tell(&request, &row, "a block of an identity provider is lifted");
            audit(&admin, Name::BlockLifted, &row);
            json(StatusCode::OK, &changed(row, survival))
        }
        Ok(None) => refused(ErrorCode::BlockUnknown, Vec::new(), None),
        Err(unchanged) => {
            let (code, details) = why_unchanged(unchanged);
            refused(code, details, None)
        }
    }
}

async fn read(payload: web::Payload) -> Result<NewBlock, (ErrorCode, Vec<String>)> {
    let body = tokio::time::timeout(PATIENCE, payload.to_bytes_limited(BODY)).await;
    let body = body.map_err(|_| (ErrorCode::RequestTimeout, Vec::new()))?;
    let body = body.map_err(|_| {
        (ErrorCode::PayloadTooLarge, vec![format!("the body may have {BODY} bytes")])
    })?;
    let body =
        body.map_err(|_| (ErrorCode::AdminMalformed, vec!["the body broke off".to_owned()]))?;
    let no_object = |_| {
        (
            ErrorCode::AdminMalformed,
            vec!["it must be one JSON object, in which no member is named twice".to_owned()],
        )
    };
    let object = parse_object(&body).map_err(no_object)?;
    serde_json::from_value(Value::Object(object))
        .map_err(|error| (ErrorCode::AdminMalformed, vec![error.to_string()]))
}

fn why(unset: Unset) -> (ErrorCode, Vec<String>) {
    match unset {
        Unset::UnknownConnector { known } => {
            let known: Vec<&str> = known.iter().map(crate::ids::ConnectorId::as_str).collect();
            (ErrorCode::BlockConnector, vec![format!("known: {}", known.join(", "))])
        }
        Unset::UnknownServiceProvider => (ErrorCode::BlockServiceProvider, Vec::new()),
        Unset::Flawed(flaws) => {
            (ErrorCode::BlockFlawed, flaws.iter().map(ToString::to_string).collect())
        }
        Unset::Unchanged(unchanged) => why_unchanged(unchanged),
    }
}

fn why_unchanged(unchanged: Unchanged) -> (ErrorCode, Vec<String>) {
    match unchanged {
        Unchanged::TooMany(why) => (
            ErrorCode::TooManyBlocks,
            vec![format!("{why}; mend: lift those that are no longer needed")],
        ),
        Unchanged::Away(why) => {
            let mend = "mend: look at `passerelle idp list` when the store answers again, and repeat what is missing there";
            (ErrorCode::StoreUnavailable, vec![format!("nothing was changed: {why}; {mend}")])
        }
        Unchanged::Interrupted => (ErrorCode::Internal, Vec::new()),
    }
}

/// One line for each change: this is what an operator will be asked about.
fn tell(request: &HttpRequest, row: &BlockRow, what: &'static str) {
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
        "{what}"
    );
}

/// By command a block is for everyone or for one.
fn audit(admin: &Admin, name: Name, row: &BlockRow) {
    admin.audit.tell(|| {
        let event =
            Event::of(name).idp(&row.connector).block(row.id.as_deref().unwrap_or_default());
        row.service_providers.iter().flatten().take(1).fold(event, Event::sp)
    });
}

fn changed(block: BlockRow, survival: Survival) -> Changed {
    match survival {
        Survival::Kept => Changed { block, kept: true, warning: None },
        Survival::Lost(fault) => {
            let code = ErrorCode::BlocksNotKept.entry().code;
            tracing::error!(code, block = block.id, %fault, "a change of the blocks is in force, and will not survive a restart");
            let warning = format!("the change is in force, but a restart will undo it: {fault}");
            Changed { block, kept: false, warning: Some(warning) }
        }
    }
}

pub(super) fn refused(
    code: ErrorCode,
    details: Vec<String>,
    header: Option<(HeaderName, String)>,
) -> HttpResponse {
    let entry = code.entry();
    let (error, error_description, code) =
        (entry.oauth.to_owned(), entry.description.to_owned(), entry.code.to_owned());
    let mut response = builder(status_code(entry.status));
    if let Some(header) = header {
        response.insert_header(header);
    }
    response.json(Refused { error, error_description, code, details })
}

pub(super) fn told(body: &impl Serialize) -> HttpResponse {
    json(StatusCode::OK, body)
}

fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    builder(status).json(body)
}

fn builder(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header((CACHE_CONTROL, "no-store"));
    response
}

/// Has the blocks in force counted at each scrape.
pub fn report_blocks(hub: &Data<Hub>) {
    let counted = Arc::downgrade(&Arc::clone(hub));
    hub.metrics.sample_with(move |metrics| {
        if let Some(hub) = counted.upgrade() {
            hub.connectors.report_blocks(metrics);
        }
    });
}
