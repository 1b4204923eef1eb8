//! The pushed authorization request endpoint, `POST /api/v2/par` (RFC 9126 §2).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};

use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::json_response;
use super::sender;
use super::token::{authorization_headers, parse_client_form};
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::{ErrorCode, Param};
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::pushed_request::{self, PushedResponse};

/// Handles `POST /api/v2/par`.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn push_request(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let answer = read_and_push(&context, body).await;
    let refusal = answer.as_ref().err().map(|error| error.code);
    context.hub.core.metrics.record_pushed_request(refusal);
    let answer = answer.map_err(Rejection::Client)?;
    let body = serde_json::to_vec(&answer);
    let body = body.map_err(|_| Rejection::Client(ErrorCode::Internal.into()))?;
    let mut response = json_response(body);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn read_and_push(
    context: &RequestContext,
    body: web::Payload,
) -> Result<PushedResponse, GrantError> {
    let (hub, request) = (&context.hub, &context.request);
    // As at the authorization endpoint: parameters in an address are kept in logs.
    if !request.query_string().is_empty() {
        return Err(ErrorCode::AuthorizePostWithQuery.into());
    }
    let body = parse_client_form(request, body).await?;
    body.check_readable(Param::AUTHORIZATION)?;
    let headers = authorization_headers(request);
    let pushed = pushed_request::parse_request(context.content_type(), &headers, body)?;
    // Anyone can push in the name of a public client; a confidential one has proven itself.
    let stranger = pushed.credentials.prove_nothing().then(|| hub.proxies.client_address(request));
    if let Some(client) = stranger {
        hub.core.rate_limits.check_request(client).map_err(|over| GrantError {
            rate_limited: Some(over),
            ..ErrorCode::NetworkLimited.into()
        })?;
    }
    let pushed = pushed.with_proof_of_possession(sender::read_proof_of_possession(context)?);
    hub.pushed_request_endpoint.push(&pushed, stranger.map(ClientNetwork::containing)).await
}
