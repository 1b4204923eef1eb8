//! Native and single-page applications: no secret, PKCE instead (RFC 8252, RFC 9700), and what
//! pages of other origins may read.

use actix_web::http::Method;
use actix_web::test::TestRequest;
use openssl::base64::encode_block;
use openssl::sha::sha256;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::browser::Page;
use super::federation::{SCOPES, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::{Authorize, Received};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const AT_PORT: &str = "http://127.0.0.1:49152/callback";
const ORIGIN: &str = "https://webapp.example";

fn public(id: &str, redirect_uris: &str, more: &str) -> (String, String) {
    let scopes: Vec<_> = SCOPES.split(' ').map(|scope| format!("\"{scope}\"")).collect();
    let file = format!(
        r#"
client_id = "{id}"
name = {{ en = "The {id}" }}
home_page = "https://{id}.example/"
redirect_uris = [{redirect_uris}]
scopes = [{}]
token_endpoint_auth_method = "none"
{more}
"#,
        scopes.join(", ")
    );
    (format!("service-providers/{id}.toml"), file)
}

/// Beside the usual service providers: an application on a telephone, and one in a page.
async fn hub() -> TestHub {
    let phone =
        public("phone", r#""http://127.0.0.1/callback", "com.example.phone:/callback""#, "");
    let webapp = public(
        "webapp",
        &format!("\"{}\"", redirect_uri("webapp")),
        &format!("cors_origins = [\"{ORIGIN}\"]"),
    );
    let files = [(phone.0.as_str(), phone.1), (webapp.0.as_str(), webapp.1)];
    TestHub::with_files("", &files).await
}

fn challenge() -> String {
    let hash = encode_block(&sha256(VERIFIER.as_bytes()));
    hash.trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn authorize(client: &str, redirect_uri: &str) -> Authorize {
    Authorize::by(client)
        .with("redirect_uri", redirect_uri)
        .with("code_challenge", &challenge())
        .with("code_challenge_method", "S256")
}

/// A token request by the id alone; `changes` replace a field, or remove it if empty.
async fn redeem(hub: &TestHub, code: &str, changes: &[(&str, &str)]) -> Answer {
    let mut fields = vec![
        ("grant_type", "authorization_code"),
        ("client_id", "phone"),
        ("redirect_uri", AT_PORT),
        ("code", code),
        ("code_verifier", VERIFIER),
    ];
    fields.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    fields.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    hub.send(TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body)).await
}

async fn code_of_phone(hub: &TestHub) -> String {
    let browser = hub.browser();
    let page = browser.authorize(&authorize("phone", AT_PORT)).await;
    received(&page.choose("amandier").await.sign_in_as("angela").await.consent().await, AT_PORT)
        .code()
        .to_owned()
}

#[track_caller]
fn received(page: &Page<'_>, redirect_uri: &str) -> Received {
    let (to, query) = page.url.split_once('?').unwrap();
    assert_eq!(to, redirect_uri);
    let fields = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    Received { to: to.to_owned(), fields }
}

fn error(answer: &Answer) -> (u16, Value) {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    (answer.status, body["error"].clone())
}

#[actix_web::test]
async fn a_native_application_logs_in_at_any_port_or_by_its_scheme() {
    let hub = hub().await;
    for uri in ["http://127.0.0.1:1025/callback", AT_PORT, "com.example.phone:/callback"] {
        let browser = hub.browser();
        let page = browser.authorize(&authorize("phone", uri)).await;
        let page = page.choose("amandier").await.sign_in_as("angela").await;
        let code = received(&page.consent().await, uri).code().to_owned();
        let answer = redeem(&hub, &code, &[("redirect_uri", uri)]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let tokens: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(hub.verified_claims(tokens["id_token"].as_str().unwrap()).await["aud"], "phone");
        let access_token = tokens["access_token"].as_str().unwrap();
        assert_eq!(hub.userinfo(access_token).await["family_name"], "DUBOIS");
        // RFC 7009 §2.1: a public client revokes by its id.
        let revoke = |client: &str| {
            let body = format!("client_id={client}&token={access_token}");
            let form = ("content-type", "application/x-www-form-urlencoded");
            TestRequest::post()
                .uri("/api/v2/token/revocation")
                .insert_header(form)
                .set_payload(body)
        };
        assert_eq!(hub.send(revoke("webapp")).await.status, 200);
        assert_eq!(hub.get_userinfo(access_token).await.status, 200, "not its token");
        assert_eq!(hub.send(revoke("phone")).await.status, 200);
        assert_eq!(hub.get_userinfo(access_token).await.status, 401);
    }
}

#[actix_web::test]
async fn code_injection_without_the_verifier_is_stopped() {
    let hub = hub().await;
    let other_verifier = "a".repeat(43);
    for changes in [
        [("code_verifier", "")],
        [("code_verifier", other_verifier.as_str())],
        [("code_verifier", &challenge())],
        // Another application on the same machine, at its own port.
        [("redirect_uri", "http://127.0.0.1:49153/callback")],
        [("redirect_uri", "http://127.0.0.1/callback")],
        [("redirect_uri", "com.example.phone:/callback")],
        [("client_id", "webapp")],
    ] {
        let code = code_of_phone(&hub).await;
        let answer = redeem(&hub, &code, &changes).await;
        assert_eq!(error(&answer), (400, json!("invalid_grant")), "{changes:?}");
        let right = redeem(&hub, &code, &[]).await;
        assert_eq!(error(&right), (400, json!("invalid_grant")), "the code stays spent");
    }
    let answer = redeem(&hub, &code_of_phone(&hub).await, &[("client_secret", SECRET)]).await;
    assert_eq!(error(&answer), (401, json!("invalid_client")));
    let browser = hub.browser();
    let unbound = Authorize::by("phone").with("redirect_uri", AT_PORT);
    let page = browser.authorize(&unbound).await;
    assert_eq!(received(&page, AT_PORT).fields["error"], "invalid_request");
}

#[actix_web::test]
async fn mix_of_loopback_ports_and_hosts_is_stopped() {
    let hub = hub().await;
    for uri in [
        "http://localhost:49152/callback",
        "http://127.0.0.2:49152/callback",
        "http://127.0.0.1.attacker.example/callback",
        "http://127.0.0.1:1@attacker.example/callback",
        "http://127.0.0.1:49152/other",
        "com.example.phone.attacker:/callback",
    ] {
        let browser = hub.browser();
        browser.authorize(&authorize("phone", uri)).await.assert_error(400, "Y000400");
    }
    let browser = hub.browser();
    let confidential = Authorize::by("bakery").with("redirect_uri", AT_PORT);
    browser.authorize(&confidential).await.assert_error(400, "Y000400");
}

#[actix_web::test]
async fn impersonation_of_a_native_client_through_silent_consent_is_stopped() {
    let hub = hub().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let request = authorize("phone", AT_PORT);
    // The user has agreed before, and has a session: another application sends the same request.
    for _ in 0..2 {
        let page = browser.authorize(&request.with("prompt", "consent")).await;
        assert!(page.is_consent(), "at {}", page.url);
        received(&page.consent().await, AT_PORT).code();
    }
    let silent = browser.authorize(&request.with("prompt", "none")).await;
    let silent = received(&silent, AT_PORT);
    assert_eq!(silent.fields["error"], "consent_required");
    assert!(!silent.fields.contains_key("code"));
    // A confidential client may be answered from the session alone.
    let bakery = browser.authorize(&Authorize::by("bakery").with("prompt", "none")).await;
    bakery.received().code();
}

/// Headers of a page's request: its own, and those that browsers' monitoring adds.
const PAGE_HEADERS: &str = "authorization,content-type,dpop,traceparent,tracestate,baggage,sentry-trace,x-datadog-trace-id";

/// The answer to a request of a page of this origin.
async fn from_origin(hub: &TestHub, method: Method, path: &str, origin: &str) -> Answer {
    let request = TestRequest::default().method(method.clone()).uri(path);
    let request = request.insert_header(("origin", origin));
    hub.send(if method == Method::OPTIONS {
        request
            .insert_header(("access-control-request-method", "POST"))
            .insert_header(("access-control-request-headers", PAGE_HEADERS))
    } else {
        request
    })
    .await
}

#[actix_web::test]
async fn open_cors_is_stopped() {
    let hub = hub().await;
    let endpoints = ["/api/v2/token", "/api/v2/userinfo", "/api/v2/token/revocation"];
    for path in endpoints {
        for (method, status) in [(Method::OPTIONS, 200), (Method::POST, 400)] {
            let answer = from_origin(&hub, method.clone(), path, ORIGIN).await;
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
            assert_eq!(answer.header("access-control-allow-origin"), ORIGIN, "{method} {path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{method} {path}");
            assert!(answer.header("vary").contains("Origin"), "{method} {path}");
            if method == Method::OPTIONS {
                let allowed = answer.header("access-control-allow-headers");
                assert_eq!(allowed, PAGE_HEADERS, "{path}");
            }
            if method == Method::POST {
                let exposed = answer.header("access-control-expose-headers").to_ascii_lowercase();
                assert!(exposed.contains("retry-after"), "{path}: {exposed}");
            }
            for origin in [
                "https://attacker.example",
                "https://webapp.example.attacker.example",
                "https://webapp.example:8443",
                "http://webapp.example",
                "https://WEBAPP.example",
                "https://webapp.example/",
                "https://phone.example",
                "https://bakery.example",
                "null",
            ] {
                let answer = from_origin(&hub, method.clone(), path, origin).await;
                assert_eq!(answer.header("access-control-allow-origin"), "", "{path} {origin}");
            }
        }
    }
    for path in [
        "/api/v2/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server/api/v2",
        "/api/v2/jwks",
    ] {
        let answer = from_origin(&hub, Method::GET, path, "https://anyone.example").await;
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        // Fetch §4.8: a script that sends a header of its own asks before.
        let asked = from_origin(&hub, Method::OPTIONS, path, "https://anyone.example").await;
        assert_eq!(asked.status, 204, "{path}: {}", asked.body);
        assert_eq!(asked.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(asked.header("access-control-allow-headers"), "*", "{path}");
        assert_eq!(asked.header("access-control-allow-methods"), "GET, HEAD", "{path}");
        assert_eq!(asked.header("access-control-allow-credentials"), "", "{path}");
    }
    // Nothing that a browser's cookies open is readable from another origin.
    for path in [
        "/api/v2/authorize",
        "/api/v2/checktoken",
        "/api/v2/session/end",
        "/api/v2/client/jwks",
        "/api/v2/interaction/x",
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let answer = from_origin(&hub, method.clone(), path, ORIGIN).await;
            assert_eq!(answer.header("access-control-allow-origin"), "", "{method} {path}");
        }
    }
}

#[actix_web::test]
async fn a_removed_origin_or_client_is_refused_at_once() {
    let hub = hub().await;
    let documents = hub.discovery().await;
    let methods = &documents["token_endpoint_auth_methods_supported"];
    assert_eq!(methods.as_array().unwrap().last(), Some(&json!("none")));
    let origins = format!("cors_origins = [\"{ORIGIN}\"]");
    hub.edit_file("service-providers/webapp.toml", &origins, "cors_origins = []");
    hub.reload_files().await;
    let answer = from_origin(&hub, Method::OPTIONS, "/api/v2/token", ORIGIN).await;
    assert_eq!(answer.header("access-control-allow-origin"), "");
    for file in ["webapp", "phone"] {
        hub.remove_file(&format!("service-providers/{file}.toml"));
    }
    hub.reload_files().await;
    let documents = hub.discovery().await;
    let methods = &documents["token_endpoint_auth_methods_supported"];
    assert_eq!(methods.as_array().unwrap().last(), Some(&json!("private_key_jwt")));
}
