//! Tests of discovery and of the keys of an identity provider.

use super::*;

#[tokio::test]
async fn discovery_of_another_issuer_or_to_a_private_address_is_refused() {
    type Change = fn(&mut Value);
    let table: [(&str, Change, ErrorCode); 8] = [
        (
            "another issuer",
            |d| d["issuer"] = json!("https://evil.example"),
            ErrorCode::IdpIssuerMismatch,
        ),
        (
            "a slash more",
            |d| d["issuer"] = json!(format!("{}/", d["issuer"].as_str().unwrap())),
            ErrorCode::IdpIssuerMismatch,
        ),
        ("no issuer", |d| *d = json!({}), ErrorCode::IdpDiscovery),
        (
            "no token endpoint",
            |d| drop(d.as_object_mut().unwrap().remove("token_endpoint")),
            ErrorCode::IdpDiscovery,
        ),
        (
            "metadata service",
            |d| d["token_endpoint"] = json!("http://169.254.169.254/token"),
            ErrorCode::IdpAddressForbidden,
        ),
        (
            "private keys",
            |d| d["jwks_uri"] = json!("http://10.0.0.1/jwks"),
            ErrorCode::IdpAddressForbidden,
        ),
        (
            "user info in userinfo",
            |d| d["userinfo_endpoint"] = json!("http://a:b@idp.example/"),
            ErrorCode::IdpAddressForbidden,
        ),
        (
            "javascript",
            |d| d["authorization_endpoint"] = json!("javascript:alert(1)"),
            ErrorCode::IdpAddressForbidden,
        ),
    ];
    for (attack, change, expected) in table {
        let fixture = OidcFixture::new().await;
        change(&mut fixture.script().discovery);
        assert_eq!(
            fixture
                .connector
                .begin_login(authorization_request())
                .await
                .err()
                .map(|error| error.code),
            Some(expected),
            "{attack}"
        );
    }
    // The host is not in internal_hosts.
    let env = Env::new(Arc::new(ManualClock::default()), Arc::new(SeededEntropy::new(1)));
    assert_eq!(
        connector("http://127.0.0.1:9", "", "", env.clone()).err().map(|error| error.key),
        Some("kind.oidc.issuer")
    );
    let by_name = connector("http://localhost:9", "", "", env).unwrap();
    assert_eq!(by_name.preload().await.unwrap_err().code, ErrorCode::IdpAddressForbidden);
}

#[tokio::test]
async fn keys_and_metadata_are_fetched_once_and_serve_while_the_provider_is_down() {
    let fixture = OidcFixture::new().await;
    for _ in 0..3 {
        fixture.complete_login().await.unwrap();
    }
    let calls = |path: &str| fixture.script().calls(path);
    assert_eq!((calls("/.well-known/openid-configuration"), calls("/jwks")), (1, 1));
    fixture.clock.advance(Duration::from_secs(3600));
    fixture.script().discovery = json!("broken");
    assert!(
        fixture.connector.begin_login(authorization_request()).await.is_ok(),
        "the cached copy is used"
    );
    assert_eq!(calls("/.well-known/openid-configuration"), 2);
}

#[tokio::test]
async fn a_rotated_key_is_fetched_at_once_and_a_removed_one_is_rejected() {
    let fixture = OidcFixture::new().await;
    fixture.complete_login().await.unwrap();
    let (key, public) = ec_key("k2");
    {
        let mut script = fixture.script();
        (script.key, script.published, script.header["kid"]) = (key, vec![public], json!("k2"));
    }
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.script().calls("/jwks"), 2);
    fixture.script().header["kid"] = json!("k1");
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenKey));
    assert_eq!(fixture.script().calls("/jwks"), 2, "not twice within a minute");
}

#[tokio::test]
async fn configured_endpoints_need_no_discovery() {
    let fixture = OidcFixture::new().await;
    let base = fixture.server.base();
    let endpoints = format!(
        "endpoints = {{ authorization = \"{base}/authorize\", token = \"{base}/token\", userinfo = \"{base}/userinfo\", jwks = \"{base}/jwks\" }}"
    );
    let env = Env::new(Arc::clone(&fixture.clock) as _, Arc::new(SeededEntropy::new(1)));
    let connector = connector(&base, &endpoints, "internal_hosts = [\"127.0.0.1\"]", env).unwrap();
    let redirect = connector.begin_login(authorization_request()).await.unwrap();
    assert!(!redirect.iss_expected);
    let callback = CallbackParams { iss: None, ..fixture.callback() };
    assert!(
        connector
            .complete_login(attempt(authorization_request(), redirect), callback)
            .await
            .is_ok()
    );
    assert_eq!(fixture.script().calls("/.well-known/openid-configuration"), 0);
}
