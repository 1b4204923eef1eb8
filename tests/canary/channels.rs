//! The canaries, the requests that send them, and the outputs that are searched.

mod failures;
mod outputs;

use std::fs;
use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service, try_call_service};
use actix_web::{App, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use passerelle_protocol::env::Env;
use passerelle_server::explain;
use passerelle_settings::Environment;
use passerelle_web::outer_middleware::OuterMiddleware;
use passerelle_web::{SandboxRoutes, routes};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::federation::{ADMIN_TOKEN, SECRET, post_logout_redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::{Authorize, Tokens};
use failures::*;
use outputs::*;

const SUBJECT_KEY: &str = "a subject key of more than 32 bytes, for ever";
const PASSWORD: &str = "Canary-Password-7731";
const BEARER: &str = "canary-register-bearer-4417";
const COLLECTOR_KEY: &str = "canary-collector-key-9902";
const PANIC: &str = "Canary Panic Value 5521";
const INLINE: &str = "canary-inline-secret-of-40-characters-88";
const FORGED: &str = "canary-forged-token-of-43-characters-000001";

/// Identities of the users who log in.
const IDENTITIES: [(&str, &str); 5] = [
    ("family name", "DUBOIS"),
    ("given names", "Angela Claire Louise"),
    ("e-mail", "angela@example.org"),
    ("birthdate", "1962-08-24"),
    ("birthdate of one who is not in the register", "1955-11-30"),
];

/// The documented filter for dependencies, and every line of the hub's own.
const FILTER: &str = "info,passerelle=trace";

fn settings(collector: u16) -> String {
    format!(
        "[audit]\nsink = \"file\"\n[traces]\nendpoint = \"http://127.0.0.1:{collector}/v1/traces\"\ninsecure_http = true\n\
         internal_hosts = [\"127.0.0.1\"]\nsample_ratio = 1.0\npropagate = \"all\"\nheaders = {{ x-key = {{ file = \"collector.key\" }} }}\n"
    )
}

fn files() -> Vec<(&'static str, String)> {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let scopes = r#"["openid", "family_name", "birthdate"]"#;
    vec![
        ("collector.key", COLLECTOR_KEY.to_owned()),
        (
            "data-providers/archive.toml",
            format!(
                "client_id = \"archive\"\nname = {{ en = \"A\" }}\nscopes = {scopes}\nsecrets = [{{ env = \"CLIENT_SECRET\" }}]\n"
            ),
        ),
        (
            "connectors/town.toml",
            format!(
                "name = {{ en = \"Town hall\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\nassumed_level = \"eidas1\"\n\
                 [kind.ldap]\nurl = \"ldap://127.0.0.1:{free}\"\ninsecure_ldap = true\ninternal_hosts = [\"127.0.0.1\"]\n\
                 bind_dn = \"cn=hub\"\nbind_password = {{ env = \"CLIENT_SECRET\" }}\nbase_dn = \"dc=example\"\n"
            ),
        ),
    ]
}

async fn post(hub: &TestHub, path: &str, pairs: &[(&str, &str)]) -> Answer {
    let body = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let form = ("content-type", "application/x-www-form-urlencoded");
    let traceparent = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01");
    hub.send(
        TestRequest::post()
            .uri(path)
            .insert_header(form)
            .insert_header(traceparent)
            .set_payload(body),
    )
    .await
}

/// Performs a login, userinfo, introspection, a second login by its session, revocation and logout.
async fn run_login_and_logout(hub: &TestHub, canaries: &mut Canaries) {
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("prompt", "consent"))
        .await
        .choose("amandier")
        .await;
    for (_, value) in browser.logins() {
        canaries.add("a login's cookie", &value);
    }
    let received = page.sign_in_as("angela").await.consent().await.received();
    canaries.add("a code", received.code());
    canaries.add("a session's cookie", &browser.session().unwrap());
    let tokens = hub.tokens("bakery", &received).await;
    canaries.tokens(&tokens);
    hub.userinfo(&tokens.access_token).await;
    let ask = [
        ("client_id", "archive"),
        ("client_secret", SECRET),
        ("token", tokens.access_token.as_str()),
    ];
    assert!(post(hub, "/api/v2/checktoken", &ask).await.body.contains("\"active\":true"));
    // The session is reused for a second service provider.
    browser.authorize(&Authorize::by("library")).await;
    let forget = [
        ("client_id", "bakery"),
        ("client_secret", SECRET),
        ("token", tokens.access_token.as_str()),
    ];
    post(hub, "/api/v2/token/revocation", &forget).await;
    assert_eq!(hub.redeem("bakery", received.code()).await.status, 400, "a code is redeemed once");
    let out = [
        ("id_token_hint", tokens.raw_id_token.as_str()),
        ("post_logout_redirect_uri", &post_logout_redirect_uri("bakery")),
        ("state", "a state for the logout, of 40 characters"),
    ];
    let out = Serializer::new(String::new()).extend_pairs(out).finish();
    assert_eq!(browser.get(&format!("/api/v2/session/end?{out}")).await.status, 303);
}

/// Runs the commands on valid and on invalid files, and reloads a hub with the invalid ones.
async fn run_commands(hub: &TestHub, outputs: &Outputs, canaries: &mut Canaries) {
    let (loaded, env) = (&hub.loaded, Env::system());
    outputs
        .record("a Debug of the settings", format!("{:?}{:?}", loaded.settings, loaded.register));
    outputs.record("a digest", serde_json::to_string(&loaded.files.digest()).unwrap());
    outputs.record(
        "acr explain",
        explain::explain_levels(loaded, "bakery", "amandier", "eidas1", None).unwrap().to_string(),
    );
    outputs.record(
        "check",
        passerelle_server::find_startup_errors(loaded, &env)
            .iter()
            .map(ToString::to_string)
            .collect::<String>(),
    );
    let admin = ("authorization", format!("Bearer {ADMIN_TOKEN}"));
    outputs.record(
        "the administration",
        hub.send_private(TestRequest::get().uri("/admin/connectors").insert_header(admin))
            .await
            .body,
    );
    let bad = format!(
        "name = {{ en = \"Bad\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n[kind.oidc]\nissuer = \"https://idp.example\"\n\
         client_id = \"hub\"\nclient_secret = \"{INLINE}\"\n"
    );
    fs::write(hub.folder().join("connectors/bad.toml"), bad).unwrap();
    fs::write(hub.folder().join("connectors/worse.toml"), format!("client_secret = {INLINE}\n"))
        .unwrap();
    let numbers = format!(
        "client_id = \"n\"\nsecrets = [{{ sha256 = \"{INLINE}\" }}]\nsecret = \"{INLINE}\"\n"
    );
    fs::write(hub.folder().join("service-providers/numbers.toml"), numbers).unwrap();
    hub.reload_files().await;
    let environment: Environment =
        [("SUBJECT_KEY", SUBJECT_KEY), ("CLIENT_SECRET", SECRET), ("ADMIN_TOKEN", ADMIN_TOKEN)]
            .into_iter()
            .collect();
    let again = passerelle_server::load_config(hub.folder(), &environment);
    assert!(again.is_err());
    outputs.record("check of bad files", passerelle_config::render_check_output(&again, env.now()));
    canaries.add("a secret written into a file", INLINE);
}

/// Performs a login on the high platform.
async fn run_high_platform(outputs: &Outputs, collector: u16, canaries: &mut Canaries) {
    let mut key = Jwk::generate_ec_key(EcCurve::P256).unwrap().to_public_key().unwrap();
    key.set_key_id("ec");
    key.set_key_use("enc");
    let members = key
        .as_ref()
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect::<Vec<_>>()
        .join(", ");
    let keys = format!(
        "id_token_encrypted_response_alg = \"ECDH-ES\"\njwks = {{ keys = [{{ {members} }}] }}"
    );
    let services = [("bakery", keys)];
    let hub = TestHub::high_with(&services, |folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{text}{}", settings(collector))).unwrap();
        super::federation::put(folder, "collector.key", COLLECTOR_KEY.as_bytes());
    })
    .await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("acr_values", "eidas2"))
        .await
        .choose("amandier")
        .await;
    let form = page
        .form("/sandbox/")
        .with("person", "angela")
        .with("level", "eidas2")
        .with("method", "pwd");
    let received = browser.submit(&form).await.consent().await.received();
    canaries.add("a code of the high platform", received.code());
    canaries.add("a session's cookie of the high platform", &browser.session().unwrap());
    let tokens: serde_json::Value =
        serde_json::from_str(&hub.redeem("bakery", received.code()).await.body).unwrap();
    canaries.add("an encrypted ID token", tokens["id_token"].as_str().unwrap());
    let access_token = tokens["access_token"].as_str().unwrap();
    canaries.add("an access token of the high platform", access_token);
    canaries.add("an encrypted userinfo response", &hub.get_userinfo(access_token).await.body);
    collect_outputs(&hub, outputs).await;
}

/// Records what a hub writes for its operators.
async fn collect_outputs(hub: &TestHub, outputs: &Outputs) {
    hub.flush_traces().await;
    hub.flush_audit();
    outputs.record("the metrics", hub.metrics.render());
    let audit = fs::read_to_string(hub.folder().join("audit/audit.jsonl")).unwrap();
    assert!(audit.lines().count() > 4, "{audit}");
    outputs.record("the audit log", audit);
}

#[actix_web::test]
async fn no_output_contains_a_secret_or_an_identity() {
    let outputs = Outputs::default();
    let log = Log(outputs.clone());
    let lines = passerelle_telemetry::log_dispatch(
        move || log.clone(),
        passerelle_telemetry::LineFormat::Json,
        FILTER,
    )
    .unwrap();
    tracing::dispatcher::set_global_default(lines).unwrap();
    let mut canaries = Canaries::default();
    for (name, value) in IDENTITIES.into_iter().chain([
        ("a client secret", SECRET),
        ("the administrator's token", ADMIN_TOKEN),
        ("the subjects' key", SUBJECT_KEY),
        ("the collector's key", COLLECTOR_KEY),
    ]) {
        canaries.add(name, value);
    }
    let collector = start_collector(&outputs);

    let hub = TestHub::with_files(&settings(collector), &files()).await;
    run_login_and_logout(&hub, &mut canaries).await;
    send_refused_requests(&hub, &outputs, &mut canaries).await;
    cause_panic(&hub, &outputs, &mut canaries).await;
    // From here on this test's own failures are printed again.
    drop(std::panic::take_hook());
    run_commands(&hub, &outputs, &mut canaries).await;
    collect_outputs(&hub, &outputs).await;
    run_high_platform(&outputs, collector, &mut canaries).await;
    run_without_register(&outputs, collector, &mut canaries).await;

    let leaks = outputs.find_leaks(&canaries.0);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));

    // Each output was recorded.
    for name in [
        "a log line",
        "a span",
        "the metrics",
        "the audit log",
        "an error's answer",
        "check of bad files",
        "a digest",
    ] {
        assert!(
            outputs
                .0
                .lock()
                .unwrap()
                .iter()
                .any(|(output, text)| output == name && !text.is_empty()),
            "nothing in {name}"
        );
    }
    let recorded = outputs.0.lock().unwrap().clone();
    let all = |name: &str| {
        recorded
            .iter()
            .filter(|(output, _)| output == name)
            .map(|(_, text)| text.as_str())
            .collect::<String>()
    };
    assert!(
        all("a log line").contains("\"level\":\"DEBUG\""),
        "the hub's own lines at every level"
    );
    assert!(all("a log line").contains("a panic"));
    for span in [
        "GET /api/v2/authorize",
        "login step",
        "idp complete_login",
        "register lookup",
        "sign",
        "POST /api/v2/token",
    ] {
        // As protobuf encodes it: field 5 of type LEN, the length, the name.
        let field = format!("\u{2a}{}{span}", char::from(u8::try_from(span.len()).unwrap()));
        assert!(all("a span").contains(&field), "no span {span}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an encoding in upper case")]
fn a_planted_value_is_found_in_every_encoding() {
    let canary = [("the canary".to_owned(), "Canary Secret é/+ 1234".to_owned())];
    let value = &canary[0].1;
    for planted in [
        format!("x{value}y"),
        value.to_uppercase(),
        Serializer::new(String::new()).append_pair("a", value).finish(),
        serde_json::json!({ "a": value }).to_string(),
        format!("Basic {}", STANDARD.encode(format!("client:{value}"))),
        URL_SAFE_NO_PAD.encode(format!("{{\"sub\":\"{value}\"}}")),
        format!(
            "https://x.example/?a={}",
            byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20")
        ),
    ] {
        let outputs = Outputs::default();
        outputs.record("here", planted.clone());
        assert!(!outputs.find_leaks(&canary).is_empty(), "{planted}");
    }
    let outputs = Outputs::default();
    outputs.record("here", "nothing but Canary text");
    assert!(outputs.find_leaks(&canary).is_empty());
}
