//! Discovery and keys (spec 4.1, 4.2; decisions 14): open to anyone, cacheable for ten minutes.

use actix_web::{HttpResponse, web};

use super::answer::{json, public};
use super::hub::Hub;

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
