//! The page after a logout: what has ended, and what has not.

use actix_web::HttpResponse;

use crate::grant::logout::LogoutDestination;
use crate::ids::ConnectorId;
use crate::web::hub::Hub;
use crate::web::page_language::PageLanguage;
use crate::web::pages::LoggedOutPage;
use crate::web::responses::landing_page_response;

/// What happened to the session at the identity provider.
#[derive(Clone, Copy)]
pub enum IdpLogoutResult<'a> {
    Ended(&'a ConnectorId),
    Unreached(&'a ConnectorId),
}

/// Most service providers that the page after a logout names.
const MAX_NAMED_SERVICES: usize = 10;

/// Builds the page after a logout. A sandbox keeps no session.
pub fn logged_out_response(
    hub: &Hub,
    locale: &PageLanguage,
    destination: &LogoutDestination,
    idp_session: Option<IdpLogoutResult<'_>>,
) -> HttpResponse {
    let service = destination.service_provider.as_ref();
    let name = |id: &ConnectorId| {
        let is_sandbox = hub.connectors.sandbox_offer(id).is_some();
        hub.provider_name(id, locale).filter(|_| !is_sandbox)
    };
    let (ended_provider, unreached_provider) = match idp_session {
        Some(IdpLogoutResult::Ended(id)) => (name(id), None),
        Some(IdpLogoutResult::Unreached(id)) => (None, name(id)),
        None => (None, None),
    };
    let participants = destination.participants.iter();
    let logged_out = LoggedOutPage {
        service: service.and_then(|id| hub.service_name(id, locale)),
        action: service.and_then(|id| hub.service_home(id)),
        ended_provider,
        unreached_provider,
        services: participants
            .filter_map(|id| hub.service_name(id, locale))
            .take(MAX_NAMED_SERVICES)
            .collect(),
    };
    landing_page_response(hub, 200, &locale.without_return_path(), |chrome| {
        logged_out.render(chrome)
    })
}
