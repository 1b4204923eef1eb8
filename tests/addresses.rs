//! Odd addresses, as any browser or program may send them, against a hub in this process.
#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use actix_web::dev::ServiceResponse;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, WWW_AUTHENTICATE};
use actix_web::{App, test};
use passerelle::app::{self, HubServer, ProgramDeps};
use passerelle::web::routes;

mod folder;
use folder::{VARIABLE, good};

/// What the hub answers to GET: the answer itself, and its text.
async fn get(address: &str) -> (ServiceResponse, String) {
    let folder = good();
    let loaded = app::load_config(folder.path(), &[VARIABLE].into_iter().collect()).unwrap();
    let hub = HubServer::build(&loaded, ProgramDeps::system()).unwrap().hub();
    let app =
        test::init_service(App::new().configure(|config| routes::configure_routes(config, hub)))
            .await;
    let answer = test::call_service(&app, test::TestRequest::get().uri(address).to_request()).await;
    let (request, response) = answer.into_parts();
    let (head, body) = response.into_parts();
    let text = String::from_utf8(actix_web::body::to_bytes(body).await.unwrap().to_vec()).unwrap();
    (ServiceResponse::new(request, head.set_body(actix_web::body::BoxBody::new(()))), text)
}

#[actix_web::test]
async fn a_segment_that_can_not_be_read_is_nothing_here() {
    let hash = "a".repeat(42);
    for address in [
        format!("/api/v2/interaction/{hash}%FF"),
        format!("/api/v2/interaction/{hash}%FF/consent"),
        "/api/v2/callback/%C3%28?state=x".to_owned(),
        "/api/v2/callback/%zz?state=x".to_owned(),
        "/sandbox/%?state=x".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let (answer, text) = get(&address).await;
        assert_eq!(answer.status(), 404, "{address}");
        assert!(text.contains("Y000404"), "{address}: {text}");
        let policy = answer.headers().get(CONTENT_SECURITY_POLICY).unwrap().to_str().unwrap();
        assert!(policy.contains("img-src 'self';"), "{policy}");
    }
}

#[actix_web::test]
async fn an_access_token_in_a_broken_query_is_refused_with_the_bearer_challenge() {
    for query in ["access_token=x&%", "access_token=%FF", "%zz"] {
        let (answer, text) = get(&format!("/api/v2/userinfo?{query}")).await;
        assert_eq!(answer.status(), 400, "{query}");
        assert_eq!(
            answer.headers().get(WWW_AUTHENTICATE).unwrap(),
            "Bearer error=\"invalid_request\"",
            "{query}"
        );
        assert!(text.contains("The query is malformed."), "{query}: {text}");
    }
}
