//! The example of RFC 9901 §5. Its issuer has no certificate, so that the parts are verified one by
//! one.

use serde_json::json;

use super::*;
use crate::connector::openid4vp::credential::{
    ExpectedCredential, RequestChannel, VerificationPolicy,
};
use crate::connector::openid4vp::trust::TrustAnchors;

const PRESENTATION: &str =
    include_str!("../../../../tests/fixtures/openid4vp/rfc9901-section-5.2.txt");

fn presentation() -> String {
    PRESENTATION.lines().collect()
}

#[test]
fn the_issuers_signature_of_the_standards_example_is_verified() {
    let text = presentation();
    let parts = SdJwtParts::parse(&text).unwrap();
    let jws = UnverifiedJws::parse(parts.issuer_jwt).unwrap();
    // RFC 9901 appendix A.5.
    let key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ",
        "y": "Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8",
    });
    let key = HolderKey::from_jwk(key.as_object().unwrap()).unwrap();
    assert!(key.verifies(jws.message.as_bytes(), &jws.signature));
}

#[test]
fn the_claims_of_the_standards_example_are_disclosed() {
    let text = presentation();
    let parts = SdJwtParts::parse(&text).unwrap();
    let jws = UnverifiedJws::parse(parts.issuer_jwt).unwrap();
    let disclosed = disclosures::disclose(jws.claims, &parts.disclosures).unwrap();
    let expected = json!({
        "iss": "https://issuer.example.com",
        "iat": 1_683_000_000,
        "exp": 1_883_000_000,
        "sub": "user_42",
        "nationalities": ["US"],
        "cnf": { "jwk": {
            "kty": "EC", "crv": "P-256",
            "x": "TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc",
            "y": "ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ",
        } },
        "family_name": "Doe",
        "address": {
            "street_address": "123 Main St", "locality": "Anytown",
            "region": "Anystate", "country": "US",
        },
        "given_name": "John",
    });
    assert_eq!(Value::Object(disclosed.claims), expected);
    assert_eq!(disclosed.paths.len(), 4);
}

#[test]
fn the_key_binding_of_the_standards_example_is_verified() {
    let text = presentation();
    let parts = SdJwtParts::parse(&text).unwrap();
    let jws = UnverifiedJws::parse(parts.issuer_jwt).unwrap();
    let key = holder_key(&jws.claims).unwrap();
    let credential = ExpectedCredential {
        format: CredentialFormat::DcSdJwt,
        types: Vec::new(),
        claims: Vec::new(),
        claim_sets: Vec::new(),
    };
    let (policy, anchors) = (VerificationPolicy::default(), TrustAnchors::default());
    let expected = PresentationExpectations {
        channel: RequestChannel::DirectPost {
            client_id: "https://verifier.example.org",
            response_uri: "https://verifier.example.org/response",
        },
        nonce: "1234567890",
        encryption_key_thumbprint: None,
        credential: &credential,
        policy: &policy,
        anchors: &anchors,
        now: Timestamp::from_seconds(1_748_537_250),
    };
    let verify = |expected: &PresentationExpectations<'_>| {
        key_binding::verify_key_binding(parts.key_binding_jwt, parts.sd_jwt, &key, expected)
    };
    assert_eq!(verify(&expected), Ok(()));
    let late = Timestamp::from_seconds(1_748_537_250 + 3600);
    let refused = verify(&PresentationExpectations { now: late, ..expected });
    assert_eq!(refused, Err(PresentationError::KeyBindingTooOld));
}
