//! The token endpoint, `POST /api/v2/token` (docs/integrate/endpoints.md).

use actix_web::{HttpRequest, HttpResponse, web};

use super::form::{self, FormError};
use super::rejection::Rejection;
use super::request_context::{RequestContext, authorization_headers};
use super::responses::json_response;
use super::sender;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::params::Params;
use passerelle_protocol::token::{self, RefreshTokenSupport, TokenResponse};

/// Handles `POST /api/v2/token`.
pub(crate) async fn post_token(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let answer = read_and_answer(&context, body).await.map_err(Rejection::Client)?;
    let body = serde_json::to_vec(&answer);
    body.map(json_response).map_err(|_| Rejection::Client(ErrorCode::Internal.into()))
}

async fn read_and_answer(
    context: &RequestContext,
    body: web::Payload,
) -> Result<TokenResponse, GrantError> {
    let (hub, request) = (&context.hub, &context.request);
    let params = parse_client_form(request, body).await?;
    let refresh_tokens = if hub.core.federation.load().issues_refresh_tokens() {
        RefreshTokenSupport::On
    } else {
        RefreshTokenSupport::Off
    };
    let authorization = authorization_headers(request);
    let request =
        token::parse_request(context.content_type(), &authorization, &params, refresh_tokens)?
            .with_proof_of_possession(sender::read_proof_of_possession(context)?);
    hub.token_endpoint.answer(&request).await
}

/// Parses the form of a client that authenticates.
///
/// # Errors
/// `TokenNotForm` for another content type, otherwise the code of the [`FormError`].
pub(super) async fn parse_client_form(
    request: &HttpRequest,
    body: web::Payload,
) -> Result<Params, ErrorCode> {
    form::parse_body(request, body).await.map_err(|error| match error {
        FormError::NotForm => ErrorCode::TokenNotForm,
        error => error.code(),
    })
}
