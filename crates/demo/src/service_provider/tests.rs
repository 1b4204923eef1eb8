//! Tests the demo service provider against a fake hub: an HTTP server on a free port.

mod attacks;
mod signing_out;

use std::sync::{LazyLock, Mutex};

use actix_web::body::to_bytes;
use actix_web::cookie::Cookie;
use actix_web::dev::{ServerHandle, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, test};
use serde_json::json;
use url::form_urlencoded;

use super::handlers::ServiceProviderData;
use super::*;
use passerelle_jose::decrypt::JweAlgorithms;
use passerelle_jose::testing::sample_keys::{RING, T0};
use passerelle_jose::{ClientKeys, RelyingPartyKeys, Signer as _};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

/// The service provider's own keys.
static KEYS: LazyLock<Arc<RelyingPartyKeys>> =
    LazyLock::new(|| Arc::new(RelyingPartyKeys::ephemeral(T0).unwrap()));
const ALG: EncryptionAlg = EncryptionAlg::EcdhEs;
/// Administration token of the fake hub.
const ADMIN_TOKEN: &str = "an-administration-token-of-the-fake-hub";

/// State of the fake hub: what it received and what it answers.
struct FakeHub {
    issuer: String,
    nonce: Mutex<String>,
    acr: Mutex<String>,
    /// Encryption keys for the tokens, if any.
    encryption_keys: Mutex<Option<ClientKeys>>,
    token_form: Mutex<Vec<(String, String)>>,
    userinfo_sub: &'static str,
}

async fn fake_jwt(hub: &FakeHub, sub: &str) -> String {
    let now = T0.seconds();
    let claims = json!({
        "iss": hub.issuer, "sub": sub, "aud": "demo", "exp": now + 60, "iat": now, "auth_time": now,
        "nonce": *hub.nonce.lock().unwrap(), "acr": *hub.acr.lock().unwrap(), "given_name": "Ada <b>",
    });
    let jws = RING
        .sign(SigningAlg::ES256, "JWT", &serde_json::to_vec(&claims).unwrap(), T0)
        .await
        .unwrap();
    match &*hub.encryption_keys.lock().unwrap() {
        None => jws,
        Some(keys) => keys.encryption.select(ALG).unwrap().encrypt(&jws).unwrap(),
    }
}

fn public_half(keys: &RelyingPartyKeys) -> ClientKeys {
    ClientKeys::from_jwks(&keys.jwks(T0)).unwrap()
}

fn hub_routes(config: &mut web::ServiceConfig) {
    type FakeData = web::Data<FakeHub>;
    let json = |body: String| HttpResponse::Ok().content_type("application/json").body(body);
    config
        .route(
            "/.well-known/openid-configuration",
            web::get().to(move |hub: FakeData| async move {
                let at = |path: &str| format!("{}{path}", hub.issuer);
                json(
                    json!({
                        "issuer": hub.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
                        "userinfo_endpoint": at("/userinfo"), "jwks_uri": at("/jwks"),
                        "end_session_endpoint": at("/end?tenant=7"),
                        "authorization_response_iss_parameter_supported": true,
                    })
                    .to_string(),
                )
            }),
        )
        .route(
            "/admin/sign-in",
            web::post().to(|body: web::Bytes| async move {
                let token = UniqueParams::parse(&body).one("token") == Some(ADMIN_TOKEN);
                let (status, cookie) = if token { (303, "console=c; Path=/admin; HttpOnly; SameSite=Strict") } else { (401, "") };
                let status = StatusCode::from_u16(status).unwrap();
                HttpResponse::build(status).insert_header(("set-cookie", cookie)).finish()
            }),
        )
        .route("/jwks", web::get().to(|| async { RING.jwks(T0, Duration::ZERO) }))
        .route(
            "/token",
            web::post().to(move |hub: FakeData, body: web::Bytes| async move {
                *hub.token_form.lock().unwrap() = form_urlencoded::parse(&body).into_owned().collect();
                let id_token = fake_jwt(&hub, "ada").await;
                json(json!({ "access_token": "at", "token_type": "Bearer", "id_token": id_token }).to_string())
            }),
        )
        .route(
            "/userinfo",
            web::get().to(|hub: FakeData| async move {
                HttpResponse::Ok().content_type("application/jwt").body(fake_jwt(&hub, hub.userinfo_sub).await)
            }),
        );
}

fn start_hub(userinfo_sub: &'static str) -> (web::Data<FakeHub>, ServerHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let hub = web::Data::new(FakeHub {
        issuer,
        nonce: Mutex::default(),
        acr: Mutex::new("eidas1".into()),
        encryption_keys: Mutex::default(),
        token_form: Mutex::default(),
        userinfo_sub,
    });
    let data = hub.clone();
    let app = move || App::new().app_data(data.clone()).configure(hub_routes);
    let server = HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    (hub, handle)
}

fn service_provider(issuer: &str) -> ServiceProviderData {
    service_provider_with_hubs(issuer, issuer)
}

fn service_provider_with_hubs(standard: &str, high: &str) -> ServiceProviderData {
    let registration = |issuer: &str, encryption| HubRegistration {
        issuer: issuer.into(),
        client_id: "demo".into(),
        client_secret: Secret::new("a-secret-of-32-characters-or-more".into()),
        scopes: "openid given_name".into(),
        alg: SigningAlg::ES256,
        encryption,
        data_provider: None,
    };
    let console = |origin: &str| ConsoleAccess {
        origin: origin.into(),
        token: Secret::new(ADMIN_TOKEN.to_owned()),
    };
    let settings = ServiceProviderSettings {
        redirect_uri: "http://localhost:9/callback".into(),
        post_logout_redirect_uri: "http://localhost:9/signed-out".into(),
        cookie_prefix: "sp".into(),
        keys: Arc::clone(&KEYS),
        standard: registration(standard, None),
        consent: HubRegistration { client_id: "consent".into(), ..registration(standard, None) },
        high: registration(high, Some(JweAlgorithms { alg: ALG, enc: ContentEncryption::A256GCM })),
        standard_console: console(standard),
        high_console: console(high),
    };
    let env = Env::new(Arc::new(ManualClock::at(T0)), Arc::new(SeededEntropy::new(7)));
    web::Data::new(DemoServiceProvider::new(settings, env).unwrap())
}

async fn call(
    this: &ServiceProviderData,
    request: test::TestRequest,
    cookies: &[Cookie<'static>],
) -> ServiceResponse {
    let app = test::init_service(
        App::new().app_data(this.clone()).configure(DemoServiceProvider::routes),
    )
    .await;
    let request = cookies.iter().fold(request, |request, cookie| request.cookie(cookie.clone()));
    test::call_service(&app, request.to_request()).await
}

fn set_cookies(answer: &ServiceResponse) -> Vec<Cookie<'static>> {
    answer.response().cookies().map(|cookie| cookie.into_owned()).collect()
}

async fn text(answer: ServiceResponse) -> String {
    String::from_utf8(to_bytes(answer.into_body()).await.unwrap().to_vec()).unwrap()
}

/// Starts a login; returns the parameters of the authorization request and the cookies.
async fn begin(this: &ServiceProviderData, hub: &FakeHub) -> (UniqueParams, Vec<Cookie<'static>>) {
    begin_at(this, hub, "eidas1").await
}

async fn begin_at(
    this: &ServiceProviderData,
    hub: &FakeHub,
    level: &str,
) -> (UniqueParams, Vec<Cookie<'static>>) {
    let form = format!("ui_locales=en&level={level}");
    let answer = call(this, test::TestRequest::post().uri("/login").set_payload(form), &[]).await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let location = Url::parse(answer.headers().get("location").unwrap().to_str().unwrap()).unwrap();
    let sent = UniqueParams::parse(location.query().unwrap().as_bytes());
    *hub.nonce.lock().unwrap() = sent.one("nonce").unwrap().into();
    (sent, set_cookies(&answer))
}

async fn come_back(
    this: &ServiceProviderData,
    query: &[(&str, &str)],
    cookies: &[Cookie<'static>],
) -> ServiceResponse {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    call(this, test::TestRequest::get().uri(&format!("/callback?{query}")), cookies).await
}

async fn shown(this: &ServiceProviderData, callback: &ServiceResponse) -> String {
    assert_eq!(callback.status(), StatusCode::SEE_OTHER);
    let location = callback.headers().get("location").unwrap().to_str().unwrap();
    assert_eq!(location, "/?lang=en", "in the language in which the sign-in began");
    text(call(this, test::TestRequest::get().uri(location), &set_cookies(callback)).await).await
}

#[actix_web::test]
async fn whole_sign_in_shows_the_claims_and_signs_out() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let (sent, cookies) = begin(&this, &hub).await;
    for name in ["state", "nonce", "code_challenge"] {
        assert_eq!(sent.one(name).unwrap().len(), 43, "{name}");
    }
    assert_eq!((sent.one("acr_values"), sent.one("ui_locales")), (Some("eidas1"), Some("en")));
    assert!(cookies.iter().all(
        |cookie| cookie.http_only() == Some(true) && cookie.same_site() == Some(SameSite::Lax)
    ));

    let state = sent.one("state").unwrap();
    let query = [("code", "c"), ("state", state), ("iss", &hub.issuer)];
    let callback = come_back(&this, &query, &cookies).await;
    let page = shown(&this, &callback).await;
    assert!(page.contains("Ada &#60;b&#62;") && !page.contains("<b>"), "{page}");
    let form = hub.token_form.lock().unwrap().clone();
    let verifier = &form.iter().find(|(name, _)| name == "code_verifier").unwrap().1;
    assert_eq!(digest::sha256_base64url(verifier), sent.one("code_challenge").unwrap());

    let replayed = come_back(&this, &query, &cookies).await;
    assert_eq!(replayed.status(), StatusCode::BAD_REQUEST, "a response is accepted once");

    let session = set_cookies(&callback);
    let leaving = call(
        &this,
        test::TestRequest::post().uri("/logout").set_payload("ui_locales=en"),
        &session,
    )
    .await;
    let end = Url::parse(leaving.headers().get("location").unwrap().to_str().unwrap()).unwrap();
    assert!(
        end.as_str().starts_with(&format!("{}/end?tenant=7&id_token_hint=ey", hub.issuer)),
        "{end}"
    );
    let sent = UniqueParams::parse(end.query().unwrap().as_bytes());
    assert_eq!(sent.one("post_logout_redirect_uri"), Some("http://localhost:9/signed-out"));
    assert!(sent.one("state").unwrap().len() >= 32);
    let back =
        test::TestRequest::get().uri(&format!("/signed-out?state={}", sent.one("state").unwrap()));
    assert_eq!(call(&this, back, &[]).await.headers().get("location").unwrap(), "/?lang=en");
    let unknown =
        call(&this, test::TestRequest::get().uri("/signed-out?state=x&lang=fr"), &[]).await;
    assert_eq!(unknown.headers().get("location").unwrap(), "/?lang=fr");
    let page = text(call(&this, test::TestRequest::get().uri("/"), &session).await).await;
    assert!(page.contains("action=\"/login\"") && !page.contains("Ada"), "{page}");
    handle.stop(false).await;
}

#[actix_web::test]
async fn encrypted_tokens_are_decrypted_and_shown_with_their_headers() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    *hub.encryption_keys.lock().unwrap() = Some(public_half(&KEYS));
    for level in ["eidas2", "eidas3"] {
        *hub.acr.lock().unwrap() = level.into();
        let (sent, cookies) = begin_at(&this, &hub, level).await;
        assert_eq!(sent.one("acr_values"), Some(level));
        let query = [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &hub.issuer)];
        let callback = come_back(&this, &query, &cookies).await;
        let page = shown(&this, &callback).await;
        let leaving =
            call(&this, test::TestRequest::post().uri("/logout"), &set_cookies(&callback)).await;
        let end = Url::parse(leaving.headers().get("location").unwrap().to_str().unwrap()).unwrap();
        let hint = UniqueParams::parse(end.query().unwrap().as_bytes())
            .one("id_token_hint")
            .unwrap()
            .to_owned();
        assert_eq!(hint.split('.').count(), 3, "R175: the decrypted token");
        assert!(page.contains("Ada &#60;b&#62;"), "{page}");
        for (shown, times) in [("ECDH-ES", 2), ("A256GCM", 2), ("ES256", 2), (level, 2)] {
            assert!(page.matches(shown).count() >= times, "{shown}: {page}");
        }
        assert!(page.contains(&format!("name=\"level\" value=\"{level}\"")), "{page}");
    }
    handle.stop(false).await;
}

#[actix_web::test]
async fn a_form_without_a_known_level_starts_no_login() {
    let this = service_provider("http://127.0.0.1:9");
    for form in [
        "",
        "level=",
        "level=eidas4",
        "level=eidas1&level=eidas2",
        "level=eidas1&consent=maybe",
        "level=eidas2&consent=required",
        "consent=required",
    ] {
        let answer =
            call(&this, test::TestRequest::post().uri("/login").set_payload(form), &[]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{form}");
        assert!(set_cookies(&answer).is_empty(), "{form}");
    }
}

#[actix_web::test]
async fn sign_in_with_consent_uses_the_registration_that_requires_it() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    for (form, client_id) in
        [("level=eidas1", "demo"), ("level=eidas1&consent=required", "consent")]
    {
        let answer =
            call(&this, test::TestRequest::post().uri("/login").set_payload(form), &[]).await;
        let location =
            Url::parse(answer.headers().get("location").unwrap().to_str().unwrap()).unwrap();
        let sent = UniqueParams::parse(location.query().unwrap().as_bytes());
        assert_eq!(sent.one("client_id"), Some(client_id));
        let query = [("code", "c"), ("state", sent.one("state").unwrap()), ("iss", &hub.issuer)];
        come_back(&this, &query, &set_cookies(&answer)).await;
        let form = hub.token_form.lock().unwrap().clone();
        assert!(form.contains(&("client_id".to_owned(), client_id.to_owned())), "{form:?}");
    }
    handle.stop(false).await;
}

#[actix_web::test]
async fn error_of_the_hub_is_shown_as_it_came() {
    let (hub, handle) = start_hub("ada");
    let this = service_provider(&hub.issuer);
    let (sent, cookies) = begin(&this, &hub).await;
    let query = [
        ("error", "access_denied"),
        ("error_description", "The user said no."),
        ("state", sent.one("state").unwrap()),
        ("iss", &hub.issuer),
    ];
    let page = shown(&this, &come_back(&this, &query, &cookies).await).await;
    assert!(page.contains("access_denied") && page.contains("The user said no."), "{page}");
    handle.stop(false).await;
}

#[actix_web::test]
async fn language_is_the_one_chosen_else_the_browser_s() {
    let this = service_provider("http://127.0.0.1:9");
    for (uri, accept, expected) in [
        ("/", "", "fr"),
        ("/", "en-GB,fr;q=0.5", "en"),
        ("/?lang=fr", "en", "fr"),
        ("/?lang=en", "fr", "en"),
        ("/?lang=xx", "en", "en"),
        ("/?lang=%22%3E%3Cscript%3E", "en", "en"),
        ("/?lang=en&lang=fr", "fr", "fr"),
    ] {
        let request = test::TestRequest::get().uri(uri).insert_header(("accept-language", accept));
        let answer = call(&this, request, &[]).await;
        assert_eq!(answer.headers().get("content-language").unwrap(), expected, "{uri} {accept}");
        let page = text(answer).await;
        assert!(page.contains(&format!("<html lang=\"{expected}\"")), "{page}");
        assert!(
            page.contains(&format!("name=\"ui_locales\" value=\"{expected}\"")),
            "the hub must use the same language: {page}"
        );
        assert!(
            page.contains("href=\"/?lang=fr\"") && page.contains("href=\"/?lang=en\""),
            "{page}"
        );
    }
}

#[actix_web::test]
async fn an_unreachable_hub_is_reported() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let this = service_provider(&format!("http://{closed}"));
    let answer =
        call(&this, test::TestRequest::post().uri("/login").set_payload("level=eidas2"), &[]).await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    assert!(text(answer).await.contains("be reached"));
}
