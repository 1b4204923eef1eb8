//! Many tabs, the back button, reloads and double clicks.

use std::time::Duration;

use futures_util::future::join3;

use super::federation::home_page;
use super::hub::TestHub;
use super::service::{Authorize, STATE};

#[actix_web::test]
async fn eight_of_ten_tabs_finish_and_two_get_an_error() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let mut tabs = Vec::new();
    for n in 0..10 {
        let request = Authorize::by("bakery").with("state", &format!("{STATE}-{n}"));
        tabs.push(browser.authorize(&request).await);
        hub.advance(Duration::from_secs(1));
    }
    let eight = tabs.split_off(2);
    for (n, tab) in tabs.into_iter().enumerate() {
        let page = tab.choose("amandier").await.assert_error(409, "Y420007");
        assert!(page.has_no_links(), "tab {n}: its cookie went with the login");
    }
    assert_eq!(browser.logins().len(), 8, "those of closed logins are expired");
    for (n, tab) in eight.into_iter().enumerate() {
        let received = tab.finish_as("angela").await;
        assert_eq!(received.fields["state"], format!("{STATE}-{}", n + 2));
        assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    }
}

#[actix_web::test]
async fn choosing_again_closes_the_older_attempt() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    let first = choice.choose("amandier").await;
    let second = browser.open(&address).await.choose("belvedere").await;
    // The first tab's answer comes late.
    let page = first.sign_in_as("jean").await.assert_error(400, "Y420003");
    assert_eq!(page.heading(), "You went on in another tab.");
    assert_eq!(page.links(), [address.as_str()]);
    let page = second.sign_in_as("angela").await;
    assert!(page.is_consent(), "at {}", page.url);
    assert_eq!(page.listed_claims()["Family name at birth"], "DUBOIS");
}

/// The person duplicates the tab with the choice, and signs in in one of the two.
#[actix_web::test]
async fn a_duplicated_tab_says_that_the_person_went_on_in_another_one() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let duplicate = browser.open(&choice.url).await;
    let another = browser.open(&choice.url).await;
    let consent = choice.choose("amandier").await.sign_in_as("angela").await;
    assert!(consent.is_consent(), "at {}", consent.url);
    let stale = duplicate.choose("belvedere").await.assert_error(409, "Y420004");
    assert_eq!(stale.heading(), "You went on in another tab.");
    assert!(browser.open(&stale.links()[0]).await.is_consent(), "the way on");
    consent.consent().await.received().code();
    let done = another.choose("belvedere").await.assert_error(409, "Y420005");
    assert_eq!(done.heading(), "This sign-in is already finished.");
    assert!(done.answer.body.contains("in another tab"), "{}", done.answer.body);
    assert_eq!(done.links(), [home_page("bakery")]);
}

#[actix_web::test]
async fn the_continue_link_leads_to_the_current_step_of_the_login() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    let sandbox = choice.choose("amandier").await;
    assert!(browser.open(&address).await.is_choice(), "the back button");
    let consent = sandbox.sign_in_as("angela").await;
    assert!(browser.open(&address).await.is_consent());
    assert!(browser.open(&consent.url).await.is_consent(), "a reload");
    let consent_page = consent.url.clone();
    let received = consent.consent().await.received();
    assert_eq!(
        browser.open(&address).await.received(),
        received,
        "the answer that may have got lost, while it is good"
    );
    hub.tokens("bakery", &received).await;
    for page in [&address, &consent_page] {
        let page = browser.open(page).await.assert_error(409, "Y420005");
        assert_eq!(page.links(), [home_page("bakery")]);
    }
}

#[actix_web::test]
async fn cancel_and_refusal_are_reported_to_the_service() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.cancel().await.received();
    assert_eq!(received.error_at("bakery"), "access_denied");
    assert_eq!(received.fields["error_description"], "The user's authentication was aborted.");
    let consent = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let (yes, no) = (consent.consent_form("yes"), consent.consent_form("no"));
    let received = browser.submit(&no).await.received();
    assert_eq!(received.error_at("bakery"), "access_denied");
    assert_eq!(received.fields["error_description"], "The user refused to share the information.");
    // A user who goes back and says yes after all gets the same no.
    assert_eq!(browser.submit(&yes).await.received(), received);
}

#[actix_web::test]
async fn a_double_click_gets_the_same_code_while_it_lives() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let consent = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let yes = consent.consent_form("yes");
    let first = browser.submit(&yes).await.received();
    let session = browser.session().unwrap();
    assert_eq!(browser.submit(&yes).await.received(), first);
    assert_eq!(browser.session().unwrap(), session);
    assert_eq!(
        browser.submit(&consent.consent_form("no")).await.received(),
        first,
        "a no after the yes takes nothing back"
    );
    hub.tokens("bakery", &first).await;
    let page = browser.submit(&yes).await.assert_error(409, "Y420005");
    assert_eq!(page.links(), [home_page("bakery")]);
}

#[actix_web::test]
async fn a_double_click_after_the_codes_life_is_already_done() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let consent = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let yes = consent.consent_form("yes");
    let first = browser.submit(&yes).await.received();
    hub.advance(Duration::from_millis(29_999));
    assert_eq!(browser.submit(&yes).await.received(), first);
    hub.advance(Duration::from_millis(1));
    browser.submit(&yes).await.assert_error(409, "Y420005");
}

#[actix_web::test]
async fn two_clicks_at_once_get_one_code() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let consent = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let yes = consent.consent_form("yes");
    let click = || browser.post(&yes, Some("same-origin"));
    let answers = join3(click(), click(), click()).await;
    let location = answers.0.header("location");
    assert!(location.contains("&code="), "{location}");
    assert_eq!((answers.1.header("location"), answers.2.header("location")), (location, location));
}

#[actix_web::test]
async fn a_reloaded_callback_gets_the_same_answer() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let back = browser.post(&sandbox.sandbox_form("angela"), Some("same-origin")).await;
    let callback = back.header("location").to_owned();
    let consent = browser.open(&callback).await;
    assert!(consent.is_consent());
    assert!(browser.open(&callback).await.is_consent());
    let received = consent.consent().await.received();
    assert_eq!(browser.open(&callback).await.received(), received);
    hub.tokens("bakery", &received).await;
    browser.open(&callback).await.assert_error(409, "Y420005");
}

#[actix_web::test]
async fn redirects_out_of_a_callback_inherit_no_fragment() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    // The request is for another user, so the callback itself is answered to the service provider.
    let claims = r#"{"id_token":{"sub":{"value":"another user"}}}"#;
    let request = Authorize::by("bakery").with("claims", claims);
    let sandbox = browser.authorize(&request).await.choose("amandier").await;
    let back = browser.post(&sandbox.sandbox_form("angela"), Some("same-origin")).await;
    let answer = browser.get(back.header("location")).await;
    let location = answer.header("location");
    assert!(location.contains("login_required") && location.ends_with('#'), "{location}");
}

#[actix_web::test]
async fn popups_130_that_only_begin_leave_16_cookies_and_the_newest_finishes() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let mut last = String::new();
    for n in 0..130 {
        let answer = browser
            .get(&Authorize::by("bakery").with("state", &format!("{STATE}-{n}")).url())
            .await;
        last = answer.header("location").to_owned();
        assert!(browser.logins().len() <= 16, "{} after {n}", browser.logins().len());
    }
    let received = browser.open(&last).await.finish_as("angela").await;
    assert_eq!(received.fields["state"], format!("{STATE}-129"));
}

#[actix_web::test]
async fn several_logins_of_one_browser_each_get_their_own_callback() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let mut sandboxes = Vec::new();
    for service in ["bakery", "clinic", "library"] {
        sandboxes.push((
            service,
            browser.authorize(&Authorize::by(service)).await.choose("amandier").await,
        ));
    }
    for (service, sandbox) in sandboxes.into_iter().rev() {
        let page = sandbox.sign_in_as("angela").await;
        assert!(page.is_consent(), "{service}: at {}", page.url);
        page.consent().await.received().belongs_to(service);
    }
}
