//! FAPI 2.0 Security Profile: whole logins under `profile = "fapi2"`, and the attacks that it stops
//! (`docs/fapi.md`).

mod client;
mod messages;

use std::time::Duration;

use josekit::jwk::Jwk;
use josekit::jws::RS256;
use passerelle_testkit::dpop_client::sign;
use serde_json::{Value, json};

use self::client::{FapiClient, ISSUER, refusal, userinfo};
use super::federation::{BASE, redirect_uri};
use super::hub::TestHub;
use super::service::Authorize;

const ACCEPTED: &str = "pushed_authorization_requests = \"accepted\"";
const FAPI: &str = "profile = \"fapi2\"";
const OPENID: &str = "rules = \"openid\"\nconsent = \"none\"";

/// A hub with one service provider that has the profile.
async fn hub_with(settings: &str, more: &str) -> (TestHub, FapiClient) {
    let client = FapiClient::new("bank");
    let (name, text) = client.file(FAPI, more);
    (TestHub::with_files(settings, &[(&name, text)]).await, client)
}

async fn hub() -> (TestHub, FapiClient) {
    hub_with(ACCEPTED, "").await
}

#[actix_web::test]
async fn a_whole_login_needs_a_pushed_request_an_assertion_and_a_key_under_each_set_of_rules() {
    for more in ["", OPENID] {
        let (hub, client) = hub_with(ACCEPTED, more).await;
        let mut request = client.request();
        if !more.is_empty() {
            request = request.with("scope", "openid profile email");
        }
        let address = client.address(&client.push(&hub, &request).await);
        let browser = hub.browser();
        let sandbox = browser.open(&address).await.choose("amandier").await;
        let signed_in = sandbox.sign_in_as("angela").await;
        let page = if more.is_empty() { signed_in.consent().await } else { signed_in };
        let received = page.received();
        received.belongs_to("bank"); // with iss: RFC 9207
        let tokens = client.tokens(&hub, received.code()).await;
        assert_eq!(tokens["token_type"], "DPoP");
        let id_token = hub.verified_claims(tokens["id_token"].as_str().unwrap()).await; // by ES256
        assert_eq!((&id_token["iss"], &id_token["aud"]), (&json!(ISSUER), &json!("bank")));
        let answer = client.userinfo(&hub, tokens["access_token"].as_str().unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

#[actix_web::test]
async fn a_request_that_the_browser_could_change_is_refused() {
    let (hub, client) = hub().await;
    let direct = hub.browser().authorize(&client.request()).await.received();
    assert_eq!(direct.error_at("bank"), "invalid_request"); // by redirect, with iss
    let object = client.object(&hub, &client.request(), json!({ "jti": "a" }));
    let by_value = client.request().with("request", &object);
    let refused = hub.browser().authorize(&by_value).await.received();
    assert_eq!(refused.error_at("bank"), "invalid_request");
}

/// RFC 9126 §2; FAPI 2.0 Security Profile §5.3.2.2
#[actix_web::test]
async fn a_pushed_request_with_the_client_id_of_another_is_refused() {
    let (hub, client) = hub().await;
    let request = client.request();
    let push = async |credentials: &[(&str, &str)]| {
        let pairs = request.pairs().iter();
        let mut fields: Vec<_> =
            pairs.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        fields.extend_from_slice(credentials);
        hub.post_form("/api/v2/par", &fields).await.status
    };
    let kind = ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let forged = FapiClient::new("bank").assertion(&hub, json!({}));
    assert_eq!(push(&[]).await, 401, "no credentials (RFC 6749 §5.2)");
    assert_eq!(push(&[("client_secret", "guessed")]).await, 401);
    assert_eq!(push(&[kind, ("client_assertion", &forged)]).await, 401, "a stranger's key");
    let own = client.assertion(&hub, json!({}));
    assert_eq!(push(&[kind, ("client_assertion", &own)]).await, 201);
    assert_eq!(push(&[kind, ("client_assertion", &own)]).await, 401, "a replay");
    let metrics = hub.metrics.render();
    for (outcome, count) in [("accepted", 1), ("invalid_client", 4)] {
        let series =
            format!("pushed_authorization_requests_total{{outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&series), "{series}");
    }
}

/// FAPI 2.0 Security Profile §5.3.2.1: the issuer alone, as a string, whatever the rules.
#[actix_web::test]
async fn an_assertion_that_another_server_was_sent_is_refused() {
    for more in ["", OPENID, "client_assertion_audiences = [\"issuer\"]"] {
        let (hub, client) = hub_with(ACCEPTED, more).await;
        for aud in [
            json!(format!("{ISSUER}/token")),
            json!(format!("{ISSUER}/par")),
            json!([ISSUER]),
            json!([ISSUER, "https://other.example"]),
            json!("https://other.example"),
            json!(BASE),
            Value::Null,
        ] {
            let assertion = client.assertion(&hub, json!({ "aud": aud }));
            let fields = [
                ("client_id", "bank"),
                ("client_assertion", assertion.as_str()),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ];
            let answer = hub.post_form("/api/v2/par", &fields).await;
            assert_eq!(refusal(&answer), (401, "invalid_client".into()), "{more} {aud}");
        }
    }
}

/// FAPI 2.0 Security Profile §5.3.2.2
#[actix_web::test]
async fn a_push_without_pkce_or_redirect_uri_or_with_another_flow_is_refused() {
    let (hub, client) = hub().await;
    let without = |name: &str| client.request().with(name, "");
    for (attack, request) in [
        ("a code that anyone can inject", without("code_challenge")),
        ("plain", client.request().with("code_challenge_method", "plain")),
        ("no method, which means plain", without("code_challenge_method")),
        ("no redirect_uri", without("redirect_uri")),
        ("another redirect_uri", client.request().with("redirect_uri", "https://evil.example/")),
        ("the implicit flow", client.request().with("response_type", "token")),
        ("the hybrid flow", client.request().with("response_type", "code id_token")),
        ("a pushed request_uri", client.request().with("request_uri", "urn:x")),
    ] {
        let answer = client.push(&hub, &request).await;
        assert_eq!(answer.status, 400, "{attack}: {}", answer.body);
    }
    let password = [("grant_type", "password"), ("username", "angela"), ("password", "x")];
    let answer = client.post(&hub, "token", &password, None).await;
    assert_eq!(refusal(&answer), (400, "unsupported_grant_type".into()));
}

#[actix_web::test]
async fn a_stolen_code_is_useless_without_the_verifier_and_the_keys() {
    let (hub, client) = hub().await;
    let thief = FapiClient::new("bank");
    let code = async || client.sign_in(&hub, &client.request()).await.code().to_owned();
    let stolen = thief.redeem(&hub, &code().await).await;
    assert_eq!(refusal(&stolen), (401, "invalid_client".into()), "another key");
    let proof = || client.proof(&hub, "POST", "token", None);
    let injected = client
        .redeem_with(&hub, &code().await, &"another-verifier-".repeat(3), Some(&proof()))
        .await;
    assert_eq!(refusal(&injected), (400, "invalid_grant".into()), "another login's verifier");
    // Bound to the key of the push (RFC 9449 §10.1): another proof of possession doesn't help.
    let request = client.request();
    let pairs: Vec<_> =
        request.pairs().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let push_proof = client.proof(&hub, "POST", "par", None);
    let pushed = client.post(&hub, "par", &pairs, Some(&push_proof)).await;
    let bound = hub.browser().open(&client.address(&pushed)).await.finish_as("angela").await;
    let other = thief.proof(&hub, "POST", "token", None);
    let verifier = "a-code-verifier-of-at-least-forty-three-characters";
    let answer = client.redeem_with(&hub, bound.code(), verifier, Some(&other)).await;
    assert_eq!(refusal(&answer), (400, "invalid_grant".into()), "another DPoP key");
}

#[actix_web::test]
async fn a_token_that_a_thief_could_use_is_never_issued_or_accepted() {
    let (hub, client) = hub().await;
    let verifier = "a-code-verifier-of-at-least-forty-three-characters";
    let received = client.sign_in(&hub, &client.request()).await;
    let bearer = client.redeem_with(&hub, received.code(), verifier, None).await;
    assert_eq!(refusal(&bearer), (400, "invalid_dpop_proof".into()), "a bearer token");
    let tokens = client.tokens(&hub, received.code()).await; // the code is untouched
    let token = tokens["access_token"].as_str().unwrap();
    let thief = FapiClient::new("bank");
    assert_eq!(userinfo(&hub, &format!("Bearer {token}"), None).await.status, 401);
    assert_eq!(userinfo(&hub, &format!("DPoP {token}"), None).await.status, 401);
    assert_eq!(thief.userinfo(&hub, token).await.status, 401);
    let query = format!("/api/v2/userinfo?access_token={token}");
    assert_eq!(hub.browser().get(&query).await.status, 400, "in an address");
    assert_eq!(client.userinfo(&hub, token).await.status, 200);
}

#[actix_web::test]
async fn a_code_used_twice_revokes_its_tokens_and_an_expired_one_is_refused() {
    let settings = format!("{ACCEPTED}\nlifetimes.code_seconds = 60");
    let (hub, client) = hub_with(&settings, "").await;
    let received = client.sign_in(&hub, &client.request()).await;
    let tokens = client.tokens(&hub, received.code()).await;
    let again = client.redeem(&hub, received.code()).await;
    assert_eq!(refusal(&again), (400, "invalid_grant".into()));
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(client.userinfo(&hub, token).await.status, 401);
    let late = client.sign_in(&hub, &client.request()).await;
    hub.advance(Duration::from_secs(61));
    assert_eq!(refusal(&client.redeem(&hub, late.code()).await), (400, "invalid_grant".into()));
}

/// FAPI 2.0 Security Profile §5.4.1
#[actix_web::test]
async fn an_algorithm_that_the_profile_excludes_is_refused() {
    let (hub, client) = hub().await;
    let rsa = Jwk::generate_rsa_key(2048).unwrap();
    let signer = RS256.signer_from_jwk(&rsa).unwrap();
    let member = |name: &str| rsa.parameter(name).unwrap().clone();
    let public = json!({ "kty": "RSA", "n": member("n"), "e": member("e") });
    let claims = json!({
        "htm": "POST", "htu": format!("{ISSUER}/token"), "iat": hub.now().seconds(), "jti": "weak",
    });
    let header = json!({ "typ": "dpop+jwt", "alg": "RS256", "jwk": public });
    let weak = sign(&header, &claims, &signer);
    let received = client.sign_in(&hub, &client.request()).await;
    let verifier = "a-code-verifier-of-at-least-forty-three-characters";
    let answer = client.redeem_with(&hub, received.code(), verifier, Some(&weak)).await;
    assert_eq!(refusal(&answer), (400, "invalid_dpop_proof".into()));
    assert!(answer.body.contains("FAPI 2.0"), "{}", answer.body);
    for alg in ["none", "RS256", "HS256"] {
        let claims = json!({ "iss": "bank", "sub": "bank", "aud": ISSUER });
        let forged = client.signed(json!({ "alg": alg }), &claims);
        let fields = [
            ("client_assertion", forged.as_str()),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ];
        assert_eq!(hub.post_form("/api/v2/par", &fields).await.status, 401, "{alg}");
    }
}

/// FAPI 2.0 Security Profile §5.3.2.1: clocks differ by some seconds, and not by a minute.
#[actix_web::test]
async fn an_assertion_of_a_clock_that_is_ahead_is_accepted_for_ten_seconds_and_not_beyond_sixty() {
    let (hub, client) = hub().await;
    let now = hub.now().seconds();
    for (ahead, status) in [(0, 201), (10, 201), (61, 401)] {
        for claim in ["iat", "nbf"] {
            let changes = json!({ claim: now + ahead, "exp": now + 120 });
            let assertion = client.assertion(&hub, changes);
            let request = client.request();
            let mut fields: Vec<_> = request
                .pairs()
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            fields.push(("client_assertion", &assertion));
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            fields.push(("client_assertion_type", kind));
            let answer = hub.post_form("/api/v2/par", &fields).await;
            assert_eq!(answer.status, status, "{claim} {ahead}: {}", answer.body);
        }
    }
}

#[actix_web::test]
async fn a_proof_ten_seconds_off_is_accepted_and_one_a_minute_off_is_refused() {
    let (hub, client) = hub().await;
    hub.advance(Duration::from_secs(120)); // beyond the start of its store
    let received = client.sign_in(&hub, &client.request()).await;
    let token = client.tokens(&hub, received.code()).await["access_token"].clone();
    let token = token.as_str().unwrap();
    let now = hub.now().seconds();
    for (iat, status) in [(now - 10, 200), (now + 10, 200), (now - 61, 401), (now + 62, 401)] {
        let proof = client.dpop.proof(&json!({
            "htm": "GET", "htu": format!("{ISSUER}/userinfo"), "iat": iat, "jti": iat.to_string(),
            "ath": passerelle_protocol::digest::sha256_base64url(token), "nbf": iat, "exp": iat + 60,
        }));
        // The scheme is compared ignoring case (RFC 9110 §11.1).
        let answer = userinfo(&hub, &format!("dpop {token}"), Some(&proof)).await;
        assert_eq!(answer.status, status, "{iat}: {}", answer.body);
    }
}

/// FAPI 2.0 Security Profile §5.3.2.1; RFC 9700 §4.14
#[actix_web::test]
async fn a_stolen_refresh_token_needs_the_keys_and_an_own_one_is_not_replaced() {
    let more = "consent = \"required\"\nrefresh_tokens = {}";
    let (hub, client) = hub_with(ACCEPTED, more).await;
    let scope = format!("{} offline_access", super::federation::SCOPES);
    let received = client.sign_in(&hub, &client.request().with("scope", &scope)).await;
    let tokens = client.tokens(&hub, received.code()).await;
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
    let bearer = client.post(&hub, "token", &fields, None).await;
    assert_eq!(refusal(&bearer), (400, "invalid_dpop_proof".into()));
    let thief = FapiClient::new("bank");
    let proof = thief.proof(&hub, "POST", "token", None);
    let stolen = thief.post(&hub, "token", &fields, Some(&proof)).await;
    assert_eq!(refusal(&stolen), (401, "invalid_client".into()));
    for _ in 0..2 {
        let proof = client.proof(&hub, "POST", "token", None);
        let answer = client.post(&hub, "token", &fields, Some(&proof)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = answer.json();
        assert!(answer.get("refresh_token").is_none(), "no rotation: {answer}");
        assert_eq!(answer["token_type"], "DPoP");
    }
}

/// FAPI 2.0 Security Profile §5.3.2.2; RFC 9700 §4.11 and §4.12
#[actix_web::test]
async fn the_browser_is_redirected_by_303_and_to_registered_addresses_alone() {
    let (hub, client) = hub().await;
    let refused = hub.browser().get(&client.request().url()).await;
    assert_eq!(refused.status, 303);
    assert!(refused.header("location").starts_with(&redirect_uri("bank")));
    let evil = Authorize::by("bank").with("redirect_uri", "https://evil.example/");
    let page = hub.browser().get(&evil.url()).await;
    assert_eq!((page.status, page.header("location")), (400, ""));
    let address = client.address(&client.push(&hub, &client.request()).await);
    let accepted = hub.browser().get(&address).await;
    assert_eq!(accepted.status, 303);
    assert!(accepted.header("location").starts_with("/api/v2/interaction/"));
}

#[actix_web::test]
async fn a_hub_with_the_profile_publishes_and_accepts_nothing_weaker() {
    let client = FapiClient::new("bank");
    let (name, text) = client.file("", "");
    let settings = "pushed_authorization_requests = \"required\"\nprofile = \"fapi2\"";
    let edit = |folder: &std::path::Path| {
        for id in ["bakery", "clinic", "library", "cautious"] {
            std::fs::remove_file(folder.join(format!("service-providers/{id}.toml"))).unwrap();
        }
        super::federation::put(folder, &name, text.as_bytes());
        let file = folder.join("passerelle.toml");
        let written = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{written}{settings}\n")).unwrap();
    };
    let hub = TestHub::edited(edit).await;
    let metadata = hub.discovery().await;
    for (member, expected) in [
        ("token_endpoint_auth_methods_supported", json!(["private_key_jwt"])),
        ("token_endpoint_auth_signing_alg_values_supported", json!(["ES256", "PS256", "EdDSA"])),
        ("id_token_signing_alg_values_supported", json!(["ES256"])),
        ("userinfo_signing_alg_values_supported", json!(["ES256"])),
        ("dpop_signing_alg_values_supported", json!(["ES256", "PS256", "EdDSA", "Ed25519"])),
        ("require_pushed_authorization_requests", json!(true)),
        ("code_challenge_methods_supported", json!(["S256"])),
        ("response_types_supported", json!(["code"])),
        ("authorization_response_iss_parameter_supported", json!(true)),
    ] {
        assert_eq!(metadata[member], expected, "{member}");
    }
    let received = client.sign_in(&hub, &client.request()).await;
    assert_eq!(client.tokens(&hub, received.code()).await["token_type"], "DPoP");
}
