//! What a usable signing key is, and what a damaged one is rejected for.

use super::*;

fn parse(jwk: &PrivateJwk) -> Result<SigningKey, KeyError> {
    SigningKey::parse(jwk, Timestamp::default(), Timestamp::default())
}

fn with(jwk: &PrivateJwk, name: &str, value: Value) -> PrivateJwk {
    let mut members = jwk.reveal().clone();
    members.insert(name.into(), value);
    Secret::new(members)
}

#[test]
fn kid_is_the_thumbprint_of_rfc_7638_3_1() {
    let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    let public = json!({ "kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29" });
    let (_, public) = public_half(public.as_object().unwrap()).unwrap();
    assert_eq!(thumbprint(&public), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn the_public_half_holds_nothing_private() {
    for (alg, names) in [
        (SigningAlg::ES256, ["alg", "crv", "kid", "kty", "use", "x", "y"].as_slice()),
        (SigningAlg::RS256, ["alg", "e", "kid", "kty", "n", "use"].as_slice()),
    ] {
        let key = parse(&generate(alg).unwrap()).unwrap();
        let public: Map<String, Value> = serde_json::from_str(key.public_jwk()).unwrap();
        let mut found: Vec<_> = public.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, names);
        assert!(!format!("{key:?}").contains("\"d\""));
    }
}

#[test]
fn new_rsa_keys_have_3072_bits_and_those_of_2048_still_work() {
    let bits = |jwk: &PrivateJwk| {
        let (_, public) = public_half(jwk.reveal()).unwrap();
        8 * digest::from_base64url(public["n"].as_str().unwrap()).unwrap().len()
    };
    let (new, former) =
        (generate(SigningAlg::RS256).unwrap(), generate_ephemeral(SigningAlg::RS256).unwrap());
    assert_eq!((bits(&new), bits(&former)), (3072, 2048));
    assert!(parse(&new).is_ok() && parse(&former).is_ok());
}

#[test]
fn damaged_keys_are_refused_by_what_is_wrong_with_them() {
    let ec = generate(SigningAlg::ES256).unwrap();
    let other = generate(SigningAlg::ES256).unwrap();
    let mut swapped = with(&ec, "x", other.reveal()["x"].clone());
    swapped = with(&swapped, "y", other.reveal()["y"].clone());
    let small = Secret::new(Jwk::generate_rsa_key(1024).unwrap().into());
    for (jwk, error) in [
        (swapped, KeyError::KeyPairMismatch),
        (with(&ec, "kid", "mine".into()), KeyError::KidMismatch),
        (with(&ec, "kid", 7.into()), KeyError::KidMismatch),
        (with(&ec, "crv", "P-384".into()), KeyError::UnsupportedType),
        (with(&ec, "kty", "oct".into()), KeyError::UnsupportedType),
        (with(&ec, "use", "enc".into()), KeyError::Unusable),
        (with(&ec, "alg", "ES384".into()), KeyError::Unusable),
        (with(&ec, "d", Value::Null), KeyError::Unusable),
        (with(&ec, "y", Value::Null), KeyError::Unusable),
        (small, KeyError::Unusable),
    ] {
        assert_eq!(parse(&jwk).map(|_| ()).unwrap_err(), error);
    }
}
