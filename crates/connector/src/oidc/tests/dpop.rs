//! Tokens that are bound to a key of the hub (RFC 9449), and what an attacker does without the key.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::*;
use super::query_pairs;
use crate::testing::fake_idp::*;
use passerelle_egress::testing::fake_server::FakeResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;

const ON: &str = "dpop = \"on\"";
const PUSHED: &str = "dpop = \"auto\"\npushed_authorization_requests = \"auto\"";

/// Returns a fixture whose identity provider binds tokens.
async fn binding(more: &str) -> OidcFixture {
    let fixture = OidcFixture::with(more).await;
    let mut script = fixture.script();
    script.token_type = "DPoP";
    script.discovery["dpop_signing_alg_values_supported"] = json!(["RS256", "ES256"]);
    script.discovery["pushed_authorization_request_endpoint"] =
        json!(format!("{}/par", script.base));
    drop(script);
    fixture
}

/// Returns the proofs sent to a path: the thumbprint of the key and the claims.
fn proofs(fixture: &OidcFixture, path: &str) -> Vec<(String, Value)> {
    let script = fixture.script();
    let requests = script.log.iter().filter(|request| request.target == path);
    requests.map(|request| verified_proof(request).expect("a proof")).collect()
}

#[tokio::test]
async fn a_stolen_code_or_token_is_useless_without_the_key_of_its_login() {
    for more in [ON, "dpop = \"auto\""] {
        let fixture = binding(more).await;
        let attempt = fixture.attempt().await;
        let bound_to = query_pairs(&attempt.redirect.url)["dpop_jkt"].clone();
        fixture.complete_login_with(attempt).await.unwrap();
        let (token, userinfo) = (proofs(&fixture, "/token"), proofs(&fixture, "/userinfo"));
        assert_eq!((token.len(), userinfo.len()), (1, 1));
        assert_eq!((&token[0].0, &userinfo[0].0), (&bound_to, &bound_to));
        let base = fixture.server.base();
        let expected = |method: &str, path: &str, jti: &Value| json!({ "htm": method, "htu": format!("{base}{path}"), "iat": NOW, "jti": jti });
        assert_eq!(token[0].1, expected("POST", "/token", &token[0].1["jti"]));
        let mut with_token = expected("GET", "/userinfo", &userinfo[0].1["jti"]);
        with_token["ath"] = json!(digest::sha256_base64url("at-1"));
        assert_eq!(userinfo[0].1, with_token);
        let script = fixture.script();
        let call = script.log.iter().find(|request| request.target == "/userinfo").unwrap();
        assert!(call.headers.contains("authorization: DPoP at-1"), "{}", call.headers);
    }
}

#[tokio::test]
async fn a_pushed_request_has_the_key_and_the_browser_sees_nothing_of_it() {
    let fixture = binding(PUSHED).await;
    let attempt = fixture.attempt().await;
    assert!(!query_pairs(&attempt.redirect.url).contains_key("dpop_jkt"));
    let key = attempt.redirect.dpop_key.clone().unwrap();
    let stored = serde_json::to_string(&attempt).unwrap();
    let read: LoginAttempt = serde_json::from_str(&stored).unwrap();
    assert_eq!(read.redirect.dpop_key.unwrap().reveal(), key.reveal(), "for any hub");
    let script = fixture.script();
    let push = script.log.iter().find(|request| request.target == "/par").unwrap();
    let form: std::collections::BTreeMap<_, _> =
        url::form_urlencoded::parse(push.body.as_bytes()).into_owned().collect();
    let thumbprint =
        passerelle_jose::dpop_key::DpopKey::parse(&key).unwrap().thumbprint().to_owned();
    assert_eq!(form["dpop_jkt"], thumbprint);
}

#[tokio::test]
async fn a_bearer_token_in_place_of_a_bound_one_is_a_refused_downgrade() {
    let fixture = binding(ON).await;
    for bearer in ["Bearer", "bearer", "N_A"] {
        fixture.script().token_type = bearer;
        assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdpTokenUnbound));
    }
    assert_eq!(fixture.script().calls("/userinfo"), 0, "the token is not used");
    fixture.script().token_type = "dpop";
    fixture.complete_login().await.unwrap();
    // And the other way round: the hub has no key to use such a token with.
    let unbound = binding("").await;
    assert_eq!(unbound.complete_login().await.err(), Some(ErrorCode::IdpTokenType));
}

#[tokio::test]
async fn no_key_links_two_logins_and_no_proof_is_used_twice() {
    let fixture = binding(ON).await;
    for _ in 0..3 {
        fixture.complete_login().await.unwrap();
    }
    let sent = [proofs(&fixture, "/token"), proofs(&fixture, "/userinfo")].concat();
    let keys: BTreeSet<_> = sent.iter().map(|(key, _)| key.clone()).collect();
    let ids: BTreeSet<_> = sent.iter().map(|(_, claims)| claims["jti"].to_string()).collect();
    assert_eq!((keys.len(), ids.len()), (3, 6));
}

#[tokio::test]
async fn a_proof_made_in_advance_is_replaced_by_one_with_the_servers_nonce() {
    let fixture = binding("dpop = \"on\"\ntoken_endpoint_auth_method = \"private_key_jwt\"").await;
    fixture.script().dpop_nonces = vec![("/token", "n-1"), ("/userinfo", "n-2")];
    fixture.complete_login().await.unwrap();
    let nonces = |path| {
        let sent = proofs(&fixture, path).into_iter();
        sent.map(|(_, claims)| claims["nonce"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    // One origin: each path asks for its own nonce in place of the other's.
    assert_eq!(nonces("/token"), [None, Some("n-1".into())]);
    assert_eq!(nonces("/userinfo"), [Some("n-1".into()), Some("n-2".into())]);
    // An assertion counts once, as a proof does.
    let script = fixture.script();
    let assertions: BTreeSet<_> = script
        .log
        .iter()
        .filter(|request| request.target == "/token")
        .map(|request| {
            let form = url::form_urlencoded::parse(request.body.as_bytes()).into_owned();
            form.into_iter().find(|(name, _)| name == "client_assertion").unwrap().1
        })
        .collect();
    assert_eq!(assertions.len(), 2);
}

#[tokio::test]
async fn a_remembered_nonce_spares_the_second_request() {
    let fixture = binding(ON).await;
    fixture.script().dpop_nonces = vec![("/token", "n-1"), ("/userinfo", "n-1")];
    fixture.complete_login().await.unwrap();
    fixture.complete_login().await.unwrap();
    assert_eq!(fixture.script().calls("/token"), 3, "once more in the first login only");
    assert_eq!(fixture.script().calls("/userinfo"), 2);
}

#[tokio::test]
async fn a_server_that_always_asks_for_another_nonce_ends_the_login_and_not_the_hub() {
    let fixture = binding(ON).await;
    let ask = FakeResponse {
        status: 400,
        headers: vec![("content-type", "application/json".into()), ("dpop-nonce", "n".into())],
        body: json!({ "error": "use_dpop_nonce" }).to_string().into_bytes(),
    };
    fixture.script().token_response = Some(ask);
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::IdpDpopNonce));
    assert_eq!(fixture.script().calls("/token"), 2);
    let silent = binding(ON).await;
    silent.script().userinfo_status = 401;
    assert_eq!(silent.complete_login().await.err(), Some(ErrorCode::UserinfoRefused));
    assert_eq!(silent.script().calls("/userinfo"), 1);
}

#[tokio::test]
async fn a_repeated_userinfo_request_has_a_new_proof() {
    let fixture = binding(ON).await;
    fixture.script().closed_paths = vec!["/userinfo"];
    fixture.complete_login().await.unwrap();
    let sent = proofs(&fixture, "/userinfo");
    assert_eq!(sent.len(), 2);
    assert_ne!(sent[0].1["jti"], sent[1].1["jti"]);
}

#[tokio::test]
async fn metadata_that_excludes_the_algorithm_is_an_error_where_the_file_demands_it() {
    for (more, algs, expected) in [
        (ON, json!(["PS256"]), Some(ErrorCode::IdpDiscovery)),
        ("dpop = \"auto\"", json!(["PS256"]), None),
        ("dpop = \"auto\"", json!(null), None),
        ("dpop = \"auto\"", json!("ES256"), None),
        ("", json!(["ES256"]), None),
    ] {
        let fixture = OidcFixture::with(more).await;
        fixture.script().discovery["dpop_signing_alg_values_supported"] = algs;
        let redirect = fixture.connector.begin_login(authorization_request()).await;
        match (redirect, expected) {
            (Err(error), Some(code)) => assert_eq!(error.code, code),
            (Ok(redirect), None) => assert!(redirect.dpop_key.is_none(), "{more}"),
            (redirect, _) => panic!("{more}: {:?}", redirect.err()),
        }
    }
}

#[tokio::test]
async fn a_challenge_in_any_case_is_answered() {
    for scheme in ["DPoP", "dpop", "dPoP"] {
        let fixture = binding(ON).await;
        fixture.script().dpop_scheme = scheme;
        fixture.script().dpop_nonces = vec![("/userinfo", "n-1")];
        fixture.complete_login().await.unwrap();
    }
}
