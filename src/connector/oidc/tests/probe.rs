//! Probes of the hub: responses to a random code, and that no probe is answered from the cache.

use std::time::Duration;

use crate::connector::Connector as _;
use crate::protocol::catalogue::ErrorCode;
use crate::testing::fake_idp::OidcFixture;
use crate::testing::fake_server::FakeResponse;

const REDIRECT_URI: &str = "https://hub.example/api/v2/callback/fake";

fn json(status: u16, body: &str) -> FakeResponse {
    FakeResponse {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn a_random_code_shows_whether_the_token_endpoint_works() {
    let fixture = OidcFixture::new().await;
    let html = |status| FakeResponse {
        status,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>".to_vec(),
    };
    for (number, (response, expected)) in [
        (json(400, r#"{"error":"invalid_grant"}"#), None),
        (json(401, r#"{"error":"invalid_client"}"#), None),
        (json(400, r#"{"error":"invalid_request"}"#), None),
        (json(200, r#"{"error":"bad_verification_code"}"#), None),
        (json(500, "{}"), Some(ErrorCode::IdpStatus)),
        (json(429, "{}"), Some(ErrorCode::IdpThrottled)),
        (html(403), Some(ErrorCode::IdpTokenAnswer)),
        (html(413), Some(ErrorCode::IdpTokenAnswer)),
        (html(503), Some(ErrorCode::IdpStatus)),
        (FakeResponse::connection_closed(), Some(ErrorCode::IdpUnreachable)),
    ]
    .into_iter()
    .enumerate()
    {
        fixture.script().token_response = Some(response);
        let outcome = fixture.connector.probe_login(REDIRECT_URI).await;
        assert_eq!(outcome.err().map(|error| error.code), expected, "row {number}");
    }
    let script = fixture.script();
    let codes: std::collections::BTreeSet<_> = script
        .log
        .iter()
        .filter(|request| request.target == "/token")
        .map(|request| &request.body)
        .collect();
    assert_eq!(codes.len(), 10, "a new code each time");
    assert!(codes.iter().all(|body| {
        body.contains("redirect_uri=https%3A%2F%2Fhub.example%2Fapi%2Fv2%2Fcallback%2Ffake")
    }));
}

#[tokio::test]
async fn a_probe_is_never_answered_from_the_cache_and_follows_a_new_jwks_uri() {
    let fixture = OidcFixture::new().await;
    for times in 1..=3 {
        fixture.connector.probe().await.unwrap();
        assert_eq!(fixture.script().calls("/.well-known/openid-configuration"), times);
        assert_eq!(fixture.script().calls("/jwks"), times);
    }
    let base = fixture.script().base.clone();
    fixture.script().discovery["jwks_uri"] = serde_json::json!(format!("{base}/elsewhere"));
    assert_eq!(
        fixture.connector.probe().await.unwrap_err().code,
        ErrorCode::IdpStatus,
        "there are no keys at the new address"
    );
    assert_eq!(fixture.script().calls("/elsewhere"), 1);
}

#[tokio::test]
async fn retry_after_of_429_and_503_is_respected() {
    let fixture = OidcFixture::new().await;
    fixture.connector.probe().await.unwrap();
    for (status, expected) in [(429, ErrorCode::IdpThrottled), (503, ErrorCode::IdpStatus)] {
        let headers = vec![("retry-after", "90".to_owned())];
        fixture.script().discovery_response = Some(FakeResponse { status, headers, body: vec![] });
        let error = fixture.connector.probe().await.unwrap_err();
        assert_eq!((error.code, error.retry_after), (expected, Some(Duration::from_secs(90))));
    }
    fixture.complete_login().await.unwrap();
}

#[tokio::test]
async fn retry_after_with_other_statuses_is_ignored() {
    let fixture = OidcFixture::new().await;
    for status in [403, 404, 500, 502, 504] {
        let headers = vec![("retry-after", "3600".to_owned())];
        fixture.script().discovery_response = Some(FakeResponse { status, headers, body: vec![] });
        let error = fixture.connector.probe().await.unwrap_err();
        assert_eq!((error.code, error.retry_after), (ErrorCode::IdpStatus, None), "{status}");
    }
}
