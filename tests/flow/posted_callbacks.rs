//! Authorization responses of identity providers that the browser posts (OAuth 2.0 Form Post Response
//! Mode): without the cookies of the login, which are `SameSite=Lax`.

use passerelle_protocol::catalogue::ErrorCode;
use url::Url;

use super::browser::{Browser, Page};
use super::failing_identity_provider::FailingIdp;
use super::hub::TestHub;
use super::markup::Form;
use super::service::Authorize;

const CALLBACK: &str = "/api/v2/callback/failing";

async fn hub_with(idp: &FailingIdp, setting: &str) -> TestHub {
    let file = format!("{}{setting}\n", idp.start("").await);
    TestHub::with_files("", &[("connectors/failing.toml", file)]).await
}

/// Goes to the identity provider. Returns the form that it makes the browser post.
async fn leave(browser: &Browser<'_>, more: &[(&str, &str)]) -> Form {
    let away: Page<'_> = browser.authorize(&Authorize::by("bakery")).await.choose("failing").await;
    let url = Url::parse(&away.url).unwrap();
    let query = |wanted: &str| {
        url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    assert_eq!(query("response_mode").as_deref(), Some("form_post"));
    let state = query("state").unwrap();
    let fields = more
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .chain([("state".to_owned(), state)]);
    Form { action: CALLBACK.into(), fields: fields.collect(), buttons: Vec::new() }
}

/// Posts the form as a browser does from another site: without cookies. Returns where it goes on.
async fn post_cross_site(hub: &TestHub, form: &Form) -> String {
    let answer = hub.browser().post(form, Some("cross-site")).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let next = answer.header("location").to_owned();
    assert!(next.starts_with(&format!("{CALLBACK}?pending=")), "{next}");
    next
}

#[actix_web::test]
async fn a_posted_response_continues_its_login_once() {
    let idp = FailingIdp::default();
    let hub = hub_with(&idp, "response_mode = \"form_post\"").await;
    let browser = hub.browser();
    let form = leave(&browser, &[("code", "made-up"), ("session_state", "unread")]).await;
    let next = post_cross_site(&hub, &form).await;
    assert!(!next.contains("made-up"), "the code is in no address");
    // This identity provider answers each code with 500.
    browser.open(&next).await.assert_error(200, ErrorCode::IdpStatus.entry().code);
    assert_eq!(idp.redeemed_codes(), 1);
    browser.open(&next).await;
    assert_eq!(idp.redeemed_codes(), 1, "a ticket is used once");

    let cancelled = hub.browser();
    let form = leave(&cancelled, &[("error", "access_denied")]).await;
    let next = post_cross_site(&hub, &form).await;
    let page = cancelled.open(&next).await.assert_error(200, ErrorCode::IdpDenied.entry().code);
    page.finish_as("angela").await.belongs_to("bakery");
}

#[actix_web::test]
async fn login_csrf_by_a_posted_response_of_an_attacker_reaches_no_login_of_the_victim() {
    let idp = FailingIdp::default();
    let hub = hub_with(&idp, "response_mode = \"form_post\"").await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let own = leave(&victim, &[("code", "of-the-victim")]).await;
    let form = leave(&attacker, &[("code", "of-the-attacker")]).await;
    // The attacker's page posts the attacker's response in the victim's browser.
    let next = post_cross_site(&hub, &form).await;
    victim.open(&next).await.assert_error(400, ErrorCode::StateUnknown.entry().code);
    assert_eq!(idp.redeemed_codes(), 0);
    // The victim's own login still goes on.
    let next = post_cross_site(&hub, &own).await;
    victim.open(&next).await;
    assert_eq!(idp.redeemed_codes(), 1);
}

#[actix_web::test]
async fn only_connectors_that_ask_for_posted_responses_store_them() {
    let idp = FailingIdp::default();
    let hub = hub_with(&idp, "").await;
    let form = |connector: &str| Form {
        action: format!("/api/v2/callback/{connector}"),
        fields: vec![("state".into(), "x".repeat(43)), ("code".into(), "c".into())],
        buttons: Vec::new(),
    };
    for connector in ["failing", "amandier", "unknown"] {
        let answer = hub.browser().post(&form(connector), Some("cross-site")).await;
        assert_eq!(answer.status, 404, "{connector}");
    }
}

#[actix_web::test]
async fn a_flood_of_posted_responses_prevents_no_login() {
    let idp = FailingIdp::default();
    let hub = hub_with(&idp, "response_mode = \"form_post\"").await;
    let browser = hub.browser();
    let form = leave(&browser, &[("code", "made-up")]).await;
    hub.fill_pending_logouts().await;
    let answer = hub.browser().post(&form, Some("cross-site")).await;
    assert_eq!(answer.status, 303);
    browser.open(answer.header("location")).await;
    assert_eq!(idp.redeemed_codes(), 1);
    let mut huge = form;
    huge.fields.push(("response".into(), "x".repeat(20_000)));
    assert_eq!(hub.browser().post(&huge, Some("cross-site")).await.status, 413);
}
