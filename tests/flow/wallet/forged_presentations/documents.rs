//! Mdocs that the issuer or the device has not signed so, or not for this request.

use ciborium::Value as Cbor;
use openssl::nid::Nid;
use passerelle_openid4vp::cbor::encode_cbor;
use passerelle_protocol::digest;
use passerelle_testkit::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, PID_DOC_TYPE, cbor_member_mut, cose_key, date_time, map,
    redirect_transcript, security_object, sign1, transcript,
};
use passerelle_testkit::wallet_credentials::{
    CertificateSpec, TestAuthority, TestSigner, new_key, new_key_on,
};

use super::super::scripted_wallet::certificate_spec;
use super::{ForgeryInputs, MaliciousWallet};

/// Attack, reason of the refusal, and the change to a valid presentation.
type MdocForgery = (&'static str, &'static str, fn(&mut MdocPresentation, &ForgeryInputs));

fn object<'a>(pid: &'a mut MdocPresentation, path: &[&str]) -> &'a mut Cbor {
    path.iter().fold(&mut pid.security_object, |value, key| cbor_member_mut(value, key))
}

fn remove(value: &mut Cbor, key: &str) {
    value.as_map_mut().unwrap().retain(|(name, _)| name.as_text() != Some(key));
}

fn sign_by(pid: &mut MdocPresentation, signer: TestSigner) {
    pid.certificates = signer.chain.into_iter().map(Cbor::Bytes).collect::<Vec<_>>().into();
    pid.issuer_key = signer.key;
}

/// Has the issuer sign what is in the presentation, elements included that are changed.
fn sign_elements(pid: &mut MdocPresentation) {
    let new = security_object(&pid.elements, &pid.device_key);
    let digests = new.into_map().unwrap().into_iter();
    let mut digests = digests.filter(|(key, _)| key.as_text() == Some("valueDigests"));
    *object(pid, &["valueDigests"]) = digests.next().unwrap().1;
}

fn redirected(inputs: &ForgeryInputs, changed: [Option<&str>; 3], key: Option<&[u8; 32]>) -> Cbor {
    let own = |name: &str| inputs.request.claims[name].as_str().unwrap().to_owned();
    let [client_id, nonce, response_uri] = changed;
    redirect_transcript(
        client_id.unwrap_or(&own("client_id")),
        nonce.unwrap_or(&own("nonce")),
        key,
        response_uri.unwrap_or(&own("response_uri")),
    )
}

fn header(parts: &[(i64, Cbor)]) -> Cbor {
    Cbor::Map(parts.iter().map(|(label, value)| ((*label).into(), value.clone())).collect())
}

const REQUEST_FORGERIES: &[MdocForgery] = &[
    ("transcript of another verifier", "holder_signature", |pid, inputs| {
        let key = inputs.request.key_thumbprint();
        pid.transcript = redirected(inputs, [Some("x509_hash:another"), None, None], Some(&key));
    }),
    ("transcript of another request", "holder_signature", |pid, inputs| {
        let key = inputs.request.key_thumbprint();
        pid.transcript = redirected(inputs, [None, Some("another-nonce"), None], Some(&key));
    }),
    ("transcript of another address", "holder_signature", |pid, inputs| {
        let key = inputs.request.key_thumbprint();
        let uri = Some("https://attacker.example/response");
        pid.transcript = redirected(inputs, [None, None, uri], Some(&key));
    }),
    ("transcript of a response to another key", "holder_signature", |pid, inputs| {
        pid.transcript = redirected(inputs, [None; 3], Some(&[8; 32]));
    }),
    ("transcript of a response that is not encrypted", "holder_signature", |pid, inputs| {
        pid.transcript = redirected(inputs, [None; 3], None);
    }),
    ("transcript of the browser's interface", "holder_signature", |pid, inputs| {
        let nonce = inputs.request.claims["nonce"].as_str().unwrap();
        let key = Cbor::Bytes(inputs.request.key_thumbprint().to_vec());
        let info = vec!["https://hub.example".into(), nonce.into(), key];
        pid.transcript = transcript("OpenID4VPDCAPIHandover", info);
    }),
    ("transcript of a session nearby", "holder_signature", |pid, _| {
        pid.transcript.as_array_mut().unwrap()[0] = Cbor::Bytes(vec![1]);
    }),
    ("device of another", "holder_signature", |pid, _| pid.device_key = new_key()),
    ("issuer in the place of the device", "holder_signature", |pid, _| {
        pid.device_key = pid.issuer_key.clone();
    }),
    ("document of another device", "holder_signature", |pid, _| {
        *object(pid, &["deviceKeyInfo", "deviceKey"]) = cose_key(&new_key());
    }),
    ("device that signs a payload of its own", "holder_signature", |pid, _| {
        let own = sign1(&pid.device_header, header(&[]), Some(b"own"), b"own", &pid.device_key);
        pid.device_auth = Some(map([("deviceSignature", own)]));
    }),
    ("stolen document without the device", "device_auth_missing", |pid, _| {
        pid.device_auth = Some(map([]));
    }),
    ("MAC in the place of a signature", "device_mac", |pid, _| {
        pid.device_auth = Some(map([("deviceMac", Cbor::Array(Vec::new()))]));
    }),
    ("device signature without an algorithm", "holder_algorithm", |pid, _| {
        pid.device_header = header(&[]);
    }),
    ("device signature with a symmetric algorithm", "holder_algorithm", |pid, _| {
        pid.device_header = header(&[(1, 5.into())]);
    }),
    ("device signature on another curve", "holder_algorithm", |pid, _| {
        pid.device_header = header(&[(1, (-35).into())]);
        pid.device_key = new_key_on(Nid::SECP384R1);
    }),
    ("no device key", "holder_key_missing", |pid, _| {
        remove(object(pid, &["deviceKeyInfo"]), "deviceKey");
    }),
    ("device key that is no point of its curve", "holder_key_invalid", |pid, _| {
        let key = object(pid, &["deviceKeyInfo", "deviceKey"]).as_map_mut().unwrap();
        key[2].1 = Cbor::Bytes(vec![1; 32]);
    }),
    ("device that signs an element without authorization", "key_not_authorized", |pid, _| {
        let own = map([("given_name", "Mallory".into())]);
        pid.device_name_spaces = map([(PID_DOC_TYPE, own)]);
    }),
];

const ISSUER_FORGERIES: &[MdocForgery] = &[
    ("altered element", "digest_mismatch", |pid, _| {
        *cbor_member_mut(&mut pid.elements[0].item, "elementValue") = "Mallory".into();
    }),
    ("renamed element", "digest_mismatch", |pid, _| {
        *cbor_member_mut(&mut pid.elements[0].item, "elementIdentifier") = "issuing_country".into();
    }),
    ("element under the digest of another", "digest_mismatch", |pid, _| {
        *cbor_member_mut(&mut pid.elements[0].item, "digestID") = 2.into();
    }),
    ("element that the issuer has not signed", "digest_missing", |pid, _| {
        pid.elements.push(IssuedElement::new(8, "nationality", Cbor::Array(vec!["FR".into()])));
    }),
    ("element in another namespace", "digest_missing", |pid, _| {
        pid.elements[0].namespace = "eu.europa.ec.eudi.pid.fr.1".into();
    }),
    ("element returned twice", "repeated_element", |pid, _| {
        pid.elements.push(pid.elements[0].clone());
    }),
    ("element signed twice", "repeated_element", |pid, _| {
        pid.elements.push(IssuedElement::new(9, "given_name", "Mallory"));
        sign_elements(pid);
    }),
    ("element with a short salt", "element_salt", |pid, _| {
        *cbor_member_mut(&mut pid.elements[0].item, "random") = Cbor::Bytes(vec![1; 15]);
        sign_elements(pid);
    }),
    ("unrequested element", "unrequested_claim", |pid, _| {
        pid.elements.push(IssuedElement::new(9, "email_address", "mallory@people.example"));
        sign_elements(pid);
    }),
    ("withheld element", "missing_claim", |pid, _| drop(pid.elements.pop())),
    ("no element", "missing_claim", |pid, _| pid.elements.clear()),
    ("weak digest algorithm", "mso_digest_algorithm", |pid, _| {
        *object(pid, &["digestAlgorithm"]) = "SHA-1".into();
    }),
    ("digests of another algorithm", "digest_mismatch", |pid, _| {
        *object(pid, &["digestAlgorithm"]) = "SHA-512".into();
    }),
    ("expired object", "credential_expired", |pid, inputs| {
        *object(pid, &["validityInfo", "validUntil"]) = date_time(inputs.now - 120);
    }),
    ("object that is not valid yet", "credential_not_yet_valid", |pid, inputs| {
        *object(pid, &["validityInfo", "validFrom"]) = date_time(inputs.now + 3600);
    }),
    ("object without a time", "invalid_times", |pid, _| {
        remove(object(pid, &["validityInfo"]), "validUntil");
    }),
    ("object signed before its certificate", "signed_outside_certificate", |pid, _| {
        *object(pid, &["validityInfo", "signed"]) = date_time(1_000_000_000);
    }),
    ("document of another type", "wrong_type", |pid, _| {
        pid.doc_type = "org.iso.18013.5.1.mDL".into();
        *object(pid, &["docType"]) = "org.iso.18013.5.1.mDL".into();
    }),
    ("document relabelled on the way", "doc_type_mismatch", |pid, _| {
        *object(pid, &["docType"]) = "org.iso.18013.5.1.mDL".into();
    }),
    ("object of another version", "mso_version", |pid, _| {
        *object(pid, &["version"]) = "2.0".into();
    }),
    ("untrusted document signer", "issuer_untrusted", |pid, _| {
        sign_by(pid, TestAuthority::new("Stranger").issue(&certificate_spec()));
    }),
    (
        "document signer without the usage of document signers",
        "certificate_usage",
        |pid, inputs| {
            let spec = CertificateSpec { extended_key_usage: None, ..certificate_spec() };
            sign_by(pid, inputs.authority.issue(&spec));
        },
    ),
    ("document signer of driving tests", "certificate_usage", |pid, inputs| {
        let other = Some("1.3.6.1.5.5.7.3.1");
        let spec = CertificateSpec { extended_key_usage: other, ..certificate_spec() };
        sign_by(pid, inputs.authority.issue(&spec));
    }),
    ("document signer that has expired", "certificate_expired", |pid, inputs| {
        sign_by(
            pid,
            inputs.authority.issue(&CertificateSpec { not_after: -800, ..certificate_spec() }),
        );
    }),
    ("object signed by the device", "issuer_signature", |pid, _| {
        pid.issuer_key = pid.device_key.clone();
    }),
    ("object with a symmetric signature", "issuer_algorithm", |pid, _| {
        pid.issuer_header = header(&[(1, 5.into())]);
    }),
    ("object with a critical extension", "issuer_header", |pid, _| {
        let labels = Cbor::Array(vec![4.into()]);
        pid.issuer_header = header(&[(1, (-7).into()), (2, labels), (4, Cbor::Bytes(vec![1]))]);
    }),
    ("no certificate", "certificate_missing", |pid, _| pid.certificates = Cbor::Array(Vec::new())),
    ("certificate that is none", "certificate_malformed", |pid, _| {
        pid.certificates = Cbor::Bytes(vec![1, 2, 3]);
    }),
    ("status without a list", "invalid_status_reference", |pid, _| {
        pid.security_object.as_map_mut().unwrap().push(("status".into(), map([])));
    }),
    ("response of another version", "response_version", |pid, _| {
        pid.response_members.push(("version".into(), "2.0".into()));
    }),
    ("response that reports an error", "response_status", |pid, _| {
        pid.response_members.push(("status".into(), 10.into()));
    }),
    ("document that reports errors", "document_errors", |pid, _| {
        pid.document_members.push(("errors".into(), map([(PID_DOC_TYPE, 0.into())])));
    }),
    ("no document", "document_count", |pid, _| {
        pid.response_members.push(("documents".into(), Cbor::Array(Vec::new())));
    }),
    ("two documents", "document_count", |pid, _| {
        let documents = cbor_member_mut(&mut pid.response(), "documents").clone();
        let document = documents.into_array().unwrap().remove(0);
        let both = Cbor::Array(vec![document.clone(), document]);
        pid.response_members.push(("documents".into(), both));
    }),
    ("deeply nested response", "cbor_too_deep", |pid, _| {
        let deep = (0..40).fold(Cbor::Null, |deep, _| Cbor::Array(vec![deep]));
        pid.response_members.push(("extra".into(), deep));
    }),
    ("flood of items", "cbor_too_deep", |pid, _| {
        pid.response_members.push(("extra".into(), Cbor::Array(vec![Cbor::Null; 21_000])));
    }),
    ("repeated key in the object", "invalid_cbor", |pid, _| {
        pid.security_object.as_map_mut().unwrap().push(("docType".into(), PID_DOC_TYPE.into()));
    }),
    ("repeated key in the response", "invalid_cbor", |pid, _| {
        pid.document_members
            .push(("extra".into(), Cbor::Map(vec![(1.into(), 1.into()), (1.into(), 2.into())])));
    }),
];

/// Attack, and the change to the bytes of a valid response.
type BytesLie = (&'static str, fn(&mut Vec<u8>));

const ENCODING_FORGERIES: &[BytesLie] = &[
    ("bytes after the response", |bytes| bytes.push(0)),
    ("truncated response", |bytes| bytes.truncate(bytes.len() - 1)),
    ("map of indefinite length", |bytes| {
        bytes[0] = 0xbf;
        bytes.push(0xff);
    }),
    ("text of indefinite length", |bytes| {
        // The key `version`, in one chunk.
        bytes.splice(1..9, [&[0x7f, 0x67][..], b"version", &[0xff]].concat());
    }),
    ("length beyond the response", |bytes| {
        bytes.splice(..1, [0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }),
    ("undefined", |bytes| *bytes = vec![0xf7]),
    ("nothing", Vec::clear),
];

async fn assert_all_refused(malicious: &MaliciousWallet, forgeries: &[MdocForgery]) {
    for (attack, reason, forge) in forgeries {
        let present = |inputs: &ForgeryInputs| {
            let mut pid = malicious.wallet.mdoc(&inputs.request, &malicious.hub);
            forge(&mut pid, inputs);
            pid.present()
        };
        malicious.assert_refused(attack, reason, "pid-mdoc", present).await;
    }
    malicious.assert_valid_presentation_is_accepted().await;
}

#[actix_web::test]
async fn an_mdoc_for_another_request_or_of_another_device_is_refused() {
    assert_all_refused(&MaliciousWallet::start("").await, REQUEST_FORGERIES).await;
}

#[actix_web::test]
async fn an_mdoc_that_the_issuer_did_not_sign_so_is_refused() {
    assert_all_refused(&MaliciousWallet::start("").await, ISSUER_FORGERIES).await;
}

#[actix_web::test]
async fn ambiguous_bytes_in_the_place_of_an_mdoc_are_refused() {
    let malicious = MaliciousWallet::start("").await;
    for (attack, forge) in ENCODING_FORGERIES {
        let present = |inputs: &ForgeryInputs| {
            let mut bytes =
                encode_cbor(&malicious.wallet.mdoc(&inputs.request, &malicious.hub).response());
            forge(&mut bytes);
            digest::base64url(&bytes)
        };
        malicious.assert_refused(attack, "invalid_cbor", "pid-mdoc", present).await;
    }
    malicious.assert_valid_presentation_is_accepted().await;
}
