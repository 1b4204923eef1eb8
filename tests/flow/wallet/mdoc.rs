//! Logins with a PID as an mdoc.

use serde_json::json;

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, wallet_page};
use crate::hub::TestHub;

#[actix_web::test]
async fn an_mdoc_signs_the_same_person_in_as_the_sd_jwt() {
    let wallet = Wallet::new();
    let hub = TestHub::with_files("", &wallet.files("", MDOC_CREDENTIAL)).await;
    let mut subjects = Vec::new();
    for credential in ["pid", "pid-mdoc"] {
        let browser = hub.browser();
        let request = WalletRequest::fetch(&hub, &wallet_page(&browser).await).await;
        let query = &request.claims["dcql_query"];
        assert_eq!(query["credential_sets"], json!([{ "options": [["pid"], ["pid-mdoc"]] }]));
        assert_eq!(
            query["credentials"][1]["meta"],
            json!({ "doctype_value": "eu.europa.ec.eudi.pid.1" })
        );
        let presentation = match credential {
            "pid" => wallet.present(&request, &hub),
            _ => wallet.mdoc(&request, &hub).present(),
        };
        let redirect = wallet.respond_with(&hub, &request, credential, &presentation).await;
        let received = browser.open(&redirect).await.consent().await.received();
        let tokens = hub.tokens("bakery", &received).await;
        let user = hub.userinfo(&tokens.access_token).await;
        assert_eq!(user["family_name"], "DUBOIS", "{credential}");
        assert_eq!(user["birthdate"], "1962-08-24", "{credential}");
        subjects.push(tokens.id_token["sub"].clone());
    }
    assert_eq!(subjects[0], subjects[1]);
}
