//! Every way in which such a provider, or whoever stands between, can be wrong: an answer each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use serde_json::json;

use super::*;
use crate::assurance::Level;
use crate::config::model::ConnectorKind;
use crate::connector::Sandbox;
use crate::digest;
use crate::egress::fake::{Asked, FakeServer, Told};
use crate::egress::shared::Guards;
use crate::env::{HandClock, SeededEntropy, Timestamp};
use crate::token::UpstreamKeys;

const NOW: u64 = 1_700_000_000;
const SECRET: &str = "a client secret of thirty-two chars";

/// What the provider says; a test changes it before it is asked.
struct Script {
    token: Told,
    userinfo: Told,
    log: Vec<Asked>,
}

struct World {
    script: Arc<Mutex<Script>>,
    connector: Oauth2Connector,
    server: FakeServer,
}

fn html() -> Told {
    Told {
        status: 200,
        headers: vec![("content-type", "text/html".into())],
        body: b"<html>sign in</html>".to_vec(),
    }
}

fn body(status: u16, body: &str) -> Told {
    Told {
        status,
        headers: vec![("content-type", "application/json".into())],
        body: body.as_bytes().to_vec(),
    }
}

impl World {
    async fn new() -> Self {
        Self::with("").await
    }

    async fn with(more: &str) -> Self {
        let script = Arc::new(Mutex::new(Script {
            token: Told::json(
                &json!({ "access_token": "at-1", "token_type": "bearer", "scope": "read:user", "expires_in": "x" }),
            ),
            userinfo: Told::json(
                &json!({ "id": 4242, "login": "ada", "name": "Ada", "email": null, "plan": { "seats": [1] } }),
            ),
            log: vec![],
        }));
        let shared = Arc::clone(&script);
        let server = FakeServer::start(move |asked| {
            let mut script = shared.lock().unwrap();
            let told = if asked.target == "/token" {
                script.token.clone()
            } else {
                script.userinfo.clone()
            };
            script.log.push(asked);
            told
        })
        .await;
        let connector =
            connector(&server.base(), more, "internal_hosts = [\"127.0.0.1\"]").unwrap();
        Self { script, connector, server }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    async fn attempt(&self) -> Attempt {
        let departure = departure();
        let left = self.connector.begin(departure.clone()).await.unwrap();
        Attempt {
            connector: "hub".into(),
            state: departure.state,
            nonce: departure.nonce,
            verifier: departure.verifier,
            redirect_uri: departure.redirect_uri,
            level: departure.level,
            reauthenticate: true,
            max_age: None,
            left_at: Timestamp::from_seconds(NOW - 30),
            left,
        }
    }

    async fn complete(&self) -> Result<Authentication, ErrorCode> {
        self.arrive(self.attempt().await, arrival()).await
    }

    async fn arrive(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ErrorCode> {
        self.connector.complete(attempt, arrival).await.map_err(|fault| {
            for secret in ["at-1", "c-1", SECRET, "4242", "Ada", "the state"] {
                assert!(!fault.detail.contains(secret), "{secret} leaks: {}", fault.detail);
            }
            fault.code
        })
    }
}

fn connector(base: &str, more: &str, internal: &str) -> Result<Oauth2Connector, ConnectorRefused> {
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
    let file: ConnectorFile = toml::from_str(&text).unwrap();
    let ConnectorKind::Oauth2(kind) = &file.kind else { panic!("not oauth2") };
    let env = Env::new(
        Arc::new(HandClock::at(Timestamp::from_seconds(NOW))),
        Arc::new(SeededEntropy::new(3)),
    );
    let keys = Arc::new(ArcSwap::from_pointee(UpstreamKeys::none()));
    let means = ConnectorContext {
        env,
        keys,
        sandbox: Sandbox::Off,
        guards: Guards::default(),
        codes: crate::connector::one_time::in_memory::codes(),
    };
    Oauth2Connector::new("hosting".into(), &file, kind, Some(Secret::new(SECRET.into())), means)
}

fn departure() -> Departure {
    Departure {
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

fn arrival() -> Arrival {
    Arrival { code: Some(Secret::new("c-1".into())), ..Arrival::default() }
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn named<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[tokio::test]
async fn a_sound_login_passes_with_what_userinfo_says() {
    let world = World::new().await;
    let proven = world.complete().await.unwrap();
    assert_eq!(proven.upstream_subject.reveal(), "4242");
    assert_eq!(
        (proven.level, proven.auth_time.seconds(), proven.amr),
        (Level::Eidas1, NOW, crate::assurance::amr::Told::Nothing)
    );
    let said = json!({ "id": 4242, "login": "ada", "name": "Ada", "email": null, "plan": { "seats": [1] } });
    assert_eq!(Value::Object(proven.claims), said, "as it came: mapping is another's");
    assert!(proven.id_token.is_none());
    let script = world.script();
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
    for head in [&token.head, &userinfo.head] {
        assert!(head.to_ascii_lowercase().contains("accept: application/json"), "{head}");
    }
    assert!(userinfo.head.contains("authorization: Bearer at-1") && userinfo.target == "/user");
}

#[tokio::test]
async fn the_secret_travels_in_the_header_where_basic_is_registered() {
    let world = World::with("token_endpoint_auth_method = \"client_secret_basic\"").await;
    world.complete().await.unwrap();
    let script = world.script();
    assert!(
        script.log[0].head.contains("authorization: Basic ")
            && !script.log[0].body.contains("client_secret")
    );
}

#[tokio::test]
async fn the_browser_leaves_with_state_pkce_and_what_asks_for_a_fresh_login() {
    let world = World::with("authorize_params = { allow_signup = \"false\" }").await;
    let left = world.connector.begin(departure()).await.unwrap();
    let challenge = digest::base64url(&digest::sha256("v".repeat(43).as_bytes()));
    let url = Url::parse(&left.url).unwrap();
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
        "nothing of the person, and prompt without being asked"
    );
    assert_eq!(
        (left.issuer.as_str(), left.client_id.as_str(), left.iss_expected),
        ("https://hosting.example", "hub", false)
    );
}

#[tokio::test]
async fn every_unfit_token_answer_is_refused_with_its_own_code() {
    let world = World::new().await;
    let token = |answer: Value| Told::json(&answer);
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
    for (attack, told, expected) in table {
        world.script().token = told;
        assert_eq!(world.complete().await.err(), Some(expected), "{attack}");
        assert!(
            world.script().log.drain(..).all(|asked| asked.target == "/token"),
            "{attack}: userinfo was asked"
        );
    }
}

#[tokio::test]
async fn every_unfit_userinfo_is_refused_with_its_own_code() {
    let world = World::new().await;
    let about = |id: Value| Told::json(&json!({ "id": id, "name": "Ada" }));
    let nobody = ErrorCode::UserinfoSubjectMissing;
    let table = [
        ("html", html(), ErrorCode::UserinfoMalformed),
        ("a_list", body(200, "[]"), ErrorCode::UserinfoMalformed),
        ("id_twice", body(200, r#"{"id":1,"id":2}"#), ErrorCode::UserinfoMalformed),
        (
            "long",
            Told::json(&json!({ "id": 1, "name": "x".repeat(64 << 10) })),
            ErrorCode::UserinfoMalformed,
        ),
        ("huge", body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
        ("token_refused", body(401, "{}"), ErrorCode::UserinfoRefused),
        ("down", body(500, "{}"), ErrorCode::IdpStatus),
        ("no_subject", Told::json(&json!({ "sub": "4242" })), nobody),
        ("empty_subject", about(json!("")), nobody),
        ("blank_subject", about(json!(" ")), nobody),
        ("null_subject", about(json!(null)), nobody),
        ("list_of_subjects", about(json!([4242])), nobody),
        ("object_for_subject", about(json!({ "id": 4242 })), nobody),
        ("true_for_subject", about(json!(true)), nobody),
        ("fraction_for_subject", about(json!(4242.5)), nobody),
        ("number_too_large_to_be_exact", body(200, r#"{"id":36893488147419103232}"#), nobody),
        ("endless_subject", about(json!("x".repeat(256))), nobody),
    ];
    for (attack, told, expected) in table {
        world.script().userinfo = told;
        assert_eq!(world.complete().await.err(), Some(expected), "{attack}");
    }
    for (id, subject) in
        [(json!("u-1"), "u-1"), (json!(-7), "-7"), (json!(u64::MAX), "18446744073709551615")]
    {
        world.script().userinfo = about(id);
        assert_eq!(world.complete().await.unwrap().upstream_subject.reveal(), subject);
    }
}

#[tokio::test]
async fn a_mixed_up_or_refused_callback_calls_nobody() {
    let world = World::new().await;
    let attempt = world.attempt().await;
    let expecting =
        Attempt { left: AuthorizationRedirect { iss_expected: true, ..attempt.left.clone() }, ..attempt.clone() };
    let other = Attempt {
        left: AuthorizationRedirect { client_id: "other".into(), ..attempt.left.clone() },
        ..attempt.clone()
    };
    let from = |iss: &str| Arrival { iss: Some(iss.into()), ..arrival() };
    let error =
        |error: &str| Arrival { code: None, error: Some(error.into()), ..Arrival::default() };
    let table = [
        (
            "iss_of_another_provider",
            attempt.clone(),
            from("https://evil.example"),
            ErrorCode::IdpIssWrong,
        ),
        ("announced_iss_missing", expecting, arrival(), ErrorCode::IdpIssMissing),
        ("connector_changed_meanwhile", other, arrival(), ErrorCode::IdpIssWrong),
        ("the_person_refused", attempt.clone(), error("access_denied"), ErrorCode::IdpDenied),
        (
            "error_with_iss_of_another",
            attempt.clone(),
            Arrival { error: Some("x".into()), ..from("https://evil.example") },
            ErrorCode::IdpIssWrong,
        ),
        (
            "error_with_control_characters",
            attempt.clone(),
            error("server\u{1b}[2J"),
            ErrorCode::IdpError,
        ),
        ("nothing", attempt.clone(), Arrival::default(), ErrorCode::IdpCallbackMalformed),
    ];
    for (attack, attempt, arrival, expected) in table {
        assert_eq!(world.arrive(attempt, arrival).await.err(), Some(expected), "{attack}");
    }
    assert_eq!(world.server.asked(), 0);
    assert!(
        world.arrive(attempt, from("https://hosting.example")).await.is_ok(),
        "its own iss is welcome"
    );
}

#[tokio::test]
async fn the_code_goes_to_the_pinned_token_endpoint_only() {
    let world = World::new().await;
    let attempt = world.attempt().await;
    let elsewhere = format!("{}/old-token", world.server.base());
    let pinned =
        Attempt { left: AuthorizationRedirect { token_endpoint: elsewhere, ..attempt.left.clone() }, ..attempt };
    let _refused = world.arrive(pinned, arrival()).await;
    assert!(world.script().log.iter().all(|asked| asked.target == "/old-token"));
}

#[tokio::test]
async fn more_than_the_assumed_level_is_never_reached() {
    let world = World::new().await;
    let attempt = Attempt { level: Level::Eidas2, ..world.attempt().await };
    assert_eq!(world.arrive(attempt, arrival()).await.err(), Some(ErrorCode::AcrTooLow));
}

#[test]
fn an_address_in_the_private_network_is_refused_before_anything_is_sent() {
    let refused = connector("http://127.0.0.1:1", "", "").err().unwrap();
    assert_eq!(refused.key, "kind.oauth2.endpoints.authorization");
    assert!(refused.mend.contains("internal_hosts"), "{refused}");
}

#[tokio::test]
async fn an_examined_provider_is_told_in_words() {
    use crate::connector::finding::Verdict;
    let examination = Examination {
        redirect_uri: "https://hub.example/api/v2/callback/hub".into(),
        needed: vec![],
    };
    let world = World::new().await;
    world.script().userinfo = body(401, "{}");
    for (token, verdict) in [
        (body(400, r#"{"error":"invalid_grant"}"#), Verdict::Ok),
        (body(200, r#"{"error":"bad_verification_code"}"#), Verdict::Ok),
        (body(401, r#"{"error":"invalid_client"}"#), Verdict::Fault),
        (body(200, r#"{"error":"incorrect_client_credentials"}"#), Verdict::Fault),
        (body(200, r#"{"access_token":"at-1","token_type":"bearer"}"#), Verdict::Fault),
        (html(), Verdict::Fault),
    ] {
        world.script().token = token;
        let found = world.connector.examine(&examination).await;
        let verdicts: Vec<_> =
            found.iter().map(|finding| (finding.name, finding.verdict)).collect();
        let expected = [
            ("reachable", Verdict::Ok),
            ("certificate", Verdict::Warning),
            ("userinfo", Verdict::Ok),
            ("client-authentication", verdict),
        ];
        assert_eq!(
            verdicts, expected,
            "one host is told of once, and there is no TLS in this test"
        );
        let page = include_str!("../../../docs/checking-a-connector.md");
        for Finding { name, what, .. } in &found {
            assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
            assert!(!what.contains(SECRET) && !what.contains("at-1"), "{what}");
        }
    }
    let asked =
        world.script().log.iter().any(|asked| asked.target == "/token" && asked.method == "POST");
    assert!(asked, "the endpoint is asked as a login asks it");
}
