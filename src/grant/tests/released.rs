//! Records of sessions, codes, tokens and logouts as earlier releases stored them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, to_value};

use crate::assurance::Level;
use crate::grant::logout::LogoutDestination;
use crate::grant::records::{
    CodeRecord, TokenRecord, assertion_key, code_key, decode_record, logout_destination_key,
    logout_redirect_key, pending_logout_key, session_key, token_key,
};
use crate::session::{FinishedLogin, Session};
use crate::store::RecordKind;
use crate::store::redis::tests::released::{Sample, json_contains, released_samples};
use crate::testing::samples::{OPENED, identified_user};

pub(crate) fn samples() -> Vec<Sample> {
    let token = json!({
        "client_id": "sp", "subject": "pairwise-angela", "scopes": ["openid", "email"], "claims": { "email": "angela@example.org" },
        "support_id": "0123456789AB", "level": to_value(Level::Eidas1).unwrap(), "issued_at": OPENED,
        "subjects_by_sector": { "sector": "pairwise-there" },
        "trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    let mut older = token.clone();
    older.as_object_mut().unwrap().remove("trace");
    let code = json!({
        "redirect_uri": "https://sp.example/cb", "code_challenge": "challenge", "nonce": "nonce", "amr": ["pwd"],
        "claims": { "given_name": "Angela" }, "auth_time": OPENED, "connector": "idp", "obtained": to_value(Level::Eidas1).unwrap(),
        "session": "a session's lineage", "token": token.clone(),
    });
    let mut older_code = code.clone();
    older_code.as_object_mut().unwrap().remove("claims");
    older_code["token"] = older.clone();
    let authentication = identified_user("idp", Level::Eidas1).authentication;
    let finished = FinishedLogin {
        connector: authentication.connector,
        upstream_subject: authentication.upstream_subject,
        level: Level::Eidas1,
        evidence: identified_user("idp", Level::Eidas1).evidence,
        auth_time: OPENED,
        identity: identified_user("idp", Level::Eidas1).identity,
        id_token: authentication.id_token,
    };
    let mut session = Session::start(finished, "a session's lineage", OPENED);
    session.add_participant(&"sp".into());
    let destination = json!({ "service_provider": "sp", "back": { "uri": "https://sp.example/out", "state": "its state" } });
    let families = ["a session's lineage".to_owned(), "a grant".to_owned()].to_vec();
    let kin = |sample: Sample| Sample { families: families.clone(), ..sample };
    vec![
        Sample::new("a session", &session_key("cookie"), to_value(&session).unwrap()),
        kin(Sample::new("a code", &code_key("code"), code.clone())),
        kin(Sample::new("an older code", &code_key("code"), older_code)),
        Sample {
            tombstone: Some("what it issued".into()),
            ..kin(Sample::new("a spent code", &code_key("code"), code))
        },
        kin(Sample::new("a token", &token_key("token"), token)),
        kin(Sample::new("an older token", &token_key("token"), older)),
        Sample::new(
            "a logout's way back",
            &logout_destination_key(&"idp".into(), "state"),
            destination,
        ),
        Sample::new(
            "where a logout went",
            &logout_redirect_key("cookie", b"destination"),
            json!("https://idp.example/out"),
        ),
        Sample::new(
            "a logout that waits",
            &pending_logout_key("ticket"),
            json!([["state", "its state"], ["id_token_hint", "a.b.c"]]),
        ),
        Sample::new("an assertion that was used", &assertion_key(&"sp".into(), "jti"), Value::Null),
    ]
}

fn read<T: DeserializeOwned + Serialize>(sample: &Sample) -> T {
    let read: T =
        decode_record(&sample.bytes()).unwrap_or_else(|_| panic!("{}", sample.description));
    let again = to_value(&read).unwrap();
    assert!(
        json_contains(&again, &sample.value),
        "{}: {again:#} is not {:#}",
        sample.description,
        sample.value
    );
    read
}

#[test]
fn sessions_codes_tokens_and_logouts_of_the_last_release_are_read() {
    for sample in released_samples(RecordKind::Session) {
        assert!(read::<Session>(&sample).has_participant(&"sp".into()));
    }
    for sample in released_samples(RecordKind::Code) {
        let code = read::<CodeRecord>(&sample);
        assert_eq!(
            code.claims.is_empty() && code.token.trace.is_none(),
            sample.description == "an older code",
            "{}",
            sample.description
        );
    }
    for sample in released_samples(RecordKind::Token) {
        assert_eq!(
            read::<TokenRecord>(&sample).trace.is_none(),
            sample.description == "an older token",
            "{}",
            sample.description
        );
    }
    for sample in released_samples(RecordKind::LogoutRedirect) {
        match &*sample.description {
            "where a logout went" => assert_eq!(read::<String>(&sample), "https://idp.example/out"),
            _ => assert!(read::<LogoutDestination>(&sample).return_to.is_some()),
        }
    }
    for sample in released_samples(RecordKind::PendingLogout) {
        assert_eq!(read::<Vec<(String, String)>>(&sample).len(), 2);
    }
    assert!(released_samples(RecordKind::UsedJti).iter().all(|sample| sample.bytes().is_empty()));
}
