//! Pushed authorization requests (RFC 9126), request objects (RFC 9101) and signed responses
//! (JARM), in whole logins and under attack.

mod forwarded;
mod high_platform;
mod objects;
mod pushed;
mod signed_responses;

use std::sync::LazyLock;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use passerelle_protocol::digest::base64url;
use serde_json::{Value, json};

use super::browser::Page;
use super::federation::{SCOPES, SECRET, home_page, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const ISSUER: &str = "https://hub.example/api/v2";
const ACCEPTED: &str = "pushed_authorization_requests = \"accepted\"";

static NOTARY: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
static STRANGER: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());

/// Beside the usual ones: the notary signs its requests, the registrar must, the archive must push,
/// the gazette gets signed responses, the vault encrypted ones, and the kiosk speaks plain OpenID
/// Connect with all of it.
async fn hub() -> TestHub {
    hub_with(ACCEPTED).await
}

async fn hub_with(settings: &str) -> TestHub {
    let keys = json!({ "keys": [published(&NOTARY, "sig"), published(&NOTARY, "enc")] });
    let signs = "request_object_signing_alg = \"ES256\"\njwks = { file = \"notary.jwks\" }";
    let signed = "authorization_signed_response_alg = \"ES256\"";
    let encrypted = format!(
        "{signed}\nauthorization_encrypted_response_alg = \"ECDH-ES\"\njwks = {{ file = \"notary.jwks\" }}"
    );
    let kiosk =
        service("kiosk", &format!("rules = \"openid\"\nconsent = \"none\"\n{signs}\n{signed}"))
            .replace(&scopes(SCOPES), &scopes("openid profile email"));
    let mut files = vec![
        ("service-providers/notary.toml", service("notary", signs)),
        (
            "service-providers/registrar.toml",
            service("registrar", &format!("{signs}\nrequire_signed_request_object = true")),
        ),
        ("service-providers/gazette.toml", service("gazette", signed)),
        ("service-providers/vault.toml", service("vault", &encrypted)),
        ("service-providers/kiosk.toml", kiosk),
        ("notary.jwks", keys.to_string()),
    ];
    if !settings.is_empty() {
        let pushes = "require_pushed_authorization_requests = true";
        files.push(("service-providers/archive.toml", service("archive", pushes)));
    }
    TestHub::with_files(settings, &files).await
}

fn scopes(list: &str) -> String {
    list.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ")
}

fn service(id: &str, more: &str) -> String {
    format!(
        r#"
client_id = "{id}"
name = {{ en = "The {id}" }}
home_page = "{home}"
redirect_uris = ["{redirect}"]
scopes = [{scopes}]
secrets = [{{ env = "CLIENT_SECRET" }}]
{more}
"#,
        home = home_page(id),
        redirect = redirect_uri(id),
        scopes = scopes(SCOPES),
    )
}

fn published(key: &Jwk, purpose: &str) -> Value {
    let member = |name: &str| key.parameter(name).unwrap().clone();
    json!({ "kty": "EC", "crv": "P-256", "x": member("x"), "y": member("y"), "kid": purpose, "use": purpose })
}

/// Pushes a request with the service provider's secret.
async fn push(hub: &TestHub, service: &str, request: &[(String, String)]) -> Answer {
    push_with(hub, service, SECRET, request).await
}

async fn push_with(
    hub: &TestHub,
    service: &str,
    secret: &str,
    request: &[(String, String)],
) -> Answer {
    let mut pairs: Vec<(&str, &str)> = vec![("client_secret", secret)];
    pairs.extend(request.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if !pairs.iter().any(|(name, _)| *name == "client_id") {
        pairs.push(("client_id", service));
    }
    hub.post_form("/api/v2/par", &pairs).await
}

/// The `request_uri` of a request that is accepted.
async fn pushed(hub: &TestHub, service: &str, request: &Authorize) -> String {
    let answer = push(hub, service, request.pairs()).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["request_uri"].as_str().unwrap().to_owned()
}

/// The address that the browser is sent to.
fn address(service: &str, name: &str, value: &str) -> String {
    let pairs = [("client_id", service), (name, value)];
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("/api/v2/authorize?{query}")
}

/// The claims of a request object with the parameters of the usual request.
fn object_claims(hub: &TestHub, service: &str) -> Value {
    request_object_claims(hub, service, &Authorize::by(service))
}

fn request_object_claims(hub: &TestHub, service: &str, request: &Authorize) -> Value {
    let now = hub.now().seconds();
    let mut claims = json!({
        "iss": service, "aud": ISSUER, "iat": now, "nbf": now, "exp": now + 300,
        "jti": format!("{service}-{now}-object"),
    });
    for (name, value) in request.pairs() {
        claims[name] = value.as_str().into();
    }
    claims
}

fn signed(claims: &Value) -> String {
    signed_by(&NOTARY, &json!({ "alg": "ES256", "typ": "oauth-authz-req+jwt" }), claims)
}

fn signed_by(key: &Jwk, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| base64url(value.to_string().as_bytes());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = ES256.signer_from_jwk(key).unwrap().sign(message.as_bytes()).unwrap();
    format!("{message}.{}", base64url(&signature))
}

/// The code of a page, and the more precise one below it.
#[track_caller]
fn assert_page(page: &Page<'_>, code: &str) {
    assert_eq!(page.answer.status, 400, "{}", page.url);
    assert_eq!(page.references()[..2], ["Y000400", code], "{}", page.url);
}

fn status_and_error(answer: &Answer) -> (u16, String) {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    (answer.status, body["error"].as_str().unwrap().to_owned())
}
