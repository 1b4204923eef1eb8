//! One line in the log and one in the audit log for a refusal at an endpoint.
//!
//! Owns: which event a refusal at an address is. Must not know: what the page or the answer looks like.

use actix_web::HttpRequest;

use super::hub::Hub;
use crate::audit::{Event, Name};
use crate::ids::{ClientId, InteractionHash, SupportId};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry;

/// What is known of who was refused. Only what is registered or was proven.
#[derive(Clone, Copy, Default)]
pub struct Whose<'a> {
    /// What the page shows.
    pub support_id: Option<&'a str>,
    /// A registered service provider or data provider.
    pub client_id: Option<&'a ClientId>,
    pub login: Option<&'a InteractionHash>,
}

impl<'a> Whose<'a> {
    #[must_use]
    pub fn page(support_id: &'a str) -> Self {
        Self { support_id: Some(support_id), ..Self::default() }
    }
}

/// Tells of a refusal, as loud as the catalogue says.
pub fn tell(hub: &Hub, request: &HttpRequest, whose: Whose<'_>, code: ErrorCode, what: &str) {
    telemetry::refused(whose.support_id, whose.client_id.map(ClientId::as_str), code, what);
    audit(hub, request, whose, code);
}

/// Tells the audit log alone, where the log has a line of its own.
pub fn audit(hub: &Hub, request: &HttpRequest, whose: Whose<'_>, code: ErrorCode) {
    let Some(name) = event_of(request, code) else {
        // No business event, but a page with a support id on it.
        let event = |id| Event::of(Name::StepRefused).code(code).support_id(&SupportId::new(id));
        hub.grants
            .audit
            .remember_some(|| whose.support_id.filter(|_| is_somebodys(code)).map(event));
        return;
    };
    hub.grants.audit.tell(|| {
        let event = Event::of(name).code(code);
        let event = whose.login.into_iter().fold(event, Event::login);
        let event = match whose.client_id {
            Some(id) if hub.federation.load().data_provider(id).is_some() => event.dp(id),
            Some(id) => event.sp(id),
            None => event,
        };
        match whose.support_id {
            Some(id) => event.support_id(&SupportId::new(id)),
            None => event,
        }
    });
}

/// Addresses and methods that there are not are asked for by machines all day.
const fn is_somebodys(code: ErrorCode) -> bool {
    !matches!(code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed)
}

/// What the audit log calls a refusal at a route; registered with the route, so that no spelling of an address escapes it.
#[derive(Clone, Copy, Debug)]
pub struct RefusalEvent(pub Option<Name>);

/// `None` where the route's refusals are no business event, and for addresses and methods that do not exist.
fn event_of(request: &HttpRequest, code: ErrorCode) -> Option<Name> {
    request.app_data::<RefusalEvent>().filter(|_| is_somebodys(code))?.0
}
