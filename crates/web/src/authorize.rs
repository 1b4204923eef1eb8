//! The authorization endpoint, `GET|POST /api/v2/authorize`: checks the request, starts a login and
//! redirects the browser to it. And the endpoint to which service providers push requests, `POST
//! /api/v2/par` (RFC 9126 §2).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use url::form_urlencoded::Serializer;

use super::cookies::HeldLogin;
use super::hub::Hub;
use super::login::{self, ResponseOrigin};
use super::rejection::{AuthorizationRejection, Rejection};
use super::request_context::{RequestContext, authorization_headers};
use super::responses::{add_cookie, interaction_path, json_response, see_other};
use super::token::parse_client_form;
use super::{form, sender};
use passerelle_federation::login::LoginRequest;
use passerelle_grants::authorization_request::SingleUse;
use passerelle_grants::error::{GrantError, ParameterSourceError};
use passerelle_hub::{LoginAdmissionError, UNREAD_LOGIN_LIFETIME};
use passerelle_protocol::authorize::parameter_source::{
    reject_unresolved_request, requested_ui_locales,
};
use passerelle_protocol::authorize::pushed::{self, PushedResponse};
use passerelle_protocol::authorize::{
    self, AuthorizationError, AuthorizationRequest, RequestMethod,
};
use passerelle_protocol::catalogue::{ErrorCode, Param};
use passerelle_protocol::client_network::{self, ClientNetwork};
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::params::{Params, check_post};
use passerelle_quota::RateLimitError;

/// Handles `GET /api/v2/authorize`.
pub(crate) async fn get(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let params = context.query().map_err(|error| Rejection::malformed(error.code()))?;
    handle_request(&context, &params, RequestMethod::Get).await
}

/// Handles `POST /api/v2/authorize`.
pub(crate) async fn post(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    check_post(
        context.content_type(),
        context.request.query_string(),
        ErrorCode::AuthorizeNotForm,
        ErrorCode::AuthorizePostWithQuery,
    )
    .map_err(Rejection::malformed)?;
    let params = form::parse_body(&context.request, body).await?;
    handle_request(&context, &params, RequestMethod::Post).await.map_err(|rejection| {
        match rejection {
            // The page of a `form_post` answer can be shown again by the same request as a GET.
            Rejection::Authorization(rejection) => {
                let query = Serializer::new(String::new()).extend_pairs(params.pairs()).finish();
                let path = format!("{}?{query}", path::AUTHORIZE);
                let locale = rejection.locale.clone().with_default_return_path(path);
                Rejection::Authorization(Box::new(AuthorizationRejection { locale, ..*rejection }))
            }
            rejection => rejection,
        }
    })
}

/// Redirects `GET /api/v1/authorize` to the current path (R121).
pub(crate) async fn redirect_v1(request: HttpRequest) -> HttpResponse {
    match request.query_string() {
        "" => see_other("/api/v2/authorize"),
        query => see_other(&format!("/api/v2/authorize?{query}")),
    }
}

/// Handles `POST /api/v2/par`.
pub(crate) async fn push(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let answer = read_and_push(&context, body).await;
    let refusal = answer.as_ref().err().map(|error| error.code);
    context.hub.core.metrics.record_pushed_request(refusal);
    let answer = answer.map_err(Rejection::Client)?;
    let body = serde_json::to_vec(&answer);
    let body = body.map_err(|_| Rejection::Client(ErrorCode::Internal.into()))?;
    let mut response = json_response(body);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn read_and_push(
    context: &RequestContext,
    body: web::Payload,
) -> Result<PushedResponse, GrantError> {
    let (hub, request) = (&context.hub, &context.request);
    let endpoint = hub.pushed_request_endpoint.as_ref().ok_or(ErrorCode::NotFound)?;
    // As at the authorization endpoint: parameters in an address are kept in logs.
    if !request.query_string().is_empty() {
        return Err(ErrorCode::AuthorizePostWithQuery.into());
    }
    let body = parse_client_form(request, body).await?;
    body.check_readable(Param::AUTHORIZATION)?;
    let headers = authorization_headers(request);
    let pushed = pushed::parse_request(context.content_type(), &headers, body)?;
    // Anyone can push in the name of a public client; a confidential one has proven itself.
    let stranger = pushed.credentials.prove_nothing().then(|| hub.proxies.client_address(request));
    if let Some(client) = stranger {
        hub.core.rate_limits.check_request(client).map_err(|over| GrantError {
            rate_limited: Some(over),
            ..ErrorCode::NetworkLimited.into()
        })?;
    }
    let pushed = pushed.with_proof_of_possession(sender::read_proof_of_possession(context)?);
    endpoint.push(&pushed, stranger.map(ClientNetwork::containing)).await
}

async fn handle_request(
    context: &RequestContext,
    params: &Params,
    form: RequestMethod,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    params.check_readable(Param::AUTHORIZATION).map_err(Rejection::malformed)?;
    let client = hub.proxies.client_address(&context.request);
    hub.core.rate_limits.check_request(client).map_err(|over| Rejection::RateLimited {
        code: ErrorCode::NetworkLimited,
        over,
        client_id: params.get("client_id").map(Into::into),
    })?;
    let resolved = match hub.authorization_requests.resolve(params).await {
        Ok(resolved) => resolved,
        Err(error) => {
            let reject = |code| unresolved_rejection(context, params, form, code);
            return answer_used_request(context, error, reject);
        }
    };
    let authorization = authorize::validate_request(
        &resolved.params,
        form,
        hub.core.platform,
        &hub.core.issuer,
        hub.core.federation.load().as_ref(),
    )
    .map_err(|error| request_rejection(context, &resolved.params, error))?;
    // Behind an unlisted proxy, all clients come from the proxy's network, so it is not limited.
    let network = (!client_network::is_private(client)).then(|| ClientNetwork::containing(client));
    let request =
        AdmissibleRequest { authorization, single_use: resolved.single_use, method: form, network };
    start_login(context, request).await
}

/// A valid request, which may start a login.
struct AdmissibleRequest {
    authorization: AuthorizationRequest,
    single_use: Option<SingleUse>,
    method: RequestMethod,
    /// The network of the browser, if it is limited.
    network: Option<ClientNetwork>,
}

/// Returns the rejection of a request that failed a check.
fn request_rejection(
    context: &RequestContext,
    params: &Params,
    error: AuthorizationError,
) -> Rejection {
    let client_id = registered_client(&context.hub, params);
    match error {
        AuthorizationError::Page(code) => {
            let pending =
                || context.hub.core.dynamic_clients.get()?.pending_error(client_id.as_ref()?);
            let code = match code {
                ErrorCode::ClientIdInactive => pending().unwrap_or(code),
                code => code,
            };
            Rejection::Malformed { code, client_id }
        }
        AuthorizationError::Redirect(redirect, code) => {
            let locale = context.locale(&requested_ui_locales(params));
            let name = client_id.as_ref().and_then(|id| context.hub.service_name(id, &locale));
            Rejection::Authorization(Box::new(AuthorizationRejection {
                code,
                redirect,
                client_id,
                locale,
                service: name.unwrap_or_default(),
                message: "authorization request rejected",
            }))
        }
    }
}

/// Returns the rejection of a request whose parameters could not be found.
fn unresolved_rejection(
    context: &RequestContext,
    params: &Params,
    form: RequestMethod,
    code: ErrorCode,
) -> Rejection {
    let (federation, issuer) = (context.hub.core.federation.load(), &context.hub.core.issuer);
    let error = reject_unresolved_request(params, form, issuer, federation.as_ref(), code);
    match (code.entry().status, registered_client(&context.hub, params), error) {
        // The hub's own trouble is not a malformed request.
        (500.., client_id, AuthorizationError::Page(_)) => Rejection::NotAdmitted(code, client_id),
        (_, _, error) => request_rejection(context, params, error),
    }
}

/// Redirects the browser that used the request before to the login that it started: it reloaded
/// the address, or went back to it. Rejects any other.
fn answer_used_request(
    context: &RequestContext,
    error: ParameterSourceError,
    reject: impl FnOnce(ErrorCode) -> Rejection,
) -> Result<HttpResponse, Rejection> {
    match error {
        ParameterSourceError::Used(login, _)
            if context.hub.cookies.login_proof(&context.request, &login).is_some() =>
        {
            Ok(see_other(&interaction_path(&login)))
        }
        ParameterSourceError::Used(_, code) | ParameterSourceError::Rejected(code) => {
            Err(reject(code))
        }
    }
}

/// Returns the client that a rejected request names, if it is registered. Other values are
/// arbitrary text.
fn registered_client(hub: &Hub, params: &Params) -> Option<ClientId> {
    let named = params.get("client_id").map(ClientId::from)?;
    hub.core
        .federation
        .load()
        .service_provider(&named)
        .map(|service| service.registration.client_id.clone())
}

async fn start_login(
    context: &RequestContext,
    request: AdmissibleRequest,
) -> Result<HttpResponse, Rejection> {
    let AdmissibleRequest { authorization, single_use, method, network } = request;
    let hub = &context.hub;
    let client_id = authorization.client_id.clone();
    let reject = rejection_to_service(context, &authorization);
    // Without a usable key for the response, no login starts (docs/integrate/endpoints.md).
    let subjects = hub.authorization_requests.check_answerable(&authorization).map_err(&reject)?;
    let is_silent = authorization.prompt.none && method == RequestMethod::Get;
    let own_rate =
        hub.core.federation.load().service_provider(&client_id).and_then(|sp| sp.logins_per_minute);
    let rate_limited =
        |code, over| Rejection::RateLimited { code, over, client_id: Some(client_id.clone()) };
    hub.core.rate_limits.check_login(&client_id, own_rate).map_err(|over| {
        let code = ErrorCode::ServiceLimited;
        if is_silent { reject(code) } else { rate_limited(code, over) }
    })?;
    let admitted = hub.logins.admit(authorization, subjects, network).await;
    let opened = admitted.map_err(|LoginAdmissionError(code)| match code {
        code if is_silent => reject(code),
        // The hub shows a page: a service provider that received the error would send the user
        // again.
        ErrorCode::NetworkLoginsExceeded => {
            rate_limited(code, RateLimitError { retry_after: UNREAD_LOGIN_LIFETIME })
        }
        code => Rejection::NotAdmitted(code, Some(client_id.clone())),
    })?;
    let login = HeldLogin { hash: opened.hash, secret: opened.cookie };
    if let Some(single_use) = single_use
        && let Err(error) = hub.authorization_requests.mark_used(&single_use, &login.hash).await
    {
        return answer_used_request(context, error, reject);
    }
    if is_silent {
        // `prompt=none` allows no page: the response depends on the session alone.
        let session = hub.cookies.session(&context.request);
        let open = LoginRequest::OpenPage { reuse: Ok(None) };
        let reply = hub.logins.run_step(&login.hash, open, session).await;
        let reply = reply.map_err(|_| reject(ErrorCode::Unavailable))?;
        return login::step_response(context, &login, reply, ResponseOrigin::Authorize).await;
    }
    let mut response = see_other(&interaction_path(&login.hash));
    let until = opened.expires_at + login::ENDED_LOGIN_COOKIE_LIFETIME;
    let cookie = hub.cookies.login_cookie(&login.hash, &login.secret, hub.core.env.now(), until);
    add_cookie(&mut response, &cookie);
    for name in hub.cookies.surplus_logins(&context.request) {
        add_cookie(&mut response, &hub.cookies.expired_cookie(&name));
    }
    Ok(response)
}

/// Returns the function that rejects a valid request with a response to its service provider.
fn rejection_to_service(
    context: &RequestContext,
    authorization: &AuthorizationRequest,
) -> impl Fn(ErrorCode) -> Rejection + use<> {
    let locale = context.locale(&authorization.ui_locales);
    let client_id = authorization.client_id.clone();
    let service = context.hub.service_name(&client_id, &locale).unwrap_or_default();
    let redirect = authorization.redirect.clone();
    move |code| {
        Rejection::Authorization(Box::new(AuthorizationRejection {
            code,
            redirect: redirect.clone(),
            client_id: Some(client_id.clone()),
            locale: locale.clone(),
            service: service.clone(),
            message: "authorization request failed",
        }))
    }
}
