//! What clients try against an operator's decisions, and what a change of the configuration leaves
//! of registrations.

use std::time::Duration;

use serde_json::json;

use super::operators::{approve_listed, create_token, export, listed};
use super::{BY_APPROVAL, OPEN, TestClient, code, metadata, register};
use crate::federation::put;
use crate::hub::TestHub;

/// Changes `passerelle.toml`, and starts a hub with the records of the store of before.
pub(super) async fn restart_with(hub: TestHub, from: &str, to: &str) -> TestHub {
    let file = hub.folder().join("passerelle.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
    hub.restart().await
}

/// Attack: a client waits until the operator has seen its registration, and then changes it before
/// the approval.
#[actix_web::test]
async fn an_approval_holds_only_for_what_the_operator_has_seen() {
    let hub = TestHub::with(BY_APPROVAL).await;
    let mut client = register(&hub, None, &metadata()).await;
    let seen = listed(&hub, client.id()).await;
    let mut changed = metadata();
    changed["redirect_uris"] = json!(["https://evil.example/"]);
    client.update(&hub, &changed).await;
    let refused = approve_listed(&hub, &seen).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("Y500123")));
    assert_eq!(listed(&hub, client.id()).await["status"], "pending");
    assert_eq!(client.first_page(&hub).await.status, 400);
    let seen = listed(&hub, client.id()).await;
    assert_eq!(seen["addresses"][0], "https://evil.example/");
    assert_eq!(approve_listed(&hub, &seen).await.status, 200);
}

/// Attack: the keys of a registration are used for the client of the file that replaced it.
#[actix_web::test]
async fn a_file_wins_over_the_registration_that_is_still_active() {
    let hub = TestHub::with(OPEN).await;
    let token = create_token(&hub, json!({})).await;
    let keys = "https://shop.example/keys";
    let mut sent = metadata();
    sent["jwks_uri"] = json!(keys);
    sent["token_endpoint_auth_method"] = json!("private_key_jwt");
    let client = register(&hub, Some(&token), &sent).await;
    assert_eq!(approve_listed(&hub, &listed(&hub, client.id()).await).await.status, 200);
    let file = export(&hub, client.id()).await;
    let moved = file.replace(keys, "https://shop.example/keys-of-the-file");
    assert_ne!(moved, file);
    put(hub.folder(), "service-providers/shop.toml", moved.as_bytes());
    hub.advance(Duration::from_secs(1));
    hub.reload_files().await;
    let federation = hub.federation();
    let owners = federation.key_owners().filter(|owner| owner.client_id.as_str() == client.id());
    let sources: Vec<String> = owners.map(|owner| format!("{:?}", owner.keys)).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources[0].contains("keys-of-the-file"), "{sources:?}");
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 200);
}

/// Attack: registrations of a sandbox stay in force after the sandbox was closed.
#[actix_web::test]
async fn open_registrations_end_with_the_sandbox_and_approved_ones_stay() {
    let server = crate::redis_server::Server::start(&[]);
    let on = crate::shared_store::redis_settings(&server);
    let hub = TestHub::with(&format!("{OPEN}{on}")).await;
    let client = register(&hub, None, &metadata()).await;
    assert_eq!(client.text("registration_status"), "approved");
    let hub = restart_with(hub, "open = \"immediate\"", "open = \"refused\"").await;
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 400);
    assert!(page.body.contains("Y030105"), "it waits for an operator: {}", page.body);
    let seen = listed(&hub, client.id()).await;
    assert_eq!(seen["status"], "pending");
    assert_eq!(approve_listed(&hub, &seen).await.status, 200);
    sign_in(&hub, &client).await;
    // Fewer scopes hold for what is registered, too.
    let scopes = "scopes = [\"openid\", \"profile\"]";
    let hub = restart_with(hub, scopes, "scopes = [\"openid\"]").await;
    assert_eq!(listed(&hub, client.id()).await["scopes"], json!(["openid"]));
    let beyond = hub.browser().authorize(&client.request("openid profile")).await.answer;
    assert_ne!(beyond.status, 200);
    assert_eq!(client.first_page(&hub).await.status, 200);
}

pub(super) async fn sign_in(hub: &TestHub, client: &TestClient) {
    let tokens = client.redeem(hub, &code(hub, client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
}
