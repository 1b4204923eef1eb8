//! The token response, the ID token, the access token's lifetime, userinfo (R020, R030 to R040,
//! R054).

use std::time::Duration;

use serde_json::{Value, json};

use super::encryption::decrypted;
use super::{
    Hub, ID_TOKEN_LIFE, MILLISECOND, OPENID_TOKEN_LIFE, TOKEN_LIFE, by_post, read, service,
    token_request,
};
use passerelle_federation::assurance::{AcrCheck, Level, Platform};
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::login::IdentifiedUser;
use passerelle_federation::testing::samples::{ISSUER, NONCE, OPENED, identified_user};
use passerelle_federation::{Federation, UnavailableDisplay};
use passerelle_jose::testing::sample_keys::RING;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_protocol::token::TokenRequest;

#[tokio::test]
async fn expires_in_is_the_life_that_the_token_has() {
    let hub = Hub::new();
    hub.issue("code", &[]).await;
    let answer = hub.redeem("code").await.unwrap();
    assert_eq!(
        (&answer["token_type"], &answer["scope"]),
        (&json!("Bearer"), &json!("openid email"))
    );
    let token = answer["access_token"].as_str().unwrap();
    let valid = hub.grants.access_tokens.validate(token).await.unwrap();
    let life = Duration::from_secs(answer["expires_in"].as_u64().unwrap());
    assert_eq!((life, valid.expires_at), (TOKEN_LIFE, hub.now() + life));
    hub.clock.advance(life - MILLISECOND);
    assert_eq!(hub.validate(token).await, Ok(()));
    assert_eq!(hub.validate(token).await, Ok(()), "an access token may be used many times");
    hub.clock.advance(MILLISECOND);
    assert_eq!(hub.validate(token).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(hub.userinfo(token).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn unknown_tokens_and_other_secrets_are_no_access_tokens() {
    let hub = Hub::new();
    let (token, id_token) = hub.tokens("code", &[]).await;
    hub.issue("live code", &[]).await;
    let guesses = [
        "",
        "guess",
        "live code",
        "live code's session",
        &id_token,
        &format!("{token} "),
        &token[1..],
    ];
    for guess in guesses {
        assert_eq!(hub.validate(guess).await, Err(ErrorCode::AccessTokenInvalid), "{guess}");
    }
}

#[tokio::test]
async fn the_id_token_has_exactly_its_claims() {
    let hub = Hub::new();
    hub.issue("code", &[]).await;
    hub.clock.advance(Duration::from_secs(5));
    let answer = hub.redeem("code").await.unwrap();
    let (header, claims) = read(answer["id_token"].as_str().unwrap());
    assert_eq!((&header["alg"], &header["typ"]), (&json!("ES256"), &json!("JWT")));
    let iat = OPENED.seconds() + 5;
    // R033 to R038; R040: no at_hash
    let expected = json!({
        "iss": ISSUER, "sub": "pairwise-angela", "aud": "sp", "iat": iat, "exp": iat + ID_TOKEN_LIFE.as_secs(),
        "auth_time": OPENED.seconds(), "nonce": NONCE, "acr": "eidas1",
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn amr_is_released_only_when_requested() {
    // R039, R066
    for (claims, expected) in [
        (r#"{"id_token":{"amr":{"essential":true}}}"#, json!(["pwd", "hub"])),
        (r#"{"id_token":{"amr":{"essential":false}}}"#, Value::Null),
        (r#"{"id_token":{"amr":null}}"#, Value::Null),
        ("", Value::Null),
    ] {
        let (_, id_token) = Hub::new().tokens("code", &[("claims", claims)]).await;
        let (_, payload) = read(&id_token);
        assert_eq!(payload.get("amr").cloned().unwrap_or_default(), expected, "{claims}");
        assert_eq!(
            payload.as_object().unwrap().contains_key("amr"),
            expected.is_array(),
            "{claims}"
        );
    }
}

#[tokio::test]
async fn acr_is_the_level_obtained_and_on_standard_always_eidas1() {
    // R010, R038
    for (platform, asked, achieved, acr) in [
        (Platform::Standard, "eidas1", Level::Eidas1, "eidas1"),
        (Platform::Standard, "eidas1", Level::Eidas3, "eidas1"),
        (Platform::High, "eidas2", Level::Eidas2, "eidas2"),
        (Platform::High, "eidas2", Level::Eidas3, "eidas3"),
    ] {
        let hub = if platform == Platform::High { Hub::high() } else { Hub::new() };
        let mut grant = hub.grant("code", &[("acr_values", asked)]);
        grant.user = identified_user("idp", achieved);
        hub.grants.codes.issue(&grant).await.unwrap();
        let answer = hub.redeem("code").await.unwrap();
        let id_token = answer["id_token"].as_str().unwrap();
        let id_token =
            if platform == Platform::High { decrypted(id_token) } else { id_token.to_owned() };
        assert_eq!(read(&id_token).1["acr"], acr, "{platform:?} {achieved:?}");
        assert_eq!(hub.gate.asked.lock().unwrap().last().unwrap().2, AcrCheck::Achieved(achieved));
    }
}

#[tokio::test]
async fn a_reused_authentication_releases_the_capped_level_and_is_checked_by_the_proven_one() {
    let hub = Hub::high();
    let mut grant = hub.grant("code", &[("acr_values", "eidas2")]);
    grant.user = IdentifiedUser { level: Level::Eidas2, ..identified_user("idp", Level::Eidas3) };
    hub.grants.codes.issue(&grant).await.unwrap();
    let answer = hub.redeem("code").await.unwrap();
    assert_eq!(read(&decrypted(answer["id_token"].as_str().unwrap())).1["acr"], "eidas2");
    assert_eq!(hub.gate.asked.lock().unwrap().last().unwrap().2, AcrCheck::Achieved(Level::Eidas3));
}

#[tokio::test]
async fn each_service_provider_gets_its_own_algorithm_audience_and_a_true_signature() {
    let hub = Hub::new();
    hub.grants.codes.issue(&hub.grant("code", &[("client_id", "other")])).await.unwrap();
    let request =
        TokenRequest { credentials: by_post("other", "other's secret"), ..token_request("code") };
    let answer =
        serde_json::to_value(hub.grants.token_endpoint.answer(&request).await.unwrap()).unwrap();
    let userinfo = hub.userinfo(answer["access_token"].as_str().unwrap()).await.unwrap();
    let keys = VerificationKeys::from_jwks(&RING.jwks(OPENED, Duration::ZERO)).unwrap();
    for jws in [answer["id_token"].as_str().unwrap(), &userinfo] {
        let Ok(opened) = verify_jws(jws, passerelle_protocol::alg::SigningAlg::RS256, &keys) else {
            panic!("{jws}")
        };
        assert_eq!(opened.claims["aud"], "other");
    }
}

#[tokio::test]
async fn userinfo_is_what_the_person_saw_until_the_token_ends() {
    let hub = Hub::new();
    let (token, id_token) = hub.tokens("code", &[]).await;
    let issued = OPENED.seconds();
    hub.clock.advance(Duration::from_secs(20));
    let (header, claims) = read(&hub.userinfo(&token).await.unwrap());
    assert_eq!(header["alg"], "ES256");
    // R053, R054: exp is the access token's, not this answer's
    let expires_at = hub.grants.access_tokens.validate(&token).await.unwrap().expires_at.seconds();
    assert_eq!(expires_at, issued + TOKEN_LIFE.as_secs());
    let expected = json!({
        "sub": read(&id_token).1["sub"], "email": "angela@example.org",
        "aud": "sp", "iss": ISSUER, "iat": issued + 20, "exp": expires_at,
    });
    assert_eq!(claims, expected);
}

/// Registers `sp` as a service of plain OpenID Connect.
fn under_openid_rules(hub: &Hub, id_token_claims: bool) {
    let mut sp = service("sp", true, SigningAlg::ES256);
    sp.registration.rules = ProtocolRules::Openid;
    sp.id_token_claims = id_token_claims;
    hub.core.federation.replace(Federation::new(
        [sp],
        ScopeTable::default(),
        UnavailableDisplay::Disabled,
    ));
}

#[tokio::test]
async fn a_clock_75_seconds_ahead_finds_an_id_token_under_openid_rules_alive() {
    let hub = Hub::new();
    under_openid_rules(&hub, false);
    let (_, id_token) = hub.tokens("code", &[]).await;
    let claims = read(&id_token).1;
    let life = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert_eq!(life, OPENID_TOKEN_LIFE.as_secs());
}

/// Authlib tolerates 60 seconds, and takes a token that lives no longer for an expired one.
#[tokio::test]
async fn an_application_that_tolerates_a_minute_finds_an_access_token_under_openid_rules_alive() {
    let hub = Hub::new();
    under_openid_rules(&hub, false);
    let (token, _) = hub.tokens("code", &[]).await;
    hub.clock.advance(OPENID_TOKEN_LIFE - MILLISECOND);
    assert_eq!(hub.validate(&token).await, Ok(()));
    hub.clock.advance(MILLISECOND);
    assert_eq!(hub.validate(&token).await, Err(ErrorCode::AccessTokenInvalid));
    let seconds = |rules| {
        let life = crate::lifetimes::Lifetimes::default().tokens(rules);
        [life.code, life.access_token, life.id_token].map(|life| life.as_secs())
    };
    assert_eq!(seconds(ProtocolRules::Federation), [30, 60, 60]);
    assert_eq!(seconds(ProtocolRules::Openid), [60, 300, 300]);
}

#[tokio::test]
async fn a_service_provider_may_have_a_lifetime_of_access_tokens_of_its_own() {
    let hub = Hub::new();
    let own = Duration::from_secs(600);
    let mut sp = super::service("sp", true, SigningAlg::ES256);
    sp.access_token_lifetime = Some(own);
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([sp], table, unavailable));
    let (token, _) = hub.tokens("code", &[]).await;
    hub.clock.advance(own - MILLISECOND);
    assert_eq!(hub.validate(&token).await, Ok(()));
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused), "the replay is found");
    assert_eq!(hub.validate(&token).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn id_token_claims_puts_the_claims_of_the_granted_scopes_into_the_id_token() {
    for (id_token_claims, email) in [(true, json!("angela@example.org")), (false, Value::Null)] {
        let hub = Hub::new();
        under_openid_rules(&hub, id_token_claims);
        let (token, id_token) = hub.tokens("code", &[]).await;
        let claims = read(&id_token).1;
        assert_eq!(
            (claims.get("email").unwrap_or(&Value::Null), &claims["sub"]),
            (&email, &json!("pairwise-angela"))
        );
        assert!(hub.userinfo(&token).await.is_ok());
    }
}
