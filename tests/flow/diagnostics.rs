//! What a developer learns from a failed request: in production the same page for every cause.

use std::fs;
use std::path::Path;

use actix_web::test::TestRequest;
use serde_json::Value;

use super::federation::{BASE, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};

/// A hub without sandbox: no person can sign in.
async fn production_hub(more: &str) -> TestHub {
    TestHub::edited(|folder: &Path| {
        let file = folder.join("passerelle.toml");
        let settings = fs::read_to_string(&file).unwrap();
        let settings = settings.replace("sandbox = true\nsandbox_public = true", more);
        fs::write(&file, settings).unwrap();
        for entry in fs::read_dir(folder.join("connectors")).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    })
    .await
}

async fn redeem(hub: &TestHub, client_id: &str, secret: &str) -> Answer {
    let uri = redirect_uri(client_id);
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("client_secret", secret),
        ("redirect_uri", &uri),
        ("code", "C"),
    ];
    hub.post_form("/api/v2/token", &form).await
}

fn error_uri(answer: &Answer) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["error_uri"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
}

async fn get(hub: &TestHub, uri: &str) -> Answer {
    let path = uri.strip_prefix(BASE).unwrap_or(uri);
    hub.send(TestRequest::get().uri(path).insert_header(("accept-language", "en"))).await
}

#[actix_web::test]
async fn production_errors_do_not_reveal_which_clients_exist() {
    let hub = production_hub("").await;
    let unknown = redeem(&hub, "no-such-client", SECRET).await;
    let wrong = redeem(&hub, "bakery", "not the secret").await;
    assert_eq!((unknown.status, wrong.status), (401, 401));
    assert_eq!(unknown.body, wrong.body);
    assert_eq!(error_uri(&wrong), format!("{BASE}/api/v2/errors/invalid_client"));
    let page = get(&hub, &error_uri(&wrong)).await;
    assert_eq!(page.status, 200);
    for part in ["The error invalid_client", "<li>The secret is wrong, has expired"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    let grant = redeem(&hub, "bakery", SECRET).await;
    assert_eq!(error_uri(&grant), format!("{BASE}/api/v2/errors/invalid_grant"));
    assert_eq!(get(&hub, "/api/v2/errors/invalid_grant").await.status, 200);
    assert_eq!(get(&hub, "/api/v2/errors/%3Cscript%3E").await.status, 404);
}

/// R182: introspection answers with the two members of the specification.
#[actix_web::test]
async fn only_the_token_endpoint_adds_an_error_uri() {
    let hub = production_hub("").await;
    let form = [("client_id", "nope"), ("client_secret", SECRET), ("token", "T")];
    for path in ["/api/v2/checktoken", "/api/v2/token/revocation"] {
        let answer = hub.post_form(path, &form).await;
        assert!(answer.status == 401 && !answer.body.contains("error_uri"), "{}", answer.body);
    }
}

#[actix_web::test]
async fn the_operators_documentation_is_in_discovery_and_on_the_error_pages() {
    let url = "https://docs.example/login?lang=en";
    let hub = production_hub(&format!("service_documentation = \"{url}\"")).await;
    let discovery = get(&hub, "/api/v2/.well-known/openid-configuration").await;
    let discovery: Value = serde_json::from_str(&discovery.body).unwrap();
    assert_eq!(discovery["service_documentation"], url);
    let page = get(&hub, "/api/v2/errors/invalid_request").await;
    assert!(page.body.contains(&format!("href=\"{url}\"")), "{}", page.body);
    let without = get(&production_hub("").await, "/api/v2/.well-known/openid-configuration").await;
    assert!(!without.body.contains("service_documentation"));
}
