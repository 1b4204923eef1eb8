//! An identity provider that answers the requests of a hub as a test wants.

use std::io::Read as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use openssl::x509::X509;
use passerelle_protocol::env::Timestamp;
use url::Url;

use super::KeyPair;
use crate::logout::LogoutMessage;
use crate::redirect::{ReceivedMessage, RedirectMessage};
use crate::response::NameId;
use crate::time::format_time;
use crate::xml::{Element, Limits, SignatureAlgorithm, Untrusted, VerificationKey, XmlText};
use crate::{SAML, SAMLP};

pub const ENTITY_ID: &str = "https://idp.example/saml";
pub const SINGLE_SIGN_ON: &str = "https://idp.example/sso";
pub const SINGLE_LOGOUT: &str = "https://idp.example/slo";
pub const PASSWORD: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
pub const MFA: &str = "https://refeds.org/profile/mfa";

/// The identity provider.
pub struct FakeIdentityProvider {
    pub key: KeyPair,
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

/// Fields of the form that the browser posts to the hub.
pub type FormFields = [(&'static str, String); 2];

impl FakeIdentityProvider {
    /// Generates its key.
    pub fn new() -> Self {
        Self { key: KeyPair::rsa(2048) }
    }

    /// Returns its metadata. `attributes` are further ones of `IDPSSODescriptor`.
    pub fn metadata(&self, attributes: &str) -> String {
        format!(
            concat!(
                r#"<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{entity}">"#,
                r#"<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" {attributes}>"#,
                r#"<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>"#,
                r#"<ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"#,
                r#"<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{slo}"/>"#,
                r#"<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{sso}"/>"#,
                r#"<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="{sso}/post"/>"#,
                r#"</md:IDPSSODescriptor></md:EntityDescriptor>"#
            ),
            entity = ENTITY_ID,
            sso = SINGLE_SIGN_ON,
            slo = SINGLE_LOGOUT,
            attributes = attributes,
            certificate = STANDARD.encode(self.key.certificate()),
        )
    }

    /// Returns a signed assertion about Angela in a response, after text replacements, of which each
    /// must occur.
    pub fn respond(
        &self,
        request: &ReceivedRequest,
        class: &str,
        now: Timestamp,
        edits: &[(&str, &str)],
    ) -> FormFields {
        self.respond_with(request, now, &self.key.sign(&assertion(request, class, now, edits)))
    }

    /// Returns a response with this assertion.
    pub fn respond_with(
        &self,
        request: &ReceivedRequest,
        now: Timestamp,
        assertion: &str,
    ) -> FormFields {
        let success = r#"<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>"#;
        form_fields(request, &response(request, now, success, assertion))
    }

    /// Returns a response that states an error.
    pub fn refuse(&self, request: &ReceivedRequest, now: Timestamp, status: &str) -> FormFields {
        let code = format!(
            r#"<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:{status}"/></samlp:StatusCode>"#
        );
        form_fields(request, &response(request, now, &code, ""))
    }

    /// Returns the query of a signed request to end the session of a login, or without one all
    /// sessions of Angela.
    pub fn request_logout(
        &self,
        login: Option<&ReceivedRequest>,
        logout_url: &str,
        now: Timestamp,
    ) -> String {
        let name_id = NameId {
            value: "angela-7".to_owned(),
            format: None,
            name_qualifier: None,
            sp_name_qualifier: None,
        };
        let index = login.map(|login| format!("_s{}", login.id));
        let xml = logout_message("_logout", logout_url, now).to_request(&name_id, index.as_deref());
        self.sign_redirect(logout_url, "SAMLRequest", &xml, "the provider's state")
    }

    /// Reads the hub's logout request in an address, and returns the query of the signed answer.
    pub fn answer_logout(
        &self,
        url: &str,
        hub: &VerificationKey,
        logout_url: &str,
        now: Timestamp,
        has_ended: bool,
    ) -> String {
        let url = Url::parse(url).unwrap();
        let received =
            ReceivedMessage::verify(url.query().unwrap(), std::slice::from_ref(hub)).unwrap();
        let document = received.message.parse().unwrap();
        let name_id = document.root().child(SAML, "NameID").unwrap().unwrap();
        assert_eq!(name_id.text().unwrap(), "angela-7");
        let id = document.root().attribute("ID").unwrap();
        let xml = logout_message("_answer", logout_url, now).to_response(id, has_ended);
        self.sign_redirect(logout_url, "SAMLResponse", &xml, &received.relay_state.unwrap())
    }

    fn sign_redirect(&self, location: &str, name: &str, xml: &str, relay_state: &str) -> String {
        let (location, algorithm) = (Url::parse(location).unwrap(), self.key.algorithm);
        let message =
            RedirectMessage::new(&location, name, xml, Some(relay_state), Some(algorithm));
        let signature = algorithm.sign(&self.key.private, message.signing_input()).unwrap();
        message.with_signature(&signature).query().unwrap().to_owned()
    }
}

fn logout_message<'a>(id: &'a str, logout_url: &'a str, now: Timestamp) -> LogoutMessage<'a> {
    LogoutMessage { id, issued_at: now, destination: logout_url, issuer: ENTITY_ID }
}

impl Default for FakeIdentityProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceivedRequest {
    /// Reads a request in an address. With the certificate of the hub, its signature must be right.
    pub fn from_redirect(url: &str, hub: Option<&X509>) -> Self {
        let url = Url::parse(url).unwrap();
        let parameter = |wanted: &str| {
            url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        if let Some(hub) = hub {
            let (signed, _) = url.query().unwrap().split_once("&Signature=").unwrap();
            let algorithm = SignatureAlgorithm::from_uri(&parameter("SigAlg").unwrap()).unwrap();
            let signature = STANDARD.decode(parameter("Signature").unwrap()).unwrap();
            assert!(hub_key(hub).verifies(algorithm, signed.as_bytes(), &signature));
        }
        let deflated = STANDARD.decode(parameter("SAMLRequest").unwrap()).unwrap();
        let mut xml = Vec::new();
        DeflateDecoder::new(&deflated[..]).read_to_end(&mut xml).unwrap();
        Self::read(&xml, parameter("RelayState").unwrap())
    }

    /// Reads a request in a form. With the certificate of the hub, its signature must be right.
    pub fn from_form(saml_request: &str, relay_state: &str, hub: Option<&X509>) -> Self {
        let xml = STANDARD.decode(saml_request).unwrap();
        if let Some(hub) = hub {
            let text = XmlText::read(&xml, Limits::RESPONSE).unwrap();
            text.parse().unwrap().root().verify_signature(&[hub_key(hub)]).unwrap();
        }
        Self::read(&xml, relay_state.to_owned())
    }

    fn read(xml: &[u8], relay_state: String) -> Self {
        let text = XmlText::read(xml, Limits::RESPONSE).unwrap();
        let document = text.parse().unwrap();
        let root = document.root();
        assert!(root.is(SAMLP, "AuthnRequest"));
        let attribute = |name: &str| root.attribute(name).unwrap().to_owned();
        let text_of = |element: Element<'_, Untrusted>| element.text().unwrap().to_owned();
        Self {
            id: attribute("ID"),
            issuer: text_of(root.child(SAML, "Issuer").unwrap().unwrap()),
            consumer_url: attribute("AssertionConsumerServiceURL"),
            relay_state,
            force_authn: root.attribute("ForceAuthn") == Some("true"),
            contexts: root.descendants_named(SAML, "AuthnContextClassRef").map(text_of).collect(),
            xml: text.as_str().to_owned(),
        }
    }
}

/// Returns the key of the hub's certificate.
pub fn hub_key(certificate: &X509) -> VerificationKey {
    VerificationKey::from_certificate(&certificate.to_der().unwrap()).unwrap()
}

/// Returns a new key of the hub with its certificate, as the file of `private_keys` has them, and the
/// certificate.
pub fn hub_key_pem() -> (String, X509) {
    let pair = KeyPair::rsa(2048);
    let certificate = X509::from_der(&pair.certificate()).unwrap();
    let pem = [pair.private.private_key_to_pem_pkcs8().unwrap(), certificate.to_pem().unwrap()];
    (String::from_utf8(pem.concat()).unwrap(), certificate)
}

/// Returns an unsigned assertion about Angela, after text replacements, of which each must occur.
pub fn assertion(
    request: &ReceivedRequest,
    class: &str,
    now: Timestamp,
    edits: &[(&str, &str)],
) -> String {
    let attributes = [
        ("urn:oid:2.5.4.42", "Angela Claire Louise"),
        ("urn:oid:2.5.4.4", "DUBOIS"),
        ("urn:oid:0.9.2342.19200300.100.1.3", "angela@idp.example"),
        ("birthdate", "19620824"),
        ("gender", "female"),
        ("birthplace", "75107"),
        ("birthcountry", "99100"),
    ];
    let attributes = attributes.map(|(name, value)| {
        format!(
            r#"<saml:Attribute Name="{name}"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>"#
        )
    });
    let xml = format!(
        concat!(
            r#"<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a{id}" Version="2.0" IssueInstant="{now}">"#,
            r#"<saml:Issuer>{issuer}</saml:Issuer>"#,
            r#"<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">angela-7</saml:NameID>"#,
            r#"<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">"#,
            r#"<saml:SubjectConfirmationData InResponseTo="{id}" NotOnOrAfter="{end}" Recipient="{recipient}"/>"#,
            r#"</saml:SubjectConfirmation></saml:Subject>"#,
            r#"<saml:Conditions NotBefore="{now}" NotOnOrAfter="{end}">"#,
            r#"<saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>"#,
            r#"<saml:AuthnStatement AuthnInstant="{now}" SessionIndex="_s{id}">"#,
            r#"<saml:AuthnContext><saml:AuthnContextClassRef>{class}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>"#,
            r#"<saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"#
        ),
        id = request.id,
        now = format_time(now),
        end = format_time(now + Duration::from_secs(300)),
        issuer = ENTITY_ID,
        recipient = request.consumer_url,
        audience = request.issuer,
        class = class,
        attributes = attributes.concat(),
    );
    edits.iter().fold(xml, |xml, (from, to)| {
        assert!(xml.contains(from), "{from} is not in {xml}");
        xml.replacen(from, to, 1)
    })
}

fn response(request: &ReceivedRequest, now: Timestamp, status: &str, assertion: &str) -> String {
    format!(
        concat!(
            r#"<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_p{id}" Version="2.0" IssueInstant="{now}" Destination="{destination}" InResponseTo="{id}">"#,
            r#"<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">{issuer}</saml:Issuer>"#,
            r#"<samlp:Status>{status}</samlp:Status>{assertion}</samlp:Response>"#
        ),
        id = request.id,
        now = format_time(now),
        destination = request.consumer_url,
        issuer = ENTITY_ID,
        status = status,
        assertion = assertion,
    )
}

fn form_fields(request: &ReceivedRequest, xml: &str) -> FormFields {
    [("SAMLResponse", STANDARD.encode(xml)), ("RelayState", request.relay_state.clone())]
}
