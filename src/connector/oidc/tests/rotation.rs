//! Upstream key rotation, and documents that are none (decisions 10): what an identity provider may do to its keys and
//! its configuration, and what the hub makes of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::fake_idp::*;
use crate::connector::Connector as _;
use crate::egress::fake::Told;
use crate::protocol::catalogue::ErrorCode;

const MINUTE: Duration = Duration::from_secs(60);

impl World {
    /// The identity provider signs with a new key from now on; gives its public half.
    fn rotate(&self, kid: &str) -> Value {
        let (key, public) = ec_key(kid);
        let mut script = self.script();
        (script.key, script.header["kid"]) = (key, json!(kid));
        public
    }

    fn publish(&self, keys: Vec<Value>) {
        self.script().published = keys;
    }

    fn fetched(&self) -> usize {
        self.script().calls("/jwks")
    }
}

#[tokio::test]
async fn the_same_kid_with_a_new_key_is_fetched_once_and_judged_again() {
    let world = World::new().await;
    world.complete().await.unwrap();
    let public = world.rotate("k1");
    world.publish(vec![public]);
    world.complete().await.unwrap();
    assert_eq!(world.fetched(), 2);
    world.complete().await.unwrap();
    assert_eq!(world.fetched(), 2, "it is known now");
}

#[tokio::test]
async fn forged_signatures_can_not_make_the_hub_fetch_more_than_once_a_minute() {
    let world = World::new().await;
    world.complete().await.unwrap();
    world.rotate("k1");
    for _ in 0..3 {
        assert_eq!(world.complete().await.err(), Some(ErrorCode::IdTokenSignature));
    }
    assert_eq!(world.fetched(), 2);
    world.script().claims["exp"] = json!(NOW + 600);
    world.clock.advance(MINUTE);
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdTokenSignature));
    assert_eq!(world.fetched(), 3);
}

#[tokio::test]
async fn logins_that_meet_a_new_key_together_share_one_fetch() {
    let world = World::new().await;
    world.complete().await.unwrap();
    let public = world.rotate("k2");
    world.publish(vec![public]);
    let (one, two, three) = tokio::join!(world.complete(), world.complete(), world.complete());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(world.fetched(), 2);
}

#[tokio::test]
async fn a_token_by_a_key_that_was_removed_is_refused_after_the_refresh() {
    let world = World::new().await;
    world.complete().await.unwrap();
    let old = world.script().published[0].clone();
    let public = ec_key("k2").1;
    world.publish(vec![public.clone()]);
    world.complete().await.unwrap();
    assert_eq!(world.fetched(), 1, "the copy at hand is still believed");
    world.script().claims["exp"] = json!(NOW + 3600);
    world.clock.advance(MINUTE * 11);
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdTokenKey));
    // Put back, it counts again.
    world.publish(vec![public, old]);
    world.clock.advance(MINUTE);
    assert!(world.complete().await.is_ok());
}

#[tokio::test]
async fn while_keys_can_not_be_had_or_used_the_last_good_ones_serve() {
    let world = World::new().await;
    world.complete().await.unwrap();
    world.script().claims["exp"] = json!(NOW + 86_400);
    let html = Told {
        status: 200,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>Sorry!</html>".to_vec(),
    };
    let many =
        (0..10_000).map(|n| json!({ "kty": "EC", "kid": n.to_string() })).collect::<Vec<_>>();
    let broken = [
        Told::status(503),
        html,
        Told::json(&json!({ "keys": [] })),
        Told::json(&json!({ "keys": many })),
        Told { status: 200, headers: vec![], body: vec![b' '; 2 << 20] },
        Told {
            status: 302,
            headers: vec![("location", "http://10.0.0.1/jwks".into())],
            body: vec![],
        },
    ];
    for (number, told) in broken.into_iter().enumerate() {
        world.script().jwks = Some(told);
        world.clock.advance(MINUTE * 11);
        let before = world.fetched();
        assert!(world.complete().await.is_ok(), "row {number}");
        assert_eq!(world.fetched(), before + 1, "row {number}");
    }
}

#[tokio::test]
async fn without_any_good_copy_each_bad_key_set_has_its_own_code() {
    let told = |body: &str| Told { status: 200, headers: vec![], body: body.as_bytes().to_vec() };
    let (_, sound) = ec_key("a");
    let keys = |count: usize| {
        let named = |n: usize| {
            let mut key = sound.clone();
            key["kid"] = json!(n.to_string());
            key
        };
        Told::json(&json!({ "keys": (0..count).map(named).collect::<Vec<_>>() }))
    };
    let enc = Told::json(
        &json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "enc" }, { "kty": "oct", "k": "AAAA" }] }),
    );
    let table = [
        ("html", told("<!doctype html><title>Login</title>"), ErrorCode::IdpKeys, "JWK Set"),
        ("a member twice", told(r#"{"keys":[],"keys":[]}"#), ErrorCode::IdpKeys, "repeated"),
        (
            "nothing of use",
            enc,
            ErrorCode::IdpKeys,
            "1 with private or symmetric parts, which prove nothing once published, 1 for another use",
        ),
        ("101 keys", keys(101), ErrorCode::IdpKeysTooMany, "101 keys"),
        (
            "10,000 keys that fit into a mebibyte",
            told(&format!("{{\"keys\":[{}1]}}", "1,".repeat(9_999))),
            ErrorCode::IdpKeysTooMany,
            "10000 keys",
        ),
        ("10,000 whole keys", keys(10_000), ErrorCode::IdpTooLarge, "larger than"),
        ("down", Told::status(503), ErrorCode::IdpStatus, "503"),
        (
            "elsewhere",
            Told {
                status: 302,
                headers: vec![("location", "http://10.0.0.1/".into())],
                body: vec![],
            },
            ErrorCode::IdpStatus,
            "not followed",
        ),
    ];
    for (what, told, code, words) in table {
        let world = World::new().await;
        world.script().jwks = Some(told);
        let fault = world.connector.warm().await.unwrap_err();
        assert_eq!(fault.code, code, "{what}");
        assert!(fault.detail.contains(words), "{what}: {}", fault.detail);
    }
}

#[tokio::test]
async fn two_keys_under_one_kid_prove_nothing_until_one_is_gone() {
    let world = World::new().await;
    let own = world.script().published[0].clone();
    world.publish(vec![own.clone(), ec_key("k1").1]);
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdTokenKey));
    // One key twice is one key.
    world.publish(vec![own.clone(), own]);
    world.clock.advance(MINUTE);
    world.script().claims["exp"] = json!(NOW + 600);
    assert!(world.complete().await.is_ok());
}

#[tokio::test]
async fn a_discovery_document_that_is_none_has_its_own_code_and_goes_nowhere() {
    let table = [
        (
            "html",
            Told {
                status: 200,
                headers: vec![("content-type", "text/html".into())],
                body: b"<html>".to_vec(),
            },
            ErrorCode::IdpDiscovery,
            "JSON object",
        ),
        (
            "50 MB announced",
            Told {
                status: 200,
                headers: vec![("content-length", "52428800".into())],
                body: vec![],
            },
            ErrorCode::IdpTooLarge,
            "larger than",
        ),
        (
            "50 MB",
            Told { status: 200, headers: vec![], body: vec![b' '; 50 << 20] },
            ErrorCode::IdpTooLarge,
            "larger than",
        ),
        (
            "a redirect to a private address",
            Told {
                status: 301,
                headers: vec![("location", "http://10.0.0.1/".into())],
                body: vec![],
            },
            ErrorCode::IdpStatus,
            "not followed",
        ),
    ];
    for (what, told, code, words) in table {
        let world = World::new().await;
        world.script().configuration = Some(told);
        let fault = world.connector.warm().await.unwrap_err();
        assert_eq!(fault.code, code, "{what}");
        assert!(fault.detail.contains(words), "{what}: {}", fault.detail);
        assert_eq!(world.server.asked(), 1, "{what}");
    }
    let world = World::new().await;
    let base = world.server.base();
    world.script().discovery["issuer"] = json!(format!("{base}/"));
    let fault = world.connector.warm().await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::IdpIssuerMismatch);
    assert!(fault.detail.contains("differs by a slash"), "{}", fault.detail);
}

#[tokio::test]
async fn a_probe_is_a_real_call_and_what_it_brings_is_kept() {
    let world = World::new().await;
    world.connector.warm().await.unwrap();
    world.connector.warm().await.unwrap();
    assert_eq!(world.server.asked(), 2);
    let public = world.rotate("k2");
    world.publish(vec![public]);
    world.connector.probe().await.unwrap();
    assert_eq!(world.server.asked(), 4);
    world.complete().await.unwrap();
    assert_eq!(world.fetched(), 2, "the probe brought the new key");
    world.script().jwks = Some(Told::status(500));
    assert_eq!(world.connector.probe().await.unwrap_err().code, ErrorCode::IdpStatus);
}

#[tokio::test]
async fn what_changes_nothing_is_asked_twice_where_the_connection_broke_and_a_code_is_sent_once() {
    let world = World::new().await;
    world.script().cut = vec!["/.well-known/openid-configuration", "/jwks", "/userinfo"];
    world.complete().await.unwrap();
    for path in ["/.well-known/openid-configuration", "/jwks", "/userinfo"] {
        assert_eq!(world.script().calls(path), 2, "{path}");
    }
    assert_eq!(world.script().calls("/token"), 1);
    world.script().cut = vec!["/token"];
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdpUnreachable));
    assert_eq!(world.script().calls("/token"), 2, "once for each login");
    world.script().cut = vec!["/userinfo", "/userinfo"];
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdpUnreachable));
}
