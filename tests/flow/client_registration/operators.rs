//! Pending registrations that operators list, approve and reject.

use std::time::Duration;

use actix_web::test::TestRequest;
use serde_json::{Value, json};

use super::operator_attacks::sign_in;
use super::{
    BY_APPROVAL, BY_TOKEN, OPEN, TestClient, code, error, metadata, other_metadata, post, register,
};
use crate::hub::{Answer, TestHub};

pub(super) async fn post_admin(hub: &TestHub, path: &str, body: &Value) -> Answer {
    hub.send_as_admin(TestRequest::post().uri(path).set_payload(body.to_string())).await
}

pub(super) async fn create_token(hub: &TestHub, change: Value) -> String {
    let mut sent = json!({
        "purpose": "the corner shop", "registrations": 1, "days": 7, "approved": true,
        "scopes": ["openid", "profile"],
    });
    sent.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let answer = post_admin(hub, "/admin/initial-access-tokens", &sent).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["initial_access_token"].as_str().unwrap().to_owned()
}

/// The registration as operators see it.
pub(super) async fn listed(hub: &TestHub, client_id: &str) -> Value {
    let list = hub.admin_json("/admin/clients").await;
    let mut all = list["registrations"].as_array().unwrap().iter();
    all.find(|one| one["client_id"] == client_id).unwrap_or_else(|| panic!("{list}")).clone()
}

/// Approves a registration as it was listed.
pub(super) async fn approve_listed(hub: &TestHub, listed: &Value) -> Answer {
    let path = format!("/admin/clients/{}/approve", listed["client_id"].as_str().unwrap());
    let approval = json!({ "fingerprint": listed["fingerprint"], "reason": "ticket 4711" });
    post_admin(hub, &path, &approval).await
}

pub(super) async fn approve(hub: &TestHub, client_id: &str) {
    let answer = approve_listed(hub, &listed(hub, client_id).await).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

pub(super) async fn remove(hub: &TestHub, client_id: &str) {
    let path = format!("/admin/clients/{client_id}/remove");
    let answer = post_admin(hub, &path, &json!({ "reason": "ticket 4711" })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

pub(super) async fn export(hub: &TestHub, client_id: &str) -> String {
    let exported = hub.admin_json(&format!("/admin/clients/{client_id}")).await;
    exported["file"].as_str().unwrap_or_else(|| panic!("{exported}")).to_owned()
}

fn token_for_host(host: &str) -> Value {
    json!({
        "purpose": "the corner shop", "registrations": 1, "days": 7, "scopes": ["openid"],
        "hosts": [host],
    })
}

#[actix_web::test]
async fn a_pending_registration_signs_in_no_one_until_an_operator_approves_it() {
    let audited = "\n[audit]\nsink = \"file\"\n";
    let hub =
        TestHub::with(&format!("{BY_APPROVAL}scopes = [\"openid\", \"profile\"]\n{audited}")).await;
    let client = register(&hub, None, &metadata()).await;
    assert_eq!(client.text("registration_status"), "pending");
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 400);
    assert!(page.body.contains("Y030105"), "{}", page.body);
    assert_eq!(error(&client.redeem(&hub, "x").await), (401, "invalid_client".into()));

    let listed = listed(&hub, client.id()).await;
    assert_eq!(listed["status"], "pending");
    assert_eq!(listed["names"], json!({ "en": "Corner shop" }));
    assert_eq!(listed["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(
        listed["addresses"],
        json!(["https://shop.example/callback?shop=1", "https://shop.example/"])
    );
    let status = hub.admin_json("/admin/status").await;
    assert_eq!(status["pending_registrations"][0]["client_id"], client.id());
    let overview = hub.console_page("/admin/", &hub.operator_cookie().await).await.body;
    for text in ["Registrations that wait for approval: 1", client.id(), "Corner shop"] {
        assert!(overview.contains(text), "{text}: {overview}");
    }
    let gauge = "passerelle_client_registrations{status=\"pending\"} 1";
    assert!(hub.metrics.render().contains(gauge), "{gauge}");
    approve(&hub, client.id()).await;
    let status = hub.admin_json("/admin/status").await;
    assert!(status.get("pending_registrations").is_none(), "{status}");
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
    remove(&hub, client.id()).await;
    let token = tokens.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(hub.get_userinfo(&token).await.status, 401, "revoked at once");
    let log = hub.audit_text();
    for event in ["client_registered", "client_approved", "client_removed"] {
        assert!(log.contains(event), "{event} is missing: {log}");
    }
    let path = "/admin/clients/dcr-unknown/approve";
    let approval = json!({ "fingerprint": "0", "reason": "ticket 4711" });
    assert_eq!(post_admin(&hub, path, &approval).await.status, 404);
    let without_reason = json!({ "fingerprint": "0", "reason": "" });
    let without_reason = post_admin(&hub, path, &without_reason).await;
    assert_eq!(without_reason.json()["code"], "Y500105");
}

#[actix_web::test]
async fn an_initial_access_token_has_an_end_a_number_and_its_own_scopes() {
    let hub = TestHub::with(BY_TOKEN).await;
    let token = create_token(&hub, json!({})).await;
    let client = register(&hub, Some(&token), &metadata()).await;
    assert_eq!(client.text("scope"), "openid profile");
    assert_eq!(client.text("registration_status"), "approved");
    let used = post(&hub, Some(&token), &metadata()).await;
    assert_eq!(error(&used), (403, "access_denied".into()));
    assert_eq!(error(&post(&hub, Some("x"), &metadata()).await), (401, "invalid_token".into()));

    let waiting = create_token(&hub, json!({ "approved": false, "scopes": ["openid"] })).await;
    let client = register(&hub, Some(&waiting), &other_metadata()).await;
    assert_eq!((client.text("registration_status"), client.text("scope")), ("pending", "openid"));

    let short = create_token(&hub, json!({ "days": 1 })).await;
    hub.advance(Duration::from_secs(24 * 3600));
    assert_eq!(error(&post(&hub, Some(&short), &metadata()).await).0, 401);

    let revoked = create_token(&hub, json!({})).await;
    let list = hub.admin_json("/admin/clients").await;
    let tokens = list["initial_access_tokens"].as_array().unwrap();
    assert!(!list.to_string().contains(&revoked), "tokens are shown once");
    let id = tokens.last().unwrap()["id"].as_str().unwrap();
    let path = format!("/admin/initial-access-tokens/{id}");
    assert_eq!(hub.send_as_admin(TestRequest::delete().uri(&path)).await.status, 200);
    assert_eq!(error(&post(&hub, Some(&revoked), &metadata()).await).0, 401);
    for wrong in [
        json!({ "purpose": "the corner shop", "registrations": 0, "days": 7, "scopes": ["openid"] }),
        json!({ "purpose": "the corner shop", "registrations": 1, "days": 7, "scopes": ["x"] }),
        json!({ "purpose": "the corner shop" }),
        token_for_host("https://shop.example"),
        token_for_host("*.shop.example"),
        token_for_host("shop.example:443"),
        token_for_host("shop.example/callback"),
        token_for_host("10.0.0.7"),
        token_for_host("shop_1.example"),
        token_for_host(""),
    ] {
        let answer = post_admin(&hub, "/admin/initial-access-tokens", &wrong).await;
        assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("Y500121")));
        assert!(!answer.json()["details"].as_array().unwrap().is_empty(), "{}", answer.body);
    }
}

#[actix_web::test]
async fn an_exported_file_passes_the_check_and_keeps_id_and_secret() {
    let hub = TestHub::with(BY_TOKEN).await;
    let token = create_token(&hub, json!({})).await;
    let client = register(&hub, Some(&token), &metadata()).await;
    let file = export(&hub, client.id()).await;
    assert!(!file.contains(client.text("client_secret")), "{file}");
    let restarted: TestClient = {
        let off = hub.folder().join("passerelle.toml");
        let text = std::fs::read_to_string(&off).unwrap().replace(BY_TOKEN, "");
        std::fs::write(&off, text).unwrap();
        crate::federation::put(hub.folder(), "service-providers/shop.toml", file.as_bytes());
        client
    };
    let hub = hub.restart().await;
    let tokens = restarted.redeem(&hub, &code(&hub, &restarted).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
}

/// A registration without logins ends, and one in use stays.
#[actix_web::test]
async fn an_unused_registration_ends() {
    let hub = TestHub::with(&format!("{BY_TOKEN}unused_days = 10\n")).await;
    let token = create_token(&hub, json!({ "registrations": 2, "days": 90 })).await;
    let used = register(&hub, Some(&token), &metadata()).await;
    let unused = register(&hub, Some(&token), &metadata()).await;
    hub.advance(Duration::from_secs(8 * 24 * 3600));
    let tokens = used.redeem(&hub, &code(&hub, &used).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
    hub.maintain_registrations().await;
    hub.advance(Duration::from_secs(8 * 24 * 3600));
    hub.maintain_registrations().await;
    assert_eq!(used.first_page(&hub).await.status, 200);
    assert_eq!(unused.first_page(&hub).await.status, 400);
    let list = hub.admin_json("/admin/clients").await;
    assert_eq!(list["registrations"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn metrics_of_a_registered_client_have_its_class_and_survive_a_reload() {
    for (labels, client_label) in [("each", None), ("class", Some("standard/openid"))] {
        let settings = format!("{OPEN}\n[metrics]\nservice_provider_labels = \"{labels}\"\n");
        let hub = TestHub::with(&settings).await;
        let client = register(&hub, None, &metadata()).await;
        // A scrape after the registration.
        let _scrape = hub.metrics.render();
        sign_in(&hub, &client).await;
        let label = client_label.unwrap_or(client.id());
        let label = format!("service_provider=\"{label}\"");
        let has_series = || {
            let is_of_client = |line: &str| {
                line.starts_with("passerelle_service_provider_logins_total{")
                    && line.contains(&label)
            };
            hub.metrics.render().lines().any(is_of_client)
        };
        assert!(has_series(), "{labels}");
        hub.write_file("connectors/dropped.toml", &hub.read_file("connectors/amandier.toml"));
        hub.reload_files().await;
        assert!(has_series(), "{labels}, after the reload");
    }
}
