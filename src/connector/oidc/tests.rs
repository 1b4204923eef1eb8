mod client;
mod logout;
mod peers;
mod probe;
mod rotation;
mod sealed;
use std::time::Duration;

use josekit::jws::{ES256, HS256, JwsSigner};
use serde_json::json;

use super::fake_idp::*;
use super::*;
use crate::assurance::{Level, amr};
use crate::digest;
use crate::egress::fake::Told;
use crate::env::{HandClock, SeededEntropy};

fn query_of(url: &str) -> std::collections::BTreeMap<String, String> {
    url::Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

#[tokio::test]
async fn a_sound_login_passes_and_userinfo_wins_over_the_id_token() {
    let world = World::new().await;
    world.script().claims["iat"] = json!(NOW + 7);
    assert_eq!(world.connector.skew_seconds(), None);
    let proven = world.complete().await.unwrap();
    assert_eq!(proven.upstream_subject.reveal(), "s-1");
    assert_eq!(
        (proven.level, proven.auth_time.seconds(), proven.amr),
        (Level::Eidas1, NOW - 5, amr::Told::these(&["pwd"]))
    );
    assert_eq!(
        Value::Object(proven.claims),
        json!({ "email": "from-userinfo@example.org", "given_name": "Ada" })
    );
    assert_eq!(world.connector.skew_seconds(), Some(7));
    let script = world.script();
    let token = script.log.iter().find(|asked| asked.target == "/token").unwrap();
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
    let userinfo = script.log.iter().find(|asked| asked.target == "/userinfo").unwrap();
    assert!(userinfo.head.contains("authorization: Bearer at-1"));
    assert!(
        script
            .log
            .iter()
            .all(|asked| !asked.head.to_ascii_lowercase().contains(&SECRET.to_ascii_lowercase()))
    );
}

#[tokio::test]
async fn the_browser_leaves_with_everything_and_nothing_more() {
    let world =
        World::with("scopes = [\"openid\", \"email\"]\nauthorize_params = { kc_idp_hint = \"x\" }")
            .await;
    let left = world.connector.begin(departure()).await.unwrap();
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
        query_of(&left.url),
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    );
    assert_eq!(
        (left.issuer, left.client_id.as_str(), left.iss_expected),
        (world.server.base(), "hub", true)
    );
    assert_eq!(left.token_endpoint, format!("{}/token", world.server.base()));
}

#[tokio::test]
async fn prompt_max_age_and_hint_are_sent_where_they_mean_something() {
    let plain = World::new().await;
    let knowing = World::with("max_age = true\nlogin_hint = true").await;
    let timeless = World::with("auth_time = \"callback\"").await;
    let again = Departure { reauthenticate: true, ..departure() };
    let aged = Departure { max_age: Some(60), level: Level::Eidas2, ..departure() };
    let long = Departure { login_hint: Some("x".repeat(257)), ..departure() };
    let table = [
        (&plain, departure(), None, None, None),
        (&plain, again, Some("login"), None, None),
        (&plain, aged.clone(), Some("login"), None, None),
        (&knowing, aged, None, Some("60"), Some("ada@example.org")),
        (&knowing, long, None, None, None),
        (&timeless, departure(), Some("login"), None, None),
    ];
    for (world, departure, prompt, max_age, hint) in table {
        let acr = if departure.level == Level::Eidas2 { "substantial" } else { "low" };
        let query = query_of(&world.connector.begin(departure).await.unwrap().url);
        let value = |name: &str| query.get(name).map(String::as_str);
        assert_eq!(
            (value("prompt"), value("max_age"), value("login_hint")),
            (prompt, max_age, hint)
        );
        assert_eq!(value("acr_values"), Some(acr));
    }
}

#[tokio::test]
async fn amr_is_asked_for_where_the_file_says_so() {
    for (more, asked) in
        [("", None), ("request_amr = true", Some(r#"{"id_token":{"amr":{"essential":true}}}"#))]
    {
        let query =
            query_of(&World::with(more).await.connector.begin(departure()).await.unwrap().url);
        assert_eq!(query.get("claims").map(String::as_str), asked, "{more}");
    }
}

#[tokio::test]
async fn every_forged_or_unfit_id_token_is_refused_with_its_own_code() {
    type Change = fn(&mut Script);
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
                s.token =
                    Some(Told::json(&json!({ "access_token": "at-1", "token_type": "Bearer" })))
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
    let world = World::new().await;
    for (attack, change, expected) in table {
        let fresh = Script::new(world.server.base());
        // The connector keeps the keys it knows: only what the identity provider says next changes.
        let known = {
            let mut script = world.script();
            let (known, published) = (script.key.clone(), script.published.clone());
            *script = Script { key: known.clone(), published, ..fresh };
            change(&mut script);
            known
        };
        assert_eq!(world.complete().await.err(), Some(expected), "{attack}");
        world.script().key = known;
    }
}

fn unsigned(script: &Script, alg: &str) -> String {
    let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
    format!("{}.{}.", part(&json!({ "alg": alg })), part(&script.claims))
}

fn mac(script: &mut Script, key: &[u8]) {
    script.header["alg"] = json!("HS256");
    script.signer = Some(Box::new(HS256.signer_from_bytes(key).unwrap()));
}

fn without(script: &mut Script, claim: &str) {
    script.claims.as_object_mut().unwrap().remove(claim);
}

fn repeated_member(script: &Script) -> String {
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
async fn clocks_may_differ_by_a_minute_and_a_right_at_hash_passes() {
    let world = World::new().await;
    let half = digest::base64url(&digest::sha256(b"at-1")[..16]);
    for (exp, iat) in [(NOW - 59, NOW - 200), (NOW + 60, NOW + 60)] {
        let more = json!({ "exp": exp, "iat": iat, "nbf": iat, "at_hash": half, "azp": "hub", "aud": ["hub"] });
        world.script().claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert!(world.complete().await.is_ok(), "{exp} {iat}");
    }
}

#[tokio::test]
async fn a_level_below_the_one_asked_is_refused() {
    let world = World::new().await;
    let asked = Attempt { level: Level::Eidas2, ..world.attempt().await };
    assert_eq!(world.complete_as(asked.clone()).await.err(), Some(ErrorCode::AcrTooLow));
    world.script().claims["acr"] = json!("substantial");
    assert_eq!(world.complete_as(asked).await.unwrap().level, Level::Eidas2);
}

#[tokio::test]
async fn reauthentication_must_be_proven_by_auth_time() {
    let world = World::new().await;
    let attempt = world.attempt().await; // left at NOW - 30
    let again = Attempt { reauthenticate: true, ..attempt.clone() };
    let aged = Attempt { max_age: Some(100), ..attempt };
    let refused = Some(ErrorCode::PromptLoginIgnored);
    let table = [
        (&again, NOW - 90, None),
        (&again, NOW - 91, refused),
        (&aged, NOW - 190, None),
        (&aged, NOW - 191, refused),
    ];
    for (attempt, auth_time, expected) in table {
        world.script().claims["auth_time"] = json!(auth_time);
        assert_eq!(world.complete_as(attempt.clone()).await.err(), expected, "{auth_time}");
    }
    let timeless = World::with("auth_time = \"callback\"").await;
    without(&mut timeless.script(), "auth_time");
    let again = Attempt { reauthenticate: true, ..timeless.attempt().await };
    assert_eq!(timeless.complete_as(again).await.unwrap().auth_time.seconds(), NOW);
}

#[tokio::test]
async fn a_callback_of_another_issuer_is_refused_before_anything_is_called() {
    let world = World::new().await;
    let attempt = world.attempt().await;
    let other = Attempt {
        left: AuthorizationRedirect { client_id: "old".into(), ..attempt.left.clone() },
        ..attempt.clone()
    };
    let refusal = |error: &str| Arrival {
        code: None,
        error: Some(error.into()),
        error_description: Some("\u{1b}[31m why".into()),
        ..world.arrival()
    };
    let table = [
        (
            "iss missing",
            &attempt,
            Arrival { iss: None, ..world.arrival() },
            ErrorCode::IdpIssMissing,
        ),
        (
            "iss wrong",
            &attempt,
            Arrival { iss: Some("https://evil.example".into()), ..world.arrival() },
            ErrorCode::IdpIssWrong,
        ),
        (
            "error of another",
            &attempt,
            Arrival { iss: Some("x".into()), ..refusal("access_denied") },
            ErrorCode::IdpIssWrong,
        ),
        ("client changed", &other, world.arrival(), ErrorCode::IdpIssWrong),
        ("denied", &attempt, refusal("access_denied"), ErrorCode::IdpDenied),
        ("error", &attempt, refusal("server_error"), ErrorCode::IdpError),
        (
            "nothing",
            &attempt,
            Arrival { code: None, ..world.arrival() },
            ErrorCode::IdpCallbackMalformed,
        ),
        (
            "empty code",
            &attempt,
            Arrival { code: Some(Secret::new(String::new())), ..world.arrival() },
            ErrorCode::IdpCallbackMalformed,
        ),
    ];
    for (attack, attempt, arrival, expected) in table {
        let fault = world.connector.complete(attempt.clone(), arrival).await.unwrap_err();
        assert_eq!(fault.code, expected, "{attack}");
        assert!(fault.detail.chars().all(|c| !c.is_control()), "{attack}");
    }
    assert_eq!(world.script().calls("/token"), 0);
}

#[tokio::test]
async fn the_code_goes_to_the_pinned_token_endpoint_only() {
    let world = World::new().await;
    let attempt = world.attempt().await;
    let elsewhere = format!("{}/old-token", world.server.base());
    let pinned =
        Attempt { left: AuthorizationRedirect { token_endpoint: elsewhere, ..attempt.left.clone() }, ..attempt };
    assert_eq!(world.complete_as(pinned).await.err(), Some(ErrorCode::IdpTokenAnswer));
    let script = world.script();
    assert_eq!((script.calls("/old-token"), script.calls("/token")), (1, 0));
}

#[tokio::test]
async fn odd_token_and_userinfo_answers_have_their_own_codes() {
    let world = World::new().await;
    let body = |status, body: &str| Told {
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
    for (number, (told, expected)) in table.into_iter().enumerate() {
        world.script().token = Some(told);
        assert_eq!(world.complete().await.err(), Some(expected), "row {number}");
    }
    world.script().token = None;
    for (status, expected) in [
        (401, ErrorCode::UserinfoRefused),
        (500, ErrorCode::IdpStatus),
        (302, ErrorCode::IdpStatus),
    ] {
        world.script().userinfo_status = status;
        assert_eq!(world.complete().await.err(), Some(expected), "{status}");
    }
}

#[tokio::test]
async fn signed_userinfo_is_verified_like_everything_signed() {
    let world = World::with("userinfo_signed_response_alg = \"ES256\"").await;
    let good = json!({ "iss": world.server.base(), "aud": ["hub"], "sub": "s-1", "exp": NOW + 60, "email": "signed@example.org" });
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
        world.script().userinfo_jwt = Some(claims.clone());
        assert_eq!(world.complete().await.err(), expected, "{claims}");
    }
    world.script().userinfo_jwt = None;
    assert_eq!(
        world.complete().await.err(),
        Some(ErrorCode::UserinfoMalformed),
        "plain where signed is registered"
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
        let world = World::new().await;
        change(&mut world.script().discovery);
        assert_eq!(
            world.connector.begin(departure()).await.err().map(|fault| fault.code),
            Some(expected),
            "{attack}"
        );
    }
    // The same identity provider, but its host is not named as internal.
    let env = Env::new(Arc::new(HandClock::default()), Arc::new(SeededEntropy::new(1)));
    assert_eq!(
        connector("http://127.0.0.1:9", "", "", env.clone()).err().map(|refused| refused.key),
        Some("kind.oidc.issuer")
    );
    let by_name = connector("http://localhost:9", "", "", env).unwrap();
    assert_eq!(by_name.warm().await.unwrap_err().code, ErrorCode::IdpAddressForbidden);
}

#[tokio::test]
async fn keys_and_metadata_are_fetched_once_and_serve_while_the_provider_is_down() {
    let world = World::new().await;
    for _ in 0..3 {
        world.complete().await.unwrap();
    }
    let calls = |path: &str| world.script().calls(path);
    assert_eq!((calls("/.well-known/openid-configuration"), calls("/jwks")), (1, 1));
    world.clock.advance(Duration::from_secs(3600));
    world.script().discovery = json!("broken");
    assert!(world.connector.begin(departure()).await.is_ok(), "the last good copy serves");
    assert_eq!(calls("/.well-known/openid-configuration"), 2);
}

#[tokio::test]
async fn a_rotated_key_is_fetched_at_once_and_a_withdrawn_one_forgotten() {
    let world = World::new().await;
    world.complete().await.unwrap();
    let (key, public) = ec_key("k2");
    {
        let mut script = world.script();
        (script.key, script.published, script.header["kid"]) = (key, vec![public], json!("k2"));
    }
    world.complete().await.unwrap();
    assert_eq!(world.script().calls("/jwks"), 2);
    world.script().header["kid"] = json!("k1");
    assert_eq!(world.complete().await.err(), Some(ErrorCode::IdTokenKey));
    assert_eq!(world.script().calls("/jwks"), 2, "not again within the minute");
}

#[tokio::test]
async fn explicit_endpoints_need_no_discovery() {
    let world = World::new().await;
    let base = world.server.base();
    let endpoints = format!(
        "endpoints = {{ authorization = \"{base}/authorize\", token = \"{base}/token\", userinfo = \"{base}/userinfo\", jwks = \"{base}/jwks\" }}"
    );
    let env = Env::new(Arc::clone(&world.clock) as _, Arc::new(SeededEntropy::new(1)));
    let connector = connector(&base, &endpoints, "internal_hosts = [\"127.0.0.1\"]", env).unwrap();
    let left = connector.begin(departure()).await.unwrap();
    assert!(!left.iss_expected);
    let arrival = Arrival { iss: None, ..world.arrival() };
    assert!(connector.complete(attempt(departure(), left), arrival).await.is_ok());
    assert_eq!(world.script().calls("/.well-known/openid-configuration"), 0);
}
