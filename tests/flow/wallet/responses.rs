//! Responses that are refused where they are posted, and what strangers may do there.

use josekit::jwe::{ECDH_ES, ECDH_ES_A128KW, JweContext, JweHeader};
use josekit::jwk::Jwk;
use passerelle_protocol::digest;
use serde_json::{Value, json};

use super::forged_presentations::assert_documented;
use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};

/// Encrypts a response with any header.
fn encrypt(request: &WalletRequest, alg: &str, header: Value, content: &str) -> String {
    let key = Jwk::from_map(request.key().clone()).unwrap();
    let mut key = key;
    key.set_algorithm(alg);
    let header = JweHeader::from_map(header.as_object().unwrap().clone()).unwrap();
    let encrypter = if alg == "ECDH-ES" { &ECDH_ES } else { &ECDH_ES_A128KW };
    let encrypter = encrypter.encrypter_from_jwk(&key).unwrap();
    JweContext::new().serialize_compact(content.as_bytes(), &header, &encrypter).unwrap()
}

/// Changes the header of a JWE, which its tag covers.
fn with_header(jwe: &str, change: impl FnOnce(&mut Value)) -> String {
    let (header, rest) = jwe.split_once('.').unwrap();
    let mut header = serde_json::from_slice(&digest::from_base64url(header).unwrap()).unwrap();
    change(&mut header);
    format!("{}.{rest}", digest::base64url(header.to_string().as_bytes()))
}

#[actix_web::test]
async fn a_response_in_another_format_is_refused_and_does_not_use_the_request() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let presentation = wallet.present(&request, &hub);
    let good = json!({ "vp_token": { "pid": [presentation] } });
    let confused = |vp_token: Value| request.encrypt(&json!({ "vp_token": vp_token }));
    let jwe = request.encrypt(&good);
    let part = |number: usize, text: &str| {
        let mut parts: Vec<_> = jwe.split('.').collect();
        parts[number] = text;
        parts.join(".")
    };
    let flipped = jwe.split('.').nth(3).unwrap().chars().rev().collect::<String>();
    let off_curve = json!(digest::base64url(&[1; 32]));
    let zip =
        encrypt(&request, "ECDH-ES", json!({ "enc": "A128GCM", "zip": "DEF" }), &good.to_string());
    let bomb = json!({ "vp_token": { "pid": ["a".repeat(10 << 20)] } }).to_string();
    let bomb = encrypt(&request, "ECDH-ES", json!({ "enc": "A128GCM", "zip": "DEF" }), &bomb);
    let cbc = encrypt(&request, "ECDH-ES", json!({ "enc": "A128CBC-HS256" }), &good.to_string());
    let wrapped =
        encrypt(&request, "ECDH-ES+A128KW", json!({ "enc": "A128GCM" }), &good.to_string());
    let repeated = r#"{"vp_token":{"pid":["a"]},"vp_token":{"pid":["b"]}}"#;
    let repeated = encrypt(&request, "ECDH-ES", json!({ "enc": "A128GCM" }), repeated);
    let nested = format!(r#"{{"vp_token":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let nested = encrypt(&request, "ECDH-ES", json!({ "enc": "A128GCM" }), &nested);
    for (attack, response) in [
        ("list of presentations without an id", confused(json!([presentation]))),
        ("presentation without an id", confused(json!(presentation))),
        ("presentation that is no list", confused(json!({ "pid": presentation }))),
        ("presentation in a list of lists", confused(json!({ "pid": [[presentation]] }))),
        ("presentation that is an object", confused(json!({ "pid": [{ "jwt": presentation }] }))),
        ("vp_token as a text", confused(json!(json!({ "pid": [presentation] }).to_string()))),
        ("two presentations", confused(json!({ "pid": [presentation, presentation] }))),
        ("two credentials", confused(json!({ "pid": [presentation], "mdl": [presentation] }))),
        ("no presentation", confused(json!({ "pid": [] }))),
        ("no credential", confused(json!({}))),
        ("vp_token that is null", confused(json!(null))),
        ("response without vp_token", request.encrypt(&json!({ "id_token": "x" }))),
        ("error that is no text", request.encrypt(&json!({ "error": ["access_denied"] }))),
        ("repeated vp_token", repeated),
        ("deeply nested response", nested),
        ("compressed response", zip),
        ("compression bomb", bomb),
        ("weaker encryption", cbc),
        ("wrapped key", wrapped),
        ("header altered on the way", with_header(&jwe, |header| header["apu"] = json!("QQ"))),
        ("critical extension", with_header(&jwe, |header| header["crit"] = json!(["exp"]))),
        ("unencrypted content", with_header(&jwe, |header| header["enc"] = json!("none"))),
        ("key chosen by the wallet", with_header(&jwe, |header| header["alg"] = json!("dir"))),
        (
            "passphrase with many rounds",
            with_header(&jwe, |header| {
                header["alg"] = json!("PBES2-HS256+A128KW");
                header["p2c"] = json!(100_000_000);
            }),
        ),
        ("kid of another key", with_header(&jwe, |header| header["kid"] = json!("other"))),
        ("point off the curve", with_header(&jwe, |header| header["epk"]["x"] = off_curve)),
        ("key on another curve", with_header(&jwe, |header| header["epk"]["crv"] = json!("P-384"))),
        ("ciphertext altered on the way", part(3, &flipped)),
        ("shortened tag", part(4, "AA")),
        ("shortened nonce", part(2, "AA")),
        ("signed in the place of encrypted", "eyJhbGciOiJub25lIn0.e30.".to_owned()),
        ("six parts", format!("{jwe}.x")),
    ] {
        assert_documented(&format!("| {attack} |"));
        let answer = wallet.post(&hub, &request, &[("response", &response)]).await;
        assert_eq!(answer.status, 400, "{attack}: {}", answer.body);
        assert!(answer.body.contains("invalid_request"), "{attack}: {}", answer.body);
        assert!(!answer.body.contains("redirect_uri"), "{attack}: {}", answer.body);
    }
    let answer = wallet.post(&hub, &request, &[("response", &jwe)]).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let page = browser.open(body["redirect_uri"].as_str().unwrap()).await;
    page.consent().await.received();
}

#[actix_web::test]
async fn a_stranger_who_does_not_know_the_request_can_not_end_it() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let request = WalletRequest::fetch(&hub, &page).await;
    let guessed = digest::sha256_base64url("a guess");
    // The browser's `state` is another value than the request's id.
    let state = page.url.split_once("state=").unwrap().1;
    for id in [guessed.as_str(), state, "x", "%00"] {
        let path = format!("/api/v2/wallet/wallet/{id}/response");
        let answer = hub.post_form(&path, &[("error", "access_denied")]).await;
        assert_eq!(answer.status, 400, "{id}: {}", answer.body);
        assert!(!answer.body.contains("redirect_uri"), "{id}: {}", answer.body);
    }
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    browser.open(&redirect).await.consent().await.received();
}

#[actix_web::test]
async fn a_strangers_error_response_moves_no_browser_and_signs_no_one_in() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let request = WalletRequest::fetch(&hub, &page).await;
    let answer = wallet.post(&hub, &request, &[("error", "server_error")]).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    // The stranger's own browser gets nowhere with it.
    let redirect = body["redirect_uri"].as_str().unwrap();
    hub.browser().open(redirect).await.assert_error(403, "Y420002");
    // The request is over, and the user begins again.
    let late =
        wallet.post(&hub, &request, &[("response", &wallet.encrypted(&request, &hub))]).await;
    assert_eq!(late.status, 400, "{}", late.body);
    let again = browser.open(&page.url).await;
    assert!(again.is_choice(), "{}", again.answer.body);
    let request = WalletRequest::fetch(&hub, &again.choose("wallet").await).await;
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    browser.open(&redirect).await.consent().await.received();
}

#[actix_web::test]
async fn a_callback_with_another_state_or_code_is_refused() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let (browser, other) = (hub.browser(), hub.browser());
    let mine = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    let theirs = WalletRequest::fetch(&hub, &wallet_page(&other).await).await;
    let my_redirect = wallet.respond(&hub, &mine, &wallet.present(&mine, &hub)).await;
    let their_redirect = wallet.respond(&hub, &theirs, &wallet.present(&theirs, &hub)).await;
    let parameter = |url: &str, name: &str| {
        let url = url::Url::parse(url).unwrap();
        url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    // The code of the other login under the state of this one (login CSRF).
    let (my_code, their_code) =
        (parameter(&my_redirect, "code"), parameter(&their_redirect, "code"));
    let page = browser.open(&my_redirect.replace(&my_code, &their_code)).await;
    assert!(!page.is_consent() && page.answer.status < 500, "{}", page.answer.body);
    assert!(browser.session().is_none());
    // The other login is as it was, or over; never this browser's.
    let page = browser.open(&their_redirect).await;
    assert!(!page.is_consent() && page.answer.status < 500, "{}", page.answer.body);
}
