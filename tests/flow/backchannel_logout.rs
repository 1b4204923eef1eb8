//! Logout tokens to service providers (OpenID Connect Back-Channel Logout 1.0): who gets one, and
//! what receivers in trouble, strangers and restarts do to them.

mod operator;
pub(crate) mod receiver;
mod upstream;

use std::time::Duration;

use actix_web::test::TestRequest;
use serde_json::json;
use url::form_urlencoded::Serializer;

use self::receiver::{Receiver, register, silent_receiver};
use super::browser::Browser;
use super::federation::{ADMIN_TOKEN, post_logout_redirect_uri};
use super::hub::TestHub;
use super::redis_server::Server;
use super::service::{Authorize, STATE, Tokens};
use passerelle_testkit::wait::wait_until;

const HOUR: Duration = Duration::from_secs(3600);

pub(super) async fn sign_in(browser: &Browser<'_>, service: &str) -> Tokens {
    let page = browser.authorize(&Authorize::by(service).with("prompt", "consent")).await;
    let received = if page.is_choice() {
        page.finish_as("angela").await
    } else {
        page.consent().await.received()
    };
    browser.hub.tokens(service, &received).await
}

/// Logs out at the bakery, and comes back to it.
async fn log_out(browser: &Browser<'_>, tokens: &Tokens) {
    let uri = post_logout_redirect_uri("bakery");
    let pairs = [
        ("id_token_hint", tokens.raw_id_token.as_str()),
        ("post_logout_redirect_uri", &uri),
        ("state", STATE),
    ];
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let answer = browser.get(&format!("/api/v2/session/end?{query}")).await;
    assert!(answer.header("location").starts_with(&uri), "{} {}", answer.status, answer.body);
}

/// A hub whose bakery and library receive logout tokens here; the clinic receives none.
async fn hub_with(receiver: &Receiver) -> TestHub {
    TestHub::edited(|folder| {
        for service in ["bakery", "library"] {
            register(folder, service, &receiver.uri(service));
        }
    })
    .await
}

fn outcome(hub: &TestHub, service: &str, outcome: &str) -> bool {
    let series =
        format!("passerelle_logout_tokens_total{{client=\"{service}\",outcome=\"{outcome}\"}} 1");
    hub.metrics.render().contains(&series)
}

#[actix_web::test]
async fn a_service_provider_that_joins_the_session_during_the_logout_is_informed_too() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    sign_in(&browser, "bakery").await;
    let cookie = browser.session().unwrap();
    hub.log_out_during(&cookie, async { drop(sign_in(&browser, "library").await) }).await;
    receiver.wait_for(2).await;
    for service in ["bakery", "library"] {
        assert_eq!(receiver.sent_to(service).len(), 1, "{service}");
    }
}

#[actix_web::test]
async fn a_logout_informs_each_service_provider_of_the_session_by_its_own_sid_and_sub() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    let at_library = sign_in(&browser, "library").await.id_token;
    let at_clinic = sign_in(&browser, "clinic").await.id_token;
    let at_bakery = sign_in(&browser, "bakery").await;
    let stranger = hub.browser();
    let other = sign_in(&stranger, "bakery").await.id_token;
    assert!(!at_clinic.contains_key("sid"), "it receives no logout tokens");
    assert_ne!(at_library["sid"], at_bakery.id_token["sid"], "service providers could correlate");
    assert_ne!(other["sid"], at_bakery.id_token["sid"], "another session");

    log_out(&browser, &at_bakery).await;
    receiver.wait_for(2).await;
    for (service, id_token) in [("bakery", &at_bakery.id_token), ("library", &at_library)] {
        let received = receiver.sent_to(service);
        let [(header, token)] = &received[..] else { panic!("{} tokens", received.len()) };
        assert_eq!((&header["typ"], &header["alg"]), (&json!("logout+jwt"), &json!("ES256")));
        let claims = hub.verified_claims(token).await;
        for name in ["iss", "sub", "aud", "sid"] {
            assert_eq!(claims[name], id_token[name], "{name}");
        }
        assert_eq!(
            claims["events"],
            json!({ "http://schemas.openid.net/event/backchannel-logout": {} })
        );
        assert_eq!(claims["iat"], hub.now().seconds());
        assert_eq!(claims["exp"], hub.now().seconds() + 120);
        assert_eq!((claims.len(), claims["jti"].as_str().unwrap().len()), (8, 43), "and no nonce");
        wait_until("it is counted", || outcome(&hub, service, "delivered")).await;
    }
    assert_eq!(receiver.count(), 2, "neither the clinic nor the other session");
}

#[actix_web::test]
async fn a_logout_token_is_no_id_token_hint() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery").await;
    log_out(&browser, &tokens).await;
    receiver.wait_for(1).await;
    let again = hub.browser();
    sign_in(&again, "bakery").await;
    let (_, token) = &receiver.sent_to("bakery")[0];
    let answer = again.get(&format!("/api/v2/session/end?id_token_hint={token}")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Y190103"), "{}", answer.body);
}

#[actix_web::test]
async fn a_session_that_ends_by_time_informs_no_service_provider() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery").await;
    hub.advance(9 * HOUR);
    log_out(&browser, &tokens).await;
    hub.deliver_logout_tokens().await;
    assert_eq!(receiver.count(), 0);
}

#[actix_web::test]
async fn a_logout_request_forged_by_another_site_informs_no_service_provider() {
    let receiver = Receiver::start().await;
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    sign_in(&browser, "bakery").await;
    let page = browser.open("/api/v2/session/end").await;
    assert!(page.is_logout_confirmation(), "{}", page.answer.body);
    hub.deliver_logout_tokens().await;
    assert_eq!(receiver.count(), 0);
}

#[actix_web::test]
async fn a_receiver_that_never_responds_delays_neither_the_user_nor_another_receiver() {
    let receiver = Receiver::start().await;
    let (_listener, silent) = silent_receiver().await;
    let hub = TestHub::edited(|folder| {
        register(folder, "library", &receiver.uri("library"));
        register(folder, "bakery", &silent);
    })
    .await;
    let sessions: Vec<_> = (0..8).map(|_| hub.browser()).collect();
    let started = std::time::Instant::now();
    for browser in &sessions {
        sign_in(browser, "library").await;
        let tokens = sign_in(browser, "bakery").await;
        log_out(browser, &tokens).await;
    }
    receiver.wait_for(8).await;
    assert!(started.elapsed() < Duration::from_secs(6), "someone waited for the silent receiver");
}

#[actix_web::test]
async fn a_failing_receiver_gets_the_token_later_with_a_new_jti() {
    let receiver = Receiver::start().await;
    receiver.answer_with(503);
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery").await;
    log_out(&browser, &tokens).await;
    wait_until("the attempt is counted", || outcome(&hub, "bakery", "failed")).await;
    hub.deliver_logout_tokens().await;
    assert_eq!(receiver.count(), 1, "not due yet");

    receiver.answer_with(204);
    hub.advance(Duration::from_secs(60));
    receiver.wait_for_polling(2, async || hub.deliver_logout_tokens().await).await;
    wait_until("the delivery is counted", || outcome(&hub, "bakery", "delivered")).await;
    let received = receiver.sent_to("bakery");
    let mut jtis = Vec::new();
    for (_, token) in &received {
        jtis.push(hub.verified_claims(token).await["jti"].clone());
    }
    assert_ne!(jtis[0], jtis[1]);
    hub.advance(HOUR);
    hub.deliver_logout_tokens().await;
    assert_eq!(receiver.count(), 2, "delivered once");
}

#[actix_web::test]
async fn delivery_to_an_unavailable_receiver_ends_and_the_timeline_shows_it() {
    let receiver = Receiver::start().await;
    receiver.answer_with(500);
    let hub = hub_with(&receiver).await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery").await;
    log_out(&browser, &tokens).await;
    wait_until("the attempt is counted", || outcome(&hub, "bakery", "failed")).await;
    hub.advance(HOUR);
    receiver.wait_for_polling(2, async || hub.deliver_logout_tokens().await).await;
    wait_until("it is given up", || outcome(&hub, "bakery", "given_up")).await;
    hub.advance(HOUR);
    hub.deliver_logout_tokens().await;
    assert_eq!(receiver.count(), 2);
}

#[actix_web::test]
async fn the_audit_log_and_the_logins_timeline_have_the_result() {
    for (status, event, code) in
        [(200, "logout_token_delivered", None), (400, "logout_token_undelivered", Some("Y190701"))]
    {
        let receiver = Receiver::start().await;
        receiver.answer_with(status);
        let hub = TestHub::edited(|folder| {
            register(folder, "bakery", &receiver.uri("bakery"));
            let settings = folder.join("passerelle.toml");
            let text = std::fs::read_to_string(&settings).unwrap();
            let on = "[audit]\nsink = \"file\"\nnode = \"hub-1\"\n";
            std::fs::write(settings, format!("{text}{on}")).unwrap();
        })
        .await;
        let browser = hub.browser();
        let tokens = sign_in(&browser, "bakery").await;
        let support_id = hub.last_support_id();
        log_out(&browser, &tokens).await;
        let is_recorded = || hub.audit_event_names().iter().any(|name| name == event);
        wait_until("it is in the audit log", is_recorded).await;
        let line = hub.audit_lines().into_iter().find(|line| line["event"] == event).unwrap();
        assert_eq!((&line["sp"], &line["support_id"]), (&json!("bakery"), &json!(support_id)));
        assert_eq!(line.get("code").and_then(|code| code.as_str()), code);
        let path = format!("/admin/logins/{support_id}");
        let bearer = ("authorization", format!("Bearer {ADMIN_TOKEN}"));
        let request = TestRequest::get().uri(&path).insert_header(bearer);
        let timeline = hub.send_private(request).await.body;
        assert!(timeline.contains(event), "{timeline}");
    }
}

#[actix_web::test]
async fn a_refusal_and_a_redirect_are_final_and_the_redirect_is_not_followed() {
    for status in [400, 302] {
        let receiver = Receiver::start().await;
        receiver.answer_with(status);
        let hub = hub_with(&receiver).await;
        let browser = hub.browser();
        let tokens = sign_in(&browser, "bakery").await;
        log_out(&browser, &tokens).await;
        wait_until("it is counted", || outcome(&hub, "bakery", "rejected")).await;
        hub.advance(HOUR);
        hub.deliver_logout_tokens().await;
        assert_eq!((receiver.count(), receiver.sent_to("elsewhere").len()), (1, 0), "{status}");
    }
}

#[actix_web::test]
async fn a_hub_that_stops_leaves_its_tokens_to_another_hub() {
    let server = Server::start(&[]);
    let receiver = Receiver::start().await;
    receiver.answer_with(503);
    let store = super::shared_store::redis_settings(&server);
    let (hub, counted) = TestHub::several_edited(2, &store, |folder| {
        register(folder, "bakery", &receiver.uri("bakery"));
    })
    .await;
    let browser = hub.browser();
    let tokens = sign_in(&browser, "bakery").await;
    log_out(&browser, &tokens).await;
    receiver.wait_for(1).await;
    let failed = "outcome=\"failed\"} 1";
    let has_failed = || counted.iter().any(|metrics| metrics.render().contains(failed));
    wait_until("the attempt is counted", has_failed).await;

    receiver.answer_with(200);
    hub.advance(Duration::from_secs(60));
    let look = async || hub.deliver_logout_tokens().await;
    receiver.wait_for_polling(2, look).await;
    for _ in 0..5 {
        look().await;
    }
    assert_eq!(receiver.count(), 2, "of all hubs one delivers it");
    assert_eq!(receiver.sent_to("bakery").len(), 2);
}

#[actix_web::test]
async fn discovery_announces_back_channel_logout_only_while_it_is_on() {
    let document = async |hub: &TestHub| {
        let path = "/api/v2/.well-known/openid-configuration";
        let body = hub.send(TestRequest::get().uri(path)).await.body;
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let off = document(&TestHub::start().await).await;
    assert!(!off.to_string().contains("backchannel"));
    let receiver = Receiver::start().await;
    let on = document(&hub_with(&receiver).await).await;
    assert_eq!(on["backchannel_logout_supported"], true);
    assert_eq!(on["backchannel_logout_session_supported"], true);
}
