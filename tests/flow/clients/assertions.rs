//! Client assertions (RFC 7523).

use super::*;

/// RFC 7523, 3: each signature is valid, so the error names the reason.
#[actix_web::test]
async fn an_assertion_that_breaks_a_rule_is_rejected_with_its_reason() {
    let hub = hub().await;
    // By then the hub has been up for longer than an assertion without `iat` can be old.
    hub.advance(Duration::from_secs(240));
    let now = hub.now().seconds();
    let of_claim =
        |name: &str, value: Value| (header(), with_member(claims(&hub, "x"), name, value));
    let of_header =
        |name: &str, value: Value| (with_member(header(), name, value), claims(&hub, "x"));
    for ((header, claims), named) in [
        (of_claim("sub", json!("bakery")), "sub"),
        (of_claim("sub", Value::Null), "sub"),
        (of_claim("aud", json!(format!("{ISSUER}/token"))), "aud"),
        (of_claim("aud", json!(format!("{ISSUER}/"))), "aud"),
        (of_claim("aud", json!(BASE)), "aud"),
        (of_claim("aud", json!([ISSUER])), "aud"),
        (of_claim("aud", json!([ISSUER, "https://other.example"])), "aud"),
        (of_claim("aud", Value::Null), "aud"),
        (of_claim("exp", Value::Null), "exp"),
        (of_claim("exp", json!("soon")), "exp"),
        (of_claim("exp", json!(now - 60)), "expired"),
        (of_claim("exp", json!(now + 302)), "five minutes"),
        (of_claim("nbf", json!(now + 62)), "not valid yet"),
        (of_claim("iat", json!(now + 62)), "issued in the future"),
        (of_claim("jti", Value::Null), "jti"),
        (of_claim("jti", json!("")), "jti"),
        (of_claim("jti", json!(7)), "jti"),
        (of_claim("jti", json!("x".repeat(256))), "jti"),
        (of_header("typ", json!("at+jwt")), "typ"),
        (of_header("typ", json!("secevent+jwt")), "typ"),
        (of_header("typ", json!(1)), "typ"),
    ] {
        let what = format!("{header} {claims}");
        let answer = TokenRequest::for_client("notary")
            .with_assertion(&signed(&NOTARY, &header, &claims))
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 401, "invalid_client", &what);
        assert!(answer.body.contains(named), "{what}: {}", answer.body);
        assert_eq!(answer.header("www-authenticate"), "", "{what}");
    }
    // At the limit of each rule the assertion is valid: the error is about the missing code.
    for (number, (header, claims)) in [
        of_claim("exp", json!(now - 58)),
        of_claim("exp", json!(now + 300)),
        of_claim("nbf", json!(now + 60)),
        of_claim("iat", Value::Null),
        of_claim("jti", json!("é".repeat(255))),
        of_header("typ", json!("client-authentication+jwt")),
        of_header("typ", json!("application/Client-Authentication+JWT")),
        of_header("typ", json!("JWT")),
        of_header("kid", Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let claims = if claims["jti"] == "x" {
            with_member(claims, "jti", json!(number.to_string()))
        } else {
            claims
        };
        let answer = TokenRequest::for_client("notary")
            .with_assertion(&signed(&NOTARY, &header, &claims))
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 400, "invalid_grant", &format!("{header} {claims}"));
    }
}

/// What each library signs by default (OpenID Connect Core 1.0, 9; RFC 7523, 3), read of its source
/// or of its requests.
fn by_library(client_id: &str, now: u64) -> Vec<(&'static str, Value, Value)> {
    let token_endpoint = format!("{ISSUER}/token");
    let claims = |jti: &str, aud: Value, exp: u64| json!({ "iss": client_id, "sub": client_id, "aud": aud, "jti": jti, "iat": now, "exp": exp });
    let typed = json!({ "alg": "ES256", "kid": "notary-1", "typ": "JWT" });
    vec![
        ("pyoidc", header(), claims("pyoidc", json!([token_endpoint]), now + 600)),
        ("idpyoidc", header(), claims("idpyoidc", json!([token_endpoint]), now + 600)),
        ("Keycloak", typed.clone(), claims("keycloak", json!(token_endpoint), now + 10)),
        ("Spring Security", header(), claims("spring", json!([token_endpoint]), now + 60)),
        ("mod_auth_openidc", typed, claims("mod_auth_openidc", json!(token_endpoint), now + 60)),
        ("openid-client 6", header(), claims("openid-client", json!(ISSUER), now + 60)),
        (
            "openid-client 5",
            header(),
            claims("openid-client-5", json!([ISSUER, token_endpoint]), now + 60),
        ),
    ]
}

#[actix_web::test]
async fn the_assertions_of_client_libraries_count_under_openid_rules_at_token_and_revocation() {
    let hub = hub().await;
    let now = hub.now().seconds();
    for (library, header, claims) in by_library("surveyor", now) {
        let answer = TokenRequest::for_client("surveyor")
            .with_assertion(&signed(&NOTARY, &header, &claims))
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 400, "invalid_grant", library);
        let again = with_member(claims, "jti", json!(format!("{library} revokes")));
        let request = TokenRequest::for_client("surveyor")
            .add("token", "unknown")
            .with_assertion(&signed(&NOTARY, &header, &again));
        let answer = request.send_to("/api/v2/token/revocation", &hub).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "{}"), "{library}");
    }
    // An audience of several servers, one that is not the token endpoint, and a long lifetime are
    // refused.
    let of_claim = |name: &str, value: Value| {
        let claims = with_member(
            with_member(claims(&hub, "x"), "iss", json!("surveyor")),
            "sub",
            json!("surveyor"),
        );
        with_member(claims, name, value)
    };
    for (claims, named) in [
        (of_claim("aud", json!([ISSUER, "https://other.example"])), "client_assertion_audiences"),
        (
            of_claim("aud", json!(format!("{ISSUER}/token/revocation"))),
            "client_assertion_audiences",
        ),
        (of_claim("aud", json!([])), "client_assertion_audiences"),
        (of_claim("exp", json!(now + 662)), "eleven minutes"),
    ] {
        let answer = TokenRequest::for_client("surveyor")
            .with_assertion(&signed(&NOTARY, &header(), &claims))
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 401, "invalid_client", named);
        assert!(answer.body.contains(named), "{claims}: {}", answer.body);
    }
}

#[actix_web::test]
async fn under_federation_rules_the_refused_audience_names_the_setting_that_allows_it() {
    let hub = hub().await;
    let now = hub.now().seconds();
    let short_lived = |client_id| {
        by_library(client_id, now)
            .into_iter()
            .filter(|(.., claims)| claims["exp"].as_u64() < Some(now + 300))
    };
    for (library, header, claims) in short_lived("notary") {
        let answer = TokenRequest::for_client("notary")
            .with_assertion(&signed(&NOTARY, &header, &claims))
            .send_to_token_endpoint(&hub)
            .await;
        match claims["aud"] == ISSUER {
            true => assert_refused(&answer, 400, "invalid_grant", library),
            false => {
                assert_refused(&answer, 401, "invalid_client", library);
                assert!(
                    answer.body.contains("client_assertion_audiences"),
                    "{library}: {}",
                    answer.body
                );
            }
        }
    }
    for (library, header, claims) in short_lived("registrar") {
        let answer = TokenRequest::for_client("registrar")
            .with_assertion(&signed(&NOTARY, &header, &claims))
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 400, "invalid_grant", library);
    }
}

/// The process loses its list of used assertions, and their signatures are still valid.
#[actix_web::test]
async fn a_replayed_client_assertion_is_refused_after_a_restart_without_a_snapshot() {
    let hub = hub().await;
    let now = hub.now().seconds();
    let issued = |at: Value, jti: &str| {
        with_member(with_member(claims(&hub, jti), "iat", at), "nbf", Value::Null)
    };
    let (dated, undated) = (issued(json!(now - 1), "dated"), issued(Value::Null, "undated"));
    hub.advance(Duration::from_secs(1));
    let overheard = [dated, undated].map(|claims| {
        TokenRequest::for_client("notary").with_assertion(&signed(&NOTARY, &header(), &claims))
    });
    let hub = hub.restart().await;
    for request in overheard {
        let answer = request.send_to_token_endpoint(&hub).await;
        assert_refused(&answer, 401, "invalid_client", "replay after a restart");
        assert!(answer.body.contains("may have been used before"), "{}", answer.body);
    }
    // A new assertion with `iat` is accepted at once.
    let fresh = TokenRequest::for_client("notary").with_assertion(&signed(
        &NOTARY,
        &header(),
        &claims(&hub, "fresh"),
    ));
    assert_refused(
        &fresh.send_to_token_endpoint(&hub).await,
        400,
        "invalid_grant",
        "a new assertion",
    );
    // One without `iat` is accepted when every older one has expired.
    hub.advance(Duration::from_secs(240));
    let undated = with_member(claims(&hub, "late"), "iat", Value::Null);
    let request =
        TokenRequest::for_client("notary").with_assertion(&signed(&NOTARY, &header(), &undated));
    assert_refused(
        &request.send_to_token_endpoint(&hub).await,
        400,
        "invalid_grant",
        "without iat, four minutes later",
    );
}

#[actix_web::test]
async fn a_replayed_client_assertion_is_refused() {
    let hub = hub().await;
    let assertion = signed(&NOTARY, &header(), &claims(&hub, "once"));
    let request = TokenRequest::for_client("notary")
        .replace("code", &code(&hub, "notary").await)
        .with_assertion(&assertion);
    assert_eq!(request.send_to_token_endpoint(&hub).await.status, 200);
    let again = TokenRequest::for_client("notary")
        .replace("code", &code(&hub, "notary").await)
        .with_assertion(&assertion);
    for after in [Duration::ZERO, Duration::from_secs(118)] {
        hub.advance(after);
        let answer = again.send_to_token_endpoint(&hub).await;
        assert_refused(&answer, 401, "invalid_client", "replay");
        assert!(answer.body.contains("used before"), "{}", answer.body);
    }
    // The hub remembers its id until the assertion expires.
    hub.advance(Duration::from_secs(3));
    assert!(again.send_to_token_endpoint(&hub).await.body.contains("expired"));
    // Another assertion with the same id counts as a replay while the first one is valid.
    let other = |hub: &TestHub| {
        TokenRequest::for_client("notary").with_assertion(&signed(
            &NOTARY,
            &header(),
            &claims(hub, "twice"),
        ))
    };
    assert_refused(&other(&hub).send_to_token_endpoint(&hub).await, 400, "invalid_grant", "first");
    hub.advance(Duration::from_secs(30));
    assert_refused(
        &other(&hub).send_to_token_endpoint(&hub).await,
        401,
        "invalid_client",
        "the same jti",
    );
}

#[actix_web::test]
async fn an_assertion_sent_concurrently_is_accepted_once() {
    let hub = hub().await;
    let request = TokenRequest::for_client("notary").with_assertion(&signed(
        &NOTARY,
        &header(),
        &claims(&hub, "raced"),
    ));
    let answers =
        futures_util::future::join_all((0..8).map(|_| request.send_to_token_endpoint(&hub))).await;
    assert_eq!(
        answers.iter().filter(|answer| answer.status == 400).count(),
        1,
        "one reached its code"
    );
    assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), 7);
}

/// RFC 8725, 3.1: neither unsigned, nor keyed with public data, nor with a key that the
/// token brings along.
#[actix_web::test]
async fn an_assertion_is_proven_by_the_registered_algorithm_and_keys_alone() {
    let hub = hub().await;
    let claims = claims(&hub, "forged");
    let none = format!("{}.{}.", encoded(&json!({ "alg": "none" })), encoded(&claims));
    let by_public_key = {
        let input = format!(
            "{}.{}",
            encoded(&json!({ "alg": "HS256", "kid": "notary-1" })),
            encoded(&claims)
        );
        let key = published(&NOTARY, "notary-1").to_string();
        let key = openssl::pkey::PKey::hmac(key.as_bytes()).unwrap();
        let mut signer =
            openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).unwrap();
        format!(
            "{input}.{}",
            URL_SAFE_NO_PAD.encode(signer.sign_oneshot_to_vec(input.as_bytes()).unwrap())
        )
    };
    let brought =
        json!({ "alg": "ES256", "kid": "notary-1", "jwk": published(&STRANGER, "notary-1") });
    let good = signed(&NOTARY, &header(), &claims);
    let (unsigned, signature) = good.rsplit_once('.').unwrap();
    for (attack, assertion) in [
        ("alg none", none),
        ("HS256 with the public key", by_public_key),
        (
            "another algorithm than registered",
            signed(&NOTARY, &json!({ "alg": "RS256", "kid": "notary-1" }), &claims),
        ),
        ("a key of its own", signed(&STRANGER, &brought, &claims)),
        (
            "a key of its own, by an unknown kid",
            signed(&STRANGER, &json!({ "alg": "ES256", "kid": "mine" }), &claims),
        ),
        (
            "an unknown extension",
            signed(&NOTARY, &json!({ "alg": "ES256", "kid": "notary-1", "crit": ["x"] }), &claims),
        ),
        ("no signature", format!("{unsigned}.")),
        (
            "other claims",
            format!(
                "{}.{}.{signature}",
                encoded(&header()),
                encoded(&with_member(claims.clone(), "jti", json!("y")))
            ),
        ),
        (
            "JSON serialization",
            json!({ "payload": encoded(&claims), "signature": signature }).to_string(),
        ),
    ] {
        let answer = TokenRequest::for_client("notary")
            .with_assertion(&assertion)
            .add("client_id", "notary")
            .send_to_token_endpoint(&hub)
            .await;
        assert_refused(&answer, 401, "invalid_client", attack);
        assert!(answer.body.contains("Client authentication failed."), "{attack}: {}", answer.body);
    }
    assert_refused(
        &TokenRequest::for_client("notary")
            .with_assertion(&good)
            .send_to_token_endpoint(&hub)
            .await,
        400,
        "invalid_grant",
        "the good one is left unused",
    );
}
