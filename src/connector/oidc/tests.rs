mod client;
mod encrypted;
mod logout;
mod peers;
mod probe;
mod rotation;
use std::time::Duration;

use josekit::jws::{ES256, HS256, JwsSigner};
use serde_json::json;

use super::*;
use crate::assurance::{Level, amr};
use crate::digest;
use crate::env::Env;
use crate::protocol::catalogue::ErrorCode;
use crate::testing::env::{ManualClock, SeededEntropy};
use crate::testing::fake_idp::*;
use crate::testing::fake_server::FakeResponse;

fn query_of(url: &str) -> std::collections::BTreeMap<String, String> {
    url::Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

#[tokio::test]
async fn a_valid_login_succeeds_and_userinfo_takes_precedence_over_the_id_token() {
    let fixture = OidcFixture::new().await;
    fixture.script().claims["iat"] = json!(NOW + 7);
    assert_eq!(fixture.connector.clock_skew_seconds(), None);
    let authentication = fixture.complete_login().await.unwrap();
    assert_eq!(authentication.upstream_subject.reveal(), "s-1");
    assert_eq!(
        (authentication.level, authentication.auth_time.seconds(), authentication.amr),
        (Level::Eidas1, NOW - 5, amr::UpstreamAmr::from_methods(&["pwd"]))
    );
    assert_eq!(
        Value::Object(authentication.claims),
        json!({ "email": "from-userinfo@example.org", "given_name": "Ada" })
    );
    assert_eq!(fixture.connector.clock_skew_seconds(), Some(7));
    let script = fixture.script();
    let token = script.log.iter().find(|request| request.target == "/token").unwrap();
    let sent: std::collections::BTreeMap<_, _> =
        url::form_urlencoded::parse(token.body.as_bytes()).into_owned().collect();
    let expected = [
        ("client_id", "hub"),
        ("client_secret", SECRET),
        ("code", "c-1"),
        ("code_verifier", &"v".repeat(43)),
        ("grant_type", "authorization_code"),
        ("redirect_uri", "https://hub.example/api/v2/callback/fake"),
    ];
    assert_eq!(token.method, "POST");
    assert_eq!(sent, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    let userinfo = script.log.iter().find(|request| request.target == "/userinfo").unwrap();
    assert!(userinfo.headers.contains("authorization: Bearer at-1"));
    assert!(script.log.iter().all(|request| {
        !request.headers.to_ascii_lowercase().contains(&SECRET.to_ascii_lowercase())
    }));
}

#[tokio::test]
async fn the_authorization_request_has_exactly_the_expected_parameters() {
    let fixture = OidcFixture::with(
        "scopes = [\"openid\", \"email\"]\nauthorize_params = { kc_idp_hint = \"x\" }",
    )
    .await;
    let redirect = fixture.connector.begin_login(authorization_request()).await.unwrap();
    let challenge = digest::base64url(&digest::sha256("v".repeat(43).as_bytes()));
    let expected = [
        ("acr_values", "low"),
        ("client_id", "hub"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("kc_idp_hint", "x"),
        ("nonce", "the nonce"),
        ("redirect_uri", "https://hub.example/api/v2/callback/fake"),
        ("response_type", "code"),
        ("scope", "openid email"),
        ("state", "the state"),
        ("tenant", "1"),
        ("ui_locales", "fr en"),
    ];
    assert_eq!(
        query_of(&redirect.url),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    );
    assert_eq!(
        (redirect.issuer, redirect.client_id.as_str(), redirect.iss_expected),
        (fixture.server.base(), "hub", true)
    );
    assert_eq!(redirect.token_endpoint, format!("{}/token", fixture.server.base()));
}

#[tokio::test]
async fn prompt_max_age_and_login_hint_are_sent_where_configured() {
    let plain = OidcFixture::new().await;
    let knowing = OidcFixture::with("max_age = true\nlogin_hint = true").await;
    let timeless = OidcFixture::with("auth_time = \"callback\"").await;
    let again = UpstreamAuthorizationRequest { reauthenticate: true, ..authorization_request() };
    let aged = UpstreamAuthorizationRequest {
        max_age: Some(60),
        level: Level::Eidas2,
        ..authorization_request()
    };
    let long = UpstreamAuthorizationRequest {
        login_hint: Some("x".repeat(257)),
        ..authorization_request()
    };
    let table = [
        (&plain, authorization_request(), None, None, None),
        (&plain, again, Some("login"), None, None),
        (&plain, aged.clone(), Some("login"), None, None),
        (&knowing, aged, None, Some("60"), Some("ada@example.org")),
        (&knowing, long, None, None, None),
        (&timeless, authorization_request(), Some("login"), None, None),
    ];
    for (fixture, request, prompt, max_age, hint) in table {
        let acr = if request.level == Level::Eidas2 { "substantial" } else { "low" };
        let query = query_of(&fixture.connector.begin_login(request).await.unwrap().url);
        let value = |name: &str| query.get(name).map(String::as_str);
        assert_eq!(
            (value("prompt"), value("max_age"), value("login_hint")),
            (prompt, max_age, hint)
        );
        assert_eq!(value("acr_values"), Some(acr));
    }
}

#[tokio::test]
async fn amr_is_requested_if_configured() {
    for (more, request) in
        [("", None), ("request_amr = true", Some(r#"{"id_token":{"amr":{"essential":true}}}"#))]
    {
        let query = query_of(
            &OidcFixture::with(more)
                .await
                .connector
                .begin_login(authorization_request())
                .await
                .unwrap()
                .url,
        );
        assert_eq!(query.get("claims").map(String::as_str), request, "{more}");
    }
}

#[tokio::test]
async fn every_invalid_id_token_is_rejected_with_its_own_code() {
    type Change = fn(&mut IdpScript);
    let table: [(&str, Change, ErrorCode); 39] = [
        (
            "alg_none",
            |s| s.id_token = Some(json!(unsigned(s, "none"))),
            ErrorCode::IdTokenAlgorithm,
        ),
        ("hs256_with_client_secret", |s| mac(s, SECRET.as_bytes()), ErrorCode::IdTokenAlgorithm),
        (
            "hs256_with_public_key",
            |s| mac(s, &s.published[0].to_string().into_bytes()),
            ErrorCode::IdTokenAlgorithm,
        ),
        (
            "rs256_where_es256_is_registered",
            |s| s.header["alg"] = json!("RS256"),
            ErrorCode::IdTokenAlgorithm,
        ),
        ("wrong_key", |s| s.key = ec_key("k1").0, ErrorCode::IdTokenSignature),
        ("unknown_kid", |s| s.header["kid"] = json!("k9"), ErrorCode::IdTokenKey),
        ("crit", |s| s.header["crit"] = json!(["x"]), ErrorCode::IdTokenMalformed),
        (
            "access_token_in_its_place",
            |s| s.header["typ"] = json!("at+jwt"),
            ErrorCode::IdTokenMalformed,
        ),
        ("nested_cty", |s| s.header["cty"] = json!("JWT"), ErrorCode::IdTokenMalformed),
        (
            "jwe_where_none_is_registered",
            |s| s.id_token = Some(json!("e30.a.b.c.d")),
            ErrorCode::IdTokenEncryption,
        ),
        ("not_a_jwt", |s| s.id_token = Some(json!("abc")), ErrorCode::IdTokenMalformed),
        ("not_a_string", |s| s.id_token = Some(json!({})), ErrorCode::IdTokenMalformed),
        (
            "no_id_token",
            |s| {
                s.token_response = Some(FakeResponse::json(
                    &json!({ "access_token": "at-1", "token_type": "Bearer" }),
                ))
            },
            ErrorCode::IdTokenMissing,
        ),
        (
            "repeated_claim",
            |s| s.id_token = Some(json!(repeated_member(s))),
            ErrorCode::IdTokenMalformed,
        ),
        (
            "wrong_iss",
            |s| s.claims["iss"] = json!("https://evil.example"),
            ErrorCode::IdTokenIssuer,
        ),
        (
            "iss_with_slash",
            |s| s.claims["iss"] = json!(format!("{}/", s.base)),
            ErrorCode::IdTokenIssuer,
        ),
        ("wrong_aud", |s| s.claims["aud"] = json!("other"), ErrorCode::IdTokenAudience),
        ("second_aud", |s| s.claims["aud"] = json!(["hub", "other"]), ErrorCode::IdTokenAudience),
        ("azp_of_another", |s| s.claims["azp"] = json!("other"), ErrorCode::IdTokenAzp),
        ("azp_not_a_string", |s| s.claims["azp"] = json!(["hub"]), ErrorCode::IdTokenMalformed),
        ("wrong_nonce", |s| s.claims["nonce"] = json!("other"), ErrorCode::IdTokenNonce),
        ("no_nonce", |s| without(s, "nonce"), ErrorCode::IdTokenNonce),
        ("expired", |s| s.claims["exp"] = json!(NOW - 60), ErrorCode::IdTokenExpired),
        ("no_exp", |s| without(s, "exp"), ErrorCode::IdTokenMalformed),
        ("no_iat", |s| without(s, "iat"), ErrorCode::IdTokenMalformed),
        ("from_the_future", |s| s.claims["iat"] = json!(NOW + 61), ErrorCode::IdTokenFuture),
        ("nbf_ahead", |s| s.claims["nbf"] = json!(NOW + 61), ErrorCode::IdTokenNotYet),
        (
            "wrong_at_hash",
            |s| s.claims["at_hash"] = json!(digest::base64url(&[7; 16])),
            ErrorCode::IdTokenAtHash,
        ),
        ("at_hash_not_a_string", |s| s.claims["at_hash"] = json!(1), ErrorCode::IdTokenMalformed),
        ("empty_sub", |s| s.claims["sub"] = json!(""), ErrorCode::IdTokenSubject),
        ("endless_sub", |s| s.claims["sub"] = json!("x".repeat(256)), ErrorCode::IdTokenSubject),
        ("no_sub", |s| without(s, "sub"), ErrorCode::IdTokenMalformed),
        ("no_auth_time", |s| without(s, "auth_time"), ErrorCode::IdTokenAuthTime),
        (
            "auth_time_ahead",
            |s| s.claims["auth_time"] = json!(NOW + 61),
            ErrorCode::IdTokenAuthTime,
        ),
        ("unlisted_acr", |s| s.claims["acr"] = json!("eidas1"), ErrorCode::AcrUnlisted),
        ("no_acr", |s| without(s, "acr"), ErrorCode::AcrMissing),
        (
            "userinfo_of_another_sub",
            |s| s.userinfo["sub"] = json!("s-2"),
            ErrorCode::UserinfoSubject,
        ),
        ("userinfo_without_sub", |s| s.userinfo = json!({}), ErrorCode::UserinfoSubject),
        (
            "signed_userinfo_where_none_is_registered",
            |s| s.userinfo_jwt = Some(json!({ "sub": "s-1" })),
            ErrorCode::UserinfoMalformed,
        ),
    ];
    let fixture = OidcFixture::new().await;
    for (attack, change, expected) in table {
        let fresh = IdpScript::new(fixture.server.base());
        // The connector has the keys cached, so only the next response changes.
        let known = {
            let mut script = fixture.script();
            let (known, published) = (script.key.clone(), script.published.clone());
            *script = IdpScript { key: known.clone(), published, ..fresh };
            change(&mut script);
            known
        };
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
        fixture.script().key = known;
    }
}

fn unsigned(script: &IdpScript, alg: &str) -> String {
    let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
    format!("{}.{}.", part(&json!({ "alg": alg })), part(&script.claims))
}

fn mac(script: &mut IdpScript, key: &[u8]) {
    script.header["alg"] = json!("HS256");
    script.signer = Some(Box::new(HS256.signer_from_bytes(key).unwrap()));
}

fn without(script: &mut IdpScript, claim: &str) {
    script.claims.as_object_mut().unwrap().remove(claim);
}

fn repeated_member(script: &IdpScript) -> String {
    let claims = script.claims.to_string().replacen('{', "{\"sub\":\"victim\",", 1);
    let message = format!(
        "{}.{}",
        digest::base64url(script.header.to_string().as_bytes()),
        digest::base64url(claims.as_bytes())
    );
    let signature = ES256.signer_from_jwk(&script.key).unwrap().sign(message.as_bytes()).unwrap();
    format!("{message}.{}", digest::base64url(&signature))
}

#[tokio::test]
async fn clocks_may_differ_by_a_minute_and_a_correct_at_hash_is_accepted() {
    let fixture = OidcFixture::new().await;
    let half = digest::base64url(&digest::sha256(b"at-1")[..16]);
    for (exp, iat) in [(NOW - 59, NOW - 200), (NOW + 60, NOW + 60)] {
        let more = json!({ "exp": exp, "iat": iat, "nbf": iat, "at_hash": half, "azp": "hub", "aud": ["hub"] });
        fixture.script().claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert!(fixture.complete_login().await.is_ok(), "{exp} {iat}");
    }
}

#[tokio::test]
async fn a_level_below_the_requested_one_is_rejected() {
    let fixture = OidcFixture::new().await;
    let mut request = fixture.attempt().await;
    request.request.level = Level::Eidas2;
    assert_eq!(
        fixture.complete_login_with(request.clone()).await.err(),
        Some(ErrorCode::AcrTooLow)
    );
    fixture.script().claims["acr"] = json!("substantial");
    assert_eq!(fixture.complete_login_with(request).await.unwrap().level, Level::Eidas2);
}

#[tokio::test]
async fn reauthentication_must_be_proven_by_auth_time() {
    let fixture = OidcFixture::new().await;
    let attempt = fixture.attempt().await; // redirect at NOW - 30
    let mut again = attempt.clone();
    again.request.reauthenticate = true;
    let mut aged = attempt;
    aged.request.max_age = Some(100);
    let error = Some(ErrorCode::PromptLoginIgnored);
    let table = [
        (&again, NOW - 90, None),
        (&again, NOW - 91, error),
        (&aged, NOW - 190, None),
        (&aged, NOW - 191, error),
    ];
    for (attempt, auth_time, expected) in table {
        fixture.script().claims["auth_time"] = json!(auth_time);
        assert_eq!(
            fixture.complete_login_with(attempt.clone()).await.err(),
            expected,
            "{auth_time}"
        );
    }
    let timeless = OidcFixture::with("auth_time = \"callback\"").await;
    without(&mut timeless.script(), "auth_time");
    let mut again = timeless.attempt().await;
    again.request.reauthenticate = true;
    assert_eq!(timeless.complete_login_with(again).await.unwrap().auth_time.seconds(), NOW);
}

#[tokio::test]
async fn a_callback_of_another_issuer_is_refused_before_anything_is_called() {
    let fixture = OidcFixture::new().await;
    let attempt = fixture.attempt().await;
    let other = LoginAttempt {
        redirect: AuthorizationRedirect { client_id: "old".into(), ..attempt.redirect.clone() },
        ..attempt.clone()
    };
    let refusal = |error: &str| CallbackParams {
        code: None,
        error: Some(error.into()),
        error_description: Some("\u{1b}[31m why".into()),
        ..fixture.callback()
    };
    let table = [
        (
            "iss missing",
            &attempt,
            CallbackParams { iss: None, ..fixture.callback() },
            ErrorCode::IdpIssMissing,
        ),
        (
            "iss wrong",
            &attempt,
            CallbackParams { iss: Some("https://evil.example".into()), ..fixture.callback() },
            ErrorCode::IdpIssWrong,
        ),
        (
            "error of another",
            &attempt,
            CallbackParams { iss: Some("x".into()), ..refusal("access_denied") },
            ErrorCode::IdpIssWrong,
        ),
        ("client changed", &other, fixture.callback(), ErrorCode::IdpIssWrong),
        ("denied", &attempt, refusal("access_denied"), ErrorCode::IdpDenied),
        ("error", &attempt, refusal("server_error"), ErrorCode::IdpError),
        (
            "nothing",
            &attempt,
            CallbackParams { code: None, ..fixture.callback() },
            ErrorCode::IdpCallbackMalformed,
        ),
        (
            "empty code",
            &attempt,
            CallbackParams { code: Some(Secret::new(String::new())), ..fixture.callback() },
            ErrorCode::IdpCallbackMalformed,
        ),
    ];
    for (attack, attempt, callback, expected) in table {
        let error = fixture.connector.complete_login(attempt.clone(), callback).await.unwrap_err();
        assert_eq!(error.code, expected, "{attack}");
        assert!(error.detail.chars().all(|c| !c.is_control()), "{attack}");
    }
    assert_eq!(fixture.script().calls("/token"), 0);
}

#[tokio::test]
async fn the_code_goes_to_the_pinned_token_endpoint_only() {
    let fixture = OidcFixture::new().await;
    let attempt = fixture.attempt().await;
    let elsewhere = format!("{}/old-token", fixture.server.base());
    let pinned = LoginAttempt {
        redirect: AuthorizationRedirect { token_endpoint: elsewhere, ..attempt.redirect.clone() },
        ..attempt
    };
    assert_eq!(fixture.complete_login_with(pinned).await.err(), Some(ErrorCode::IdpTokenAnswer));
    let script = fixture.script();
    assert_eq!((script.calls("/old-token"), script.calls("/token")), (1, 0));
}

#[tokio::test]
async fn invalid_token_and_userinfo_responses_have_their_own_codes() {
    let fixture = OidcFixture::new().await;
    let body = |status, body: &str| FakeResponse {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.as_bytes().to_vec(),
    };
    let table = [
        (body(400, r#"{"error":"invalid_grant"}"#), ErrorCode::IdpCodeRefused),
        (body(401, r#"{"error":"invalid_client"}"#), ErrorCode::IdpClientRefused),
        (body(400, "<html>"), ErrorCode::IdpTokenAnswer),
        (body(500, "{}"), ErrorCode::IdpStatus),
        (body(302, ""), ErrorCode::IdpStatus),
        (body(200, "[]"), ErrorCode::IdpTokenAnswer),
        (
            body(200, r#"{"access_token":"at-1","access_token":"at-2","token_type":"Bearer"}"#),
            ErrorCode::IdpTokenAnswer,
        ),
        (body(200, r#"{"access_token":"at-1","id_token":"x"}"#), ErrorCode::IdpTokenAnswer),
        (
            body(200, r#"{"access_token":"at-1","token_type":"mac","id_token":"x"}"#),
            ErrorCode::IdpTokenType,
        ),
        (body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
    ];
    for (number, (response, expected)) in table.into_iter().enumerate() {
        fixture.script().token_response = Some(response);
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "row {number}");
    }
    fixture.script().token_response = None;
    for (status, expected) in [
        (401, ErrorCode::UserinfoRefused),
        (500, ErrorCode::IdpStatus),
        (302, ErrorCode::IdpStatus),
    ] {
        fixture.script().userinfo_status = status;
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{status}");
    }
}

#[tokio::test]
async fn signed_userinfo_is_verified() {
    let fixture = OidcFixture::with("userinfo_signed_response_alg = \"ES256\"").await;
    let good = json!({ "iss": fixture.server.base(), "aud": ["hub"], "sub": "s-1", "exp": NOW + 60, "email": "signed@example.org" });
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    let table = [
        (good.clone(), None),
        (with("iss", json!("https://evil.example")), Some(ErrorCode::UserinfoAudience)),
        (with("aud", json!("other")), Some(ErrorCode::UserinfoAudience)),
        (with("exp", json!(NOW - 61)), Some(ErrorCode::UserinfoTime)),
        (with("nbf", json!(NOW + 61)), Some(ErrorCode::UserinfoTime)),
        (with("sub", json!("s-2")), Some(ErrorCode::UserinfoSubject)),
    ];
    for (claims, expected) in table {
        fixture.script().userinfo_jwt = Some(claims.clone());
        assert_eq!(fixture.complete_login().await.err(), expected, "{claims}");
    }
    fixture.script().userinfo_jwt = None;
    assert_eq!(
        fixture.complete_login().await.err(),
        Some(ErrorCode::UserinfoMalformed),
        "plain, although signed is registered"
    );
}

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
