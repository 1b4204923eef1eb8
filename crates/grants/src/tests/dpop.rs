//! DPoP: proofs at the token and userinfo endpoints, and what each attack on them gets (RFC 9449).

use std::time::Duration;

use serde_json::{Value, json};

use super::{CODE_LIFE, Hub, service, token_request};
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::testing::samples::ISSUER;
use passerelle_federation::{Federation, TokenBinding, UnavailableDisplay};
use passerelle_jose::testing::dpop_client::DpopClient;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::sender_constraint::{DpopHeader, ProofOfPossession};
use passerelle_protocol::token::TokenRequest;
use passerelle_protocol::userinfo::{BearerLocation, PresentedToken, TokenScheme};

fn proof_of_possession(method: &str, proof: String) -> ProofOfPossession {
    ProofOfPossession {
        dpop: Some(DpopHeader { proof: Secret::new(proof), method: method.to_owned() }),
        certificate: None,
    }
}

/// The claims of a good proof for the token endpoint, with these replaced; null removes one.
fn claims(hub: &Hub, changes: Value) -> Value {
    let mut claims = json!({
        "htm": "POST", "htu": format!("{ISSUER}/token"), "iat": hub.now().seconds(),
        "jti": format!("jti {}", hub.core.env.entropy().token()),
    });
    let members = claims.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    claims
}

fn with_proof(code: &str, proof: String) -> TokenRequest {
    token_request(code).with_proof_of_possession(proof_of_possession("POST", proof))
}

async fn redeem(hub: &Hub, request: &TokenRequest) -> Result<Value, ErrorCode> {
    let answer = hub.grants.token_endpoint.answer(request).await.map_err(|error| error.code)?;
    Ok(serde_json::to_value(answer).unwrap())
}

/// A token of `sp` that is bound to this client's key.
async fn bound_token(hub: &Hub, client: &DpopClient, code: &str) -> String {
    hub.issue(code, &[]).await;
    let request = with_proof(code, client.proof(&claims(hub, json!({}))));
    let answer = redeem(hub, &request).await.unwrap();
    assert_eq!(answer["token_type"], "DPoP");
    answer["access_token"].as_str().unwrap().to_owned()
}

/// The claims of a good proof for userinfo by GET.
fn userinfo_claims(hub: &Hub, token: &str, changes: Value) -> Value {
    let own = json!({
        "htm": "GET", "htu": format!("{ISSUER}/userinfo"), "ath": digest::sha256_base64url(token),
    });
    let mut claims = claims(hub, own);
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

async fn present(
    hub: &Hub,
    token: &str,
    scheme: TokenScheme,
    proof_of_possession: ProofOfPossession,
) -> Result<(), ErrorCode> {
    let token = Secret::new(token.to_owned());
    let presented =
        PresentedToken { token, location: BearerLocation::Header, scheme, proof_of_possession };
    hub.grants.access_tokens.userinfo(&presented).await.map(drop).map_err(|error| error.code)
}

fn require(hub: &Hub, token_binding: TokenBinding) {
    let sp = service("sp", true, SigningAlg::ES256);
    let sp = passerelle_federation::ServiceProvider { token_binding, ..sp };
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([sp], table, unavailable));
}

#[tokio::test]
async fn a_token_is_bound_to_the_key_of_the_proof() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let token = bound_token(&hub, &client, "code").await;
    let bound = hub.grants.access_tokens.validate(&token).await.unwrap().token.cnf;
    let bound = serde_json::to_value(bound).unwrap();
    assert_eq!(bound, json!({ "jkt": client.thumbprint() }));
    let proof = client.proof(&userinfo_claims(&hub, &token, json!({})));
    assert_eq!(
        present(&hub, &token, TokenScheme::Dpop, proof_of_possession("GET", proof)).await,
        Ok(())
    );
}

#[tokio::test]
async fn a_stolen_bound_token_is_useless_without_its_key() {
    let (hub, client, thief) = (Hub::new(), DpopClient::default(), DpopClient::default());
    let token = bound_token(&hub, &client, "code").await;
    let none = ProofOfPossession::default;
    for (scheme, sender, code) in [
        (TokenScheme::Bearer, none(), ErrorCode::BoundTokenAsBearer),
        (TokenScheme::Dpop, none(), ErrorCode::DpopProofMissing),
        (
            TokenScheme::Dpop,
            proof_of_possession("GET", thief.proof(&userinfo_claims(&hub, &token, json!({})))),
            ErrorCode::DpopKeyMismatch,
        ),
        (
            TokenScheme::Bearer,
            proof_of_possession("GET", client.proof(&userinfo_claims(&hub, &token, json!({})))),
            ErrorCode::BoundTokenAsBearer,
        ),
    ] {
        assert_eq!(present(&hub, &token, scheme, sender).await, Err(code));
    }
}

#[tokio::test]
async fn an_unbound_token_does_not_pass_for_a_bound_one() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let (token, _) = hub.tokens("code", &[]).await;
    let proof = client.proof(&userinfo_claims(&hub, &token, json!({})));
    let answer = present(&hub, &token, TokenScheme::Dpop, proof_of_possession("GET", proof)).await;
    assert_eq!(answer, Err(ErrorCode::UnboundTokenAsDpop));
}

#[tokio::test]
async fn a_proof_for_another_token_method_or_address_is_refused_at_userinfo() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let token = bound_token(&hub, &client, "code").await;
    for (changes, code) in [
        (json!({ "ath": digest::sha256_base64url("another") }), ErrorCode::DpopProofAccessToken),
        (json!({ "ath": null }), ErrorCode::DpopProofAccessToken),
        (json!({ "htm": "POST" }), ErrorCode::DpopProofMethod),
        (json!({ "htu": format!("{ISSUER}/token") }), ErrorCode::DpopProofUri),
    ] {
        let proof = client.proof(&userinfo_claims(&hub, &token, changes.clone()));
        let answer =
            present(&hub, &token, TokenScheme::Dpop, proof_of_possession("GET", proof)).await;
        assert_eq!(answer, Err(code), "{changes}");
    }
}

#[tokio::test]
async fn a_bad_proof_is_refused_before_the_code_is_touched() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    hub.issue("code", &[]).await;
    let now = hub.now().seconds();
    for (changes, code) in [
        (json!({ "htm": "GET" }), ErrorCode::DpopProofMethod),
        (json!({ "htm": "post" }), ErrorCode::DpopProofMethod),
        (json!({ "htu": "https://evil.example/api/v2/token" }), ErrorCode::DpopProofUri),
        (json!({ "htu": "http://hub.example/api/v2/token" }), ErrorCode::DpopProofUri),
        (json!({ "htu": "https://hub.example/api/v2/token/" }), ErrorCode::DpopProofUri),
        (json!({ "htu": "/api/v2/token" }), ErrorCode::DpopProofUri),
        (json!({ "htu": "https://hub.example/api%2Fv2/token" }), ErrorCode::DpopProofUri),
        (json!({ "htu": "https://hub.example/api/v2/tok%2565n" }), ErrorCode::DpopProofUri),
        (json!({ "htu": null }), ErrorCode::DpopProofUri),
        (json!({ "iat": now - 61 }), ErrorCode::DpopProofTime),
        (json!({ "iat": now + 62 }), ErrorCode::DpopProofTime),
        (json!({ "iat": "now" }), ErrorCode::DpopProofTime),
        (json!({ "iat": null }), ErrorCode::DpopProofTime),
        (json!({ "exp": now - 60 }), ErrorCode::DpopProofTime),
        (json!({ "exp": "later" }), ErrorCode::DpopProofTime),
        (json!({ "nbf": now + 61 }), ErrorCode::DpopProofTime),
        (json!({ "jti": "" }), ErrorCode::DpopProofJti),
        (json!({ "jti": "j".repeat(256) }), ErrorCode::DpopProofJti),
        (json!({ "jti": 7 }), ErrorCode::DpopProofJti),
        (json!({ "nonce": "guessed" }), ErrorCode::DpopNonceRequired),
        (json!({ "nonce": 7 }), ErrorCode::DpopNonceRequired),
    ] {
        let proof = client.proof(&claims(&hub, changes.clone()));
        assert_eq!(redeem(&hub, &with_proof("code", proof)).await, Err(code), "{changes}");
    }
    for htu in [
        "https://hub.example/api/v2/token?x=1#y",
        "HTTPS://HUB.EXAMPLE:443/api/v2/./token",
        "https://hub.example/api/v2/token",
        "https://hub.example/%61pi/v2/tok%65n",
    ] {
        let proof = client.proof(&claims(&hub, json!({ "htu": htu })));
        let answer = redeem(&hub, &with_proof("code", proof)).await;
        assert!(matches!(answer, Ok(_) | Err(ErrorCode::CodeReused)), "{htu} {answer:?}");
    }
}

#[tokio::test]
async fn a_proof_that_is_replayed_redeems_no_second_code() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let proof = client.proof(&claims(&hub, json!({})));
    for (code, expected) in [("one", None), ("two", Some(ErrorCode::DpopProofReplayed))] {
        hub.issue(code, &[]).await;
        let answer = redeem(&hub, &with_proof(code, proof.clone())).await;
        assert_eq!(answer.err(), expected);
    }
    let token = bound_token(&hub, &client, "three").await;
    let proof = client.proof(&userinfo_claims(&hub, &token, json!({})));
    for expected in [Ok(()), Err(ErrorCode::DpopProofReplayed)] {
        let sender = proof_of_possession("GET", proof.clone());
        assert_eq!(present(&hub, &token, TokenScheme::Dpop, sender).await, expected);
    }
}

#[tokio::test]
async fn a_proof_may_be_replayed_neither_while_it_is_fresh_nor_after() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let ahead = hub.now().seconds() + 60;
    let proof = client.proof(&claims(&hub, json!({ "iat": ahead })));
    hub.issue("one", &[]).await;
    redeem(&hub, &with_proof("one", proof.clone())).await.unwrap();
    let mut seen = Vec::new();
    for (number, wait) in [1, 100, 18, 1, 60].into_iter().enumerate() {
        hub.clock.advance(Duration::from_secs(wait));
        let code = format!("again {number}");
        hub.issue(&code, &[]).await;
        seen.push(redeem(&hub, &with_proof(&code, proof.clone())).await.unwrap_err());
    }
    let (replayed, old) = (ErrorCode::DpopProofReplayed, ErrorCode::DpopProofTime);
    assert_eq!(seen, [replayed, replayed, replayed, old, old]);
}

#[tokio::test]
async fn proofs_of_unauthenticated_clients_are_not_stored() {
    let (hub, stranger) = (Hub::new(), DpopClient::default());
    let count = || hub.store.count(passerelle_store::RecordKind::USED_JTI);
    for code in ["guess", "another guess"] {
        let proof = stranger.proof(&claims(&hub, json!({})));
        assert_eq!(redeem(&hub, &with_proof(code, proof)).await, Err(ErrorCode::CodeUnknown));
    }
    let proof = stranger.proof(&userinfo_claims(&hub, "guess", json!({})));
    let answer = present(&hub, "guess", TokenScheme::Dpop, proof_of_possession("GET", proof)).await;
    assert_eq!((answer, count()), (Err(ErrorCode::AccessTokenInvalid), 0));
}

/// A proof of this key whose signature is another's.
fn forged(hub: &Hub, client: &DpopClient, changes: Value) -> String {
    let header = json!({ "jwk": client.public_key() });
    DpopClient::default().proof_with(&header, &claims(hub, changes))
}

#[tokio::test]
async fn a_flood_of_proofs_without_a_code_costs_no_signature() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let public = |sp: &mut passerelle_federation::ServiceProvider| {
        sp.authentication = passerelle_federation::ClientAuthentication::Public;
        sp.registration.client_type = passerelle_protocol::registration::ClientType::Public;
    };
    let mut sp = service("sp", true, SigningAlg::ES256);
    public(&mut sp);
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([sp], table, unavailable));
    let redeem = async |code: &str, proof: String| {
        let request = TokenRequest {
            credentials: Credentials::Public { client_id: "sp".into() },
            ..with_proof(code, proof)
        };
        redeem(&hub, &request).await
    };
    let guess = redeem("guess", forged(&hub, &client, json!({}))).await;
    assert_eq!(guess, Err(ErrorCode::CodeUnknown), "the signature was not looked at");
    hub.issue("code", &[]).await;
    for (changes, code) in [
        (json!({ "htm": "GET" }), ErrorCode::DpopProofMethod),
        (json!({ "iat": 0 }), ErrorCode::DpopProofTime),
        (json!({}), ErrorCode::DpopProofSignature),
    ] {
        assert_eq!(redeem("code", forged(&hub, &client, changes.clone())).await, Err(code));
    }
    let own = client.proof(&claims(&hub, json!({})));
    let replayed = redeem("guess", own).await;
    assert_eq!(replayed, Err(ErrorCode::CodeUnknown));
}

#[tokio::test]
async fn a_flood_of_proofs_by_other_keys_with_a_stolen_token_costs_no_signature() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let token = bound_token(&hub, &client, "code").await;
    let other = DpopClient::default();
    let header = json!({ "jwk": other.public_key() });
    let claims = userinfo_claims(&hub, &token, json!({}));
    let proof = DpopClient::default().proof_with(&header, &claims);
    let refused = present(&hub, &token, TokenScheme::Dpop, proof_of_possession("GET", proof)).await;
    assert_eq!(refused, Err(ErrorCode::DpopKeyMismatch), "the signature was not looked at");
}

#[tokio::test]
async fn a_client_that_floods_the_hub_with_proofs_leaves_room_for_others() {
    let capacities = passerelle_store::testing::store_conformance::ample_capacities()
        .with_records(passerelle_store::RecordKind::USED_JTI, 6);
    let (hub, client) = (Hub::with(capacities), DpopClient::default());
    let token = bound_token(&hub, &client, "code").await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        let proof = client.proof(&userinfo_claims(&hub, &token, json!({})));
        answers.push(
            present(&hub, &token, TokenScheme::Dpop, proof_of_possession("GET", proof)).await,
        );
    }
    assert_eq!(answers, [Ok(()), Ok(()), Err(ErrorCode::TooManyDpopProofs)]);
}

#[tokio::test]
async fn a_stolen_code_is_useless_without_the_key_of_dpop_jkt() {
    let (client, thief) = (DpopClient::default(), DpopClient::default());
    let jkt = client.thumbprint();
    for (who, expected) in [(None, true), (Some(&thief), true), (Some(&client), false)] {
        let hub = Hub::new();
        hub.issue("code", &[("dpop_jkt", &jkt)]).await;
        let request = match who {
            None => token_request("code"),
            Some(who) => with_proof("code", who.proof(&claims(&hub, json!({})))),
        };
        let answer = redeem(&hub, &request).await;
        assert_eq!(answer == Err(ErrorCode::CodeDpopKey), expected, "{answer:?}");
        hub.clock.advance(CODE_LIFE);
    }
}

#[tokio::test]
async fn a_client_that_must_bind_its_tokens_gets_no_bearer_token() {
    let hub = Hub::new();
    require(&hub, TokenBinding { dpop_required: true, ..TokenBinding::default() });
    hub.issue("code", &[]).await;
    let refused = redeem(&hub, &token_request("code")).await;
    assert_eq!(refused, Err(ErrorCode::DpopProofMissing));
    bound_token(&hub, &DpopClient::default(), "another").await;
}

#[tokio::test]
async fn a_proof_made_in_advance_lacks_the_nonce_that_the_client_must_send() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    require(&hub, TokenBinding { dpop_nonce_required: true, ..TokenBinding::default() });
    hub.issue("code", &[]).await;
    let proof = client.proof(&claims(&hub, json!({})));
    let refused = redeem(&hub, &with_proof("code", proof)).await;
    assert_eq!(refused, Err(ErrorCode::DpopNonceRequired));
    let nonce = hub.grants.senders.dpop_nonce();
    hub.clock.advance(Duration::from_secs(20));
    let proof = client.proof(&claims(&hub, json!({ "nonce": nonce })));
    assert!(redeem(&hub, &with_proof("code", proof)).await.is_ok(), "the code was not touched");
    hub.clock.advance(Duration::from_secs(300));
    hub.issue("later", &[]).await;
    let proof = client.proof(&claims(&hub, json!({ "nonce": nonce })));
    let refused = redeem(&hub, &with_proof("later", proof)).await;
    assert_eq!(refused, Err(ErrorCode::DpopNonceRequired), "the nonce is too old");
}

#[tokio::test]
async fn a_proof_from_before_a_restart_with_an_empty_store_is_asked_for_again() {
    let (hub, client) = (Hub::new(), DpopClient::default());
    let before = client.proof(&claims(&hub, json!({})));
    hub.clock.advance(Duration::from_secs(1));
    hub.grants.used_jtis.set_known_since(hub.now());
    hub.issue("code", &[]).await;
    let refused = redeem(&hub, &with_proof("code", before)).await;
    assert_eq!(refused, Err(ErrorCode::DpopNonceRequired));
    let after = client.proof(&claims(&hub, json!({})));
    assert!(redeem(&hub, &with_proof("code", after)).await.is_ok());
}
