use super::*;

#[test]
fn a_stolen_credential_without_key_binding_is_refused() {
    assert_lie(KeyBindingMissing, |p| p.key_binding = Some(String::new()));
}

#[test]
fn a_credential_bound_to_no_key_is_refused() {
    assert_lie(HolderKeyMissing, |p| remove(&mut p.payload, "cnf"));
    assert_lie(HolderKeyMissing, |p| p.payload["cnf"] = json!({ "kid": "1" }));
}

#[test]
fn a_malformed_holder_key_is_refused() {
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"]["crv"] = json!("P-384"));
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"]["crv"] = json!("secp256k1"));
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"]["kty"] = json!("oct"));
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"]["use"] = json!("enc"));
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"]["d"] = json!("AAAA"));
    assert_lie(HolderKeyInvalid, |p| {
        p.payload["cnf"]["jwk"]["x"] = json!(digest::base64url(&[1; 32]))
    });
    assert_lie(HolderKeyInvalid, |p| p.payload["cnf"]["jwk"] = json!("key"));
}

#[test]
fn key_binding_by_another_key_is_refused() {
    assert_lie(HolderSignature, |p| p.holder_key = new_key());
    assert_lie(HolderSignature, |p| {
        p.holder_key = new_key();
        p.key_binding_header["jwk"] = public_jwk(&p.holder_key);
    });
}

#[test]
fn unsigned_key_binding_is_refused() {
    assert_lie(HolderAlgorithm, |p| p.key_binding_header["alg"] = json!("none"));
    assert_lie(HolderAlgorithm, |p| p.key_binding_header["alg"] = json!("HS256"));
    assert_lie(HolderAlgorithm, |p| p.key_binding_header["alg"] = json!("ES384"));
}

#[test]
fn another_token_of_the_holder_is_refused() {
    assert_lie(KeyBindingType, |p| p.key_binding_header["typ"] = json!("JWT"));
    assert_lie(KeyBindingType, |p| p.key_binding_header["typ"] = json!("openid4vci-proof+jwt"));
    assert_lie(KeyBindingMalformed, |p| p.key_binding_header["crit"] = json!(["x"]));
    assert_lie(KeyBindingMalformed, |p| p.key_binding = Some("x".into()));
}

#[test]
fn key_binding_for_another_verifier_is_refused() {
    let without_prefix = CLIENT_ID.strip_prefix("x509_hash:").unwrap();
    for aud in [json!("x509_hash:other"), json!(without_prefix), json!([CLIENT_ID]), json!(null)] {
        assert_lie(KeyBindingAudience, |p| p.key_binding_payload["aud"] = aud);
    }
}

#[test]
fn key_binding_for_another_request_is_refused() {
    for nonce in [json!("other"), json!(""), json!(null)] {
        assert_lie(KeyBindingNonce, |p| p.key_binding_payload["nonce"] = nonce);
    }
}

#[test]
fn key_binding_of_another_presentation_is_refused() {
    let bench = Bench::sd_jwt();
    let other = SdJwtPresentation::of_pid(&bench.issuer).sd_jwt();
    assert_lie(KeyBindingDigest, |p| {
        p.key_binding_payload["sd_hash"] = json!(digest::sha256_base64url(&other));
    });
    // A disclosure that is removed on the way.
    let mut presentation = SdJwtPresentation::of_pid(&bench.issuer);
    let whole = presentation.present();
    presentation.disclosures.pop();
    let key_binding = whole.rsplit_once('~').unwrap().1;
    let shortened = format!("{}{key_binding}", presentation.sd_jwt());
    assert!(bench.verify(&shortened).is_err());
}

#[test]
fn old_key_binding_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(KeyBindingTooOld, |p| p.key_binding_payload["iat"] = json!(now - 361));
    assert_lie(KeyBindingTooOld, |p| p.key_binding_payload["exp"] = json!(now - 61));
    let mut bench = Bench::sd_jwt();
    bench.policy.key_binding_max_age = Duration::from_secs(600);
    assert!(verify_changed(&bench, |p| p.key_binding_payload["iat"] = json!(now - 361)).is_ok());
}

#[test]
fn key_binding_made_in_advance_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(KeyBindingInFuture, |p| p.key_binding_payload["iat"] = json!(now + 61));
    assert_lie(KeyBindingInFuture, |p| p.key_binding_payload["nbf"] = json!(now + 61));
    assert_lie(KeyBindingMalformed, |p| remove(&mut p.key_binding_payload, "iat"));
}

#[test]
fn the_issuers_token_as_key_binding_is_refused() {
    assert_lie(KeyBindingType, |p| {
        p.key_binding = Some(sign_jws(&p.header, &Value::Object(Map::new()), &p.issuer_key));
    });
}
