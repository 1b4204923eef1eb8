//! What an identity provider writes: its metadata, assertions and responses (SAML V2.0 Profiles §4.1).
//!
//! No login at a hub uses it. It is the other party, in the demo and in tests.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{PKey, Private};
use passerelle_protocol::env::Timestamp;

use crate::response::PERSISTENT;
use crate::signed_document::{UnsignedDocument, XmlSigningError};
use crate::sp_metadata::write_key;
use crate::time::format_time;
use crate::xml::{Element, Limits, SignatureAlgorithm, Untrusted, XmlText, escape_attribute};
use crate::{HTTP_REDIRECT, MD, SAML, SAMLP};

/// How long an assertion may be used.
const ASSERTION_LIFETIME: Duration = Duration::from_secs(300);

/// What an identity provider publishes about itself.
#[derive(Clone, Copy, Debug)]
pub struct PublishedIdentityProvider<'a> {
    pub entity_id: &'a str,
    /// Certificate of its key (DER).
    pub certificate: &'a [u8],
    /// Binding and address of each service for requests.
    pub single_sign_on: &'a [(&'a str, &'a str)],
    /// Address for logout messages by redirect.
    pub single_logout: &'a str,
    /// Further attributes of `IDPSSODescriptor`, as XML.
    pub attributes: &'a str,
}

impl PublishedIdentityProvider<'_> {
    /// Returns the metadata.
    pub fn to_xml(&self) -> String {
        let mut xml = format!(
            "<md:EntityDescriptor xmlns:md=\"{MD}\" entityID=\"{}\"><md:IDPSSODescriptor \
             protocolSupportEnumeration=\"{SAMLP}\" {}>",
            escape_attribute(self.entity_id),
            self.attributes,
        );
        write_key(&mut xml, "signing", &STANDARD.encode(self.certificate));
        let mut write_service = |name: &str, binding: &str, location: &str| {
            let location = escape_attribute(location);
            let _ = write!(xml, "<md:{name} Binding=\"{binding}\" Location=\"{location}\"/>");
        };
        write_service("SingleLogoutService", HTTP_REDIRECT, self.single_logout);
        for (binding, location) in self.single_sign_on {
            write_service("SingleSignOnService", binding, location);
        }
        xml.push_str("</md:IDPSSODescriptor></md:EntityDescriptor>");
        xml
    }
}

/// A request as the identity provider reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedRequest {
    pub id: String,
    pub issuer: String,
    pub consumer_url: String,
    pub relay_state: String,
    pub force_authn: bool,
    /// Requested classes.
    pub contexts: Vec<String>,
    pub xml: String,
}

/// What an assertion says about a user.
#[derive(Clone, Copy, Debug)]
pub struct AssertedUser<'a> {
    /// Persistent NameID.
    pub name_id: &'a str,
    pub session_index: &'a str,
    /// Class of the authentication, which was now.
    pub class: &'a str,
    /// `Name` and value of each attribute.
    pub attributes: &'a [(&'a str, &'a str)],
}

/// Fields of the form that the browser posts to the hub.
pub type FormFields = [(&'static str, String); 2];

impl ReceivedRequest {
    /// Reads a request; `None` if it is no `AuthnRequest` with an address for the response.
    pub fn read(xml: &str, relay_state: String) -> Option<Self> {
        let text = XmlText::read(xml.as_bytes(), Limits::RESPONSE).ok()?;
        let document = text.parse().ok()?;
        let root = Some(document.root()).filter(|root| root.is(SAMLP, "AuthnRequest"))?;
        let attribute = |name: &str| root.attribute(name).map(str::to_owned);
        let text_of = |element: Element<'_, Untrusted>| element.text().ok().map(str::to_owned);
        let contexts = root.descendants_named(SAML, "AuthnContextClassRef").map(text_of);
        Some(Self {
            id: attribute("ID")?,
            issuer: root.child(SAML, "Issuer").ok()?.and_then(text_of)?,
            consumer_url: attribute("AssertionConsumerServiceURL")?,
            relay_state,
            force_authn: root.attribute("ForceAuthn") == Some("true"),
            contexts: contexts.collect::<Option<_>>()?,
            xml: text.as_str().to_owned(),
        })
    }

    /// Returns an unsigned assertion for this request. `issuer` is the identity provider.
    pub fn assertion(&self, issuer: &str, user: &AssertedUser<'_>, now: Timestamp) -> String {
        let mut attributes = String::new();
        for (name, value) in user.attributes {
            let (name, value) = (escape_attribute(name), escape_attribute(value));
            let _ = write!(
                attributes,
                "<saml:Attribute Name=\"{name}\"><saml:AttributeValue>{value}\
                 </saml:AttributeValue></saml:Attribute>"
            );
        }
        format!(
            concat!(
                r#"<saml:Assertion xmlns:saml="{SAML}" ID="_a{id}" Version="2.0" IssueInstant="{now}">"#,
                r#"<saml:Issuer>{issuer}</saml:Issuer>"#,
                r#"<saml:Subject><saml:NameID Format="{PERSISTENT}">{name_id}</saml:NameID>"#,
                r#"<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">"#,
                r#"<saml:SubjectConfirmationData InResponseTo="{id}" NotOnOrAfter="{end}" Recipient="{recipient}"/>"#,
                r#"</saml:SubjectConfirmation></saml:Subject>"#,
                r#"<saml:Conditions NotBefore="{now}" NotOnOrAfter="{end}">"#,
                r#"<saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>"#,
                r#"<saml:AuthnStatement AuthnInstant="{now}" SessionIndex="{session_index}">"#,
                r#"<saml:AuthnContext><saml:AuthnContextClassRef>{class}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>"#,
                r#"<saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"#
            ),
            SAML = SAML,
            PERSISTENT = PERSISTENT,
            id = escape_attribute(&self.id),
            now = format_time(now),
            end = format_time(now + ASSERTION_LIFETIME),
            issuer = escape_attribute(issuer),
            name_id = escape_attribute(user.name_id),
            recipient = escape_attribute(&self.consumer_url),
            audience = escape_attribute(&self.issuer),
            session_index = escape_attribute(user.session_index),
            class = escape_attribute(user.class),
            attributes = attributes,
        )
    }

    /// Returns the form with an unsigned response: an assertion, or the second status code of an
    /// error, such as `AuthnFailed`.
    pub fn response(
        &self,
        issuer: &str,
        content: Result<&str, &str>,
        now: Timestamp,
    ) -> FormFields {
        const STATUS: &str = "urn:oasis:names:tc:SAML:2.0:status";
        let (top, second) = match content {
            Ok(_) => ("Success", String::new()),
            Err(code) => ("Responder", format!("<samlp:StatusCode Value=\"{STATUS}:{code}\"/>")),
        };
        let xml = format!(
            concat!(
                r#"<samlp:Response xmlns:samlp="{SAMLP}" ID="_p{id}" Version="2.0" IssueInstant="{now}" Destination="{destination}" InResponseTo="{id}">"#,
                r#"<saml:Issuer xmlns:saml="{SAML}">{issuer}</saml:Issuer>"#,
                r#"<samlp:Status><samlp:StatusCode Value="{STATUS}:{top}">{second}</samlp:StatusCode></samlp:Status>{assertion}</samlp:Response>"#
            ),
            SAMLP = SAMLP,
            SAML = SAML,
            STATUS = STATUS,
            id = escape_attribute(&self.id),
            now = format_time(now),
            destination = escape_attribute(&self.consumer_url),
            issuer = escape_attribute(issuer),
            top = top,
            second = second,
            assertion = content.unwrap_or_default(),
        );
        [("SAMLResponse", STANDARD.encode(xml)), ("RelayState", self.relay_state.clone())]
    }
}

/// Signs the outermost element of a document.
///
/// # Errors
/// Any [`XmlSigningError`].
pub fn sign_document(
    xml: &str,
    key: &PKey<Private>,
    algorithm: SignatureAlgorithm,
) -> Result<String, XmlSigningError> {
    let unsigned = UnsignedDocument::new(xml, algorithm)?;
    let signature = algorithm.sign(key, unsigned.signing_input());
    Ok(unsigned.with_signature(&signature.map_err(|_| XmlSigningError::Signature)?))
}
