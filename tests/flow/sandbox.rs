//! What goes wrong at an identity provider or at the register, as the person and the service
//! provider see it.

use passerelle_protocol::catalogue::ErrorCode;

use super::browser::Browser;
use super::hub::TestHub;
use super::service::Authorize;

/// What can be made to go wrong upstream: the code that names it, the banner's words, and the error
/// for a service provider whose user gives up.
const UPSTREAM: [(&str, ErrorCode, &str, &str); 3] = [
    ("cancel", ErrorCode::IdpDenied, "was stopped.", "access_denied"),
    ("error", ErrorCode::IdpError, "did not work.", "server_error"),
    (
        "level-too-low",
        ErrorCode::AcrTooLow,
        "was not safe enough for this service.",
        "unmet_authentication_requirements",
    ),
];

#[actix_web::test]
async fn a_failure_upstream_leads_back_to_the_choice_with_a_banner() {
    let hub = TestHub::start().await;
    for (failure, code, outcome, error) in UPSTREAM {
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("belvedere")
            .await
            .sign_in_failing(failure)
            .await;
        assert!(page.is_choice(), "{failure} at {}", page.url);
        let page = page.assert_error(200, code.entry().code);
        assert!(
            page.answer
                .body
                .contains(&format!("Signing in with “<bdi>Belvedere identity</bdi>” {outcome}")),
            "{failure}"
        );
        // A reload shows the same, with the same id for the support; then another account helps.
        let again = browser.open(&page.url).await;
        assert_eq!(again.references(), page.references());
        again.finish_as("angela").await.belongs_to("bakery");
        // Who gives up instead did not stop what the identity provider broke.
        let browser = hub.browser();
        let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("belvedere").await;
        let received = sandbox.sign_in_failing(failure).await.cancel().await.received();
        assert_eq!(received.error_at("bakery"), error, "{failure}");
    }
}

#[actix_web::test]
async fn the_person_that_login_hint_names_is_selected_at_the_sandbox() {
    let hub = TestHub::start().await;
    for (hint, selected) in [("jean", "jean"), ("missing", "angela")] {
        let request = Authorize::by("bakery").and("login_hint", hint);
        let browser = hub.browser();
        let page = browser.authorize(&request).await.choose("amandier").await;
        let option = |id: &str| page.answer.body.contains(&format!("value=\"{id}\" checked"));
        assert_eq!((option("jean"), option("angela")), (selected == "jean", selected == "angela"));
    }
}

#[actix_web::test]
async fn the_sandboxs_page_speaks_one_language() {
    let hub = TestHub::start().await;
    for (language, spoken, other) in
        [("en", "born in Spain", "née en Espagne"), ("fr", "née en Espagne", "born in Spain")]
    {
        let browser = Browser::new(&hub, language);
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("belvedere").await;
        assert!(
            page.answer.body.contains(spoken) && !page.answer.body.contains(other),
            "{language}"
        );
    }
}

#[actix_web::test]
async fn with_idp_hint_a_failure_is_returned_to_the_service_provider_at_once() {
    let hub = TestHub::start().await;
    for (failure, _, _, error) in UPSTREAM {
        let browser = hub.browser();
        let request = Authorize::by("bakery").with("idp_hint", "amandier");
        let sandbox = browser.authorize(&request).await;
        assert!(sandbox.url.starts_with("/sandbox/amandier"), "at {}", sandbox.url);
        let received = sandbox.sign_in_failing(failure).await.received();
        assert_eq!(received.error_at("bakery"), error, "{failure}");
    }
}

#[actix_web::test]
async fn a_user_who_chose_another_provider_than_the_hinted_one_sees_its_failure() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("idp_hint", "amandier");
    let sandbox = browser.authorize(&request).await;
    assert!(sandbox.url.starts_with("/sandbox/"));
    let choice = browser.open(&browser.interaction()).await;
    assert!(choice.is_choice(), "the hint is followed once");
    assert!(choice.choose("belvedere").await.sign_in_failing("error").await.is_choice());
}

#[actix_web::test]
#[expect(clippy::disallowed_methods, reason = "names are searched in any case")]
async fn a_failed_identification_is_an_error_page_until_the_user_cancels() {
    let hub = TestHub::start().await;
    for (person, failure, code) in [
        ("angela", "missing-claim", "Y010010"),
        ("angela", "unknown-person", "Y010001"),
        ("unknown", "", "Y010001"),
        ("paul", "", "Y010002"),
        // Deceased and refused look alike: the page shows the family's code, the log the precise
        // one.
        ("fernand", "", "Y010000"),
        ("odile", "", "Y010000"),
    ] {
        let browser = hub.browser();
        let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        let form = sandbox.sandbox_form(person).with("failure", failure);
        let page = browser.submit(&form).await.assert_error(403, code);
        let family_name = if person == "angela" { "DUBOIS" } else { person };
        assert!(
            !page.answer.body.to_lowercase().contains(&family_name.to_lowercase()),
            "{person}: the page tells who"
        );
        assert_eq!(browser.session(), None, "{person} {failure}");
        assert!(
            page.answer.body.contains("<bdi>Amandier account</bdi>"),
            "{person}: which account?"
        );
        // Failure is sticky: neither a look at the choice nor the identity provider's answer again
        // gets on.
        let again = browser.open(&browser.interaction()).await.assert_error(403, code);
        assert_eq!(again.support_id(), page.support_id());
        let received = again.cancel().await.received();
        assert_eq!(received.error_at("bakery"), "access_denied", "{person} {failure}");
    }
}

/// The register does not know this account's person, who may have another account.
#[actix_web::test]
async fn after_a_failed_identification_another_account_signs_in() {
    let hub = TestHub::start().await;
    for (person, failure, code, shown) in [
        ("angela", "missing-claim", "Y010010", "lacks a piece of information"),
        ("unknown", "", "Y010001", "national register could not confirm"),
        ("fernand", "", "Y010000", "national register could not confirm"),
    ] {
        let browser = hub.browser();
        let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        let form = sandbox.sandbox_form(person).with("failure", failure);
        let page = browser.submit(&form).await.assert_error(403, code);
        let choice = browser.submit(&page.form("/not-me")).await;
        assert!(choice.is_choice(), "{person} at {}", choice.url);
        let choice = choice.assert_error(200, code);
        assert_eq!(choice.support_id(), page.support_id(), "{person}");
        assert!(choice.answer.body.contains(shown), "{person}: {}", choice.answer.body);
        let received = choice.choose("belvedere").await.sign_in_as("angela").await;
        received.consent().await.received().belongs_to("bakery");
    }
}

#[actix_web::test]
async fn the_page_of_the_deceased_and_of_the_refused_are_the_same() {
    let hub = TestHub::start().await;
    let mut pages = Vec::new();
    for person in ["fernand", "odile"] {
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("amandier")
            .await
            .sign_in_as(person)
            .await;
        let received = page.form("/cancel");
        let description =
            browser.submit(&received).await.received().fields["error_description"].clone();
        pages.push((page.answer.status, page.heading(), page.code(), description));
    }
    assert_eq!(pages[0], pages[1]);
}
