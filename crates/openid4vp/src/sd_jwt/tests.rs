//! The examples of RFC 9901 §5, appendix A.1 and appendix A.3. Their issuer has no certificate, so
//! that the parts are verified one by one.

use serde_json::json;

use super::*;
use crate::credential::{CredentialFormat, ExpectedCredential, RequestChannel, VerificationPolicy};
use crate::trust::TrustAnchors;
use passerelle_protocol::env::Timestamp;

const SECTION_5: &str =
    include_str!("../../../../tests/fixtures/openid4vp/rfc9901-section-5.2.txt");
const APPENDIX_A_1: &str =
    include_str!("../../../../tests/fixtures/openid4vp/rfc9901-appendix-a-1.txt");
const APPENDIX_A_3: &str =
    include_str!("../../../../tests/fixtures/openid4vp/rfc9901-appendix-a-3.txt");

/// Returns an example without its line breaks; one without a key binding gets a text in its place.
fn presentation(lines: &str) -> String {
    let text: String = lines.lines().collect();
    if text.ends_with('~') { text + "none" } else { text }
}

fn disclosed(text: &str) -> DisclosedClaims {
    let parts = SdJwtParts::parse(text).unwrap();
    let jws = UnverifiedJws::parse(parts.issuer_jwt).unwrap();
    disclosures::disclose(jws.claims, &parts.disclosures).unwrap()
}

/// The key of the holder in every example.
fn confirmation() -> Value {
    json!({ "jwk": {
        "kty": "EC", "crv": "P-256",
        "x": "TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc",
        "y": "ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ",
    } })
}

#[test]
fn the_issuers_signatures_of_the_standards_examples_are_verified() {
    // RFC 9901 appendix A.5.
    let key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ",
        "y": "Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8",
    });
    let key = HolderKey::from_jwk(key.as_object().unwrap()).unwrap();
    for example in [SECTION_5, APPENDIX_A_1, APPENDIX_A_3] {
        let text = presentation(example);
        let parts = SdJwtParts::parse(&text).unwrap();
        let jws = UnverifiedJws::parse(parts.issuer_jwt).unwrap();
        assert!(key.verifies(jws.message.as_bytes(), &jws.signature));
    }
}

#[test]
fn the_claims_of_the_appendixes_are_disclosed() {
    let nested = disclosed(&presentation(APPENDIX_A_1));
    let expected = json!({
        "iss": "https://issuer.example.com",
        "iat": 1_683_000_000,
        "exp": 1_883_000_000,
        "address": { "region": "港区", "country": "JP" },
    });
    assert_eq!(Value::Object(nested.claims), expected);
    assert_eq!(nested.paths.len(), 2);
    let pid = disclosed(&presentation(APPENDIX_A_3));
    let expected = json!({
        "iss": "https://pid-issuer.bund.de.example",
        "iat": 1_683_000_000,
        "exp": 1_883_000_000,
        "vct": "urn:eudi:pid:de:1",
        "cnf": confirmation(),
        "age_equal_or_over": { "18": true },
        "nationalities": ["DE"],
    });
    assert_eq!(Value::Object(pid.claims), expected);
    // The claim, and the one in it.
    assert_eq!(pid.paths.len(), 3);
}

#[test]
fn the_claims_of_the_standards_example_are_disclosed() {
    let disclosed = disclosed(&presentation(SECTION_5));
    let expected = json!({
        "iss": "https://issuer.example.com",
        "iat": 1_683_000_000,
        "exp": 1_883_000_000,
        "sub": "user_42",
        "nationalities": ["US"],
        "cnf": confirmation(),
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
fn the_key_bindings_of_the_standards_examples_are_verified() {
    for example in [SECTION_5, APPENDIX_A_3] {
        assert_key_binding(&presentation(example));
    }
}

#[track_caller]
fn assert_key_binding(text: &str) {
    let parts = SdJwtParts::parse(text).unwrap();
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
        received_at: Timestamp::from_seconds(1_748_537_250),
    };
    let verify = |expected: &PresentationExpectations<'_>| {
        key_binding::verify_key_binding(parts.key_binding_jwt, parts.sd_jwt, &key, expected)
    };
    assert_eq!(verify(&expected), Ok(()));
    let late = Timestamp::from_seconds(1_748_537_250 + 3600);
    let refused = verify(&PresentationExpectations { received_at: late, ..expected });
    assert_eq!(refused, Err(PresentationError::KeyBindingTooOld));
}
