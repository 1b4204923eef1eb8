//! A login from the service provider and back, as the user and the service provider see it.

use std::collections::BTreeSet;

use passerelle_testkit::wait::wait_until;

use super::browser::Browser;
use super::federation::{BASE, redirect_uri};
use super::hub::TestHub;
use super::service::Authorize;

#[actix_web::test]
async fn the_service_provider_gets_what_the_consent_page_shows() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    assert!(choice.is_choice());
    let page = choice.choose("amandier").await.sign_in_as("angela").await;
    assert!(page.is_consent(), "at {}", page.url);
    let shown: Vec<_> = page.listed_claims().into_iter().collect();
    let expected = [
        ("Country of birth", "France"),
        ("Date of birth", "24 August 1962"),
        ("E-mail address", "angela@example.org"),
        ("Family name at birth", "DUBOIS"),
        ("Gender", "female"),
        ("Given names", "Angela Claire Louise"),
        ("Place of birth", "code 75107"),
    ];
    assert_eq!(shown, expected.map(|(label, value)| (label.to_owned(), value.to_owned())));

    let received = page.consent().await.received();
    received.belongs_to("bakery");
    let tokens = hub.tokens("bakery", &received).await;
    assert_eq!(tokens.id_token["acr"], "eidas1");
    assert_eq!(tokens.id_token["auth_time"], hub.now().seconds());
    let mut claims = hub.userinfo(&tokens.access_token).await;
    assert_eq!(claims.remove("sub"), tokens.id_token.get("sub").cloned());
    assert_eq!(claims.remove("iss").unwrap(), format!("{BASE}/api/v2"));
    assert_eq!(claims.remove("aud").unwrap(), "bakery");
    assert!(claims.remove("exp").is_some() && claims.remove("iat").is_some());
    let expected = serde_json::json!({
        "given_name": "Angela Claire Louise",
        "given_name_array": ["Angela", "Claire", "Louise"],
        "family_name": "DUBOIS",
        "birthdate": "1962-08-24",
        "gender": "female",
        "birthplace": "75107",
        "birthcountry": "99100",
        "email": "angela@example.org",
    });
    assert_eq!(serde_json::Value::from(claims), expected);
}

/// The actor would keep the whole login in memory, for nothing.
#[actix_web::test]
async fn a_completed_login_keeps_no_actor() {
    let hub = TestHub::start().await;
    let has_actors = |count: usize| {
        let line = format!("passerelle_actors_active{{actor=\"login\"}} {count}\n");
        hub.metrics.render().contains(&line)
    };
    let browser = hub.browser();
    let choice = browser.authorize(&Authorize::by("bakery")).await;
    let consent = choice.choose("amandier").await.sign_in_as("angela").await;
    assert!(has_actors(1));
    let (form, received) = (consent.consent_form("yes"), consent.consent().await.received());
    wait_until("the actor has stopped", || has_actors(0)).await;
    // A double click gets the same answer from the store.
    assert_eq!(browser.submit(&form).await.received(), received);
}

#[actix_web::test]
async fn a_service_provider_that_requests_less_shows_and_gets_less() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("scope", "openid family_name");
    let page = browser.authorize(&request).await.choose("amandier").await.sign_in_as("jean").await;
    assert_eq!(page.listed_claims().into_keys().collect::<Vec<_>>(), ["Family name at birth"]);
    let received = page.consent().await.received();
    let tokens = hub.tokens("bakery", &received).await;
    let claims = hub.userinfo(&tokens.access_token).await;
    assert_eq!(
        claims.keys().collect::<BTreeSet<_>>(),
        ["aud", "exp", "family_name", "iat", "iss", "sub"].map(|n| n.to_owned()).iter().collect()
    );
}

#[actix_web::test]
async fn every_person_of_the_sandbox_but_the_unknown_one_can_sign_in() {
    let hub = TestHub::start().await;
    for person in ["angela", "jean", "maria", "mamadou", "marie-charlotte"] {
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by("bakery"))
            .await
            .choose("belvedere")
            .await
            .sign_in_as(person)
            .await;
        assert!(page.is_consent(), "{person} at {}: {:?}", page.url, page.references());
    }
}

#[actix_web::test]
async fn one_person_has_one_sub_at_a_service_and_another_at_the_next() {
    let hub = TestHub::start().await;
    let mut subs = Vec::new();
    for (service, connector) in
        [("bakery", "amandier"), ("bakery", "belvedere"), ("library", "amandier")]
    {
        let browser = hub.browser();
        let page = browser
            .authorize(&Authorize::by(service))
            .await
            .choose(connector)
            .await
            .sign_in_as("angela")
            .await;
        let received = page.consent().await.received();
        subs.push(
            hub.tokens(service, &received).await.id_token["sub"].as_str().unwrap().to_owned(),
        );
    }
    assert_eq!(subs[0], subs[1]);
    assert_ne!(subs[0], subs[2]);
}

#[actix_web::test]
async fn state_is_returned_byte_for_byte() {
    let hub = TestHub::start().await;
    let state: String = (b' '..=b'~').map(char::from).collect();
    let request = Authorize::by("bakery").with("state", &state);
    for mode in ["query", "form_post"] {
        let browser = hub.browser();
        let page =
            browser.authorize(&request.with("response_mode", mode)).await.choose("amandier").await;
        let page = page.sign_in_as("angela").await.consent().await;
        let received = if mode == "query" { page.received() } else { page.received_by_post() };
        assert_eq!(received.fields["state"], state, "{mode}");
        let page = browser.authorize(&request.with("response_mode", mode)).await.cancel().await;
        let received = if mode == "query" { page.received() } else { page.received_by_post() };
        assert_eq!(
            (&received.fields["state"], received.fields["error"].as_str()),
            (&state, "access_denied"),
            "{mode}"
        );
    }
}

#[actix_web::test]
async fn form_post_carries_the_answer_in_a_form() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery").with("response_mode", "form_post");
    let page = browser
        .authorize(&request)
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await
        .consent()
        .await;
    let received = page.received_by_post();
    received.belongs_to("bakery");
    assert_eq!(received.fields.keys().collect::<Vec<_>>(), ["code", "iss", "state"]);
    assert!(!page.url.contains(received.code()), "the code is in an address");
    assert_eq!(page.answer.header("cache-control"), "no-store");
    assert_eq!(hub.family_name("bakery", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn ui_locales_take_precedence_over_the_browsers_language() {
    let hub = TestHub::start().await;
    let request = Authorize::by("bakery");
    for (languages, ui_locales, spoken) in [
        ("en", None, "en"),
        ("fr-FR,en;q=0.5", None, "fr"),
        ("da", None, "fr"),
        ("de-CH", None, "de"),
        ("en", Some("ar"), "ar"),
        ("en", Some("fr"), "fr"),
        ("fr", Some("en-GB"), "en"),
        ("fr", Some("xx en"), "en"),
        ("fr", Some("en fr"), "en"),
        ("en", Some("xx"), "en"),
    ] {
        let browser = Browser::new(&hub, languages);
        let request = ui_locales.map_or(request.clone(), |wish| request.with("ui_locales", wish));
        let choice = browser.authorize(&request).await;
        let name = if spoken == "en" { "Belvedere identity" } else { "Identité Belvédère" };
        assert!(choice.answer.body.contains(name), "{languages} {ui_locales:?}");
        assert_eq!(choice.answer.header("content-language"), spoken, "{languages} {ui_locales:?}");
        // The wish holds for the whole login, its consent page included.
        let consent = choice.choose("amandier").await.sign_in_as("angela").await;
        assert_eq!(consent.answer.header("content-language"), spoken, "{languages} {ui_locales:?}");
    }
}

#[actix_web::test]
async fn a_post_from_the_service_begins_a_login_too() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let request = Authorize::by("bakery");
    let form = super::markup::Form {
        action: "/api/v2/authorize".into(),
        fields: request.pairs().to_vec(),
        buttons: Vec::new(),
    };
    let answer = browser.post(&form, Some("cross-site")).await;
    assert_eq!(answer.status, 303);
    let received = browser.open(answer.header("location")).await.finish_as("angela").await;
    received.belongs_to("bakery");
    assert_eq!(received.to, redirect_uri("bakery"));
}

#[actix_web::test]
async fn the_older_prefix_is_understood() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    let page = browser.open(&Authorize::by("bakery").url().replace("/v2/", "/v1/")).await;
    page.finish_as("angela").await.belongs_to("bakery");
}
