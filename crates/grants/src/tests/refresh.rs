//! Refresh tokens: who gets one, rotation, and what each attack on them gets (RFC 9700 §4.14).

use std::time::Duration;

use serde_json::{Value, json};

use super::{Hub, TOKEN_LIFE, by_post, service, token_request};
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_federation::testing::samples::ISSUER;
use passerelle_federation::{
    ClientAuthentication, Federation, RefreshTokenRules, ServiceProvider, UnavailableDisplay,
};
use passerelle_jose::testing::dpop_client::DpopClient;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::ids::{Scope, Secret};
use passerelle_protocol::refresh::RefreshTokenGrant;
use passerelle_protocol::registration::{ClientType, ProtocolRules};
use passerelle_protocol::revocation::RevocationRequest;
use passerelle_protocol::sender_constraint::{DpopHeader, ProofOfPossession};
use passerelle_protocol::token::{TokenGrant, TokenRequest};

const DAY: Duration = Duration::from_secs(24 * 3600);
const RULES: RefreshTokenRules = RefreshTokenRules {
    lifetime: Duration::from_secs(30 * 24 * 3600),
    idle: DAY,
    ends_with_session: true,
};

fn register(hub: &Hub, rules: RefreshTokenRules, client_type: ClientType) {
    let named = |id: &str| {
        let mut sp = service(id, true, SigningAlg::ES256);
        sp.registration.granted_scopes.push(Scope::from("offline_access"));
        sp.registration.client_type = client_type;
        if client_type == ClientType::Public {
            sp.authentication = ClientAuthentication::Public;
        }
        ServiceProvider { refresh_tokens: Some(rules), ..sp }
    };
    let services = [named("sp"), named("other")];
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new(services, table, unavailable));
}

fn hub() -> Hub {
    let hub = Hub::new();
    register(&hub, RULES, ClientType::Confidential);
    hub
}

/// A grant that the user has consented to, with `offline_access`.
fn offline_grant(hub: &Hub, code: &str) -> CodeGrant {
    let mut grant = hub.grant(code, &[]);
    grant.scopes.push(Scope::from("offline_access"));
    grant.consented = true;
    grant
}

async fn redeem(hub: &Hub, request: &TokenRequest) -> Value {
    serde_json::to_value(hub.grants.token_endpoint.answer(request).await.unwrap()).unwrap()
}

/// A refresh token of `sp`, and the access token beside it.
async fn first_tokens(hub: &Hub, code: &str) -> (String, String) {
    hub.grants.codes.issue(&offline_grant(hub, code)).await.unwrap();
    let answer = redeem(hub, &token_request(code)).await;
    (text(&answer, "refresh_token"), text(&answer, "access_token"))
}

fn public_client() -> Credentials {
    Credentials::Public { client_id: "sp".into() }
}

/// Issues a code to `sp` as a public client, and returns the request that redeems it (RFC 7636,
/// appendix B).
async fn issue_public_code(hub: &Hub) -> TokenRequest {
    let mut grant = offline_grant(hub, "code");
    grant.request.code_challenge = Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned());
    hub.grants.codes.issue(&grant).await.unwrap();
    let request = TokenRequest { credentials: public_client(), ..token_request("code") };
    super::with_verifier(request, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
}

fn text(answer: &Value, name: &str) -> String {
    answer[name].as_str().unwrap_or_else(|| panic!("no {name}")).to_owned()
}

fn request(token: &str) -> TokenRequest {
    request_for_scopes(token, &[])
}

fn request_for_scopes(token: &str, scope: &[&str]) -> TokenRequest {
    TokenRequest {
        credentials: by_post("sp", "sp's secret"),
        grant: TokenGrant::RefreshToken(RefreshTokenGrant {
            refresh_token: Secret::new(token.to_owned()),
            scope: scope.iter().map(|scope| (*scope).to_owned()).collect(),
        }),
        proof_of_possession: ProofOfPossession::default(),
    }
}

async fn refresh(hub: &Hub, request: &TokenRequest) -> Result<Value, ErrorCode> {
    let answer = hub.grants.token_endpoint.answer(request).await.map_err(|error| error.code)?;
    Ok(serde_json::to_value(answer).unwrap())
}

#[tokio::test]
async fn a_refresh_token_renews_the_access_token_with_the_claims_that_the_person_saw() {
    let hub = hub();
    let (token, first) = first_tokens(&hub, "code").await;
    let before = super::read(&hub.userinfo(&first).await.unwrap()).1;
    hub.clock.advance(TOKEN_LIFE * 5);
    let answer = refresh(&hub, &request(&token)).await.unwrap();
    let members: Vec<_> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        ["access_token", "expires_in", "id_token", "scope", "token_type", "refresh_token"]
    );
    let after = super::read(&hub.userinfo(&text(&answer, "access_token")).await.unwrap()).1;
    assert_eq!((&after["sub"], &after["email"]), (&before["sub"], &before["email"]));
    assert_eq!(hub.validate(&first).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn a_stolen_refresh_token_that_is_used_twice_ends_the_grant() {
    for thief_first in [true, false] {
        let hub = hub();
        let (stolen, _) = first_tokens(&hub, "code").await;
        // Two uses of one token, whichever of them is the thief's.
        let answer = refresh(&hub, &request(&stolen)).await.unwrap();
        let (next, access) = (text(&answer, "refresh_token"), text(&answer, "access_token"));
        assert_ne!(next, stolen);
        if thief_first {
            let more = refresh(&hub, &request(&next)).await.unwrap();
            assert_eq!(hub.validate(&text(&more, "access_token")).await, Ok(()));
        } else {
            hub.clock.advance(Duration::from_secs(30));
        }
        let again = refresh(&hub, &request(&stolen)).await;
        assert_eq!(again, Err(ErrorCode::RefreshTokenReused));
        assert_eq!(hub.validate(&access).await, Err(ErrorCode::AccessTokenInvalid));
        for token in [&next, &stolen] {
            let ended = refresh(&hub, &request(token)).await;
            assert_eq!(ended, Err(ErrorCode::RefreshTokenUnknown));
        }
    }
}

#[tokio::test]
async fn equal_requests_of_an_authenticated_client_get_the_same_refresh_token() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    let request = request(&token);
    let uses = [refresh(&hub, &request), refresh(&hub, &request), refresh(&hub, &request)];
    let answers = futures_util::future::join_all(uses).await;
    let next = |answer: &Result<Value, ErrorCode>| text(answer.as_ref().unwrap(), "refresh_token");
    let first = next(&answers[0]);
    assert!(answers.iter().all(|answer| next(answer) == first), "{answers:?}");
    assert!(refresh(&hub, &self::request(&first)).await.is_ok());
}

#[tokio::test]
async fn a_client_whose_answer_was_lost_repeats_its_request_within_thirty_seconds() {
    let (second, grace) = (Duration::from_secs(1), Duration::from_secs(30));
    for (wait, is_accepted) in [(second, true), (grace - second, true), (grace, false)] {
        let hub = hub();
        let (token, _) = first_tokens(&hub, "code").await;
        let lost = refresh(&hub, &request(&token)).await.unwrap();
        hub.clock.advance(wait);
        let again = refresh(&hub, &request(&token)).await;
        if is_accepted {
            let again = again.unwrap();
            assert_eq!(again["refresh_token"], lost["refresh_token"]);
            assert_ne!(again["access_token"], lost["access_token"]);
            assert!(refresh(&hub, &request(&text(&lost, "refresh_token"))).await.is_ok());
            let late = refresh(&hub, &request(&token)).await;
            assert_eq!(late, Err(ErrorCode::RefreshTokenReused), "the next one was used");
        } else {
            assert_eq!(again, Err(ErrorCode::RefreshTokenReused));
        }
    }
}

#[tokio::test]
async fn a_stolen_refresh_token_of_a_public_client_has_no_grace() {
    let hub = Hub::new();
    register(&hub, RULES, ClientType::Public);
    let redeemed = issue_public_code(&hub).await;
    let token = text(&redeem(&hub, &redeemed).await, "refresh_token");
    let used = || TokenRequest { credentials: public_client(), ..request(&token) };
    let answer = refresh(&hub, &used()).await.unwrap();
    assert_eq!(refresh(&hub, &used()).await, Err(ErrorCode::RefreshTokenReused));
    let access = text(&answer, "access_token");
    assert_eq!(hub.validate(&access).await, Err(ErrorCode::AccessTokenInvalid));
}

/// OpenID Connect Core 1.0 §12.2.
#[tokio::test]
async fn a_refresh_gives_the_id_token_of_the_login_without_its_nonce() {
    let hub = hub();
    hub.grants.codes.issue(&offline_grant(&hub, "code")).await.unwrap();
    let first = redeem(&hub, &token_request("code")).await;
    hub.clock.advance(TOKEN_LIFE * 5);
    let answer = refresh(&hub, &request(&text(&first, "refresh_token"))).await.unwrap();
    let claims = |answer: &Value| super::read(&text(answer, "id_token")).1;
    let (before, after) = (claims(&first), claims(&answer));
    for name in ["iss", "sub", "aud", "auth_time", "acr"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert!(before.get("nonce").is_some() && after.get("nonce").is_none());
    let issued = |claims: &Value| claims["iat"].as_u64().unwrap();
    assert_eq!(issued(&after), hub.now().seconds());
    assert!(issued(&before) < hub.now().seconds());
}

/// RFC 6749 §6.
#[tokio::test]
async fn a_refresh_with_fewer_scopes_gives_no_more_than_these() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    let narrow = refresh(&hub, &request_for_scopes(&token, &["openid"])).await.unwrap();
    assert_eq!(narrow["scope"], "openid");
    let claims = super::read(&hub.userinfo(&text(&narrow, "access_token")).await.unwrap()).1;
    assert!(claims.get("email").is_none(), "{claims:?}");
    let next = text(&narrow, "refresh_token");
    let without_openid = refresh(&hub, &request_for_scopes(&next, &["email"])).await.unwrap();
    assert_eq!(without_openid["scope"], "email");
    assert!(without_openid.get("id_token").is_none());
    let next = text(&without_openid, "refresh_token");
    let whole = refresh(&hub, &request(&next)).await.unwrap();
    assert_eq!(whole["scope"], "openid email offline_access", "the grant keeps its scopes");
    let claims = super::read(&hub.userinfo(&text(&whole, "access_token")).await.unwrap()).1;
    assert_eq!(claims["email"], "angela@example.org");
}

#[tokio::test]
async fn the_id_token_of_a_refresh_has_the_profile_as_the_setting_is_at_the_time() {
    let hub = hub();
    let set = |id_token_claims| {
        let federation = hub.core.federation.load();
        let sp = federation.service_provider(&"sp".into()).unwrap();
        let mut sp = ServiceProvider::clone(sp);
        sp.registration.rules = ProtocolRules::Openid;
        sp.id_token_claims = id_token_claims;
        let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
        hub.core.federation.replace(Federation::new([sp], table, unavailable));
    };
    let email = |answer: &Value| super::read(&text(answer, "id_token")).1.get("email").cloned();
    for at_login in [true, false] {
        set(at_login);
        let code = format!("code {at_login}");
        hub.grants.codes.issue(&offline_grant(&hub, &code)).await.unwrap();
        let first = redeem(&hub, &token_request(&code)).await;
        assert_eq!(email(&first).is_some(), at_login);
        set(!at_login);
        let second = refresh(&hub, &request(&text(&first, "refresh_token"))).await.unwrap();
        assert_eq!(email(&second).is_some(), !at_login);
        let userinfo = hub.userinfo(&text(&second, "access_token")).await.unwrap();
        assert!(super::read(&userinfo).1.get("email").is_some(), "userinfo keeps them");
    }
}

#[tokio::test]
async fn a_refresh_token_of_another_client_is_refused_and_left_alone() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    let stranger =
        TokenRequest { credentials: by_post("other", "other's secret"), ..request(&token) };
    assert_eq!(refresh(&hub, &stranger).await, Err(ErrorCode::RefreshTokenOfOtherClient));
    let (name, _) = token.split_once('.').unwrap();
    let guess = TokenRequest {
        credentials: by_post("other", "other's secret"),
        ..request(&format!("{name}.guess"))
    };
    assert_eq!(refresh(&hub, &guess).await, Err(ErrorCode::RefreshTokenOfOtherClient));
    for guess in ["", ".", "guess", "guess.guess", name] {
        let refused = refresh(&hub, &request(guess)).await;
        assert_eq!(refused, Err(ErrorCode::RefreshTokenUnknown), "{guess}");
    }
    assert!(refresh(&hub, &request(&token)).await.is_ok());
}

#[tokio::test]
async fn no_refresh_token_without_the_scope_the_consent_and_the_clients_file() {
    let hub = hub();
    let no_scope = CodeGrant { consented: true, ..hub.grant("no scope", &[]) };
    let no_consent = CodeGrant { consented: false, ..offline_grant(&hub, "no consent") };
    for (grant, code) in [(no_scope, "no scope"), (no_consent, "no consent")] {
        hub.grants.codes.issue(&grant).await.unwrap();
        let answer = redeem(&hub, &token_request(code)).await;
        assert!(answer.get("refresh_token").is_none(), "{code}");
        assert_eq!(answer["scope"], "openid email", "{code}");
    }
    let (token, _) = first_tokens(&hub, "code").await;
    let mut without = service("sp", true, SigningAlg::ES256);
    without.registration.granted_scopes.push(Scope::from("offline_access"));
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([without], table, unavailable));
    let refused = refresh(&hub, &request(&token)).await;
    assert_eq!(refused, Err(ErrorCode::TokenGrantTypeUnauthorized));
}

#[tokio::test]
async fn a_logout_revokes_the_refresh_tokens_of_the_session_if_the_file_is_so_configured() {
    for ends_with_session in [true, false] {
        let hub = Hub::new();
        let rules = RefreshTokenRules { ends_with_session, ..RULES };
        register(&hub, rules, ClientType::Confidential);
        let (token, _) = first_tokens(&hub, "code").await;
        let cookie = Secret::new("code's session".to_owned());
        assert!(hub.grants.sessions.end(&cookie).await.unwrap().is_some());
        hub.clock.advance(Duration::from_secs(600));
        let answer = refresh(&hub, &request(&token)).await.map(drop);
        let expected = if ends_with_session { Err(ErrorCode::RefreshTokenUnknown) } else { Ok(()) };
        assert_eq!(answer, expected);
    }
}

#[tokio::test]
async fn a_refresh_token_ends_when_it_is_not_used_and_at_its_last_day() {
    let hub = hub();
    let (idle, _) = first_tokens(&hub, "idle").await;
    hub.clock.advance(DAY);
    assert_eq!(refresh(&hub, &request(&idle)).await, Err(ErrorCode::RefreshTokenUnknown));
    let (mut token, _) = first_tokens(&hub, "used").await;
    let mut days = 0.0;
    while let Ok(answer) = refresh(&hub, &request(&token)).await {
        token = text(&answer, "refresh_token");
        hub.clock.advance(DAY / 2);
        days += 0.5;
    }
    assert!((29.5..=30.0).contains(&days), "{days}");
}

#[tokio::test]
async fn what_is_withdrawn_from_the_client_is_withdrawn_from_its_refresh_tokens() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    *hub.gate.closed.lock().unwrap() = Some(ErrorCode::IdpBlocked);
    assert_eq!(refresh(&hub, &request(&token)).await, Err(ErrorCode::CodeGateClosed));
    *hub.gate.closed.lock().unwrap() = None;
    let more = request_for_scopes(&token, &["profile"]);
    assert_eq!(refresh(&hub, &more).await, Err(ErrorCode::RefreshScopeExceeded));
    let less = request_for_scopes(&token, &["openid"]);
    let token = text(&refresh(&hub, &less).await.unwrap(), "refresh_token");
    let mut sp = service("sp", true, SigningAlg::ES256);
    sp.registration.granted_scopes = vec![Scope::from("openid")];
    sp.refresh_tokens = Some(RULES);
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([sp], table, unavailable));
    let refused = refresh(&hub, &request(&token)).await;
    assert_eq!(refused, Err(ErrorCode::CodeRegistrationWithdrawn));
}

#[tokio::test]
async fn a_code_that_is_replayed_ends_the_refresh_token_that_it_issued() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    let replay = hub.grants.token_endpoint.answer(&token_request("code")).await;
    assert_eq!(replay.unwrap_err().code, ErrorCode::CodeReused);
    assert_eq!(refresh(&hub, &request(&token)).await, Err(ErrorCode::RefreshTokenUnknown));
}

#[tokio::test]
async fn revoking_a_refresh_token_ends_its_access_tokens_and_only_its_client_can() {
    let hub = hub();
    let (token, access) = first_tokens(&hub, "code").await;
    let revoke = |credentials: Credentials| RevocationRequest {
        credentials,
        token: Secret::new(token.clone()),
    };
    hub.grants
        .revocation_endpoint
        .revoke(&revoke(by_post("other", "other's secret")))
        .await
        .unwrap();
    assert_eq!(hub.validate(&access).await, Ok(()));
    hub.grants.revocation_endpoint.revoke(&revoke(by_post("sp", "sp's secret"))).await.unwrap();
    assert_eq!(hub.validate(&access).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(refresh(&hub, &request(&token)).await, Err(ErrorCode::RefreshTokenUnknown));
}

#[tokio::test]
async fn a_refresh_token_is_no_access_token() {
    let hub = hub();
    let (token, _) = first_tokens(&hub, "code").await;
    let (name, secret) = token.split_once('.').unwrap();
    for text in [token.as_str(), name, secret] {
        assert_eq!(hub.validate(text).await, Err(ErrorCode::AccessTokenInvalid));
    }
}

fn proof_of_possession(hub: &Hub, client: &DpopClient) -> ProofOfPossession {
    let claims = json!({
        "htm": "POST", "htu": format!("{ISSUER}/token"), "iat": hub.now().seconds(),
        "jti": hub.core.env.entropy().token(),
    });
    let proof = Secret::new(client.proof(&claims));
    let dpop = Some(DpopHeader { proof, method: "POST".to_owned() });
    ProofOfPossession { dpop, ..ProofOfPossession::default() }
}

#[tokio::test]
async fn a_stolen_refresh_token_of_a_public_client_is_useless_without_its_key() {
    let (hub, client, thief) = (Hub::new(), DpopClient::default(), DpopClient::default());
    register(&hub, RULES, ClientType::Public);
    let redeemed = issue_public_code(&hub).await;
    let answer =
        redeem(&hub, &redeemed.with_proof_of_possession(proof_of_possession(&hub, &client))).await;
    let token = text(&answer, "refresh_token");
    let with = |proof_of_possession| TokenRequest {
        credentials: public_client(),
        proof_of_possession,
        ..request(&token)
    };
    for proof in [ProofOfPossession::default(), proof_of_possession(&hub, &thief)] {
        assert_eq!(refresh(&hub, &with(proof)).await, Err(ErrorCode::RefreshTokenKey));
    }
    for _ in 0..3 {
        let answer = refresh(&hub, &with(proof_of_possession(&hub, &client))).await.unwrap();
        assert_eq!(answer["token_type"], "DPoP");
        assert!(answer.get("refresh_token").is_none(), "a bound one is not replaced");
    }
}

#[tokio::test]
async fn a_grant_that_is_bound_to_a_key_never_falls_back_to_bearer_tokens() {
    let (hub, client, next) = (hub(), DpopClient::default(), DpopClient::default());
    hub.grants.codes.issue(&offline_grant(&hub, "code")).await.unwrap();
    let bound = token_request("code").with_proof_of_possession(proof_of_possession(&hub, &client));
    let token = text(&redeem(&hub, &bound).await, "refresh_token");
    assert_eq!(refresh(&hub, &request(&token)).await, Err(ErrorCode::RefreshTokenKey));
    // A client that authenticates may change its key.
    let proof_of_possession = proof_of_possession(&hub, &next);
    let answer =
        refresh(&hub, &TokenRequest { proof_of_possession, ..request(&token) }).await.unwrap();
    assert_eq!(answer["token_type"], "DPoP");
}

#[tokio::test]
async fn a_reused_session_has_refresh_tokens_of_its_own() {
    let hub = hub();
    let (first, _) = first_tokens(&hub, "one").await;
    let mut grant = offline_grant(&hub, "two");
    grant.session = SessionUse::Reused { cookie: Secret::new("one's session".to_owned()) };
    hub.grants.codes.issue(&grant).await.unwrap();
    let second = text(&redeem(&hub, &token_request("two")).await, "refresh_token");
    assert_eq!(
        refresh(&hub, &request(&format!("{}x", first))).await,
        Err(ErrorCode::RefreshTokenReused)
    );
    assert!(refresh(&hub, &request(&second)).await.is_ok(), "another grant");
}
