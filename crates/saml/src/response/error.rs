//! Why a response is refused: one variant for each rule.

use crate::xml::{XmlDecryptionError, XmlError, XmlSignatureError};

/// Error returned for a response that is not accepted. No variant contains anything of the
/// response but codes of the standard.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ResponseError {
    #[error("it is not base64, or too large")]
    Encoding,
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error(transparent)]
    Signature(#[from] XmlSignatureError),
    #[error(transparent)]
    Decryption(#[from] XmlDecryptionError),
    #[error("it is no Response of the SAML 2.0 protocol")]
    NotAResponse,
    #[error("it has an element that a response can't have")]
    UnknownElement,
    #[error("it has more than one assertion, or one at another place")]
    AssertionCount,
    #[error("it has no assertion")]
    AssertionMissing,
    #[error("it has no ID, or another version than 2.0")]
    Version,
    #[error("its Destination is another address, or a signed response has none")]
    Destination,
    #[error("it answers another request")]
    ResponseInResponseTo,
    #[error("it answers no request")]
    Unsolicited,
    #[error("its Issuer is another entity than the one that was asked")]
    ResponseIssuer,
    #[error("its IssueInstant is missing, in the future, or before the request")]
    ResponseIssueInstant,
    #[error("it has no status")]
    StatusMissing,
    #[error("the identity provider answered with an error: {0}")]
    Status(SamlStatus),
    #[error("what was decrypted or signed is no assertion of SAML 2.0 with an ID")]
    NotAnAssertion,
    #[error("the assertion's Issuer is another entity than the one that was asked")]
    Issuer,
    #[error("the assertion's IssueInstant is missing, in the future, or before the request")]
    IssueInstant,
    #[error("the assertion has no subject")]
    SubjectMissing,
    #[error("the NameID is empty, too long, or there are several")]
    NameId,
    #[error("the subject has no bearer confirmation")]
    ConfirmationMethod,
    #[error("the confirmation's Recipient is another address, or missing")]
    Recipient,
    #[error("the confirmation answers another request, or none")]
    ConfirmationInResponseTo,
    #[error("the confirmation has no NotOnOrAfter, or a malformed one")]
    ConfirmationUnlimited,
    #[error("the confirmation has expired")]
    ConfirmationExpired,
    #[error("the confirmation has a NotBefore, which the profile forbids")]
    ConfirmationNotBefore,
    #[error("the assertion has no conditions, or several")]
    ConditionsMissing,
    #[error("the assertion is not valid yet")]
    NotBefore,
    #[error("the assertion has expired")]
    NotOnOrAfter,
    #[error("the assertion names no audience")]
    AudienceMissing,
    #[error("the assertion is for another audience")]
    Audience,
    #[error("the assertion has a condition that the hub does not know")]
    UnknownCondition,
    #[error(
        "the assertion has no AuthnStatement, or several, of which the hub does not choose one"
    )]
    AuthnStatement,
    #[error("AuthnInstant is missing or in the future")]
    AuthnInstant,
    #[error("the authentication is older than the request that demanded a new one")]
    AuthnTooOld,
    #[error("SessionNotOnOrAfter is malformed, or has passed")]
    SessionExpired,
    #[error("the statement has no AuthnContext with one class")]
    AuthnContext,
    #[error("an attribute has no name, or is encrypted by itself")]
    Attribute,
    #[error("there are more attribute values than allowed")]
    TooManyValues,
}

/// Status of an identity provider that did not authenticate the user (SAML V2.0 Core §3.2.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, derive_more::Display)]
pub enum SamlStatus {
    #[display("it could not authenticate the user")]
    AuthnFailed,
    #[display("it can't authenticate the user without a page (NoPassive)")]
    NoPassive,
    #[display("it has no authentication of the requested class (NoAuthnContext)")]
    NoAuthnContext,
    #[display("it denies the request (RequestDenied)")]
    RequestDenied,
    #[display("it says that the request is wrong (Requester)")]
    Requester,
    #[display("it failed (Responder), or its status is unknown")]
    Responder,
}

impl SamlStatus {
    /// Names the second code if it is known, else the first.
    pub(super) fn from_codes(top: &str, second: Option<&str>) -> Self {
        let name = |code: &str| code.rsplit_once(':').map(|(_, name)| name.to_owned());
        match second.and_then(name).as_deref() {
            Some("AuthnFailed") => Self::AuthnFailed,
            Some("NoPassive") => Self::NoPassive,
            Some("NoAuthnContext") => Self::NoAuthnContext,
            Some("RequestDenied") => Self::RequestDenied,
            _ if name(top).as_deref() == Some("Requester") => Self::Requester,
            _ => Self::Responder,
        }
    }
}
