//! The Digital Credentials API in the browser that began (OpenID4VP 1.0 appendix A): the script of
//! the page posts what the API returned.

use passerelle_testkit::wallet_credentials::mdoc::digital_credentials_transcript;
use serde_json::{Value, json};

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, wallet_page};
use crate::browser::{Browser, Page};
use crate::hub::TestHub;
use crate::markup::Form;

const ACTION: &str = "/connectors/wallet/wallet/digital-credential";
const ORIGIN: &str = "https://hub.example";
const ON: &str = "digital_credentials_api = true";

/// A wallet, and a hub that offers the API and accepts the PID in both formats.
struct ApiHub {
    wallet: Wallet,
    hub: TestHub,
}

impl ApiHub {
    async fn start() -> Self {
        let wallet = Wallet::new();
        let hub = TestHub::with_files("", &wallet.files(ON, MDOC_CREDENTIAL)).await;
        Self { wallet, hub }
    }

    /// Returns the encrypted response with a presentation whose audience is `audience`.
    fn response_for(&self, request: &WalletRequest, audience: &str) -> String {
        let mut pid = self.wallet.pid(request, &self.hub);
        pid.key_binding_payload["aud"] = json!(audience);
        request.encrypt(&json!({ "vp_token": { "pid": [pid.present()] } }))
    }

    fn good_response(&self, request: &WalletRequest) -> String {
        self.response_for(request, &format!("origin:{ORIGIN}"))
    }

    /// Returns the encrypted response with an mdoc that is bound to `origin` and `nonce`.
    fn mdoc_response_for(&self, request: &WalletRequest, origin: &str, nonce: &str) -> String {
        let mut pid = self.wallet.mdoc(request, &self.hub);
        pid.transcript = digital_credentials_transcript(origin, nonce, &request.key_thumbprint());
        request.encrypt(&json!({ "vp_token": { "pid-mdoc": [pid.present()] } }))
    }
}

/// Opens the page of a new login, with the request that its script has.
async fn open_page<'h>(browser: &'h Browser<'h>) -> (Page<'h>, WalletRequest) {
    let page = wallet_page(browser).await;
    let request = WalletRequest::from_page(&page);
    (page, request)
}

/// What the script of the page posts.
fn form_with(page: &Page<'_>, response: &str) -> Form {
    page.form(ACTION).with("response", response)
}

fn assert_refused(page: &Page<'_>, attack: &str) {
    let body = &page.answer.body;
    assert!(page.is_choice() && body.contains("Y020510"), "{attack}: {body}");
}

#[actix_web::test]
async fn a_credential_of_the_api_signs_its_user_in() {
    let api = ApiHub::start().await;
    let browser = api.hub.browser();
    let (page, request) = open_page(&browser).await;
    assert_eq!(request.header["typ"], "oauth-authz-req+jwt");
    assert_eq!(request.claims["response_mode"], "dc_api.jwt");
    assert_eq!(request.claims["expected_origins"], json!([ORIGIN]));
    assert!(request.claims["client_id"].as_str().unwrap().starts_with("x509_hash:"));
    assert!(request.claims.get("response_uri").is_none() && request.claims.get("state").is_none());
    let form = form_with(&page, &api.good_response(&request));
    let received = browser.submit(&form).await.consent().await.received();
    assert_eq!(api.hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn an_mdoc_of_the_api_signs_its_user_in() {
    let api = ApiHub::start().await;
    let browser = api.hub.browser();
    let (page, request) = open_page(&browser).await;
    let nonce = request.claims["nonce"].as_str().unwrap();
    let form = form_with(&page, &api.mdoc_response_for(&request, ORIGIN, nonce));
    let received = browser.submit(&form).await.consent().await.received();
    assert_eq!(api.hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn an_mdoc_made_for_another_origin_or_request_is_refused() {
    let api = ApiHub::start().await;
    let other = open_page(&api.hub.browser()).await.1;
    for (attack, origin, is_other_request) in [
        ("a page of another origin that forwards the request", "https://evil.example", false),
        ("the origin as SD-JWTs write it", "origin:https://hub.example", false),
        ("the origin with a path", "https://hub.example/", false),
        ("another request", ORIGIN, true),
    ] {
        let browser = api.hub.browser();
        let (page, request) = open_page(&browser).await;
        let claims = if is_other_request { &other.claims } else { &request.claims };
        let nonce = claims["nonce"].as_str().unwrap();
        let form = form_with(&page, &api.mdoc_response_for(&request, origin, nonce));
        assert_refused(&browser.submit(&form).await, attack);
    }
    // The transcript of a request by link, as the page has it, too.
    let browser = api.hub.browser();
    let (page, request) = open_page(&browser).await;
    let linked = WalletRequest::fetch(&api.hub, &page).await;
    let presentation = api.wallet.mdoc(&linked, &api.hub).present();
    let response = request.encrypt(&json!({ "vp_token": { "pid-mdoc": [presentation] } }));
    assert_refused(&browser.submit(&form_with(&page, &response)).await, "transcript of a link");
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
    let api = ApiHub::start().await;
    let other = api.hub.browser();
    let form = wallet_page(&other).await.form(ACTION);
    let state = page.url.split_once("state=").unwrap().1;
    let forged = form.with("state", state).with("response", "a.b.c.d.e");
    browser.submit(&forged).await.assert_error(404, "Y000404");
}

#[actix_web::test]
async fn a_presentation_made_for_another_origin_is_refused() {
    let api = ApiHub::start().await;
    // The last two are what a wallet signs that ignores who asks, or that got the request by a
    // link.
    for audience in ["origin:https://evil.example", ORIGIN, "client_id"] {
        let browser = api.hub.browser();
        let (page, request) = open_page(&browser).await;
        let client_id = request.claims["client_id"].as_str().unwrap();
        let audience = if audience == "client_id" { client_id } else { audience };
        let form = form_with(&page, &api.response_for(&request, audience));
        assert_refused(&browser.submit(&form).await, audience);
    }
}

#[actix_web::test]
async fn a_presentation_for_the_api_is_refused_at_the_address_for_responses() {
    let api = ApiHub::start().await;
    for credential in ["pid", "pid-mdoc"] {
        let browser = api.hub.browser();
        let (page, request) = open_page(&browser).await;
        let linked = WalletRequest::fetch(&api.hub, &page).await;
        assert_eq!(linked.claims["response_mode"], "direct_post.jwt");
        assert!(linked.claims.get("expected_origins").is_none());
        let nonce = request.claims["nonce"].as_str().unwrap();
        let response = match credential {
            "pid" => api.good_response(&request),
            _ => api.mdoc_response_for(&request, ORIGIN, nonce),
        };
        let answer = api.wallet.post(&api.hub, &linked, &[("response", &response)]).await;
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let page = browser.open(answer["redirect_uri"].as_str().unwrap()).await;
        assert_refused(&page, credential);
    }
}

#[actix_web::test]
async fn a_replayed_credential_is_refused() {
    let api = ApiHub::start().await;
    let browser = api.hub.browser();
    let (page, request) = open_page(&browser).await;
    let response = api.good_response(&request);
    let form = form_with(&page, &response);
    let (first, second) = futures_util::join!(
        browser.post(&form, Some("same-origin")),
        browser.post(&form, Some("same-origin"))
    );
    let callbacks = [&first, &second].map(|answer| {
        answer.status == 303 && answer.header("location").contains("/callback/wallet?code=")
    });
    assert_eq!(callbacks.iter().filter(|callback| **callback).count(), 1, "{callbacks:?}");
    // Nor at another login of the same browser.
    let (page, _) = open_page(&browser).await;
    browser.submit(&form_with(&page, &response)).await.assert_error(400, "Y020502");
}

#[actix_web::test]
async fn session_fixation_a_credential_is_of_no_use_in_another_browser() {
    let api = ApiHub::start().await;
    let (attacker, victim) = (api.hub.browser(), api.hub.browser());
    let (page, request) = open_page(&attacker).await;
    let form = form_with(&page, &api.good_response(&request));
    victim.submit(&form).await.assert_error(403, "Y420002");
    // The victim has a login of its own: its state is another.
    wallet_page(&victim).await;
    assert!(!victim.submit(&form).await.is_consent());
    assert!(victim.session().is_none());
}

#[actix_web::test]
async fn a_credential_posted_by_another_site_is_refused() {
    let api = ApiHub::start().await;
    let browser = api.hub.browser();
    let (page, request) = open_page(&browser).await;
    let form = form_with(&page, &api.good_response(&request));
    assert_eq!(browser.post(&form, Some("cross-site")).await.status, 403);
    let forged = form.clone().with("csrf", "forged");
    assert_eq!(browser.post(&forged, Some("same-origin")).await.status, 403);
    // None of them used the request up.
    browser.submit(&form).await.consent().await.received();
}

#[actix_web::test]
async fn a_user_who_declines_in_the_api_returns_to_the_choice() {
    let api = ApiHub::start().await;
    let browser = api.hub.browser();
    let (page, _) = open_page(&browser).await;
    let page = browser.submit(&page.form(ACTION).with("error", "access_denied")).await;
    assert!(page.is_choice() && page.answer.body.contains("Y020020"), "{}", page.answer.body);
}
