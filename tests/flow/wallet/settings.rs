//! Settings of the connector that users and wallets notice.

use passerelle_protocol::digest;
use qrcodegen::{QrCode, QrCodeEcc};
use url::form_urlencoded::Serializer;

use super::scripted_wallet::{Wallet, WalletRequest, wallet_page};
use crate::hub::TestHub;

#[actix_web::test]
async fn an_issuer_is_not_blamed_for_a_trust_list_that_cannot_be_used() {
    let (wallet, stranger) = (Wallet::new(), Wallet::new());
    // The hub calls no loopback address, so that the list can't be fetched.
    let list =
        "trust_lists = [{ url = \"https://127.0.0.1:1/\", signers = \"wallet/issuers.pem\" }]";
    for (settings, code) in [("", "Y020511"), (list, "Y020521")] {
        let hub = wallet.hub(settings).await;
        let browser = hub.browser();
        let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
        let presentation = stranger.present(&request, &hub);
        let page = browser.open(&wallet.respond(&hub, &request, &presentation).await).await;
        assert!(page.answer.body.contains(code), "{code}: {}", page.answer.body);
        assert!(browser.session().is_none());
        // A pinned issuer is trusted with or without the list.
        let browser = hub.browser();
        let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
        let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
        browser.open(&redirect).await.consent().await.received();
    }
}

/// One trusted authority issues certificates to many issuers, and credentials have authorities of
/// their own.
#[actix_web::test]
async fn a_trusted_issuer_of_other_credentials_signs_no_one_in() {
    let (wallet, other) = (Wallet::new(), Wallet::new());
    for (own, is_accepted) in [
        ("", true),
        ("issuers = [\"C=FR, CN=PID issuer\"]", true),
        ("issuers = [\"C=FR, CN=Another issuer\"]", false),
        ("trust_anchors = \"wallet/issuers.pem\"", true),
        ("trust_anchors = \"wallet/other.pem\"", false),
    ] {
        let mut files = wallet.files("", "").to_vec();
        let connector = &mut files[0].1;
        *connector = connector.replace("id = \"pid\"", &format!("id = \"pid\"\n{own}"));
        files.push(("wallet/other.pem", String::from_utf8(other.authority.pem()).unwrap()));
        let hub = TestHub::with_files("", &files).await;
        let browser = hub.browser();
        let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
        let redirect = wallet.respond(&hub, &request, &wallet.present(&request, &hub)).await;
        let page = browser.open(&redirect).await;
        assert_eq!(page.is_consent(), is_accepted, "{own}: {}", page.answer.body);
        assert_eq!(page.answer.body.contains("Y020511"), !is_accepted, "{own}");
    }
}

#[actix_web::test]
async fn the_expiry_of_the_certificates_is_a_metric() {
    let wallet = Wallet::new();
    let hub = wallet.hub("").await;
    let metrics = hub.metrics.render();
    for certificate in ["access_certificate", "trust_anchors"] {
        let series = format!(
            "passerelle_connector_certificate_expiry_timestamp_seconds{{certificate=\"{certificate}\",connector=\"wallet\"}} "
        );
        let line = metrics.lines().find_map(|line| line.strip_prefix(&series));
        let expires_at: f64 =
            line.unwrap_or_else(|| panic!("{certificate}: {metrics}")).parse().unwrap();
        let now = hub.now().seconds() as f64;
        assert!(expires_at > now && expires_at < now + 4000.0 * 86_400.0, "{certificate}");
    }
    assert!(!metrics.contains("certificate=\"trust_list\""), "no list is configured");
}

#[actix_web::test]
async fn the_qr_code_begins_with_the_configured_scheme() {
    let wallet = Wallet::new();
    for (settings, scheme) in [
        ("cross_device = true", "openid4vp://"),
        ("cross_device = true\ncross_device_url = \"haip-vp://\"", "haip-vp://"),
    ] {
        let hub = wallet.hub(settings).await;
        let browser = hub.browser();
        let page = wallet_page(&browser).await;
        let client_id = WalletRequest::fetch(&hub, &page).await.parameter("client_id");
        let state = page.url.split_once("state=").unwrap().1;
        let id = digest::sha256_base64url(&format!("wallet request\nwallet\nother\n{state}"));
        let query = Serializer::new(String::new())
            .append_pair("client_id", &client_id)
            .append_pair("request_uri", &format!("https://hub.example/api/v2/wallet/wallet/{id}"))
            .append_pair("request_uri_method", "post")
            .finish();
        let code = QrCode::encode_text(&format!("{scheme}?{query}"), QrCodeEcc::Low).unwrap();
        let places = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
        let dark = places.filter(|(x, y)| code.get_module(*x, *y));
        let path: String = dark.map(|(x, y)| format!("M{x} {y}h1v1h-1z")).collect();
        let shown =
            browser.open(&format!("/connectors/wallet/wallet/other-device?state={state}")).await;
        assert!(shown.answer.body.contains(&path), "{scheme}");
    }
}
