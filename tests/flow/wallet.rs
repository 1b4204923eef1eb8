//! Users who sign in with a wallet: whole logins, and what a wallet, its user and strangers may not
//! do.

mod attacks;
mod digital_credentials;
mod forged_presentations;
mod identities;
mod mdoc;
mod other_device;
mod responses;
pub(crate) mod scripted_wallet;
mod settings;
mod several_hubs;
mod stored_records;
mod verified_claims;

use actix_web::test::TestRequest;
use openssl::x509::X509;
use passerelle_protocol::digest;
use serde_json::json;

use super::hub::TestHub;
use super::service::Authorize;
use scripted_wallet::{Wallet, WalletRequest, wallet_page};

#[actix_web::test]
async fn a_wallet_on_the_same_device_signs_its_user_in() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    assert!(page.url.starts_with("/connectors/wallet/wallet?state="), "at {}", page.url);
    assert_eq!(page.heading(), "Sign in with “Wallet”");
    for part in
        ["<bdi>Family name at birth</bdi>", "<bdi>Nationality</bdi> <span", "Open my wallet"]
    {
        assert!(page.answer.body.contains(part), "{part}: {}", page.answer.body);
    }
    assert!(!page.answer.body.contains("other-device"), "cross_device is off by default");
    let request = WalletRequest::fetch(&hub, &page).await;
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    let received = browser.open(&redirect).await.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    assert_eq!(hub.userinfo(&tokens.access_token).await["family_name"], "DUBOIS");
    assert_eq!(tokens.id_token["auth_time"], hub.now().seconds());
}

#[actix_web::test]
async fn the_request_names_the_hub_and_is_served_again() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let request = WalletRequest::fetch(&hub, &page).await;
    let claims = &request.claims;
    assert_eq!(request.header["typ"], "oauth-authz-req+jwt");
    assert_eq!(request.header["x5c"].as_array().unwrap().len(), 1, "without the trust anchor");
    assert_eq!(request.parameter("client_id"), claims["client_id"].as_str().unwrap());
    assert!(claims["client_id"].as_str().unwrap().starts_with("x509_hash:"));
    assert_eq!(claims["response_mode"], "direct_post.jwt");
    assert_eq!(claims["aud"], "https://self-issued.me/v2");
    let metadata = &claims["client_metadata"];
    let key = &metadata["jwks"]["keys"][0];
    assert_eq!((&key["alg"], &key["crv"]), (&json!("ECDH-ES"), &json!("P-256")));
    assert_eq!(key["kid"], digest::base64url(&request.key_thumbprint()));
    assert_eq!(metadata["encrypted_response_enc_values_supported"], json!(["A128GCM", "A256GCM"]));
    assert_eq!(
        metadata["vp_formats_supported"]["dc+sd-jwt"]["kb-jwt_alg_values"],
        json!(["ES256"])
    );
    assert!(claims.get("verifier_info").is_none());
    let query = &claims["dcql_query"]["credentials"][0];
    assert_eq!(query["meta"], json!({ "vct_values": ["urn:eudi:pid:1"] }));
    assert_eq!(query["claims"][3]["path"], json!(["place_of_birth", "locality"]));

    let again = WalletRequest::fetch(&hub, &page).await;
    assert_eq!(again.claims["nonce"], claims["nonce"]);
    let path = request.path();
    let posted = hub.post_form(&path, &[("wallet_nonce", "from the wallet")]).await;
    assert_eq!(posted.header("content-type"), "application/oauth-authz-req+jwt");
    let posted = WalletRequest::read(&posted.body, &path);
    assert_eq!(posted.claims["wallet_nonce"], "from the wallet");
    assert!(claims.get("wallet_nonce").is_none());

    // Of another login it has another key and nonce.
    let other = WalletRequest::fetch(&hub, &wallet_page(&hub.browser()).await).await;
    assert_ne!(other.claims["nonce"], claims["nonce"]);
    assert_eq!(claims["nonce"].as_str().unwrap().len(), 43, "256 bits");
    assert_ne!(other.claims["client_metadata"]["jwks"], claims["client_metadata"]["jwks"]);
}

#[actix_web::test]
async fn the_request_has_what_the_operator_configured() {
    let wallet = Wallet::new();
    let more = "verifier_info = \"wallet/registration.json\"\nsend_trusted_authorities = true\nrequest_minutes = 7";
    let registration = json!([{ "format": "jwt", "data": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln" }]);
    let files = wallet.files(more, "");
    let files = [&files[..], &[("wallet/registration.json", registration.to_string())]].concat();
    let hub = TestHub::with_files("", &files).await;
    let browser = hub.browser();
    let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
    assert_eq!(request.claims["verifier_info"], registration);
    let authority = X509::from_der(&wallet.authority.der()).unwrap();
    let identifier = digest::base64url(authority.subject_key_id().unwrap().as_slice());
    assert_eq!(
        request.claims["dcql_query"]["credentials"][0]["trusted_authorities"],
        json!([{ "type": "aki", "values": [identifier] }])
    );
    assert_eq!(request.claims["exp"], hub.now().seconds() + 7 * 60);
    let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
    browser.open(&redirect).await.consent().await.received();
}

#[actix_web::test]
async fn a_user_who_declines_in_the_wallet_returns_to_the_choice() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    for is_encrypted in [true, false] {
        let browser = hub.browser();
        let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
        let declined = json!({ "error": "access_denied" });
        let answer = if is_encrypted {
            wallet.post(&hub, &request, &[("response", &request.encrypt(&declined))]).await
        } else {
            wallet.post(&hub, &request, &[("error", "access_denied")]).await
        };
        let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let page = browser.open(answer["redirect_uri"].as_str().unwrap()).await;
        assert!(page.is_choice() && page.answer.body.contains("Y020020"), "{}", page.answer.body);
        page.finish_as("jean").await.belongs_to("bakery");
    }
}

#[actix_web::test]
async fn a_request_expires_with_its_minutes() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let browser = hub.browser();
    let page = wallet_page(&browser).await;
    let request = WalletRequest::fetch(&hub, &page).await;
    hub.advance(std::time::Duration::from_secs(5 * 60));
    assert_eq!(hub.send(TestRequest::get().uri(&request.path())).await.status, 400);
    let answer =
        wallet.post(&hub, &request, &[("response", &wallet.encrypted(&request, &hub))]).await;
    assert!(answer.status == 400 && answer.body.contains("invalid_request"), "{}", answer.body);
    assert!(browser.open(&page.url).await.is_choice(), "the user chooses again");
}

#[actix_web::test]
async fn another_connector_has_no_wallet_page() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = browser.open("/connectors/amandier/wallet?state=x").await;
    page.assert_error(404, "Y000404");
    assert_eq!(hub.send(TestRequest::get().uri("/api/v2/wallet/amandier/x")).await.status, 404);
}
