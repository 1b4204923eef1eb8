//! Tests the adapter against a loopback server; `tests/peers/register.test.mjs` tests mutual TLS.

mod contract_conformance;

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
use crate::testing::register_conformance::{
    http_register, metrics, person, register_config, support_id,
};
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};
use passerelle_protocol::ids::Secret;

fn angela() -> Identity {
    person(["Angela", "DUBOIS", "1962-08-24", "female", "75107", "99100"])
}

fn identity() -> Value {
    json!({"given_names": ["Angela"], "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female",
        "birthplace": "75107", "birthcountry": "99100"})
}

fn found() -> FakeResponse {
    FakeResponse::json(&json!({"outcome": "found", "identity": identity()}))
}

fn json_text(text: impl Into<Vec<u8>>) -> FakeResponse {
    FakeResponse { body: text.into(), ..FakeResponse::json(&Value::Null) }
}

async fn answer_to(response: FakeResponse) -> Result<RegisterAnswer, RegisterError> {
    let server = FakeServer::start(move |_| response.clone()).await;
    http_register(&server.base(), &metrics()).identify(&angela(), &support_id()).await
}

#[tokio::test]
async fn an_unexpected_status_is_unavailable_and_has_a_hint() {
    for (status, hint) in [
        (500, "status 500"),
        (503, "status 503"),
        (429, "status 429"),
        (400, "status 400; it rejects the query as malformed"),
        (401, "register.http.bearer"),
        (403, "register.http.client_certificate"),
        (404, "register.http.url"),
        (204, "the contract has no such status"),
    ] {
        let error = answer_to(FakeResponse { status, ..found() }).await.unwrap_err();
        assert_eq!(error.code().entry().code, "Y010005");
        assert!(error.to_string().contains(hint), "{error}");
    }
    let elsewhere = FakeResponse {
        status: 307,
        headers: vec![("location", "http://169.254.169.254/".into())],
        body: vec![],
    };
    assert!(
        answer_to(elsewhere).await.unwrap_err().to_string().contains("a redirect is not followed")
    );
}

/// Starts a server that closes the first `cut` connections after the query, without a response.
async fn server_with_cut_connections(cut: usize) -> (String, Arc<AtomicUsize>) {
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
async fn a_cut_connection_is_retried_once() {
    let metrics = metrics();
    let (base, seen) = server_with_cut_connections(1).await;
    let register = http_register(&base, &metrics);
    assert!(matches!(
        register.identify(&angela(), &support_id()).await,
        Ok(RegisterAnswer::Found(_))
    ));
    assert_eq!(seen.load(Ordering::SeqCst), 2);
    assert!(metrics.render().contains("passerelle_register_retries_total 1"));
    let (base, seen) = server_with_cut_connections(usize::MAX).await;
    let error =
        http_register(&base, &metrics).identify(&angela(), &support_id()).await.unwrap_err();
    assert_eq!((error.label(), seen.load(Ordering::SeqCst)), ("unavailable", 2));
}

#[tokio::test]
async fn a_silent_register_times_out_without_a_retry() {
    // Listens without accepting: the kernel connects, and no byte ever comes back.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = metrics();
    let register = http_register(&format!("http://{}", silent.local_addr().unwrap()), &metrics);
    tokio::time::pause();
    let asked = Instant::now();
    let error = register.identify(&angela(), &support_id()).await.unwrap_err();
    assert!(asked.elapsed() <= ANSWER_TIMEOUT + Duration::from_millis(10), "{:?}", asked.elapsed());
    assert_eq!(error, RegisterError::Unavailable("127.0.0.1 did not answer in time".into()));
    assert!(!metrics.render().contains("passerelle_register_retries_total 1"));
}

#[tokio::test]
async fn the_circuit_opens_after_failures_and_closes_after_a_success() {
    let (well, metrics) = (Arc::new(AtomicUsize::new(0)), metrics());
    let mood = Arc::clone(&well);
    let server = FakeServer::start(move |_| {
        if mood.load(Ordering::SeqCst) == 0 { FakeResponse::status(500) } else { found() }
    })
    .await;
    let register = http_register(&server.base(), &metrics);
    let ask = async || {
        register
            .identify(&angela(), &support_id())
            .await
            .map(|answer| answer.label())
            .map_err(|error| error.label())
    };
    for _ in 0..circuit_breaker::FAILURES_TO_OPEN {
        assert_eq!(ask().await, Err("unavailable"));
    }
    let asked = server.request_count();
    assert_eq!(ask().await, Err("circuit_open"));
    assert_eq!(server.request_count(), asked, "no request is sent");
    assert_eq!(RegisterError::CircuitOpen.code().entry().code, "Y010005");
    assert!(metrics.render().contains("passerelle_register_circuit_state{state=\"open\"} 1"));
    well.store(1, Ordering::SeqCst);
    tokio::time::pause();
    tokio::time::advance(circuit_breaker::DEFAULT_OPEN_TIME).await;
    tokio::time::resume();
    assert_eq!(ask().await, Ok("found"));
    let text = metrics.render();
    assert!(text.contains("passerelle_register_circuit_state{state=\"closed\"} 1"), "{text}");
    assert!(text.contains("passerelle_register_circuit_state{state=\"open\"} 0"), "{text}");
}

#[tokio::test]
async fn one_broken_record_does_not_open_the_circuit() {
    let server = FakeServer::start(|_| {
        FakeResponse::json(&json!({"outcome": "found", "identity": {"birthdate": "1962-02-30"}}))
    })
    .await;
    let register = http_register(&server.base(), &metrics());
    for _ in 0..=circuit_breaker::FAILURES_TO_OPEN {
        assert_eq!(
            register.identify(&angela(), &support_id()).await.unwrap_err().label(),
            "identity"
        );
    }
}

/// One person's data, rejected over and over, must not lock out all others.
#[tokio::test]
async fn a_query_rejected_as_malformed_does_not_open_the_circuit() {
    let server = FakeServer::start(|_| FakeResponse::status(400)).await;
    let register = http_register(&server.base(), &metrics());
    for _ in 0..=circuit_breaker::FAILURES_TO_OPEN {
        assert_eq!(
            register.identify(&angela(), &support_id()).await.unwrap_err().label(),
            "unavailable"
        );
    }
    assert_eq!(server.request_count(), circuit_breaker::FAILURES_TO_OPEN as usize + 1);
}

#[tokio::test]
async fn unknown_values_are_left_out_of_the_query() {
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
        FakeResponse::json(&json!({"outcome": "not_found"}))
    })
    .await;
    let nameless = Identity {
        given_names: Vec::new(),
        ..person(["", "PELÉ", "1944-00-00", "male", "", "99341"])
    };
    let answer = http_register(&server.base(), &metrics()).identify(&nameless, &support_id()).await;
    assert_eq!(answer, Ok(RegisterAnswer::NotFound));
}

#[tokio::test]
async fn a_query_beyond_the_limit_is_rejected_and_does_not_count_as_failure() {
    let server = FakeServer::start(|_| found()).await;
    let configured = HttpRegisterConfig { calls: 0, ..register_config(&server.base()) };
    let now = Timestamp::from_seconds(1);
    let register = HttpRegister::new(
        &configured,
        &HttpRegisterCredentials::default(),
        "99100",
        metrics(),
        now,
    )
    .unwrap();
    let error = register.identify(&angela(), &support_id()).await.unwrap_err();
    assert_eq!(
        (error.code().entry().code, error.was_sent(), server.request_count()),
        ("Y010007", false, 0)
    );
}

#[tokio::test]
async fn health_is_checked_without_naming_a_person() {
    let server = FakeServer::start(|asked| {
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str(), asked.body.as_str()),
            ("GET", "/health", "")
        );
        FakeResponse::status(204)
    })
    .await;
    assert_eq!(http_register(&server.base(), &metrics()).probe().await, Ok(()));
    let failing = FakeServer::start(|_| FakeResponse::status(503)).await;
    assert_eq!(
        http_register(&failing.base(), &metrics()).probe().await.unwrap_err().label(),
        "unavailable"
    );
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Returns a certificate that is valid from the epoch to `until`, in seconds.
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
fn unusable_certificates_are_reported_before_the_first_login() {
    let (own, other) = (key(), key());
    let pem =
        |key: &PKey<Private>| String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    let (good, secret) = (certificate(&own, 2_000_000_000), pem(&own));
    let identity = |certificate: &str, key: &str| HttpRegisterCredentials {
        identity: Some(Secret::new(format!("{certificate}\n{key}\n"))),
        ..Default::default()
    };
    let ca =
        |text: &str| HttpRegisterCredentials { ca: Some(text.to_owned()), ..Default::default() };
    let cut = good.replace("MI", "!!");
    let new = |credentials: &HttpRegisterCredentials| {
        let configured =
            HttpRegisterConfig { insecure_http: false, ..register_config("https://127.0.0.1/v1") };
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
        (identity(&good, ""), "client_key", "no readable private key"),
        (identity(&cut, &secret), "client_certificate", "can't be read"),
        (identity(&certificate(&own, 1_899_999_999), &secret), "client_certificate", "has expired"),
        (ca(&cut), "ca", "can't be read"),
    ] {
        let refused = new(&credentials).err().expect(word);
        assert_eq!(refused.key, format!("register.http.{key}"));
        assert!(refused.message.contains(word), "{refused}");
        assert!(!refused.to_string().contains("PRIVATE"));
    }
    assert!(new(&identity(&good, &secret)).is_ok());
    assert!(new(&ca(&good)).is_ok());
    let refused = HttpRegister::new(
        &HttpRegisterConfig { insecure_http: false, ..register_config("http://127.0.0.1/v1") },
        &HttpRegisterCredentials::default(),
        "99100",
        metrics(),
        Timestamp::from_seconds(1),
    );
    assert!(refused.is_err_and(|refused| refused.key == "register.http.url"));
}
