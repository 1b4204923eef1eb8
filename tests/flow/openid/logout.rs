//! Logout of ordinary clients.

use super::*;

/// Point 9 of the rules; the rest of a logout is `logout.rs`'s.
#[actix_web::test]
async fn a_logout_needs_neither_redirect_uri_nor_state() {
    let hub = hub().await;
    let browser = hub.browser();
    let uri = post_logout_redirect_uri("kiosk");
    let end = |pairs: &[(&str, &str)]| {
        format!(
            "/api/v2/session/end?{}",
            Serializer::new(String::new()).extend_pairs(pairs).finish()
        )
    };
    for (more, location) in [
        (vec![], None),
        (vec![("post_logout_redirect_uri", uri.as_str())], Some(uri.clone())),
        (
            vec![("post_logout_redirect_uri", uri.as_str()), ("state", "short")],
            Some(format!("{uri}&state=short")),
        ),
    ] {
        let received = sign_in(&browser, &Authorize::by("kiosk"), "angela").await;
        let hint = redeemed(&hub, "kiosk", &received).await.raw_id_token;
        let answer =
            browser.get(&end(&[vec![("id_token_hint", hint.as_str())], more].concat())).await;
        match location {
            Some(location) => {
                assert_eq!((answer.status, answer.header("location")), (303, location.as_str()))
            }
            None => assert!(
                answer.status == 200 && answer.body.contains("You are signed out"),
                "{}",
                answer.body
            ),
        }
        assert_eq!(browser.session(), None);
    }
    sign_in(&browser, &Authorize::by("kiosk"), "angela").await;
    for nothing in [end(&[]), end(&[("state", "alone")])] {
        let asked = browser.get(&nothing).await;
        assert!(
            asked.status == 200 && asked.body.contains("/api/v2/session/end/confirm"),
            "asked first: {}",
            asked.body
        );
        assert!(browser.session().is_some());
    }
}

/// Addresses and hints as the logout plan of `docs/certification.md` spoils them.
#[actix_web::test]
async fn a_bad_logout_of_an_ordinary_client_is_a_page_and_no_redirect() {
    let hub = hub().await;
    let browser = hub.browser();
    let received = sign_in(&browser, &Authorize::by("kiosk"), "angela").await;
    let hint = redeemed(&hub, "kiosk", &received).await.raw_id_token;
    let uri = post_logout_redirect_uri("kiosk");
    let (signed, signature) = hint.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    let modified = format!("{signed}.{first}{}", &signature[1..]);
    let (elsewhere, added) = (format!("{uri}/elsewhere"), format!("{uri}&foo=bar"));
    for (attack, hint, uri) in [
        ("bad-id-token-hint", Some("no-token"), uri.as_str()),
        ("modified-id-token-hint", Some(modified.as_str()), &uri),
        ("bad-post-logout-redirect-uri", Some(hint.as_str()), &elsewhere),
        ("query-added-to-post-logout-redirect-uri", Some(hint.as_str()), &added),
        ("no-id-token-hint", None, &uri),
    ] {
        let mut query = Serializer::new(String::new());
        query.append_pair("post_logout_redirect_uri", uri).append_pair("state", &"s".repeat(128));
        hint.map(|hint| query.append_pair("id_token_hint", hint));
        let answer = browser.get(&format!("/api/v2/session/end?{}", query.finish())).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (400, ""),
            "{attack}: {}",
            answer.body
        );
        assert!(browser.session().is_some(), "{attack}");
    }
}

#[actix_web::test]
async fn a_logout_without_parameters_or_with_state_alone_asks_and_then_confirms() {
    let hub = hub().await;
    for query in ["", "?state=alone"] {
        let browser = hub.browser();
        sign_in(&browser, &Authorize::by("kiosk"), "angela").await;
        let page = browser.open(&format!("/api/v2/session/end{query}")).await;
        assert!(page.is_logout_confirmation() && browser.session().is_some(), "{query}");
        let page = browser.submit(&page.form("/confirm")).await;
        assert_eq!(
            (page.answer.status, page.heading().as_str()),
            (200, "You are signed out"),
            "{query}"
        );
        assert_eq!(browser.session(), None, "{query}");
    }
}

#[actix_web::test]
async fn an_ordinary_client_signs_its_user_out_and_prompt_none_says_login_required() {
    let hub = hub().await;
    let browser = hub.browser();
    let received = sign_in(&browser, &Authorize::by("kiosk"), "angela").await;
    let hint = redeemed(&hub, "kiosk", &received).await.raw_id_token;
    let (uri, state) = (post_logout_redirect_uri("kiosk"), "s".repeat(128));
    let pairs =
        [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", &uri), ("state", &state)];
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let answer = browser.get(&format!("/api/v2/session/end?{query}")).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, format!("{uri}&state={state}").as_str())
    );
    let silent = browser
        .open(&Authorize::minimal("kiosk", "openid").with("prompt", "none").url())
        .await
        .received();
    assert_eq!(silent.fields["error"], "login_required");
}
