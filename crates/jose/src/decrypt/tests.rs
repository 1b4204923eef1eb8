//! JWEs that are rejected before a key is used, fail decryption, or have unacceptable content.

use std::time::Duration;

use futures_util::FutureExt as _;
use josekit::jwe::{ECDH_ES_A256KW, JweHeader};
use josekit::jwk::Jwk;
use serde_json::json;

use super::*;
use crate::keyring::Keyring;
use crate::relying_party_keys::{PUBLICATION_DELAY, RETIRED_DECRYPTION_KEY_LIFETIME};
use crate::testing::sample_keys::{
    KEYS, T0, ec, encrypt_to, encrypter, in_absent_device, published,
};

const JWS: &str = "aGVhZA.Ym9keQ.c2ln";
const ALGS: [EncryptionAlg; 3] = EncryptionAlg::ALL;

fn algorithms(alg: EncryptionAlg) -> JweAlgorithms {
    JweAlgorithms { alg, enc: ContentEncryption::A256GCM }
}

fn encrypt(alg: EncryptionAlg, content: &str, more: &Value) -> String {
    encrypt_to(&published(&KEYS, T0, alg.as_str()), alg, content, more)
}

fn decrypt(compact: &str, alg: EncryptionAlg) -> Result<String, JweDecryptError> {
    decrypt_at(compact, alg, &KEYS, T0)
}

/// Local keys never wait.
fn decrypt_at(
    compact: &str,
    alg: EncryptionAlg,
    keys: &RelyingPartyKeys,
    now: Timestamp,
) -> Result<String, JweDecryptError> {
    let decrypted = decrypt_jwe(compact, algorithms(alg), keys, now).now_or_never().unwrap();
    decrypted.map(Secret::into_inner)
}

fn with_header(compact: &str, header: &str) -> String {
    format!("{}.{}", digest::base64url(header.as_bytes()), compact.split_once('.').unwrap().1)
}

#[test]
fn what_is_encrypted_to_a_published_key_is_decrypted_with_and_without_kid() {
    for alg in ALGS {
        let named = published(&KEYS, T0, alg.as_str());
        let mut unnamed = named.clone();
        unnamed.set_parameter("kid", None).unwrap();
        for jwk in [&named, &unnamed] {
            let encrypted = encrypt_to(jwk, alg, JWS, &json!({ "cty": "JWT" }));
            assert_eq!(decrypt(&encrypted, alg).as_deref(), Ok(JWS), "{alg:?}");
        }
    }
    // An identity provider that selects by kty only may use the RSA key under the id of its other
    // algorithm.
    let other = published(&KEYS, T0, "RSA-OAEP-256");
    let mut plain = other.clone();
    plain.set_parameter("alg", None).unwrap();
    assert_eq!(
        decrypt(
            &encrypt_to(&plain, EncryptionAlg::RsaOaep, JWS, &json!({})),
            EncryptionAlg::RsaOaep
        )
        .as_deref(),
        Ok(JWS)
    );
}

#[test]
fn encrypted_to_another_key_is_rejected() {
    let foreign = RelyingPartyKeys::ephemeral(T0).unwrap();
    for alg in ALGS {
        let stranger = published(&foreign, T0, alg.as_str());
        assert_eq!(
            decrypt(&encrypt_to(&stranger, alg, JWS, &json!({})), alg),
            Err(JweDecryptError::UnknownKey)
        );
        let mut impostor = stranger;
        impostor.set_key_id(published(&KEYS, T0, alg.as_str()).key_id().unwrap());
        assert_eq!(
            decrypt(&encrypt_to(&impostor, alg, JWS, &json!({})), alg),
            Err(JweDecryptError::DecryptionFailed)
        );
    }
}

#[test]
fn a_key_of_another_kind_or_for_signatures_decrypts_nothing() {
    let rsa = published(&KEYS, T0, "RSA-OAEP-256");
    let signing = published(&KEYS, T0, "ES256");
    for kid in [rsa.key_id().unwrap(), signing.key_id().unwrap()] {
        let mut jwk = published(&KEYS, T0, "ECDH-ES");
        jwk.set_key_id(kid);
        let encrypted = encrypt_to(&jwk, EncryptionAlg::EcdhEs, JWS, &json!({}));
        assert_eq!(decrypt(&encrypted, EncryptionAlg::EcdhEs), Err(JweDecryptError::UnknownKey));
    }
}

#[test]
fn algorithms_are_the_registered_ones_exactly() {
    for alg in ALGS {
        for other in ALGS.into_iter().filter(|other| *other != alg) {
            assert_eq!(
                decrypt(&encrypt(alg, JWS, &json!({})), other),
                Err(JweDecryptError::Algorithm),
                "{alg:?} {other:?}"
            );
        }
        let mut weaker = JweHeader::new();
        weaker.set_content_encryption("A128GCM");
        let jwk = published(&KEYS, T0, alg.as_str());
        let encrypted =
            josekit::jwe::serialize_compact(JWS.as_bytes(), &weaker, encrypter(alg, &jwk).as_ref())
                .unwrap();
        assert_eq!(decrypt(&encrypted, alg), Err(JweDecryptError::ContentEncryption));
    }
    let mut jwk = published(&KEYS, T0, "ECDH-ES");
    jwk.set_parameter("alg", None).unwrap();
    let mut header = JweHeader::new();
    header.set_content_encryption("A256GCM");
    let wrapped = ECDH_ES_A256KW.encrypter_from_jwk(&jwk).unwrap();
    let encrypted = josekit::jwe::serialize_compact(JWS.as_bytes(), &header, &wrapped).unwrap();
    assert_eq!(decrypt(&encrypted, EncryptionAlg::EcdhEs), Err(JweDecryptError::Algorithm));
    let direct = with_header(
        &encrypt(EncryptionAlg::EcdhEs, JWS, &json!({})),
        r#"{"alg":"dir","enc":"A256GCM"}"#,
    );
    assert_eq!(decrypt(&direct, EncryptionAlg::EcdhEs), Err(JweDecryptError::Algorithm));
    // PKCS #1 v1.5 has the oracle of Bleichenbacher (RFC 8017 §7.2).
    let oaep = encrypt(EncryptionAlg::RsaOaep, JWS, &json!({}));
    let padded = with_header(&oaep, r#"{"alg":"RSA1_5","enc":"A256GCM"}"#);
    for alg in ALGS {
        assert_eq!(decrypt(&padded, alg), Err(JweDecryptError::Algorithm), "{alg:?}");
    }
}

#[test]
fn compressed_bomb_is_rejected_before_decryption() {
    let bomb = "a".repeat(10_000_000);
    for alg in ALGS {
        let encrypted = encrypt(alg, &bomb, &json!({ "zip": "DEF" }));
        assert!(encrypted.len() < MAX_JWT_BYTES);
        assert_eq!(decrypt(&encrypted, alg), Err(JweDecryptError::Compressed));
        // Rejected before a key is looked up: no key has this id.
        let header =
            json!({ "alg": alg.as_str(), "enc": "A256GCM", "zip": "DEF", "kid": "unknown" })
                .to_string();
        assert_eq!(
            decrypt(&with_header(&encrypted, &header), alg),
            Err(JweDecryptError::Compressed)
        );
        // Even without the check above, the library supports no compression.
        let key = KEYS.default_key(alg, T0).unwrap();
        assert!(key.decrypt(&encrypted, &Map::new(), alg).now_or_never().unwrap().is_err());
    }
}

#[test]
fn any_crit_header_is_refused() {
    for crit in [json!(["exp"]), json!([]), json!("zip"), Value::Null] {
        let header = json!({ "alg": "ECDH-ES", "enc": "A256GCM", "crit": crit }).to_string();
        let encrypted = with_header(&encrypt(EncryptionAlg::EcdhEs, JWS, &json!({})), &header);
        assert_eq!(
            decrypt(&encrypted, EncryptionAlg::EcdhEs),
            Err(JweDecryptError::Extension),
            "{crit}"
        );
    }
}

#[test]
fn a_shortened_tag_or_odd_iv_is_refused_before_it_can_be_guessed() {
    let encrypted = encrypt(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let parts: Vec<&str> = encrypted.split('.').collect();
    let tag = digest::from_base64url(parts[4]).unwrap();
    let built = |iv: &str, tag: &[u8]| {
        format!("{}..{iv}.{}.{}", parts[0], parts[3], digest::base64url(tag))
    };
    assert_eq!(decrypt(&built(parts[2], &tag), EncryptionAlg::EcdhEs).as_deref(), Ok(JWS));
    for length in [0, 1, 4, 15] {
        assert_eq!(
            decrypt(&built(parts[2], &tag[..length]), EncryptionAlg::EcdhEs),
            Err(JweDecryptError::Malformed),
            "{length}"
        );
    }
    for iv in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(
            decrypt(&built(iv, &tag), EncryptionAlg::EcdhEs),
            Err(JweDecryptError::Malformed),
            "{iv}"
        );
    }
}

#[test]
fn any_changed_part_fails_decryption() {
    for alg in ALGS {
        let encrypted = encrypt(alg, JWS, &json!({}));
        for index in 1..5 {
            let mut parts: Vec<String> = encrypted.split('.').map(str::to_owned).collect();
            let mut bytes = digest::from_base64url(&parts[index]).unwrap();
            match bytes.first_mut() {
                Some(byte) => *byte ^= 1,
                None => bytes.push(1),
            }
            parts[index] = digest::base64url(&bytes);
            assert_eq!(
                decrypt(&parts.join("."), alg),
                Err(JweDecryptError::DecryptionFailed),
                "{alg:?} {index}"
            );
        }
    }
}

#[test]
fn a_point_off_the_curve_is_refused() {
    let encrypted = encrypt(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let header: Value = serde_json::from_slice(
        &digest::from_base64url(encrypted.split('.').next().unwrap()).unwrap(),
    )
    .unwrap();
    let mut invalid = header.clone();
    invalid["epk"]["y"] = invalid["epk"]["x"].clone();
    let mut missing = header;
    missing.as_object_mut().unwrap().remove("epk");
    for header in [invalid, missing] {
        assert_eq!(
            decrypt(&with_header(&encrypted, &header.to_string()), EncryptionAlg::EcdhEs),
            Err(JweDecryptError::DecryptionFailed)
        );
    }
}

#[test]
fn encrypted_but_unsigned_claims_are_rejected() {
    let content = [
        r#"{"sub":"victim","iss":"https://idp.example.org"}"#,
        "",
        "a.b",
        "a.b.c.d",
        "two.dots only.",
        "a.b.c ",
    ];
    for content in content {
        assert_eq!(
            decrypt(&encrypt(EncryptionAlg::EcdhEs, content, &json!({})), EncryptionAlg::EcdhEs),
            Err(JweDecryptError::Unsigned),
            "{content}"
        );
    }
}

#[test]
fn a_jwe_inside_a_jwe_is_rejected() {
    let inner = encrypt(EncryptionAlg::RsaOaep256, JWS, &json!({}));
    let outer = encrypt(EncryptionAlg::RsaOaep256, &inner, &json!({ "cty": "JWT" }));
    assert_eq!(decrypt(&outer, EncryptionAlg::RsaOaep256), Err(JweDecryptError::Nested));
}

#[test]
fn other_forms_are_refused_by_name() {
    let encrypted = encrypt(EncryptionAlg::EcdhEs, JWS, &json!({}));
    let header = r#"{"alg":"ECDH-ES","enc":"A256GCM","#;
    let table = [
        (JWS.to_owned(), JweDecryptError::NotEncrypted),
        ("abc".into(), JweDecryptError::Malformed),
        (format!("{encrypted}.x"), JweDecryptError::Malformed),
        (format!("{{\"ciphertext\":\"{encrypted}\"}}"), JweDecryptError::Malformed),
        (with_header(&encrypted, "[]"), JweDecryptError::Malformed),
        (
            with_header(&encrypted, &format!("{header}\"alg\":\"ECDH-ES\"}}")),
            JweDecryptError::Malformed,
        ),
        (with_header(&encrypted, &format!("{header}\"kid\":7}}")), JweDecryptError::Malformed),
        (
            with_header(&encrypted, r#"{"alg":["ECDH-ES"],"enc":"A256GCM"}"#),
            JweDecryptError::Algorithm,
        ),
        (with_header(&encrypted, r#"{"alg":"ECDH-ES"}"#), JweDecryptError::ContentEncryption),
        (format!("{}.{}", encrypted, "A".repeat(MAX_JWT_BYTES)), JweDecryptError::TooLarge),
    ];
    for (text, expected) in table {
        assert_eq!(decrypt(&text, EncryptionAlg::EcdhEs), Err(expected), "{text:.80}");
    }
}

#[test]
fn a_retired_key_still_decrypts_for_who_cached_its_key_set() {
    let rotated = T0 + Duration::from_secs(3600);
    let old = ec(T0);
    let before: Value = serde_json::from_str(old.public_jwks().next().unwrap()).unwrap();
    let held = Jwk::from_map(before.as_object().unwrap().clone()).unwrap();
    let keys =
        RelyingPartyKeys::new_unchecked(vec![old, ec(rotated)], Keyring::new_unchecked(Vec::new()));
    let encrypted = encrypt_to(&held, EncryptionAlg::EcdhEs, JWS, &json!({}));
    let late = rotated + PUBLICATION_DELAY + RETIRED_DECRYPTION_KEY_LIFETIME;
    assert_ne!(published(&keys, late, "ECDH-ES").key_id(), held.key_id());
    let opened = decrypt_at(&encrypted, EncryptionAlg::EcdhEs, &keys, late);
    assert_eq!(opened.as_deref(), Ok(JWS));
}

/// A failed device is the hub's failure, and not the identity provider's.
#[tokio::test]
async fn a_failed_key_device_is_not_an_undecryptable_token() {
    let keys = in_absent_device();
    for alg in [EncryptionAlg::EcdhEs, EncryptionAlg::RsaOaep256] {
        let encrypted = encrypt_to(&published(&keys, T0, alg.as_str()), alg, JWS, &json!({}));
        let outcome = decrypt_jwe(&encrypted, algorithms(alg), &keys, T0).await;
        assert!(matches!(outcome, Err(JweDecryptError::Device(_))), "{alg:?}");
    }
}
