//! Invalid responses and attacks, each with its own error code.

mod rejections;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;

use super::*;
use crate::testing::connectors;
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer, ReceivedRequest};
use passerelle_federation::assurance::Level;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

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

fn connector(base: &str, more: &str, internal: &str) -> Result<Oauth2Connector, FieldDiagnostic> {
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
    let configured = connectors::configured("hosting", &text, Some(SECRET));
    let env = Env::new(
        Arc::new(ManualClock::at(Timestamp::from_seconds(NOW))),
        Arc::new(SeededEntropy::new(3)),
    );
    let kind = configured.kind.downcast_ref().unwrap();
    Oauth2Connector::new(kind, &configured, connectors::context(env))
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
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: Some("ada@example.org".into()),
        forwarded: BTreeMap::new(),
        requester: None,
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
        (authentication.level, authentication.auth_time.unwrap().seconds(), authentication.amr),
        (Level::Eidas1, NOW, passerelle_federation::assurance::amr::UpstreamAmr::Absent)
    );
    let userinfo_claims = json!({ "id": 4242, "login": "ada", "name": "Ada", "email": null, "plan": { "seats": [1] } });
    assert_eq!(
        Value::Object(authentication.claims),
        userinfo_claims,
        "unchanged, as mapping happens elsewhere"
    );
    assert!(authentication.session_hint.is_none());
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
async fn a_lone_surrogate_in_a_claim_that_nothing_needs_ends_no_login() {
    let fixture = Fixture::new().await;
    fixture.script().userinfo = body(200, r#"{"id":4242,"login":"ada","bio":"\ud83d"}"#);
    let authentication = fixture.complete_login().await.unwrap();
    assert_eq!(authentication.claims["bio"], "\u{ffff}");
    // Where it is in the subject, several users would have the same.
    let subject = |text: &str| {
        let claims = parse_userinfo(text.as_bytes()).unwrap();
        extract_subject(&claims, &ClaimPath::parse("id").unwrap()).map_err(|error| error.code)
    };
    assert_eq!(subject(r#"{"id":"ada\ud83d"}"#).err(), Some(ErrorCode::UserinfoSubjectMissing));
    assert!(subject(r#"{"id":"ada\ud83d\ude00"}"#).is_ok());
}

#[tokio::test]
async fn the_diagnostics_of_a_provider_contain_no_secret() {
    use crate::diagnostic::DiagnosticStatus;
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
        let page = include_str!("../../../../docs/checking-a-connector.md");
        for CheckDiagnostic { name, message, .. } in &diagnostics {
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
