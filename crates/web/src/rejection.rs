//! Why an endpoint rejects a request, and the record of it in the log and in the audit log.
//!
//! Responsible for the audit event of a rejection at a route. Does not build the response.

use super::cookies::HeldLogin;
use super::form::FormError;
use super::page_language::PageLanguage;
use super::request_context::RequestContext;
use super::route_table::RouteRow;
use passerelle_audit::{Event, EventKind};
use passerelle_grants::error::GrantError;
use passerelle_hub::{LoginSummary, StepError};
use passerelle_localization::OperatorText;
use passerelle_protocol::authorize::ProvenRedirect;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, SupportId};
use passerelle_quota::RateLimitError;

/// Error returned by an endpoint that rejects a request.
#[derive(Debug)]
pub enum Rejection {
    /// The request is malformed. `client_id`, if registered, is logged.
    Malformed { code: ErrorCode, client_id: Option<ClientId> },
    /// The logout request is malformed. No session is ended.
    MalformedLogout(ErrorCode),
    /// The logout's form token is invalid, or the session could not be ended.
    LogoutFailed(ErrorCode),
    /// An error outside any login.
    OutsideLogin(ErrorCode),
    /// The login is over a rate limit.
    RateLimited { code: ErrorCode, over: RateLimitError, client_id: Option<ClientId> },
    /// The login was not admitted. The client, if registered, is logged.
    NotAdmitted(ErrorCode, Option<ClientId>),
    /// The browser does not hold the login's cookie.
    OtherBrowser(InteractionHash, Box<LoginSummary>),
    /// The identity provider's response belongs to no login of this browser.
    UnusableIdpResponse(Box<UnusableIdpResponse>),
    /// The login step could not be run.
    StepFailed(InteractionHash, StepError),
    /// A form of the login carries an invalid CSRF token.
    InvalidForm { code: ErrorCode, login: HeldLogin, summary: Box<LoginSummary> },
    /// The form belongs to an earlier step: the browser is redirected to the login's current page.
    OutdatedForm(InteractionHash),
    /// The service provider gets the error.
    Authorization(Box<AuthorizationRejection>),
    /// A client that authenticates gets the error as JSON.
    Client(GrantError),
    /// A program gets the error as JSON, described by its reason.
    Described(GrantError),
    /// A client that sends an access token gets the error as JSON.
    Bearer(GrantError),
}

/// A response of an identity provider that no login of this browser expects.
#[derive(Debug)]
pub struct UnusableIdpResponse {
    pub code: ErrorCode,
    pub connector: ConnectorId,
    /// The login that can continue.
    pub hash: InteractionHash,
    pub summary: LoginSummary,
}

/// An authorization request that is rejected with a response to the service provider.
#[derive(Debug)]
pub struct AuthorizationRejection {
    pub code: ErrorCode,
    pub redirect: ProvenRedirect,
    pub client_id: Option<ClientId>,
    pub locale: PageLanguage,
    /// Name on the page that sends the response; may be empty.
    pub service: OperatorText,
    /// Message of the log line.
    pub message: &'static str,
}

impl Rejection {
    /// Returns the rejection of a malformed request that names no registered client.
    pub const fn malformed(code: ErrorCode) -> Self {
        Self::Malformed { code, client_id: None }
    }
}

/// An unreadable form.
impl From<FormError> for Rejection {
    fn from(error: FormError) -> Self {
        match error {
            FormError::TooLarge => Self::OutsideLogin(ErrorCode::PayloadTooLarge),
            _ => Self::malformed(error.code()),
        }
    }
}

/// Verified facts about a rejected request.
#[derive(Clone, Copy, Default)]
pub struct RejectionContext<'a> {
    /// Support id that the page shows.
    pub support_id: Option<&'a str>,
    /// A registered service provider or data provider.
    pub client_id: Option<&'a ClientId>,
    pub login: Option<&'a InteractionHash>,
}

/// Records a rejection in the log, at the level of its code, and in the audit log.
pub fn record_rejection(
    context: &RequestContext,
    rejected: RejectionContext<'_>,
    code: ErrorCode,
    message: &str,
) {
    passerelle_telemetry::log_rejection(
        rejected.support_id,
        rejected.client_id.map(ClientId::as_str),
        code,
        message,
    );
    audit_rejection(context, rejected, code);
}

/// Records a rejection in the audit log only.
pub fn audit_rejection(context: &RequestContext, rejected: RejectionContext<'_>, code: ErrorCode) {
    let hub = &context.hub;
    let Some(name) = rejection_event(context, code) else {
        // No audit event, but the page shows a support id that the operator may search for.
        let event =
            |id| Event::new(EventKind::StepRefused).code(code).support_id(&SupportId::new(id));
        hub.core
            .audit
            .remember_if_some(|| rejected.support_id.filter(|_| is_auditable(code)).map(event));
        return;
    };
    hub.core.audit.record(|| {
        let event = Event::new(name).code(code);
        let event = rejected.login.into_iter().fold(event, Event::login);
        let event = match rejected.client_id {
            Some(id) if hub.core.federation.load().data_provider(id).is_some() => event.dp(id),
            Some(id) => event.sp(id),
            None => event,
        };
        match rejected.support_id {
            Some(id) => event.support_id(&SupportId::new(id)),
            None => event,
        }
    });
}

/// Returns false for unknown paths and methods, which scanners request all day.
const fn is_auditable(code: ErrorCode) -> bool {
    !matches!(code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed)
}

/// Returns `None` where the route has no audit event, and for unknown paths and methods.
fn rejection_event(context: &RequestContext, code: ErrorCode) -> Option<EventKind> {
    context.request.app_data::<RouteRow>().filter(|_| is_auditable(code))?.rejection_event
}
