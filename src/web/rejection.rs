//! Records the rejections of the endpoints in the log and in the audit log.
//!
//! Responsible for the audit event of a rejection at a route. Does not build the response.

use actix_web::HttpRequest;

use super::hub::Hub;
use crate::audit::{Event, EventKind};
use crate::ids::{ClientId, InteractionHash, SupportId};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry;

/// Verified facts about a rejected request.
#[derive(Clone, Copy, Default)]
pub struct RejectionContext<'a> {
    /// Support id that the page shows.
    pub support_id: Option<&'a str>,
    /// A registered service provider or data provider.
    pub client_id: Option<&'a ClientId>,
    pub login: Option<&'a InteractionHash>,
}

impl<'a> RejectionContext<'a> {
    /// Creates a context that holds only a support id.
    #[must_use]
    pub fn with_support_id(support_id: &'a str) -> Self {
        Self { support_id: Some(support_id), ..Self::default() }
    }
}

/// Records a rejection in the log, at the level of its code, and in the audit log.
pub fn record_rejection(
    hub: &Hub,
    request: &HttpRequest,
    context: RejectionContext<'_>,
    code: ErrorCode,
    message: &str,
) {
    telemetry::log_rejection(
        context.support_id,
        context.client_id.map(ClientId::as_str),
        code,
        message,
    );
    audit_rejection(hub, request, context, code);
}

/// Records a rejection in the audit log only.
pub fn audit_rejection(
    hub: &Hub,
    request: &HttpRequest,
    context: RejectionContext<'_>,
    code: ErrorCode,
) {
    let Some(name) = rejection_event(request, code) else {
        // No audit event, but the page shows a support id that the operator may search for.
        let event =
            |id| Event::new(EventKind::StepRefused).code(code).support_id(&SupportId::new(id));
        hub.grants
            .audit
            .remember_if_some(|| context.support_id.filter(|_| is_auditable(code)).map(event));
        return;
    };
    hub.grants.audit.record(|| {
        let event = Event::new(name).code(code);
        let event = context.login.into_iter().fold(event, Event::login);
        let event = match context.client_id {
            Some(id) if hub.federation.load().data_provider(id).is_some() => event.dp(id),
            Some(id) => event.sp(id),
            None => event,
        };
        match context.support_id {
            Some(id) => event.support_id(&SupportId::new(id)),
            None => event,
        }
    });
}

/// Returns false for unknown paths and methods, which scanners request all day.
const fn is_auditable(code: ErrorCode) -> bool {
    !matches!(code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed)
}

/// Audit event for rejections at a route.
///
/// It is registered with the route, so that no spelling of a path escapes it.
#[derive(Clone, Copy, Debug)]
pub struct RejectionEvent(pub Option<EventKind>);

/// Returns `None` where the route has no audit event, and for unknown paths and methods.
fn rejection_event(request: &HttpRequest, code: ErrorCode) -> Option<EventKind> {
    request.app_data::<RejectionEvent>().filter(|_| is_auditable(code))?.0
}
