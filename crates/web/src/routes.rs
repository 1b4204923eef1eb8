//! The routes of the public listener and their methods, and the responses for anything else.

use actix_web::dev::RequestHead;
use actix_web::guard::fn_guard;
use actix_web::http::header::{ALLOW, HeaderValue, PRAGMA};
use actix_web::middleware::DefaultHeaders;
use actix_web::{FromRequest, Handler, HttpResponse, Resource, Route, web};

use super::cors::{self, CorsPolicy};
use super::error_responses::{RejectionHandler, rejection_response};
use super::hub::{Hub, SandboxRoutes};
use super::language_choice::{LANGUAGE_PATH, choose_language};
use super::outer_middleware::is_json_endpoint;
use super::rejection::{Rejection, RejectionEvent};
use super::request_context::RequestContext;
use super::responses::json_error_response;
use super::{
    assets, authorize, backchannel_logout, client_registration, diagnostics, email_discovery, form,
    introspection, landing, last_choice, login, logout, metadata, oauth_errors, posted_callback,
    pushed_request, sandbox, sign_in, token, wallet, wrong_user,
};
use passerelle_audit::EventKind;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::registration::PushedRequests;

/// A route: its path, its methods, and the audit event of its rejections.
pub struct Endpoint {
    /// Path pattern of the route.
    pub path: &'static str,
    allow: &'static str,
    /// `None` where only unknown paths and methods are rejected.
    pub rejection_event: Option<EventKind>,
    cors: CorsPolicy,
    routes: Vec<Route>,
    /// Whether the hub has the feature of the endpoint now. Without it, the answer to every method is
    /// 404.
    is_enabled: fn(&Hub) -> bool,
}

/// Returns every endpoint. The first one that matches a path serves it.
///
/// actix tries them in this order. A path with a parameter costs a regular expression, so those
/// come last, and the ones of every login before the others.
#[must_use]
pub fn endpoints(sandbox: SandboxRoutes) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> =
        [logins(), client_endpoints(), wallets(), logouts(), documents()]
            .into_iter()
            .flatten()
            .collect();
    if sandbox == SandboxRoutes::On {
        let routes = vec![get(sandbox::show_form), post(sandbox::submit_form)];
        endpoints.push(at(
            "/sandbox/{connector}",
            "GET, POST",
            Some(EventKind::StepRefused),
            routes,
        ));
        let routes = vec![get(diagnostics::show_form), post(diagnostics::explain_request)];
        endpoints.push(at(diagnostics::DIAGNOSTICS_PATH, "GET, POST", None, routes));
        let routes = vec![get(diagnostics::show_token_diagnostic)];
        endpoints.push(at("/api/v2/diagnostics/{id}", "GET", None, routes));
    }
    endpoints.sort_by_key(|endpoint| endpoint.path.contains('{'));
    endpoints
}

const fn at(
    path: &'static str,
    allow: &'static str,
    rejection_event: Option<EventKind>,
    routes: Vec<Route>,
) -> Endpoint {
    Endpoint { path, allow, rejection_event, cors: CorsPolicy::None, routes, is_enabled: |_| true }
}

/// Returns the endpoints of the documents. Only they are served for HEAD (RFC 9110 §9.1), so that a
/// link scanner can't advance a login.
fn documents() -> Vec<Endpoint> {
    let discovery = |path| {
        let routes = [web::get(), web::head()].map(|route| route.to(metadata::serve_discovery));
        at(path, "GET, HEAD", None, routes.into()).with_cors(CorsPolicy::Public)
    };
    let jwks = [web::get(), web::head()].map(|route| route.to(metadata::serve_jwks));
    let client_jwks = [web::get(), web::head()].map(|route| route.to(metadata::serve_client_jwks));
    vec![
        discovery(path::DISCOVERY),
        discovery(path::OAUTH_METADATA),
        at(path::JWKS, "GET, HEAD", None, jwks.into()).with_cors(CorsPolicy::Public),
        at(path::CLIENT_JWKS, "GET, HEAD", None, client_jwks.into()),
        at(LANGUAGE_PATH, "GET", None, vec![get(choose_language)]),
        page("/api/v2/errors/{error}", oauth_errors::show_error),
        page("/", landing::show_landing_page),
        page("/assets/logo", assets::serve_theme_logo),
        page("/assets/favicon", assets::serve_favicon),
        page("/favicon.ico", assets::serve_favicon),
        page("/assets/idp/{connector}", assets::serve_connector_logo),
        page("/assets/service/{version}", assets::serve_service_logo),
    ]
}

/// Returns the endpoint of a page or file that changes nothing.
fn page<F, Args>(path: &'static str, handler: F) -> Endpoint
where
    F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
    Args: FromRequest + 'static,
{
    let head = web::head().to(RejectionHandler(handler.clone()));
    at(path, "GET, HEAD", None, vec![get(handler), head])
}

fn logins() -> Vec<Endpoint> {
    let authorization = Some(EventKind::AuthorizationRefused);
    let step = Some(EventKind::StepRefused);
    vec![
        at(
            path::AUTHORIZE,
            "GET, POST",
            authorization,
            vec![get(authorize::get), post(authorize::post)],
        ),
        at("/api/v1/authorize", "GET", None, vec![web::get().to(authorize::redirect_v1)]),
        at("/api/v2/interaction/{hash}", "GET", step, vec![get(login::show_login)]),
        at(
            "/api/v2/interaction/{hash}/consent",
            "GET, POST",
            step,
            vec![get(login::show_consent), post(login::answer_consent)],
        ),
        at("/api/v2/interaction/{hash}/provider", "POST", step, vec![post(login::choose_provider)]),
        at(
            "/api/v2/callback/{connector}",
            "GET, POST",
            Some(EventKind::CallbackRefused),
            vec![get(login::handle_callback), post(posted_callback::save_callback)],
        ),
        at(
            "/api/v2/interaction/{hash}/email",
            "POST",
            step,
            vec![post(email_discovery::find_by_email)],
        )
        .enabled_if(|hub| hub.core.federation.load().ask_email),
        at(
            "/api/v2/interaction/{hash}/not-me",
            "POST",
            step,
            vec![post(wrong_user::report_wrong_user)],
        ),
        at(
            "/api/v2/interaction/{hash}/forget",
            "POST",
            step,
            vec![post(last_choice::forget_last_choice)],
        )
        .enabled_if(|hub| hub.core.federation.load().remember_last.is_some()),
        at("/api/v2/interaction/{hash}/cancel", "POST", step, vec![post(login::cancel_login)]),
        at(
            "/connectors/{connector}/login",
            "GET, POST",
            step,
            vec![get(sign_in::show_form), post(sign_in::submit_form)],
        ),
    ]
}

fn wallets() -> Vec<Endpoint> {
    let step = Some(EventKind::StepRefused);
    vec![
        at("/connectors/{connector}/wallet", "GET", step, vec![get(wallet::show_page)]),
        at(
            "/connectors/{connector}/wallet/other-device",
            "GET, POST",
            step,
            vec![get(wallet::show_other_device), post(wallet::submit_code)],
        ),
        at(
            "/connectors/{connector}/wallet/digital-credential",
            "POST",
            step,
            vec![post(wallet::submit_digital_credential)],
        ),
        at("/connectors/{connector}/wallet/code", "GET", step, vec![get(wallet::show_code)]),
        at(
            "/api/v2/wallet/{connector}/{request}",
            "GET, POST",
            Some(EventKind::CallbackRefused),
            vec![get(wallet::get_request), post(wallet::post_request)],
        ),
        at(
            "/api/v2/wallet/{connector}/{request}/response",
            "POST",
            Some(EventKind::CallbackRefused),
            vec![post(wallet::post_response)],
        ),
    ]
}

fn logouts() -> Vec<Endpoint> {
    let out = Some(EventKind::LogoutRefused);
    vec![
        at(path::END_SESSION, "GET, POST", out, vec![get(logout::get), post(logout::post)]),
        // Without a parameter, so before the next route, which would match it as a connector.
        at(path::END_SESSION_CONFIRM, "POST", out, vec![post(logout::post_confirmation)]),
        at("/api/v2/session/end/{connector}", "GET", out, vec![get(logout::return_from_idp)]),
        at(logout::LOGGED_OUT_PATH, "GET", None, vec![get(logout::show_logged_out)]),
        at(
            "/api/v2/backchannel-logout/{connector}",
            "POST",
            out,
            vec![post(backchannel_logout::post_logout_token)],
        ),
    ]
}

fn client_endpoints() -> Vec<Endpoint> {
    // RFC 6749 §5.1: in addition to `no-store`, for HTTP/1.0 caches.
    let token = post(token::post_token).wrap(DefaultHeaders::new().add((PRAGMA, "no-cache")));
    let userinfo = vec![get(token::get_userinfo), post(token::get_userinfo)];
    vec![
        at(path::TOKEN, "POST", Some(EventKind::TokenRefused), vec![token])
            .with_cors(CorsPolicy::RegisteredOrigins),
        at(
            path::PUSHED_REQUEST,
            "POST",
            Some(EventKind::AuthorizationRefused),
            vec![post(pushed_request::push_request)],
        )
        .with_cors(CorsPolicy::RegisteredOrigins)
        .enabled_if(|hub| hub.pushed_requests != PushedRequests::Off),
        at(path::USERINFO, "GET, POST", Some(EventKind::UserinfoRefused), userinfo)
            .with_cors(CorsPolicy::RegisteredOrigins),
        at(
            path::REVOCATION,
            "POST",
            Some(EventKind::RevocationRefused),
            vec![post(introspection::revoke_token)],
        )
        .with_cors(CorsPolicy::RegisteredOrigins),
        at(
            path::REGISTRATION,
            "POST",
            Some(EventKind::RegistrationRefused),
            vec![post(client_registration::register_client)],
        )
        .enabled_if(|hub| hub.core.registrations.is_some()),
        at(
            "/api/v2/register/{client_id}",
            "GET, PUT, DELETE",
            Some(EventKind::RegistrationRefused),
            vec![
                get(client_registration::read_registration),
                web::put().to(RejectionHandler(client_registration::update_registration)),
                web::delete().to(RejectionHandler(client_registration::delete_registration)),
            ],
        )
        .enabled_if(|hub| hub.core.registrations.is_some()),
        at(
            path::INTROSPECTION,
            "POST",
            Some(EventKind::IntrospectionRefused),
            vec![post(introspection::introspect_token)],
        ),
    ]
}

/// Registers all endpoints of `hub`.
pub fn configure_routes(config: &mut web::ServiceConfig, hub: web::Data<Hub>) {
    let endpoints = endpoints(hub.sandbox);
    for endpoint in endpoints {
        let policy = endpoint.cors;
        let resource = endpoint.into_resource(hub.clone());
        match policy {
            CorsPolicy::None => config.service(resource),
            CorsPolicy::Public => config
                .service(resource.route(cors::preflight_route()).wrap(cors::allow_every_origin())),
            CorsPolicy::RegisteredOrigins => {
                config.service(resource.wrap(cors::allow_registered_origins(hub.clone())))
            }
        };
    }
    config.app_data(hub).default_service(web::to(not_found));
}

impl Endpoint {
    /// Returns the methods that the route accepts.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.allow.split(", ")
    }

    fn with_cors(self, cors: CorsPolicy) -> Self {
        Self { cors, ..self }
    }

    fn enabled_if(self, is_enabled: fn(&Hub) -> bool) -> Self {
        Self { is_enabled, ..self }
    }

    fn into_resource(self, hub: web::Data<Hub>) -> Resource {
        let Self { path, allow, rejection_event, routes, is_enabled, cors: _ } = self;
        let method_not_allowed_handler =
            move |context: RequestContext| async move { method_not_allowed(&context, allow).await };
        let resource = web::resource(path).app_data(RejectionEvent(rejection_event)).guard(
            fn_guard(move |context| is_well_formed_path(context.head()) && is_enabled(&hub)),
        );
        routes
            .into_iter()
            .fold(resource, Resource::route)
            .default_service(web::to(method_not_allowed_handler))
    }
}

/// Returns whether a path is decodable and normalized. actix would decode what it can and replace
/// the rest.
fn is_well_formed_path(head: &RequestHead) -> bool {
    form::is_decodable(head.uri.path()) && form::is_normalized(head.uri.path())
}

fn get<F, Args>(handler: F) -> Route
where
    F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
    Args: FromRequest + 'static,
{
    web::get().to(RejectionHandler(handler))
}

fn post<F, Args>(handler: F) -> Route
where
    F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
    Args: FromRequest + 'static,
{
    web::post().to(RejectionHandler(handler))
}

async fn not_found(context: RequestContext) -> HttpResponse {
    error_response(&context, ErrorCode::NotFound).await
}

async fn method_not_allowed(context: &RequestContext, allow: &'static str) -> HttpResponse {
    let mut response = error_response(context, ErrorCode::MethodNotAllowed).await;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}

/// Responds with JSON where programs call, else with a page.
async fn error_response(context: &RequestContext, code: ErrorCode) -> HttpResponse {
    if is_json_endpoint(context.request.path()) {
        json_error_response(code)
    } else {
        rejection_response(context, Rejection::OutsideLogin(code)).await
    }
}
