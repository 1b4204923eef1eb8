//! Single Logout (SAML V2.0 Core §3.7; Profiles §4.4) by redirects.
//!
//! A logout of the hub finishes whatever the identity provider answers, so that an answer only says
//! what to write into the log.

use std::fmt::Write as _;
use std::time::Duration;

use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::env::Timestamp;

use crate::response::{NameId, ResponseError};
use crate::time::{format_time, parse_time};
use crate::xml::{
    ContentDecryption, Element, Verified, VerifiedXml, XmlDecryptionError, XmlError,
    escape_attribute,
};
use crate::{SAML, SAMLP};

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
const RESPONDER: &str = "urn:oasis:names:tc:SAML:2.0:status:Responder";
/// Age of a request or response that is accepted: one that was recorded must not end later sessions.
pub const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// Error returned for a logout message that is not for the hub now.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LogoutMessageError {
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error("it is no LogoutRequest or LogoutResponse of SAML 2.0 with an ID")]
    NotALogoutMessage,
    #[error("its Issuer is another entity")]
    Issuer,
    #[error("its Destination is another address, or missing")]
    Destination,
    #[error("its IssueInstant is missing, in the future or too old")]
    IssueInstant,
    #[error("it has expired")]
    NotOnOrAfter,
    #[error("it does not name exactly one user, by a NameID or an EncryptedID")]
    NameId,
    #[error("its EncryptedID is refused: {0}")]
    Decryption(XmlDecryptionError),
}

/// Both parties of a logout message that arrives.
#[derive(Clone, Copy, Debug)]
pub struct LogoutParties<'a> {
    /// Entity ID of the party that sends it.
    pub sender: &'a str,
    /// Address at which the message arrived.
    pub logout_url: &'a str,
}

/// A message of the hub.
#[derive(Clone, Copy, Debug)]
pub struct LogoutMessage<'a> {
    pub id: &'a str,
    pub issued_at: Timestamp,
    /// Address of the identity provider.
    pub destination: &'a str,
    /// Entity ID of the hub.
    pub issuer: &'a str,
}

impl LogoutMessage<'_> {
    /// Returns a request to end the session of a user.
    pub fn to_request(&self, name_id: &NameId, session_index: Option<&str>) -> String {
        let mut xml = self.start("LogoutRequest", "");
        xml.push_str("<saml:NameID");
        let attributes = [
            ("Format", &name_id.format),
            ("NameQualifier", &name_id.name_qualifier),
            ("SPNameQualifier", &name_id.sp_name_qualifier),
        ];
        for (name, value) in attributes {
            if let Some(value) = value {
                let _ = write!(xml, " {name}=\"{}\"", escape_attribute(value));
            }
        }
        let _ = write!(xml, ">{}</saml:NameID>", escape_attribute(&name_id.value));
        if let Some(index) = session_index {
            let index = escape_attribute(index);
            let _ = write!(xml, "<samlp:SessionIndex>{index}</samlp:SessionIndex>");
        }
        xml.push_str("</samlp:LogoutRequest>");
        xml
    }

    /// Returns the answer to a request: whether the hub has ended its sessions.
    pub fn to_response(&self, in_response_to: &str, has_ended: bool) -> String {
        let status = if has_ended { SUCCESS } else { RESPONDER };
        let attribute = format!(" InResponseTo=\"{}\"", escape_attribute(in_response_to));
        let start = self.start("LogoutResponse", &attribute);
        format!(
            "{start}<samlp:Status><samlp:StatusCode Value=\"{status}\"/></samlp:Status>\
             </samlp:LogoutResponse>"
        )
    }

    fn start(&self, name: &str, attribute: &str) -> String {
        format!(
            "<samlp:{name} xmlns:samlp=\"{SAMLP}\" xmlns:saml=\"{SAML}\" ID=\"{}\" \
             Version=\"2.0\" IssueInstant=\"{}\" Destination=\"{}\"{attribute}>\
             <saml:Issuer>{}</saml:Issuer>",
            escape_attribute(self.id),
            format_time(self.issued_at),
            escape_attribute(self.destination),
            escape_attribute(self.issuer),
        )
    }
}

/// A request of the identity provider to end a user's sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SamlLogoutRequest {
    /// What the answer names.
    pub id: String,
    pub issued_at: Timestamp,
    pub name_id: NameId,
    /// The sessions to end; empty for all of the user.
    pub session_indexes: Vec<String>,
}

impl SamlLogoutRequest {
    /// Reads a verified request. The signature over it covers an `EncryptedID` as ciphertext.
    ///
    /// # Errors
    /// Any [`LogoutMessageError`].
    pub fn read(
        message: &VerifiedXml,
        parties: &LogoutParties<'_>,
        decryption: ContentDecryption<'_>,
        now: Timestamp,
    ) -> Result<Self, LogoutMessageError> {
        use LogoutMessageError as E;
        let document = message.parse()?;
        let root = document.root();
        let (id, issued_at) = check_message(root, "LogoutRequest", parties, now)?;
        if let Some(end) = root.attribute("NotOnOrAfter") {
            let end = parse_time(end).ok_or(E::NotOnOrAfter)?;
            if end + CLOCK_SKEW_TOLERANCE <= now {
                return Err(E::NotOnOrAfter);
            }
        }
        let identifiers = (root.child(SAML, "NameID")?, root.child(SAML, "EncryptedID")?);
        let ((Some(identifier), None) | (None, Some(identifier))) = identifiers else {
            return Err(E::NameId);
        };
        let name_id = NameId::read(identifier, decryption).map_err(|error| match error {
            ResponseError::Decryption(error) => E::Decryption(error),
            _ => E::NameId,
        })?;
        let indexes = root.children_named(SAMLP, "SessionIndex").map(Element::text);
        Ok(Self {
            id: id.to_owned(),
            issued_at,
            name_id,
            session_indexes: indexes
                .map(|index| index.map(str::to_owned))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Returns whether the identity provider's verified response to the hub says that every session
/// was ended: not for `PartialLogout` and errors.
///
/// # Errors
/// Any [`LogoutMessageError`] but `NotOnOrAfter`, `NameId` and `Decryption`.
pub fn read_logout_response(
    message: &VerifiedXml,
    parties: &LogoutParties<'_>,
    now: Timestamp,
) -> Result<bool, LogoutMessageError> {
    let document = message.parse()?;
    let root = document.root();
    check_message(root, "LogoutResponse", parties, now)?;
    let status = root.child(SAMLP, "Status")?;
    let code = status.map(|status| status.child(SAMLP, "StatusCode")).transpose()?.flatten();
    let is_partial = code.is_some_and(|code| code.children().next().is_some());
    let is_success = code.is_some_and(|code| code.attribute("Value") == Some(SUCCESS));
    Ok(is_success && !is_partial)
}

/// Checks what both messages have, and returns the ID and the time of issue.
fn check_message<'a>(
    root: Element<'a, Verified>,
    name: &str,
    parties: &LogoutParties<'_>,
    now: Timestamp,
) -> Result<(&'a str, Timestamp), LogoutMessageError> {
    use LogoutMessageError as E;
    let id = root.attribute("ID").filter(|id| !id.is_empty());
    let is_message = root.is(SAMLP, name) && root.attribute("Version") == Some("2.0");
    let id = id.filter(|_| is_message).ok_or(E::NotALogoutMessage)?;
    let issuer = root.child(SAML, "Issuer")?.ok_or(E::Issuer)?;
    if issuer.text()? != parties.sender {
        return Err(E::Issuer);
    }
    if root.attribute("Destination") != Some(parties.logout_url) {
        return Err(E::Destination);
    }
    let issued = root.attribute("IssueInstant").and_then(parse_time).ok_or(E::IssueInstant)?;
    if issued > now + CLOCK_SKEW_TOLERANCE || issued + MAX_AGE < now {
        return Err(E::IssueInstant);
    }
    Ok((id, issued))
}
