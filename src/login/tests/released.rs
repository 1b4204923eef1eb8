//! Tests that logins stored by released versions still load.

use serde_json::{Value, json};

use super::matrix::in_state;
use crate::login::{Login, TimeBreakdown};
use crate::store::redis::tests::released::{Sample, json_contains, released_samples};
use crate::store::{RecordKey, RecordKind};

const STATES: [&str; 10] = [
    "choosing",
    "back at the choice",
    "leaving",
    "away",
    "verifying",
    "identifying",
    "consenting",
    "granted",
    "refused",
    "failed",
];
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Returns a login in each state, with and without the members that later releases added.
pub(crate) fn samples() -> Vec<Sample> {
    let key = RecordKey { kind: RecordKind::Login, name: "a hash of the login's cookie".into() };
    let row = |state: &str| {
        let mut value = serde_json::to_value(&in_state(state).0.login).unwrap();
        value["ticket"]["trace"] = json!(TRACE);
        let mut older = value.clone();
        let context = older["ticket"].as_object_mut().unwrap();
        for later in ["trace", "spent"] {
            context.remove(later);
        }
        if let Some(verifying) =
            older.pointer_mut("/state/Verifying").and_then(Value::as_object_mut)
        {
            verifying.remove("since");
        }
        [
            Sample::new(&format!("a login, {state}"), &key, value),
            Sample::new(&format!("an older login, {state}"), &key, older),
        ]
    };
    STATES.into_iter().flat_map(row).collect()
}

#[test]
fn logins_of_the_last_release_continue() {
    let released = released_samples(RecordKind::Login);
    assert_eq!(released.len(), 2 * STATES.len());
    for mut sample in released {
        // Former releases stored the name of the record in it, and the default mode.
        let context = sample.value["ticket"].as_object_mut().unwrap();
        context.remove("hash");
        context["request"]["redirect"].as_object_mut().unwrap().remove("mode");
        let login: Login = serde_json::from_value(sample.value.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", sample.description));
        let again = serde_json::to_value(&login).unwrap();
        assert!(
            json_contains(&again, &sample.value),
            "{}: {again:#} is not {:#}",
            sample.description,
            sample.value
        );
        let is_older = sample.description.starts_with("an older");
        assert_eq!(login.context.trace.is_none(), is_older, "{}", sample.description);
        assert!(
            !is_older || login.context.time_spent == TimeBreakdown::default(),
            "{}",
            sample.description
        );
        let expected = match sample.description.rsplit(' ').next().unwrap() {
            "choice" => "choosing",
            "leaving" => "preparing_redirect",
            "away" => "awaiting_callback",
            "granted" | "refused" => "completed",
            name => name,
        };
        assert_eq!(login.state.name(), expected, "{}", sample.description);
    }
}
