//! The endpoint for logout tokens of identity providers,
//! `POST /api/v2/backchannel-logout/{connector}` (OpenID Connect Back-Channel Logout 1.0 §2.5,
//! §2.8).

use actix_web::{HttpResponse, web};

use super::form::{self, FormError};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::{ErrorCode, Param, RequiredParam};
use passerelle_protocol::ids::ConnectorId;
use passerelle_quota::RateLimitError;

/// Handles `POST /api/v2/backchannel-logout/{connector}`. The response is an empty 200, whether or
/// not the token names a session.
pub(crate) async fn post_logout_token(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let connector = ConnectorId::new(path.into_inner());
    match end_sessions(&context, &connector, body).await {
        Ok(()) => Ok(HttpResponse::Ok().finish()),
        Err(error) => Err(Rejection::Client(limit_rejections(&context, error))),
    }
}

async fn end_sessions(
    context: &RequestContext,
    connector: &ConnectorId,
    body: web::Payload,
) -> Result<(), GrantError> {
    let params = form::parse_body(&context.request, body).await.map_err(|error| match error {
        FormError::NotForm => ErrorCode::LogoutNotForm,
        error => error.code(),
    })?;
    params.check_repeated(Param::UPSTREAM_LOGOUT)?;
    let token = params.required(RequiredParam::UpstreamLogoutToken)?;
    limit_decryptions(context, token)?;
    context.hub.logouts.end_upstream_sessions(connector, token).await?;
    Ok(())
}

/// Rejects an encrypted token from a network over its limit of failures: anyone can encrypt to the
/// hub's key, and each decryption costs more than the sender spends. A signed token that is not
/// encrypted is always verified.
fn limit_decryptions(context: &RequestContext, token: &str) -> Result<(), RateLimitError> {
    // A compact JWE has five parts (RFC 7516 §3.1).
    if token.split('.').count() != 5 {
        return Ok(());
    }
    let hub = &context.hub;
    let address = || hub.proxies.client_address(&context.request);
    hub.core.rate_limits.check_expensive_authentication(address)
}

/// Counts a rejected token against the sender's network, as a failed client authentication: anyone
/// can send one.
fn limit_rejections(context: &RequestContext, error: GrantError) -> GrantError {
    if error.code.entry().status != 400 {
        return error;
    }
    let hub = &context.hub;
    let address = || hub.proxies.client_address(&context.request);
    match hub.core.rate_limits.check_failed_authentication(address) {
        Ok(()) => error,
        Err(over) => over.into(),
    }
}
