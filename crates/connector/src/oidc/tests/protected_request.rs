//! Pushed and signed authorization requests of the hub, verified with an independent library.

use std::collections::BTreeMap;

use josekit::jwk::JwkSet;
use josekit::jws::{ES256, deserialize_compact};
use serde_json::json;

use super::super::*;
use super::query_pairs;
use crate::testing::fake_idp::*;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_protocol::catalogue::ErrorCode;

async fn fixture_announcing(more: &str) -> OidcFixture {
    let fixture = OidcFixture::with(more).await;
    let endpoint = format!("{}/par", fixture.server.base());
    fixture.script().discovery["pushed_authorization_request_endpoint"] = endpoint.into();
    fixture
}

async fn address(fixture: &OidcFixture) -> BTreeMap<String, String> {
    query_pairs(&fixture.connector.begin_login(authorization_request()).await.unwrap().url)
}

async fn refused(fixture: &OidcFixture) -> ErrorCode {
    let error = fixture.connector.begin_login(authorization_request()).await.err().unwrap();
    for secret in [SECRET, "the nonce", "the state", "eyJ"] {
        assert!(!error.detail.contains(secret), "{secret} leaks: {}", error.detail);
    }
    error.code
}

/// The headers and the form of the pushed request.
fn pushed(fixture: &OidcFixture) -> (String, BTreeMap<String, String>) {
    let script = fixture.script();
    let request = script.log.iter().rfind(|request| request.target == "/par").unwrap();
    assert_eq!(request.method, "POST");
    let form = url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
    (request.headers.clone(), form)
}

/// Verifies an object with josekit and the published key set.
fn opened(fixture: &OidcFixture, object: &str) -> (Value, Value) {
    let header =
        passerelle_protocol::digest::from_base64url(object.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let set = JwkSet::from_bytes(fixture.keys.load().jwks(Timestamp::from_seconds(NOW))).unwrap();
    let key = *set.get(header["kid"].as_str().unwrap()).first().unwrap();
    let (payload, _) = deserialize_compact(object, &ES256.verifier_from_jwk(key).unwrap()).unwrap();
    (header, serde_json::from_slice(&payload).unwrap())
}

#[tokio::test]
async fn pushed_requests_are_sent_only_if_the_file_enables_them() {
    let fixture = fixture_announcing("").await;
    assert!(address(&fixture).await.contains_key("nonce"));
    let silent = OidcFixture::with("pushed_authorization_requests = \"auto\"").await;
    assert!(address(&silent).await.contains_key("nonce"));
    assert_eq!((fixture.script().calls("/par"), silent.script().calls("/par")), (0, 0));
    let demanding = OidcFixture::with("pushed_authorization_requests = \"on\"").await;
    assert_eq!(refused(&demanding).await, ErrorCode::IdpDiscovery);
}

#[tokio::test]
async fn a_pushed_request_leaves_only_a_reference_in_the_address() {
    for switch in ["auto", "on"] {
        let more = format!("pushed_authorization_requests = \"{switch}\"");
        let fixture = fixture_announcing(&more).await;
        let expected = [("client_id", "hub"), ("request_uri", "urn:example:1"), ("tenant", "1")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(address(&fixture).await, expected.into());
        let (headers, form) = pushed(&fixture);
        assert!(!headers.to_ascii_lowercase().contains("authorization:"));
        assert_eq!(form["client_secret"], SECRET);
        assert_eq!((form["state"].as_str(), form["nonce"].as_str()), ("the state", "the nonce"));
        assert_eq!(form["code_challenge_method"], "S256");
        assert!(!form.contains_key("tenant"), "of the endpoint's own address");
        fixture.complete_login().await.unwrap();
    }
}

#[tokio::test]
async fn the_hub_authenticates_with_its_registered_method() {
    let push = "pushed_authorization_requests = \"on\"\ntoken_endpoint_auth_method";
    let basic = fixture_announcing(&format!("{push} = \"client_secret_basic\"")).await;
    address(&basic).await;
    let (headers, form) = pushed(&basic);
    assert!(headers.contains("authorization: Basic "), "{headers}");
    assert!(!form.contains_key("client_secret"));

    let signing = fixture_announcing(&format!("{push} = \"private_key_jwt\"")).await;
    address(&signing).await;
    let (_, form) = pushed(&signing);
    let (_, claims) = opened(&signing, &form["client_assertion"]);
    assert_eq!(claims["aud"], signing.server.base());
}

#[tokio::test]
async fn a_signed_request_has_every_parameter_in_the_object() {
    let fixture =
        OidcFixture::with("request_objects = \"on\"\nrequest_amr = true\nmax_age = true").await;
    let aged = UpstreamAuthorizationRequest { max_age: Some(60), ..authorization_request() };
    let sent = query_pairs(&fixture.connector.begin_login(aged).await.unwrap().url);
    let names: Vec<_> = sent.keys().map(String::as_str).collect();
    assert_eq!(names, ["client_id", "request", "response_type", "scope", "tenant"]);
    let (header, claims) = opened(&fixture, &sent["request"]);
    assert_eq!((&header["alg"], &header["typ"]), (&json!("ES256"), &json!("oauth-authz-req+jwt")));
    assert_eq!((&claims["iss"], &claims["client_id"]), (&json!("hub"), &json!("hub")));
    assert_eq!(claims["aud"], fixture.server.base());
    assert_eq!((&claims["nbf"], &claims["exp"]), (&json!(NOW), &json!(NOW + 300)));
    assert_eq!((&claims["state"], &claims["max_age"]), (&json!("the state"), &json!(60)));
    assert_eq!(claims["claims"]["id_token"]["amr"]["essential"], true);
    assert_eq!(claims["jti"].as_str().unwrap().len(), 43);
    assert!(claims.get("sub").is_none(), "no client assertion");
    let again = address(&fixture).await;
    assert_ne!(opened(&fixture, &again["request"]).1["jti"], claims["jti"]);
}

#[tokio::test]
async fn a_signed_request_is_pushed_without_its_parameters() {
    let fixture =
        fixture_announcing("request_objects = \"auto\"\npushed_authorization_requests = \"auto\"")
            .await;
    fixture.script().discovery["require_signed_request_object"] = json!(true);
    assert_eq!(address(&fixture).await["request_uri"], "urn:example:1");
    let (_, form) = pushed(&fixture);
    let names: Vec<_> = form.keys().map(String::as_str).collect();
    assert_eq!(names, ["client_id", "client_secret", "request"]);
    assert_eq!(opened(&fixture, &form["request"]).1["nonce"], "the nonce");
    // Not demanded, so not signed.
    let other = fixture_announcing("request_objects = \"auto\"").await;
    assert!(address(&other).await.contains_key("nonce"));
}

#[tokio::test]
async fn what_the_endpoint_answers_can_not_break_out_of_the_address() {
    let fixture = fixture_announcing("pushed_authorization_requests = \"on\"").await;
    fixture.script().push_response =
        FakeResponse::json(&json!({ "request_uri": "urn:x&redirect_uri=https://evil.example/" }));
    let address = address(&fixture).await;
    assert!(!address.contains_key("redirect_uri"));
    for answer in [
        json!({}),
        json!({ "request_uri": "" }),
        json!({ "request_uri": 7 }),
        json!({ "request_uri": "a b" }),
        json!({ "request_uri": "x".repeat(2049) }),
        json!([]),
    ] {
        fixture.script().push_response = FakeResponse::json(&answer);
        assert_eq!(refused(&fixture).await, ErrorCode::IdpPushAnswer, "{answer}");
    }
}

#[tokio::test]
async fn a_refusal_is_no_outage() {
    let fixture = fixture_announcing("pushed_authorization_requests = \"on\"").await;
    let answer = |status, error: &str| FakeResponse {
        status,
        ..FakeResponse::json(&json!({ "error": error }))
    };
    for (response, code) in [
        (answer(401, "invalid_client"), ErrorCode::IdpClientRefused),
        (answer(400, "invalid_request"), ErrorCode::IdpPushRefused),
        (FakeResponse::status(403), ErrorCode::IdpPushRefused),
        (FakeResponse::status(500), ErrorCode::IdpStatus),
        (FakeResponse::status(302), ErrorCode::IdpStatus),
    ] {
        fixture.script().push_response = response;
        assert_eq!(refused(&fixture).await, code);
    }
}
