//! Invalid responses and attacks, each with its own error code.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;

use super::*;
use crate::assurance::Level;
use crate::connector::testing;
use crate::digest;
use crate::egress::fake_server::{FakeResponse, FakeServer, ReceivedRequest};
use crate::env::{ManualClock, SeededEntropy, Timestamp};

const NOW: u64 = 1_700_000_000;
const SECRET: &str = "a client secret of thirty-two chars";

/// Responses of the provider, which a test changes before a call.
struct ProviderScript {
    token: FakeResponse,
    userinfo: FakeResponse,
    log: Vec<ReceivedRequest>,
}

struct Fixture {
    script: Arc<Mutex<ProviderScript>>,
    connector: Oauth2Connector,
    server: FakeServer,
}

fn html() -> FakeResponse {
    FakeResponse {
        status: 200,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>sign in</html>".to_vec(),
    }
}

fn body(status: u16, body: &str) -> FakeResponse {
    FakeResponse {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.as_bytes().to_vec(),
    }
}

impl Fixture {
    async fn new() -> Self {
        Self::with("").await
    }

    async fn with(more: &str) -> Self {
        let script = Arc::new(Mutex::new(ProviderScript {
            token: FakeResponse::json(
                &json!({ "access_token": "at-1", "token_type": "bearer", "scope": "read:user", "expires_in": "x" }),
            ),
            userinfo: FakeResponse::json(
                &json!({ "id": 4242, "login": "ada", "name": "Ada", "email": null, "plan": { "seats": [1] } }),
            ),
            log: vec![],
        }));
        let shared = Arc::clone(&script);
        let server = FakeServer::start(move |request| {
            let mut script = shared.lock().unwrap();
            let response = if request.target == "/token" {
                script.token.clone()
            } else {
                script.userinfo.clone()
            };
            script.log.push(request);
            response
        })
        .await;
        let connector =
            connector(&server.base(), more, "internal_hosts = [\"127.0.0.1\"]").unwrap();
        Self { script, connector, server }
    }

    fn script(&self) -> MutexGuard<'_, ProviderScript> {
        self.script.lock().unwrap()
    }

    async fn attempt(&self) -> LoginAttempt {
        let request = authorization_request();
        let redirect = self.connector.begin_login(request.clone()).await.unwrap();
        LoginAttempt {
            connector: "hub".into(),
            request: UpstreamAuthorizationRequest { reauthenticate: true, ..request },
            redirected_at: Timestamp::from_seconds(NOW - 30),
            redirect,
        }
    }

    async fn complete_login(&self) -> Result<Authentication, ErrorCode> {
        self.complete_login_with(self.attempt().await, callback()).await
    }

    async fn complete_login_with(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ErrorCode> {
        self.connector.complete_login(attempt, callback).await.map_err(|error| {
            for secret in ["at-1", "c-1", SECRET, "4242", "Ada", "the state"] {
                assert!(!error.detail.contains(secret), "{secret} leaks: {}", error.detail);
            }
            error.code
        })
    }
}

fn connector(
    base: &str,
    more: &str,
    internal: &str,
) -> Result<Oauth2Connector, ConnectorConfigError> {
    let text = format!(
        r#"
        name = {{ en = "Code hosting" }}
        levels = {{ lowest = "eidas1", highest = "eidas1" }}
        assumed_level = "eidas1"
        [kind.oauth2]
        issuer = "https://hosting.example"
        client_id = "hub"
        client_secret = {{ env = "X" }}
        scopes = ["read:user", "user:email"]
        subject_claim = "id"
        auth_time = "callback"
        reauthentication_params = {{ prompt = "login" }}
        insecure_http = true
        {internal}
        {more}
        [kind.oauth2.endpoints]
        authorization = "{base}/authorize?tenant=1"
        token = "{base}/token"
        userinfo = "{base}/user"
        "#
    );
    let configured = testing::configured("hosting", &text, Some(SECRET));
    let env = Env::new(
        Arc::new(ManualClock::at(Timestamp::from_seconds(NOW))),
        Arc::new(SeededEntropy::new(3)),
    );
    let kind = configured.kind.downcast_ref().unwrap();
    Oauth2Connector::new(kind, &configured, testing::context(env))
}

fn authorization_request() -> UpstreamAuthorizationRequest {
    UpstreamAuthorizationRequest {
        state: "the state".into(),
        nonce: "the nonce".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/hosting".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        login_hint: Some("ada@example.org".into()),
        ui_locales: Some("fr".into()),
    }
}

fn callback() -> CallbackParams {
    CallbackParams { code: Some(Secret::new("c-1".into())), ..CallbackParams::default() }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn named<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[tokio::test]
async fn a_valid_login_succeeds_with_the_claims_of_userinfo() {
    let fixture = Fixture::new().await;
    let authentication = fixture.complete_login().await.unwrap();
    assert_eq!(authentication.upstream_subject.reveal(), "4242");
    assert_eq!(
        (authentication.level, authentication.auth_time.seconds(), authentication.amr),
        (Level::Eidas1, NOW, crate::assurance::amr::UpstreamAmr::Absent)
    );
    let userinfo_claims = json!({ "id": 4242, "login": "ada", "name": "Ada", "email": null, "plan": { "seats": [1] } });
    assert_eq!(
        Value::Object(authentication.claims),
        userinfo_claims,
        "unchanged, as mapping happens elsewhere"
    );
    assert!(authentication.id_token.is_none());
    let script = fixture.script();
    let [token, userinfo] = script.log.as_slice() else { panic!("two calls") };
    let verifier = "v".repeat(43);
    let expected = named([
        ("client_id", "hub"),
        ("client_secret", SECRET),
        ("code", "c-1"),
        ("code_verifier", &verifier),
        ("grant_type", "authorization_code"),
        ("redirect_uri", "https://hub.example/api/v2/callback/hosting"),
    ]);
    assert_eq!((token.method.as_str(), pairs(&token.body)), ("POST", expected));
    for head in [&token.headers, &userinfo.headers] {
        assert!(head.to_ascii_lowercase().contains("accept: application/json"), "{head}");
    }
    assert!(userinfo.headers.contains("authorization: Bearer at-1") && userinfo.target == "/user");
}

#[tokio::test]
async fn the_secret_is_in_the_header_with_client_secret_basic() {
    let fixture = Fixture::with("token_endpoint_auth_method = \"client_secret_basic\"").await;
    fixture.complete_login().await.unwrap();
    let script = fixture.script();
    assert!(
        script.log[0].headers.contains("authorization: Basic ")
            && !script.log[0].body.contains("client_secret")
    );
}

#[tokio::test]
async fn the_authorization_request_has_state_pkce_and_the_reauthentication_parameters() {
    let fixture = Fixture::with("authorize_params = { allow_signup = \"false\" }").await;
    let redirect = fixture.connector.begin_login(authorization_request()).await.unwrap();
    let challenge = digest::base64url(&digest::sha256("v".repeat(43).as_bytes()));
    let url = Url::parse(&redirect.url).unwrap();
    let expected = named([
        ("allow_signup", "false"),
        ("client_id", "hub"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("prompt", "login"),
        ("redirect_uri", "https://hub.example/api/v2/callback/hosting"),
        ("response_type", "code"),
        ("scope", "read:user user:email"),
        ("state", "the state"),
        ("tenant", "1"),
    ]);
    assert_eq!(
        pairs(url.query().unwrap()),
        expected,
        "no login_hint, and prompt even if not requested"
    );
    assert_eq!(
        (redirect.issuer.as_str(), redirect.client_id.as_str(), redirect.iss_expected),
        ("https://hosting.example", "hub", false)
    );
}

#[tokio::test]
async fn every_invalid_token_response_is_rejected_with_its_own_code() {
    let fixture = Fixture::new().await;
    let token = |answer: Value| FakeResponse::json(&answer);
    let table = [
        ("html", html(), ErrorCode::IdpTokenAnswer),
        (
            "form-encoded",
            body(200, "access_token=at-1&token_type=bearer"),
            ErrorCode::IdpTokenAnswer,
        ),
        ("huge", body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
        (
            "no_access_token",
            token(json!({ "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "empty_access_token",
            token(json!({ "access_token": "", "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "access_token_is_no_text",
            token(json!({ "access_token": 1, "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "mac_token",
            token(json!({ "access_token": "at-1", "token_type": "mac" })),
            ErrorCode::IdpTokenType,
        ),
        ("no_token_type", token(json!({ "access_token": "at-1" })), ErrorCode::IdpTokenAnswer),
        (
            "two_access_tokens",
            body(200, r#"{"access_token":"a","access_token":"at-1","token_type":"bearer"}"#),
            ErrorCode::IdpTokenAnswer,
        ),
        ("refused_code", body(400, r#"{"error":"invalid_grant"}"#), ErrorCode::IdpCodeRefused),
        ("refused_client", body(401, r#"{"error":"invalid_client"}"#), ErrorCode::IdpClientRefused),
        (
            "refused_code_with_status_200",
            token(json!({ "error": "bad_verification_code" })),
            ErrorCode::IdpCodeRefused,
        ),
        (
            "refused_client_with_status_200",
            token(json!({ "error": "incorrect_client_credentials" })),
            ErrorCode::IdpClientRefused,
        ),
        ("down", body(503, "{}"), ErrorCode::IdpStatus),
        ("redirect_into_the_private_network", body(302, ""), ErrorCode::IdpStatus),
    ];
    for (attack, response, expected) in table {
        fixture.script().token = response;
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
        assert!(
            fixture.script().log.drain(..).all(|request| request.target == "/token"),
            "{attack}: userinfo was called"
        );
    }
}

#[tokio::test]
async fn every_invalid_userinfo_is_rejected_with_its_own_code() {
    let fixture = Fixture::new().await;
    let about = |id: Value| FakeResponse::json(&json!({ "id": id, "name": "Ada" }));
    let missing_subject = ErrorCode::UserinfoSubjectMissing;
    let table = [
        ("html", html(), ErrorCode::UserinfoMalformed),
        ("a_list", body(200, "[]"), ErrorCode::UserinfoMalformed),
        ("id_twice", body(200, r#"{"id":1,"id":2}"#), ErrorCode::UserinfoMalformed),
        (
            "long",
            FakeResponse::json(&json!({ "id": 1, "name": "x".repeat(64 << 10) })),
            ErrorCode::UserinfoMalformed,
        ),
        ("huge", body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
        ("token_refused", body(401, "{}"), ErrorCode::UserinfoRefused),
        ("down", body(500, "{}"), ErrorCode::IdpStatus),
        ("no_subject", FakeResponse::json(&json!({ "sub": "4242" })), missing_subject),
        ("empty_subject", about(json!("")), missing_subject),
        ("blank_subject", about(json!(" ")), missing_subject),
        ("null_subject", about(json!(null)), missing_subject),
        ("list_of_subjects", about(json!([4242])), missing_subject),
        ("object_for_subject", about(json!({ "id": 4242 })), missing_subject),
        ("true_for_subject", about(json!(true)), missing_subject),
        ("fraction_for_subject", about(json!(4242.5)), missing_subject),
        (
            "number_too_large_to_be_exact",
            body(200, r#"{"id":36893488147419103232}"#),
            missing_subject,
        ),
        ("endless_subject", about(json!("x".repeat(256))), missing_subject),
    ];
    for (attack, response, expected) in table {
        fixture.script().userinfo = response;
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
    }
    for (id, subject) in
        [(json!("u-1"), "u-1"), (json!(-7), "-7"), (json!(u64::MAX), "18446744073709551615")]
    {
        fixture.script().userinfo = about(id);
        assert_eq!(fixture.complete_login().await.unwrap().upstream_subject.reveal(), subject);
    }
}

#[tokio::test]
async fn a_callback_with_a_wrong_issuer_or_an_error_causes_no_call() {
    let fixture = Fixture::new().await;
    let attempt = fixture.attempt().await;
    let expecting = LoginAttempt {
        redirect: AuthorizationRedirect { iss_expected: true, ..attempt.redirect.clone() },
        ..attempt.clone()
    };
    let other = LoginAttempt {
        redirect: AuthorizationRedirect { client_id: "other".into(), ..attempt.redirect.clone() },
        ..attempt.clone()
    };
    let from = |iss: &str| CallbackParams { iss: Some(iss.into()), ..callback() };
    let error = |error: &str| CallbackParams {
        code: None,
        error: Some(error.into()),
        ..CallbackParams::default()
    };
    let table = [
        (
            "iss_of_another_provider",
            attempt.clone(),
            from("https://evil.example"),
            ErrorCode::IdpIssWrong,
        ),
        ("announced_iss_missing", expecting, callback(), ErrorCode::IdpIssMissing),
        ("connector_changed_meanwhile", other, callback(), ErrorCode::IdpIssWrong),
        ("the_person_refused", attempt.clone(), error("access_denied"), ErrorCode::IdpDenied),
        (
            "error_with_iss_of_another",
            attempt.clone(),
            CallbackParams { error: Some("x".into()), ..from("https://evil.example") },
            ErrorCode::IdpIssWrong,
        ),
        (
            "error_with_control_characters",
            attempt.clone(),
            error("server\u{1b}[2J"),
            ErrorCode::IdpError,
        ),
        ("nothing", attempt.clone(), CallbackParams::default(), ErrorCode::IdpCallbackMalformed),
    ];
    for (attack, attempt, callback, expected) in table {
        assert_eq!(
            fixture.complete_login_with(attempt, callback).await.err(),
            Some(expected),
            "{attack}"
        );
    }
    assert_eq!(fixture.server.request_count(), 0);
    assert!(
        fixture.complete_login_with(attempt, from("https://hosting.example")).await.is_ok(),
        "the own iss is accepted"
    );
}

#[tokio::test]
async fn the_code_goes_to_the_pinned_token_endpoint_only() {
    let fixture = Fixture::new().await;
    let attempt = fixture.attempt().await;
    let elsewhere = format!("{}/old-token", fixture.server.base());
    let pinned = LoginAttempt {
        redirect: AuthorizationRedirect { token_endpoint: elsewhere, ..attempt.redirect.clone() },
        ..attempt
    };
    let _refused = fixture.complete_login_with(pinned, callback()).await;
    assert!(fixture.script().log.iter().all(|request| request.target == "/old-token"));
}

#[tokio::test]
async fn a_level_above_the_assumed_level_is_rejected() {
    let fixture = Fixture::new().await;
    let mut attempt = fixture.attempt().await;
    attempt.request.level = Level::Eidas2;
    assert_eq!(
        fixture.complete_login_with(attempt, callback()).await.err(),
        Some(ErrorCode::AcrTooLow)
    );
}

#[test]
fn a_private_address_is_rejected_before_any_call() {
    let error = connector("http://127.0.0.1:1", "", "").err().unwrap();
    assert_eq!(error.key, "kind.oauth2.endpoints.authorization");
    assert!(error.message.contains("internal_hosts"), "{error}");
}

#[tokio::test]
async fn the_diagnostics_of_a_provider_contain_no_secret() {
    use crate::connector::diagnostic::DiagnosticStatus;
    let context = DiagnosisContext {
        redirect_uri: "https://hub.example/api/v2/callback/hub".into(),
        required_claims: vec![],
    };
    let fixture = Fixture::new().await;
    fixture.script().userinfo = body(401, "{}");
    for (token, status) in [
        (body(400, r#"{"error":"invalid_grant"}"#), DiagnosticStatus::Ok),
        (body(200, r#"{"error":"bad_verification_code"}"#), DiagnosticStatus::Ok),
        (body(401, r#"{"error":"invalid_client"}"#), DiagnosticStatus::Error),
        (body(200, r#"{"error":"incorrect_client_credentials"}"#), DiagnosticStatus::Error),
        (body(200, r#"{"access_token":"at-1","token_type":"bearer"}"#), DiagnosticStatus::Error),
        (html(), DiagnosticStatus::Error),
    ] {
        fixture.script().token = token;
        let diagnostics = fixture.connector.diagnose(&context).await;
        let statuses: Vec<_> =
            diagnostics.iter().map(|diagnostic| (diagnostic.name, diagnostic.status)).collect();
        let expected = [
            ("reachable", DiagnosticStatus::Ok),
            ("certificate", DiagnosticStatus::Warning),
            ("userinfo", DiagnosticStatus::Ok),
            ("client-authentication", status),
        ];
        assert_eq!(
            statuses, expected,
            "one connection diagnostic per host, and there is no TLS in this test"
        );
        let page = include_str!("../../../docs/checking-a-connector.md");
        for ConnectorDiagnostic { name, message, .. } in &diagnostics {
            assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
            assert!(!message.contains(SECRET) && !message.contains("at-1"), "{message}");
        }
    }
    let posted = fixture
        .script()
        .log
        .iter()
        .any(|request| request.target == "/token" && request.method == "POST");
    assert!(posted, "the token endpoint is called as in a login");
}
