//! An identity provider that answers the requests of a hub as a test wants.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use openssl::x509::X509;
use passerelle_protocol::env::Timestamp;
use url::Url;

use super::KeyPair;
use crate::identity_provider::{AssertedUser, PublishedIdentityProvider};
pub use crate::identity_provider::{FormFields, ReceivedRequest};
use crate::logout::LogoutMessage;
use crate::redirect::{ReceivedMessage, RedirectMessage};
use crate::response::NameId;
use crate::service_provider_keys::CertifiedKey;
use crate::xml::{Limits, SignatureAlgorithm, VerificationKey, XmlText};
use crate::{HTTP_POST, HTTP_REDIRECT, SAML};

pub const ENTITY_ID: &str = "https://idp.example/saml";
pub const SINGLE_SIGN_ON: &str = "https://idp.example/sso";
pub const SINGLE_LOGOUT: &str = "https://idp.example/slo";
pub const PASSWORD: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
pub const MFA: &str = "https://refeds.org/profile/mfa";

/// The identity provider.
pub struct FakeIdentityProvider {
    pub key: KeyPair,
}

impl FakeIdentityProvider {
    /// Generates its key.
    pub fn new() -> Self {
        Self { key: KeyPair::rsa(2048) }
    }

    /// Returns its metadata. `attributes` are further ones of `IDPSSODescriptor`.
    pub fn metadata(&self, attributes: &str) -> String {
        let published = PublishedIdentityProvider {
            entity_id: ENTITY_ID,
            certificate: &self.key.certificate(),
            single_sign_on: &[
                (HTTP_REDIRECT, SINGLE_SIGN_ON),
                (HTTP_POST, &format!("{SINGLE_SIGN_ON}/post")),
            ],
            single_logout: SINGLE_LOGOUT,
            attributes,
        };
        published.to_xml()
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
        request.response(ENTITY_ID, Ok(assertion), now)
    }

    /// Returns a response that states an error.
    pub fn refuse(&self, request: &ReceivedRequest, now: Timestamp, status: &str) -> FormFields {
        request.response(ENTITY_ID, Err(status), now)
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
        let location = Url::parse(location).unwrap();
        let KeyPair { private, algorithm } = &self.key;
        let message =
            RedirectMessage::new(&location, name, xml, Some(relay_state), Some(*algorithm));
        let signature = algorithm.sign(private, message.signing_input()).unwrap();
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
        Self::read(str::from_utf8(&xml).unwrap(), parameter("RelayState").unwrap()).unwrap()
    }

    /// Reads a request in a form. With the certificate of the hub, its signature must be right.
    pub fn from_form(saml_request: &str, relay_state: &str, hub: Option<&X509>) -> Self {
        let xml = STANDARD.decode(saml_request).unwrap();
        if let Some(hub) = hub {
            let text = XmlText::read(&xml, Limits::RESPONSE).unwrap();
            text.parse().unwrap().root().verify_signature(&[hub_key(hub)]).unwrap();
        }
        Self::read(str::from_utf8(&xml).unwrap(), relay_state.to_owned()).unwrap()
    }
}

/// Returns the key of the hub's certificate.
pub fn hub_key(certificate: &X509) -> VerificationKey {
    VerificationKey::from_certificate(&certificate.to_der().unwrap()).unwrap()
}

/// Returns a new key of the hub with its certificate, as the file of `private_keys` has them, and the
/// certificate.
pub fn hub_key_pem() -> (String, X509) {
    let key =
        CertifiedKey::generate("hub.example", Timestamp::from_seconds(1_000_000_000)).unwrap();
    (key.to_pem().unwrap(), key.certificate)
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
    let session_index = format!("_s{}", request.id);
    let user = AssertedUser {
        name_id: "angela-7",
        session_index: &session_index,
        class,
        attributes: &attributes,
    };
    let xml = request.assertion(ENTITY_ID, &user, now);
    edits.iter().fold(xml, |xml, (from, to)| {
        assert!(xml.contains(from), "{from} is not in {xml}");
        xml.replacen(from, to, 1)
    })
}
