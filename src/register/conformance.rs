//! For tests: one table that every register must answer alike, asked of each kind (decisions 7).

use std::sync::Arc;

use serde_json::{Value, json};

use super::file::FileRegister;
use super::http::HttpRegister;
use super::{Answer, Register};
use crate::config::RegisterCredentials;
use crate::config::model;
use crate::egress::fake::{Asked, FakeServer, Told};
use crate::env::Timestamp;
use crate::identity::Identity;
use crate::identity::rules::{Required, Rules};
use crate::identity::standard::StandardClaims;
use crate::ids::SupportId;
use crate::telemetry::Metrics;

pub(super) fn person([given, family, birthdate, gender, place, country]: [&str; 6]) -> Identity {
    let some = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    Identity {
        given_names: given.split(' ').map(String::from).collect(),
        family_name: some(family),
        birthdate: some(birthdate),
        gender: some(gender),
        birthplace: some(place),
        birthcountry: some(country),
        email: Some("who@example.org".into()),
        preferred_username: None,
        standard: StandardClaims::new(),
    }
}

pub(super) fn support_id() -> SupportId {
    SupportId::new("0123456789AB")
}

pub(super) fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap())
}

/// `[register.http]` for a server on loopback.
pub(super) fn configured(url: &str) -> model::HttpRegister {
    let text = format!("url = \"{url}\"\ninsecure_http = true\ninternal_hosts = [\"127.0.0.1\"]");
    toml::from_str(&text).unwrap()
}

pub(super) fn http_register(url: &str, metrics: &Arc<Metrics>) -> HttpRegister {
    let credentials = RegisterCredentials {
        bearer: Some(crate::ids::Secret::new("t0ken==".into())),
        ..Default::default()
    };
    HttpRegister::new(
        &configured(url),
        &credentials,
        "99100",
        Arc::clone(metrics),
        Timestamp::from_seconds(1),
    )
    .unwrap()
}

/// The other side of the contract, as a register's owner would write it: the demo's persons behind HTTP.
pub(super) fn serve(asked: &Asked, known: &FileRegister) -> Told {
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/v1/identify"));
    let mut question: serde_json::Map<String, Value> = serde_json::from_str(&asked.body).unwrap();
    let names = question.remove("given_names").unwrap();
    question.insert("given_name_array".into(), names);
    let rules = Rules { home_country: "99100".into(), required: Required::Pivot };
    let answer = known.find(&Identity::from_claims(&question, &rules).unwrap());
    let outcome = answer.label();
    Told::json(&match answer {
        Answer::Found(known) | Answer::Corrected(known) => json!({"outcome": outcome, "identity": {
            "given_names": known.given_names, "family_name": known.family_name, "birthdate": known.birthdate,
            "gender": known.gender, "birthplace": known.birthplace, "birthcountry": known.birthcountry}}),
        _ => json!({"outcome": outcome}),
    })
}

/// asked · answer · the code on the page · the code in the log; none where the login goes on.
type Row = ([&'static str; 6], &'static str, Option<(&'static str, &'static str)>);

const TABLE: [Row; 8] = [
    (["Angela Claire Louise", "DUBOIS", "1962-08-24", "female", "75107", "99100"], "found", None),
    (["Mamadou", "DIALLO", "1944-00-00", "male", "", "99341"], "found", None),
    (["jean etienne", "Lefevre", "1978-02-11", "male", "2A004", "99100"], "corrected", None),
    (
        ["Fernand Auguste", "MOREL", "1921-03-05", "male", "69123", "99100"],
        "deceased",
        Some(("Y010000", "Y010003")),
    ),
    (
        ["Odile", "PERRIN", "1955-11-30", "female", "59350", "99100"],
        "refused",
        Some(("Y010000", "Y010004")),
    ),
    (
        ["Paul", "MARTIN", "1970-01-01", "male", "13055", "99100"],
        "several",
        Some(("Y010002", "Y010002")),
    ),
    (
        ["Angela", "DUBOIS", "1962-08-24", "female", "75107", "99100"],
        "not_found",
        Some(("Y010001", "Y010001")),
    ),
    // Without a whole pivot nobody is named, and nobody is asked.
    (["Mamadou", "DIALLO", "", "male", "", "99341"], "not_found", Some(("Y010001", "Y010001"))),
];

/// R008: identity claims come from the register, whichever kind it is.
#[tokio::test]
async fn every_register_answers_alike_and_every_no_ends_under_its_code() {
    let demo = || {
        FileRegister::from_reader(
            "register.csv",
            include_bytes!("../demo/register.csv").as_slice(),
            "99100",
        )
        .unwrap()
    };
    let known = demo();
    let server = FakeServer::start(move |asked| serve(&asked, &known)).await;
    let over_http = http_register(&format!("{}/v1/", server.base()), &metrics());
    let registers: [(&str, &dyn Register); 2] = [("file", &demo()), ("http", &over_http)];
    for (kind, register) in registers {
        for (asked, told, codes) in TABLE {
            let answer = register.identify(&person(asked), &support_id()).await.unwrap();
            assert_eq!(answer.label(), told, "{kind}: {asked:?}");
            match (answer.into_identity(), codes) {
                (Ok(known), None) => {
                    assert_eq!(known.email, None, "{kind}: the register's own data")
                }
                (Err(code), Some((shown, logged))) => {
                    assert_eq!(code.entry().code, logged, "{kind}: {asked:?}");
                    assert_eq!((code.entry().status, code.entry().oauth), (403, "access_denied"));
                    // What the page shows instead is `web::pages::error`'s; here, that the texts don't differ.
                    if shown != logged {
                        let family = crate::protocol::catalogue::ErrorCode::RegisterAnswer.entry();
                        assert_eq!(
                            (code.entry().text, code.entry().description),
                            (family.text, family.description)
                        );
                        assert_eq!(family.code, shown);
                    }
                }
                (outcome, _) => panic!("{kind}: {asked:?}: {outcome:?}"),
            }
        }
    }
    assert_eq!(server.asked(), TABLE.len() - 1);
}
