//! FAPI 2.0 Message Signing: signed requests (JAR) and signed responses (JARM), on both platforms.

use serde_json::{Map, Value, json};

use super::client::{FapiClient, ISSUER, refusal};
use super::{ACCEPTED, OPENID};
use crate::federation::{self, redirect_uri};
use crate::hub::TestHub;
use crate::service::{Authorize, STATE};

const SIGNING: &str = "profile = \"fapi2-message-signing\"";

async fn hub_with(more: &str) -> (TestHub, FapiClient) {
    let client = FapiClient::new("bank");
    let (name, text) = client.file(SIGNING, more);
    (TestHub::with_files(ACCEPTED, &[(&name, text)]).await, client)
}

fn request(client: &FapiClient) -> Authorize {
    client.request().with("response_mode", "jwt")
}

/// The claims of the one parameter at the redirect URI.
async fn response(hub: &TestHub, url: &str) -> Map<String, Value> {
    let start = format!("{}&response=", redirect_uri("bank"));
    let jwt = url.strip_prefix(&start).unwrap_or_else(|| panic!("{url}"));
    assert!(!jwt.contains('&'), "{url}");
    let claims = hub.verified_claims(jwt).await;
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(ISSUER), &json!("bank")));
    claims
}

#[actix_web::test]
async fn a_whole_login_is_signed_in_both_directions_under_each_set_of_rules() {
    for more in ["", OPENID] {
        let (hub, client) = hub_with(more).await;
        let mut request = request(&client);
        if !more.is_empty() {
            request = request.with("scope", "openid profile email");
        }
        let object = client.object(&hub, &request, json!({}));
        let address = client.address(&client.push_object(&hub, &object).await);
        let browser = hub.browser();
        let sandbox = browser.open(&address).await.choose("amandier").await;
        let signed_in = sandbox.sign_in_as("angela").await;
        let page = if more.is_empty() { signed_in.consent().await } else { signed_in };
        let claims = response(&hub, &page.url).await;
        assert_eq!(claims["state"], STATE);
        let tokens = client.tokens(&hub, claims["code"].as_str().unwrap()).await;
        let answer = client.userinfo(&hub, tokens["access_token"].as_str().unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

#[actix_web::test]
async fn a_request_that_its_client_can_deny_is_refused() {
    let (hub, client) = hub_with("").await;
    let now = hub.now().seconds();
    let unsigned = client.push(&hub, &request(&client)).await;
    assert_eq!(refusal(&unsigned), (400, "invalid_request".into()));
    let stranger = FapiClient::new("bank");
    let forged = stranger.object(&hub, &request(&client), json!({}));
    let answer = client.push_object(&hub, &forged).await;
    assert_eq!(refusal(&answer), (400, "invalid_request_object".into()));
    for changes in [
        json!({ "nbf": null }),
        json!({ "nbf": now - 3601, "exp": now - 1 }),
        json!({ "nbf": now - 60, "exp": now + 3541 }),
        json!({ "aud": ["https://other.example"] }),
        json!({ "nbf": now + 61 }),
        json!({ "nbf": "now" }),
        json!({ "exp": null }),
        json!({ "exp": now - 61 }),
        json!({ "exp": now + 3601 }),
        json!({ "aud": "https://other.example" }),
        json!({ "aud": null }),
        json!({ "iss": "another" }),
        json!({ "client_id": "another" }),
    ] {
        let object = client.object(&hub, &request(&client), changes.clone());
        let answer = client.push_object(&hub, &object).await;
        assert_eq!(refusal(&answer), (400, "invalid_request_object".into()), "{changes}");
    }
    for good in [
        json!({ "nbf": now - 3590, "exp": now + 10 }),
        json!({ "exp": now + 3600 }),
        json!({ "nbf": now + 10, "iat": now + 10 }),
        json!({ "iat": null }),
        json!({ "aud": [ISSUER, "https://other.example"] }),
    ] {
        let object = client.object(&hub, &request(&client), good.clone());
        assert_eq!(client.push_object(&hub, &object).await.status, 201, "{good}");
    }
}

#[actix_web::test]
async fn a_push_that_must_be_repeated_does_not_use_up_its_request_object() {
    let nonce = "dpop_bound_access_tokens = true\ndpop_nonce_required = true\n";
    let (hub, client) = hub_with(nonce).await;
    let object = client.object(&hub, &request(&client), json!({ "jti": "once" }));
    let push = async |nonce: Option<&str>| {
        let proof = client.proof_with_nonce(&hub, "par", nonce);
        client.post(&hub, "par", &[("request", object.as_str())], Some(&proof)).await
    };
    let answer = push(None).await;
    assert_eq!(refusal(&answer), (400, "use_dpop_nonce".into()));
    let nonce = answer.header("dpop-nonce").to_owned();
    assert_eq!(push(Some(&nonce)).await.status, 201);
    let replayed = push(Some(&nonce)).await;
    assert_eq!(refusal(&replayed), (400, "invalid_request_object".into()));
}

#[actix_web::test]
async fn a_response_that_the_browser_could_forge_is_never_sent() {
    let (hub, client) = hub_with("").await;
    for mode in ["", "query", "form_post", "fragment", "fragment.jwt"] {
        let request = client.request().with("response_mode", mode);
        let object = client.object(&hub, &request, json!({}));
        let answer = client.push_object(&hub, &object).await;
        assert_eq!(refusal(&answer), (400, "invalid_request".into()), "{mode}");
    }
    for mode in ["jwt", "query.jwt", "form_post.jwt"] {
        let request = client.request().with("response_mode", mode);
        let object = client.object(&hub, &request, json!({}));
        assert_eq!(client.push_object(&hub, &object).await.status, 201, "{mode}");
    }
    // An error that is found before any parameter counts is signed, too.
    let direct = hub.browser().authorize(&client.request()).await.url;
    let claims = response(&hub, &direct).await;
    assert_eq!((&claims["error"], &claims["state"]), (&json!("invalid_request"), &json!(STATE)));
    let silent = request(&client).with("prompt", "none");
    let object = client.object(&hub, &silent, json!({}));
    let address = client.address(&client.push_object(&hub, &object).await);
    let answer = hub.browser().open(&address).await.url;
    assert_eq!(response(&hub, &answer).await["error"], "login_required");
}

/// The high platform keeps its own rules: levels, and tokens that only the service provider reads.
#[actix_web::test]
async fn a_whole_login_on_the_high_platform_is_signed_and_its_tokens_are_encrypted() {
    let client = FapiClient::new("bank");
    let encrypted = "id_token_encrypted_response_alg = \"ECDH-ES\"";
    let (name, text) = client.file(SIGNING, encrypted);
    let edit = |folder: &std::path::Path| {
        federation::put(folder, &name, text.as_bytes());
        let file = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{settings}{ACCEPTED}\n")).unwrap();
    };
    let hub = TestHub::high_with(&[], edit).await;
    let request = request(&client).with("acr_values", "eidas3");
    let object = client.object(&hub, &request, json!({}));
    let address = client.address(&client.push_object(&hub, &object).await);
    let browser = hub.browser();
    let sandbox = browser.open(&address).await.choose("amandier").await;
    let form = sandbox.sandbox_form("angela").with("level", "eidas3");
    let url = browser.submit(&form).await.consent().await.url;
    let code = response(&hub, &url).await["code"].as_str().unwrap().to_owned();
    let answer = client.redeem(&hub, &code).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let tokens = answer.json();
    assert_eq!(tokens["id_token"].as_str().unwrap().split('.').count(), 5, "a JWE");
    let userinfo = client.userinfo(&hub, tokens["access_token"].as_str().unwrap()).await;
    assert_eq!((userinfo.status, userinfo.body.split('.').count()), (200, 5));
}
