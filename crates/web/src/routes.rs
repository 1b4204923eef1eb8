//! The table of the routes of the public listener, and the response for anything else.

use actix_web::http::header::PRAGMA;
use actix_web::middleware::DefaultHeaders;
use actix_web::{HttpResponse, web};

use super::cors::{self, CorsPolicy};
use super::endpoint::{Endpoint, EndpointList, ExtensionEndpoints};
use super::error_responses::{RejectionHandler, error_response};
use super::hub::{Hub, SandboxRoutes};
use super::language_choice::{LANGUAGE_PATH, choose_language};
use super::request_context::RequestContext;
use super::route_table::RouteTable;
use super::{
    assets, authorize, diagnostics, email_discovery, introspection, landing, last_choice, login,
    logout, mail_code, metadata, oauth_errors, posted_callback, sandbox, sign_in, token,
    upstream_backchannel_logout, userinfo, wrong_user,
};
use passerelle_audit::EventKind;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;

/// Returns every endpoint of a hub, with those of its optional crates. The first one that matches a path serves it.
///
/// actix tries them in this order. A path with a parameter costs a regular expression, so those
/// come last, and the ones of every login before the others.
pub fn endpoints(sandbox: SandboxRoutes, extensions: &[EndpointList]) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> = [logins(), client_endpoints(), logouts(), documents()]
        .into_iter()
        .chain(extensions.iter().map(|endpoints| endpoints()))
        .flatten()
        .collect();
    if sandbox == SandboxRoutes::On {
        endpoints.extend(sandbox_endpoints());
    }
    endpoints.sort_by_key(|endpoint| endpoint.row.path.contains('{'));
    endpoints
}

/// Returns the table of these endpoints.
pub fn route_table(sandbox: SandboxRoutes, extensions: &[EndpointList]) -> RouteTable {
    RouteTable::new(endpoints(sandbox, extensions).into_iter().map(|endpoint| endpoint.row))
}

fn logins() -> Vec<Endpoint> {
    let step = |path| Endpoint::at(path).rejected_as(EventKind::StepRefused).traced();
    vec![
        Endpoint::at(path::AUTHORIZE)
            .get(authorize::get)
            .post(authorize::post)
            .rejected_as(EventKind::AuthorizationRefused)
            .traced_for_caller(),
        Endpoint::at("/api/v1/authorize").route("GET", web::get().to(authorize::redirect_v1)),
        step("/api/v2/interaction/{hash}").get(login::show_login),
        step("/api/v2/interaction/{hash}/consent")
            .get(login::show_consent)
            .post(login::answer_consent),
        step("/api/v2/interaction/{hash}/mail")
            .get(mail_code::show_mail_page)
            .post(mail_code::submit_mail_page)
            .enabled_if(|hub| hub.logins.sends_mail_codes()),
        step("/api/v2/interaction/{hash}/provider").post(login::choose_provider),
        step("/api/v2/callback/{connector}")
            .get(login::handle_callback)
            .post(posted_callback::save_callback)
            .rejected_as(EventKind::CallbackRefused),
        step("/api/v2/interaction/{hash}/email")
            .post(email_discovery::find_by_email)
            .enabled_if(|hub| hub.core.federation.load().ask_email),
        step("/api/v2/interaction/{hash}/not-me").post(wrong_user::report_wrong_user),
        step("/api/v2/interaction/{hash}/forget")
            .post(last_choice::forget_last_choice)
            .enabled_if(|hub| hub.core.federation.load().remember_last.is_some()),
        step("/api/v2/interaction/{hash}/cancel").post(login::cancel_login),
        step("/connectors/{connector}/login").get(sign_in::show_form).post(sign_in::submit_form),
    ]
}

fn logouts() -> Vec<Endpoint> {
    let logout = |path| Endpoint::at(path).rejected_as(EventKind::LogoutRefused).traced();
    vec![
        logout(path::END_SESSION).get(logout::get).post(logout::post),
        // Without a parameter, so before the next route, which would match it as a connector.
        logout(path::END_SESSION_CONFIRM).post(logout::post_confirmation),
        logout("/api/v2/session/end/{connector}").get(logout::return_from_idp),
        Endpoint::at(logout::LOGGED_OUT_PATH).get(logout::show_logged_out).traced(),
        Endpoint::at("/api/v2/backchannel-logout/{connector}")
            .post(upstream_backchannel_logout::post_logout_token)
            .rejected_as(EventKind::LogoutRefused)
            .for_programs(),
    ]
}

fn client_endpoints() -> Vec<Endpoint> {
    // RFC 6749 §5.1: in addition to `no-store`, for HTTP/1.0 caches.
    let token = web::post()
        .to(RejectionHandler(token::post_token))
        .wrap(DefaultHeaders::new().add((PRAGMA, "no-cache")));
    let program = |path, event| Endpoint::at(path).rejected_as(event).for_programs();
    vec![
        program(path::TOKEN, EventKind::TokenRefused)
            .route("POST", token)
            .with_cors(CorsPolicy::RegisteredOrigins)
            .traced_for_caller(),
        program(path::PUSHED_REQUEST, EventKind::AuthorizationRefused)
            .post(authorize::push)
            .with_cors(CorsPolicy::RegisteredOrigins)
            .enabled_if(Hub::accepts_pushed),
        program(path::USERINFO, EventKind::UserinfoRefused)
            .get(userinfo::get_userinfo)
            .post(userinfo::get_userinfo)
            .with_cors(CorsPolicy::RegisteredOrigins)
            .traced_for_caller(),
        program(path::REVOCATION, EventKind::RevocationRefused)
            .post(introspection::revoke_token)
            .with_cors(CorsPolicy::RegisteredOrigins)
            .traced(),
        program(path::INTROSPECTION, EventKind::IntrospectionRefused)
            .post(introspection::introspect_token)
            .traced_for_caller(),
    ]
}

fn documents() -> Vec<Endpoint> {
    let discovery = |path| {
        Endpoint::at(path)
            .route("GET", web::get().to(metadata::serve_discovery))
            .route("HEAD", web::head().to(metadata::serve_discovery))
            .with_cors(CorsPolicy::Public)
    };
    vec![
        discovery(path::DISCOVERY),
        discovery(path::OAUTH_METADATA),
        Endpoint::at(path::JWKS)
            .route("GET", web::get().to(metadata::serve_jwks))
            .route("HEAD", web::head().to(metadata::serve_jwks))
            .with_cors(CorsPolicy::Public),
        Endpoint::at(path::CLIENT_JWKS)
            .route("GET", web::get().to(metadata::serve_client_jwks))
            .route("HEAD", web::head().to(metadata::serve_client_jwks)),
        Endpoint::at(LANGUAGE_PATH).get(choose_language),
        Endpoint::document("/api/v2/errors/{error}", oauth_errors::show_error),
        Endpoint::document("/", landing::show_landing_page),
        Endpoint::document("/assets/logo", assets::serve_theme_logo),
        Endpoint::document("/assets/favicon", assets::serve_favicon),
        Endpoint::document("/favicon.ico", assets::serve_favicon),
        Endpoint::document("/assets/idp/{connector}", assets::serve_connector_logo),
        Endpoint::document("/assets/service/{version}", assets::serve_service_logo),
    ]
}

fn sandbox_endpoints() -> [Endpoint; 3] {
    [
        Endpoint::at("/sandbox/{connector}")
            .get(sandbox::show_form)
            .post(sandbox::submit_form)
            .rejected_as(EventKind::StepRefused),
        Endpoint::at(diagnostics::DIAGNOSTICS_PATH)
            .get(diagnostics::show_form)
            .post(diagnostics::explain_request),
        Endpoint::at("/api/v2/diagnostics/{id}").get(diagnostics::show_token_diagnostic),
    ]
}

/// Registers all endpoints of `hub`.
pub fn configure_routes(config: &mut web::ServiceConfig, hub: web::Data<Hub>) {
    let optional = hub.extension::<ExtensionEndpoints>().cloned().unwrap_or_default();
    for endpoint in endpoints(hub.sandbox, &optional.0) {
        let policy = endpoint.cors();
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

async fn not_found(context: RequestContext) -> HttpResponse {
    error_response(&context, ErrorCode::NotFound).await
}
