//! Client authentication of the hub: the requests at the token endpoint, verified with an
//! independent library.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use josekit::jwk::JwkSet;
use josekit::jws::{ES256, RS256, deserialize_compact};
use serde_json::json;

use super::super::*;
use crate::testing::connectors;
use crate::testing::fake_idp::*;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::testing::sample_keys::in_absent_device;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::SeededEntropy;

/// Returns the headers and the form of the last token request.
fn token_request(fixture: &OidcFixture) -> (String, BTreeMap<String, String>) {
    let script = fixture.script();
    let request = script.log.iter().rfind(|request| request.target == "/token").unwrap();
    (
        request.headers.clone(),
        url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect(),
    )
}

/// Verifies an assertion with josekit and the published key set, and returns its header and claims.
fn verify_assertion(fixture: &OidcFixture, assertion: &str) -> (Value, Value) {
    let header =
        passerelle_protocol::digest::from_base64url(assertion.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let set = JwkSet::from_bytes(fixture.keys.load().jwks(Timestamp::from_seconds(NOW))).unwrap();
    let key = *set.get(header["kid"].as_str().unwrap()).first().unwrap();
    assert_eq!((key.key_use(), key.algorithm()), (Some("sig"), header["alg"].as_str()));
    let (payload, _) = match header["alg"].as_str().unwrap() {
        "ES256" => deserialize_compact(assertion, &ES256.verifier_from_jwk(key).unwrap()).unwrap(),
        _ => deserialize_compact(assertion, &RS256.verifier_from_jwk(key).unwrap()).unwrap(),
    };
    (header, serde_json::from_slice(&payload).unwrap())
}

#[tokio::test]
async fn the_secret_is_in_the_header_with_client_secret_basic() {
    let fixture = OidcFixture::with("token_endpoint_auth_method = \"client_secret_basic\"").await;
    fixture.complete_login().await.unwrap();
    let (head, form) = token_request(&fixture);
    // RFC 6749 §2.3.1: id and secret are form-encoded first.
    let expected = STANDARD.encode(format!("hub:{}", SECRET.replace(' ', "+")));
    assert!(head.contains(&format!("authorization: Basic {expected}")), "{head}");
    // RFC 6749 §2.3: one method in a request.
    assert_eq!(
        form.keys().map(String::as_str).collect::<Vec<_>>(),
        ["code", "code_verifier", "grant_type", "redirect_uri"]
    );
}

#[tokio::test]
async fn an_assertion_is_sent_with_private_key_jwt() {
    let method = "token_endpoint_auth_method = \"private_key_jwt\"";
    let table = [
        ("", "ES256", ""),
        ("token_endpoint_auth_signing_alg = \"RS256\"", "RS256", ""),
        ("client_assertion_audience = \"token_endpoint\"", "ES256", "/token"),
    ];
    let mut ids = BTreeSet::new();
    for (more, alg, audience) in table {
        let fixture = OidcFixture::with(&format!("{method}\n{more}")).await;
        for _ in 0..2 {
            fixture.complete_login().await.unwrap();
            let (head, form) = token_request(&fixture);
            assert!(
                !head.to_ascii_lowercase().contains("authorization:")
                    && !form.contains_key("client_secret")
            );
            assert_eq!(form["client_id"], "hub");
            assert_eq!(
                form["client_assertion_type"],
                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            );
            let (header, claims) = verify_assertion(&fixture, &form["client_assertion"]);
            assert_eq!((header["alg"].as_str(), header["typ"].as_str()), (Some(alg), Some("JWT")));
            let named = |name: &str| claims[name].as_str().unwrap().to_owned();
            assert_eq!((named("iss"), named("sub")), ("hub".into(), "hub".into()));
            assert_eq!(named("aud"), format!("{}{audience}", fixture.server.base()));
            assert_eq!((&claims["iat"], &claims["exp"]), (&json!(NOW), &json!(NOW + 60)));
            assert_eq!(claims.as_object().unwrap().len(), 6);
            assert!(named("jti").len() >= 22);
            ids.insert((more, named("jti")));
        }
    }
    assert_eq!(ids.len(), 6, "every jti is unique");
}

#[tokio::test]
async fn without_a_signing_key_the_hub_sends_no_code() {
    let fixture = OidcFixture::with("token_endpoint_auth_method = \"private_key_jwt\"").await;
    fixture.keys.store(Arc::new(RelyingPartyKeys::empty()));
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdpAssertion));
    assert_eq!(
        fixture.script().calls("/token"),
        0,
        "nothing is sent without client authentication"
    );
}

#[tokio::test]
async fn while_the_key_device_is_unavailable_the_hub_sends_no_code() {
    let fixture = OidcFixture::with("token_endpoint_auth_method = \"private_key_jwt\"").await;
    fixture.keys.store(Arc::new(in_absent_device()));
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::KeyDeviceUnavailable));
    assert_eq!(fixture.script().calls("/token"), 0);
}

#[test]
fn a_method_with_a_secret_needs_one() {
    let text = "name = { en = \"Fake\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n\
                [kind.oidc]\nissuer = \"https://idp.example\"\nclient_id = \"hub\"\n";
    let configured = connectors::configured("fake", text, None);
    let env = Env::new(
        Arc::new(passerelle_protocol::testing::env::ManualClock::default()),
        Arc::new(SeededEntropy::new(1)),
    );
    let error = crate::build(&configured, connectors::context(env)).err().unwrap();
    assert_eq!(error.key, "kind.oidc.client_secret");
}

/// Core §5.6.2: nothing is fetched from an address that a token names.
#[tokio::test]
async fn a_distributed_claim_is_left_out_and_its_address_is_not_called() {
    let fixture = OidcFixture::with("userinfo_method = \"post\"").await;
    {
        let mut script = fixture.script();
        let endpoint = format!("{}/claims", script.base);
        script.userinfo = json!({
            "sub": "s-1", "given_name": "Grace",
            "_claim_names": { "email": "src1" },
            "_claim_sources": { "src1": { "endpoint": endpoint, "access_token": "stolen" } },
        });
    }
    let authentication = fixture.complete_login().await.unwrap();
    assert_eq!(authentication.claims["given_name"], "Grace");
    assert_eq!(authentication.claims["email"], "from-id-token@example.org");
    assert!(!authentication.claims.keys().any(|name| name.starts_with("_claim")));
    let script = fixture.script();
    assert_eq!(script.calls("/claims"), 0);
    let asked = script.log.iter().find(|request| request.target == "/userinfo").unwrap();
    assert_eq!((asked.method.as_str(), asked.body.as_str()), ("POST", ""));
    assert!(asked.headers.to_ascii_lowercase().contains("authorization: bearer at-1"));
}
