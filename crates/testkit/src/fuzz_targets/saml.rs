//! XML, responses, metadata and logout messages of SAML identity providers.

use std::str;
use std::time::Duration;

use josekit::jwk::alg::rsa::RsaKeyPair;
use josekit::jwk::{Jwk, KeyPair as _};
use josekit::jws::{JwsSigner, RS256};
use openssl::pkey::PKey;
use openssl::x509::X509;
use passerelle_saml::logout::{LogoutParties, SamlLogoutRequest, read_logout_response};
use passerelle_saml::metadata::{find_identity_provider, verify_metadata};
use passerelle_saml::redirect::{ReceivedMessage, RedirectMessage};
use passerelle_saml::response::{Assertion, ExpectedResponse, check_response};
use passerelle_saml::signed_document::UnsignedDocument;
use passerelle_saml::xml::{
    ContentDecryption, Limits, SignatureAlgorithm, VerificationKey, VerifiedXml, XmlDecryptionKey,
    XmlText,
};
use url::Url;

use super::sample_keys::NOW;
use super::{FuzzFunction, FuzzTarget, split_line, target};

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "saml_xml",
        &[
            "crates/saml/src/xml/scan.rs",
            "crates/saml/src/xml/document.rs",
            "crates/saml/src/xml/canonical.rs",
        ],
        saml_xml,
    ),
    target(
        "saml_response",
        &[
            "crates/saml/src/response.rs",
            "crates/saml/src/response/",
            "crates/saml/src/xml/signature.rs",
            "crates/saml/src/xml/encryption.rs",
        ],
        saml_response,
    ),
    target("saml_metadata", &["crates/saml/src/metadata.rs"], saml_metadata),
    target(
        "saml_redirect",
        &["crates/saml/src/redirect.rs", "crates/saml/src/logout.rs"],
        saml_redirect,
    ),
];

const IDENTITY_PROVIDER: &str = "https://idp.example/saml";
const SERVICE_PROVIDER: &str = "https://hub.example/saml";
const CONSUMER_URL: &str = "https://hub.example/saml/acs";
const LOGOUT_URL: &str = "https://hub.example/saml/logout";
const SIGNATURE_ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RSA_SHA256;
/// `validUntil` may be so far away.
const MAX_VALIDITY: Duration = Duration::from_secs(30 * 86_400);
const RESPONSE_START: &str = concat!(
    r#"<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_p1" Version="2.0" "#,
    r#"IssueInstant="2027-01-15T08:00:00Z" InResponseTo="_r1"><samlp:Status>"#,
    r#"<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>"#,
);

/// The RSA key of the seeds, as the key of the identity provider and of the hub.
struct SamlKey {
    signer: Box<dyn JwsSigner>,
    verification: [VerificationKey; 1],
    decryption: [XmlDecryptionKey; 1],
}

impl SamlKey {
    fn new() -> Self {
        let jwk = Jwk::from_bytes(include_bytes!("../../../../fuzz/keys/rsa.json")).unwrap();
        let certificate = X509::from_pem(include_bytes!("../../../../fuzz/keys/rsa.crt")).unwrap();
        let signer = RS256.signer_from_jwk(&jwk).unwrap();
        let private =
            PKey::private_key_from_der(&RsaKeyPair::from_jwk(&jwk).unwrap().to_der_private_key())
                .unwrap();
        Self {
            signer: Box::new(signer),
            verification: [
                VerificationKey::from_certificate(&certificate.to_der().unwrap()).unwrap()
            ],
            decryption: [XmlDecryptionKey::new(private).unwrap()],
        }
    }

    /// Signs the outermost element; `None` if it can't be signed.
    fn sign(&self, xml: &str) -> Option<String> {
        let unsigned = UnsignedDocument::new(xml, SIGNATURE_ALGORITHM).ok()?;
        let signature = self.signer.sign(unsigned.signing_input()).unwrap();
        Some(unsigned.with_signature(&signature))
    }

    /// Returns the bytes that a signature of the outermost element covers.
    fn verified_bytes(&self, xml: &str) -> Option<String> {
        let text = XmlText::read(xml.as_bytes(), Limits::RESPONSE).ok()?;
        let document = text.parse().ok()?;
        let verified = document.root().verify_signature(&self.verification).ok()?;
        Some(verified.as_str().to_owned())
    }

    fn check(&self, response: &str) -> Option<Assertion> {
        let expected = ExpectedResponse {
            identity_provider: IDENTITY_PROVIDER,
            service_provider: SERVICE_PROVIDER,
            consumer_url: CONSUMER_URL,
            request_id: "_r1",
            requested_at: NOW,
            force_authn: false,
            verification_keys: &self.verification,
            decryption_keys: &self.decryption,
            allow_cbc: true,
            scopes: &["idp.example".to_owned()],
        };
        check_response(response.as_bytes(), &expected, NOW).ok()
    }
}

/// What is signed is read, and has one canonical form: signing the verified bytes gives them again.
fn saml_xml() -> FuzzFunction {
    let key = SamlKey::new();
    Box::new(move |data| {
        let Ok(text) = str::from_utf8(data) else {
            assert!(XmlText::read(data, Limits::RESPONSE).is_err(), "not UTF-8");
            return false;
        };
        let Some(signed) = key.sign(text) else { return false };
        let Some(canonical) = key.verified_bytes(&signed) else { return false };
        let signed_again = key.sign(&canonical).expect("the canonical form can be signed");
        assert_eq!(key.verified_bytes(&signed_again).as_deref(), Some(canonical.as_str()));
        true
    })
}

/// The first line says what is signed: `assertion` that follows, `response` that follows, or
/// nothing of a `whole` response, which then must have a signature of the seeds.
fn saml_response() -> FuzzFunction {
    let key = SamlKey::new();
    Box::new(move |data| {
        let (form, content) = split_line(data);
        let Ok(content) = str::from_utf8(content) else { return false };
        let is_whole = form == b"whole";
        let response = match form {
            b"assertion" => key
                .sign(content)
                .map(|assertion| format!("{RESPONSE_START}{assertion}</samlp:Response>")),
            b"response" => key.sign(content),
            b"whole" => Some(content.to_owned()),
            _ => None,
        };
        let Some(assertion) = response.and_then(|response| key.check(&response)) else {
            return false;
        };
        assert!(!assertion.id.is_empty() && assertion.valid_until > NOW);
        assert!(assertion.authn_instant <= NOW + Duration::from_secs(60));
        if is_whole {
            // The seeds have one assertion with a signature, plain and encrypted.
            let name_id = assertion.name_id.map(|name_id| name_id.value);
            assert_eq!((assertion.id.as_str(), name_id.as_deref()), ("_a1", Some("angela-7")));
        }
        true
    })
}

fn saml_metadata() -> FuzzFunction {
    let key = SamlKey::new();
    Box::new(move |data| {
        assert!(verify_metadata(data, &key.verification).is_err(), "it has no signature");
        let Ok(xml) = VerifiedXml::from_operators_file(data, Limits::METADATA) else {
            return false;
        };
        let found = find_identity_provider(&xml, IDENTITY_PROVIDER, Some(MAX_VALIDITY), NOW);
        let Ok(found) = found else { return false };
        assert!(!found.signing_keys.is_empty() && !found.single_sign_on.is_empty());
        assert!(found.valid_until.is_some_and(|end| end > NOW && end <= NOW + MAX_VALIDITY));
        for endpoint in found.single_sign_on.iter().chain(&found.single_logout) {
            let url = Url::parse(&endpoint.location).unwrap();
            assert!(["https", "http"].contains(&url.scheme()), "{url}");
        }
        true
    })
}

/// A query without a right signature; after a line `sign`, a message that is signed first.
fn saml_redirect() -> FuzzFunction {
    let key = SamlKey::new();
    let location = Url::parse(LOGOUT_URL).unwrap();
    let parties = LogoutParties { sender: IDENTITY_PROVIDER, logout_url: LOGOUT_URL };
    let decryption = ContentDecryption::default();
    Box::new(move |data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let Some(xml) = text.strip_prefix("sign\n") else {
            assert!(
                ReceivedMessage::verify(text, &key.verification).is_err(),
                "it has no signature"
            );
            return false;
        };
        let algorithm = Some(SIGNATURE_ALGORITHM);
        let message = RedirectMessage::new(&location, "SAMLRequest", xml, Some("relay"), algorithm);
        let signature = key.signer.sign(message.signing_input()).unwrap();
        let url = message.with_signature(&signature);
        let received = ReceivedMessage::verify(url.query().unwrap(), &key.verification);
        let Ok(received) = received else { return false };
        let is_request = SamlLogoutRequest::read(&received.message, &parties, decryption, NOW)
            .inspect(|request| assert!(!request.id.is_empty() && !request.name_id.value.is_empty()))
            .is_ok();
        let is_response = read_logout_response(&received.message, &parties, NOW).is_ok();
        assert!(!(is_request && is_response));
        is_request || is_response
    })
}
