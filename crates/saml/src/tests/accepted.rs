//! Responses of real forms that must be accepted.

use openssl::nid::Nid;

use super::identity_provider::*;
use crate::response::{ResponseError, decode_response};
use crate::xml::{SignatureAlgorithm, XmlDecryptionError};

#[test]
fn every_protection_gives_the_same_assertion() {
    let expected = check(&Protection::SignedBoth.protect(ASSERTION, |r| r)).unwrap();
    assert_eq!(expected.id, "_a1");
    assert_eq!(expected.name_id.as_ref().unwrap().value, "angela-7");
    assert_eq!(expected.authn_context, "https://refeds.org/profile/mfa");
    assert_eq!(expected.session_index.as_deref(), Some("_s1"));
    assert_eq!(expected.attributes["role"], ["baker"]);
    assert!(expected.out_of_scope.is_empty());
    assert_eq!(expected.valid_until, time("2026-11-29T17:06:00Z"));
    for protection in Protection::ALL {
        let response = protection.protect(ASSERTION, |r| r);
        assert_eq!(check(&response), Ok(expected.clone()), "{protection:?}");
    }
}

#[test]
fn every_algorithm_of_the_list_is_accepted() {
    let pairs = [
        ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", Nid::X9_62_PRIME256V1),
        ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384", Nid::SECP384R1),
        ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512", Nid::SECP384R1),
    ]
    .map(|(algorithm, curve)| KeyPair::ec(curve, algorithm));
    let rsa = [
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
        "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
        "http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1",
    ]
    .map(|algorithm| KeyPair {
        private: KEYS.provider.private.clone(),
        algorithm: SignatureAlgorithm::from_uri(algorithm).unwrap(),
    });
    for pair in pairs.iter().chain(&rsa) {
        let response = response(&pair.sign(ASSERTION));
        let keys = [KEYS.stranger.verification_key(), pair.verification_key()];
        let accepted = check_by_keys(&response, &keys, |_| {});
        assert!(accepted.is_ok(), "{:?}: {accepted:?}", pair.algorithm);
    }
}

#[test]
fn forms_that_real_peers_send_are_accepted() {
    let signed = sign(ASSERTION);
    let with_key_info = edit(
        &signed,
        &[("</ds:SignatureValue>", "</ds:SignatureValue><ds:KeyInfo><ds:X509Data/></ds:KeyInfo>")],
    );
    // Java on Windows breaks lines of base64 by CR LF, the CR as a reference.
    let (before, value) = signed.split_once("<ds:SignatureValue>").unwrap();
    let (head, tail) = value.split_at(76);
    let broken_lines = format!("{before}<ds:SignatureValue>{head}&#13;\n{tail}");
    let pretty = edit(&ASSERTION.replace("><saml:", ">\n  <saml:"), &[]);
    let prefixes = sign(ASSERTION);
    let prefixes = KEYS.provider.sign_edited(&prefixes, |info| {
        let end = "xml-exc-c14n#\"></ds:Transform></ds:Transforms>";
        let list = "xml-exc-c14n#\"><ec:InclusiveNamespaces \
            xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"xs saml\">\
            </ec:InclusiveNamespaces></ds:Transform></ds:Transforms>";
        edit(info, &[(end, list)])
    });
    let declared = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<!-- by hand -->{}",
        response(&signed)
    );
    let mut wrapped = ASSERTION.to_owned();
    for name in ["Issuer", "Audience", "AuthnContextClassRef"] {
        let (start, end) = (format!("<saml:{name}>"), format!("</saml:{name}>"));
        let edits = [(&*start, &*format!("{start}\n  ")), (&*end, &*format!("\n{end}"))];
        wrapped = edit(&wrapped, &edits);
    }
    for (form, response) in [
        ("KeyInfo", response(&with_key_info)),
        ("white space around URIs", response(&sign(&wrapped))),
        ("CR in base64", response(&broken_lines)),
        ("white space", response(&sign(&pretty))),
        ("prefix list", response(&prefixes)),
        ("declaration and comment", declared.clone()),
        ("standalone", declared.replace("encoding=\"UTF-8\"", "standalone='yes'")),
    ] {
        assert!(check(&response).is_ok(), "{form}: {:?}", check(&response));
    }
}

#[test]
fn assertions_encrypted_by_other_oaep_forms_are_accepted() {
    for form in [&SHA256_OAEP, &SHA256_MGF1P] {
        let assertion = encrypted("EncryptedAssertion", &sign(ASSERTION), form);
        let accepted = check(&response(&assertion));
        assert!(accepted.is_ok(), "{}: {accepted:?}", form.transport);
    }
}

#[test]
fn an_encrypted_element_may_use_the_namespaces_around_it() {
    // As `xmlsec1` encrypts an element of a document: without the declarations of its ancestors.
    let outer = " xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    let typed = [("<saml:AttributeValue>", "<saml:AttributeValue xsi:type=\"xs:string\">")];
    let declared = edit(&edit(ASSERTION, &typed), &[(" ID=", &format!("{outer} ID="))]);
    let own = " xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"";
    for undeclared in [outer, own] {
        let encrypt = |signed: &str| {
            let plaintext = edit(signed, &[(undeclared, "")]);
            let encrypted = encrypted("EncryptedAssertion", &plaintext, &GCM);
            edit(&response(&encrypted), &[(" ID=", &format!("{outer} ID="))])
        };
        let inside = encrypt(&sign(&declared));
        let outside = sign(&encrypt(&declared));
        if undeclared == own {
            assert!(check(&outside).is_ok(), "{:?}", check(&outside));
        }
        assert!(check(&inside).is_ok(), "{undeclared}: {:?}", check(&inside));
    }
    let default = edit(&declared, &[(own, &own.replace(":saml", ""))]).replace("saml:", "");
    let plaintext =
        edit(&sign(&default), &[(" xmlns=\"urn:oasis:names:tc:SAML:2.0:assertion\"", "")]);
    let default = response(&encrypted("EncryptedAssertion", &plaintext, &GCM)).replace("saml:", "");
    let default = default.replace("xmlns:saml=", "xmlns=");
    assert!(check(&default).is_ok(), "{:?}", check(&default));
}

#[test]
fn cbc_is_accepted_only_inside_a_signed_response_and_if_allowed() {
    let refused = Err(ResponseError::Decryption(XmlDecryptionError::ContentEncryption));
    let signed = sign(&response(&encrypted("EncryptedAssertion", ASSERTION, &CBC)));
    assert!(check_with(&signed, |expected| expected.allow_cbc = true).is_ok());
    assert_eq!(check(&signed), refused);
    let unsigned = response(&encrypted("EncryptedAssertion", &sign(ASSERTION), &CBC));
    assert_eq!(check_with(&unsigned, |expected| expected.allow_cbc = true), refused);
}

#[test]
fn an_encrypted_name_id_is_read() {
    let name_id = r#"<saml:NameID xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">angela-7</saml:NameID>"#;
    let (before, rest) = ASSERTION.split_once("<saml:NameID").unwrap();
    let (_, after) = rest.split_once("</saml:NameID>").unwrap();
    let encrypted = encrypted("EncryptedID", name_id, &GCM);
    let assertion = check(&response(&sign(&format!("{before}{encrypted}{after}")))).unwrap();
    assert_eq!(assertion.name_id.unwrap().value, "angela-7");
}

/// One university must not state the addresses of another one, and its own user signs in.
#[test]
fn a_value_of_another_scope_does_not_arrive_and_the_others_do() {
    const NAME: &str = "urn:oid:1.3.6.1.4.1.5923.1.1.1.6";
    let own = "angela@idp.example</saml:AttributeValue>";
    for forged in [
        "angela@other.example",
        "angela@evil-idp.example",
        "angela@other.example@idp.example",
        "angela@idp.example@other.example",
        "angela@idp.example.",
        "angela@",
        "angela",
        "",
    ] {
        let alone = format!("{forged}</saml:AttributeValue>");
        let second = format!("{own}<saml:AttributeValue>{alone}");
        for protection in Protection::ALL {
            for (values, left) in [(&alone, &[][..]), (&second, &["angela@idp.example"])] {
                let assertion = edit(ASSERTION, &[(own, values)]);
                let accepted = check(&protection.protect(&assertion, |r| r)).unwrap();
                let found = accepted.attributes.get(NAME).map(Vec::as_slice).unwrap_or_default();
                assert_eq!(found, left, "{forged}, {protection:?}");
                assert_eq!(Vec::from_iter(accepted.out_of_scope), [NAME]);
                assert_eq!(accepted.attributes["role"], ["baker"]);
            }
        }
    }
}

#[test]
fn after_force_authn_was_not_asked_an_older_authentication_is_accepted() {
    let old = edit(
        ASSERTION,
        &[("AuthnInstant=\"2026-11-29T16:59:50Z\"", "AuthnInstant=\"2026-11-29T08:00:00Z\"")],
    );
    let response = response(&sign(&old));
    assert_eq!(check(&response), Err(ResponseError::AuthnTooOld));
    assert!(check_with(&response, |expected| expected.force_authn = false).is_ok());
}

#[test]
fn the_field_of_a_form_is_base64_with_or_without_line_breaks() {
    for encoded in ["PGEvPg==", "PGEv\r\nPg==\r\n"] {
        assert_eq!(decode_response(encoded), Ok(b"<a/>".to_vec()));
    }
    assert!(decode_response(&"A".repeat(256 << 10)).is_ok());
    for refused in ["PGEvPg", "PGEvPg==x", "<a/>", "-_-_", &"A".repeat(400_000)] {
        assert_eq!(decode_response(refused), Err(ResponseError::Encoding));
    }
}
