//! Pushed authorization requests (RFC 9126).

use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle_protocol::digest;
use serde_json::Value;

use super::{
    ACCEPTED, address, assert_page, hub, hub_with, push, push_with, pushed, status_and_error,
};
use crate::federation::{SECRET, redirect_uri};
use crate::hub::TestHub;
use crate::service::Authorize;

const SECOND: Duration = Duration::from_secs(1);

async fn metadata(hub: &TestHub) -> Value {
    let path = "/api/v2/.well-known/openid-configuration";
    serde_json::from_str(&hub.send(TestRequest::get().uri(path)).await.body).unwrap()
}

#[actix_web::test]
async fn a_pushed_request_is_a_whole_login() {
    let hub = hub().await;
    let answer = push(&hub, "bakery", Authorize::by("bakery").pairs()).await;
    assert_eq!((answer.status, answer.header("cache-control")), (201, "no-store"));
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["expires_in"], 60);
    let uri = body["request_uri"].as_str().unwrap();
    let (prefix, reference) = uri.rsplit_once(':').unwrap();
    assert_eq!(prefix, "urn:ietf:params:oauth:request_uri");
    assert_eq!(reference.len(), 43, "256 random bits");

    let browser = hub.browser();
    let page = browser.open(&address("bakery", "request_uri", uri)).await;
    assert!(page.is_choice());
    let received = page.finish_as("angela").await;
    received.belongs_to("bakery");
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    let metadata = metadata(&hub).await;
    assert_eq!(metadata["pushed_authorization_request_endpoint"], "https://hub.example/api/v2/par");
    assert_eq!(metadata["require_pushed_authorization_requests"], false);
}

/// RFC 9126 §7.3
#[actix_web::test]
async fn a_replayed_request_uri_starts_no_second_login() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let address = address("bakery", "request_uri", &uri);
    let (person, attacker) = (hub.browser(), hub.browser());
    let page = person.open(&address).await;
    assert!(page.is_choice());
    assert_page(&attacker.open(&address).await, "Y031505");
    assert!(attacker.logins().is_empty());
    // Nor when the login is over, and when nothing is known of it any more.
    page.finish_as("angela").await;
    assert_page(&attacker.open(&address).await, "Y031505");
    hub.advance(SECOND * 3600);
    assert_page(&attacker.open(&address).await, "Y031504");
}

#[actix_web::test]
async fn a_user_who_reloads_or_goes_back_is_redirected_to_the_current_step() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let address = address("bakery", "request_uri", &uri);
    let browser = hub.browser();
    let first = browser.open(&address).await.url;
    hub.advance(SECOND * 120);
    let again = browser.open(&address).await;
    assert_eq!(again.url, first, "longer than the request itself lives");
    assert_eq!(browser.logins().len(), 1);
    again.finish_as("angela").await.belongs_to("bakery");
}

/// CVE-2024-4540: the parameters of a pushed request stood in a cookie, readable.
#[actix_web::test]
async fn no_cookie_and_no_address_holds_a_parameter_of_a_pushed_request() {
    let hub = hub().await;
    let request = Authorize::by("bakery").with("login_hint", "angela.dubois");
    let uri = pushed(&hub, "bakery", &request).await;
    let browser = hub.browser();
    let page = browser.open(&address("bakery", "request_uri", &uri)).await;
    assert!(page.is_choice());
    let mut seen = vec![page.url.clone()];
    for (name, value) in browser.logins() {
        let bytes = digest::from_base64url(&value).unwrap_or_default();
        seen.extend([name, value, String::from_utf8_lossy(&bytes).into_owned()]);
    }
    assert!(seen.len() > 1, "a login has a cookie");
    for (name, value) in request.pairs() {
        let is_seen = seen.iter().any(|seen| seen.contains(value.as_str()));
        assert!(!is_seen, "{name} in {seen:?}");
    }
}

#[actix_web::test]
async fn a_request_uri_of_another_client_is_unknown() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let thief = hub.browser();
    assert_page(&thief.open(&address("library", "request_uri", &uri)).await, "Y031504");
    // And is not used up by the attempt.
    assert!(hub.browser().open(&address("bakery", "request_uri", &uri)).await.is_choice());
}

#[actix_web::test]
async fn a_guessed_or_expired_request_uri_is_unknown() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    for guessed in [format!("{uri}a"), uri.replace(&uri[uri.len() - 4..], ""), uri[..34].into()] {
        let address = address("bakery", "request_uri", &guessed);
        assert_page(&hub.browser().open(&address).await, "Y031504");
    }
    hub.advance(SECOND * 60);
    let late = address("bakery", "request_uri", &uri);
    assert_page(&hub.browser().open(&late).await, "Y031504");
}

/// Server-side request forgery: RFC 9101 §10.4.1
#[actix_web::test]
async fn a_request_uri_elsewhere_is_refused_and_nothing_is_fetched() {
    let hub = hub().await;
    for elsewhere in ["https://169.254.169.254/latest", "http://localhost/", "file:///etc/passwd"] {
        let request = Authorize::by("bakery").with("request_uri", elsewhere);
        let received = hub.browser().authorize(&request).await.received();
        assert_eq!(received.error_at("bakery"), "request_uri_not_supported");
    }
}

#[actix_web::test]
async fn parameters_beside_the_request_uri_change_nothing() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let injected = Authorize::by("bakery")
        .with("request_uri", &uri)
        .with("state", "state-of-the-attacker-0123456789-0123456789")
        .with("redirect_uri", "https://evil.example/")
        .with("scope", "openid")
        .with("response_mode", "form_post");
    let received = hub.browser().authorize(&injected).await.finish_as("angela").await;
    received.belongs_to("bakery");
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    // Two of them are none.
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let twice = Authorize::by("bakery").with("request_uri", &uri).and("request_uri", &uri);
    assert_page(&hub.browser().authorize(&twice).await, "Y031502");
    let both = Authorize::by("bakery").with("request_uri", &uri).with("request", "a.b.c");
    let received = hub.browser().authorize(&both).await.received();
    assert_eq!(received.error_at("bakery"), "invalid_request");
}

#[actix_web::test]
async fn a_stranger_pushes_nothing_in_a_clients_name() {
    let hub = hub().await;
    let request = Authorize::by("bakery");
    let wrong = push_with(&hub, "bakery", "a wrong secret", request.pairs()).await;
    assert_eq!(status_and_error(&wrong), (401, "invalid_client".into()));
    let none = push_with(&hub, "bakery", "", request.pairs()).await;
    assert_eq!(status_and_error(&none), (400, "invalid_request".into()));
    // With a secret of its own, and the id of another.
    let other = request.with("client_id", "unknown-client");
    assert_eq!(status_and_error(&push(&hub, "", other.pairs()).await).0, 401);
}

#[actix_web::test]
async fn every_check_is_made_when_the_request_is_pushed() {
    let hub = hub().await;
    let good = Authorize::by("bakery");
    for (bad, error) in [
        (good.with("redirect_uri", "https://evil.example/"), "invalid_request"),
        (good.with("redirect_uri", ""), "invalid_request"),
        (good.with("response_type", "token"), "unsupported_response_type"),
        (good.with("scope", "email"), "invalid_request"),
        (good.with("state", "short"), "invalid_request"),
        (good.with("prompt", "none login"), "invalid_request"),
        (good.with("code_challenge", "plain"), "invalid_request"),
        (good.with("id_token_hint", "a.b.c"), "invalid_request"),
        (good.with("request", "a.b.c"), "request_not_supported"),
        (good.with("response_mode", "jwt"), "invalid_request"),
        (good.and("scope", "openid"), "invalid_request"),
        (good.with("request_uri", "urn:ietf:params:oauth:request_uri:a"), "invalid_request"),
    ] {
        let answer = push(&hub, "bakery", bad.pairs()).await;
        assert_eq!(status_and_error(&answer), (400, error.to_owned()), "{}", answer.body);
        assert_eq!(answer.header("content-type"), "application/json; charset=utf-8");
    }
}

#[actix_web::test]
async fn only_a_form_of_bounded_size_is_read() {
    let hub = hub().await;
    let body = Authorize::by("bakery").with("client_secret", SECRET).encoded();
    let post = |query: &str, content_type: &'static str, body: String| {
        let request = TestRequest::post().uri(&format!("/api/v2/par{query}"));
        hub.send(request.insert_header(("content-type", content_type)).set_payload(body))
    };
    let form = "application/x-www-form-urlencoded";
    assert_eq!(post("", form, body.clone()).await.status, 201);
    assert_eq!(post("", "application/json", "{}".into()).await.status, 400);
    assert_eq!(post("?client_id=bakery", form, body.clone()).await.status, 400);
    assert_eq!(hub.send(TestRequest::get().uri("/api/v2/par")).await.status, 405);
    let large = format!("{body}&login_hint={}", "x".repeat(20_000));
    assert_eq!(status_and_error(&post("", form, large).await), (413, "invalid_request".into()));
    let huge = format!("{body}&login_hint={}", "x".repeat(70_000));
    assert_eq!(post("", form, huge).await.status, 413);
    let unknown = format!("{body}&unknown={}", "x".repeat(20_000));
    assert_eq!(post("", form, unknown).await.status, 201, "it is not stored");
}

#[actix_web::test]
async fn a_client_that_must_push_can_not_be_downgraded_to_a_request_by_the_browser() {
    let hub = hub().await;
    let direct = hub.browser().authorize(&Authorize::by("archive")).await.received();
    assert_eq!(direct.error_at("archive"), "invalid_request");
    let uri = pushed(&hub, "archive", &Authorize::by("archive")).await;
    let browser = hub.browser();
    let page = browser.open(&address("archive", "request_uri", &uri)).await;
    page.finish_as("angela").await.belongs_to("archive");
}

#[actix_web::test]
async fn a_hub_that_demands_pushed_requests_takes_no_other() {
    let hub = hub_with("pushed_authorization_requests = \"required\"").await;
    for service in ["bakery", "archive", "notary"] {
        let direct = hub.browser().authorize(&Authorize::by(service)).await.received();
        assert_eq!(direct.error_at(service), "invalid_request");
    }
    // An attacker's request without a provable redirect ends on a page.
    let evil = Authorize::by("bakery").with("redirect_uri", "https://evil.example/");
    assert_page(&hub.browser().authorize(&evil).await, "Y031506");
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    assert!(hub.browser().open(&address("bakery", "request_uri", &uri)).await.is_choice());
    assert_eq!(metadata(&hub).await["require_pushed_authorization_requests"], true);
}

#[actix_web::test]
async fn a_hub_without_pushed_requests_has_no_endpoint() {
    let hub = hub_with("").await;
    let answer = push(&hub, "bakery", Authorize::by("bakery").pairs()).await;
    assert_eq!(answer.status, 404);
    assert!(metadata(&hub).await.get("pushed_authorization_request_endpoint").is_none());
}

/// RFC 9700 §4.11: what is withdrawn receives nothing.
#[actix_web::test]
async fn a_redirect_uri_withdrawn_after_the_push_is_refused() {
    let hub = hub_with(ACCEPTED).await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let file = hub.folder().join("service-providers/bakery.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let moved = text.replace(&redirect_uri("bakery"), "https://bakery.example/elsewhere");
    std::fs::write(&file, moved).unwrap();
    hub.reload_files().await;
    let late = address("bakery", "request_uri", &uri);
    assert_page(&hub.browser().open(&late).await, "Y030203");
}

#[actix_web::test]
async fn prompt_none_is_answered_at_once() {
    let hub = hub().await;
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery").with("prompt", "none")).await;
    let address = address("bakery", "request_uri", &uri);
    let received = hub.browser().open(&address).await.received();
    assert_eq!(received.error_at("bakery"), "login_required");
    assert_page(&hub.browser().open(&address).await, "Y031505");
}
