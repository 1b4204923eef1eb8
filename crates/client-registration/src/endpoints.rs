//! The client registration endpoint, `POST /api/v2/register` (RFC 7591 §3), and the client
//! configuration endpoint below it, `GET|PUT|DELETE /api/v2/register/{client_id}` (RFC 7592 §2).

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use futures_util::StreamExt as _;
use serde_json::{Map, Value};

use super::ClientRegistrations;
use super::client_metadata::MAX_METADATA_BYTES;
use super::error_codes;
use super::requests::PresentedRegistrationToken;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::field_value::is_media_type;
use passerelle_protocol::params::Params;
use passerelle_protocol::userinfo;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::{RequestContext, authorization_headers};
use passerelle_web::responses::json_response;

type RegistrationResponse = Result<HttpResponse, Rejection>;

/// Handles `POST /api/v2/register`.
pub(crate) async fn register_client(
    context: RequestContext,
    body: web::Payload,
) -> RegistrationResponse {
    let registered = async {
        let registrations = find_registrations(&context)?;
        let token = bearer_token(&context, error_codes::INITIAL_TOKEN_INVALID)?;
        let body = read_body(&context, body).await?;
        let network =
            ClientNetwork::containing(context.hub.proxies.client_address(&context.request));
        let token = PresentedRegistrationToken(token.as_deref());
        registrations.register(token, network, &body).await
    };
    registration_response(StatusCode::CREATED, registered.await)
}

/// Handles `GET /api/v2/register/{client_id}`.
pub(crate) async fn read_registration(
    context: RequestContext,
    client_id: web::Path<String>,
) -> RegistrationResponse {
    let found = async {
        let registrations = find_registrations(&context)?;
        let token = bearer_token(&context, error_codes::REGISTRATION_TOKEN_INVALID)?;
        registrations.read(&client_id, PresentedRegistrationToken(token.as_deref())).await
    };
    registration_response(StatusCode::OK, found.await)
}

/// Handles `PUT /api/v2/register/{client_id}`.
pub(crate) async fn update_registration(
    context: RequestContext,
    client_id: web::Path<String>,
    body: web::Payload,
) -> RegistrationResponse {
    let updated = async {
        let registrations = find_registrations(&context)?;
        let token = bearer_token(&context, error_codes::REGISTRATION_TOKEN_INVALID)?;
        let body = read_body(&context, body).await?;
        let token = PresentedRegistrationToken(token.as_deref());
        registrations.update(&client_id, token, &body).await
    };
    registration_response(StatusCode::OK, updated.await)
}

/// Handles `DELETE /api/v2/register/{client_id}`.
pub(crate) async fn delete_registration(
    context: RequestContext,
    client_id: web::Path<String>,
) -> RegistrationResponse {
    let deleted = async {
        let registrations = find_registrations(&context)?;
        let token = bearer_token(&context, error_codes::REGISTRATION_TOKEN_INVALID)?;
        registrations.delete(&client_id, PresentedRegistrationToken(token.as_deref())).await
    };
    deleted.await.map_err(Rejection::Described)?;
    let mut response = HttpResponse::NoContent();
    Ok(response.insert_header(("cache-control", "no-store")).finish())
}

/// Returns the registrations, if they are on and the network is not over its limit.
fn find_registrations(context: &RequestContext) -> Result<&ClientRegistrations, GrantError> {
    let hub = &context.hub;
    let registrations = hub.extension::<ClientRegistrations>().ok_or(ErrorCode::NotFound)?;
    registrations.check_network(hub.proxies.client_address(&context.request))?;
    Ok(registrations)
}

/// Returns the bearer token of the `Authorization` header (RFC 6750 §2.1), or `invalid` for an
/// unusable one. `None` if there is no header.
fn bearer_token(context: &RequestContext, invalid: ErrorCode) -> Result<Option<String>, ErrorCode> {
    let headers = authorization_headers(&context.request);
    if headers.is_empty() {
        return Ok(None);
    }
    let presented = userinfo::parse_access_token(&headers, &Params::default(), None);
    presented.map(|presented| Some(presented.token.reveal().clone())).map_err(|_| invalid)
}

/// Reads a JSON body of bounded size.
async fn read_body(
    context: &RequestContext,
    mut payload: web::Payload,
) -> Result<Vec<u8>, ErrorCode> {
    if !is_media_type(context.content_type(), "application/json") {
        return Err(error_codes::REGISTRATION_BODY);
    }
    let mut body = Vec::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| error_codes::REGISTRATION_BODY)?;
        if body.len() + chunk.len() > MAX_METADATA_BYTES {
            return Err(ErrorCode::PayloadTooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn registration_response(
    status: StatusCode,
    outcome: Result<Map<String, Value>, GrantError>,
) -> RegistrationResponse {
    let registered = outcome.map_err(Rejection::Described)?;
    let mut response = json_response(Value::Object(registered).to_string());
    *response.status_mut() = status;
    Ok(response)
}
