//! What an identity provider must not state, signed by its own key in each form of a response.

use super::*;
use crate::response::{ResponseError as E, SamlStatus};
use crate::xml::XmlError;

type Edit = (&'static str, &'static str, &'static str, ResponseError);

/// Changes of the assertion.
fn assertion_edits() -> Vec<Edit> {
    vec![
        (
            "version 1.1",
            "ID=\"_a1\" Version=\"2.0\"",
            "ID=\"_a1\" Version=\"1.1\"",
            E::NotAnAssertion,
        ),
        (
            "another issuer",
            "<saml:Issuer>https://idp.example/saml",
            "<saml:Issuer>https://other.example/saml",
            E::Issuer,
        ),
        (
            "an issuer that begins alike",
            "<saml:Issuer>https://idp.example/saml<",
            "<saml:Issuer>https://idp.example/saml/x<",
            E::Issuer,
        ),
        (
            "an issuer of another format",
            "<saml:Issuer>",
            "<saml:Issuer Format=\"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\">",
            E::Issuer,
        ),
        ("no issuer", "<saml:Issuer>https://idp.example/saml</saml:Issuer>", "", E::Issuer),
        (
            "issued before the request",
            "IssueInstant=\"2026-11-29T17:00:00Z\"><saml:Issuer>",
            "IssueInstant=\"2026-11-29T16:57:00Z\"><saml:Issuer>",
            E::IssueInstant,
        ),
        (
            "issued in the future",
            "IssueInstant=\"2026-11-29T17:00:00Z\"><saml:Issuer>",
            "IssueInstant=\"2026-11-29T17:03:00Z\"><saml:Issuer>",
            E::IssueInstant,
        ),
        (
            "issued in no zone",
            "IssueInstant=\"2026-11-29T17:00:00Z\"><saml:Issuer>",
            "IssueInstant=\"2026-11-29T17:00:00\"><saml:Issuer>",
            E::IssueInstant,
        ),
        ("an empty NameID", ">angela-7<", "><", E::NameId),
        ("a NameID of white space", ">angela-7<", "> \n <", E::NameId),
        ("two NameIDs", "<saml:NameID ", "<saml:NameID>root</saml:NameID><saml:NameID ", E::NameId),
        (
            "an element in the NameID",
            ">angela-7<",
            ">angela<saml:x></saml:x>-7<",
            XmlError::ElementContent.into(),
        ),
        ("no confirmation by bearer", "cm:bearer", "cm:sender-vouches", E::ConfirmationMethod),
        ("holder of key", "cm:bearer", "cm:holder-of-key", E::ConfirmationMethod),
        (
            "another recipient",
            "Recipient=\"https://hub.example/saml/acs\"",
            "Recipient=\"https://service.example/acs\"",
            E::Recipient,
        ),
        (
            "a recipient with a query",
            "Recipient=\"https://hub.example/saml/acs\"",
            "Recipient=\"https://hub.example/saml/acs?x\"",
            E::Recipient,
        ),
        ("no recipient", " Recipient=\"https://hub.example/saml/acs\"", "", E::Recipient),
        (
            "confirmation for another request",
            "Data InResponseTo=\"_r1\"",
            "Data InResponseTo=\"_r2\"",
            E::ConfirmationInResponseTo,
        ),
        (
            "confirmation for no request",
            "Data InResponseTo=\"_r1\"",
            "Data",
            E::ConfirmationInResponseTo,
        ),
        (
            "an unlimited confirmation",
            " NotOnOrAfter=\"2026-11-29T17:05:00Z\" Rec",
            " Rec",
            E::ConfirmationUnlimited,
        ),
        (
            "a malformed end of the confirmation",
            "2026-11-29T17:05:00Z\" Rec",
            "tomorrow\" Rec",
            E::ConfirmationUnlimited,
        ),
        (
            "an expired confirmation",
            "2026-11-29T17:05:00Z\" Rec",
            "2026-11-29T16:59:00Z\" Rec",
            E::ConfirmationExpired,
        ),
        (
            "a confirmation of last year",
            "2026-11-29T17:05:00Z\" Rec",
            "2025-11-29T17:05:00Z\" Rec",
            E::ConfirmationExpired,
        ),
        (
            "a confirmation with NotBefore",
            "Data InRes",
            "Data NotBefore=\"2026-11-29T16:00:00Z\" InRes",
            E::ConfirmationNotBefore,
        ),
        (
            "conditions not valid yet",
            "NotBefore=\"2026-11-29T16:59:30Z\"",
            "NotBefore=\"2026-11-29T17:02:00Z\"",
            E::NotBefore,
        ),
        (
            "a malformed NotBefore",
            "NotBefore=\"2026-11-29T16:59:30Z\"",
            "NotBefore=\"\"",
            E::NotBefore,
        ),
        (
            "expired conditions",
            "NotOnOrAfter=\"2026-11-29T17:04:00Z\"",
            "NotOnOrAfter=\"2026-11-29T16:59:10Z\"",
            E::NotOnOrAfter,
        ),
        (
            "a malformed NotOnOrAfter",
            "NotOnOrAfter=\"2026-11-29T17:04:00Z\"",
            "NotOnOrAfter=\"never\"",
            E::NotOnOrAfter,
        ),
        (
            "no audience",
            "<saml:AudienceRestriction><saml:Audience>https://hub.example/saml</saml:Audience></saml:AudienceRestriction>",
            "",
            E::AudienceMissing,
        ),
        (
            "the audience of another service",
            "<saml:Audience>https://hub.example/saml<",
            "<saml:Audience>https://service.example/<",
            E::Audience,
        ),
        (
            "an empty audience",
            "<saml:Audience>https://hub.example/saml<",
            "<saml:Audience><",
            E::Audience,
        ),
        (
            "two restrictions, one of another service",
            "<saml:AudienceRestriction>",
            "<saml:AudienceRestriction><saml:Audience>https://service.example/</saml:Audience></saml:AudienceRestriction><saml:AudienceRestriction>",
            E::Audience,
        ),
        (
            "an unknown condition",
            "<saml:AudienceRestriction>",
            "<saml:Condition/><saml:AudienceRestriction>",
            E::UnknownCondition,
        ),
        (
            "two sets of conditions",
            "<saml:AuthnStatement ",
            "<saml:Conditions/><saml:AuthnStatement ",
            E::ConditionsMissing,
        ),
        (
            "two authentications",
            "<saml:AttributeStatement>",
            "<saml:AuthnStatement AuthnInstant=\"2026-11-29T16:59:50Z\"/><saml:AttributeStatement>",
            E::AuthnStatement,
        ),
        (
            "an authentication in the future",
            "AuthnInstant=\"2026-11-29T16:59:50Z\"",
            "AuthnInstant=\"2026-11-29T17:03:00Z\"",
            E::AuthnInstant,
        ),
        (
            "an authentication without time",
            "AuthnInstant=\"2026-11-29T16:59:50Z\"",
            "",
            E::AuthnInstant,
        ),
        (
            "an authentication before the request that forces one",
            "AuthnInstant=\"2026-11-29T16:59:50Z\"",
            "AuthnInstant=\"2026-11-29T16:57:00Z\"",
            E::AuthnTooOld,
        ),
        (
            "a session that has ended",
            "SessionNotOnOrAfter=\"2026-11-30T01:00:00Z\"",
            "SessionNotOnOrAfter=\"2026-11-29T16:00:00Z\"",
            E::SessionExpired,
        ),
        (
            "a malformed end of the session",
            "SessionNotOnOrAfter=\"2026-11-30T01:00:00Z\"",
            "SessionNotOnOrAfter=\"x\"",
            E::SessionExpired,
        ),
        (
            "no class of authentication",
            "<saml:AuthnContextClassRef>https://refeds.org/profile/mfa</saml:AuthnContextClassRef>",
            "",
            E::AuthnContext,
        ),
        (
            "two classes of authentication",
            "<saml:AuthnContextClassRef>",
            "<saml:AuthnContextClassRef>urn:x</saml:AuthnContextClassRef><saml:AuthnContextClassRef>",
            E::AuthnContext,
        ),
        ("an attribute without name", "Name=\"role\"", "Name=\"\"", E::Attribute),
        (
            "an encrypted attribute",
            "<saml:AttributeStatement>",
            "<saml:AttributeStatement><saml:EncryptedAttribute/>",
            E::Attribute,
        ),
        (
            "an assertion in an advice",
            "<saml:AuthnStatement ",
            "<saml:Advice><saml:Assertion ID=\"_a2\"/></saml:Advice><saml:AuthnStatement ",
            E::AssertionCount,
        ),
    ]
}

/// Changes of the response around the assertion.
fn response_edits() -> Vec<Edit> {
    const ISSUER: &str = "assertion\">https://idp.example/saml</saml:Issuer><samlp:Status>";
    const CODE: &str = "<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"/>";
    vec![
        ("version 1.1", "ID=\"_p1\" Version=\"2.0\"", "ID=\"_p1\" Version=\"1.1\"", E::Version),
        (
            "another destination",
            "Destination=\"https://hub.example/saml/acs\"",
            "Destination=\"https://service.example/acs\"",
            E::Destination,
        ),
        (
            "an empty destination",
            "Destination=\"https://hub.example/saml/acs\"",
            "Destination=\"\"",
            E::Destination,
        ),
        (
            "another request",
            "acs\" InResponseTo=\"_r1\"",
            "acs\" InResponseTo=\"_r0\"",
            E::ResponseInResponseTo,
        ),
        ("no request", "acs\" InResponseTo=\"_r1\"", "acs\"", E::Unsolicited),
        (
            "another issuer",
            ISSUER,
            "assertion\">https://other.example/saml</saml:Issuer><samlp:Status>",
            E::ResponseIssuer,
        ),
        ("an empty issuer", ISSUER, "assertion\"></saml:Issuer><samlp:Status>", E::ResponseIssuer),
        (
            "issued in the future",
            "IssueInstant=\"2026-11-29T17:00:00Z\" Dest",
            "IssueInstant=\"2026-11-29T18:00:00Z\" Dest",
            E::ResponseIssueInstant,
        ),
        (
            "issued before the request",
            "IssueInstant=\"2026-11-29T17:00:00Z\" Dest",
            "IssueInstant=\"2026-11-29T16:00:00Z\" Dest",
            E::ResponseIssueInstant,
        ),
        (
            "not issued",
            "IssueInstant=\"2026-11-29T17:00:00Z\" Dest",
            "Dest",
            E::ResponseIssueInstant,
        ),
        (
            "no status",
            "<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"/>",
            "",
            E::StatusMissing,
        ),
        ("a status without value", CODE, "<samlp:StatusCode/>", E::StatusMissing),
        (
            "a failure",
            CODE,
            "<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Responder\"/>",
            E::Status(SamlStatus::Responder),
        ),
        (
            "a success below a failure",
            CODE,
            "<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Requester\"><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"/></samlp:StatusCode>",
            E::Status(SamlStatus::Requester),
        ),
        (
            "a denial",
            CODE,
            "<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Responder\"><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:AuthnFailed\"/></samlp:StatusCode>",
            E::Status(SamlStatus::AuthnFailed),
        ),
        (
            "another status with the success's end",
            CODE,
            "<samlp:StatusCode Value=\"urn:x:status:Success\"/>",
            E::Status(SamlStatus::Responder),
        ),
        (
            "an unknown element",
            "<samlp:Status>",
            "<samlp:Session/><samlp:Status>",
            E::UnknownElement,
        ),
        (
            "text beside the elements",
            "<samlp:Status>",
            "x<samlp:Status>",
            XmlError::ElementContent.into(),
        ),
        (
            "two statuses",
            "<samlp:Status>",
            "<samlp:Status/><samlp:Status>",
            XmlError::ElementContent.into(),
        ),
    ]
}

pub(super) fn forgeries() -> Vec<Forgery> {
    use Protection::{
        EncryptedInSignedResponse, EncryptedSignedAssertion, SignedAssertion, SignedResponse,
    };
    let mut forgeries = Vec::new();
    for (name, from, to, rule) in assertion_edits() {
        for protection in [SignedAssertion, SignedResponse, EncryptedSignedAssertion] {
            let assertion = edit(ASSERTION, &[(from, to)]);
            let response = protection.protect(&assertion, |r| r);
            let name = format!("{name}, {protection:?}");
            forgeries.push(Forgery::new(name, response, rule.clone()));
        }
    }
    for (name, from, to, rule) in response_edits() {
        for protection in [SignedAssertion, SignedResponse, EncryptedInSignedResponse] {
            let response = protection.protect(ASSERTION, |r| edit(&r, &[(from, to)]));
            let name = format!("response with {name}, {protection:?}");
            forgeries.push(Forgery::new(name, response, rule.clone()));
        }
    }
    forgeries.extend(missing_parts());
    forgeries
}

fn missing_parts() -> Vec<Forgery> {
    let without = |text: &str, start: &str, end: &str| {
        let (before, rest) = text.split_once(start).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        format!("{before}{after}")
    };
    let parts = [
        ("subject", "<saml:Subject>", "</saml:Subject>", E::SubjectMissing),
        ("conditions", "<saml:Conditions ", "</saml:Conditions>", E::ConditionsMissing),
        ("authentication", "<saml:AuthnStatement ", "</saml:AuthnStatement>", E::AuthnStatement),
        (
            "confirmation",
            "<saml:SubjectConfirmation ",
            "</saml:SubjectConfirmation>",
            E::ConfirmationMethod,
        ),
    ];
    let mut forgeries = Vec::new();
    for (name, start, end, rule) in parts {
        let assertion = without(ASSERTION, start, end);
        for protection in [Protection::SignedAssertion, Protection::SignedResponse] {
            let response = protection.protect(&assertion, |r| r);
            forgeries.push(Forgery::new(
                format!("no {name}, {protection:?}"),
                response,
                rule.clone(),
            ));
        }
    }
    let undirected =
        edit(&response(ASSERTION), &[(" Destination=\"https://hub.example/saml/acs\"", "")]);
    forgeries.push(Forgery::new(
        "a signed response without destination",
        sign(&undirected),
        E::Destination,
    ));
    let response_start = response("");
    let (before, rest) = response_start.split_once("<saml:Issuer").unwrap();
    let (_, after) = rest.split_once("</saml:Issuer>").unwrap();
    let anonymous = format!("{before}{after}").replace("</samlp:Response>", "");
    forgeries.push(Forgery::new(
        "a signed response without issuer",
        sign(&format!("{anonymous}{ASSERTION}</samlp:Response>")),
        E::ResponseIssuer,
    ));
    for (name, response) in [
        ("signed response without assertion", sign(&response(""))),
        ("unsigned response without assertion", response("")),
    ] {
        forgeries.push(Forgery::new(name, response, E::AssertionMissing));
    }
    let values = "<saml:AttributeValue>x</saml:AttributeValue>".repeat(2_001);
    let values = edit(ASSERTION, &[("<saml:AttributeValue>baker</saml:AttributeValue>", &values)]);
    for protection in [Protection::SignedAssertion, Protection::SignedResponse] {
        let response = protection.protect(&values, |r| r);
        forgeries.push(Forgery::new(
            format!("many values, {protection:?}"),
            response,
            E::TooManyValues,
        ));
    }
    for (name, response) in [
        ("an assertion without response", sign(ASSERTION)),
        (
            "a request",
            edit(
                &response(&sign(ASSERTION)),
                &[
                    ("<samlp:Response", "<samlp:AuthnRequest"),
                    ("</samlp:Response", "</samlp:AuthnRequest"),
                ],
            ),
        ),
        (
            "a response of SAML 1.1",
            edit(&response(&sign(ASSERTION)), &[("SAML:2.0:protocol", "SAML:1.0:protocol")]),
        ),
    ] {
        forgeries.push(Forgery::new(name, response, E::NotAResponse));
    }
    forgeries
}
