//! Tests of the contract: what is asked, and answers that break it.

use super::*;

/// The committed contract describes this adapter.
#[test]
fn the_committed_contract_matches_the_code() {
    let contract = include_str!("../../../../../docs/register.openapi.yaml");
    let labels = ["found", "corrected", "not_found", "several", "deceased", "refused"].join(", ");
    for said in [
        "\n  /identify:\n    post:",
        "\n  /health:\n    get:",
        "name: X-Request-Id",
        &format!("enum: [{labels}]"),
        &format!(
            "{} seconds and {} KiB",
            ANSWER_TIMEOUT.as_secs(),
            contract::MAX_ANSWER_BYTES >> 10
        ),
        "five calls in a row without an answer the hub sends no call for ten seconds",
        "required: [birthdate, gender, birthcountry]",
    ] {
        assert!(contract.contains(said), "{said}");
    }
    assert_eq!(
        (circuit_breaker::FAILURES_TO_OPEN, circuit_breaker::DEFAULT_OPEN_TIME.as_secs()),
        (5, 10)
    );
    for member in identity().as_object().unwrap().keys() {
        assert!(contract.contains(&format!("\n        {member}:")), "{member}");
    }
}

#[tokio::test]
async fn the_query_has_the_pivot_in_its_body_and_nothing_else() {
    let server = FakeServer::start(|asked| {
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/identify"));
        assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), identity());
        let head = asked.headers.to_ascii_lowercase();
        for line in [
            "authorization: bearer t0ken==",
            "x-request-id: 0123456789ab",
            "content-type: application/json",
        ] {
            assert!(head.contains(line), "{line} is missing in {head}");
        }
        assert!(!asked.headers.contains("DUBOIS") && !asked.body.contains("who@example.org"));
        found()
    })
    .await;
    let answer = http_register(&server.base(), &metrics()).identify(&angela(), &support_id()).await;
    assert!(
        matches!(answer, Ok(RegisterAnswer::Found(known)) if *known == Identity { email: None, ..angela() })
    );
}

/// Every breach of the contract has a code, and a message for the operator without personal data.
#[tokio::test]
async fn an_answer_that_breaks_the_contract_is_rejected_with_code_and_message() {
    let with = |name: &str, value: Value| {
        let mut identity = identity();
        identity[name] = value;
        FakeResponse::json(&json!({"outcome": "found", "identity": identity}))
    };
    let table = [
        (
            FakeResponse { headers: vec![("content-type", "text/html".into())], ..found() },
            "Y010006",
            "application/json",
        ),
        (FakeResponse { headers: vec![], ..found() }, "Y010006", "application/json"),
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
        (
            json_text(" ".repeat(contract::MAX_ANSWER_BYTES + 1)),
            "Y010006",
            "larger than 65536 bytes",
        ),
        (FakeResponse::json(&json!({})), "Y010006", "`outcome` is missing"),
        (
            FakeResponse::json(&json!({"outcome": true})),
            "Y010006",
            "`outcome` is missing, or is not a string",
        ),
        (
            FakeResponse::json(&json!({"outcome": "FOUND", "identity": identity()})),
            "Y010006",
            "`outcome` is none of",
        ),
        (FakeResponse::json(&json!({"outcome": "found"})), "Y010006", "`identity` is missing"),
        (
            FakeResponse::json(&json!({"outcome": "corrected", "identity": null})),
            "Y010006",
            "`identity` is missing",
        ),
        (
            FakeResponse::json(&json!({"outcome": "found", "identity": [identity()]})),
            "Y010006",
            "not an object",
        ),
        (
            FakeResponse::json(&json!({"outcome": "deceased", "identity": identity()})),
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
        (with("family_name", json!("OTHER ELSE")), "Y010006", "not the person asked about"),
        (with("birthdate", json!("1962-02-30")), "Y010008", "birthdate: must be a calendar day"),
        (
            with("birthdate", json!("1962-08-24T00:00:00Z")),
            "Y010008",
            "birthdate: must be a calendar day",
        ),
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
    for (response, code, word) in table {
        let body =
            String::from_utf8_lossy(&response.body[..response.body.len().min(300)]).into_owned();
        let error = answer_to(response).await.expect_err(&body);
        assert_eq!(error.code().entry().code, code, "{body}: {error}");
        let text = error.to_string();
        assert!(text.contains(word), "{body}: {text}");
        assert!(
            !["DUBOIS", "Angela", "1962", "OTHER"].iter().any(|value| text.contains(value)),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_answer_about_another_person_is_rejected() {
    let other = json!({"given_names": ["Eve"], "birthdate": "1990-01-01", "gender": "female", "birthcountry": "99134"});
    let error = answer_to(FakeResponse::json(&json!({"outcome": "found", "identity": other})))
        .await
        .unwrap_err();
    assert_eq!(error.label(), "contract");
    // Another spelling is the same person; a correction may change anything.
    let mut spelled = identity();
    spelled["family_name"] = json!("Dubois");
    assert!(matches!(
        answer_to(FakeResponse::json(&json!({"outcome": "found", "identity": spelled}))).await,
        Ok(RegisterAnswer::Found(_))
    ));
    spelled["family_name"] = json!("DUBOIS MARTIN");
    let corrected =
        json!({"outcome": "corrected", "identity": spelled, "more": {"than": ["asked"]}});
    assert!(matches!(
        answer_to(FakeResponse::json(&corrected)).await,
        Ok(RegisterAnswer::Corrected(_))
    ));
}
