//! Probes of the hub: they fetch public documents, and are never answered from the cache.

use std::time::Duration;

use crate::Connector as _;
use crate::testing::fake_idp::OidcFixture;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_protocol::catalogue::ErrorCode;

#[tokio::test]
async fn a_probe_is_never_answered_from_the_cache_and_follows_a_new_jwks_uri() {
    let fixture = OidcFixture::new().await;
    for times in 1..=3 {
        fixture.connector.probe().await.unwrap();
        assert_eq!(fixture.script().calls("/.well-known/openid-configuration"), times);
        assert_eq!(fixture.script().calls("/jwks"), times);
    }
    // A request with a made-up code would be code guessing to the identity provider.
    assert_eq!(fixture.script().calls("/token"), 0);
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
