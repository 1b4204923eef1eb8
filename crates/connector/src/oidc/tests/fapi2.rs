//! `fapi2 = true`: nothing weaker than the profile is ever used.

use serde_json::json;

use super::super::*;
use super::query_pairs;
use crate::testing::fake_idp::*;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_protocol::catalogue::ErrorCode;

const PROFILE: &str = "fapi2 = true\ntoken_endpoint_auth_method = \"private_key_jwt\"\n\
                       pushed_authorization_requests = \"on\"\ndpop = \"on\"";

async fn fixture_with_profile(more: &str) -> OidcFixture {
    let fixture = OidcFixture::with(&format!("{PROFILE}\n{more}")).await;
    let mut script = fixture.script();
    script.token_type = "DPoP";
    let base = script.base.clone();
    for (name, value) in [
        ("pushed_authorization_request_endpoint", json!(format!("{base}/par"))),
        ("code_challenge_methods_supported", json!(["S256"])),
        ("token_endpoint_auth_methods_supported", json!(["private_key_jwt"])),
        ("dpop_signing_alg_values_supported", json!(["ES256"])),
    ] {
        script.discovery[name] = value;
    }
    drop(script);
    fixture
}

#[tokio::test]
async fn the_browser_carries_a_reference_and_the_token_request_proves_two_keys() {
    let fixture = fixture_with_profile("").await;
    let attempt = fixture.attempt().await;
    let names: Vec<_> = query_pairs(&attempt.redirect.url).into_keys().collect();
    assert_eq!(names, ["client_id", "request_uri", "tenant"]);
    assert!(attempt.redirect.iss_expected);
    fixture.complete_login_with(attempt).await.unwrap();
    let script = fixture.script();
    let token = script.log.iter().find(|request| request.target == "/token").unwrap();
    assert!(verified_proof(token).is_some() && token.body.contains("client_assertion="));
}

#[tokio::test]
async fn metadata_that_would_downgrade_the_login_is_refused_by_name() {
    for (member, weaker, words) in [
        (
            "pushed_authorization_request_endpoint",
            json!(null),
            "pushed_authorization_request_endpoint",
        ),
        (
            "authorization_response_iss_parameter_supported",
            json!(false),
            "iss_parameter_supported = true",
        ),
        ("code_challenge_methods_supported", json!(["plain"]), "S256 in code_challenge"),
        (
            "token_endpoint_auth_methods_supported",
            json!(["client_secret_post"]),
            "private_key_jwt in",
        ),
        (
            "token_endpoint_auth_signing_alg_values_supported",
            json!(["RS256"]),
            "ES256 in token_endpoint",
        ),
        ("id_token_signing_alg_values_supported", json!(["RS256"]), "ES256 in id_token"),
        ("dpop_signing_alg_values_supported", json!(null), "ES256 in dpop"),
    ] {
        let fixture = fixture_with_profile("").await;
        fixture.script().discovery[member] = weaker;
        let error = fixture.connector.begin_login(authorization_request()).await.err().unwrap();
        assert_eq!(error.code, ErrorCode::IdpDiscovery, "{member}");
        assert!(error.detail.contains(words), "{}", error.detail);
        assert!(error.detail.contains("remove fapi2"), "{}", error.detail);
    }
    let signed = fixture_with_profile("authorization_signed_response_alg = \"ES256\"").await;
    signed.script().discovery["authorization_response_iss_parameter_supported"] = json!(false);
    signed.connector.begin_login(authorization_request()).await.unwrap();
    signed.script().discovery["authorization_signing_alg_values_supported"] = json!(["RS256"]);
    assert!(signed.connector.probe().await.is_err());
}

#[tokio::test]
async fn an_answer_without_iss_is_a_refused_mix_up() {
    let fixture = fixture_with_profile("").await;
    let attempt = fixture.attempt().await;
    let bare = CallbackParams { iss: None, ..fixture.callback() };
    let error = fixture.connector.complete_login(attempt, bare).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::IdpIssMissing);
}

#[tokio::test]
async fn a_list_with_the_hub_alone_is_its_audience() {
    let fixture = fixture_with_profile("").await;
    fixture.script().claims["aud"] = json!(["hub"]);
    fixture.complete_login().await.unwrap();
}

#[tokio::test]
async fn a_token_answer_needs_no_lifetime() {
    let fixture = fixture_with_profile("").await;
    let id_token = {
        let script = fixture.script();
        script.sign(&script.claims)
    };
    fixture.script().token_response = Some(FakeResponse::json(
        &json!({ "access_token": "at-1", "token_type": "DPoP", "id_token": id_token }),
    ));
    fixture.complete_login().await.unwrap();
}
