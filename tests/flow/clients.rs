//! How service providers prove themselves at the token endpoint: every row of decisions 6 that is
//! about them, and the attacks on each method (R150 to R155, R201; RFC 6749, 2.3 and 5.2; RFC 7523;
//! RFC 9700, 2.5).

use std::sync::LazyLock;
use std::time::Duration;

use actix_web::test::TestRequest;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::DateTime;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use passerelle::env::{Env, Timestamp};
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

/// Beside the usual ones: the chemist uses the header, the notary signs, the bank has two secrets
/// with dates.
async fn hub() -> TestHub {
    let half_an_hour = HOUR / 2;
    let opens = Env::system().now() + Duration::from_secs(24 * 3600);
    let in_words = |at: Timestamp| {
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
        in_words(opens + 2 * HOUR + half_an_hour),
        hash(NEW),
        in_words(opens + HOUR + half_an_hour),
    );
    let basic = "token_endpoint_auth_method = \"client_secret_basic\"\nsecrets = [{ env = \"CLIENT_SECRET\" }]";
    let keys = json!({ "keys": [published(&NOTARY, "notary-1")] }).to_string();
    let signs =
        "token_endpoint_auth_method = \"private_key_jwt\"\njwks = { file = \"notary.jwks\" }";
    let lists = format!("{signs}\nclient_assertion_audiences = [\"issuer\", \"token_endpoint\"]");
    let plain = service("surveyor", &format!("rules = \"openid\"\n{signs}")).replace(
        "\"given_name\", \"family_name\", \"birthdate\", \"gender\", \"birthplace\", \"birthcountry\", \"email\", \"preferred_username\"",
        "\"profile\"",
    );
    let files = [
        ("service-providers/registrar.toml", service("registrar", &lists)),
        ("service-providers/surveyor.toml", plain),
        ("service-providers/chemist.toml", service("chemist", basic)),
        ("service-providers/notary.toml", service("notary", signs)),
        ("service-providers/bank.toml", service("bank", &bank)),
        ("notary.jwks", keys),
    ];
    TestHub::with_files("", &files).await
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

/// A token request of this service provider, its code left to be added.
#[derive(Clone)]
struct Redeem {
    pairs: Vec<(String, String)>,
    authorization: Vec<String>,
}

impl Redeem {
    fn of(service: &str) -> Self {
        let pairs = [
            ("grant_type", "authorization_code"),
            ("redirect_uri", &redirect_uri(service)),
            ("code", "C"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { pairs, authorization: vec![] }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.retain(|(known, _)| known != name);
        self.and(name, value)
    }

    fn and(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    fn post(self, id: &str, secret: &str) -> Self {
        self.and("client_id", id).and("client_secret", secret)
    }

    fn basic(self, id: &str, secret: &str) -> Self {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        self.header(&format!(
            "Basic {}",
            STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)))
        ))
    }

    fn header(mut self, value: &str) -> Self {
        self.authorization.push(value.to_owned());
        self
    }

    fn assertion(self, assertion: &str) -> Self {
        self.and("client_assertion_type", JWT_BEARER).and("client_assertion", assertion)
    }

    async fn at(&self, hub: &TestHub) -> Answer {
        self.to("/api/v2/token", hub).await
    }

    async fn to(&self, endpoint: &str, hub: &TestHub) -> Answer {
        let body = Serializer::new(String::new()).extend_pairs(&self.pairs).finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = TestRequest::post().uri(endpoint).insert_header(form).set_payload(body);
        let request = self.authorization.iter().fold(request, |request, value| {
            request.append_header(("authorization", value.as_str()))
        });
        hub.send(request).await
    }
}

/// What the notary signs at this moment: right in everything.
fn claims(hub: &TestHub, jti: &str) -> Value {
    let now = hub.now().seconds();
    json!({ "iss": "notary", "sub": "notary", "aud": ISSUER, "iat": now, "nbf": now, "exp": now + 60, "jti": jti })
}

fn changed(mut object: Value, name: &str, value: Value) -> Value {
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

/// Everything of an answer that a client can see, its date apart.
fn seen(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
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
        ("bakery", Redeem::of("bakery").post("bakery", SECRET)),
        ("chemist", Redeem::of("chemist").basic("chemist", SECRET)),
        ("chemist", Redeem::of("chemist").basic("chemist", SECRET).and("client_id", "chemist")),
        ("notary", Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &claims(&hub, "a")))),
        (
            "notary",
            Redeem::of("notary")
                .assertion(&signed(&NOTARY, &header(), &claims(&hub, "b")))
                .and("client_id", "notary"),
        ),
    ] {
        let answer = proof.with("code", &code(&hub, service).await).at(&hub).await;
        assert_eq!(answer.status, 200, "{service}: {}", answer.body);
    }
}

/// The first row of decisions 6's table (R153): the parameter is named.
#[actix_web::test]
async fn a_request_that_says_not_clearly_who_asks_is_malformed() {
    let hub = hub().await;
    let jwt = signed(&NOTARY, &header(), &claims(&hub, "a"));
    let of = Redeem::of;
    for (request, named) in [
        (of("bakery"), "client_id"),
        (of("bakery").and("client_id", "bakery"), "client_secret"),
        (of("bakery").post("bakery", SECRET).and("client_id", "bakery"), "client_id"),
        (of("bakery").post("bakery", SECRET).and("client_secret", SECRET), "client_secret"),
        (of("notary").and("client_assertion", &jwt), "client_assertion_type"),
        (of("notary").and("client_assertion_type", JWT_BEARER), "client_assertion"),
        (of("notary").assertion(&jwt).and("client_assertion", &jwt), "client_assertion"),
        (
            of("notary").assertion(&jwt).and("client_assertion_type", JWT_BEARER),
            "client_assertion_type",
        ),
        (of("bakery").post("bakery", SECRET).basic("bakery", SECRET), "more than one method"),
        (of("chemist").post("chemist", SECRET).basic("chemist", SECRET), "more than one method"),
        (of("notary").assertion(&jwt).and("client_secret", SECRET), "more than one method"),
        (of("chemist").assertion(&jwt).basic("chemist", SECRET), "more than one method"),
        (of("chemist").basic("chemist", SECRET).basic("chemist", SECRET), "more than one method"),
        (of("chemist").basic("chemist", SECRET).and("client_id", "bakery"), "client_id"),
        (of("notary").assertion(&jwt).and("client_id", "bakery"), "client_id"),
    ] {
        let answer = request.at(&hub).await;
        assert_refused(&answer, 400, "invalid_request", named);
        assert!(answer.body.contains(named), "{named}: {}", answer.body);
        assert_eq!(answer.header("www-authenticate"), "", "{named}");
    }
}

/// The second row: status, body and headers are the same, whatever it was that did not fit.
#[actix_web::test]
async fn ids_and_methods_can_not_be_guessed_by_the_answer() {
    let hub = hub().await;
    let of = Redeem::of;
    let foreign = |claims: Value| signed(&STRANGER, &header(), &claims);
    let of_nobody =
        changed(changed(claims(&hub, "a"), "iss", "nobody".into()), "sub", "nobody".into());
    let of_bakery =
        changed(changed(claims(&hub, "a"), "iss", "bakery".into()), "sub", "bakery".into());
    let in_the_body = [
        ("wrong secret", of("bakery").post("bakery", "a wrong secret of more than 32 characters")),
        ("unknown client", of("bakery").post("nobody", SECRET)),
        ("registered for the header", of("chemist").post("chemist", SECRET)),
        ("registered for assertions", of("notary").post("notary", SECRET)),
        ("signed by another", of("notary").assertion(&foreign(claims(&hub, "a")))),
        ("assertion of an unknown client", of("notary").assertion(&foreign(of_nobody))),
        ("assertion of one with a secret", of("bakery").assertion(&foreign(of_bakery))),
        ("no assertion at all", of("notary").assertion("x.y.z")),
        (
            "another kind of assertion",
            of("notary").assertion("x").with("client_assertion_type", "urn:other"),
        ),
    ];
    let in_the_header = [
        (
            "wrong secret",
            of("chemist").basic("chemist", "a wrong secret of more than 32 characters"),
        ),
        ("unknown client", of("chemist").basic("nobody", SECRET)),
        ("registered for the body", of("bakery").basic("bakery", SECRET)),
        ("registered for assertions", of("notary").basic("notary", SECRET)),
        ("not Basic", of("chemist").header("Bearer x")),
        ("not base64", of("chemist").header("Basic !")),
        ("no colon", of("chemist").header(&format!("Basic {}", STANDARD.encode("chemist")))),
    ];
    for (requests, challenge) in
        [(in_the_body.as_slice(), ""), (&in_the_header, "Basic realm=\"token\"")]
    {
        let mut first = None;
        for (what, request) in requests {
            let answer = request.at(&hub).await;
            assert_refused(&answer, 401, "invalid_client", what);
            assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
            let seen = seen(&answer);
            assert_eq!(&seen, first.get_or_insert(seen.clone()), "{what} differs");
        }
    }
}

#[actix_web::test]
async fn a_client_that_fails_to_authenticate_uses_up_no_code() {
    let hub = hub().await;
    let code = code(&hub, "chemist").await;
    let request = Redeem::of("chemist").with("code", &code);
    for guess in [
        request.clone().basic("chemist", "wrong"),
        request.clone().post("chemist", SECRET),
        request.clone(),
    ] {
        assert!([400, 401].contains(&guess.at(&hub).await.status));
    }
    assert_eq!(request.basic("chemist", SECRET).at(&hub).await.status, 200);
}

/// RFC 7523, 3: each with a signature that holds, so the client is told what is wrong.
#[actix_web::test]
async fn an_assertion_that_breaks_a_rule_is_rejected_with_its_reason() {
    let hub = hub().await;
    // By then the hub has been up for longer than an assertion without `iat` can be old.
    hub.advance(Duration::from_secs(240));
    let now = hub.now().seconds();
    let of_claim = |name: &str, value: Value| (header(), changed(claims(&hub, "x"), name, value));
    let of_header = |name: &str, value: Value| (changed(header(), name, value), claims(&hub, "x"));
    for ((header, claims), named) in [
        (of_claim("sub", json!("bakery")), "sub"),
        (of_claim("sub", Value::Null), "sub"),
        (of_claim("aud", json!(format!("{ISSUER}/token"))), "aud"),
        (of_claim("aud", json!(format!("{ISSUER}/"))), "aud"),
        (of_claim("aud", json!(BASE)), "aud"),
        (of_claim("aud", json!([ISSUER])), "aud"),
        (of_claim("aud", json!([ISSUER, "https://other.example"])), "aud"),
        (of_claim("aud", Value::Null), "aud"),
        (of_claim("exp", Value::Null), "exp"),
        (of_claim("exp", json!("soon")), "exp"),
        (of_claim("exp", json!(now - 60)), "expired"),
        (of_claim("exp", json!(now + 302)), "five minutes"),
        (of_claim("nbf", json!(now + 62)), "not valid yet"),
        (of_claim("iat", json!(now + 62)), "issued in the future"),
        (of_claim("jti", Value::Null), "jti"),
        (of_claim("jti", json!("")), "jti"),
        (of_claim("jti", json!(7)), "jti"),
        (of_claim("jti", json!("x".repeat(256))), "jti"),
        (of_header("typ", json!("at+jwt")), "typ"),
        (of_header("typ", json!("secevent+jwt")), "typ"),
        (of_header("typ", json!(1)), "typ"),
    ] {
        let what = format!("{header} {claims}");
        let answer =
            Redeem::of("notary").assertion(&signed(&NOTARY, &header, &claims)).at(&hub).await;
        assert_refused(&answer, 401, "invalid_client", &what);
        assert!(answer.body.contains(named), "{what}: {}", answer.body);
        assert_eq!(answer.header("www-authenticate"), "", "{what}");
    }
    // At the edge of each rule it is good: the answer is about the code, which is none.
    for (number, (header, claims)) in [
        of_claim("exp", json!(now - 58)),
        of_claim("exp", json!(now + 300)),
        of_claim("nbf", json!(now + 60)),
        of_claim("iat", Value::Null),
        of_claim("jti", json!("é".repeat(255))),
        of_header("typ", json!("client-authentication+jwt")),
        of_header("typ", json!("application/Client-Authentication+JWT")),
        of_header("typ", json!("JWT")),
        of_header("kid", Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let claims = if claims["jti"] == "x" {
            changed(claims, "jti", json!(number.to_string()))
        } else {
            claims
        };
        let answer =
            Redeem::of("notary").assertion(&signed(&NOTARY, &header, &claims)).at(&hub).await;
        assert_refused(&answer, 400, "invalid_grant", &format!("{header} {claims}"));
    }
}

/// What each library signs by default (OpenID Connect Core 1.0, 9; RFC 7523, 3), read of its source
/// or of its requests.
fn by_library(client_id: &str, now: u64) -> Vec<(&'static str, Value, Value)> {
    let token_endpoint = format!("{ISSUER}/token");
    let claims = |jti: &str, aud: Value, exp: u64| json!({ "iss": client_id, "sub": client_id, "aud": aud, "jti": jti, "iat": now, "exp": exp });
    let typed = json!({ "alg": "ES256", "kid": "notary-1", "typ": "JWT" });
    vec![
        ("pyoidc", header(), claims("pyoidc", json!([token_endpoint]), now + 600)),
        ("idpyoidc", header(), claims("idpyoidc", json!([token_endpoint]), now + 600)),
        ("Keycloak", typed.clone(), claims("keycloak", json!(token_endpoint), now + 10)),
        ("Spring Security", header(), claims("spring", json!([token_endpoint]), now + 60)),
        ("mod_auth_openidc", typed, claims("mod_auth_openidc", json!(token_endpoint), now + 60)),
        ("openid-client 6", header(), claims("openid-client", json!(ISSUER), now + 60)),
        (
            "openid-client 5",
            header(),
            claims("openid-client-5", json!([ISSUER, token_endpoint]), now + 60),
        ),
    ]
}

#[actix_web::test]
async fn the_assertions_of_client_libraries_count_under_openid_rules_at_token_and_revocation() {
    let hub = hub().await;
    let now = hub.now().seconds();
    for (library, header, claims) in by_library("surveyor", now) {
        let answer =
            Redeem::of("surveyor").assertion(&signed(&NOTARY, &header, &claims)).at(&hub).await;
        assert_refused(&answer, 400, "invalid_grant", library);
        let again = changed(claims, "jti", json!(format!("{library} revokes")));
        let request = Redeem::of("surveyor")
            .and("token", "unknown")
            .assertion(&signed(&NOTARY, &header, &again));
        let answer = request.to("/api/v2/token/revocation", &hub).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "{}"), "{library}");
    }
    // What several servers would accept, and what is not the token endpoint, stays refused; so does
    // a long life.
    let of_claim = |name: &str, value: Value| {
        let claims =
            changed(changed(claims(&hub, "x"), "iss", json!("surveyor")), "sub", json!("surveyor"));
        changed(claims, name, value)
    };
    for (claims, named) in [
        (of_claim("aud", json!([ISSUER, "https://other.example"])), "client_assertion_audiences"),
        (
            of_claim("aud", json!(format!("{ISSUER}/token/revocation"))),
            "client_assertion_audiences",
        ),
        (of_claim("aud", json!([])), "client_assertion_audiences"),
        (of_claim("exp", json!(now + 662)), "eleven minutes"),
    ] {
        let answer =
            Redeem::of("surveyor").assertion(&signed(&NOTARY, &header(), &claims)).at(&hub).await;
        assert_refused(&answer, 401, "invalid_client", named);
        assert!(answer.body.contains(named), "{claims}: {}", answer.body);
    }
}

#[actix_web::test]
async fn under_federation_rules_the_refused_audience_names_the_setting_that_allows_it() {
    let hub = hub().await;
    let now = hub.now().seconds();
    let short_lived = |client_id| {
        by_library(client_id, now)
            .into_iter()
            .filter(|(.., claims)| claims["exp"].as_u64() < Some(now + 300))
    };
    for (library, header, claims) in short_lived("notary") {
        let answer =
            Redeem::of("notary").assertion(&signed(&NOTARY, &header, &claims)).at(&hub).await;
        match claims["aud"] == ISSUER {
            true => assert_refused(&answer, 400, "invalid_grant", library),
            false => {
                assert_refused(&answer, 401, "invalid_client", library);
                assert!(
                    answer.body.contains("client_assertion_audiences"),
                    "{library}: {}",
                    answer.body
                );
            }
        }
    }
    for (library, header, claims) in short_lived("registrar") {
        let answer =
            Redeem::of("registrar").assertion(&signed(&NOTARY, &header, &claims)).at(&hub).await;
        assert_refused(&answer, 400, "invalid_grant", library);
    }
}

/// The memory of used assertions is gone with the process; their signatures still hold.
#[actix_web::test]
async fn an_overheard_assertion_does_not_count_again_after_a_restart_without_a_snapshot() {
    let hub = hub().await;
    let now = hub.now().seconds();
    let issued =
        |at: Value, jti: &str| changed(changed(claims(&hub, jti), "iat", at), "nbf", Value::Null);
    let (dated, undated) = (issued(json!(now - 1), "dated"), issued(Value::Null, "undated"));
    hub.advance(Duration::from_secs(1));
    let overheard = [dated, undated]
        .map(|claims| Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &claims)));
    let hub = hub.restarted().await;
    for request in overheard {
        let answer = request.at(&hub).await;
        assert_refused(&answer, 401, "invalid_client", "replay after a restart");
        assert!(answer.body.contains("may have been used before"), "{}", answer.body);
    }
    // A new one counts at once, where it says when it was issued.
    let fresh = Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &claims(&hub, "fresh")));
    assert_refused(&fresh.at(&hub).await, 400, "invalid_grant", "a new assertion");
    // One that doesn't say so counts once no older one could still be alive.
    hub.advance(Duration::from_secs(240));
    let undated = changed(claims(&hub, "late"), "iat", Value::Null);
    let request = Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &undated));
    assert_refused(
        &request.at(&hub).await,
        400,
        "invalid_grant",
        "without iat, four minutes later",
    );
}

#[actix_web::test]
async fn an_overheard_assertion_can_not_be_used_again() {
    let hub = hub().await;
    let assertion = signed(&NOTARY, &header(), &claims(&hub, "once"));
    let request =
        Redeem::of("notary").with("code", &code(&hub, "notary").await).assertion(&assertion);
    assert_eq!(request.at(&hub).await.status, 200);
    let again =
        Redeem::of("notary").with("code", &code(&hub, "notary").await).assertion(&assertion);
    for after in [Duration::ZERO, Duration::from_secs(118)] {
        hub.advance(after);
        let answer = again.at(&hub).await;
        assert_refused(&answer, 401, "invalid_client", "replay");
        assert!(answer.body.contains("used before"), "{}", answer.body);
    }
    // Its id is forgotten no sooner than it has expired by itself.
    hub.advance(Duration::from_secs(3));
    assert!(again.at(&hub).await.body.contains("expired"));
    // The same id in another assertion, newly signed, is as good as the same assertion while the
    // first is alive.
    let other = |hub: &TestHub| {
        Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &claims(hub, "twice")))
    };
    assert_refused(&other(&hub).at(&hub).await, 400, "invalid_grant", "first");
    hub.advance(Duration::from_secs(30));
    assert_refused(&other(&hub).at(&hub).await, 401, "invalid_client", "the same jti");
}

#[actix_web::test]
async fn of_one_assertion_sent_many_times_at_once_one_counts() {
    let hub = hub().await;
    let request =
        Redeem::of("notary").assertion(&signed(&NOTARY, &header(), &claims(&hub, "raced")));
    let answers = futures_util::future::join_all((0..8).map(|_| request.at(&hub))).await;
    assert_eq!(
        answers.iter().filter(|answer| answer.status == 400).count(),
        1,
        "one reached its code"
    );
    assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), 7);
}

/// RFC 8725, 3.1: neither unsigned, nor keyed with what everybody knows, nor with a key that the
/// token brings along.
#[actix_web::test]
async fn an_assertion_is_proven_by_the_registered_algorithm_and_keys_alone() {
    let hub = hub().await;
    let claims = claims(&hub, "forged");
    let none = format!("{}.{}.", encoded(&json!({ "alg": "none" })), encoded(&claims));
    let by_public_key = {
        let input = format!(
            "{}.{}",
            encoded(&json!({ "alg": "HS256", "kid": "notary-1" })),
            encoded(&claims)
        );
        let key = published(&NOTARY, "notary-1").to_string();
        let key = openssl::pkey::PKey::hmac(key.as_bytes()).unwrap();
        let mut signer =
            openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).unwrap();
        format!(
            "{input}.{}",
            URL_SAFE_NO_PAD.encode(signer.sign_oneshot_to_vec(input.as_bytes()).unwrap())
        )
    };
    let brought =
        json!({ "alg": "ES256", "kid": "notary-1", "jwk": published(&STRANGER, "notary-1") });
    let good = signed(&NOTARY, &header(), &claims);
    let (unsigned, signature) = good.rsplit_once('.').unwrap();
    for (attack, assertion) in [
        ("alg none", none),
        ("HS256 with the public key", by_public_key),
        (
            "another algorithm than registered",
            signed(&NOTARY, &json!({ "alg": "RS256", "kid": "notary-1" }), &claims),
        ),
        ("a key of its own", signed(&STRANGER, &brought, &claims)),
        (
            "a key of its own, by an unknown kid",
            signed(&STRANGER, &json!({ "alg": "ES256", "kid": "mine" }), &claims),
        ),
        (
            "an unknown extension",
            signed(&NOTARY, &json!({ "alg": "ES256", "kid": "notary-1", "crit": ["x"] }), &claims),
        ),
        ("no signature", format!("{unsigned}.")),
        (
            "other claims",
            format!(
                "{}.{}.{signature}",
                encoded(&header()),
                encoded(&changed(claims.clone(), "jti", json!("y")))
            ),
        ),
        (
            "JSON serialization",
            json!({ "payload": encoded(&claims), "signature": signature }).to_string(),
        ),
    ] {
        let answer =
            Redeem::of("notary").assertion(&assertion).and("client_id", "notary").at(&hub).await;
        assert_refused(&answer, 401, "invalid_client", attack);
        assert!(answer.body.contains("Client authentication failed."), "{attack}: {}", answer.body);
    }
    assert_refused(
        &Redeem::of("notary").assertion(&good).at(&hub).await,
        400,
        "invalid_grant",
        "the good one is left unused",
    );
}

/// Both count from half past one to half past two after the start, and no restart is needed in
/// between.
#[actix_web::test]
async fn a_secret_is_changed_for_another_without_an_appointment() {
    let hub = hub().await;
    let half_an_hour = HOUR / 2;
    for (old, new) in [(400, 401), (400, 401), (400, 400), (401, 400)] {
        for (secret, status) in [(OLD, old), (NEW, new)] {
            let answer = Redeem::of("bank").post("bank", secret).at(&hub).await;
            assert_eq!(answer.status, status, "{secret}: {}", answer.body);
        }
        hub.advance(if (old, new) == (400, 400) {
            HOUR
        } else {
            half_an_hour + HOUR / 4 + MILLISECOND
        });
    }
    let wrong =
        Redeem::of("bank").post("bank", "neither the one nor the other secret").at(&hub).await;
    let expired = Redeem::of("bank").post("bank", OLD).at(&hub).await;
    assert_eq!(
        seen(&expired),
        seen(&wrong),
        "that a secret was right once is told to the operator alone"
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
        json!(["ES256", "RS256"])
    );
}
