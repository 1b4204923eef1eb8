//! `POST /api/v2/token` and `GET|POST /api/v2/userinfo` (spec 4.7, 4.8; decisions 6). All JSON, or a JWT.

use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, PRAGMA, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{client_error, json, json_error, jwt};
use super::form::{self, FormFault};
use super::hub::Hub;
use super::refused::{Whose, audit};
use crate::grant::UserinfoAnswer;
use crate::grant::refusal::Refusal;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::error_answer::Used;
use crate::protocol::params::{Params, is_form_urlencoded};
use crate::protocol::{token, userinfo};
use crate::quota::Over;
use crate::telemetry::at_level;

pub async fn token(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let mut response = match redeem(&hub, &request, body).await {
        Ok(answer) => json(answer),
        Err(refusal) => to_client(&hub, &request, refusal),
    };
    // RFC 6749, 5.1: beside `no-store`, for caches that know nothing newer.
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

async fn redeem(hub: &Hub, request: &HttpRequest, body: web::Payload) -> Result<Vec<u8>, Refusal> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let params = match form::body(request, body).await {
        Ok(params) => params,
        Err(FormFault::NotForm) => return Err(ErrorCode::TokenNotForm.into()),
        Err(fault) => return Err(fault.code().into()),
    };
    let asked = token::parse(content_type, &authorization(request), &params)?;
    let answer = hub.grants.redeem(&asked).await?;
    serde_json::to_vec(&answer).map_err(|_| ErrorCode::Internal.into())
}

pub async fn userinfo(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    match tell(&hub, &request, body).await {
        Ok(UserinfoAnswer::Jwt(token)) => jwt(token),
        Ok(UserinfoAnswer::Json(claims)) => json(claims),
        Err(refusal) => json_error(refused(&hub, &request, &refusal)),
    }
}

async fn tell(
    hub: &Hub,
    request: &HttpRequest,
    body: web::Payload,
) -> Result<UserinfoAnswer, Refusal> {
    // A query that can't be read is not an empty one: an access token may be in it.
    let query = form::query(request.query_string()).map_err(|_| ErrorCode::BearerQueryMalformed)?;
    let form = token_form(hub, request, body).await?;
    let bearer = userinfo::parse(&authorization(request), &query, form.as_ref())?;
    hub.grants.userinfo(&bearer).await
}

/// The form of a POST, where the hub serves anybody who may send a token in one (RFC 6750, 2.2; never by GET).
async fn token_form(
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
    form::body(request, body).await.map(Some).map_err(|fault| match fault {
        FormFault::TooLarge => ErrorCode::PayloadTooLarge,
        _ => ErrorCode::BearerMalformed,
    })
}

/// An error as a client reads it that may have failed to prove itself; too often, and it is told when to try again.
pub(super) fn to_client(hub: &Hub, request: &HttpRequest, refusal: Refusal) -> HttpResponse {
    let (refusal, retry_after) = too_often(hub, request, refusal);
    let used =
        if request.headers().contains_key(AUTHORIZATION) { Used::Header } else { Used::Body };
    let mut response = client_error(refused(hub, request, &refusal), used);
    if let Some(seconds) = retry_after {
        // RFC 6585, 4
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A failed authentication counts for the network that it comes from, too: whoever tries one client after the other stays
/// below each one's limit. As everywhere, only what fails is turned away.
fn too_often(hub: &Hub, request: &HttpRequest, refusal: Refusal) -> (Refusal, Option<u64>) {
    if refusal.code == ErrorCode::TooManyMistakes {
        let wait = refusal.over.map(Over::retry_after);
        return (refusal, wait);
    }
    if refusal.code.entry().status != 401 {
        return (refusal, None);
    }
    match hub.quotas.authentication_fails(|| hub.proxies.client(request)) {
        Ok(()) => (refusal, None),
        Err(over) => {
            (Refusal { code: ErrorCode::TooManyMistakes, ..refusal }, Some(over.retry_after()))
        }
    }
}

/// Every `Authorization` header: two of them are a finding, not a choice.
pub(super) fn authorization(request: &HttpRequest) -> Vec<&[u8]> {
    request.headers().get_all(AUTHORIZATION).map(|value| value.as_bytes()).collect()
}

/// Counts it, and says it in one line with all that is known.
fn refused(hub: &Hub, request: &HttpRequest, refusal: &Refusal) -> ErrorCode {
    let Refusal { code, client_id, reason, over: _ } = refusal;
    audit(hub, request, Whose { client_id: client_id.as_ref(), ..Whose::default() }, *code);
    hub.metrics.token_refused(client_id.as_ref(), *code);
    let client_id = client_id.as_ref().map(ClientId::as_str);
    at_level!(code, client_id, reason, "a request with or for a token was refused");
    *code
}
