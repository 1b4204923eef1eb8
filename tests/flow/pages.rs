//! What a person meets on the pages: who is signed in, what has stopped, how long to wait.

use std::fs;

use actix_web::test::TestRequest;

use super::hub::TestHub;
use super::service::Authorize;

#[actix_web::test]
async fn the_root_says_what_this_site_is() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.open("/").await;
    assert_eq!(
        (page.answer.status, page.heading().as_str()),
        (200, "One sign-in for many services")
    );
    assert!(page.links().contains(&"/api/v2/session/end".to_owned()), "{:?}", page.links());
    assert_eq!(browser.send(TestRequest::post().uri("/")).await.status, 405);
}

#[actix_web::test]
async fn a_wait_is_the_same_in_the_header_and_on_the_page_and_the_request_can_be_repeated() {
    let hub = TestHub::with("[quotas]\nlogins_per_service_provider = 1").await;
    let browser = hub.browser();
    let request = Authorize::by("bakery");
    let mut limited = None;
    for _ in 0..70 {
        let answer = browser.get(&request.url()).await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
    }
    let answer = limited.expect("a limit");
    let seconds = answer.header("retry-after");
    assert!(answer.body.contains(&format!("try again in {seconds} second")), "{}", answer.body);
    assert!(answer.body.contains(&format!("data-after=\"{seconds}\"")), "script waits as long");
    let again = request.url().replace('&', "&#38;");
    assert!(
        answer.body.contains(&format!("href=\"{again}\""))
            || answer.body.contains(&format!("href=\"{}\"", request.url().replace('&', "&amp;"))),
        "{}",
        answer.body
    );
    assert!(!answer.body.contains("http-equiv"), "no timed refresh");
}

#[actix_web::test]
async fn stopping_at_the_identity_provider_is_no_alert() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let stopped = choice.sign_in_failing("cancel").await;
    assert!(stopped.is_choice(), "at {}", stopped.url);
    assert!(!stopped.answer.body.contains("role=\"alert\""), "{}", stopped.answer.body);
    assert!(stopped.answer.body.contains("was stopped."), "{}", stopped.answer.body);
    assert_eq!(stopped.code(), "Y020020", "support can still find it");
}

#[actix_web::test]
async fn the_consent_page_names_the_person_and_shows_the_values() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = choice.sign_in_as("angela").await;
    assert!(page.is_consent());
    assert!(page.answer.body.contains("<strong><bdi>Angela Claire Louise DUBOIS</bdi></strong>"));
    assert_eq!(page.listed_claims()["Family name at birth"], "DUBOIS");
}

#[actix_web::test]
async fn this_is_not_me_leads_back_to_the_choice_and_the_person_is_forgotten() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    let (yes, not_me) = (page.consent_form("yes"), page.form("/not-me"));
    let choice = browser.submit(&not_me).await;
    assert!(choice.is_choice(), "at {}", choice.url);
    assert!(choice.answer.body.contains("You said that this was not you."));
    let late = browser.post(&yes, None).await;
    assert_eq!((late.status, late.header("location")), (409, ""), "the first page sends nothing");
    let again = browser.submit(&not_me).await;
    assert!(again.is_choice(), "a double click");
    let received = again.finish_as("jean").await;
    assert_ne!(hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn this_is_not_me_ends_a_reused_session() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let page = browser.authorize(&Authorize::by("library").with("prompt", "consent")).await;
    assert!(page.is_consent(), "at {}", page.url);
    let choice = browser.submit(&page.form("/not-me")).await;
    assert!(choice.is_choice(), "at {}", choice.url);
    assert_eq!(browser.session(), None);
    let silent = browser.get(&Authorize::by("bakery").with("prompt", "none").url()).await;
    assert!(silent.header("location").contains("error=login_required"));
}

#[actix_web::test]
async fn attack_another_site_cannot_say_that_this_is_not_me() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    let not_me = page.form("/not-me");
    for (form, site) in [
        (not_me.clone().with("csrf", "forged"), None),
        (not_me.clone().without("csrf"), None),
        (not_me.clone().with("csrf", page.form("/consent").field("csrf")), None),
        (not_me, Some("cross-site")),
    ] {
        assert_eq!(browser.post(&form, site).await.status, 403, "{form:?}");
    }
    let received = page.consent().await.received();
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn codes_become_names_and_a_bad_table_keeps_its_last_good_version() {
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("place_name_files = [\"places.csv\"]\n{text}")).unwrap();
        fs::write(folder.join("places.csv"), "code,fr,en\n75107,Paris 7e,Paris (7th)\n").unwrap();
    })
    .await;
    let birthplace = async || {
        let browser = hub.browser();
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        page.sign_in_as("angela").await.listed_claims().get("Place of birth").cloned()
    };
    assert_eq!(birthplace().await.as_deref(), Some("Paris (7th)"));
    hub.write_file("places.csv", "code,name\n75107,Paris VII\n");
    hub.reload_files().await;
    assert_eq!(birthplace().await.as_deref(), Some("Paris VII"));
    hub.write_file("places.csv", "no header of ours\n");
    hub.reload_files().await;
    assert_eq!(birthplace().await.as_deref(), Some("Paris VII"));
    let findings = hub.reload().findings();
    assert!(
        findings.iter().any(|finding| finding.message.contains("places.csv:1 ")),
        "and it is reported: {findings:?}"
    );
}
