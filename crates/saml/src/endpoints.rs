//! The page that posts a request, and the assertion consumer service.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use url::form_urlencoded::Serializer;

use super::connector::SamlConnector;
use super::pages::RequestPage;
use crate::response::{MAX_ENCODED_BYTES, decode_response, response_text};
use passerelle_connector::error::ConnectorError;
use passerelle_grants::error::GrantError;
use passerelle_hub::Connectors;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::ConnectorId;
use passerelle_web::form;
use passerelle_web::page_attempt::PageAttempt;
use passerelle_web::page_models::LoginPageContext;
use passerelle_web::pages::HiddenField;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::{BASE_PATH, make_cacheable, page_response, see_other};

use crate::error_codes::SAML_RESPONSE_MALFORMED;
use crate::metadata_source::METADATA_MEDIA_TYPE;
use crate::redirect::MAX_RELAY_STATE_BYTES;

/// Bytes of the form with a response: the escapes of base64 and `RelayState` come on top.
const MAX_FORM_BYTES: usize = MAX_ENCODED_BYTES + MAX_ENCODED_BYTES / 8;
/// Each of these many bytes of a response, in base64, counts as one more response of its network:
/// otherwise two networks could fill the store.
const COUNTED_BYTES: usize = 16 << 10;
/// While responses take more than half of their capacity, each counts as so many: to fill the other
/// half, a flood needs so many times as many networks.
const CROWDED_FACTOR: usize = 16;

/// Handles `GET /connectors/{connector}/saml/request`: a page that posts the request of an attempt
/// to the identity provider.
pub(crate) async fn show_request(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let query = context.query().unwrap_or_default();
    let has_page = Connectors::has_own_pages::<SamlConnector>;
    let attempt =
        PageAttempt::verify(&context, path.into_inner(), query.get("state"), has_page).await?;
    let PageAttempt { connector, state, login, summary } = &attempt;
    let request =
        with_connector(&context, connector, async |saml| saml.messages.load_request(state).await);
    let request = request.await.map_err(|code| match code {
        ErrorCode::StateUnknown => Rejection::OutdatedForm(login.hash.clone()),
        code => Rejection::OutsideLogin(code),
    })?;
    let login = LoginPageContext::new(&context, login, summary);
    let page = RequestPage {
        provider: login.hub.provider_name(connector, &login.locale).unwrap_or_default(),
        action: request.action,
        fields: vec![
            HiddenField::new("SAMLRequest", request.saml_request),
            HiddenField::new("RelayState", state.as_str()),
        ],
    };
    Ok(page_response(login.hub, 200, &login.locale, |chrome| page.render(chrome)))
}

/// Handles `POST /connectors/{connector}/saml/acs` (SAML V2.0 Bindings §3.5.4).
///
/// The browser sends no `SameSite=Lax` cookie with a POST from another site. So the response is
/// stored, and continued by a GET, which has the cookie. Nothing of it is trusted here, and a
/// response for no login is of no use.
pub(crate) async fn receive_response(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let connector = ConnectorId::new(path.into_inner());
    if !hub.connectors.has_own_pages::<SamlConnector>(&connector) {
        return Err(Rejection::OutsideLogin(ErrorCode::NotFound));
    }
    // Each counts, good or bad: it is stored before it proves anything. A large one counts more.
    let count = || {
        let address = || hub.proxies.client_address(&context.request);
        hub.core.rate_limits.check_failed_authentication(address).map_err(|over| {
            Rejection::RateLimited { code: ErrorCode::NetworkLimited, over, client_id: None }
        })
    };
    count()?;
    let params = form::parse_large_body(&context.request, body, MAX_FORM_BYTES).await?;
    let single = |name| params.single(name).ok().flatten();
    let (response, state) = (single("SAMLResponse"), single("RelayState"));
    let state = state.filter(|state| state.len() <= MAX_RELAY_STATE_BYTES);
    let Some((response, state)) = response.zip(state) else {
        return Err(Rejection::OutsideLogin(SAML_RESPONSE_MALFORMED));
    };
    let crowded = with_connector(&context, &connector, async |saml| Ok(saml.messages.is_crowded()));
    let is_crowded = crowded.await.map_err(Rejection::OutsideLogin)?;
    let factor = if is_crowded { CROWDED_FACTOR } else { 1 };
    (1..factor * (1 + response.len() / COUNTED_BYTES)).try_for_each(|_| count())?;
    let text = decode_response(response).and_then(|bytes| response_text(&bytes));
    let text = text.map_err(|error| {
        tracing::info!(%connector, %error, "response refused before it was stored");
        Rejection::OutsideLogin(SAML_RESPONSE_MALFORMED)
    })?;
    let query = with_connector(&context, &connector, async |saml| {
        let code = saml.messages.store_response(state, text).await?;
        let mut query = Serializer::new(String::new());
        query.append_pair("code", code.reveal()).append_pair("state", state);
        query.append_pair("iss", &saml.kind.entity_id);
        Ok(query.finish())
    });
    let query = query.await.map_err(Rejection::OutsideLogin)?;
    Ok(see_other(&format!("{BASE_PATH}/callback/{connector}?{query}")))
}

/// Handles `GET /connectors/{connector}/saml/metadata`.
pub(crate) async fn show_metadata(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let connector = ConnectorId::new(path.into_inner());
    let base_url = hub_base_url(&context);
    let xml =
        with_connector(&context, &connector, async |saml| saml.published_metadata(base_url).await);
    let xml = xml.await.map_err(Rejection::OutsideLogin)?;
    let response = HttpResponse::Ok().insert_header((CONTENT_TYPE, METADATA_MEDIA_TYPE)).body(xml);
    Ok(make_cacheable(response))
}

/// Returns the hub's address, without a slash at its end.
pub(crate) fn hub_base_url(context: &RequestContext) -> &str {
    context.hub.core.issuer.trim_end_matches(path::ISSUER)
}

/// Counts a refused message against the sender's network, as a failed client authentication: anyone
/// can send one.
pub(crate) fn rejection_of_sender(context: &RequestContext, code: ErrorCode) -> Rejection {
    let hub = &context.hub;
    let address = || hub.proxies.client_address(&context.request);
    match hub.core.rate_limits.check_failed_authentication(address) {
        Ok(()) => Rejection::OutsideLogin(code),
        Err(over) => Rejection::Client(GrantError::from(over)),
    }
}

/// Calls the connector, if it is one to a SAML identity provider.
pub(crate) async fn with_connector<T>(
    context: &RequestContext,
    id: &ConnectorId,
    call: impl AsyncFnOnce(&SamlConnector) -> Result<T, ConnectorError>,
) -> Result<T, ErrorCode> {
    let called = context.hub.connectors.with_own_pages(id, call).await;
    called.ok_or(ErrorCode::NotFound)?.map_err(|error| {
        tracing::info!(connector = %id, code = error.code.entry().code, detail = error.detail, "message of an identity provider failed");
        error.code
    })
}
