use serde_json::json;

use super::*;

fn encrypted(key: &ResponseKey, enc: &str) -> String {
    encrypt_response(&key.public_jwk().unwrap(), enc, br#"{"vp_token":{"pid":["x"]}}"#).unwrap()
}

/// Replaces members of the protected header. `null` removes one.
fn with_header(compact: &str, changes: Value) -> String {
    let (header, rest) = compact.split_once('.').unwrap();
    let mut header = json::parse_object(&digest::from_base64url(header).unwrap()).unwrap();
    for (name, value) in changes.as_object().unwrap() {
        header.insert(name.clone(), value.clone());
    }
    header.retain(|_, value| !value.is_null());
    format!("{}.{rest}", digest::base64url(Value::Object(header).to_string().as_bytes()))
}

#[test]
fn an_answer_is_decrypted_with_the_key_of_its_request() {
    let key = ResponseKey::generate().unwrap();
    let stored: ResponseKey = serde_json::from_str(&serde_json::to_string(&key).unwrap()).unwrap();
    for enc in RESPONSE_ENCRYPTIONS {
        let answer = stored.decrypt(&encrypted(&key, enc)).unwrap();
        assert_eq!(answer.reveal()["vp_token"], json!({ "pid": ["x"] }));
    }
    assert!(!format!("{key:?}").contains('d'), "the key is never printed");
    assert!(!key.public_jwk().unwrap().contains_key("d"));
}

#[test]
fn an_answer_to_an_older_request_or_with_another_algorithm_is_rejected() {
    use JweDecryptError as E;
    let (key, old) = (ResponseKey::generate().unwrap(), ResponseKey::generate().unwrap());
    let good = encrypted(&key, "A256GCM");
    let rejected = |compact: &str| key.decrypt(compact).map(drop).unwrap_err();
    assert_eq!(rejected(&encrypted(&old, "A256GCM")), E::UnknownKey);
    let unnamed = with_header(&encrypted(&old, "A256GCM"), json!({ "kid": null }));
    assert_eq!(rejected(&unnamed), E::DecryptionFailed);
    for (changes, error) in [
        (json!({ "alg": "dir" }), E::Algorithm),
        (json!({ "alg": "ECDH-ES+A128KW" }), E::Algorithm),
        (json!({ "enc": "A128CBC-HS256" }), E::ContentEncryption),
        (json!({ "zip": "DEF" }), E::Compressed),
        (json!({ "crit": ["exp"] }), E::Extension),
        (json!({ "kid": 1 }), E::UnknownKey),
        (json!({ "apv": "eA" }), E::DecryptionFailed),
    ] {
        assert_eq!(rejected(&with_header(&good, changes.clone())), error, "{changes}");
    }
    let (rest, tag) = good.rsplit_once('.').unwrap();
    assert_eq!(rejected(&format!("{rest}.{}", &tag[..4])), E::Malformed, "a short tag");
    assert_eq!(rejected("a.b.c"), E::NotEncrypted);
    assert_eq!(rejected("{\"vp_token\":{}}"), E::Malformed);
    assert_eq!(rejected(&"a".repeat(70_000)), E::TooLarge);
    let repeated = encrypt_response(
        &key.public_jwk().unwrap(),
        "A128GCM",
        br#"{"vp_token":{},"vp_token":{}}"#,
    );
    assert_eq!(rejected(&repeated.unwrap()), E::Malformed, "a repeated member");
}
