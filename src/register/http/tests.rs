//! The adapter against a server on loopback; mutual TLS is tested from outside, in `tests/peers/register.test.mjs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::X509Builder;
use serde_json::{Value, json};

use super::*;
use crate::egress::fake::{FakeServer, Told};
use crate::ids::Secret;
use crate::register::conformance::{configured, http_register, metrics, person, support_id};

fn angela() -> Identity {
    person(["Angela", "DUBOIS", "1962-08-24", "female", "75107", "99100"])
}

fn identity() -> Value {
    json!({"given_names": ["Angela"], "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female",
        "birthplace": "75107", "birthcountry": "99100"})
}

fn found() -> Told {
    Told::json(&json!({"outcome": "found", "identity": identity()}))
}

fn json_text(text: impl Into<Vec<u8>>) -> Told {
    Told { body: text.into(), ..Told::json(&Value::Null) }
}

async fn answer_to(told: Told) -> Result<Answer, RegisterFault> {
    let server = FakeServer::start(move |_| told.clone()).await;
    http_register(&server.base(), &metrics()).identify(&angela(), &support_id()).await
}

/// The committed contract says what this adapter does.
#[test]
fn the_committed_contract_is_the_codes() {
    let contract = include_str!("../../../docs/register.openapi.yaml");
    let labels = ["found", "corrected", "not_found", "several", "deceased", "refused"].join(", ");
    for said in [
        "\n  /identify:\n    post:",
        "\n  /health:\n    get:",
        "name: X-Request-Id",
        &format!("enum: [{labels}]"),
        &format!("{} seconds and {} KiB", LIMIT.as_secs(), contract::LARGEST >> 10),
        "five calls in a row without an answer the hub leaves the register alone for ten seconds",
        "required: [birthdate, gender, birthcountry]",
    ] {
        assert!(contract.contains(said), "{said}");
    }
    assert_eq!((breaker::FAILURES, breaker::PAUSE.as_secs()), (5, 10));
    for member in identity().as_object().unwrap().keys() {
        assert!(contract.contains(&format!("\n        {member}:")), "{member}");
    }
}

#[tokio::test]
async fn the_question_carries_the_pivot_in_its_body_and_nothing_more() {
    let server = FakeServer::start(|asked| {
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/identify"));
        assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), identity());
        let head = asked.head.to_ascii_lowercase();
        for line in [
            "authorization: bearer t0ken==",
            "x-request-id: 0123456789ab",
            "content-type: application/json",
        ] {
            assert!(head.contains(line), "{line} is missing in {head}");
        }
        assert!(!asked.head.contains("DUBOIS") && !asked.body.contains("who@example.org"));
        found()
    })
    .await;
    let answer = http_register(&server.base(), &metrics()).identify(&angela(), &support_id()).await;
    assert!(
        matches!(answer, Ok(Answer::Found(known)) if *known == Identity { email: None, ..angela() })
    );
}

/// Every way to break the contract: its code, and words for the operator that hold no value (decisions 7).
#[tokio::test]
async fn an_answer_that_breaks_the_contract_is_refused_with_a_code_and_a_word() {
    let with = |name: &str, value: Value| {
        let mut identity = identity();
        identity[name] = value;
        Told::json(&json!({"outcome": "found", "identity": identity}))
    };
    let table = [
        (
            Told { headers: vec![("content-type", "text/html".into())], ..found() },
            "Y010006",
            "application/json",
        ),
        (Told { headers: vec![], ..found() }, "Y010006", "application/json"),
        (json_text("{\"outcome\":"), "Y010006", "not one JSON object"),
        (json_text("[]"), "Y010006", "not one JSON object"),
        (json_text(r#"{"outcome":"not_found","outcome":"found"}"#), "Y010006", "a member twice"),
        (
            json_text(format!(
                "{{\"outcome\":\"found\",\"identity\":{0}, \"x\":{{\"a\":1,\"a\":2}}}}",
                identity()
            )),
            "Y010006",
            "twice",
        ),
        (json_text(" ".repeat(contract::LARGEST + 1)), "Y010006", "larger than 65536 bytes"),
        (Told::json(&json!({})), "Y010006", "`outcome` is missing"),
        (Told::json(&json!({"outcome": true})), "Y010006", "`outcome` is missing, or is no string"),
        (
            Told::json(&json!({"outcome": "FOUND", "identity": identity()})),
            "Y010006",
            "`outcome` is none of",
        ),
        (Told::json(&json!({"outcome": "found"})), "Y010006", "`identity` is missing"),
        (
            Told::json(&json!({"outcome": "corrected", "identity": null})),
            "Y010006",
            "`identity` is missing",
        ),
        (
            Told::json(&json!({"outcome": "found", "identity": [identity()]})),
            "Y010006",
            "not an object",
        ),
        (
            Told::json(&json!({"outcome": "deceased", "identity": identity()})),
            "Y010006",
            "allows none",
        ),
        (
            with("family_name", json!(["DUBOIS"])),
            "Y010006",
            "`identity.family_name` is not a string",
        ),
        (with("birthdate", json!(19_620_824)), "Y010006", "`identity.birthdate` is not a string"),
        (with("given_names", json!("Angela")), "Y010006", "`identity.given_names` is not an array"),
        (
            with("given_names", json!(["Angela", 7])),
            "Y010006",
            "`identity.given_names` is not an array",
        ),
        (with("family_name", json!("SOMEBODY ELSE")), "Y010006", "not the person asked about"),
        (
            with("birthdate", json!("1962-02-30")),
            "Y010008",
            "birthdate: must be a day of the calendar",
        ),
        (with("birthdate", json!("1962-08-24T00:00:00Z")), "Y010008", "birthdate: must be a day"),
        (with("birthdate", Value::Null), "Y010008", "birthdate: required"),
        (
            with("birthplace", Value::Null),
            "Y010008",
            "birthplace: required for a birth in the home country",
        ),
        (with("birthcountry", json!("FR")), "Y010008", "birthcountry: must be a geographic code"),
        (with("gender", json!("F")), "Y010008", "gender: must be male"),
        (
            with("family_name", json!("DUBOIS\u{202e}")),
            "Y010008",
            "family_name: must have no control",
        ),
    ];
    for (told, code, word) in table {
        let body = String::from_utf8_lossy(&told.body[..told.body.len().min(300)]).into_owned();
        let fault = answer_to(told).await.expect_err(&body);
        assert_eq!(fault.code().entry().code, code, "{body}: {fault}");
        let text = fault.to_string();
        assert!(text.contains(word), "{body}: {text}");
        assert!(
            !["DUBOIS", "Angela", "1962", "SOMEBODY"].iter().any(|value| text.contains(value)),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_answer_about_another_person_signs_nobody_in() {
    let other = json!({"given_names": ["Eve"], "birthdate": "1990-01-01", "gender": "female", "birthcountry": "99134"});
    let fault =
        answer_to(Told::json(&json!({"outcome": "found", "identity": other}))).await.unwrap_err();
    assert_eq!(fault.label(), "contract");
    // Written otherwise, it is the same person; and a correction may change what it must.
    let mut spelled = identity();
    spelled["family_name"] = json!("Dubois");
    assert!(matches!(
        answer_to(Told::json(&json!({"outcome": "found", "identity": spelled}))).await,
        Ok(Answer::Found(_))
    ));
    spelled["family_name"] = json!("DUBOIS MARTIN");
    let corrected =
        json!({"outcome": "corrected", "identity": spelled, "more": {"than": ["asked"]}});
    assert!(matches!(answer_to(Told::json(&corrected)).await, Ok(Answer::Corrected(_))));
}

#[tokio::test]
async fn a_status_that_is_no_answer_is_unavailable_and_says_what_to_look_at() {
    for (status, hint) in [
        (500, "status 500"),
        (503, "status 503"),
        (429, "status 429"),
        (400, "status 400; it finds the question malformed"),
        (401, "register.http.bearer"),
        (403, "register.http.client_certificate"),
        (404, "register.http.url"),
        (204, "the contract knows no such answer"),
    ] {
        let fault = answer_to(Told { status, ..found() }).await.unwrap_err();
        assert_eq!(fault.code().entry().code, "Y010005");
        assert!(fault.to_string().contains(hint), "{fault}");
    }
    let elsewhere = Told {
        status: 307,
        headers: vec![("location", "http://169.254.169.254/".into())],
        body: vec![],
    };
    assert!(
        answer_to(elsewhere).await.unwrap_err().to_string().contains("a redirect is not followed")
    );
}

/// Accepts connections and treats the first `cut` of them badly: closes them after the question, without a word.
async fn moody(cut: usize) -> (String, Arc<AtomicUsize>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (base, seen) =
        (format!("http://{}", listener.local_addr().unwrap()), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _read = stream.read(&mut buffer).await;
            if counter.fetch_add(1, Ordering::SeqCst) < cut {
                continue;
            }
            let body = json!({"outcome": "found", "identity": identity()}).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _sent = stream
                .write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
                .await;
        }
    });
    (base, seen)
}

#[tokio::test]
async fn a_cut_connection_is_tried_once_more_and_no_oftener() {
    let metrics = metrics();
    let (base, seen) = moody(1).await;
    let register = http_register(&base, &metrics);
    assert!(matches!(register.identify(&angela(), &support_id()).await, Ok(Answer::Found(_))));
    assert_eq!(seen.load(Ordering::SeqCst), 2);
    assert!(metrics.render().contains("passerelle_register_retries_total 1"));
    let (base, seen) = moody(usize::MAX).await;
    let fault =
        http_register(&base, &metrics).identify(&angela(), &support_id()).await.unwrap_err();
    assert_eq!((fault.label(), seen.load(Ordering::SeqCst)), ("unavailable", 2));
}

#[tokio::test]
async fn a_silent_register_is_given_up_on_in_time_and_not_asked_again() {
    // Bound and listening, but nobody accepts: the kernel connects, and no byte ever comes back.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = metrics();
    let register = http_register(&format!("http://{}", silent.local_addr().unwrap()), &metrics);
    tokio::time::pause();
    let asked = Instant::now();
    let fault = register.identify(&angela(), &support_id()).await.unwrap_err();
    assert!(asked.elapsed() <= LIMIT + Duration::from_millis(10), "{:?}", asked.elapsed());
    assert_eq!(fault, RegisterFault::Unavailable("127.0.0.1 did not answer in time".into()));
    assert!(!metrics.render().contains("passerelle_register_retries_total 1"));
}

#[tokio::test]
async fn a_register_that_fails_is_left_alone_and_asked_again_after_a_pause() {
    let (well, metrics) = (Arc::new(AtomicUsize::new(0)), metrics());
    let mood = Arc::clone(&well);
    let server = FakeServer::start(move |_| {
        if mood.load(Ordering::SeqCst) == 0 { Told::status(500) } else { found() }
    })
    .await;
    let register = http_register(&server.base(), &metrics);
    let ask = async || {
        register
            .identify(&angela(), &support_id())
            .await
            .map(|answer| answer.label())
            .map_err(|fault| fault.label())
    };
    for _ in 0..breaker::FAILURES {
        assert_eq!(ask().await, Err("unavailable"));
    }
    let asked = server.asked();
    assert_eq!(ask().await, Err("breaker_open"));
    assert_eq!(server.asked(), asked, "nothing goes out");
    assert_eq!(RegisterFault::BreakerOpen.code().entry().code, "Y010005");
    assert!(metrics.render().contains("passerelle_register_breaker{state=\"open\"} 1"));
    well.store(1, Ordering::SeqCst);
    tokio::time::pause();
    tokio::time::advance(breaker::PAUSE).await;
    tokio::time::resume();
    assert_eq!(ask().await, Ok("found"));
    let text = metrics.render();
    assert!(text.contains("passerelle_register_breaker{state=\"closed\"} 1"), "{text}");
    assert!(text.contains("passerelle_register_breaker{state=\"open\"} 0"), "{text}");
}

#[tokio::test]
async fn one_persons_broken_record_does_not_shut_everybody_out() {
    let server = FakeServer::start(|_| {
        Told::json(&json!({"outcome": "found", "identity": {"birthdate": "1962-02-30"}}))
    })
    .await;
    let register = http_register(&server.base(), &metrics());
    for _ in 0..=breaker::FAILURES {
        assert_eq!(
            register.identify(&angela(), &support_id()).await.unwrap_err().label(),
            "identity"
        );
    }
}

/// One person whose data the register can't read must not shut everybody out by trying again and again.
#[tokio::test]
async fn a_question_that_the_register_finds_malformed_does_not_open_the_circuit() {
    let server = FakeServer::start(|_| Told::status(400)).await;
    let register = http_register(&server.base(), &metrics());
    for _ in 0..=breaker::FAILURES {
        assert_eq!(
            register.identify(&angela(), &support_id()).await.unwrap_err().label(),
            "unavailable"
        );
    }
    assert_eq!(server.asked(), breaker::FAILURES as usize + 1);
}

#[tokio::test]
async fn what_is_not_known_is_left_out_of_the_question() {
    let server = FakeServer::start(|asked| {
        let question: Value = serde_json::from_str(&asked.body).unwrap();
        let members: std::collections::BTreeSet<_> =
            question.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            members,
            std::collections::BTreeSet::from([
                "birthcountry",
                "birthdate",
                "family_name",
                "gender"
            ])
        );
        Told::json(&json!({"outcome": "not_found"}))
    })
    .await;
    let nameless = Identity {
        given_names: Vec::new(),
        ..person(["", "PELÉ", "1944-00-00", "male", "", "99341"])
    };
    let answer = http_register(&server.base(), &metrics()).identify(&nameless, &support_id()).await;
    assert_eq!(answer, Ok(Answer::NotFound));
}

#[tokio::test]
async fn a_question_beyond_the_limit_is_refused_and_no_fault_of_the_register() {
    let server = FakeServer::start(|_| found()).await;
    let configured = model::HttpRegister { calls: 0, ..configured(&server.base()) };
    let now = Timestamp::from_seconds(1);
    let register =
        HttpRegister::new(&configured, &RegisterCredentials::default(), "99100", metrics(), now)
            .unwrap();
    let fault = register.identify(&angela(), &support_id()).await.unwrap_err();
    assert_eq!(
        (fault.code().entry().code, fault.was_asked(), server.asked()),
        ("Y010007", false, 0)
    );
}

#[tokio::test]
async fn health_is_asked_without_naming_anybody() {
    let server = FakeServer::start(|asked| {
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str(), asked.body.as_str()),
            ("GET", "/health", "")
        );
        Told::status(204)
    })
    .await;
    assert_eq!(http_register(&server.base(), &metrics()).probe().await, Ok(()));
    let ill = FakeServer::start(|_| Told::status(503)).await;
    assert_eq!(
        http_register(&ill.base(), &metrics()).probe().await.unwrap_err().label(),
        "unavailable"
    );
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Valid from the epoch to `until`, in seconds.
fn certificate(key: &PKey<Private>, until: i64) -> String {
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap(); // X.509 v3
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(until).unwrap()).unwrap();
    builder.sign(key, MessageDigest::sha256()).unwrap();
    String::from_utf8(builder.build().to_pem().unwrap()).unwrap()
}

#[test]
fn certificates_that_can_not_work_are_told_before_the_first_login() {
    let (own, other) = (key(), key());
    let pem =
        |key: &PKey<Private>| String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    let (good, secret) = (certificate(&own, 2_000_000_000), pem(&own));
    let identity = |certificate: &str, key: &str| RegisterCredentials {
        identity: Some(Secret::new(format!("{certificate}\n{key}\n"))),
        ..Default::default()
    };
    let ca = |text: &str| RegisterCredentials { ca: Some(text.to_owned()), ..Default::default() };
    let cut = good.replace("MI", "!!");
    let new = |credentials: &RegisterCredentials| {
        let configured =
            model::HttpRegister { insecure_http: false, ..configured("https://127.0.0.1/v1") };
        HttpRegister::new(
            &configured,
            credentials,
            "99100",
            metrics(),
            Timestamp::from_seconds(1_900_000_000),
        )
    };
    for (credentials, key, word) in [
        (identity(&good, &pem(&other)), "client_key", "not the key of the certificate"),
        (identity(&good, ""), "client_key", "no private key"),
        (identity(&cut, &secret), "client_certificate", "can't be read"),
        (identity(&certificate(&own, 1_899_999_999), &secret), "client_certificate", "has expired"),
        (ca(&cut), "ca", "can't be read"),
    ] {
        let refused = new(&credentials).err().expect(word);
        assert!(refused.key == key && refused.why.contains(word), "{refused}");
        assert!(!refused.to_string().contains("PRIVATE"));
    }
    assert!(new(&identity(&good, &secret)).is_ok());
    assert!(new(&ca(&good)).is_ok());
    let refused = HttpRegister::new(
        &model::HttpRegister { insecure_http: false, ..configured("http://127.0.0.1/v1") },
        &RegisterCredentials::default(),
        "99100",
        metrics(),
        Timestamp::from_seconds(1),
    );
    assert!(refused.is_err_and(|refused| refused.key == "url"));
}
