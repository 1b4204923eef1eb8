//! Signed authorization responses, and what an attacker sends in their place.

use serde_json::json;

use super::super::*;
use super::query_pairs;
use crate::testing::fake_idp::*;
use passerelle_jose::testing::sample_keys::KEYS;
use passerelle_jose::testing::sample_keys::{encrypt_to, published};
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::catalogue::ErrorCode;

const SIGNED: &str = "authorization_signed_response_alg = \"ES256\"";
const ENCRYPTED: &str = "authorization_signed_response_alg = \"ES256\"\nauthorization_encrypted_response_alg = \"ECDH-ES\"";

/// Returns a response that is signed and then encrypted to the hub.
fn encrypted(fixture: &OidcFixture, claims: &Value) -> CallbackParams {
    let alg = EncryptionAlg::EcdhEs;
    let key = published(&KEYS, Timestamp::from_seconds(NOW), alg.as_str());
    let jws = fixture.script().sign(claims);
    let jwe = encrypt_to(&key, alg, &jws, &json!({ "cty": "JWT" }));
    CallbackParams { response: Some(Secret::new(jwe)), ..CallbackParams::default() }
}

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
    assert_eq!(query_pairs(&attempt.redirect.url)["response_mode"], "jwt");
    assert!(!attempt.redirect.iss_expected, "beside the response");
    let callback = response(&fixture, &claims(&fixture));
    let state = CallbackParams::unverified_state(callback.response.as_ref().unwrap().reveal());
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
    let part = |value: Value| passerelle_protocol::digest::base64url(value.to_string().as_bytes());
    let unsigned = format!("{}.{}.", part(json!({ "alg": "none" })), part(claims(&fixture)));
    let (stranger, _) = ec_key("k1");
    let jws = |header: Value| {
        let message = format!("{}.{}", part(header), part(claims(&fixture)));
        let signer = josekit::jws::ES256.signer_from_jwk(&stranger).unwrap();
        let signature = josekit::jws::JwsSigner::sign(&signer, message.as_bytes()).unwrap();
        format!("{message}.{}", passerelle_protocol::digest::base64url(&signature))
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

#[tokio::test]
async fn an_encrypted_response_is_decrypted_and_then_verified_as_any_other() {
    let fixture = OidcFixture::with(ENCRYPTED).await;
    assert_eq!(complete(&fixture, encrypted(&fixture, &claims(&fixture))).await, Ok(()));
    let callback = encrypted(&fixture, &claims(&fixture));
    let state = fixture.connector.unverified_state(callback.response.as_ref().unwrap()).await;
    assert_eq!(state.as_deref(), Some("the state"));
    let mut foreign = claims(&fixture);
    foreign["iss"] = json!("https://evil.example");
    let outcome = complete(&fixture, encrypted(&fixture, &foreign)).await;
    assert_eq!(outcome, Err(ErrorCode::IdpResponseClaims));
}

#[tokio::test]
async fn a_response_that_anyone_can_encrypt_proves_nothing() {
    let fixture = OidcFixture::with(ENCRYPTED).await;
    let (stranger, _) = ec_key("k1");
    fixture.script().signer =
        Some(Box::new(josekit::jws::ES256.signer_from_jwk(&stranger).unwrap()));
    let outcome = complete(&fixture, encrypted(&fixture, &claims(&fixture))).await;
    assert_eq!(outcome, Err(ErrorCode::IdpResponseUnproven));
}

#[tokio::test]
async fn a_response_that_is_not_encrypted_as_registered_is_refused() {
    let fixture = OidcFixture::with(ENCRYPTED).await;
    let signed = response(&fixture, &claims(&fixture));
    let encrypted = encrypted(&fixture, &claims(&fixture));
    let other = OidcFixture::with(&ENCRYPTED.replace("ECDH-ES", "RSA-OAEP-256")).await;
    for (fixture, callback) in [(&fixture, signed), (&other, encrypted.clone())] {
        let response = callback.response.as_ref().unwrap();
        assert_eq!(fixture.connector.unverified_state(response).await, None);
        let outcome = complete(fixture, callback).await;
        assert_eq!(outcome, Err(ErrorCode::IdpResponseEncryption));
    }
    // Not registered: nothing is decrypted.
    let plain = OidcFixture::with(SIGNED).await;
    let response = encrypted.response.as_ref().unwrap();
    assert_eq!(plain.connector.unverified_state(response).await, None);
    assert_eq!(complete(&plain, encrypted).await, Err(ErrorCode::IdpResponseUnproven));
}
