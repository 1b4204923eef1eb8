//! DPoP over HTTP: headers, challenges, nonces, and tokens that are bound to a key (RFC 9449).

use actix_web::test::TestRequest;
use passerelle_protocol::env::Env;
use passerelle_testkit::dpop_client::DpopClient;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::federation::{BASE, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};
use super::redis_server::Server;
use super::service::Authorize;
use super::shared_store::redis_settings;

const ALGS: &str = r#"algs="ES256 PS256 RS256 EdDSA Ed25519""#;

/// A proof for an endpoint, with these claims replaced.
fn proof(hub: &TestHub, client: &DpopClient, method: &str, path: &str, changes: Value) -> String {
    let mut claims = json!({
        "htm": method, "htu": format!("{BASE}/api/v2/{path}"), "iat": hub.now().seconds(),
        "jti": Env::system().entropy().token(),
    });
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    client.proof(&claims)
}

async fn code(hub: &TestHub, request: &Authorize) -> String {
    let browser = hub.browser();
    browser.authorize(request).await.finish_as("angela").await.code().to_owned()
}

/// Redeems a code of the bakery with these `DPoP` headers.
async fn redeem(hub: &TestHub, code: &str, proofs: &[&str]) -> Answer {
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", "bakery"),
        ("client_secret", SECRET),
        ("redirect_uri", &redirect_uri("bakery")),
        ("code", code),
    ];
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    let request = TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body);
    let with = |request: TestRequest, proof: &&str| request.append_header(("dpop", *proof));
    hub.send(proofs.iter().fold(request, with)).await
}

async fn userinfo(hub: &TestHub, authorization: &str, proofs: &[&str]) -> Answer {
    let request = TestRequest::get().uri("/api/v2/userinfo");
    let request = request.insert_header(("authorization", authorization));
    let with = |request: TestRequest, proof: &&str| request.append_header(("dpop", *proof));
    hub.send(proofs.iter().fold(request, with)).await
}

async fn bound_token(hub: &TestHub, client: &DpopClient) -> String {
    let code = code(hub, &Authorize::by("bakery")).await;
    let answer = redeem(hub, &code, &[&proof(hub, client, "POST", "token", json!({}))]).await;
    assert_eq!((answer.status, &answer.json()["token_type"]), (200, &json!("DPoP")));
    answer.json()["access_token"].as_str().unwrap().to_owned()
}

fn ath(token: &str) -> Value {
    json!({ "ath": passerelle_protocol::digest::sha256_base64url(token) })
}

#[actix_web::test]
async fn a_bound_token_is_used_with_a_proof() {
    let (hub, client) = (TestHub::start().await, DpopClient::default());
    let token = bound_token(&hub, &client).await;
    let own = proof(&hub, &client, "GET", "userinfo", ath(&token));
    let answer = userinfo(&hub, &format!("DPoP {token}"), &[&own]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(
        hub.metrics
            .render()
            .contains(r#"passerelle_sender_constrained_tokens_total{method="dpop"} 1"#)
    );
}

#[actix_web::test]
async fn a_flood_of_failing_proofs_from_one_network_is_limited() {
    let hub = TestHub::with("[quotas]\nfailed_authentications_per_network = 3").await;
    let (client, thief) = (DpopClient::default(), DpopClient::default());
    let token = bound_token(&hub, &client).await;
    let attempt = async |client: &DpopClient, peer: &str| {
        let request = TestRequest::get()
            .uri("/api/v2/userinfo")
            .insert_header(("authorization", format!("DPoP {token}")))
            .insert_header(("dpop", proof(&hub, client, "GET", "userinfo", ath(&token))))
            .peer_addr(format!("{peer}:4").parse().unwrap());
        hub.send(request).await
    };
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(attempt(&thief, "192.0.2.7").await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 429]);
    let limited = attempt(&thief, "192.0.2.7").await;
    assert_eq!((limited.status, limited.header("retry-after")), (429, "20"), "{}", limited.body);
    assert_eq!(attempt(&thief, "192.0.2.8").await.status, 401);
    let honest = attempt(&client, "192.0.2.7").await;
    assert_eq!(honest.status, 200, "a valid proof is always accepted");
}

#[actix_web::test]
async fn a_stolen_bound_token_gets_a_dpop_challenge() {
    let (hub, client, thief) =
        (TestHub::start().await, DpopClient::default(), DpopClient::default());
    let token = bound_token(&hub, &client).await;
    let forged = proof(&hub, &thief, "GET", "userinfo", ath(&token));
    let used = proof(&hub, &client, "GET", "userinfo", ath(&token));
    let dpop = format!("DPoP {token}");
    assert_eq!(userinfo(&hub, &dpop, &[&used]).await.status, 200);
    for (authorization, proofs, error) in [
        (&format!("Bearer {token}"), vec![], "invalid_token"),
        (&dpop, vec![], "invalid_dpop_proof"),
        (&dpop, vec![forged.as_str()], "invalid_token"),
        (&dpop, vec![&used], "invalid_dpop_proof"),
        (&dpop, vec![&forged, &forged], "invalid_dpop_proof"),
        (&dpop, vec!["nonsense"], "invalid_dpop_proof"),
        (&"DPoP guessed".to_owned(), vec![&forged], "invalid_token"),
    ] {
        let answer = userinfo(&hub, authorization, &proofs).await;
        assert_eq!((answer.status, &answer.json()["error"]), (401, &json!(error)));
        let challenge = format!("DPoP error=\"{error}\", {ALGS}");
        assert_eq!(answer.header("www-authenticate"), challenge);
    }
    // A bearer token stays one.
    let plain = code(&hub, &Authorize::by("bakery")).await;
    let plain = redeem(&hub, &plain, &[]).await.json();
    assert_eq!(plain["token_type"], "Bearer");
    let plain = plain["access_token"].as_str().unwrap();
    let own = proof(&hub, &client, "GET", "userinfo", ath(plain));
    assert_eq!(userinfo(&hub, &format!("DPoP {plain}"), &[&own]).await.status, 401);
    assert_eq!(userinfo(&hub, &format!("Bearer {plain}"), &[&own]).await.status, 200);
}

#[actix_web::test]
async fn an_invalid_proof_at_the_token_endpoint_is_a_400_and_does_not_use_the_code() {
    let (hub, client) = (TestHub::start().await, DpopClient::default());
    let code = code(&hub, &Authorize::by("bakery")).await;
    let own = || proof(&hub, &client, "POST", "token", json!({}));
    let elsewhere = proof(&hub, &client, "POST", "userinfo", json!({}));
    let long = "x".repeat(8 * 1024 + 1);
    for proofs in
        [vec![own(), own()], vec![elsewhere], vec![long], vec![String::new()], vec!["é".into()]]
    {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        let answer = redeem(&hub, &code, &proofs).await;
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, error), (400, json!("invalid_dpop_proof")));
        assert_eq!(answer.header("www-authenticate"), "");
    }
    assert_eq!(redeem(&hub, &code, &[&own()]).await.status, 200);
}

#[actix_web::test]
async fn a_stolen_code_that_is_bound_to_a_key_is_refused() {
    let (hub, client, thief) =
        (TestHub::start().await, DpopClient::default(), DpopClient::default());
    let request = Authorize::by("bakery").with("dpop_jkt", &client.thumbprint());
    let code = code(&hub, &request).await;
    let answer = redeem(&hub, &code, &[&proof(&hub, &thief, "POST", "token", json!({}))]).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("invalid_grant")));
    let browser = hub.browser();
    let bad = Authorize::by("bakery").with("dpop_jkt", "short");
    assert_eq!(browser.authorize(&bad).await.received().error_at("bakery"), "invalid_request");
}

/// RFC 9449 §10.1
#[actix_web::test]
async fn a_code_of_a_pushed_request_is_bound_to_the_key_of_its_proof() {
    let hub = TestHub::with_files("pushed_authorization_requests = \"accepted\"", &[]).await;
    let (client, thief) = (DpopClient::default(), DpopClient::default());
    let push = async |request: &Authorize, proof: &str| {
        let fields = request.pairs();
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let body = Serializer::new(String::new())
            .extend_pairs(fields.chain([("client_secret", SECRET)]))
            .finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = TestRequest::post().uri("/api/v2/par").insert_header(form).set_payload(body);
        hub.send(request.insert_header(("dpop", proof))).await
    };
    let own = || proof(&hub, &client, "POST", "par", json!({}));
    let own_key = Authorize::by("bakery").with("dpop_jkt", &client.thumbprint());
    for (request, sender, status) in
        [(Authorize::by("bakery"), &thief, 400), (own_key, &client, 200)]
    {
        let answer = push(&request, &own()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let uri = answer.json()["request_uri"].as_str().unwrap().to_owned();
        let query = Serializer::new(String::new())
            .extend_pairs([("client_id", "bakery"), ("request_uri", &uri)])
            .finish();
        let browser = hub.browser();
        let page = browser.open(&format!("/api/v2/authorize?{query}")).await;
        let code = page.finish_as("angela").await.code().to_owned();
        let proof = proof(&hub, sender, "POST", "token", json!({}));
        assert_eq!(redeem(&hub, &code, &[&proof]).await.status, status);
    }
    let other_key = Authorize::by("bakery").with("dpop_jkt", &thief.thumbprint());
    let refused = push(&other_key, &own()).await;
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_request")));
    let elsewhere = proof(&hub, &client, "POST", "token", json!({}));
    let refused = push(&Authorize::by("bakery"), &elsewhere).await;
    assert_eq!(refused.json()["error"], "invalid_dpop_proof");
    let once = own();
    assert_eq!(push(&Authorize::by("bakery"), &once).await.status, 201);
    assert_eq!(push(&Authorize::by("bakery"), &once).await.json()["error"], "invalid_dpop_proof");
}

#[actix_web::test]
async fn a_nonce_of_one_hub_is_accepted_by_another_and_a_proof_by_one_of_them_only() {
    let (server, client) = (Server::start(&[]), DpopClient::default());
    let (hub, _) = TestHub::several(2, &redis_settings(&server)).await;
    let code = code(&hub, &Authorize::by("bakery")).await;
    // A nonce that no hub issued is answered with one that both accept.
    let guessed = proof(&hub, &client, "POST", "token", json!({ "nonce": "guessed" }));
    let answer = redeem(&hub, &code, &[&guessed]).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("use_dpop_nonce")));
    let nonce = json!({ "nonce": answer.header("dpop-nonce") });
    let own = proof(&hub, &client, "POST", "token", nonce.clone());
    let answer = redeem(&hub, &code, &[&own]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let own = proof(&hub, &client, "GET", "userinfo", ath(&token));
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(userinfo(&hub, &format!("DPoP {token}"), &[&own]).await.status);
    }
    assert_eq!(statuses, [200, 401, 401], "each request is another hub's");
}

#[actix_web::test]
async fn a_service_provider_with_bound_tokens_gets_no_bearer_tokens_and_receives_a_nonce() {
    let more = "dpop_bound_access_tokens = true\ndpop_nonce_required = true\n";
    let hub = TestHub::edited(|folder| {
        let file = folder.join("service-providers/bakery.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}{more}")).unwrap();
    })
    .await;
    let client = DpopClient::default();
    let code = code(&hub, &Authorize::by("bakery")).await;
    let answer = redeem(&hub, &code, &[]).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("invalid_dpop_proof")));
    let answer = redeem(&hub, &code, &[&proof(&hub, &client, "POST", "token", json!({}))]).await;
    assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("use_dpop_nonce")));
    let nonce = answer.header("dpop-nonce").to_owned();
    let with_nonce = json!({ "nonce": nonce });
    let own = proof(&hub, &client, "POST", "token", with_nonce.clone());
    let answer = redeem(&hub, &code, &[&own]).await;
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let own = proof(&hub, &client, "GET", "userinfo", ath(&token));
    let answer = userinfo(&hub, &format!("DPoP {token}"), &[&own]).await;
    let challenge = format!("DPoP error=\"use_dpop_nonce\", {ALGS}");
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, challenge.as_str()));
    assert!(!answer.header("dpop-nonce").is_empty());
}

#[actix_web::test]
async fn introspection_shows_a_data_provider_the_key_of_a_bound_token() {
    let (hub, client) = (super::introspection::hub().await, DpopClient::default());
    let token = bound_token(&hub, &client).await;
    let ask = [("client_id", "archive"), ("client_secret", SECRET), ("token", token.as_str())];
    let answer = hub.post_form("/api/v2/checktoken", &ask).await.json();
    assert_eq!(answer["cnf"], json!({ "jkt": client.thumbprint() }));
    assert_eq!((&answer["active"], &answer["token_type"]), (&json!(true), &json!("DPoP")));
}
