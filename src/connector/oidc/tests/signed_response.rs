//! Signed authorization responses, and what an attacker sends in their place.

use serde_json::json;

use super::super::*;
use super::query_of;
use crate::protocol::catalogue::ErrorCode;
use crate::testing::fake_idp::*;

const SIGNED: &str = "authorization_signed_response_alg = \"ES256\"";

fn claims(fixture: &OidcFixture) -> Value {
    json!({ "iss": fixture.server.base(), "aud": "hub", "exp": NOW + 60, "state": "the state", "code": "c-1" })
}

fn response(fixture: &OidcFixture, claims: &Value) -> CallbackParams {
    let jwt = fixture.script().sign(claims);
    CallbackParams { response: Some(Secret::new(jwt)), ..CallbackParams::default() }
}

async fn complete(fixture: &OidcFixture, callback: CallbackParams) -> Result<(), ErrorCode> {
    let attempt = fixture.attempt().await;
    let completed = fixture.connector.complete_login(attempt, callback).await;
    completed.map(|_| ()).map_err(|error| error.code)
}

#[tokio::test]
async fn a_signed_response_completes_the_login() {
    let fixture = OidcFixture::with(SIGNED).await;
    let attempt = fixture.attempt().await;
    assert_eq!(query_of(&attempt.redirect.url)["response_mode"], "jwt");
    assert!(!attempt.redirect.iss_expected, "beside the response");
    let callback = response(&fixture, &claims(&fixture));
    let state = CallbackParams::claimed_state(callback.response.as_ref().unwrap().reveal());
    assert_eq!(state.as_deref(), Some("the state"));
    assert_eq!(complete(&fixture, callback).await, Ok(()));
    let error = json!({ "iss": fixture.server.base(), "aud": "hub", "exp": NOW + 60, "state": "the state", "error": "access_denied" });
    assert_eq!(complete(&fixture, response(&fixture, &error)).await, Err(ErrorCode::IdpDenied));
}

#[tokio::test]
async fn a_response_without_a_signature_is_refused_where_one_is_registered() {
    let fixture = OidcFixture::with(SIGNED).await;
    let plain = fixture.callback();
    assert_eq!(complete(&fixture, plain).await, Err(ErrorCode::IdpResponseUnproven));
    let part = |value: Value| crate::digest::base64url(value.to_string().as_bytes());
    let unsigned = format!("{}.{}.", part(json!({ "alg": "none" })), part(claims(&fixture)));
    let (stranger, _) = ec_key("k1");
    let jws = |header: Value| {
        let message = format!("{}.{}", part(header), part(claims(&fixture)));
        let signer = josekit::jws::ES256.signer_from_jwk(&stranger).unwrap();
        let signature = josekit::jws::JwsSigner::sign(&signer, message.as_bytes()).unwrap();
        format!("{message}.{}", crate::digest::base64url(&signature))
    };
    for (text, code) in [
        (unsigned, ErrorCode::IdpResponseUnproven),
        (jws(json!({ "alg": "ES256", "kid": "k1" })), ErrorCode::IdpResponseUnproven),
        (jws(json!({ "alg": "HS256", "kid": "k1" })), ErrorCode::IdpResponseUnproven),
        (jws(json!({ "alg": "ES256", "kid": "other" })), ErrorCode::IdpResponseKey),
        ("no jwt".to_owned(), ErrorCode::IdpResponseUnproven),
    ] {
        let callback = CallbackParams {
            response: Some(Secret::new(text)),
            code: Some(Secret::new("c-1".into())),
            ..fixture.callback()
        };
        assert_eq!(complete(&fixture, callback).await, Err(code));
    }
}

#[tokio::test]
async fn a_response_of_another_server_client_time_or_login_is_refused() {
    let fixture = OidcFixture::with(SIGNED).await;
    for changes in [
        json!({ "iss": "https://evil.example" }),
        json!({ "iss": null }),
        json!({ "aud": "another" }),
        json!({ "aud": null }),
        json!({ "state": "of another login" }),
        json!({ "state": null }),
        json!({ "exp": NOW - 61 }),
        json!({ "exp": null }),
    ] {
        let mut claims = claims(&fixture);
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let outcome = complete(&fixture, response(&fixture, &claims)).await;
        assert_eq!(outcome, Err(ErrorCode::IdpResponseClaims), "{changes}");
    }
    let mut odd = claims(&fixture);
    odd["code"] = "line\nend".into();
    let outcome = complete(&fixture, response(&fixture, &odd)).await;
    assert_eq!(outcome, Err(ErrorCode::IdpCodeMalformed));
}

#[tokio::test]
async fn parameters_beside_a_signed_response_change_nothing() {
    let fixture = OidcFixture::with(SIGNED).await;
    let callback = CallbackParams {
        code: Some(Secret::new("of the attacker".into())),
        iss: Some("https://evil.example".into()),
        error: Some("access_denied".into()),
        ..response(&fixture, &claims(&fixture))
    };
    assert_eq!(complete(&fixture, callback).await, Ok(()));
    let script = fixture.script();
    let token = script.log.iter().rfind(|request| request.target == "/token").unwrap();
    assert!(token.body.contains("code=c-1"), "{}", token.body);
}

#[tokio::test]
async fn a_response_that_no_file_registers_is_ignored() {
    let fixture = OidcFixture::new().await;
    let callback = response(&fixture, &claims(&fixture));
    assert_eq!(complete(&fixture, callback).await, Err(ErrorCode::IdpIssMissing));
}
