//! Dynamic client registration over HTTP (RFC 7591, RFC 7592; `docs/client-registration.md`).

mod attacks;
mod console;
mod operator_attacks;
mod operators;
mod profile;
mod shared_store;

use actix_web::test::TestRequest;
use josekit::jwk::Jwk;
use josekit::jws::{JwsHeader, JwsSigner, PS256, RS256};
use josekit::jwt::{self, JwtPayload};
use serde_json::{Value, json};

use super::federation::BASE;
use super::hub::{Answer, TestHub};
use super::service::Authorize;

pub(super) const OPEN: &str =
    "\n[client_registration]\nopen = \"immediate\"\nscopes = [\"openid\", \"profile\"]\n";
pub(super) const BY_APPROVAL: &str = "\n[client_registration]\nopen = \"approval\"\n";
pub(super) const BY_TOKEN: &str = "\n[client_registration]\n";
const REDIRECT_URI: &str = "https://shop.example/callback?shop=1";

/// A registered client, as it knows itself.
pub(super) struct TestClient(pub Value);

impl TestClient {
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.0))
    }

    pub(crate) fn id(&self) -> &str {
        self.text("client_id")
    }

    pub(crate) fn request(&self, scope: &str) -> Authorize {
        Authorize::minimal(self.id(), scope).with("redirect_uri", REDIRECT_URI)
    }

    /// The page that a login of this client starts with.
    pub(crate) async fn first_page(&self, hub: &TestHub) -> Answer {
        hub.browser().authorize(&self.request("openid")).await.answer
    }

    async fn redeem(&self, hub: &TestHub, code: &str) -> Answer {
        let fields =
            [("grant_type", "authorization_code"), ("redirect_uri", REDIRECT_URI), ("code", code)];
        let body =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let basic = openssl::base64::encode_block(
            format!("{}:{}", self.id(), self.text("client_secret")).as_bytes(),
        );
        let request = TestRequest::post()
            .uri("/api/v2/token")
            .insert_header(("content-type", "application/x-www-form-urlencoded"))
            .insert_header(("authorization", format!("Basic {basic}")));
        hub.send(request.set_payload(body)).await
    }

    /// Replaces the metadata, and the credentials by the new ones.
    pub(crate) async fn update(&mut self, hub: &TestHub, metadata: &Value) {
        let mut sent = metadata.clone();
        sent["client_id"] = self.0["client_id"].clone();
        let put = TestRequest::put().insert_header(("content-type", "application/json"));
        let answer = self.configure(hub, put.set_payload(sent.to_string())).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.0 = answer.json();
    }

    pub(crate) async fn configure(&self, hub: &TestHub, request: TestRequest) -> Answer {
        configure(hub, self.id(), self.text("registration_access_token"), request).await
    }
}

pub(super) async fn configure(
    hub: &TestHub,
    client_id: &str,
    token: &str,
    request: TestRequest,
) -> Answer {
    let bearer = ("authorization", format!("Bearer {token}"));
    hub.send(request.uri(&format!("/api/v2/register/{client_id}")).insert_header(bearer)).await
}

pub(super) fn metadata() -> Value {
    json!({ "redirect_uris": [REDIRECT_URI], "client_name": "Corner shop" })
}

/// The metadata of another developer.
pub(super) fn other_metadata() -> Value {
    json!({ "redirect_uris": ["https://kiosk.example/callback"], "client_name": "Kiosk" })
}

pub(super) async fn post(hub: &TestHub, token: Option<&str>, metadata: &Value) -> Answer {
    let mut request = TestRequest::post()
        .uri("/api/v2/register")
        .insert_header(("content-type", "application/json"));
    if let Some(token) = token {
        request = request.insert_header(("authorization", format!("Bearer {token}")));
    }
    hub.send(request.set_payload(metadata.to_string())).await
}

pub(super) async fn register(hub: &TestHub, token: Option<&str>, metadata: &Value) -> TestClient {
    let answer = post(hub, token, metadata).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), "no-store");
    TestClient(answer.json())
}

pub(super) fn error(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

async fn code(hub: &TestHub, client: &TestClient) -> String {
    let scope = "openid profile";
    let browser = hub.browser();
    let page = browser.authorize(&client.request(scope)).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    assert!(page.is_consent(), "a registered client gets nothing without consent");
    assert!(page.answer.body.contains("Corner shop"));
    page.consent().await.received().code().to_owned()
}

#[actix_web::test]
async fn a_client_registers_itself_and_signs_a_user_in() {
    let hub = TestHub::with(OPEN).await;
    let client = register(&hub, None, &metadata()).await;
    assert_eq!(client.text("token_endpoint_auth_method"), "client_secret_basic");
    assert_eq!(client.text("scope"), "openid profile");
    assert_eq!(client.text("client_uri"), "https://shop.example/");
    assert_eq!(client.text("registration_status"), "approved");
    assert_eq!(client.0["client_secret_expires_at"], 0);
    assert_eq!(
        client.text("registration_client_uri"),
        format!("{BASE}/api/v2/register/{}", client.id())
    );
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
    let tokens = tokens.json();
    let claims = hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await;
    assert_eq!(claims.json()["family_name"], "DUBOIS", "{}", claims.body);
}

#[actix_web::test]
async fn the_endpoint_exists_and_is_announced_only_where_it_is_on() {
    let discovery = "/api/v2/.well-known/openid-configuration";
    for (settings, is_on) in [("", false), (BY_TOKEN, true)] {
        let hub = TestHub::with(settings).await;
        let document = hub.send(TestRequest::get().uri(discovery)).await.json();
        let announced = document.get("registration_endpoint");
        let address = json!(format!("{BASE}/api/v2/register"));
        assert_eq!(announced, is_on.then_some(&address));
        let answer = post(&hub, None, &metadata()).await;
        let expected = if is_on { (401, "invalid_token") } else { (404, "invalid_request") };
        assert_eq!(error(&answer), (expected.0, expected.1.to_owned()), "{}", answer.body);
        if is_on {
            // RFC 6750 §3.1: a request without a token learns no error.
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            let wrong = post(&hub, Some("wrong"), &metadata()).await;
            assert_eq!(wrong.header("www-authenticate"), "Bearer error=\"invalid_token\"");
            let without = TestRequest::get().uri("/api/v2/register/dcr-x");
            let without = hub.send(without).await;
            assert_eq!(error(&without), (401, "invalid_token".into()));
            assert_eq!(without.header("www-authenticate"), "Bearer");
        }
    }
}

#[actix_web::test]
async fn a_client_reads_updates_and_deletes_its_registration() {
    let hub = TestHub::with(OPEN).await;
    let mut client = register(&hub, None, &metadata()).await;
    let read = client.configure(&hub, TestRequest::get()).await;
    assert_eq!(read.status, 200, "{}", read.body);
    let read = read.json();
    assert_eq!(read["registration_access_token"], client.0["registration_access_token"]);
    assert!(read.get("client_secret").is_none(), "the hub keeps its hash only");

    let mut update = metadata();
    update["client_id"] = client.0["client_id"].clone();
    update["client_name"] = json!("Corner shop and bar");
    let put = |update: &Value| {
        let json = ("content-type", "application/json");
        TestRequest::put().insert_header(json).set_payload(update.to_string())
    };
    let answer = client.configure(&hub, put(&update)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let next = answer.json();
    assert_eq!(next["client_name"], "Corner shop and bar");
    assert_ne!(next["registration_access_token"], client.0["registration_access_token"]);
    let outdated = client.configure(&hub, TestRequest::get()).await;
    assert_eq!(error(&outdated), (401, "invalid_token".into()), "the token was rotated");
    let secret = client.0["client_secret"].clone();
    client = TestClient(next);
    client.0["client_secret"] = secret;
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "the secret stays: {}", tokens.body);
    let access_token = tokens.json()["access_token"].as_str().unwrap().to_owned();

    for wrong in [json!({ "client_id": "bakery" }), json!({ "client_id": null })] {
        let mut update = update.clone();
        update["client_id"] = wrong["client_id"].clone();
        let answer = client.configure(&hub, put(&update)).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()));
    }
    let gone = client.configure(&hub, TestRequest::delete()).await;
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(hub.get_userinfo(&access_token).await.status, 401);
    let again = client.configure(&hub, TestRequest::get()).await;
    assert_eq!(error(&again), (401, "invalid_token".into()));
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 400);
}

#[actix_web::test]
async fn metadata_that_no_page_shows_is_not_registered() {
    let hub = TestHub::with(OPEN).await;
    let mut sent = metadata();
    for member in ["logo_uri", "policy_uri", "tos_uri"] {
        sent[member] = json!("https://shop.example/extra");
    }
    sent["grant_types"] = json!(["authorization_code", "refresh_token"]);
    let client = register(&hub, None, &sent).await;
    for member in ["logo_uri", "policy_uri", "tos_uri"] {
        assert!(client.0.get(member).is_none(), "{member}");
    }
    assert_eq!(client.0["grant_types"], json!(["authorization_code"]));
    let page = client.first_page(&hub).await;
    assert!(!page.body.contains("/extra"));
}

/// RFC 7591 §3.2.1: the response has what was registered instead of what was requested.
#[actix_web::test]
async fn a_client_that_asks_for_more_reads_in_the_answer_what_it_got() {
    let hub = TestHub::with(&format!("{OPEN}requests_per_network = 1000\n")).await;
    for (scope, granted) in [
        ("openid email profile phone offline_access", "openid profile"),
        ("profile", "openid profile"),
        ("https://api.example/read", "openid"),
        ("openid  profile", "openid profile"),
    ] {
        let mut sent = other_metadata();
        sent["redirect_uris"] = json!([format!("https://{}.example/cb", scope.len())]);
        sent["client_name"] = json!(format!("Kiosk {}", scope.len()));
        sent["scope"] = json!(scope);
        assert_eq!(register(&hub, None, &sent).await.text("scope"), granted, "{scope}");
    }
    let mut sent = metadata();
    for (member, value) in [
        ("grant_types", json!(["authorization_code", "refresh_token", "implicit"])),
        ("response_types", json!(["code", "code id_token"])),
        ("subject_type", json!("public")),
        ("default_acr_values", json!(["urn:mace:incommon:iap:silver", "eidas1"])),
        ("token_endpoint_auth_signing_alg", json!("ES256")),
        ("tls_client_auth_subject_dn", json!("CN=shop")),
        ("jwks_uri", json!("")),
        ("software_statement", json!("")),
    ] {
        sent[member] = value;
    }
    let client = register(&hub, None, &sent).await;
    assert_eq!(client.0["grant_types"], json!(["authorization_code"]));
    assert_eq!(client.0["response_types"], json!(["code"]));
    assert_eq!(client.0["subject_type"], "pairwise");
    assert_eq!(client.0["default_acr_values"], json!(["eidas1"]));
    for absent in ["token_endpoint_auth_signing_alg", "tls_client_auth_subject_dn", "jwks_uri"] {
        assert!(client.0.get(absent).is_none(), "{absent}: {}", client.0);
    }
    let tokens = client.redeem(&hub, &code(&hub, &client).await).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
}

/// RFC 7591 §3.2.1: under federation rules every ID token has `auth_time`.
#[actix_web::test]
async fn a_client_that_requires_auth_time_reads_that_its_id_tokens_have_it() {
    for (rules, sent, answered) in [
        ("openid", json!(true), json!(true)),
        ("openid", json!(false), json!(false)),
        ("openid", Value::Null, Value::Null),
        ("federation", json!(true), json!(true)),
        ("federation", json!(false), json!(true)),
        ("federation", Value::Null, json!(true)),
    ] {
        let hub = TestHub::with(&format!("{OPEN}rules = \"{rules}\"\n")).await;
        let mut metadata = metadata();
        metadata["require_auth_time"] = sent.clone();
        let mut client = register(&hub, None, &metadata).await;
        let read = client.0.clone();
        assert_eq!(read["require_auth_time"], answered, "{rules} {sent}");
        client.update(&hub, &read).await;
        assert_eq!(client.0["require_auth_time"], answered, "{rules} {sent}");
    }
}

/// OpenID Connect Dynamic Client Registration 1.0 §2: without an algorithm, any that both sides
/// support.
#[actix_web::test]
async fn a_client_without_registered_algorithms_signs_with_any_of_its_keys() {
    let hub = TestHub::with(&format!("{OPEN}requests_per_network = 1000\n")).await;
    let rsa = Jwk::generate_rsa_key(2048).unwrap();
    let mut sent = metadata();
    sent["token_endpoint_auth_method"] = json!("private_key_jwt");
    let member = |name: &str| rsa.parameter(name).unwrap().clone();
    let public = json!({ "kty": "RSA", "n": member("n"), "e": member("e") });
    sent["jwks"] = json!({ "keys": [public] });
    let client = register(&hub, None, &sent).await;
    assert!(client.0.get("token_endpoint_auth_signing_alg").is_none(), "{}", client.0);
    let signers: [(&str, Box<dyn JwsSigner>); 2] = [
        ("RS256", Box::new(RS256.signer_from_jwk(&rsa).unwrap())),
        ("PS256", Box::new(PS256.signer_from_jwk(&rsa).unwrap())),
    ];
    for (alg, signer) in &signers {
        let now = hub.now().seconds();
        let frame = json!({
            "iss": client.id(), "sub": client.id(), "aud": format!("{BASE}/api/v2"),
            "exp": now + 60, "iat": now, "jti": format!("assertion {alg}"),
        });
        let assertion = sign(&frame, &**signer);
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("grant_type", "authorization_code"),
                ("redirect_uri", REDIRECT_URI),
                ("code", "unknown"),
                ("client_assertion", &assertion),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ])
            .finish();
        let request = TestRequest::post()
            .uri("/api/v2/token")
            .insert_header(("content-type", "application/x-www-form-urlencoded"));
        let answer = hub.send(request.set_payload(body)).await;
        assert_eq!(error(&answer), (400, "invalid_grant".into()), "{alg}: {}", answer.body);
        let object = json!({
            "iss": client.id(), "aud": format!("{BASE}/api/v2"), "exp": now + 60, "iat": now,
            "client_id": client.id(), "response_type": "code", "scope": "openid",
            "redirect_uri": REDIRECT_URI, "state": "s".repeat(32), "nonce": "n".repeat(32),
            "jti": format!("object {alg}"),
        });
        let object = sign(&object, &**signer);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("client_id", client.id()), ("request", &object)])
            .finish();
        let request = TestRequest::get().uri(&format!("/api/v2/authorize?{query}"));
        let answer = hub.send(request).await;
        let location = answer.header("location");
        assert!(location.contains("/interaction/"), "{alg}: {location} {}", answer.body);
    }
}

fn sign(claims: &Value, signer: &dyn JwsSigner) -> String {
    let payload = JwtPayload::from_map(claims.as_object().unwrap().clone()).unwrap();
    jwt::encode_with_signer(&payload, &JwsHeader::new(), signer).unwrap()
}

#[actix_web::test]
async fn each_error_names_the_member_and_how_to_correct_it() {
    let hub = TestHub::with(&format!("{OPEN}requests_per_network = 1000\n")).await;
    let rows = [
        (json!({}), "invalid_redirect_uri", "redirect_uris"),
        (json!({ "redirect_uris": ["http://shop.example/"] }), "invalid_redirect_uri", "https"),
        (
            json!({ "redirect_uris": ["https://shop.example/#a"] }),
            "invalid_redirect_uri",
            "fragment",
        ),
        (
            json!({ "redirect_uris": ["https://*.shop.example/"] }),
            "invalid_redirect_uri",
            "redirect_uris",
        ),
        (json!({ "redirect_uris": ["shop:/cb"] }), "invalid_redirect_uri", "redirect_uris"),
        (
            json!({ "grant_types": ["client_credentials"] }),
            "invalid_client_metadata",
            "grant_types",
        ),
        (
            json!({ "token_endpoint_auth_method": "private_key_jwt" }),
            "invalid_client_metadata",
            "jwks",
        ),
        (
            json!({ "token_endpoint_auth_method": "magic" }),
            "invalid_client_metadata",
            "client_secret_basic",
        ),
        (json!({ "id_token_signed_response_alg": "none" }), "invalid_client_metadata", "ES256"),
        (
            json!({ "jwks": { "keys": [{ "kty": "oct", "k": "AAAA" }] } }),
            "invalid_client_metadata",
            "jwks",
        ),
        (
            json!({ "software_statement": "a.b.c" }),
            "invalid_software_statement",
            "software_statement",
        ),
        (
            json!({ "post_logout_redirect_uris": ["ftp://shop.example"] }),
            "invalid_client_metadata",
            "post_logout",
        ),
    ];
    for (change, oauth, word) in rows {
        let mut sent = metadata();
        if change == json!({}) {
            sent = json!({ "redirect_uris": [], "client_uri": "https://shop.example/" });
        }
        sent.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = post(&hub, None, &sent).await;
        assert_eq!(error(&answer), (400, oauth.into()), "{sent}: {}", answer.body);
        let description = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(description.contains(word) && description.contains("; "), "{description}");
        for word in ["insecure_http", "internal_hosts", ".toml", "file =", "[["] {
            assert!(!description.contains(word), "an operator's words: {description}");
        }
    }
    let typed = TestRequest::post().uri("/api/v2/register").set_payload("{}");
    assert_eq!(error(&hub.send(typed).await), (400, "invalid_client_metadata".into()));
    let large = json!({ "client_name": "x".repeat(40_000) });
    assert_eq!(error(&post(&hub, None, &large).await).0, 413);
}
