//! Tests of failed calls and of invalid configuration documents.

use super::*;

#[tokio::test]
async fn each_invalid_configuration_document_has_a_diagnostic() {
    type Answer = fn() -> FakeResponse;
    let table: [(Answer, &str, &str); 6] = [
        (
            || FakeResponse {
                status: 200,
                headers: vec![("content-type", "text/html".into())],
                body: b"hello".to_vec(),
            },
            "discovery",
            "web page (HTML)",
        ),
        (
            || FakeResponse { status: 200, headers: vec![], body: b" <!doctype html>".to_vec() },
            "discovery",
            "web page (HTML)",
        ),
        (
            || FakeResponse { status: 200, headers: vec![], body: vec![b' '; 50 << 20] },
            "reachable",
            "larger than 1 MiB",
        ),
        (|| FakeResponse::status(404), "discovery", "status 404"),
        (
            || FakeResponse {
                status: 302,
                headers: vec![("location", "http://169.254.169.254/latest".into())],
                body: vec![],
            },
            "discovery",
            "169.254.169.254, which the hub must not call",
        ),
        (
            || FakeResponse {
                status: 301,
                headers: vec![("location", "http://www.example.org/x".into())],
                body: vec![],
            },
            "discovery",
            "a redirect to www.example.org",
        ),
    ];
    for (answer, name, words) in table {
        let server = FakeServer::start(move |_| answer()).await;
        let env = Env::new(
            std::sync::Arc::new(passerelle_protocol::testing::env::ManualClock::at(
                Timestamp::from_seconds(NOW),
            )),
            std::sync::Arc::new(passerelle_protocol::testing::env::SeededEntropy::new(3)),
        );
        let connector =
            connector(&server.base(), "", "internal_hosts = [\"127.0.0.1\"]", env).unwrap();
        let diagnostics = connector.diagnose(&context()).await;
        let diagnostic = diagnostic_named(&diagnostics, name);
        assert!(
            diagnostic.status == DiagnosticStatus::Error && diagnostic.message.contains(words),
            "{words}: {diagnostics:#?}"
        );
    }
}

#[test]
fn each_failed_call_has_a_diagnostic() {
    let unreachable =
        |why: &str| EgressError::Unreachable { host: "idp.example".into(), why: why.into() };
    for (error, name, word) in [
        (unreachable("Connection error (os error 111)"), "reachable", "firewall"),
        (
            unreachable(
                "invalid peer certificate: certificate expired: verification time 2 (UNIX)",
            ),
            "certificate",
            "must renew it",
        ),
        (unreachable("invalid peer certificate: UnknownIssuer"), "certificate", "whole chain"),
        (
            unreachable(
                "invalid peer certificate: certificate not valid for name \"idp.example\"; certificate is not valid for any names (according to its subjectAltName extension)",
            ),
            "certificate",
            "has no subjectAltName",
        ),
        (
            unreachable("invalid peer certificate: certificate not valid for name \"idp.example\""),
            "certificate",
            "for another host",
        ),
        (unreachable("invalid peer certificate: BadEncoding"), "certificate", "send this message"),
        (EgressError::Timeout("idp.example".into()), "reachable", "as long"),
        (EgressError::AddressForbidden("10.0.0.1: private".into()), "reachable", "internal_hosts"),
        (
            EgressError::TooLarge { host: "idp.example".into(), limit: 1 },
            "reachable",
            "few kilobytes",
        ),
    ] {
        let diagnostic =
            diagnostic_for_call_error("reachable", "its configuration document", &error);
        let fix = diagnostic.fix.unwrap();
        assert_eq!((diagnostic.name, diagnostic.status), (name, DiagnosticStatus::Error));
        assert!(word.split('|').any(|word| fix.contains(word)), "{fix}");
    }
}

#[tokio::test]
async fn the_announced_acr_values_are_shown() {
    let fixture = OidcFixture::new().await;
    fixture.script().discovery["acr_values_supported"] = json!(["urn:loa:1", "\u{1b}[31mred"]);
    let diagnostics = diagnose(&fixture).await;
    let acr = diagnostic_named(&diagnostics, "acr");
    let fix = acr.fix.as_deref().unwrap_or_default();
    assert!(
        acr.message.contains("not announced: low") && fix.contains("it announces: urn:loa:1, "),
        "{acr:?}"
    );
    assert!(!fix.contains('\u{1b}'), "control characters are not shown: {acr:?}");
    fixture.script().discovery["acr_values_supported"] = json!(["low", "substantial", "more"]);
    assert!(
        diagnostic_named(&diagnose(&fixture).await, "acr")
            .message
            .contains("announced are: low, substantial, more")
    );
}
