//! A wallet on another device: the code of that device joins the two.

use std::time::Duration;

use serde_json::Value;

use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};
use crate::browser::{Browser, Page};
use crate::hub::TestHub;

pub(super) const ACTION: &str = "/connectors/wallet/wallet/other-device";

pub(super) async fn qr_page<'h>(browser: &'h Browser<'h>) -> Page<'h> {
    let page = wallet_page(browser).await;
    let link = page.links().into_iter().find(|link| link.starts_with(ACTION)).unwrap();
    browser.open(&link).await
}

/// Returns the path of the request that the QR code of a page names.
fn scanned(page: &Page<'_>) -> String {
    assert!(page.answer.body.contains("<svg class=\"qr\""), "{}", page.answer.body);
    let state = page.form(ACTION).field("state").to_owned();
    let id = passerelle_protocol::digest::sha256_base64url(&format!(
        "wallet request\nwallet\nother\n{state}"
    ));
    format!("/api/v2/wallet/wallet/{id}")
}

/// Answers on the phone. Returns the address of the page that the phone shows.
pub(super) async fn answer_on_phone(wallet: &Wallet, hub: &TestHub, page: &Page<'_>) -> String {
    let request = WalletRequest::fetch_at(hub, &scanned(page)).await;
    wallet.respond(hub, &request, &wallet.present(&request, hub)).await
}

pub(super) fn shown_code(page: &Page<'_>) -> String {
    let (_, code) = page.answer.body.split_once("<bdi dir=\"ltr\">").unwrap();
    code.split('<').next().unwrap().to_owned()
}

#[actix_web::test]
async fn the_code_of_the_phone_lets_the_first_browser_continue() {
    let wallet = Wallet::new();
    let hub = wallet.hub("cross_device = true").await;
    let (desktop, phone) = (hub.browser(), hub.browser());
    let page = qr_page(&desktop).await;
    let form = page.form(ACTION);
    let early = desktop.submit(&form.with("code", "000000")).await;
    assert!(early.answer.body.contains("not answered yet"), "{}", early.answer.body);
    let redirect = answer_on_phone(&wallet, &hub, &page).await;
    let on_phone = phone.open(&redirect).await;
    assert!(on_phone.answer.body.contains("bakery"), "it names the service");
    let form = early.form(ACTION);
    let received =
        desktop.submit(&form.with("code", &shown_code(&on_phone))).await.consent().await.received();
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
    assert!(phone.session().is_none());
    // Nothing can be used twice.
    assert!(phone.open(&redirect).await.answer.status >= 400);
}

/// The key binding is as old as the answer, however long its user takes to type the code.
#[actix_web::test]
async fn the_code_can_be_typed_until_the_request_expires() {
    let wallet = Wallet::new();
    let hub = wallet.hub("cross_device = true\nrequest_minutes = 10").await;
    let (desktop, phone) = (hub.browser(), hub.browser());
    let page = qr_page(&desktop).await;
    let redirect = answer_on_phone(&wallet, &hub, &page).await;
    let code = shown_code(&phone.open(&redirect).await);
    hub.advance(Duration::from_secs(9 * 60));
    desktop.submit(&page.form(ACTION).with("code", &code)).await.consent().await.received();
}

#[actix_web::test]
async fn a_relayed_qr_code_is_useless_without_the_victims_code() {
    let wallet = Wallet::new();
    let hub = wallet.hub("cross_device = true").await;
    let attacker = hub.browser();
    let page = qr_page(&attacker).await;
    let redirect = answer_on_phone(&wallet, &hub, &page).await;
    // The page with the code needs the secret that only the victim's wallet got.
    let guessed = redirect.split("secret=").next().unwrap().to_owned() + "secret=guess";
    assert_eq!(attacker.get(&guessed).await.status, 400);
    let code = shown_code(&hub.browser().open(&redirect).await).replace(' ', "");
    assert!(code.len() == 6 && code.chars().all(|digit| digit.is_ascii_digit()), "{code}");
    let wrong = if code == "000000" { "000001" } else { "000000" };
    let form = page.form(ACTION);
    let mut page = page;
    for tried in 1..=5 {
        page = attacker.submit(&form.clone().with("code", wrong)).await;
        assert_eq!(page.answer.body.contains("too many wrong codes"), tried == 5, "{tried}");
    }
    assert!(page.forms().iter().all(|form| form.action != ACTION), "no more tries");
    let late = attacker.submit(&form.clone().with("code", &code)).await;
    assert!(late.answer.body.contains("too many wrong codes"), "the true code comes too late");
    assert!(attacker.session().is_none());
}

#[actix_web::test]
async fn a_response_of_another_device_does_not_continue_in_its_own_browser() {
    let wallet = Wallet::new();
    let hub = wallet.hub("cross_device = true").await;
    let desktop = hub.browser();
    let page = qr_page(&desktop).await;
    let request = WalletRequest::fetch_at(&hub, &scanned(&page)).await;
    let response = wallet.encrypted(&request, &hub);
    let answer = wallet.post(&hub, &request, &[("response", &response)]).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let redirect = body["redirect_uri"].as_str().unwrap();
    assert!(redirect.contains("/wallet/code?") && !redirect.contains("state="), "{redirect}");
}

#[actix_web::test]
async fn without_cross_device_there_is_no_qr_code() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let state = page.url.split_once("state=").unwrap().1;
    browser.open(&format!("{ACTION}?state={state}")).await.assert_error(404, "Y000404");
}
