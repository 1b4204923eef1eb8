//! Cookies that another host of the domain, or an answer over plain http, sets in the browser.

use actix_web::test::TestRequest;
use passerelle_protocol::catalogue::ErrorCode;

use super::*;

const SESSION: &str = "__Host-passerelle-session";

/// Attack: the name begins with a space of Unicode, so browsers don't protect it as `__Host-`.
#[actix_web::test]
async fn a_login_cookie_planted_behind_a_unicode_space_does_not_hand_over_the_login() {
    let hub = TestHub::start().await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let choice = attacker.authorize(&Authorize::by("bakery")).await;
    let [(name, value)] = <[_; 1]>::try_from(attacker.logins()).unwrap();
    for space in ["\u{2000}", "\u{a0}", "\u{3000}", "\u{85}", "\u{feff}"] {
        let victim = hub.browser();
        victim.plant(&format!("{space}{name}"), &value);
        let code = ErrorCode::LoginOtherBrowser.entry().code;
        victim.open(&choice.url).await.assert_error(403, code);
        let callback = callback_url_for(&attacker, "amandier", "jean").await;
        victim.open(&callback).await.assert_error(403, code);
    }
    victim.plant(&name, &value);
    assert!(victim.open(&choice.url).await.is_choice(), "the cookie's own name is read");
}

/// Attack: the victim's browser gets the attacker's session.
#[actix_web::test]
async fn a_session_cookie_planted_behind_a_unicode_space_is_no_session() {
    let hub = TestHub::start().await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    attacker.authorize(&Authorize::by("bakery")).await.finish_as("jean").await;
    let session = attacker.session().unwrap();
    let reusing = Authorize::by("library").with("prompt", "consent");
    assert!(attacker.authorize(&reusing).await.is_consent(), "the session can be reused");
    victim.plant(&format!("\u{2000}{SESSION}"), &session);
    assert!(victim.authorize(&reusing).await.is_choice());
}

#[actix_web::test]
async fn a_second_cookie_of_the_same_name_is_refused_with_a_way_on_and_changes_nothing() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let session = browser.session().unwrap();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let form = choice.form("/provider").with("provider", "amandier");
    let logins = browser.logins();
    // Two pairs of the same name, in either order.
    browser.plant(&format!("x=1; {SESSION}"), "of-the-attacker");
    let code = ErrorCode::RepeatedCookie.entry().code;
    for url in [
        Authorize::by("bakery").url(),
        choice.url.clone(),
        "/api/v2/session/end".to_owned(),
        "/api/v2/callback/amandier?state=x&code=y".to_owned(),
    ] {
        let page = browser.open(&url).await.assert_error(400, code);
        assert!(page.answer.body.contains("private window"), "the page names the way on");
        assert!(!page.answer.headers.contains_key("set-cookie"), "the other cookie would remain");
    }
    browser.submit(&form).await.assert_error(400, code);
    // Pages that change nothing, and endpoints that programs call, read neither cookie.
    for url in ["/", "/api/v2/jwks", "/api/v2/.well-known/openid-configuration"] {
        assert_eq!(browser.get(url).await.status, 200, "{url}");
    }
    let clean = hub.browser();
    clean.plant_session(&session);
    for (name, value) in logins {
        clean.plant(&name, &value);
    }
    assert!(clean.open(&choice.url).await.is_choice(), "the login goes on where it was");
    let reusing = Authorize::by("library").with("prompt", "consent");
    assert!(clean.authorize(&reusing).await.is_consent(), "the session has not ended");
}

#[actix_web::test]
async fn a_second_cookie_of_one_login_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let [(name, value)] = <[_; 1]>::try_from(browser.logins()).unwrap();
    let request = TestRequest::get()
        .uri(&choice.url)
        .append_header(("cookie", format!("{name}={value}")))
        .append_header(("cookie", format!("{name}=other")));
    let answer = hub.send(request).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains(ErrorCode::RepeatedCookie.entry().code), "{}", answer.body);
    assert!(browser.open(&choice.url).await.is_choice());
}

#[actix_web::test]
async fn the_operator_can_hold_the_hosts_below_to_https() {
    for (setting, policy) in [
        ("", "max-age=31536000"),
        (", hsts_include_subdomains = true", "max-age=31536000; includeSubDomains"),
    ] {
        let hub = TestHub::edited(|folder| {
            let file = folder.join("passerelle.toml");
            let text = std::fs::read_to_string(&file).unwrap();
            let listen = "public = { listen = \"127.0.0.1:0\"";
            assert!(text.contains(listen));
            std::fs::write(file, text.replace(listen, &format!("{listen}{setting}"))).unwrap();
        })
        .await;
        let answer = hub.browser().get("/").await;
        assert_eq!(answer.header("strict-transport-security"), policy);
    }
}
