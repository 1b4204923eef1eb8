//! What a checked assertion says about the user: the subject, the level, the methods, the claims.
//! And which error code a refused response has.

use serde_json::{Map, Value};

use crate::TRANSIENT;
use crate::error_codes as codes;
use crate::logout_subject::LogoutSubject;
use crate::response::{Assertion, NameId, PERSISTENT, ResponseError, SamlStatus};
use crate::saml_service_provider::SamlServiceProvider;
use crate::settings::SamlKind;
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_connector::error::ConnectorError;
use passerelle_federation::assurance::Level;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::assurance::amr::UpstreamAmr;
use passerelle_federation::login::upstream::{Authentication, UpstreamAuthorizationRequest};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Secret};

/// Claim with the NameID, for `[mapping]`.
const NAME_ID_CLAIM: &str = "name_id";
/// Longest subject.
const MAX_SUBJECT_BYTES: usize = 1024;

/// Attributes that have the meaning of a claim wherever they are used, by the names of the SAML V2.0
/// LDAP Profile and of AD FS.
const STANDARD_ATTRIBUTES: [(&str, &str); 8] = [
    ("urn:oid:2.5.4.42", "given_name"),
    ("http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname", "given_name"),
    ("urn:oid:2.5.4.4", "family_name"),
    ("http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname", "family_name"),
    ("urn:oid:0.9.2342.19200300.100.1.3", "email"),
    ("http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress", "email"),
    ("urn:oid:2.16.840.1.113730.3.1.241", "name"),
    ("urn:oid:0.9.2342.19200300.100.1.1", "preferred_username"),
];

/// Methods that a class of authentication stands for (SAML V2.0 Authentication Context §3.4; REFEDS
/// MFA 1.0; the class of AD FS and Entra ID). For other classes the `amr` of the file applies.
const METHODS_BY_CLASS: [(&str, &[&str]); 11] = [
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:Password", &["pwd"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport", &["pwd"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:TimeSyncToken", &["otp"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:Smartcard", &["sc"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:SmartcardPKI", &["sc", "pin"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:TLSClient", &["pop"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:X509", &["pop"]),
    ("urn:oasis:names:tc:SAML:2.0:ac:classes:Kerberos", &["wia"]),
    ("urn:federation:authentication:windows", &["wia"]),
    ("https://refeds.org/profile/mfa", &["mfa"]),
    ("http://schemas.microsoft.com/claims/multipleauthn", &["mfa"]),
];

/// Rules of a connector's file for what an assertion proves.
pub struct AuthenticationRules {
    connector: ConnectorId,
    entity_id: String,
    subject_attribute: Option<String>,
    name_id_format: Option<String>,
    acr_policy: AcrPolicy,
}

impl AuthenticationRules {
    /// Returns the rules of a connector.
    pub fn new(connector: &ConnectorId, kind: &SamlKind, acr_policy: AcrPolicy) -> Self {
        Self {
            connector: connector.clone(),
            entity_id: kind.entity_id.clone(),
            subject_attribute: kind.subject_attribute.clone(),
            name_id_format: kind.name_id_format.clone(),
            acr_policy,
        }
    }

    /// Returns the lowest level that the identity provider can prove.
    pub const fn lowest(&self) -> Level {
        self.acr_policy.lowest
    }

    /// Returns the classes to request, the preferred first.
    pub fn requested_contexts(&self, request: &UpstreamAuthorizationRequest) -> Vec<String> {
        let level = self.acr_policy.level_to_request(request.level);
        let values = self.acr_policy.acr_values_to_send(&request.level_names, level);
        values.into_iter().map(str::to_owned).collect()
    }

    /// Returns what an assertion proves to a login that requests this level.
    ///
    /// # Errors
    /// `SAML_SUBJECT`; the code of a [`LevelError`](passerelle_federation::assurance::acr::LevelError).
    pub fn authentication(
        &self,
        assertion: Assertion,
        hub: &SamlServiceProvider,
        level: Level,
        now: Timestamp,
    ) -> Result<Authentication, ConnectorError> {
        let upstream_subject = self.subject(&assertion, hub)?;
        let class = assertion.authn_context.as_str();
        let needed = self.acr_policy.level_to_request(level);
        let level = self.acr_policy.evaluate(Some(class), needed);
        let logout = LogoutSubject::from_assertion(&assertion);
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        Ok(Authentication {
            acr: (!self.acr_policy.ignores_acr).then(|| class.to_owned()),
            amr: methods_of_class(class),
            // A clock that is ahead must not result in a future time.
            auth_time: Some(assertion.authn_instant.min(now)),
            session_ends_at: assertion.session_ends_at,
            claims: claims(assertion),
            session_hint: logout.map(|logout| logout.to_hint()),
            ..Authentication::new(self.connector.clone(), upstream_subject, level)
        })
    }

    /// Returns the subject: the only value of the configured attribute, or a permanent NameID.
    fn subject(
        &self,
        assertion: &Assertion,
        hub: &SamlServiceProvider,
    ) -> Result<Secret<String>, ConnectorError> {
        let refuse = |detail: String| Err(ConnectorError::new(codes::SAML_SUBJECT, detail));
        let subject = if let Some(name) = &self.subject_attribute {
            if assertion.out_of_scope.contains(name.as_str()) {
                return refuse(format!(
                    "{name} has a scope that the identity provider's metadata does not list (shibmd:Scope)"
                ));
            }
            match assertion.attributes.get(name).map(Vec::as_slice) {
                Some([only]) => only.clone(),
                Some(_) => {
                    return refuse(format!("{name} has several values; check subject_attribute"));
                }
                None => {
                    return refuse(format!(
                        "{name} is missing; check subject_attribute, and that the identity provider releases it to the hub"
                    ));
                }
            }
        } else {
            let Some(name_id) = &assertion.name_id else {
                return refuse("there is no NameID; set subject_attribute".to_owned());
            };
            self.permanent_name_id(name_id, hub)?
        };
        if subject.trim_ascii().is_empty() || subject.len() > MAX_SUBJECT_BYTES {
            return refuse("the subject is empty or too long".to_owned());
        }
        Ok(Secret::new(subject))
    }

    /// Returns a NameID with the qualifiers that are not the parties of this login: without them
    /// two persons could have one value (SAML V2.0 Core §8.3.7).
    fn permanent_name_id(
        &self,
        name_id: &NameId,
        hub: &SamlServiceProvider,
    ) -> Result<String, ConnectorError> {
        let format = name_id.format.as_deref();
        let is_configured = format.is_some() && format == self.name_id_format.as_deref();
        if format != Some(PERSISTENT) && (!is_configured || format == Some(TRANSIENT)) {
            let detail = "the NameID is not of the persistent format; set subject_attribute, or name_id_format if the identity provider never gives a NameID of this format to another person";
            return Err(ConnectorError::new(codes::SAML_SUBJECT, detail));
        }
        let other = |qualifier: &Option<String>, own: &str| {
            qualifier.clone().filter(|qualifier| qualifier != own)
        };
        let by = other(&name_id.name_qualifier, &self.entity_id);
        let to = other(&name_id.sp_name_qualifier, &hub.entity_id);
        if by.is_none() && to.is_none() && !name_id.value.starts_with('[') {
            return Ok(name_id.value.clone());
        }
        // No other value is equal: one that begins like an array has this form, too.
        Ok(serde_json::json!([by, to, name_id.value]).to_string())
    }
}

fn methods_of_class(class: &str) -> UpstreamAmr {
    let known = METHODS_BY_CLASS.iter().find(|(known, _)| *known == class);
    known.map_or(UpstreamAmr::Absent, |(_, methods)| UpstreamAmr::from_methods(methods))
}

/// Returns the attributes as claims by their `Name`, one value as text and several as a list. An
/// attribute of a standard name is also the claim that it means, unless one has the claim's name.
pub(crate) fn claims(assertion: Assertion) -> Map<String, Value> {
    let mut claims: Map<String, Value> = Map::new();
    for (name, mut values) in assertion.attributes {
        let value = match values.len() {
            1 => Value::from(values.pop()),
            _ => Value::from(values),
        };
        claims.insert(name, value);
    }
    for (attribute, claim) in STANDARD_ATTRIBUTES {
        if let (Some(value), false) = (claims.get(attribute), claims.contains_key(claim)) {
            // A claim has one value; of several e-mail addresses none is the right one.
            if value.is_string() {
                claims.insert(claim.to_owned(), value.clone());
            }
        }
    }
    if let Some(name_id) = assertion.name_id {
        claims.insert(NAME_ID_CLAIM.to_owned(), name_id.value.into());
    }
    claims
}

/// Returns a row for each attribute of which a value was left out for its scope.
pub(crate) fn out_of_scope_rows(assertion: &Assertion) -> impl Iterator<Item = DroppedClaimRow> {
    assertion.out_of_scope.iter().map(|attribute| DroppedClaimRow {
        claim: (*attribute).to_owned(),
        problem: "has a scope that the identity provider's metadata does not list".to_owned(),
        fix: "add the scope as shibmd:Scope to metadata_file if it belongs to the organisation, or ask the federation to; else the identity provider must not send it"
            .to_owned(),
    })
}

/// Returns the error of a refused response: one code for each group of rules.
pub(crate) fn response_error(error: &ResponseError) -> ConnectorError {
    use ResponseError as E;
    let code = match error {
        E::Encoding
        | E::Xml(_)
        | E::NotAResponse
        | E::UnknownElement
        | E::AssertionCount
        | E::Version
        | E::StatusMissing => codes::SAML_RESPONSE_MALFORMED,
        E::Signature(_) => codes::SAML_SIGNATURE,
        E::Decryption(_) => codes::SAML_ENCRYPTION,
        E::Destination
        | E::ResponseInResponseTo
        | E::Unsolicited
        | E::ResponseIssuer
        | E::Issuer
        | E::Recipient
        | E::ConfirmationInResponseTo
        | E::Audience
        | E::AudienceMissing => codes::SAML_OTHER_REQUEST,
        E::ResponseIssueInstant
        | E::IssueInstant
        | E::ConfirmationUnlimited
        | E::ConfirmationExpired
        | E::ConfirmationNotBefore
        | E::NotBefore
        | E::NotOnOrAfter
        | E::AuthnInstant
        | E::SessionExpired => codes::SAML_TIME,
        E::AuthnTooOld => ErrorCode::PromptLoginIgnored,
        E::Status(SamlStatus::AuthnFailed | SamlStatus::RequestDenied) => ErrorCode::IdpDenied,
        E::Status(SamlStatus::NoAuthnContext) => ErrorCode::AcrTooLow,
        E::Status(SamlStatus::Requester) => codes::SAML_REQUEST_REFUSED,
        E::Status(SamlStatus::NoPassive | SamlStatus::Responder) => ErrorCode::IdpError,
        E::NameId => codes::SAML_SUBJECT,
        E::NotAnAssertion
        | E::AssertionMissing
        | E::SubjectMissing
        | E::ConfirmationMethod
        | E::ConditionsMissing
        | E::UnknownCondition
        | E::AuthnStatement
        | E::AuthnContext
        | E::Attribute
        | E::TooManyValues => codes::SAML_CONTENT,
    };
    ConnectorError::new(code, error.to_string())
}
