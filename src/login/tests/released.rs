//! Logins as released hubs have stored them.

use serde_json::{Value, json};

use super::matrix::in_state;
use crate::login::{Login, Spent};
use crate::store::redis::tests::released::{Sample, contains, released};
use crate::store::{Key, Kind};

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

/// One in each state, with and without what came later.
pub(crate) fn samples() -> Vec<Sample> {
    let key = Key { kind: Kind::Login, name: "a hash of the login's cookie".into() };
    let row = |state: &str| {
        let mut value = serde_json::to_value(&in_state(state).0.login).unwrap();
        value["ticket"]["trace"] = json!(TRACE);
        let mut older = value.clone();
        let ticket = older["ticket"].as_object_mut().unwrap();
        for later in ["trace", "spent"] {
            ticket.remove(later);
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
fn logins_of_the_last_release_go_on() {
    let released = released(Kind::Login);
    assert_eq!(released.len(), 2 * STATES.len());
    for sample in released {
        let login: Login = serde_json::from_value(sample.value.clone())
            .unwrap_or_else(|fault| panic!("{}: {fault}", sample.what));
        let again = serde_json::to_value(&login).unwrap();
        assert!(
            contains(&again, &sample.value),
            "{}: {again:#} is not {:#}",
            sample.what,
            sample.value
        );
        let is_older = sample.what.starts_with("an older");
        assert_eq!(login.ticket.trace.is_none(), is_older, "{}", sample.what);
        assert!(!is_older || login.ticket.spent == Spent::default(), "{}", sample.what);
        let name = if sample.what.contains("back at") { "choosing" } else { login.state.name() };
        let last = sample.what.rsplit(' ').next().unwrap();
        assert!(
            name.contains(last) || ["granted", "refused", "choice"].contains(&last),
            "{}: {name}",
            sample.what
        );
    }
}
