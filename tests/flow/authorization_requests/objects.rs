//! Signed request objects (RFC 9101).

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    ISSUER, NOTARY, STRANGER, address, hub, object_claims, push, request_object_claims, signed,
    signed_by, status_and_error,
};
use crate::federation::redirect_uri;
use crate::hub::TestHub;
use crate::service::{Authorize, STATE};

fn by_value(service: &str, object: &str) -> String {
    address(service, "request", object)
}

fn pairs(object: &str) -> Vec<(String, String)> {
    vec![("request".to_owned(), object.to_owned())]
}

/// The code of the page that answers the notary's object.
async fn refused(hub: &TestHub, object: &str) -> String {
    let browser = hub.browser();
    let page = browser.open(&by_value("notary", object)).await;
    assert_eq!(page.answer.status, 400, "{}", page.url);
    assert!(browser.logins().is_empty());
    page.references()[1].clone()
}

#[actix_web::test]
async fn a_signed_request_is_a_whole_login_in_the_address_and_pushed() {
    let hub = hub().await;
    let object = signed(&object_claims(&hub, "notary"));
    let page = hub.browser().open(&by_value("notary", &object)).await.url;
    assert!(page.starts_with("/api/v2/interaction/"));

    let mut claims = object_claims(&hub, "registrar");
    claims.as_object_mut().unwrap().remove("jti");
    let answer = push(&hub, "registrar", &pairs(&signed(&claims))).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let uri = address("registrar", "request_uri", body["request_uri"].as_str().unwrap());
    let received = hub.browser().open(&uri).await.finish_as("angela").await;
    received.belongs_to("registrar");
    assert_eq!(hub.family_name("registrar", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn an_object_that_the_client_did_not_sign_is_refused() {
    let hub = hub().await;
    let claims = object_claims(&hub, "notary");
    let part = |value: &Value| passerelle_protocol::digest::base64url(value.to_string().as_bytes());
    let unsigned = format!("{}.{}.", part(&json!({ "alg": "none" })), part(&claims));
    let header = json!({ "alg": "ES256" });
    let good = signed(&claims);
    let (_, tail) = good.split_once('.').unwrap();
    for (attack, object) in [
        ("none", unsigned),
        ("another key", signed_by(&STRANGER, &header, &claims)),
        (
            "a key in the header",
            signed_by(
                &STRANGER,
                &json!({ "alg": "ES256", "jwk": super::published(&STRANGER, "sig") }),
                &claims,
            ),
        ),
        ("another alg", signed_by(&NOTARY, &json!({ "alg": "RS256" }), &claims)),
        ("HS256", signed_by(&NOTARY, &json!({ "alg": "HS256" }), &claims)),
        (
            "a critical extension",
            signed_by(&NOTARY, &json!({ "alg": "ES256", "crit": ["b64"], "b64": false }), &claims),
        ),
        ("another header", format!("{}.{tail}", part(&json!({ "alg": "ES256", "x": 1 })))),
        ("encrypted", "a.b.c.d.e".to_owned()),
        ("no JWT", "abc".to_owned()),
    ] {
        assert_eq!(refused(&hub, &object).await, "Y031404", "{attack}");
    }
}

#[actix_web::test]
async fn another_jwt_of_the_client_is_no_request_object() {
    let hub = hub().await;
    let claims = object_claims(&hub, "notary");
    for typ in ["client-authentication+jwt", "dpop+jwt", "at+jwt"] {
        let object = signed_by(&NOTARY, &json!({ "alg": "ES256", "typ": typ }), &claims);
        assert_eq!(refused(&hub, &object).await, "Y031405", "{typ}");
    }
    // An assertion without a type has the client_id as its sub (RFC 9101 §10.8).
    let now = hub.now().seconds();
    let assertion = json!({ "iss": "notary", "sub": "notary", "aud": ISSUER, "iat": now, "exp": now + 60, "jti": "a" });
    assert_eq!(refused(&hub, &signed(&assertion)).await, "Y031418");
    let mut claims = object_claims(&hub, "notary");
    claims["sub"] = json!("notary");
    assert_eq!(refused(&hub, &signed(&claims)).await, "Y031418");
}

#[actix_web::test]
async fn an_object_for_another_server_or_client_or_time_is_refused() {
    let hub = hub().await;
    let now = hub.now().seconds();
    for (changes, code) in [
        (json!({ "iss": "bakery" }), "Y031406"),
        (json!({ "iss": null }), "Y031406"),
        (json!({ "client_id": "bakery" }), "Y031406"),
        (json!({ "aud": "https://other.example" }), "Y031407"),
        (json!({ "aud": [ISSUER, "https://other.example"] }), "Y031407"),
        (json!({ "aud": null }), "Y031407"),
        (json!({ "exp": now - 61 }), "Y031408"),
        (json!({ "exp": null }), "Y031408"),
        (json!({ "exp": now + 661 }), "Y031409"),
        (json!({ "nbf": now + 61 }), "Y031410"),
        (json!({ "iat": now + 61 }), "Y031410"),
        (json!({ "jti": "" }), "Y031411"),
        (json!({ "jti": "x".repeat(256) }), "Y031411"),
        (json!({ "jti": 7 }), "Y031411"),
        (json!({ "request_uri": "https://evil.example/" }), "Y031413"),
        (json!({ "scope": ["openid"] }), "Y031414"),
        (json!({ "redirect_uri": "https://evil.example/" }), "Y030203"),
    ] {
        let mut claims = object_claims(&hub, "notary");
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        assert_eq!(refused(&hub, &signed(&claims)).await, code, "{changes}");
    }
    let mut claims = object_claims(&hub, "notary");
    claims.as_object_mut().unwrap().remove("jti");
    assert_eq!(refused(&hub, &signed(&claims)).await, "Y031411", "it could start any number");
}

#[actix_web::test]
async fn a_replayed_object_starts_no_second_login_and_a_reload_leads_back() {
    let hub = hub().await;
    let object = signed(&object_claims(&hub, "notary"));
    let address = by_value("notary", &object);
    let person = hub.browser();
    let first = person.open(&address).await.url;
    assert_eq!(refused(&hub, &object).await, "Y031412");
    assert_eq!(person.open(&address).await.url, first);
    assert_eq!(person.logins().len(), 1);
    // Nor when it is pushed, and the other way round.
    let answer = push(&hub, "notary", &pairs(&object)).await;
    assert_eq!(status_and_error(&answer), (400, "invalid_request_object".into()));
    hub.advance(Duration::from_secs(2));
    let object = signed(&object_claims(&hub, "notary"));
    assert_eq!(push(&hub, "notary", &pairs(&object)).await.status, 201);
    assert_eq!(push(&hub, "notary", &pairs(&object)).await.status, 400);
    assert_eq!(refused(&hub, &object).await, "Y031412");
}

#[actix_web::test]
async fn a_used_object_is_refused_after_a_restart_that_forgot_it() {
    let hub = hub().await;
    let mut claims = object_claims(&hub, "notary");
    for name in ["iat", "nbf"] {
        claims[name] = (hub.now().seconds() - 30).into();
    }
    let hub = hub.restart().await;
    assert_eq!(refused(&hub, &signed(&claims)).await, "Y031412");
}

#[actix_web::test]
async fn parameters_beside_a_signed_object_change_nothing() {
    let hub = hub().await;
    let object = signed(&object_claims(&hub, "notary"));
    let injected = Authorize::by("notary")
        .with("request", &object)
        .with("state", "state-of-the-attacker-0123456789-0123456789")
        .with("scope", "openid")
        .with("prompt", "none");
    let received = hub.browser().authorize(&injected).await.finish_as("angela").await;
    received.belongs_to("notary");
    assert_eq!(hub.family_name("notary", &received).await, "DUBOIS");
}

#[actix_web::test]
async fn a_stripped_signature_is_detected() {
    let hub = hub().await;
    let stripped = hub.browser().authorize(&Authorize::by("registrar")).await.received();
    assert_eq!(stripped.error_at("registrar"), "invalid_request");
    let pushed = push(&hub, "registrar", Authorize::by("registrar").pairs()).await;
    assert_eq!(status_and_error(&pushed), (400, "invalid_request".into()));
    // Where it is optional, an empty parameter is none.
    let plain = Authorize::by("notary").with("request", "");
    assert!(hub.browser().authorize(&plain).await.is_choice());
}

#[actix_web::test]
async fn a_client_that_registered_no_algorithm_sends_no_objects() {
    let hub = hub().await;
    let object = signed(&request_object_claims(&hub, "bakery", &Authorize::by("bakery")));
    let request = Authorize::by("bakery").with("request", &object);
    let received = hub.browser().authorize(&request).await.received();
    assert_eq!(received.error_at("bakery"), "request_not_supported");
}

/// The Foundation's Form Post plan: an unsigned object's `response_mode` and `state` answer it.
#[actix_web::test]
async fn under_openid_rules_the_error_of_an_unsigned_object_is_posted_as_it_asks() {
    let hub = hub().await;
    let request = Authorize::minimal("kiosk", "openid");
    let mut claims = request_object_claims(&hub, "kiosk", &request);
    claims["response_mode"] = "form_post".into();
    claims["state"] = STATE.into();
    let part = |value: &Value| passerelle_protocol::digest::base64url(value.to_string().as_bytes());
    let unsigned = format!("{}.{}.", part(&json!({ "alg": "none" })), part(&claims));
    let browser = hub.browser();
    let page = browser.authorize(&request.with("request", &unsigned)).await;
    let received = page.received_by_post();
    assert_eq!(received.to, redirect_uri("kiosk"));
    assert_eq!(received.fields["error"], "invalid_request_object");
    assert_eq!(received.fields["state"], STATE);
    // The signed one is answered, too.
    let page = browser.authorize(&request.with("request", &signed(&claims))).await;
    let page = page.choose("amandier").await.sign_in_as("angela").await;
    assert!(page.received_by_post().fields.contains_key("code"));
}

/// OpenID Connect Core §6.1
#[actix_web::test]
async fn under_openid_rules_a_response_type_beside_the_object_must_be_the_same() {
    let hub = hub().await;
    let request = Authorize::minimal("kiosk", "openid");
    let object = signed(&request_object_claims(&hub, "kiosk", &request));
    let other = request.with("request", &object).with("response_type", "id_token");
    let received = hub.browser().authorize(&other).await.received();
    assert_eq!(received.fields["error"], "invalid_request");
}
