//! Tests the SAML identity provider of the demo by the checks of a hub.

use std::sync::LazyLock;

use actix_web::body::to_bytes;
use actix_web::test::{self, TestRequest};
use passerelle_jose::testing::sample_keys::T0;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_saml::authn_request::{AuthnRequest, Comparison};
use passerelle_saml::logout::read_logout_response;
use passerelle_saml::response::{
    Assertion, ExpectedResponse, ResponseError, SamlStatus, check_response, decode_response,
};

use super::*;

const HUB: &str = "http://localhost:9500";

static PROVIDER: LazyLock<ProviderData> = LazyLock::new(|| {
    let env = Env::new(Arc::new(ManualClock::at(T0)), Arc::new(SeededEntropy::new(7)));
    web::Data::new(DemoSamlIdentityProvider::new("http://localhost:9514", HUB, env).unwrap())
});

struct Answer {
    status: StatusCode,
    location: String,
    cookie: Option<Cookie<'static>>,
    body: String,
}

async fn call(request: TestRequest) -> Answer {
    let app = App::new().app_data(PROVIDER.clone()).configure(DemoSamlIdentityProvider::routes);
    let app = test::init_service(app).await;
    let request = request.insert_header(("accept-language", "en"));
    let answer = test::call_service(&app, request.to_request()).await;
    let location = answer.headers().get("location").map(|url| url.to_str().unwrap().to_owned());
    Answer {
        status: answer.status(),
        location: location.unwrap_or_default(),
        cookie: answer.response().cookies().next().map(Cookie::into_owned),
        body: String::from_utf8(to_bytes(answer.into_body()).await.unwrap().to_vec()).unwrap(),
    }
}

/// Returns the value of a hidden field.
fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, value) = page.split_once(&format!("name=\"{name}\" value=\"")).expect(page);
    value.split_once('"').unwrap().0
}

/// Returns the path and query of a signed message of the hub.
fn signed(location: &str, name: &str, xml: &str, key: &CertifiedKey) -> String {
    let location = Url::parse(location).unwrap();
    let message =
        RedirectMessage::new(&location, name, xml, Some("st/ate"), Some(REQUEST_ALGORITHM));
    let signature = REQUEST_ALGORITHM.sign(&key.private, message.signing_input()).unwrap();
    let url = message.with_signature(&signature);
    format!("{}?{}", url.path(), url.query().unwrap())
}

fn request<'a>(id: &'a str, consumer_url: &'a str, contexts: &'a [String]) -> AuthnRequest<'a> {
    AuthnRequest {
        id,
        issued_at: T0,
        destination: &PROVIDER.single_sign_on,
        issuer: &PROVIDER.hub.entity_id,
        qualify_issuer: false,
        consumer_url,
        force_authn: true,
        name_id_format: None,
        authn_contexts: contexts,
        comparison: Comparison::Exact,
        attribute_consuming_service: None,
        proxy_count: None,
        requester_id: None,
    }
}

/// Signs Jean in as the hub requests, and checks the response as the hub does.
async fn sign_in_jean(
    id: &str,
    class: &str,
    failure: &str,
) -> (Result<Assertion, ResponseError>, Option<Cookie<'static>>) {
    let xml = request(id, &PROVIDER.hub.consumer_url, &[class.to_owned()]).to_xml();
    let uri = signed(&PROVIDER.single_sign_on, "SAMLRequest", &xml, &PROVIDER.hub_key);
    let shown = call(TestRequest::get().uri(&uri)).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
    let form = format!("request={}&person=jean&failure={failure}", field(&shown.body, "request"));
    let post = || TestRequest::post().uri("/sign-in").set_payload(form.clone());
    let answer = call(post()).await;
    assert_eq!(call(post()).await.status, StatusCode::BAD_REQUEST, "a request is answered once");
    assert!(answer.body.contains(&format!("action=\"{}\"", PROVIDER.hub.consumer_url)));
    assert_eq!(field(&answer.body, "RelayState"), "st/ate");
    let response = decode_response(&field(&answer.body, "SAMLResponse").replace("&#43;", "+"));
    let key = VerificationKey::from_certificate(&PROVIDER.key.certificate.to_der().unwrap());
    let expected = ExpectedResponse {
        identity_provider: &PROVIDER.entity_id,
        service_provider: &PROVIDER.hub.entity_id,
        consumer_url: &PROVIDER.hub.consumer_url,
        request_id: id,
        requested_at: T0,
        force_authn: true,
        verification_keys: &[key.unwrap()],
        decryption_keys: &[],
        allow_cbc: false,
        scopes: &[],
    };
    (check_response(&response.unwrap(), &expected, T0), answer.cookie)
}

#[actix_web::test]
async fn a_person_signs_in_with_the_requested_class_and_out_at_the_hub() {
    let (assertion, cookie) = sign_in_jean("_one", CLASS, "").await;
    let assertion = assertion.unwrap();
    assert_eq!(assertion.authn_context, CLASS);
    assert_eq!(assertion.attributes["urn:oid:2.5.4.4"], ["LEFÈVRE"]);
    assert_eq!(assertion.attributes["birthdate"], ["1978-02-11"]);
    let home = || TestRequest::get().uri("/").cookie(cookie.clone().unwrap());
    assert!(call(home()).await.body.contains("your account “"), "a session");

    let message = LogoutMessage {
        id: "_out",
        issued_at: T0,
        destination: &PROVIDER.single_logout,
        issuer: &PROVIDER.hub.entity_id,
    };
    let index = assertion.session_index.as_deref();
    let xml = message.to_request(assertion.name_id.as_ref().unwrap(), index);
    let forged = signed(&PROVIDER.single_logout, "SAMLRequest", &xml, &PROVIDER.key);
    assert_eq!(call(TestRequest::get().uri(&forged)).await.status, StatusCode::BAD_REQUEST);
    assert!(call(home()).await.body.contains("your account “"), "still a session");

    let uri = signed(&PROVIDER.single_logout, "SAMLRequest", &xml, &PROVIDER.hub_key);
    let received = received_by_hub(&call(TestRequest::get().uri(&uri)).await.location);
    assert_eq!(received.relay_state.as_deref(), Some("st/ate"));
    assert_eq!(read_logout_response(&received.message, &hub_parties(), T0), Ok(true));
    let answer = received.message.parse().unwrap();
    assert_eq!(answer.root().attribute("InResponseTo"), Some("_out"));
    assert!(!call(home()).await.body.contains("your account “"), "no session");
}

#[actix_web::test]
async fn a_person_who_signs_out_at_the_identity_provider_is_signed_out_at_the_hub() {
    let (assertion, cookie) = sign_in_jean("_two", CLASS, "").await;
    let sign_out =
        || TestRequest::post().uri("/session/end/confirm").cookie(cookie.clone().unwrap());
    let forged = call(sign_out().insert_header(("sec-fetch-site", "cross-site"))).await;
    assert_eq!(forged.status, StatusCode::BAD_REQUEST);
    let received = received_by_hub(&call(sign_out()).await.location);
    let (message, by) = (&received.message, ContentDecryption::default());
    let request = SamlLogoutRequest::read(message, &hub_parties(), by, T0).unwrap();
    let assertion = assertion.unwrap();
    assert_eq!(Some(request.name_id), assertion.name_id);
    assert_eq!(request.session_indexes, [assertion.session_index.unwrap()]);
    assert_eq!(call(sign_out()).await.location, "", "the session has ended");
}

/// Verifies a message to the hub.
fn received_by_hub(location: &str) -> ReceivedMessage {
    let url = Url::parse(location).unwrap();
    let key = VerificationKey::from_certificate(&PROVIDER.key.certificate.to_der().unwrap());
    ReceivedMessage::verify(url.query().unwrap(), &[key.unwrap()]).unwrap()
}

fn hub_parties() -> LogoutParties<'static> {
    LogoutParties { sender: &PROVIDER.entity_id, logout_url: &PROVIDER.hub.logout_url }
}

#[actix_web::test]
async fn failures_that_the_person_chooses_reach_the_hub() {
    for (failure, status) in [
        ("cancel", SamlStatus::AuthnFailed),
        ("error", SamlStatus::Responder),
        ("level-too-low", SamlStatus::NoAuthnContext),
    ] {
        let (refused, cookie) = sign_in_jean(&format!("_{failure}"), CLASS, failure).await;
        assert_eq!(refused, Err(ResponseError::Status(status)), "{failure}");
        assert_eq!(cookie, None, "{failure}: no session");
    }
    let unknown_class = sign_in_jean("_class", "https://refeds.org/profile/mfa", "").await.0;
    assert_eq!(unknown_class, Err(ResponseError::Status(SamlStatus::NoAuthnContext)));
    let incomplete = sign_in_jean("_incomplete", CLASS, "missing-claim").await.0.unwrap();
    assert!(!incomplete.attributes.contains_key("birthdate"));
}

#[actix_web::test]
async fn requests_of_strangers_get_no_assertion() {
    let own = &PROVIDER.hub.consumer_url;
    for (consumer_url, key, is_accepted) in [
        (own.as_str(), &PROVIDER.hub_key, true),
        (own, &PROVIDER.key, false),
        ("https://evil.example/acs", &PROVIDER.hub_key, false),
    ] {
        let xml = request("_r", consumer_url, &[]).to_xml();
        let uri = signed(&PROVIDER.single_sign_on, "SAMLRequest", &xml, key);
        let answer = call(TestRequest::get().uri(&uri)).await;
        assert_eq!(answer.status == StatusCode::OK, is_accepted, "{consumer_url}");
        let unsigned = uri.split_once("&SigAlg").unwrap().0;
        let answer = call(TestRequest::get().uri(unsigned)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "unsigned");
    }
}
