//! The hub's own calls: what a working identity provider says to a made-up code, and that each probe goes to the network.

use std::time::Duration;

use super::super::fake_idp::World;
use crate::connector::Connector as _;
use crate::egress::fake::Told;
use crate::protocol::catalogue::ErrorCode;

const REDIRECT_URI: &str = "https://hub.example/api/v2/callback/fake";

fn json(status: u16, body: &str) -> Told {
    Told {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn a_made_up_code_shows_whether_the_token_endpoint_works() {
    let world = World::new().await;
    let html = |status| Told {
        status,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>".to_vec(),
    };
    for (number, (told, expected)) in [
        (json(400, r#"{"error":"invalid_grant"}"#), None),
        (json(401, r#"{"error":"invalid_client"}"#), None),
        (json(400, r#"{"error":"invalid_request"}"#), None),
        (json(200, r#"{"error":"bad_verification_code"}"#), None),
        (json(500, "{}"), Some(ErrorCode::IdpStatus)),
        (json(429, "{}"), Some(ErrorCode::IdpThrottled)),
        (html(403), Some(ErrorCode::IdpTokenAnswer)),
        (html(413), Some(ErrorCode::IdpTokenAnswer)),
        (html(503), Some(ErrorCode::IdpStatus)),
        (Told::cut(), Some(ErrorCode::IdpUnreachable)),
    ]
    .into_iter()
    .enumerate()
    {
        world.script().token = Some(told);
        let outcome = world.connector.probe_login(REDIRECT_URI).await;
        assert_eq!(outcome.err().map(|fault| fault.code), expected, "row {number}");
    }
    let script = world.script();
    let codes: std::collections::BTreeSet<_> = script
        .log
        .iter()
        .filter(|asked| asked.target == "/token")
        .map(|asked| &asked.body)
        .collect();
    assert_eq!(codes.len(), 10, "a new code each time");
    assert!(codes.iter().all(|body| {
        body.contains("redirect_uri=https%3A%2F%2Fhub.example%2Fapi%2Fv2%2Fcallback%2Ffake")
    }));
}

#[tokio::test]
async fn a_probe_is_never_answered_from_memory_and_follows_a_new_jwks_uri() {
    let world = World::new().await;
    for times in 1..=3 {
        world.connector.probe().await.unwrap();
        assert_eq!(world.script().calls("/.well-known/openid-configuration"), times);
        assert_eq!(world.script().calls("/jwks"), times);
    }
    let base = world.script().base.clone();
    world.script().discovery["jwks_uri"] = serde_json::json!(format!("{base}/elsewhere"));
    assert_eq!(
        world.connector.probe().await.unwrap_err().code,
        ErrorCode::IdpStatus,
        "there are no keys at the new address"
    );
    assert_eq!(world.script().calls("/elsewhere"), 1);
}

#[tokio::test]
async fn an_identity_provider_that_limits_the_hub_is_heard() {
    let world = World::new().await;
    world.connector.probe().await.unwrap();
    for (status, expected) in [(429, ErrorCode::IdpThrottled), (503, ErrorCode::IdpStatus)] {
        let headers = vec![("retry-after", "90".to_owned())];
        world.script().configuration = Some(Told { status, headers, body: vec![] });
        let fault = world.connector.probe().await.unwrap_err();
        assert_eq!((fault.code, fault.retry_after), (expected, Some(Duration::from_secs(90))));
    }
    world.complete().await.unwrap();
}

#[tokio::test]
async fn retry_after_with_any_other_status_neither_condemns_nor_delays_a_probe() {
    let world = World::new().await;
    for status in [403, 404, 500, 502, 504] {
        let headers = vec![("retry-after", "3600".to_owned())];
        world.script().configuration = Some(Told { status, headers, body: vec![] });
        let fault = world.connector.probe().await.unwrap_err();
        assert_eq!((fault.code, fault.retry_after), (ErrorCode::IdpStatus, None), "{status}");
    }
}
