//! Signed and encrypted authorization responses (JARM).

use josekit::jwe::ECDH_ES;
use serde_json::{Map, Value};
use url::Url;

use super::{NOTARY, hub};
use crate::federation::redirect_uri;
use crate::hub::TestHub;
use crate::service::{Authorize, Received, STATE};

/// The only parameter that the hub added to this address.
fn response_in(url: &str, service: &str) -> String {
    let added = url.strip_prefix(&redirect_uri(service)).unwrap_or_else(|| panic!("{url}"));
    let name = added.strip_prefix("&response=").unwrap_or_else(|| panic!("{url}"));
    assert!(!name.contains('&'), "{url}");
    assert!(Url::parse(url).unwrap().fragment().is_none());
    name.to_owned()
}

async fn claims(hub: &TestHub, service: &str, jwt: &str) -> Map<String, Value> {
    let claims = hub.verified_claims(jwt).await;
    assert_eq!(claims["iss"], "https://hub.example/api/v2");
    assert_eq!(claims["aud"], service);
    assert_eq!(claims["state"], STATE);
    let life = claims["exp"].as_u64().unwrap() - hub.now().seconds();
    assert_eq!(life, 600);
    claims
}

/// What the service provider reads from the claims.
fn received(service: &str, claims: &Map<String, Value>) -> Received {
    let fields =
        claims.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Received { to: redirect_uri(service), fields: fields.collect() }
}

async fn sign_in(hub: &TestHub, request: &Authorize) -> String {
    let browser = hub.browser();
    let page = browser.authorize(request).await.choose("amandier").await.sign_in_as("angela").await;
    page.consent().await.url
}

#[actix_web::test]
async fn a_signed_response_names_its_issuer_and_recipient_and_travels_alone() {
    let hub = hub().await;
    for mode in ["jwt", "query.jwt"] {
        let url = sign_in(&hub, &Authorize::by("gazette").with("response_mode", mode)).await;
        let claims = claims(&hub, "gazette", &response_in(&url, "gazette")).await;
        assert!(!claims.contains_key("sub") && !claims.contains_key("nonce"), "no ID token");
        let received = received("gazette", &claims);
        assert_eq!(hub.family_name("gazette", &received).await, "DUBOIS");
    }
    let browser = hub.browser();
    let request = Authorize::by("gazette").with("response_mode", "form_post.jwt");
    let page =
        browser.authorize(&request).await.choose("amandier").await.sign_in_as("angela").await;
    let posted = page.consent().await.received_by_post();
    assert_eq!(posted.fields.keys().collect::<Vec<_>>(), ["response"]);
    let claims = claims(&hub, "gazette", &posted.fields["response"]).await;
    assert_eq!(hub.family_name("gazette", &received("gazette", &claims)).await, "DUBOIS");
}

#[actix_web::test]
async fn an_error_can_not_be_forged_either() {
    let hub = hub().await;
    let signed = Authorize::by("gazette").with("response_mode", "jwt");
    for (request, error) in [
        (signed.with("prompt", "none"), "login_required"),
        (signed.with("scope", "email"), "invalid_request"),
        (signed.with("request_uri", "https://sp.example/"), "request_uri_not_supported"),
    ] {
        let page = hub.browser().authorize(&request).await.url;
        let claims = claims(&hub, "gazette", &response_in(&page, "gazette")).await;
        assert_eq!(claims["error"], error);
        assert!(!claims.contains_key("code"));
    }
    let browser = hub.browser();
    let cancelled = browser.authorize(&signed).await.cancel().await.url;
    let claims = claims(&hub, "gazette", &response_in(&cancelled, "gazette")).await;
    assert_eq!(claims["error"], "access_denied");
}

#[actix_web::test]
async fn a_client_that_registered_no_algorithm_gets_no_signed_response() {
    let hub = hub().await;
    for mode in ["jwt", "query.jwt", "form_post.jwt", "fragment.jwt"] {
        let request = Authorize::by("bakery").with("response_mode", mode);
        let received = hub.browser().authorize(&request).await.received();
        assert_eq!(received.error_at("bakery"), "invalid_request", "{mode}");
    }
}

#[actix_web::test]
async fn an_encrypted_response_hides_the_code_from_the_browser() {
    let hub = hub().await;
    let url = sign_in(&hub, &Authorize::by("vault").with("response_mode", "jwt")).await;
    let jwe = response_in(&url, "vault");
    assert_eq!(jwe.split('.').count(), 5);
    let decrypter = ECDH_ES.decrypter_from_jwk(&NOTARY).unwrap();
    let (jws, header) = josekit::jwe::deserialize_compact(&jwe, &decrypter).unwrap();
    assert_eq!(
        (header.claim("enc"), header.content_type()),
        (Some(&"A256GCM".into()), Some("JWT"))
    );
    let claims = claims(&hub, "vault", &String::from_utf8(jws).unwrap()).await;
    assert_eq!(hub.family_name("vault", &received("vault", &claims)).await, "DUBOIS");
}

#[actix_web::test]
async fn both_are_published_only_where_a_service_provider_uses_them() {
    let path = "/api/v2/.well-known/openid-configuration";
    let metadata = async |hub: &TestHub| -> Value {
        let request = actix_web::test::TestRequest::get().uri(path);
        serde_json::from_str(&hub.send(request).await.body).unwrap()
    };
    let with = metadata(&hub().await).await;
    assert_eq!(with["authorization_signing_alg_values_supported"][0], "ES256");
    assert_eq!(with["request_parameter_supported"], true);
    assert_eq!(with["request_uri_parameter_supported"], false);
    assert_eq!(with["response_modes_supported"].as_array().unwrap().len(), 5);
    let without = metadata(&TestHub::start().await).await;
    assert_eq!(without["response_modes_supported"].as_array().unwrap().len(), 2);
    assert_eq!(without["request_parameter_supported"], false);
    assert!(without.get("authorization_signing_alg_values_supported").is_none());
}
