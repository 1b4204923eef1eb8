//! Sessions that an operator ends.

use actix_web::test::TestRequest;
use serde_json::{Value, json};

use super::receiver::{Receiver, register};
use super::{TestHub, sign_in};
use crate::refresh_tokens::AUDITED;
use crate::service::Authorize;

async fn hub_with(receiver: &Receiver, settings: &str) -> TestHub {
    TestHub::edited(|folder| {
        for service in ["bakery", "library"] {
            register(folder, service, &receiver.uri(service));
        }
        let file = folder.join("passerelle.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{settings}\n{text}{AUDITED}")).unwrap();
    })
    .await
}

async fn end_sessions(hub: &TestHub, sub: &Value, reason: &str) -> (u16, Value) {
    let body = json!({ "sub": sub, "reason": reason }).to_string();
    let request = TestRequest::post().uri("/admin/sessions/end").set_payload(body);
    let answer = hub.send_as_admin(request).await;
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[actix_web::test]
async fn an_operator_ends_the_sessions_of_a_stolen_account_in_every_browser_with_a_reason() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver, "index_sessions_by_sub = true").await;
    let (own, thief) = (hub.browser(), hub.browser());
    let at_bakery = sign_in(&own, "bakery").await;
    let at_library = sign_in(&own, "library").await;
    let stolen = sign_in(&thief, "bakery").await;
    let bystander = hub.browser();
    let page = bystander.authorize(&Authorize::by("bakery")).await;
    let other = hub.tokens("bakery", &page.finish_as("jean").await).await;

    let sub = &at_library.id_token["sub"];
    assert_eq!(end_sessions(&hub, sub, "").await.0, 400);
    assert_eq!(end_sessions(&hub, &json!("another"), "ticket 4711").await.1, json!({ "ended": 0 }));
    // The library was asked in one of the browsers only.
    assert_eq!(end_sessions(&hub, sub, "ticket 4711").await, (200, json!({ "ended": 1 })));
    receiver.wait_for(2).await;
    assert_eq!((receiver.sent_to("bakery").len(), receiver.sent_to("library").len()), (1, 1));
    for (tokens, status) in [(&at_bakery, 401), (&at_library, 401), (&stolen, 200), (&other, 200)] {
        assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, status);
    }
    let sub = &at_bakery.id_token["sub"];
    assert_eq!(end_sessions(&hub, sub, "ticket 4711").await.1, json!({ "ended": 1 }));
    receiver.wait_for(3).await;
    assert_eq!(hub.get_userinfo(&stolen.access_token).await.status, 401);
    assert_eq!(hub.get_userinfo(&other.access_token).await.status, 200);
    assert!(own.authorize(&Authorize::by("bakery")).await.is_choice(), "no session answers");
    let metric = "passerelle_logouts_total{outcome=\"operator\"} 2";
    assert!(hub.metrics.render().contains(metric));
}

#[actix_web::test]
async fn an_operator_can_end_a_new_login_in_the_same_browser() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver, "index_sessions_by_sub = true").await;
    let browser = hub.browser();
    let at_library = sign_in(&browser, "library").await;
    // The session that begins here replaces the one before, and inherits its service providers.
    let again = Authorize::by("bakery").with("prompt", "login");
    let page = browser.authorize(&again).await.choose("amandier").await;
    let received = page.sign_in_as("angela").await.consent().await.received();
    let at_bakery = hub.tokens("bakery", &received).await;
    let sub = &at_library.id_token["sub"];
    assert_eq!(end_sessions(&hub, sub, "ticket 4711").await.1, json!({ "ended": 1 }));
    assert_eq!(hub.get_userinfo(&at_bakery.access_token).await.status, 401);
}

#[actix_web::test]
async fn without_the_index_the_answer_says_what_to_set() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver, "").await;
    let tokens = sign_in(&hub.browser(), "bakery").await;
    let (status, answer) = end_sessions(&hub, &tokens.id_token["sub"], "ticket 4711").await;
    assert_eq!((status, &answer["code"]), (409, &json!("Y500108")), "{answer}");
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 200);
}
