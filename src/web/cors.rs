//! Cross-origin requests of single-page applications (Fetch §3.2).
//!
//! Anyone may read the documents that are public anyway. The answers of the endpoints that programs
//! call are readable for the registered origins of public clients only. Cookies are never allowed:
//! no page can act with a browser's session at the hub.

use actix_cors::Cors;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE,
};
use actix_web::middleware::DefaultHeaders;
use actix_web::web;

use super::hub::Hub;
use super::sender::{DPOP, DPOP_NONCE};

/// How long a browser may remember the answer to a preflight request, in seconds.
const PREFLIGHT_MAX_AGE: usize = 600;

/// Who may read the answers of an endpoint from a page of another origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CorsPolicy {
    /// No page.
    None,
    /// Pages of every origin: the answer is public, and the same for everyone.
    Public,
    /// Pages of the origins that an active public client has registered.
    RegisteredOrigins,
}

/// Returns the middleware of [`CorsPolicy::Public`].
pub fn allow_every_origin() -> DefaultHeaders {
    DefaultHeaders::new().add((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
}

/// Returns the middleware of [`CorsPolicy::RegisteredOrigins`]. Origins are read from the current
/// configuration at each request, and compared character for character.
pub fn allow_registered_origins(hub: web::Data<Hub>) -> Cors {
    Cors::default()
        .allowed_origin_fn(move |origin, _| {
            origin.to_str().is_ok_and(|origin| hub.core.federation.load().has_cors_origin(origin))
        })
        .allowed_methods([Method::GET, Method::POST])
        .allowed_headers([ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName::from_static(DPOP)])
        // RFC 9449 §8.2: the application needs the nonce for its next proof.
        .expose_headers([HeaderName::from_static(DPOP_NONCE), WWW_AUTHENTICATE])
        .max_age(PREFLIGHT_MAX_AGE)
}
