//! Who has no access to the console.

use passerelle_protocol::catalogue::ErrorCode;

use super::*;

#[actix_web::test]
async fn the_public_listener_serves_no_admin_console() {
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
async fn a_support_id_is_useless_without_the_admin_token() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.open(&Authorize::by("bakery").with("client_id", "unknown").url()).await;
    let path = format!("/admin/logins/{}", page.support_id());
    let bare = hub.get_admin(&path, &[]).await;
    assert_eq!(bare.status, 401);
    let wrong = hub.get_admin(&path, &[("authorization", "Bearer wrong")]).await;
    assert_eq!(wrong.status, 401);
    let form = hub.get_admin(&path, &[("accept", "text/html")]).await;
    assert_eq!(form.status, 401);
    assert!(
        form.body.contains("private.admin_token") && !form.body.contains("authorization_refused")
    );
    // Without the token, known and unknown ids look the same.
    let unknown = hub.get_admin("/admin/logins/ZZZZZZZZZZZZ", &[]).await;
    assert_eq!((unknown.status, unknown.body), (bare.status, bare.body));
}

#[actix_web::test]
async fn guessing_the_token_is_rate_limited_and_does_not_lock_the_operator_out() {
    let hub = TestHub::start().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let answer = hub.sign_in("a wrong token", "/admin/", "same-origin").await;
        assert!(answer.header("set-cookie").is_empty());
        statuses.push(answer.status);
    }
    assert_eq!((statuses[0], statuses[11]), (401, 429));
    let bearer = hub.get_admin("/admin/status", &[("authorization", "Bearer wrong")]).await;
    assert_eq!(bearer.status, 429, "one limit for both ways");
    assert!(!hub.operator_cookie().await.is_empty(), "the right token is always accepted");
}

#[actix_web::test]
async fn a_cross_site_request_can_not_use_an_operators_cookie() {
    let hub = TestHub::start().await;
    let cookie = hub.operator_cookie().await;
    assert_eq!(hub.console_page("/admin/", &cookie).await.status, 200);
    for site in ["cross-site", "same-site"] {
        let headers =
            [("accept", "text/html"), ("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        assert_eq!(hub.get_admin("/admin/", &headers).await.status, 401, "{site}");
    }
    // Outside the console's own forms the cookie allows reading only, wherever the request comes
    // from.
    let block = r#"{"connector":"amandier","reason":"by a forged request"}"#;
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let forged =
        headers.iter().fold(TestRequest::post().uri("/admin/blocks"), |request, header| {
            request.insert_header(*header)
        });
    assert_eq!(hub.send_private(forged.set_payload(block)).await.status, 401);
    let blocks: Value = hub.get_json("/admin/blocks").await;
    assert_eq!(blocks["blocks"], Value::Array(Vec::new()));
    // A form on another site signs no browser in or out.
    let forced = hub.sign_in(ADMIN_TOKEN, "/admin/", "cross-site").await;
    assert!(forced.status >= 400 && forced.header("set-cookie").is_empty());
    let out = |site| {
        let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        headers.iter().fold(TestRequest::post().uri("/admin/sign-out"), |request, header| {
            request.insert_header(*header)
        })
    };
    hub.send_private(out("cross-site")).await;
    assert_eq!(hub.console_page("/admin/", &cookie).await.status, 200);
    hub.send_private(out("same-origin")).await;
    assert_eq!(hub.console_page("/admin/", &cookie).await.status, 401, "signed out");
}

/// Attack: another server of this host plants a second cookie of the console, for example to make
/// the operator act in the attacker's session.
#[actix_web::test]
async fn a_planted_second_cookie_of_the_console_is_refused_for_reading_changing_and_signing_out() {
    let hub = TestHub::start().await;
    let (own, planted) = (hub.operator_cookie().await, hub.operator_cookie().await);
    let both = format!("{planted}; {own}");
    let page = hub.console_page("/admin/", &both).await;
    assert_eq!(page.status, 400);
    let code = ErrorCode::RepeatedCookie.entry().code;
    for text in [code, "private window"] {
        assert!(page.body.contains(text), "{text} {}", page.body);
    }
    assert!(!page.body.contains("sign-out"), "the page knows no operator: {}", page.body);
    let json = hub.get_admin("/admin/status", &[("cookie", &both)]).await;
    assert!(json.status == 400 && json.body.contains(code), "{}", json.body);
    for path in ["/admin/actions/drain", "/admin/sign-out"] {
        let request = TestRequest::post().uri(path).insert_header(("cookie", both.as_str()));
        let answer = hub.send_private(request).await;
        assert!(answer.status == 400 && answer.body.contains(code), "{path} {}", answer.body);
        assert_eq!(answer.header("set-cookie"), "", "{path}");
    }
    assert_eq!(hub.console_page("/admin/", &own).await.status, 200, "no session has ended");
}

#[actix_web::test]
async fn a_stolen_cookie_expires_after_an_hour() {
    let hub = TestHub::start().await;
    let cookie = hub.operator_cookie().await;
    hub.advance(Duration::from_secs(3601));
    assert_eq!(hub.console_page("/admin/", &cookie).await.status, 401);
}

#[actix_web::test]
async fn the_sign_in_form_redirects_to_no_other_site() {
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
async fn a_login_that_has_not_failed_is_listed_nowhere() {
    let hub = TestHub::with(AUDITED).await;
    hub.browser().authorize(&Authorize::by("bakery")).await;
    let support_id = hub.last_support_id();
    let cookie = hub.operator_cookie().await;
    for path in [
        "/admin/",
        "/admin/status",
        "/admin/config",
        "/admin/connectors",
        "/admin/blocks",
        "/admin/failures",
        "/admin/identity-providers/amandier",
        "/admin/service-providers?client_id=bakery",
        "/admin/logins",
        "/admin/logins/",
    ] {
        let answer = hub.console_page(path, &cookie).await;
        assert!(!answer.body.contains(&support_id), "{path}");
    }
}

#[actix_web::test]
async fn without_a_token_there_is_no_console_and_no_login_is_kept() {
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, settings.replace(", admin_token = { env = \"ADMIN_TOKEN\" }", ""))
            .unwrap();
    })
    .await;
    for path in ["/admin/", "/admin/status", "/admin/logins/0123456789AB"] {
        assert_eq!(hub.get_admin(path, &[("accept", "text/html")]).await.status, 404, "{path}");
    }
    assert_eq!(hub.sign_in("", "/admin/", "same-origin").await.status, 404);
}
