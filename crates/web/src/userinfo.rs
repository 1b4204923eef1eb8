//! The userinfo endpoint, `GET|POST /api/v2/userinfo` (docs/integrate/endpoints.md). The response is
//! JSON or a JWT.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};

use super::form::{self, FormError};
use super::rejection::Rejection;
use super::request_context::{RequestContext, authorization_headers};
use super::responses::{json_response, jwt_response};
use super::sender;
use passerelle_grants::UserinfoResponse;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::params::{Params, is_form_urlencoded};
use passerelle_protocol::userinfo;

/// Handles `GET` and `POST /api/v2/userinfo`.
pub(crate) async fn get_userinfo(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    match read_userinfo(&context, body).await.map_err(Rejection::Bearer)? {
        UserinfoResponse::Jwt(token) => Ok(jwt_response(token)),
        UserinfoResponse::Json(claims) => Ok(json_response(claims)),
    }
}

async fn read_userinfo(
    context: &RequestContext,
    body: web::Payload,
) -> Result<UserinfoResponse, GrantError> {
    // A malformed query is an error, not an empty query: it may hold an access token.
    let query = context.query().map_err(|_| ErrorCode::BearerQueryMalformed)?;
    let form = userinfo_form(context, body).await?;
    let authorization = authorization_headers(&context.request);
    let presented = userinfo::parse_access_token(&authorization, &query, form.as_ref())?
        .with_proof_of_possession(sender::read_proof_of_possession(context)?);
    context.hub.access_tokens.userinfo(&presented).await
}

/// Returns the form of a POST, if the hub serves clients that may send the token in it (RFC 6750
/// §2.2; never by GET).
async fn userinfo_form(
    context: &RequestContext,
    body: web::Payload,
) -> Result<Option<Params>, ErrorCode> {
    let request = &context.request;
    if request.method() != Method::POST
        || !is_form_urlencoded(context.content_type())
        || !context.hub.core.federation.load().serves_openid()
    {
        return Ok(None);
    }
    form::parse_body(request, body).await.map(Some).map_err(|error| match error {
        FormError::TooLarge => ErrorCode::PayloadTooLarge,
        _ => ErrorCode::BearerMalformed,
    })
}
