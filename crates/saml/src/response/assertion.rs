//! Reads an assertion (SAML V2.0 Core §2; Profiles §4.1.4.2). Takes verified content only.

use std::collections::{BTreeMap, BTreeSet};

use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::env::Timestamp;

use super::{ResponseCheck, ResponseError, check_issuer};
use crate::SAML;
use crate::time::parse_time;
use crate::xml::{ContentDecryption, Element, Verified, XmlError};

const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
/// Length of a `NameID` (SAML V2.0 Core §8.3.7 allows 256 characters to persistent ones).
const MAX_NAME_ID_BYTES: usize = 1024;
const MAX_ATTRIBUTE_VALUES: usize = 2_000;
/// Attributes whose values end in `@` and a scope: subject-id, pairwise-id,
/// eduPersonPrincipalName, eduPersonScopedAffiliation, eduPersonUniqueId.
const SCOPED_ATTRIBUTES: [&str; 5] = [
    "urn:oasis:names:tc:SAML:attribute:subject-id",
    "urn:oasis:names:tc:SAML:attribute:pairwise-id",
    "urn:oid:1.3.6.1.4.1.5923.1.1.1.6",
    "urn:oid:1.3.6.1.4.1.5923.1.1.1.9",
    "urn:oid:1.3.6.1.4.1.5923.1.1.1.13",
];

/// Values of attributes by their `Name`.
type AttributeValues = BTreeMap<String, Vec<String>>;

/// What an identity provider stated about a user, to the hub, in answer to one request.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("Assertion")]
pub struct Assertion {
    /// Must be accepted once.
    pub id: String,
    pub issued_at: Timestamp,
    /// From then on the assertion is refused for its age, so until then its ID must be stored:
    /// `NotOnOrAfter` of its confirmation, and the clock tolerance.
    pub valid_until: Timestamp,
    pub name_id: Option<NameId>,
    pub authn_instant: Timestamp,
    pub session_index: Option<String>,
    /// `SessionNotOnOrAfter`, and the clock tolerance.
    pub session_ends_at: Option<Timestamp>,
    /// `AuthnContextClassRef`.
    pub authn_context: String,
    /// Values by `Name`. Values of the type `NameID` are its text; other XML is left out.
    pub attributes: AttributeValues,
    /// Attributes with a left out value, whose scope the metadata does not list.
    pub out_of_scope: BTreeSet<&'static str>,
}

/// Identifier of the user.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("NameId")]
pub struct NameId {
    pub value: String,
    pub format: Option<String>,
    pub name_qualifier: Option<String>,
    pub sp_name_qualifier: Option<String>,
}

impl ResponseCheck<'_> {
    /// Checks and reads an assertion.
    pub(super) fn assertion(
        &self,
        assertion: Element<'_, Verified>,
    ) -> Result<Assertion, ResponseError> {
        use ResponseError as E;
        let id = assertion.attribute("ID").filter(|id| !id.is_empty());
        let is_assertion =
            assertion.is(SAML, "Assertion") && assertion.attribute("Version") == Some("2.0");
        let id = id.filter(|_| is_assertion).ok_or(E::NotAnAssertion)?;
        if assertion.descendants_named(SAML, "Assertion").count() != 1 {
            return Err(E::AssertionCount);
        }
        let issuer = assertion.child(SAML, "Issuer")?.ok_or(E::Issuer)?;
        check_issuer(issuer, self.expected.identity_provider, E::Issuer)?;
        let issued = assertion.attribute("IssueInstant").and_then(parse_time);
        let issued_at = self.issued_after_request(issued, E::IssueInstant)?;
        let subject = assertion.child(SAML, "Subject")?.ok_or(E::SubjectMissing)?;
        let confirmed_until = self.confirmation(subject)?;
        let conditions = assertion.child(SAML, "Conditions").ok().flatten();
        self.conditions(conditions.ok_or(E::ConditionsMissing)?)?;
        let mut statements = assertion.children_named(SAML, "AuthnStatement");
        let (Some(statement), None) = (statements.next(), statements.next()) else {
            return Err(E::AuthnStatement);
        };
        let context = statement.child(SAML, "AuthnContext")?.ok_or(E::AuthnContext)?;
        let class = context.child(SAML, "AuthnContextClassRef").map_err(|_| E::AuthnContext)?;
        let class = class.ok_or(E::AuthnContext)?.text()?.trim_ascii();
        let (attributes, out_of_scope) = self.attributes(assertion)?;
        Ok(Assertion {
            id: id.to_owned(),
            issued_at,
            valid_until: confirmed_until + CLOCK_SKEW_TOLERANCE,
            name_id: self.name_id(subject)?,
            authn_instant: self.authn_instant(statement)?,
            session_index: statement.attribute("SessionIndex").map(str::to_owned),
            session_ends_at: self.session_end(statement)?,
            authn_context: class.to_owned(),
            attributes,
            out_of_scope,
        })
    }

    /// Checks that a bearer confirmation is for this request and address, and returns its end.
    fn confirmation(&self, subject: Element<'_, Verified>) -> Result<Timestamp, ResponseError> {
        let bearers = subject
            .children_named(SAML, "SubjectConfirmation")
            .filter(|confirmation| confirmation.attribute("Method") == Some(BEARER));
        let mut error = ResponseError::ConfirmationMethod;
        for bearer in bearers {
            match self.bearer(bearer) {
                Ok(end) => return Ok(end),
                Err(refused) => error = refused,
            }
        }
        Err(error)
    }

    fn bearer(&self, bearer: Element<'_, Verified>) -> Result<Timestamp, ResponseError> {
        use ResponseError as E;
        let data = bearer.child(SAML, "SubjectConfirmationData")?.ok_or(E::Recipient)?;
        if data.attribute("Recipient") != Some(self.expected.consumer_url) {
            return Err(E::Recipient);
        }
        if data.attribute("InResponseTo") != Some(self.expected.request_id) {
            return Err(E::ConfirmationInResponseTo);
        }
        if data.attribute("NotBefore").is_some() {
            return Err(E::ConfirmationNotBefore);
        }
        let end = data.attribute("NotOnOrAfter").and_then(parse_time);
        let end = end.ok_or(E::ConfirmationUnlimited)?;
        if end + CLOCK_SKEW_TOLERANCE <= self.now { Err(E::ConfirmationExpired) } else { Ok(end) }
    }

    fn conditions(&self, conditions: Element<'_, Verified>) -> Result<(), ResponseError> {
        use ResponseError as E;
        if let Some(start) = conditions.attribute("NotBefore") {
            let start = parse_time(start).ok_or(E::NotBefore)?;
            if self.now + CLOCK_SKEW_TOLERANCE < start {
                return Err(E::NotBefore);
            }
        }
        if let Some(end) = conditions.attribute("NotOnOrAfter") {
            let end = parse_time(end).ok_or(E::NotOnOrAfter)?;
            if end + CLOCK_SKEW_TOLERANCE <= self.now {
                return Err(E::NotOnOrAfter);
            }
        }
        let mut has_audience = false;
        for condition in conditions.children() {
            if condition.is(SAML, "AudienceRestriction") {
                // SAML V2.0 Core §2.5.1.4: every restriction must hold.
                let audiences = condition.children_named(SAML, "Audience");
                let mut audiences = audiences.filter_map(|audience| audience.text().ok());
                if !audiences.any(|a| a.trim_ascii() == self.expected.service_provider) {
                    return Err(E::Audience);
                }
                has_audience = true;
            } else if !condition.is(SAML, "OneTimeUse") && !condition.is(SAML, "ProxyRestriction") {
                return Err(E::UnknownCondition);
            }
        }
        if has_audience { Ok(()) } else { Err(E::AudienceMissing) }
    }

    fn authn_instant(&self, statement: Element<'_, Verified>) -> Result<Timestamp, ResponseError> {
        let instant = statement.attribute("AuthnInstant").and_then(parse_time);
        let instant = instant.ok_or(ResponseError::AuthnInstant)?;
        if instant > self.now + CLOCK_SKEW_TOLERANCE {
            return Err(ResponseError::AuthnInstant);
        }
        if self.expected.force_authn && instant + CLOCK_SKEW_TOLERANCE < self.expected.requested_at
        {
            return Err(ResponseError::AuthnTooOld);
        }
        Ok(instant)
    }

    fn session_end(
        &self,
        statement: Element<'_, Verified>,
    ) -> Result<Option<Timestamp>, ResponseError> {
        let Some(end) = statement.attribute("SessionNotOnOrAfter") else { return Ok(None) };
        let end = parse_time(end).map(|end| end + CLOCK_SKEW_TOLERANCE);
        let end = end.filter(|end| *end > self.now);
        end.map(Some).ok_or(ResponseError::SessionExpired)
    }

    fn name_id(&self, subject: Element<'_, Verified>) -> Result<Option<NameId>, ResponseError> {
        let is_identifier = |child: &Element<'_, Verified>| {
            ["NameID", "EncryptedID", "BaseID"].iter().any(|name| child.is(SAML, name))
        };
        let mut identifiers = subject.children().filter(is_identifier);
        let (identifier, None) = (identifiers.next(), identifiers.next()) else {
            return Err(ResponseError::NameId);
        };
        identifier.map(|identifier| NameId::read(identifier, self.decryption())).transpose()
    }

    /// Returns the attributes, and the names of those that lost a value for its scope.
    fn attributes(
        &self,
        assertion: Element<'_, Verified>,
    ) -> Result<(AttributeValues, BTreeSet<&'static str>), ResponseError> {
        let mut attributes = AttributeValues::new();
        let mut out_of_scope = BTreeSet::new();
        let mut count = 0;
        let statements = assertion.children_named(SAML, "AttributeStatement");
        for attribute in statements.flat_map(Element::children) {
            let name = attribute.attribute("Name").filter(|name| !name.is_empty());
            let name = name.filter(|_| attribute.is(SAML, "Attribute"));
            let name = name.ok_or(ResponseError::Attribute)?;
            let scoped = SCOPED_ATTRIBUTES.into_iter().find(|scoped| *scoped == name);
            for value in attribute.children_named(SAML, "AttributeValue") {
                count += 1;
                if count > MAX_ATTRIBUTE_VALUES {
                    return Err(ResponseError::TooManyValues);
                }
                let Some(value) = attribute_value(value)? else { continue };
                match scoped.filter(|_| !self.has_known_scope(value)) {
                    Some(name) => _ = out_of_scope.insert(name),
                    None => attributes.entry(name.to_owned()).or_default().push(value.to_owned()),
                }
            }
        }
        Ok((attributes, out_of_scope))
    }

    /// Stops an identity provider that states identities of another one of its federation.
    fn has_known_scope(&self, value: &str) -> bool {
        let scope = value.split_once('@').map(|(_, scope)| scope);
        scope.is_some_and(|scope| self.expected.scopes.iter().any(|known| known == scope))
    }
}

impl NameId {
    /// Reads a `NameID`, or the one in an `EncryptedID` (SAML V2.0 Core §2.2.4).
    pub(crate) fn read(
        identifier: Element<'_, Verified>,
        decryption: ContentDecryption<'_>,
    ) -> Result<Self, ResponseError> {
        if identifier.is(SAML, "EncryptedID") {
            let decrypted = identifier.decrypt_verified(decryption)?;
            return Self::read_plain(decrypted.parse()?.root());
        }
        Self::read_plain(identifier)
    }

    fn read_plain(name_id: Element<'_, Verified>) -> Result<Self, ResponseError> {
        let value = name_id.text()?;
        let is_sound = !value.trim_ascii().is_empty() && value.len() <= MAX_NAME_ID_BYTES;
        if !is_sound || !name_id.is(SAML, "NameID") {
            return Err(ResponseError::NameId);
        }
        let attribute = |name: &str| name_id.attribute(name).map(str::to_owned);
        Ok(Self {
            value: value.to_owned(),
            format: attribute("Format"),
            name_qualifier: attribute("NameQualifier"),
            sp_name_qualifier: attribute("SPNameQualifier"),
        })
    }
}

/// Returns the text of a value, or of the `NameID` in it (eduPersonTargetedID); `None` for other
/// XML.
fn attribute_value(value: Element<'_, Verified>) -> Result<Option<&str>, XmlError> {
    match value.children().next() {
        None => value.text().map(Some),
        Some(name_id) if name_id.is(SAML, "NameID") => name_id.text().map(Some),
        Some(_) => Ok(None),
    }
}
