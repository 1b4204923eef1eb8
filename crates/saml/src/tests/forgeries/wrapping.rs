//! Signature wrapping: the signed element is kept where the verifier finds it, and another one is
//! put where the reader looks (Somorovsky et al., On Breaking SAML, 2012: variants 1 to 8).

use super::*;
use crate::response::ResponseError as E;
use crate::xml::{XmlError, XmlSignatureError as S};

/// The attacker's assertion, which no key signed.
fn evil(id: &str) -> String {
    edit(ASSERTION, &[("angela-7", "root"), ("ID=\"_a1\"", &format!("ID=\"{id}\""))])
}

/// Splits a signed document into what is before, in, and after its first signature.
fn split_signature(signed: &str) -> (String, String, String) {
    let (before, rest) = signed.split_once("<ds:Signature ").unwrap();
    let (signature, after) = rest.split_once("</ds:Signature>").unwrap();
    (before.into(), format!("<ds:Signature {signature}</ds:Signature>"), after.into())
}

pub(super) fn forgeries() -> Vec<Forgery> {
    let mut forgeries = responses();
    forgeries.extend(assertions());
    forgeries
}

/// Variants 1 and 2, of signed responses.
fn responses() -> Vec<Forgery> {
    let original = sign(&response(ASSERTION));
    let (before, signature, after) = split_signature(&original);
    let bare = format!("{before}{after}");
    let around = |id: &str, signature: &str| {
        let response = edit(&response(&evil("_a2")), &[("ID=\"_p1\"", &format!("ID=\"{id}\""))]);
        edit(
            &response,
            &[(
                "</saml:Issuer><samlp:Status>",
                &format!("</saml:Issuer>{signature}<samlp:Status>"),
            )],
        )
    };
    let with_object = |inner: &str| {
        edit(
            &signature,
            &[("</ds:Signature>", &format!("<ds:Object>{inner}</ds:Object></ds:Signature>"))],
        )
    };
    vec![
        Forgery::new(
            "XSW1: the original response in the signature's Object",
            around("_p2", &with_object(&bare)),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW1 with the ID of the original",
            around("_p1", &with_object(&bare)),
            XmlError::DuplicateId,
        ),
        Forgery::new(
            "XSW2: the original response after the signature",
            around("_p2", &format!("{signature}{bare}")),
            E::UnknownElement,
        ),
        Forgery::new(
            "XSW2: the original response before the signature",
            around("_p2", &format!("{bare}{signature}")),
            E::UnknownElement,
        ),
        Forgery::new(
            "the original response in Extensions",
            around("_p2", &format!("<samlp:Extensions>{original}</samlp:Extensions>")),
            E::AssertionCount,
        ),
        Forgery::new(
            "the signature of the response on another response",
            around("_p2", &signature),
            S::ReferenceTarget,
        ),
        Forgery::new(
            "the signature of the response on another response with its ID",
            around("_p1", &signature),
            S::Digest,
        ),
        Forgery::new(
            "the response in a response",
            edit(
                &original,
                &[(
                    "<samlp:Status>",
                    &format!(
                        "{}<samlp:Status>",
                        response(ASSERTION).replace("_p1", "_p3").replace("_a1", "_a3")
                    ),
                )],
            ),
            E::UnknownElement,
        ),
    ]
}

/// Variants 3 to 9, of signed assertions.
fn assertions() -> Vec<Forgery> {
    let original = sign(ASSERTION);
    let (before, signature, after) = split_signature(&original);
    let bare = format!("{before}{after}");
    let into = |outer: &str, inner: &str| {
        edit(outer, &[("</saml:Assertion>", &format!("{inner}</saml:Assertion>"))])
    };
    let sign_position = |assertion: &str, signature: &str| {
        edit(assertion, &[("</saml:Issuer>", &format!("</saml:Issuer>{signature}"))])
    };
    let with_object = |inner: &str| {
        edit(
            &signature,
            &[("</ds:Signature>", &format!("<ds:Object>{inner}</ds:Object></ds:Signature>"))],
        )
    };
    let extensions = |inner: &str, assertion: &str| {
        edit(
            &response(assertion),
            &[(
                "<samlp:Status>",
                &format!("<samlp:Extensions>{inner}</samlp:Extensions><samlp:Status>"),
            )],
        )
    };
    let advice = |inner: &str| {
        edit(
            &evil("_a2"),
            &[(
                "<saml:AuthnStatement ",
                &format!("<saml:Advice>{inner}</saml:Advice><saml:AuthnStatement "),
            )],
        )
    };
    let duplicate = |xml: &str| xml.replace("_a2", "_a1");
    let other_key = KEYS.stranger.sign(&evil("_a2"));
    vec![
        Forgery::new(
            "XSW3: another assertion before the original",
            response(&format!("{}{original}", evil("_a2"))),
            E::AssertionCount,
        ),
        Forgery::new(
            "another assertion after the original",
            response(&format!("{original}{}", evil("_a2"))),
            E::AssertionCount,
        ),
        Forgery::new(
            "another assertion with the same ID before the original",
            response(&format!("{}{original}", evil("_a1"))),
            XmlError::DuplicateId,
        ),
        Forgery::new(
            "XSW4: the original in another assertion",
            response(&into(&evil("_a2"), &original)),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW5: the signature in another assertion, the original at the end",
            response(&format!("{}{bare}", sign_position(&evil("_a2"), &signature))),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW6: the original in the signature, which is in another assertion",
            response(&sign_position(&evil("_a2"), &with_object(&bare))),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW6 with the ID of the original",
            response(&duplicate(&sign_position(&evil("_a2"), &with_object(&bare)))),
            XmlError::DuplicateId,
        ),
        Forgery::new(
            "XSW7: another assertion in Extensions",
            extensions(&evil("_a2"), &original),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW7: the original in Extensions, another outside",
            extensions(&original, &evil("_a2")),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW8: the original in the signature's Object",
            response(&sign_position(&evil("_a2"), &with_object(&original.replace(&signature, "")))),
            E::AssertionCount,
        ),
        Forgery::new(
            "XSW9: the original in an advice of another",
            response(&advice(&original)),
            E::AssertionCount,
        ),
        Forgery::new(
            "the signature of the original on another assertion",
            response(&sign_position(&evil("_a2"), &signature)),
            S::ReferenceTarget,
        ),
        Forgery::new(
            "the signature of the original on another assertion with its ID",
            response(&sign_position(&evil("_a1"), &signature)),
            S::Digest,
        ),
        Forgery::new(
            "the signature of the assertion on the response",
            edit(
                &response(ASSERTION),
                &[(
                    "</saml:Issuer><samlp:Status>",
                    &format!("</saml:Issuer>{signature}<samlp:Status>"),
                )],
            ),
            S::ReferenceTarget,
        ),
        Forgery::new(
            "the signature of the assertion in its subject",
            response(&edit(&bare, &[("<saml:NameID ", &format!("{signature}<saml:NameID "))])),
            S::Misplaced,
        ),
        Forgery::new(
            "the signature of the assertion in Extensions",
            extensions(&signature, &bare),
            S::Misplaced,
        ),
        Forgery::new(
            "an encrypted assertion beside the original",
            response(&format!(
                "{original}{}",
                encrypted("EncryptedAssertion", &sign(&evil("_a2")), &GCM)
            )),
            E::AssertionCount,
        ),
        Forgery::new(
            "the original in an encrypted assertion with another",
            response(&encrypted("EncryptedAssertion", &into(&evil("_a2"), &original), &GCM)),
            S::Misplaced,
        ),
        Forgery::new(
            "the assertion of another key beside the original",
            response(&format!("{other_key}{original}")),
            E::AssertionCount,
        ),
        Forgery::new(
            "an assertion of another namespace beside the original",
            response(&format!(
                "{original}{}",
                evil("_a2").replace("SAML:2.0:assertion", "SAML:1.0:assertion")
            )),
            E::UnknownElement,
        ),
    ]
}
