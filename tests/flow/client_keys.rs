//! The hub's keys as a client of identity providers, as such a provider reads them.

use actix_web::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use actix_web::test::TestRequest;
use serde_json::Value;

use super::hub::TestHub;

const ADDRESS: &str = "/api/v2/client/jwks";

#[actix_web::test]
async fn the_client_key_set_has_public_keys_only() {
    let hub = TestHub::start().await;
    for request in
        [TestRequest::get(), TestRequest::with_uri(ADDRESS).method(actix_web::http::Method::HEAD)]
    {
        let answer = hub.send(request.uri(ADDRESS)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers.get(CONTENT_TYPE).unwrap(), "application/json; charset=utf-8");
        assert_eq!(answer.headers.get(CACHE_CONTROL).unwrap(), "public, max-age=600");
    }
    let set: Value =
        serde_json::from_str(&hub.send(TestRequest::get().uri(ADDRESS)).await.body).unwrap();
    let keys = set["keys"].as_array().unwrap();
    let names: Vec<_> = keys
        .iter()
        .map(|key| (key["use"].as_str().unwrap(), key["alg"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            ("enc", "ECDH-ES"),
            ("enc", "RSA-OAEP-256"),
            ("enc", "RSA-OAEP"),
            ("sig", "ES256"),
            ("sig", "RS256")
        ]
    );
    let issuer = hub.send(TestRequest::get().uri("/api/v2/jwks")).await.body;
    for key in keys {
        assert!(!issuer.contains(key["kid"].as_str().unwrap()), "a key of the issuer");
        let members: Vec<_> = key.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(
            members
                .iter()
                .all(|name| ["alg", "crv", "e", "kid", "kty", "n", "use", "x", "y"].contains(name)),
            "{members:?}"
        );
    }
}

#[actix_web::test]
async fn the_key_set_takes_no_other_method() {
    let hub = TestHub::start().await;
    let answer = hub.send(TestRequest::post().uri(ADDRESS)).await;
    assert_eq!(
        (answer.status, answer.headers.get(ALLOW).unwrap().to_str().unwrap()),
        (405, "GET, HEAD")
    );
}
