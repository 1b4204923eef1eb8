//! Client authentication of service providers at the token endpoint: every method, and the
//! attacks on each (R150 to R155, R201; RFC 6749, 2.3 and 5.2; RFC 7523;
//! RFC 9700, 2.5).

mod assertions;

use std::sync::LazyLock;
use std::time::Duration;

use actix_web::test::TestRequest;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::DateTime;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use passerelle_protocol::env::{Env, Timestamp};
use serde_json::{Value, json};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::federation::{BASE, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ISSUER: &str = "https://hub.example/api/v2";
const OLD: &str = "the old secret of the bank, of 32 characters";
const NEW: &str = "the new secret of the bank, of 32 characters";
const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);

static NOTARY: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
static STRANGER: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());

/// Starts a hub with further service providers: the chemist uses the header, the notary assertion_method
/// assertions, and the bank has two secrets with dates.
async fn hub() -> TestHub {
    TestHub::with_files("", &files()).await
}

/// Starts the same hub without the sandbox: its errors don't reveal the cause.
async fn production_hub() -> TestHub {
    TestHub::without_sandbox("", &files()).await
}

fn files() -> [(&'static str, String); 6] {
    let half_an_hour = HOUR / 2;
    let start = Env::system().now() + Duration::from_secs(24 * 3600);
    let rfc3339 = |at: Timestamp| {
        DateTime::from_timestamp_millis(at.millis().cast_signed()).unwrap().to_rfc3339()
    };
    let hash = |secret: &str| {
        openssl::sha::sha256(secret.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let bank = format!(
        "secrets = [{{ sha256 = \"{}\", not_after = {} }}, {{ sha256 = \"{}\", not_before = {} }}]",
        hash(OLD),
        rfc3339(start + 2 * HOUR + half_an_hour),
        hash(NEW),
        rfc3339(start + HOUR + half_an_hour),
    );
    let basic = "token_endpoint_auth_method = \"client_secret_basic\"\nsecrets = [{ env = \"CLIENT_SECRET\" }]";
    let keys = json!({ "keys": [published(&NOTARY, "notary-1")] }).to_string();
    let assertion_method =
        "token_endpoint_auth_method = \"private_key_jwt\"\njwks = { file = \"notary.jwks\" }";
    let audiences = format!(
        "{assertion_method}\nclient_assertion_audiences = [\"issuer\", \"token_endpoint\"]"
    );
    let surveyor = service("surveyor", &format!("rules = \"openid\"\n{assertion_method}")).replace(
        "\"given_name\", \"family_name\", \"birthdate\", \"gender\", \"birthplace\", \"birthcountry\", \"email\", \"preferred_username\"",
        "\"profile\"",
    );
    [
        ("service-providers/registrar.toml", service("registrar", &audiences)),
        ("service-providers/surveyor.toml", surveyor),
        ("service-providers/chemist.toml", service("chemist", basic)),
        ("service-providers/notary.toml", service("notary", assertion_method)),
        ("service-providers/bank.toml", service("bank", &bank)),
        ("notary.jwks", keys),
    ]
}

fn service(id: &str, more: &str) -> String {
    format!(
        r#"
client_id = "{id}"
name = {{ en = "The {id}" }}
home_page = "https://{id}.example/"
redirect_uris = ["{redirect}"]
scopes = ["openid", "given_name", "family_name", "birthdate", "gender", "birthplace", "birthcountry", "email", "preferred_username"]
{more}
"#,
        redirect = redirect_uri(id),
    )
}

fn published(key: &Jwk, kid: &str) -> Value {
    let member = |name: &str| key.parameter(name).unwrap().clone();
    json!({ "kty": "EC", "crv": "P-256", "x": member("x"), "y": member("y"), "kid": kid, "use": "sig" })
}

/// A token request of a service provider, without its code.
#[derive(Clone)]
struct TokenRequest {
    pairs: Vec<(String, String)>,
    authorization: Vec<String>,
}

impl TokenRequest {
    fn for_client(service: &str) -> Self {
        let pairs = [
            ("grant_type", "authorization_code"),
            ("redirect_uri", &redirect_uri(service)),
            ("code", "C"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { pairs, authorization: vec![] }
    }

    fn replace(mut self, name: &str, value: &str) -> Self {
        self.pairs.retain(|(known, _)| known != name);
        self.add(name, value)
    }

    fn add(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with_secret_post(self, id: &str, secret: &str) -> Self {
        self.add("client_id", id).add("client_secret", secret)
    }

    fn with_secret_basic(self, id: &str, secret: &str) -> Self {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        self.with_authorization_header(&format!(
            "Basic {}",
            STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)))
        ))
    }

    fn with_authorization_header(mut self, value: &str) -> Self {
        self.authorization.push(value.to_owned());
        self
    }

    fn with_assertion(self, assertion: &str) -> Self {
        self.add("client_assertion_type", JWT_BEARER).add("client_assertion", assertion)
    }

    async fn send_to_token_endpoint(&self, hub: &TestHub) -> Answer {
        self.send_to("/api/v2/token", hub).await
    }

    async fn send_to(&self, endpoint: &str, hub: &TestHub) -> Answer {
        let body = Serializer::new(String::new()).extend_pairs(&self.pairs).finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = TestRequest::post().uri(endpoint).insert_header(form).set_payload(body);
        let request = self.authorization.iter().fold(request, |request, value| {
            request.append_header(("authorization", value.as_str()))
        });
        hub.send(request).await
    }
}

/// Returns the claims of a valid assertion of the notary.
fn claims(hub: &TestHub, jti: &str) -> Value {
    let now = hub.now().seconds();
    json!({ "iss": "notary", "sub": "notary", "aud": ISSUER, "iat": now, "nbf": now, "exp": now + 60, "jti": jti })
}

fn with_member(mut object: Value, name: &str, value: Value) -> Value {
    match value {
        Value::Null => drop(object.as_object_mut().unwrap().remove(name)),
        value => object[name] = value,
    }
    object
}

fn header() -> Value {
    json!({ "alg": "ES256", "kid": "notary-1" })
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

fn signed(key: &Jwk, header: &Value, claims: &Value) -> String {
    let input = format!("{}.{}", encoded(header), encoded(claims));
    let signature = ES256.signer_from_jwk(key).unwrap().sign(input.as_bytes()).unwrap();
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

async fn code(hub: &TestHub, service: &str) -> String {
    let browser = hub.browser();
    browser.authorize(&Authorize::by(service)).await.finish_as("angela").await.code().to_owned()
}

#[track_caller]
fn assert_refused(answer: &Answer, status: u16, error: &str, what: &str) {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (answer.status, body["error"].as_str()),
        (status, Some(error)),
        "{what}: {}",
        answer.body
    );
    assert_eq!(answer.header("content-type"), "application/json; charset=utf-8", "{what}");
    assert_eq!(answer.header("cache-control"), "no-store", "{what}");
    assert_eq!(answer.header("pragma"), "no-cache", "{what}");
}

/// Returns what a client sees of a response, without its date.
fn response_without_date(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let mut headers: Vec<_> = headers.filter(|(name, _)| name != "date").collect();
    headers.sort();
    (answer.status, answer.body.clone(), headers)
}

#[actix_web::test]
async fn each_service_provider_redeems_by_its_registered_method() {
    let hub = hub().await;
    for (service, proof) in [
        ("bakery", TokenRequest::for_client("bakery").with_secret_post("bakery", SECRET)),
        ("chemist", TokenRequest::for_client("chemist").with_secret_basic("chemist", SECRET)),
        (
            "chemist",
            TokenRequest::for_client("chemist")
                .with_secret_basic("chemist", SECRET)
                .add("client_id", "chemist"),
        ),
        (
            "notary",
            TokenRequest::for_client("notary").with_assertion(&signed(
                &NOTARY,
                &header(),
                &claims(&hub, "a"),
            )),
        ),
        (
            "notary",
            TokenRequest::for_client("notary")
                .with_assertion(&signed(&NOTARY, &header(), &claims(&hub, "b")))
                .add("client_id", "notary"),
        ),
    ] {
        let answer =
            proof.replace("code", &code(&hub, service).await).send_to_token_endpoint(&hub).await;
        assert_eq!(answer.status, 200, "{service}: {}", answer.body);
    }
}

/// R153: the malformed parameter is named.
#[actix_web::test]
async fn a_request_with_ambiguous_client_authentication_is_malformed() {
    let hub = hub().await;
    let jwt = signed(&NOTARY, &header(), &claims(&hub, "a"));
    let request = TokenRequest::for_client;
    for (request, named) in [
        (request("bakery"), "client_id"),
        (request("bakery").add("client_id", "bakery"), "client_secret"),
        (
            request("bakery").with_secret_post("bakery", SECRET).add("client_id", "bakery"),
            "client_id",
        ),
        (
            request("bakery").with_secret_post("bakery", SECRET).add("client_secret", SECRET),
            "client_secret",
        ),
        (request("notary").add("client_assertion", &jwt), "client_assertion_type"),
        (request("notary").add("client_assertion_type", JWT_BEARER), "client_assertion"),
        (request("notary").with_assertion(&jwt).add("client_assertion", &jwt), "client_assertion"),
        (
            request("notary").with_assertion(&jwt).add("client_assertion_type", JWT_BEARER),
            "client_assertion_type",
        ),
        (
            request("bakery")
                .with_secret_post("bakery", SECRET)
                .with_secret_basic("bakery", SECRET),
            "more than one method",
        ),
        (
            request("chemist")
                .with_secret_post("chemist", SECRET)
                .with_secret_basic("chemist", SECRET),
            "more than one method",
        ),
        (
            request("notary").with_assertion(&jwt).add("client_secret", SECRET),
            "more than one method",
        ),
        (
            request("chemist").with_assertion(&jwt).with_secret_basic("chemist", SECRET),
            "more than one method",
        ),
        (
            request("chemist")
                .with_secret_basic("chemist", SECRET)
                .with_secret_basic("chemist", SECRET),
            "more than one method",
        ),
        (
            request("chemist").with_secret_basic("chemist", SECRET).add("client_id", "bakery"),
            "client_id",
        ),
        (request("notary").with_assertion(&jwt).add("client_id", "bakery"), "client_id"),
    ] {
        let answer = request.send_to_token_endpoint(&hub).await;
        assert_refused(&answer, 400, "invalid_request", named);
        assert!(answer.body.contains(named), "{named}: {}", answer.body);
        assert_eq!(answer.header("www-authenticate"), "", "{named}");
    }
}

/// Status, body and headers are the same for every cause.
#[actix_web::test]
async fn ids_and_methods_can_not_be_guessed_by_the_answer() {
    let hub = production_hub().await;
    let request = TokenRequest::for_client;
    let foreign = |claims: Value| signed(&STRANGER, &header(), &claims);
    let of_stranger = with_member(
        with_member(claims(&hub, "a"), "iss", "unknown".into()),
        "sub",
        "unknown".into(),
    );
    let of_bakery =
        with_member(with_member(claims(&hub, "a"), "iss", "bakery".into()), "sub", "bakery".into());
    let in_the_body = [
        (
            "wrong secret",
            request("bakery")
                .with_secret_post("bakery", "a wrong secret of more than 32 characters"),
        ),
        ("unknown client", request("bakery").with_secret_post("unknown", SECRET)),
        ("registered for the header", request("chemist").with_secret_post("chemist", SECRET)),
        ("registered for assertions", request("notary").with_secret_post("notary", SECRET)),
        ("signed by another", request("notary").with_assertion(&foreign(claims(&hub, "a")))),
        ("assertion of an unknown client", request("notary").with_assertion(&foreign(of_stranger))),
        ("assertion of one with a secret", request("bakery").with_assertion(&foreign(of_bakery))),
        ("no assertion at all", request("notary").with_assertion("x.y.z")),
        (
            "another kind of assertion",
            request("notary").with_assertion("x").replace("client_assertion_type", "urn:other"),
        ),
    ];
    let in_the_header = [
        (
            "wrong secret",
            request("chemist")
                .with_secret_basic("chemist", "a wrong secret of more than 32 characters"),
        ),
        ("unknown client", request("chemist").with_secret_basic("unknown", SECRET)),
        ("registered for the body", request("bakery").with_secret_basic("bakery", SECRET)),
        ("registered for assertions", request("notary").with_secret_basic("notary", SECRET)),
        ("not Basic", request("chemist").with_authorization_header("Bearer x")),
        ("not base64", request("chemist").with_authorization_header("Basic !")),
        (
            "no colon",
            request("chemist")
                .with_authorization_header(&format!("Basic {}", STANDARD.encode("chemist"))),
        ),
    ];
    for (requests, challenge) in
        [(in_the_body.as_slice(), ""), (&in_the_header, "Basic realm=\"token\"")]
    {
        let mut first = None;
        for (what, request) in requests {
            let answer = request.send_to_token_endpoint(&hub).await;
            assert_refused(&answer, 401, "invalid_client", what);
            assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
            let seen = response_without_date(&answer);
            assert_eq!(&seen, first.get_or_insert(seen.clone()), "{what} differs");
        }
    }
}

#[actix_web::test]
async fn a_failed_client_authentication_does_not_use_the_code() {
    let hub = hub().await;
    let code = code(&hub, "chemist").await;
    let request = TokenRequest::for_client("chemist").replace("code", &code);
    for guess in [
        request.clone().with_secret_basic("chemist", "wrong"),
        request.clone().with_secret_post("chemist", SECRET),
        request.clone(),
    ] {
        assert!([400, 401].contains(&guess.send_to_token_endpoint(&hub).await.status));
    }
    assert_eq!(
        request.with_secret_basic("chemist", SECRET).send_to_token_endpoint(&hub).await.status,
        200
    );
}

/// Both secrets are valid from 90 to 150 minutes after the start, without a restart.
#[actix_web::test]
async fn a_client_secret_is_replaced_while_both_are_valid() {
    let hub = production_hub().await;
    let half_an_hour = HOUR / 2;
    for (old, new) in [(400, 401), (400, 401), (400, 400), (401, 400)] {
        for (secret, status) in [(OLD, old), (NEW, new)] {
            let answer = TokenRequest::for_client("bank")
                .with_secret_post("bank", secret)
                .send_to_token_endpoint(&hub)
                .await;
            assert_eq!(answer.status, status, "{secret}: {}", answer.body);
        }
        hub.advance(if (old, new) == (400, 400) {
            HOUR
        } else {
            half_an_hour + HOUR / 4 + MILLISECOND
        });
    }
    let wrong = TokenRequest::for_client("bank")
        .with_secret_post("bank", "neither the one nor the other secret")
        .send_to_token_endpoint(&hub)
        .await;
    let expired = TokenRequest::for_client("bank")
        .with_secret_post("bank", OLD)
        .send_to_token_endpoint(&hub)
        .await;
    assert_eq!(
        response_without_date(&expired),
        response_without_date(&wrong),
        "only the operator learns that a secret was right once"
    );
}

#[actix_web::test]
async fn discovery_names_the_methods_and_algorithms() {
    let hub = hub().await;
    let document =
        hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await;
    let document: Value = serde_json::from_str(&document.body).unwrap();
    let methods = json!(["client_secret_post", "client_secret_basic", "private_key_jwt"]);
    assert_eq!(document["token_endpoint_auth_methods_supported"], methods);
    assert_eq!(
        document["token_endpoint_auth_signing_alg_values_supported"],
        json!(["ES256", "RS256", "PS256", "EdDSA"])
    );
}
