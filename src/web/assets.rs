//! Serves the logos of the theme, the connectors and the service providers to anyone.
//!
//! A URL that holds the version of a logo never serves another one, so it is cacheable forever.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};

use super::error_pages;
use super::form;
use super::hub::Hub;
use super::responses::make_cacheable;
use crate::config::logo::Logo;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

/// Serves the theme's logo at `GET /assets/logo`.
pub async fn serve_theme_logo(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match &hub.logo {
        Some(logo) => make_cacheable(logo_response(logo)),
        None => logo_not_found(&hub, &request),
    }
}

/// Serves a connector's logo at `GET /assets/idp/{connector}`. Pages link to it with `?v=` and the
/// logo's version.
pub async fn serve_connector_logo(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let Some(logo) = hub.connectors.logo(&ConnectorId::new(path.into_inner())) else {
        return logo_not_found(&hub, &request);
    };
    let query = form::parse_query(request.query_string()).unwrap_or_default();
    let is_this_one = query.single("v").ok().flatten() == Some(&*logo.version);
    if is_this_one {
        make_immutable(logo_response(&logo))
    } else {
        make_cacheable(logo_response(&logo))
    }
}

/// Serves a service provider's logo at `GET /assets/service/{version}`.
pub async fn serve_service_logo(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    match hub.federation.load().logo(&path) {
        Some(logo) => make_immutable(logo_response(logo)),
        None => logo_not_found(&hub, &request),
    }
}

fn logo_response(logo: &Logo) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, logo.media_type))
        // An SVG may hold script, which must not run when the logo is opened directly.
        .insert_header((
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ))
        .body(logo.bytes.to_vec())
}

fn make_immutable(mut response: HttpResponse) -> HttpResponse {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    response
}

fn logo_not_found(hub: &Hub, request: &HttpRequest) -> HttpResponse {
    error_pages::outside_login(hub, request, ErrorCode::NotFound)
}
