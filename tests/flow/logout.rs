//! Logout: every way to end a session, and attacks on it (OpenID Connect RP-Initiated Logout 1.0).

mod confirmation;

use std::time::Duration;

use actix_web::test::TestRequest;
use url::form_urlencoded::Serializer;

use super::browser::{Browser, Page};
use super::federation::{home_page, post_logout_redirect_uri};
use super::hub::TestHub;
use super::markup::Form;
use super::service::{Authorize, Tokens};

const STATE: &str = "a state for the logout, of 40 characters";
const END: &str = "/api/v2/session/end";
const MINUTE: Duration = Duration::from_secs(60);

type Pairs = Vec<(String, String)>;

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Returns the parameters of a logout request of a service provider.
fn logout_request(service: &str, hint: &str) -> Pairs {
    pairs(&[
        ("id_token_hint", hint),
        ("post_logout_redirect_uri", &post_logout_redirect_uri(service)),
        ("state", STATE),
    ])
}

fn with(mut asked: Pairs, name: &str, value: &str) -> Pairs {
    asked.retain(|(known, _)| known != name);
    asked.push((name.to_owned(), value.to_owned()));
    asked
}

fn url(asked: &Pairs) -> String {
    format!("{END}?{}", Serializer::new(String::new()).extend_pairs(asked).finish())
}

fn form(asked: &Pairs) -> Form {
    Form { action: END.into(), fields: asked.clone(), buttons: Vec::new() }
}

/// Returns the logout redirect URI of a service provider, with its state.
fn logout_redirect(service: &str) -> String {
    format!(
        "{}&state={}",
        post_logout_redirect_uri(service),
        STATE.replace(' ', "%20").replace(',', "%2C")
    )
}

async fn sign_in(browser: &Browser<'_>, service: &str, person: &str) -> Tokens {
    let received = browser.authorize(&Authorize::by(service)).await.finish_as(person).await;
    browser.hub.tokens(service, &received).await
}

/// True while a session answers without asking anybody.
async fn is_signed_in(browser: &Browser<'_>, service: &str) -> bool {
    let answer = browser.get(&Authorize::by(service).with("prompt", "none").url()).await;
    let location = answer.header("location").to_owned();
    assert!(location.contains("&code=") || location.contains("error=login_required"), "{location}");
    location.contains("&code=")
}

#[track_caller]
fn assert_logged_out_page(page: &Page<'_>) {
    assert_eq!((page.answer.status, page.heading().as_str()), (200, "You are signed out"));
}

// R170, R172, R173, R176, R177
#[actix_web::test]
async fn the_user_is_signed_out_and_returns_with_the_state() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    let answer = browser.get(&url(&logout_request("bakery", &tokens.raw_id_token))).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, logout_redirect("bakery").as_str())
    );
    assert_eq!(answer.header("content-type"), "text/html;charset=UTF-8");
    let cookie = answer.header("set-cookie");
    assert!(cookie.contains("-session=;") && cookie.contains("Max-Age=0"), "{cookie}");
    assert_eq!(browser.session(), None);
    assert!(!is_signed_in(&browser, "bakery").await);
    assert!(
        browser.authorize(&Authorize::by("bakery").with("prompt", "consent")).await.is_choice()
    );
    assert!(hub.metrics.render().contains("passerelle_logouts_total{outcome=\"local\"} 1"));
}

#[actix_web::test]
async fn a_stolen_cookie_and_every_code_and_token_end_with_the_session() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let first = sign_in(&browser, "library", "angela").await;
    // The same person again: the session before ends, and what it issued belongs to the new one.
    let second = sign_in(&browser, "bakery", "angela").await;
    let stolen = browser.session().unwrap();
    let code = browser.authorize(&Authorize::by("library").with("prompt", "none")).await.received();
    let stranger = hub.browser();
    let unharmed = sign_in(&stranger, "bakery", "angela").await;

    browser.open(&url(&logout_request("bakery", &second.raw_id_token))).await;
    for dead in [&first, &second] {
        assert_eq!(hub.get_userinfo(&dead.access_token).await.status, 401);
    }
    assert_eq!(hub.redeem("library", code.code()).await.status, 400);
    browser.plant_session(&stolen);
    assert!(!is_signed_in(&browser, "bakery").await);
    assert_eq!(
        hub.get_userinfo(&unharmed.access_token).await.status,
        200,
        "another browser's session goes on"
    );
    assert!(is_signed_in(&stranger, "bakery").await);
}

#[actix_web::test]
async fn tokens_outlive_a_session_that_expires() {
    let hub = TestHub::with("lifetimes = { access_token_seconds = 3600 }").await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    hub.advance(31 * MINUTE);
    assert!(!is_signed_in(&browser, "bakery").await);
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 200);
    // An expired hint is fine, and nothing is left to end.
    let page = browser.open(&url(&logout_request("bakery", &tokens.raw_id_token))).await;
    assert_eq!(page.url, logout_redirect("bakery"));
    assert_eq!(browser.session(), None);
    assert!(hub.metrics.render().contains("passerelle_logouts_total{outcome=\"no_session\"} 1"));
}

// R174, R178, R203, R220, R221
#[actix_web::test]
async fn a_bad_request_is_a_page_and_leaves_the_session_untouched() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    let userinfo = hub.get_userinfo(&tokens.access_token).await.body;
    let hint = tokens.raw_id_token.as_str();
    let asked = logout_request("bakery", hint);
    let forged = {
        let mut parts = hint.rsplitn(2, '.');
        let (signature, signed) = (parts.next().unwrap(), parts.next().unwrap());
        let first = if signature.starts_with('A') { 'B' } else { 'A' };
        format!("{signed}.{first}{}", &signature[1..])
    };
    let uri = post_logout_redirect_uri("bakery");
    for (attack, asked, code) in [
        ("a URI without a hint", pairs(&[("post_logout_redirect_uri", &uri)]), "Y190101"),
        ("a forged hint", with(asked.clone(), "id_token_hint", &forged), "Y190103"),
        (
            "a truncated hint",
            with(asked.clone(), "id_token_hint", &hint[..hint.len() - 9]),
            "Y190103",
        ),
        ("userinfo as a hint", with(asked.clone(), "id_token_hint", &userinfo), "Y190103"),
        (
            "an access token as a hint",
            with(asked.clone(), "id_token_hint", &tokens.access_token),
            "Y190103",
        ),
        (
            "a URI one byte off",
            with(asked.clone(), "post_logout_redirect_uri", &uri.replace("=7", "=8")),
            "Y190203",
        ),
        (
            "another's URI",
            with(asked.clone(), "post_logout_redirect_uri", &post_logout_redirect_uri("library")),
            "Y190203",
        ),
        ("no URI", with(asked.clone(), "post_logout_redirect_uri", ""), "Y190201"),
        ("no state", with(asked.clone(), "state", ""), "Y190301"),
        ("a short state", with(asked.clone(), "state", &STATE[9..]), "Y190303"),
        ("a huge state", with(asked.clone(), "state", &"s".repeat(60_000)), "Y190304"),
        ("another client_id", with(asked.clone(), "client_id", "library"), "Y190403"),
        ("a parameter twice", [asked.clone(), pairs(&[("state", STATE)])].concat(), "Y190302"),
    ] {
        for answer in
            [browser.get(&url(&asked)).await, browser.post(&form(&asked), Some("cross-site")).await]
        {
            assert_eq!((answer.status, answer.header("location")), (400, ""), "{attack}");
            assert!(
                answer.body.contains("Y000400") && answer.body.contains(code),
                "{attack}: {}",
                answer.body
            );
            assert!(
                answer.body.contains(&format!("href=\"{END}\"")),
                "{attack}: no way to sign out"
            );
            assert!(
                !answer.body.contains("bakery.example") && !answer.body.contains("library.example"),
                "{attack}: a link"
            );
        }
        assert!(browser.session().is_some(), "{attack}");
    }
    // Only the session can verify an encrypted hint, and its cookie comes with the GET.
    let encrypted = with(asked.clone(), "id_token_hint", "e30.a.b.c.d");
    let posted = browser.post(&form(&encrypted), Some("cross-site")).await;
    assert_eq!(posted.status, 303);
    let shown = browser.get(posted.header("location")).await;
    assert!(shown.status == 400 && shown.body.contains("Y190104"), "{}", shown.body);
    assert!(is_signed_in(&browser, "bakery").await);
    let json = TestRequest::post()
        .uri(END)
        .insert_header(("content-type", "application/json"))
        .set_payload("{}");
    assert_eq!(browser.send(json).await.status, 400);
}

#[actix_web::test]
async fn a_post_from_another_site_is_saved_and_finds_its_cookies_by_get() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    // No Lax cookie travels with it.
    let answer = hub
        .browser()
        .post(&form(&logout_request("bakery", &tokens.raw_id_token)), Some("cross-site"))
        .await;
    assert_eq!(answer.status, 303);
    let continued = answer.header("location").to_owned();
    assert!(
        continued.starts_with(&format!("{END}?pending="))
            && !continued.contains(&tokens.raw_id_token),
        "{continued}"
    );
    assert_eq!(answer.header("set-cookie"), "", "another site's POST changes no cookie");
    assert_eq!(browser.open(&continued).await.url, logout_redirect("bakery"));
    assert!(!is_signed_in(&browser, "bakery").await);
    // Used up: a user who comes with it is only asked.
    assert!(browser.open(&continued).await.is_logout_confirmation());
    sign_in(&browser, "bakery", "angela").await;
    assert!(browser.open(&continued).await.is_logout_confirmation());
    let late = browser
        .post(&form(&logout_request("bakery", &tokens.raw_id_token)), None)
        .await
        .header("location")
        .to_owned();
    hub.advance(MINUTE * 2);
    assert!(browser.open(&late).await.is_logout_confirmation());
}

#[actix_web::test]
async fn a_flood_of_posts_with_one_hint_prevents_no_logout() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    hub.fill_pending_logouts().await;
    let asked = logout_request("bakery", &tokens.raw_id_token);
    let answer = hub.browser().post(&form(&asked), Some("cross-site")).await;
    // Not kept: it goes on as it would have come by GET.
    assert_eq!((answer.status, answer.header("location")), (303, url(&asked).as_str()));
    assert_eq!(browser.open(answer.header("location")).await.url, logout_redirect("bakery"));
    assert!(!is_signed_in(&browser, "bakery").await);
    // The ways back from identity providers have their own places.
    hub.save_logout_destination("amandier", &"b".repeat(43), &asked).await;
}

// R171, R172
#[actix_web::test]
async fn a_callback_is_accepted_once_and_from_its_identity_provider_only() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    let asked = logout_request("bakery", &tokens.raw_id_token);
    let bits = "b".repeat(43);
    hub.save_logout_destination("amandier", &bits, &asked).await;
    for elsewhere in [
        format!("{END}/belvedere?state={bits}"),
        format!("{END}/amandier?state=x"),
        format!("{END}/amandier"),
    ] {
        assert_logged_out_page(&browser.open(&elsewhere).await);
    }
    let answer = browser.get(&format!("{END}/amandier?state={bits}")).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, format!("{}#", logout_redirect("bakery")).as_str())
    );
    assert_logged_out_page(&browser.open(&format!("{END}/amandier?state={bits}")).await);
    hub.save_logout_destination("amandier", &bits, &asked).await;
    hub.advance(10 * MINUTE);
    assert_logged_out_page(&browser.open(&format!("{END}/amandier?state={bits}")).await);
}

#[actix_web::test]
async fn an_identity_provider_that_returns_without_state_leaves_no_user_stranded() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery", "angela").await;
    let asked = logout_request("bakery", &tokens.raw_id_token);
    let (first, second) = ("b".repeat(43), "c".repeat(43));
    let back = format!("{END}/amandier");
    // Without a running logout of this browser there is at least a link.
    hub.save_logout_destination("amandier", &first, &asked).await;
    let page = browser.open(&back).await;
    assert_logged_out_page(&page);
    assert!(page.links().contains(&"/".to_owned()), "{:?}", page.links());
    // Several running logouts: none is guessed, and the page names their services.
    hub.save_logout_destination("amandier", &second, &asked).await;
    browser.plant("__Host-passerelle-logout", &format!("{first}.{second}"));
    let page = browser.open(&back).await;
    assert_logged_out_page(&page);
    assert!(page.answer.body.contains("The bakery"), "{}", page.answer.body);
    // One: the browser goes on to its service, once.
    for returned in [format!("{back}?state={second}"), back.clone()] {
        let answer = browser.get(&returned).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, format!("{}#", logout_redirect("bakery")).as_str()),
            "{returned}"
        );
    }
    assert_eq!(browser.cookie("__Host-passerelle-logout"), None);
    assert_logged_out_page(&browser.open(&back).await);
}

#[actix_web::test]
async fn two_tabs_sign_out_and_both_come_back() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let bakery = sign_in(&browser, "bakery", "angela").await;
    let library = browser
        .authorize(&Authorize::by("library").with("prompt", "consent"))
        .await
        .consent()
        .await
        .received();
    let library = hub.tokens("library", &library).await;
    for (service, tokens) in [("bakery", &bakery), ("library", &library)] {
        assert_eq!(
            browser.open(&url(&logout_request(service, &tokens.raw_id_token))).await.url,
            logout_redirect(service)
        );
    }
    assert!(!is_signed_in(&browser, "bakery").await);
}

#[actix_web::test]
async fn the_pages_speak_the_language_asked_for() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    sign_in(&browser, "bakery", "angela").await;
    let page = browser.open(&format!("{END}?ui_locales=fr")).await;
    assert_eq!(page.heading(), "Voulez-vous vous déconnecter\u{a0}?");
    let gone = browser.submit(&page.form("/confirm")).await;
    assert_eq!(gone.heading(), "Vous êtes déconnecté");
}

#[actix_web::test]
async fn only_get_and_post_and_no_connector_called_confirm() {
    let hub = TestHub::start().await;
    for (method, address, allow) in [
        (TestRequest::with_uri(END).method(actix_web::http::Method::HEAD), END, "GET, POST"),
        (TestRequest::get().uri(&format!("{END}/confirm")), "confirm", "POST"),
        (TestRequest::post().uri(&format!("{END}/amandier")), "amandier", "GET"),
    ] {
        let answer = hub.send(method).await;
        assert_eq!((answer.status, answer.header("allow")), (405, allow), "{address}");
    }
    let discovery =
        hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await;
    let document: serde_json::Value = serde_json::from_str(&discovery.body).unwrap();
    assert_eq!(document["end_session_endpoint"], format!("https://hub.example{END}"));
}
