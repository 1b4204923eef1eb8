//! Verified claims whose evidence is a credential that the wallet presented
//! (docs/integrate/scopes-and-claims.md#verified-claims).

use std::time::Duration;

use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_testkit::wallet_credentials::CertificateSpec;
use serde_json::{Value, json};

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, certificate_spec};
use crate::browser::Browser;
use crate::federation::SECRET;
use crate::hub::TestHub;
use crate::openid::{redeemed, service, successful_json};
use crate::service::{Authorize, Received};

const RULES: &str = "[audit]\nsink = \"file\"\n[verified_claims]\ntrust_framework = \"eidas\"\n";
/// The identity is the provider's.
const PROVIDER: &str = "identity_source = \"provider\"\nsubject = \"provider\"\n";

/// Returns a wallet whose issuer's certificate names its organization.
fn wallet() -> Wallet {
    let mut wallet = Wallet::new();
    let spec = CertificateSpec { organizations: &["Ministry"], ..certificate_spec() };
    wallet.issuer = wallet.authority.issue(&spec);
    wallet
}

/// Starts a hub with the wallet's connector, and the service `kiosk` with refresh tokens.
async fn hub(wallet: &Wallet, settings: &str, connectors: &str) -> TestHub {
    let kiosk = service("kiosk", "consent = \"required\"\n[refresh_tokens]");
    let files = wallet.files("", MDOC_CREDENTIAL);
    let files = [&files[..], &[(kiosk.0.as_str(), kiosk.1)]].concat();
    TestHub::with_files(&format!("{settings}{RULES}{connectors}\n"), &files).await
}

/// Lists the wallet, and the identity provider with passwords.
const LISTED: &str = "connectors = { wallet = [\"family_name\"], amandier = [\"family_name\"] }";

fn request(verification: &Value) -> Authorize {
    let claims = json!({ "family_name": null, "gender": null });
    let claims = json!({ "verified_claims": { "verification": verification, "claims": claims } });
    let claims = json!({ "userinfo": claims }).to_string();
    Authorize::minimal("kiosk", "openid").with("claims", &claims)
}

/// Signs Angela in with her PID, in one of its formats.
async fn present(
    (hub, wallet): (&TestHub, &Wallet),
    browser: &Browser<'_>,
    authorize: &Authorize,
    credential: &str,
) -> Received {
    let page = browser.authorize(authorize).await.choose("wallet").await;
    let request = WalletRequest::fetch(hub, &page).await;
    let presentation = match credential {
        "pid" => wallet.present(&request, hub),
        _ => wallet.mdoc(&request, hub).present(),
    };
    let redirect = wallet.respond_with(hub, &request, credential, &presentation).await;
    let page = browser.open(&redirect).await;
    if page.is_consent() { page.consent().await.received() } else { page.received() }
}

/// Redeems the code, and returns the verified claims of userinfo; `null` for none.
async fn verified(hub: &TestHub, received: &Received) -> Value {
    let tokens = redeemed(hub, "kiosk", received).await;
    successful_json(&hub.get_userinfo(&tokens.access_token).await)["verified_claims"].clone()
}

fn last_release(hub: &TestHub) -> Value {
    let lines = hub.audit_lines();
    lines.into_iter().rfind(|line| line["event"] == "userinfo_released").unwrap()
}

#[actix_web::test]
async fn a_presented_credential_is_the_evidence_of_the_listed_claims() {
    let wallet = wallet();
    let hub = hub(&wallet, PROVIDER, LISTED).await;
    let types = json!(["eu.europa.ec.eudi.pid.1", "urn:eudi:pid:1"]);
    let announced = hub.discovery().await;
    assert_eq!(announced["evidence_supported"], json!(["electronic_record"]));
    assert_eq!(announced["electronic_records_supported"], types);
    for (credential, record_type) in [("pid", &types[1]), ("pid-mdoc", &types[0])] {
        let now = hub.now().seconds();
        let date = |seconds| {
            format_rfc3339(Timestamp::from_seconds(seconds)).split('T').next().unwrap().to_owned()
        };
        let time = format_rfc3339(Timestamp::from_seconds(now));
        let request = request(&json!({ "time": null, "evidence": null }));
        let received = present((&hub, &wallet), &hub.browser(), &request, credential).await;
        let expected = json!({
            "verification": {
                "trust_framework": "eidas",
                "time": time,
                "evidence": [{
                    "type": "electronic_record",
                    "check_details": [{ "check_method": "vcrypt", "time": time }],
                    "record": {
                        "type": record_type,
                        "created_at": format!("{}T00:00:00Z", date(now - 1000)),
                        "date_of_expiry": date(now + 86_400),
                        "source": { "name": "Ministry", "country_code": "FR" },
                    },
                }],
            },
            "claims": { "family_name": "Dubois" },
        });
        assert_eq!(verified(&hub, &received).await, expected, "{credential}");
        assert_eq!(last_release(&hub)["verified_claims"], json!(["family_name"]));
    }
    let plain = Authorize::minimal("kiosk", "openid profile");
    let received = present((&hub, &wallet), &hub.browser(), &plain, "pid").await;
    assert_eq!(verified(&hub, &received).await, Value::Null);
    assert!(last_release(&hub).get("verified_claims").is_none());
}

/// Attack: a refresh token or a session makes an old presentation look new.
#[actix_web::test]
async fn refreshed_tokens_and_a_reused_session_do_not_make_the_presentation_newer() {
    let wallet = wallet();
    let hub = hub(&wallet, PROVIDER, LISTED).await;
    let browser = hub.browser();
    let all = json!({ "time": null, "evidence": null });
    let offline = request(&all).with("scope", "openid offline_access").with("prompt", "consent");
    let received = present((&hub, &wallet), &browser, &offline, "pid").await;
    let tokens = hub.redeem("kiosk", received.code()).await.json();
    let userinfo = async |tokens: &Value| {
        let token = tokens["access_token"].as_str().unwrap();
        successful_json(&hub.get_userinfo(token).await)["verified_claims"].clone()
    };
    let first = userinfo(&tokens).await;
    assert!(first["verification"]["time"].is_string(), "{first}");
    hub.advance(Duration::from_secs(600));
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", "kiosk"),
        ("client_secret", SECRET),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
    ];
    let refreshed = hub.post_form("/api/v2/token", &fields).await.json();
    assert_eq!(userinfo(&refreshed).await, first);
    assert_eq!(last_release(&hub)["verified_claims"], json!(["family_name"]));
    let again = browser.authorize(&request(&all)).await.received();
    assert_eq!(verified(&hub, &again).await, first);
    for (max_age, is_met) in [(601, true), (599, false)] {
        let request = request(&json!({ "time": { "max_age": max_age } }));
        let answer = verified(&hub, &browser.authorize(&request).await.received()).await;
        assert_eq!(answer.is_object(), is_met, "{max_age}");
    }
}

/// Attack: a login with a password inherits the evidence of an earlier session with a wallet.
#[actix_web::test]
async fn a_login_at_a_bank_does_not_inherit_the_evidence_of_a_wallet() {
    let wallet = wallet();
    // By the pivot identity, both are one person, whose session continues.
    let hub = hub(&wallet, "identity_source = \"provider\"\n", LISTED).await;
    let browser = hub.browser();
    let all = json!({ "time": null, "evidence": null });
    present((&hub, &wallet), &browser, &request(&all), "pid").await;
    let page = browser.authorize(&request(&all).with("prompt", "login")).await;
    let page = page.choose("amandier").await.sign_in_as("angela").await;
    let received =
        if page.is_consent() { page.consent().await.received() } else { page.received() };
    let expected = json!({ "verification": { "trust_framework": "eidas" }, "claims": { "family_name": "DUBOIS" } });
    assert_eq!(verified(&hub, &received).await, expected);
    let again = browser.authorize(&request(&all)).await.received();
    assert_eq!(verified(&hub, &again).await, expected, "the session is the bank's");
}

/// Attack: a presented credential makes claims verified that the operator does not list, or claims of
/// the register that it does not prove.
#[actix_web::test]
async fn a_credential_is_no_evidence_beyond_what_the_operator_lists() {
    let wallet = wallet();
    let all = json!({ "time": null, "evidence": null });
    let bank = hub(&wallet, PROVIDER, "connectors = { amandier = [\"family_name\"] }").await;
    let received = present((&bank, &wallet), &bank.browser(), &request(&all), "pid").await;
    assert_eq!(verified(&bank, &received).await, Value::Null);
    assert!(last_release(&bank).get("verified_claims").is_none());
    assert!(bank.discovery().await.get("evidence_supported").is_none());
    let register = hub(&wallet, "", "").await;
    let received = present((&register, &wallet), &register.browser(), &request(&all), "pid").await;
    let found = verified(&register, &received).await;
    let record =
        json!({ "type": "electronic_record", "record": { "type": "population_register" } });
    assert_eq!(found["verification"]["evidence"], json!([record]));
    assert_eq!(found["claims"], json!({ "family_name": "DUBOIS", "gender": "female" }));
}
