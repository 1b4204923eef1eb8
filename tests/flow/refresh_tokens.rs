//! Refresh tokens over HTTP: from the consent page to the end of a grant
//! (`docs/refresh-tokens.md`).

use std::time::Duration;

use actix_web::test::TestRequest;
use serde_json::{Value, json};

use super::federation::{SCOPES, SECRET, put};
use super::hub::{Answer, TestHub};
use super::redis_server::Server;
use super::service::Authorize;
use super::shared_store::redis_settings;

const TABLE: &str = "\n[refresh_tokens]\n";
pub(crate) const AUDITED: &str = "\n[audit]\nsink = \"file\"\n";

/// The clinic, which always asks for consent, gets refresh tokens.
fn with_refresh_tokens(folder: &std::path::Path) {
    let file = folder.join("service-providers/clinic.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{TABLE}")).unwrap();
}

fn request() -> Authorize {
    Authorize::by("clinic").with("scope", &format!("{SCOPES} offline_access"))
}

async fn refresh(hub: &TestHub, client: &str, token: &str) -> Answer {
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client),
        ("client_secret", SECRET),
        ("refresh_token", token),
    ];
    hub.post_form("/api/v2/token", &fields).await
}

async fn refresh_token(hub: &TestHub, request: &Authorize) -> Value {
    let browser = hub.browser();
    let received = browser.authorize(request).await.finish_as("angela").await;
    hub.redeem("clinic", received.code()).await.json()
}

#[actix_web::test]
async fn the_user_is_asked_before_a_service_gets_access_while_they_are_away() {
    let hub = TestHub::edited(with_refresh_tokens).await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&request()).await.choose("amandier").await;
    let page = sandbox.sign_in_as("angela").await;
    assert!(page.is_consent());
    let offline = "when you are not there";
    assert!(page.answer.body.contains(offline), "{}", page.answer.body);
    let received = page.consent().await.received();
    let answer = hub.redeem("clinic", received.code()).await.json();
    assert!(answer["refresh_token"].is_string() && answer["id_token"].is_string());
    assert!(answer["scope"].as_str().unwrap().ends_with("offline_access"));
    // Without consent, or by a service provider that gets none, the scope has no effect.
    let silent = browser.authorize(&request().with("prompt", "none")).await.received();
    let answer = hub.redeem("clinic", silent.code()).await.json();
    assert!(answer.get("refresh_token").is_none(), "{answer}");
    let bakery = Authorize::by("bakery").with("scope", "openid offline_access");
    let page = hub.browser();
    let sandbox = page.authorize(&bakery).await.choose("amandier").await;
    let consent = sandbox.sign_in_as("angela").await;
    assert!(!consent.answer.body.contains(offline));
    let received = consent.consent().await.received();
    let answer = hub.redeem("bakery", received.code()).await.json();
    assert!(answer.get("refresh_token").is_none() && answer["scope"] == "openid");
}

#[actix_web::test]
async fn a_stolen_refresh_token_ends_the_grant_when_it_is_used_again() {
    let server = Server::start(&[]);
    let folder = |folder: &std::path::Path| {
        with_refresh_tokens(folder);
        let file = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}{}", redis_settings(&server))).unwrap();
    };
    for hub in [TestHub::edited(with_refresh_tokens).await, TestHub::edited(folder).await] {
        let first = refresh_token(&hub, &request()).await;
        let stolen = first["refresh_token"].as_str().unwrap();
        hub.advance(Duration::from_secs(3600));
        let answer = refresh(&hub, "clinic", stolen).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store");
        let next = answer.json();
        let access = next["access_token"].as_str().unwrap();
        assert_eq!(hub.userinfo(access).await["family_name"], "DUBOIS");
        assert!(next["id_token"].is_string());
        hub.advance(Duration::from_secs(30));
        let again = refresh(&hub, "clinic", stolen).await;
        assert_eq!((again.status, &again.json()["error"]), (400, &json!("invalid_grant")));
        assert_eq!(hub.get_userinfo(access).await.status, 401);
        let ended = refresh(&hub, "clinic", next["refresh_token"].as_str().unwrap()).await;
        assert_eq!(ended.status, 400);
    }
}

#[actix_web::test]
async fn a_refresh_token_survives_a_restart_with_a_shared_store() {
    let server = Server::start(&[]);
    let hub = TestHub::edited(|folder| {
        with_refresh_tokens(folder);
        let file = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}{}", redis_settings(&server))).unwrap();
    })
    .await;
    let first = refresh_token(&hub, &request()).await;
    let hub = hub.restart().await;
    let answer = refresh(&hub, "clinic", first["refresh_token"].as_str().unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[actix_web::test]
async fn discovery_names_refresh_tokens_only_where_there_are_any() {
    let address = "/api/v2/.well-known/openid-configuration";
    for (hub, is_on) in
        [(TestHub::edited(with_refresh_tokens).await, true), (TestHub::start().await, false)]
    {
        let document = hub.send(TestRequest::get().uri(address)).await;
        let document = document.json();
        let has = |member: &str, value: &str| {
            document[member].as_array().unwrap().contains(&json!(value))
        };
        assert_eq!(has("grant_types_supported", "refresh_token"), is_on);
        assert_eq!(has("scopes_supported", "offline_access"), is_on);
        let error = refresh(&hub, "bakery", "guess.guess").await.json()["error"].clone();
        // RFC 6749 §5.2
        let expected = if is_on { "unauthorized_client" } else { "unsupported_grant_type" };
        assert_eq!(error, expected, "the bakery gets none");
    }
}

#[actix_web::test]
async fn a_refresh_token_is_inactive_for_a_data_provider() {
    let hub = TestHub::edited(|folder| {
        with_refresh_tokens(folder);
        let file = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"openid\", \"family_name\"]\nsecrets = [{ env = \"CLIENT_SECRET\" }]\n";
        put(folder, "data-providers/archive.toml", file.as_bytes());
    })
    .await;
    let tokens = refresh_token(&hub, &request()).await;
    for (name, active) in [("access_token", true), ("refresh_token", false)] {
        let token = tokens[name].as_str().unwrap();
        let ask = [("client_id", "archive"), ("client_secret", SECRET), ("token", token)];
        let answer = hub.post_form("/api/v2/checktoken", &ask).await.json();
        assert_eq!(answer["active"], active, "{name}");
    }
}

#[actix_web::test]
async fn an_operator_lists_and_ends_the_grants_of_a_stolen_account_with_a_reason() {
    let hub = TestHub::edited(|folder| {
        with_refresh_tokens(folder);
        let file = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}{AUDITED}")).unwrap();
    })
    .await;
    let tokens = [refresh_token(&hub, &request()).await, refresh_token(&hub, &request()).await];
    let id_token = hub.verified_claims(tokens[0]["id_token"].as_str().unwrap()).await;
    let sub = id_token["sub"].as_str().unwrap();
    let send = async |path: &str, body: Value| {
        let uri = format!("/admin/refresh-grants/{path}");
        hub.send_as_admin(TestRequest::post().uri(&uri).set_payload(body.to_string())).await
    };
    let search = async || {
        let found = send("search", json!({ "sub": sub, "reason": "ticket 4711" })).await;
        assert_eq!(found.status, 200, "{}", found.body);
        found.json()["grants"].as_array().unwrap().clone()
    };
    let grants = search().await;
    assert_eq!(grants.len(), 2);
    assert_eq!(grants[0]["client_id"], "clinic");
    for token in &tokens {
        let token = token["refresh_token"].as_str().unwrap();
        for half in token.split('.') {
            assert!(!json!(grants).to_string().contains(half), "a part of a token");
        }
    }
    let without_reason = send("revoke", json!({ "sub": sub, "reason": "" })).await;
    assert_eq!(without_reason.status, 400);
    let one = json!({ "sub": sub, "reason": "ticket 4711", "id": grants[0]["id"] });
    assert_eq!(send("revoke", one).await.json()["revoked"], 1);
    let statuses = async || {
        let mut statuses = Vec::new();
        for token in &tokens {
            let access = token["access_token"].as_str().unwrap();
            statuses.push(hub.get_userinfo(access).await.status);
        }
        statuses
    };
    assert_eq!((search().await.len(), statuses().await), (1, vec![401, 200]));
    let all = json!({ "sub": sub, "reason": "ticket 4711" });
    assert_eq!(send("revoke", all).await.json()["revoked"], 1);
    assert_eq!((search().await.len(), statuses().await), (0, vec![401, 401]));
    for token in &tokens {
        let token = token["refresh_token"].as_str().unwrap();
        assert_eq!(refresh(&hub, "clinic", token).await.status, 400);
    }
    let other = send("search", json!({ "sub": "another", "reason": "ticket 4711" })).await;
    assert_eq!(other.body, r#"{"grants":[]}"#);
}
