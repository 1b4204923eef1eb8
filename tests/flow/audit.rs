//! The audit log of whole logins: exactly which lines, in which order, without personal data and
//! secrets.

mod outcomes;

use std::collections::BTreeMap;
use std::fs;

use actix_web::test::TestRequest;
use passerelle_audit::EventKind;
use passerelle_audit::report::VerificationResult;
use passerelle_audit::verify::{Chains, TrustedCheckpoints, Verifier};
use passerelle_jose::keyfiles;
use passerelle_jose::verify::VerificationKeys;
use passerelle_web::{SandboxRoutes, routes};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::federation::{ADMIN_TOKEN, SECRET, post_logout_redirect_uri};
use super::hub::TestHub;
use super::service::Authorize;

const ON: &str = "[audit]\nsink = \"file\"\nnode = \"hub-1\"\n";

fn archive() -> (&'static str, String) {
    let scopes = r#"["openid", "family_name", "birthdate"]"#;
    let file = format!(
        "client_id = \"archive\"\nname = {{ en = \"A\" }}\nscopes = {scopes}\nsecrets = [{{ env = \"CLIENT_SECRET\" }}]\n"
    );
    ("data-providers/archive.toml", file)
}

async fn hub() -> TestHub {
    TestHub::with_files(ON, &[archive()]).await
}

/// Returns the one value that a field has in all lines.
#[track_caller]
fn single_value(lines: &[Value], field: &str) -> String {
    let values: BTreeMap<String, usize> = lines
        .iter()
        .filter_map(|line| line[field].as_str())
        .fold(BTreeMap::new(), |mut all, value| {
            *all.entry(value.to_owned()).or_default() += 1;
            all
        });
    assert_eq!(values.len(), 1, "{field}: {values:?}");
    values.into_keys().next().unwrap()
}

#[actix_web::test]
async fn a_whole_login_is_recorded_line_by_line() {
    let hub = hub().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("prompt", "consent");
    let page =
        browser.authorize(&request).await.choose("amandier").await.sign_in_as("angela").await;
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    hub.userinfo(&tokens.access_token).await;
    let ask = [
        ("client_id", "archive"),
        ("client_secret", SECRET),
        ("token", tokens.access_token.as_str()),
    ];
    assert!(hub.post_form("/api/v2/checktoken", &ask).await.body.contains("\"active\":true"));
    let forget = [
        ("client_id", "bakery"),
        ("client_secret", SECRET),
        ("token", tokens.access_token.as_str()),
    ];
    hub.post_form("/api/v2/token/revocation", &forget).await;
    let out = [
        ("id_token_hint", tokens.raw_id_token.as_str()),
        ("post_logout_redirect_uri", &post_logout_redirect_uri("bakery")),
        ("state", "a state for the logout, of 40 characters"),
    ];
    let out = Serializer::new(String::new()).extend_pairs(out).finish();
    assert_eq!(browser.get(&format!("/api/v2/session/end?{out}")).await.status, 303);

    let expected = [
        "authorization_received",
        "choice_shown",
        "idp_chosen",
        "callback_accepted",
        "register_queried",
        "register_answered",
        "information_shown",
        "information_continued",
        "code_issued",
        "token_issued",
        "userinfo_released",
        "introspection_active",
        "token_revoked",
        "logout_completed",
    ];
    assert_eq!(hub.audit_event_names(), expected);
    let lines = hub.audit_lines();
    assert_eq!(
        lines[..13].iter().filter(|line| line["support_id"].is_string()).count(),
        13,
        "all of the login"
    );
    single_value(&lines, "support_id");
    assert_eq!(single_value(&lines, "sp"), "bakery");
    assert_eq!(single_value(&lines, "idp"), "amandier");
    assert_eq!(single_value(&lines, "node"), "hub-1");
    assert_eq!(single_value(&lines[..9], "login").len(), 16);
    single_value(&lines, "session");
    assert!(
        lines[8]["session"].is_string()
            && lines[9]["session"].is_string()
            && lines[13]["session"].is_string()
    );
    let mine: Vec<Value> = lines.iter().filter(|line| line["dp"].is_null()).cloned().collect();
    assert_eq!(single_value(&mine, "sub"), tokens.id_token["sub"].as_str().unwrap());
    assert_eq!(
        (&lines[11]["dp"], lines[11]["sub"] == lines[8]["sub"]),
        (&json!("archive"), false),
        "each has its own"
    );
    for line in &lines {
        let name = EventKind::find(line["event"].as_str().unwrap()).unwrap();
        for field in line.as_object().unwrap().keys() {
            let of_all =
                ["v", "seq", "prev", "time", "event", "node", "salt"].contains(&field.as_str());
            assert!(
                of_all || name.fields().contains(&field.as_str()),
                "{} has {field}",
                name.as_str()
            );
        }
    }
}

#[actix_web::test]
async fn a_login_with_a_reused_session_is_recorded_with_that_fact() {
    let hub = hub().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let before = hub.audit_lines().len();
    let received = browser.open(&Authorize::by("library").with("prompt", "consent").url()).await;
    drop(received);
    let lines = &hub.audit_lines()[before..];
    let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["authorization_received", "session_reused"], "{names:?}");
    assert!(!names.contains(&"idp_chosen"));
}

#[actix_web::test]
async fn blocks_and_files_are_recorded() {
    let hub = hub().await;
    let bearer = ("authorization", format!("Bearer {ADMIN_TOKEN}"));
    let block = json!({ "connector": "amandier", "reason": "a word of the operator" }).to_string();
    let set = hub
        .send_private(
            TestRequest::post()
                .uri("/admin/blocks")
                .insert_header(bearer.clone())
                .set_payload(block),
        )
        .await;
    let id = serde_json::from_str::<Value>(&set.body).unwrap()["block"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    hub.send_private(
        TestRequest::delete().uri(&format!("/admin/blocks/{id}")).insert_header(bearer),
    )
    .await;
    let file = hub.folder().join("data-providers/archive.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("\"A\"", "\"B\"")).unwrap();
    hub.reload_files().await;
    fs::write(hub.folder().join("connectors/amandier.toml"), "nonsense").unwrap();
    hub.reload_files().await;
    assert_eq!(
        hub.audit_event_names(),
        ["block_set", "block_lifted", "config_applied", "config_changed", "config_rejected"]
    );
    let lines = hub.audit_lines();
    assert_eq!(
        (&lines[0]["block"], &lines[1]["block"], &lines[0]["idp"]),
        (&json!(id), &json!(id), &json!("amandier"))
    );
    assert_eq!((&lines[3]["dp"], &lines[3]["change"]), (&json!("archive"), &json!("changed")));
    assert!(lines[4]["file"].as_str().unwrap().ends_with("amandier.toml"));
    assert!(!hub.audit_text().contains("a word of the operator"));
}

/// Identities and secrets pass through the hub. The log contains none of them, and verifies.
#[actix_web::test]
#[expect(clippy::disallowed_methods, reason = "values are searched in any case")]
async fn the_log_contains_no_personal_data_and_no_secret() {
    let hub = hub().await;
    let mut secrets: Vec<String> = vec![SECRET.into(), ADMIN_TOKEN.into()];
    for person in ["angela", "jean"] {
        let browser = hub.browser();
        let request = Authorize::by("bakery")
            .with("prompt", "consent")
            .with("login_hint", "canary@hint.example");
        let choice = browser.authorize(&request).await;
        secrets.extend(browser.logins().into_iter().flat_map(|(name, value)| [name, value]));
        secrets.push(choice.url.rsplit('/').next().unwrap().to_owned());
        let page = choice.choose("amandier").await.sign_in_as(person).await;
        let received = page.consent().await.received();
        secrets.push(received.code().to_owned());
        let tokens = hub.tokens("bakery", &received).await;
        secrets.extend(browser.session());
        hub.userinfo(&tokens.access_token).await;
        hub.redeem("bakery", received.code()).await;
        hub.post_form(
            "/api/v2/token",
            &[("client_id", "canary-client"), ("client_secret", "canary-secret")],
        )
        .await;
        browser.get("/api/v2/callback/canary-idp?state=canary-state&code=canary-code&error_description=canary-text").await;
        secrets.extend([tokens.access_token, tokens.raw_id_token]);
    }
    for identity in ["Angela", "DUBOIS", "1962-08-24", "angela@example.org", "canary"] {
        secrets.push(identity.to_owned());
    }
    // A log is intact if a checkpoint covers its last line.
    hub.flush_audit();
    hub.advance(std::time::Duration::from_secs(60));
    let text = hub.audit_text();
    for secret in &secrets {
        assert!(
            secret.len() > 3 && !text.to_lowercase().contains(&secret.to_lowercase()),
            "{secret} is in\n{text}"
        );
    }
    assert!(!text.contains("127.0.0.1") && text.lines().count() >= 30, "{text}");

    let ring = keyfiles::load_keyring(&hub.folder().join("keys"), hub.now()).unwrap();
    let keys = VerificationKeys::from_jwks(&ring.verification_jwks(hub.now())).unwrap();
    let mut verifier = Verifier::new(&keys, TrustedCheckpoints::default(), Chains::One);
    verifier.read_file("audit.jsonl", &mut text.as_bytes()).unwrap();
    let report = verifier.finish();
    assert_eq!(
        (report.result(), report.findings.len()),
        (VerificationResult::Intact, 0),
        "{report:?}"
    );
}
