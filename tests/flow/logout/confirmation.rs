//! Logouts that ask the user first.

use super::*;

#[actix_web::test]
async fn the_hint_of_another_user_or_of_a_stranger_to_the_session_asks_first() {
    let hub = TestHub::start().await;
    let (browser, other) = (hub.browser(), hub.browser());
    let angela = sign_in(&browser, "bakery", "angela").await;
    let jean = sign_in(&other, "bakery", "jean").await;
    let elsewhere = sign_in(&hub.browser(), "library", "angela").await;
    for (service, hint) in [("bakery", &jean.raw_id_token), ("library", &elsewhere.raw_id_token)] {
        let page = browser.open(&url(&logout_request(service, hint))).await;
        assert!(page.is_logout_confirmation(), "{service}");
        assert_eq!(page.heading(), "Do you want to sign out?");
        assert_eq!(page.links().first(), Some(&home_page(service)), "the way to stay");
        assert!(is_signed_in(&browser, "bakery").await);
    }
    let page = browser.open(&url(&logout_request("bakery", &jean.raw_id_token))).await;
    let gone = browser.submit(&page.form("/confirm")).await;
    assert_eq!(gone.url, logout_redirect("bakery"));
    assert_eq!(browser.session(), None);
    assert_eq!(hub.get_userinfo(&angela.access_token).await.status, 401);
    assert!(is_signed_in(&other, "bakery").await);
}

#[actix_web::test]
async fn logout_csrf_by_a_cross_site_request_without_a_hint_asks_first() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    sign_in(&browser, "bakery", "angela").await;
    let cross_site = TestRequest::get().uri(END).insert_header(("sec-fetch-site", "cross-site"));
    assert_eq!(browser.send(cross_site).await.status, 200);
    assert_eq!(browser.post(&form(&Vec::new()), Some("cross-site")).await.header("location"), END);
    let page = browser.open(END).await;
    assert!(page.is_logout_confirmation());
    let question = page.form("/confirm");
    // The question's form, sent by another site, without its token, or with another request's.
    let foreign = form(&Vec::new());
    let foreign = Form { action: question.action.clone(), ..foreign };
    for (form, site, code) in [
        (&question, Some("cross-site"), "Y470003"),
        (&foreign, None, "Y470001"),
        (&question.clone().with("csrf", "x"), None, "Y470002"),
        (&question.clone().with("ui_locales", "fr"), None, "Y470002"),
    ] {
        let answer = browser.post(form, site).await;
        assert!(answer.status == 403 && answer.body.contains(code), "{code}: {}", answer.body);
    }
    assert!(is_signed_in(&browser, "bakery").await);
    assert_logged_out_page(&browser.submit(&question).await);
    assert!(!is_signed_in(&browser, "bakery").await);
    // Twice, as from a second tab: nothing is left to protect, or to end.
    assert_logged_out_page(&browser.submit(&question).await);
}

/// The hub does not end the services' own sessions, so the page leads to each of them.
#[actix_web::test]
async fn the_signed_out_page_links_to_the_services_of_the_session() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    sign_in(&browser, "bakery", "angela").await;
    sign_in(&browser, "library", "angela").await;
    let question = browser.open(END).await.form("/confirm");
    let page = browser.submit(&question).await;
    assert_logged_out_page(&page);
    let links = page.links();
    for service in ["bakery", "library"] {
        assert!(links.contains(&home_page(service)), "{service}: {links:?}");
    }
}

// RP-Initiated Logout, 2: a user without a hint is asked, also where nothing is left to end.
#[actix_web::test]
async fn a_logout_without_hint_and_session_asks_first_too() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    // Without a cookie, and with one of a session that is over.
    for (planted, refusal) in [(None, "Y470001"), (Some("A".repeat(43)), "Y470002")] {
        if let Some(value) = planted {
            browser.plant_session(&value);
        }
        let page = browser.open(END).await;
        assert!(page.is_logout_confirmation());
        assert!(page.answer.body.contains("no one is signed in"), "{}", page.answer.body);
        let question = page.form("/confirm");
        assert_logged_out_page(&browser.submit(&question).await);
        // A user signs in in another tab before the question is answered.
        sign_in(&browser, "bakery", "angela").await;
        browser.submit(&question).await.assert_error(403, refusal);
        assert!(is_signed_in(&browser, "bakery").await);
        browser.submit(&browser.open(END).await.form("/confirm")).await;
    }
}

#[actix_web::test]
async fn a_logout_confirmation_of_one_session_does_not_end_the_next() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    sign_in(&browser, "bakery", "angela").await;
    let question = browser.open(END).await.form("/confirm");
    sign_in(&browser, "bakery", "jean").await;
    let page = browser.submit(&question).await.assert_error(403, "Y470002");
    assert_eq!(page.links(), [END], "the way to ask again");
    assert!(is_signed_in(&browser, "bakery").await);
}
