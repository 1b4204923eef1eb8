//! The token endpoint, `POST /api/v2/token`, and the userinfo endpoint, `GET|POST /api/v2/userinfo`
//! (docs/design/tokens.md). Responses are JSON or a JWT.

use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, PRAGMA, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, web};

use super::form::{self, FormError};
use super::hub::Hub;
use super::rejection::{RejectionContext, audit_rejection};
use super::responses::{client_error_response, json_error_response, json_response, jwt_response};
use crate::grant::UserinfoResponse;
use crate::grant::error::GrantError;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::error_response::AuthLocation;
use crate::protocol::params::{Params, is_form_urlencoded};
use crate::protocol::{token, userinfo};
use crate::quota::RateLimitError;
use crate::telemetry::at_level;

/// Handles `POST /api/v2/token`.
pub async fn post_token(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    let mut response = match redeem_code(&hub, &request, body).await {
        Ok(answer) => json_response(answer),
        Err(error) => client_rejection(&hub, &request, error),
    };
    // RFC 6749 §5.1: in addition to `no-store`, for HTTP/1.0 caches.
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

async fn redeem_code(
    hub: &Hub,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<Vec<u8>, GrantError> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let params = match form::parse_body(request, body).await {
        Ok(params) => params,
        Err(FormError::NotForm) => return Err(ErrorCode::TokenNotForm.into()),
        Err(error) => return Err(error.code().into()),
    };
    let token_request =
        token::parse_request(content_type, &authorization_headers(request), &params)?;
    let answer = hub.grants.redeem_code(&token_request).await?;
    serde_json::to_vec(&answer).map_err(|_| ErrorCode::Internal.into())
}

/// Handles `GET` and `POST /api/v2/userinfo`.
pub async fn get_userinfo(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    match read_userinfo(&hub, &request, body).await {
        Ok(UserinfoResponse::Jwt(token)) => jwt_response(token),
        Ok(UserinfoResponse::Json(claims)) => json_response(claims),
        Err(error) => json_error_response(record_rejection(&hub, &request, &error)),
    }
}

async fn read_userinfo(
    hub: &Hub,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<UserinfoResponse, GrantError> {
    // A malformed query is an error, not an empty query: it may hold an access token.
    let query =
        form::parse_query(request.query_string()).map_err(|_| ErrorCode::BearerQueryMalformed)?;
    let form = userinfo_form(hub, request, body).await?;
    let bearer =
        userinfo::parse_bearer_token(&authorization_headers(request), &query, form.as_ref())?;
    hub.grants.userinfo(&bearer).await
}

/// Returns the form of a POST, if the hub serves clients that may send the token in it (RFC 6750
/// §2.2; never by GET).
async fn userinfo_form(
    hub: &Hub,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<Option<Params>, ErrorCode> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if request.method() != Method::POST
        || !is_form_urlencoded(content_type)
        || !hub.federation.load().serves_openid()
    {
        return Ok(None);
    }
    form::parse_body(request, body).await.map(Some).map_err(|error| match error {
        FormError::TooLarge => ErrorCode::PayloadTooLarge,
        _ => ErrorCode::BearerMalformed,
    })
}

/// Builds the error response for a client, with `Retry-After` if it failed to authenticate too
/// often.
pub(super) fn client_rejection(
    hub: &Hub,
    request: &HttpRequest,
    error: GrantError,
) -> HttpResponse {
    let (error, retry_after) = limit_auth_failures(hub, request, error);
    let used = if request.headers().contains_key(AUTHORIZATION) {
        AuthLocation::Header
    } else {
        AuthLocation::Body
    };
    let mut response = client_error_response(record_rejection(hub, request, &error), used);
    if let Some(seconds) = retry_after {
        // RFC 6585 §4
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Counts a failed authentication against the client's network, and rejects over the limit.
///
/// This stops an attacker who tries many clients and stays below the limit of each. Only failed
/// authentications are rejected.
fn limit_auth_failures(
    hub: &Hub,
    request: &HttpRequest,
    error: GrantError,
) -> (GrantError, Option<u64>) {
    if error.code == ErrorCode::TooManyFailures {
        let wait = error.rate_limited.map(RateLimitError::retry_after_seconds);
        return (error, wait);
    }
    if error.code.entry().status != 401 {
        return (error, None);
    }
    match hub.quotas.check_failed_authentication(|| hub.proxies.client_address(request)) {
        Ok(()) => (error, None),
        Err(over) => (
            GrantError { code: ErrorCode::TooManyFailures, ..error },
            Some(over.retry_after_seconds()),
        ),
    }
}

/// Returns every `Authorization` header, so that a repeated one is detected.
pub(super) fn authorization_headers(request: &HttpRequest) -> Vec<&[u8]> {
    request.headers().get_all(AUTHORIZATION).map(|value| value.as_bytes()).collect()
}

/// Records a rejection in the audit log, the metrics and the log.
fn record_rejection(hub: &Hub, request: &HttpRequest, error: &GrantError) -> ErrorCode {
    let GrantError { code, client_id, reason, rate_limited: _ } = error;
    audit_rejection(
        hub,
        request,
        RejectionContext { client_id: client_id.as_ref(), ..RejectionContext::default() },
        *code,
    );
    hub.metrics.record_token_error(client_id.as_ref(), *code);
    let client_id = client_id.as_ref().map(ClientId::as_str);
    at_level!(code, client_id, reason, "token request rejected");
    *code
}
