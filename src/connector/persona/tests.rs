use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::connector::one_time::in_memory;
use crate::env::{HandClock, SeededEntropy};

fn file(levels: &str) -> ConnectorFile {
    toml::from_str(&format!(
        "name = {{ en = \"X\" }}\namr = [\"pwd\"]\n{levels}\nkind.persona = {{}}"
    ))
    .unwrap()
}

fn means(env: Env, sandbox: Sandbox) -> ConnectorContext {
    let keys = Arc::new(arc_swap::ArcSwap::from_pointee(crate::token::UpstreamKeys::none()));
    ConnectorContext {
        env,
        keys,
        sandbox,
        guards: crate::egress::shared::Guards::default(),
        codes: in_memory::codes(),
    }
}

fn sandbox() -> (Arc<HandClock>, PersonaConnector) {
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
    let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(7)));
    let file = file("levels = { lowest = \"eidas1\", highest = \"eidas2\" }");
    let kind = PersonaKind { persons: None };
    (clock, PersonaConnector::new("sun".into(), &file, &kind, means(env, Sandbox::On)).unwrap())
}

fn departure() -> Departure {
    Departure {
        state: "s1".into(),
        nonce: "n".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/sun".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        login_hint: None,
        ui_locales: None,
    }
}

async fn attempt(connector: &PersonaConnector, level: Level) -> Attempt {
    let left = connector.begin(departure()).await.unwrap();
    let Departure { state, nonce, verifier, redirect_uri, .. } = departure();
    Attempt {
        connector: "sun".into(),
        state,
        nonce,
        verifier,
        redirect_uri,
        level,
        reauthenticate: false,
        max_age: None,
        left_at: Timestamp::from_seconds(1_000_000),
        left,
    }
}

fn form(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut form = vec![("state", "s1"), ("person", "angela"), ("level", "eidas1")];
    form.retain(|(name, _)| !fields.iter().any(|(other, _)| other == name));
    form.extend(fields);
    form.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn arrival(query: &str) -> Arrival {
    let mut query: BTreeMap<String, String> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!(query.remove("state").as_deref(), Some("s1"));
    Arrival {
        code: query.remove("code").map(Secret::new),
        iss: query.remove("iss"),
        error: query.remove("error"),
        error_description: None,
    }
}

#[test]
fn persona_is_refused_outside_a_sandbox() {
    let file = file("levels = { lowest = \"eidas1\", highest = \"eidas1\" }");
    let off = means(Env::system(), Sandbox::Off);
    let refused =
        PersonaConnector::new("sun".into(), &file, &PersonaKind { persons: None }, off).err();
    assert_eq!(refused.unwrap().key, "kind.persona");
}

#[tokio::test]
async fn a_picked_person_arrives_with_level_and_methods() {
    let (_, connector) = sandbox();
    let attempt = attempt(&connector, Level::Eidas2).await;
    assert_eq!(attempt.left.url, "https://hub.example/sandbox/sun?state=s1&level=eidas1");
    let query = connector
        .choose(&form(&[("level", "eidas2"), ("method", "pwd"), ("method", "otp")]))
        .await
        .unwrap();
    let proven = connector.complete(attempt, arrival(&query)).await.unwrap();
    assert_eq!(
        (proven.level, proven.amr, proven.auth_time.seconds()),
        (Level::Eidas2, Told::these(&["pwd", "otp"]), 1_000_000)
    );
    let expected = serde_json::json!({
        "given_name": "Angela Claire Louise", "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female",
        "birthplace": "75107", "birthcountry": "99100", "email": "angela@example.org",
    });
    assert_eq!(Value::Object(proven.claims), expected);
}

#[tokio::test]
async fn a_sandbox_code_works_once_in_its_minute_for_its_own_attempt() {
    let (clock, connector) = sandbox();
    let attempt = attempt(&connector, Level::Eidas1).await;
    let code =
        async |connector: &PersonaConnector| arrival(&connector.choose(&form(&[])).await.unwrap());
    let refused = Some(ErrorCode::IdpCodeRefused);
    let once = code(&connector).await;
    assert!(connector.complete(attempt.clone(), once.clone()).await.is_ok());
    assert_eq!(
        connector.complete(attempt.clone(), once).await.err().map(|fault| fault.code),
        refused
    );
    let other = Attempt { state: "another".into(), ..attempt.clone() };
    assert_eq!(
        connector.complete(other, code(&connector).await).await.err().map(|fault| fault.code),
        refused
    );
    let late = code(&connector).await;
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(connector.complete(attempt, late).await.err().map(|fault| fault.code), refused);
}

#[tokio::test]
async fn every_failure_can_be_played() {
    let (_, connector) = sandbox();
    for failure in Failure::ALL {
        let attempt = attempt(&connector, Level::Eidas1).await;
        let query = connector.choose(&form(&[("failure", failure.as_str())])).await.unwrap();
        let outcome = connector.complete(attempt, arrival(&query)).await;
        match failure {
            Failure::Cancel => assert_eq!(outcome.unwrap_err().code, ErrorCode::IdpDenied),
            Failure::Error => assert_eq!(outcome.unwrap_err().code, ErrorCode::IdpError),
            Failure::LevelTooLow => assert_eq!(outcome.unwrap_err().code, ErrorCode::AcrTooLow),
            Failure::MissingClaim => assert!(!outcome.unwrap().claims.contains_key("birthdate")),
            Failure::UnknownPerson => assert_ne!(outcome.unwrap().claims["family_name"], "DUBOIS"),
        }
    }
    let attempt = attempt(&connector, Level::Eidas2).await;
    let low =
        connector.complete(attempt, arrival(&connector.choose(&form(&[])).await.unwrap())).await;
    assert_eq!(low.unwrap_err().code, ErrorCode::AcrTooLow);
}

#[tokio::test]
async fn an_answer_with_a_wrong_or_missing_iss_is_refused() {
    let (_, connector) = sandbox();
    for (iss, expected) in
        [(None, ErrorCode::IdpIssMissing), (Some("urn:other".to_owned()), ErrorCode::IdpIssWrong)]
    {
        let attempt = attempt(&connector, Level::Eidas1).await;
        let arrival = Arrival { iss, ..arrival(&connector.choose(&form(&[])).await.unwrap()) };
        assert_eq!(connector.complete(attempt, arrival).await.unwrap_err().code, expected);
    }
}

#[tokio::test]
async fn only_what_is_offered_can_be_picked() {
    let (_, connector) = sandbox();
    for (field, value) in [
        ("person", "nobody"),
        ("person", ""),
        ("level", "eidas3"),
        ("method", "magic"),
        ("failure", "boom"),
        ("state", ""),
    ] {
        assert_eq!(
            connector.choose(&form(&[(field, value)])).await,
            Err(ChoiceFault::Field(field)),
            "{field}={value}"
        );
    }
    let offer = connector.offer();
    assert_eq!(offer.levels, [Level::Eidas1, Level::Eidas2]);
    assert_eq!(offer.persons.iter().filter(|person| person.id == "unknown").count(), 1);
}
