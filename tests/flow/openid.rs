//! `rules = "openid"`: service providers with plain OpenID Connect, in whole logins.
//! `tests/documents/certification/modules.md` lists the modules of the OpenID Foundation's plans for each test.

mod accounts;
mod encryption;
mod logout;
mod parameters;
mod verified_claims;

use std::time::Duration;

use actix_web::test::TestRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::SigningAlg;
use serde_json::{Map, Value, json};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::browser::Browser;
use super::federation::{SECRET, home_page, post_logout_redirect_uri, redirect_uri};
use super::hub::{Answer, TestHub};
use super::service::{Authorize, Received};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// Ordinary identity providers: the identity provider supplies only `sub`.
const ORDINARY: &str = "identity_source = \"provider\"\nsubject = \"provider\"";

pub(crate) fn service(id: &str, more: &str) -> (String, String) {
    let file = format!(
        r#"
client_id = "{id}"
name = {{ en = "The {id}" }}
home_page = "{home}"
redirect_uris = ["{redirect}"]
post_logout_redirect_uris = ["{out}"]
scopes = ["openid", "profile", "email", "address", "phone"]
secrets = [{{ env = "CLIENT_SECRET" }}]
rules = "openid"
{more}
"#,
        home = home_page(id),
        redirect = redirect_uri(id),
        out = post_logout_redirect_uri(id),
    );
    (format!("service-providers/{id}.toml"), file)
}

/// `kiosk` needs no consent, `notary` explicit consent, and `archive` gets signed userinfo.
async fn hub_with(settings: &str) -> TestHub {
    let files = [
        service("kiosk", "consent = \"none\""),
        service("notary", "consent = \"required\""),
        service(
            "archive",
            "userinfo_signed_response_alg = \"RS256\"\nid_token_signed_response_alg = \"ES256\"",
        ),
    ];
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    TestHub::with_files(settings, &files).await
}

async fn hub() -> TestHub {
    hub_with("").await
}

/// Signs a user in at the identity provider. Only `prompt=consent` shows a consent page.
async fn sign_in(browser: &Browser<'_>, request: &Authorize, person: &str) -> Received {
    let page = browser.authorize(request).await.choose("amandier").await.sign_in_as(person).await;
    if page.is_consent() { page.consent().await.received() } else { page.received() }
}

pub(crate) struct Redeemed {
    pub access_token: String,
    raw_id_token: String,
    header: Value,
    claims: Map<String, Value>,
}

pub(crate) async fn redeemed(hub: &TestHub, service: &str, received: &Received) -> Redeemed {
    let answer = hub.redeem(service, received.code()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let raw_id_token = body["id_token"].as_str().unwrap().to_owned();
    let header =
        passerelle_protocol::digest::from_base64url(raw_id_token.split('.').next().unwrap())
            .unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let alg = if header["alg"] == "RS256" { SigningAlg::RS256 } else { SigningAlg::ES256 };
    let keys = hub.send(TestRequest::get().uri("/api/v2/jwks")).await;
    let keys = VerificationKeys::from_jwks(keys.body.as_bytes()).unwrap();
    let claims = verify_jws(&raw_id_token, alg, &keys).unwrap().claims;
    Redeemed {
        access_token: body["access_token"].as_str().unwrap().to_owned(),
        raw_id_token,
        header,
        claims,
    }
}

async fn by_body(hub: &TestHub, token: &str, more: &str) -> Answer {
    let body = Serializer::new(String::new()).append_pair("access_token", token).finish();
    hub.send(
        TestRequest::post()
            .uri("/api/v2/userinfo")
            .insert_header(FORM)
            .set_payload(format!("{body}{more}")),
    )
    .await
}

pub(crate) fn successful_json(answer: &Answer) -> Value {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json; charset=utf-8"),
        "{}",
        answer.body
    );
    serde_json::from_str(&answer.body).unwrap()
}

/// Sends a request that the hub refuses. Returns the error and the state of the redirect.
async fn refused(hub: &TestHub, request: &Authorize) -> (String, Option<String>) {
    let received = hub.browser().open(&request.url()).await.received();
    assert_eq!(received.to, redirect_uri("kiosk"));
    assert!(!received.fields.contains_key("code"));
    (received.fields["error"].clone(), received.fields.get("state").cloned())
}

#[actix_web::test]
async fn the_smallest_request_completes_a_login() {
    let hub = hub().await;
    let received = sign_in(&hub.browser(), &Authorize::minimal("kiosk", "openid"), "angela").await;
    assert_eq!(received.to, redirect_uri("kiosk"));
    assert_eq!(received.fields.keys().collect::<Vec<_>>(), ["code", "iss"], "no state was sent");
    let tokens = redeemed(&hub, "kiosk", &received).await;
    assert_eq!(tokens.header["alg"], "RS256");
    let names: Vec<_> = tokens.claims.keys().map(String::as_str).collect();
    assert_eq!(names, ["iss", "sub", "aud", "exp", "iat", "auth_time", "acr"], "no nonce was sent");
    // By each of the three ways, and nothing but `sub`.
    let bearer = ("authorization", format!("Bearer {}", tokens.access_token));
    let post = TestRequest::post().uri("/api/v2/userinfo").insert_header(bearer);
    let answers = [
        hub.get_userinfo(&tokens.access_token).await,
        hub.send(post).await,
        by_body(&hub, &tokens.access_token, "").await,
    ];
    for answer in answers {
        assert_eq!(successful_json(&answer), json!({ "sub": tokens.claims["sub"] }));
    }
}

#[actix_web::test]
async fn standard_scopes_open_standard_claims_and_the_register_names_the_person() {
    let hub = hub().await;
    let received = sign_in(
        &hub.browser(),
        &Authorize::minimal("kiosk", "openid profile email address phone"),
        "mamadou",
    )
    .await;
    let tokens = redeemed(&hub, "kiosk", &received).await;
    let claims = successful_json(&hub.get_userinfo(&tokens.access_token).await);
    let expected = json!({
        "sub": tokens.claims["sub"], "name": "Mamadou DIALLO", "given_name": "Mamadou", "family_name": "DIALLO", "gender": "male",
        "birthdate": "1944", // presumed, as Core 5.1 writes it
        "email": claims["email"],
    });
    assert_eq!(claims, expected);
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&tokens.claims[name], value, "software that reads only the ID token has {name}");
    }
}

#[actix_web::test]
async fn a_hub_can_keep_claims_out_of_id_tokens() {
    let hub = hub_with("id_token_claims = false").await;
    let request = Authorize::minimal("kiosk", "openid profile email");
    let received = sign_in(&hub.browser(), &request, "angela").await;
    let tokens = redeemed(&hub, "kiosk", &received).await;
    for name in ["name", "email"] {
        assert!(!tokens.claims.contains_key(name), "{name}");
    }
    assert!(successful_json(&hub.get_userinfo(&tokens.access_token).await)["email"].is_string());
}

/// Some ordinary libraries send the secret in the form unasked, others in the header, and discovery
/// offers both.
#[actix_web::test]
async fn where_no_method_is_registered_a_secret_may_come_either_way_but_not_both() {
    let hub = hub().await;
    for (in_header, in_body, status) in [(false, true, 200), (true, false, 200), (true, true, 400)]
    {
        let received =
            sign_in(&hub.browser(), &Authorize::minimal("kiosk", "openid"), "angela").await;
        let mut body = Serializer::new(String::new());
        body.append_pair("grant_type", "authorization_code").append_pair("code", received.code());
        body.append_pair("redirect_uri", &redirect_uri("kiosk")).append_pair("client_id", "kiosk");
        if in_body {
            body.append_pair("client_secret", SECRET);
        }
        let mut request =
            TestRequest::post().uri("/api/v2/token").insert_header(FORM).set_payload(body.finish());
        if in_header {
            let encoded = byte_serialize(SECRET.as_bytes()).collect::<String>();
            let both = STANDARD.encode(format!("kiosk:{encoded}"));
            request = request.insert_header(("authorization", format!("Basic {both}")));
        }
        let answer = hub.send(request).await;
        assert_eq!(answer.status, status, "{in_header} {in_body}: {}", answer.body);
    }
}

#[actix_web::test]
async fn claims_are_released_where_they_were_requested_and_shown_before() {
    let hub = hub().await;
    let claims = json!({
        "userinfo": { "name": { "essential": true }, "shoe_size": null },
        "id_token": { "email": { "essential": true }, "birthplace": null, "auth_time": { "essential": true } },
    });
    let request = Authorize::minimal("archive", "openid")
        .with("claims", &claims.to_string())
        .with("prompt", "consent");
    let page = hub.browser();
    let page = page.authorize(&request).await.choose("amandier").await.sign_in_as("angela").await;
    assert_eq!(page.listed_claims().keys().collect::<Vec<_>>(), ["E-mail address", "Full name"]);
    let received = page.consent().await.received();
    let tokens = redeemed(&hub, "archive", &received).await;
    assert_eq!(
        (&tokens.header["alg"], &tokens.claims["email"]),
        (&json!("ES256"), &json!("angela@example.org"))
    );
    assert!(!tokens.claims.contains_key("birthplace"), "none of its scopes has it");
    // It registered an algorithm, so userinfo is signed.
    let answer = hub.get_userinfo(&tokens.access_token).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/jwt"));
    let keys = hub.send(TestRequest::get().uri("/api/v2/jwks")).await;
    let keys = VerificationKeys::from_jwks(keys.body.as_bytes()).unwrap();
    let userinfo = verify_jws(&answer.body, SigningAlg::RS256, &keys).unwrap().claims;
    assert_eq!(userinfo["name"], "Angela Claire Louise DUBOIS");
    assert!(!userinfo.contains_key("email") && !userinfo.contains_key("shoe_size"));
}

#[actix_web::test]
async fn a_token_in_the_body_is_accepted_under_openid_rules_only_and_never_with_a_second_token() {
    let hub = hub().await;
    let received = hub.browser();
    let received = received.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let federation = hub.tokens("bakery", &received).await.access_token;
    let received = sign_in(&hub.browser(), &Authorize::minimal("kiosk", "openid"), "angela").await;
    let kiosk = redeemed(&hub, "kiosk", &received).await.access_token;
    let status_and_error = |answer: &Answer| {
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        (
            answer.status,
            body["error"].as_str().unwrap().to_owned(),
            answer.header("www-authenticate").to_owned(),
        )
    };
    let malformed =
        (400, "invalid_request".to_owned(), "Bearer error=\"invalid_request\"".to_owned());
    assert_eq!(status_and_error(&by_body(&hub, &federation, "").await), malformed);
    assert_eq!(
        status_and_error(&by_body(&hub, &kiosk, &format!("&access_token={kiosk}")).await),
        malformed
    );
    let both = TestRequest::post()
        .uri("/api/v2/userinfo")
        .insert_header(FORM)
        .insert_header(("authorization", format!("Bearer {kiosk}")))
        .set_payload(format!("access_token={kiosk}"));
    assert_eq!(status_and_error(&hub.send(both).await), malformed);
    let query = TestRequest::get()
        .uri("/api/v2/userinfo")
        .set_payload(format!("access_token={kiosk}"))
        .insert_header(FORM);
    assert_eq!(status_and_error(&hub.send(query).await), malformed, "a GET has no body");
    assert_eq!(status_and_error(&by_body(&hub, "guessed", "").await).0, 401);
    assert_eq!(by_body(&hub, &kiosk, "&x=1").await.status, 200);
}

#[actix_web::test]
async fn where_no_client_may_send_it_a_body_token_is_not_even_read() {
    let hub = TestHub::start().await;
    let answer = by_body(&hub, "guessed", "").await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("header with the access token is missing"), "{}", answer.body);
    let discovery =
        hub.send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration")).await.body;
    assert!(!discovery.contains("phone_number"), "what no client is served is not published");
    let discovery = self::hub()
        .await
        .send(TestRequest::get().uri("/api/v2/.well-known/openid-configuration"))
        .await
        .body;
    assert!(discovery.contains("\"phone_number_verified\"") && discovery.contains("\"address\""));
}

/// A data provider may release something for a scope of which the hub knows no value.
#[actix_web::test]
async fn a_silent_request_gets_no_scope_that_the_user_was_not_asked_about() {
    let hub = hub().await;
    let browser = hub.browser();
    let asking = |scope: &str| Authorize::minimal("notary", scope).with("state", "s");
    sign_in(&browser, &asking("openid profile"), "angela").await;
    let silent = |scope: &str| asking(scope).with("prompt", "none").url();
    for scope in ["openid", "openid profile"] {
        let received = browser.open(&silent(scope)).await.received();
        assert!(received.fields.contains_key("code"), "{scope}");
    }
    let beyond = "openid profile phone";
    let received = browser.open(&silent(beyond)).await.received();
    assert_eq!(received.fields["error"], "consent_required");
    assert!(browser.authorize(&asking(beyond)).await.is_consent());
}

/// A file says by `consent` whether a session that another service began may answer silently.
#[actix_web::test]
async fn consent_decides_whether_a_service_that_was_never_shown_is_answered_silently() {
    let files = [
        service("kiosk", "consent = \"none\""),
        service("plain", ""),
        service("shown", "consent = \"information\""),
    ];
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let hub = TestHub::with_files("", &files).await;
    let browser = hub.browser();
    let asking = |service: &str| Authorize::minimal(service, "openid email").with("state", "s");
    sign_in(&browser, &asking("kiosk"), "angela").await;
    let silent = |service: &str| asking(service).with("prompt", "none").url();
    for (service, has_page) in [("kiosk", false), ("plain", false), ("shown", true)] {
        let received = browser.open(&silent(service)).await.received();
        let error = received.fields.get("error").map(String::as_str);
        assert_eq!(error, has_page.then_some("consent_required"), "{service}");
        // Single sign-on by redirect shows the page once, and renewal then stays silent.
        let answered = browser.authorize(&asking(service)).await;
        assert_eq!(answered.is_consent(), has_page, "{service}");
        if has_page {
            answered.consent().await.received();
        }
        let again = browser.authorize(&asking(service)).await.received();
        assert!(again.fields.contains_key("code"), "{service}");
        let renewed = browser.open(&silent(service)).await.received();
        assert!(renewed.fields.contains_key("code"), "{service}");
    }
}

#[actix_web::test]
async fn prompt_none_is_answered_from_the_session_alone() {
    let hub = hub().await;
    let browser = hub.browser();
    let silent = |service: &str| {
        Authorize::minimal(service, "openid email").with("prompt", "none").with("state", "s")
    };
    for service in ["kiosk", "notary"] {
        let received = browser.open(&silent(service).url()).await.received();
        assert_eq!(
            (received.fields["error"].as_str(), received.fields["state"].as_str()),
            ("login_required", "s")
        );
    }
    let first = sign_in(&browser, &Authorize::minimal("kiosk", "openid email"), "angela").await;
    let first = redeemed(&hub, "kiosk", &first).await;
    hub.advance(Duration::from_secs(3));
    let again = browser.open(&silent("kiosk").url()).await.received();
    let again = redeemed(&hub, "kiosk", &again).await;
    assert_eq!(
        (&again.claims["sub"], &again.claims["auth_time"]),
        (&first.claims["sub"], &first.claims["auth_time"])
    );
    // An explicit yes is still to be had.
    let received = browser.open(&silent("notary").url()).await.received();
    assert_eq!(received.fields["error"], "consent_required");
    // A hint: of this person, and of another.
    let hinted = |hint: &str| silent("kiosk").with("id_token_hint", hint).with("prompt", "none");
    assert!(
        browser
            .open(&hinted(&first.raw_id_token).url())
            .await
            .received()
            .fields
            .contains_key("code")
    );
    let other = sign_in(&hub.browser(), &Authorize::minimal("kiosk", "openid"), "jean").await;
    let other = redeemed(&hub, "kiosk", &other).await;
    assert_eq!(
        browser.open(&hinted(&other.raw_id_token).url()).await.received().fields["error"],
        "login_required"
    );
}

#[actix_web::test]
async fn a_new_authentication_has_a_later_auth_time_and_a_reused_one_the_same() {
    let hub = hub().await;
    let browser = hub.browser();
    let plain = Authorize::minimal("kiosk", "openid");
    let received = sign_in(&browser, &plain, "angela").await;
    let first = redeemed(&hub, "kiosk", &received).await.claims["auth_time"].as_u64().unwrap();
    hub.advance(Duration::from_secs(2));
    for request in [
        plain.clone(),
        plain.with("max_age", "10000"),
        plain.with("display", "popup").with("ui_locales", "de fr"),
    ] {
        let received = browser.authorize(&request).await.received();
        assert_eq!(redeemed(&hub, "kiosk", &received).await.claims["auth_time"], first);
    }
    for request in [plain.with("max_age", "1"), plain.with("prompt", "login")] {
        hub.advance(Duration::from_secs(2));
        let received = sign_in(&browser, &request, "angela").await;
        assert_eq!(
            redeemed(&hub, "kiosk", &received).await.claims["auth_time"],
            hub.now().seconds()
        );
    }
}

#[actix_web::test]
async fn a_code_used_again_after_half_a_minute_still_revokes_its_token() {
    let hub = hub().await;
    let received = sign_in(&hub.browser(), &Authorize::minimal("kiosk", "openid"), "angela").await;
    let tokens = redeemed(&hub, "kiosk", &received).await;
    hub.advance(Duration::from_secs(31));
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 200);
    let again = hub.redeem("kiosk", received.code()).await;
    assert_eq!(again.status, 400);
    assert!(again.body.contains("invalid_grant"), "{}", again.body);
    assert_eq!(hub.get_userinfo(&tokens.access_token).await.status, 401);
}
