//! Logout tokens of an identity provider, each rule with the attack that it stops (Back-Channel
//! Logout 1.0 §2.6).

use serde_json::{Value, json};

use super::super::*;
use crate::testing::fake_idp::*;
use passerelle_jose::logout_token::LOGOUT_EVENT;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;

const ON: &str = "backchannel_logout = true";

fn claims(base: &str) -> Value {
    json!({
        "iss": base, "aud": "hub", "iat": NOW, "exp": NOW + 120, "jti": "j-1", "sid": "sid-1",
        "sub": "s-1", "events": { LOGOUT_EVENT: {} },
    })
}

async fn verify(fixture: &OidcFixture, token: &str) -> Result<UpstreamLogout, ErrorCode> {
    fixture.connector.verify_logout_token(token).await.map_err(|error| {
        for secret in ["sid-1", "s-1", "j-1", "eyJ"] {
            assert!(!error.detail.contains(secret), "{secret} leaks: {}", error.detail);
        }
        error.code
    })
}

/// The outcome for a signed token whose claims were changed.
async fn changed(change: impl Fn(&mut Value)) -> Result<UpstreamLogout, ErrorCode> {
    changed_with(ON, change).await
}

/// As [`changed`], for a connector with these settings.
async fn changed_with(
    settings: &str,
    change: impl Fn(&mut Value),
) -> Result<UpstreamLogout, ErrorCode> {
    let fixture = OidcFixture::with(settings).await;
    let token = {
        let script = fixture.script();
        let mut claims = claims(&script.base);
        change(&mut claims);
        script.sign(&claims)
    };
    verify(&fixture, &token).await
}

fn without(name: &'static str) -> impl Fn(&mut Value) {
    move |claims| drop(claims.as_object_mut().unwrap().remove(name))
}

#[tokio::test]
async fn a_logout_token_names_its_session_and_user() {
    let logout = changed(|_| ()).await.unwrap();
    assert_eq!(logout.session_id.unwrap().reveal(), "sid-1");
    assert_eq!(logout.subject.unwrap().reveal(), "s-1");
    assert_eq!((logout.jti.as_str(), logout.issued_at.seconds()), ("j-1", NOW));
    assert!(changed(without("sid")).await.unwrap().session_id.is_none());
    assert!(changed(without("sub")).await.unwrap().subject.is_none());
    changed(|claims| claims["aud"] = json!(["hub"])).await.unwrap();
}

#[tokio::test]
async fn each_typ_of_a_logout_token_is_accepted_and_no_other() {
    let types = [
        (json!("logout+jwt"), true),
        (json!("LOGOUT+JWT"), true),
        (json!("application/logout+jwt"), true),
        (json!("JWT"), true),
        (json!("at+jwt"), false),
        (json!(7), false),
    ];
    for (typ, is_accepted) in types {
        let fixture = OidcFixture::with(ON).await;
        let token = {
            let mut script = fixture.script();
            script.header["typ"] = typ.clone();
            script.sign(&claims(&script.base))
        };
        let outcome = verify(&fixture, &token).await.map(|_| ());
        let expected = if is_accepted { Ok(()) } else { Err(ErrorCode::LogoutTokenEvent) };
        assert_eq!(outcome, expected, "{typ}");
    }
}

#[tokio::test]
async fn an_id_token_is_not_a_logout_token() {
    let fixture = OidcFixture::with(ON).await;
    let token = {
        let script = fixture.script();
        script.sign(&script.claims)
    };
    assert_eq!(verify(&fixture, &token).await.err(), Some(ErrorCode::LogoutTokenEvent));
}

#[tokio::test]
async fn a_forged_logout_token_is_rejected() {
    let fixture = OidcFixture::with(ON).await;
    let (forged, changed) = {
        let mut script = fixture.script();
        let claims = claims(&script.base);
        let honest = script.sign(&claims);
        let mut parts = honest.split('.').map(str::to_owned).collect::<Vec<_>>();
        let mut other = claims.clone();
        other["sub"] = json!("another");
        parts[1] = digest::base64url(other.to_string().as_bytes());
        script.key = ec_key("k1").0;
        (script.sign(&claims), parts.join("."))
    };
    for token in [forged, changed] {
        assert_eq!(verify(&fixture, &token).await.err(), Some(ErrorCode::LogoutTokenUnproven));
    }
    assert!(
        fixture.script().calls("/jwks") <= 2,
        "unverified tokens cause one fetch a minute at most"
    );
}

#[tokio::test]
async fn a_logout_token_with_alg_none_or_another_alg_is_rejected() {
    for alg in ["none", "HS256", "RS256", "EdDSA"] {
        let fixture = OidcFixture::with(ON).await;
        let token = {
            let mut script = fixture.script();
            script.header["alg"] = json!(alg);
            let token = script.sign(&claims(&script.base));
            if alg == "none" { format!("{}.", token.rsplit_once('.').unwrap().0) } else { token }
        };
        let outcome = verify(&fixture, &token).await.err();
        assert_eq!(outcome, Some(ErrorCode::LogoutTokenMalformed), "{alg}");
        assert_eq!(fixture.script().calls("/jwks"), 1, "no fetch beyond the first");
    }
}

#[tokio::test]
async fn a_logout_token_with_a_nonce_is_rejected() {
    let outcome = changed(|claims| claims["nonce"] = json!("the nonce")).await;
    assert_eq!(outcome.err(), Some(ErrorCode::LogoutTokenNonce));
}

#[tokio::test]
async fn a_logout_token_for_another_client_or_of_another_issuer_is_rejected() {
    for aud in
        [json!("another"), json!(["another"]), json!(["hub", "another"]), json!([]), json!(null)]
    {
        let outcome = changed(|claims| claims["aud"] = aud.clone()).await;
        assert_eq!(outcome.err(), Some(ErrorCode::LogoutTokenAudience), "{aud}");
    }
    let outcome = changed(|claims| claims["iss"] = json!("https://evil.example")).await;
    assert_eq!(outcome.err(), Some(ErrorCode::LogoutTokenIssuer));
}

#[tokio::test]
async fn a_logout_token_may_have_the_trusted_audiences_of_id_tokens_and_no_others() {
    let trusting = format!("{ON}\ntrusted_audiences = [\"account\"]");
    let refused = Err(ErrorCode::LogoutTokenAudience);
    for (aud, expected) in [
        (json!("hub"), Ok(())),
        (json!(["hub", "account"]), Ok(())),
        (json!(["account", "hub"]), Ok(())),
        (json!("account"), refused),
        (json!(["account"]), refused),
        (json!(["hub", "account", "another"]), refused),
        (json!(["hub", 7]), refused),
    ] {
        let outcome = changed_with(&trusting, |claims| claims["aud"] = aud.clone()).await;
        assert_eq!(outcome.map(|_| ()), expected, "{aud}");
    }
    for (azp, expected) in [("hub", Ok(())), ("account", refused)] {
        let outcome = changed_with(&trusting, |claims| {
            claims["aud"] = json!(["hub", "account"]);
            claims["azp"] = json!(azp);
        });
        assert_eq!(outcome.await.map(|_| ()), expected, "{azp}");
    }
}

#[tokio::test]
async fn each_defect_of_a_logout_token_has_its_code() {
    use ErrorCode::{
        LogoutTokenAudience, LogoutTokenEvent, LogoutTokenIssuer, LogoutTokenMalformed,
        LogoutTokenSubject, LogoutTokenTime,
    };
    for (name, code) in [
        ("iss", LogoutTokenIssuer),
        ("aud", LogoutTokenAudience),
        ("iat", LogoutTokenMalformed),
        ("exp", LogoutTokenMalformed),
        ("jti", LogoutTokenMalformed),
        ("events", LogoutTokenEvent),
    ] {
        assert_eq!(changed(without(name)).await.err(), Some(code), "{name}");
    }
    let outcome = changed(|claims| {
        without("sid")(claims);
        without("sub")(claims);
    });
    assert_eq!(outcome.await.err(), Some(LogoutTokenSubject));
    for (name, value, code) in [
        ("exp", json!(NOW - 61), LogoutTokenTime),
        ("exp", json!(NOW + 3700), LogoutTokenTime),
        ("iat", json!(NOW + 61), LogoutTokenTime),
        ("nbf", json!(NOW + 61), LogoutTokenTime),
        ("exp", json!("soon"), LogoutTokenMalformed),
        ("jti", json!(""), LogoutTokenMalformed),
        ("jti", json!("x".repeat(256)), LogoutTokenMalformed),
        ("sid", json!(7), LogoutTokenMalformed),
        ("sub", json!([]), LogoutTokenMalformed),
        ("events", json!({ LOGOUT_EVENT: true }), LogoutTokenEvent),
        ("events", json!([LOGOUT_EVENT]), LogoutTokenEvent),
        ("events", json!({ "https://example.org/other": {} }), LogoutTokenEvent),
    ] {
        let outcome = changed(|claims| claims[name] = value.clone()).await;
        assert_eq!(outcome.err(), Some(code), "{name} {value}");
    }
    let fixture = OidcFixture::with(ON).await;
    for token in ["", "a.b", "a.b.c", "a.b.c.d.e"] {
        let outcome = verify(&fixture, token).await.err();
        assert!(
            matches!(outcome, Some(LogoutTokenMalformed | ErrorCode::LogoutTokenEncryption)),
            "{token}"
        );
    }
}
