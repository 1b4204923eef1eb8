//! Every address of the public listener, and the methods it takes (decisions 2). Anything else is answered here too.

use actix_web::dev::RequestHead;
use actix_web::guard::fn_guard;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, Route, web};

use super::answer::json_error;
use super::hub::{Hub, Sandbox};
use super::refused::RefusalEvent;
use super::shell::is_for_programs;
use super::{
    assets, authorize, form, introspection, last_choice, login, logout, metadata, problem, sandbox,
    sign_in, token,
};
use crate::audit::Name;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::discovery::path;

/// An address, the methods it takes, and what the audit log calls its refusals.
pub struct Endpoint {
    pub path: &'static str,
    allow: &'static str,
    /// `None` where nothing but an unknown address or method is refused.
    pub refusal: Option<Name>,
    routes: Vec<Route>,
}

/// Returns every endpoint. Where several fit an address, the first one takes it.
#[must_use]
pub fn endpoints(sandbox: Sandbox) -> Vec<Endpoint> {
    let at = |path, allow, refusal, routes| Endpoint { path, allow, refusal, routes };
    let (read, submit) = (web::get, web::post);
    let with_sandbox = (sandbox == Sandbox::On).then(|| {
        let routes = vec![read().to(sandbox::show), submit().to(sandbox::pick)];
        at("/sandbox/{connector}", "GET, POST", Some(Name::StepRefused), routes)
    });
    // HEAD is served here and nowhere else, so that a link scanner can't advance a login.
    let documents = [
        at(
            path::DISCOVERY,
            "GET, HEAD",
            None,
            vec![read().to(metadata::discovery), web::head().to(metadata::discovery)],
        ),
        at(
            path::JWKS,
            "GET, HEAD",
            None,
            vec![read().to(metadata::jwks), web::head().to(metadata::jwks)],
        ),
        at(
            path::CLIENT_JWKS,
            "GET, HEAD",
            None,
            vec![read().to(metadata::client_jwks), web::head().to(metadata::client_jwks)],
        ),
        at("/assets/logo", "GET", None, vec![read().to(assets::theme)]),
        at("/assets/idp/{connector}", "GET", None, vec![read().to(assets::connector)]),
        at("/assets/service/{version}", "GET", None, vec![read().to(assets::service)]),
    ];
    let asked = Some(Name::AuthorizationRefused);
    let step = Some(Name::StepRefused);
    let logins = [
        at(
            path::AUTHORIZE,
            "GET, POST",
            asked,
            vec![read().to(authorize::get), submit().to(authorize::post)],
        ),
        at("/api/v1/authorize", "GET", None, vec![read().to(authorize::older)]),
        at("/api/v2/interaction/{hash}", "GET", step, vec![read().to(login::look)]),
        at("/api/v2/interaction/{hash}/provider", "POST", step, vec![submit().to(login::choose)]),
        at(
            "/api/v2/interaction/{hash}/forget",
            "POST",
            step,
            vec![submit().to(last_choice::forget)],
        ),
        at("/api/v2/interaction/{hash}/cancel", "POST", step, vec![submit().to(login::cancel)]),
        at(
            "/api/v2/interaction/{hash}/consent",
            "GET, POST",
            step,
            vec![read().to(login::review), submit().to(login::consent)],
        ),
        at(
            "/api/v2/callback/{connector}",
            "GET",
            Some(Name::CallbackRefused),
            vec![read().to(login::callback)],
        ),
        at(
            "/connectors/{connector}/login",
            "GET, POST",
            step,
            vec![read().to(sign_in::show), submit().to(sign_in::submit)],
        ),
    ];
    let out = Some(Name::LogoutRefused);
    let logouts = [
        at(
            path::END_SESSION,
            "GET, POST",
            out,
            vec![read().to(logout::get), submit().to(logout::post)],
        ),
        // Before the next, which would take it for a connector.
        at(path::END_SESSION_CONFIRM, "POST", out, vec![submit().to(logout::confirm)]),
        at("/api/v2/session/end/{connector}", "GET", out, vec![read().to(logout::come_back)]),
    ];
    let userinfo = vec![read().to(token::userinfo), submit().to(token::userinfo)];
    let clients = [
        at(path::TOKEN, "POST", Some(Name::TokenRefused), vec![submit().to(token::token)]),
        at(path::USERINFO, "GET, POST", Some(Name::UserinfoRefused), userinfo),
        at(
            path::REVOCATION,
            "POST",
            Some(Name::RevocationRefused),
            vec![submit().to(introspection::revoke)],
        ),
        at(
            path::INTROSPECTION,
            "POST",
            Some(Name::IntrospectionRefused),
            vec![submit().to(introspection::checktoken)],
        ),
    ];
    documents.into_iter().chain(logins).chain(logouts).chain(clients).chain(with_sandbox).collect()
}

/// Registers all endpoints of `hub`.
pub fn configure(config: &mut web::ServiceConfig, hub: web::Data<Hub>) {
    let endpoints = endpoints(hub.sandbox);
    config.app_data(hub).default_service(web::to(not_found));
    for endpoint in endpoints {
        config.service(endpoint.resource());
    }
}

impl Endpoint {
    /// Returns the methods that it takes.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.allow.split(", ")
    }

    fn resource(self) -> Resource {
        let Self { path, allow, refusal, routes } = self;
        let refuse = move |hub: web::Data<Hub>, request: HttpRequest| async move {
            method_not_allowed(&hub, &request, allow)
        };
        let resource = web::resource(path)
            .app_data(RefusalEvent(refusal))
            .guard(fn_guard(|context| is_named(context.head())));
        routes.into_iter().fold(resource, Resource::route).default_service(web::to(refuse))
    }
}

/// True for an address that can name something. actix decodes what it can of one and replaces the rest.
fn is_named(head: &RequestHead) -> bool {
    form::is_readable(head.uri.path()) && form::is_normalized(head.uri.path())
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
    if is_for_programs(request.path()) {
        json_error(code)
    } else {
        problem::outside(hub, request, code)
    }
}
