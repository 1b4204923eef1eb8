//! Logins with a wallet at several hubs with one Redis server: each request reaches another hub.

use passerelle_testkit::harness::federation;

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, wallet_page};
use crate::hub::TestHub;
use crate::redis_server::Server;
use crate::shared_store;

pub(super) async fn hubs(count: u64, server: &Server, wallet: &Wallet, more: &str) -> TestHub {
    let files = wallet.files(more, MDOC_CREDENTIAL);
    let put = |folder: &std::path::Path| {
        files.iter().for_each(|(name, text)| federation::put(folder, name, text.as_bytes()));
    };
    let (hub, _) = TestHub::several_edited(count, &shared_store::redis_settings(server), put).await;
    hub
}

/// With two hubs the requests alternate: the page is one hub's, the request object the other's, the
/// response the first one's, the callback the other's. With three, all are different hubs'.
#[actix_web::test]
async fn a_response_that_another_hub_receives_continues_the_login() {
    let wallet = Wallet::new();
    for count in [2, 3] {
        let server = Server::start(&[]);
        let hub = hubs(count, &server, &wallet, "").await;
        for credential in ["pid", "pid-mdoc"] {
            let browser = hub.browser();
            let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
            let presentation = match credential {
                "pid" => wallet.present(&request, &hub),
                _ => wallet.mdoc(&request, &hub).present(),
            };
            let redirect = wallet.respond_with(&hub, &request, credential, &presentation).await;
            let received = browser.open(&redirect).await.consent().await.received();
            assert_eq!(
                hub.family_name("bakery", &received).await,
                "DUBOIS",
                "{count} {credential}"
            );
        }
    }
}

#[actix_web::test]
async fn a_response_that_is_replayed_at_every_hub_is_accepted_once() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = hubs(3, &server, &wallet, "").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let response = wallet.encrypted(&request, &hub);
    let params = [("response", response.as_str())];
    let post = || wallet.post(&hub, &request, &params);
    let (one, two, three) = futures_util::join!(post(), post(), post());
    let mut statuses = [one.status, two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400]);
    for _ in 0..3 {
        assert_eq!(wallet.post(&hub, &request, &params).await.status, 400);
    }
}

/// Private keys and identities are in the store as long as the wallet needs them, and encrypted.
#[actix_web::test]
async fn a_stolen_store_shows_neither_the_key_nor_the_presentation() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = hubs(2, &server, &wallet, "").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    let nonce = request.claims["nonce"].as_str().unwrap();
    for key in server.keys() {
        let value = [server.cli(&["DUMP", &key]), key.clone().into_bytes()].concat();
        for secret in [nonce, "eyJ", "Dubois", "\"crv\"", "vp_token"] {
            let is_there = value.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} in {key}");
        }
    }
    browser.open(&redirect).await.consent().await.received();
}
