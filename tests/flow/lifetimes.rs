//! Lifetimes of logins, codes and tokens, to the millisecond, by the manual clock.

use std::time::Duration;

use super::federation::home_page;
use super::hub::TestHub;
use super::service::Authorize;

const MILLISECOND: Duration = Duration::from_millis(1);
const LOGIN: Duration = Duration::from_secs(1800);
const CODE: Duration = Duration::from_secs(30);
const ACCESS_TOKEN: Duration = Duration::from_secs(60);
const ENDED_LOGIN_RETENTION: Duration = Duration::from_secs(60);

#[actix_web::test]
async fn a_login_expires_exactly_at_its_lifetime() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    hub.advance(LOGIN - MILLISECOND);
    assert!(browser.open(&address).await.is_choice());
    hub.advance(MILLISECOND);
    // Neither a request for the page nor a submission continues the login.
    browser.open(&address).await.assert_error(410, "Y420006");
    let page = choice.choose("amandier").await.assert_error(410, "Y420006");
    assert!(page.links().is_empty(), "{:?}", page.links());
    // The hub redirects the cancellation to the validated redirect URI.
    assert_eq!(page.cancel().await.received().error_at("bakery"), "access_denied");
}

#[actix_web::test]
async fn late_consent_gives_no_code() {
    let hub = TestHub::start().await;
    for (late, code) in [(false, None), (true, Some("Y420006"))] {
        let browser = hub.browser();
        let consent = browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("amandier")
            .await
            .sign_in_as("angela")
            .await;
        hub.advance(LOGIN - MILLISECOND);
        if late {
            hub.advance(MILLISECOND);
        }
        let page = consent.consent().await;
        match code {
            None => page.received().belongs_to("bakery"),
            Some(code) => {
                let page = page.assert_error(410, code);
                assert_eq!(browser.session(), None, "a session although the login failed");
                assert_eq!(page.cancel().await.received().error_at("bakery"), "access_denied");
            }
        }
    }
}

#[actix_web::test]
async fn a_late_callback_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    hub.advance(LOGIN);
    sandbox.sign_in_as("angela").await.assert_error(410, "Y420006");
}

#[actix_web::test]
async fn a_code_expires_after_thirty_seconds() {
    let hub = TestHub::start().await;
    let (early, late) = (hub.browser(), hub.browser());
    let early = early.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let late = late.authorize(&Authorize::by("bakery")).await.finish_as("jean").await;
    hub.advance(CODE - MILLISECOND);
    hub.tokens("bakery", &early).await;
    hub.advance(MILLISECOND);
    let answer = hub.redeem("bakery", late.code()).await;
    assert_eq!(
        (answer.status, answer.body.contains("\"invalid_grant\"")),
        (400, true),
        "{}",
        answer.body
    );
}

#[actix_web::test]
async fn an_access_token_expires_after_sixty_seconds() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let issued = hub.now();
    hub.advance(ACCESS_TOKEN - MILLISECOND);
    let claims = hub.userinfo(&tokens.access_token).await;
    assert_eq!(claims["exp"], (issued + ACCESS_TOKEN).seconds());
    assert_eq!(
        tokens.id_token["exp"].as_u64().unwrap() - tokens.id_token["iat"].as_u64().unwrap(),
        60
    );
    hub.advance(MILLISECOND);
    let answer = hub.get_userinfo(&tokens.access_token).await;
    assert_eq!(
        (answer.status, answer.body.contains("\"invalid_token\"")),
        (401, true),
        "{}",
        answer.body
    );
}

#[actix_web::test]
async fn the_login_cookie_outlives_the_login_by_a_minute() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    assert_eq!(browser.login_cookie_lifetime(), LOGIN + ENDED_LOGIN_RETENTION);
    hub.advance(Duration::from_secs(300));
    choice.finish_as("angela").await;
    assert_eq!(browser.login_cookie_lifetime(), ENDED_LOGIN_RETENTION);
}

#[actix_web::test]
async fn a_completed_login_is_answered_for_one_more_minute() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    let cookies = browser.logins();
    choice.finish_as("angela").await;
    hub.advance(ENDED_LOGIN_RETENTION - MILLISECOND);
    let page = browser.open(&address).await.assert_error(409, "Y420005");
    assert_eq!(page.links(), [home_page("bakery")]);
    hub.advance(MILLISECOND);
    browser.open(&address).await.assert_error(404, "Y420001");
    // A cookie that the browser kept does not bring the login back.
    for (name, value) in cookies.iter() {
        browser.plant(name, value);
    }
    let page = browser.open(&address).await.assert_error(404, "Y420001");
    assert!(page.links().is_empty());
}

#[actix_web::test]
async fn an_expired_login_is_answered_for_one_more_minute() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let address = browser.authorize(&Authorize::by("bakery")).await.url;
    let cookies = browser.logins();
    hub.advance(LOGIN + ENDED_LOGIN_RETENTION - MILLISECOND);
    browser.open(&address).await.assert_error(410, "Y420006");
    hub.advance(MILLISECOND);
    for (name, value) in cookies.iter() {
        browser.plant(name, value);
    }
    browser.open(&address).await.assert_error(404, "Y420001");
}
