//! `POST /api/v2/token` and `GET|POST /api/v2/userinfo` (spec 4.7, 4.8; decisions 6). All JSON, or a JWT.

use actix_web::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{client_error, json, json_error, jwt};
use super::form::{self, FormFault};
use super::hub::Hub;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::error_answer::Used;
use crate::protocol::{token, userinfo};
use crate::telemetry;

pub async fn token(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    match redeem(&hub, &request, body).await {
        Ok(answer) => json(answer),
        Err(code) => to_client(&hub, &request, code),
    }
}

async fn redeem(hub: &Hub, request: &HttpRequest, body: web::Payload) -> Result<Vec<u8>, ErrorCode> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let params = match form::body(request, body).await {
        Ok(params) => params,
        Err(FormFault::NotForm) => return Err(ErrorCode::TokenNotForm),
        Err(fault) => return Err(fault.code()),
    };
    let asked = token::parse(content_type, &authorization(request), &params)?;
    let answer = hub.grants.redeem(&asked).await?;
    serde_json::to_vec(&answer).map_err(|_| ErrorCode::Internal)
}

pub async fn userinfo(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match tell(&hub, &request).await {
        Ok(token) => jwt(token),
        Err(code) => json_error(refused(&hub, code)),
    }
}

async fn tell(hub: &Hub, request: &HttpRequest) -> Result<String, ErrorCode> {
    // A query that can't be read is not an empty one: an access token may be in it.
    let query = form::query(request.query_string()).map_err(|_| ErrorCode::BearerQueryMalformed)?;
    let token = userinfo::parse(&authorization(request), &query)?;
    hub.grants.userinfo(token.reveal()).await
}

/// An error as a client reads it that may have failed to prove itself; too often, and it is told when to try again.
pub(super) fn to_client(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    let used = if request.headers().contains_key(AUTHORIZATION) { Used::Header } else { Used::Body };
    let mut response = client_error(refused(hub, code), used);
    if code == ErrorCode::TooManyMistakes {
        // RFC 6585, 4
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(hub.grants.mistakes.retry_after()));
    }
    response
}

/// Every `Authorization` header: two of them are a finding, not a choice.
pub(super) fn authorization(request: &HttpRequest) -> Vec<&[u8]> {
    request.headers().get_all(AUTHORIZATION).map(|value| value.as_bytes()).collect()
}

fn refused(hub: &Hub, code: ErrorCode) -> ErrorCode {
    hub.metrics.token_refused(code.entry().code);
    telemetry::refused(None, code, "a request with or for a token was refused");
    code
}
