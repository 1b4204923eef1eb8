//! A redirect URI or a scope that is taken out of a service provider's file while people are
//! signing in to it, or hold its tokens.

use super::federation::{home_page, post_logout_redirect_uri, redirect_uri};
use super::hub::TestHub;
use super::service::Authorize;

const FILE: &str = "service-providers/bakery.toml";

async fn withdraw(hub: &TestHub, from: &str, to: &str) {
    hub.edit_file(FILE, from, to);
    hub.reload_files().await;
}

async fn withdraw_redirect_uri(hub: &TestHub) {
    withdraw(hub, &redirect_uri("bakery"), "https://bakery.example/another").await;
}

async fn restore_redirect_uri(hub: &TestHub) {
    withdraw(hub, "https://bakery.example/another", &redirect_uri("bakery")).await;
}

async fn withdraw_email(hub: &TestHub) {
    withdraw(hub, "\"email\", ", "").await;
}

#[actix_web::test]
async fn a_redirect_uri_withdrawn_mid_login_gets_a_page_and_never_a_redirect() {
    let hub = TestHub::start().await;
    let (at_choice, away, at_consent, refusing) =
        (hub.browser(), hub.browser(), hub.browser(), hub.browser());
    let choice = at_choice.authorize(&Authorize::by("bakery")).await;
    let sandbox = away.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let consent = at_consent
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let other = refusing
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("jean")
        .await;
    let waiting = consent.url.clone();
    withdraw_redirect_uri(&hub).await;
    for page in [
        choice.cancel().await.assert_error(403, "Y420320"),
        sandbox.sign_in_as("angela").await.assert_error(403, "Y420320"),
        consent.consent().await.assert_error(403, "Y420320"),
        other.refuse().await.assert_error(403, "Y420320"),
    ] {
        assert!(page.links().iter().all(|link| *link == home_page("bakery")), "{:?}", page.links());
        assert!(!page.answer.body.contains("bakery.example/callback"), "{}", page.answer.body);
    }
    // Corrected, the login that waits at the consent page goes on.
    restore_redirect_uri(&hub).await;
    let page = at_consent.open(&waiting).await;
    assert!(page.consent().await.received().fields.contains_key("code"));
}

#[actix_web::test]
async fn a_code_and_a_token_of_a_withdrawn_redirect_uri_are_invalid() {
    let hub = TestHub::start().await;
    let first = hub.browser().authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &first).await;
    let second = hub.browser().authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    withdraw_redirect_uri(&hub).await;
    let refused = hub.redeem("bakery", second.code()).await;
    assert_eq!(
        (refused.status, refused.body.contains("invalid_grant")),
        (400, true),
        "{}",
        refused.body
    );
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 401);
}

#[actix_web::test]
async fn a_scope_withdrawn_mid_login_releases_nothing_more() {
    let hub = TestHub::start().await;
    let consenting = hub.browser();
    let consent = consenting
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let code = hub.browser().authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let redeemed =
        hub.browser().authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &redeemed).await;
    assert!(hub.userinfo(&tokens.access_token).await.contains_key("email"));
    withdraw_email(&hub).await;
    assert_eq!(consent.consent().await.received().error_at("bakery"), "invalid_scope");
    let refused = hub.redeem("bakery", code.code()).await;
    assert_eq!(
        (refused.status, refused.body.contains("invalid_grant")),
        (400, true),
        "{}",
        refused.body
    );
    let refused = hub.get_userinfo(&tokens.access_token).await;
    assert_eq!((refused.status, refused.body.contains("angela")), (401, false), "{}", refused.body);
    // A request for what is left is served.
    let scope = super::federation::SCOPES.replace(" email", "");
    let received = hub
        .browser()
        .authorize(&Authorize::by("bakery").with("scope", &scope))
        .await
        .finish_as("angela")
        .await;
    let tokens = hub.tokens("bakery", &received).await;
    assert!(!hub.userinfo(&tokens.access_token).await.contains_key("email"));
}

#[actix_web::test]
async fn a_post_logout_redirect_uri_withdrawn_during_the_logout_is_not_redirected_to() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let hint = hub.tokens("bakery", &received).await.raw_id_token;
    let uri = post_logout_redirect_uri("bakery");
    let request = [
        ("id_token_hint", hint.as_str()),
        ("post_logout_redirect_uri", &uri),
        ("state", "a state for the logout, of 40 characters"),
    ];
    let states = ["b".repeat(43), "c".repeat(43)];
    for state in &states {
        hub.save_logout_destination("amandier", state, &request).await;
    }
    let back = |state: &str| format!("/api/v2/session/end/amandier?state={state}");
    withdraw(&hub, &uri, "https://bakery.example/elsewhere").await;
    let page = browser.open(&back(&states[0])).await;
    assert_eq!((page.answer.status, page.heading().as_str()), (200, "You are signed out"));
    assert!(!page.answer.body.contains(&uri), "{}", page.answer.body);
    withdraw(&hub, "https://bakery.example/elsewhere", &uri).await;
    let answer = browser.get(&back(&states[1])).await;
    assert!(answer.header("location").starts_with(&uri), "{}", answer.body);
}
