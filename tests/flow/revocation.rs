//! A service provider has an access token forgotten (RFC 7009), on both
//! platforms.

use actix_web::test::TestRequest;
use url::form_urlencoded::Serializer;

use super::federation::SECRET;
use super::hub::{Answer, TestHub};
use super::service::Authorize;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json; charset=utf-8";

fn posted(body: String) -> TestRequest {
    TestRequest::post()
        .uri("/api/v2/token/revocation")
        .insert_header(("content-type", FORM))
        .set_payload(body)
}

async fn revoke(hub: &TestHub, pairs: &[(&str, &str)]) -> Answer {
    hub.send(posted(Serializer::new(String::new()).extend_pairs(pairs).finish())).await
}

async fn revoked_by(hub: &TestHub, service: &str, token: &str) -> Answer {
    revoke(hub, &[("client_id", service), ("client_secret", SECRET), ("token", token)]).await
}

#[track_caller]
fn done(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (200, "{}"));
    assert_eq!((answer.header("content-type"), answer.header("cache-control")), (JSON, "no-store"));
}

async fn token(hub: &TestHub) -> String {
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    hub.tokens("bakery", &received).await.access_token
}

#[actix_web::test]
async fn a_revoked_token_is_inactive_at_every_endpoint() {
    let hub = TestHub::start().await;
    let (gone, kept) = (token(&hub).await, token(&hub).await);
    done(&revoked_by(&hub, "bakery", &gone).await);
    let answer = hub.get_userinfo(&gone).await;
    assert_eq!(
        (answer.status, answer.header("www-authenticate")),
        (401, "Bearer error=\"invalid_token\"")
    );
    assert_eq!(hub.get_userinfo(&kept).await.status, 200, "the same person's other token lives");
    done(&revoked_by(&hub, "bakery", &gone).await);
    let hinted = [
        ("client_id", "bakery"),
        ("client_secret", SECRET),
        ("token", kept.as_str()),
        ("token_type_hint", "refresh_token"),
    ];
    done(&revoke(&hub, &hinted).await);
    assert_eq!(hub.get_userinfo(&kept).await.status, 401, "the hint is no more than one");
}

#[actix_web::test]
async fn no_client_revokes_anothers_token_or_learns_that_it_exists() {
    let hub = TestHub::start().await;
    let token = token(&hub).await;
    for (service, token) in [
        ("library", token.as_str()),
        ("library", "guess"),
        ("bakery", &token[1..]),
        ("bakery", "guess"),
    ] {
        done(&revoked_by(&hub, service, token).await);
    }
    assert_eq!(hub.get_userinfo(&token).await.status, 200);
}

#[actix_web::test]
async fn without_proof_nothing_is_revoked() {
    let hub = TestHub::start().await;
    let token = token(&hub).await;
    for (id, secret) in [("bakery", "wrong"), ("unknown", SECRET)] {
        let answer =
            revoke(&hub, &[("client_id", id), ("client_secret", secret), ("token", &token)]).await;
        assert_eq!(
            (answer.status, answer.header("content-type"), answer.header("www-authenticate")),
            (401, JSON, "")
        );
        assert!(answer.body.contains("invalid_client"));
    }
    let basic =
        posted(format!("token={token}")).insert_header(("authorization", "Basic YmFrZXJ5Ong="));
    let answer = hub.send(basic).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Basic realm=\"token\""));
    let proven = [("client_id", "bakery"), ("client_secret", SECRET)];
    for more in [&[][..], &[("token", "")], &[("token", token.as_str()), ("token", token.as_str())]]
    {
        let answer = revoke(&hub, &[&proven[..], more].concat()).await;
        assert_eq!((answer.status, answer.header("content-type")), (400, JSON));
        assert!(answer.body.contains("The parameter token"), "{}", answer.body);
    }
    let unproven = revoke(&hub, &[("token", &token)]).await;
    assert!(unproven.status == 400 && unproven.body.contains("client_id"), "{}", unproven.body);
    let json = TestRequest::post()
        .uri("/api/v2/token/revocation")
        .insert_header(("content-type", "application/json"));
    assert_eq!(hub.send(json.set_payload("{}")).await.status, 400);
    let get = hub.send(TestRequest::get().uri("/api/v2/token/revocation")).await;
    assert_eq!((get.status, get.header("allow"), get.header("content-type")), (405, "POST", JSON));
    assert_eq!(hub.get_userinfo(&token).await.status, 200);
}
