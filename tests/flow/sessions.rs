//! Single sign-on: when the hub reuses a session, and when the user must authenticate again.

use std::time::Duration;

use super::browser::Browser;
use super::hub::TestHub;
use super::markup::Form;
use super::service::{Authorize, Received};

const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const AMR: &str = r#"{"id_token":{"amr":{"essential":true}}}"#;

/// Returns a request for which the hub may reuse a session and shows only the information page.
fn reusing(service: &str) -> Authorize {
    Authorize::by(service).with("prompt", "consent")
}

fn silent(service: &str) -> Authorize {
    Authorize::by(service).with("prompt", "none")
}

async fn signed_in<'h>(hub: &'h TestHub, person: &str) -> Browser<'h> {
    let browser = hub.browser();
    browser.authorize(&Authorize::by("bakery")).await.finish_as(person).await;
    browser
}

/// Sends a request with `prompt=none`. Returns the response, which one redirect delivers.
async fn send_silent_request(browser: &Browser<'_>, request: &Authorize) -> Received {
    let answer = browser.get(&request.url()).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let location = answer.header("location").to_owned();
    assert!(
        location.starts_with("https://") && !location.starts_with("https://hub.example"),
        "{location}"
    );
    let (to, query) =
        location.split_at(location.find("&code=").or(location.find("&error=")).unwrap());
    Received {
        to: to.to_owned(),
        fields: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
    }
}

#[actix_web::test]
async fn the_second_login_asks_no_identity_provider() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let first = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let first = hub.tokens("bakery", &first).await;
    let session = browser.session().unwrap();
    hub.advance(10 * MINUTE);
    let page = browser.authorize(&reusing("library")).await;
    assert!(page.is_consent(), "at {}", page.url);
    let second = page.consent().await.received();
    let second = hub.tokens("library", &second).await;
    assert_eq!(second.id_token["auth_time"], first.id_token["auth_time"]);
    assert_ne!(second.id_token["iat"], first.id_token["iat"]);
    assert_eq!(browser.session().unwrap(), session, "no user has authenticated");
    assert_eq!(hub.userinfo(&second.access_token).await["family_name"], "DUBOIS");
}

#[actix_web::test]
async fn by_default_every_login_authenticates_again() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    for request in [Authorize::by("bakery"), Authorize::by("bakery").with("prompt", "login")] {
        assert!(browser.authorize(&request).await.is_choice());
    }
}

#[actix_web::test]
async fn an_authentication_older_than_max_age_does_not_count() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    let request = reusing("bakery").with("max_age", "60");
    hub.advance(MINUTE);
    assert!(browser.authorize(&request).await.is_consent());
    hub.advance(MILLISECOND);
    let choice = browser.authorize(&request).await;
    assert!(choice.is_choice());
    // A new authentication satisfies max_age.
    let received = choice.finish_as("angela").await;
    assert_eq!(hub.tokens("bakery", &received).await.id_token["auth_time"], hub.now().seconds());
    assert!(browser.authorize(&reusing("bakery").with("max_age", "0")).await.is_choice());
}

#[actix_web::test]
async fn a_session_ends_after_thirty_idle_minutes() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    for _ in 0..3 {
        hub.advance(30 * MINUTE - MILLISECOND);
        send_silent_request(&browser, &silent("bakery")).await.code();
    }
    hub.advance(30 * MINUTE);
    assert_eq!(
        send_silent_request(&browser, &silent("bakery")).await.error_at("bakery"),
        "login_required"
    );
    assert!(browser.authorize(&reusing("bakery")).await.is_choice());
}

#[actix_web::test]
async fn a_session_ends_after_eight_hours_however_much_it_is_used() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    for _ in 0..23 {
        hub.advance(20 * MINUTE);
        send_silent_request(&browser, &silent("bakery")).await.code();
    }
    hub.advance(20 * MINUTE - MILLISECOND);
    send_silent_request(&browser, &silent("bakery")).await.code();
    hub.advance(MILLISECOND);
    assert_eq!(
        send_silent_request(&browser, &silent("bakery")).await.error_at("bakery"),
        "login_required"
    );
}

#[actix_web::test]
async fn without_a_session_prompt_none_gets_login_required() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    assert_eq!(
        send_silent_request(&browser, &silent("bakery")).await.error_at("bakery"),
        "login_required"
    );
    assert_eq!(browser.session(), None);
    // The hub does not call the identity provider of the hint either.
    let hinted = silent("bakery").with("idp_hint", "amandier");
    assert_eq!(send_silent_request(&browser, &hinted).await.error_at("bakery"), "login_required");
}

/// A client that sends a request every few seconds must not fill the browser with cookies.
#[actix_web::test]
async fn a_login_answered_in_one_step_leaves_no_login_cookie() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    hub.advance(2 * MINUTE);
    for request in [silent("bakery"), silent("clinic"), silent("bakery").with("max_age", "0")] {
        let answer = browser.get(&request.url()).await;
        assert_eq!(
            (answer.status, answer.header("set-cookie")),
            (303, ""),
            "{}",
            answer.header("location")
        );
    }
}

#[actix_web::test]
async fn with_a_session_prompt_none_gets_a_code_at_once() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "jean").await;
    browser.authorize(&reusing("library")).await.consent().await.received().code();
    let received = send_silent_request(&browser, &silent("library")).await;
    received.belongs_to("library");
    assert_eq!(hub.family_name("library", &received).await, "LEFÈVRE");
    // The session is not of the identity provider that the request names.
    let hinted = silent("library").with("idp_hint", "belvedere");
    assert_eq!(send_silent_request(&browser, &hinted).await.error_at("library"), "login_required");
}

#[actix_web::test]
async fn consent_is_remembered_for_the_same_claims_only() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let names = Authorize::by("clinic").with("scope", "openid given_name family_name");
    let page = browser.authorize(&names).await.choose("amandier").await.sign_in_as("angela").await;
    assert_eq!(page.heading(), "Do you agree to send this information?");
    page.consent().await.received().belongs_to("clinic");

    // `prompt=consent` gets the page; `prompt=none` uses the consent that the user gave.
    assert!(browser.authorize(&names.with("prompt", "consent")).await.is_consent());
    let again = names.with("prompt", "none");
    browser.authorize(&again).await.received().code();
    browser.authorize(&again.with("scope", "openid family_name")).await.received().code();
    let more = again.with("scope", "openid given_name family_name birthdate");
    assert_eq!(browser.authorize(&more).await.received().error_at("clinic"), "consent_required");
    let more = more.with("prompt", "consent");
    let page = browser.authorize(&more).await;
    assert_eq!(page.heading(), "Do you agree to send this information?");
    assert_eq!(page.refuse().await.received().error_at("clinic"), "access_denied");
    // A refusal is not a consent.
    assert!(browser.authorize(&more).await.is_consent());
}

#[actix_web::test]
async fn prompt_none_without_consent_gets_consent_required() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    assert_eq!(
        send_silent_request(&browser, &silent("clinic")).await.error_at("clinic"),
        "consent_required"
    );
    browser.authorize(&reusing("clinic")).await.consent().await.received().code();
    send_silent_request(&browser, &silent("clinic")).await.code();
}

/// The library never had a page, and would learn name and e-mail address from a hidden request.
#[actix_web::test]
async fn a_service_that_the_person_has_never_seen_gets_no_identity_silently() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    let refused = async || {
        let received = send_silent_request(&browser, &silent("library")).await;
        assert_eq!(received.error_at("library"), "consent_required");
    };
    refused().await;
    // A page that the person has left counts for nothing.
    let page = browser.authorize(&reusing("library")).await;
    assert_eq!(page.heading(), "Your information for this service");
    refused().await;
    // With `prompt=login` the library's page is shown, too.
    let request = Authorize::by("library").with("prompt", "login");
    let page = browser.authorize(&request).await.choose("amandier").await;
    let page = page.sign_in_as("angela").await;
    assert!(page.is_consent(), "at {}", page.url);
    page.consent().await.received().code();
    send_silent_request(&browser, &silent("library")).await.code();
    // The bakery's page was shown before this new authentication of the same person.
    send_silent_request(&browser, &silent("bakery")).await.code();
}

#[actix_web::test]
async fn information_is_remembered_for_the_same_claims_person_and_session_only() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let names = Authorize::by("bakery").with("scope", "openid given_name family_name");
    browser.authorize(&names).await.finish_as("angela").await.code();
    let again = names.with("prompt", "none");
    send_silent_request(&browser, &again).await.code();
    let fewer = again.with("scope", "openid family_name");
    send_silent_request(&browser, &fewer).await.code();
    let more = again.with("scope", "openid given_name family_name birthdate");
    let received = send_silent_request(&browser, &more).await;
    assert_eq!(received.error_at("bakery"), "consent_required");
    // Another person in the same browser, and the same person in another browser.
    browser.authorize(&Authorize::by("library")).await.finish_as("jean").await.code();
    let received = send_silent_request(&browser, &again).await;
    assert_eq!(received.error_at("bakery"), "consent_required");
    let other = hub.browser();
    other.authorize(&Authorize::by("library")).await.finish_as("angela").await.code();
    let received = send_silent_request(&other, &again).await;
    assert_eq!(received.error_at("bakery"), "consent_required");
}

#[actix_web::test]
async fn consent_of_one_user_is_not_consent_of_another() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("clinic")).await.finish_as("angela").await.code();
    send_silent_request(&browser, &silent("clinic")).await.code();
    // Another user with the same claims.
    browser.authorize(&Authorize::by("bakery")).await.finish_as("marie-charlotte").await.code();
    assert_eq!(
        send_silent_request(&browser, &silent("clinic")).await.error_at("clinic"),
        "consent_required"
    );
}

#[actix_web::test]
async fn consent_of_the_same_user_outlives_a_new_authentication() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    browser.authorize(&Authorize::by("clinic")).await.finish_as("angela").await.code();
    browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await.code();
    send_silent_request(&browser, &silent("clinic")).await.code();
}

#[actix_web::test]
async fn the_user_who_logs_in_must_be_the_one_who_was_asked_for() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let angela = hub.tokens("bakery", &received).await;
    let sub = format!(r#"{{"id_token":{{"sub":{{"value":{}}}}}}}"#, angela.id_token["sub"]);
    for (name, value) in [("claims", sub.as_str()), ("id_token_hint", &angela.raw_id_token)] {
        let wanted = Authorize::by("bakery").with(name, value);
        send_silent_request(&browser, &wanted.with("prompt", "none")).await.code();
        // The session and the authentication of another user are rejected.
        let other = signed_in(&hub, "jean").await;
        assert_eq!(
            send_silent_request(&other, &wanted.with("prompt", "none")).await.error_at("bakery"),
            "login_required"
        );
        let choice = other.authorize(&wanted.with("prompt", "consent")).await;
        let received = choice.choose("amandier").await.sign_in_as("jean").await.received();
        assert_eq!(received.error_at("bakery"), "login_required", "{name}");
        other.authorize(&wanted).await.finish_as("angela").await.code();
    }
}

#[actix_web::test]
async fn prompt_none_by_post_shows_nothing_either() {
    let hub = TestHub::start().await;
    let browser = signed_in(&hub, "angela").await;
    let request = silent("bakery");
    let form = Form {
        action: "/api/v2/authorize".into(),
        fields: request.pairs().to_vec(),
        buttons: Vec::new(),
    };
    // A POST from another site has no session cookie; the request after the hub's redirect has it.
    let received = browser.submit(&form).await.received();
    received.belongs_to("bakery");
    received.code();
    assert_eq!(hub.browser().submit(&form).await.received().error_at("bakery"), "login_required");
}

#[actix_web::test]
async fn two_persons_in_two_tabs_never_mix() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let angela = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let jean = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("belvedere")
        .await
        .sign_in_as("jean")
        .await;
    assert_eq!(angela.listed_claims()["Family name at birth"], "DUBOIS");
    assert_eq!(jean.listed_claims()["Family name at birth"], "LEFÈVRE");
    let jean = jean.consent().await.received();
    let session_of_jean = browser.session().unwrap();
    let angela = angela.consent().await.received();
    assert_ne!(browser.session().unwrap(), session_of_jean);
    assert_eq!(hub.family_name("bakery", &jean).await, "LEFÈVRE");
    assert_eq!(hub.family_name("bakery", &angela).await, "DUBOIS");
    // The session is that of the last completed login.
    let now = send_silent_request(&browser, &silent("bakery")).await;
    assert_eq!(hub.family_name("bakery", &now).await, "DUBOIS");
    browser.plant_session(&session_of_jean);
    assert_eq!(
        send_silent_request(&browser, &silent("bakery")).await.error_at("bakery"),
        "login_required"
    );
}

#[actix_web::test]
async fn session_fixation_is_impossible_because_each_authentication_changes_the_cookie() {
    let hub = TestHub::start().await;
    let victim = hub.browser();
    let planted = "A".repeat(43);
    victim.plant_session(&planted);
    victim.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let first = victim.session().unwrap();
    assert_ne!(first, planted);
    victim.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let second = victim.session().unwrap();
    assert_ne!(second, first);
    for dead in [planted, first] {
        let attacker = hub.browser();
        attacker.plant_session(&dead);
        assert_eq!(
            send_silent_request(&attacker, &silent("bakery")).await.error_at("bakery"),
            "login_required"
        );
    }
}

#[actix_web::test]
async fn no_session_exists_before_a_login_has_completed() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    assert!(page.is_consent());
    assert_eq!(browser.session(), None);
    page.refuse().await;
    assert_eq!(browser.session(), None);
}

// R039, R066: what was proven, with its auth_time, at every service provider that asks.
#[actix_web::test]
async fn a_reused_authentication_keeps_its_methods_and_time() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("claims", AMR))
        .await
        .choose("amandier")
        .await;
    let form =
        page.sandbox_form("angela").without("method").and("method", "pin").and("method", "sc");
    let first = hub.tokens("bakery", &browser.submit(&form).await.consent().await.received()).await;
    assert_eq!(first.id_token["amr"], serde_json::json!(["pin", "sc", "pop", "mfa", "hub"]));
    hub.advance(10 * MINUTE);
    let second =
        browser.authorize(&reusing("library").with("claims", AMR)).await.consent().await.received();
    let second = hub.tokens("library", &second).await;
    assert_eq!(
        (&second.id_token["amr"], &second.id_token["auth_time"]),
        (&first.id_token["amr"], &first.id_token["auth_time"])
    );
    let third = browser.authorize(&reusing("library")).await.consent().await.received();
    assert_eq!(hub.tokens("library", &third).await.id_token.get("amr"), None);
}

// R061, R067: an identity provider's own `mfa` is neither believed nor passed over in silence.
#[actix_web::test]
async fn mfa_without_proof_is_dropped_and_counted_once_a_login() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery").with("claims", AMR))
        .await
        .choose("amandier")
        .await;
    let form =
        page.sandbox_form("angela").without("method").and("method", "pwd").and("method", "mfa");
    let received = browser.submit(&form).await.consent().await.received();
    assert_eq!(
        hub.tokens("bakery", &received).await.id_token["amr"],
        serde_json::json!(["pwd", "hub"])
    );
    browser
        .authorize(&reusing("library").with("claims", AMR))
        .await
        .consent()
        .await
        .received()
        .code();
    let counted =
        r#"passerelle_amr_values_dropped_total{connector="amandier",reason="mfa_unproven"} 1"#;
    assert!(hub.metrics.render().lines().any(|line| line == counted), "{}", hub.metrics.render());
}
