//! Malformed paths in requests.

use actix_web::test::TestRequest;

use super::hub::TestHub;

#[actix_web::test]
async fn an_undecodable_path_segment_is_not_found() {
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

/// Addresses of each kind: pages, endpoints, public data, files, and what is none.
const ADDRESSES: [&str; 9] = [
    "/",
    "/api/v2/authorize",
    "/api/v2/token",
    "/api/v2/userinfo",
    "/api/v2/jwks",
    "/api/v2/.well-known/openid-configuration",
    "/assets/idp/amandier",
    "/nowhere",
    "/healthz",
];

#[actix_web::test]
async fn no_folder_is_listed() {
    let hub = TestHub::start().await;
    for folder in ["/assets", "/assets/", "/assets/idp/", "/assets/service/", "/api/", "/api/v2/"] {
        let answer = hub.send(TestRequest::get().uri(folder)).await;
        assert_eq!(answer.status, 404, "{folder}");
        for file in ["amandier", "bakery", ".css", ".toml"] {
            assert!(!answer.body.contains(&format!("href=\"{file}")), "{folder}: {}", answer.body);
        }
    }
}

/// TRACE would send the cookies of a request back to a script.
#[actix_web::test]
async fn trace_is_not_a_method_of_the_hub() {
    let hub = TestHub::start().await;
    for address in ADDRESSES {
        let request = TestRequest::with_uri(address)
            .method(actix_web::http::Method::TRACE)
            .insert_header(("cookie", "secret-of-the-request"));
        let answer = hub.send(request).await;
        assert!([404, 405].contains(&answer.status), "{address}: {}", answer.status);
        assert!(!answer.body.contains("secret-of-the-request"), "{address}: {}", answer.body);
    }
}

#[actix_web::test]
async fn no_answer_names_a_version() {
    let hub = TestHub::start().await;
    for address in ADDRESSES {
        let answer = hub.send(TestRequest::get().uri(address)).await;
        for name in ["server", "x-powered-by", "via"] {
            assert!(!answer.headers.contains_key(name), "{name} of {address}");
        }
        for word in ["actix", "openssl", "rustls", "redis", concat!("v", env!("CARGO_PKG_VERSION"))]
        {
            let found = answer.body.to_ascii_lowercase().contains(word);
            assert!(!found, "{word} at {address}: {}", answer.body);
        }
    }
}
