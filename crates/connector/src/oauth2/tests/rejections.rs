//! Tests of every answer that is rejected.

use super::*;

#[tokio::test]
async fn every_invalid_token_response_is_rejected_with_its_own_code() {
    let fixture = Fixture::new().await;
    let token = |answer: Value| FakeResponse::json(&answer);
    let table = [
        ("html", html(), ErrorCode::IdpTokenAnswer),
        (
            "form-encoded",
            body(200, "access_token=at-1&token_type=bearer"),
            ErrorCode::IdpTokenAnswer,
        ),
        ("huge", body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
        (
            "no_access_token",
            token(json!({ "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "empty_access_token",
            token(json!({ "access_token": "", "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "access_token_is_no_text",
            token(json!({ "access_token": 1, "token_type": "bearer" })),
            ErrorCode::IdpAccessTokenMissing,
        ),
        (
            "non_ascii_access_token",
            token(json!({ "access_token": "é", "token_type": "bearer" })),
            ErrorCode::IdpTokenAnswer,
        ),
        (
            "access_token_with_a_line_break",
            token(json!({ "access_token": "a\r\nx: y", "token_type": "bearer" })),
            ErrorCode::IdpTokenAnswer,
        ),
        (
            "mac_token",
            token(json!({ "access_token": "at-1", "token_type": "mac" })),
            ErrorCode::IdpTokenType,
        ),
        ("no_token_type", token(json!({ "access_token": "at-1" })), ErrorCode::IdpTokenAnswer),
        (
            "two_access_tokens",
            body(200, r#"{"access_token":"a","access_token":"at-1","token_type":"bearer"}"#),
            ErrorCode::IdpTokenAnswer,
        ),
        ("refused_code", body(400, r#"{"error":"invalid_grant"}"#), ErrorCode::IdpCodeRefused),
        ("refused_client", body(401, r#"{"error":"invalid_client"}"#), ErrorCode::IdpClientRefused),
        (
            "refused_code_with_status_200",
            token(json!({ "error": "bad_verification_code" })),
            ErrorCode::IdpCodeRefused,
        ),
        (
            "refused_client_with_status_200",
            token(json!({ "error": "incorrect_client_credentials" })),
            ErrorCode::IdpClientRefused,
        ),
        ("down", body(503, "{}"), ErrorCode::IdpStatus),
        ("redirect_into_the_private_network", body(302, ""), ErrorCode::IdpStatus),
    ];
    for (attack, response, expected) in table {
        fixture.script().token = response;
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
        assert!(
            fixture.script().log.drain(..).all(|request| request.target == "/token"),
            "{attack}: userinfo was called"
        );
    }
}

#[tokio::test]
async fn every_invalid_userinfo_is_rejected_with_its_own_code() {
    let fixture = Fixture::new().await;
    let about = |id: Value| FakeResponse::json(&json!({ "id": id, "name": "Ada" }));
    let missing_subject = ErrorCode::UserinfoSubjectMissing;
    let table = [
        ("html", html(), ErrorCode::UserinfoMalformed),
        ("a_list", body(200, "[]"), ErrorCode::UserinfoMalformed),
        ("id_twice", body(200, r#"{"id":1,"id":2}"#), ErrorCode::UserinfoMalformed),
        (
            "long",
            FakeResponse::json(&json!({ "id": 1, "name": "x".repeat(64 << 10) })),
            ErrorCode::UserinfoMalformed,
        ),
        ("huge", body(200, &" ".repeat(2 << 20)), ErrorCode::IdpTooLarge),
        ("token_refused", body(401, "{}"), ErrorCode::UserinfoRefused),
        ("down", body(500, "{}"), ErrorCode::IdpStatus),
        ("no_subject", FakeResponse::json(&json!({ "sub": "4242" })), missing_subject),
        ("empty_subject", about(json!("")), missing_subject),
        ("blank_subject", about(json!(" ")), missing_subject),
        ("null_subject", about(json!(null)), missing_subject),
        ("list_of_subjects", about(json!([4242])), missing_subject),
        ("object_for_subject", about(json!({ "id": 4242 })), missing_subject),
        ("true_for_subject", about(json!(true)), missing_subject),
        ("fraction_for_subject", about(json!(4242.5)), missing_subject),
        (
            "number_too_large_to_be_exact",
            body(200, r#"{"id":36893488147419103232}"#),
            missing_subject,
        ),
        ("endless_subject", about(json!("x".repeat(256))), missing_subject),
    ];
    for (attack, response, expected) in table {
        fixture.script().userinfo = response;
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
    }
    for (id, subject) in
        [(json!("u-1"), "u-1"), (json!(-7), "-7"), (json!(u64::MAX), "18446744073709551615")]
    {
        fixture.script().userinfo = about(id);
        assert_eq!(fixture.complete_login().await.unwrap().upstream_subject.reveal(), subject);
    }
}

#[tokio::test]
async fn a_callback_with_a_wrong_issuer_or_an_error_causes_no_call() {
    let fixture = Fixture::new().await;
    let attempt = fixture.attempt().await;
    let expecting = LoginAttempt {
        redirect: AuthorizationRedirect { iss_expected: true, ..attempt.redirect.clone() },
        ..attempt.clone()
    };
    let other = LoginAttempt {
        redirect: AuthorizationRedirect { client_id: "other".into(), ..attempt.redirect.clone() },
        ..attempt.clone()
    };
    let from = |iss: &str| CallbackParams { iss: Some(iss.into()), ..callback() };
    let error = |error: &str| CallbackParams {
        code: None,
        error: Some(error.into()),
        ..CallbackParams::default()
    };
    let table = [
        (
            "iss_of_another_provider",
            attempt.clone(),
            from("https://evil.example"),
            ErrorCode::IdpIssWrong,
        ),
        ("announced_iss_missing", expecting, callback(), ErrorCode::IdpIssMissing),
        ("connector_changed_meanwhile", other, callback(), ErrorCode::IdpIssWrong),
        ("the_person_refused", attempt.clone(), error("access_denied"), ErrorCode::IdpDenied),
        (
            "error_with_iss_of_another",
            attempt.clone(),
            CallbackParams { error: Some("x".into()), ..from("https://evil.example") },
            ErrorCode::IdpIssWrong,
        ),
        (
            "error_with_control_characters",
            attempt.clone(),
            error("server\u{1b}[2J"),
            ErrorCode::IdpError,
        ),
        ("nothing", attempt.clone(), CallbackParams::default(), ErrorCode::IdpCallbackMalformed),
    ];
    for (attack, attempt, callback, expected) in table {
        assert_eq!(
            fixture.complete_login_with(attempt, callback).await.err(),
            Some(expected),
            "{attack}"
        );
    }
    assert_eq!(fixture.server.request_count(), 0);
    assert!(
        fixture.complete_login_with(attempt, from("https://hosting.example")).await.is_ok(),
        "the own iss is accepted"
    );
}

#[test]
fn the_subject_is_read_at_a_path_and_only_there() {
    let claims = json!({ "data": { "id": 4242, "name": "" }, "id": "other" });
    let subject = |path: &str| {
        let path = ClaimPath::parse(path).unwrap();
        extract_subject(claims.as_object().unwrap(), &path)
            .map(|subject| subject.reveal().clone())
            .map_err(|error| error.code)
    };
    assert_eq!(subject("/data/id"), Ok("4242".to_owned()));
    assert_eq!(subject("id"), Ok("other".to_owned()));
    for absent in ["/data", "/data/name", "/data/sub", "data.id"] {
        assert_eq!(subject(absent), Err(ErrorCode::UserinfoSubjectMissing), "{absent}");
    }
}
