//! Every address of the public listener, and the methods it takes (decisions 2). Anything else is answered here too.

use actix_web::guard::fn_guard;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, Route, web};

use super::answer::json_error;
use super::hub::{Hub, Sandbox};
use super::shell::is_for_programs;
use super::{assets, authorize, form, introspection, last_choice, login, logout, metadata, problem, sandbox, sign_in, token};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::discovery::path;

/// Registers all endpoints of `hub`.
pub fn configure(config: &mut web::ServiceConfig, hub: web::Data<Hub>) {
    let with_sandbox = hub.sandbox;
    config
        .app_data(hub)
        // HEAD is served here and nowhere else, so that a link scanner can't advance a login.
        .service(at(path::DISCOVERY, "GET, HEAD", vec![web::get().to(metadata::discovery), web::head().to(metadata::discovery)]))
        .service(at(path::JWKS, "GET, HEAD", vec![web::get().to(metadata::jwks), web::head().to(metadata::jwks)]))
        .service(at(
            path::CLIENT_JWKS,
            "GET, HEAD",
            vec![web::get().to(metadata::client_jwks), web::head().to(metadata::client_jwks)],
        ))
        .service(at(path::AUTHORIZE, "GET, POST", vec![web::get().to(authorize::get), web::post().to(authorize::post)]))
        .service(at("/api/v1/authorize", "GET", vec![web::get().to(authorize::older)]))
        .service(at("/api/v2/interaction/{hash}", "GET", vec![web::get().to(login::look)]))
        .service(at("/api/v2/interaction/{hash}/provider", "POST", vec![web::post().to(login::choose)]))
        .service(at("/api/v2/interaction/{hash}/forget", "POST", vec![web::post().to(last_choice::forget)]))
        .service(at("/api/v2/interaction/{hash}/cancel", "POST", vec![web::post().to(login::cancel)]))
        .service(at(
            "/api/v2/interaction/{hash}/consent",
            "GET, POST",
            vec![web::get().to(login::review), web::post().to(login::consent)],
        ))
        .service(at("/api/v2/callback/{connector}", "GET", vec![web::get().to(login::callback)]))
        .service(at(
            "/connectors/{connector}/login",
            "GET, POST",
            vec![web::get().to(sign_in::show), web::post().to(sign_in::submit)],
        ))
        .service(at(path::END_SESSION, "GET, POST", vec![web::get().to(logout::get), web::post().to(logout::post)]))
        // Before the next, which would take it for a connector.
        .service(at(path::END_SESSION_CONFIRM, "POST", vec![web::post().to(logout::confirm)]))
        .service(at("/api/v2/session/end/{connector}", "GET", vec![web::get().to(logout::come_back)]))
        .service(at("/assets/logo", "GET", vec![web::get().to(assets::theme)]))
        .service(at("/assets/idp/{connector}", "GET", vec![web::get().to(assets::connector)]))
        .service(at("/assets/service/{version}", "GET", vec![web::get().to(assets::service)]))
        .service(at(path::TOKEN, "POST", vec![web::post().to(token::token)]))
        .service(at(path::USERINFO, "GET, POST", vec![web::get().to(token::userinfo), web::post().to(token::userinfo)]))
        .service(at(path::REVOCATION, "POST", vec![web::post().to(introspection::revoke)]))
        .service(at(path::INTROSPECTION, "POST", vec![web::post().to(introspection::checktoken)]))
        .default_service(web::to(not_found));
    if with_sandbox == Sandbox::On {
        config.service(at(
            "/sandbox/{connector}",
            "GET, POST",
            vec![web::get().to(sandbox::show), web::post().to(sandbox::pick)],
        ));
    }
}

fn at(path: &'static str, allow: &'static str, routes: Vec<Route>) -> Resource {
    let refuse = move |hub: web::Data<Hub>, request: HttpRequest| async move { method_not_allowed(&hub, &request, allow) };
    // actix decodes what it can and replaces the rest: an address that can't be read names nothing here.
    let resource = web::resource(path).guard(fn_guard(|context| form::is_readable(context.head().uri.path())));
    routes.into_iter().fold(resource, Resource::route).default_service(web::to(refuse))
}

async fn not_found(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    refused(&hub, &request, ErrorCode::NotFound)
}

fn method_not_allowed(hub: &Hub, request: &HttpRequest, allow: &'static str) -> HttpResponse {
    let mut response = refused(hub, request, ErrorCode::MethodNotAllowed);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}

/// Programs get JSON, people get a page.
fn refused(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    if is_for_programs(request.path()) { json_error(code) } else { problem::outside(hub, request, code) }
}
