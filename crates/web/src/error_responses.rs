//! Turns rejections into responses: a page, a redirect or JSON, with the record of each.

use actix_web::http::header::{AUTHORIZATION, HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{FromRequest, Handler, HttpResponse};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::rejection::{
    AuthorizationRejection, Rejection, RejectionContext, audit_rejection, record_rejection,
};
use super::request_context::{RequestContext, authorization_headers};
use super::responses::{
    access_token_error_response, authorization_response, client_error_response,
    described_error_response, interaction_path, json_error_response, see_other,
};
use super::route_table::{ErrorFormat, RouteRow};
use super::sender::DPOP_NONCE;
use super::{diagnostics, error_pages};
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::error_response::AuthLocation;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::userinfo::TokenScheme;
use passerelle_quota::RateLimitError;
use passerelle_telemetry::at_level;

/// An actix handler whose rejections become responses.
#[derive(Clone)]
pub(crate) struct RejectionHandler<F>(pub F);

impl<F, Args> Handler<(RequestContext, Args)> for RejectionHandler<F>
where
    F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
    Args: FromRequest + 'static,
{
    type Output = HttpResponse;
    type Future = LocalBoxFuture<'static, HttpResponse>;

    fn call(&self, (context, args): (RequestContext, Args)) -> Self::Future {
        let handler = self.0.clone();
        async move {
            let handled = match check_cookies(&context) {
                Ok(()) => handler.call(args).await,
                Err(rejection) => Err(rejection),
            };
            response_or_rejection(&context, handled).await
        }
        .boxed_local()
    }
}

/// Rejects a browser's request that carries the session cookie, or the cookie of one login, twice
/// (docs/design/cookies-and-csrf.md). Documents, pages that change nothing, and the endpoints that
/// programs call don't depend on them.
fn check_cookies(context: &RequestContext) -> Result<(), Rejection> {
    let RequestContext { hub, request } = context;
    let depends_on_cookies = request
        .app_data::<RouteRow>()
        .is_some_and(|row| row.error_format == ErrorFormat::Page && row.rejection_event.is_some());
    if depends_on_cookies && hub.cookies.has_repeated_cookie(request) {
        return Err(Rejection::OutsideLogin(ErrorCode::RepeatedCookie));
    }
    Ok(())
}

/// Responds with JSON where programs call, else with a page.
pub(crate) async fn error_response(context: &RequestContext, code: ErrorCode) -> HttpResponse {
    if context.hub.routes.has_json_errors(context.request.path()) {
        json_error_response(code)
    } else {
        rejection_response(context, Rejection::OutsideLogin(code)).await
    }
}

/// Returns the response of a handler, or the one of its rejection.
pub(crate) async fn response_or_rejection(
    context: &RequestContext,
    handled: Result<HttpResponse, Rejection>,
) -> HttpResponse {
    match handled {
        Ok(response) => response,
        Err(rejection) => rejection_response(context, rejection).await,
    }
}

/// Records a rejection and builds its response.
pub(crate) async fn rejection_response(
    context: &RequestContext,
    rejection: Rejection,
) -> HttpResponse {
    match rejection {
        Rejection::Malformed { code, client_id } => {
            error_pages::malformed_request(context, code, client_id.as_ref())
        }
        Rejection::MalformedLogout(code) => error_pages::malformed_logout_request(context, code),
        Rejection::LogoutFailed(code) => error_pages::logout_failed(context, code),
        Rejection::OutsideLogin(code) => error_pages::outside_login(context, code),
        Rejection::RateLimited { code, over, client_id } => {
            error_pages::rate_limited(context, code, over, client_id.as_ref())
        }
        Rejection::NotAdmitted(code, client_id) => {
            error_pages::login_not_admitted(context, code, client_id.as_ref())
        }
        Rejection::OtherBrowser(hash, summary) => {
            error_pages::login_of_other_browser(context, &hash, &summary)
        }
        Rejection::UnusableIdpResponse(unusable) => {
            error_pages::unusable_idp_response(context, &unusable)
        }
        Rejection::StepFailed(hash, error) => error_pages::login_step_failed(context, &hash, error),
        Rejection::InvalidForm { code, login, summary } => {
            error_pages::invalid_form(context, code, &login, &summary)
        }
        Rejection::OutdatedForm(hash) => see_other(&interaction_path(&hash)),
        Rejection::Authorization(rejection) => {
            Box::pin(authorization_error_response(context, &rejection)).await
        }
        Rejection::Client(error) => client_rejection(context, error),
        Rejection::Described(error) => described_rejection(context, error),
        Rejection::Bearer(error) => access_token_rejection(context, error),
    }
}

async fn authorization_error_response(
    context: &RequestContext,
    rejection: &AuthorizationRejection,
) -> HttpResponse {
    let AuthorizationRejection { code, redirect, client_id, locale, service, message } = rejection;
    let rejected =
        RejectionContext { client_id: client_id.as_ref(), ..RejectionContext::default() };
    record_rejection(context, rejected, *code, message);
    let answer = redirect.error_response(*code);
    let response = authorization_response(&context.hub, locale, service, answer, false).await;
    response.unwrap_or_else(|code| error_pages::outside_login(context, code))
}

/// Builds the error response for a client, with `Retry-After` if it failed to authenticate too
/// often.
fn client_rejection(context: &RequestContext, error: GrantError) -> HttpResponse {
    let (error, retry_after) = limit_auth_failures(context, error);
    let used = if context.request.headers().contains_key(AUTHORIZATION) {
        AuthLocation::Header
    } else {
        AuthLocation::Body
    };
    let code = record_client_rejection(context, &error);
    let is_token = context.request.path() == path::TOKEN;
    let uri = is_token.then(|| diagnostics::token_error_uri(&context.hub, &error)).flatten();
    let mut response = client_error_response(code, used, uri.as_deref());
    add_dpop_nonce(context, code, &mut response);
    add_retry_after(retry_after, &mut response);
    response
}

/// Builds the error response for a program that reads its reason.
fn described_rejection(context: &RequestContext, error: GrantError) -> HttpResponse {
    let (error, retry_after) = limit_auth_failures(context, error);
    audit_rejection(context, RejectionContext::default(), error.code);
    let GrantError { code, reason, .. } = &error;
    let endpoint = context.request.match_pattern();
    at_level!(code, endpoint, reason, "request rejected");
    let has_token = context.request.headers().contains_key(AUTHORIZATION);
    let mut response = described_error_response(*code, reason.as_deref(), has_token);
    add_retry_after(retry_after, &mut response);
    response
}

/// Builds the error response for a client that sent an access token.
fn access_token_rejection(context: &RequestContext, error: GrantError) -> HttpResponse {
    let (error, retry_after) = if is_failed_proof(error.code) {
        limit_auth_failures(context, error)
    } else {
        (error, None)
    };
    let code = record_client_rejection(context, &error);
    let used = TokenScheme::from_authorization(&authorization_headers(&context.request));
    let mut response = access_token_error_response(code, used);
    add_dpop_nonce(context, code, &mut response);
    add_retry_after(retry_after, &mut response);
    response
}

/// Adds the seconds until the client may try again (RFC 6585 §4).
fn add_retry_after(seconds: Option<u64>, response: &mut HttpResponse) {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// Adds the nonce that the client's next DPoP proof needs (RFC 9449 §8 and §9).
fn add_dpop_nonce(context: &RequestContext, code: ErrorCode, response: &mut HttpResponse) {
    if code == ErrorCode::DpopNonceRequired
        && let Ok(nonce) = HeaderValue::from_str(&context.hub.senders.dpop_nonce())
    {
        response.headers_mut().insert(HeaderName::from_static(DPOP_NONCE), nonce);
    }
}

/// Returns whether a request failed by its DPoP proof, which anyone can make.
fn is_failed_proof(code: ErrorCode) -> bool {
    code == ErrorCode::DpopKeyMismatch || code.entry().oauth == "invalid_dpop_proof"
}

/// Counts a failed authentication or DPoP proof against the client's network, and rejects over the
/// limit.
///
/// This stops an attacker who tries many clients and stays below the limit of each. Only failures
/// are rejected.
fn limit_auth_failures(context: &RequestContext, error: GrantError) -> (GrantError, Option<u64>) {
    if error.code.entry().status != 401 && !is_failed_proof(error.code) {
        let wait = error.rate_limited.map(RateLimitError::retry_after_seconds);
        return (error, wait);
    }
    let hub = &context.hub;
    match hub
        .core
        .rate_limits
        .check_failed_authentication(|| hub.proxies.client_address(&context.request))
    {
        Ok(()) => (error, None),
        Err(over) => (
            GrantError { code: ErrorCode::TooManyFailures, ..error },
            Some(over.retry_after_seconds()),
        ),
    }
}

/// Records a client's rejection in the audit log, the metrics and the log.
fn record_client_rejection(context: &RequestContext, error: &GrantError) -> ErrorCode {
    let GrantError { code, client_id, reason, rate_limited: _ } = error;
    audit_rejection(
        context,
        RejectionContext { client_id: client_id.as_ref(), ..RejectionContext::default() },
        *code,
    );
    context.hub.core.metrics.record_token_error(client_id.as_ref(), *code);
    let client_id = client_id.as_ref().map(ClientId::as_str);
    let endpoint = context.request.match_pattern();
    at_level!(code, endpoint, client_id, reason, "request rejected");
    *code
}
