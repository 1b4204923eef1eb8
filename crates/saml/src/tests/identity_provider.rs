//! An identity provider that signs and encrypts whatever a test wants.

use std::sync::LazyLock;

use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use passerelle_protocol::env::Timestamp;

use crate::response::{Assertion, ExpectedResponse, ResponseError, check_response};
pub(crate) use crate::testing::KeyPair;
pub(crate) use crate::testing::encryption::{
    CBC, Encryption, GCM, SHA256_MGF1P, SHA256_OAEP, encrypted_to,
};
use crate::time::parse_time;
use crate::xml::{VerificationKey, XmlDecryptionKey};

pub(crate) const REQUESTED: &str = "2026-11-29T16:59:00Z";
pub(crate) const NOW: &str = "2026-11-29T17:00:10Z";

/// The key of the identity provider, one that its metadata does not have, and the hub's.
pub(crate) struct Keys {
    pub(crate) provider: KeyPair,
    pub(crate) stranger: KeyPair,
    pub(crate) hub: PKey<Private>,
}

pub(crate) static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    provider: KeyPair::rsa(2048),
    stranger: KeyPair::rsa(2048),
    hub: PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
});

pub(crate) fn sign(xml: &str) -> String {
    KEYS.provider.sign(xml)
}

pub(crate) fn time(text: &str) -> Timestamp {
    parse_time(text).unwrap()
}

/// Replaces texts; each must occur.
pub(crate) fn edit(xml: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(xml.to_owned(), |xml, (from, to)| {
        assert!(xml.contains(from), "{from} is not in {xml}");
        xml.replacen(from, to, 1)
    })
}

pub(crate) const ASSERTION: &str = concat!(
    r#"<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a1" Version="2.0" IssueInstant="2026-11-29T17:00:00Z">"#,
    r#"<saml:Issuer>https://idp.example/saml</saml:Issuer>"#,
    r#"<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">angela-7</saml:NameID>"#,
    r#"<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">"#,
    r#"<saml:SubjectConfirmationData InResponseTo="_r1" NotOnOrAfter="2026-11-29T17:05:00Z" Recipient="https://hub.example/saml/acs"/>"#,
    r#"</saml:SubjectConfirmation></saml:Subject>"#,
    r#"<saml:Conditions NotBefore="2026-11-29T16:59:30Z" NotOnOrAfter="2026-11-29T17:04:00Z">"#,
    r#"<saml:AudienceRestriction><saml:Audience>https://hub.example/saml</saml:Audience></saml:AudienceRestriction></saml:Conditions>"#,
    r#"<saml:AuthnStatement AuthnInstant="2026-11-29T16:59:50Z" SessionIndex="_s1" SessionNotOnOrAfter="2026-11-30T01:00:00Z">"#,
    r#"<saml:AuthnContext><saml:AuthnContextClassRef>https://refeds.org/profile/mfa</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>"#,
    r#"<saml:AttributeStatement><saml:Attribute Name="urn:oid:1.3.6.1.4.1.5923.1.1.1.6"><saml:AttributeValue>angela@idp.example</saml:AttributeValue></saml:Attribute>"#,
    r#"<saml:Attribute Name="role"><saml:AttributeValue>baker</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>"#,
    r#"</saml:Assertion>"#
);

const RESPONSE: &str = concat!(
    r#"<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_p1" Version="2.0" IssueInstant="2026-11-29T17:00:00Z" Destination="https://hub.example/saml/acs" InResponseTo="_r1">"#,
    r#"<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://idp.example/saml</saml:Issuer>"#,
    r#"<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>"#,
    r#"ASSERTION</samlp:Response>"#
);

/// Puts an assertion into a response.
pub(crate) fn response(assertion: &str) -> String {
    RESPONSE.replace("ASSERTION", assertion)
}

/// Encrypts an element to the hub, as `EncryptedAssertion` or `EncryptedID`.
pub(crate) fn encrypted(name: &str, plaintext: &str, encryption: &Encryption) -> String {
    encrypted_to(&KEYS.hub, name, plaintext, encryption)
}

/// Where the signature of a response is, and whether its assertion is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protection {
    SignedAssertion,
    SignedResponse,
    SignedBoth,
    EncryptedSignedAssertion,
    EncryptedInSignedResponse,
}

impl Protection {
    pub(crate) const ALL: [Self; 5] = [
        Self::SignedAssertion,
        Self::SignedResponse,
        Self::SignedBoth,
        Self::EncryptedSignedAssertion,
        Self::EncryptedInSignedResponse,
    ];

    /// Protects an assertion in a response, which `edit_response` changes before it is signed.
    pub(crate) fn protect(
        self,
        assertion: &str,
        edit_response: impl Fn(String) -> String,
    ) -> String {
        let assertion = match self {
            Self::SignedResponse => assertion.to_owned(),
            Self::SignedAssertion | Self::SignedBoth => sign(assertion),
            Self::EncryptedSignedAssertion => {
                encrypted("EncryptedAssertion", &sign(assertion), &GCM)
            }
            Self::EncryptedInSignedResponse => encrypted("EncryptedAssertion", assertion, &GCM),
        };
        let response = edit_response(response(&assertion));
        match self {
            Self::SignedAssertion | Self::EncryptedSignedAssertion => response,
            _ => sign(&response),
        }
    }
}

/// Checks a response as the hub would, after a change of what it expects.
pub(crate) fn check_with(
    response: &str,
    change: impl FnOnce(&mut ExpectedResponse<'_>),
) -> Result<Assertion, ResponseError> {
    check_by_keys(response, &[KEYS.provider.verification_key()], change)
}

/// Checks a response by other keys of the identity provider.
pub(crate) fn check_by_keys(
    response: &str,
    verification_keys: &[VerificationKey],
    change: impl FnOnce(&mut ExpectedResponse<'_>),
) -> Result<Assertion, ResponseError> {
    let decryption_keys = [XmlDecryptionKey::new(KEYS.hub.clone()).unwrap()];
    check_encrypted(response, verification_keys, &decryption_keys, change)
}

/// Checks a response by other keys of both parties.
pub(crate) fn check_encrypted(
    response: &str,
    verification_keys: &[VerificationKey],
    decryption_keys: &[XmlDecryptionKey],
    change: impl FnOnce(&mut ExpectedResponse<'_>),
) -> Result<Assertion, ResponseError> {
    let scopes = ["idp.example".to_owned()];
    let mut expected = ExpectedResponse {
        identity_provider: "https://idp.example/saml",
        service_provider: "https://hub.example/saml",
        consumer_url: "https://hub.example/saml/acs",
        request_id: "_r1",
        requested_at: time(REQUESTED),
        force_authn: true,
        verification_keys,
        decryption_keys,
        allow_cbc: false,
        scopes: &scopes,
    };
    change(&mut expected);
    check_response(response.as_bytes(), &expected, time(NOW))
}

/// Checks a response as the hub would.
pub(crate) fn check(response: &str) -> Result<Assertion, ResponseError> {
    check_with(response, |_| {})
}
