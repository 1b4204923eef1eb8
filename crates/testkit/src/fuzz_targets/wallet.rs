//! What wallets present, and the lists of issuers.

mod responses;

use std::str;

use serde_json::{Map, Value, json};

use super::sample_keys::NOW;
use super::{FuzzFunction, FuzzTarget, target};
use passerelle_openid4vp::cbor::{encode_cbor, parse_cbor};
use passerelle_openid4vp::claims_path::{ClaimsPathPointer, select_claims};
use passerelle_openid4vp::credential::{
    CredentialFormat, ExpectedCredential, PresentationExpectations, RequestChannel,
    VerificationPolicy, VerifiedCredential,
};
use passerelle_openid4vp::presentation::verify_presentation;
use passerelle_openid4vp::status_list::token::StatusList;
use passerelle_openid4vp::testing::wallet_credentials::lists::{STATUS_LIST_URI, UnsignedList};
use passerelle_openid4vp::testing::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, PID_DOC_TYPE, security_object,
};
use passerelle_openid4vp::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_openid4vp::testing::wallet_credentials::{
    CLIENT_ID, CertificateSpec, NONCE, RESPONSE_URI, TestAuthority, TestSigner,
};
use passerelle_openid4vp::trust::TrustAnchors;
use passerelle_openid4vp::trust_list::TrustListSource;
use passerelle_openid4vp::trust_list::document::TrustList;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "sd_jwt_vc",
        &[
            "crates/openid4vp/src/sd_jwt.rs",
            "crates/openid4vp/src/sd_jwt/",
            "crates/openid4vp/src/signature.rs",
        ],
        sd_jwt_vc,
    ),
    target("mdoc", &["crates/openid4vp/src/mdoc.rs", "crates/openid4vp/src/mdoc/"], mdoc),
    target("cbor", &["crates/openid4vp/src/cbor.rs"], cbor),
    target("claims_path", &["crates/openid4vp/src/claims_path.rs"], claims_path),
    target("status_list", &["crates/openid4vp/src/status_list/token.rs"], status_list),
    target("trust_list", &["crates/openid4vp/src/trust_list/document.rs"], trust_list),
];

/// What arrives around a presentation.
pub(super) const RESPONSE_TARGETS: &[FuzzTarget] = &[
    target(
        "wallet_response",
        &["crates/jose/src/response_key.rs", "crates/openid4vp/src/presentation_request.rs"],
        responses::wallet_response,
    ),
    target(
        "presentation_sample",
        &["crates/openid4vp/src/verification/sample.rs"],
        responses::presentation_sample,
    ),
    target("certificate_chain", &["crates/openid4vp/src/trust.rs"], responses::certificate_chain),
];

/// An issuer that is trusted, and what the hub expects of a presentation.
struct WalletBench {
    issuer: TestSigner,
    anchors: TrustAnchors,
    credential: ExpectedCredential,
    policy: VerificationPolicy,
    now: Timestamp,
}

impl WalletBench {
    fn new(format: CredentialFormat, kind: &str, claims: Value) -> Self {
        let authority = TestAuthority::new("Member State CA");
        let credential = ExpectedCredential {
            format,
            types: vec![kind.to_owned()],
            claims: serde_json::from_value(claims).unwrap(),
            claim_sets: Vec::new(),
        };
        Self {
            issuer: authority.issue(&CertificateSpec::signer()),
            anchors: authority.anchors(),
            credential,
            policy: VerificationPolicy::default(),
            now: NOW,
        }
    }

    fn verify(&self, presentation: &str) -> Option<VerifiedCredential> {
        let expected = PresentationExpectations {
            channel: RequestChannel::DirectPost {
                client_id: CLIENT_ID,
                response_uri: RESPONSE_URI,
            },
            nonce: NONCE,
            encryption_key_thumbprint: Some([7; 32]),
            credential: &self.credential,
            policy: &self.policy,
            anchors: &self.anchors,
            now: self.now,
            received_at: self.now,
        };
        verify_presentation(presentation, &expected).ok()
    }
}

/// A whole presentation, or lines that are signed first: the members of the issuer's payload that
/// differ, those of the key binding, and the disclosures.
fn sd_jwt_vc() -> FuzzFunction {
    let bench =
        WalletBench::new(CredentialFormat::DcSdJwt, "urn:eudi:pid:1", json!([["family_name"]]));
    let presentation = SdJwtPresentation::of_pid(&bench.issuer);
    Box::new(move |data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let mut lines = text.split('\n');
        let (first, second) = (lines.next().unwrap_or_default(), lines.next());
        let Some(second) = second else {
            assert!(bench.verify(text).is_none(), "a presentation that no test issuer signed");
            return false;
        };
        let members = |line: &str| serde_json::from_str::<Map<String, Value>>(line);
        let (Ok(issued), Ok(bound)) = (members(first), members(second)) else { return false };
        let mut signed = SdJwtPresentation {
            header: presentation.header.clone(),
            payload: presentation.payload.clone(),
            disclosures: lines.map(|line| digest::base64url(line.as_bytes())).collect(),
            key_binding_header: presentation.key_binding_header.clone(),
            key_binding_payload: presentation.key_binding_payload.clone(),
            issuer_key: presentation.issuer_key.clone(),
            holder_key: presentation.holder_key.clone(),
            key_binding: None,
        };
        let digests = signed.disclosures.iter().map(|one| json!(digest::sha256_base64url(one)));
        signed.payload["_sd"] = digests.collect();
        signed.payload.as_object_mut().unwrap().extend(issued);
        signed.key_binding_payload.as_object_mut().unwrap().extend(bound.clone());
        if let Some(credential) = bench.verify(&signed.present()) {
            assert!(bound.get("nonce").is_none_or(|nonce| nonce == NONCE), "a replay");
            assert!(bound.get("aud").is_none_or(|aud| aud == CLIENT_ID), "another verifier's");
            assert!(credential.claims.contains_key("family_name"));
            return true;
        }
        false
    })
}

/// The elements that an issuer signs, an array of names and values; otherwise the whole response.
fn mdoc() -> FuzzFunction {
    let bench = WalletBench::new(
        CredentialFormat::MsoMdoc,
        PID_DOC_TYPE,
        json!([[PID_DOC_TYPE, "family_name"]]),
    );
    let mut printed = WalletBench::new(
        CredentialFormat::MsoMdoc,
        "org.iso.18013.5.1.mDL",
        json!([["org.iso.18013.5.1"]]),
    );
    let response = iso_response();
    printed.anchors = TrustAnchors::from_der(&[document_signer(&response)]);
    printed.now = Timestamp::from_seconds(1_601_559_003);
    let mut presentation = MdocPresentation::of_pid(&bench.issuer);
    Box::new(move |data| {
        // The response of the standard has a MAC, which is not accepted.
        assert!(printed.verify(&digest::base64url(data)).is_none());
        let Ok(elements) = parse_cbor(data) else { return false };
        let Some(elements) = elements.as_array() else { return false };
        let issued = elements.iter().take(200).enumerate().filter_map(|(at, element)| {
            let [name, value] = element.as_array()?.as_slice() else { return None };
            Some(IssuedElement::new(at as u64, name.as_text()?, value.clone()))
        });
        presentation.elements = issued.collect();
        presentation.security_object =
            security_object(&presentation.elements, &presentation.device_key);
        let Some(credential) = bench.verify(&presentation.present()) else { return false };
        assert!(credential.claims[PID_DOC_TYPE].get("family_name").is_some());
        true
    })
}

/// Returns the response of ISO/IEC 18013-5 annex D.4.1.2.
fn iso_response() -> Vec<u8> {
    let text = include_str!("../../../../tests/fixtures/openid4vp/iso-18013-5-annex-d-4-1-2.hex");
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

/// Returns the certificate of the response's signer, which is pinned.
fn document_signer(response: &[u8]) -> Vec<u8> {
    let start = [0x59, 0x01, 0xf3, 0x30, 0x82];
    let at = response.windows(start.len()).position(|window| window == start).unwrap() + 3;
    response[at..at + 0x1f3].to_vec()
}

fn cbor() -> FuzzFunction {
    Box::new(|data| {
        let Ok(value) = parse_cbor(data) else { return false };
        let encoded = encode_cbor(&value);
        let again = parse_cbor(&encoded).expect("what was read is written readably");
        // NaN is not equal to itself.
        assert_eq!(encode_cbor(&again), encoded);
        true
    })
}

/// Claims path pointers, and the claims that they select from.
fn claims_path() -> FuzzFunction {
    Box::new(|data| {
        let read = serde_json::from_slice::<(Vec<ClaimsPathPointer>, Map<String, Value>)>(data);
        let Ok((pointers, claims)) = read else { return false };
        let selected = select_claims(&claims, &pointers);
        assert!(selected.keys().all(|name| claims.contains_key(name)), "a claim was invented");
        assert_eq!(select_claims(&selected, &pointers), selected, "the selection is not stable");
        let any = pointers.iter().any(|pointer| pointer.is_in(&claims));
        assert_eq!(any, !selected.is_empty());
        let covers = pointers.iter().all(|pointer| pointer.covers(&pointer.0));
        assert!(covers, "a pointer does not cover itself");
        any
    })
}

/// A whole token, or the members of the payload that differ, which are signed first.
fn status_list() -> FuzzFunction {
    let authority = TestAuthority::new("Status CA");
    let signer = authority.issue(&CertificateSpec::signer());
    let anchors = authority.anchors();
    Box::new(move |data| {
        let _ = StatusList::verify(data, STATUS_LIST_URI, &anchors, NOW).map(|list| list.check(0));
        let Ok(members) = serde_json::from_slice::<Map<String, Value>>(data) else { return false };
        let mut list = UnsignedList::with_statuses(&signer, &[0, 1, 2, 3]);
        list.payload.as_object_mut().unwrap().extend(members);
        let token = list.sign(&signer);
        let verified = StatusList::verify(token.as_bytes(), STATUS_LIST_URI, &anchors, NOW);
        let Ok(verified) = verified else { return false };
        assert_eq!(list.payload["sub"], STATUS_LIST_URI, "the list of other credentials");
        assert!(verified.is_valid(NOW) && verified.lifetime(NOW).as_secs() <= 86_400);
        for index in [0, 1, 7, 1 << 20, u64::MAX] {
            let _ = verified.check(index);
        }
        true
    })
}

/// A whole list, or the `LoTE` that is signed first.
fn trust_list() -> FuzzFunction {
    let authority = TestAuthority::new("Trust list CA");
    let signer = authority.issue(&CertificateSpec::signer());
    let source = TrustListSource {
        url: "https://trust.example/list".into(),
        signers: authority.anchors(),
        service_types: Vec::new(),
        credentials: Vec::new(),
    };
    let own = [authority.der()];
    Box::new(move |data| {
        let _ = TrustList::verify(data, &source, NOW).map(|list| list.anchors.len());
        let Ok(members) = serde_json::from_slice::<Map<String, Value>>(data) else { return false };
        let mut list = UnsignedList::with_trusted(&signer, &own);
        list.payload["LoTE"].as_object_mut().unwrap().extend(members);
        let verified = TrustList::verify(list.sign(&signer).as_bytes(), &source, NOW);
        let Ok(verified) = verified else { return false };
        assert!(!verified.anchors.is_empty() && verified.next_update > NOW);
        let _ = (verified.anchors.key_identifiers(), verified.anchors.earliest_expiry());
        true
    })
}
