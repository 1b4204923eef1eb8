//! The languages of the pages: the user's choice, and the operator's files.

use actix_web::test::TestRequest;

use super::browser::Browser;
use super::hub::TestHub;
use super::service::Authorize;

const COOKIE: &str = "__Host-passerelle-language";

#[actix_web::test]
async fn the_choice_of_a_language_keeps_the_login_s_place() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let request = Authorize::by("bakery").with("prompt", "consent").with("ui_locales", "fr");
    let choice = browser.authorize(&request).await;
    assert_eq!(choice.answer.header("content-language"), "fr");
    let form = choice.form("/language").with("lang", "ar");
    assert_eq!(form.field("path"), choice.url.trim_start_matches("https://hub.example"));
    let choice = browser.submit_get(&form).await;
    // The choice goes before ui_locales.
    assert_eq!(choice.answer.header("content-language"), "ar");
    assert!(choice.answer.body.contains("<html lang=\"ar\" dir=\"rtl\">"));
    let consent = choice.choose("amandier").await.sign_in_as("angela").await;
    assert_eq!(consent.answer.header("content-language"), "ar");
    let consent = browser.submit_get(&consent.form("/language").with("lang", "pl")).await;
    assert_eq!(consent.answer.header("content-language"), "pl");
    assert!(consent.form("/consent").field("csrf").len() > 20);
    let received = consent.consent().await.received();
    received.belongs_to("bakery");
}

#[actix_web::test]
async fn an_error_page_after_a_callback_leads_back_to_its_login() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let page = choice.choose("amandier").await.sign_in_failing("unknown-person").await;
    let form = page.form("/language").with("lang", "de");
    assert!(form.field("path").starts_with("/api/v2/interaction/"), "{}", form.field("path"));
    let page = browser.submit_get(&form).await;
    assert_eq!(page.answer.header("content-language"), "de");
    assert!(page.answer.body.contains("<html lang=\"de\""));
}

#[actix_web::test]
async fn the_choice_of_a_language_is_no_open_redirect() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    for evil in [
        "https://evil.example/",
        "//evil.example/api/v2/",
        "/\\evil.example",
        "\\/evil.example",
        "/%2F/evil.example",
        "javascript:alert(1)",
        "/api/v2/\r\nset-cookie: a=b",
        "@evil.example",
        "",
    ] {
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("lang", "de")
            .append_pair("path", evil)
            .finish();
        let answer = browser.get(&format!("/api/v2/language?{query}")).await;
        assert_eq!((answer.status, answer.header("location")), (400, ""), "{evil}");
    }
    assert_eq!(browser.cookie(COOKIE), None);
    for repeated in ["lang=de", "lang=de&path=/api/v2/a&path=//evil.example"] {
        let answer = browser.get(&format!("/api/v2/language?{repeated}")).await;
        assert_ne!(answer.header("location"), "//evil.example", "{repeated}");
    }
}

#[actix_web::test]
async fn the_page_that_posts_the_answer_is_shown_again_with_the_same_code() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let request = Authorize::by("bakery").with("response_mode", "form_post");
    let page =
        browser.authorize(&request).await.choose("amandier").await.sign_in_as("angela").await;
    let page = page.consent().await;
    let first = page.received_by_post();
    let page = browser.submit_get(&page.form("/language").with("lang", "de")).await;
    assert_eq!(page.answer.header("content-language"), "de");
    assert_eq!(page.received_by_post().fields, first.fields);
    // An error answer to a POST is shown again by a GET of the same request.
    let url = request.with("prompt", "none").with("max_age", "x").url();
    let query = url.split_once('?').unwrap().1;
    let fields: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let request = TestRequest::post().uri("/api/v2/authorize").set_form(fields);
    let answer = browser.send(request).await;
    assert!(answer.body.contains("value=\"/api/v2/authorize?"), "{}", answer.body);
}

/// OpenID Connect Core 1.0 §3.1.2.1
#[actix_web::test]
async fn the_page_that_posts_an_error_names_the_service_in_the_language_of_the_request() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let request = Authorize::by("bakery").with("response_mode", "form_post");
    let page = browser.open(&request.with("max_age", "x").with("ui_locales", "fr").url()).await;
    assert_eq!(page.received_by_post().fields["error"], "invalid_request");
    assert_eq!(page.answer.header("content-language"), "fr");
    assert!(page.answer.body.contains("Le service bakery"), "{}", page.answer.body);
}

#[actix_web::test]
async fn the_page_after_a_logout_is_shown_again_with_what_has_ended() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let path = "/api/v2/session/ended?client_id=bakery&participant=library";
    let page = browser.open(path).await;
    for name in ["The bakery", "The library"] {
        assert!(page.answer.body.contains(name), "{name}: {}", page.answer.body);
    }
    let page = browser.submit_get(&page.form("/language").with("lang", "fr")).await;
    assert_eq!(page.answer.header("content-language"), "fr");
    for name in ["Le service bakery", "Le service library"] {
        assert!(page.answer.body.contains(name), "{name}: {}", page.answer.body);
    }
    // An attacker's link names nothing that is not registered.
    let page = browser.open("/api/v2/session/ended?client_id=evil&participant=evil").await;
    assert!(page.answer.status == 200 && !page.answer.body.replace("=evil", "").contains("evil"));
}

/// The choice leads to an address of the error itself, with its references.
#[actix_web::test]
async fn an_error_page_outside_a_login_is_shown_again_in_the_chosen_language() {
    let hub = TestHub::start().await;
    let browser = Browser::new(&hub, "en");
    let request = TestRequest::post().uri("/api/v2/authorize").set_form([("scope", "x")]);
    let answer = browser.send(request).await;
    let page = browser.open("/api/v2/authorize?scope=x").await;
    assert_eq!(answer.status, 400);
    for body in [&answer.body, &page.answer.body] {
        assert!(body.contains("value=\"/api/v2/errors/Y000400?support_id="), "{body}");
    }
    let references = page.references();
    assert_eq!(references.len(), 3, "the code, the precise one and the support id");
    let again = browser.submit_get(&page.form("/language").with("lang", "de")).await;
    assert_eq!((again.answer.status, again.answer.header("content-language")), (200, "de"));
    assert_eq!(again.references(), references);
    let again = browser.submit_get(&again.form("/language").with("lang", "ar")).await;
    assert_eq!(again.answer.header("content-language"), "ar");
    for unknown in ["Y999999", "y000400", "evil.example"] {
        assert_eq!(browser.open(&format!("/api/v2/errors/{unknown}")).await.answer.status, 404);
    }
    let forged = "/api/v2/errors/Y000400?support_id=%3Cscript%3E&time=99999999999999&detail=evil";
    let page = browser.open(forged).await;
    assert!(page.answer.status == 200 && !page.answer.body.contains("evil"));
}

/// Attack: a link makes people report the support id of the attacker's own error to the operator.
#[actix_web::test]
async fn a_link_to_an_error_page_shows_no_reference_of_its_author() {
    let hub = TestHub::start().await;
    let attacker = Browser::new(&hub, "en");
    let page = attacker.open("/api/v2/authorize?scope=x").await;
    let references = page.references();
    let link = page.form("/language").field("path").to_owned();
    let (precise, support_id) = (&references[1], &references[2]);
    let choice = format!("/api/v2/language?lang=de&path={}", link.replace('&', "%26"));
    for site in [Some("none"), Some("cross-site"), Some("same-site"), None] {
        for url in [&link, &choice] {
            let mut request = TestRequest::get().uri(url);
            if let Some(site) = site {
                request = request.insert_header(("sec-fetch-site", site));
            }
            let answer = hub.send(request).await;
            for reference in [precise, support_id] {
                assert!(!answer.body.contains(reference.as_str()), "{site:?}: {}", answer.body);
            }
            // Not by the language either, which the victim chooses on the page.
            assert!(answer.status == 303 || answer.body.contains("errors/Y000400?support_id="));
        }
    }
}

#[actix_web::test]
async fn an_error_page_repeats_nothing_of_an_attacker_s_request() {
    let hub = TestHub::start().await;
    for url in
        ["/api/v2/authorize?client_id=evil.example", "/evil.example", "/api/v2/evil.example?a=b"]
    {
        let browser = hub.browser();
        let page = browser.open(url).await;
        assert!(!page.answer.body.contains("evil.example"), "{url}");
    }
}

#[actix_web::test]
async fn another_site_can_not_choose_the_language_of_its_visitors() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let url = "/api/v2/language?lang=de&path=/api/v2/errors/invalid_grant";
    for (site, is_set) in
        [("cross-site", false), ("same-site", false), ("none", false), ("same-origin", true)]
    {
        let request = TestRequest::get().uri(url).insert_header(("sec-fetch-site", site));
        let answer = browser.send(request).await;
        assert_eq!(answer.header("location"), "/api/v2/errors/invalid_grant");
        assert_eq!(browser.cookie(COOKIE).is_some(), is_set, "{site}");
    }
    let unknown = browser.get("/api/v2/language?lang=xx&path=/api/v2/errors/invalid_grant").await;
    assert_eq!(unknown.status, 303);
    assert_eq!(browser.cookie(COOKIE).as_deref(), Some("de"));
    browser.plant(COOKIE, "\"><script>");
    let page = browser.get("/api/v2/errors/invalid_grant").await;
    assert!(page.status == 200 && !page.body.contains("<script>\""), "an invalid one is ignored");
}

#[actix_web::test]
async fn an_operator_s_file_is_in_force_without_a_restart_and_a_bad_one_changes_nothing() {
    let hub = TestHub::start().await;
    let title = |languages: &'static str| {
        let browser = Browser::new(&hub, languages);
        async move { browser.authorize(&Authorize::by("bakery")).await.heading() }
    };
    assert_eq!(title("br,de").await, "Anmelden bei „Le service bakery“");
    let folder = hub.folder().join("locales");
    std::fs::create_dir_all(folder.join("de")).unwrap();
    std::fs::write(
        folder.join("br.ftl"),
        "language-name = Brezhoneg\nchoice-title-service = Dibabit ur gont\n",
    )
    .unwrap();
    std::fs::write(folder.join("de/site.ftl"), "choice-title-service = <b>Konto</b>\n").unwrap();
    hub.reload_files().await;
    assert_eq!(title("br,de").await, "Dibabit ur gont");
    assert_eq!(title("de").await, "<b>Konto</b>");
    let discovery = hub.browser().get("/api/v2/.well-known/openid-configuration").await;
    let discovery: serde_json::Value = serde_json::from_str(&discovery.body).unwrap();
    assert_eq!(
        discovery["ui_locales_supported"],
        serde_json::json!(["ar", "br", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ro"])
    );
    std::fs::write(folder.join("de/site.ftl"), "choice-title-service = { $password }\n").unwrap();
    hub.reload_files().await;
    assert_eq!(title("de").await, "<b>Konto</b>");
    std::fs::remove_file(folder.join("de/site.ftl")).unwrap();
    std::fs::remove_file(folder.join("br.ftl")).unwrap();
    hub.reload_files().await;
    assert_eq!(title("br,de").await, "Anmelden bei „Le service bakery“");
}

#[actix_web::test]
async fn the_default_language_is_for_browsers_that_ask_for_none_of_the_pages() {
    let hub = TestHub::with("default_language = \"it\"\n").await;
    let browser = Browser::new(&hub, "ja");
    let page = browser.authorize(&Authorize::by("bakery")).await;
    assert_eq!(page.answer.header("content-language"), "it");
}
