//! How logins and requests end in the audit log.

use super::*;
#[cfg(feature = "openid4vp")]
use crate::wallet::scripted_wallet::Wallet;

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
        let logged_code =
            lines.iter().filter_map(|line| line["code"].as_str()).next_back().unwrap();
        assert!(logged_code.starts_with(code), "case {case}: {logged_code}");
        single_value(lines, "support_id");
    }
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
        &[
            ("client_id", "absent-client"),
            ("client_secret", "x"),
            ("grant_type", "authorization_code"),
        ],
    )
    .await;
    hub.get_userinfo("no such token").await;
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
    hub.send_private(TestRequest::get().uri("/admin/blocks")).await;
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
        !hub.audit_text().contains("absent-client") && !hub.audit_text().contains("evil"),
        "only what is registered is repeated"
    );
}

/// A route is registered together with what the audit log calls its refusals; here each of them is
/// refused once.
#[cfg(feature = "openid4vp")]
#[actix_web::test]
async fn the_refusal_of_every_route_is_recorded() {
    // An endpoint that is off has nothing to refuse.
    let choice = "choice.ask_email = true\nchoice.remember_last = true";
    let settings = format!(
        "pushed_authorization_requests = \"accepted\"\n{choice}\n{ON}\n[client_registration]\n"
    );
    let hub = Wallet::new().hub_with_settings(&settings, "cross_device = true").await;
    // The first has a page for connectors that ask for a password, of which there is none here; the
    // second shows its page to any state. Neither refuses anything but for the store.
    let shown = [
        ("GET", "/connectors/{connector}/login"),
        ("GET", "/api/v2/session/end/{connector}"),
        // Off: no connector here has `response_mode = "form_post"`.
        ("POST", "/api/v2/callback/{connector}"),
        // Off: the hub has no `[mail]`.
        ("GET", "/api/v2/interaction/{hash}/mail"),
        ("POST", "/api/v2/interaction/{hash}/mail"),
    ];
    let mut refused = 0;
    let extensions =
        passerelle_server::KINDS.extensions.iter().map(|extension| extension.endpoints);
    for endpoint in routes::endpoints(SandboxRoutes::On, &extensions.collect::<Vec<_>>()) {
        let Some(name) = endpoint.row.rejection_event else { continue };
        // No connector here is of this kind: tests/flow/saml.rs has one.
        if endpoint.row.path.contains("/saml/") {
            continue;
        }
        let connector = if endpoint.row.path.contains("/wallet") { "wallet" } else { "amandier" };
        let path =
            endpoint.row.path.replace("{hash}", &"A".repeat(43)).replace("{connector}", connector);
        for method in
            endpoint.methods().filter(|method| !shown.contains(&(method, endpoint.row.path)))
        {
            // No address takes a parameter that is repeated, or a body that is no form.
            let request = TestRequest::default().method(method.parse().unwrap());
            let request = match method {
                "GET" => request.uri(&format!("{path}?state=x&state=y&client_id=x&client_id=y")),
                _ => request
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

#[actix_web::test]
async fn a_consent_page_that_showed_another_user_is_recorded() {
    let hub = hub().await;
    let browser = hub.browser();
    let request = Authorize::by("clinic").with("prompt", "consent");
    let page = browser.authorize(&request).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    browser.submit(&page.form("/not-me")).await;
    let lines = hub.audit_lines();
    let line = lines.iter().find(|line| line["event"] == "wrong_user_reported").unwrap();
    assert_eq!(line["idp"], "amandier");
    assert!(line["support_id"].is_string() && line["salt"].is_null());
}
