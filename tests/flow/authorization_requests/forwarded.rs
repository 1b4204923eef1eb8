//! Parameters of a service provider that an identity provider gets.

use passerelle_protocol::catalogue::Param;
use passerelle_protocol::digest;
use serde_json::json;

use super::{ACCEPTED, NOTARY, address, published, pushed, request_object_claims, service, signed};
use crate::hub::TestHub;
use crate::service::Authorize;

const SIRET: &str = "12345678901234";

/// A hub whose connector `relay` gets three parameters.
async fn hub() -> TestHub {
    let relay = r#"
name = { en = "Relay" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
identity = "verified"
[kind.oauth2]
issuer = "https://relay.example"
client_id = "hub"
client_secret = { env = "CLIENT_SECRET" }
subject_claim = "id"
auth_time = "callback"
reauthenticates = true
reauthentication_params = { prompt = "login" }
[kind.oauth2.endpoints]
authorization = "https://relay.example/authorize?tenant=1"
token = "https://relay.example/token"
userinfo = "https://relay.example/userinfo"
[kind.oauth2.forwarded_params]
siret_hint = { pattern = "[0-9]{14}", max_length = 14 }
note = { pattern = ".*", max_length = 80 }
tenant = { pattern = ".*" }
login_hint = { pattern = "[^@]+@relay\\.example" }
"#;
    let signs = "request_object_signing_alg = \"ES256\"\njwks = { file = \"notary.jwks\" }";
    let files = [
        ("connectors/relay.toml", relay.to_owned()),
        ("service-providers/notary.toml", service("notary", signs)),
        ("notary.jwks", json!({ "keys": [published(&NOTARY, "sig")] }).to_string()),
    ];
    TestHub::with_files(&format!("{ACCEPTED}\naudit.sink = \"file\""), &files).await
}

/// The query of the redirect to the identity provider, for the request at this address.
async fn sent(hub: &TestHub, address: &str) -> Vec<(String, String)> {
    let browser = hub.browser();
    let page = browser.open(address).await;
    let page = if page.is_choice() { page.choose("relay").await } else { page };
    let url = url::Url::parse(&page.url).unwrap();
    assert_eq!((url.host_str(), url.path()), (Some("relay.example"), "/authorize"));
    url.query_pairs().into_owned().collect()
}

/// The same by query, as a pushed request, and as a request object.
async fn sent_by_each_way(hub: &TestHub, more: &[(&str, &str)]) -> [Vec<(String, String)>; 3] {
    let request = |service: &str| {
        more.iter().fold(Authorize::by(service), |request, (name, value)| request.and(name, value))
    };
    let mut claims = request_object_claims(hub, "notary", &request("notary"));
    claims["jti"] = json!(digest::sha256_base64url(&format!("{more:?}")));
    let object = signed(&claims);
    let uri = pushed(hub, "bakery", &request("bakery")).await;
    [
        sent(hub, &request("bakery").url()).await,
        sent(hub, &address("bakery", "request_uri", &uri)).await,
        sent(hub, &address("notary", "request", &object)).await,
    ]
}

fn values<'p>(pairs: &'p [(String, String)], name: &str) -> Vec<&'p str> {
    pairs.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str()).collect()
}

#[actix_web::test]
async fn listed_parameters_reach_the_identity_provider_and_the_audit_log_has_their_names() {
    let hub = hub().await;
    let more = [("siret_hint", SIRET), ("login_hint", "zoe@relay.example"), ("other", "1")];
    for pairs in sent_by_each_way(&hub, &more).await {
        assert_eq!(values(&pairs, "siret_hint"), [SIRET]);
        assert_eq!(values(&pairs, "login_hint"), ["zoe@relay.example"]);
        assert!(values(&pairs, "other").is_empty(), "{pairs:?}");
    }
    let lines = hub.audit_lines();
    let chosen: Vec<_> = lines.iter().filter(|line| line["event"] == "idp_chosen").collect();
    assert_eq!(chosen.len(), 3);
    assert!(chosen.iter().all(|line| line["forwarded"] == json!(["login_hint", "siret_hint"])));
    assert!(!hub.audit_text().contains(SIRET) && !hub.audit_text().contains("zoe@"));
}

#[actix_web::test]
async fn a_value_that_does_not_fit_is_left_out_and_counted() {
    let hub = hub().await;
    let more = [("siret_hint", "1234567890123x"), ("login_hint", "zoe@elsewhere.example")];
    for pairs in sent_by_each_way(&hub, &more).await {
        assert!(values(&pairs, "siret_hint").is_empty() && values(&pairs, "login_hint").is_empty());
    }
    let long = "x".repeat(81);
    for pairs in sent_by_each_way(&hub, &[("note", &long)]).await {
        assert!(values(&pairs, "note").is_empty());
    }
    let counted = hub.metrics.render();
    for (parameter, reason) in
        [("siret_hint", "pattern"), ("login_hint", "pattern"), ("note", "size")]
    {
        let series = format!(
            "connector_forwarded_params_dropped_total{{connector=\"relay\",parameter=\"{parameter}\",reason=\"{reason}\"}} 3"
        );
        assert!(counted.contains(&series), "{series}");
    }
}

#[actix_web::test]
async fn parameter_smuggling_by_hints_is_stopped() {
    const EVIL: &str = "https://evil.example/";
    let hub = hub().await;
    let usual = sent(&hub, &Authorize::by("bakery").url()).await;
    // What the hub reads itself it refuses or reads for itself; under no name does it pass it on.
    let read: Vec<&str> = Param::AUTHORIZATION.iter().map(|param| param.name()).collect();
    let mut redirects = 0;
    let others = ["resource", "audience", "client_secret", "STATE", "client.id", "redirect_uri[]"];
    for name in others.into_iter().chain(read).filter(|name| *name != "client_id") {
        for encoded in ["_", "%5F", "%255F"].map(|encoded| name.replace('_', encoded)) {
            let smuggled = format!("{}&{encoded}={EVIL}", Authorize::by("bakery").url());
            let browser = hub.browser();
            let page = browser.open(&smuggled).await;
            if page.answer.status == 200 && page.is_choice() {
                let url = page.choose("relay").await.url;
                redirects += 1;
                assert!(!url.contains("evil.example"), "{encoded}: {url}");
            }
        }
    }
    assert!(redirects > 30, "{redirects}");
    // A value can't end its parameter, and can't replace one of the endpoint's own address.
    for attack in
        [format!("1&redirect_uri={EVIL}"), "1#&state=2".to_owned(), "%26state=2".to_owned()]
    {
        for pairs in sent_by_each_way(&hub, &[("note", &attack), ("tenant", "2")]).await {
            assert_eq!(values(&pairs, "note"), [attack.as_str()]);
            assert_eq!(values(&pairs, "tenant"), ["1"]);
            assert_eq!(values(&pairs, "redirect_uri"), values(&usual, "redirect_uri"));
            assert_eq!(pairs.len(), usual.len() + 1, "{pairs:?}");
        }
    }
    // A repeated one would be read in two ways.
    let twice = Authorize::by("bakery").and("siret_hint", SIRET).and("siret_hint", SIRET);
    let uri = pushed(&hub, "bakery", &twice).await;
    for address in [twice.url(), address("bakery", "request_uri", &uri)] {
        assert!(values(&sent(&hub, &address).await, "siret_hint").is_empty());
    }
    let mut claims = request_object_claims(&hub, "notary", &Authorize::by("notary"));
    claims["siret_hint"] = json!(12_345_678_901_234_u64);
    claims["note"] = json!(["a", "b"]);
    let pairs = sent(&hub, &address("notary", "request", &signed(&claims))).await;
    assert!(values(&pairs, "siret_hint").is_empty() && values(&pairs, "note").is_empty());
    // Beside a request object or a pushed request, nothing counts.
    claims["jti"] = json!("another");
    let object = signed(&claims);
    let beside = format!("{}&note=1", address("notary", "request", &object));
    assert!(values(&sent(&hub, &beside).await, "note").is_empty());
    let uri = pushed(&hub, "bakery", &Authorize::by("bakery")).await;
    let beside = format!("{}&note=1", address("bakery", "request_uri", &uri));
    assert!(values(&sent(&hub, &beside).await, "note").is_empty());
}
