//! Key rotation at the identity provider, and invalid key sets and configuration documents.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Connector as _;
use crate::testing::fake_idp::*;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_protocol::catalogue::ErrorCode;

const MINUTE: Duration = Duration::from_secs(60);

impl OidcFixture {
    /// Makes the identity provider sign with a new key, and returns its public part.
    fn rotate(&self, kid: &str) -> Value {
        let (key, public) = ec_key(kid);
        let mut script = self.script();
        (script.key, script.header["kid"]) = (key, json!(kid));
        public
    }

    fn publish(&self, keys: Vec<Value>) {
        self.script().published = keys;
    }

    fn key_set_fetches(&self) -> usize {
        self.script().calls("/jwks")
    }
}

#[tokio::test]
async fn a_new_key_with_the_same_kid_is_fetched_once_and_the_token_verified_again() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    let public = fixture.rotate("k1");
    fixture.publish(vec![public]);
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.key_set_fetches(), 2);
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.key_set_fetches(), 2, "the key is cached");
}

#[tokio::test]
async fn forged_signatures_can_not_make_the_hub_fetch_more_than_once_a_minute() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    fixture.rotate("k1");
    for _ in 0..3 {
        assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenSignature));
    }
    assert_eq!(fixture.key_set_fetches(), 2);
    fixture.script().claims["exp"] = json!(NOW + 600);
    fixture.clock.advance(MINUTE);
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenSignature));
    assert_eq!(fixture.key_set_fetches(), 3);
}

#[tokio::test]
async fn concurrent_logins_with_a_new_key_share_one_fetch() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    let public = fixture.rotate("k2");
    fixture.publish(vec![public]);
    let (one, two, three) =
        tokio::join!(fixture.complete_login(), fixture.complete_login(), fixture.complete_login());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(fixture.key_set_fetches(), 2);
}

#[tokio::test]
async fn a_token_signed_by_a_removed_key_is_rejected_after_the_refresh() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    let old = fixture.script().published[0].clone();
    let public = ec_key("k2").1;
    fixture.publish(vec![public.clone()]);
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.key_set_fetches(), 1, "the cached copy is still valid");
    fixture.script().claims["exp"] = json!(NOW + 3600);
    fixture.clock.advance(MINUTE * 11);
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenKey));
    // After it is published again, it is accepted.
    fixture.publish(vec![public, old]);
    fixture.clock.advance(MINUTE);
    assert!(fixture.complete_login().await.is_ok());
}

#[tokio::test]
async fn the_last_good_keys_serve_while_the_key_set_is_unavailable_or_invalid() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    fixture.script().claims["exp"] = json!(NOW + 86_400);
    let html = FakeResponse {
        status: 200,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>Sorry!</html>".to_vec(),
    };
    let many =
        (0..10_000).map(|n| json!({ "kty": "EC", "kid": n.to_string() })).collect::<Vec<_>>();
    let broken = [
        FakeResponse::status(503),
        html,
        FakeResponse::json(&json!({ "keys": [] })),
        FakeResponse::json(&json!({ "keys": many })),
        FakeResponse { status: 200, headers: vec![], body: vec![b' '; 2 << 20] },
        FakeResponse {
            status: 302,
            headers: vec![("location", "http://10.0.0.1/jwks".into())],
            body: vec![],
        },
    ];
    for (number, response) in broken.into_iter().enumerate() {
        fixture.script().jwks_response = Some(response);
        fixture.clock.advance(MINUTE * 11);
        let before = fixture.key_set_fetches();
        assert!(fixture.complete_login().await.is_ok(), "row {number}");
        assert_eq!(fixture.key_set_fetches(), before + 1, "row {number}");
    }
}

#[tokio::test]
async fn without_a_cached_copy_each_invalid_key_set_has_its_own_code() {
    let response =
        |body: &str| FakeResponse { status: 200, headers: vec![], body: body.as_bytes().to_vec() };
    let (_, sound) = ec_key("a");
    let keys = |count: usize| {
        let named = |n: usize| {
            let mut key = sound.clone();
            key["kid"] = json!(n.to_string());
            key
        };
        FakeResponse::json(&json!({ "keys": (0..count).map(named).collect::<Vec<_>>() }))
    };
    let enc = FakeResponse::json(
        &json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "enc" }, { "kty": "oct", "k": "AAAA" }] }),
    );
    let table = [
        ("html", response("<!doctype html><title>Login</title>"), ErrorCode::IdpKeys, "JWK Set"),
        ("keys twice", response(r#"{"keys":[],"keys":[]}"#), ErrorCode::IdpKeys, "one member keys"),
        (
            "a member of the only key twice",
            response(r#"{"keys":[{"kty":"EC","crv":"P-256","crv":"P-256"}]}"#),
            ErrorCode::IdpKeys,
            "1 with a repeated member",
        ),
        (
            "no usable key",
            enc,
            ErrorCode::IdpKeys,
            "1 with published private or symmetric members, which anyone can sign with, 1 for another use",
        ),
        (
            "10,000 keys that fit into a mebibyte",
            response(&format!("{{\"keys\":[{}1]}}", "1,".repeat(9_999))),
            ErrorCode::IdpKeys,
            "10000 malformed",
        ),
        ("10,000 whole keys", keys(10_000), ErrorCode::IdpTooLarge, "larger than"),
        ("down", FakeResponse::status(503), ErrorCode::IdpStatus, "503"),
        (
            "elsewhere",
            FakeResponse {
                status: 302,
                headers: vec![("location", "http://10.0.0.1/".into())],
                body: vec![],
            },
            ErrorCode::IdpStatus,
            "not followed",
        ),
    ];
    for (what, response, code, words) in table {
        let fixture = OidcFixture::new().await;
        fixture.script().jwks_response = Some(response);
        let error = fixture.connector.preload().await.unwrap_err();
        assert_eq!(error.code, code, "{what}");
        assert!(error.detail.contains(words), "{what}: {}", error.detail);
    }
}

#[tokio::test]
async fn the_key_of_a_token_is_found_in_a_large_key_set() {
    let fixture = OidcFixture::new().await;
    let own = fixture.script().published[0].clone();
    let (_, other) = ec_key("other");
    let named = |n: usize| {
        let mut key = other.clone();
        key["kid"] = json!(n.to_string());
        key
    };
    let unusable = (0..300).map(|_| json!({ "kty": "oct", "k": "AAAA" }));
    fixture.publish((0..300).map(named).chain(unusable).chain([own]).collect());
    assert_eq!(fixture.complete_login().await.map(drop), Ok(()));
}

#[tokio::test]
async fn two_keys_with_one_kid_are_rejected_until_one_is_removed() {
    let fixture = OidcFixture::new().await;
    let own = fixture.script().published[0].clone();
    fixture.publish(vec![own.clone(), ec_key("k1").1]);
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenKey));
    // A repeated key counts once.
    fixture.publish(vec![own.clone(), own]);
    fixture.clock.advance(MINUTE);
    fixture.script().claims["exp"] = json!(NOW + 600);
    assert!(fixture.complete_login().await.is_ok());
}

#[tokio::test]
async fn each_invalid_configuration_document_has_its_own_code_and_causes_no_further_call() {
    let table = [
        (
            "html",
            FakeResponse {
                status: 200,
                headers: vec![("content-type", "text/html".into())],
                body: b"<html>".to_vec(),
            },
            ErrorCode::IdpDiscovery,
            "JSON object",
        ),
        (
            "50 MB announced",
            FakeResponse {
                status: 200,
                headers: vec![("content-length", "52428800".into())],
                body: vec![],
            },
            ErrorCode::IdpTooLarge,
            "larger than",
        ),
        (
            "50 MB",
            FakeResponse { status: 200, headers: vec![], body: vec![b' '; 50 << 20] },
            ErrorCode::IdpTooLarge,
            "larger than",
        ),
        (
            "a redirect to a private address",
            FakeResponse {
                status: 301,
                headers: vec![("location", "http://10.0.0.1/".into())],
                body: vec![],
            },
            ErrorCode::IdpStatus,
            "not followed",
        ),
    ];
    for (what, response, code, words) in table {
        let fixture = OidcFixture::new().await;
        fixture.script().discovery_response = Some(response);
        let error = fixture.connector.preload().await.unwrap_err();
        assert_eq!(error.code, code, "{what}");
        assert!(error.detail.contains(words), "{what}: {}", error.detail);
        assert_eq!(fixture.server.request_count(), 1, "{what}");
    }
    let fixture = OidcFixture::new().await;
    let base = fixture.server.base();
    fixture.script().discovery["issuer"] = json!(format!("{base}/"));
    let error = fixture.connector.preload().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::IdpIssuerMismatch);
    assert!(error.detail.contains("differs by a trailing slash"), "{}", error.detail);
}

#[tokio::test]
async fn a_probe_calls_the_identity_provider_and_caches_the_documents() {
    let fixture = OidcFixture::new().await;
    fixture.connector.preload().await.unwrap();
    fixture.connector.preload().await.unwrap();
    assert_eq!(fixture.server.request_count(), 2);
    let public = fixture.rotate("k2");
    fixture.publish(vec![public]);
    fixture.connector.probe().await.unwrap();
    assert_eq!(fixture.server.request_count(), 4);
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.key_set_fetches(), 2, "the probe fetched the new key");
    fixture.script().jwks_response = Some(FakeResponse::status(500));
    assert_eq!(fixture.connector.probe().await.unwrap_err().code, ErrorCode::IdpStatus);
}

#[tokio::test]
async fn idempotent_calls_are_retried_after_a_failed_connection_and_a_code_is_sent_once() {
    let fixture = OidcFixture::new().await;
    fixture.script().closed_paths = vec!["/.well-known/openid-configuration", "/jwks", "/userinfo"];
    fixture.complete_login().await.unwrap();
    for path in ["/.well-known/openid-configuration", "/jwks", "/userinfo"] {
        assert_eq!(fixture.script().calls(path), 2, "{path}");
    }
    assert_eq!(fixture.script().calls("/token"), 1);
    fixture.script().closed_paths = vec!["/token"];
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdpUnreachable));
    assert_eq!(fixture.script().calls("/token"), 2, "once per login");
    fixture.script().closed_paths = vec!["/userinfo", "/userinfo"];
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdpUnreachable));
}
