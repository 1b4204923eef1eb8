//! Which texts are DPoP proofs, by rule (RFC 9449 §4.3).

use josekit::jwk::Jwk;
use josekit::jwk::alg::ed::EdCurve;
use josekit::jws::{EdDSA, JwsSigner, PS256, RS256};
use serde_json::json;

use super::*;
use crate::testing::dpop_client::{DpopClient, sign};

fn verified(compact: &str) -> Result<String, DpopProofError> {
    let proof = DpopProof::parse(compact)?;
    proof.verify().map(|()| proof.thumbprint())
}

#[test]
fn a_proof_is_verified_with_the_key_that_it_carries() {
    let client = DpopClient::default();
    let proof = client.proof(&json!({ "jti": "1" }));
    assert_eq!(verified(&proof), Ok(client.thumbprint()));
    assert_eq!(DpopProof::parse(&proof).unwrap().thumbprint(), client.thumbprint());
}

/// RFC 7638 §3.1.
#[test]
fn the_thumbprint_of_an_rsa_key_is_that_of_the_standard() {
    let jwk = json!({
        "kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
        "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    });
    let key = ProofKey::read(VerificationAlg::RS256, jwk.as_object().unwrap()).unwrap();
    assert_eq!(key.thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn each_published_algorithm_is_accepted() {
    let rsa = Jwk::generate_rsa_key(2048).unwrap();
    let ed = Jwk::generate_ed_key(EdCurve::Ed25519).unwrap();
    let signers: [(&str, &Jwk, Box<dyn JwsSigner>); 4] = [
        ("PS256", &rsa, Box::new(PS256.signer_from_jwk(&rsa).unwrap())),
        ("RS256", &rsa, Box::new(RS256.signer_from_jwk(&rsa).unwrap())),
        ("EdDSA", &ed, Box::new(EdDSA.signer_from_jwk(&ed).unwrap())),
        ("Ed25519", &ed, Box::new(EdDSA.signer_from_jwk(&ed).unwrap())),
    ];
    for (alg, key, signer) in signers {
        let public = ["kty", "crv", "x", "n", "e"].into_iter();
        let public: Map<String, Value> = public
            .filter_map(|name| Some((name.to_owned(), key.parameter(name)?.clone())))
            .collect();
        let header = json!({ "typ": "dpop+jwt", "alg": alg, "jwk": public });
        let proof = sign(&header, &json!({}), signer.as_ref());
        assert!(verified(&proof).is_ok(), "{alg}");
        // The same signature with the key of another algorithm.
        let other = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": public });
        let proof = sign(&other, &json!({}), signer.as_ref());
        assert_eq!(verified(&proof), Err(DpopProofError::Key), "{alg}");
    }
}

#[test]
fn a_proof_by_no_key_or_a_shared_secret_is_refused() {
    let client = DpopClient::default();
    for alg in ["none", "HS256", "ES512", "es256", ""] {
        let proof = client.proof_with(&json!({ "alg": alg }), &json!({}));
        assert_eq!(verified(&proof), Err(DpopProofError::Algorithm), "{alg}");
    }
    let proof = client.proof_with(&json!({ "alg": null }), &json!({}));
    assert_eq!(verified(&proof), Err(DpopProofError::Algorithm));
}

#[test]
fn another_token_of_the_client_is_no_proof() {
    let client = DpopClient::default();
    for typ in [json!("JWT"), json!("client-authentication+jwt"), json!(null), json!(1)] {
        let proof = client.proof_with(&json!({ "typ": typ }), &json!({}));
        assert_eq!(verified(&proof), Err(DpopProofError::Typ), "{typ}");
    }
}

#[test]
fn a_proof_that_reveals_its_private_key_is_refused() {
    let client = DpopClient::default();
    let proof = client.proof_with(&json!({ "jwk": client.private_key() }), &json!({}));
    assert_eq!(verified(&proof), Err(DpopProofError::Key));
    for member in PRIVATE_JWK_MEMBERS {
        let mut key = client.public_key();
        key[member] = "c2VjcmV0".into();
        let proof = client.proof_with(&json!({ "jwk": key }), &json!({}));
        assert_eq!(verified(&proof), Err(DpopProofError::Key), "{member}");
    }
}

#[test]
fn an_unsound_key_is_refused() {
    let client = DpopClient::default();
    let (own, other) = (client.public_key(), DpopClient::default().public_key());
    let beside_the_curve = json!({ "kty": "EC", "crv": "P-256", "x": own["x"], "y": other["y"] });
    let escaping = json!({ "kty": "EC", "crv": "P-256", "x": "\",\"", "y": own["y"] });
    let short = json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": own["y"] });
    let curve = json!({ "kty": "EC", "crv": "P-384", "x": own["x"], "y": own["y"] });
    for key in [beside_the_curve, escaping, short, curve, json!("key"), json!(null), json!({})] {
        let proof = client.proof_with(&json!({ "jwk": key }), &json!({}));
        assert_eq!(verified(&proof), Err(DpopProofError::Key), "{key}");
    }
    let small = json!({ "kty": "RSA", "e": "AQAB", "n": digest::base64url(&[255; 128]) });
    let header = json!({ "alg": "RS256", "jwk": small });
    assert_eq!(verified(&client.proof_with(&header, &json!({}))), Err(DpopProofError::Key));
}

#[test]
fn a_key_that_is_expensive_to_verify_is_refused() {
    let modulus = |bytes: usize| digest::base64url(&vec![255; bytes]);
    for (e, bytes, expected) in [
        ("AQAB", 256, DpopProofError::Signature),
        ("AQAB", 512, DpopProofError::Signature),
        ("AQAB", 513, DpopProofError::Key),
        ("AQAB", 1024, DpopProofError::Key),
        ("_____________w", 256, DpopProofError::Key),
        ("_____________w", 1024, DpopProofError::Key),
        ("AQAD", 256, DpopProofError::Key),
        ("Aw", 256, DpopProofError::Key),
    ] {
        let key = json!({ "kty": "RSA", "e": e, "n": modulus(bytes) });
        let header = json!({ "alg": "RS256", "jwk": key });
        let proof = DpopClient::default().proof_with(&header, &json!({}));
        assert_eq!(verified(&proof), Err(expected), "{e} {bytes}");
    }
}

#[test]
fn a_proof_signed_by_another_key_is_refused() {
    let (victim, attacker) = (DpopClient::default(), DpopClient::default());
    let forged = attacker.proof_with(&json!({ "jwk": victim.public_key() }), &json!({}));
    assert_eq!(verified(&forged), Err(DpopProofError::Signature));
    let proof = victim.proof(&json!({ "htm": "GET" }));
    let changed = digest::base64url(br#"{"htm":"POST"}"#);
    let mut parts: Vec<&str> = proof.split('.').collect();
    parts[1] = &changed;
    assert_eq!(verified(&parts.join(".")), Err(DpopProofError::Signature));
}

#[test]
fn a_text_that_is_no_compact_jws_is_refused() {
    let client = DpopClient::default();
    let proof = client.proof(&json!({}));
    let long = client.proof(&json!({ "jti": "j".repeat(MAX_DPOP_PROOF_BYTES) }));
    let twice = format!("{}.e30.c2ln", digest::base64url(br#"{"typ":"dpop+jwt","typ":"JWT"}"#));
    for text in [
        "",
        ".",
        "..",
        "a.b",
        "e30.e30",
        &format!("{proof}.x"),
        &proof.replace('.', ""),
        &long,
        &twice,
    ] {
        assert_eq!(verified(text), Err(DpopProofError::Malformed), "{text}");
    }
    for extension in [json!({ "crit": ["exp"] }), json!({ "b64": false })] {
        let proof = client.proof_with(&extension, &json!({}));
        assert_eq!(verified(&proof), Err(DpopProofError::Malformed), "{extension}");
    }
}
