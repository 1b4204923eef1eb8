//! Parameters of an authorization request that are refused, ignored or returned.

use super::*;

#[actix_web::test]
async fn each_refusal_goes_back_by_redirect_and_an_unproven_address_gets_none() {
    let hub = hub().await;
    let good = Authorize::minimal("kiosk", "openid").with("state", "s");
    for (name, value, error) in [
        ("response_type", "", "invalid_request"),
        ("response_type", "id_token", "unsupported_response_type"),
        ("scope", "profile", "invalid_request"),
        ("request", "eyJhbGciOiJub25lIn0.e30.", "request_not_supported"),
        ("request_uri", "https://sp.example/request.jwt", "request_uri_not_supported"),
        ("registration", "{}", "registration_not_supported"),
        ("prompt", "none login", "invalid_request"),
        ("nonce", "a word with \u{e9}", "invalid_request"),
    ] {
        assert_eq!(
            refused(&hub, &good.with(name, value)).await,
            (error.to_owned(), Some("s".to_owned())),
            "{name}={value}"
        );
    }
    let browser = hub.browser();
    let form = browser
        .open(&good.with("response_type", "").with("response_mode", "form_post").url())
        .await
        .received_by_post();
    assert_eq!(
        (form.to, form.fields["error"].as_str()),
        (redirect_uri("kiosk"), "invalid_request")
    );
    let elsewhere = good.with("redirect_uri", "https://kiosk.example/callback");
    // A request object does not prove it either.
    let within = elsewhere.with("request", "eyJhbGciOiJub25lIn0.e30.");
    for unproven in [elsewhere, within, good.with("redirect_uri", ""), good.with("client_id", "")] {
        let page = browser.open(&unproven.with("response_type", "").url()).await;
        assert_eq!(
            (page.answer.status, page.code().as_str(), page.links()),
            (400, "Y000400", Vec::new())
        );
    }
}

/// A load that no browser would send: a clear refusal under both rules, and never a 500.
#[actix_web::test]
async fn monstrous_parameters_are_refused() {
    let hub = hub().await;
    let deep = format!("{{\"userinfo\":{}{}}}", "{\"a\":".repeat(1000), "}".repeat(1000));
    let big = "x".repeat(60 * 1024);
    for (name, value) in [
        ("claims", deep.as_str()),
        ("claims", &big),
        ("nonce", &big),
        ("scope", &big),
        ("max_age", &"9".repeat(400)),
    ] {
        assert_eq!(
            refused(&hub, &Authorize::minimal("kiosk", "openid").with(name, value)).await.0,
            "invalid_request",
            "{name}"
        );
    }
    assert_eq!(
        refused(&hub, &Authorize::minimal("kiosk", "openid").with("state", &big)).await,
        ("invalid_request".into(), None)
    );
    let browser = hub.browser();
    browser
        .open(&Authorize::by("bakery").with("state", &big).url())
        .await
        .assert_error(400, "Y000400");
    let received =
        browser.open(&Authorize::by("bakery").with("claims", &deep).url()).await.received();
    assert_eq!(received.error_at("bakery"), "invalid_request");
}

#[actix_web::test]
async fn unknown_parameters_are_ignored_and_every_state_is_returned_unchanged() {
    let hub = hub().await;
    let printable: String = (0x20..=0x7e_u8).map(char::from).cycle().take(128).collect();
    let request = Authorize::minimal("kiosk", "openid unheard_of")
        .with("state", &printable)
        .with("nonce", &printable)
        .with("extra", "foobar")
        .with("acr_values", "urn:mace:incommon:iap:silver urn:example:gold")
        .with("login_hint", "buffy@demo.example")
        .with("display", "page")
        .with("claims_locales", "se")
        .with("ui_locales", "xx");
    let received = sign_in(&hub.browser(), &request, "angela").await;
    assert_eq!(received.fields["state"], printable);
    let tokens = redeemed(&hub, "kiosk", &received).await;
    assert_eq!(
        (&tokens.claims["nonce"], &tokens.claims["acr"]),
        (&json!(printable), &json!("eidas1"))
    );
    // And through the page that posts.
    let browser = hub.browser();
    let page = browser
        .authorize(&request.with("response_mode", "form_post"))
        .await
        .choose("amandier")
        .await;
    let received = page.sign_in_as("angela").await.received_by_post();
    assert_eq!(
        (received.to.clone(), received.fields["state"].as_str()),
        (redirect_uri("kiosk"), printable.as_str())
    );
    redeemed(&hub, "kiosk", &received).await;
}

/// RFC 6749, 3.3: nor does it matter for parameters.
#[actix_web::test]
async fn the_order_of_scopes_and_of_parameters_does_not_matter() {
    let hub = hub().await;
    let request = Authorize::minimal("kiosk", "email openid").with("state", "s").with("nonce", "n");
    let url = request.url();
    let (path, query) = url.split_once('?').unwrap();
    let backwards = query.split('&').rev().collect::<Vec<_>>().join("&");
    let browser = hub.browser();
    let page = browser
        .open(&format!("{path}?{backwards}"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    let tokens = redeemed(&hub, "kiosk", &page.received()).await;
    assert_eq!(tokens.claims["email"], "angela@example.org");
    assert_eq!(
        successful_json(&hub.get_userinfo(&tokens.access_token).await)["email"],
        "angela@example.org"
    );
}

#[actix_web::test]
async fn a_post_request_has_the_same_parameters_as_a_get_request() {
    let hub = hub().await;
    let browser = hub.browser();
    let request = Authorize::minimal("kiosk", "openid").with("state", "s");
    let post = TestRequest::post()
        .uri("/api/v2/authorize")
        .insert_header(FORM)
        .set_payload(request.encoded());
    let answer = browser.send(post).await;
    assert_eq!(answer.status, 303);
    let page = browser
        .open(answer.header("location"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    assert_eq!(page.received().fields["state"], "s");
}

#[actix_web::test]
async fn two_persons_in_two_tabs_never_mix_under_these_rules_either() {
    for settings in ["", ORDINARY] {
        let hub = hub_with(settings).await;
        let browser = hub.browser();
        let request = Authorize::minimal("notary", "openid profile");
        let (one, two) = (browser.authorize(&request).await, browser.authorize(&request).await);
        let one = one.choose("amandier").await.sign_in_as("angela").await;
        let two = two.choose("amandier").await.sign_in_as("jean").await;
        let two = two.consent().await.received();
        let one = one.consent().await.received();
        let (one, two) =
            (redeemed(&hub, "notary", &one).await, redeemed(&hub, "notary", &two).await);
        assert_ne!(one.claims["sub"], two.claims["sub"]);
        for (tokens, family) in [(&one, "DUBOIS"), (&two, "LEFÈVRE")] {
            assert_eq!(
                successful_json(&hub.get_userinfo(&tokens.access_token).await)["family_name"],
                family
            );
        }
        // The user who finished last has the session, with their own yes and no other.
        let last = browser.authorize(&request.with("prompt", "none")).await.received();
        assert_eq!(redeemed(&hub, "notary", &last).await.claims["sub"], one.claims["sub"]);
    }
}

/// What the Config OP plan reads.
#[actix_web::test]
async fn discovery_has_the_metadata_that_client_libraries_read() {
    let hub = hub().await;
    let document =
        hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await;
    let document: Map<String, Value> = successful_json(&document).as_object().unwrap().clone();
    // RFC 8414 §3: for clients that know OAuth alone.
    let path = "/.well-known/oauth-authorization-server/api/v2";
    let by_oauth = successful_json(&hub.send(TestRequest::get().uri(path)).await);
    assert_eq!(by_oauth, Value::Object(document.clone()));
    assert_eq!(document["issuer"], "https://hub.example/api/v2");
    for (name, value) in &document {
        if name.ends_with("_endpoint") || name.ends_with("_uri") {
            assert!(value.as_str().unwrap().starts_with("https://hub.example/api/v2/"), "{name}");
        }
    }
    for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
        assert!(document.contains_key(name), "{name}");
    }
    for (name, value) in [
        ("response_types_supported", "code"),
        ("subject_types_supported", "pairwise"),
        ("id_token_signing_alg_values_supported", "RS256"),
        ("grant_types_supported", "authorization_code"),
        ("token_endpoint_auth_methods_supported", "client_secret_basic"),
        ("token_endpoint_auth_methods_supported", "client_secret_post"),
        ("response_modes_supported", "form_post"),
        ("scopes_supported", "openid"),
        ("scopes_supported", "profile"),
        ("scopes_supported", "email"),
        ("scopes_supported", "address"),
        ("scopes_supported", "phone"),
        ("claims_supported", "sub"),
        ("claims_supported", "updated_at"),
    ] {
        assert!(
            document[name].as_array().unwrap().contains(&Value::from(value)),
            "{name}: {value}"
        );
    }
    let said = [
        "claims_parameter_supported",
        "request_parameter_supported",
        "request_uri_parameter_supported",
    ];
    assert_eq!(said.map(|name| document[name].as_bool()), [Some(true), Some(false), Some(false)]);
    let keys = successful_json(&hub.send(TestRequest::get().uri("/api/v2/jwks")).await);
    for key in keys["keys"].as_array().unwrap() {
        assert!(
            ["RSA", "EC"].contains(&key["kty"].as_str().unwrap())
                && key["kid"].is_string()
                && key["use"] == "sig"
        );
        assert!(
            ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]
                .iter()
                .all(|private| key.get(private).is_none())
        );
    }
}
