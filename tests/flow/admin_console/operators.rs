//! What each operator may do, from a page and by a program, and what the audit log records of it.

use actix_web::test::TestRequest;
use passerelle_admin::console::ReportSource;
use url::form_urlencoded::Serializer;

use super::*;
use crate::hub::Answer;

pub(crate) const ALICE: &str = "the-token-of-alice-of-more-than-32-characters";
pub(crate) const VERA: &str = "the-token-of-vera-of-more-than-32-characters-too";
pub(crate) const PEER: &str = "the-token-of-the-hubs-of-more-than-32-characters";

/// A hub with an operator, a viewer, a token for other hubs, and an audit log in a file.
pub(crate) async fn staffed() -> TestHub {
    staffed_with("").await
}

/// The same with more settings.
pub(crate) async fn staffed_with(more: &str) -> TestHub {
    TestHub::edited(|folder| {
        with_staff(folder);
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{more}{settings}\n{AUDITED}")).unwrap();
    })
    .await
}

/// Adds the operators and the token for other hubs to a configuration.
fn with_staff(folder: &std::path::Path) {
    for (name, token) in [("alice", ALICE), ("vera", VERA), ("peer", PEER)] {
        std::fs::write(folder.join(format!("{name}.token")), token).unwrap();
    }
    let path = folder.join("passerelle.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    let staff = "admin_token = { env = \"ADMIN_TOKEN\" }, peer_token = { file = \"peer.token\" }, operators = [\
        { name = \"alice\", role = \"operator\", token = { file = \"alice.token\" } }, \
        { name = \"vera\", role = \"viewer\", token = { file = \"vera.token\" } }]";
    let settings = settings.replace("admin_token = { env = \"ADMIN_TOKEN\" }", staff);
    std::fs::write(&path, settings).unwrap();
}

pub(crate) async fn send_as(hub: &TestHub, token: &str, request: TestRequest) -> Answer {
    hub.send_private(request.insert_header(("authorization", format!("Bearer {token}")))).await
}

/// The lines of one event.
pub(crate) fn recorded(hub: &TestHub, event: &str) -> Vec<Value> {
    hub.flush_audit();
    let text = std::fs::read_to_string(hub.folder().join("audit/audit.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == event).collect()
}

pub(crate) async fn sign_in_cookie(hub: &TestHub, token: &str) -> String {
    let answer = hub.sign_in(token, "/admin/", "same-origin").await;
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

/// Returns the token of the forms on the overview.
pub(crate) async fn form_token(hub: &TestHub, cookie: &str) -> String {
    form_token_of(&hub.console_page("/admin/", cookie).await.body)
}

/// Returns the token of the forms on a page.
pub(crate) fn form_token_of(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap_or_default();
    rest.split('"').next().unwrap().to_owned()
}

pub(crate) async fn submit(
    hub: &TestHub,
    action: &str,
    (cookie, site): (&str, &str),
    fields: &[(&str, &str)],
) -> Answer {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = TestRequest::post().uri(&format!("/admin/actions/{action}"));
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("cookie", cookie),
        ("sec-fetch-site", site),
    ];
    let request = headers.iter().fold(request, |request, header| request.insert_header(*header));
    hub.send_private(request.set_payload(body)).await
}

pub(crate) async fn blocks(hub: &TestHub) -> usize {
    let list: Value = hub.get_json("/admin/blocks").await;
    list["blocks"].as_array().unwrap().len()
}

/// Every form of the console that changes something, with fields that it takes.
const ACTS: &[(&str, &[(&str, &str)])] = &[
    ("block", &[("connector", "amandier"), ("reason", "keys leaked, case 4711")]),
    ("unblock", &[("id", "7K3Q9WZX2M4T"), ("reason", "keys replaced")]),
    ("publish-notice", &[("text.en", "Sorry, delays"), ("reason", "case 4711")]),
    ("remove-notice", &[("id", "7K3Q9WZX2M4T"), ("reason", "case closed")]),
    ("end-sessions", &[("sub", "a-sub"), ("reason", "ticket 4711")]),
    ("revoke-grants", &[("sub", "a-sub"), ("reason", "ticket 4711")]),
    ("probe", &[("connector", "amandier")]),
    ("reload", &[]),
    ("rotate-keys", &[]),
    ("drain", &[]),
    ("resume", &[]),
];

/// Events of the acts.
const ACT_EVENTS: &[&str] = &[
    "block_set",
    "block_lifted",
    "notice_published",
    "notice_removed",
    "logins_searched",
    "session_ended_by_operator",
    "refresh_grants_revoked",
    "probe_requested",
    "reload_requested",
    "key_rotation_requested",
    "hub_drained",
    "hub_resumed",
];

/// The fields of a form that its operator has confirmed.
pub(crate) fn confirmed<'a>(
    token: &'a str,
    fields: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let added = [("form_token", token), ("confirmed", "yes")];
    added.iter().chain(fields).copied().collect()
}

const BLOCK: &str = r#"{"connector":"amandier","reason":"keys leaked, case 4711"}"#;
pub(super) const NOTICE: &str = r#"{"text":{"en":"Sorry, delays"},"reason":"snow, case 4711"}"#;

#[actix_web::test]
async fn a_viewer_who_tries_to_change_the_hub_is_refused_and_named() {
    let hub = staffed().await;
    let changes = [
        TestRequest::post().uri("/admin/blocks").set_payload(BLOCK),
        TestRequest::delete().uri("/admin/blocks/x"),
        TestRequest::post().uri("/admin/notices").set_payload(NOTICE),
        TestRequest::delete().uri("/admin/notices/x"),
        TestRequest::post().uri("/admin/drain"),
        TestRequest::delete().uri("/admin/drain"),
        TestRequest::post().uri("/admin/reload"),
        TestRequest::post().uri("/admin/keys/rotate"),
        TestRequest::post().uri("/admin/keys/reload"),
        TestRequest::post().uri("/admin/connectors/amandier/probe"),
    ];
    let count = changes.len();
    for change in changes {
        let answer = send_as(&hub, VERA, change).await;
        assert_eq!(answer.status, 403, "{}", answer.body);
        assert!(answer.body.contains("Y500102"), "{}", answer.body);
    }
    assert_eq!(blocks(&hub).await, 0);
    // Nor from a page: her pages have no form that changes anything, and a forged one is refused.
    let cookie = sign_in_cookie(&hub, VERA).await;
    let page = hub.console_page("/admin/", &cookie).await;
    assert!(!page.body.contains("/admin/actions/block") && !page.body.contains("Rotate keys"));
    let token = form_token(&hub, &cookie).await;
    for (action, fields) in ACTS {
        let fields = confirmed(&token, fields);
        let answer = submit(&hub, action, (&cookie, "same-origin"), &fields).await;
        assert_eq!(answer.status, 403, "{action}");
    }
    assert_eq!(blocks(&hub).await, 0);
    let refused = recorded(&hub, "admin_refused");
    assert_eq!(refused.len(), count + ACTS.len());
    for event in ACT_EVENTS {
        assert!(recorded(&hub, event).is_empty(), "{event}");
    }
    assert!(refused.iter().all(|line| line["operator"] == "vera"), "{refused:?}");
    assert!(
        hub.get_admin("/admin/status", &[("authorization", &format!("Bearer {VERA}"))])
            .await
            .status
            == 200
    );
}

#[actix_web::test]
async fn a_cross_site_form_post_to_the_console_changes_nothing() {
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let other = form_token(&hub, &sign_in_cookie(&hub, VERA).await).await;
    let forged = |token: &'static str| token;
    for (site, sent) in [
        ("cross-site", token.as_str()),
        ("same-site", token.as_str()),
        ("same-origin", forged("")),
        ("same-origin", forged("guessed")),
        ("same-origin", other.as_str()),
    ] {
        for (action, fields) in ACTS {
            let fields = confirmed(sent, fields);
            let answer = submit(&hub, action, (&cookie, site), &fields).await;
            assert!(answer.status >= 400, "{site} {sent} {action}: {}", answer.status);
            // Nor does it show what it would do.
            let answer = submit(&hub, action, (&cookie, site), &fields[..1]).await;
            assert!(answer.status >= 400, "{site} {sent} {action}: {}", answer.status);
        }
    }
    assert_eq!(blocks(&hub).await, 0);
    for event in ACT_EVENTS {
        assert!(recorded(&hub, event).is_empty(), "{event}");
    }
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert!(status.ready && !status.drained);
    // Without a cookie there is only the sign-in form.
    let fields = [("form_token", token.as_str()), ("connector", "amandier"), ("reason", "no one")];
    assert_eq!(submit(&hub, "block", ("a=b", "same-origin"), &fields).await.status, 401);
}

#[actix_web::test]
async fn a_hub_is_drained_resumed_reloaded_and_its_key_rotation_requested_by_a_named_operator() {
    let hub = staffed().await;
    let drained = send_as(&hub, ALICE, TestRequest::post().uri("/admin/drain")).await;
    assert_eq!(drained.status, 200, "{}", drained.body);
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert!(!status.ready && status.drained);
    // It serves what reaches it.
    assert!(hub.browser().authorize(&Authorize::by("bakery")).await.is_choice());
    send_as(&hub, ALICE, TestRequest::delete().uri("/admin/drain")).await;
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert!(status.ready && !status.drained);

    std::fs::write(hub.folder().join("connectors/belvedere.toml"), "name = 1").unwrap();
    let reloaded = send_as(&hub, ALICE, TestRequest::post().uri("/admin/reload")).await;
    assert!(reloaded.body.contains("belvedere.toml"), "{}", reloaded.body);

    let rotated = send_as(&hub, ALICE, TestRequest::post().uri("/admin/keys/rotate")).await;
    assert_eq!(rotated.status, 200, "{}", rotated.body);
    let keys: Value = serde_json::from_str(&rotated.body).unwrap();
    assert!(keys["keys"].as_array().unwrap().len() >= 2, "{keys}");
    // The next keys don't sign yet, so a second rotation has to wait.
    let again = send_as(&hub, ALICE, TestRequest::post().uri("/admin/keys/rotate")).await;
    assert!(again.status == 500 && again.body.contains("Y500106"), "{}", again.body);
    for event in ["hub_drained", "hub_resumed", "reload_requested", "key_rotation_requested"] {
        assert_eq!(recorded(&hub, event)[0]["operator"], "alice", "{event}");
    }
}

#[actix_web::test]
async fn a_persons_logins_are_searched_only_with_a_reason_that_is_recorded() {
    let hub = staffed().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let sub = tokens.id_token["sub"].as_str().unwrap().to_owned();
    let support_id = hub.last_support_id();
    let search = |sub: &str, reason: &str| {
        let body = serde_json::json!({ "sub": sub, "reason": reason }).to_string();
        TestRequest::post().uri("/admin/logins/search").set_payload(body)
    };
    for (sub, reason) in [
        (&*sub, ""),
        (&*sub, "    "),
        (&*sub, "x"),
        (&*sub, "two\nlines"),
        ("", "ticket 4711"),
        ("a b", "ticket 4711"),
    ] {
        let answer = send_as(&hub, VERA, search(sub, reason)).await;
        assert_eq!(answer.status, 400, "{sub:?} {reason:?}");
    }
    assert!(recorded(&hub, "logins_searched").is_empty());
    let answer = send_as(&hub, VERA, search(&sub, "ticket 4711")).await;
    assert!(answer.status == 200 && answer.body.contains(&support_id), "{}", answer.body);
    for canary in CANARIES {
        assert!(!answer.body.contains(canary), "{canary}");
    }
    let line = recorded(&hub, "logins_searched").pop().unwrap();
    assert_eq!(
        (&line["operator"], &line["reason"], &line["sub"]),
        (&Value::from("vera"), &Value::from("ticket 4711"), &Value::from(sub.as_str()))
    );
    let unknown = send_as(&hub, VERA, search("another-sub", "ticket 4711")).await;
    assert!(unknown.status == 200 && !unknown.body.contains(&support_id));
    // From the page, too.
    let cookie = sign_in_cookie(&hub, VERA).await;
    let token = form_token(&hub, &cookie).await;
    let fields = [("form_token", token.as_str()), ("sub", sub.as_str()), ("reason", "ticket 4712")];
    let page = submit(&hub, "search", (&cookie, "same-origin"), &fields).await;
    assert!(page.status == 200 && page.body.contains(&support_id), "{}", page.body);
    assert!(!page.body.contains(&sub), "the page does not repeat the sub");
}

#[actix_web::test]
async fn without_an_audit_log_no_person_is_searched() {
    let hub = TestHub::start().await;
    let body = r#"{"sub":"abc","reason":"ticket 4711"}"#;
    let request = TestRequest::post().uri("/admin/logins/search").set_payload(body);
    let answer = hub.send_as_admin(request).await;
    assert!(answer.status == 409 && answer.body.contains("Y500104"), "{}", answer.body);
}

#[actix_web::test]
async fn a_login_that_the_memory_has_forgotten_is_found_in_the_audit_log() {
    let hub = TestHub::with(&format!("limits.remembered_logins = 0\n{AUDITED}")).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = page.sign_in_failing("error").await;
    let login = hub.login_view(&page.support_id()).await;
    assert_eq!(events(&login)[..3], ["authorization_received", "choice_shown", "idp_chosen"]);
    assert_eq!(login.refusal.map(|refusal| refusal.code), Some(page.references()[0].clone()));
    assert_eq!(login.service_provider.map(|sp| sp.id).as_deref(), Some("bakery"));
    assert!(login.start_recorded && login.nodes[0].source == Some(ReportSource::AuditLog));
}

#[actix_web::test]
async fn a_peer_with_a_wrong_or_an_operators_token_gets_no_data() {
    let hub = staffed().await;
    hub.browser().authorize(&Authorize::by("bakery")).await;
    let support_id = hub.last_support_id();
    let path = format!("/admin/peer/logins/{support_id}");
    for token in ["", "wrong", ALICE, VERA, ADMIN_TOKEN] {
        let answer = send_as(&hub, token, TestRequest::get().uri(&path)).await;
        assert!(matches!(answer.status, 401 | 429), "{token}: {}", answer.status);
        assert!(!answer.body.contains("bakery"));
    }
    let cookie = sign_in_cookie(&hub, ALICE).await;
    assert!(matches!(hub.console_page(&path, &cookie).await.status, 401 | 429));
    let answer = send_as(&hub, PEER, TestRequest::get().uri(&path)).await;
    assert!(answer.status == 200 && answer.body.contains("bakery"), "{}", answer.body);
    // The token of the hubs opens nothing else.
    for path in ["/admin/status", "/admin/config", &format!("/admin/logins/{support_id}")] {
        let answer = send_as(&hub, PEER, TestRequest::get().uri(path)).await;
        assert!(matches!(answer.status, 401 | 429), "{path}");
    }
    let block = TestRequest::post().uri("/admin/blocks").set_payload(BLOCK);
    assert!(matches!(send_as(&hub, PEER, block).await.status, 401 | 429));
    assert_eq!(blocks(&hub).await, 0);
    // A search by another hub is recorded here with the operator who asked there.
    let body = r#"{"sub":"abc","reason":"ticket 4711","operator":"bob","instance":"x"}"#;
    let request = TestRequest::post().uri("/admin/peer/logins/search").set_payload(body);
    assert_eq!(send_as(&hub, PEER, request).await.status, 200);
    assert_eq!(recorded(&hub, "logins_searched")[0]["operator"], "bob (at another hub)");
}

#[actix_web::test]
async fn an_operator_ends_a_persons_sessions_and_refresh_tokens_from_a_page_after_a_confirmation() {
    let hub = staffed_with("index_sessions_by_sub = true\n").await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let tokens = hub.tokens("bakery", &received).await;
    let sub = tokens.id_token["sub"].as_str().unwrap().to_owned();
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token(&hub, &cookie).await;
    let mine = (cookie.as_str(), "same-origin");
    let person = [("sub", sub.as_str()), ("reason", "device stolen <i>4711</i>")];
    for (action, question, done, searches) in [
        ("end-sessions", "End the sessions of this person?", "Sessions ended: 1.", 1),
        ("revoke-grants", "End refresh tokens of this person?", "Refresh tokens ended: 0.", 2),
    ] {
        let fields: Vec<_> =
            [("form_token", token.as_str())].iter().chain(&person).copied().collect();
        let asked = submit(&hub, action, mine, &fields).await;
        assert!(asked.body.contains(question) && asked.body.contains(&sub), "{}", asked.body);
        assert!(!asked.body.contains("<i>4711"), "{}", asked.body);
        let before = recorded(&hub, "logins_searched").len();
        assert_eq!(before, searches - 1, "nothing happens before the confirmation");
        let answer = submit(&hub, action, mine, &confirmed(&token, &person)).await;
        assert!(answer.body.contains(done), "{}", answer.body);
        let line = recorded(&hub, "logins_searched").pop().unwrap();
        assert_eq!(
            (&line["operator"], &line["reason"]),
            (&Value::from("alice"), &Value::from(person[1].1))
        );
    }
    assert_eq!(recorded(&hub, "session_ended_by_operator")[0]["operator"], "alice");
    assert!(recorded(&hub, "refresh_grants_revoked").is_empty(), "none was revoked");
    // A viewer may list them, with a reason.
    let cookie = sign_in_cookie(&hub, VERA).await;
    let token = form_token(&hub, &cookie).await;
    let listed =
        submit(&hub, "list-grants", (&cookie, "same-origin"), &confirmed(&token, &person)).await;
    assert!(
        listed.status == 200 && listed.body.contains("No refresh token was found"),
        "{}",
        listed.body
    );
}

#[actix_web::test]
async fn an_operator_has_an_identity_provider_probed_from_its_page_and_by_a_program() {
    let hub = staffed().await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let page = hub.console_page("/admin/identity-providers/amandier", &cookie).await;
    assert!(page.body.contains("Try it again now"), "{}", page.body);
    let token = form_token(&hub, &cookie).await;
    let fields = [("form_token", token.as_str()), ("connector", "amandier")];
    let answer = submit(&hub, "probe", (&cookie, "same-origin"), &fields).await;
    // The one of the tests is a page of the hub's own.
    assert!(answer.status == 409 && answer.body.contains("Y500109"), "{}", answer.body);
    assert!(answer.body.contains("makes no calls"), "{}", answer.body);
    let probe = |id: &str| TestRequest::post().uri(&format!("/admin/connectors/{id}/probe"));
    assert_eq!(send_as(&hub, ALICE, probe("unknown")).await.status, 422);
    assert!(recorded(&hub, "probe_requested").is_empty());
}

/// Attack: an operator of another hub sends the forms of this one with the cookie and the form token
/// of the other, or as a hub.
#[actix_web::test]
async fn an_operator_of_another_hub_changes_nothing_here() {
    let hub = TestHub::several_edited(1, "", with_staff).await.0;
    // The other hub is the first of the store.
    let token = TestRequest::post().uri("/admin/sign-in").set_payload(format!("token={ALICE}"));
    let signed_in = hub.send_private_to(0, token).await;
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
    let browser = [("accept", "text/html"), ("cookie", cookie.as_str())];
    let page = TestRequest::get().uri("/admin/");
    let page = browser.iter().fold(page, |page, header| page.insert_header(*header));
    let page = hub.send_private_to(0, page).await;
    let token = form_token_of(&page.body);
    assert!(!token.is_empty(), "{}", page.body);
    for (action, fields) in ACTS {
        let fields = confirmed(&token, fields);
        let answer = submit(&hub, action, (&cookie, "same-origin"), &fields).await;
        assert_eq!(answer.status, 401, "{action}: {}", answer.body);
        let form = Serializer::new(String::new()).extend_pairs(&fields).finish();
        let request = TestRequest::post().uri(&format!("/admin/actions/{action}"));
        let answer = send_as(&hub, PEER, request.set_payload(form)).await;
        assert!(matches!(answer.status, 401 | 429), "{action}: {}", answer.body);
    }
    assert_eq!(blocks(&hub).await, 0);
}
