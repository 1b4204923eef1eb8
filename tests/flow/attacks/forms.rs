//! Forged forms and requests.

use super::*;

#[actix_web::test]
async fn a_form_without_its_token_or_with_anothers_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let (choice, other) = (
        browser.authorize(&Authorize::by("bakery")).await,
        browser.authorize(&Authorize::by("bakery")).await,
    );
    let (choose, cancel) =
        (choice.form("/provider").with("provider", "amandier"), choice.form("/cancel"));
    let of_other = other.form("/provider").field("csrf").to_owned();
    for (csrf, code) in [
        ("", "Y470001"),
        (cancel.field("csrf"), "Y470002"),
        (&of_other, "Y470002"),
        ("guess", "Y470002"),
    ] {
        let page = browser.submit(&choose.clone().with("csrf", csrf)).await.assert_error(403, code);
        assert_eq!(page.links(), [choice.url.as_str()]);
    }
    browser.submit(&choose.clone().without("csrf")).await.assert_error(403, "Y470001");
    browser
        .submit(&cancel.clone().with("csrf", choose.field("csrf")))
        .await
        .assert_error(403, "Y470002");
    assert!(browser.open(&choice.url).await.is_choice(), "a refused form had an effect");

    let consent = browser.submit(&choose).await.sign_in_as("angela").await;
    let yes = consent.consent_form("yes");
    browser
        .submit(&yes.clone().with("csrf", cancel.field("csrf")))
        .await
        .assert_error(403, "Y470002");
    browser.submit(&yes.clone().without("csrf")).await.assert_error(403, "Y470001");
    assert!(browser.session().is_none());
    browser.submit(&yes).await.received().code();
}

#[actix_web::test]
async fn consent_to_another_page_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let little = Authorize::by("clinic").with("scope", "openid family_name");
    let little =
        browser.authorize(&little).await.choose("amandier").await.sign_in_as("angela").await;
    let much = browser
        .authorize(&Authorize::by("clinic"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let (seen, due) = (little.consent_form("yes"), much.consent_form("yes"));
    assert_ne!(seen.field("page_digest"), due.field("page_digest"));
    for form in [
        due.clone().with("page_digest", seen.field("page_digest")),
        due.clone().with("page_digest", seen.field("page_digest")).with("csrf", seen.field("csrf")),
        due.clone().without("page_digest"),
    ] {
        browser.submit(&form).await.assert_error(403, "Y470002");
    }
    assert!(browser.session().is_none());
    browser.submit(&due).await.received().code();
}

#[actix_web::test]
async fn a_form_sent_by_another_site_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let choose = choice.form("/provider").with("provider", "amandier");
    for site in ["cross-site", "same-site", "none", "SAME-ORIGIN", ""] {
        let answer = browser.post(&choose, Some(site)).await;
        assert!(
            answer.status == 403 && answer.body.contains("Y470003"),
            "{site:?}: {}",
            answer.status
        );
    }
    let consent = choice.choose("amandier").await.sign_in_as("angela").await;
    let answer = browser.post(&consent.consent_form("yes"), Some("cross-site")).await;
    assert!(answer.status == 403 && answer.body.contains("Y470003"));
    assert!(browser.session().is_none());
    // Browsers that don't know the header have the token alone.
    let answer = browser.post(&consent.consent_form("yes"), None).await;
    assert!(answer.status == 303 && answer.header("location").contains("&code="));
}

#[actix_web::test]
async fn a_link_scanners_head_has_no_effect() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let head = async |path: &str, allow: &str| {
        let answer =
            browser.send(TestRequest::default().method("HEAD".parse().unwrap()).uri(path)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, allow), "{path}");
    };
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    head(&choice.url, "GET").await;
    head(&Authorize::by("bakery").url(), "GET, POST").await;
    let sandbox = choice.choose("amandier").await;
    let callback = answered_by(&browser, &sandbox, "angela").await;
    head(&callback, "GET, POST").await;
    let consent = browser.open(&callback).await;
    assert!(consent.is_consent());
    head(&consent.url, "GET, POST").await;
    consent.consent().await.received().code();
}

/// RFC 9110 §9.1: a page that changes nothing is served for HEAD too, without its content.
#[actix_web::test]
async fn pages_and_files_without_effect_are_served_for_head() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    for path in ["/", "/api/v2/errors/invalid_grant", "/assets/favicon", "/api/v2/jwks"] {
        let [get, head] = ["GET", "HEAD"].map(|method| {
            browser.send(TestRequest::default().method(method.parse().unwrap()).uri(path))
        });
        let (get, head) = (get.await, head.await);
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
    let language = TestRequest::default().method("HEAD".parse().unwrap());
    let answer = browser.send(language.uri("/api/v2/language?lang=fr&path=/")).await;
    assert_eq!((answer.status, answer.header("allow")), (405, "GET"), "it sets a cookie");
}

#[actix_web::test]
async fn a_get_request_has_no_effect_of_a_form() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    for form in [choice.form("/provider").with("provider", "amandier"), choice.form("/cancel")] {
        let query: Vec<_> =
            form.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let answer = browser.get(&format!("{}?{}", form.action, query.join("&"))).await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{}", form.action);
    }
    assert!(browser.open(&choice.url).await.is_choice());
}

#[actix_web::test]
async fn a_request_for_an_unknown_host_is_misdirected() {
    let hub = TestHub::start().await;
    for host in ["evil.example", "hub.example.evil.example", "hub.example:8443"] {
        let answer =
            hub.send_to(host, TestRequest::get().uri(&Authorize::by("bakery").url())).await;
        assert_eq!(
            (answer.status, answer.header("set-cookie"), answer.header("location")),
            (421, "", ""),
            "{host}"
        );
    }
    let forwarded = TestRequest::get()
        .uri(&Authorize::by("bakery").url())
        .insert_header(("x-forwarded-host", HOST));
    assert_eq!(hub.send_to("evil.example", forwarded).await.status, 421);
}

#[actix_web::test]
async fn an_oversized_body_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let stuffing = "x".repeat(64 * 1024);
    for form in [choice.form("/provider").with("provider", "amandier"), choice.form("/cancel")] {
        let answer = browser.post(&form.with("stuffing", &stuffing), Some("same-origin")).await;
        assert!(answer.status == 413 && answer.body.contains("Y000413"), "{}", answer.status);
    }
    let mut form = choice.form("/cancel").with("stuffing", &stuffing);
    form.action = "/api/v2/authorize".to_owned();
    assert_eq!(browser.post(&form, None).await.status, 413);
    assert!(browser.open(&choice.url).await.is_choice());
}

#[actix_web::test]
async fn parameter_pollution_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery")
        .with("prompt", "login")
        .with("ui_locales", "en")
        .with("idp_hint", "amandier");
    for (name, value) in request.pairs().to_vec() {
        let page =
            browser.authorize(&request.and(&name, &value)).await.assert_error(400, "Y000400");
        assert!(page.references()[1].starts_with("Y03"), "{name}: {:?}", page.references());
        assert!(page.links().is_empty() && browser.logins().is_empty(), "{name}");
    }
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let mut twice = choice.form("/provider").with("provider", "amandier");
    twice.fields.push(("provider".into(), "belvedere".into()));
    browser.submit(&twice).await.assert_error(400, "Y000400");
    let sandbox = choice.choose("amandier").await;
    let callback = answered_by(&browser, &sandbox, "angela").await;
    for name in ["code", "iss"] {
        browser.open(&format!("{callback}&{name}=other")).await.assert_error(400, "Y020330");
    }
    browser
        .open(&format!("{callback}&state={}", "A".repeat(86)))
        .await
        .assert_error(400, "Y020330");
    let consent = browser.open(&callback).await;
    let mut both = consent.consent_form("no");
    both.fields.push(("answer".into(), "yes".into()));
    browser.submit(&both).await.assert_error(400, "Y000400");
    consent.consent().await.received().code();
}
