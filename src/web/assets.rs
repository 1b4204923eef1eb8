//! The pictures of the pages, which load none from elsewhere: the theme's logo, connectors', service providers'.
//!
//! Open to anyone. An address that holds a picture's version never means another picture, and may be kept for ever.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::public;
use super::form;
use super::hub::Hub;
use super::problem;
use crate::config::logo::Logo;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

/// `GET /assets/logo`.
pub async fn theme(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match &hub.logo {
        Some(logo) => public(picture(logo)),
        None => nothing(&hub, &request),
    }
}

/// `GET /assets/idp/{connector}`, with `?v=` its version where a page links to it.
pub async fn connector(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let Some(logo) = hub.connectors.logo(&ConnectorId::new(path.into_inner())) else {
        return nothing(&hub, &request);
    };
    let query = form::query(request.query_string()).unwrap_or_default();
    let is_this_one = query.one("v").ok().flatten() == Some(&*logo.version);
    if is_this_one { for_ever(picture(&logo)) } else { public(picture(&logo)) }
}

/// `GET /assets/service/{version}`.
pub async fn service(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    match hub.federation.load().logo(&path) {
        Some(logo) => for_ever(picture(logo)),
        None => nothing(&hub, &request),
    }
}

fn picture(logo: &Logo) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, logo.media_type))
        // An SVG may hold script; opened by itself it must not run here.
        .insert_header((
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ))
        .body(logo.bytes.to_vec())
}

fn for_ever(mut response: HttpResponse) -> HttpResponse {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    response
}

fn nothing(hub: &Hub, request: &HttpRequest) -> HttpResponse {
    problem::outside(hub, request, ErrorCode::NotFound)
}
