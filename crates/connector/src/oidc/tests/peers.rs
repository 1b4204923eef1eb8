//! Deviations of real identity providers, and the messages for the operator.

use serde_json::json;

use super::super::*;
use crate::testing::fake_idp::*;
use passerelle_federation::assurance::Level;
use passerelle_protocol::catalogue::ErrorCode;

/// Levels of a file for an identity provider without `acr`.
const ASSUMED: &str =
    "levels = { lowest = \"eidas1\", highest = \"eidas1\" }\nassumed_level = \"eidas1\"";

async fn login_error(fixture: &OidcFixture, attempt: LoginAttempt) -> ConnectorError {
    fixture.connector.complete_login(attempt, fixture.callback()).await.unwrap_err()
}

fn sends_acr_values(redirect: &AuthorizationRedirect) -> bool {
    Url::parse(&redirect.url).unwrap().query_pairs().any(|(name, _)| name == "acr_values")
}

#[tokio::test]
async fn keycloaks_acr_1_is_named_in_the_error_and_can_be_ignored() {
    let fixture = OidcFixture::with_levels(ASSUMED, "").await;
    fixture.script().claims["acr"] = json!("1");
    let error = login_error(&fixture, fixture.attempt().await).await;
    assert_eq!(error.code, ErrorCode::AcrUnlisted);
    assert!(
        error.detail.contains("acr \"1\"") && error.detail.contains("ignore_acr = true"),
        "{error}"
    );

    let ignoring = OidcFixture::with_levels(&format!("{ASSUMED}\nignore_acr = true"), "").await;
    for acr in [json!("1"), json!("loa-of-another-idp"), json!(null)] {
        ignoring.script().claims["acr"] = acr.clone();
        assert_eq!(
            ignoring.complete_login().await.map(|authentication| authentication.level),
            Ok(Level::Eidas1),
            "{acr}"
        );
    }
    // Only the assumed level is achieved.
    let mut higher = ignoring.attempt().await;
    higher.request.level = Level::Eidas2;
    assert_eq!(ignoring.complete_login_with(higher).await.err(), Some(ErrorCode::AcrTooLow));
}

#[tokio::test]
async fn a_malicious_acr_is_shown_truncated_and_printable() {
    let fixture = OidcFixture::new().await;
    fixture.script().claims["acr"] = json!(format!("\u{1b}[2J\u{202e}\n\"{}", "x".repeat(5_000)));
    let error = login_error(&fixture, fixture.attempt().await).await;
    assert!(
        error.detail.len() < 300
            && error.detail.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()),
        "{error}"
    );
    assert!(!error.detail.contains("ignore_acr"), "there is no assumed_level: {error}");
}

#[tokio::test]
async fn acr_values_are_not_sent_if_disabled() {
    let levels = "levels = { lowest = \"eidas1\", highest = \"eidas2\" }\n\
                  acr = { send = false, eidas1 = [\"low\"], eidas2 = [\"substantial\"] }";
    let fixture = OidcFixture::with_levels(levels, "").await;
    assert!(sends_acr_values(&OidcFixture::new().await.attempt().await.redirect));
    assert!(!sends_acr_values(&fixture.attempt().await.redirect));
    fixture.script().claims["acr"] = json!("substantial");
    assert_eq!(
        fixture.complete_login().await.unwrap().level,
        Level::Eidas2,
        "the returned acr is evaluated anyway"
    );
    fixture.script().claims["acr"] = json!("1");
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::AcrUnlisted));
}

#[tokio::test]
async fn an_ignored_prompt_login_is_named_in_the_error() {
    let ignores = async |more: &str, attempt: fn(LoginAttempt) -> LoginAttempt| {
        let fixture = OidcFixture::with(more).await;
        fixture.script().claims["auth_time"] = json!(NOW - 3_630);
        login_error(&fixture, attempt(fixture.attempt().await)).await
    };
    let reauthenticate = |mut attempt: LoginAttempt| {
        attempt.request.reauthenticate = true;
        attempt
    };
    let with_max_age = |mut attempt: LoginAttempt| {
        attempt.request.max_age = Some(60);
        attempt
    };
    for error in [
        ignores("", reauthenticate).await,
        ignores("max_age = true", reauthenticate).await,
        ignores("", with_max_age).await,
    ] {
        assert_eq!(error.code, ErrorCode::PromptLoginIgnored);
        assert!(
            error.detail.contains("ignored prompt=login") && error.detail.contains("3600 s before"),
            "{error}"
        );
    }
    // Here max_age was sent, and no prompt.
    assert_eq!(
        ignores("max_age = true", with_max_age).await.code,
        ErrorCode::ReauthenticationNotProven
    );
}

#[tokio::test]
async fn a_missing_or_mistyped_claim_of_the_id_token_is_named_and_no_value_is() {
    type Change = fn(&mut Value);
    fn remove(claims: &mut Value, name: &str) {
        claims.as_object_mut().unwrap().remove(name);
    }
    let table: [(Change, &str); 9] = [
        (|claims| remove(claims, "iss"), "required claim iss is missing"),
        (|claims| remove(claims, "sub"), "required claim sub is missing"),
        (|claims| remove(claims, "aud"), "required claim aud is missing"),
        (|claims| remove(claims, "exp"), "required claim exp is missing"),
        (|claims| remove(claims, "iat"), "required claim iat is missing"),
        (|claims| claims["sub"] = json!(4711), "required claim sub is of the wrong type"),
        (|claims| claims["aud"] = json!(["hub", 4711]), "required claim aud is of the wrong type"),
        (|claims| claims["exp"] = json!("4711"), "required claim exp is of the wrong type"),
        (|claims| claims["iat"] = json!(null), "required claim iat is of the wrong type"),
    ];
    let fixture = OidcFixture::new().await;
    let valid = fixture.script().claims.clone();
    for (change, expected) in table {
        let mut claims = valid.clone();
        change(&mut claims);
        fixture.script().claims = claims;
        let error = login_error(&fixture, fixture.attempt().await).await;
        assert_eq!(error.code, ErrorCode::IdTokenMalformed, "{expected}");
        assert!(
            error.detail.contains(expected) && !error.detail.contains("4711"),
            "{expected}: {error}"
        );
    }
}
