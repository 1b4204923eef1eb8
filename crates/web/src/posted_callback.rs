//! `POST /api/v2/callback/{connector}`: an authorization response that the browser posts (OAuth 2.0
//! Form Post Response Mode).
//!
//! The browser sends no `SameSite=Lax` cookie with a POST from another site, and `SameSite=None`
//! would send the login's cookie with every request of any site. So the response is stored and
//! continued by a GET, which carries the cookie and is checked as a response in the address is.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use url::form_urlencoded::Serializer;

use super::form;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::see_other;
use passerelle_grants::pending_post::PostedMessage;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::params::Params;

/// Query parameter that names a stored response.
const PENDING_PARAM: &str = "pending";

/// The parameters of a response that the hub reads; it stores no others.
const RESPONSE_PARAMS: [&str; 6] =
    ["code", "state", "iss", "error", "error_description", "response"];

/// Bytes of the parameters of one response: strangers can post as much as they like.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

/// Bytes of a code and its other parameters in an address, if the store is full.
const MAX_URL_BYTES: usize = 4 * 1024;

/// Handles `POST /api/v2/callback/{connector}`, for connectors with `response_mode = "form_post"`.
pub(crate) async fn save_callback(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let connector = ConnectorId::new(path.into_inner());
    let is_on = hub
        .core
        .federation
        .load()
        .connector(&connector)
        .is_some_and(|metadata| metadata.enabled && metadata.posted_callbacks);
    if !is_on {
        return Err(Rejection::OutsideLogin(ErrorCode::NotFound));
    }
    let params = form::parse_body(&context.request, body).await?;
    // Repeated parameters are stored too: the GET refuses them as those of an address.
    let named = params.pairs().iter().filter(|(name, _)| RESPONSE_PARAMS.contains(&name.as_str()));
    let pairs: Vec<(String, String)> = named.cloned().collect();
    let bytes: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_RESPONSE_BYTES {
        return Err(Rejection::OutsideLogin(ErrorCode::PayloadTooLarge));
    }
    let continue_with =
        |query: &str| Ok(see_other(&format!("/api/v2/callback/{connector}?{query}")));
    match hub.pending_posts.save(PostedMessage::Callback(&connector), &pairs).await {
        Ok(ticket) => continue_with(&format!("{PENDING_PARAM}={}", ticket.reveal())),
        // A flood of posts must prevent no login: the response goes on as in the mode query.
        Err(ErrorCode::StoreFull) if bytes <= MAX_URL_BYTES => {
            continue_with(&Serializer::new(String::new()).extend_pairs(&pairs).finish())
        }
        Err(code) => Err(Rejection::OutsideLogin(code)),
    }
}

/// Returns the stored response that the address of this request names; `None` if it names none. An
/// expired or used one has no parameters. It stays stored until [`remove_used`], so that a refused
/// request can be repeated.
pub(super) async fn load_posted(
    context: &RequestContext,
    connector: &ConnectorId,
) -> Result<Option<Params>, Rejection> {
    let Some(ticket) = pending_ticket(context) else { return Ok(None) };
    let message = PostedMessage::Callback(connector);
    let saved = context.hub.pending_posts.load(message, &ticket).await;
    let saved = saved.map_err(Rejection::OutsideLogin)?;
    Ok(Some(Params::new(saved.unwrap_or_default())))
}

/// Removes the stored response that the address of this request names, unless the answer asks the
/// browser to try again.
pub(super) async fn remove_used(
    context: &RequestContext,
    connector: &ConnectorId,
    answered: StatusCode,
) {
    if answered == StatusCode::TOO_MANY_REQUESTS || answered.is_server_error() {
        return;
    }
    if let Some(ticket) = pending_ticket(context) {
        let message = PostedMessage::Callback(connector);
        // One that stays expires, and closes no attempt twice.
        let _removed = context.hub.pending_posts.take(message, &ticket).await;
    }
}

fn pending_ticket(context: &RequestContext) -> Option<String> {
    let query = form::parse_query(context.request.query_string()).ok()?;
    query.single(PENDING_PARAM).ok().flatten().map(str::to_owned)
}
