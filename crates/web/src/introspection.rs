//! The introspection endpoint, `POST /api/v2/checktoken` (RFC 7662, RFC 9701), and the revocation
//! endpoint, `POST /api/v2/token/revocation` (RFC 7009).

use actix_web::{HttpResponse, web};

use super::form::{self, FormError};
use super::rejection::Rejection;
use super::request_context::{RequestContext, authorization_headers};
use super::responses::{introspection_jwt_response, json_response};
use super::sender;
use super::token::parse_client_form;
use passerelle_grants::IntrospectionResponse;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::introspection::IntrospectionRequest;
use passerelle_protocol::params::Params;
use passerelle_protocol::revocation;

/// Handles `POST /api/v2/checktoken`.
pub(crate) async fn introspect_token(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let params = match form::parse_body(&context.request, body).await {
        Ok(params) => params,
        Err(FormError::TooLarge) => {
            return Err(Rejection::Client(ErrorCode::PayloadTooLarge.into()));
        }
        // A body that is not a form holds no credentials, and the error says only that (R182).
        Err(FormError::NotForm | FormError::Interrupted) => Params::default(),
    };
    let authorization = authorization_headers(&context.request);
    let introspection = IntrospectionRequest::read(&authorization, &params);
    match context.hub.access_tokens.introspect(&introspection).await.map_err(Rejection::Client)? {
        IntrospectionResponse::Json(answer) => Ok(json_response(answer)),
        IntrospectionResponse::Jwt(answer) => Ok(introspection_jwt_response(answer)),
    }
}

/// Handles `POST /api/v2/token/revocation`.
pub(crate) async fn revoke_token(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    read_and_revoke(&context, body).await.map_err(Rejection::Client)?;
    // RFC 7009 §2.2: clients ignore the body. It is valid JSON, as its content type says.
    Ok(json_response("{}"))
}

async fn read_and_revoke(context: &RequestContext, body: web::Payload) -> Result<(), GrantError> {
    let params = parse_client_form(&context.request, body).await?;
    let authorization = authorization_headers(&context.request);
    let request = revocation::parse_request(&authorization, &params)?
        .with_proof_of_possession(&sender::read_proof_of_possession(context)?);
    context.hub.revocation_endpoint.revoke(&request).await
}
