//! Signed requests and responses on the high platform, whose tokens are encrypted as well.

use josekit::jwe::ECDH_ES;
use serde_json::{Map, Value, json};

use super::{
    ACCEPTED, NOTARY, STRANGER, address, assert_page, published, push, pushed,
    request_object_claims, signed, signed_by, status_and_error,
};
use crate::federation::{put, redirect_uri};
use crate::hub::TestHub;
use crate::service::{Authorize, STATE};

/// The notary signs its requests and gets signed responses; those of the vault are encrypted.
async fn hub() -> TestHub {
    let keys = json!({ "keys": [published(&NOTARY, "sig"), published(&NOTARY, "enc")] });
    let common = "id_token_encrypted_response_alg = \"ECDH-ES\"\njwks = { file = \"notary.jwks\" }\nauthorization_signed_response_alg = \"ES256\"";
    let notary = format!("{common}\nrequest_object_signing_alg = \"ES256\"");
    let vault = format!("{common}\nauthorization_encrypted_response_alg = \"ECDH-ES\"");
    TestHub::high_with(&[("notary", notary), ("vault", vault)], |folder| {
        put(folder, "notary.jwks", keys.to_string().as_bytes());
        let file = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{settings}{ACCEPTED}\n")).unwrap();
    })
    .await
}

fn request(service: &str) -> Authorize {
    Authorize::by(service).with("acr_values", "eidas3").with("response_mode", "jwt")
}

/// Signs angela in at eidas3, and returns the address that the browser is sent to.
async fn sign_in(hub: &TestHub, url: &str) -> String {
    let browser = hub.browser();
    let sandbox = browser.open(url).await.choose("amandier").await;
    let form = sandbox.sandbox_form("angela").with("level", "eidas3");
    browser.submit(&form).await.consent().await.url
}

fn response_in(url: &str, service: &str) -> String {
    let start = format!("{}&response=", redirect_uri(service));
    url.strip_prefix(&start).unwrap_or_else(|| panic!("{url}")).to_owned()
}

/// Redeems the code of a response, and returns the level of the decrypted ID token.
async fn level(hub: &TestHub, service: &str, response: &Map<String, Value>) -> Value {
    assert_eq!((&response["aud"], &response["state"]), (&json!(service), &json!(STATE)));
    let answer = hub.redeem(service, response["code"].as_str().unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let tokens: Value = serde_json::from_str(&answer.body).unwrap();
    let jws = decrypted(tokens["id_token"].as_str().unwrap());
    hub.verified_claims(&jws).await["acr"].clone()
}

fn decrypted(jwe: &str) -> String {
    let decrypter = ECDH_ES.decrypter_from_jwk(&NOTARY).unwrap();
    String::from_utf8(josekit::jwe::deserialize_compact(jwe, &decrypter).unwrap().0).unwrap()
}

#[actix_web::test]
async fn a_signed_request_and_a_signed_response_are_a_whole_login_on_the_high_platform() {
    let hub = hub().await;
    let by_value = signed(&request_object_claims(&hub, "notary", &request("notary")));
    let mut second = request_object_claims(&hub, "notary", &request("notary"));
    second.as_object_mut().unwrap().remove("jti");
    let pairs = vec![("request".to_owned(), signed(&second))];
    let answer = push(&hub, "notary", &pairs).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    for url in [
        address("notary", "request", &by_value),
        address("notary", "request_uri", body["request_uri"].as_str().unwrap()),
    ] {
        let back = sign_in(&hub, &url).await;
        let response = hub.verified_claims(&response_in(&back, "notary")).await;
        assert_eq!(level(&hub, "notary", &response).await, "eidas3");
    }
}

#[actix_web::test]
async fn an_encrypted_response_hides_the_code_on_the_high_platform() {
    let hub = hub().await;
    let uri = pushed(&hub, "vault", &request("vault")).await;
    let back = sign_in(&hub, &address("vault", "request_uri", &uri)).await;
    let jwe = response_in(&back, "vault");
    assert_eq!(jwe.split('.').count(), 5);
    let response = hub.verified_claims(&decrypted(&jwe)).await;
    assert_eq!(level(&hub, "vault", &response).await, "eidas3");
}

#[actix_web::test]
async fn a_forged_request_is_refused_on_the_high_platform_and_an_error_can_not_be_forged() {
    let hub = hub().await;
    let claims = request_object_claims(&hub, "notary", &request("notary"));
    let forged = signed_by(&STRANGER, &json!({ "alg": "ES256" }), &claims);
    assert_page(&hub.browser().open(&address("notary", "request", &forged)).await, "Y031404");
    let pairs = vec![("request".to_owned(), forged)];
    let answer = push(&hub, "notary", &pairs).await;
    assert_eq!(status_and_error(&answer), (400, "invalid_request_object".to_owned()));
    // A level of the other platform, and a silent login without a session.
    for (changed, error) in [
        (request("notary").with("acr_values", "eidas1"), "invalid_request"),
        (request("notary").with("prompt", "none"), "login_required"),
    ] {
        let object = signed(&request_object_claims(&hub, "notary", &changed));
        let url = hub.browser().open(&address("notary", "request", &object)).await.url;
        let response = hub.verified_claims(&response_in(&url, "notary")).await;
        assert_eq!((&response["error"], response.get("code")), (&json!(error), None));
        hub.advance(std::time::Duration::from_secs(1)); // another jti
    }
}
