//! Signatures that prove nothing.

use super::*;
use crate::xml::{SignatureAlgorithm, XmlError, XmlSignatureError as S};

const EXCLUSIVE: &str =
    "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>";
const ENVELOPED: &str = "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"></ds:Transform>";
const CANONICALIZATION: &str = "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:CanonicalizationMethod>";

type Edit = (&'static str, &'static str, &'static str, S);

/// Changes of `SignedInfo` that the identity provider's key signs.
fn signed_info_edits() -> Vec<Edit> {
    vec![
        ("no transform", ENVELOPED, "", S::Transforms),
        ("the enveloped transform twice", EXCLUSIVE, ENVELOPED, S::Transforms),
        (
            "a third transform",
            EXCLUSIVE,
            concat!(
                "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>",
                "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>"
            ),
            S::Transforms,
        ),
        (
            "an XPath transform",
            "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\">",
            "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\">",
            S::Transforms,
        ),
        (
            "an XSLT transform",
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\">",
            S::Transforms,
        ),
        (
            "a base64 transform",
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#base64\">",
            S::Transforms,
        ),
        (
            "canonical XML with comments as transform",
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#WithComments\">",
            S::Transforms,
        ),
        (
            "inclusive canonical XML as transform",
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            "<ds:Transform Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\">",
            S::Transforms,
        ),
        (
            "SHA-1 as digest",
            "http://www.w3.org/2001/04/xmlenc#sha256",
            "http://www.w3.org/2000/09/xmldsig#sha1",
            S::DigestAlgorithm,
        ),
        (
            "MD5 as digest",
            "http://www.w3.org/2001/04/xmlenc#sha256",
            "http://www.w3.org/2001/04/xmldsig-more#md5",
            S::DigestAlgorithm,
        ),
        (
            "RSA with SHA-1",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
            S::Algorithm,
        ),
        (
            "HMAC with the public key",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
            S::Algorithm,
        ),
        (
            "DSA",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2009/xmldsig11#dsa-sha256",
            S::Algorithm,
        ),
        (
            "an unknown algorithm",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "",
            S::Algorithm,
        ),
        (
            "a parameter of the algorithm",
            "rsa-sha256\">",
            "rsa-sha256\"><ds:HMACOutputLength>8</ds:HMACOutputLength>",
            S::Algorithm,
        ),
        (
            "an algorithm of another key type",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
            S::Signature,
        ),
        (
            "another hash than was signed",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
            S::Signature,
        ),
        (
            "inclusive canonical XML",
            CANONICALIZATION,
            "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"></ds:CanonicalizationMethod>",
            S::Canonicalization,
        ),
        (
            "canonical XML with comments",
            CANONICALIZATION,
            "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#WithComments\"></ds:CanonicalizationMethod>",
            S::Canonicalization,
        ),
        ("no reference to an element", "URI=\"#_a1\"", "URI=\"\"", S::ReferenceTarget),
        ("a reference to nothing", "URI=\"#_a1\"", "URI=\"#\"", S::ReferenceTarget),
        ("a reference to the response", "URI=\"#_a1\"", "URI=\"#_p1\"", S::ReferenceTarget),
        (
            "a reference by XPointer",
            "URI=\"#_a1\"",
            "URI=\"#xpointer(id('_a1'))\"",
            S::ReferenceTarget,
        ),
        (
            "a reference outside",
            "URI=\"#_a1\"",
            "URI=\"https://evil.example/#_a1\"",
            S::ReferenceTarget,
        ),
        ("a reference without address", " URI=\"#_a1\"", "", S::ReferenceTarget),
        (
            "two references",
            "</ds:Reference>",
            "</ds:Reference><ds:Reference URI=\"#_p1\"></ds:Reference>",
            S::ReferenceCount,
        ),
        (
            "a manifest beside the reference",
            "</ds:Reference>",
            "</ds:Reference><ds:Manifest></ds:Manifest>",
            S::ReferenceCount,
        ),
        ("a digest that is not base64", "<ds:DigestValue>", "<ds:DigestValue>*", S::Base64),
        (
            "an empty digest",
            "<ds:DigestValue>",
            "<ds:DigestValue></ds:DigestValue><ds:DigestValue>",
            S::Structure,
        ),
        ("no canonicalization", CANONICALIZATION, "", S::Structure),
        (
            "text in SignedInfo",
            "<ds:SignatureMethod",
            "x<ds:SignatureMethod",
            S::Xml(XmlError::ElementContent),
        ),
    ]
}

pub(super) fn forgeries() -> Vec<Forgery> {
    let mut forgeries = Vec::new();
    let signed = sign(ASSERTION);
    for (name, from, to, rule) in signed_info_edits() {
        let forged = KEYS.provider.sign_edited(&signed, |info| edit(info, &[(from, to)]));
        forgeries.push(Forgery::new(format!("{name}, signed"), response(&forged), rule));
    }
    forgeries.push(reference_count_without_reference(&signed));
    forgeries.extend(unsigned());
    forgeries.extend(changed_after_signing(&signed));
    forgeries.extend(other_keys());
    forgeries
}

fn reference_count_without_reference(signed: &str) -> Forgery {
    let forged = KEYS.provider.sign_edited(signed, |info| {
        let (before, rest) = info.split_once("<ds:Reference").unwrap();
        format!("{before}{}", rest.split_once("</ds:Reference>").unwrap().1)
    });
    Forgery::new("no reference at all", response(&forged), S::ReferenceCount)
}

/// Signature exclusion: the checks of a signature must not depend on there being one.
fn unsigned() -> Vec<Forgery> {
    let encrypted = encrypted("EncryptedAssertion", ASSERTION, &GCM);
    let renamed = sign(ASSERTION)
        .replace("ds:Signature ", "ds:signature ")
        .replace("/ds:Signature>", "/ds:signature>");
    let other_namespace = sign(ASSERTION)
        .replace("http://www.w3.org/2000/09/xmldsig#\">", "http://www.w3.org/2000/09/xmldsig\">");
    vec![
        Forgery::new("an unsigned assertion", response(ASSERTION), S::Missing),
        Forgery::new("an unsigned encrypted assertion", response(&encrypted), S::Missing),
        Forgery::new("a signature of another name", response(&renamed), S::Missing),
        Forgery::new("a signature of another namespace", response(&other_namespace), S::Missing),
    ]
}

fn changed_after_signing(signed: &str) -> Vec<Forgery> {
    let changed = |from: &str, to: &str| response(&edit(signed, &[(from, to)]));
    let (head, rest) = signed.split_once("<ds:SignatureValue>").unwrap();
    let (_, tail) = rest.split_once("</ds:SignatureValue>").unwrap();
    let with_value = |value: &str| {
        response(&format!("{head}<ds:SignatureValue>{value}</ds:SignatureValue>{tail}"))
    };
    let (before, rest) = signed.split_once("<ds:Signature ").unwrap();
    let (signature, after) = rest.split_once("</ds:Signature>").unwrap();
    let signature = format!("<ds:Signature {signature}</ds:Signature>");
    let in_response = sign(&response(ASSERTION));
    vec![
        Forgery::new("another user", changed("angela-7", "root"), S::Digest),
        Forgery::new("another attribute", changed("baker", "admin"), S::Digest),
        Forgery::new(
            "another audience",
            changed("Audience>https://hub.example/saml", "Audience>https://hub.example/saml2"),
            S::Digest,
        ),
        Forgery::new(
            "white space in an attribute",
            changed("Name=\"role\"", "Name=\"role \""),
            S::Digest,
        ),
        Forgery::new(
            "another assertion in a signed response",
            edit(&in_response, &[("angela-7", "root")]),
            S::Digest,
        ),
        Forgery::new(
            "another destination in a signed response",
            edit(&in_response, &[("_r1\">", "_r1\" Consent=\"x\">")]),
            S::Digest,
        ),
        Forgery::new(
            "another digest",
            changed("<ds:DigestValue>", "<ds:DigestValue>AAAA"),
            S::Signature,
        ),
        Forgery::new(
            "a comment in the digest",
            changed("<ds:DigestValue>", "<ds:DigestValue>A<!-- -->"),
            XmlError::CommentInText,
        ),
        Forgery::new(
            "a comment in the signature",
            changed("<ds:SignatureValue>", "<!-- --><ds:SignatureValue>"),
            XmlError::CommentInText,
        ),
        Forgery::new(
            "an element in the signature",
            changed("<ds:SignatureValue>", "<ds:SignatureValue><ds:x/>"),
            S::Xml(XmlError::ElementContent),
        ),
        Forgery::new("an empty signature", with_value(""), S::Signature),
        Forgery::new("a signature of zeros", with_value("AAAA"), S::Signature),
        Forgery::new("a signature that is not base64", with_value("a-b_"), S::Base64),
        Forgery::new("a huge signature", with_value(&"A".repeat(8_000)), S::Base64),
        Forgery::new(
            "an Object in the signature",
            changed("</ds:Signature>", "<ds:Object></ds:Object></ds:Signature>"),
            S::Structure,
        ),
        Forgery::new(
            "an Object after KeyInfo",
            changed("</ds:Signature>", "<ds:KeyInfo/><ds:Object/></ds:Signature>"),
            S::Structure,
        ),
        Forgery::new(
            "two KeyInfos",
            changed("</ds:Signature>", "<ds:KeyInfo/><ds:KeyInfo/></ds:Signature>"),
            S::Structure,
        ),
        Forgery::new(
            "SignedInfo twice",
            changed("<ds:SignatureValue>", "<ds:SignedInfo/><ds:SignatureValue>"),
            S::Structure,
        ),
        Forgery::new(
            "two signatures of one assertion",
            response(&format!(
                "{before}{signature}{}{after}",
                signature.replace("ds:Reference", "ds:reference")
            )),
            S::Several,
        ),
        Forgery::new(
            "two signatures of the response",
            {
                let r = sign(&response(ASSERTION));
                let (b, rest) = r.split_once("<ds:Signature ").unwrap();
                let (s, a) = rest.split_once("</ds:Signature>").unwrap();
                format!("{b}<ds:Signature {s}</ds:Signature><ds:Signature {s}</ds:Signature>{a}")
            },
            S::Several,
        ),
        Forgery::new(
            "a signature at the end",
            response(&format!(
                "{before}{}{signature}</saml:Assertion>",
                after.strip_suffix("</saml:Assertion>").unwrap()
            )),
            S::Misplaced,
        ),
    ]
}

fn other_keys() -> Vec<Forgery> {
    let small = KeyPair::rsa(1024);
    let curve = KeyPair::ec(
        openssl::nid::Nid::X9_62_PRIME256V1,
        "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
    );
    let with_certificate = |pair: &KeyPair| {
        let certificate = openssl::base64::encode_block(&pair.certificate());
        let info = format!(
            "</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
        );
        response(&edit(&pair.sign(ASSERTION), &[("</ds:SignatureValue>", &info)]))
    };
    let stranger = &KEYS.stranger;
    let stranger_pss = KeyPair {
        private: stranger.private.clone(),
        algorithm: SignatureAlgorithm::from_uri(
            "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
        )
        .unwrap(),
    };
    vec![
        Forgery::new(
            "the key of another entity",
            response(&stranger.sign(ASSERTION)),
            S::Signature,
        ),
        Forgery::new(
            "the key of another entity over the response",
            stranger.sign(&response(ASSERTION)),
            S::Signature,
        ),
        Forgery::new(
            "the key of another entity over the response, the right one over the assertion",
            stranger.sign(&response(&sign(ASSERTION))),
            S::Signature,
        ),
        Forgery::new(
            "the right key over the response, another over the assertion",
            sign(&response(&stranger.sign(ASSERTION))),
            S::Signature,
        ),
        Forgery::new("a key in KeyInfo", with_certificate(stranger), S::Signature),
        Forgery::new("an EC key in KeyInfo", with_certificate(&curve), S::Signature),
        Forgery::new("a small key in KeyInfo", with_certificate(&small), S::Signature),
        Forgery::new(
            "the PSS signature of another entity",
            response(&stranger_pss.sign(ASSERTION)),
            S::Signature,
        ),
    ]
}
