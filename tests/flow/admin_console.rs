//! The admin console: one login by the support id on the user's screen, and who has no access.

mod access;
mod blocks;
mod failures;
mod notices;
pub(crate) mod operators;
mod start;

use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle_admin::console::{HubStatus, LoginView};
use passerelle_admin::readiness::CheckState;
use passerelle_testkit::wait::wait_until;
use serde_json::Value;

use super::federation::{ADMIN_TOKEN, SECRET};
use super::hub::TestHub;
use super::service::Authorize;

const AUDITED: &str = "[audit]\nsink = \"file\"\n";

/// Names and birth data of the sandbox's test users.
const CANARIES: &[&str] =
    &["angela", "dubois", "Angela", "DUBOIS", "1962-08-24", "75107", "Claire"];

fn events(login: &LoginView) -> Vec<&str> {
    login.events.iter().map(|event| event.event.as_str()).collect()
}

/// Returns the overview, as an operator's browser gets it.
async fn overview(hub: &TestHub) -> String {
    let cookie = hub.operator_cookie().await;
    hub.console_page("/admin/", &cookie).await.body
}

#[actix_web::test]
async fn a_failed_login_is_found_by_the_code_on_the_screen() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    hub.advance(Duration::from_millis(1500));
    let page = page.sign_in_failing("error").await;
    let support_id = page.support_id();
    // As an operator types an id that is read out on the phone.
    let entered = format!("{}-{}", &support_id[..6].to_ascii_lowercase(), &support_id[6..]);
    let login = hub.login_view(&entered).await;
    assert_eq!(login.support_id.as_str(), support_id);
    assert_eq!(events(&login)[..3], ["authorization_received", "choice_shown", "idp_chosen"]);
    let refusal = login.refusal.as_ref().expect("the page says why");
    assert_eq!(refusal.code, page.references()[0], "{refusal:?}");
    assert!(!refusal.description.is_empty() && refusal.advice.len() > 30);
    assert_eq!(login.service_provider.as_ref().map(|sp| sp.id.as_str()), Some("bakery"));
    assert_eq!(login.identity_provider.as_ref().map(|idp| idp.id.as_str()), Some("amandier"));
    assert!(
        login.level_requested.is_some() && login.level_achieved.is_none() && login.start_recorded
    );
    let refused = login.events.iter().find(|event| event.code.is_some()).unwrap();
    assert_eq!(refused.after_ms, 1500);
}

#[actix_web::test]
async fn a_granted_login_is_shown_up_to_its_token_and_without_personal_data() {
    let hub = TestHub::with(AUDITED).await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("prompt", "consent"))
        .await
        .choose("amandier")
        .await;
    let page = page.sign_in_as("angela").await;
    let live: HubStatus = hub.get_json("/admin/status").await;
    assert_eq!((live.live.consenting, live.live.choosing), (1, 0));
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    hub.userinfo(&tokens.access_token).await;
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert_eq!(status.live.rows().map(|(_, count)| count), [0; 6]);
    assert_eq!(status.ended_logins["amandier"]["granted"], 1);
    let cookie = hub.operator_cookie().await;

    // There is no error page; the audit log has the support id.
    let text = hub
        .get_admin("/admin/status", &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))])
        .await
        .body;
    let support_id = hub.last_support_id();
    let login = hub.login_view(&support_id).await;
    let names = [
        "consent_given",
        "information_continued",
        "code_issued",
        "token_issued",
        "userinfo_released",
    ];
    assert!(
        names.iter().filter(|name| events(&login).contains(name)).count() >= 4,
        "{:?}",
        events(&login)
    );
    assert_eq!((login.state.as_str(), login.refusal.is_none()), ("granted", true));
    assert!(login.level_achieved.is_some());
    let sub = tokens.id_token["sub"].as_str().unwrap();
    for path in
        ["/admin/".to_owned(), "/admin/config".to_owned(), format!("/admin/logins/{support_id}")]
    {
        let page = hub.console_page(&path, &cookie).await;
        assert_eq!(page.status, 200, "{path}");
        let json =
            hub.get_admin(&path, &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))]).await.body;
        for body in [&page.body, &json, &text] {
            let code = received.code();
            for secret in CANARIES.iter().copied().chain([
                sub,
                SECRET,
                ADMIN_TOKEN,
                &tokens.access_token,
                code,
            ]) {
                assert!(!body.contains(secret), "{path} contains {secret}");
            }
            assert!(!body.contains("a subject key of more than"), "{path}");
        }
    }
}

#[actix_web::test]
async fn a_rejected_request_is_found_too() {
    let hub = TestHub::start().await;
    for (request, code) in [
        (Authorize::by("bakery").with("client_id", "unknown"), "Y030103"),
        (Authorize::by("bakery").with("redirect_uri", "https://evil.example/"), "Y030203"),
    ] {
        let browser = hub.browser();
        let page = browser.open(&request.url()).await;
        let login = hub.login_view(&page.support_id()).await;
        assert_eq!(
            (login.state.as_str(), events(&login)),
            ("no_login", vec!["authorization_refused"])
        );
        assert_eq!(login.refusal.map(|refusal| refusal.code).as_deref(), Some(code));
    }
}

#[actix_web::test]
async fn an_abandoned_login_is_shown_as_expired_and_not_counted() {
    let hub = TestHub::with(AUDITED).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert!(page.is_choice());
    let support_id = hub.last_support_id();
    assert_eq!(hub.login_view(&support_id).await.state, "choosing");
    hub.advance(Duration::from_secs(24 * 3600));
    assert_eq!(hub.login_view(&support_id).await.state, "expired");
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert_eq!(status.live.choosing, 0);
}

#[actix_web::test]
async fn script_in_names_and_urls_stays_inert_in_the_console() {
    let evil = "</td><script>alert(1)</script>";
    let hub = TestHub::edited(|folder| {
        for file in ["connectors/amandier.toml", "service-providers/bakery.toml"] {
            let path = folder.join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            let name = format!("name = {{ en = \"{evil}\" }}");
            let edited = text
                .lines()
                .map(|line| if line.starts_with("name = ") { name.as_str() } else { line });
            std::fs::write(path, edited.collect::<Vec<_>>().join("\n")).unwrap();
        }
    })
    .await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let support_id = page.sign_in_failing("error").await.support_id();
    let cookie = hub.operator_cookie().await;
    let paths = [
        "/admin/".to_owned(),
        "/admin/config".to_owned(),
        "/admin/failures".to_owned(),
        "/admin/identity-providers".to_owned(),
        "/admin/identity-providers/amandier".to_owned(),
        "/admin/service-providers".to_owned(),
        "/admin/service-providers?client_id=bakery".to_owned(),
        format!("/admin/logins/{support_id}"),
    ];
    for path in paths {
        let page = hub.console_page(&path, &cookie).await;
        // The page of the configuration only counts the providers.
        assert!(page.body.contains("alert(1)") || path == "/admin/config", "{path}");
        assert!(!page.body.contains("<script"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'nonce-")
                && policy.contains("frame-ancestors 'none'")
        );
    }
    for entered in
        ["%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"]
    {
        for path in [
            format!("/admin/logins/{entered}"),
            format!("/admin/logins?support_id={entered}"),
            format!("/admin/identity-providers/{entered}"),
            format!("/admin/identity-providers?q={entered}"),
            format!("/admin/service-providers?q={entered}"),
            format!("/admin/service-providers?client_id={entered}"),
        ] {
            let page = hub.console_page(&path, &cookie).await;
            assert!(
                !page.body.contains("alert(1)<")
                    && !page.body.contains("<img")
                    && !page.body.contains("<script")
                    && !page.header("location").contains("alert"),
                "{}",
                page.body
            );
            let form = hub.get_admin(&path, &[("accept", "text/html")]).await;
            assert!(
                !form.body.contains("alert(1)<") && !form.body.contains("<script"),
                "{}",
                form.body
            );
        }
    }
}

#[actix_web::test]
async fn the_status_says_what_is_degraded_and_how_to_fix_it() {
    let hub = TestHub::start().await;
    let status: HubStatus = hub.get_json("/admin/status").await;
    let states: Vec<_> =
        status.checks.iter().map(|check| (check.name.as_str(), check.state)).collect();
    let names = [
        "audit",
        "blocks",
        "certificates",
        "clock",
        "config",
        "connectors",
        "egress",
        "keys",
        "limits",
        "logins",
        "logout_tokens",
        "notices",
        "process",
        "register",
        "store",
    ];
    assert_eq!(states, names.map(|name| (name, CheckState::Ok)));
    std::fs::write(hub.folder().join("connectors/amandier.toml"), "name = 1").unwrap();
    hub.reload_files().await;
    let status: HubStatus = hub.get_json("/admin/status").await;
    let config = status.checks.iter().find(|check| check.name == "config").unwrap();
    assert_eq!((config.state, status.ready), (CheckState::Degraded, true));
    assert!(
        config.findings[0].message.contains("amandier.toml") && !config.findings[0].fix.is_empty(),
        "{config:?}"
    );
    let row = status.connectors.iter().find(|row| row.id.as_str() == "amandier");
    let row = row.expect("its last valid version stays in use");
    let [problem] = status.problems.as_slice() else { panic!("{:?}", status.problems) };
    assert_eq!((problem.check.as_str(), &problem.finding), ("config", &config.findings[0]));
    assert!(!row.is_healthy(), "a restart loses it");
    assert!(row.invalid_file.as_ref().unwrap().contains("amandier.toml"), "{row:?}");
    let page = overview(&hub).await;
    assert!(page.contains("the last valid version of its file is in use"), "{page}");
    assert!(page.contains("amandier.toml"), "{page}");
}

/// The disk of the audit log is full, and `when_full = "stop"`.
#[actix_web::test]
async fn a_hub_that_admits_no_login_says_so_first_with_the_fix() {
    let hub = TestHub::edited(|folder| {
        std::os::unix::fs::symlink("/dev/full", folder.join("audit.jsonl")).unwrap();
        let settings = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let audit = "audit = { sink = \"file\", path = \"audit.jsonl\", when_full = \"stop\" }";
        std::fs::write(&settings, format!("{audit}\n{text}")).unwrap();
    })
    .await;
    wait_until("the disk is full", || hub.degradations(0).contains_key("logins")).await;
    let status: HubStatus = hub.get_json("/admin/status").await;
    assert_eq!((status.headline(), status.ready), ("No login is admitted", true));
    let checks: Vec<&str> = status.problems.iter().map(|problem| problem.check.as_str()).collect();
    assert_eq!(checks, ["audit", "logins"], "the cause is before its effect");
    let refusal = &status.problems[1].finding;
    assert!(
        refusal.message.contains("can't be written: No space left")
            && refusal.fix.starts_with("free space"),
        "{refusal:?}"
    );
    let page = overview(&hub).await;
    assert!(page.contains("<h1>No login is admitted</h1>") && page.contains("Fix: free space"));
    assert!(hub.metrics.render().contains("\npasserelle_logins_admitted 0\n"));
    // The person's page promises no time.
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.assert_error(503, "Y500110");
    assert!(page.answer.body.contains("Try again in a few minutes."), "{}", page.answer.body);
    assert!(!page.answer.body.contains("5 seconds"), "{}", page.answer.body);
}

#[actix_web::test]
async fn a_notice_is_shown_between_its_dates_in_the_users_language() {
    let hub = TestHub::start().await;
    let moment = |after: u64| {
        passerelle_federation::validity::format_rfc3339(hub.now() + Duration::from_secs(after))
    };
    let notice = format!(
        "[[notice]]\ntext = {{ fr = \"Travaux <b>ce soir</b>\", en = \"Works <b>tonight</b>\" }}\nfrom = \"{}\"\nuntil = \"{}\"\n\
         link = \"https://status.example.org/?a=b&c=d\"\nseverity = \"warning\"\n",
        moment(60),
        moment(120)
    );
    std::fs::write(hub.folder().join("notices.toml"), notice).unwrap();
    hub.reload_files().await;
    let choice =
        || async { hub.browser().authorize(&Authorize::by("bakery")).await.answer.body.clone() };
    assert!(!choice().await.contains("tonight"), "not yet");
    hub.advance(Duration::from_secs(61));
    let shown = choice().await;
    assert!(shown.contains("tonight") && !shown.contains("<b>"), "{shown}");
    assert!(shown.contains("href=\"https://status.example.org/?a=b&#38;c=d\""), "{shown}");
    let french = hub
        .browser()
        .authorize(&Authorize::by("bakery").with("ui_locales", "fr"))
        .await
        .answer
        .body
        .clone();
    assert!(french.contains("ce soir") && !french.contains("tonight"));
    let browser = hub.browser();
    let error = browser.open(&Authorize::by("bakery").with("client_id", "unknown").url()).await;
    assert!(error.answer.body.contains("tonight"));
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("prompt", "consent"))
        .await
        .choose("amandier")
        .await;
    let consent = page.sign_in_as("angela").await;
    assert!(consent.is_consent() && consent.answer.body.contains("tonight"));
    std::fs::write(hub.folder().join("notices.toml"), "[[notice]]\ntext = {}\n").unwrap();
    hub.reload_files().await;
    assert!(
        choice().await.contains("tonight"),
        "with an invalid file the last valid one stays in use"
    );
    hub.advance(Duration::from_secs(61));
    assert!(!choice().await.contains("tonight"), "after its end");
}
