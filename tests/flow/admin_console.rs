//! The operator's window: one login by the code on a person's screen, and who may not look.

use std::time::Duration;

use actix_web::test::TestRequest;
use passerelle::web::private::CheckState;
use passerelle::web::window::{LoginTold, Status};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::federation::{ADMIN_TOKEN, SECRET};
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const AUDITED: &str = "[audit]\nsink = \"file\"\n";

/// What the personas of the sandbox are called and born.
const CANARIES: &[&str] =
    &["angela", "dubois", "Angela", "DUBOIS", "1962-08-24", "75107", "Claire"];

impl TestHub {
    async fn look(&self, path: &str, headers: &[(&'static str, &str)]) -> Answer {
        let request = TestRequest::get().uri(path);
        self.administer(
            headers.iter().fold(request, |request, header| request.insert_header(*header)),
        )
        .await
    }

    async fn told<T: serde::de::DeserializeOwned>(&self, path: &str) -> T {
        let answer = self.look(path, &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Of the last line of the audit log that has one.
    fn last_support_id(&self) -> String {
        self.flush_audit();
        let log = std::fs::read_to_string(self.folder().join("audit/audit.jsonl")).unwrap();
        let lines = log.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| Some(line["support_id"].as_str()?.to_owned())).next().unwrap()
    }

    async fn login_of(&self, support_id: &str) -> LoginTold {
        self.told(&format!("/admin/logins/{support_id}")).await
    }

    async fn sign_in(&self, token: &str, next: &str, site: &str) -> Answer {
        let body = Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("next", next)
            .finish();
        let request =
            TestRequest::post().uri("/admin/sign-in").insert_header(("sec-fetch-site", site));
        self.administer(
            request
                .insert_header(("content-type", "application/x-www-form-urlencoded"))
                .set_payload(body),
        )
        .await
    }

    /// The cookie of a browser that signed in.
    async fn operator(&self) -> String {
        let answer = self.sign_in(ADMIN_TOKEN, "/admin/", "same-origin").await;
        assert_eq!((answer.status, answer.header("location")), (303, "/admin/"));
        assert_eq!(
            answer.header("cache-control"),
            "no-store",
            "a cache that keeps it lets others in"
        );
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    async fn page(&self, path: &str, cookie: &str) -> Answer {
        self.look(
            path,
            &[("accept", "text/html"), ("cookie", cookie), ("sec-fetch-site", "same-origin")],
        )
        .await
    }
}

fn events(told: &LoginTold) -> Vec<&str> {
    told.events.iter().map(|event| event.event.as_str()).collect()
}

#[actix_web::test]
async fn a_failed_login_is_found_by_the_code_on_the_screen() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    hub.advance(Duration::from_millis(1500));
    let page = page.sign_in_failing("error").await;
    let support_id = page.support_id();
    // As an operator types what is read out on the telephone.
    let typed = format!("{}-{}", &support_id[..6].to_lowercase(), &support_id[6..]);
    let told = hub.login_of(&typed).await;
    assert_eq!(told.support_id.as_str(), support_id);
    assert_eq!(events(&told)[..3], ["authorization_received", "choice_shown", "idp_chosen"]);
    let refusal = told.refusal.as_ref().expect("the page says why");
    assert_eq!(refusal.code, page.references()[0], "{refusal:?}");
    assert!(!refusal.description.is_empty() && refusal.advice.len() > 30);
    assert_eq!(told.service_provider.as_ref().map(|sp| sp.id.as_str()), Some("bakery"));
    assert_eq!(told.identity_provider.as_ref().map(|idp| idp.id.as_str()), Some("amandier"));
    assert!(told.level_asked.is_some() && told.level_obtained.is_none() && told.beginning_known);
    let refused = told.events.iter().find(|event| event.code.is_some()).unwrap();
    assert_eq!(refused.after_ms, 1500);
}

#[actix_web::test]
async fn a_login_that_ended_well_is_told_to_its_token_and_nothing_of_the_person() {
    let hub = TestHub::with(AUDITED).await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("prompt", "consent"))
        .await
        .choose("amandier")
        .await;
    let page = page.sign_in_as("angela").await;
    let live: Status = hub.told("/admin/status").await;
    assert_eq!((live.live.consenting, live.live.choosing), (1, 0));
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    hub.userinfo(&tokens.access_token).await;
    let status: Status = hub.told("/admin/status").await;
    assert_eq!(status.live.rows().map(|(_, count)| count), [0; 5]);
    let cookie = hub.operator().await;

    // The person has no error page: the audit log and the service provider's own questions name the login.
    let text = hub
        .look("/admin/status", &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))])
        .await
        .body;
    let support_id = hub.last_support_id();
    let told = hub.login_of(&support_id).await;
    let names =
        ["consent_given", "information_continued", "code_issued", "token_issued", "userinfo_told"];
    assert!(
        names.iter().filter(|name| events(&told).contains(name)).count() >= 4,
        "{:?}",
        events(&told)
    );
    assert_eq!((told.state.as_str(), told.refusal.is_none()), ("granted", true));
    assert!(told.level_obtained.is_some());
    let sub = tokens.id_token["sub"].as_str().unwrap();
    for path in
        ["/admin/".to_owned(), "/admin/config".to_owned(), format!("/admin/logins/{support_id}")]
    {
        let page = hub.page(&path, &cookie).await;
        assert_eq!(page.status, 200, "{path}");
        let json =
            hub.look(&path, &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))]).await.body;
        for body in [&page.body, &json, &text] {
            let code = received.code();
            for secret in CANARIES.iter().copied().chain([
                sub,
                SECRET,
                ADMIN_TOKEN,
                &tokens.access_token,
                code,
            ]) {
                assert!(!body.contains(secret), "{path} tells {secret}");
            }
            assert!(!body.contains("a subject key of more than"), "{path}");
        }
    }
}

#[actix_web::test]
async fn a_request_that_never_became_a_login_is_found_too() {
    let hub = TestHub::start().await;
    for (request, code) in [
        (Authorize::by("bakery").with("client_id", "nobody"), "Y030103"),
        (Authorize::by("bakery").with("redirect_uri", "https://evil.example/"), "Y030203"),
    ] {
        let browser = hub.browser();
        let page = browser.open(&request.url()).await;
        let told = hub.login_of(&page.support_id()).await;
        assert_eq!(
            (told.state.as_str(), events(&told)),
            ("no login", vec!["authorization_refused"])
        );
        assert_eq!(told.refusal.map(|refusal| refusal.code).as_deref(), Some(code));
    }
}

#[actix_web::test]
async fn an_abandoned_login_is_told_as_expired_and_not_counted() {
    let hub = TestHub::with(AUDITED).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert!(page.is_choice());
    let support_id = hub.last_support_id();
    assert_eq!(hub.login_of(&support_id).await.state, "choosing");
    hub.advance(Duration::from_secs(24 * 3600));
    assert_eq!(hub.login_of(&support_id).await.state, "expired");
    let status: Status = hub.told("/admin/status").await;
    assert_eq!(status.live.choosing, 0);
}

#[actix_web::test]
async fn a_stranger_on_the_public_listener_finds_no_window() {
    let hub = TestHub::start().await;
    for path in [
        "/admin",
        "/admin/",
        "/admin/status",
        "/admin/config",
        "/admin/logins/0123456789AB",
        "/admin/sign-in",
        "/readyz",
    ] {
        let bearer = ("authorization", format!("Bearer {ADMIN_TOKEN}"));
        let answer = hub.send(TestRequest::get().uri(path).insert_header(bearer)).await;
        assert_eq!(answer.status, 404, "{path}");
        let answer = hub
            .send(TestRequest::post().uri(path).set_payload(format!("token={ADMIN_TOKEN}")))
            .await;
        assert!(answer.status >= 400 && answer.header("set-cookie").is_empty(), "{path}");
    }
}

#[actix_web::test]
async fn a_support_id_is_worth_nothing_without_the_token() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.open(&Authorize::by("bakery").with("client_id", "nobody").url()).await;
    let path = format!("/admin/logins/{}", page.support_id());
    let bare = hub.look(&path, &[]).await;
    assert_eq!(bare.status, 401);
    let wrong = hub.look(&path, &[("authorization", "Bearer wrong")]).await;
    assert_eq!(wrong.status, 401);
    let form = hub.look(&path, &[("accept", "text/html")]).await;
    assert_eq!(form.status, 401);
    assert!(
        form.body.contains("private.admin_token") && !form.body.contains("authorization_refused")
    );
    // Known or not, a stranger sees the same.
    let unknown = hub.look("/admin/logins/ZZZZZZZZZZZZ", &[]).await;
    assert_eq!((unknown.status, unknown.body), (bare.status, bare.body));
}

#[actix_web::test]
async fn guessing_the_token_is_slowed_down_and_locks_nobody_out() {
    let hub = TestHub::start().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let answer = hub.sign_in("a wrong token", "/admin/", "same-origin").await;
        assert!(answer.header("set-cookie").is_empty());
        statuses.push(answer.status);
    }
    assert_eq!((statuses[0], statuses[11]), (401, 429));
    let bearer = hub.look("/admin/status", &[("authorization", "Bearer wrong")]).await;
    assert_eq!(bearer.status, 429, "one limit for both ways");
    assert!(!hub.operator().await.is_empty(), "the right one always passes");
}

#[actix_web::test]
async fn a_cross_site_request_can_not_use_an_operators_cookie() {
    let hub = TestHub::start().await;
    let cookie = hub.operator().await;
    assert_eq!(hub.page("/admin/", &cookie).await.status, 200);
    for site in ["cross-site", "same-site"] {
        let headers =
            [("accept", "text/html"), ("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        assert_eq!(hub.look("/admin/", &headers).await.status, 401, "{site}");
    }
    // It opens nothing but reading, wherever the request comes from.
    let block = r#"{"connector":"amandier","reason":"by a forged request"}"#;
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let forged =
        headers.iter().fold(TestRequest::post().uri("/admin/blocks"), |request, header| {
            request.insert_header(*header)
        });
    assert_eq!(hub.administer(forged.set_payload(block)).await.status, 401);
    let blocks: Value = hub.told("/admin/blocks").await;
    assert_eq!(blocks["blocks"], Value::Array(Vec::new()));
    // A form on another site neither signs anybody in nor out.
    let forced = hub.sign_in(ADMIN_TOKEN, "/admin/", "cross-site").await;
    assert!(forced.status >= 400 && forced.header("set-cookie").is_empty());
    let out = |site| {
        let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        headers.iter().fold(TestRequest::post().uri("/admin/sign-out"), |request, header| {
            request.insert_header(*header)
        })
    };
    hub.administer(out("cross-site")).await;
    assert_eq!(hub.page("/admin/", &cookie).await.status, 200);
    hub.administer(out("same-origin")).await;
    assert_eq!(hub.page("/admin/", &cookie).await.status, 401, "signed out");
}

#[actix_web::test]
async fn a_stolen_cookie_ends_with_its_hour() {
    let hub = TestHub::start().await;
    let cookie = hub.operator().await;
    hub.advance(Duration::from_secs(3601));
    assert_eq!(hub.page("/admin/", &cookie).await.status, 401);
}

#[actix_web::test]
async fn the_sign_in_form_leads_to_no_other_site() {
    let hub = TestHub::start().await;
    for (next, location) in [
        ("/admin/config", "/admin/config"),
        ("//evil.example/", "/admin/"),
        ("https://evil.example/", "/admin/"),
    ] {
        assert_eq!(
            hub.sign_in(ADMIN_TOKEN, next, "same-origin").await.header("location"),
            location
        );
    }
}

#[actix_web::test]
async fn script_in_names_and_addresses_stays_inert_in_the_window() {
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
    let cookie = hub.operator().await;
    let paths =
        ["/admin/".to_owned(), "/admin/config".to_owned(), format!("/admin/logins/{support_id}")];
    for path in paths {
        let page = hub.page(&path, &cookie).await;
        assert!(page.body.contains("alert(1)") && !page.body.contains("<script"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'nonce-")
                && policy.contains("frame-ancestors 'none'")
        );
    }
    for typed in
        ["%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"]
    {
        for path in [format!("/admin/logins/{typed}"), format!("/admin/logins?support_id={typed}")]
        {
            let page = hub.page(&path, &cookie).await;
            assert!(
                !page.body.contains("alert(1)") && !page.header("location").contains("alert"),
                "{}",
                page.body
            );
            let form = hub.look(&path, &[("accept", "text/html")]).await;
            assert!(
                !form.body.contains("alert(1)<") && !form.body.contains("<script"),
                "{}",
                form.body
            );
        }
    }
}

#[actix_web::test]
async fn nothing_lists_logins() {
    let hub = TestHub::with(AUDITED).await;
    hub.browser().authorize(&Authorize::by("bakery")).await;
    let support_id = hub.last_support_id();
    let cookie = hub.operator().await;
    for path in [
        "/admin/",
        "/admin/status",
        "/admin/config",
        "/admin/connectors",
        "/admin/blocks",
        "/admin/logins",
        "/admin/logins/",
    ] {
        let answer = hub.page(path, &cookie).await;
        assert!(!answer.body.contains(&support_id), "{path}");
    }
}

#[actix_web::test]
async fn without_a_token_there_is_no_window_and_nothing_is_remembered() {
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, settings.replace(", admin_token = { env = \"ADMIN_TOKEN\" }", ""))
            .unwrap();
    })
    .await;
    for path in ["/admin/", "/admin/status", "/admin/logins/0123456789AB"] {
        assert_eq!(hub.look(path, &[("accept", "text/html")]).await.status, 404, "{path}");
    }
    assert_eq!(hub.sign_in("", "/admin/", "same-origin").await.status, 404);
}

#[actix_web::test]
async fn the_status_says_what_is_degraded_and_how_to_mend_it() {
    let hub = TestHub::start().await;
    let status: Status = hub.told("/admin/status").await;
    let states: Vec<_> =
        status.checks.iter().map(|check| (check.name.as_str(), check.state)).collect();
    let names = [
        "audit",
        "blocks",
        "clock",
        "config",
        "connectors",
        "keys",
        "limits",
        "register",
        "store",
        "way_out",
    ];
    assert_eq!(states, names.map(|name| (name, CheckState::Ok)));
    std::fs::write(hub.folder().join("connectors/amandier.toml"), "name = 1").unwrap();
    hub.reread().await;
    let status: Status = hub.told("/admin/status").await;
    let config = status.checks.iter().find(|check| check.name == "config").unwrap();
    assert_eq!((config.state, status.ready), (CheckState::Degraded, true));
    assert!(
        config.findings[0].what.contains("amandier.toml") && config.findings[0].mend.is_some(),
        "{config:?}"
    );
    assert!(
        status.connectors.iter().any(|row| row.id.as_str() == "amandier"),
        "its last good version stays"
    );
}

#[actix_web::test]
async fn a_notice_is_shown_between_its_dates_in_the_persons_language() {
    let hub = TestHub::start().await;
    let moment =
        |after: u64| passerelle::config::in_rfc3339(hub.now() + Duration::from_secs(after));
    let notice = format!(
        "[[notice]]\ntext = {{ fr = \"Travaux <b>ce soir</b>\", en = \"Works <b>tonight</b>\" }}\nfrom = \"{}\"\nuntil = \"{}\"\n\
         link = \"https://status.example.org/?a=b&c=d\"\nseverity = \"warning\"\n",
        moment(60),
        moment(120)
    );
    std::fs::write(hub.folder().join("notices.toml"), notice).unwrap();
    hub.reread().await;
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
    let error = browser.open(&Authorize::by("bakery").with("client_id", "nobody").url()).await;
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
    hub.reread().await;
    assert!(choice().await.contains("tonight"), "a bad file leaves the last good one");
    hub.advance(Duration::from_secs(61));
    assert!(!choice().await.contains("tonight"), "over");
}
