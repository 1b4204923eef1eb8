mod device_signature;
mod elements;

use ciborium::Value as Cbor;
use openssl::nid::Nid;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Bench;
use crate::cbor::{encode_cbor, encoded_cbor_item};
use crate::credential::{
    PresentationExpectations, RequestChannel, StatusReference, VerifiedCredential,
};
use crate::mdoc::session_transcript;
use crate::presentation::verify_presentation;
use crate::presentation_error::PresentationError::{self, *};
use crate::signature::CredentialAlg;
use crate::testing::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, PID_DOC_TYPE, cbor_member_mut, cose_key, date_time, map,
    redirect_transcript, sign1, transcript,
};
use crate::testing::wallet_credentials::{
    CLIENT_ID, CertificateSpec, NONCE, PRESENTED_AT, RESPONSE_URI, TestAuthority, new_key,
    new_key_on,
};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

fn verify_changed(
    bench: &Bench,
    change: impl FnOnce(&mut MdocPresentation),
) -> Result<VerifiedCredential, PresentationError> {
    let mut presentation = MdocPresentation::of_pid(&bench.issuer);
    change(&mut presentation);
    bench.verify(&presentation.present())
}

/// Asserts that the presentation is refused for this reason, and would be accepted without the lie.
#[track_caller]
fn assert_lie(reason: PresentationError, lie: impl FnOnce(&mut MdocPresentation)) {
    let bench = Bench::mdoc();
    assert!(verify_changed(&bench, |_| {}).is_ok());
    assert_eq!(verify_changed(&bench, lie).map(|_| ()), Err(reason));
}

fn object<'a>(presentation: &'a mut MdocPresentation, path: &[&str]) -> &'a mut Cbor {
    path.iter().fold(&mut presentation.security_object, |value, key| cbor_member_mut(value, key))
}

fn remove(value: &mut Cbor, key: &str) {
    value.as_map_mut().unwrap().retain(|(k, _)| k.as_text() != Some(key));
}

#[test]
fn a_true_presentation_is_accepted() {
    let bench = Bench::mdoc();
    let credential = verify_changed(&bench, |_| {}).unwrap();
    assert_eq!(credential.credential_type, PID_DOC_TYPE);
    assert_eq!(
        Value::Object(credential.claims),
        json!({ PID_DOC_TYPE: { "family_name": "Mustermann", "nationality": ["DE"] } })
    );
    let status = StatusReference { uri: "https://status.example/1".into(), index: 7 };
    assert_eq!(credential.status, Some(status));
    let end = Timestamp::from_seconds(PRESENTED_AT.seconds() + 86_400);
    assert_eq!(credential.validity.expires_at, Some(end));
    assert_eq!(credential.issuer.anchor_subject, "C=FR, CN=Member State CA");
}

#[test]
fn a_true_presentation_over_the_digital_credentials_api_is_accepted() {
    let bench = Bench::mdoc();
    let origin = "https://hub.example";
    let channel = RequestChannel::DigitalCredentialsApi { origin };
    let expected = PresentationExpectations { channel, ..bench.expectations() };
    let mut presentation = MdocPresentation::of_pid(&bench.issuer);
    let refused = verify_presentation(&presentation.present(), &expected);
    assert_eq!(refused.map(|_| ()), Err(HolderSignature));
    let info = vec![origin.into(), NONCE.into(), Cbor::Bytes(vec![7; 32])];
    presentation.transcript = transcript("OpenID4VPDCAPIHandover", info);
    assert!(verify_presentation(&presentation.present(), &expected).is_ok());
}

#[test]
fn other_forms_that_the_standards_allow_are_accepted() {
    let mut bench = Bench::mdoc();
    // One certificate without an array, and the fully specified algorithm identifiers.
    let accepted = verify_changed(&bench, |p| {
        p.certificates = p.certificates.as_array().unwrap()[0].clone();
        p.issuer_header = Cbor::Map(vec![(1.into(), (-9).into())]);
        p.device_header = Cbor::Map(vec![(1.into(), (-9).into())]);
    });
    assert!(accepted.is_ok());
    let spec = CertificateSpec::signer();
    bench.issuer = bench.authority.issue_for(new_key_on(Nid::SECP384R1), &spec);
    let on_p384 = |p: &mut MdocPresentation| {
        p.issuer_header = Cbor::Map(vec![(1.into(), (-35).into())]);
        p.device_header = Cbor::Map(vec![(1.into(), (-35).into())]);
        p.device_key = new_key_on(Nid::SECP384R1);
        *object(p, &["deviceKeyInfo", "deviceKey"]) = cose_key(&p.device_key);
    };
    assert!(verify_changed(&bench, on_p384).is_ok());
    bench.policy.holder_algs = vec![CredentialAlg::ES256];
    assert_eq!(verify_changed(&bench, on_p384).map(|_| ()), Err(HolderAlgorithm));
    bench.policy.issuer_algs = vec![CredentialAlg::ES256];
    assert_eq!(verify_changed(&bench, on_p384).map(|_| ()), Err(IssuerAlgorithm));
}

// The form of the response.

#[test]
fn texts_that_are_no_device_response_are_refused() {
    let bench = Bench::mdoc();
    for text in ["", "%", "gA", "AA", "oA"] {
        assert!(bench.verify(text).is_err(), "{text}");
    }
    let whole = MdocPresentation::of_pid(&bench.issuer).present();
    let mut bytes = digest::from_base64url(&whole).unwrap();
    bytes.pop();
    assert_eq!(bench.verify(&digest::base64url(&bytes)).map(|_| ()), Err(InvalidCbor));
    assert_eq!(bench.verify(&format!("{whole}=")).map(|_| ()), Err(Malformed));
}

#[test]
fn trailing_bytes_are_refused() {
    let bench = Bench::mdoc();
    let mut bytes = encode_cbor(&MdocPresentation::of_pid(&bench.issuer).response());
    bytes.push(0);
    assert_eq!(bench.verify(&digest::base64url(&bytes)).map(|_| ()), Err(InvalidCbor));
}

#[test]
fn repeated_keys_are_refused() {
    let bench = Bench::mdoc();
    let mut response = MdocPresentation::of_pid(&bench.issuer).response();
    response.as_map_mut().unwrap().push(("status".into(), 0.into()));
    let text = digest::base64url(&encode_cbor(&response));
    assert_eq!(bench.verify(&text).map(|_| ()), Err(InvalidCbor));
    // Also inside of what is encoded in a byte string.
    assert_lie(InvalidCbor, |p| {
        let entries = p.security_object.as_map_mut().unwrap();
        entries.push(("docType".into(), "other".into()));
    });
    assert_lie(InvalidCbor, |p| {
        p.device_header = Cbor::Map(vec![(1.into(), (-7).into()), (1.into(), (-35).into())]);
    });
}

#[test]
fn deeply_nested_cbor_is_refused() {
    let mut deep = Cbor::Null;
    (0..40).for_each(|_| deep = Cbor::Array(vec![deep.clone()]));
    let extra = deep.clone();
    assert_lie(CborTooDeep, |p| p.response_members.push(("extra".into(), extra)));
    assert_lie(CborTooDeep, |p| p.device_name_spaces = deep);
}

#[test]
fn an_oversized_response_is_refused() {
    let portrait = Cbor::Bytes(vec![0; 512 * 1024]);
    assert_lie(TooLarge, |p| p.elements.push(IssuedElement::new(9, "portrait", portrait)));
}

#[test]
fn another_version_is_refused() {
    assert_lie(ResponseVersion, |p| p.response_members.push(("version".into(), "2.0".into())));
    assert_lie(MsoVersion, |p| *object(p, &["version"]) = "2.0".into());
}

#[test]
fn a_response_that_reports_errors_is_refused() {
    assert_lie(ResponseStatus, |p| p.response_members.push(("status".into(), 10.into())));
    let errors = map([(PID_DOC_TYPE, 0.into())]);
    let of_response = errors.clone();
    assert_lie(DocumentErrors, |p| p.response_members.push(("documentErrors".into(), of_response)));
    assert_lie(DocumentErrors, |p| p.document_members.push(("errors".into(), errors)));
}

#[test]
fn no_document_and_several_documents_are_refused() {
    assert_lie(DocumentCount, |p| {
        p.response_members.push(("documents".into(), Cbor::Array(Vec::new())));
    });
    assert_lie(DocumentCount, |p| {
        let mut response = p.response();
        let documents = cbor_member_mut(&mut response, "documents").as_array_mut().unwrap();
        documents.push(documents[0].clone());
        p.response_members.push(("documents".into(), Cbor::Array(documents.clone())));
    });
}

// The issuer's signature.

#[test]
fn a_document_of_another_type_is_refused() {
    let mdl = "org.iso.18013.5.1.mDL";
    assert_lie(WrongType, |p| {
        p.doc_type = mdl.into();
        *object(p, &["docType"]) = mdl.into();
    });
}

#[test]
fn a_document_type_that_the_issuer_did_not_sign_is_refused() {
    assert_lie(DocTypeMismatch, |p| *object(p, &["docType"]) = "org.example.card".into());
}

#[test]
fn an_object_signed_by_the_holder_is_refused() {
    assert_lie(IssuerSignature, |p| p.issuer_key = p.device_key.clone());
}

#[test]
fn an_object_altered_after_signing_is_refused() {
    let bench = Bench::mdoc();
    let mut presentation = MdocPresentation::of_pid(&bench.issuer);
    let truth = presentation.response();
    presentation.elements[0] = IssuedElement::new(1, "family_name", "Other");
    presentation.security_object = crate::testing::wallet_credentials::mdoc::security_object(
        &presentation.elements,
        &presentation.device_key,
    );
    let mut forged = presentation.response();
    let issuer_auth = |response: &Cbor| {
        let mut response = response.clone();
        let document = &mut cbor_member_mut(&mut response, "documents").as_array_mut().unwrap()[0];
        cbor_member_mut(cbor_member_mut(document, "issuerSigned"), "issuerAuth").clone()
    };
    let true_signature = issuer_auth(&truth).as_array().unwrap()[3].clone();
    let document = &mut cbor_member_mut(&mut forged, "documents").as_array_mut().unwrap()[0];
    let auth = cbor_member_mut(cbor_member_mut(document, "issuerSigned"), "issuerAuth");
    auth.as_array_mut().unwrap()[3] = true_signature;
    let text = digest::base64url(&encode_cbor(&forged));
    assert_eq!(bench.verify(&text).map(|_| ()), Err(IssuerSignature));
}

#[test]
fn unsigned_and_symmetric_algorithms_are_refused() {
    for alg in [Cbor::from(5), Cbor::from(-257), Cbor::from("ES256"), Cbor::from(-70000)] {
        let of_device = alg.clone();
        assert_lie(IssuerAlgorithm, |p| p.issuer_header = Cbor::Map(vec![(1.into(), alg)]));
        assert_lie(HolderAlgorithm, |p| p.device_header = Cbor::Map(vec![(1.into(), of_device)]));
    }
    assert_lie(IssuerAlgorithm, |p| p.issuer_header = Cbor::Map(Vec::new()));
    assert_lie(HolderAlgorithm, |p| p.device_header = Cbor::Map(Vec::new()));
    assert_lie(IssuerSignature, |p| p.issuer_header = Cbor::Map(vec![(1.into(), (-35).into())]));
}

#[test]
fn a_critical_header_extension_is_refused() {
    let header = |label: i64| {
        Cbor::Map(vec![
            (1.into(), (-7).into()),
            (2.into(), Cbor::Array(vec![label.into()])),
            (label.into(), Cbor::Bytes(vec![1])),
        ])
    };
    assert_lie(IssuerHeader, |p| p.issuer_header = header(4));
    assert_lie(HolderAlgorithm, |p| p.device_header = header(4));
    // One that has no name at all.
    assert_lie(Malformed, |p| p.issuer_header = header(99));
    assert_lie(Malformed, |p| p.device_header = header(99));
}

#[test]
fn a_malformed_certificate_chain_is_refused() {
    assert_lie(CertificateMissing, |p| p.certificates = Cbor::Array(Vec::new()));
    assert_lie(CertificateMalformed, |p| p.certificates = Cbor::Bytes(vec![1, 2, 3]));
    assert_lie(CertificateMalformed, |p| p.certificates = "text".into());
    assert_lie(CertificateMalformed, |p| p.certificates = Cbor::Array(vec![1.into()]));
}

#[test]
fn an_untrusted_document_signer_is_refused() {
    let bench = Bench::mdoc();
    let other = TestAuthority::new("Attacker").issue(&CertificateSpec::signer());
    let presentation = MdocPresentation::of_pid(&other).present();
    assert_eq!(bench.verify(&presentation).map(|_| ()), Err(IssuerUntrusted));
}

#[test]
fn a_document_signer_with_wrong_usage_bits_is_refused() {
    let mut bench = Bench::mdoc();
    for spec in [
        CertificateSpec { extended_key_usage: None, ..CertificateSpec::signer() },
        CertificateSpec::authority("Subordinate"),
    ] {
        bench.issuer = bench.authority.issue(&spec);
        assert_eq!(verify_changed(&bench, |_| {}).map(|_| ()), Err(CertificateUsage));
    }
}

#[test]
fn an_object_signed_before_its_certificate_was_valid_is_refused() {
    let now = PRESENTED_AT.seconds();
    let before = now - 101 * 86_400;
    assert_lie(SignedOutsideCertificate, |p| {
        *object(p, &["validityInfo", "signed"]) = date_time(before);
    });
}

#[test]
fn an_expired_object_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(CredentialExpired, |p| {
        *object(p, &["validityInfo", "validUntil"]) = date_time(now - 61);
    });
}

#[test]
fn an_object_that_is_not_valid_yet_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(CredentialNotYetValid, |p| {
        *object(p, &["validityInfo", "validFrom"]) = date_time(now + 61);
    });
}

#[test]
fn contradictory_and_malformed_times_are_refused() {
    assert_lie(InvalidTimes, |p| remove(object(p, &["validityInfo"]), "validUntil"));
    assert_lie(InvalidTimes, |p| remove(&mut p.security_object, "validityInfo"));
    for time in [Cbor::from("2027-01-01T00:00:00Z"), Cbor::Tag(0, Box::new("soon".into()))] {
        assert_lie(InvalidTimes, |p| *object(p, &["validityInfo", "validUntil"]) = time);
    }
    assert_lie(InvalidTimes, |p| {
        let from = object(p, &["validityInfo", "validFrom"]).clone();
        *object(p, &["validityInfo", "validUntil"]) = from;
    });
}

#[test]
fn a_status_without_a_list_is_refused() {
    assert_lie(InvalidStatusReference, |p| *object(p, &["status"]) = map([]));
    assert_lie(InvalidStatusReference, |p| {
        *object(p, &["status", "status_list", "idx"]) = (-1).into();
    });
}
