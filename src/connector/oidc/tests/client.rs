//! How the hub proves to an identity provider who it is: what arrives at the token endpoint, judged without our own code.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use josekit::jwk::JwkSet;
use josekit::jws::{ES256, RS256, deserialize_compact};
use serde_json::json;

use super::super::fake_idp::*;
use super::super::*;
use crate::config::model::ConnectorKind;
use crate::connector::Sandbox;
use crate::egress::shared::Guards;
use crate::env::SeededEntropy;

/// The head and the form of the last token request.
fn token_request(world: &World) -> (String, BTreeMap<String, String>) {
    let script = world.script();
    let asked = script.log.iter().rfind(|asked| asked.target == "/token").unwrap();
    (asked.head.clone(), url::form_urlencoded::parse(asked.body.as_bytes()).into_owned().collect())
}

/// Verified by josekit alone with the key of our published set that the header names; header and claims.
fn judged(world: &World, assertion: &str) -> (Value, Value) {
    let header = crate::digest::from_base64url(assertion.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let set = JwkSet::from_bytes(world.keys.load().jwks(Timestamp::from_seconds(NOW))).unwrap();
    let key = *set.get(header["kid"].as_str().unwrap()).first().unwrap();
    assert_eq!((key.key_use(), key.algorithm()), (Some("sig"), header["alg"].as_str()));
    let (payload, _) = match header["alg"].as_str().unwrap() {
        "ES256" => deserialize_compact(assertion, &ES256.verifier_from_jwk(key).unwrap()).unwrap(),
        _ => deserialize_compact(assertion, &RS256.verifier_from_jwk(key).unwrap()).unwrap(),
    };
    (header, serde_json::from_slice(&payload).unwrap())
}

#[tokio::test]
async fn the_secret_travels_in_the_header_where_basic_is_registered() {
    let world = World::with("token_endpoint_auth_method = \"client_secret_basic\"").await;
    world.complete().await.unwrap();
    let (head, form) = token_request(&world);
    // RFC 6749, 2.3.1: id and secret are form-encoded first.
    let expected = STANDARD.encode(format!("hub:{}", SECRET.replace(' ', "+")));
    assert!(head.contains(&format!("authorization: Basic {expected}")), "{head}");
    // RFC 6749, 2.3: one method in a request.
    assert_eq!(
        form.keys().map(String::as_str).collect::<Vec<_>>(),
        ["code", "code_verifier", "grant_type", "redirect_uri"]
    );
}

#[tokio::test]
async fn an_assertion_proves_the_hub_where_private_key_jwt_is_registered() {
    let method = "token_endpoint_auth_method = \"private_key_jwt\"";
    let table = [
        ("", "ES256", ""),
        ("token_endpoint_auth_signing_alg = \"RS256\"", "RS256", ""),
        ("client_assertion_audience = \"token_endpoint\"", "ES256", "/token"),
    ];
    let mut ids = BTreeSet::new();
    for (more, alg, audience) in table {
        let world = World::with(&format!("{method}\n{more}")).await;
        for _ in 0..2 {
            world.complete().await.unwrap();
            let (head, form) = token_request(&world);
            assert!(
                !head.to_ascii_lowercase().contains("authorization:")
                    && !form.contains_key("client_secret")
            );
            assert_eq!(form["client_id"], "hub");
            assert_eq!(
                form["client_assertion_type"],
                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            );
            let (header, claims) = judged(&world, &form["client_assertion"]);
            assert_eq!((header["alg"].as_str(), header["typ"].as_str()), (Some(alg), Some("JWT")));
            let named = |name: &str| claims[name].as_str().unwrap().to_owned();
            assert_eq!((named("iss"), named("sub")), ("hub".into(), "hub".into()));
            assert_eq!(named("aud"), format!("{}{audience}", world.server.base()));
            assert_eq!((&claims["iat"], &claims["exp"]), (&json!(NOW), &json!(NOW + 60)));
            assert_eq!(claims.as_object().unwrap().len(), 6);
            assert!(named("jti").len() >= 22);
            ids.insert((more, named("jti")));
        }
    }
    assert_eq!(ids.len(), 6, "no jti is used twice at one identity provider");
}

#[tokio::test]
async fn without_a_key_to_prove_itself_the_hub_sends_no_code() {
    let world = World::with("token_endpoint_auth_method = \"private_key_jwt\"").await;
    world.keys.store(Arc::new(UpstreamKeys::none()));
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdpAssertion));
    assert_eq!(
        world.script().calls("/token"),
        0,
        "without a proof nothing is sent, the code least of all"
    );
}

#[test]
fn a_method_with_a_secret_needs_one() {
    let text = "name = { en = \"Fake\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n\
                [kind.oidc]\nissuer = \"https://idp.example\"\nclient_id = \"hub\"\n";
    let file: ConnectorFile = toml::from_str(text).unwrap();
    let ConnectorKind::Oidc(kind) = &file.kind else { panic!("not oidc") };
    let env = Env::new(Arc::new(crate::env::HandClock::default()), Arc::new(SeededEntropy::new(1)));
    let means = ConnectorContext {
        env,
        keys: Arc::new(ArcSwap::from_pointee(UpstreamKeys::none())),
        sandbox: Sandbox::Off,
        guards: Guards::default(),
        codes: crate::connector::one_time::in_memory::codes(),
    };
    let refused = OidcConnector::new("fake".into(), &file, kind, None, means).err().unwrap();
    assert_eq!(refused.key, "kind.oidc.client_secret");
}
