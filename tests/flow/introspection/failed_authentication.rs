//! Failed authentication, and the limit on failures.

use super::*;

// R182, R183, R206
#[actix_web::test]
async fn every_failed_authentication_reads_the_same_to_the_byte() {
    let hub = hub().await;
    let (access_token, _) = issue_access_token(&hub).await;
    for token in [access_token.as_str(), "guess"] {
        for pairs in [
            &[("token", token)][..],
            &[("client_id", "archive"), ("token", token)],
            &[("client_secret", SECRET), ("token", token)],
            &[("client_id", "archive"), ("client_secret", ""), ("token", token)],
            &[("client_id", "archive"), ("client_secret", "wrong"), ("token", token)],
            &[("client_id", "unknown"), ("client_secret", SECRET), ("token", token)],
            &[("client_id", "closed"), ("client_secret", SECRET), ("token", token)],
            &[
                ("client_id", "archive"),
                ("client_id", "archive"),
                ("client_secret", SECRET),
                ("token", token),
            ],
            &[
                ("client_id", "archive"),
                ("client_secret", SECRET),
                ("client_secret", SECRET),
                ("token", token),
            ],
            &[("client_id", "archive"), ("client_secret", &SECRET[..31]), ("token", token)],
            &[("client_id", "archive"), ("client_secret", "wrong")],
            &[
                ("client_id", "archive"),
                ("client_secret", "wrong"),
                ("token", token),
                ("token", token),
            ],
        ] {
            assert_refused(&checktoken(&hub, pairs).await);
        }
        let whole =
            format!("client_id=archive&client_secret={}&token={token}", SECRET.replace(' ', "+"));
        for (content_type, body) in [
            (FORM, "client_id=%zz"),
            ("application/json", &whole),
            ("text/plain", &whole),
            (FORM, ""),
        ] {
            assert_refused(
                &hub.send(posted(body.to_owned()).insert_header(("content-type", content_type)))
                    .await,
            );
        }
        // R204: Basic is no way, alone or beside the right one.
        for (body, authorization) in [
            ("token=x", "Basic YXJjaGl2ZTpz"),
            (&whole, "Basic YXJjaGl2ZTpz"),
            (&whole, "Bearer x"),
        ] {
            let request = posted(body.to_owned()).insert_header(("content-type", FORM));
            assert_refused(
                &hub.send(request.insert_header(("authorization", authorization))).await,
            );
        }
        let in_query = TestRequest::post()
            .uri(&format!("/api/v2/checktoken?{whole}"))
            .insert_header(("content-type", FORM));
        assert_refused(&hub.send(in_query).await);
    }
    assert!(
        !hub.metrics.render().contains("passerelle_introspections_total{"),
        "no token was looked at"
    );
    assert_eq!(
        active_members(&introspect_as(&hub, "archive", &access_token).await)["active"],
        true
    );
}

#[actix_web::test]
async fn too_many_failures_are_429_and_a_client_without_failures_is_never_limited() {
    let limits =
        "limits.failed_authentications_per_minute = 6\nlimits.inactive_answers_per_minute = 3";
    let hub = TestHub::with_files(limits, &files()).await;
    let (access_token, _) = issue_access_token(&hub).await;
    // R206: by the answers, an unknown id looks like one that exists.
    for id in ["archive", "unknown", "bakery"] {
        for round in 0..10 {
            let answer = checktoken(
                &hub,
                &[("client_id", id), ("client_secret", "guess"), ("token", &access_token)],
            )
            .await;
            if round < 6 {
                assert_refused(&answer);
            } else {
                assert_eq!(
                    (answer.status, answer.header("content-type"), answer.header("retry-after")),
                    (429, JSON, "10"),
                    "{id}"
                );
                assert!(answer.body.contains("Retry-After"), "{}", answer.body);
            }
        }
    }
    // The bakery's share is spent at checktoken: at the token endpoint its next failure is one too
    // many, and its right secret is not.
    let browser = hub.browser();
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("jean").await;
    let body = format!(
        "grant_type=authorization_code&client_id=bakery&client_secret=x&redirect_uri=x&code={}",
        received.code()
    );
    let failed = hub
        .send(
            TestRequest::post()
                .uri("/api/v2/token")
                .insert_header(("content-type", FORM))
                .set_payload(body),
        )
        .await;
    assert_eq!((failed.status, failed.header("retry-after")), (429, "10"), "{}", failed.body);
    hub.tokens("bakery", &received).await;

    for round in 0..5 {
        let answer = introspect_as(&hub, "archive", "guess").await;
        let expected = if round < 3 { (200, "") } else { (429, "20") };
        assert_eq!((answer.status, answer.header("retry-after")), expected, "{round}");
        assert_eq!(
            active_members(&introspect_as(&hub, "archive", &access_token).await)["active"],
            true,
            "{round}"
        );
    }
    assert_inactive(&introspect_as(&hub, "pharmacy", "guess").await);
    hub.advance(Duration::from_secs(20));
    assert_inactive(&introspect_as(&hub, "archive", "guess").await);
}
