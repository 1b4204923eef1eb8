//! Users who sign in at a SAML identity provider: whole logins, and what strangers may not do with
//! responses, which arrive without the cookies of the login.

#[cfg(feature = "pkcs11")]
mod key_device;
mod logout;

use std::time::Duration;

use actix_web::test::TestRequest;
use openssl::x509::X509;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_testkit::fake_identity_provider::{
    FakeIdentityProvider, FormFields, MFA, PASSWORD, ReceivedRequest, SINGLE_SIGN_ON, assertion,
    hub_key_pem,
};
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::browser::{Browser, Page};
use super::federation::put;
use super::hub::{Answer, TestHub};
use super::markup::Form;
use super::service::Authorize;

const CONNECTOR: &str = r#"
name = { en = "University" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas2" }
mfa = ["pwd", "otp"]
[acr]
eidas1 = ["urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"]
eidas2 = ["https://refeds.org/profile/mfa"]
[mapping]
birthdate = { from = "birthdate", date = "YYYYMMDD" }
[kind.saml]
entity_id = "https://idp.example/saml"
metadata_file = "saml/idp.xml"
private_keys = { file = "secrets/connectors/university/saml.pem" }
"#;

struct University {
    idp: FakeIdentityProvider,
    /// The hub's certificate.
    certificate: X509,
    hub: TestHub,
}

impl University {
    /// Starts a hub with more keys in the table of the connector.
    async fn with(more: &str) -> Self {
        Self::with_settings("", more).await
    }

    async fn with_settings(settings: &str, more: &str) -> Self {
        let idp = FakeIdentityProvider::new();
        let (pem, certificate) = hub_key_pem();
        let files = [
            ("connectors/university.toml", format!("{CONNECTOR}{more}\n")),
            ("saml/idp.xml", idp.metadata("")),
            ("secrets/connectors/university/saml.pem", pem),
        ];
        let hub = TestHub::with_files(settings, &files).await;
        Self { idp, certificate, hub }
    }

    async fn start() -> Self {
        Self::with("").await
    }

    /// Goes to the identity provider.
    async fn leave(&self, browser: &Browser<'_>, authorize: &Authorize) -> ReceivedRequest {
        let page = browser.authorize(authorize).await.choose("university").await;
        assert!(page.url.starts_with(&format!("{SINGLE_SIGN_ON}?SAMLRequest=")), "{}", page.url);
        ReceivedRequest::from_redirect(&page.url, None)
    }

    fn respond(&self, request: &ReceivedRequest, edits: &[(&str, &str)]) -> FormFields {
        self.idp.respond(request, PASSWORD, self.hub.now(), edits)
    }

    /// Posts a response as a browser does from another site: without cookies.
    async fn post(&self, fields: &FormFields) -> Answer {
        let form = Form {
            action: "/connectors/university/saml/acs".into(),
            fields: fields.clone().map(|(name, value)| (name.to_owned(), value)).into(),
            buttons: Vec::new(),
        };
        self.hub.browser().post(&form, Some("cross-site")).await
    }

    /// Posts a response, and continues in this browser.
    async fn finish<'b>(&self, browser: &'b Browser<'b>, fields: &FormFields) -> Page<'b> {
        let answer = self.post(fields).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let next = answer.header("location").to_owned();
        assert!(next.starts_with("/api/v2/callback/university?code="), "{next}");
        browser.open(&next).await
    }
}

fn asking_amr() -> Authorize {
    Authorize::by("bakery").with("claims", r#"{"id_token":{"amr":{"essential":true}}}"#)
}

#[actix_web::test]
async fn a_response_signs_its_user_in() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let request = university.leave(&browser, &asking_amr()).await;
    assert_eq!(request.issuer, "https://hub.example/connectors/university/saml/metadata");
    assert_eq!(request.consumer_url, "https://hub.example/connectors/university/saml/acs");
    assert_eq!(request.contexts, [PASSWORD]);
    assert_eq!(request.relay_state.len(), 43, "the binding allows 80");
    assert!(!request.id.contains(&request.relay_state), "the ID reveals no state");
    let page = university.finish(&browser, &university.respond(&request, &[])).await;
    let tokens = university.hub.tokens("bakery", &page.consent().await.received()).await;
    let userinfo = university.hub.userinfo(&tokens.access_token).await;
    assert_eq!(userinfo["family_name"], "DUBOIS");
    assert_eq!(userinfo["email"], "angela@idp.example");
    assert_eq!(userinfo["birthdate"], "1962-08-24");
    assert_eq!(tokens.id_token["acr"], "eidas1");
    assert_eq!(tokens.id_token["amr"], json!(["pwd", "hub"]));
}

#[actix_web::test]
async fn the_class_of_two_factors_proves_mfa() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let request = university.leave(&browser, &asking_amr()).await;
    let response = university.idp.respond(&request, MFA, university.hub.now(), &[]);
    let received = university.finish(&browser, &response).await.consent().await.received();
    let tokens = university.hub.tokens("bakery", &received).await;
    assert_eq!(tokens.id_token["amr"], json!(["mfa", "hub"]));
}

#[actix_web::test]
async fn a_page_posts_a_signed_request() {
    let university = University::with("request_binding = \"post\"\nsign_requests = true").await;
    let browser = university.hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("university").await;
    assert!(page.url.starts_with("/connectors/university/saml/request?state="), "{}", page.url);
    let form = page.form("https://idp.example/sso/post");
    let (saml_request, relay_state) = (form.field("SAMLRequest"), form.field("RelayState"));
    let request =
        ReceivedRequest::from_form(saml_request, relay_state, Some(&university.certificate));
    assert!(request.xml.contains("Destination=\"https://idp.example/sso/post\""));
    let stranger = university.hub.browser();
    assert!(stranger.open(&page.url).await.answer.status >= 400, "the page belongs to a browser");
    let received = university.finish(&browser, &university.respond(&request, &[])).await;
    received.consent().await.received();
}

#[actix_web::test]
async fn a_request_in_an_address_is_signed_by_the_first_key_of_the_file() {
    let university = University::with("sign_requests = true").await;
    let browser = university.hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("university").await;
    ReceivedRequest::from_redirect(&page.url, Some(&university.certificate));
}

#[actix_web::test]
async fn a_new_authentication_is_forced_and_proven() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let authorize = Authorize::by("bakery").with("prompt", "login");
    let request = university.leave(&browser, &authorize).await;
    assert!(request.force_authn);
    let now = saml_time(university.hub.now().seconds());
    let old = saml_time(university.hub.now().seconds() - 600);
    let edits = [(format!("AuthnInstant=\"{now}\""), format!("AuthnInstant=\"{old}\""))];
    let edits = edits.each_ref().map(|(from, to)| (from.as_str(), to.as_str()));
    let page = university.finish(&browser, &university.respond(&request, &edits)).await;
    page.assert_error(200, ErrorCode::PromptLoginIgnored.entry().code);
}

#[actix_web::test]
async fn single_sign_on_ends_when_the_identity_provider_ends_the_session() {
    let university = University::start().await;
    let hub = &university.hub;
    let browser = hub.browser();
    let request = university.leave(&browser, &Authorize::by("bakery")).await;
    let end = saml_time(hub.now().seconds() + 600);
    let end = format!("SessionNotOnOrAfter=\"{end}\" SessionIndex=");
    let response = university.respond(&request, &[("SessionIndex=", &end)]);
    let received = university.finish(&browser, &response).await.consent().await.received();
    hub.tokens("bakery", &received).await;
    // The tolerance of clocks belongs to it.
    hub.advance(Duration::from_secs(659));
    let reusing = Authorize::by("bakery").with("prompt", "consent");
    assert!(browser.authorize(&reusing).await.is_consent());
    hub.advance(Duration::from_secs(1));
    assert!(browser.authorize(&reusing).await.is_choice());
}

/// Returns a time as the identity provider writes it.
fn saml_time(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap();
    chrono::DateTime::from_timestamp(seconds, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[actix_web::test]
async fn login_csrf_by_a_response_of_an_attacker_reaches_no_login_of_the_victim() {
    let university = University::start().await;
    let (attacker, victim) = (university.hub.browser(), university.hub.browser());
    university.leave(&victim, &Authorize::by("bakery")).await;
    let request = university.leave(&attacker, &Authorize::by("bakery")).await;
    let page = university.finish(&victim, &university.respond(&request, &[])).await;
    page.assert_error(400, ErrorCode::StateUnknown.entry().code);
}

#[actix_web::test]
async fn a_response_for_another_login_of_the_same_browser_is_refused() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let first = university.leave(&browser, &Authorize::by("bakery")).await;
    let second = university.leave(&browser, &Authorize::by("library")).await;
    let mixed = ReceivedRequest { relay_state: second.relay_state, ..first };
    let page = university.finish(&browser, &university.respond(&mixed, &[])).await;
    page.assert_error(200, "Y020604");
}

#[actix_web::test]
async fn an_error_of_the_identity_provider_leads_back_to_the_choice() {
    let university = University::start().await;
    for (status, code) in
        [("AuthnFailed", ErrorCode::IdpDenied), ("NoAuthnContext", ErrorCode::AcrTooLow)]
    {
        let browser = university.hub.browser();
        let request = university.leave(&browser, &Authorize::by("bakery")).await;
        let refused = university.idp.refuse(&request, university.hub.now(), status);
        let page = university.finish(&browser, &refused).await;
        page.assert_error(200, code.entry().code).finish_as("angela").await.belongs_to("bakery");
    }
}

#[actix_web::test]
async fn forged_responses_are_refused_for_their_reason() {
    let university = University::start().await;
    let stranger = FakeIdentityProvider::new();
    let now = university.hub.now();
    for (attack, code) in [
        ("unsigned", "Y020602"),
        ("signed by a stranger", "Y020602"),
        ("changed after signing", "Y020602"),
        ("for another service provider", "Y020604"),
        ("of another identity provider", "Y020604"),
        ("for another address", "Y020604"),
        ("transient", "Y020607"),
        ("unlisted class", "Y100001"),
    ] {
        let browser = university.hub.browser();
        let request = university.leave(&browser, &Authorize::by("bakery")).await;
        let sign = |edits: &[(&str, &str)]| university.respond(&request, edits);
        let own = assertion(&request, PASSWORD, now, &[]);
        let response = match attack {
            "unsigned" => university.idp.respond_with(&request, now, &own),
            "signed by a stranger" => stranger.respond(&request, PASSWORD, now, &[]),
            "changed after signing" => {
                let signed = university.idp.key.sign(&own).replace("DUBOIS", "DUPONT");
                university.idp.respond_with(&request, now, &signed)
            }
            "for another service provider" => {
                sign(&[("saml/metadata</saml:Audience>", "saml</saml:Audience>")])
            }
            "of another identity provider" => {
                sign(&[("https://idp.example/saml</saml:Issuer>", "https://x</saml:Issuer>")])
            }
            "for another address" => sign(&[("Recipient=\"https://hub", "Recipient=\"https://x")]),
            "transient" => sign(&[("format:persistent", "format:transient")]),
            "unlisted class" => sign(&[("PasswordProtectedTransport", "Kerberos")]),
            _ => unreachable!(),
        };
        let page = university.finish(&browser, &response).await;
        assert_eq!(page.code(), code, "{attack}");
    }
}

#[actix_web::test]
async fn junk_is_refused_before_it_is_stored() {
    let university = University::start().await;
    let browser = university.hub.browser();
    let request = university.leave(&browser, &Authorize::by("bakery")).await;
    let [response, state] = university.respond(&request, &[]);
    let field = |name, value: &str| (name, value.to_owned());
    for (fields, status) in [
        ([field("SAMLResponse", "junk!"), state.clone()], 400),
        ([field("SAMLResponse", "PGEvPg=="), state.clone()], 400),
        ([response.clone(), field("RelayState", &"a".repeat(81))], 400),
        ([field("SAMLRequest", &response.1), state.clone()], 400),
        ([field("SAMLResponse", &"A".repeat(500_000)), state.clone()], 413),
    ] {
        assert_eq!(university.post(&fields).await.status, status);
    }
    let other = Form {
        action: "/connectors/amandier/saml/acs".into(),
        fields: [response, state].map(|(name, value)| (name.to_owned(), value)).into(),
        buttons: Vec::new(),
    };
    assert_eq!(browser.post(&other, Some("cross-site")).await.status, 404);
}

#[actix_web::test]
async fn a_flood_of_responses_from_one_network_is_refused() {
    let limits = "quotas = { failed_authentications_per_network = 5 }";
    let university = University::with_settings(limits, "").await;
    let browser = university.hub.browser();
    let request = university.leave(&browser, &Authorize::by("bakery")).await;
    let response = university.respond(&request, &[]);
    assert_eq!(university.post(&response).await.status, 303);
    assert_eq!(university.post(&response).await.status, 303);
    // 40 KB in base64 count as three.
    let end = "</saml:AttributeStatement>";
    let value = format!("<saml:AttributeValue>{}</saml:AttributeValue>", "a".repeat(27_000));
    let large = format!("<saml:Attribute Name=\"x\">{value}</saml:Attribute>{end}");
    let large = university.respond(&request, &[(end, &large)]);
    assert_eq!(university.post(&large).await.status, 303);
    let refused = university.post(&response).await;
    assert_eq!(refused.status, 429, "{}", refused.body);
}

/// Strangers of many networks post responses for no login.
#[actix_web::test]
async fn a_flood_of_the_response_store_by_strangers_leaves_capacity_for_users() {
    let idp = FakeIdentityProvider::new();
    let (pem, certificate) = hub_key_pem();
    let hub = TestHub::edited(|folder| {
        put(folder, "connectors/university.toml", CONNECTOR.as_bytes());
        put(folder, "saml/idp.xml", idp.metadata("").as_bytes());
        put(folder, "secrets/connectors/university/saml.pem", pem.as_bytes());
        let path = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let proxies =
            "trusted_proxies = [\"10.0.0.0/8\"], client_address_header = \"x-forwarded-for\"";
        let text = text.replace("public = {", &format!("public = {{ {proxies},"));
        let quotas = "quotas.failed_authentications_per_network = 32";
        std::fs::write(&path, format!("{text}\n{quotas}\n")).unwrap();
    })
    .await;
    let university = University { idp, certificate, hub };
    let body = |bytes| {
        let namespace = "urn:oasis:names:tc:SAML:2.0:protocol";
        // The worst case: the JSON of the record has two bytes for each.
        let text = "\"".repeat(bytes);
        let xml = format!("<p:Response xmlns:p=\"{namespace}\">{text}</p:Response>");
        let mut body = Serializer::new(String::new());
        body.append_pair("SAMLResponse", &openssl::base64::encode_block(xml.as_bytes()));
        body.append_pair("RelayState", "made-up").finish()
    };
    let (small, large) = (body(1), body(190_000));
    let post = async |address: &str, body: &str| {
        let request = TestRequest::post()
            .uri("/connectors/university/saml/acs")
            .peer_addr("10.0.0.1:40000".parse().unwrap())
            .insert_header(("x-forwarded-for", address))
            .insert_header(("content-type", "application/x-www-form-urlencoded"))
            .set_payload(body.to_owned());
        university.hub.send(request).await.status
    };
    let mut stored = 0;
    for network in 0..250 {
        let address = format!("203.0.113.{network}");
        stored += usize::from(post(&address, &large).await == 303);
    }
    assert!((150..200).contains(&stored), "{stored} of 250 responses: half of the capacity");
    let each = [post("198.51.100.7", &small).await, post("198.51.100.7", &small).await];
    assert_eq!(each, [303, 303], "another network");
    assert_eq!(post("198.51.100.7", &small).await, 429, "each counts sixteen times");
    let browser = university.hub.browser();
    let request = university.leave(&browser, &Authorize::by("bakery")).await;
    let page = university.finish(&browser, &university.respond(&request, &[])).await;
    page.consent().await.received();
}

#[actix_web::test]
async fn refused_requests_to_the_routes_are_recorded() {
    let audit = "[audit]\nsink = \"file\"\nnode = \"hub-1\"\n";
    let university = University::with_settings(audit, "").await;
    let routes = [
        ("GET", "request", "step_refused"),
        ("POST", "acs", "callback_refused"),
        ("GET", "logout", "callback_refused"),
    ];
    for (refused, (method, route, event)) in (1..).zip(routes) {
        let path = format!("/connectors/university/saml/{route}?state=x&state=y");
        let request = TestRequest::default().method(method.parse().unwrap()).uri(&path);
        let request = request.insert_header(("content-type", "text/plain")).set_payload("state=x");
        let answer = university.hub.send(request).await;
        assert!(answer.status >= 400, "{path}: {}", answer.status);
        let names = university.hub.audit_event_names();
        assert_eq!((names.len(), names.last().unwrap().as_str()), (refused, event), "{path}");
    }
}
