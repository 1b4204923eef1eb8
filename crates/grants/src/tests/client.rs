//! Client authentication: a failure reveals nothing and consumes no code (R155, R201).

use std::time::Duration;

use super::{Hub, by_post, dated, federation, federation_with, service, token_request};
use passerelle_federation::testing::samples::OPENED;
use passerelle_federation::validity::Validity;
use passerelle_federation::{ClientAuthentication, ServiceProvider};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::{ErrorCode, RequiredParam};
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::error_response::{AuthLocation, ErrorResponse};
use passerelle_protocol::ids::Secret;
use passerelle_protocol::registration::{ClientType, ProtocolRules};
use passerelle_protocol::token::TokenRequest;

// RFC 7636, appendix B
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const HOUR: Duration = Duration::from_secs(3600);

fn by_basic(client_id: &str, secret: &str) -> Credentials {
    Credentials::SecretBasic { client_id: client_id.into(), secret: Secret::new(secret.into()) }
}

fn public(client_id: &str) -> ServiceProvider {
    let mut client = service(client_id, true, SigningAlg::ES256);
    client.authentication = ClientAuthentication::Public;
    client.registration.client_type = ClientType::Public;
    client
}

fn by_id(client_id: &str) -> Credentials {
    Credentials::Public { client_id: client_id.into() }
}

#[tokio::test]
async fn code_injection_without_a_verifier_is_stopped() {
    // Both codes were issued while the client was confidential; one has no challenge.
    for (challenge, verifier, expected) in [
        (None, None, Some(ErrorCode::CodeVerifier)),
        (None, Some(VERIFIER), Some(ErrorCode::CodeVerifier)),
        (Some(CHALLENGE), None, Some(ErrorCode::CodeVerifier)),
        (Some(CHALLENGE), Some("guess"), Some(ErrorCode::CodeVerifier)),
        (Some(CHALLENGE), Some(VERIFIER), None),
    ] {
        let hub = Hub::new();
        hub.set_federation(federation_with([public("sp")]));
        let pkce = challenge.map(|c| [("code_challenge", c), ("code_challenge_method", "S256")]);
        hub.issue("code", pkce.as_ref().map_or(&[][..], |pairs| &pairs[..])).await;
        let request = TokenRequest { credentials: by_id("sp"), ..token_request("code") };
        let request = match verifier {
            Some(verifier) => super::with_verifier(request, verifier),
            None => request,
        };
        assert_eq!(hub.refusal(&request).await, expected, "{challenge:?} {verifier:?}");
    }
}

#[tokio::test]
async fn a_public_client_may_send_a_header_with_an_empty_secret_and_no_other_client_may() {
    let hub = Hub::new();
    hub.set_federation(federation_with([public("app"), service("sp", true, SigningAlg::ES256)]));
    let authenticate = async |client_id: &str, secret: &str| {
        let credentials = by_basic(client_id, secret);
        let client = hub.grants.token_endpoint.authenticator.authenticate(&credentials).await;
        client.map(drop).map_err(|error| error.code.entry().status)
    };
    assert_eq!(authenticate("app", "").await, Ok(()));
    for (client_id, secret) in [("app", "guess"), ("sp", ""), ("unknown", "")] {
        assert_eq!(authenticate(client_id, secret).await, Err(401), "{client_id} {secret}");
    }
    assert!(by_basic("app", "").prove_nothing() && !by_basic("app", "guess").prove_nothing());
}

#[tokio::test]
async fn a_confidential_client_without_its_secret_is_no_public_client() {
    let hub = Hub::new();
    let mut openid = service("openid", true, SigningAlg::ES256);
    openid.registration.rules = ProtocolRules::Openid;
    hub.set_federation(federation_with([
        public("app"),
        service("sp", true, SigningAlg::ES256),
        ServiceProvider {
            authentication: ClientAuthentication::SecretBasic(vec![]),
            ..service("headed", true, SigningAlg::ES256)
        },
        openid,
    ]));
    hub.issue("code", &[]).await;
    let missing = ErrorCode::Missing(RequiredParam::TokenClientSecret);
    for (client_id, expected) in [
        // R153
        ("sp", missing),
        ("unknown", missing),
        // RFC 6749 §5.2
        ("headed", ErrorCode::ClientOtherMethod),
        ("openid", ErrorCode::ClientOtherMethod),
    ] {
        let request = TokenRequest { credentials: by_id(client_id), ..token_request("code") };
        assert_eq!(hub.refusal(&request).await, Some(expected), "{client_id}");
    }
    // And a public client that sends a secret has none that could be right.
    for credentials in [by_post("app", "app's secret"), by_basic("app", "app's secret")] {
        let request = TokenRequest { credentials, ..token_request("code") };
        assert_eq!(hub.refusal(&request).await, Some(ErrorCode::ClientOtherMethod));
    }
}

#[tokio::test]
async fn a_failed_client_authentication_reveals_nothing_and_uses_no_code() {
    for (attack, client_id, secret, logged) in [
        ("wrong secret", "sp", "guess", ErrorCode::ClientAuthentication),
        ("empty secret", "sp", "", ErrorCode::ClientAuthentication),
        ("one character more", "sp", "sp's secret ", ErrorCode::ClientAuthentication),
        ("another SP's secret", "sp", "other's secret", ErrorCode::ClientAuthentication),
        (
            "the stored hash as secret",
            "sp",
            &passerelle_protocol::digest::sha256_base64url("sp's secret"),
            ErrorCode::ClientAuthentication,
        ),
        ("unknown client", "unknown", "sp's secret", ErrorCode::ClientUnknown),
        ("client id in another case", "SP", "sp's secret", ErrorCode::ClientUnknown),
        ("inactive client", "off", "off's secret", ErrorCode::ClientUnknown),
        (
            "another method than registered",
            "headed",
            "headed's secret",
            ErrorCode::ClientOtherMethod,
        ),
    ] {
        let hub = Hub::new();
        hub.issue("code", &[]).await;
        let request =
            TokenRequest { credentials: by_post(client_id, secret), ..token_request("code") };
        for _ in 0..2 {
            let refusal = hub.refusal(&request).await.unwrap();
            assert_eq!(refusal, logged, "{attack}");
            let wrong_secret =
                ErrorResponse::for_client(ErrorCode::ClientAuthentication, AuthLocation::Body);
            assert_eq!(
                ErrorResponse::for_client(refusal, AuthLocation::Body),
                wrong_secret,
                "{attack}"
            );
        }
        assert!(hub.grants.codes.is_live("code").await.unwrap(), "{attack}");
        hub.redeem("code").await.unwrap();
    }
}

#[tokio::test]
async fn a_stranger_can_not_revoke_by_replaying() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    let stranger = TokenRequest { credentials: by_post("sp", "guess"), ..token_request("code") };
    assert_eq!(hub.refusal(&stranger).await, Some(ErrorCode::ClientAuthentication));
    assert_eq!(hub.validate(&token).await, Ok(()));
}

#[tokio::test]
async fn only_the_registered_method_is_accepted_even_with_the_correct_secret() {
    let hub = Hub::new();
    let answer = async |credentials: &Credentials| hub.authenticated(credentials).await.err();
    assert_eq!(answer(&by_basic("headed", "headed's secret")).await, None);
    assert_eq!(answer(&by_post("sp", "sp's secret")).await, None);
    for other in [by_post("headed", "headed's secret"), by_basic("sp", "sp's secret")] {
        assert_eq!(answer(&other).await, Some(ErrorCode::ClientOtherMethod));
    }
}

#[tokio::test]
async fn either_secret_works_while_one_replaces_the_other() {
    let hub = Hub::new();
    for secret in ["sp's secret", "sp's next secret"] {
        hub.issue(secret, &[]).await;
        let request = TokenRequest { credentials: by_post("sp", secret), ..token_request(secret) };
        hub.grants.token_endpoint.answer(&request).await.unwrap();
    }
}

/// The old secret ends an hour after the new one begins: rotation needs no coordination.
#[tokio::test]
async fn a_secret_is_valid_from_not_before_and_before_not_after() {
    let begins = OPENED + HOUR;
    let ends = begins + HOUR;
    let old = dated("old", Validity { not_before: None, not_after: Some(ends) });
    let new = dated("new", Validity { not_before: Some(begins), not_after: None });
    let mut rotating = service("sp", true, SigningAlg::ES256);
    rotating.authentication = ClientAuthentication::SecretPost(vec![old, new]);
    let hub = Hub::new();
    hub.set_federation(federation_with([rotating]));

    let just_before = |at: Timestamp| at - Duration::from_millis(1);
    let (early, late) = (Some(ErrorCode::ClientSecretNotYet), Some(ErrorCode::ClientSecretExpired));
    for (now, of_old, of_new) in [
        (just_before(begins), None, early),
        (begins, None, None),
        (just_before(ends), None, None),
        (ends, late, None),
    ] {
        hub.clock.advance(now.since(hub.now()));
        for (secret, expected) in
            [("old", of_old), ("new", of_new), ("older", Some(ErrorCode::ClientAuthentication))]
        {
            assert_eq!(
                hub.authenticated(&by_post("sp", secret)).await.err(),
                expected,
                "{secret} at {now:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_secret_listed_twice_is_valid_in_both_periods() {
    let first = dated("same", Validity { not_before: None, not_after: Some(OPENED) });
    let again = dated("same", Validity { not_before: Some(OPENED), not_after: None });
    for secrets in [vec![first.clone(), again.clone()], vec![again, first]] {
        let mut twice = service("sp", true, SigningAlg::ES256);
        twice.authentication = ClientAuthentication::SecretPost(secrets);
        let hub = Hub::new();
        hub.set_federation(federation_with([twice]));
        assert!(hub.authenticated(&by_post("sp", "same")).await.is_ok());
    }
}

#[tokio::test]
async fn a_service_provider_that_was_switched_off_gets_nothing_more() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    hub.issue("another code", &[]).await;
    hub.set_federation(federation(false));
    assert_eq!(hub.redeem("another code").await, Err(ErrorCode::ClientUnknown));
    assert_eq!(hub.userinfo(&token).await, Err(ErrorCode::AccessTokenInvalid));
    hub.set_federation(federation(true));
    hub.redeem("another code").await.unwrap();
}
