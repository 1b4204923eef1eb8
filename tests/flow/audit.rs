//! The audit log of whole logins: exactly which lines, in which order, and nothing in them that is
//! nobody's business.

use std::collections::BTreeMap;
use std::fs;

use actix_web::test::TestRequest;
use passerelle::audit::EventKind;
use passerelle::audit::report::VerificationResult;
use passerelle::audit::verify::{Chains, TrustedCheckpoints, Verifier};
use passerelle::token::keyfiles;
use passerelle::token::verify::VerificationKeys;
use passerelle::web::{SandboxRoutes, routes};
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

/// By name, what the lines that have it agree on.
#[track_caller]
fn agreed(lines: &[Value], field: &str) -> String {
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
    agreed(&lines, "support_id");
    assert_eq!(agreed(&lines, "sp"), "bakery");
    assert_eq!(agreed(&lines, "idp"), "amandier");
    assert_eq!(agreed(&lines, "node"), "hub-1");
    assert_eq!(agreed(&lines[..9], "login").len(), 16);
    agreed(&lines, "session");
    assert!(
        lines[8]["session"].is_string()
            && lines[9]["session"].is_string()
            && lines[13]["session"].is_string()
    );
    let mine: Vec<Value> = lines.iter().filter(|line| line["dp"].is_null()).cloned().collect();
    assert_eq!(agreed(&mine, "sub"), tokens.id_token["sub"].as_str().unwrap());
    assert_eq!(
        (&lines[11]["dp"], lines[11]["sub"] == lines[8]["sub"]),
        (&json!("archive"), false),
        "each has its own"
    );
    for line in &lines {
        let name = EventKind::ALL.iter().find(|name| line["event"] == name.as_str()).unwrap();
        for field in line.as_object().unwrap().keys() {
            let of_all = ["v", "seq", "prev", "time", "event", "node"].contains(&field.as_str());
            assert!(
                of_all || name.fields().contains(&field.as_str()),
                "{} has {field}",
                name.as_str()
            );
        }
    }
}

#[actix_web::test]
async fn each_login_ends_once_and_says_why() {
    let hub = hub().await;
    let refusals: [(&[&str], &str); 5] = [
        (&["login_refused"], "Y420010"),
        (&["idp_chosen", "callback_refused", "choice_shown"], "Y"),
        (
            &[
                "idp_chosen",
                "callback_accepted",
                "register_queried",
                "register_answered",
                "login_failed",
            ],
            "Y01",
        ),
        (
            &[
                "idp_chosen",
                "callback_accepted",
                "register_queried",
                "register_answered",
                "consent_shown",
                "consent_refused",
                "login_refused",
            ],
            "Y420011",
        ),
        (&["login_refused"], "Y420012"),
    ];
    for (case, (after_choice, code)) in refusals.iter().enumerate() {
        let before = hub.audit_lines().len();
        let browser = hub.browser();
        let request =
            Authorize::by(if case == 3 { "clinic" } else { "bakery" }).with("prompt", "consent");
        match case {
            0 => drop(browser.authorize(&request).await.cancel().await),
            1 => drop(
                browser
                    .authorize(&request)
                    .await
                    .choose("amandier")
                    .await
                    .sign_in_failing("error")
                    .await,
            ),
            2 => drop(
                browser
                    .authorize(&request)
                    .await
                    .choose("amandier")
                    .await
                    .sign_in_as("unknown")
                    .await,
            ),
            3 => drop(
                browser
                    .authorize(&request)
                    .await
                    .choose("amandier")
                    .await
                    .sign_in_as("angela")
                    .await
                    .refuse()
                    .await,
            ),
            _ => drop(browser.get(&Authorize::by("bakery").with("prompt", "none").url()).await),
        }
        let lines = &hub.audit_lines()[before..];
        let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        let mut expected = vec!["authorization_received"];
        if case != 4 {
            expected.push("choice_shown");
        }
        expected.extend(*after_choice);
        assert_eq!(names, expected, "case {case}");
        let told = lines.iter().filter_map(|line| line["code"].as_str()).next_back().unwrap();
        assert!(told.starts_with(code), "case {case}: {told}");
        agreed(lines, "support_id");
    }
}

#[actix_web::test]
async fn a_login_by_a_reused_session_is_recorded_as_such() {
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
async fn a_rejection_at_an_endpoint_is_recorded_once() {
    let hub = hub().await;
    let browser = hub.browser();
    browser.get(&Authorize::by("bakery").with("scope", "nothing").url()).await;
    browser.get(&Authorize::by("bakery").with("redirect_uri", "https://evil.example/").url()).await;
    browser.get("/api/v2/callback/amandier?state=forged&code=x").await;
    browser.get("/nowhere").await;
    hub.redeem("bakery", "no such code").await;
    hub.post_form(
        "/api/v2/token",
        &[("client_id", "nobody"), ("client_secret", "x"), ("grant_type", "authorization_code")],
    )
    .await;
    hub.ask_userinfo("no such token").await;
    hub.post_form(
        "/api/v2/checktoken",
        &[("client_id", "archive"), ("client_secret", "wrong"), ("token", "x")],
    )
    .await;
    hub.post_form(
        "/api/v2/checktoken",
        &[("client_id", "archive"), ("client_secret", SECRET), ("token", "x")],
    )
    .await;
    hub.post_form(
        "/api/v2/token/revocation",
        &[("client_id", "bakery"), ("client_secret", SECRET), ("token", "x")],
    )
    .await;
    browser.get("/api/v2/session/end?state=x&state=y").await;
    hub.administer(TestRequest::get().uri("/admin/blocks")).await;
    assert_eq!(
        hub.audit_event_names(),
        [
            "authorization_refused",
            "authorization_refused",
            "callback_refused",
            "token_refused",
            "token_refused",
            "userinfo_refused",
            "introspection_refused",
            "introspection_inactive",
            "revocation_ignored",
            "logout_refused",
            "admin_refused",
        ]
    );
    let lines = hub.audit_lines();
    assert!(lines.iter().all(|line| line["code"].is_string()
        != (line["event"] == "introspection_inactive" || line["event"] == "revocation_ignored")));
    assert_eq!((&lines[3]["sp"], &lines[6]["dp"]), (&json!("bakery"), &json!("archive")));
    assert!(
        !hub.audit_text().contains("nobody") && !hub.audit_text().contains("evil"),
        "only what is registered is repeated"
    );
}

#[actix_web::test]
async fn blocks_and_files_are_recorded() {
    let hub = hub().await;
    let bearer = ("authorization", format!("Bearer {ADMIN_TOKEN}"));
    let block = json!({ "connector": "amandier", "reason": "a word of the operator" }).to_string();
    let set = hub
        .administer(
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
    hub.administer(TestRequest::delete().uri(&format!("/admin/blocks/{id}")).insert_header(bearer))
        .await;
    let file = hub.folder().join("data-providers/archive.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("\"A\"", "\"B\"")).unwrap();
    hub.reread().await;
    fs::write(hub.folder().join("connectors/amandier.toml"), "nonsense").unwrap();
    hub.reread().await;
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

/// Whatever a person is, and whatever opens anything, drives through the hub and is not in the log;
/// and the log is whole.
#[actix_web::test]
async fn nothing_of_a_person_and_no_secret_is_in_the_log() {
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

/// A route is registered together with what the audit log calls its refusals; here each of them is
/// refused once.
#[actix_web::test]
async fn the_refusal_of_every_route_is_recorded() {
    let hub = hub().await;
    // The first has a page for connectors that ask for a password, of which there is none here; the
    // second shows its page to any state. Neither refuses anything but for the store.
    let shown =
        [("GET", "/connectors/{connector}/login"), ("GET", "/api/v2/session/end/{connector}")];
    let mut refused = 0;
    for endpoint in routes::endpoints(SandboxRoutes::On) {
        let Some(name) = endpoint.rejection_event else { continue };
        let path =
            endpoint.path.replace("{hash}", &"A".repeat(43)).replace("{connector}", "amandier");
        for method in endpoint.methods().filter(|method| !shown.contains(&(method, endpoint.path)))
        {
            let request = match method {
                // No address takes a parameter that is repeated, or a body that is no form.
                "GET" => TestRequest::get()
                    .uri(&format!("{path}?state=x&state=y&client_id=x&client_id=y")),
                _ => TestRequest::post()
                    .uri(&path)
                    .insert_header(("content-type", "text/plain"))
                    .set_payload("state=x"),
            };
            let answer = hub.send(request).await;
            assert!(answer.status >= 400, "{method} {path}: {}", answer.status);
            refused += 1;
            let names = hub.audit_event_names();
            assert_eq!(
                (names.len(), names.last().map(String::as_str)),
                (refused, Some(name.as_str())),
                "{method} {path}"
            );
        }
    }
    assert!(refused > 15, "{refused}");
}

#[actix_web::test]
async fn a_percent_encoded_address_leads_nowhere() {
    let hub = hub().await;
    for address in [
        "/api/v2/%74oken",
        "/api/v2/toke%6e",
        "/api/v2/session/%65nd",
        "/api/v2/callback/am%61ndier?state=x&code=y",
    ] {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let answers = [
            hub.send(TestRequest::get().uri(address)).await,
            hub.send(
                TestRequest::post().uri(address).insert_header(form).set_payload("client_id=x"),
            )
            .await,
        ];
        assert_eq!(answers.map(|answer| answer.status), [404, 404], "{address}");
    }
    assert_eq!(hub.audit_event_names(), Vec::<String>::new());
}
