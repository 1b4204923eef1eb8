//! Logout on the high platform, by encrypted hints.

use super::*;
use crate::backchannel_logout::receiver::{Receiver, lines};

/// Returns the address of a logout request of the vault with this hint.
fn end_session_url(hint: &str) -> String {
    let uri = post_logout_redirect_uri("vault");
    let pairs = [
        ("id_token_hint", hint),
        ("post_logout_redirect_uri", &uri),
        ("state", "a state of more than 32 characters"),
    ];
    format!(
        "/api/v2/session/end?{}",
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    )
}

// R175
#[actix_web::test]
async fn the_hint_of_a_logout_is_the_decrypted_token() {
    let hub = hub_with_vault().await;
    let browser = hub.browser();
    let tokens = redeem(
        &hub,
        "vault",
        &signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await,
    )
    .await;
    let (_, signed) = decrypt_jwe(tokens["id_token"].as_str().unwrap(), "ECDH-ES", &EC);
    assert!(
        browser
            .open(&end_session_url(&signed))
            .await
            .url
            .starts_with(&post_logout_redirect_uri("vault"))
    );
    assert_eq!(browser.session(), None);
    assert_eq!(hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await.status, 401);
}

/// A service provider may send the encrypted token as it is. The hub can't decrypt it, and finds it
/// in the session instead.
#[actix_web::test]
async fn an_encrypted_id_token_is_a_hint_in_the_session_that_it_was_issued_in() {
    for (alg, private) in [("ECDH-ES", &*EC), ("RSA-OAEP-256", &*RSA), ("RSA-OAEP", &*RSA)] {
        let hub = TestHub::high(&[
            ("vault", inline_jwks_lines(alg, private)),
            ("archive", inline_jwks_lines(alg, private)),
        ])
        .await;
        let (browser, stranger) = (hub.browser(), hub.browser());
        let tokens = redeem(
            &hub,
            "vault",
            &signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await,
        )
        .await;
        let encrypted = tokens["id_token"].as_str().unwrap().to_owned();
        // The session is used for another service provider, and for this one again: each token
        // counts.
        let received = browser
            .authorize(&request_at_level("archive", "eidas2").with("prompt", "consent"))
            .await
            .consent()
            .await
            .received();
        let at_archive =
            redeem(&hub, "archive", &received).await["id_token"].as_str().unwrap().to_owned();

        // Of another session of the same person, of another service provider, or changed: none
        // speaks for this session.
        let other = redeem(
            &hub,
            "vault",
            &signed_in(&stranger, &request_at_level("vault", "eidas2"), "angela", "eidas2").await,
        )
        .await;
        let changed = {
            let (mut parts, others): (Vec<&str>, Vec<&str>) =
                (encrypted.split('.').collect(), at_archive.split('.').collect());
            parts.splice(..2, others[..2].iter().copied());
            parts.join(".")
        };
        for foreign in [other["id_token"].as_str().unwrap(), &changed] {
            let page = browser.open(&end_session_url(foreign)).await.assert_error(400, "Y000400");
            assert!(
                page.answer.body.contains("Y190104")
                    && page.answer.body.contains("decrypt the ID token first"),
                "{alg}"
            );
        }
        let page = browser.open(&end_session_url(&at_archive)).await.assert_error(400, "Y000400");
        assert!(
            page.answer.body.contains("Y190203"),
            "{alg}: the address belongs to another service provider"
        );
        assert!(browser.session().is_some(), "{alg}");

        let cookie = browser.session().unwrap();
        assert!(
            browser
                .open(&end_session_url(&encrypted))
                .await
                .url
                .starts_with(&post_logout_redirect_uri("vault")),
            "{alg}"
        );
        assert_eq!(browser.session(), None, "{alg}");
        assert_eq!(
            hub.get_userinfo(tokens["access_token"].as_str().unwrap()).await.status,
            401,
            "{alg}"
        );
        // A second click, whose first answer got lost, is led the same way.
        browser.plant_session(&cookie);
        assert!(
            browser
                .open(&end_session_url(&encrypted))
                .await
                .url
                .starts_with(&post_logout_redirect_uri("vault")),
            "{alg}"
        );
        assert!(stranger.session().is_some(), "{alg}: another browser's session goes on");
    }
}

/// OpenID Connect RP-Initiated Logout 1.0, 2: the OP supports POST. No cookie comes with one from
/// another site.
#[actix_web::test]
async fn an_encrypted_hint_sent_by_post_finds_its_session_by_get() {
    let hub = hub_with_vault().await;
    let browser = hub.browser();
    let tokens = redeem(
        &hub,
        "vault",
        &signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await,
    )
    .await;
    let address = end_session_url(tokens["id_token"].as_str().unwrap());
    let (path, query) = address.split_once('?').unwrap();
    let fields = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let form = Form { action: path.into(), fields, buttons: Vec::new() };
    let answer = hub.browser().post(&form, Some("cross-site")).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert!(
        browser
            .open(answer.header("location"))
            .await
            .url
            .starts_with(&post_logout_redirect_uri("vault"))
    );
    assert_eq!(browser.session(), None);
}

#[actix_web::test]
async fn a_logout_without_its_state_shows_what_is_missing() {
    let hub = hub_with_vault().await;
    let browser = hub.browser();
    let tokens = redeem(
        &hub,
        "vault",
        &signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await,
    )
    .await;
    let whole = end_session_url(tokens["id_token"].as_str().unwrap());
    let (without, _) = whole.split_once("&state=").unwrap();
    let page = browser.open(without).await.assert_error(400, "Y000400");
    assert!(page.answer.body.contains("Y190301"), "{}", page.answer.body);
    assert!(
        page.answer.body.contains("The parameter state is missing or empty"),
        "{}",
        page.answer.body
    );
    assert!(page.answer.body.contains("at least 32 characters"), "{}", page.answer.body);
    assert!(browser.session().is_some());
}

#[actix_web::test]
async fn a_logout_token_is_readable_by_its_service_provider_alone() {
    let receiver = Receiver::start().await;
    let more = format!("{}\n{}", inline_jwks_lines("ECDH-ES", &EC), lines(&receiver.uri("vault")));
    let hub = TestHub::high(&[("vault", more)]).await;
    let browser = hub.browser();
    let received =
        signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await;
    let tokens = redeem(&hub, "vault", &received).await;
    let encrypted = tokens["id_token"].as_str().unwrap();
    let (_, id_token) = decrypt_and_verify(&hub, encrypted, "ECDH-ES", &EC).await;
    browser.open(&end_session_url(encrypted)).await;
    receiver.wait_for(1).await;
    let (header, token) = &receiver.sent_to("vault")[0];
    // Back-Channel Logout 1.0 §2.4, RFC 7519 §5.3.
    assert_eq!((&header["iss"], &header["cty"]), (&id_token["iss"], &json!("JWT")));
    let (_, claims) = decrypt_and_verify(&hub, token, "ECDH-ES", &EC).await;
    assert_eq!((&claims["sub"], &claims["sid"]), (&id_token["sub"], &id_token["sid"]));
}
