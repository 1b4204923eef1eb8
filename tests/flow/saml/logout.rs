//! Single Logout in both directions, and the hub's metadata. A logout finishes whatever the identity
//! provider answers.

use std::time::Duration;

use passerelle_testkit::fake_identity_provider::{
    FakeIdentityProvider, ReceivedRequest, SINGLE_LOGOUT, hub_key,
};
use url::form_urlencoded::Serializer;

use super::University;
use crate::browser::Browser;
use crate::federation::post_logout_redirect_uri;
use crate::service::{Authorize, Tokens};

const LOGOUT: &str = "/connectors/university/saml/logout";
pub(super) const LOGOUT_URL: &str = "https://hub.example/connectors/university/saml/logout";
const STATE: &str = "a-state-for-the-logout-of-40-characters-";

/// Signs Angela in, and returns the request of that login with the tokens.
async fn sign_in(
    university: &University,
    browser: &Browser<'_>,
    service: &str,
) -> (ReceivedRequest, Tokens) {
    let request = university.leave(browser, &Authorize::by(service)).await;
    let page = university.finish(browser, &university.respond(&request, &[])).await;
    let received = page.consent().await.received();
    (request, university.hub.tokens(service, &received).await)
}

/// Signs out at the bakery, and returns where the browser goes.
pub(super) async fn sign_out(browser: &Browser<'_>, tokens: &Tokens) -> String {
    let request = Serializer::new(String::new())
        .append_pair("id_token_hint", &tokens.raw_id_token)
        .append_pair("post_logout_redirect_uri", &post_logout_redirect_uri("bakery"))
        .append_pair("state", STATE)
        .finish();
    browser.open(&format!("/api/v2/session/end?{request}")).await.url
}

fn signed_out() -> String {
    format!("{}&state={STATE}", post_logout_redirect_uri("bakery"))
}

async fn is_signed_in(university: &University, tokens: &Tokens) -> bool {
    university.hub.get_userinfo(&tokens.access_token).await.status == 200
}

#[actix_web::test]
async fn a_logout_visits_the_identity_provider_and_returns_to_the_service() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let (_, tokens) = sign_in(&university, &browser, "bakery").await;
    let url = sign_out(&browser, &tokens).await;
    assert!(url.starts_with(&format!("{SINGLE_LOGOUT}?SAMLRequest=")), "{url}");
    assert!(!is_signed_in(&university, &tokens).await, "the hub does not wait");
    let (key, now) = (hub_key(&university.certificate), university.hub.now());
    let answer = university.idp.answer_logout(&url, &key, LOGOUT_URL, now, true);
    let page = browser.open(&format!("{LOGOUT}?{answer}")).await;
    assert!(page.url.starts_with(&signed_out()), "{}", page.url);
    // The state leads on once.
    let again = browser.open(&format!("{LOGOUT}?{answer}")).await;
    assert!(!again.url.starts_with(&signed_out()), "{}", again.url);
}

#[actix_web::test]
async fn a_logout_finishes_whatever_the_identity_provider_answers() {
    let university = University::start().await;
    let stranger = FakeIdentityProvider::new();
    let (key, now) = (hub_key(&university.certificate), university.hub.now());
    for answer in ["failed", "forged", "unsigned", "junk", "no state"] {
        let browser = university.hub.browser();
        let (_, tokens) = sign_in(&university, &browser, "bakery").await;
        let url = sign_out(&browser, &tokens).await;
        let good = university.idp.answer_logout(&url, &key, LOGOUT_URL, now, true);
        let (unsigned, _) = good.split_once("&SigAlg=").unwrap();
        let (message, state) = unsigned.split_once("&RelayState=").unwrap();
        let query = match answer {
            "failed" => university.idp.answer_logout(&url, &key, LOGOUT_URL, now, false),
            "forged" => stranger.answer_logout(&url, &key, LOGOUT_URL, now, true),
            "unsigned" => unsigned.to_owned(),
            "junk" => format!("SAMLResponse=%2A&RelayState={state}"),
            _ => message.to_owned(),
        };
        let page = browser.open(&format!("{LOGOUT}?{query}")).await;
        assert!(page.url.starts_with(&signed_out()), "{answer}: {}", page.url);
    }
}

#[actix_web::test]
async fn a_logout_at_the_identity_provider_ends_the_session_that_it_names() {
    let university = University::start().await;
    let (first, second) = (university.hub.browser(), university.hub.browser());
    let (login, at_first) = sign_in(&university, &first, "bakery").await;
    let (_, at_second) = sign_in(&university, &second, "bakery").await;
    university.hub.advance(Duration::from_secs(5));
    let request = |login| university.idp.request_logout(login, LOGOUT_URL, university.hub.now());
    // In a frame the browser sends no cookies.
    let without_cookies = university.hub.browser();
    let page = without_cookies.open(&format!("{LOGOUT}?{}", request(Some(&login)))).await;
    assert!(page.url.starts_with(&format!("{SINGLE_LOGOUT}?SAMLResponse=")), "{}", page.url);
    assert!(page.url.contains("RelayState=the+provider%27s+state"), "{}", page.url);
    assert!(!is_signed_in(&university, &at_first).await);
    assert!(is_signed_in(&university, &at_second).await, "another session of the person");
    university.hub.advance(Duration::from_secs(5));
    without_cookies.open(&format!("{LOGOUT}?{}", all_sessions(&university))).await;
    assert!(!is_signed_in(&university, &at_second).await);
}

/// Returns the query of a request without a `SessionIndex`, with an ID of its own.
fn all_sessions(university: &University) -> String {
    university.idp.request_logout(None, LOGOUT_URL, university.hub.now())
}

#[actix_web::test]
async fn a_replayed_logout_request_ends_no_later_session() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let (_, before) = sign_in(&university, &browser, "bakery").await;
    university.hub.advance(Duration::from_secs(5));
    let request = format!("{LOGOUT}?{}", all_sessions(&university));
    browser.open(&request).await;
    assert!(!is_signed_in(&university, &before).await);
    university.hub.advance(Duration::from_secs(5));
    let (_, later) = sign_in(&university, &browser, "bakery").await;
    let page = browser.open(&request).await;
    assert!(page.url.starts_with(&format!("{SINGLE_LOGOUT}?SAMLResponse=")), "{}", page.url);
    assert!(is_signed_in(&university, &later).await);
    university.hub.advance(Duration::from_secs(7 * 60));
    let other = university.hub.browser();
    let (_, latest) = sign_in(&university, &other, "bakery").await;
    browser.open(&request).await.assert_error(400, "Y020610");
    assert!(is_signed_in(&university, &latest).await, "too old to need a record");
}

#[actix_web::test]
async fn a_forged_logout_request_ends_no_session() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let (login, tokens) = sign_in(&university, &browser, "bakery").await;
    let now = university.hub.now();
    let stranger = FakeIdentityProvider::new().request_logout(Some(&login), LOGOUT_URL, now);
    let elsewhere = "https://other.example/connectors/university/saml/logout";
    let elsewhere = university.idp.request_logout(Some(&login), elsewhere, now);
    let good = university.idp.request_logout(Some(&login), LOGOUT_URL, now);
    let (unsigned, _) = good.split_once("&SigAlg=").unwrap();
    for query in [&stranger, &elsewhere, unsigned, "", "SAMLRequest=%2A"] {
        browser.open(&format!("{LOGOUT}?{query}")).await.assert_error(400, "Y020610");
    }
    assert_eq!(
        browser.open(&format!("/connectors/amandier/saml/logout?{good}")).await.answer.status,
        404
    );
    assert!(is_signed_in(&university, &tokens).await);
}

#[actix_web::test]
async fn without_single_logout_no_logout_is_exchanged() {
    let university = University::with("single_logout = false").await;
    let browser = university.hub.browser();
    let (login, tokens) = sign_in(&university, &browser, "bakery").await;
    let request = university.idp.request_logout(Some(&login), LOGOUT_URL, university.hub.now());
    browser.open(&format!("{LOGOUT}?{request}")).await.assert_error(400, "Y020610");
    assert!(is_signed_in(&university, &tokens).await);
    let url = sign_out(&browser, &tokens).await;
    assert!(url.starts_with(&signed_out()), "{url}");
}

#[actix_web::test]
async fn the_hub_publishes_its_metadata_for_each_identity_provider() {
    for (more, is_signed) in [("", false), ("sign_metadata = true", true)] {
        let university = University::with(more).await;
        let answer = university.hub.browser().get("/connectors/university/saml/metadata").await;
        assert_eq!(answer.header("content-type"), "application/samlmetadata+xml");
        assert_eq!(answer.header("cache-control"), "public, max-age=600");
        let certificate = university.certificate.to_der().unwrap();
        let certificate = openssl::base64::encode_block(&certificate);
        let named = 2 + usize::from(is_signed);
        assert_eq!(answer.body.matches(&certificate).count(), named, "to sign, to encrypt, signed");
        for part in
            [LOGOUT_URL, "entityID=\"https://hub.example/connectors/university/saml/metadata\""]
        {
            assert!(answer.body.contains(part), "{part}: {}", answer.body);
        }
        assert_eq!(answer.body.contains("<ds:SignatureValue>"), is_signed);
        assert_eq!(answer.body.contains("validUntil"), is_signed);
        let again = university.hub.browser().get("/connectors/university/saml/metadata").await;
        assert_eq!(again.body, answer.body, "made once in ten minutes");
        assert_eq!(
            university.hub.browser().get("/connectors/amandier/saml/metadata").await.status,
            404
        );
    }
}
