//! The introspection endpoint, `POST /api/v2/checktoken` (RFC 7662, RFC 9701), and the revocation
//! endpoint, `POST /api/v2/token/revocation` (RFC 7009).

use actix_web::{HttpRequest, HttpResponse, web};

use super::form::{self, FormError};
use super::hub::Hub;
use super::responses::{introspection_jwt_response, json_response};
use super::token::{authorization_headers, client_rejection};
use crate::grant::error::GrantError;
use crate::grant::introspection::IntrospectionResponse;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::introspection::IntrospectionRequest;
use crate::protocol::params::Params;
use crate::protocol::revocation;

/// Handles `POST /api/v2/checktoken`.
pub async fn introspect_token(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    let params = match form::parse_body(&request, body).await {
        Ok(params) => params,
        Err(FormError::TooLarge) => {
            return client_rejection(&hub, &request, ErrorCode::PayloadTooLarge.into());
        }
        // A body that is not a form holds no credentials, and the error says only that (R182).
        Err(
            FormError::NotForm
            | FormError::BadPercent
            | FormError::NotUtf8
            | FormError::Interrupted,
        ) => Params::default(),
    };
    match hub
        .grants
        .introspect(&IntrospectionRequest::read(&authorization_headers(&request), &params))
        .await
    {
        Ok(IntrospectionResponse::Json(answer)) => json_response(answer),
        Ok(IntrospectionResponse::Jwt(answer)) => introspection_jwt_response(answer),
        Err(error) => client_rejection(&hub, &request, error),
    }
}

/// Handles `POST /api/v2/token/revocation`.
pub async fn revoke_token(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    match read_and_revoke(&hub, &request, body).await {
        // RFC 7009 §2.2: clients ignore the body. It is valid JSON, as its content type says.
        Ok(()) => json_response("{}"),
        Err(error) => client_rejection(&hub, &request, error),
    }
}

async fn read_and_revoke(
    hub: &Hub,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<(), GrantError> {
    let params = match form::parse_body(request, body).await {
        Ok(params) => params,
        Err(FormError::NotForm) => return Err(ErrorCode::TokenNotForm.into()),
        Err(error) => return Err(error.code().into()),
    };
    hub.grants
        .revoke_token(&revocation::parse_request(&authorization_headers(request), &params)?)
        .await
}
