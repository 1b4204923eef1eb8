//! Attacks on a login from outside, each test named after one (RFC 9700).

mod cookies;
mod forms;

use actix_web::test::TestRequest;

use super::browser::{Browser, Page};
use super::federation::{HOST, home_page, redirect_uri};
use super::hub::TestHub;
use super::markup::Form;
use super::service::Authorize;

/// The callback address to which the sandbox sends this person, not yet opened.
pub(crate) async fn callback_url_for<'h>(
    browser: &'h Browser<'h>,
    connector: &str,
    person: &str,
) -> String {
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose(connector).await;
    answered_by(browser, &sandbox, person).await
}

async fn answered_by(browser: &Browser<'_>, sandbox: &Page<'_>, person: &str) -> String {
    let answer = browser.post(&sandbox.sandbox_form(person), Some("same-origin")).await;
    assert_eq!(answer.status, 303);
    answer.header("location").to_owned()
}

pub(super) fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').unwrap().1.as_bytes();
    url::form_urlencoded::parse(query).find(|(known, _)| known == name).unwrap().1.into_owned()
}

fn interaction_hash(url: &str) -> &str {
    &url["/api/v2/interaction/".len()..][..43]
}

#[actix_web::test]
async fn login_csrf_does_not_sign_the_victim_in_as_the_attacker() {
    let hub = TestHub::start().await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let callback = callback_url_for(&attacker, "amandier", "jean").await;
    let page = victim.open(&callback).await.assert_error(403, "Y420002");
    assert!(page.has_no_links());
    assert!(victim.session().is_none() && victim.logins().is_empty());
    // The same with a login of the victim's own open.
    let own = victim.authorize(&Authorize::by("bakery")).await;
    let page = victim.open(&callback).await.assert_error(400, "Y420003");
    assert_eq!(page.links(), [own.url.as_str()], "the way back to the victim's own login");
    let received = own.finish_as("angela").await;
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    // The attempt is still the attacker's own, and untouched.
    assert!(attacker.open(&callback).await.is_consent());
}

#[actix_web::test]
async fn a_forged_callback_does_not_disturb_the_real_one() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let real = answered_by(&browser, &sandbox, "angela").await;
    let state = parameter(&real, "state");
    for forged in [
        real.replace(&state, &"A".repeat(43)),
        real.replace(&state, &"A".repeat(86)),
        real.replace(&state, &state[..42]),
        real.replace("/callback/amandier", "/callback/belvedere"), // mix-up
        real.replace("/callback/amandier", "/callback/unknown"),
    ] {
        let page = browser.open(&forged).await.assert_error(400, "Y420003");
        assert!(page.links()[0].starts_with("/api/v2/interaction/"));
    }
    browser.open(&real.replace(&state, "")).await.assert_error(400, "Y020330");
    assert!(browser.open(&real).await.is_consent());
}

#[actix_web::test]
async fn a_callback_that_names_another_issuer_is_refused() {
    let hub = TestHub::start().await;
    for without in [false, true] {
        let browser = hub.browser();
        let real = callback_url_for(&browser, "amandier", "angela").await;
        let iss = real.rfind("&iss=").unwrap();
        let (forged, code) = match without {
            true => (real[..iss].to_owned(), "Y020023"),
            false => (
                real.replace("amandier", "belvedere")
                    .replace("/callback/belvedere", "/callback/amandier"),
                "Y020024",
            ),
        };
        assert!(browser.open(&forged).await.assert_error(200, code).is_choice());
        // A failed check closes the attempt: the right answer comes too late.
        assert!(!browser.open(&real).await.is_consent());
    }
}

#[actix_web::test]
async fn an_injected_code_of_the_attackers_is_refused() {
    let hub = TestHub::start().await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let stolen = parameter(&callback_url_for(&attacker, "amandier", "jean").await, "code");
    let mine = callback_url_for(&victim, "amandier", "angela").await;
    let injected = mine.replace(&parameter(&mine, "code"), &stolen);
    assert!(victim.open(&injected).await.assert_error(200, "Y020030").is_choice());
    assert!(victim.session().is_none());
}

#[actix_web::test]
async fn a_replayed_callback_completes_no_second_login() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let callback = callback_url_for(&browser, "amandier", "angela").await;
    let received = browser.open(&callback).await.consent().await.received();
    let thief = hub.browser();
    thief.open(&callback).await.assert_error(403, "Y420002");
    thief.plant_session(&"B".repeat(43));
    thief.open(&callback).await.assert_error(403, "Y420002");
    hub.tokens("bakery", &received).await;
    // In the browser's own history it is dead as well.
    browser.open(&callback).await.assert_error(409, "Y420005");
}

#[actix_web::test]
async fn another_browsers_login_can_not_be_stepped_in() {
    let hub = TestHub::start().await;
    let (owner, other) = (hub.browser(), hub.browser());
    let mine = owner.authorize(&Authorize::by("bakery")).await;
    let theirs = other.authorize(&Authorize::by("bakery")).await;
    let (mine_hash, their_hash) = (interaction_hash(&mine.url), interaction_hash(&theirs.url));
    other.open(&mine.url).await.assert_error(403, "Y420002");
    other.open(&format!("{}/consent", mine.url)).await.assert_error(403, "Y420002");
    let is_of_login = |form: &Form| form.action.contains(their_hash);
    for form in theirs.forms().into_iter().filter(is_of_login) {
        let mut form = form.with("provider", "amandier");
        form.action = form.action.replace(their_hash, mine_hash);
        other.submit(&form).await.assert_error(403, "Y420002");
    }
    // Nor by a cookie of that name with a value of one's own: the address is its hash.
    let name = owner.logins()[0].0.clone();
    other.plant(&name, &other.logins()[0].1);
    other.open(&mine.url).await.assert_error(403, "Y420002");
    mine.finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn no_endpoint_is_an_open_redirect() {
    let hub = TestHub::start().await;
    let good = redirect_uri("bakery");
    let mut wrong: Vec<String> =
        (0..good.len()).map(|n| format!("{}{}", &good[..n], &good[n + 1..])).collect();
    wrong.extend([
        format!("{good}/"),
        format!("{good}#"),
        format!("{good}&"),
        format!("{good}%00"),
        format!(" {good}"),
        good.replace("https", "HTTPS"),
        good.replace("bakery", "Bakery"),
        good.replace("https://", "https://evil.example@"),
        good.replace("bakery.example", "bakery.example.evil.example"),
        good.replace("bakery.example", "bakery.example:443"),
        good.replace("/callback", "/./callback"),
        good.replace("/callback", "/x/../callback"),
        good.replace("/callback", "/x/..;/callback"),
        good.replace("https://", "https://a@b@evil.example@"),
        good.replace("/callback", "/%63allback"),
        good.replace("https://", "http://"),
        good.replace("https://", "//"),
        redirect_uri("library"),
        "https://evil.example/".into(),
        "//evil.example/".into(),
        "/\\evil.example".into(),
        "javascript:alert(1)".into(),
        "data:text/html,x".into(),
    ]);
    let browser = hub.browser();
    for uri in wrong {
        let page = browser.authorize(&Authorize::by("bakery").with("redirect_uri", &uri)).await;
        let page = page.assert_error(400, "Y000400");
        let code = if uri.is_empty() { "Y030201" } else { "Y030203" };
        assert_eq!(page.references()[1], code, "{uri}");
        assert_eq!(page.answer.header("location"), "", "{uri}");
        assert!(page.has_no_links(), "{uri}: {:?}", page.links());
        assert!(
            !page.answer.body.contains("evil.example")
                && !page.answer.body.contains("bakery.example"),
            "{uri}"
        );
        assert!(browser.logins().is_empty(), "{uri}");
    }
}

#[actix_web::test]
async fn a_code_used_twice_revokes_its_tokens() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 200);
    assert_eq!(hub.redeem("bakery", received.code()).await.status, 400);
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 401);
}

#[actix_web::test]
async fn a_stolen_code_is_used_up_by_the_attempt_of_another_client() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let answer = hub.redeem_at("library", &redirect_uri("bakery"), received.code()).await;
    assert_eq!(
        (answer.status, answer.body.contains("\"invalid_grant\"")),
        (400, true),
        "{}",
        answer.body
    );
    assert_eq!(hub.redeem("bakery", received.code()).await.status, 400);
}

#[actix_web::test]
async fn the_state_says_nothing_about_the_interaction() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let hash = interaction_hash(&choice.url).to_owned();
    let sandbox = choice.choose("amandier").await;
    let state = parameter(&sandbox.url, "state");
    assert_eq!(state.len(), 43, "256 bits");
    for start in 0..=hash.len() - 8 {
        assert!(!sandbox.url.contains(&hash[start..start + 8]), "a part of the address at {start}");
    }
    // An attacker who has the state, and takes it for an address, learns nothing.
    let stranger = hub.browser();
    stranger.open(&format!("/api/v2/interaction/{state}")).await.assert_error(404, "Y420001");
}

#[actix_web::test]
async fn a_browser_without_the_cookie_gets_a_page_that_names_no_service() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery").with("ui_locales", "fr")).await;
    let address = choice.url.clone();
    let callback = callback_url_for(&browser, "amandier", "jean").await;
    for opened in [address, callback.clone(), callback.replace("state=", "state=x")] {
        let stranger = hub.browser();
        let page = stranger.open(&opened).await.assert_error(403, "Y420002");
        assert!(page.has_no_links(), "{opened}");
        assert!(
            page.answer.body.contains("lang=\"en\""),
            "the wish of the service for a language shows nowhere"
        );
        let (name, home) = ("akery", home_page("bakery"));
        assert!(
            !page.answer.body.contains(name) && !page.answer.body.contains(&home),
            "{opened}: {}",
            page.answer.body
        );
    }
}

#[actix_web::test]
async fn an_unusable_answer_says_whose_fault_it_is_and_leads_back_to_the_live_login() {
    let hub = TestHub::start().await;
    for several in [false, true] {
        let browser = hub.browser();
        if several {
            let over = browser.authorize(&Authorize::by("clinic")).await;
            over.cancel().await.received();
            browser.authorize(&Authorize::by("library")).await;
            hub.advance(std::time::Duration::from_secs(1));
        }
        let choice = browser.authorize(&Authorize::by("bakery")).await;
        let address = choice.url.clone();
        choice.choose("amandier").await;
        let callback = "/api/v2/callback/amandier";
        for (query, code) in [
            ("code=c", "Y020330"),
            ("code=c&state=", "Y020330"),
            ("code=c&state=a&state=b", "Y020330"),
            ("code=c&state=unknown", "Y420003"),
            // An encrypted response, which this connector does not register.
            ("response=e30.a.b.c.d", "Y020330"),
        ] {
            let page = browser.open(&format!("{callback}?{query}")).await.assert_error(400, code);
            if !several {
                assert_eq!(page.links(), [address.as_str()], "{query}");
            }
            assert!(page.links()[0].starts_with("/api/v2/interaction/"), "{query}");
            let body = &page.answer.body;
            // A complete response with another `state` is most often one of an older attempt.
            let said = match code {
                "Y420003" => "You went on in another tab.",
                _ => "This is not the service’s fault",
            };
            assert!(body.contains(said), "{query}: {body}");
            assert!(browser.open(&page.links()[0]).await.is_choice(), "{query}: the login goes on");
        }
    }
    // Without a login under way the page is as true, and leads nowhere.
    let stranger = hub.browser();
    let page = stranger.open("/api/v2/callback/amandier?code=c").await.assert_error(400, "Y020330");
    assert!(page.has_no_links());
    assert!(page.answer.body.contains("no sign-in is under way"));
}

#[actix_web::test]
async fn a_service_provider_that_required_another_user_gets_an_error() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let hint = hub.tokens("bakery", &received).await.raw_id_token;
    let request = Authorize::by("bakery").with("id_token_hint", &hint);
    let received = hub
        .browser()
        .authorize(&request)
        .await
        .choose("amandier")
        .await
        .sign_in_as("jean")
        .await
        .received();
    assert_eq!(received.error_at("bakery"), "login_required");
    let said = received.fields["error_description"].as_str();
    assert_eq!(said, "The authenticated user is not the one that id_token_hint or claims ask for.");
}
