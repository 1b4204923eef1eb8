//! Logout tokens of an identity provider: which sessions they end, and what forged, replayed and
//! foreign ones do not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::test::TestRequest;
use josekit::jwe::{JweHeader, RSA_OAEP_256};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsHeader};
use passerelle_protocol::catalogue::ErrorCode;
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded::Serializer;

use super::receiver::{Receiver, register};
use crate::browser::Browser;
use crate::fake_server::{FakeResponse, FakeServer};
use crate::hub::{Answer, TestHub};
use crate::service::{Authorize, Tokens};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// An identity provider that signs what the test says.
struct Idp {
    server: FakeServer,
    key: Jwk,
    id_token: Arc<Mutex<String>>,
    /// The header `Date` of its documents, if any.
    date: Arc<Mutex<Option<String>>>,
}

impl Idp {
    async fn start() -> Self {
        let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
        key.set_key_id("k1");
        let mut public = serde_json::to_value(key.to_public_key().unwrap()).unwrap();
        public["kid"] = json!("k1");
        let id_token: Arc<Mutex<String>> = Arc::default();
        let (base, next) = (Arc::new(Mutex::new(String::new())), Arc::clone(&id_token));
        let own_base = Arc::clone(&base);
        let date: Arc<Mutex<Option<String>>> = Arc::default();
        let shown = Arc::clone(&date);
        let server = FakeServer::start(move |request| {
            let base = own_base.lock().unwrap().clone();
            let mut response = match request.target.as_str() {
                "/.well-known/openid-configuration" => FakeResponse::json(&json!({
                    "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"), "jwks_uri": format!("{base}/jwks"),
                    "response_types_supported": ["code"], "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["ES256"],
                    "backchannel_logout_supported": true,
                })),
                "/jwks" => FakeResponse::json(&json!({ "keys": [public] })),
                "/token" => FakeResponse::json(&json!({
                    "access_token": "at", "token_type": "Bearer", "id_token": *next.lock().unwrap(),
                })),
                _ => FakeResponse::status(404),
            };
            response.headers.extend(shown.lock().unwrap().clone().map(|date| ("date", date)));
            response
        })
        .await;
        *base.lock().unwrap() = server.base();
        Self { server, key, id_token, date }
    }

    fn connector(&self, more: &str) -> String {
        format!(
            r#"
name = {{ en = "Other account" }}
identity = "verified"
levels = {{ lowest = "eidas1", highest = "eidas1" }}
acr = {{ eidas1 = ["eidas1"] }}
[kind.oidc]
issuer = "{}"
client_id = "hub"
client_secret = {{ env = "CLIENT_SECRET" }}
insecure_http = true
internal_hosts = ["127.0.0.1"]
{more}
"#,
            self.server.base()
        )
    }

    fn sign(&self, key: &Jwk, claims: &Value) -> String {
        let mut header = JwsHeader::new();
        header.set_key_id("k1");
        let signer = ES256.signer_from_jwk(key).unwrap();
        josekit::jws::serialize_compact(claims.to_string().as_bytes(), &header, &signer).unwrap()
    }

    /// Signs the browser in at a service as Angela, in the session `sid`.
    async fn sign_in(&self, browser: &Browser<'_>, service: &str, sid: &str) -> Tokens {
        let page = self.reach_consent(browser, service, sid).await;
        let received = page.consent().await.received();
        browser.hub.tokens(service, &received).await
    }

    async fn reach_consent<'b>(
        &self,
        browser: &'b Browser<'b>,
        service: &str,
        sid: &str,
    ) -> crate::browser::Page<'b> {
        let page = browser.authorize(&Authorize::by(service)).await;
        let away = Url::parse(&page.choose("other").await.url).unwrap();
        let param = |name: &str| {
            away.query_pairs().find(|(known, _)| known == name).unwrap().1.into_owned()
        };
        let now = browser.hub.now().seconds();
        let claims = json!({
            "iss": self.server.base(), "sub": "angela-there", "aud": "hub", "sid": sid, "acr": "eidas1",
            "iat": now, "auth_time": now, "exp": now + 60, "nonce": param("nonce"),
            "given_name": "Angela Claire Louise", "family_name": "DUBOIS", "birthdate": "1962-08-24",
            "gender": "female", "birthplace": "75107", "birthcountry": "99100",
            "email": "angela@example.org",
        });
        *self.id_token.lock().unwrap() = self.sign(&self.key, &claims);
        browser.open(&format!("/api/v2/callback/other?code=c&state={}", param("state"))).await
    }

    fn logout_token(&self, hub: &TestHub, more: &Value) -> String {
        self.sign(&self.key, &self.logout_claims(hub, more))
    }

    fn logout_claims(&self, hub: &TestHub, more: &Value) -> Value {
        let now = hub.now().seconds();
        let mut claims = json!({
            "iss": self.server.base(), "aud": "hub", "iat": now, "exp": now + 120,
            "jti": format!("jti-{}", now), "events": { EVENT: {} },
        });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    }
}

async fn send(hub: &TestHub, token: &str) -> Answer {
    send_to(hub, "other", token).await
}

async fn send_to(hub: &TestHub, connector: &str, token: &str) -> Answer {
    let path = format!("/api/v2/backchannel-logout/{connector}");
    hub.post_form(&path, &[("logout_token", token)]).await
}

async fn is_alive(hub: &TestHub, tokens: &Tokens) -> bool {
    hub.get_userinfo(&tokens.access_token).await.status == 200
}

#[track_caller]
fn assert_rejected(answer: &Answer, code: &str) {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &body["error"]), (400, &json!("invalid_request")), "{body}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let entry = ErrorCode::find(code).unwrap().entry();
    assert_eq!(body["error_description"], entry.description);
}

const ON: &str = "backchannel_logout = true";

async fn start(more: &str) -> (Idp, TestHub) {
    let idp = Idp::start().await;
    let files = [("connectors/other.toml", idp.connector(more))];
    let hub = TestHub::with_files("lifetimes = { access_token_seconds = 3600 }", &files).await;
    (idp, hub)
}

#[actix_web::test]
async fn an_upstream_logout_ends_the_sessions_of_its_sid_and_informs_their_service_providers() {
    let (idp, receiver) = (Idp::start().await, Receiver::start().await);
    let hub = TestHub::edited(|folder| {
        crate::federation::put(folder, "connectors/other.toml", idp.connector(ON).as_bytes());
        register(folder, "bakery", &receiver.uri("bakery"));
    })
    .await;
    let (one, other) = (hub.browser(), hub.browser());
    let ended = idp.sign_in(&one, "bakery", "sid-1").await;
    let goes_on = idp.sign_in(&other, "bakery", "sid-2").await;
    let answer = send(&hub, &idp.logout_token(&hub, &json!({ "sid": "sid-1" }))).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!is_alive(&hub, &ended).await && is_alive(&hub, &goes_on).await);
    receiver.wait_for(1).await;
    let (_, token) = &receiver.sent_to("bakery")[0];
    assert_eq!(hub.verified_claims(token).await["sid"], ended.id_token["sid"]);
    let page = one.authorize(&Authorize::by("bakery").with("prompt", "consent")).await;
    assert!(page.is_choice(), "the session is over");
    assert!(hub.metrics.render().contains("passerelle_logouts_total{outcome=\"upstream\"} 1"));

    // By sub alone: every session of the user.
    hub.advance(Duration::from_secs(1));
    let again = idp.sign_in(&one, "bakery", "sid-3").await;
    let token = idp.logout_token(&hub, &json!({ "sub": "angela-there" }));
    assert_eq!(send(&hub, &token).await.status, 200);
    assert!(!is_alive(&hub, &again).await && !is_alive(&hub, &goes_on).await);
    receiver.wait_for(3).await;
}

#[actix_web::test]
async fn a_replayed_logout_token_is_rejected() {
    let (idp, hub) = start(ON).await;
    let token = idp.logout_token(&hub, &json!({ "sub": "angela-there" }));
    assert_eq!(send(&hub, &token).await.status, 200, "whether or not there is a session");
    let browser = hub.browser();
    let tokens = idp.sign_in(&browser, "bakery", "sid-1").await;
    assert_rejected(&send(&hub, &token).await, "Y190612");
    assert!(is_alive(&hub, &tokens).await);
}

#[actix_web::test]
async fn a_forged_a_foreign_and_a_confused_logout_token_end_nothing() {
    let (idp, hub) = start(ON).await;
    let browser = hub.browser();
    let tokens = idp.sign_in(&browser, "bakery", "sid-1").await;
    let names = json!({ "sid": "sid-1", "sub": "angela-there" });
    let with = |more: Value| {
        let mut claims = names.clone();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        idp.logout_token(&hub, &claims)
    };
    let stranger = {
        let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
        key.set_key_id("k1");
        idp.sign(&key, &idp.logout_claims(&hub, &names))
    };
    let id_token = idp.id_token.lock().unwrap().clone();
    let none = {
        let claims = idp.logout_claims(&hub, &names).to_string();
        let part = |text: &str| {
            use base64::Engine as _;
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
        };
        format!("{}.{}.", part("{\"alg\":\"none\"}"), part(&claims))
    };
    for (token, code) in [
        (stranger, "Y190604"),
        (none, "Y190603"),
        (id_token, "Y190609"),
        (with(json!({ "nonce": "n" })), "Y190610"),
        (with(json!({ "aud": "another" })), "Y190607"),
        (with(json!({ "iss": "https://evil.example" })), "Y190606"),
        (with(json!({ "exp": 1 })), "Y190608"),
        (tokens.raw_id_token.clone(), "Y190604"),
        (String::new(), "Y190601"),
    ] {
        assert_rejected(&send(&hub, &token).await, code);
    }
    let (a, b) = (with(json!({ "jti": "a" })), with(json!({ "jti": "b" })));
    let path = "/api/v2/backchannel-logout/other";
    let twice = hub.post_form(path, &[("logout_token", &a), ("logout_token", &b)]).await;
    assert_rejected(&twice, "Y190602");
    let json = TestRequest::post().uri(path).insert_header(("content-type", "application/json"));
    assert_rejected(&hub.send(json.set_payload("{}")).await, "Y193001");
    // The user of another session than the sid's.
    let other = with(json!({ "sub": "another" }));
    assert_eq!(send(&hub, &other).await.status, 200);
    assert!(is_alive(&hub, &tokens).await);
}

#[actix_web::test]
async fn a_logout_token_that_fails_by_the_hubs_own_clock_names_that_clock() {
    let idp = Idp::start().await;
    let files =
        ["other", "second"].map(|name| (format!("connectors/{name}.toml"), idp.connector(ON)));
    let files = files.each_ref().map(|(path, text)| (path.as_str(), text.clone()));
    let hub = TestHub::with_files("", &files).await;
    let behind = i64::try_from(hub.now().seconds()).unwrap() - 3600;
    *idp.date.lock().unwrap() =
        chrono::DateTime::from_timestamp(behind, 0).map(|date| date.to_rfc2822());
    let expired = idp.logout_token(&hub, &json!({ "sid": "sid-1", "exp": behind + 120 }));
    hub.browser().authorize(&Authorize::by("bakery")).await.choose("other").await;
    hub.browser().authorize(&Authorize::by("bakery")).await.choose("second").await;
    let answer = send(&hub, &expired).await;
    let description = ErrorCode::HubClock.entry().description;
    assert!(answer.status == 503 && answer.body.contains(description), "{}", answer.body);
}

#[actix_web::test]
async fn a_connector_without_the_setting_accepts_no_logout_token() {
    let (idp, hub) = start("").await;
    let browser = hub.browser();
    let tokens = idp.sign_in(&browser, "bakery", "sid-1").await;
    let token = idp.logout_token(&hub, &json!({ "sid": "sid-1" }));
    for connector in ["other", "amandier", "unknown", "%2e%2e"] {
        let answer = send_to(&hub, connector, &token).await;
        assert_eq!(answer.status, 404, "{connector}");
        assert!(answer.header("content-type").starts_with("application/json"), "{connector}");
    }
    let get = TestRequest::get().uri("/api/v2/backchannel-logout/other");
    assert_eq!(hub.send(get).await.status, 405);
    assert!(is_alive(&hub, &tokens).await);
}

/// The person was on the last page when the identity provider ended the session.
#[actix_web::test]
async fn a_login_in_progress_creates_no_session_after_an_upstream_logout() {
    let (idp, hub) = start(ON).await;
    let browser = hub.browser();
    let page = idp.reach_consent(&browser, "bakery", "sid-1").await;
    hub.advance(Duration::from_secs(2));
    let token = idp.logout_token(&hub, &json!({ "sid": "sid-1" }));
    assert_eq!(send(&hub, &token).await.status, 200);
    page.consent().await.assert_error(403, "Y420012");
    assert_eq!(browser.session(), None);
    // A new authentication, in the same session there, is not from before.
    idp.sign_in(&hub.browser(), "bakery", "sid-1").await;
}

/// Returns a request with a logout token from this address.
fn from(address: &str, token: &str) -> TestRequest {
    let body = Serializer::new(String::new()).append_pair("logout_token", token).finish();
    TestRequest::post()
        .uri("/api/v2/backchannel-logout/other")
        .peer_addr(format!("{address}:4000").parse().unwrap())
        .insert_header(("content-type", "application/x-www-form-urlencoded"))
        .set_payload(body)
}

#[actix_web::test]
async fn a_flood_of_forged_logout_tokens_from_one_network_is_limited() {
    let idp = Idp::start().await;
    let files = [("connectors/other.toml", idp.connector(ON))];
    let settings = "quotas = { failed_authentications_per_network = 3 }";
    let hub = TestHub::with_files(settings, &files).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(hub.send(from("198.51.100.7", "a.b.c")).await.status);
    }
    assert_eq!(statuses, [400, 400, 400, 429, 429]);
    let token = idp.logout_token(&hub, &json!({ "sub": "angela-there" }));
    let good = hub.send(from("198.51.100.7", &token)).await;
    assert_eq!(good.status, 200, "a good one always passes");
    let huge = hub.send(from("203.0.113.7", &"x".repeat(200_000))).await;
    assert_eq!(huge.status, 413);
}

/// Attack: anyone encrypts to the hub's published key, and each token costs the hub a decryption.
#[actix_web::test]
async fn a_flood_of_forged_encrypted_logout_tokens_is_refused_before_decryption() {
    let idp = Idp::start().await;
    let connector =
        idp.connector(&format!("{ON}\nid_token_encrypted_response_alg = \"RSA-OAEP-256\""));
    let settings = "quotas = { failed_authentications_per_network = 3 }";
    let hub = TestHub::with_files(settings, &[("connectors/other.toml", connector)]).await;
    let key = encryption_key(&hub).await;
    let encrypt = |content: &str| encrypt_to(&key, content);
    let flooder = "198.51.100.7";
    let good = || encrypt(&idp.logout_token(&hub, &json!({ "sub": "angela-there" })));
    assert_eq!(hub.send(from(flooder, &good())).await.status, 200);
    hub.advance(Duration::from_secs(1));
    for status in [400, 400, 400, 429] {
        assert_eq!(hub.send(from(flooder, &encrypt("a.b.c"))).await.status, status);
    }
    let refused = hub.send(from(flooder, &good())).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "20"), "not even decrypted");
    let signed = idp.logout_token(&hub, &json!({ "sub": "angela-there", "jti": "signed" }));
    assert_eq!(hub.send(from(flooder, &signed)).await.status, 200, "costs no decryption");
    assert_eq!(hub.send(from("203.0.113.7", &good())).await.status, 200, "another network");
    hub.advance(Duration::from_secs(20));
    assert_eq!(hub.send(from(flooder, &good())).await.status, 200);
}

/// Attack: anyone can start a login, and then each made-up response costs the hub a decryption.
#[actix_web::test]
async fn a_flood_of_forged_encrypted_authorization_responses_is_refused_before_decryption() {
    let idp = Idp::start().await;
    let connector = idp.connector(
        "authorization_signed_response_alg = \"ES256\"\nauthorization_encrypted_response_alg = \"RSA-OAEP-256\"",
    );
    let settings = "quotas = { failed_authentications_per_network = 3 }";
    let hub = TestHub::with_files(settings, &[("connectors/other.toml", connector)]).await;
    let key = encryption_key(&hub).await;
    let callback = |address: &str, jwt: &str| {
        let uri = format!("/api/v2/callback/other?response={}", encrypt_to(&key, jwt));
        TestRequest::get().uri(&uri).peer_addr(format!("{address}:4000").parse().unwrap())
    };
    let (attacker, user) = (hub.browser(), hub.browser());
    let own = start_login(&attacker).await;
    let state = start_login(&user).await;
    let flooder = "198.51.100.7";
    // Not a JWT, and one with a state that no login of the attacker's browser expects.
    let unknown = idp.sign(&idp.key, &json!({ "state": state }));
    for (jwt, status) in [("garbage", 400), (&unknown, 400), ("garbage", 400), (&unknown, 429)] {
        let answer = attacker.send(callback(flooder, jwt)).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    let claims = json!({
        "iss": idp.server.base(), "aud": "hub", "exp": hub.now().seconds() + 60, "state": state,
        "error": "access_denied",
    });
    let good = idp.sign(&idp.key, &claims);
    let refused = user.send(callback(flooder, &good)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "20"), "not even decrypted");
    hub.advance(Duration::from_secs(20));
    assert_eq!(user.send(callback(flooder, &good)).await.status, 303, "the login goes on");
    // One with the state of the attacker's own login: at first it closes the attempt.
    hub.advance(Duration::from_secs(60));
    let own = idp.sign(&idp.key, &json!({ "state": own }));
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(attacker.send(callback("198.51.100.9", &own)).await.status);
    }
    assert_eq!(answers[4], 429, "{answers:?}");
}

/// Attack: a flood from the network of a user makes the hub refuse, and lose, the user's posted
/// response.
#[actix_web::test]
async fn a_posted_response_that_the_limit_of_its_network_refuses_can_be_repeated() {
    let idp = Idp::start().await;
    let connector = idp.connector(
        "response_mode = \"form_post\"\nauthorization_signed_response_alg = \"ES256\"\nauthorization_encrypted_response_alg = \"RSA-OAEP-256\"",
    );
    let settings = "quotas = { failed_authentications_per_network = 3 }";
    let hub = TestHub::with_files(settings, &[("connectors/other.toml", connector)]).await;
    let key = encryption_key(&hub).await;
    let (attacker, user) = (hub.browser(), hub.browser());
    start_login(&attacker).await;
    let state = start_login(&user).await;
    let send = async |browser: &Browser<'_>, uri: &str| {
        let request = TestRequest::get().uri(uri);
        browser.send(request.peer_addr("198.51.100.7:4000".parse().unwrap())).await
    };
    let claims = json!({
        "iss": idp.server.base(), "aud": "hub", "exp": hub.now().seconds() + 60, "state": state,
        "error": "access_denied",
    });
    let response = encrypt_to(&key, &idp.sign(&idp.key, &claims));
    let body = Serializer::new(String::new()).append_pair("response", &response).finish();
    let posted = TestRequest::post()
        .uri("/api/v2/callback/other")
        .insert_header(("content-type", "application/x-www-form-urlencoded"))
        .set_payload(body);
    let next = hub.browser().send(posted).await.header("location").to_owned();
    assert!(next.contains("pending="), "{next}");
    for status in [400, 400, 400, 429] {
        let forged = encrypt_to(&key, "garbage");
        let uri = format!("/api/v2/callback/other?response={forged}");
        assert_eq!(send(&attacker, &uri).await.status, status);
    }
    let refused = send(&user, &next).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "20"));
    hub.advance(Duration::from_secs(20));
    assert_eq!(send(&user, &next).await.status, 303, "the login goes on");
    assert_eq!(send(&user, &next).await.status, 400, "a used response is removed");
}

/// Returns the key that authorization responses are encrypted to.
async fn encryption_key(hub: &TestHub) -> Value {
    let keys = hub.send(TestRequest::get().uri("/api/v2/client/jwks")).await.json();
    let is_ours = |key: &&Value| key["alg"] == "RSA-OAEP-256";
    keys["keys"].as_array().unwrap().iter().find(is_ours).unwrap().clone()
}

/// Sends the browser to the identity provider. Returns the `state`.
async fn start_login(browser: &Browser<'_>) -> String {
    let away = browser.authorize(&Authorize::by("bakery")).await.choose("other").await.url;
    let away = Url::parse(&away).unwrap();
    away.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
}

fn encrypt_to(key: &Value, content: &str) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption("A256GCM");
    header.set_key_id(key["kid"].as_str().unwrap());
    let key = Jwk::from_map(key.as_object().unwrap().clone()).unwrap();
    let encrypter = RSA_OAEP_256.encrypter_from_jwk(&key).unwrap();
    josekit::jwe::serialize_compact(content.as_bytes(), &header, &encrypter).unwrap()
}
