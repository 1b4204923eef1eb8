//! What of a login with a wallet is in the store afterwards: no request with its key, and no
//! presentation.

use super::other_device::{ACTION as CODE_ACTION, answer_on_phone, qr_page, shown_code};
use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};
use super::several_hubs::hubs;
use crate::hub::TestHub;
use crate::redis_server::Server;

const SETTINGS: &str = "cross_device = true\ndigital_credentials_api = true";

/// Returns the keys of a kind of records.
fn keys(server: &Server, kind: &str) -> Vec<String> {
    server.keys().into_iter().filter(|key| key.split(':').nth(1) == Some(kind)).collect()
}

fn wallet_requests(server: &Server) -> Vec<String> {
    keys(server, "v")
}

/// Presentations that wait for their browser.
fn presentations(server: &Server) -> Vec<String> {
    keys(server, "i")
}

async fn start(wallet: &Wallet, server: &Server) -> TestHub {
    hubs(2, server, wallet, SETTINGS).await
}

#[actix_web::test]
async fn a_finished_login_leaves_no_request_and_no_presentation() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = start(&wallet, &server).await;
    for way in ["same device", "other device", "same device after another", "declined"] {
        let (browser, phone) = (hub.browser(), hub.browser());
        let page = wallet_page(&browser).await;
        let request = WalletRequest::fetch(&hub, &page).await;
        let state = page.url.split_once("state=").unwrap().1.to_owned();
        assert_eq!(wallet_requests(&server).len(), 1, "{way}");
        let mut code = None;
        if way.contains("other") {
            let page = browser.open(&format!("{CODE_ACTION}?state={state}")).await;
            let redirect = answer_on_phone(&wallet, &hub, &page).await;
            let shown = shown_code(&phone.open(&redirect).await);
            code = Some(page.form(CODE_ACTION).with("code", &shown));
            assert_eq!(wallet_requests(&server).len(), 2, "{way}");
        }
        let page = match (way, code) {
            ("other device", Some(code)) => browser.submit(&code).await,
            ("declined", _) => {
                let answer = wallet.post(&hub, &request, &[("error", "access_denied")]).await;
                let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
                browser.open(body["redirect_uri"].as_str().unwrap()).await
            }
            _ => {
                let presentation = wallet.present(&request, &hub);
                browser.open(&wallet.respond(&hub, &request, &presentation).await).await
            }
        };
        assert_eq!(page.is_consent(), way != "declined", "{way}: {}", page.answer.body);
        assert_eq!(wallet_requests(&server), [""; 0], "{way}");
        assert_eq!(presentations(&server), [""; 0], "{way}");
    }
}

#[actix_web::test]
async fn five_wrong_codes_leave_no_key_and_no_presentation() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = start(&wallet, &server).await;
    let (browser, phone) = (hub.browser(), hub.browser());
    let page = qr_page(&browser).await;
    let before = wallet_requests(&server);
    let redirect = answer_on_phone(&wallet, &hub, &page).await;
    let code = shown_code(&phone.open(&redirect).await).replace(' ', "");
    let wrong = if code == "000000" { "000001" } else { "000000" };
    assert_eq!(presentations(&server).len(), 1);
    for _ in 0..5 {
        browser.submit(&page.form(CODE_ACTION).with("code", wrong)).await;
    }
    assert_eq!(presentations(&server), [""; 0]);
    // The request of this device is still open; of the other one only that no code counts any more.
    assert_eq!(wallet_requests(&server), before);
    let mut sizes: Vec<_> = before.iter().map(|key| server.get(key).len()).collect();
    sizes.sort_unstable();
    assert!(sizes[0] < 120 && sizes[1] > 250, "{sizes:?}");
}

/// A request that was answered has no more use for its key, whether its browser comes back or not.
#[actix_web::test]
async fn the_key_of_a_request_leaves_the_store_with_the_answer() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = start(&wallet, &server).await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let [key] = &wallet_requests(&server)[..] else { panic!("{:?}", server.keys()) };
    let open = server.get(key).len();
    wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    let answered = server.get(key).len();
    assert!(answered < 120 && open > 250, "{open} {answered}");
}
