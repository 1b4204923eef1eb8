use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::testing::connectors;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use serde_json::Value;

const KIND: &str = "kind.persona = {}";

fn build(
    levels: &str,
    kind: &str,
    env: Env,
    sandbox: SandboxMode,
) -> Result<PersonaConnector, FieldDiagnostic> {
    let text = format!("name = {{ en = \"X\" }}\namr = [\"pwd\"]\n{levels}\n{kind}");
    let configured = connectors::configured("sun", &text, None);
    let context = ConnectorContext { sandbox, ..connectors::context(env) };
    PersonaConnector::new(configured.kind.downcast_ref().unwrap(), &configured, context)
}

fn sandbox() -> (Arc<ManualClock>, PersonaConnector) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
    let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(7)));
    let levels = "levels = { lowest = \"eidas1\", highest = \"eidas2\" }";
    (clock, build(levels, KIND, env, SandboxMode::On).unwrap())
}

fn authorization_request() -> UpstreamAuthorizationRequest {
    UpstreamAuthorizationRequest {
        state: "s1".into(),
        nonce: "n".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/sun".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: None,
        forwarded: BTreeMap::new(),
        requester: None,
        ui_locales: None,
    }
}

async fn attempt(connector: &PersonaConnector, level: Level) -> LoginAttempt {
    let redirect = connector.begin_login(authorization_request()).await.unwrap();
    LoginAttempt {
        connector: "sun".into(),
        request: UpstreamAuthorizationRequest { level, ..authorization_request() },
        redirected_at: Timestamp::from_seconds(1_000_000),
        redirect,
    }
}

#[tokio::test]
async fn login_hint_names_a_person_of_the_sandbox_and_nothing_else() {
    let (_, connector) = sandbox();
    for (hint, person) in [
        ("jean", "&person=jean"),
        ("jean@amandier.example", "&person=jean"),
        ("missing@amandier.example", ""),
        ("jean&level=eidas2", ""),
    ] {
        let hinted = UpstreamAuthorizationRequest {
            login_hint: Some(hint.into()),
            ..authorization_request()
        };
        let url = connector.begin_login(hinted).await.unwrap().url;
        assert_eq!(url, format!("https://hub.example/sandbox/sun?state=s1&level=eidas1{person}"));
    }
}

fn form(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut form = vec![("state", "s1"), ("person", "angela"), ("level", "eidas1")];
    form.retain(|(name, _)| !fields.iter().any(|(other, _)| other == name));
    form.extend(fields);
    form.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn callback(query: &str) -> CallbackParams {
    let mut query: BTreeMap<String, String> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!(query.remove("state").as_deref(), Some("s1"));
    CallbackParams {
        code: query.remove("code").map(Secret::new),
        iss: query.remove("iss"),
        error: query.remove("error"),
        ..CallbackParams::default()
    }
}

#[test]
fn persona_is_rejected_without_sandbox() {
    let levels = "levels = { lowest = \"eidas1\", highest = \"eidas1\" }";
    let rejected = build(levels, KIND, Env::system(), SandboxMode::Off).err();
    assert_eq!(rejected.unwrap().key, "kind.persona");
}

#[tokio::test]
async fn the_authentication_has_the_picked_person_level_and_methods() {
    let (_, connector) = sandbox();
    let attempt = attempt(&connector, Level::Eidas2).await;
    assert_eq!(attempt.redirect.url, "https://hub.example/sandbox/sun?state=s1&level=eidas1");
    let query = connector
        .submit_choice(&form(&[("level", "eidas2"), ("method", "pwd"), ("method", "otp")]))
        .await
        .unwrap();
    let authentication = connector.complete_login(attempt, callback(&query)).await.unwrap();
    assert_eq!(
        (authentication.level, authentication.amr, authentication.auth_time.unwrap().seconds()),
        (Level::Eidas2, UpstreamAmr::from_methods(&["pwd", "otp"]), 1_000_000)
    );
    let expected = serde_json::json!({
        "given_name": "Angela Claire Louise", "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female",
        "birthplace": "75107", "birthcountry": "99100", "email": "angela@example.org",
    });
    assert_eq!(Value::Object(authentication.claims), expected);
}

#[tokio::test]
async fn a_sandbox_code_works_once_in_its_minute_for_its_own_attempt() {
    let (clock, connector) = sandbox();
    let attempt = attempt(&connector, Level::Eidas1).await;
    let code = async |connector: &PersonaConnector| {
        callback(&connector.submit_choice(&form(&[])).await.unwrap())
    };
    let rejected = Some(ErrorCode::IdpCodeRefused);
    let once = code(&connector).await;
    assert!(connector.complete_login(attempt.clone(), once.clone()).await.is_ok());
    assert_eq!(
        connector.complete_login(attempt.clone(), once).await.err().map(|error| error.code),
        rejected
    );
    let mut other = attempt.clone();
    other.request.state = "another".into();
    assert_eq!(
        connector.complete_login(other, code(&connector).await).await.err().map(|error| error.code),
        rejected
    );
    let late = code(&connector).await;
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(
        connector.complete_login(attempt, late).await.err().map(|error| error.code),
        rejected
    );
}

#[tokio::test]
async fn every_failure_can_be_simulated() {
    let (_, connector) = sandbox();
    for failure in SimulatedFailure::ALL {
        let attempt = attempt(&connector, Level::Eidas1).await;
        let query = connector.submit_choice(&form(&[("failure", failure.as_str())])).await.unwrap();
        let outcome = connector.complete_login(attempt, callback(&query)).await;
        match failure {
            SimulatedFailure::Cancel => assert_eq!(outcome.unwrap_err().code, ErrorCode::IdpDenied),
            SimulatedFailure::Error => assert_eq!(outcome.unwrap_err().code, ErrorCode::IdpError),
            SimulatedFailure::LevelTooLow => {
                assert_eq!(outcome.unwrap_err().code, ErrorCode::AcrTooLow)
            }
            SimulatedFailure::MissingClaim => {
                assert!(!outcome.unwrap().claims.contains_key("birthdate"))
            }
            SimulatedFailure::UnknownPerson => {
                assert_ne!(outcome.unwrap().claims["family_name"], "DUBOIS")
            }
        }
    }
    let attempt = attempt(&connector, Level::Eidas2).await;
    let low = connector
        .complete_login(attempt, callback(&connector.submit_choice(&form(&[])).await.unwrap()))
        .await;
    assert_eq!(low.unwrap_err().code, ErrorCode::AcrTooLow);
}

#[tokio::test]
async fn a_callback_with_a_wrong_or_missing_iss_is_rejected() {
    let (_, connector) = sandbox();
    for (iss, expected) in
        [(None, ErrorCode::IdpIssMissing), (Some("urn:other".to_owned()), ErrorCode::IdpIssWrong)]
    {
        let attempt = attempt(&connector, Level::Eidas1).await;
        let callback =
            CallbackParams { iss, ..callback(&connector.submit_choice(&form(&[])).await.unwrap()) };
        assert_eq!(connector.complete_login(attempt, callback).await.unwrap_err().code, expected);
    }
}

#[tokio::test]
async fn only_offered_options_are_accepted() {
    let (_, connector) = sandbox();
    for (field, value) in [
        ("person", "no-such-person"),
        ("person", ""),
        ("level", "eidas3"),
        ("method", "magic"),
        ("failure", "boom"),
        ("state", ""),
    ] {
        assert_eq!(
            connector.submit_choice(&form(&[(field, value)])).await,
            Err(SandboxChoiceError::InvalidField(field)),
            "{field}={value}"
        );
    }
    let offer = connector.offer();
    assert_eq!(offer.levels, [Level::Eidas1, Level::Eidas2]);
    assert_eq!(offer.users.iter().filter(|person| person.id == "unknown").count(), 1);
}
