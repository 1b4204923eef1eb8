//! The page of the hub where a directory's password is typed: whose it is, and what it refuses
//! before the directory is asked. A real directory is among the peers.

use std::net::TcpListener;
use std::time::Duration;

use passerelle_testkit::fake_directory::{DirectoryScript, FakeDirectory, LdapRequest};

use super::hub::TestHub;
use super::service::Authorize;

/// A directory that is away: whatever reaches it fails, and says so.
async fn hub() -> TestHub {
    hub_with_directory_at(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port())
        .await
}

async fn hub_with_directory_at(port: u16) -> TestHub {
    let file = format!(
        "name = {{ en = \"Town hall\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\nassumed_level = \"eidas1\"\n\
         [kind.ldap]\nurl = \"ldap://127.0.0.1:{port}\"\ninsecure_ldap = true\ninternal_hosts = [\"127.0.0.1\"]\n\
         bind_dn = \"cn=hub\"\nbind_password = {{ env = \"CLIENT_SECRET\" }}\nbase_dn = \"dc=example\"\n\
         forgotten_password_url = \"https://town.example/password\"\n"
    );
    TestHub::with_files("[audit]\nsink = \"file\"\n", &[("connectors/town.toml", file)]).await
}

#[actix_web::test]
async fn the_page_says_whose_password_it_asks_for_and_keeps_none() {
    let hub = hub().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("town").await;
    assert!(page.url.starts_with("/connectors/town/login?state="), "at {}", page.url);
    assert_eq!(page.heading(), "Sign in with “Town hall”");
    assert_eq!(page.answer.header("cache-control"), "no-store");
    for part in [
        "<input type=\"password\" dir=\"ltr\" id=\"password\" name=\"password\"",
        "autocomplete=\"username\"",
        "autocomplete=\"current-password\"",
        "the password that you use at “<bdi>Town hall</bdi>”",
    ] {
        assert!(page.answer.body.contains(part), "{part}");
    }
    let form = page
        .form("/connectors/town/login")
        .with("username", "\"ada\"")
        .with("password", "hunter22");
    let failed = browser.submit(&form).await;
    assert_eq!(failed.answer.status, 502);
    assert!(
        failed.answer.body.contains("Y020003") && failed.answer.body.contains("&#34;ada&#34;"),
        "{}",
        failed.answer.body
    );
    assert!(!failed.answer.body.contains("hunter22"));
    let empty = browser.submit(&form.with("password", "")).await;
    assert_eq!(empty.answer.status, 400);
    assert!(
        empty.answer.body.contains("aria-invalid=\"true\" aria-describedby=\"sign-in-error\""),
        "the fields refer to the error"
    );
    // Another account is one step away, and the same login goes on there.
    let back = empty.links().into_iter().find(|link| link.contains("/interaction/")).unwrap();
    let choice = browser.open(&back).await;
    choice.finish_as("angela").await.belongs_to("bakery");
}

/// Any composition, 64 characters and more, and no trimming, truncation or change of case.
#[actix_web::test]
async fn passwords_reach_the_directory_exactly_as_they_were_typed() {
    let directory = FakeDirectory::start().await;
    {
        let mut script = directory.script.lock().unwrap();
        script.entries = vec![("uid=ada", "right", vec![("entryuuid", vec![b"u-1"])])];
        script.account_bind_result = Some(0);
    }
    let hub = hub_with_directory_at(directory.port).await;
    let long = "x ".repeat(300);
    for typed in
        [" Right ", "right", "RIGHT", "123456", "mot de passé", "密码🔑", "%41+&=\"<\\", &long]
    {
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("town").await;
        directory.take_requests();
        let form = page.form("/connectors/town/login").with("username", "ada");
        browser.submit(&form.with("password", typed)).await;
        let bound = directory.take_requests().into_iter().find_map(|request| match request {
            LdapRequest::Bind { dn, password } if dn != "cn=hub" => Some(password),
            _ => None,
        });
        assert_eq!(bound.as_deref(), Some(typed));
        // The attempts of one account are limited.
        hub.advance(Duration::from_secs(15 * 60));
    }
}

/// Returns the status and the page after a sign-in at a directory that answers so.
async fn sign_in_at(answer: impl FnOnce(&mut DirectoryScript)) -> (TestHub, u16, String) {
    let directory = FakeDirectory::start().await;
    {
        let mut script = directory.script.lock().unwrap();
        script.entries = vec![("uid=ada", "right", vec![("entryuuid", vec![b"u-1"])])];
        script.account_bind_result = Some(0);
        answer(&mut script);
    }
    let hub = hub_with_directory_at(directory.port).await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("town").await;
    let form = page.form("/connectors/town/login").with("username", "ada");
    let answer = browser.submit(&form.with("password", "right")).await.answer;
    (hub, answer.status, answer.body)
}

#[actix_web::test]
async fn a_person_with_the_right_password_learns_why_the_directory_refuses_the_account() {
    for (data, code, words) in [
        ("532", "Y020127", "you have to change it"),
        ("533", "Y020128", "closed or has expired"),
        ("530", "Y020129", "at this time of day"),
        ("531", "Y020130", "not allowed to sign in here"),
    ] {
        let message = format!("80090308: LdapErr: DSID-0C090439, comment: x, data {data}, v4563");
        let message: &'static str = message.leak();
        let (hub, status, body) = sign_in_at(|script| {
            (script.bind_result, script.bind_message) = (Some(49), Some(message));
        })
        .await;
        assert_eq!(status, 403, "{data}");
        assert!(body.contains(code) && body.contains(words), "{data}: {body}");
        assert_eq!(body.contains("Set a new password"), data == "532", "{data}");
        let lines = hub.audit_lines();
        let refused: Vec<_> =
            lines.iter().filter(|line| line["event"] == "password_refused").collect();
        assert!(refused.len() == 1 && refused[0]["code"] == code, "{data}: {refused:?}");
    }
}

#[actix_web::test]
async fn a_locked_account_gets_no_advice_that_presumes_a_right_password() {
    let message = "80090308: LdapErr: DSID-0C090439, comment: x, data 775, v4563";
    let (_, status, body) = sign_in_at(|script| {
        (script.bind_result, script.bind_message) = (Some(49), Some(message));
    })
    .await;
    assert_eq!(status, 403);
    assert!(body.contains("is wrong, or the account is locked"), "{body}");
    assert!(!body.contains("Your password is right") && !body.contains("one more try"), "{body}");
}

#[actix_web::test]
async fn a_person_reads_that_the_password_expires_before_the_login_continues() {
    let week = ("2.16.840.1.113730.3.4.5", &b"604800"[..]);
    let (_, status, body) = sign_in_at(|script| script.bind_controls = vec![week]).await;
    assert_eq!(status, 200);
    for part in [
        "<h1>Your password</h1>",
        "Days left: 7",
        "href=\"https://town.example/password\"",
        "<a class=\"button main\" href=\"/api/v2/callback/town?code=",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
}

#[actix_web::test]
async fn a_password_form_of_another_site_login_or_attempt_is_refused() {
    let hub = hub().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    let page = choice.choose("town").await;
    let form = page.form("/connectors/town/login").with("username", "ada").with("password", "x");
    assert!(browser.post(&form, Some("cross-site")).await.body.contains("Y470003"));
    assert!(browser.submit(&form.clone().with("csrf", "")).await.answer.body.contains("Y470001"));
    // The token of another form of this login, and of another attempt in it.
    let choice = browser.open(&address).await;
    let other = choice.form("/provider").field("csrf").to_owned();
    assert!(
        browser.submit(&form.clone().with("csrf", &other)).await.answer.body.contains("Y470002")
    );
    let second = choice.choose("town").await.form("/connectors/town/login");
    assert_ne!(second.field("state"), form.field("state"));
    let stale = second
        .clone()
        .with("csrf", form.field("csrf"))
        .with("username", "ada")
        .with("password", "x");
    assert!(browser.submit(&stale).await.answer.body.contains("Y470002"));
    assert!(
        browser.submit(&form).await.is_choice(),
        "the form of a closed attempt leads back to where the login stands"
    );
    // Another browser gets no further than any other step of this login would.
    let stranger = hub.browser();
    assert!(stranger.submit(&form).await.answer.body.contains("Y420002"));
    assert!(stranger.open(&page.url).await.answer.body.contains("Y420002"));
    // A kind that has no such page has none by this address either.
    let state = form.field("state").to_owned();
    for connector in ["belvedere", "unknown"] {
        assert_eq!(
            browser.get(&format!("/connectors/{connector}/login?state={state}")).await.status,
            404,
            "{connector}"
        );
    }
    assert_eq!(browser.get("/connectors/town/login").await.status, 400);
}

#[actix_web::test]
async fn an_expired_login_shows_no_password_form() {
    let hub = hub().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let address = choice.url.clone();
    let page = choice.choose("town").await;
    let form = page.form("/connectors/town/login").with("username", "ada").with("password", "x");
    let choice = browser.open(&address).await;
    choice.cancel().await.received();
    for answer in [browser.get(&page.url).await, browser.post(&form, Some("same-origin")).await] {
        assert_eq!(answer.status, 303);
        assert!(
            answer.header("location").starts_with("/api/v2/interaction/"),
            "{}",
            answer.header("location")
        );
    }
}
