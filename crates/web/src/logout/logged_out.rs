//! The page after a logout: what has ended, and what has not. Its address holds what it shows, so
//! that it can be shown in another language.

use actix_web::HttpResponse;
use url::form_urlencoded::Serializer;

use crate::hub::Hub;
use crate::page_language::PageLanguage;
use crate::pages::LoggedOutPage;
use crate::rejection::Rejection;
use crate::request_context::RequestContext;
use crate::responses::landing_page_response;
use passerelle_grants::logout_redirects::LogoutDestination;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::params::Params;

/// Path of the page after a logout.
pub(crate) const LOGGED_OUT_PATH: &str = "/api/v2/session/ended";

/// What happened to the session at the identity provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum IdpLogoutResult {
    Ended(ConnectorId),
    Unreached(ConnectorId),
}

/// Maximum number of service providers that the page after a logout names.
const MAX_NAMED_SERVICES: usize = 10;

/// Parameters of the page's address.
const CLIENT_ID: &str = "client_id";
const PARTICIPANT: &str = "participant";
const IDP_ENDED: &str = "idp_ended";
const IDP_UNREACHED: &str = "idp_unreached";

/// Handles `GET /api/v2/session/ended`: shows the page after a logout again. It names registered
/// service providers and identity providers only.
pub(crate) async fn show_logged_out(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let query = context.query()?;
    let (destination, idp_session) = parse_logged_out(&query);
    Ok(logged_out_response(&context.hub, &context.locale(&[]), &destination, idp_session.as_ref()))
}

/// Builds the page after a logout. A sandbox keeps no session.
pub(super) fn logged_out_response(
    hub: &Hub,
    locale: &PageLanguage,
    destination: &LogoutDestination,
    idp_session: Option<&IdpLogoutResult>,
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
    let federation = hub.core.federation.load();
    let participants = destination.participants.iter();
    let logged_out = LoggedOutPage {
        service: service.and_then(|id| hub.service_name(id, locale)),
        action: service.and_then(|id| hub.service_home(id)),
        ended_provider,
        unreached_provider,
        services: participants
            .filter_map(|id| {
                let service = federation.service_provider(id)?;
                let name = locale.localize(&service.name).into();
                Some((name, service.registration.home_page.clone()))
            })
            .take(MAX_NAMED_SERVICES)
            .collect(),
    };
    let locale = locale.with_return_path(logged_out_path(destination, idp_session));
    landing_page_response(hub, 200, &locale, |chrome| logged_out.render(chrome))
}

/// Returns the address at which the page is shown again.
fn logged_out_path(
    destination: &LogoutDestination,
    idp_session: Option<&IdpLogoutResult>,
) -> String {
    let mut query = Serializer::new(String::new());
    if let Some(service) = &destination.service_provider {
        query.append_pair(CLIENT_ID, service.as_str());
    }
    match idp_session {
        Some(IdpLogoutResult::Ended(id)) => query.append_pair(IDP_ENDED, id.as_str()),
        Some(IdpLogoutResult::Unreached(id)) => query.append_pair(IDP_UNREACHED, id.as_str()),
        None => &mut query,
    };
    for participant in destination.participants.iter().take(MAX_NAMED_SERVICES) {
        query.append_pair(PARTICIPANT, participant.as_str());
    }
    format!("{LOGGED_OUT_PATH}?{}", query.finish())
}

fn parse_logged_out(query: &Params) -> (LogoutDestination, Option<IdpLogoutResult>) {
    let participants = query.pairs().iter().filter(|(name, _)| name == PARTICIPANT);
    let destination = LogoutDestination {
        service_provider: query.get(CLIENT_ID).map(Into::into),
        participants: participants.map(|(_, id)| id.as_str().into()).collect(),
        ..LogoutDestination::default()
    };
    let ended = query.get(IDP_ENDED).map(|id| IdpLogoutResult::Ended(id.into()));
    let unreached = || query.get(IDP_UNREACHED).map(|id| IdpLogoutResult::Unreached(id.into()));
    (destination, ended.or_else(unreached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::parse_query;

    #[test]
    fn the_url_of_the_page_has_its_whole_state() {
        let destination = LogoutDestination {
            service_provider: Some("bakery & co".into()),
            participants: vec!["post".into(), "bank".into()],
            ..LogoutDestination::default()
        };
        for idp_session in [
            None,
            Some(IdpLogoutResult::Ended("amandier".into())),
            Some(IdpLogoutResult::Unreached("amandier".into())),
        ] {
            let path = logged_out_path(&destination, idp_session.as_ref());
            let (_, query) = path.split_once('?').unwrap();
            let parsed = parse_logged_out(&parse_query(query).unwrap());
            assert_eq!(parsed, (destination.clone(), idp_session));
        }
    }
}
