//! Several hubs on one Redis: each request reaches another hub.

use actix_web::test::TestRequest;
use futures_util::future::join;
use serde_json::json;

use super::operator_attacks::restart_with;
use super::operators::{listed, remove};
use super::{OPEN, TestClient, code, metadata, other_metadata, register};
use crate::hub::TestHub;
use crate::redis_server::Server;
use crate::shared_store::redis_settings;

#[actix_web::test]
async fn every_hub_knows_a_registration_at_once() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &format!("{OPEN}{}", redis_settings(&server))).await;
    let client = register(&hub, None, &metadata()).await;
    for _ in 0..3 {
        let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
        assert_eq!(tokens.status, 200, "{}", tokens.body);
        let token = tokens.json()["access_token"].as_str().unwrap().to_owned();
        assert_eq!(hub.get_userinfo(&token).await.status, 200);
    }
    // Each hub learns of the end when it next reads the index.
    let gone = client.configure(&hub, TestRequest::delete()).await;
    assert_eq!(gone.status, 204);
    hub.maintain_registrations().await;
    for _ in 0..3 {
        let page = client.first_page(&hub).await;
        assert_eq!(page.status, 400);
    }
}

#[actix_web::test]
async fn a_registration_survives_a_restart_with_a_shared_store() {
    let server = Server::start(&[]);
    let hub = TestHub::with(&format!("{OPEN}{}", redis_settings(&server))).await;
    let client = register(&hub, None, &metadata()).await;
    let hub = hub.restart().await;
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
}

#[actix_web::test]
async fn a_registered_client_is_not_unknown_while_the_store_is_unavailable() {
    let mut server = Server::start(&[]);
    let hub = TestHub::with(&format!("{OPEN}{}", redis_settings(&server))).await;
    let client = register(&hub, None, &metadata()).await;
    let code = code(&hub, &client).await;
    server.kill();
    let hub = hub.restart().await;
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 503, "{}", page.body);
    let tokens = client.redeem(&hub, &code).await;
    assert_eq!(tokens.status, 503, "{}", tokens.body);
}

/// Returns the keys of registrations and of their index.
fn registration_keys(server: &Server) -> Vec<String> {
    server.keys().into_iter().filter(|key| key.contains(":n:")).collect()
}

/// Attack: one record that can't be read keeps clients in force that were removed, or every client
/// from signing users in.
#[actix_web::test]
async fn an_unreadable_record_makes_its_client_alone_unusable() {
    let server = Server::start(&[]);
    let hub = TestHub::with(&format!("{OPEN}{}", redis_settings(&server))).await;
    let intact = register(&hub, None, &metadata()).await;
    let known = registration_keys(&server);
    let broken = register(&hub, None, &other_metadata()).await;
    let keys = registration_keys(&server);
    let key = keys.iter().find(|key| !known.contains(key)).unwrap();
    let mut bytes = server.get(key);
    bytes[0] = 9; // a format of the future
    server.set(key, &bytes);
    let hub = hub.restart().await;
    hub.maintain_registrations().await;
    let tokens = intact.redeem(&hub, &code(&hub, &intact).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
    assert_eq!(broken.first_page(&hub).await.status, 503);
    assert_eq!(listed(&hub, broken.id()).await["readable"], false);
    // A removal is in force although the other record can't be loaded.
    remove(&hub, intact.id()).await;
    assert_eq!(intact.first_page(&hub).await.status, 400);
    remove(&hub, broken.id()).await;
}

/// Attack: a client that is deleted while it is updated fills the store with records that no index
/// names.
#[actix_web::test]
async fn a_deletion_beside_an_update_leaves_no_record() {
    let server = Server::start(&[]);
    let settings = format!("{OPEN}requests_per_network = 1000\n{}", redis_settings(&server));
    let hub = TestHub::with(&settings).await;
    for round in 0..20 {
        let client = register(&hub, None, &metadata()).await;
        let mut changed = metadata();
        changed["client_id"] = client.0["client_id"].clone();
        changed["software_version"] = json!(round.to_string());
        let typed = ("content-type", "application/json");
        let put = TestRequest::put().insert_header(typed).set_payload(changed.to_string());
        let update = client.configure(&hub, put);
        let deletion = client.configure(&hub, TestRequest::delete());
        let (updated, deleted) = join(update, deletion).await;
        if deleted.status != 204 {
            // The update was first, and has replaced the token.
            let client = TestClient(updated.json());
            assert_eq!(client.configure(&hub, TestRequest::delete()).await.status, 204);
        }
        let keys = registration_keys(&server);
        assert_eq!(keys.len(), 1, "the index alone is left: {keys:?}");
    }
}

/// `docs/redis.md`, Rotation: records that live longer than it takes are encrypted again.
#[actix_web::test]
async fn registrations_outlive_a_rotation_of_the_encryption_keys() {
    let server = Server::start(&[]);
    let hub = TestHub::with(&format!("{OPEN}{}", redis_settings(&server))).await;
    crate::federation::put(hub.folder(), "next.key", &[b'k'; 64]);
    let client = register(&hub, None, &metadata()).await;
    let (old, new) = ("{ env = \"STORE_KEY\" }", "{ file = \"next.key\" }");
    let hub = restart_with(hub, old, &format!("{old}, {new}")).await;
    hub.maintain_registrations().await;
    let hub = restart_with(hub, &format!("{old}, {new}"), &format!("{new}, {old}")).await;
    hub.maintain_registrations().await;
    let hub = restart_with(hub, &format!("{new}, {old}"), new).await;
    hub.maintain_registrations().await;
    assert_eq!(client.first_page(&hub).await.status, 200);
    assert_eq!(client.configure(&hub, TestRequest::get()).await.status, 200);
}
