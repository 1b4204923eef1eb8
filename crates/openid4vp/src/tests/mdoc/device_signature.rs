use super::*;

#[test]
fn a_response_signed_by_another_device_is_refused() {
    assert_lie(HolderSignature, |p| p.device_key = new_key());
}

#[test]
fn a_response_to_another_request_is_refused() {
    let with = |client_id, nonce, key: Option<&[u8; 32]>, uri| {
        let transcript = redirect_transcript(client_id, nonce, key, uri);
        assert_lie(HolderSignature, |p| p.transcript = transcript);
    };
    let key = Some(&[7; 32]);
    with("x509_hash:other", NONCE, key, RESPONSE_URI);
    with(CLIENT_ID, "other", key, RESPONSE_URI);
    with(CLIENT_ID, NONCE, key, "https://attacker.example/response");
    // A response that was encrypted to another key, or not at all, and encrypted again.
    with(CLIENT_ID, NONCE, Some(&[8; 32]), RESPONSE_URI);
    with(CLIENT_ID, NONCE, None, RESPONSE_URI);
}

#[test]
fn a_transcript_of_another_kind_is_refused() {
    let info = vec![CLIENT_ID.into(), NONCE.into(), Cbor::Bytes(vec![7; 32]), RESPONSE_URI.into()];
    let renamed = transcript("OpenID4VPDCAPIHandover", info);
    assert_lie(HolderSignature, |p| p.transcript = renamed);
    // A proximity session.
    assert_lie(HolderSignature, |p| p.transcript.as_array_mut().unwrap()[0] = Cbor::Bytes(vec![1]));
}

#[test]
fn a_signature_with_a_payload_of_its_own_is_refused() {
    assert_lie(HolderSignature, |p| {
        let (header, key) = (p.device_header.clone(), p.device_key.clone());
        let own = sign1(&header, Cbor::Map(Vec::new()), Some(b"own"), b"own", &key);
        p.device_auth = Some(map([("deviceSignature", own)]));
    });
}

#[test]
fn a_response_without_a_device_signature_is_refused() {
    assert_lie(DeviceAuthMissing, |p| p.device_auth = Some(map([])));
}

#[test]
fn a_device_mac_is_refused() {
    assert_lie(DeviceMac, |p| {
        p.device_auth = Some(map([("deviceMac", Cbor::Array(Vec::new()))]));
    });
}

#[test]
fn a_malformed_device_key_is_refused() {
    let key = |label: i64, value: Cbor| {
        move |p: &mut MdocPresentation| {
            let key = object(p, &["deviceKeyInfo", "deviceKey"]).as_map_mut().unwrap();
            key.retain(|(k, _)| *k != Cbor::from(label));
            key.push((label.into(), value));
        }
    };
    assert_lie(HolderKeyInvalid, key(1, 4.into()));
    assert_lie(HolderKeyInvalid, key(-1, 8.into()));
    assert_lie(HolderKeyInvalid, key(-2, Cbor::Bytes(vec![1; 32])));
    assert_lie(HolderKeyInvalid, key(-3, true.into()));
    assert_lie(HolderKeyInvalid, key(-4, Cbor::Bytes(vec![1; 32])));
    assert_lie(HolderKeyMissing, |p| remove(object(p, &["deviceKeyInfo"]), "deviceKey"));
}

#[test]
fn elements_that_the_device_signs_without_authorization_are_refused() {
    let own = |()| map([(PID_DOC_TYPE, map([("family_name", "Other".into())]))]);
    assert_lie(KeyNotAuthorized, |p| p.device_name_spaces = own(()));
    // With authorization they pass, and never become claims.
    for authorizations in [
        map([("nameSpaces", Cbor::Array(vec![PID_DOC_TYPE.into()]))]),
        map([("dataElements", map([(PID_DOC_TYPE, Cbor::Array(vec!["family_name".into()]))]))]),
    ] {
        let credential = verify_changed(&Bench::mdoc(), |p| {
            p.device_name_spaces = own(());
            let info = object(p, &["deviceKeyInfo"]).as_map_mut().unwrap();
            info.push(("keyAuthorizations".into(), authorizations));
        });
        assert_eq!(credential.unwrap().claims[PID_DOC_TYPE]["family_name"], "Mustermann");
    }
}

#[test]
fn elements_added_to_the_device_signature_on_the_way_are_refused() {
    let bench = Bench::mdoc();
    let mut response = MdocPresentation::of_pid(&bench.issuer).response();
    let document = &mut cbor_member_mut(&mut response, "documents").as_array_mut().unwrap()[0];
    let own = encode_cbor(&map([(PID_DOC_TYPE, map([("sex", 2.into())]))]));
    *cbor_member_mut(cbor_member_mut(document, "deviceSigned"), "nameSpaces") =
        encoded_cbor_item(&own);
    let text = digest::base64url(&encode_cbor(&response));
    assert_eq!(bench.verify(&text).map(|_| ()), Err(HolderSignature));
}

/// OpenID4VP 1.0 appendix B.2.6.1 and B.2.6.2.
#[test]
fn the_transcripts_of_the_standards_examples_are_right() {
    let bench = Bench::mdoc();
    let thumbprint = digest::from_base64url("QoPsknrg8gjaqi0CaoFPKyLcpSz4X_qPP4Ymxr1mkEc").unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = |channel| PresentationExpectations {
        channel,
        nonce: "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA",
        encryption_key_thumbprint: Some(thumbprint.clone().try_into().unwrap()),
        ..bench.expectations()
    };
    let redirect = RequestChannel::DirectPost {
        client_id: "x509_san_dns:example.com",
        response_uri: "https://example.com/response",
    };
    assert_eq!(
        hex(&encode_cbor(&session_transcript(&expected(redirect)))),
        "83f6f682714f70656e494434565048616e646f7665725820048bc053c00442af9b8eed494cefdd9d95240d25\
         4b046b11b68013722aad38ac"
    );
    let api = RequestChannel::DigitalCredentialsApi { origin: "https://example.com" };
    assert_eq!(
        hex(&encode_cbor(&session_transcript(&expected(api)))),
        "83f6f682764f70656e4944345650444341504948616e646f7665725820fbece366f4212f9762c74cfdbf83b8\
         c69e371d5d68cea09cb4c48ca6daab761a"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Bench::mdoc().verify(&digest::base64url(&bytes)).is_err());
    }

    #[test]
    fn one_altered_byte_is_refused_or_changes_nothing(at in any::<prop::sample::Index>(), bit in 0..8) {
        let bench = Bench::mdoc();
        let truth = verify_changed(&bench, |_| {}).unwrap().claims;
        let mut bytes = encode_cbor(&MdocPresentation::of_pid(&bench.issuer).response());
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        if let Ok(credential) = bench.verify(&digest::base64url(&bytes)) {
            prop_assert_eq!(credential.claims, truth);
        }
    }
}
