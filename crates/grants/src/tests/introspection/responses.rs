//! Tests of signed and of encrypted introspection responses.

use super::*;

// R184, R185
#[tokio::test]
async fn a_signed_answer_is_the_same_facts_in_the_form_of_rfc_9701() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    let keys = VerificationKeys::from_jwks(&RING.verification_jwks(OPENED)).unwrap();
    for token in [token.as_str(), "guess"] {
        let answer = hub
            .grants
            .access_tokens
            .introspect(&introspection_request("signed", "signed's secret", token))
            .await
            .unwrap();
        let IntrospectionResponse::Jwt(answer) = answer else { panic!("JSON") };
        let Ok(jws) = verify_jws(&answer, SigningAlg::ES256, &keys) else { panic!("{answer}") };
        assert_eq!(jws.header["typ"], "token-introspection+jwt");
        let Value::Object(mut facts) = hub.introspect("archive", token).await.unwrap() else {
            panic!()
        };
        if token != "guess" {
            facts.insert("aud".into(), "signed".into());
            facts.insert(
                "sub".into(),
                hub.sub_at("signed", &identified_user("idp", Level::Eidas1).identity).into(),
            );
        }
        let expected = json!({ "iss": ISSUER, "aud": "signed", "iat": hub.now().seconds(), "token_introspection": facts });
        assert_eq!(Value::Object(jws.claims), expected);
    }
}

#[tokio::test]
async fn an_encrypted_response_is_readable_by_its_data_provider_alone() {
    let hub = hub();
    let answer = hub
        .grants
        .access_tokens
        .introspect(&introspection_request("vault", "vault's secret", "guess"))
        .await
        .unwrap();
    let IntrospectionResponse::Jwt(answer) = answer else { panic!("JSON") };
    let jws = super::super::encryption::decrypted(&answer);
    assert_eq!(super::super::read(&jws).0["alg"], "RS256");
    assert_eq!(super::super::read(&jws).1["token_introspection"], json!({ "active": false }));
}

#[tokio::test]
async fn without_an_encryption_key_nothing_is_revealed_of_the_token() {
    let sealed = IntrospectionResponseFormat::Jwt {
        alg: SigningAlg::ES256,
        encryption: Some(EncryptionAlg::RsaOaep),
    };
    let hub = with([data_provider("vault", &["family_name"], sealed)]);
    assert_eq!(hub.introspect("vault", "guess").await, Err(ErrorCode::DataProviderKeysMissing));
}
