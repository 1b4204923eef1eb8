//! Client certificates that a proxy forwards: authentication, bound tokens, and who may send the
//! header (RFC 8705, RFC 9440).

use std::fs;

use actix_web::test::TestRequest;
use openssl::nid::Nid;
use openssl::x509::X509;
use passerelle_testkit::certificates::{Authority, LeafCertificate, forwarded};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::federation::{HOST, put, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const PROXY: &str = "10.0.0.1:40000";
const STRANGER: &str = "192.0.2.66:40000";
const ALIAS: &str = "mtls.hub.example";

/// The certificates of three service providers: of the authority, their own, and of a native
/// application.
struct Certificates {
    shop: X509,
    kiosk: X509,
    authority: Authority,
}

/// `shop` authenticates by a name, `kiosk` by a certificate of its own, and `app` is a public
/// client whose tokens are bound.
async fn hub() -> (TestHub, Certificates) {
    hub_with(&format!("base_url = \"https://{ALIAS}\"")).await
}

/// Like [`hub`], with this setting of `[public.client_certificates]`.
async fn hub_with(setting: &str) -> (TestHub, Certificates) {
    let (authority, own) = (Authority::new("Example CA"), LeafCertificate::default());
    let shop = authority.issue(&LeafCertificate::default());
    let kiosk = own.self_signed();
    let jwk = own.jwk(&kiosk);
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path).unwrap();
        let more = if setting.is_empty() { String::new() } else { format!(", {setting}") };
        let certificates = format!("{{ ca = \"ca.pem\"{more} }}");
        let public = format!(
            "public = {{ listen = \"127.0.0.1:0\", trusted_proxies = [\"10.0.0.0/8\"], client_certificates = {certificates} }}"
        );
        let text = text.replace("public = { listen = \"127.0.0.1:0\" }", &public);
        fs::write(&path, text).unwrap();
        fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
        let bound = "tls_client_certificate_bound_access_tokens = true";
        let member = |name: &str| jwk[name].to_string();
        let key = format!(
            "[[jwks.keys]]\nkty = \"EC\"\ncrv = \"P-256\"\nx = {}\ny = {}\nx5c = {}",
            member("x"),
            member("y"),
            member("x5c")
        );
        for (id, method, more) in [
            ("shop", "tls_client_auth", "tls_client_auth_san_dns = \"shop.example.org\"".to_owned()),
            ("kiosk", "self_signed_tls_client_auth", format!("{bound}\n{key}")),
            ("app", "none", bound.to_owned()),
        ] {
            let file = format!(
                "client_id = \"{id}\"\nname = {{ en = \"{id}\" }}\nhome_page = \"https://{id}.example/\"\nredirect_uris = [\"{}\"]\nscopes = [\"openid\", \"email\"]\ntoken_endpoint_auth_method = \"{method}\"\n{more}\n",
                redirect_uri(id)
            );
            put(folder, &format!("service-providers/{id}.toml"), file.as_bytes());
        }
    })
    .await;
    (hub, Certificates { shop, kiosk, authority })
}

async fn code(hub: &TestHub, service: &str) -> String {
    let browser = hub.browser();
    let request = Authorize::by(service)
        .with("scope", "openid email")
        .with("code_challenge", CHALLENGE)
        .with("code_challenge_method", "S256");
    browser.authorize(&request).await.finish_as("angela").await.code().to_owned()
}

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Redeems a code over a connection from `peer` with these header lines.
async fn redeem(hub: &TestHub, service: &str, code: &str, peer: &str, lines: &[&str]) -> Answer {
    hub.send_to(ALIAS, with_lines(redeeming(service, code), peer, lines)).await
}

fn redeeming(service: &str, code: &str) -> TestRequest {
    let uri = redirect_uri(service);
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", service),
        ("redirect_uri", &uri),
        ("code", code),
        ("code_verifier", VERIFIER),
    ];
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body)
}

fn with_lines(request: TestRequest, peer: &str, lines: &[&str]) -> TestRequest {
    let request = request.peer_addr(peer.parse().unwrap());
    lines.iter().fold(request, |request, line| request.append_header(("client-cert", *line)))
}

fn error(answer: &Answer) -> (u16, String) {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    (answer.status, body["error"].as_str().unwrap_or_default().to_owned())
}

fn refused() -> (u16, String) {
    (401, "invalid_client".to_owned())
}

#[actix_web::test]
async fn a_client_authenticates_by_its_certificate() {
    let (hub, certificates) = hub().await;
    for (service, certificate) in [("shop", &certificates.shop), ("kiosk", &certificates.kiosk)] {
        let code = code(&hub, service).await;
        let answer = redeem(&hub, service, &code, PROXY, &[&forwarded(certificate)]).await;
        assert_eq!(answer.status, 200, "{service}: {}", answer.body);
    }
}

#[actix_web::test]
async fn a_certificate_header_forged_by_a_client_is_ignored() {
    let (hub, certificates) = hub().await;
    let real = forwarded(&certificates.shop);
    let code = code(&hub, "shop").await;
    let answer = redeem(&hub, "shop", &code, STRANGER, &[&real]).await;
    assert_eq!(error(&answer), (401, "invalid_client".to_owned()), "as without a certificate");
    // A proxy that adds its header to the client's instead of replacing it.
    for lines in [[real.as_str(), &real], [&real, ":AQID:"]] {
        let answer = redeem(&hub, "shop", &code, PROXY, &lines).await;
        assert_eq!(error(&answer), (400, "invalid_request".to_owned()));
        assert!(answer.body.contains("more than one client certificate"), "{}", answer.body);
    }
    for line in ["nonsense", ":AQID", "é", &real.replace(':', "")] {
        let answer = redeem(&hub, "shop", &code, PROXY, &[line]).await;
        assert_eq!(error(&answer), (400, "invalid_request".to_owned()), "{line}");
    }
    // A proxy that sets the header for a connection without a certificate.
    for line in ["", "::"] {
        let answer = redeem(&hub, "shop", &code, PROXY, &[line]).await;
        assert_eq!(error(&answer), (401, "invalid_client".to_owned()), "{line}");
    }
    assert_eq!(redeem(&hub, "shop", &code, PROXY, &[&real]).await.status, 200);
}

/// CVE-2025-64484: a client sends a proxy's header with underscores, which the proxy doesn't
/// remove.
#[actix_web::test]
async fn a_proxy_header_name_with_underscores_is_ignored() {
    let (hub, certificates) = hub().await;
    let real = forwarded(&certificates.shop);
    let without = redeem(&hub, "shop", "code", PROXY, &[]).await;
    assert_eq!(error(&without), (401, "invalid_client".to_owned()));
    assert_ne!(error(&redeem(&hub, "shop", "code", PROXY, &[&real]).await), error(&without));
    for name in ["client_cert", "CLIENT_CERT", "http_client_cert"] {
        let request = with_lines(redeeming("shop", "code"), PROXY, &[]);
        let answer = hub.send_to(ALIAS, request.insert_header((name, real.as_str()))).await;
        assert_eq!(error(&answer), error(&without), "{name}");
    }
}

/// Attack: a proxy asks for certificates at one host, and passes on what clients send to the other.
/// A client's certificate is public, so its header proves nothing there.
#[actix_web::test]
async fn a_certificate_header_counts_only_at_the_host_where_the_proxy_asks_for_certificates() {
    let (hub, certificates) = hub().await;
    let real = forwarded(&certificates.shop);
    let code = code(&hub, "shop").await;
    let request = || with_lines(redeeming("shop", &code), PROXY, &[&real]);
    for host in [HOST, "HUB.EXAMPLE", "hub.example:443"] {
        let answer = hub.send_to(host, request()).await;
        assert_eq!(error(&answer), refused(), "{host}: as without a certificate");
    }
    for unreadable in [vec!["nonsense"], vec![&real, &real]] {
        let lines = with_lines(redeeming("shop", &code), PROXY, &unreadable);
        assert_eq!(error(&hub.send(lines).await), refused(), "not even read");
    }
    for host in ["evil.example", "mtls.hub.example.evil.example", "mtls.hub.example:8443"] {
        assert_eq!(hub.send_to(host, request()).await.status, 421, "{host}");
    }
    assert_eq!(hub.send_to("MTLS.hub.example:443", request()).await.status, 200);

    let kiosk = forwarded(&certificates.kiosk);
    let code = self::code(&hub, "kiosk").await;
    let answer = redeem(&hub, "kiosk", &code, PROXY, &[&kiosk]).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let token = format!("Bearer {}", body["access_token"].as_str().unwrap());
    for (host, status) in [(HOST, 401), (ALIAS, 200)] {
        let request = TestRequest::get().uri("/api/v2/userinfo");
        let request = request.insert_header(("authorization", token.as_str()));
        let answer = hub.send_to(host, with_lines(request, PROXY, &[&kiosk])).await;
        assert_eq!(answer.status, status, "{host}");
    }
}

/// Attack: the request target names the host of certificates, and the Host header another one, by
/// which the proxy chooses not to ask for a certificate and passes on the client's header.
#[actix_web::test]
async fn a_certificate_header_at_two_hosts_is_ignored() {
    let (hub, certificates) = hub().await;
    let kiosk = forwarded(&certificates.kiosk);
    for (host, status) in [(HOST, 401), (ALIAS, 200)] {
        let code = self::code(&hub, "kiosk").await;
        let request = redeeming("kiosk", &code).uri(&format!("https://{ALIAS}/api/v2/token"));
        let answer = hub.send_to(host, with_lines(request, PROXY, &[&kiosk])).await;
        assert_eq!(answer.status, status, "{host}: {}", answer.body);
    }
}

#[actix_web::test]
async fn without_a_host_of_their_own_certificates_count_at_the_hubs() {
    let (hub, certificates) = hub_with("").await;
    let code = code(&hub, "shop").await;
    let lines = with_lines(redeeming("shop", &code), PROXY, &[&forwarded(&certificates.shop)]);
    assert_eq!(hub.send(lines).await.status, 200);
}

#[actix_web::test]
async fn a_certificate_that_anyone_can_make_authenticates_no_client() {
    let (hub, certificates) = hub().await;
    let forged = Authority::new("Example CA").issue(&LeafCertificate::default());
    let same_name = LeafCertificate::default().self_signed();
    let other_client = certificates.authority.issue(&LeafCertificate::default());
    for (service, certificate) in [
        ("shop", &forged),
        ("shop", &same_name),
        ("shop", &certificates.kiosk),
        ("kiosk", &same_name),
        ("kiosk", &other_client),
        ("bakery", &certificates.shop),
        ("unknown", &certificates.shop),
    ] {
        let answer = redeem(&hub, service, "code", PROXY, &[&forwarded(certificate)]).await;
        assert_eq!(error(&answer), refused(), "{service}");
        assert!(answer.body.contains("Client authentication failed."), "{}", answer.body);
    }
    let answer = redeem(&hub, "shop", "code", PROXY, &[":AQID:"]).await;
    assert_eq!(error(&answer), refused(), "DER that is no certificate");
}

/// Attack: the hub computes with a key that a stranger chose to be expensive.
#[actix_web::test]
async fn a_certificate_with_a_key_beyond_the_bounds_is_not_read() {
    let (hub, certificates) = hub().await;
    for (curve, is_read) in [(Nid::SECP384R1, true), (Nid::SECP224R1, false)] {
        let leaf = LeafCertificate::default().on_curve(curve);
        let own = forwarded(&certificates.authority.issue(&leaf));
        let answer = redeem(&hub, "shop", "code", PROXY, &[&own]).await;
        assert_eq!(error(&answer) != refused(), is_read, "{curve:?}: {}", answer.body);
    }
}

#[actix_web::test]
async fn a_stolen_certificate_bound_token_is_refused_over_another_connection() {
    let (hub, certificates) = hub().await;
    for (service, certificate) in [("kiosk", &certificates.kiosk), ("app", &certificates.shop)] {
        let own = forwarded(certificate);
        let code = code(&hub, service).await;
        let answer = redeem(&hub, service, &code, PROXY, &[&own]).await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["token_type"], "Bearer", "{}", answer.body);
        let token = body["access_token"].as_str().unwrap();
        let other = forwarded(&LeafCertificate::default().self_signed());
        for (scheme, peer, lines, status) in [
            ("Bearer", PROXY, vec![own.as_str()], 200),
            ("Bearer", PROXY, vec![], 401),
            ("Bearer", STRANGER, vec![&own], 401),
            ("Bearer", PROXY, vec![&other], 401),
            ("DPoP", PROXY, vec![&own], 401),
        ] {
            let request = TestRequest::get()
                .uri("/api/v2/userinfo")
                .insert_header(("authorization", format!("{scheme} {token}")));
            let answer = hub.send_to(ALIAS, with_lines(request, peer, &lines)).await;
            assert_eq!(answer.status, status, "{scheme} {peer} {}", answer.body);
            if status == 401 && scheme == "Bearer" {
                let challenge = answer.header("www-authenticate");
                assert_eq!(challenge, "Bearer error=\"invalid_token\"");
            }
        }
    }
    let code = code(&hub, "app").await;
    let answer = redeem(&hub, "app", &code, PROXY, &[]).await;
    assert_eq!(error(&answer), (400, "invalid_request".to_owned()), "no token without a key");
}

#[actix_web::test]
async fn discovery_lists_the_methods_and_the_addresses_of_certificates() {
    let (hub, certificates) = hub().await;
    let address = "/api/v2/.well-known/openid-configuration";
    let document = hub.send(TestRequest::get().uri(address)).await.body;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["tls_client_certificate_bound_access_tokens"], true);
    let methods = document["token_endpoint_auth_methods_supported"].as_array().unwrap();
    for method in ["tls_client_auth", "self_signed_tls_client_auth"] {
        assert!(methods.contains(&json!(method)), "{methods:?}");
    }
    let aliases = &document["mtls_endpoint_aliases"];
    assert_eq!(aliases["token_endpoint"], format!("https://{ALIAS}/api/v2/token"));
    let code = code(&hub, "shop").await;
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", "shop"),
        ("redirect_uri", &redirect_uri("shop")),
        ("code", &code),
        ("code_verifier", VERIFIER),
    ];
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    let request = TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body);
    let own = forwarded(&certificates.shop);
    let answer = hub.send_to(ALIAS, with_lines(request, PROXY, &[&own])).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    // The other name serves no page: a login would lose its cookies there.
    let page = hub.send_to(ALIAS, TestRequest::get().uri(&Authorize::by("shop").url())).await;
    assert_eq!(page.status, 421);
    let plain = TestHub::start().await.send(TestRequest::get().uri(address)).await.body;
    for member in ["tls_client", "mtls_endpoint"] {
        assert!(!plain.contains(member), "{member}");
    }
}

#[actix_web::test]
async fn the_console_shows_when_the_certificates_of_a_service_provider_expire() {
    let (hub, certificates) = hub().await;
    let view = hub.admin_json("/admin/service-providers?client_id=kiosk").await;
    let dates = view["dates"].as_array().unwrap();
    let until = passerelle_egress::certificate_expiry::expiry(&certificates.kiosk).unwrap();
    let until = passerelle_federation::validity::format_rfc3339(until);
    assert_eq!((dates.len(), &dates[0]["at"]), (1, &json!(until)), "{dates:?}");
    assert!(dates[0]["name"].as_str().unwrap().starts_with("client certificate "), "{dates:?}");
}
