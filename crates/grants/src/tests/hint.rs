//! `id_token_hint`: only an ID token of this hub for this service provider is accepted.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::json;

use super::{Hub, by_post, read, token_request};
use passerelle_federation::testing::samples::{OPENED, authorization_request};
use passerelle_jose::keyring::RETIRED_KEY_LIFETIME;
use passerelle_jose::testing::sample_keys::RING;
use passerelle_jose::verify::VerificationKeys;
use passerelle_jose::{Keyring, Signer as _, SigningKey};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{Secret, Subject};
use passerelle_protocol::logout::LogoutHint;
use passerelle_protocol::token::TokenRequest;
use passerelle_store::testing::store_conformance::ample_capacities;

/// Another hub's keys.
static FOREIGN: LazyLock<Keyring> = LazyLock::new(|| Keyring::ephemeral(OPENED).unwrap());

fn requested_subjects(hub: &Hub, hint: &str) -> Result<Vec<Subject>, ErrorCode> {
    hub.grants.hints.requested_subjects(&authorization_request(&[("id_token_hint", hint)]))
}

fn angela_subjects() -> Result<Vec<Subject>, ErrorCode> {
    Ok(vec![Subject::new("pairwise-angela")])
}

#[tokio::test]
async fn an_own_id_token_names_its_user_even_when_expired() {
    let hub = Hub::new();
    let (_, id_token) = hub.tokens("code", &[]).await;
    assert_eq!(requested_subjects(&hub, &id_token), angela_subjects());
    hub.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(requested_subjects(&hub, &id_token), angela_subjects());
}

#[tokio::test]
async fn hint_and_requested_sub_both_count() {
    let hub = Hub::new();
    assert_eq!(hub.grants.hints.requested_subjects(&authorization_request(&[])), Ok(vec![]));
    let claims = ("claims", r#"{"id_token":{"sub":{"value":"requested"}}}"#);
    assert_eq!(
        hub.grants.hints.requested_subjects(&authorization_request(&[claims])),
        Ok(vec![Subject::new("requested")])
    );
    let (_, id_token) = hub.tokens("code", &[]).await;
    let both = hub
        .grants
        .hints
        .requested_subjects(&authorization_request(&[claims, ("id_token_hint", &id_token)]));
    assert_eq!(both, Ok(vec![Subject::new("pairwise-angela"), Subject::new("requested")]));
}

// R044
#[tokio::test]
async fn a_hint_that_carries_at_hash_is_accepted() {
    let hub = Hub::new();
    let (_, id_token) = hub.tokens("code", &[]).await;
    let (_, mut claims) = read(&id_token);
    claims["at_hash"] = json!(digest::base64url(&[7; 16]));
    let at = OPENED + Duration::from_secs(1);
    let hint =
        RING.sign(SigningAlg::ES256, "JWT", claims.to_string().as_bytes(), at).await.unwrap();
    assert_eq!(requested_subjects(&hub, &hint), angela_subjects());
}

#[tokio::test]
async fn forged_and_borrowed_hints_are_refused() {
    let hub = Hub::new();
    let (access_token, id_token) = hub.tokens("code", &[]).await;
    let userinfo = hub.userinfo(&access_token).await.unwrap();
    let (_, claims) = read(&id_token);
    let changed = |name: &str, value: serde_json::Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        claims.to_string().into_bytes()
    };
    let parts: Vec<&str> = id_token.split('.').collect();
    let tampered = digest::base64url(&changed("sub", json!("root")));
    let none = digest::base64url(br#"{"alg":"none","typ":"JWT"}"#);
    let by = |ring: &'static Keyring, payload: Vec<u8>| async move {
        ring.sign(SigningAlg::ES256, "JWT", &payload, OPENED + Duration::from_secs(1))
            .await
            .unwrap()
    };
    let own: &'static Keyring = &RING;
    // It has every claim of an ID token; the type alone must reject it.
    let payload = claims.to_string().into_bytes();
    let introspection = RING.sign(
        SigningAlg::ES256,
        "token-introspection+jwt",
        &payload,
        OPENED + Duration::from_secs(1),
    );
    for (attack, hint) in [
        ("signed by a foreign key", by(&FOREIGN, claims.to_string().into_bytes()).await),
        ("a userinfo answer", userinfo),
        ("another subject in it", format!("{}.{tampered}.{}", parts[0], parts[2])),
        ("without signature", format!("{}.{}.", parts[0], parts[1])),
        ("alg none", format!("{none}.{tampered}.")),
        ("for another SP", by(own, changed("aud", json!("other"))).await),
        (
            "of another issuer that shares our keys",
            by(own, changed("iss", json!("https://hub.example/api/v3"))).await,
        ),
        ("without subject", by(own, changed("sub", json!(null))).await),
        ("of the future", by(own, changed("iat", json!(OPENED.seconds() + 3600))).await),
        ("without issue time", by(own, changed("iat", json!(null))).await),
        ("an introspection answer", introspection.await.unwrap()),
        ("an access token", access_token),
        ("not a token", "hint".into()),
    ] {
        assert_eq!(requested_subjects(&hub, &hint), Err(ErrorCode::IdTokenHintInvalid), "{attack}");
        let at_logout = hub.grants.hints.verify_logout_hint(&hint);
        // At logout, the hint names the service provider.
        if attack == "for another SP" {
            assert_eq!(
                at_logout,
                Ok(LogoutHint { audience: "other".into(), user: Subject::new("pairwise-angela") })
            );
        } else {
            assert_eq!(at_logout, Err(ErrorCode::LogoutHintInvalid), "{attack}");
        }
    }
    assert_eq!(
        requested_subjects(&hub, &by(own, claims.to_string().into_bytes()).await),
        angela_subjects()
    );
}

#[tokio::test]
async fn the_hint_of_another_service_provider_is_refused_and_its_own_accepted() {
    let hub = Hub::new();
    hub.issue("code", &[("client_id", "other")]).await;
    let redeem =
        TokenRequest { credentials: by_post("other", "other's secret"), ..token_request("code") };
    let answer =
        serde_json::to_value(hub.grants.token_endpoint.answer(&redeem).await.unwrap()).unwrap();
    let hint = answer["id_token"].as_str().unwrap();
    assert_eq!(requested_subjects(&hub, hint), Err(ErrorCode::IdTokenHintInvalid));
    let own = authorization_request(&[("client_id", "other"), ("id_token_hint", hint)]);
    assert_eq!(hub.grants.hints.requested_subjects(&own), angela_subjects(), "signed with RS256");
}

#[tokio::test]
async fn a_retired_key_still_proves_a_hint_for_a_month() {
    let month_over = OPENED + Duration::from_secs(100) + RETIRED_KEY_LIFETIME;
    let key = |jwk: Jwk, from: Timestamp| {
        SigningKey::parse(&Secret::new(jwk.as_ref().clone()), from, from).unwrap()
    };
    let ec = |from| key(Jwk::generate_ec_key(EcCurve::P256).unwrap(), from);
    let rsa = key(Jwk::generate_rsa_key(2048).unwrap(), OPENED);
    let ring = Arc::new(
        Keyring::new(vec![rsa, ec(OPENED), ec(OPENED + Duration::from_secs(100))], OPENED).unwrap(),
    );
    let own_keys = Arc::new(ArcSwap::default());
    let hub = Hub::build(ample_capacities(), |dependencies| {
        dependencies.signer = Arc::clone(&ring) as _;
        dependencies.own_keys = Arc::clone(&own_keys);
    });
    let (_, id_token) = hub.tokens("code", &[]).await;
    let know = |now| {
        let keys = VerificationKeys::from_jwks(&ring.verification_jwks(now)).unwrap();
        own_keys.store(Arc::new(keys));
    };
    know(month_over);
    assert_eq!(requested_subjects(&hub, &id_token), angela_subjects());
    assert_eq!(
        hub.grants.hints.verify_logout_hint(&id_token).map(|hint| hint.user),
        Ok(Subject::new("pairwise-angela"))
    );
    know(month_over + Duration::from_secs(1));
    assert_eq!(requested_subjects(&hub, &id_token), Err(ErrorCode::IdTokenHintInvalid));
    assert_eq!(hub.grants.hints.verify_logout_hint(&id_token), Err(ErrorCode::LogoutHintInvalid));
}
