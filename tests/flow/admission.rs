//! Limit on logins, and the gate.

use std::time::Duration;

use super::federation::home_page;
use super::hub::TestHub;
use super::service::Authorize;

#[actix_web::test]
async fn beyond_the_limit_a_new_login_gets_an_error_that_names_the_reason() {
    let hub = TestHub::with("limits.logins = 3").await;
    let browsers: Vec<_> = (0..3).map(|_| hub.browser()).collect();
    let mut open = Vec::new();
    for browser in &browsers {
        open.push(browser.authorize(&Authorize::by("bakery")).await);
    }
    let fourth = hub.browser();
    let page = fourth.authorize(&Authorize::by("bakery")).await.assert_error(503, "Y500002");
    assert_eq!(page.links(), [Authorize::by("bakery").url(), home_page("bakery")]);
    let silent = Authorize::by("bakery").with("prompt", "none");
    assert_eq!(
        fourth.authorize(&silent).await.received().error_at("bakery"),
        "temporarily_unavailable"
    );
    assert!(fourth.logins().is_empty(), "a cookie for no login");
    // No live login is replaced.
    for page in open {
        page.finish_as("angela").await.code();
    }
}

#[actix_web::test]
async fn an_ended_login_frees_capacity_for_another() {
    let hub = TestHub::with("limits.logins = 3").await;
    let browser = hub.browser();
    for _ in 0..3 {
        browser.authorize(&Authorize::by("bakery")).await;
    }
    // A login's record stays for a minute after its end.
    hub.advance(Duration::from_millis(1_860_000 - 1));
    browser.authorize(&Authorize::by("bakery")).await.assert_error(503, "Y500002");
    hub.advance(Duration::from_secs(2));
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.code();
}

#[actix_web::test]
async fn a_full_code_store_is_an_error_for_the_service_provider() {
    let hub = TestHub::with("limits.grants = 1").await;
    let (first, second) = (hub.browser(), hub.browser());
    first.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.code();
    let consent = second
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("jean")
        .await;
    let page = consent.consent().await.assert_error(503, "Y500002");
    assert_eq!(page.cancel().await.received().error_at("bakery"), "temporarily_unavailable");
    assert_eq!(second.session(), None);
    // With `prompt=none` the hub's own error is a redirect too.
    let silent = Authorize::by("bakery").with("prompt", "none");
    assert_eq!(
        first.authorize(&silent).await.received().error_at("bakery"),
        "temporarily_unavailable"
    );
}

#[actix_web::test]
async fn a_disabled_connector_can_not_be_chosen_and_a_forged_choice_of_it_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert_eq!(page.offered(), ["amandier", "belvedere"]);
    assert!(page.answer.body.contains(
        "<span><bdi>Closed account</bdi></span><span class=\"small quiet\">Closed at the moment</span>"
    ));
    let by_hand = page.form("/provider").with("provider", "closed");
    let page = browser.submit(&by_hand).await;
    assert!(page.is_choice());
    page.assert_error(200, "Y020002").finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn a_connector_denied_for_one_service_provider_is_refused_only_there() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("cautious")).await;
    assert_eq!(page.offered(), ["amandier"]);
    assert!(page.answer.body.contains("Cannot be used for this service"));
    let by_hand = page.form("/provider").with("provider", "belvedere");
    let page = browser.submit(&by_hand).await;
    assert!(page.is_choice());
    page.assert_error(200, "Y420008").finish_as("angela").await.belongs_to("cautious");
    assert!(
        browser
            .authorize(&Authorize::by("bakery"))
            .await
            .offered()
            .contains(&"belvedere".to_owned())
    );
}

#[actix_web::test]
async fn a_session_of_a_denied_connector_is_not_reused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("belvedere")
        .await
        .sign_in_as("angela")
        .await
        .consent()
        .await;
    assert!(
        browser.authorize(&Authorize::by("library").with("prompt", "consent")).await.is_consent()
    );
    assert!(
        browser.authorize(&Authorize::by("cautious").with("prompt", "consent")).await.is_choice()
    );
    let silent = Authorize::by("cautious").with("prompt", "none");
    assert_eq!(browser.authorize(&silent).await.received().error_at("cautious"), "login_required");
}

#[actix_web::test]
async fn a_hint_that_the_gate_refuses_is_ignored() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    for (service, hint) in [("bakery", "closed"), ("bakery", "unknown"), ("cautious", "belvedere")]
    {
        assert!(
            browser.authorize(&Authorize::by(service).with("idp_hint", hint)).await.is_choice(),
            "{service} {hint}"
        );
    }
}

#[actix_web::test]
async fn a_connector_that_does_not_exist_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    let unknown = page.form("/provider").with("provider", "unknown");
    browser.submit(&unknown).await.assert_error(200, "Y020001");
    let malformed = page.form("/provider").with("provider", "../amandier");
    browser.submit(&malformed).await.assert_error(400, "Y000400");
}
