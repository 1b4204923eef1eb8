//! Discovery, keys (spec 4.1, 4.2; decisions 14) and the theme's logo: open to anyone, cacheable for ten minutes.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{json, public};
use super::hub::Hub;
use super::problem;
use crate::protocol::catalogue::ErrorCode;

pub async fn discovery(hub: web::Data<Hub>) -> HttpResponse {
    public(json(hub.federation.load().discovery.to_string()))
}

pub async fn jwks(hub: web::Data<Hub>) -> HttpResponse {
    public(json(hub.keyring.load().jwks(hub.env.now(), hub.key_grace)))
}

/// For identity providers (decisions 2): what they seal to, and what proves that the hub is who it says.
pub async fn client_jwks(hub: web::Data<Hub>) -> HttpResponse {
    public(json(hub.upstream_keys.load().jwks(hub.env.now())))
}

/// The theme's picture: pages load none from elsewhere.
pub async fn logo(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match &hub.logo {
        Some(logo) => {
            let picture = HttpResponse::Ok()
                .insert_header((CONTENT_TYPE, logo.media_type))
                // An SVG may hold script; opened by itself it must not run here.
                .insert_header(("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"))
                .body(logo.bytes.to_vec());
            public(picture)
        }
        None => problem::outside(&hub, &request, ErrorCode::NotFound),
    }
}
