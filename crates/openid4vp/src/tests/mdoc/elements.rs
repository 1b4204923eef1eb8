use super::*;

#[test]
fn an_altered_element_is_refused() {
    assert_lie(DigestMismatch, |p| {
        *cbor_member_mut(&mut p.elements[0].item, "elementValue") = "Other".into();
    });
    assert_lie(DigestMismatch, |p| {
        *cbor_member_mut(&mut p.elements[0].item, "elementIdentifier") = "given_name".into();
    });
}

#[test]
fn an_element_under_the_digest_of_another_is_refused() {
    assert_lie(DigestMismatch, |p| {
        *cbor_member_mut(&mut p.elements[0].item, "digestID") = 2.into();
    });
}

#[test]
fn an_element_that_the_issuer_did_not_sign_is_refused() {
    assert_lie(DigestMissing, |p| p.elements.push(IssuedElement::new(8, "sex", 2)));
}

#[test]
fn an_element_in_another_namespace_is_refused() {
    assert_lie(DigestMissing, |p| p.elements[0].namespace = "eu.europa.ec.eudi.pid.fr.1".into());
}

#[test]
fn an_element_returned_twice_is_refused() {
    assert_lie(RepeatedElement, |p| p.elements.push(p.elements[0].clone()));
    // Signed twice, with different values.
    assert_lie(RepeatedElement, |p| {
        p.elements.push(IssuedElement::new(4, "family_name", "Other"));
        p.security_object =
            crate::testing::wallet_credentials::mdoc::security_object(&p.elements, &p.device_key);
    });
}

#[test]
fn an_element_without_enough_salt_is_refused() {
    assert_lie(ElementSalt, |p| {
        *cbor_member_mut(&mut p.elements[0].item, "random") = Cbor::Bytes(vec![1; 15]);
        p.security_object =
            crate::testing::wallet_credentials::mdoc::security_object(&p.elements, &p.device_key);
    });
}

#[test]
fn an_unknown_digest_algorithm_is_refused() {
    for name in ["SHA-1", "MD5", "sha-256"] {
        assert_lie(MsoDigestAlgorithm, |p| *object(p, &["digestAlgorithm"]) = name.into());
    }
    // Digests of one algorithm don't pass for those of another.
    assert_lie(DigestMismatch, |p| *object(p, &["digestAlgorithm"]) = "SHA-512".into());
}

#[test]
fn unrequested_elements_are_refused() {
    assert_lie(UnrequestedClaim, |p| {
        p.elements.push(IssuedElement::new(
            3,
            "birth_date",
            crate::testing::wallet_credentials::mdoc::date("1964-08-12"),
        ));
    });
}

#[test]
fn a_response_without_a_requested_element_is_refused() {
    assert_lie(MissingClaim, |p| drop(p.elements.pop()));
    assert_lie(MissingClaim, |p| p.elements.clear());
}
