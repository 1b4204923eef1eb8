//! Tests that every kind of register answers alike.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::file::FileRegister;
use crate::http::HttpRegister;
use crate::http::{HttpRegisterConfig, HttpRegisterCredentials};
use crate::{Register, RegisterAnswer};
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer, ReceivedRequest};
use passerelle_federation::identity::DeclaredValues;
use passerelle_federation::identity::Identity;
use passerelle_federation::identity::StandardClaims;
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use passerelle_telemetry::Metrics;

pub(crate) fn person([given, family, birthdate, gender, place, country]: [&str; 6]) -> Identity {
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
        declared: DeclaredValues::new(),
    }
}

pub(crate) fn support_id() -> SupportId {
    SupportId::new("0123456789AB")
}

pub(crate) fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new().unwrap())
}

/// `[register.http]` for a server on loopback.
pub(crate) fn register_config(url: &str) -> HttpRegisterConfig {
    let text = format!("url = \"{url}\"\ninsecure_http = true\ninternal_hosts = [\"127.0.0.1\"]");
    toml::from_str(&text).unwrap()
}

pub(crate) fn http_register(url: &str, metrics: &Arc<Metrics>) -> HttpRegister {
    let credentials = HttpRegisterCredentials {
        bearer: Some(passerelle_protocol::ids::Secret::new("t0ken==".into())),
        ..Default::default()
    };
    HttpRegister::new(
        &register_config(url),
        &credentials,
        "99100",
        Arc::clone(metrics),
        Timestamp::from_seconds(1),
    )
    .unwrap()
}

/// Serves a register file over the HTTP contract, as a register's operator would.
pub(crate) fn serve(queried: &ReceivedRequest, known: &FileRegister) -> FakeResponse {
    assert_eq!((queried.method.as_str(), queried.target.as_str()), ("POST", "/v1/identify"));
    let mut question: serde_json::Map<String, Value> = serde_json::from_str(&queried.body).unwrap();
    let names = question.remove("given_names").unwrap();
    question.insert("given_name_array".into(), names);
    let rules = IdentityRules { home_country: "99100".into(), required: RequiredClaims::Pivot };
    let answer = known.find(&Identity::from_claims(&question, &rules).unwrap());
    let outcome = answer.label();
    FakeResponse::json(&match answer {
        RegisterAnswer::Found(known) | RegisterAnswer::Corrected(known) => {
            json!({"outcome": outcome, "identity": {
            "given_names": known.given_names, "family_name": known.family_name, "birthdate": known.birthdate,
            "gender": known.gender, "birthplace": known.birthplace, "birthcountry": known.birthcountry}})
        }
        _ => json!({"outcome": outcome}),
    })
}

/// Query, answer, and the codes on the page and in the log; no codes if the login continues.
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
    // An incomplete pivot identifies no person, so no query is sent.
    (["Mamadou", "DIALLO", "", "male", "", "99341"], "not_found", Some(("Y010001", "Y010001"))),
];

/// R008: identity claims come from the register, whichever kind it is.
#[tokio::test]
async fn every_register_answers_alike_and_every_failure_has_its_code() {
    let demo = || {
        FileRegister::from_reader(
            "register.csv",
            include_bytes!("../../../demo/src/register.csv").as_slice(),
            "99100",
        )
        .unwrap()
    };
    let known = demo();
    let server = FakeServer::start(move |queried| serve(&queried, &known)).await;
    let over_http = http_register(&format!("{}/v1/", server.base()), &metrics());
    let registers: [(&str, &dyn Register); 2] = [("file", &demo()), ("http", &over_http)];
    for (kind, register) in registers {
        for (queried, expected, codes) in TABLE {
            let answer = register.identify(&person(queried), &support_id()).await.unwrap();
            assert_eq!(answer.label(), expected, "{kind}: {queried:?}");
            match (answer.into_identity(), codes) {
                (Ok(known), None) => {
                    assert_eq!(known.email, None, "{kind}: the register's own data")
                }
                (Err(code), Some((shown, logged))) => {
                    assert_eq!(code.entry().code, logged, "{kind}: {queried:?}");
                    assert_eq!((code.entry().status, code.entry().oauth), (403, "access_denied"));
                    // `web::pages::error` chooses the code on the page; the texts must not differ.
                    if shown != logged {
                        let family =
                            passerelle_protocol::catalogue::ErrorCode::RegisterAnswer.entry();
                        assert_eq!(
                            (code.entry().page_text, code.entry().description),
                            (family.page_text, family.description)
                        );
                        assert_eq!(family.code, shown);
                    }
                }
                (outcome, _) => panic!("{kind}: {queried:?}: {outcome:?}"),
            }
        }
    }
    assert_eq!(server.request_count(), TABLE.len() - 1);
}
