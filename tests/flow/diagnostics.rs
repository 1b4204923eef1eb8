//! What a developer learns from a failed request: on a sandbox hub the cause; in production
//! the same page for every cause.

use std::time::Duration;

use actix_web::test::TestRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::federation::{BASE, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

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
    let hub = TestHub::without_sandbox("", &[]).await;
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
    let hub = TestHub::without_sandbox("", &[]).await;
    let form = [("client_id", "nope"), ("client_secret", SECRET), ("token", "T")];
    for path in ["/api/v2/checktoken", "/api/v2/token/revocation"] {
        let answer = hub.post_form(path, &form).await;
        assert!(answer.status == 401 && !answer.body.contains("error_uri"), "{}", answer.body);
    }
}

#[actix_web::test]
async fn the_operators_documentation_is_in_discovery_and_on_the_error_pages() {
    let url = "https://docs.example/login?lang=en";
    let hub = TestHub::without_sandbox(&format!("service_documentation = \"{url}\""), &[]).await;
    let discovery = get(&hub, "/api/v2/.well-known/openid-configuration").await;
    let discovery: Value = serde_json::from_str(&discovery.body).unwrap();
    assert_eq!(discovery["service_documentation"], url);
    let page = get(&hub, "/api/v2/errors/invalid_request").await;
    assert!(page.body.contains(&format!("href=\"{url}\"")), "{}", page.body);
    let without =
        get(&TestHub::without_sandbox("", &[]).await, "/api/v2/.well-known/openid-configuration")
            .await;
    assert!(!without.body.contains("service_documentation"));
}

#[actix_web::test]
async fn a_diagnostic_survives_its_language_menu_and_a_reload_for_ten_minutes() {
    let hub = TestHub::start().await;
    let uri = error_uri(&redeem(&hub, "bakery", "not the secret").await);
    let id = uri.strip_prefix(&format!("{BASE}/api/v2/diagnostics/")).unwrap();
    assert!(id.len() >= 43, "{id}: 256 random bits");
    let page = get(&hub, &uri).await;
    assert_eq!(page.status, 200);
    for part in ["is not one of the client", "Y041002", "client_secret_post"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(!page.body.contains("not the secret") && !page.body.contains(SECRET));
    assert_eq!(page.header("cache-control"), "no-store");
    // The menu of languages leads back to the diagnostic itself.
    let path = format!("/api/v2/diagnostics/{id}");
    assert!(page.body.contains(&format!("name=\"path\" value=\"{path}\"")), "{}", page.body);
    hub.advance(Duration::from_secs(599));
    assert_eq!(get(&hub, &uri).await.status, 200, "a reload");
    hub.advance(Duration::from_secs(1));
    assert_eq!(get(&hub, &uri).await.status, 404, "ten minutes later");
    let old = error_uri(&redeem(&hub, "bakery", "not the secret").await);
    assert_ne!(old, uri);
    hub.advance(Duration::from_secs(600));
    assert_eq!(get(&hub, &old).await.status, 404, "expired");
    assert_eq!(get(&hub, "/api/v2/diagnostics/guessed").await.status, 404);
}

#[actix_web::test]
async fn each_cause_of_a_failed_token_request_has_its_own_diagnostic() {
    let hub = TestHub::start().await;
    let unknown = redeem(&hub, "no-such-client", SECRET).await;
    let code = redeem(&hub, "bakery", SECRET).await;
    let basic = STANDARD.encode(format!("bakery:{SECRET}"));
    let uri = redirect_uri("bakery");
    let body = format!("grant_type=authorization_code&code=C&redirect_uri={uri}");
    let by_header = TestRequest::post()
        .uri("/api/v2/token")
        .insert_header(("authorization", format!("Basic {basic}")))
        .insert_header(("content-type", "application/x-www-form-urlencoded"))
        .set_payload(body);
    let method = hub.send(by_header).await;
    let browser = hub.browser();
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let request = Authorize::by("bakery")
        .and("code_challenge", challenge)
        .and("code_challenge_method", "S256");
    let received = browser.authorize(&request).await.finish_as("jean").await;
    let verifier = hub.redeem("bakery", received.code()).await;
    let used = hub.redeem("bakery", received.code()).await;
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("jean").await;
    let other_uri = hub.redeem_at("bakery", "https://bakery.example/other", received.code()).await;
    for (answer, code, cause) in [
        (unknown, "Y041050", "no active service provider has this client_id"),
        (method, "Y041051", "another method than its registered"),
        (code, "Y042001", "it was never issued, or is older"),
        (verifier, "Y042005", "does not prove the code_challenge"),
        (used, "Y042002", "was used before"),
        (other_uri, "Y042004", "redirect_uri differs"),
    ] {
        let page = get(&hub, &error_uri(&answer)).await;
        assert!(page.body.contains(code) && page.body.contains(cause), "{code}: {}", page.body);
        assert!(!page.body.contains(SECRET) && !page.body.contains(received.code()));
    }
}

#[actix_web::test]
async fn a_production_hub_has_no_diagnostics() {
    let hub = TestHub::without_sandbox("", &[]).await;
    let form = [("url", Authorize::by("bakery").url())];
    let form = form.each_ref().map(|(name, url)| (*name, url.as_str()));
    assert_eq!(hub.post_form("/api/v2/diagnostics", &form).await.status, 404);
    for path in ["/api/v2/diagnostics", "/api/v2/diagnostics/x"] {
        assert_eq!(get(&hub, path).await.status, 404, "{path}");
    }
}

#[actix_web::test]
async fn a_pasted_request_is_explained_and_neither_repeated_nor_started() {
    let hub = TestHub::start().await;
    let form = get(&hub, "/api/v2/diagnostics").await;
    assert!(form.status == 200 && form.body.contains("<textarea"), "{}", form.body);
    let request = Authorize::by("bakery").and("client_secret", "hunter2").with("nonce", "short");
    let url = format!("{BASE}{}&x=%22%3E%3Cscript%3Ealert(1)", request.url());
    let page = hub.post_form("/api/v2/diagnostics", &[("url", &url)]).await;
    assert_eq!(page.status, 200);
    for part in ["Y030703", "The hub shows the user an error page", "replace the secret"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(!page.body.contains("hunter2") && !page.body.contains("alert(1)"), "{}", page.body);
    assert_eq!(page.header("set-cookie"), "", "no login starts");
    let long = format!("{url}&y={}", "y".repeat(20_000));
    for (url, words) in [("", "not an absolute"), (long.as_str(), "longer than 16384 bytes")] {
        let page = hub.post_form("/api/v2/diagnostics", &[("url", url)]).await;
        assert!(page.status == 400 && page.body.contains(words), "{}", page.body);
    }
    let huge = hub.post_form("/api/v2/diagnostics", &[("url", &"x".repeat(100_000))]).await;
    assert!(huge.status == 400 && huge.body.contains("longer than"), "{}", huge.body);
}
