//! Odd addresses, as any browser or program may send them.

use actix_web::test::TestRequest;

use super::hub::TestHub;

#[actix_web::test]
async fn a_segment_that_can_not_be_read_is_nothing_here() {
    let hub = TestHub::start().await;
    let hash = "a".repeat(42);
    for address in [
        format!("/api/v2/interaction/{hash}%FF"),
        format!("/api/v2/interaction/{hash}%FF/consent"),
        "/api/v2/callback/%C3%28?state=x".to_owned(),
        "/api/v2/callback/%zz?state=x".to_owned(),
        "/sandbox/%?state=x".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let answer = hub.send(TestRequest::get().uri(&address)).await;
        assert_eq!(answer.status, 404, "{address}");
        assert!(answer.body.contains("Y000404"), "{address}: {}", answer.body);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("img-src 'self';"), "{policy}");
    }
}

#[actix_web::test]
async fn an_access_token_in_a_broken_query_is_refused_with_the_bearer_challenge() {
    let hub = TestHub::start().await;
    for query in ["access_token=x&%", "access_token=%FF", "%zz"] {
        let address = format!("/api/v2/userinfo?{query}");
        let answer = hub.send(TestRequest::get().uri(&address)).await;
        assert_eq!(answer.status, 400, "{query}");
        assert_eq!(
            answer.header("www-authenticate"),
            "Bearer error=\"invalid_request\"",
            "{query}"
        );
        assert!(answer.body.contains("The query is malformed."), "{query}: {}", answer.body);
    }
}
