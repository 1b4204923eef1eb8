//! Tests of attacks on the service provider, each refused.

use super::*;

#[actix_web::test]
async fn unencrypted_tokens_wrong_keys_and_too_low_levels_are_rejected() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let ours = || Some(public_half(&KEYS));
    let theirs = || Some(public_half(&RelyingPartyKeys::ephemeral(T0).unwrap()));
    for (asked, proven, encryption_keys, expected) in [
        ("eidas2", "eidas2", None, "only signed"),
        ("eidas2", "eidas2", theirs(), "encrypted to a key that is not ours"),
        ("eidas1", "eidas1", ours(), "it is encrypted"),
        ("eidas3", "eidas2", ours(), "lower than the one requested"),
    ] {
        *hub.acr.lock().unwrap() = proven.into();
        *hub.encryption_keys.lock().unwrap() = encryption_keys;
        let (sent, cookies) = begin_at(&this, &hub, asked).await;
        let query = [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &hub.issuer)];
        let page = shown(&this, &come_back(&this, &query, &cookies).await).await;
        assert!(page.contains(expected) && !page.contains("Ada"), "{expected}: {page}");
    }
    handle.stop(false).await;
}

/// RFC 9207: with logins in two tabs, a response of one platform is not accepted for the other, and
/// no secret or code is sent to the wrong one.
#[actix_web::test]
async fn answers_of_two_platforms_at_once_do_not_mix() {
    let ((standard, one), (high, other)) = (start_hub("ada"), start_hub("ada"));
    *high.encryption_keys.lock().unwrap() = Some(public_half(&KEYS));
    *high.acr.lock().unwrap() = "eidas2".into();
    let this = service_provider_with_hubs(&standard.issuer, &high.issuer);
    for swapped in [true, false] {
        let ((sent, mut cookies), (sent_high, more)) =
            (begin(&this, &standard).await, begin_at(&this, &high, "eidas2").await);
        cookies.extend(more);
        for (answering, own, strange, level) in
            [(&standard, &sent, &sent_high, "eidas1"), (&high, &sent_high, &sent, "eidas2")]
        {
            let sent = if swapped { strange } else { own };
            let query =
                [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &answering.issuer)];
            let page = shown(&this, &come_back(&this, &query, &cookies).await).await;
            assert_eq!(page.contains("names another issuer"), swapped, "{page}");
            assert_eq!(
                page.contains("Ada") && page.contains(level) && page.contains(&answering.issuer),
                !swapped,
                "{page}"
            );
            assert_eq!(answering.token_form.lock().unwrap().is_empty(), swapped);
        }
    }
    one.stop(false).await;
    other.stop(false).await;
}

#[actix_web::test]
async fn callback_from_another_browser_with_forged_state_or_issuer_is_refused() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let (sent, cookies) = begin(&this, &hub).await;
    let (state, issuer) = (sent.one("state").unwrap(), hub.issuer.as_str());
    let forged_state = format!("{}{}", &state[..8], "A".repeat(35));

    let query = [("code", "c"), ("state", state), ("iss", issuer)];
    assert_eq!(come_back(&this, &query, &[]).await.status(), StatusCode::BAD_REQUEST);
    let own = [Cookie::new(cookies[0].name().to_owned(), "A".repeat(43))];
    assert_eq!(come_back(&this, &query, &own).await.status(), StatusCode::BAD_REQUEST);
    let query = [("code", "c"), ("state", &forged_state), ("iss", issuer)];
    assert_eq!(come_back(&this, &query, &cookies).await.status(), StatusCode::BAD_REQUEST);

    for query in [vec![("code", "c"), ("iss", "https://evil.test")], vec![("code", "c")]] {
        let (sent, cookies) = begin(&this, &hub).await;
        let query = [query, vec![("state", sent.one("state").unwrap())]].concat();
        let page = shown(&this, &come_back(&this, &query, &cookies).await).await;
        assert!(page.contains("names another issuer"), "{page}");
    }
    assert!(hub.token_form.lock().unwrap().is_empty(), "no code was sent anywhere");
    handle.stop(false).await;
}

#[actix_web::test]
async fn userinfo_of_another_user_and_a_replayed_nonce_are_rejected() {
    let (hub, handle) = start_hub("eve");
    let this = service_provider(&hub.issuer);
    for (nonce, expected) in [(None, "about another user"), (Some("another"), "another sign-in")] {
        let (sent, cookies) = begin(&this, &hub).await;
        if let Some(nonce) = nonce {
            *hub.nonce.lock().unwrap() = nonce.into();
        }
        let query = [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &hub.issuer)];
        let page = shown(&this, &come_back(&this, &query, &cookies).await).await;
        assert!(page.contains(expected) && !page.contains("Ada"), "{page}");
    }
    handle.stop(false).await;
}

#[actix_web::test]
async fn forms_of_other_sites_neither_sign_in_nor_out() {
    let this = service_provider("http://127.0.0.1:9");
    for uri in ["/login", "/logout"] {
        for (site, status) in
            [("cross-site", StatusCode::FORBIDDEN), ("same-site", StatusCode::FORBIDDEN)]
        {
            let request =
                test::TestRequest::post().uri(uri).insert_header(("sec-fetch-site", site));
            assert_eq!(call(&this, request, &[]).await.status(), status, "{uri} {site}");
        }
    }
}

#[actix_web::test]
async fn injected_script_finds_no_nonce_to_run_under() {
    let this = service_provider("http://127.0.0.1:9");
    let mut policies = Vec::new();
    for _ in 0..2 {
        let answer = call(&this, test::TestRequest::get().uri("/"), &[]).await;
        let policy =
            answer.headers().get("content-security-policy").unwrap().to_str().unwrap().to_owned();
        let nonce = policy
            .split("script-src 'nonce-")
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap()
            .to_owned();
        let expected = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; frame-ancestors 'none'"
        );
        assert_eq!(policy, expected);
        let page = text(answer).await;
        assert!(
            nonce.len() == 43 && page.contains(&format!("<script nonce=\"{nonce}\">")),
            "{page}"
        );
        policies.push(policy);
    }
    assert_ne!(policies[0], policies[1], "a reused nonce can be learnt");
}

#[actix_web::test]
async fn login_csrf_by_a_link_starts_no_login() {
    let this = service_provider("http://127.0.0.1:9");
    for uri in ["/login", "/logout"] {
        let answer = call(&this, test::TestRequest::get().uri(uri), &[]).await;
        assert!(!answer.status().is_success() && !answer.status().is_redirection(), "{uri}");
        assert!(set_cookies(&answer).is_empty(), "{uri}");
    }
}
