//! Attacks on a login with a wallet in the same device, each test named after one.

use serde_json::{Value, json};

use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};
use super::several_hubs::hubs;
use crate::redis_server::Server;

#[actix_web::test]
async fn session_fixation_a_link_sent_to_a_victim_signs_the_attacker_in_nowhere() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let (attacker, victim) = (hub.browser(), hub.browser());
    let page = wallet_page(&attacker).await;
    // The victim opens the attacker's link, and agrees.
    let request = WalletRequest::fetch(&hub, &page).await;
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    // The wallet sends the victim's browser back, which did not begin.
    victim.open(&redirect).await.assert_error(403, "Y420002");
    assert!(victim.session().is_none());
    // The attacker's browser is still where it was: the page shows nothing of the answer.
    let page = attacker.open(&page.url).await;
    assert!(page.is_choice() && !page.answer.body.contains("code="), "{}", page.answer.body);
    assert!(attacker.session().is_none());
}

#[actix_web::test]
async fn a_replayed_response_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let response = wallet.encrypted(&request, &hub);
    let first = wallet.post(&hub, &request, &[("response", &response)]).await;
    let second = wallet.post(&hub, &request, &[("response", &response)]).await;
    assert_eq!((first.status, second.status), (200, 400));
    assert!(!second.body.contains("redirect_uri"));
    let body: Value = serde_json::from_str(&first.body).unwrap();
    let redirect = body["redirect_uri"].as_str().unwrap();
    browser.open(redirect).await.consent().await.received();
    // The address is of no use elsewhere.
    hub.browser().open(redirect).await.assert_error(403, "Y420002");
}

/// On Redis: a store in memory answers before the next response is read.
#[actix_web::test]
async fn of_two_responses_at_once_one_is_accepted() {
    let (server, wallet) = (Server::start(&[]), Wallet::new());
    let hub = hubs(1, &server, &wallet, "").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let response = wallet.encrypted(&request, &hub);
    let params = [("response", response.as_str())];
    let post = || wallet.post(&hub, &request, &params);
    let (one, two, three) = futures_util::join!(post(), post(), post());
    let mut statuses = [one.status, two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400]);
}

#[actix_web::test]
async fn a_response_to_another_login_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let (browser, other) = (hub.browser(), hub.browser());
    let mine = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let theirs = WalletRequest::fetch(&hub, &wallet_page(&other).await).await;
    // Encrypted for the other login, posted to this one.
    let stolen = wallet.encrypted(&theirs, &hub);
    let answer = wallet.post(&hub, &mine, &[("response", &stolen)]).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    // A presentation made for the other login, encrypted for this one.
    let redirect = wallet.respond(&hub, &mine, &wallet.present(&theirs, &hub)).await;
    let page = browser.open(&redirect).await;
    assert!(page.is_choice() && page.answer.body.contains("Y020510"), "{}", page.answer.body);
}

#[actix_web::test]
async fn a_response_encrypted_to_an_old_key_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let old = WalletRequest::fetch(&hub, &page).await;
    let choice = page.links().into_iter().find(|link| link.contains("/interaction/")).unwrap();
    let page = browser.open(&choice).await.choose("wallet").await;
    let new = WalletRequest::fetch(&hub, &page).await;
    let answer = wallet.post(&hub, &new, &[("response", &wallet.encrypted(&old, &hub))]).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    // The old request can be answered, but its attempt is over.
    let redirect = wallet.respond(&hub, &old, &wallet.present(&old, &hub)).await;
    browser.open(&redirect).await.assert_error(400, "Y420003");
    let redirect = wallet.respond(&hub, &new, &wallet.present(&new, &hub)).await;
    browser.open(&redirect).await.consent().await.received();
}

#[actix_web::test]
async fn a_response_that_is_not_encrypted_as_requested_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let plain = json!({ "pid": [wallet.present(&request, &hub)] }).to_string();
    let good = wallet.encrypted(&request, &hub);
    let (two, none) = (json!({ "pid": ["a", "b"] }), json!({}));
    let others = json!({ "pid": ["a"], "mdl": ["b"] });
    let token = |vp_token: &Value| request.encrypt(&json!({ "vp_token": vp_token }));
    for (what, params) in [
        ("a downgrade", vec![("vp_token", plain.as_str())]),
        ("nothing", vec![]),
        ("both", vec![("response", good.as_str()), ("error", "access_denied")]),
        ("repeated", vec![("response", good.as_str()), ("response", good.as_str())]),
        ("no JWE", vec![("response", "a.b.c.d.e")]),
        ("two presentations", vec![("response", token(&two).as_str())]),
        ("none", vec![("response", token(&none).as_str())]),
        ("more credentials", vec![("response", token(&others).as_str())]),
        ("too large", vec![("response", "a".repeat(70_000).as_str())]),
    ] {
        let answer = wallet.post(&hub, &request, &params).await;
        assert!([400, 413].contains(&answer.status), "{what}: {} {}", answer.status, answer.body);
        assert!(answer.body.contains("invalid_request"), "{what}: {}", answer.body);
    }
    // None of them used the request up.
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    browser.open(&redirect).await.consent().await.received();
}
