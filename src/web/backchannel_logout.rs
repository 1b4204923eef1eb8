//! The endpoint for logout tokens of identity providers,
//! `POST /api/v2/backchannel-logout/{connector}` (OpenID Connect Back-Channel Logout 1.0 §2.5,
//! §2.8).

use actix_web::{HttpResponse, web};

use super::form::{self, FormError};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use crate::grant::error::GrantError;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::{ErrorCode, Param, RequiredParam};

/// Handles `POST /api/v2/backchannel-logout/{connector}`. The response is an empty 200, whether or
/// not the token names a session.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn post_logout_token(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let connector = ConnectorId::new(path.into_inner());
    match end_sessions(&context, &connector, body).await {
        Ok(()) => Ok(HttpResponse::Ok().finish()),
        Err(code) => Err(Rejection::Client(limit_rejections(&context, code))),
    }
}

async fn end_sessions(
    context: &RequestContext,
    connector: &ConnectorId,
    body: web::Payload,
) -> Result<(), ErrorCode> {
    let params = form::parse_body(&context.request, body).await.map_err(|error| match error {
        FormError::NotForm => ErrorCode::LogoutNotForm,
        error => error.code(),
    })?;
    params.check_repeated(Param::UPSTREAM_LOGOUT)?;
    let token = params.required(RequiredParam::UpstreamLogoutToken)?;
    context.hub.logouts.end_upstream_sessions(connector, token).await.map(|_| ())
}

/// Counts a rejected token against the sender's network, as a failed client authentication: anyone
/// can send one.
fn limit_rejections(context: &RequestContext, code: ErrorCode) -> GrantError {
    if code.entry().status != 400 {
        return code.into();
    }
    let hub = &context.hub;
    let address = || hub.proxies.client_address(&context.request);
    match hub.core.rate_limits.check_failed_authentication(address) {
        Ok(()) => code.into(),
        Err(over) => over.into(),
    }
}
