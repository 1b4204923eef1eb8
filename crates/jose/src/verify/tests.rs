use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jwk::alg::ed::EdCurve;
use josekit::jws::{ES256, EdDSA, HS256, JwsSigner, PS256, RS256};
use serde_json::json;

use super::*;

fn ec_key(kid: &str) -> Jwk {
    let mut jwk = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    jwk.set_key_id(kid);
    jwk
}

fn published(jwk: &Jwk) -> Value {
    let mut public = serde_json::to_value(jwk.to_public_key().unwrap()).unwrap();
    public["kid"] = json!(jwk.key_id());
    public
}

fn key_set(keys: &[Value]) -> VerificationKeys {
    VerificationKeys::from_jwks(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

/// Signs any header and payload, valid JSON or not: an attacker is not bound to a library's idea of
/// a token.
fn sign_raw(header: &str, payload: &str, signer: &dyn JwsSigner) -> String {
    let message = format!(
        "{}.{}",
        digest::base64url(header.as_bytes()),
        digest::base64url(payload.as_bytes())
    );
    let signature = signer.sign(message.as_bytes()).unwrap();
    format!("{message}.{}", digest::base64url(&signature))
}

fn es256(header: &str, payload: &str, jwk: &Jwk) -> String {
    sign_raw(header, payload, &ES256.signer_from_jwk(jwk).unwrap())
}

fn verify(compact: &str, keys: &VerificationKeys) -> Result<VerifiedJws, JwsError> {
    verify_jws(compact, SigningAlg::ES256, keys)
}

#[test]
fn a_valid_token_is_verified_with_and_without_kid() {
    let jwk = ec_key("a");
    let keys = key_set(&[published(&jwk)]);
    for header in [r#"{"alg":"ES256","kid":"a","typ":"JWT"}"#, r#"{"alg":"ES256"}"#] {
        let jws = verify(&es256(header, r#"{"sub":"x"}"#, &jwk), &keys)
            .map_err(|error| format!("{header}: {error}"));
        assert_eq!(jws.unwrap().claims["sub"], "x");
    }
    let rsa = Jwk::generate_rsa_key(2048).unwrap();
    let compact = sign_raw(r#"{"alg":"RS256"}"#, "{}", &RS256.signer_from_jwk(&rsa).unwrap());
    assert!(
        verify_jws(&compact, SigningAlg::RS256, &key_set(&[published(&rsa), published(&jwk)]))
            .is_ok()
    );
}

#[test]
fn forged_and_malformed_tokens_are_refused() {
    let (jwk, other) = (ec_key("a"), ec_key("a"));
    let keys = key_set(&[published(&jwk)]);
    let good = es256(r#"{"alg":"ES256","kid":"a"}"#, "{}", &jwk);
    let (message, signature) = good.rsplit_once('.').unwrap();
    let none = digest::base64url(br#"{"alg":"none"}"#);
    let embedded = json!({ "alg": "ES256", "kid": "b", "jwk": published(&other) }).to_string();
    let secret_mac = HS256.signer_from_bytes(b"the client secret of thirty-two b").unwrap();
    let public_mac = HS256.signer_from_bytes(published(&jwk).to_string().as_bytes()).unwrap();
    let rsa = RS256.signer_from_jwk(&Jwk::generate_rsa_key(2048).unwrap()).unwrap();
    let table = [
        ("alg none", format!("{none}.e30."), JwsError::Algorithm),
        ("alg None", sign_raw(r#"{"alg":"None"}"#, "{}", &rsa), JwsError::Algorithm),
        (
            "hs256 with the client secret",
            sign_raw(r#"{"alg":"HS256","kid":"a"}"#, "{}", &secret_mac),
            JwsError::Algorithm,
        ),
        (
            "hs256 with the public key",
            sign_raw(r#"{"alg":"HS256","kid":"a"}"#, "{}", &public_mac),
            JwsError::Algorithm,
        ),
        (
            "another registered algorithm",
            sign_raw(r#"{"alg":"RS256","kid":"a"}"#, "{}", &rsa),
            JwsError::Algorithm,
        ),
        ("no alg", es256(r#"{"kid":"a"}"#, "{}", &jwk), JwsError::Algorithm),
        ("another key", es256(r#"{"alg":"ES256","kid":"a"}"#, "{}", &other), JwsError::Signature),
        ("a key of its own in jwk", es256(&embedded, "{}", &other), JwsError::UnknownKey),
        ("an unknown kid", es256(r#"{"alg":"ES256","kid":"z"}"#, "{}", &jwk), JwsError::UnknownKey),
        ("kid not a string", es256(r#"{"alg":"ES256","kid":1}"#, "{}", &jwk), JwsError::Malformed),
        (
            "crit",
            es256(r#"{"alg":"ES256","kid":"a","crit":["exp"]}"#, "{}", &jwk),
            JwsError::Extension,
        ),
        ("b64", es256(r#"{"alg":"ES256","kid":"a","b64":false}"#, "{}", &jwk), JwsError::Extension),
        (
            "alg twice",
            es256(r#"{"alg":"none","alg":"ES256","kid":"a"}"#, "{}", &jwk),
            JwsError::Malformed,
        ),
        (
            "a claim twice",
            es256(r#"{"alg":"ES256","kid":"a"}"#, r#"{"sub":"a","sub":"b"}"#, &jwk),
            JwsError::Malformed,
        ),
        (
            "claims not an object",
            es256(r#"{"alg":"ES256","kid":"a"}"#, "[]", &jwk),
            JwsError::Malformed,
        ),
        (
            "changed payload",
            format!("{}.eyJzdWIiOiJ4In0.{signature}", good.split('.').next().unwrap()),
            JwsError::Signature,
        ),
        ("no signature", format!("{message}."), JwsError::Signature),
        (
            "all-zero signature",
            format!("{message}.{}", digest::base64url(&[0; 64])),
            JwsError::Signature,
        ),
        (
            "half-zero signature",
            format!("{message}.{}", digest::base64url(&[[0; 32], [1; 32]].concat())),
            JwsError::Signature,
        ),
        ("padded signature", format!("{good}="), JwsError::Malformed),
        ("five parts", "a.b.c.d.e".into(), JwsError::Encrypted),
        ("two parts", "a.b".into(), JwsError::Malformed),
        ("four parts", "a.b.c.d".into(), JwsError::Malformed),
        ("six parts", "a.b.c.d.e.f".into(), JwsError::Malformed),
        ("flattened JSON", json!({ "payload": "e30" }).to_string(), JwsError::Malformed),
        ("empty", String::new(), JwsError::Malformed),
        ("a megabyte", "a".repeat(1 << 20), JwsError::TooLarge),
    ];
    for (attack, compact, expected) in table {
        assert_eq!(verify(&compact, &keys).err(), Some(expected), "{attack}");
    }
    assert!(verify(&good, &keys).is_ok());
}

#[test]
fn without_kid_two_fitting_keys_are_ambiguous() {
    let (one, two) = (ec_key("1"), ec_key("2"));
    let keys = key_set(&[published(&one), published(&two)]);
    assert_eq!(
        verify(&es256(r#"{"alg":"ES256"}"#, "{}", &one), &keys).err(),
        Some(JwsError::AmbiguousKey)
    );
    assert!(verify(&es256(r#"{"alg":"ES256","kid":"2"}"#, "{}", &two), &keys).is_ok());
}

#[test]
fn keys_that_must_not_verify_are_skipped() {
    let mut jwk = published(&ec_key("a"));
    let with = |name: &str, value: Value| {
        let mut changed = jwk.clone();
        changed[name] = value;
        changed
    };
    let rsa = published(&Jwk::generate_rsa_key(2048).unwrap());
    let with_exponent = |e: &str| {
        let mut changed = rsa.clone();
        changed["e"] = json!(e);
        changed
    };
    for exponent in ["AQAB", "AAEAAQ", "Aw", "EQ"] {
        assert_eq!(key_set(&[with_exponent(exponent)]).len(), 1, "{exponent}");
    }
    let unusable = [
        with("d", json!("AAAA")),
        with("use", json!("enc")),
        with("use", json!(["enc"])),
        with("alg", json!("ECDH-ES")),
        with("key_ops", json!(["sign"])),
        with("key_ops", json!("sign")),
        with("crv", json!("P-384")),
        with("x", json!("AAAA")),
        json!({ "kty": "oct", "k": "AAAA", "alg": "HS256" }),
        published(&Jwk::generate_rsa_key(1024).unwrap()),
        with_exponent("AQ"),
        with_exponent("AQAA"),
        with_exponent("AQAAAAAAAAAB"),
        // The cost of a verification grows with both numbers.
        with_exponent("_____________w"),
        with_exponent("AQAD"),
        json!({ "kty": "RSA", "e": "AQAB", "n": digest::base64url(&[255; 513]) }),
        json!({ "kty": "RSA", "e": "AQAB", "n": digest::base64url(&[255; 1024]) }),
        serde_json::to_value(Jwk::generate_rsa_key(2048).unwrap()).unwrap(),
        json!("not a key"),
    ];
    for key in &unusable {
        assert!(key_set(std::slice::from_ref(key)).is_empty(), "{}", key["kty"]);
    }
    let mut all = unusable.to_vec();
    jwk["use"] = json!("sig");
    all.push(jwk);
    let keys = key_set(&all);
    assert_eq!((keys.len(), keys.skipped()), (1, unusable.len()));
    let reasons: Vec<_> = keys.skipped_by_reason().collect();
    use UnusableKey::{Malformed, OtherAlgorithm, OtherUse, Secret, UnsoundRsa};
    assert_eq!(
        reasons,
        [(Secret, 3), (OtherUse, 4), (OtherAlgorithm, 2), (UnsoundRsa, 8), (Malformed, 2)]
    );
    let mut padded = published(&Jwk::generate_rsa_key(2048).unwrap());
    padded["n"] = json!(format!("{}==", padded["n"].as_str().unwrap()));
    let reasons: Vec<_> = key_set(&[padded]).skipped_by_reason().collect();
    assert_eq!(reasons, [(UnusableKey::Encoding, 1)], "it is not too short");
}

#[test]
fn a_key_set_has_one_list_of_keys_and_an_end() {
    for bad in [&b"[]"[..], b"{}", br#"{"keys":{}}"#, br#"{"keys":[],"keys":[]}"#, b"\xff"] {
        assert!(VerificationKeys::from_jwks(bad).is_err());
    }
    let one = published(&ec_key("a"));
    let named = |n: usize| {
        let mut key = one.clone();
        key["kid"] = json!(n.to_string());
        key
    };
    let many: Vec<Value> = (0..MAX_USABLE_KEYS_PER_SET + 5).map(named).collect();
    let keys = key_set(&many);
    assert_eq!(
        (keys.len(), keys.skipped_by_reason().collect::<Vec<_>>()),
        (MAX_USABLE_KEYS_PER_SET, vec![(UnusableKey::OverLimit, 5)])
    );
    // Keys for others don't count.
    let others = (0..MAX_USABLE_KEYS_PER_SET).map(|n| json!({ "kty": "oct", "kid": n }));
    let all: Vec<Value> = others.chain([one.clone()]).collect();
    assert_eq!(key_set(&all).len(), 1);
    let set = json!({ "keys": many }).to_string();
    let of_client = VerificationKeys::from_client_jwks(set.as_bytes()).unwrap();
    assert_eq!(of_client.len(), MAX_KEYS_PER_SET);
}

/// Attack: two parsers read different keys from one text.
#[test]
fn a_key_that_repeats_a_member_that_decides_about_it_verifies_nothing() {
    let key = published(&ec_key("a"));
    let with = |more: &str| {
        let text = key.to_string();
        let text = text.strip_suffix('}').unwrap();
        let set = format!("{{\"keys\":[{text},{more}}}],\"x\":1,\"x\":2}}");
        (set.clone(), VerificationKeys::from_jwks(set.as_bytes()).unwrap())
    };
    for name in ["kty", "crv", "x", "y", "kid"] {
        let value = &key[name];
        let (set, keys) = with(&format!("\"{name}\":{value}"));
        let skipped: Vec<_> = keys.skipped_by_reason().collect();
        assert_eq!(skipped, [(UnusableKey::RepeatedMember, 1)], "{set}");
    }
    // Without any value it would be the key of someone who published no private part.
    let (_, keys) = with(r#""d":"AAAA","d":"AAAA""#);
    assert_eq!(keys.skipped_by_reason().collect::<Vec<_>>(), [(UnusableKey::RepeatedMember, 1)]);
    let (set, keys) = with(r#""x5t":"a","x5t":"b""#);
    assert_eq!((keys.len(), keys.skipped()), (1, 0), "{set}");
    assert!(keys.dropped_members().iter().eq(["/keys/0/x5t", "/x"]));
    assert!(
        VerificationKeys::from_client_jwks(set.as_bytes()).is_err(),
        "a client corrects its own"
    );
}

#[test]
fn two_keys_under_one_name_prove_nothing_and_one_key_twice_is_one() {
    let (one, two) = (ec_key("a"), ec_key("a"));
    let token = es256(r#"{"alg":"ES256","kid":"a"}"#, "{}", &one);
    let keys = key_set(&[published(&one), published(&one)]);
    assert_eq!(keys.skipped_by_reason().collect::<Vec<_>>(), [(UnusableKey::Duplicate, 1)]);
    assert!(verify(&token, &keys).is_ok());
    assert!(verify(&es256(r#"{"alg":"ES256"}"#, "{}", &one), &keys).is_ok(), "without kid as well");
    let keys = key_set(&[published(&one), published(&two)]);
    assert_eq!(verify(&token, &keys).err(), Some(JwsError::AmbiguousKey));
}

/// FAPI 2.0 Security Profile §5.4.3
#[test]
fn keys_under_one_name_differ_by_use_and_type() {
    let (own, other) = (ec_key("a"), ec_key("a"));
    let token = es256(r#"{"alg":"ES256","kid":"a"}"#, "{}", &own);
    let mut encryption = published(&other);
    encryption["use"] = "enc".into();
    let mut rsa = published(&Jwk::generate_rsa_key(2048).unwrap());
    rsa["kid"] = "a".into();
    assert!(verify(&token, &key_set(&[encryption, rsa, published(&own)])).is_ok());
}

#[test]
fn times_are_checked_with_tolerance_on_both_sides() {
    let now = Timestamp::from_seconds(1_000_000);
    let table = [
        (json!({ "exp": 999_941, "nbf": 1_000_060, "iat": 1_000_060 }), None),
        (json!({ "exp": 999_940 }), Some(TimeClaimError::Expired)),
        (json!({ "exp": 1_000_001, "nbf": 1_000_061 }), Some(TimeClaimError::NotYet)),
        (json!({ "exp": 1_000_001, "iat": 1_000_061 }), Some(TimeClaimError::IssuedInFuture)),
        (json!({ "exp": 1_000_000.5 }), None),
        (json!({ "exp": "1000001" }), Some(TimeClaimError::Malformed)),
        (json!({ "exp": -1 }), Some(TimeClaimError::Malformed)),
        (json!({ "exp": 1e300 }), Some(TimeClaimError::Malformed)),
        (json!({}), Some(TimeClaimError::Malformed)),
    ];
    for (claims, expected) in table {
        assert_eq!(
            check_time_claims(claims.as_object().unwrap(), Expiry::Required, now).err(),
            expected,
            "{claims}"
        );
    }
    assert!(check_time_claims(&Map::new(), Expiry::Optional, now).is_ok());
}

/// FAPI 2.0 Security Profile §5.4.1
#[test]
fn a_client_may_sign_by_ps256_and_eddsa_and_each_key_verifies_what_it_is_for() {
    let rsa = Jwk::generate_rsa_key(2048).unwrap();
    let ed = Jwk::generate_ed_key(EdCurve::Ed25519).unwrap();
    let with_alg = |key: &Jwk, alg: &str| {
        let mut public = published(key);
        public["alg"] = json!(alg);
        public
    };
    let ps256 = PS256.signer_from_jwk(&rsa).unwrap();
    let eddsa = EdDSA.signer_from_jwk(&ed).unwrap();
    let rows: [(&str, &dyn JwsSigner, VerificationAlg, Value); 4] = [
        ("PS256", &ps256, VerificationAlg::PS256, published(&rsa)),
        ("PS256", &ps256, VerificationAlg::PS256, with_alg(&rsa, "PS256")),
        ("EdDSA", &eddsa, VerificationAlg::EdDSA, published(&ed)),
        ("Ed25519", &eddsa, VerificationAlg::EdDSA, with_alg(&ed, "Ed25519")),
    ];
    for (name, signer, alg, key) in rows {
        let set = json!({ "keys": [key, published(&ec_key("other"))] }).to_string();
        let token = sign_raw(&format!(r#"{{"alg":"{name}"}}"#), "{}", signer);
        let keys = VerificationKeys::from_client_jwks(set.as_bytes()).unwrap();
        assert!(keys.verifies(alg) && verify_jws(&token, alg, &keys).is_ok(), "{name}");
        for other in VerificationAlg::ALL.into_iter().filter(|other| *other != alg) {
            assert!(verify_jws(&token, other, &keys).is_err(), "{name} as {other:?}");
        }
        // Identity providers keep their two.
        let upstream = VerificationKeys::from_jwks(set.as_bytes()).unwrap();
        assert!(verify_jws(&token, alg, &upstream).is_err(), "{name}");
    }
    let for_rs256 = json!({ "keys": [with_alg(&rsa, "RS256")] }).to_string();
    let keys = VerificationKeys::from_client_jwks(for_rs256.as_bytes()).unwrap();
    assert!(keys.verifies(VerificationAlg::RS256) && !keys.verifies(VerificationAlg::PS256));
}

#[test]
fn audience_is_compared_whole() {
    for (aud, expected) in [
        (json!("hub"), true),
        (json!(["a", "hub"]), true),
        (json!("hub2"), false),
        (json!([]), false),
        (json!(1), false),
    ] {
        assert_eq!(
            names_audience(json!({ "aud": aud }).as_object().unwrap(), "hub"),
            expected,
            "{aud}"
        );
    }
}

#[test]
fn the_algorithm_of_similar_cost_is_one_of_the_hub() {
    let jwk = ec_key("a");
    for (header, expected) in [
        (r#"{"alg":"ES256"}"#, Some(SigningAlg::ES256)),
        (r#"{"alg":"RS256"}"#, Some(SigningAlg::RS256)),
        (r#"{"alg":"PS256"}"#, Some(SigningAlg::RS256)),
        (r#"{"alg":"EdDSA"}"#, Some(SigningAlg::ES256)),
        (r#"{"alg":"none"}"#, None),
        (r#"{"alg":["ES256"]}"#, None),
        ("{}", None),
    ] {
        assert_eq!(alg_of_similar_cost(&es256(header, "{}", &jwk)), expected, "{header}");
    }
    assert_eq!(alg_of_similar_cost(""), None);
}
