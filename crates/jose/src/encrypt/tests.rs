use std::sync::LazyLock;

use josekit::jwe::{ECDH_ES, JweDecrypter, RSA_OAEP, RSA_OAEP_256};
use josekit::jwk::alg::ec::EcCurve;
use josekit::jwk::alg::ecx::EcxCurve;
use serde_json::json;

use super::*;
use passerelle_protocol::digest::from_base64url;

/// Private keys, made once: RSA takes its time.
pub(crate) static EC: LazyLock<Jwk> =
    LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
pub(crate) static RSA: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_rsa_key(2048).unwrap());
static X25519: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ecx_key(EcxCurve::X25519).unwrap());

const JWS: &str = "aGVhZA.Ym9keQ.c2ln";

/// The public half under this `kid`, with more members.
pub(crate) fn public(private: &Jwk, kid: &str, more: &Value) -> Value {
    let members: &Map<String, Value> = private.as_ref();
    let own = members
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "kty" | "crv" | "x" | "y" | "n" | "e"));
    let mut jwk: Map<String, Value> =
        own.map(|(name, value)| (name.clone(), value.clone())).collect();
    jwk.insert("kid".into(), kid.into());
    jwk.extend(more.as_object().unwrap().clone());
    jwk.into()
}

/// Decrypts with josekit and the private key.
fn decrypt(encrypted: &str, alg: EncryptionAlg, private: &Jwk) -> Option<String> {
    let decrypter: Box<dyn JweDecrypter> = match alg {
        EncryptionAlg::EcdhEs => Box::new(ECDH_ES.decrypter_from_jwk(private).unwrap()),
        EncryptionAlg::RsaOaep256 => Box::new(RSA_OAEP_256.decrypter_from_jwk(private).unwrap()),
        EncryptionAlg::RsaOaep => Box::new(RSA_OAEP.decrypter_from_jwk(private).unwrap()),
    };
    let (payload, _) = josekit::jwe::deserialize_compact(encrypted, decrypter.as_ref()).ok()?;
    Some(String::from_utf8(payload).unwrap())
}

fn header(encrypted: &str) -> Map<String, Value> {
    serde_json::from_slice(&from_base64url(encrypted.split('.').next().unwrap()).unwrap()).unwrap()
}

#[test]
fn each_algorithm_encrypts_what_its_private_key_alone_decrypts() {
    // R041, R042
    let other_rsa = Jwk::generate_rsa_key(2048).unwrap();
    let other_ec = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    let rows: [(&Jwk, EncryptionAlg, &Jwk); 4] = [
        (&EC, EncryptionAlg::EcdhEs, &other_ec),
        (&X25519, EncryptionAlg::EcdhEs, &EC),
        (&RSA, EncryptionAlg::RsaOaep256, &other_rsa),
        (&RSA, EncryptionAlg::RsaOaep, &other_rsa),
    ];
    for (private, alg, other) in rows {
        let keys =
            EncryptionKeys::from_jwks(&[public(private, "the kid", &json!({ "use": "enc" }))]);
        let encrypted = keys.select(alg).unwrap().encrypt(JWS).unwrap();
        assert_eq!(decrypt(&encrypted, alg, private).as_deref(), Some(JWS));
        assert_eq!(decrypt(&encrypted, alg, other), None);
        let mut header = header(&encrypted);
        assert_eq!(header.remove("epk").is_some(), alg == EncryptionAlg::EcdhEs);
        let expected =
            json!({ "alg": alg.as_str(), "enc": "A256GCM", "cty": "JWT", "kid": "the kid" });
        assert_eq!(Value::Object(header), expected);
        // A fresh content key and IV each time.
        assert_ne!(encrypted, keys.select(alg).unwrap().encrypt(JWS).unwrap());
    }
}

#[test]
fn the_context_knows_neither_compression_nor_weaker_content_encryption() {
    let encrypter = ECDH_ES.encrypter_from_jwk(&EC.to_public_key().unwrap()).unwrap();
    for (enc, zip) in
        [("A256GCM", Some("DEF")), ("A128GCM", None), ("A256CBC-HS512", None), ("A192GCM", None)]
    {
        let mut header = JweHeader::new();
        header.set_content_encryption(enc);
        if let Some(zip) = zip {
            header.set_compression(zip);
        }
        assert!(
            jwe::CONTEXT.serialize_compact(b"x", &header, &encrypter).is_err(),
            "{enc} {zip:?}"
        );
    }
}

#[test]
fn the_key_is_chosen_by_use_then_alg_then_order() {
    let ec = |kid: &str, more: &Value| public(&EC, kid, more);
    let rsa = |kid: &str, more: &Value| public(&RSA, kid, more);
    let (enc, sig) = (json!({ "use": "enc" }), json!({ "use": "sig" }));
    let enc_alg = |alg: &str| json!({ "use": "enc", "alg": alg });
    let rows: [(&str, Vec<Value>, EncryptionAlg, Option<&str>); 10] = [
        ("the first", vec![ec("a", &enc), ec("b", &enc)], EncryptionAlg::EcdhEs, Some("a")),
        (
            "enc before open",
            vec![ec("a", &json!({})), ec("b", &enc)],
            EncryptionAlg::EcdhEs,
            Some("b"),
        ),
        (
            "named before open alg",
            vec![ec("a", &enc), ec("b", &enc_alg("ECDH-ES"))],
            EncryptionAlg::EcdhEs,
            Some("b"),
        ),
        ("never one for signatures", vec![ec("a", &sig)], EncryptionAlg::EcdhEs, None),
        (
            "an open one will do",
            vec![ec("a", &sig), ec("b", &json!({}))],
            EncryptionAlg::EcdhEs,
            Some("b"),
        ),
        ("an open RSA key serves OAEP", vec![rsa("a", &enc)], EncryptionAlg::RsaOaep, Some("a")),
        ("and OAEP-256", vec![rsa("a", &enc)], EncryptionAlg::RsaOaep256, Some("a")),
        (
            "a named one serves one",
            vec![rsa("a", &enc_alg("RSA-OAEP"))],
            EncryptionAlg::RsaOaep256,
            None,
        ),
        ("each alg its key", vec![rsa("a", &enc), ec("b", &enc)], EncryptionAlg::EcdhEs, Some("b")),
        ("by type", vec![ec("a", &enc)], EncryptionAlg::RsaOaep256, None),
    ];
    for (what, keys, alg, kid) in rows {
        let keys = EncryptionKeys::from_jwks(&keys);
        assert_eq!(keys.select(alg).map(|key| key.kid.as_str()), kid, "{what}");
    }
}

#[test]
fn a_key_that_can_not_encrypt_is_rejected_with_its_reason() {
    let with = |private: &Jwk, more: Value| public(private, "kid", &more);
    let small = Jwk::generate_rsa_key(1024).unwrap();
    let p384 = Jwk::generate_ec_key(EcCurve::P384).unwrap();
    let mut off_the_curve = with(&EC, json!({}));
    off_the_curve["y"] = off_the_curve["x"].clone();
    for (jwk, word) in [
        (with(&EC, json!({ "use": "sig" })), "(use)"),
        (with(&EC, json!({ "use": 7 })), "not a string"),
        (with(&RSA, json!({ "key_ops": ["verify"] })), "(key_ops)"),
        (with(&RSA, json!({ "key_ops": [] })), "(key_ops)"),
        (with(&EC, json!({ "key_ops": ["verify"] })), "(key_ops)"),
        (with(&EC, json!({ "alg": "ECDH-ES+A256KW" })), "names an alg"),
        (with(&RSA, json!({ "alg": "RSA1_5" })), "names an alg"),
        (with(&RSA, json!({ "alg": "ECDH-ES" })), "names an alg"),
        (with(&EC, json!({ "kid": "" })), "kid"),
        (with(&EC, json!({ "kid": null })), "kid"),
        (with(&small, json!({})), "2048"),
        (with(&RSA, json!({ "e": "AQ" })), "e is even, 1"),
        (with(&RSA, json!({ "e": "AQAA" })), "e is even, 1"),
        (with(&RSA, json!({ "e": "AQAAAAAAAAAB" })), "over 65537"),
        (with(&p384, json!({})), "P-256"),
        (json!({ "kty": "oct", "kid": "a" }), "P-256"),
        (off_the_curve, "is malformed"),
        (json!(7), "JSON object"),
    ] {
        let keys = EncryptionKeys::from_jwks(&[jwk]);
        assert!(keys.is_empty());
        let [(0, reason)] = keys.rejected() else { panic!("one reason: {:?}", keys.rejected()) };
        assert!(reason.contains(word), "{reason} / {word}");
    }
    for (jwk, alg) in [
        (with(&EC, json!({ "key_ops": [] })), EncryptionAlg::EcdhEs),
        (with(&EC, json!({ "key_ops": ["deriveBits"] })), EncryptionAlg::EcdhEs),
        (with(&RSA, json!({ "key_ops": ["wrapKey"] })), EncryptionAlg::RsaOaep256),
    ] {
        assert!(EncryptionKeys::from_jwks(&[jwk]).select(alg).is_some());
    }
}

#[test]
fn a_marked_token_decrypts_like_any_other_and_is_recognized_by_its_mark_alone() {
    let (key, other_key) = (Secret::new("k".repeat(43)), Secret::new("x".repeat(43)));
    let (audience, other) = (ClientId::from("sp"), ClientId::from("other"));
    let mark = JweMark { key: &key, audience: &audience };
    for (private, alg) in [
        (&*EC, EncryptionAlg::EcdhEs),
        (&*X25519, EncryptionAlg::EcdhEs),
        (&*RSA, EncryptionAlg::RsaOaep256),
        (&*RSA, EncryptionAlg::RsaOaep),
    ] {
        let keys =
            EncryptionKeys::from_jwks(&[public(private, "the kid", &json!({ "use": "enc" }))]);
        let chosen = keys.select(alg).unwrap();
        let (marked, again) = (
            chosen.encrypt_marked(JWS, &mark).unwrap(),
            chosen.encrypt_marked(JWS, &mark).unwrap(),
        );
        assert_eq!(decrypt(&marked, alg, private).as_deref(), Some(JWS));
        let members = |encrypted: &str| {
            header(encrypted).keys().cloned().collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(
            members(&marked),
            members(&chosen.encrypt(JWS).unwrap()),
            "R041: nothing is added to the header"
        );
        let vector = |encrypted: &str| encrypted.split('.').nth(2).unwrap().to_owned();
        assert_ne!(vector(&marked), vector(&again));

        assert!(mark.matches(&marked) && mark.matches(&again));
        assert!(!mark.matches(&chosen.encrypt(JWS).unwrap()), "one that was not marked");
        assert!(
            !JweMark { key: &other_key, audience: &audience }.matches(&marked),
            "of another session"
        );
        assert!(
            !JweMark { key: &key, audience: &other }.matches(&marked),
            "of another service provider"
        );
        let parts: Vec<&str> = marked.split('.').collect();
        let strange: Vec<&str> = again.split('.').collect();
        for forged in [
            [strange[0], strange[1], parts[2], parts[3], parts[4]].join("."),
            [parts[0], parts[1], strange[2], parts[3], parts[4]].join("."),
            [parts[0], parts[1], "", parts[3], parts[4]].join("."),
            parts[..4].join("."),
            format!("{marked}."),
            format!("{marked}{}", "A".repeat(16 * 1024)),
        ] {
            assert!(!mark.matches(&forged), "{forged:.60}");
        }
    }
}
