//! The authorization endpoint, `GET|POST /api/v2/authorize`: checks the request, starts a login and
//! redirects the browser to it.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};

use super::form::FormError;
use super::hub::Hub;
use super::rejection::{self, RejectionContext};
use super::responses::{authorization_response, negotiate_locale, see_other};
use super::{error_pages, form, login};
use crate::actor::{LoginAdmissionError, UNSEEN_LOGIN_LIFETIME};
use crate::client_network::{self, ClientNetwork};
use crate::ids::ClientId;
use crate::login::LoginRequest;
use crate::protocol::authorize::{
    self, AuthorizationError, AuthorizationRequest, ProvenRedirect, RequestMethod,
};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::{Params, check_post};
use crate::quota::RateLimitError;

/// Handles `GET /api/v2/authorize`.
pub async fn get(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match form::parse_query(request.query_string()) {
        Ok(params) => handle_request(&hub, &request, &params, RequestMethod::Get).await,
        Err(error) => error_pages::malformed_request(&hub, &request, error.code()),
    }
}

/// Handles `POST /api/v2/authorize`.
pub async fn post(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Err(code) = check_post(
        content_type,
        request.query_string(),
        ErrorCode::AuthorizeNotForm,
        ErrorCode::AuthorizePostWithQuery,
    ) {
        return error_pages::malformed_request(&hub, &request, code);
    }
    match form::parse_body(&request, body).await {
        Ok(params) => handle_request(&hub, &request, &params, RequestMethod::Post).await,
        Err(FormError::TooLarge) => {
            error_pages::outside_login(&hub, &request, ErrorCode::PayloadTooLarge)
        }
        Err(error) => error_pages::malformed_request(&hub, &request, error.code()),
    }
}

/// Redirects `GET /api/v1/authorize` to the current path (R121).
pub async fn redirect_v1(request: HttpRequest) -> HttpResponse {
    match request.query_string() {
        "" => see_other("/api/v2/authorize"),
        query => see_other(&format!("/api/v2/authorize?{query}")),
    }
}

async fn handle_request(
    hub: &Hub,
    request: &HttpRequest,
    params: &Params,
    form: RequestMethod,
) -> HttpResponse {
    let client = hub.proxies.client_address(request);
    if let Err(over) = hub.quotas.check_request(client) {
        let client_id = params.single("client_id").ok().flatten().map(Into::into);
        return error_pages::rate_limited(
            hub,
            request,
            ErrorCode::NetworkLimited,
            over,
            client_id.as_ref(),
        );
    }
    let authorization = match authorize::validate_request(
        params,
        form,
        hub.platform,
        &hub.issuer,
        hub.federation.load().as_ref(),
    ) {
        Ok(authorization) => authorization,
        Err(AuthorizationError::Page(code)) => {
            return error_pages::malformed_authorization_request(
                hub,
                request,
                code,
                registered_client(hub, params).as_ref(),
            );
        }
        Err(AuthorizationError::Redirect(redirect, code)) => {
            let client_id = registered_client(hub, params);
            let context =
                RejectionContext { client_id: client_id.as_ref(), ..RejectionContext::default() };
            rejection::record_rejection(
                hub,
                request,
                context,
                code,
                "authorization request rejected",
            );
            return authorization_response(
                hub,
                negotiate_locale(request, &[]),
                "",
                redirect.error_response(code),
            );
        }
    };
    // Behind an unlisted proxy, all clients come from the proxy's network, so it is not limited.
    let network = (!client_network::is_private(client)).then(|| ClientNetwork::containing(client));
    start_login(hub, request, authorization, (form, network)).await
}

/// Returns the client that a rejected request names, if it is registered. Other values are
/// arbitrary text.
fn registered_client(hub: &Hub, params: &Params) -> Option<ClientId> {
    let named = params.single("client_id").ok().flatten().map(ClientId::from)?;
    hub.federation
        .load()
        .service_provider(&named)
        .map(|service| service.registration.client_id.clone())
}

async fn start_login(
    hub: &Hub,
    request: &HttpRequest,
    authorization: AuthorizationRequest,
    (form, network): (RequestMethod, Option<ClientNetwork>),
) -> HttpResponse {
    let locale = negotiate_locale(request, &authorization.ui_locales);
    let service = hub
        .federation
        .load()
        .service_provider(&authorization.client_id)
        .map_or("", |sp| locale.localize(&sp.name))
        .to_owned();
    let client_id = authorization.client_id.clone();
    let reject = |redirect: &ProvenRedirect, code: ErrorCode| {
        let context =
            RejectionContext { client_id: Some(&client_id), ..RejectionContext::default() };
        rejection::record_rejection(hub, request, context, code, "authorization request failed");
        authorization_response(hub, locale, &service, redirect.error_response(code))
    };

    let subjects = match hub.grants.requested_subjects(&authorization) {
        Ok(subjects) => subjects,
        Err(code) => return reject(&authorization.redirect, code),
    };
    // Without a usable key for the response, no login starts (docs/design/tokens.md).
    if let Err(code) = hub.grants.check_response_keys(&authorization.client_id) {
        return reject(&authorization.redirect, code);
    }
    let silent = authorization.prompt.none && form == RequestMethod::Get;
    let redirect = authorization.redirect.clone();
    let own_rate =
        hub.federation.load().service_provider(&client_id).and_then(|sp| sp.logins_per_minute);
    match hub.quotas.check_login(&client_id, own_rate) {
        Ok(()) => {}
        Err(_) if silent => return reject(&redirect, ErrorCode::ServiceLimited),
        Err(over) => {
            return error_pages::rate_limited(
                hub,
                request,
                ErrorCode::ServiceLimited,
                over,
                Some(&client_id),
            );
        }
    }
    let opened = match hub.logins.admit(authorization, subjects, network).await {
        Ok(opened) => opened,
        Err(error) if silent => return reject(&redirect, error.0),
        // The hub shows a page: a service provider that received the error would send the user
        // again.
        Err(LoginAdmissionError(code @ ErrorCode::NetworkCrowded)) => {
            let over = RateLimitError { retry_after: UNSEEN_LOGIN_LIFETIME };
            return error_pages::rate_limited(hub, request, code, over, Some(&client_id));
        }
        Err(error) => return error_pages::login_not_admitted(hub, request, error.0, &client_id),
    };
    if silent {
        // `prompt=none` allows no page: the response depends on the session alone.
        let session = hub.cookies.session(request);
        return match hub
            .logins
            .run_step(&opened.hash, LoginRequest::OpenPage { reuse: None }, session)
            .await
        {
            Ok(reply) => login::step_response(
                hub,
                request,
                &opened.hash,
                &opened.cookie,
                reply,
                login::ResponseOrigin::Authorize,
            ),
            Err(_) => reject(&redirect, ErrorCode::Unavailable),
        };
    }
    let mut response = see_other(&error_pages::interaction_path(&opened.hash));
    let cookie = hub.cookies.login_cookie(
        &opened.hash,
        &opened.cookie,
        hub.env.now(),
        opened.expires_at + login::ENDED_LOGIN_COOKIE_LIFETIME,
    );
    super::login::add_cookie(&mut response, &cookie);
    for name in hub.cookies.surplus_logins(request) {
        super::login::add_cookie(&mut response, &hub.cookies.expired_cookie(&name));
    }
    response
}
