//! Attacks on the registration by strangers and by clients.

use std::time::Duration;

use actix_web::test::TestRequest;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::operators::create_token;
use super::{
    BY_APPROVAL, BY_TOKEN, OPEN, configure, error, metadata, other_metadata, post, register,
};
use crate::failing_identity_provider::{FailingIdp, LOGOUT_PAGE, choose_idp};
use crate::federation::put;
use crate::hub::TestHub;

const PATIENT: &str = "requests_per_network = 1000\n";

fn with(change: Value) -> Value {
    let mut sent = metadata();
    sent.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    sent
}

async fn register_from(hub: &TestHub, address: &str) -> super::TestClient {
    let request = TestRequest::post()
        .uri("/api/v2/register")
        .peer_addr(format!("{address}:40000").parse().unwrap())
        .insert_header(("content-type", "application/json"));
    let answer = hub.send(request.set_payload(metadata().to_string())).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    super::TestClient(answer.json())
}

async fn exists(hub: &TestHub, client: &super::TestClient) -> bool {
    client.configure(hub, TestRequest::get()).await.status == 200
}

/// Attack: one network takes all places of registrations that wait, so that no one else can register
/// until they expire.
#[actix_web::test]
async fn a_flood_of_open_registrations_displaces_its_own_and_no_other_network_s() {
    let audited = "\n[audit]\nsink = \"file\"\n";
    let hub = TestHub::with(&format!("{BY_APPROVAL}max_pending = 4\n{PATIENT}{audited}")).await;
    let early = register_from(&hub, "192.0.2.7").await;
    let mut flood = Vec::new();
    for n in 0..9 {
        hub.advance(Duration::from_secs(1));
        // One network, whichever address of it.
        flood.push(register_from(&hub, &format!("203.0.113.{n}")).await);
    }
    assert!(exists(&hub, &early).await, "its network has one place, and the flood has three");
    assert!(!exists(&hub, &flood[5]).await && exists(&hub, &flood[6]).await);
    let late = register_from(&hub, "198.51.100.7").await;
    assert!(exists(&hub, &late).await && exists(&hub, &early).await);
    assert!(!exists(&hub, &flood[6]).await && exists(&hub, &flood[7]).await);
    // The flood has most, again.
    let second = register_from(&hub, "192.0.2.8").await;
    assert!(exists(&hub, &second).await && exists(&hub, &early).await);
    assert!(!exists(&hub, &flood[7]).await && exists(&hub, &flood[8]).await);
    let log = hub.audit_text();
    assert_eq!(log.matches("client_displaced").count(), 8, "{log}");
    assert!(!log.contains("203.0.113"), "{log}");
}

/// Attack: registrations without a token take the places of those with one.
#[actix_web::test]
async fn a_flood_of_open_registrations_leaves_the_places_of_initial_access_tokens() {
    for settings in [BY_APPROVAL, OPEN] {
        let limits = format!("max_pending = 3\nmax_registrations = 4\n{PATIENT}");
        let hub = TestHub::with(&format!("{settings}shared_hosts = true\n{limits}")).await;
        let mut open = Vec::new();
        for _ in 0..6 {
            hub.advance(Duration::from_secs(1));
            open.push(register_from(&hub, "203.0.113.7").await);
        }
        let token =
            create_token(&hub, json!({ "registrations": 5, "hosts": ["kiosk.example"] })).await;
        for _ in 0..4 {
            register(&hub, Some(&token), &other_metadata()).await;
        }
        for client in &open {
            assert!(!exists(&hub, client).await, "{settings}");
        }
        let full = post(&hub, Some(&token), &other_metadata()).await;
        assert_eq!(error(&full), (503, "temporarily_unavailable".into()), "{settings}");
    }
}

/// Attack: a flood displaces a client that an operator has approved.
#[actix_web::test]
async fn a_flood_of_open_registrations_displaces_no_approved_client() {
    let hub = TestHub::with(&format!("{BY_APPROVAL}max_registrations = 2\n{PATIENT}")).await;
    let approved = register_from(&hub, "203.0.113.7").await;
    super::operators::approve(&hub, approved.id()).await;
    for _ in 0..4 {
        hub.advance(Duration::from_secs(1));
        let request = TestRequest::post()
            .uri("/api/v2/register")
            .peer_addr("203.0.113.7:40000".parse().unwrap())
            .insert_header(("content-type", "application/json"));
        let answer = hub.send(request.set_payload(other_metadata().to_string())).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    assert!(exists(&hub, &approved).await);
}

/// Attack: a name or a host that people take for another service's, an identity provider's or the
/// hub's (RFC 7591 §5; Unicode Technical Standard #39).
#[actix_web::test]
async fn a_name_or_host_that_looks_like_another_is_not_registered() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    register(&hub, None, &other_metadata()).await;
    for (name, reason) in [
        ("Th\u{435} Bakery", "mixes alphabets"),
        ("Ｔｈｅ　Ｂａｋｅｒｙ", "another service"),
        ("The\u{3164}Bakery", "invisible"),
        ("The Bake\u{ad}ry", "invisible"),
        ("\u{3164}", "invisible"),
        ("\u{2800}\u{2800}", "no letter"),
        ("LE SERVICE BAKERY", "another service"),
        ("K\u{131}osk", "another service"),
        ("Кіоѕк", "another service"),
        ("Ｐａｓｓｅｒｅｌｌｅ", "this hub"),
        ("https://bakery.example/", "has the form of an address"),
        ("bakery.example", "has the form of an address"),
        ("Login at bank.example", "has the form of an address"),
    ] {
        let answer = post(&hub, None, &with(json!({ "client_name": name }))).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{name}");
        assert!(answer.body.contains(reason), "{name}: {}", answer.body);
        let translated = with(json!({ "client_name#fr": name }));
        assert_eq!(post(&hub, None, &translated).await.status, 400, "{name}");
    }
    // The host that users read is not the one that receives their data.
    for uris in [
        json!(["https://evil.example/cb"]),
        json!(["https://evil.example/cb", "https://bank.example/cb"]),
    ] {
        let named = json!({ "client_uri": "https://bank.example/", "client_name": "bank.example", "redirect_uris": uris });
        let answer = post(&hub, None, &with(named)).await;
        assert!(answer.body.contains("has the form of an address"), "{uris}: {}", answer.body);
    }
    let identity_providers = hub.federation();
    let taken = identity_providers.connectors().values().next().unwrap().name.clone();
    let answer = post(&hub, None, &with(json!({ "client_name": taken.values().next() }))).await;
    assert!(answer.body.contains("an identity provider"), "{}", answer.body);
    for host in ["b\u{430}kery.example", "bakery.examp1e"] {
        let uri = url::Url::parse(&format!("https://{host}/cb")).unwrap().to_string();
        let answer = post(&hub, None, &with(json!({ "redirect_uris": [uri] }))).await;
        assert_eq!(error(&answer), (400, "invalid_redirect_uri".into()), "{host}");
        assert!(answer.body.contains("looks like"), "{}", answer.body);
    }
    for name in ["Бухгалтерия", "図書館", "مكتبة", "shop.example", "www.shop.example"]
    {
        let sent = with(json!({ "client_name": name }));
        let client = register(&hub, None, &sent).await;
        assert_eq!(client.configure(&hub, TestRequest::delete()).await.status, 204);
    }
}

/// Attack: two registrations wait under one name, and the operator approves one after the other.
#[actix_web::test]
async fn an_approval_needs_a_name_and_a_host_that_are_still_free() {
    let hub = TestHub::with(BY_APPROVAL).await;
    let mut sent = other_metadata();
    sent["client_name"] = json!("C\u{f6}rner shop");
    let (one, other) = (register(&hub, None, &metadata()).await, register(&hub, None, &sent).await);
    super::operators::approve(&hub, one.id()).await;
    let seen = super::operators::listed(&hub, other.id()).await;
    let refused = super::operators::approve_listed(&hub, &seen).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("Y500125")));
    assert!(refused.body.contains("client_name"), "{}", refused.body);
    assert_eq!(super::operators::listed(&hub, other.id()).await["status"], "pending");
}

/// With `shared_hosts`, an application registers again at its own hosts; an attacker who adds a host
/// doesn't get its name.
#[actix_web::test]
async fn shared_hosts_are_for_clients_without_another_host() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    register(&hub, None, &metadata()).await;
    assert_eq!(post(&hub, None, &metadata()).await.status, 400, "one client per host");
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}shared_hosts = true\n")).await;
    register(&hub, None, &metadata()).await;
    register(&hub, None, &metadata()).await;
    for change in [
        json!({ "redirect_uris": ["https://shop.example/cb", "https://evil.example/cb"] }),
        json!({ "redirect_uris": ["https://evil.example/cb"] }),
        json!({ "redirect_uris": ["http://127.0.0.1:8000/cb"] }),
        json!({ "redirect_uris": ["https://bakery.example/other"], "client_name": "Other" }),
    ] {
        let answer = post(&hub, None, &with(change.clone())).await;
        assert_eq!(answer.status, 400, "{change}: {}", answer.body);
    }
}

/// Attack: one network sends registrations, or guesses tokens, as fast as it can.
#[actix_web::test]
async fn one_network_can_not_flood_the_endpoint() {
    let hub = TestHub::with(&format!("{BY_TOKEN}requests_per_network = 3\n")).await;
    for _ in 0..3 {
        assert_eq!(error(&post(&hub, Some("guess"), &metadata()).await).0, 401);
    }
    let limited = post(&hub, Some("guess"), &metadata()).await;
    assert_eq!(error(&limited), (429, "temporarily_unavailable".into()));
    assert!(!limited.header("retry-after").is_empty());
    let other = configure(&hub, "dcr-x", "guess", TestRequest::get()).await;
    assert_eq!(error(&other).0, 429, "the endpoints share the limit");
}

/// Attack: two requests at once take the last place that an initial access token has.
#[actix_web::test]
async fn a_quota_race_has_one_winner() {
    let hub = TestHub::with(&format!("{BY_TOKEN}{PATIENT}")).await;
    let token = create_token(&hub, json!({ "registrations": 2 })).await;
    let sent = metadata();
    let answers = join_all((0..6).map(|_| post(&hub, Some(&token), &sent))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 403, 403, 403, 403]);
}

/// Attack: a stranger registers the redirect URI, the host or the name of another service, and so
/// receives its users or poses as it.
#[actix_web::test]
async fn a_foreign_redirect_uri_host_or_name_is_not_registered() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    for (change, oauth) in [
        (
            json!({ "redirect_uris": ["https://bakery.example/callback?tenant=7"] }),
            "invalid_redirect_uri",
        ),
        (json!({ "redirect_uris": ["https://BAKERY.example/other"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://bakery.example./callback"] }), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": ["https://hub.example/api/v2/callback/amandier"] }),
            "invalid_redirect_uri",
        ),
        (json!({ "client_uri": "https://clinic.example/" }), "invalid_client_metadata"),
        (
            json!({ "post_logout_redirect_uris": ["https://clinic.example/"] }),
            "invalid_client_metadata",
        ),
        (json!({ "client_name": "THE-Bakery " }), "invalid_client_metadata"),
    ] {
        let answer = post(&hub, None, &with(change.clone())).await;
        assert_eq!(error(&answer), (400, oauth.into()), "{change}: {}", answer.body);
        assert!(answer.body.contains("another service"), "{}", answer.body);
    }
    // The pages of the hub show its own name.
    for name in ["Passerelle", "passe-RELLE"] {
        let answer = post(&hub, None, &with(json!({ "client_name": name }))).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{name}");
        assert!(answer.body.contains("the name of this hub"), "{}", answer.body);
    }
    // The token of one developer is not for the hosts of others.
    let token = create_token(&hub, json!({ "registrations": 9, "hosts": ["shop.example"] })).await;
    register(&hub, Some(&token), &metadata()).await;
    let foreign = with(json!({ "redirect_uris": ["https://other.example/cb"] }));
    assert_eq!(
        error(&post(&hub, Some(&token), &foreign).await),
        (400, "invalid_redirect_uri".into())
    );
}

/// Attack: a redirect URI with a `code` or `iss` of its own hides that of the response (RFC 6749
/// §3.1, RFC 9207).
#[actix_web::test]
async fn a_redirect_uri_with_a_response_parameter_is_not_registered() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    for (member, query, oauth) in [
        ("redirect_uris", "code=1&state=2", "invalid_redirect_uri"),
        ("redirect_uris", "iss=https://other.example", "invalid_redirect_uri"),
        ("post_logout_redirect_uris", "shop=1&state=1", "invalid_client_metadata"),
    ] {
        let uri = format!("https://shop.example/callback?{query}");
        let answer = post(&hub, None, &with(json!({ member: [uri] }))).await;
        assert_eq!(error(&answer), (400, oauth.into()), "{query}: {}", answer.body);
        assert!(answer.body.contains("response parameter"), "{}", answer.body);
    }
}

/// Attack: script, markup or turned text in the name that users see.
#[actix_web::test]
async fn script_in_client_name_is_text_or_rejected() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    for name in ["\u{202e}knab", "a\u{200b}b", "a\nb", "", &"x".repeat(101)] {
        let answer = post(&hub, None, &with(json!({ "client_name": name }))).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{name:?}");
    }
    let name = "<script>alert(1)</script>";
    let client = register(&hub, None, &with(json!({ "client_name": name }))).await;
    let page = client.first_page(&hub).await;
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
    assert!(page.body.contains("alert(1)"));
}

/// Attack: a client reads, changes or deletes another one with its own registration access token.
#[actix_web::test]
async fn another_clients_registration_token_takes_over_nothing() {
    let hub = TestHub::with(OPEN).await;
    let (one, other) =
        (register(&hub, None, &metadata()).await, register(&hub, None, &other_metadata()).await);
    let own = one.text("registration_access_token");
    let update = with(json!({ "client_id": other.id() })).to_string();
    let typed = ("content-type", "application/json");
    let requests = [
        TestRequest::get(),
        TestRequest::delete(),
        TestRequest::put().insert_header(typed).set_payload(update),
    ];
    for request in requests {
        let answer = configure(&hub, other.id(), own, request).await;
        assert_eq!(error(&answer), (401, "invalid_token".into()));
    }
    // Neither is a client of the configuration, nor one that doesn't exist, and all read the same.
    let answers = ["bakery", "dcr-unknown", other.id()]
        .map(|id| async { configure(&hub, id, own, TestRequest::get()).await.body });
    let [bakery, unknown, foreign] = answers;
    let (bakery, unknown, foreign) = (bakery.await, unknown.await, foreign.await);
    assert!(bakery == unknown && unknown == foreign);
    assert_eq!(other.configure(&hub, TestRequest::get()).await.status, 200);
}

/// Attack: a registration makes the hub call an address inside the network, or read a file.
#[actix_web::test]
async fn ssrf_by_jwks_uri_or_logout_uri_needs_an_operator_and_a_public_address() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    for uri in
        ["https://127.0.0.1/keys", "https://10.0.0.7/k", "http://shop.example/k", "https://[::1]/"]
    {
        let keys =
            with(json!({ "jwks_uri": uri, "token_endpoint_auth_method": "private_key_jwt" }));
        assert_eq!(error(&post(&hub, None, &keys).await), (400, "invalid_client_metadata".into()));
        let logout = with(json!({ "backchannel_logout_uri": uri }));
        assert_eq!(
            error(&post(&hub, None, &logout).await),
            (400, "invalid_client_metadata".into())
        );
    }
    let sector = with(json!({ "sector_identifier_uri": "https://shop.example/s.json" }));
    assert_eq!(error(&post(&hub, None, &sector).await), (400, "invalid_client_metadata".into()));
    let file = with(json!({ "jwks": { "file": "/etc/passwd", "keys": [] } }));
    assert_eq!(error(&post(&hub, None, &file).await), (400, "invalid_client_metadata".into()));
    // A public address is called only for a client that an operator has approved.
    let keys = json!({ "jwks_uri": "https://shop.example/k", "token_endpoint_auth_method": "private_key_jwt" });
    let client = register(&hub, None, &with(keys)).await;
    assert_eq!(client.text("registration_status"), "pending");
    assert!(client.0.get("client_secret").is_none());
}

/// Attack: a client registers with harmless metadata, and gets others past the operator later.
#[actix_web::test]
async fn an_update_of_an_approved_client_waits_for_approval_again() {
    let hub = TestHub::with(BY_APPROVAL).await;
    let mut client = register(&hub, None, &metadata()).await;
    super::operators::approve(&hub, client.id()).await;
    let typed = ("content-type", "application/json");
    let read = client.configure(&hub, TestRequest::get()).await.body;
    let put = TestRequest::put().insert_header(typed).set_payload(read);
    client = super::TestClient(client.configure(&hub, put).await.json());
    assert_eq!(client.text("registration_status"), "approved", "what was read changes nothing");
    for (change, status) in [
        (json!({}), "approved"),
        (json!({ "redirect_uris": ["https://evil.example/"] }), "pending"),
    ] {
        let sent = with(json!({ "client_id": client.id(), "client_uri": "https://shop.example/" }));
        let mut sent = sent.as_object().unwrap().clone();
        sent.extend(change.as_object().unwrap().clone());
        let put = TestRequest::put().insert_header(typed);
        let put = put.set_payload(Value::Object(sent).to_string());
        let answer = client.configure(&hub, put).await;
        assert_eq!(answer.json()["registration_status"], status, "{}", answer.body);
        client = super::TestClient(answer.json());
    }
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 400);
}

/// Attack: a client asks for settings that only an operator may write, or for a client_id of a
/// file.
#[actix_web::test]
async fn privileges_and_ids_of_files_can_not_be_claimed() {
    let hub = TestHub::with(OPEN).await;
    let sent = with(json!({
        "client_id": "bakery", "active": true, "consent": "none", "rules": "federation",
        "insecure_http": true, "internal_hosts": ["10.0.0.7"], "logins_per_minute": 100_000,
        "sector": "bakery", "secrets": [{ "env": "SUBJECT_KEY" }], "logo": "/etc/passwd",
        "connectors": { "allow": ["closed"] }, "public_on_high": true, "id_token_claims": true,
    }));
    let client = register(&hub, None, &sent).await;
    assert_ne!(client.id(), "bakery");
    for name in ["consent", "rules", "insecure_http", "sector", "secrets", "logo", "connectors"] {
        assert!(client.0.get(name).is_none(), "{name} is not registered");
    }
    let file = super::operators::export(&hub, client.id()).await;
    assert!(file.contains("consent = \"required\""), "{file}");
    for word in ["insecure_http", "internal_hosts", "sector", "env", "logo", "connectors"] {
        assert!(!file.contains(word), "{word} in {file}");
    }
}

/// A file of the configuration with the id of a registration precedes it.
#[actix_web::test]
async fn a_file_precedes_the_registration_that_it_was_exported_from() {
    let hub = TestHub::with(OPEN).await;
    let client = register(&hub, None, &metadata()).await;
    let file = super::operators::export(&hub, client.id()).await;
    let file = file.replace("Corner shop", "Shop of the file");
    put(hub.folder(), "service-providers/shop.toml", file.as_bytes());
    hub.advance(Duration::from_secs(1));
    hub.reload_files().await;
    let page = client.first_page(&hub).await;
    assert!(page.body.contains("Shop of the file"), "{}", page.body);
    let gone = client.configure(&hub, TestRequest::delete()).await;
    assert_eq!(gone.status, 204);
    let page = client.first_page(&hub).await;
    assert_eq!(page.status, 200, "the file stays");
}

/// Attack: a stranger poses as another registered service: by its host, written otherwise, or by
/// its name.
#[actix_web::test]
async fn the_host_and_the_name_of_another_registered_client_are_taken() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    register(&hub, None, &metadata()).await;
    for (change, oauth) in [
        (json!({ "client_name": "corner-SHOP" }), "invalid_client_metadata"),
        (json!({ "client_name#fr": "Corner shop" }), "invalid_client_metadata"),
        (json!({ "redirect_uris": ["https://shop.example/cb"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://shop.example./cb"] }), "invalid_redirect_uri"),
        (json!({ "client_uri": "https://shop.example/" }), "invalid_client_metadata"),
    ] {
        let mut sent = other_metadata();
        sent.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = post(&hub, None, &sent).await;
        assert_eq!(error(&answer), (400, oauth.into()), "{change}: {}", answer.body);
    }
    register(&hub, None, &other_metadata()).await;
}

/// Attack: a stranger has codes sent to a host that another client, or an identity provider, uses
/// without a redirect URI.
#[actix_web::test]
async fn the_hosts_of_all_addresses_of_a_client_and_of_an_identity_provider_are_taken() {
    let connector = r#"
name = { en = "Town account" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
acr = { eidas1 = ["eidas1"] }
[kind.oidc]
issuer = "https://login.town.example"
client_id = "hub"
client_secret = { env = "CLIENT_SECRET" }
[kind.oidc.endpoints]
authorization = "https://authorize.town-hall.example/"
token = "https://token.town-hall.example/"
userinfo = "https://userinfo.town-hall.example/"
jwks = "https://keys.town-hall.example/"
end_session = "https://leave.town-hall.example/"
"#;
    let service = r#"
client_id = "notary"
name = { en = "Notary" }
home_page = "https://notary.example/"
redirect_uris = ["https://notary.example/callback"]
post_logout_redirect_uris = ["https://goodbye.example/"]
backchannel_logout_uri = "https://events.example/logout"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://keys.example/jwks"
scopes = ["openid"]
"#;
    let files = [
        ("connectors/town.toml", connector.to_owned()),
        ("service-providers/notary.toml", service.to_owned()),
    ];
    let hub = TestHub::with_files(&format!("{OPEN}{PATIENT}"), &files).await;
    let own = with(json!({ "post_logout_redirect_uris": ["https://bye.shop.example/"] }));
    register(&hub, None, &own).await;
    for host in [
        "goodbye.example",
        "events.example",
        "keys.example",
        "login.town.example",
        "authorize.town-hall.example",
        "token.town-hall.example",
        "userinfo.town-hall.example",
        "keys.town-hall.example",
        "leave.town-hall.example",
        "bye.shop.example",
    ] {
        let mut sent = other_metadata();
        sent["redirect_uris"] = json!([format!("https://{host}/callback")]);
        let answer = post(&hub, None, &sent).await;
        assert_eq!(error(&answer), (400, "invalid_redirect_uri".into()), "{host}: {}", answer.body);
    }
    register(&hub, None, &other_metadata()).await;
}

/// Attack: a stranger has codes sent to a host that only an identity provider's metadata name, or
/// that only a data provider's keys are fetched from.
#[actix_web::test]
async fn the_hosts_of_discovered_endpoints_and_of_data_providers_are_taken() {
    let idp = FailingIdp::default();
    let data_provider = r#"
client_id = "archive"
name = { en = "Archive" }
scopes = ["openid", "family_name"]
secrets = [{ env = "CLIENT_SECRET" }]
introspection_signed_response_alg = "ES256"
introspection_encrypted_response_alg = "ECDH-ES"
jwks_uri = "https://keys.archive.example/jwks"
"#;
    let files = [
        ("connectors/failing.toml", idp.start("").await),
        ("data-providers/archive.toml", data_provider.to_owned()),
    ];
    let hub = TestHub::with_files(&format!("{OPEN}{PATIENT}"), &files).await;
    choose_idp(&hub.browser()).await;
    let mut answers = Vec::new();
    for address in [LOGOUT_PAGE, "https://keys.archive.example/callback"] {
        let mut sent = other_metadata();
        sent["redirect_uris"] = json!([address]);
        answers.push(error(&post(&hub, None, &sent).await));
    }
    assert_eq!(
        answers,
        [(400, "invalid_redirect_uri".into()), (400, "invalid_redirect_uri".into())]
    );
    register(&hub, None, &other_metadata()).await;
}

/// Attack: the holder of a token for one host has the hub fetch keys from another one, or writes
/// the allowed host so that it reads as another one.
#[actix_web::test]
async fn every_address_is_on_a_host_of_the_token() {
    let hub = TestHub::with(&format!("{BY_TOKEN}{PATIENT}")).await;
    let hosts = json!({ "hosts": ["SHOP.example."], "registrations": 3 });
    let token = create_token(&hub, hosts).await;
    let keys = |host: &str| {
        let uri = format!("https://{host}/keys");
        with(json!({ "jwks_uri": uri, "token_endpoint_auth_method": "private_key_jwt" }))
    };
    let foreign = post(&hub, Some(&token), &keys("keys.example")).await;
    assert_eq!(error(&foreign), (400, "invalid_client_metadata".into()), "{}", foreign.body);
    register(&hub, Some(&token), &keys("shop.example")).await;
    register(&hub, Some(&token), &metadata()).await;
}

/// Attack: characters that turn or hide text make the operator or the user read something else.
#[actix_web::test]
async fn no_member_contains_deceptive_characters() {
    let hub = TestHub::with(&format!("{OPEN}{PATIENT}")).await;
    for hidden in ['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}'] {
        let text = format!("gro.{hidden}elpmaxe");
        for (name, value) in [
            ("contacts", json!([text])),
            ("client_name", json!(text)),
            ("client_name#fr", json!(text)),
            ("client_uri", json!(format!("https://shop.example/{hidden}"))),
            ("redirect_uris", json!([format!("https://shop.example/{hidden}")])),
            ("software_id", json!(text)),
        ] {
            let mut sent = metadata();
            sent[name] = value;
            let answer = post(&hub, None, &sent).await;
            assert_eq!(answer.status, 400, "{name}: {}", answer.body);
            let member = name.split('#').next().unwrap();
            let description = answer.json()["error_description"].as_str().unwrap().to_owned();
            assert!(description.starts_with(member), "{description}");
        }
    }
}

/// Attack: a registration that no operator approves keeps its place by an update a day.
#[actix_web::test]
async fn updates_do_not_prolong_the_wait_for_approval() {
    let hub = TestHub::with(&format!("{BY_APPROVAL}pending_days = 7\n{PATIENT}")).await;
    let mut client = register(&hub, None, &metadata()).await;
    for day in 0..6 {
        hub.advance(Duration::from_secs(24 * 3600));
        client.update(&hub, &with(json!({ "software_version": day.to_string() }))).await;
    }
    hub.advance(Duration::from_secs(24 * 3600 + 1));
    let gone = client.configure(&hub, TestRequest::get()).await;
    assert_eq!(error(&gone), (401, "invalid_token".into()));
}
