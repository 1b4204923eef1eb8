//! Redirect URIs and scopes that were withdrawn before a code is redeemed or a token is used.

use super::{Hub, service, token_request};
use crate::records::{TokenRecord, decode_record, token_key};
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::{Federation, ServiceProvider, UnavailableDisplay};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::revocation::RevocationRequest;

impl Hub {
    /// Changes the registration of `sp`.
    fn reregister(&self, change: impl FnOnce(&mut ServiceProvider)) {
        let mut sp = service("sp", true, SigningAlg::ES256);
        change(&mut sp);
        self.core.federation.replace(Federation::new(
            [sp],
            ScopeTable::default(),
            UnavailableDisplay::Disabled,
        ));
    }

    async fn record(&self, token: &str) -> Option<TokenRecord> {
        let found = self.store.load(&token_key(token), self.now()).await.unwrap();
        found.map(|record| decode_record(&record.value).unwrap())
    }
}

fn without_email(sp: &mut ServiceProvider) {
    sp.registration.granted_scopes.retain(|scope| scope.as_str() != "email");
}

fn with_other_redirect_uri(sp: &mut ServiceProvider) {
    sp.registration.redirect_uris = vec!["https://sp.example/another".into()];
}

type Change = fn(&mut ServiceProvider);

const CHANGES: [(&str, Change); 2] =
    [("scope", without_email), ("redirect URI", with_other_redirect_uri)];

#[tokio::test]
async fn a_code_is_not_redeemed_once_its_redirect_uri_or_a_scope_was_withdrawn() {
    for (what, change) in CHANGES {
        let hub = Hub::new();
        hub.issue("code", &[]).await;
        hub.reregister(change);
        assert_eq!(
            hub.refusal(&token_request("code")).await,
            Some(ErrorCode::CodeRegistrationWithdrawn),
            "{what}"
        );
        assert_eq!(ErrorCode::CodeRegistrationWithdrawn.entry().oauth, "invalid_grant");
        hub.reregister(|_| ());
        assert_eq!(
            hub.redeem("code").await,
            Err(ErrorCode::CodeReused),
            "{what}: the code stays burnt"
        );
    }
}

#[tokio::test]
async fn a_token_is_inactive_while_its_redirect_uri_or_a_scope_is_withdrawn() {
    for (what, change) in CHANGES {
        let hub = Hub::new();
        let (token, _) = hub.tokens("code", &[]).await;
        assert!(hub.userinfo(&token).await.is_ok());
        hub.reregister(change);
        assert_eq!(hub.userinfo(&token).await, Err(ErrorCode::AccessTokenInvalid), "{what}");
        assert_eq!(
            hub.validate(&token).await,
            Err(ErrorCode::AccessTokenInvalid),
            "{what}: nor does a data provider hear of it"
        );
        hub.reregister(|sp| {
            sp.registration.redirect_uris.push("https://sp.example/one-more".into())
        });
        assert!(hub.userinfo(&token).await.is_ok(), "{what}: what was added takes nothing away");
    }
}

#[tokio::test]
async fn a_token_with_a_withdrawn_scope_can_still_be_revoked() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    hub.reregister(without_email);
    let credentials = token_request("code").credentials;
    let request = RevocationRequest {
        credentials,
        token: passerelle_protocol::ids::Secret::new(token.clone()),
    };
    hub.grants.revocation_endpoint.revoke(&request).await.unwrap();
    assert!(hub.record(&token).await.is_none(), "it would live again with the scope");
}

#[tokio::test]
async fn a_code_issued_after_the_withdrawal_has_no_claim_of_the_scope() {
    let hub = Hub::new();
    hub.reregister(without_email);
    hub.issue("code", &[]).await;
    hub.reregister(|_| ());
    let answer = hub.redeem("code").await.unwrap();
    assert!(hub.record(answer["access_token"].as_str().unwrap()).await.unwrap().claims.is_empty());
}
