//! `POST /api/v2/checktoken` and `POST /api/v2/token/revocation` (spec 4.10; RFC 7662, RFC 9701, RFC 7009; decisions 6 and
//! 11): what becomes of a token after it was issued.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{introspection_jwt, json};
use super::form::{self, FormFault};
use super::hub::Hub;
use super::token::{authorization, to_client};
use crate::grant::introspection::Introspected;
use crate::grant::refusal::Refusal;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::introspection::IntrospectionRequest;
use crate::protocol::params::Params;
use crate::protocol::revocation;

pub async fn checktoken(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    let params = match form::body(&request, body).await {
        Ok(params) => params,
        Err(FormFault::TooLarge) => {
            return to_client(&hub, &request, ErrorCode::PayloadTooLarge.into());
        }
        // Whatever is no form holds no credentials: that is the finding, and the only one (R182).
        Err(
            FormFault::NotForm
            | FormFault::BadPercent
            | FormFault::NotUtf8
            | FormFault::Interrupted,
        ) => Params::default(),
    };
    match hub
        .grants
        .introspect(&IntrospectionRequest::read(&authorization(&request), &params))
        .await
    {
        Ok(Introspected::Json(answer)) => json(answer),
        Ok(Introspected::Jwt(answer)) => introspection_jwt(answer),
        Err(refusal) => to_client(&hub, &request, refusal),
    }
}

pub async fn revoke(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    match forget(&hub, &request, body).await {
        // RFC 7009, 2.2: the body is ignored; here it is what its type says.
        Ok(()) => json("{}"),
        Err(refusal) => to_client(&hub, &request, refusal),
    }
}

async fn forget(hub: &Hub, request: &HttpRequest, body: web::Payload) -> Result<(), Refusal> {
    let params = match form::body(request, body).await {
        Ok(params) => params,
        Err(FormFault::NotForm) => return Err(ErrorCode::TokenNotForm.into()),
        Err(fault) => return Err(fault.code().into()),
    };
    hub.grants.revoke_token(&revocation::parse(&authorization(request), &params)?).await
}
