//! Tests of the ID token: every invalid one has its own code.

use super::*;

#[tokio::test]
async fn every_invalid_id_token_is_rejected_with_its_own_code() {
    type Change = fn(&mut IdpScript);
    let table: [(&str, Change, ErrorCode); 38] = [
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
        ("azp_not_a_string", |s| s.claims["azp"] = json!(["hub"]), ErrorCode::IdTokenAzp),
        ("wrong_nonce", |s| s.claims["nonce"] = json!("other"), ErrorCode::IdTokenNonce),
        (
            "nonce_not_a_string",
            |s| s.claims["nonce"] = json!(["the nonce"]),
            ErrorCode::IdTokenNonce,
        ),
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
        ("at_hash_not_a_string", |s| s.claims["at_hash"] = json!(1), ErrorCode::IdTokenAtHash),
        ("empty_sub", |s| s.claims["sub"] = json!(""), ErrorCode::IdTokenSubject),
        ("endless_sub", |s| s.claims["sub"] = json!("x".repeat(256)), ErrorCode::IdTokenSubject),
        ("no_sub", |s| without(s, "sub"), ErrorCode::IdTokenMalformed),
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
async fn an_optional_claim_that_is_null_counts_as_absent() {
    let fixture = OidcFixture::new().await;
    for claim in ["nbf", "azp", "at_hash"] {
        fixture.script().claims[claim] = Value::Null;
        assert_eq!(fixture.complete_login().await.err(), None, "{claim}");
    }
    fixture.script().claims["exp"] = Value::Null;
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdTokenMalformed));
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
    assert_eq!(
        timeless.complete_login_with(again).await.unwrap().auth_time.unwrap().seconds(),
        NOW
    );
}

#[tokio::test]
async fn claims_of_an_odd_type_that_no_login_needs_are_accepted() {
    let fixture = OidcFixture::new().await;
    for (claim, value) in [
        ("locale", json!({ "language": "fr" })),
        ("address", json!("1 rue X, Paris")),
        ("updated_at", json!("1690000000")),
        ("phone_number", json!(33_123_456_789_u64)),
        ("email_verified", json!("true")),
        ("email", json!(["a@example.org", 1])),
        ("birthdate", json!(1990)),
        ("gender", json!(2)),
        ("picture", json!({ "url": "https://idp.example/ada.png" })),
        ("name", json!(["Ada"])),
        ("amr", json!({ "pwd": true })),
        ("c_hash", json!(7)),
        ("azp", json!(null)),
        ("at_hash", json!(null)),
        ("sid", json!(7)),
    ] {
        fixture.script().claims[claim] = value.clone();
        assert_eq!(fixture.complete_login().await.err(), None, "{claim} {value}");
    }
}

#[tokio::test]
async fn an_acr_of_any_type_is_accepted_where_it_is_ignored_and_refused_where_it_is_read() {
    let reading = OidcFixture::new().await;
    let ignoring = OidcFixture::with_levels(
        "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"\nignore_acr = true",
        "",
    )
    .await;
    for acr in [json!(1), json!({ "level": "low" }), json!(["low"]), json!(true)] {
        for (fixture, expected) in [(&reading, Some(ErrorCode::AcrUnlisted)), (&ignoring, None)] {
            fixture.script().claims["acr"] = acr.clone();
            assert_eq!(fixture.complete_login().await.err(), expected, "{acr}");
        }
    }
}

#[tokio::test]
async fn a_second_audience_is_accepted_only_if_the_file_trusts_it_and_azp_is_the_hub() {
    let trusting = OidcFixture::with("trusted_audiences = [\"account\"]").await;
    for (aud, azp, expected) in [
        (json!(["hub", "account"]), json!("hub"), None),
        (json!(["account", "hub"]), json!("hub"), None),
        (json!("hub"), json!(null), None),
        (json!(["hub"]), json!(null), None),
        (json!(["hub", "account"]), json!(null), Some(ErrorCode::IdTokenAzp)),
        (json!(["hub", "account"]), json!("account"), Some(ErrorCode::IdTokenAzp)),
        (json!(["hub", "account", "evil"]), json!("hub"), Some(ErrorCode::IdTokenAudience)),
        (json!(["hub", "Account"]), json!("hub"), Some(ErrorCode::IdTokenAudience)),
        (json!(["account"]), json!("hub"), Some(ErrorCode::IdTokenAudience)),
        (json!("account"), json!("hub"), Some(ErrorCode::IdTokenAudience)),
    ] {
        trusting.script().claims["aud"] = aud.clone();
        trusting.script().claims["azp"] = azp.clone();
        assert_eq!(trusting.complete_login().await.err(), expected, "{aud} {azp}");
    }
    let strict = OidcFixture::new().await;
    strict.script().claims["aud"] = json!(["hub", "account"]);
    strict.script().claims["azp"] = json!("hub");
    assert_eq!(strict.complete_login().await.err(), Some(ErrorCode::IdTokenAudience));
}

#[tokio::test]
async fn an_auth_time_that_is_no_time_ends_only_a_login_that_needs_it() {
    let fixture = OidcFixture::new().await;
    for auth_time in [json!(null), json!(0), json!("1700000000"), json!(NOW + 61), json!({})] {
        fixture.script().claims["auth_time"] = auth_time.clone();
        if auth_time.is_null() {
            without(&mut fixture.script(), "auth_time");
        }
        let attempt = fixture.attempt().await;
        let plain = fixture.complete_login_with(attempt.clone()).await;
        assert_eq!(plain.unwrap().auth_time, None, "{auth_time}");
        let needing: [fn(&mut UpstreamAuthorizationRequest); 3] = [
            |request| request.auth_time_required = true,
            |request| request.reauthenticate = true,
            |request| request.max_age = Some(3600),
        ];
        for need in needing {
            let mut attempt = attempt.clone();
            need(&mut attempt.request);
            let error = fixture.complete_login_with(attempt).await.err();
            assert_eq!(error, Some(ErrorCode::IdTokenAuthTime), "{auth_time}");
        }
    }
    let dropped = fixture.connector.dropped_claims();
    let problems: Vec<_> = dropped.iter().map(|row| row.problem.as_str()).collect();
    assert_eq!(problems.len(), 3, "a number, a string and an object: {problems:?}");
}

#[tokio::test]
async fn a_verified_flag_of_the_id_token_does_not_vouch_for_the_address_of_userinfo() {
    let fixture = OidcFixture::new().await;
    fixture.script().claims["email"] = json!("boss@example.org");
    fixture.script().claims["email_verified"] = json!(true);
    fixture.script().userinfo = json!({ "sub": "s-1", "email": "attacker@example.org" });
    let claims = fixture.complete_login().await.unwrap().claims;
    assert_eq!(claims["email"], "attacker@example.org");
    assert!(!claims.contains_key("email_verified"));
}
