//! What is refused before a key is used, what does not open, and what must not be inside.

use std::time::Duration;

use josekit::jwe::{ECDH_ES, ECDH_ES_A256KW, JweEncrypter, JweHeader, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::Jwk;
use serde_json::json;

use super::*;
use crate::token::keyring::Keyring;
use crate::token::keyring::tests::T0;
use crate::token::upstream_keys::tests::{KEYS, ec};
use crate::token::upstream_keys::{KEPT, SPREAD};

const JWS: &str = "aGVhZA.Ym9keQ.c2ln";
const ALGS: [EncryptionAlg; 3] = EncryptionAlg::ALL;

fn sealing(alg: EncryptionAlg) -> Sealing {
    Sealing { alg, enc: ContentEncryption::A256GCM }
}

/// What an identity provider finds for `alg` in our key set.
pub(crate) fn published(keys: &UpstreamKeys, now: Timestamp, alg: &str) -> Jwk {
    let set: Value = serde_json::from_slice(&keys.jwks(now)).unwrap();
    let found = set["keys"].as_array().unwrap().iter().find(|key| key["alg"] == alg).unwrap();
    Jwk::from_map(found.as_object().unwrap().clone()).unwrap()
}

pub(crate) fn encrypter(alg: EncryptionAlg, jwk: &Jwk) -> Box<dyn JweEncrypter> {
    match alg {
        EncryptionAlg::EcdhEs => Box::new(ECDH_ES.encrypter_from_jwk(jwk).unwrap()),
        EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.encrypter_from_jwk(jwk).unwrap()),
        EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.encrypter_from_jwk(jwk).unwrap()),
    }
}

/// Sealed as a faithful identity provider does, with `more` in the header.
pub(crate) fn seal_to(jwk: &Jwk, alg: EncryptionAlg, inside: &str, more: &Value) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption("A256GCM");
    for (name, value) in more.as_object().unwrap() {
        header.set_claim(name, Some(value.clone())).unwrap();
    }
    josekit::jwe::serialize_compact(inside.as_bytes(), &header, encrypter(alg, jwk).as_ref())
        .unwrap()
}

fn seal(alg: EncryptionAlg, inside: &str, more: &Value) -> String {
    seal_to(&published(&KEYS, T0, alg.as_str()), alg, inside, more)
}

fn open(compact: &str, alg: EncryptionAlg) -> Result<String, UnsealFault> {
    open_jwe(compact, sealing(alg), &KEYS, T0).map(Secret::into_inner)
}

fn with_header(compact: &str, header: &str) -> String {
    format!("{}.{}", digest::base64url(header.as_bytes()), compact.split_once('.').unwrap().1)
}

#[test]
fn what_is_sealed_to_a_published_key_opens_with_and_without_its_name() {
    for alg in ALGS {
        let named = published(&KEYS, T0, alg.as_str());
        let mut unnamed = named.clone();
        unnamed.set_parameter("kid", None).unwrap();
        for jwk in [&named, &unnamed] {
            let sealed = seal_to(jwk, alg, JWS, &json!({ "cty": "JWT" }));
            assert_eq!(open(&sealed, alg).as_deref(), Ok(JWS), "{alg:?}");
        }
    }
    // An identity provider that goes by kty alone finds the RSA key under the name of its other algorithm.
    let other = published(&KEYS, T0, "RSA-OAEP-256");
    let mut plain = other.clone();
    plain.set_parameter("alg", None).unwrap();
    assert_eq!(
        open(&seal_to(&plain, EncryptionAlg::RsaOaep, JWS, &json!({})), EncryptionAlg::RsaOaep)
            .as_deref(),
        Ok(JWS)
    );
}

#[test]
fn sealed_to_a_key_that_is_not_ours_is_refused() {
    let foreign = UpstreamKeys::ephemeral(T0).unwrap();
    for alg in ALGS {
        let stranger = published(&foreign, T0, alg.as_str());
        assert_eq!(
            open(&seal_to(&stranger, alg, JWS, &json!({})), alg),
            Err(UnsealFault::UnknownKey)
        );
        let mut impostor = stranger;
        impostor.set_key_id(published(&KEYS, T0, alg.as_str()).key_id().unwrap());
        assert_eq!(open(&seal_to(&impostor, alg, JWS, &json!({})), alg), Err(UnsealFault::Broken));
    }
}

#[test]
fn a_key_of_another_kind_or_for_signatures_opens_nothing() {
    let rsa = published(&KEYS, T0, "RSA-OAEP-256");
    let signing = published(&KEYS, T0, "ES256");
    for kid in [rsa.key_id().unwrap(), signing.key_id().unwrap()] {
        let mut jwk = published(&KEYS, T0, "ECDH-ES");
        jwk.set_key_id(kid);
        let sealed = seal_to(&jwk, EncryptionAlg::EcdhEs, JWS, &json!({}));
        assert_eq!(open(&sealed, EncryptionAlg::EcdhEs), Err(UnsealFault::UnknownKey));
    }
}

#[test]
fn algorithms_are_the_registered_ones_exactly() {
    for alg in ALGS {
        for other in ALGS.into_iter().filter(|other| *other != alg) {
            assert_eq!(
                open(&seal(alg, JWS, &json!({})), other),
                Err(UnsealFault::Algorithm),
                "{alg:?} {other:?}"
            );
        }
        let mut weaker = JweHeader::new();
        weaker.set_content_encryption("A128GCM");
        let jwk = published(&KEYS, T0, alg.as_str());
        let sealed =
            josekit::jwe::serialize_compact(JWS.as_bytes(), &weaker, encrypter(alg, &jwk).as_ref())
                .unwrap();
        assert_eq!(open(&sealed, alg), Err(UnsealFault::ContentEncryption));
    }
    let mut jwk = published(&KEYS, T0, "ECDH-ES");
    jwk.set_parameter("alg", None).unwrap();
    let mut header = JweHeader::new();
    header.set_content_encryption("A256GCM");
    let wrapped = ECDH_ES_A256KW.encrypter_from_jwk(&jwk).unwrap();
    let sealed = josekit::jwe::serialize_compact(JWS.as_bytes(), &header, &wrapped).unwrap();
    assert_eq!(open(&sealed, EncryptionAlg::EcdhEs), Err(UnsealFault::Algorithm));
    let direct = with_header(
        &seal(EncryptionAlg::EcdhEs, JWS, &json!({})),
        r#"{"alg":"dir","enc":"A256GCM"}"#,
    );
    assert_eq!(open(&direct, EncryptionAlg::EcdhEs), Err(UnsealFault::Algorithm));
}

#[test]
fn compressed_bomb_is_refused_before_it_is_opened() {
    let bomb = "a".repeat(10_000_000);
    for alg in ALGS {
        let sealed = seal(alg, &bomb, &json!({ "zip": "DEF" }));
        assert!(sealed.len() < MAX_BYTES);
        assert_eq!(open(&sealed, alg), Err(UnsealFault::Compressed));
        // Not even looked at with a key: there is none of this name.
        let header =
            json!({ "alg": alg.as_str(), "enc": "A256GCM", "zip": "DEF", "kid": "nobody" })
                .to_string();
        assert_eq!(open(&with_header(&sealed, &header), alg), Err(UnsealFault::Compressed));
        // And if the check above were lost, the library has no such compression.
        let key = KEYS.unnamed(alg, T0).unwrap().decrypter(alg).unwrap();
        assert!(jwe::CONTEXT.deserialize_compact(&sealed, key).is_err());
    }
}

#[test]
fn crit_is_refused_whatever_it_names() {
    for crit in [json!(["exp"]), json!([]), json!("zip"), Value::Null] {
        let header = json!({ "alg": "ECDH-ES", "enc": "A256GCM", "crit": crit }).to_string();
        let sealed = with_header(&seal(EncryptionAlg::EcdhEs, JWS, &json!({})), &header);
        assert_eq!(open(&sealed, EncryptionAlg::EcdhEs), Err(UnsealFault::Extension), "{crit}");
    }
}

#[test]
fn a_shortened_tag_or_odd_iv_is_refused_before_it_can_be_guessed() {
    let sealed = seal(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let parts: Vec<&str> = sealed.split('.').collect();
    let tag = digest::from_base64url(parts[4]).unwrap();
    let built = |iv: &str, tag: &[u8]| {
        format!("{}..{iv}.{}.{}", parts[0], parts[3], digest::base64url(tag))
    };
    assert_eq!(open(&built(parts[2], &tag), EncryptionAlg::EcdhEs).as_deref(), Ok(JWS));
    for length in [0, 1, 4, 15] {
        assert_eq!(
            open(&built(parts[2], &tag[..length]), EncryptionAlg::EcdhEs),
            Err(UnsealFault::Malformed),
            "{length}"
        );
    }
    for iv in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(
            open(&built(iv, &tag), EncryptionAlg::EcdhEs),
            Err(UnsealFault::Malformed),
            "{iv}"
        );
    }
}

#[test]
fn any_changed_part_breaks_the_seal() {
    for alg in ALGS {
        let sealed = seal(alg, JWS, &json!({}));
        for index in 1..5 {
            let mut parts: Vec<String> = sealed.split('.').map(str::to_owned).collect();
            let mut bytes = digest::from_base64url(&parts[index]).unwrap();
            match bytes.first_mut() {
                Some(byte) => *byte ^= 1,
                None => bytes.push(1),
            }
            parts[index] = digest::base64url(&bytes);
            assert_eq!(open(&parts.join("."), alg), Err(UnsealFault::Broken), "{alg:?} {index}");
        }
    }
}

#[test]
fn a_point_off_the_curve_is_refused() {
    let sealed = seal(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let header: Value =
        serde_json::from_slice(&digest::from_base64url(sealed.split('.').next().unwrap()).unwrap())
            .unwrap();
    let mut invalid = header.clone();
    invalid["epk"]["y"] = invalid["epk"]["x"].clone();
    let mut missing = header;
    missing.as_object_mut().unwrap().remove("epk");
    for header in [invalid, missing] {
        assert_eq!(
            open(&with_header(&sealed, &header.to_string()), EncryptionAlg::EcdhEs),
            Err(UnsealFault::Broken)
        );
    }
}

#[test]
fn claims_sealed_by_anyone_but_signed_by_nobody_are_refused() {
    let inside = [
        r#"{"sub":"victim","iss":"https://idp.example.org"}"#,
        "",
        "a.b",
        "a.b.c.d",
        "two.dots only.",
        "a.b.c ",
    ];
    for inside in inside {
        assert_eq!(
            open(&seal(EncryptionAlg::EcdhEs, inside, &json!({})), EncryptionAlg::EcdhEs),
            Err(UnsealFault::Unsigned),
            "{inside}"
        );
    }
}

#[test]
fn a_seal_inside_a_seal_is_refused() {
    let inner = seal(EncryptionAlg::RsaOaep256, JWS, &json!({}));
    let outer = seal(EncryptionAlg::RsaOaep256, &inner, &json!({ "cty": "JWT" }));
    assert_eq!(open(&outer, EncryptionAlg::RsaOaep256), Err(UnsealFault::Nested));
}

#[test]
fn other_forms_are_refused_by_name() {
    let sealed = seal(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let header = r#"{"alg":"ECDH-ES","enc":"A256GCM","#;
    let table = [
        (JWS.to_owned(), UnsealFault::Bare),
        ("abc".into(), UnsealFault::Malformed),
        (format!("{sealed}.x"), UnsealFault::Malformed),
        (format!("{{\"ciphertext\":\"{sealed}\"}}"), UnsealFault::Malformed),
        (with_header(&sealed, "[]"), UnsealFault::Malformed),
        (with_header(&sealed, &format!("{header}\"alg\":\"ECDH-ES\"}}")), UnsealFault::Malformed),
        (with_header(&sealed, &format!("{header}\"kid\":7}}")), UnsealFault::Malformed),
        (with_header(&sealed, r#"{"alg":["ECDH-ES"],"enc":"A256GCM"}"#), UnsealFault::Algorithm),
        (with_header(&sealed, r#"{"alg":"ECDH-ES"}"#), UnsealFault::ContentEncryption),
        (format!("{}.{}", sealed, "A".repeat(MAX_BYTES)), UnsealFault::TooLarge),
    ];
    for (text, expected) in table {
        assert_eq!(open(&text, EncryptionAlg::EcdhEs), Err(expected), "{text:.80}");
    }
}

#[test]
fn a_retired_key_still_opens_for_who_held_its_key_set() {
    let rotated = T0 + Duration::from_secs(3600);
    let old = ec(T0);
    let before: Value = serde_json::from_str(old.public_jwks().next().unwrap()).unwrap();
    let held = Jwk::from_map(before.as_object().unwrap().clone()).unwrap();
    let keys = UpstreamKeys::unchecked(vec![old, ec(rotated)], Keyring::unchecked(Vec::new()));
    let sealed = seal_to(&held, EncryptionAlg::EcdhEs, JWS, &json!({}));
    let late = rotated + SPREAD + KEPT;
    assert_ne!(published(&keys, late, "ECDH-ES").key_id(), held.key_id());
    let opened =
        open_jwe(&sealed, sealing(EncryptionAlg::EcdhEs), &keys, late).map(Secret::into_inner);
    assert_eq!(opened.as_deref(), Ok(JWS));
}
