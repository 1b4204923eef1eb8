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
        Some("kind.oidc.issuer".to_owned())
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

#[tokio::test]
async fn malformed_metadata_that_no_login_needs_ends_no_login() {
    for (member, value) in [
        ("op_policy_uri", json!("")),
        ("service_documentation", json!("TBD")),
        ("userinfo_endpoint", json!("")),
        ("userinfo_endpoint", json!(null)),
        ("scopes_supported", json!("openid email")),
        ("response_types_supported", json!("code")),
        ("subject_types_supported", json!(null)),
        ("id_token_signing_alg_values_supported", json!({ "0": "ES256" })),
        ("claims_supported", json!(["sub", 7])),
        ("display_values_supported", json!("")),
        ("registration_endpoint", json!(false)),
        ("claims_parameter_supported", json!("true")),
        ("request_uri_parameter_supported", json!(1)),
        ("end_session_endpoint", json!("/logout")),
        ("pushed_authorization_request_endpoint", json!([])),
        ("mtls_endpoint_aliases", json!("none")),
        ("dpop_signing_alg_values_supported", json!("ES256")),
    ] {
        let fixture = OidcFixture::new().await;
        fixture.script().discovery[member] = value.clone();
        let login = fixture.complete_login().await.map(drop);
        assert_eq!(login, Ok(()), "{member} = {value}");
    }
}

#[tokio::test]
async fn malformed_metadata_that_logins_need_is_named_in_the_error() {
    const SIGNED: &str = "userinfo_signed_response_alg = \"ES256\"";
    const PUSHED: &str = "pushed_authorization_requests = \"on\"";
    for (member, value, more, expected) in [
        ("authorization_endpoint", json!(null), "", "its authorization_endpoint is null"),
        ("token_endpoint", json!(""), "", "its token_endpoint is an empty string"),
        (
            "token_endpoint",
            json!("/token"),
            "",
            "its token_endpoint is a string, not an absolute URL",
        ),
        ("jwks_uri", json!(["x"]), "", "its jwks_uri is a list"),
        ("userinfo_endpoint", json!(""), SIGNED, "its userinfo_endpoint is an empty string"),
        (
            "pushed_authorization_request_endpoint",
            json!(7),
            PUSHED,
            "its pushed_authorization_request_endpoint is a number",
        ),
    ] {
        let fixture = OidcFixture::with(more).await;
        fixture.script().discovery[member] = value;
        let error = fixture.connector.begin_login(authorization_request()).await.err().unwrap();
        assert_eq!(error.code, ErrorCode::IdpDiscovery, "{member}");
        assert!(error.detail.contains(expected), "{member}: {}", error.detail);
    }
}

/// Returns a document with more members than an object of `serde_json` can hold.
fn with_text(document: &Value, more: &str) -> FakeResponse {
    let text = document.to_string();
    let body = format!("{},{more}}}", text.strip_suffix('}').unwrap()).into_bytes();
    FakeResponse { status: 200, headers: vec![], body }
}

#[tokio::test]
async fn a_repeated_member_that_no_login_needs_ends_no_login() {
    for more in [
        r#""op_tos_uri":"https://a.example","op_tos_uri":"https://b.example""#,
        r#""claims_supported":["sub"],"claims_supported":["sub"]"#,
        r#""unknown":{"a":[{"b":1,"b":2}]}"#,
        r#""mtls_endpoint_aliases":{"token_endpoint":"https://a.example","token_endpoint":1}"#,
        r#""pushed_authorization_request_endpoint":1,"pushed_authorization_request_endpoint":2"#,
    ] {
        let fixture = OidcFixture::new().await;
        let response = with_text(&fixture.script().discovery, more);
        fixture.script().discovery_response = Some(response);
        let keys = json!({ "keys": fixture.script().published });
        fixture.script().jwks_response = Some(with_text(&keys, more));
        assert_eq!(fixture.complete_login().await.map(drop), Ok(()), "{more}");
    }
}

/// Attack: two parsers read different addresses from one text.
#[tokio::test]
async fn a_repeated_member_that_logins_need_is_refused_and_named() {
    const PUSHED: &str = "pushed_authorization_requests = \"on\"";
    const BOUND: &str = "tls_client_certificate_bound_access_tokens = \"on\"";
    for (more_settings, name) in [
        ("", "issuer"),
        ("", "authorization_endpoint"),
        ("", "token_endpoint"),
        ("", "userinfo_endpoint"),
        ("", "jwks_uri"),
        (PUSHED, "pushed_authorization_request_endpoint"),
        (BOUND, "mtls_endpoint_aliases"),
        (BOUND, "tls_client_certificate_bound_access_tokens"),
    ] {
        let fixture = OidcFixture::with(more_settings).await;
        let discovery = fixture.script().discovery.clone();
        let value = discovery.get(name).cloned().unwrap_or(json!(true));
        let twice = format!("\"{name}\":{value},\"{name}\":{value}");
        fixture.script().discovery_response = Some(with_text(&discovery, &twice));
        let error = fixture.connector.begin_login(authorization_request()).await.err().unwrap();
        assert_eq!(error.code, ErrorCode::IdpDiscovery, "{name}");
        let expected = format!("document repeats {name}");
        assert!(error.detail.contains(&expected), "{name}: {}", error.detail);
    }
}

#[tokio::test]
async fn a_key_whose_optional_members_are_null_or_empty_verifies_tokens() {
    for (member, value) in [
        ("use", json!(null)),
        ("use", json!("")),
        ("alg", json!(null)),
        ("alg", json!("")),
        ("key_ops", json!([])),
        ("key_ops", json!(null)),
        ("x5c", json!("none")),
        ("x5u", json!(7)),
    ] {
        let fixture = OidcFixture::new().await;
        fixture.script().published[0][member] = value.clone();
        assert_eq!(fixture.complete_login().await.map(drop), Ok(()), "{member} = {value}");
    }
}

#[tokio::test]
async fn a_malformed_key_beside_a_good_one_ends_no_login_and_alone_it_is_explained() {
    let fixture = OidcFixture::new().await;
    let padded = {
        let mut key = fixture.script().published[0].clone();
        key["x"] = json!(format!("{}=", key["x"].as_str().unwrap()));
        key
    };
    fixture.script().published.extend([padded.clone(), json!("no key"), json!({ "kty": 7 })]);
    assert_eq!(fixture.complete_login().await.map(drop), Ok(()));

    let fixture = OidcFixture::new().await;
    fixture.script().published = vec![padded];
    let error = fixture.connector.preload().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::IdpKeys);
    assert!(error.detail.contains("not base64url without padding"), "{}", error.detail);
    assert!(!error.detail.contains("2048"), "{}", error.detail);
}

#[tokio::test]
async fn compressed_documents_are_read_although_none_were_asked_for() {
    use std::io::Write as _;
    let gzip = |document: &Value| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(document.to_string().as_bytes()).unwrap();
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("content-encoding", "gzip".to_owned()),
        ];
        FakeResponse { status: 200, headers, body: encoder.finish().unwrap() }
    };
    let fixture = OidcFixture::new().await;
    {
        let mut script = fixture.script();
        script.discovery_response = Some(gzip(&script.discovery));
        script.jwks_response = Some(gzip(&json!({ "keys": script.published })));
    }
    assert_eq!(fixture.complete_login().await.map(drop), Ok(()));
    let script = fixture.script();
    let asked = script.log.iter().filter(|request| request.target != "/userinfo");
    for request in asked {
        let headers = request.headers.to_ascii_lowercase();
        assert!(headers.contains("accept-encoding: identity"), "{headers}");
    }
}

#[tokio::test]
async fn a_wrong_clock_is_measured_although_it_makes_the_login_fail() {
    // The hub's clock is ahead or behind by an hour or a day.
    for off in [3600, -3600, 86_400, -86_400] {
        let fixture = OidcFixture::new().await;
        {
            let mut script = fixture.script();
            let now = i64::try_from(NOW).unwrap() - off;
            script.claims["iat"] = json!(now);
            script.claims["exp"] = json!(now + 60);
            script.claims["auth_time"] = json!(now);
        }
        let expected = if off > 0 { ErrorCode::IdTokenExpired } else { ErrorCode::IdTokenFuture };
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{off}");
        assert_eq!(fixture.clock_skew_seconds(), Some(-off));
    }
    // A probe shows it before any login, by `Date`.
    let fixture = OidcFixture::new().await;
    let date = ("date", "Tue, 14 Nov 2023 23:13:20 GMT".to_owned());
    let response = {
        let script = fixture.script();
        let mut response = script.document(&script.discovery);
        response.headers.push(date.clone());
        response
    };
    let jwks = {
        let script = fixture.script();
        let mut response = script.document(&json!({ "keys": script.published }));
        response.headers.push(date);
        response
    };
    fixture.script().discovery_response = Some(response);
    fixture.script().jwks_response = Some(jwks);
    fixture.connector.probe().await.unwrap();
    assert_eq!(fixture.clock_skew_seconds(), Some(3600));
}

#[tokio::test]
async fn the_algorithm_that_came_is_named() {
    let fixture = OidcFixture::new().await;
    fixture.script().header["alg"] = json!("RS256");
    let attempt = fixture.attempt().await;
    let error = fixture.connector.complete_login(attempt, fixture.callback()).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::IdTokenAlgorithm);
    assert!(
        error.detail.contains("alg RS256")
            && error.detail.contains("id_token_signed_response_alg is ES256"),
        "{}",
        error.detail
    );
}
