mod client;
mod client_certificate;
mod discovery;
mod dpop;
mod encrypted;
mod fapi2;
mod id_token;
mod logout;
mod logout_token;
mod peers;
mod probe;
mod protected_request;
mod rotation;
mod signed_response;
use std::time::Duration;

use josekit::jws::{ES256, HS256, JwsSigner};
use serde_json::json;

use super::*;
use crate::testing::fake_idp::*;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_federation::assurance::{Level, amr};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

fn query_pairs(url: &str) -> std::collections::BTreeMap<String, String> {
    url::Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

#[tokio::test]
async fn a_valid_login_succeeds_and_userinfo_takes_precedence_over_the_id_token() {
    let fixture = OidcFixture::new().await;
    fixture.script().claims["iat"] = json!(NOW + 7);
    assert_eq!(fixture.clock_skew_seconds(), None);
    let authentication = fixture.complete_login().await.unwrap();
    assert_eq!(authentication.upstream_subject.reveal(), "s-1");
    assert_eq!(authentication.acr.as_deref(), Some("low"));
    assert_eq!(
        (authentication.level, authentication.auth_time.unwrap().seconds(), authentication.amr),
        (Level::Eidas1, NOW - 5, amr::UpstreamAmr::from_methods(&["pwd"]))
    );
    assert_eq!(
        Value::Object(authentication.claims),
        json!({ "email": "from-userinfo@example.org", "given_name": "Ada" })
    );
    assert_eq!(fixture.clock_skew_seconds(), Some(7));
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
    // The endpoint's own address has the parameter tenant.
    let forwarded = [("siret_hint", "1&nonce=2"), ("Tenant", "2")];
    let forwarded = forwarded.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let request = UpstreamAuthorizationRequest { forwarded, ..authorization_request() };
    let redirect = fixture.connector.begin_login(request).await.unwrap();
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
        ("siret_hint", "1&nonce=2"),
        ("state", "the state"),
        ("tenant", "1"),
        ("ui_locales", "fr en"),
    ];
    assert_eq!(
        query_pairs(&redirect.url),
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
    let claims = OidcFixture::new().await;
    claims.script().discovery["claims_parameter_supported"] = json!(true);
    let again = UpstreamAuthorizationRequest { reauthenticate: true, ..authorization_request() };
    let released =
        UpstreamAuthorizationRequest { auth_time_required: true, ..authorization_request() };
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
        // A year: it only asks for auth_time.
        (&plain, again.clone(), Some("login"), Some("31536000"), None),
        (&plain, released.clone(), None, Some("31536000"), None),
        (&plain, aged.clone(), Some("login"), Some("31536000"), None),
        (&claims, again.clone(), Some("login"), None, None),
        (&claims, released.clone(), None, None, None),
        (&timeless, again, Some("login"), None, None),
        (&knowing, aged, None, Some("60"), Some("ada@example.org")),
        (&knowing, long, None, None, None),
        (&timeless, authorization_request(), Some("login"), None, None),
    ];
    for (fixture, request, prompt, max_age, hint) in table {
        let acr = if request.level == Level::Eidas2 { "substantial" } else { "low" };
        let query = query_pairs(&fixture.connector.begin_login(request).await.unwrap().url);
        let value = |name: &str| query.get(name).map(String::as_str);
        assert_eq!(
            (value("prompt"), value("max_age"), value("login_hint")),
            (prompt, max_age, hint)
        );
        assert_eq!(value("acr_values"), Some(acr));
    }
    let url = claims.connector.begin_login(released).await.unwrap().url;
    let asked = r#"{"id_token":{"auth_time":{"essential":true}}}"#;
    assert_eq!(query_pairs(&url).get("claims").map(String::as_str), Some(asked));
}

#[tokio::test]
async fn amr_is_requested_if_configured() {
    for (more, request) in
        [("", None), ("request_amr = true", Some(r#"{"id_token":{"amr":{"essential":true}}}"#))]
    {
        let query = query_pairs(
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
        (
            "cancel in its own words",
            &attempt,
            refusal("user_cancelled_login"),
            ErrorCode::IdpDenied,
        ),
        ("error", &attempt, refusal("server_error"), ErrorCode::IdpError),
        ("wrong request", &attempt, refusal("invalid_scope"), ErrorCode::IdpError),
        (
            "maintenance",
            &attempt,
            refusal("temporarily_unavailable"),
            ErrorCode::IdpTemporarilyUnavailable,
        ),
        (
            "less safe than asked",
            &attempt,
            refusal("unmet_authentication_requirements"),
            ErrorCode::AcrTooLow,
        ),
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
