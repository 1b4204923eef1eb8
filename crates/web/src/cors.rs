//! Cross-origin requests of single-page applications (Fetch §3.2).
//!
//! Anyone may read the documents that are public anyway. The answers of the endpoints that programs
//! call are readable for the registered origins of public clients only. Cookies are never allowed:
//! no page can act with a browser's session at the hub.

use actix_cors::Cors;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use actix_web::middleware::DefaultHeaders;
use actix_web::{HttpResponse, Route, guard, web};

use super::hub::Hub;
use super::sender::DPOP_NONCE;

/// How long a browser may remember the answer to a preflight request, in seconds.
const PREFLIGHT_MAX_AGE: usize = 600;

/// Who may read the answers of an endpoint from a page of another origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CorsPolicy {
    /// No page.
    None,
    /// Pages of every origin: the answer is public, and the same for everyone.
    Public,
    /// Pages of the origins that an active public client has registered.
    RegisteredOrigins,
}

/// Returns the middleware of [`CorsPolicy::Public`].
pub(crate) fn allow_every_origin() -> DefaultHeaders {
    DefaultHeaders::new().add((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
}

/// Returns the route that answers preflight requests of [`CorsPolicy::Public`] (Fetch §4.8): pages
/// may send any header, because the answer depends on none.
pub(crate) fn preflight_route() -> Route {
    let is_preflight = |context: &guard::GuardContext<'_>| {
        context.head().headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    };
    web::method(Method::OPTIONS).guard(guard::fn_guard(is_preflight)).to(|| async {
        HttpResponse::NoContent()
            .insert_header((ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"))
            .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, "*"))
            .insert_header((ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE.to_string()))
            .finish()
    })
}

/// Returns the middleware of [`CorsPolicy::RegisteredOrigins`]. Origins are read from the current
/// configuration at each request, and compared character for character.
pub(crate) fn allow_registered_origins(hub: web::Data<Hub>) -> Cors {
    Cors::default()
        .allowed_origin_fn(move |origin, _| {
            origin.to_str().is_ok_and(|origin| hub.core.federation.load().has_cors_origin(origin))
        })
        .allowed_methods([Method::GET, Method::POST])
        // Browsers' monitoring adds headers to every request, for example `traceparent`. No answer
        // depends on any but Authorization and DPoP, and no cookie is allowed, so any name is.
        .allow_any_header()
        // RFC 9449 §8.2: the application needs the nonce for its next proof.
        .expose_headers([HeaderName::from_static(DPOP_NONCE), RETRY_AFTER, WWW_AUTHENTICATE])
        .max_age(PREFLIGHT_MAX_AGE)
}
