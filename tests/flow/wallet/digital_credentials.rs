//! The Digital Credentials API in the browser that began (OpenID4VP 1.0 appendix A): the script of
//! the page posts what the API returned.

use serde_json::json;

use super::scripted::{Wallet, WalletRequest, wallet_page};
use crate::browser::{Browser, Page};
use crate::hub::TestHub;

const ACTION: &str = "/connectors/wallet/wallet/digital-credential";
const ORIGIN: &str = "https://hub.example";
const ON: &str = "digital_credentials_api = true";

/// Returns the encrypted response with a presentation whose audience is `audience`.
fn response_for(wallet: &Wallet, request: &WalletRequest, hub: &TestHub, audience: &str) -> String {
    let mut pid = wallet.pid(request, hub);
    pid.key_binding_payload["aud"] = json!(audience);
    request.encrypt(&json!({ "vp_token": { "pid": [pid.present()] } }))
}

fn good_response(wallet: &Wallet, request: &WalletRequest, hub: &TestHub) -> String {
    response_for(wallet, request, hub, &format!("origin:{ORIGIN}"))
}

/// Posts a response as the script of the page does.
async fn post_response<'h>(browser: &'h Browser<'h>, page: &Page<'_>, response: &str) -> Page<'h> {
    browser.submit(&page.form(ACTION).with("response", response)).await
}

#[actix_web::test]
async fn a_credential_of_the_api_signs_its_user_in() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let request = WalletRequest::from_page(&page);
    assert_eq!(request.header["typ"], "oauth-authz-req+jwt");
    assert_eq!(request.claims["response_mode"], "dc_api.jwt");
    assert_eq!(request.claims["expected_origins"], json!([ORIGIN]));
    assert!(request.claims["client_id"].as_str().unwrap().starts_with("x509_hash:"));
    assert!(request.claims.get("response_uri").is_none() && request.claims.get("state").is_none());
    let response = good_response(&wallet, &request, &hub);
    let received = post_response(&browser, &page, &response).await.consent().await.received();
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn the_api_is_off_by_default() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    assert!(!page.answer.body.contains("digital"), "{}", page.answer.body);
    // A form that is made up does not turn it on. The hubs of tests have the same entropy, so that
    // the other hub's form token is right here.
    let with_api = wallet.hub(ON).await;
    let other = with_api.browser();
    let form = wallet_page(&other).await.form(ACTION);
    let state = page.url.split_once("state=").unwrap().1;
    let forged = form.with("state", state).with("response", "a.b.c.d.e");
    browser.submit(&forged).await.assert_error(404, "Y000404");
}

#[actix_web::test]
async fn a_presentation_made_for_another_origin_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    // The last two are what a wallet signs that ignores who asks, or that got the request by a link.
    for audience in ["origin:https://evil.example", ORIGIN, "client_id"] {
        let browser = hub.browser();
        let page = wallet_page(&browser).await;
        let request = WalletRequest::from_page(&page);
        let client_id = request.claims["client_id"].as_str().unwrap();
        let audience = if audience == "client_id" { client_id } else { audience };
        let response = response_for(&wallet, &request, &hub, audience);
        let page = post_response(&browser, &page, &response).await;
        assert!(page.is_choice() && page.answer.body.contains("Y020510"), "{audience}");
    }
}

#[actix_web::test]
async fn a_presentation_for_the_api_is_refused_at_the_address_for_responses() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let (linked, request) =
        (WalletRequest::fetch(&hub, &page).await, WalletRequest::from_page(&page));
    assert_eq!(linked.claims["response_mode"], "direct_post.jwt");
    assert!(linked.claims.get("expected_origins").is_none());
    let response = good_response(&wallet, &request, &hub);
    let answer = wallet.post(&hub, &linked, &[("response", &response)]).await;
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let page = browser.open(answer["redirect_uri"].as_str().unwrap()).await;
    assert!(page.is_choice() && page.answer.body.contains("Y020510"), "{}", page.answer.body);
}

#[actix_web::test]
async fn a_replayed_credential_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let response = good_response(&wallet, &WalletRequest::from_page(&page), &hub);
    let form = page.form(ACTION).with("response", &response);
    let (first, second) = futures_util::join!(
        browser.post(&form, Some("same-origin")),
        browser.post(&form, Some("same-origin"))
    );
    let callbacks = [&first, &second].map(|answer| {
        answer.status == 303 && answer.header("location").contains("/callback/wallet?code=")
    });
    assert_eq!(callbacks.iter().filter(|callback| **callback).count(), 1, "{callbacks:?}");
    // Nor at another login of the same browser.
    let page = wallet_page(&browser).await;
    let page = post_response(&browser, &page, &response).await;
    page.assert_error(400, "Y020502");
}

#[actix_web::test]
async fn session_fixation_a_credential_is_of_no_use_in_another_browser() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let page = wallet_page(&attacker).await;
    let response = good_response(&wallet, &WalletRequest::from_page(&page), &hub);
    let form = page.form(ACTION).with("response", &response);
    victim.submit(&form).await.assert_error(403, "Y420002");
    // The victim has a login of its own: its state is another.
    wallet_page(&victim).await;
    assert!(!victim.submit(&form).await.is_consent());
    assert!(victim.session().is_none());
}

#[actix_web::test]
async fn a_credential_posted_by_another_site_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let response = good_response(&wallet, &WalletRequest::from_page(&page), &hub);
    let form = page.form(ACTION).with("response", &response);
    assert_eq!(browser.post(&form, Some("cross-site")).await.status, 403);
    let forged = form.clone().with("csrf", "forged");
    assert_eq!(browser.post(&forged, Some("same-origin")).await.status, 403);
    // None of them used the request up.
    browser.submit(&form).await.consent().await.received();
}

#[actix_web::test]
async fn a_user_who_declines_in_the_api_comes_back_to_the_choice() {
    let wallet = Wallet::new();
    let hub = wallet.hub(ON).await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let page = browser.submit(&page.form(ACTION).with("error", "access_denied")).await;
    assert!(page.is_choice() && page.answer.body.contains("Y020020"), "{}", page.answer.body);
}
