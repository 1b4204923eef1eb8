//! Checks a response of the Web Browser SSO profile (SAML V2.0 Profiles §4.1.4).
//!
//! Responsible for everything that makes an assertion acceptable but its first use, which needs a
//! store: the caller must keep [`Assertion::id`] until [`Assertion::valid_until`], and refuse it the
//! second time.

mod assertion;
mod error;

pub use assertion::{Assertion, NameId};
pub use error::{ResponseError, SamlStatus};
use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

use crate::time::parse_time;
use crate::xml::{
    ContentDecryption, DSIG, Element, Limits, Untrusted, VerificationKey, Verified,
    XmlDecryptionKey, XmlText, check_signature_positions, decode_base64,
};
use crate::{ENTITY_FORMAT, SAML, SAMLP};

/// Format of a NameID that identifies the user permanently, to one service provider.
pub const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
/// Longest response in a form, in base64: an encrypted one with a thousand groups is in base64 twice.
pub const MAX_ENCODED_BYTES: usize = 256 << 10;

/// What a response must fit: the request, both parties, and the keys of their metadata.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedResponse<'a> {
    /// Entity ID of the identity provider that was asked.
    pub identity_provider: &'a str,
    /// Entity ID of the hub, the audience.
    pub service_provider: &'a str,
    /// Address of the assertion consumer service that received the response.
    pub consumer_url: &'a str,
    /// `ID` of the request.
    pub request_id: &'a str,
    pub requested_at: Timestamp,
    /// Whether the request had `ForceAuthn`.
    pub force_authn: bool,
    /// Signing keys of the identity provider's metadata.
    pub verification_keys: &'a [VerificationKey],
    pub decryption_keys: &'a [XmlDecryptionKey],
    /// Whether a signed response may have an assertion that AES-CBC encrypts.
    pub allow_cbc: bool,
    /// `shibmd:Scope` of the identity provider's metadata.
    pub scopes: &'a [String],
}

/// Decodes `SAMLResponse` of a form (SAML V2.0 Bindings §3.5.4).
///
/// # Errors
/// `Encoding`.
pub fn decode_response(encoded: &str) -> Result<Vec<u8>, ResponseError> {
    decode_base64(encoded, MAX_ENCODED_BYTES).ok_or(ResponseError::Encoding)
}

/// Returns the text of a response, before it is stored: anyone can send one, so it must be accepted
/// XML with a `Response` as its root.
///
/// # Errors
/// `Xml`, `NotAResponse`.
pub fn response_text(response: &[u8]) -> Result<String, ResponseError> {
    let text = XmlText::read(response, Limits::RESPONSE)?;
    let is_response = text.parse()?.root().is(SAMLP, "Response");
    if is_response { Ok(text.as_str().to_owned()) } else { Err(ResponseError::NotAResponse) }
}

/// What a response says of its request. Anyone may have written it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimedRequest {
    pub request_id: String,
    pub destination: String,
    pub issued_at: Timestamp,
}

impl ClaimedRequest {
    /// Reads the attributes of a response.
    ///
    /// # Errors
    /// `Xml`, `NotAResponse`; `Unsolicited`, `Destination` or `ResponseIssueInstant` if one is
    /// missing.
    pub fn read(response: &[u8]) -> Result<Self, ResponseError> {
        use ResponseError as E;
        let text = XmlText::read(response, Limits::RESPONSE)?;
        let document = text.parse()?;
        let root = document.root();
        if !root.is(SAMLP, "Response") {
            return Err(E::NotAResponse);
        }
        let mut recipients = root.descendants_named(SAML, "SubjectConfirmationData");
        let recipient = recipients.find_map(|data| data.attribute("Recipient"));
        let destination = root.attribute("Destination").or(recipient);
        let issued_at = root.attribute("IssueInstant").and_then(parse_time);
        Ok(Self {
            request_id: root.attribute("InResponseTo").ok_or(E::Unsolicited)?.to_owned(),
            destination: destination.ok_or(E::Destination)?.to_owned(),
            issued_at: issued_at.ok_or(E::ResponseIssueInstant)?,
        })
    }

    /// Returns the hub's base URL, if the destination is an address of this connector.
    pub fn base_url(&self, connector: &ConnectorId) -> &str {
        let path = format!("/connectors/{connector}/saml/acs");
        self.destination.strip_suffix(&path).unwrap_or_default()
    }
}

/// Checks a response, and returns its assertion.
///
/// # Errors
/// The first rule that it breaks. A [`ResponseError::Status`] may be unsigned: it ends the attempt
/// and proves nothing.
pub fn check_response(
    response: &[u8],
    expected: &ExpectedResponse<'_>,
    now: Timestamp,
) -> Result<Assertion, ResponseError> {
    let text = XmlText::read(response, Limits::RESPONSE)?;
    let document = text.parse()?;
    let response = document.root();
    let check = ResponseCheck { expected, now };
    check.form(response)?;
    let content: Vec<_> = response.children().filter(|child| is_assertion(*child)).collect();
    let signed: Vec<_> = std::iter::once(response).chain(content.iter().copied()).collect();
    check_signature_positions(&document, &signed)?;
    if response.is_signed() {
        let verified = response.verify_signature(expected.verification_keys)?;
        let document = verified.parse()?;
        let response = document.root();
        check.form(response)?;
        check.envelope(response, true)?;
        return check.verified_content(only_assertion(response)?);
    }
    check.envelope(response, false)?;
    check.untrusted_content(only_assertion(response)?)
}

/// One response, before and after its signature is verified.
struct ResponseCheck<'a> {
    expected: &'a ExpectedResponse<'a>,
    now: Timestamp,
}

impl ResponseCheck<'_> {
    /// Checks which elements there are.
    fn form<T>(&self, response: Element<'_, T>) -> Result<(), ResponseError> {
        use ResponseError as E;
        if !response.is(SAMLP, "Response") {
            return Err(E::NotAResponse);
        }
        response.check_no_text()?;
        let is_known = |child: Element<'_, T>| {
            let is_protocol = child.is(SAMLP, "Status") || child.is(SAMLP, "Extensions");
            let is_common = child.is(SAML, "Issuer") || child.is(DSIG, "Signature");
            is_protocol || is_common || is_assertion(child)
        };
        if !response.children().all(is_known) {
            return Err(E::UnknownElement);
        }
        let direct = response.children().filter(|child| is_assertion(*child)).count();
        let anywhere = ["Assertion", "EncryptedAssertion"]
            .iter()
            .map(|name| response.descendants_named(SAML, name).count())
            .sum::<usize>();
        // Wrapping attacks need a second assertion. An error response has none.
        if direct > 1 || anywhere > direct { Err(E::AssertionCount) } else { Ok(()) }
    }

    /// Checks the attributes, issuer and status of the response. If it is not signed, this only
    /// refuses: nothing of it is used.
    fn envelope<T>(&self, response: Element<'_, T>, is_signed: bool) -> Result<(), ResponseError> {
        use ResponseError as E;
        let expected = self.expected;
        if response.attribute("Version") != Some("2.0") || response.attribute("ID").is_none() {
            return Err(E::Version);
        }
        match response.attribute("Destination") {
            Some(destination) if destination == expected.consumer_url => {}
            // SAML V2.0 Bindings §3.5.5.2: a signed message names its destination.
            None if !is_signed => {}
            _ => return Err(E::Destination),
        }
        match response.attribute("InResponseTo") {
            Some(id) if id == expected.request_id => {}
            Some(_) => return Err(E::ResponseInResponseTo),
            None => return Err(E::Unsolicited),
        }
        match response.child(SAML, "Issuer")? {
            Some(issuer) => check_issuer(issuer, expected.identity_provider, E::ResponseIssuer)?,
            // SAML V2.0 Profiles §4.1.4.2: a signed response names its issuer.
            None if is_signed => return Err(E::ResponseIssuer),
            None => {}
        }
        let issued = response.attribute("IssueInstant").and_then(parse_time);
        self.issued_after_request(issued, E::ResponseIssueInstant)?;
        let status = response.child(SAMLP, "Status")?.ok_or(E::StatusMissing)?;
        check_status(status)
    }

    fn issued_after_request(
        &self,
        issued: Option<Timestamp>,
        error: ResponseError,
    ) -> Result<Timestamp, ResponseError> {
        let issued = issued.ok_or(error.clone())?;
        let is_late = issued > self.now + CLOCK_SKEW_TOLERANCE;
        let is_early = issued + CLOCK_SKEW_TOLERANCE < self.expected.requested_at;
        if is_late || is_early { Err(error) } else { Ok(issued) }
    }

    /// Reads an assertion that the response's signature covers. A signature of its own must be
    /// right too.
    fn verified_content(&self, content: Element<'_, Verified>) -> Result<Assertion, ResponseError> {
        if content.is(SAML, "Assertion") {
            return self.covered_assertion(content);
        }
        let decrypted = content.decrypt_verified(self.decryption())?;
        let document = decrypted.parse()?;
        check_signature_positions(&document, &[document.root()])?;
        self.covered_assertion(document.root())
    }

    fn covered_assertion(
        &self,
        assertion: Element<'_, Verified>,
    ) -> Result<Assertion, ResponseError> {
        if !assertion.is_signed() {
            return self.assertion(assertion);
        }
        let verified = assertion.verify_signature(self.expected.verification_keys)?;
        self.assertion(verified.parse()?.root())
    }

    /// Reads an assertion that must be signed itself.
    fn untrusted_content(
        &self,
        content: Element<'_, Untrusted>,
    ) -> Result<Assertion, ResponseError> {
        let keys = self.expected.verification_keys;
        if content.is(SAML, "Assertion") {
            return self.assertion(content.verify_signature(keys)?.parse()?.root());
        }
        let decrypted = content.decrypt_untrusted(self.expected.decryption_keys)?;
        let document = decrypted.parse()?;
        check_signature_positions(&document, &[document.root()])?;
        self.assertion(document.root().verify_signature(keys)?.parse()?.root())
    }

    const fn decryption(&self) -> ContentDecryption<'_> {
        let ExpectedResponse { decryption_keys: keys, allow_cbc, .. } = *self.expected;
        ContentDecryption { keys, allow_cbc }
    }
}

fn is_assertion<T>(element: Element<'_, T>) -> bool {
    element.is(SAML, "Assertion") || element.is(SAML, "EncryptedAssertion")
}

fn only_assertion<T>(response: Element<'_, T>) -> Result<Element<'_, T>, ResponseError> {
    response.children().find(|child| is_assertion(*child)).ok_or(ResponseError::AssertionMissing)
}

/// Checks that an issuer is the entity that was asked (SAML V2.0 Profiles §4.1.4.2).
fn check_issuer<T>(
    issuer: Element<'_, T>,
    expected: &str,
    error: ResponseError,
) -> Result<(), ResponseError> {
    let is_entity = issuer.attribute("Format").is_none_or(|format| format == ENTITY_FORMAT);
    if is_entity && issuer.text()?.trim_ascii() == expected { Ok(()) } else { Err(error) }
}

fn check_status<T>(status: Element<'_, T>) -> Result<(), ResponseError> {
    let code = status.child(SAMLP, "StatusCode")?.ok_or(ResponseError::StatusMissing)?;
    let value = code.attribute("Value").ok_or(ResponseError::StatusMissing)?;
    if value == "urn:oasis:names:tc:SAML:2.0:status:Success" {
        return Ok(());
    }
    let second = code.child(SAMLP, "StatusCode")?.and_then(|code| code.attribute("Value"));
    Err(ResponseError::Status(SamlStatus::from_codes(value, second)))
}
