//! Several hubs on one Redis: each request is another hub's.

use actix_web::test::TestRequest;

use super::{OPEN, code, metadata, register};
use crate::hub::TestHub;
use crate::redis_server::Server;
use crate::shared::on;

#[actix_web::test]
async fn every_hub_knows_a_registration_at_once() {
    let server = Server::start(&[]);
    let (hub, _) = TestHub::several(3, &format!("{OPEN}{}", on(&server))).await;
    let client = register(&hub, None, &metadata()).await;
    for _ in 0..3 {
        let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
        assert_eq!(tokens.status, 200, "{}", tokens.body);
        let token = tokens.json()["access_token"].as_str().unwrap().to_owned();
        assert_eq!(hub.ask_userinfo(&token).await.status, 200);
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
    let hub = TestHub::with(&format!("{OPEN}{}", on(&server))).await;
    let client = register(&hub, None, &metadata()).await;
    let hub = hub.restarted().await;
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
}
