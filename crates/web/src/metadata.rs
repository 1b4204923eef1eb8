//! Serves the discovery document and the key sets: public, cacheable for ten minutes.

use actix_web::{HttpResponse, web};

use super::hub::Hub;
use super::responses::{json_response, make_cacheable};

/// Serves the discovery document (OpenID Connect Discovery §4).
pub(crate) async fn serve_discovery(hub: web::Data<Hub>) -> HttpResponse {
    make_cacheable(json_response(hub.core.federation.load().discovery.to_string()))
}

/// Serves the hub's signing keys.
pub(crate) async fn serve_jwks(hub: web::Data<Hub>) -> HttpResponse {
    make_cacheable(json_response(hub.keyring.load().jwks(hub.core.env.now(), hub.key_grace)))
}

/// Serves the hub's keys as a client of identity providers: for encryption to the hub and for its
/// client authentication.
pub(crate) async fn serve_client_jwks(hub: web::Data<Hub>) -> HttpResponse {
    make_cacheable(json_response(hub.upstream_keys.load().jwks(hub.core.env.now())))
}
