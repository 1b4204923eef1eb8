//! Serves the logos of the theme, the connectors and the service providers to anyone.
//!
//! A URL that holds the version of a logo never serves another one, so it is cacheable forever.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use actix_web::{HttpResponse, web};

use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::make_cacheable;
use passerelle_federation::logo::Logo;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

const NOT_FOUND: Rejection = Rejection::OutsideLogin(ErrorCode::NotFound);

/// Serves the theme's logo at `GET /assets/logo`.
pub(crate) async fn serve_theme_logo(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let logo = context.hub.logo.as_ref().ok_or(NOT_FOUND)?;
    Ok(make_cacheable(logo_response(logo)))
}

/// Serves the theme's icon of browser tabs at `GET /assets/favicon`, and at `GET /favicon.ico`,
/// which browsers request for pages without one.
pub(crate) async fn serve_favicon(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let favicon = context.hub.favicon.as_ref().ok_or(NOT_FOUND)?;
    Ok(make_cacheable(logo_response(favicon)))
}

/// Serves a connector's logo at `GET /assets/idp/{connector}`. Pages link to it with `?v=` and the
/// logo's version.
pub(crate) async fn serve_connector_logo(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let connector = ConnectorId::new(path.into_inner());
    let logo = context.hub.connectors.logo(&connector).ok_or(NOT_FOUND)?;
    let query = context.query().unwrap_or_default();
    let is_this_one = query.get("v") == Some(&*logo.version);
    let finish = if is_this_one { make_immutable } else { make_cacheable };
    Ok(finish(logo_response(&logo)))
}

/// Serves a service provider's logo at `GET /assets/service/{version}`.
pub(crate) async fn serve_service_logo(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let federation = context.hub.core.federation.load();
    let logo = federation.logo(&path).ok_or(NOT_FOUND)?;
    Ok(make_immutable(logo_response(logo)))
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
