//! Malformed paths in requests.

use actix_web::test::TestRequest;

use super::federation::{SECRET, redirect_uri};
use super::hub::TestHub;
use super::service::Authorize;

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
    let asked = async |query: &str| {
        hub.send(TestRequest::get().uri(&format!("/api/v2/userinfo?{query}"))).await
    };
    for query in ["access_token=x&%", "access_token=%FF", "acc%65ss_token=%zz"] {
        let answer = asked(query).await;
        assert_eq!(answer.status, 400, "{query}");
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge, "Bearer error=\"invalid_request\"", "{query}");
        assert!(answer.body.contains("never in the address"), "{query}: {}", answer.body);
    }
    // Of an unknown parameter nothing is read.
    for query in ["%zz", "other=%FF"] {
        assert_eq!(asked(query).await.body, asked("").await.body, "{query}");
    }
}

/// Parameters that no endpoint knows, and that can't be decoded.
const UNREADABLE: [&str; 5] =
    ["utm_source=%E9t%E9", "promo=100%", "x=%zz", "%FF=1", "session_state=%C3%28"];

#[actix_web::test]
async fn an_unknown_parameter_that_can_not_be_decoded_ends_no_login() {
    let hub = TestHub::start().await;
    for unknown in UNREADABLE {
        let browser = hub.browser();
        let url = format!("{}&{unknown}", Authorize::by("bakery").url());
        let sandbox = browser.open(&url).await.choose("amandier").await;
        let form = sandbox.sandbox_form("angela");
        let answer = browser.post(&form, Some("same-origin")).await;
        let callback = format!("{}&{unknown}", answer.header("location"));
        let consent = browser.open(&callback).await;
        assert!(consent.is_consent(), "{unknown}: at {}", consent.url);
        let received = consent.consent().await.received();
        let (code, uri) = (received.code(), redirect_uri("bakery"));
        let form = format!(
            "grant_type=authorization_code&client_id=bakery&client_secret={}&code={code}&redirect_uri={}&{unknown}",
            SECRET.replace(' ', "+"),
            url::form_urlencoded::byte_serialize(uri.as_bytes()).collect::<String>(),
        );
        let request = TestRequest::post()
            .uri("/api/v2/token")
            .insert_header(("content-type", "application/x-www-form-urlencoded"))
            .set_payload(form);
        let answer = hub.send(request).await;
        assert_eq!(answer.status, 200, "{unknown}: {}", answer.body);
        let answer = browser.get(&format!("/api/v2/session/end?{unknown}")).await;
        assert_eq!(answer.status, 200, "{unknown}: {}", answer.body);
    }
}

/// A `state` must be returned byte for byte, so one that can't be decoded is never replaced.
#[actix_web::test]
async fn a_known_parameter_that_can_not_be_decoded_is_refused() {
    let hub = TestHub::start().await;
    let browser = hub.browser();
    for known in ["state=%FF", "scope=openid%", "prompt=%zz", "login_hint=%E9t%E9", "max_age=%"] {
        let name = known.split('=').next().unwrap();
        let request = Authorize::by("bakery").url();
        let (address, query) = request.split_once('?').unwrap();
        let others = query.split('&').filter(|pair| pair.split('=').next() != Some(name));
        let url = format!("{address}?{}&{known}", others.collect::<Vec<_>>().join("&"));
        let page = browser.open(&url).await.assert_error(400, "Y000400");
        assert!(page.has_no_links(), "{known}: no redirect of a request that is not understood");
    }
    let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
    let answer = browser.post(&sandbox.sandbox_form("angela"), Some("same-origin")).await;
    let callback = answer.header("location").trim_end_matches('#').to_owned();
    for known in ["code=%FF", "iss=%zz", "error=%E9"] {
        let url = format!("{callback}&{known}");
        browser.open(&url).await.assert_error(400, "Y020330");
    }
    assert!(browser.open(&format!("{callback}&error_description=r%E9ussi")).await.is_consent());
}

/// Otherwise the answer to a wrong method would reveal that the program has the feature.
#[actix_web::test]
async fn a_feature_that_is_off_answers_404_to_every_method() {
    let (off, on) = (
        TestHub::start().await,
        TestHub::with(
            "pushed_authorization_requests = \"accepted\"\nchoice.ask_email = true\n\
             choice.remember_last = true\n[client_registration]",
        )
        .await,
    );
    let hash = "a".repeat(43);
    for (path, is_json) in [
        ("/api/v2/par".to_owned(), true),
        ("/api/v2/register".to_owned(), true),
        ("/api/v2/register/dcr-x".to_owned(), true),
        (format!("/api/v2/interaction/{hash}/email"), false),
        (format!("/api/v2/interaction/{hash}/forget"), false),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let request = || TestRequest::with_uri(&path).method(method.parse().unwrap());
            let answer = off.send(request()).await;
            assert_eq!((answer.status, answer.header("allow")), (404, ""), "{method} {path}");
            let answered_json = answer.header("content-type").starts_with("application/json");
            assert_eq!(answered_json, is_json, "{method} {path}");
        }
        let answer = on.send(TestRequest::with_uri(&path).method("PATCH".parse().unwrap())).await;
        assert_eq!(answer.status, 405, "{path}");
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
