//! Who may redeem: nothing is learnt, and nothing burnt, by one who can't prove who they are.

use super::{Hub, federation, token_request};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::token::TokenRequest;

#[tokio::test]
async fn a_stranger_learns_nothing_and_burns_nothing() {
    for (attack, client_id, secret) in [
        ("wrong secret", "sp", "guess"),
        ("empty secret", "sp", ""),
        ("one character more", "sp", "sp's secret "),
        ("another SP's secret", "sp", "other's secret"),
        ("the stored hash as secret", "sp", &crate::digest::fingerprint("sp's secret")),
        ("unknown client", "nobody", "sp's secret"),
        ("client id in another case", "SP", "sp's secret"),
        ("inactive client", "off", "off's secret"),
    ] {
        let hub = Hub::new();
        hub.issue("code", &[]).await;
        let request =
            TokenRequest { client_id: client_id.into(), client_secret: Secret::new(secret.into()), ..token_request("code") };
        for _ in 0..2 {
            assert_eq!(hub.grants.redeem(&request).await.err(), Some(ErrorCode::ClientAuthentication), "{attack}");
        }
        assert!(hub.grants.code_lives("code").await.unwrap(), "{attack}");
        hub.redeem("code").await.unwrap();
    }
}

#[tokio::test]
async fn a_stranger_can_not_revoke_by_replaying() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    let stranger = TokenRequest { client_secret: Secret::new("guess".into()), ..token_request("code") };
    assert_eq!(hub.grants.redeem(&stranger).await.err(), Some(ErrorCode::ClientAuthentication));
    assert_eq!(hub.verdict(&token).await, Ok(()));
}

#[tokio::test]
async fn either_secret_works_while_one_replaces_the_other() {
    let hub = Hub::new();
    for secret in ["sp's secret", "sp's next secret"] {
        hub.issue(secret, &[]).await;
        let request = TokenRequest { client_secret: Secret::new(secret.into()), ..token_request(secret) };
        hub.grants.redeem(&request).await.unwrap();
    }
}

#[tokio::test]
async fn a_service_provider_that_was_switched_off_gets_nothing_more() {
    let mut hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    hub.issue("another code", &[]).await;
    hub.grants.federation = federation(false);
    assert_eq!(hub.redeem("another code").await, Err(ErrorCode::ClientAuthentication));
    assert_eq!(hub.grants.userinfo(&token).await, Err(ErrorCode::AccessTokenInvalid));
    hub.grants.federation = federation(true);
    hub.redeem("another code").await.unwrap();
}
